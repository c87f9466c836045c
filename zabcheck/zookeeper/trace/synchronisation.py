"""The history of a follower while its leader brings it up to date (steps f.2.1 and f.2.2).

What `Learner.syncWithLeader` does with a PROPOSAL and its COMMIT before NEWLEADER depends on how it began:

- after SNAP and TRUNC a committed transaction is applied at once, without a line in the log;
- after DIFF it is delivered when the server is up to date, with a line for each (3.6.3, 3.8.0), or it is logged and
  applied at NEWLEADER, without a line (since 3.8.4 and 3.9.1: then the log says "It took … to persist and commit …").

In both cases NEWLEADER's acknowledgement covers what was committed by then, and a proposal that is still outstanding
is acknowledged by itself.
"""

from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import Txn, Zxid
from zabcheck.zookeeper.recording.iteration import FollowerSide
from zabcheck.zookeeper.trace.moments import LoggedIteration


class Synchronisation:
    """The history of a follower during one iteration, up to UPTODATE. `packets` is what it has sent and received.

    `applied` is the history in memory; `pending` holds the transactions that were proposed and are not applied,
    `committed` the zxids of commits that wait for NEWLEADER. `adopted` is what the ACK of NEWLEADER covers, None before
    NEWLEADER. `logged_newleader`: the log says that NEWLEADER was received.
    """

    def __init__(self, history: Chain, iteration: LoggedIteration) -> None:
        self.iteration = iteration
        self.packets = FollowerSide()
        self.applied = history
        self.pending: list[Txn] = []
        self.committed: list[Zxid] = []
        self.adopted: Chain | None = None
        self.logged_newleader = False

    @property
    def at_once(self) -> bool:
        """True if a committed transaction is applied at once."""
        begun = self.packets.sync
        return self.iteration.forced or (begun is not None and begun.kind in ("SNAP", "TRUNC"))

    def propose(self, txn: Txn) -> bool:
        """Take a PROPOSAL in. Return True if it is new: the history has neither it nor a later one."""
        is_new = txn.zxid > self.history().zxid
        if is_new:
            self.pending.append(txn)
        return is_new

    def commit(self, zxid: Zxid) -> None:
        """Take a COMMIT in."""
        if self.adopted is None and self.at_once:
            if self.pending and self.pending[0].zxid == zxid:
                self.applied = self.applied.append(self.pending.pop(0))
        else:
            self.committed.append(zxid)

    def new_leader(self) -> None:
        """Adopt what was committed until NEWLEADER."""
        adopted = self.applied
        while self.pending and self.pending[0].zxid in self.committed:
            self.committed.remove(self.pending[0].zxid)
            adopted = adopted.append(self.pending.pop(0))
        self.adopted = adopted
        if self.iteration.persisted:
            self.applied = adopted

    def history(self) -> Chain:
        """Return all that is in the follower's log, or will be soon."""
        history = self.applied if self.adopted is None else self.adopted
        for txn in self.pending:
            history = history.append(txn)
        return history

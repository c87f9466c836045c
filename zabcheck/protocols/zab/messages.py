"""The messages of Zab (DSN 2011, IV), in the order of the phases.

Where followers pass on what the leader sends (`relays`), PROPOSE and COMMIT name in `route` the followers that are to
get them from their receiver, and PROPOSE the zxid `after` which it comes.
"""

from zabcheck.invariants import Txn, Zxid
from zabcheck.protocols.base import Message, ProcessId
from zabcheck.protocols.zab.histories import Carried


class CEpoch(Message, frozen=True):
    """CEPOCH(f.p): the last promise of a follower (step f.1.1).

    `lasts`: where only what is missing is sent, the last zxid that the follower has of each epoch.
    """

    epoch: int
    lasts: tuple[Zxid, ...] | None = None


class NewEpoch(Message, frozen=True):
    """NEWEPOCH(e'): the leader proposes an epoch (step l.1.1); `lasts` as in CEPOCH."""

    epoch: int
    lasts: tuple[Zxid, ...] | None = None


class AckE(Message, frozen=True):
    """ACK-E(f.a, h_f): the follower promised e', and this is what it has (step f.1.2).

    With `counts` False the promise is an old one: it does not help to complete phase 1.
    """

    current_epoch: int
    history: Carried
    counts: bool = True


class NewLeader(Message, frozen=True):
    """NEWLEADER(e', I_e'): the initial history of the epoch (step l.2.1)."""

    epoch: int
    history: Carried


class AckLd(Message, frozen=True):
    """ACK-LD(e'): the follower accepted the initial history, up to `zxid` (step f.2.1)."""

    epoch: int
    zxid: Zxid


class CommitLd(Message, frozen=True):
    """COMMIT-LD(e'): the epoch is committed, and everything up to `zxid` (steps l.2.2 and l.3.4)."""

    epoch: int
    zxid: Zxid


class Propose(Message, frozen=True):
    """PROPOSE(e', ⟨v,z⟩) (step l.3.1)."""

    epoch: int
    txn: Txn
    after: Zxid | None = None
    route: tuple[ProcessId, ...] = ()


class Ack(Message, frozen=True):
    """ACK(e', z): the follower accepted everything up to `zxid` (step f.3.2)."""

    epoch: int
    zxid: Zxid


class Commit(Message, frozen=True):
    """COMMIT(e', z): everything up to `zxid` is committed (step l.3.2)."""

    epoch: int
    zxid: Zxid
    route: tuple[ProcessId, ...] = ()

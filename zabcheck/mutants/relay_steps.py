"""The steps that mutants of Zab along a chain or a tree take instead of the right ones: each is one, wrong in one thing."""

from zabcheck.protocols.base import Effect, Lost, ProcessId
from zabcheck.protocols.zab.follower import on_propose, on_propose_of_path
from zabcheck.protocols.zab.leader import on_lost
from zabcheck.protocols.zab.messages import Propose
from zabcheck.protocols.zab.process import Follower, Leader, Phase


def accept_past_a_hole(f: Follower, sender: ProcessId, m: Propose) -> list[Effect]:
    """Step T.4, but what leaves a hole is accepted like what does not."""
    return on_propose_of_path(f, m, accepted=lambda f, m: [m] if m.txn.zxid > f.history.zxid else [])


def accept_before_newleader(f: Follower, sender: ProcessId, m: Propose) -> list[Effect]:
    """Step T.4, but a PROPOSE that continues h_f is accepted although NEWLEADER is still in transit."""
    waits = f.phase is Phase.SYNCHRONIZATION and f.known is None
    if not (waits and m.epoch == f.accepted_epoch and m.after == f.history.zxid):
        return on_propose(f, sender, m)
    return on_propose_of_path(f, m, is_expected=lambda f, m: True)


def rebuild_without_resending(l: Leader, sender: ProcessId, m: Lost) -> list[Effect]:
    """Step T.6, but what was lost with the relay is not sent again."""
    l.path = tuple(each for each in l.path if each != m.peer)
    return on_lost(l, sender, m)

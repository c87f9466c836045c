"""The steps that mutants of Zab along a chain or a tree take instead of the right ones, each wrong in one thing."""

from zabcheck.protocols.base import Effect, Lost, ProcessId
from zabcheck.protocols.zab.follower import on_propose, on_propose_of_path
from zabcheck.protocols.zab.leader import on_lost
from zabcheck.protocols.zab.messages import Propose
from zabcheck.protocols.zab.process import Follower, Leader


def accept_past_a_hole(f: Follower, sender: ProcessId, m: Propose) -> list[Effect]:
    """Step T.4, but what leaves a hole is accepted like what does not."""
    if not f.switches.relays:
        return on_propose(f, sender, m)
    return on_propose_of_path(f, m, accepted=lambda f, m: [m] if m.txn.zxid > f.history.zxid else [])


def rebuild_without_resending(l: Leader, sender: ProcessId, m: Lost) -> list[Effect]:
    """Step T.6, but what was lost with the relay is not sent again."""
    l.path = tuple(each for each in l.path if each != m.peer)
    return on_lost(l, sender, m)

"""The steps that the mutants of LADIS 2008 take instead of the right ones: each is one step, with one thing wrong."""

from msgspec import structs

from zabcheck.protocols.base import Effect, ProcessId
from zabcheck.protocols.ladis.messages import Supply, Trunc
from zabcheck.protocols.ladis.process import Follower, Leader
from zabcheck.protocols.ladis.recovery import on_supply


def keep_own_log(l: Leader, sender: ProcessId, m: Supply) -> list[Effect]:
    """4.2, but what was fetched from the follower with the highest zxid is left aside."""
    return on_supply(l, sender, structs.replace(m, after=l.history.zxid.packed(), txns=()))


def keep_what_was_skipped(f: Follower, sender: ProcessId, m: Trunc) -> list[Effect]:
    """4.2, but the follower forgets nothing."""
    return []

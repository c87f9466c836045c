"""The steps that the mutants of LADIS 2008 take instead of the right ones: each is one step, with one thing wrong."""

from msgspec import structs

from zabcheck.protocols.base import Changed, Effect, Elected, Persist, ProcessId
from zabcheck.protocols.ladis.broadcast import acknowledged, on_ack
from zabcheck.protocols.ladis.messages import Ack, NewLeader, Supply, Trunc
from zabcheck.protocols.ladis.process import Follower, Leader, Mode, Server, abandon, deliver_up_to
from zabcheck.protocols.ladis.recovery import on_elected, on_new_leader, on_supply


def keep_own_log(l: Leader, sender: ProcessId, m: Supply) -> list[Effect]:
    """4.2, but what was fetched from the follower with the highest zxid is left aside."""
    return on_supply(l, sender, structs.replace(m, after=l.history.zxid.packed(), txns=()))


def keep_what_was_skipped(f: Follower, sender: ProcessId, m: Trunc) -> list[Effect]:
    """4.2, but the follower forgets nothing."""
    return []


def forget_the_leaders_record(f: Follower, sender: ProcessId, m: NewLeader) -> list[Effect]:
    """4.2, but the zxid with counter zero is not written: the highest zxid is that of a message."""
    effects = on_new_leader(f, sender, m)
    f.zxid = f.history.zxid.packed()
    written = Persist(history=f.history, zxid=f.zxid)
    return [written if isinstance(each, Persist) else each for each in effects]


def keep_what_waits(l: Server) -> None:
    """Leave the leader, or give leadership up, but the requests that wait go on waiting."""
    waiting = l.waiting
    abandon(l)
    l.waiting = waiting


def keep_what_waits_when_elected(l: Server, sender: ProcessId, m: Elected) -> list[Effect]:
    """4.2, but the requests that wait go on waiting."""
    waiting = l.waiting
    effects = on_elected(l, sender, m)
    l.waiting = waiting
    return effects


def count_acks_of_any_epoch(f: Server, sender: ProcessId, m: Ack) -> list[Effect]:
    """4.1 without COMMITs, but an ACK counts whatever its epoch is: for all that has a lower zxid."""
    if f.leads or f.mode is Mode.ELECTION:
        return on_ack(f, sender, m)
    f.heard = {**f.heard, sender: m.zxid}
    if f.mode is not Mode.BROADCAST:
        return [Changed()]
    acks = f.heard
    accepted = [z for z in acks.values() if f.quorums.contains([each for each in acks if acks[each] >= z])]
    return [Changed(), *deliver_up_to(f, max(accepted, default=0))]


def deliver_own_log_at_acks(f: Server, sender: ProcessId, m: Ack) -> list[Effect]:
    """4.1 without COMMITs, but ACKs have a follower deliver its own log before it has that of the leader."""
    effects = on_ack(f, sender, m)
    return effects if f.leads or f.mode is not Mode.RECOVERY else [*effects, *deliver_up_to(f, acknowledged(f))]

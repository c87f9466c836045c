"""The properties of liveness by brute force: each sentence read word for word, as in `protocol_oracle`."""

from collections.abc import Sequence

from invariants import Broadcast, Crash, Deliver, Halt, Recover, Restore, Stabilised, Txn
from invariants.events import Local
from tests.invariants.oracle import Cast, Finding, Reading
from tests.invariants.protocol_oracle import Found, all_sequences, finding, last, logs


def counting(reading: Reading) -> list[tuple[Stabilised, list[Local]]]:
    """Each `Stabilised` whose promise was kept, and what its leader did after it."""
    kept = []
    lives = (Crash, Halt, Recover, Stabilised)
    for log in logs(reading):
        event = last(log, Stabilised)
        if event is None or not event.quorum:
            continue
        since = log[max(i for i, each in enumerate(log) if each is event) + 1 :]
        if last(since, *lives) is not None:
            continue
        shows = (Broadcast, Deliver, Restore)
        if any(isinstance(each, shows) and each.incarnation > event.incarnation for each in log):
            continue
        if not any(is_down(each) for each in logs(reading) if is_member(each, event)):
            kept.append((event, since))
    return kept


def is_down(log: Sequence[Local]) -> bool:
    """Return True if the last incarnation that a process is seen in crashed or halted, and that was the end of it."""
    seen = [
        each for each in log if isinstance(each, Crash | Halt | Recover | Stabilised | Broadcast | Deliver | Restore)
    ]
    incarnation = max((each.incarnation for each in seen), default=0)
    life = last([each for each in seen if each.incarnation == incarnation], Crash, Halt, Recover, Stabilised)
    return isinstance(life, Crash | Halt)


def is_member(log: Sequence[Local], event: Stabilised) -> bool:
    return log[0].process in event.quorum


def has(reading: Reading, process: int) -> set[Txn] | None:
    """Return what the last incarnation delivered, since its last snapshot; None if that is not on record."""
    shows = (Broadcast, Deliver, Restore, Crash, Recover, Halt, Stabilised)
    own = [event for event in reading.events if isinstance(event, shows) and event.process == process]
    if not own:
        return set()
    actor = process, max(event.incarnation for event in own)
    segments = [segment for segment in reading.all_segments if segment.actor == actor]
    if not segments:
        return set()
    return None if segments[-1].prefix is None else set(segments[-1].sequence())


def convergence(reading: Reading) -> Finding:
    """The leader broadcasts after its `Stabilised`, and its quorum delivers all of it."""
    lacking: Found = []
    idle: Found = []
    for event, since in counting(reading):
        casts = [cast for cast in reading.casts if is_among(cast, since) and cast.primary[2] == event.incarnation]
        if not casts:
            idle.append((event.process, (event,)))
        for cast in casts:
            for member in event.quorum:
                delivered = has(reading, member)
                if delivered is not None and cast.txn not in delivered:
                    lacking.append(((cast.txn, event.process, cast.event.epoch, member), (event, cast.event)))
    return finding(any(is_behind(reading, event, True) for event, _ in counting(reading)), lacking or idle)


def is_behind(reading: Reading, event: Stabilised, even_if_only_broadcast: bool) -> bool:
    """Return True if a member lacked something when the event came; in merged logs nobody knows."""
    if reading.order != "global":
        return True
    place = max(i for i, each in enumerate(reading.events) if each is event)
    by_then = Reading(reading.events[: place + 1], reading.order)
    wanted = {txn for _, sequence in all_sequences(by_then) for txn in sequence}
    if even_if_only_broadcast:
        wanted |= {cast.txn for cast in by_then.casts}
    held = [has(by_then, member) for member in event.quorum]
    return any(delivered is not None and not wanted <= delivered for delivered in held)


def is_among(cast: Cast, events: Sequence[Local]) -> bool:
    return any(cast.event is event for event in events)


def reliable_delivery(reading: Reading) -> Finding:
    """A transaction that any process delivers is delivered by each member of the quorum of a `Stabilised`."""
    found: Found = []
    deliveries = [(txn, actor) for actor, sequence in all_sequences(reading) for txn in sequence]
    for event, _ in counting(reading):
        for member in event.quorum:
            delivered = has(reading, member)
            for txn, actor in deliveries:
                if delivered is not None and txn not in delivered:
                    found.append(((txn, member, event.process, actor), (Deliver(*actor, txn), event)))
    exercised = any(is_behind(reading, event, False) for event, _ in counting(reading))
    return finding(bool(deliveries) and exercised, found)

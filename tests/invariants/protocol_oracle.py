"""The properties of protocol events and of state by brute force: each sentence read word for word.

As in `tests.invariants.oracle`, nothing is incremental or shared with the package but the event classes, the published
chain hash, and what that module says a process of the paper is. What a process did before an event is asked of its own
events alone, in their order; what others did may stand anywhere in the trace.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from invariants import (
    NO_ZXID,
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    CommitEpoch,
    Crash,
    Deliver,
    Establish,
    Event,
    Halt,
    Promise,
    Ready,
    Recover,
    Restore,
    State,
    Txn,
    Zxid,
    chain_hash,
)
from invariants.events import Local
from tests.invariants.oracle import Actor, Finding, Reading

History = tuple[Zxid, int, int]
"""A history as events tell it: its last zxid, its length, its hash."""

EMPTY: History = NO_ZXID, 0, 0
Found = list[tuple[Any, tuple[Event, ...]]]
"""Violations, each with its rank and its witness; of several with one rank the first in the process's own order."""


def logs(reading: Reading) -> list[list[Local]]:
    """The events of each process, in its own order."""
    logs: dict[int, list[Local]] = {}
    for event in reading.events:
        assert isinstance(event, Local)
        logs.setdefault(event.process, []).append(event)
    return list(logs.values())


def finding(exercised: bool, found: Found) -> Finding:
    if found:
        return "violated", min(found, key=lambda each: each[0])[1]
    return ("holds" if exercised else "not exercised"), None


def told(event: AckEpoch | Adopt) -> History:
    return event.zxid, event.length, event.hash


def after(history: History, txns: Sequence[Txn]) -> History:
    """`history` with `txns` appended."""
    zxid, length, value = history
    for txn in txns:
        zxid, length, value = txn.zxid, length + 1, chain_hash(value, txn)
    return zxid, length, value


def betas(reading: Reading, epoch: int) -> list[list[Txn]]:
    """Return the broadcasts of each primary of an epoch, in its order."""
    casts = [cast for cast in reading.casts if cast.event.epoch == epoch]
    return [[cast.txn for cast in casts if cast.primary == rho] for rho in {cast.primary for cast in casts}]


def last(events: Sequence[Local], *kinds: type[Local]) -> Any:
    return next((event for event in reversed(events) if isinstance(event, kinds)), None)


def invariant_1(reading: Reading) -> Finding:
    """f accepts a proposal of e only if f.a = e, where f.a is what it adopted last."""
    found: Found = []
    exercised = False
    for log in logs(reading):
        for i, accept in enumerate(log):
            if isinstance(accept, Accept):
                exercised = True
                adopt = last(log[:i], Adopt)
                if adopt is None or adopt.epoch != accept.epoch:
                    rank = accept.txn, accept.epoch, accept.process, accept.incarnation
                    found.append((rank, (accept,) if adopt is None else (adopt, accept)))
    return finding(exercised, found)


def invariant_2(reading: Reading) -> Finding:
    """In the broadcast phase of e, f with f.a = e accepts and delivers in the order of zxids."""
    found: Found = []
    exercised = False
    for log in logs(reading):
        for i, event in enumerate(log):
            if not isinstance(event, Accept | Deliver):
                continue
            before = previous_accept(log[:i], event) if isinstance(event, Accept) else previous_delivery(log[:i], event)
            if before is None:
                continue
            exercised = True
            zxid = before.zxid if isinstance(before, Adopt | Restore) else before.txn.zxid
            if event.txn.zxid <= zxid:
                rank = event.txn, event.process, event.incarnation, isinstance(event, Deliver)
                found.append((rank, (before, event)))
    return finding(exercised, found)


def previous_accept(log: Sequence[Local], accept: Accept) -> Adopt | Accept | None:
    adopt = last(log, Adopt)
    if adopt is None or adopt.epoch != accept.epoch:
        return None
    since = log[max(i for i, event in enumerate(log) if event is adopt) :]
    return last([e for e in since if isinstance(e, Adopt) or (isinstance(e, Accept) and e.epoch == adopt.epoch)], Local)  # type: ignore[no-any-return]  # one of the two


def phase_of(log: Sequence[Local], deliver: Deliver) -> list[Local] | None:
    """The broadcast phase in which a process delivers after `log`: its events since CommitEpoch, if it is in one."""
    phase: list[Local] | None = None
    for event in (*log, deliver):
        if isinstance(event, CommitEpoch):
            phase = [event]
        elif isinstance(event, Adopt | Crash | Recover | Halt):
            phase = None
        elif phase is not None and isinstance(event, Deliver | Restore):
            if event.incarnation != phase[0].incarnation:
                phase = None
            else:
                phase.append(event)
    return None if phase is None else phase[:-1]


def previous_delivery(log: Sequence[Local], deliver: Deliver) -> Deliver | Restore | None:
    phase = phase_of(log, deliver)
    return last(phase or [], Deliver, Restore)  # type: ignore[no-any-return]  # one of these or None


def invariant_3(reading: Reading) -> Finding:
    """Before f provides its history for e it promises e or later; after that it accepts nothing of an earlier epoch."""
    found: Found = []
    exercised = False
    for log in logs(reading):
        for i, event in enumerate(log):
            if not isinstance(event, AckEpoch | Accept | Adopt):
                continue
            promises = [each for each in log[:i] if isinstance(each, Promise)]
            highest = max(promises, key=lambda promise: promise.epoch, default=None)
            zxid = event.txn.zxid if isinstance(event, Accept) else event.zxid
            rank = event.epoch, zxid, event.process, event.incarnation
            if isinstance(event, AckEpoch):
                exercised = True
                if highest is None or highest.epoch < event.epoch:
                    found.append((rank, (event,)))
            elif highest is not None:
                exercised = True
                if event.epoch < highest.epoch:
                    found.append((rank, (highest, event)))
    return finding(exercised, found)


def invariant_4(reading: Reading) -> Finding:
    """ACK-E tells f's durable history, and NEWLEADER one that was told so, with what was broadcast in e after it."""
    altered: Found = []
    made_up: Found = []
    acks = [event for event in reading.events if isinstance(event, AckEpoch)]
    for log in logs(reading):
        for i, event in enumerate(log):
            if isinstance(event, AckEpoch) and told(event) != durable(log[:i]):
                altered.append(((event.epoch, event.zxid, event.process, event.incarnation), (event,)))
            if isinstance(event, Adopt) and acks:
                initial = {told(ack) for ack in acks if ack.epoch == event.epoch}
                right = {
                    after(history, beta[:length])
                    for history in initial
                    for beta in [[], *betas(reading, event.epoch)]
                    for length in range(len(beta) + 1)
                }
                if told(event) not in right:
                    rank = event.epoch, event.zxid, event.process, event.incarnation, event.length, event.hash
                    made_up.append((rank, (event,)))
    return finding(bool(acks), altered or made_up)


def durable(log: Sequence[Local]) -> History:
    """The history that a process has adopted, and gone on with."""
    history = EMPTY
    for event in log:
        if isinstance(event, Adopt):
            history = told(event)
        elif isinstance(event, Accept):
            history = after(history, [event.txn])
    return history


def invariant_5(reading: Reading) -> Finding:
    """In the broadcast phase of e, f's deliveries above what it adopted or restored last are a prefix of β_e there."""
    found: Found = []
    exercised = False
    for log in logs(reading):
        for i, event in enumerate(log):
            if not isinstance(event, Deliver):
                continue
            phase = phase_of(log[:i], event)
            if phase is None:
                continue
            begin = phase[0]
            assert isinstance(begin, CommitEpoch)
            adopt = last(log[: next(j for j, each in enumerate(log) if each is begin)], Adopt)
            if adopt is None or adopt.epoch != begin.epoch:
                continue
            snapshot = last(phase, Restore)
            above = adopt.zxid if snapshot is None else max(adopt.zxid, snapshot.zxid)
            if event.txn.zxid <= above:
                continue
            if snapshot is not None:
                phase = phase[max(j for j, each in enumerate(phase) if each is snapshot) :]
            exercised = True
            if any(isinstance(each, Deliver) and each.txn == event.txn for each in phase):
                continue  # delivered again
            done = [each.txn for each in (*phase, event) if isinstance(each, Deliver) and each.txn.zxid > above]
            sequence = list(dict.fromkeys(done))
            right = [[txn for txn in beta if txn.zxid > above] for beta in betas(reading, begin.epoch)]
            if all(beta[: len(sequence)] != sequence for beta in right) and not was_wrong_before(sequence, right):
                rank = begin.epoch, event.txn, event.process, event.incarnation
                found.append((rank, (begin, event)))
    return finding(exercised, found)


def was_wrong_before(sequence: Sequence[Txn], right: Sequence[Sequence[Txn]]) -> bool:
    """Return True if it is no prefix even without its last transaction."""
    shorter = list(sequence[:-1])
    return bool(shorter) and all(list(beta[: len(shorter)]) != shorter for beta in right)


def chosen(reading: Reading, is_quorum: Callable[[set[int]], bool] | None = None) -> Finding:
    """A delivered transaction was accepted by a quorum (by default a majority) in one epoch; in merged logs, ever."""
    size = max((event.process for log in logs(reading) for event in log), default=1)
    is_quorum = is_quorum or (lambda members: 2 * len(members) > size)
    steps = [(event, *both) for event, both in zip(reading.events, told_histories(reading), strict=True)]
    found: Found = []
    exercised = False
    for i, deliver in enumerate(reading.events):
        if not isinstance(deliver, Deliver):
            continue
        seen = steps[:i] if reading.order == "global" else steps
        contents = contents_of(seen)
        accepted = [
            event
            for event, _, history in seen
            if (isinstance(event, Accept) and event.txn == deliver.txn)
            or (isinstance(event, Adopt) and deliver.txn in contents.get(history, ()))
        ]
        unknown = [event for event, _, history in seen if isinstance(event, Adopt) and history not in contents]
        epochs = {event.epoch for event in (*accepted, *unknown)}
        if any(is_quorum({each.process for each in accepted if each.epoch == epoch}) for epoch in epochs):
            exercised = True
        elif not any(
            is_quorum({each.process for each in (*accepted, *unknown) if each.epoch == epoch}) for epoch in epochs
        ):
            rank = deliver.txn, deliver.process, deliver.incarnation
            found.append((rank, (*best_accepted(accepted), deliver)))
    shown = [any(isinstance(event, kind) for event in reading.events) for kind in (Accept, Adopt)]
    return finding(exercised, found) if all(shown) else finding(False, [])


def told_histories(reading: Reading) -> list[tuple[History, History]]:
    """Return what the process of each event had adopted, and gone on with, before it and after it."""
    has: dict[int, History] = {}
    histories = []
    for event in reading.events:
        assert isinstance(event, Local)
        before = has.get(event.process, EMPTY)
        if isinstance(event, Adopt):
            has[event.process] = told(event)
        elif isinstance(event, Accept):
            has[event.process] = after(before, [event.txn])
        histories.append((before, has.get(event.process, EMPTY)))
    return histories


def contents_of(steps: Sequence[tuple[Event, History, History]]) -> dict[History, tuple[Txn, ...]]:
    """Return the content of each history that can be put together from what was accepted or broadcast."""
    sent: dict[tuple[int, int, int], list[Txn]] = {}
    for event, _, _ in steps:
        if isinstance(event, Broadcast):
            beta = sent.setdefault((event.epoch, event.process, event.incarnation), [])
            beta += [event.txn] if event.txn not in beta else []
    contents: dict[History, tuple[Txn, ...]] = {EMPTY: ()}
    while True:
        more = {
            longer: (*contents[history], event.txn)
            for event, history, longer in steps
            if isinstance(event, Accept) and history in contents and longer not in contents
        }
        adopts = [event for event, _, _ in steps if isinstance(event, Adopt)]
        for late in adopts:
            for initial in adopts:
                if told(late) in contents or told(initial) not in contents:
                    continue
                if initial.epoch == late.epoch and initial.zxid.epoch < initial.epoch:
                    for beta in (beta for (epoch, _, _), beta in sent.items() if epoch == late.epoch):
                        behind = beta[: max(0, late.length - initial.length)]
                        if after(told(initial), behind) == told(late):
                            more[told(late)] = (*contents[told(initial)], *behind)
        if more.keys() <= contents.keys():
            return contents
        contents |= more


def best_accepted(accepted: Sequence[Accept | Adopt]) -> list[Accept | Adopt]:
    """Return its acceptances in the epoch with the most processes: the least event of each."""

    def order(event: Accept | Adopt) -> tuple[Any, ...]:
        history = () if isinstance(event, Accept) else (event.length, event.zxid, event.hash)
        return event.process, isinstance(event, Adopt), event.incarnation, history

    best: list[Accept | Adopt] = []
    for epoch in sorted({event.epoch for event in accepted}):
        here = sorted((event for event in accepted if event.epoch == epoch), key=order)
        least = [event for i, event in enumerate(here) if event.process not in {each.process for each in here[:i]}]
        if len(least) > len(best):
            best = least
    return best


def epoch_uniqueness(reading: Reading) -> Finding:
    """At most one process, in one incarnation, is established in an epoch, is made ready in it, or broadcasts in it."""

    def rank(event: Establish | Ready | Broadcast) -> Any:
        kind = (Establish, Ready, Broadcast).index(type(event))
        return event.process, event.incarnation, kind, event.txn if isinstance(event, Broadcast) else ()

    acting = [event for event in reading.events if isinstance(event, Establish | Ready | Broadcast)]
    found: Found = [
        ((p.epoch, rank(p), rank(q)), (p, q))
        for p in acting
        for q in acting
        if p.epoch == q.epoch and (p.process, p.incarnation) < (q.process, q.incarnation)
    ]
    exercised = any(
        promise.leader is not None and promise.epoch == event.epoch and promise.leader != event.process
        for promise in reading.events
        if isinstance(promise, Promise)
        for event in acting
    )
    return finding(exercised, found)


def zxid_uniqueness(reading: Reading) -> Finding:
    """No zxid has two values, and none is broadcast by two primaries."""
    shown = shown_by(reading)
    found: Found = [
        ((a.zxid, 0, a, b), (shown[a], shown[b])) for a in shown for b in shown if a.zxid == b.zxid and a < b
    ]
    for first in reading.casts:
        for second in reading.casts:
            if first.txn == second.txn and first.primary < second.primary:
                rank = first.txn.zxid, 1, first.txn, first.primary, second.primary
                found.append((rank, (first.event, second.event)))
    sightings: dict[Zxid, set[object]] = {}
    for cast in reading.casts:
        sightings.setdefault(cast.txn.zxid, set()).add((cast.txn, cast.primary))
    for _, sequence in all_sequences(reading):
        for txn in sequence:
            sightings.setdefault(txn.zxid, set()).add((txn, "delivered"))
    for event in reading.events:
        if isinstance(event, Accept):
            sightings.setdefault(event.txn.zxid, set()).add((event.txn, "accepted by", event.process))
    return finding(any(len(each) > 1 for each in sightings.values()), found)


def shown_by(reading: Reading) -> dict[Txn, Event]:
    """Each transaction with the event that shows it best."""
    ranked: dict[Txn, list[tuple[Any, Event]]] = {}
    for cast in reading.casts:
        ranked.setdefault(cast.txn, []).append(((0, cast.primary), cast.event))
    for actor, sequence in all_sequences(reading):
        for txn in sequence:
            ranked.setdefault(txn, []).append(((1, actor), Deliver(*actor, txn)))
    for event in reading.events:
        if isinstance(event, Accept):
            rank = 2, (event.process, event.incarnation, event.epoch)
            ranked.setdefault(event.txn, []).append((rank, event))
    return {txn: min(events, key=lambda each: each[0])[1] for txn, events in ranked.items()}


def all_sequences(reading: Reading) -> Iterator[tuple[Actor, tuple[Txn, ...]]]:
    """Yield the deliveries of each segment, also of one that went on from what is not on record."""
    yield from reading.segments
    for segment in reading.unmatched:
        yield segment.actor, segment.sequence()


def state(reading: Reading) -> Finding:
    """At equal lengths all digests are equal."""

    def rank(event: State) -> tuple[Any, ...]:
        return event.process, event.incarnation, event.digest, event.zxid

    states = [event for event in reading.events if isinstance(event, State)]
    found: Found = []
    for p in states:
        for q in states:
            if p.length == q.length and p.digest != q.digest and rank(p) < rank(q):
                found.append(((p.length, rank(p), rank(q)), (p, q)))
    return finding(len({event.length for event in states}) < len(states), found)

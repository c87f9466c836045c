"""Explains violations of the properties of deliveries (DSN 2011, III; LADIS 2008, 2).

A function for each property, declared with its edges by `explains`: it takes the violation and the facts of the trace,
and yields sentences without their full stop.
"""

from collections.abc import Iterator
from itertools import pairwise

from zabcheck.counterexample.explanation.edges import Case, Mark, in_order, left_out
from zabcheck.counterexample.explanation.explained import explains
from zabcheck.counterexample.explanation.facts import Facts, Place
from zabcheck.counterexample.explanation.phrases import (
    altered,
    both_sent,
    broadcasts,
    deliveries,
    demands,
    in_a_row,
    same_actor,
    sent,
    shown,
    took,
    txns,
    why_lacking,
    why_out_of_order,
)
from zabcheck.invariants import (
    Agreement,
    Broadcast,
    ClientAck,
    Clock,
    Deliver,
    Event,
    FullCausalOrder,
    GlobalPrimaryOrder,
    Integrity,
    LadisCausalOrder,
    Local,
    LocalPrimaryOrder,
    PoCausalOrder,
    Prefix,
    PrimaryIntegrity,
    Redelivery,
    Restore,
    StrictCausality,
    TotalOrder,
    Txn,
    Violation,
)
from zabcheck.text.words import counted

# DSN 2011, III-A.


def _from_nothing(case: Case) -> Iterator[Mark]:
    """Mark what nobody broadcast, or what nobody delivered as a prefix."""
    [event] = case.witness
    if isinstance(event, Deliver):
        nobody = case.nothing(f"somebody broadcasts {event.txn}", "broadcast")
        yield Mark(nobody, case.at(0), "missing", "nobody broadcast it")
    else:
        nobody = case.nothing("somebody delivers this prefix", "deliver")
        yield Mark(nobody, case.at(0), "missing", "nobody delivered it")


@explains(Integrity, edges=_from_nothing)
def integrity(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a delivery that nobody had broadcast, or a snapshot of what nobody had delivered."""
    [event] = v.witness
    if isinstance(event, Restore):
        yield from _foreign_snapshot(v, f, event)
        return
    assert isinstance(event, Deliver)
    zxid = event.txn.zxid
    yield f"{f.who(event)} {took(f, event)}, and no process broadcast {shown(event.txn)} anywhere in this run"
    other = next((each for each in f.all(Broadcast) if each.txn.zxid == zxid), None)
    if other is not None:
        yield f"What was broadcast with the zxid {zxid} is {shown(other.txn)}, by {f.who(other)}{f.at(other)}"
    yield from altered(f, event)
    yield demands(v, "whatever a process delivers was broadcast by some process")
    yield f"So the state of {f.who(event)} has a change in it that no primary ever made"


def _foreign_snapshot(v: Violation, f: Facts, event: Restore) -> Iterator[str]:
    held, place = f.resolved(event), f.find(event)
    count = counted(event.length, "transaction", "transactions")
    what = f"{count}, up to {event.zxid}" if held is None else txns(held)
    yield f"{f.who(event)} took over a snapshot{f.at(event)} that holds {what}"
    for incarnation in (each for each in f.incarnations(event.process) if each <= event.incarnation):
        own = f.delivered(event.process, incarnation, None if place is None else place.rank)
        if own:
            yield f"What p{event.process} itself had delivered, as incarnation {incarnation}, was {txns(own)}"
            break
    if held is not None and held.length == 1:
        yield f"No process of this run delivered {shown(held.txn)} first"
    else:
        yield "No process of this run began its deliveries with what this snapshot holds, in that order"
    yield demands(v, "what enters a state was broadcast; a snapshot has to hold what some process delivered")
    yield f"So {f.who(event)} goes on from a state that no process ever reached by delivering"


@explains(TotalOrder, edges=left_out)
def total_order(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a transaction that one process delivered earlier, and the other left out or delivered later."""
    p_a, p_b, q_b, *q_a = deliveries(v.witness)
    a, b = shown(p_a.txn), shown(p_b.txn)
    p, q = f.who(p_a), f.who(q_b)
    yield f"{p} {in_a_row(f, p_a, p_b)}"
    yield f"{q} {in_a_row(f, q_b, q_a[0])}" if q_a else f"{q} {took(f, q_b)}, and never delivered {a}"
    yield from why_lacking(v, f, q_b, p_a.txn)
    yield demands(v, f"all processes that deliver {b} deliver the same before it")
    yield f"So {q} applied {b} to a state without {a}, and {p} to one with it: the two have diverged"


def _neither_has_both(case: Case) -> Iterator[Mark]:
    """Mark for each of the two what it lacks."""
    first, second = case.witness
    for number, event, other in ((0, first, second), (1, second, first)):
        never = case.undelivered(event, other.txn)
        yield Mark(case.at(number), never, "missing", "one of the two has to be there")


@explains(Agreement, edges=_neither_has_both)
def agreement(v: Violation, f: Facts) -> Iterator[str]:
    """Explain two processes that each delivered a transaction which the other lacks."""
    one, other = deliveries(v.witness)
    a, b = shown(one.txn), shown(other.txn)
    p, q = f.who(one), f.who(other)
    yield f"{p} {took(f, one)} and never {b}; {q} {took(f, other)} and never {a}"
    sent_a, sent_b = f.broadcast(one.txn), f.broadcast(other.txn)
    if sent_a is not None and sent_b is not None:
        yield both_sent(f, sent_a, sent_b)
    yield from why_lacking(v, f, other, one.txn)
    yield demands(v, "of any two processes one delivers everything that the other does")
    yield f"So {p} and {q} have diverged: neither can reach the state of the other by delivering more"


@explains(LocalPrimaryOrder, edges=left_out)
def local_primary_order(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a transaction that a primary broadcast first, and a process delivered later or not at all."""
    first, second = broadcasts(v.witness)
    b, *later = deliveries(v.witness)
    yield both_sent(f, first, second)
    yield f"{f.who(b)} {_without(f, b, first.txn, later)}"
    yield from why_lacking(v, f, b, first.txn)
    yield demands(v, f"whoever delivers {shown(second.txn)} has delivered {shown(first.txn)} before it")
    yield built_on(f, first, b)


def _without(f: Facts, b: Deliver, a: Txn, later: list[Deliver]) -> str:
    """State that `b` was delivered, but `a` only later, or never."""
    return in_a_row(f, b, later[0], "and only then") if later else f"{took(f, b)}, but never delivered {shown(a)}"


def built_on(f: Facts, first: Broadcast, deliver: Deliver) -> str:
    """Explain the harm of a transaction that is delivered without an earlier one of its primary."""
    a, b = shown(first.txn), shown(deliver.txn)
    return f"So {f.who(deliver)} applied {b} to a state without {a}, although p{first.process} had built {b} on {a}"


@explains(GlobalPrimaryOrder, edges=in_order("epoch {0.epoch} comes first", 2, 3))
def global_primary_order(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a transaction of a later primary that a process delivered before one of an earlier primary."""
    first, second = broadcasts(v.witness)
    b, a = deliveries(v.witness)
    yield both_sent(f, first, second)
    yield f"{f.who(b)} {in_a_row(f, b, a)}"
    yield from why_out_of_order(v, f, b, a.txn)
    yield demands(v, "a process delivers what an earlier primary broadcast before what a later one did")
    yield _older_on_newer(f, a, b)


def _older_on_newer(f: Facts, a: Deliver, b: Deliver) -> str:
    """Explain the harm of `a` delivered after `b`, although `a` is the earlier one."""
    so = f"So {f.who(b)} applied {shown(a.txn)} to a state that {shown(b.txn)} had already changed"
    restored = {(event.process, event.incarnation) for event in f.all(Restore)}
    for actor in dict.fromkeys((event.process, event.incarnation) for event in f.all(Deliver)):
        first, then = Deliver(*actor, a.txn), Deliver(*actor, b.txn)
        if _came_first(f, first, then) if actor in restored else f.earlier(first, then):
            return f"{so}; {f.who(first)} delivered {shown(a.txn)} first, so the two have diverged"
    return so


def _came_first(f: Facts, first: Deliver, then: Deliver) -> bool:
    """Return True if a process that took over a snapshot has both transactions, in this order."""
    done = f.delivered(first.process, first.incarnation)
    return first.txn in done and then.txn in done and done.index(first.txn) < done.index(then.txn)


def _not_delivered_before(case: Case) -> Iterator[Mark]:
    """Mark the delivery that the primary lacked when it broadcast."""
    first, second, _ = case.witness
    delivery = case.later(second, first.txn, case.positions[1])
    yield Mark(delivery, case.at(1), "missing", f"epoch {first.epoch} comes first")


@explains(PrimaryIntegrity, edges=_not_delivered_before)
def primary_integrity(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a transaction that a primary had not delivered when it began to broadcast."""
    older, newer = broadcasts(v.witness)
    [seen] = deliveries(v.witness)
    p, a, b = f.who(newer), shown(older.txn), shown(newer.txn)
    yield sent(f, newer)
    yield f"At that time it had not delivered {a}, which {_broadcast_and_delivered(f, older, newer, seen)}"
    yield from why_lacking(v, f, newer, older.txn)
    yield demands(v, "a primary delivers all that is delivered of earlier epochs before it broadcasts")
    own = f.delivery(newer.process, newer.incarnation, older.txn)
    later = f"never delivered {a}"
    if own is not None:
        did = f"took over {a} with a snapshot" if isinstance(own.event, Restore) else f"delivered {a}"
        later = f"{did} only{f.at_place(own)}"
    yield f"So {p} computed {b} from a state without {a}; it {later}"


def _broadcast_and_delivered(f: Facts, older: Broadcast, newer: Broadcast, seen: Deliver) -> str:
    """Name who broadcast the older transaction and who delivered it, as seen from when the newer one was broadcast."""
    before = f.earlier(older, newer)
    did = "had broadcast" if before else "broadcast"
    by = f"{f.who(older)}, primary of epoch {older.epoch}, {did}{f.at(older)}"
    if same_actor(older, newer):
        by = f"it {did} itself as primary of epoch {older.epoch}{f.at(older)}"
    if same_actor(seen, newer):
        return by
    had = "had " if f.earlier(seen, newer) else ""
    if same_actor(seen, older):
        if f.at(seen) == f.at(older):
            return f"{f.who(older)}, primary of epoch {older.epoch}, {did} and delivered{f.at(older)}"
        return f"{by} and {'' if before else had}delivered{f.at(seen)}"
    return f"{by} and {f.who(seen)} {had}delivered{f.at(seen)}"


# DSN 2011, III-B.


def _left_out(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a transaction that was delivered without one that precedes it."""
    before, second = v.witness[:2]
    assert isinstance(before, Broadcast | Deliver)
    assert isinstance(second, Broadcast)
    y, *later = deliveries(v.witness[2:])
    x = shown(before.txn)
    if isinstance(before, Broadcast):
        yield both_sent(f, before, second)
    else:
        role = "" if same_actor(before, second) else f"as {f.who(second)} and "
        yield (
            f"{f.who(before)} {took(f, before)}; after that, {role}as primary of epoch {second.epoch}, it broadcast "
            f"{shown(second.txn)}{f.at(second)}"
        )
    yield f"{f.who(y)} {_without(f, y, before.txn, later)}"
    yield from why_lacking(v, f, y, before.txn)
    yield demands(v, f"{x}, which so causally precedes {shown(y.txn)}, is delivered before it")
    yield f"So {f.who(y)} applied {shown(y.txn)}, which was made after {x}, to a state without {x}"


@explains(PoCausalOrder, edges=left_out)
def po_causal_order(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a transaction that was delivered without what its primary had broadcast, or its process delivered."""
    yield from _left_out(v, f)


@explains(FullCausalOrder, edges=left_out)
def full_causal_order(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a transaction that was delivered without what its process had broadcast or delivered before."""
    yield from _left_out(v, f)


def _unrelated(case: Case) -> Iterator[Mark]:
    """Mark the two broadcasts in both directions."""
    for first, second in ((0, 1), (1, 0)):
        yield Mark(case.at(first), case.at(second), "missing", "neither precedes the other")


@explains(StrictCausality, edges=_unrelated)
def strict_causality(v: Violation, f: Facts) -> Iterator[str]:
    """Explain two transactions that one process delivered and that were made without knowledge of each other."""
    first, second = broadcasts(v.witness)
    x, y = deliveries(v.witness)
    yield both_sent(f, first, second)
    if first.process == second.process:
        neither = f"When p{first.process} broadcast the second of them it had not delivered the first"
    else:
        neither = "When they broadcast, neither had delivered the other's transaction"
    yield f"{neither}, so neither causally precedes the other"
    earlier, later = (y, x) if f.earlier(y, x) else (x, y)
    yield f"{f.who(x)} {in_a_row(f, earlier, later)}"
    yield demands(v, "of two transactions that a process delivers one causally precedes the other")
    maker = second if later is y else first
    computed = f"So {f.who(maker)} computed {shown(later.txn)} from a state without {shown(earlier.txn)}"
    applied = "applied it" if same_actor(maker, later) else f"{f.who(later)} applied it"
    yield f"{computed}, but {applied} to a state with {shown(earlier.txn)}"


@explains(Clock, edges=in_order("delivered before it was broadcast", 1, 0))
def clock(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a delivery that stands before its broadcast."""
    deliver, broadcast = v.witness
    assert isinstance(deliver, Deliver)
    assert isinstance(broadcast, Broadcast)
    yield f"{f.who(deliver)} {took(f, deliver)}"
    yield f"{sent(f, broadcast)}, which is later, and nobody broadcast it before"
    yield demands(v, "a transaction is broadcast before it is delivered")
    yield "So either this trace is not in the order of time, or what was delivered did not exist yet"


# LADIS 2008, 2.


@explains(Prefix, edges=left_out)
def prefix(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a proposal that a server left out although a later one was delivered."""
    first, second = broadcasts(v.witness)
    [m] = deliveries(v.witness)
    yield both_sent(f, first, second)
    yield f"{f.who(m)} {_without(f, m, first.txn, [])}"
    yield from why_lacking(v, f, m, first.txn)
    yield demands(v, f"whoever delivers {shown(m.txn)} also delivers all that its leader proposed before it")
    yield built_on(f, first, m)


@explains(LadisCausalOrder, edges=in_order("{3.txn} has to come first", 2, 3))
def causal_order(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a transaction ordered after one that it causally precedes."""
    first, second = broadcasts(v.witness)
    b, a = deliveries(v.witness)
    yield both_sent(f, first, second)
    yield f"{f.who(b)} {in_a_row(f, b, a)}"
    yield from why_out_of_order(v, f, b, a.txn)
    why = "of the lower epoch" if first.epoch < second.epoch else f"which p{first.process} proposed first"
    yield demands(v, f"{shown(a.txn)}, {why}, is ordered before {shown(b.txn)}")
    yield _older_on_newer(f, a, b)


@explains(Redelivery, edges=in_order("{1.txn} comes next", 2, 3))
def redelivery(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a repeated delivery that was followed by another transaction than the first time."""
    first, successor, again, wrong = v.witness
    assert isinstance(first, Deliver)
    assert isinstance(successor, Deliver)
    assert isinstance(wrong, Deliver)
    a, b, c = shown(first.txn), shown(successor.txn), shown(wrong.txn)
    begun, broke = _repeat(f, again, wrong)
    yield f"{f.who(first)} {in_a_row(f, first, successor, 'and directly after it')}"
    how = f"took over a snapshot up to {a}" if isinstance(again, Restore) else f"delivered {a} again"
    if begun is not None and broke is not None and begun.number == broke.number:
        yield f"{f.who(wrong)} {how} and next delivered {c}, both{f.at_place(begun)}"
    else:
        yield f"{f.who(wrong)} {how}{f.at_place(begun)}, and next delivered {c}{f.at_place(broke)}"
    came = f.delivery(wrong.process, wrong.incarnation, successor.txn)
    if came is not None and broke is not None and came.rank > broke.rank:
        yield f"{b} came only after that,{f.at_place(came)}"
    else:
        yield from why_out_of_order(v, f, wrong, successor.txn, broke)
    yield demands(v, f"{b} is redelivered after {a}")
    acked = next((event for event in f.all(ClientAck) if event.txn == successor.txn), None)
    told = "" if acked is None else f"; a client had been told that it is done{f.at(acked)}"
    done = f.delivered(wrong.process, wrong.incarnation, None if broke is None else broke.rank)
    if successor.txn in done and not same_actor(successor, wrong):
        yield f"So what follows {a} at p{wrong.process} has changed: it was {b} at first, then {c}{told}"
    elif same_actor(successor, wrong):
        yield f"So what follows {a} at {f.who(wrong)} has changed: it was {b} at first, then {c}{told}"
    else:
        yield f"So {f.who(wrong)} applied {c} to a state without {b}, which {f.who(successor)} had applied{told}"


def _repeat(f: Facts, again: Event, wrong: Deliver) -> tuple[Place[Event] | None, Place[Event] | None]:
    """Return the place where the process began again, and the place directly after that where it went on wrongly."""
    moves = [place for place in f.of(wrong.process, Local) if isinstance(place.event, Deliver | Restore)]
    for begun, broke in pairwise(moves):
        if (begun.event, broke.event) == (again, wrong):
            return begun, broke
    return f.find(again), f.find(wrong)

"""Parts of the sentences that explain a violation: who broadcast and delivered what, and how a process lacks it."""

import re
from collections.abc import Iterable, Iterator, Sequence

from zabcheck.counterexample.explanation.facts import Facts, Place
from zabcheck.invariants import Adopt, Broadcast, Chain, Corrupt, Crash, Deliver, Event, Local, Restore, Txn, Violation
from zabcheck.text.words import cut

LONGEST_VALUE = 24
"""The characters of a value that stand in running text."""
MOST_NAMED = 4
"""The number of transactions of a sequence, or of processes, that are named."""
LONGEST_LIST = 80
"""The characters up to which a list of processes has the place of each."""


def demands(v: Violation, what: str) -> str:
    """Quote the property's demand, with the place in the paper."""
    title = v.property.replace("po ", "PO ", 1) if v.property.startswith("po ") else v.property.capitalize()
    source = re.sub(r" \(([^)]*)\)", r", \1", v.source)
    return f"{title} ({source}) requires that {what}"


def shown(txn: Txn) -> str:
    """Return a transaction as it stands in a sentence: a long value loses its middle."""
    return f"{cut(txn.value, LONGEST_VALUE)}{txn.zxid}"


def listed(names: Sequence[str]) -> str:
    """Join texts as in "p1, p2 and p3"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def processes(ids: Sequence[int]) -> str:
    """Name processes as in "p1 and p2"."""
    return listed([f"p{process}" for process in ids])


def txns(known: Chain | Sequence[Txn], nothing: str = "nothing") -> str:
    """List the transactions of a sequence; of a long one the last."""
    every = list(known)
    if not every:
        return nothing
    if len(every) > MOST_NAMED:
        return f"{len(every)} transactions, the last of them {shown(every[-1])}"
    return listed([shown(txn) for txn in every])


def by_whom(f: Facts, events: Sequence[Local]) -> str:
    """Name actors as in "by p1 at step 4 and by p2 at step 9"; of many, only who or how many they are."""
    said = listed([f"by {f.who(event)}{f.at(event)}" for event in events])
    if len(said) <= LONGEST_LIST:
        return said
    if len(events) <= MOST_NAMED:
        return f"by {listed([f.who(event) for event in events])}"
    return f"by {len(events)} processes"


def same_actor(one: Local, other: Local) -> bool:
    """Return True if both are of one incarnation of one process."""
    return (one.process, one.incarnation) == (other.process, other.incarnation)


def same_primary(one: Broadcast, other: Broadcast) -> bool:
    """Return True if one primary broadcast both: one incarnation of one process, in one epoch."""
    return same_actor(one, other) and one.epoch == other.epoch


def deliveries(events: Iterable[Event]) -> list[Deliver]:
    """Return the deliveries among `events`."""
    return [event for event in events if isinstance(event, Deliver)]


def broadcasts(events: Iterable[Event]) -> list[Broadcast]:
    """Return the broadcasts among `events`."""
    return [event for event in events if isinstance(event, Broadcast)]


# Who did what, when.


def took(f: Facts, event: Deliver) -> str:
    """Return a text such as "delivered x⟨1,1⟩ at step 7", or that it came with a snapshot."""
    if f.find(event) is None:
        place = f.delivery(event.process, event.incarnation, event.txn)
        if place is not None:
            return f"took over {shown(event.txn)} with a snapshot{f.at_place(place)}"
    return f"delivered {shown(event.txn)}{f.at(event)}"


def in_a_row(f: Facts, one: Deliver, other: Deliver, then: str = "and then") -> str:
    """Return a text such as "delivered x⟨1,1⟩ at step 3 and then y⟨1,2⟩ at step 5"."""
    first, second = f.find(one), f.find(other)
    if first is None or second is None:
        return f"{took(f, one)} and {took(f, other)}"
    if second.rank < first.rank:  # in a sequence that began anew, or in one that a snapshot brought it
        second = next((place for place in f.places if place.event == other and place.rank > first.rank), None)
        if second is None:
            return f"had {shown(one.txn)} when it delivered {shown(other.txn)}{f.at(other)}"
        return f"delivered {shown(one.txn)}{f.at(one)} {then} {shown(other.txn)}{f.at_place(second)}"
    if first.number == second.number:
        return f"delivered {shown(one.txn)} {then} {shown(other.txn)}, both{f.at(one)}"
    return f"delivered {shown(one.txn)}{f.at(one)} {then} {shown(other.txn)}{f.at(other)}"


def sent(f: Facts, event: Broadcast) -> str:
    """Return a text such as "p1, primary of epoch 1, broadcast x⟨1,1⟩ at step 7"."""
    return f"{f.who(event)}, primary of epoch {event.epoch}, broadcast {shown(event.txn)}{f.at(event)}"


def taken_from(f: Facts, event: Deliver) -> str:
    """Return a text such as "p2 delivered x⟨1,1⟩ at step 9, which p1, primary of epoch 1, broadcast at step 7"."""
    delivered, broadcast = f"{f.who(event)} {took(f, event)}", f.broadcast(event.txn)
    if broadcast is None:
        return delivered
    if same_actor(event, broadcast):
        if f.at(event) and f.at(event) == f.at(broadcast):
            return f"{f.who(event)}, primary of epoch {broadcast.epoch}, broadcast and {took(f, event)}"
        return f"{delivered}, which it had broadcast itself as primary of epoch {broadcast.epoch}{f.at(broadcast)}"
    return f"{delivered}, which {f.who(broadcast)}, primary of epoch {broadcast.epoch}, broadcast{f.at(broadcast)}"


def both_sent(f: Facts, one: Broadcast, other: Broadcast) -> str:
    """Name who broadcast these two, in the order of time if that is known."""
    if f.earlier(other, one):
        one, other = other, one
    if same_primary(one, other):
        return f"{sent(f, one)} and then {shown(other.txn)}{f.at(other)}"
    return f"{sent(f, one)}, and {sent(f, other)}"


def altered(f: Facts, event: Local) -> Iterator[str]:
    """Mention an altered record on the disk of the process, if there is one; at most one sentence."""
    for found in f.of(event.process, Corrupt)[:1]:
        which = f"{found.event.zxid}" if found.event.zxid.counter else found.event.variable
        yield f"On the disk of p{event.process} the record of {which} had been altered{f.at_place(found)}"


# Why a process lacks what others have.


def why_lacking(
    v: Violation, f: Facts, event: Local, txn: Txn, place: Place[Event] | None = None, *, at_end: bool = False
) -> Iterator[str]:
    """Explain why the process had not delivered, or did not even have, `txn` when `event` came: one sentence at most.

    `place` is where `event` is, if not at its first place. With `at_end`, it is asked of the end of the trace.
    """
    broadcast = f.broadcast(txn)
    place = None if at_end else place or f.find(event)
    before = None if place is None else place.rank
    if broadcast is not None and not at_end and f.earlier(event, broadcast):
        if broadcast not in v.witness:
            primary = f"{f.who(broadcast)}, primary of epoch {broadcast.epoch},"
            yield f"{primary} broadcast {shown(txn)} only later,{f.at(broadcast)}"
        return
    process, it = event.process, shown(txn)
    history = f.history(process, before)
    loss = _loss(f, process, txn, before)
    had = f.earlier_delivery(event, txn, before)
    again = "" if had is None and f.delivery(process, event.incarnation, txn, before) is None else " again"
    if history is not None and txn in set(history):
        since = _since(f, process, txn, before)
        yield f"The history of p{process} held {it}{since}, but {f.who(event)} had not delivered it{again}"
    elif loss:
        yield loss
    elif had is not None and had.event not in v.witness:
        did = "taken over" if isinstance(had.event, Restore) else "delivered"
        with_it = " with a snapshot" if isinstance(had.event, Restore) else ""
        yield f"{f.who(had.event)} had {did} {it}{with_it}{f.at_place(had)}"
    elif history is not None:
        yield _never_accepted(f, process, txn, before)


def why_out_of_order(
    v: Violation, f: Facts, event: Deliver, txn: Txn, place: Place[Event] | None = None
) -> Iterator[str]:
    """Explain why the process delivered `event` before `txn`: by its history, if that is short and holds both."""
    place = place or f.find(event)
    history = f.history(event.process, None if place is None else place.rank)
    if history is not None and len(history) <= MOST_NAMED and {txn, event.txn} <= set(history):
        yield f"The history of p{event.process} was then {txns(history)}"
    else:
        yield from why_lacking(v, f, event, txn, place)


def _since(f: Facts, process: int, txn: Txn, before: int | None) -> str:
    """Describe how the transaction came into the history of the process, where it is."""
    accepted = f.acceptance(process, txn, before)
    if accepted is not None:
        return f", accepted{f.at_place(accepted)}"
    for found in f.of(process, Adopt):
        if txn in (f.resolved(found.event) or ()):
            return f", adopted with the initial history of epoch {found.event.epoch}{f.at_place(found)}"
    return ""


def _loss(f: Facts, process: int, txn: Txn, before: int | None) -> str:
    """Describe how the process lost its transaction: by a truncation, an altered record, or a crash before the sync."""
    it, accepted = shown(txn), f.acceptance(process, txn, before)
    if accepted is not None:
        had = f"p{process} had accepted {it}{f.at_place(accepted)}"
        dropped = f.truncation(process, txn, before)
        if dropped is not None:
            return f"{had}, but truncated its history behind {dropped.event.zxid}{f.at_place(dropped)}"
        for found in f.of(process, Corrupt):
            if found.event.zxid == txn.zxid and _is_before(found, before):
                return f"{had}, but its record on disk was altered{f.at_place(found)}"
        return ""
    for crash in f.of(process, Crash):
        if crash.event.lost and _is_before(crash, before) and _was_pending(f, crash, txn):
            return f"p{process} had not synced {it} when it crashed{f.at_place(crash)}, and lost it"
    return ""


def _was_pending(f: Facts, crash: Place[Crash], txn: Txn) -> bool:
    """Return True if the incarnation that crashed had written `txn`, as a broadcast or delivery of it shows."""
    for place in f.of(crash.event.process, Local):
        if place.rank < crash.rank and place.event.incarnation == crash.event.incarnation:
            event = place.event
            if isinstance(event, Broadcast | Deliver) and event.txn == txn:
                return f.shows_histories
    return False


def _is_before(place: Place[Local], before: int | None) -> bool:
    return before is None or place.rank < before


def _never_accepted(f: Facts, process: int, txn: Txn, before: int | None) -> str:
    """Describe the history of the process instead, and when it accepted the transaction after all."""
    accepted, later = f.acceptance(process, txn, before), f.acquisition(process, txn, before)
    adopted = [found for found in f.of(process, Adopt) if _is_before(found, before)]
    if adopted and (accepted is not None or txn.zxid.epoch < adopted[-1].event.epoch):
        last = adopted[-1]
        initial = f.resolved(last.event)
        if initial is not None and txn not in set(initial):
            held = "empty" if not initial else f"{txns(initial)}, without {shown(txn)}"
            came = "" if later is None else f"; p{process} accepted {shown(txn)} only{f.at_place(later)}"
            epoch = last.event.epoch
            return f"The initial history of epoch {epoch}, which p{process} adopted{f.at_place(last)}, was {held}{came}"
    if later is not None:
        return f"p{process} accepted {shown(txn)} only{f.at_place(later)}"
    if accepted is not None:
        return f"p{process} had accepted {shown(txn)}{f.at_place(accepted)}"
    return f"p{process} never accepted {shown(txn)}"

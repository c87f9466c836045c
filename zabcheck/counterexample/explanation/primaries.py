"""Explains violations of the rules for primaries: one in an epoch, with zxids of its own in ascending order.

A function for each property, declared with its edges by `explains`: it takes the violation and the facts of the trace,
and yields sentences without their full stop.
"""

from collections.abc import Iterator

from zabcheck.counterexample.explanation.edges import Case, Mark, actor_of, in_order
from zabcheck.counterexample.explanation.explained import explains
from zabcheck.counterexample.explanation.facts import Facts
from zabcheck.counterexample.explanation.phrases import (
    altered,
    both_sent,
    by_whom,
    demands,
    listed,
    same_actor,
    sent,
    shown,
)
from zabcheck.invariants import (
    Accept,
    AckEpoch,
    Broadcast,
    Deliver,
    EpochUniqueness,
    Establish,
    Local,
    Ready,
    Txn,
    Violation,
    ZxidAssignment,
    ZxidUniqueness,
)
from zabcheck.text.words import name


@explains(EpochUniqueness, edges=in_order("two primaries of epoch {0.epoch}"))
def epoch_uniqueness(v: Violation, f: Facts) -> Iterator[str]:
    """Explain two leaders of one epoch."""
    one, other = v.witness
    assert isinstance(one, Establish | Ready | Broadcast)
    assert isinstance(other, Establish | Ready | Broadcast)
    if f.earlier(other, one):
        one, other = other, one
    epoch = one.epoch
    if isinstance(one, Broadcast) and isinstance(other, Broadcast):
        yield both_sent(f, one, other)
    elif type(one) is type(other):
        yield f"{f.who(one)} {_led(one)} epoch {epoch}{f.at(one)}, and {f.who(other)}{f.at(other)} as well"
    else:
        yield f"{f.who(one)} {_led(one)} epoch {epoch}{f.at(one)}, and {f.who(other)} {_led(other)} it{f.at(other)}"
    acks: dict[int, list[AckEpoch]] = {}
    for ack in f.all(AckEpoch):
        if ack.epoch == epoch:
            acks.setdefault(ack.process, []).append(ack)
    twice = sorted(process for process, answers in acks.items() if len(answers) > 1)
    for process in twice[:1]:
        when = listed([f.at(ack).strip() for ack in acks[process][:3]])
        yield f"p{process} provided its history for epoch {epoch} more than once, {when}"
        yield from altered(f, acks[process][0])
    yield demands(v, "an epoch has one primary, for the other properties name a primary by its epoch")
    sents = [event for event in f.all(Broadcast) if event.epoch == epoch]
    ones = [event for event in sents if same_actor(event, one)]
    others = [event for event in sents if same_actor(event, other)]
    if isinstance(one, Broadcast) and isinstance(other, Broadcast):
        yield f"So epoch {epoch} has two primaries, each of which takes its zxids from ⟨{epoch},1⟩ on for its own"
    elif ones and others:
        yield f"So epoch {epoch} has two primaries: {both_sent(f, ones[0], others[0])}"
    else:
        yield f"So epoch {epoch} may have two primaries, whose transactions would share their zxids from ⟨{epoch},1⟩ on"


def _led(event: Establish | Ready | Broadcast) -> str:
    """Name the act by which a process showed that it is the primary of an epoch."""
    match event:
        case Establish():
            return "was established as leader of"
        case Ready():
            return "became ready to broadcast in"
        case Broadcast():
            return f"broadcast {shown(event.txn)} in"


def _not_of_its_primary(case: Case) -> Iterator[Mark]:
    """Mark the epoch that the zxid should be of, or what was told or broadcast before."""
    *before, event = case.witness
    if not before:
        label = f"{name(*actor_of(event))} broadcasts it as primary of epoch {event.txn.zxid.epoch}"
        node = case.nothing(label, "broadcast", event.process)
        yield Mark(node, case.at(0), "missing", f"it broadcasts in epoch {event.epoch}")
    elif isinstance(before[0], Ready):
        yield Mark(
            case.at(0), case.at(1), "broken", f"ready({before[0].epoch}) was told last, not ready({event.epoch})"
        )
    else:
        yield Mark(case.at(0), case.at(1), "broken", "the zxid is lower")


@explains(ZxidAssignment, edges=_not_of_its_primary)
def zxid_assignment(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a zxid that is not of its primary's epoch, or lower than one before it."""
    *before, event = v.witness
    assert isinstance(event, Broadcast)
    zxid, epoch, p = event.txn.zxid, event.epoch, f.who(event)
    if not before:
        yield f"{sent(f, event)}, and the zxid {zxid} is of epoch {zxid.epoch}"
        yield demands(v, "a primary sets the epoch of a zxid to its own")
        yield f"So by its zxid {shown(event.txn)} belongs to a primary that did not make it"
        return
    [first] = before
    if isinstance(first, Ready):
        yield f"{p} became ready to broadcast in epoch {first.epoch}{f.at(first)}"
        yield f"After that, as primary of epoch {epoch}, it broadcast {shown(event.txn)}{f.at(event)}"
        yield demands(v, f"a primary broadcasts in the epoch that ready told it last, which is {first.epoch}")
        older = "is no longer" if first.epoch > epoch else "is not yet"
        yield f"So {p} broadcasts as the primary of epoch {epoch}, which it {older}"
        return
    assert isinstance(first, Broadcast)
    yield both_sent(f, first, event)
    yield f"The zxid {zxid} is lower than {first.txn.zxid}"
    yield demands(v, "a primary gives each new transaction a higher counter")
    made = f"although {shown(first.txn)} was made before it"
    yield f"So whoever goes by zxids takes {shown(event.txn)} for the older one, {made}"


@explains(ZxidUniqueness, edges=in_order("both are {0.txn.zxid}"))
def zxid_uniqueness(v: Violation, f: Facts) -> Iterator[str]:
    """Explain two values, or two broadcasters, of one zxid."""
    one, other = v.witness
    assert isinstance(one, Broadcast | Deliver | Accept)
    assert isinstance(other, Broadcast | Deliver | Accept)
    if f.earlier(other, one):
        one, other = other, one
    zxid = one.txn.zxid
    told = isinstance(one, Deliver) and isinstance(other, Deliver)  # who has which, by the first sentence
    if isinstance(one, Broadcast) and isinstance(other, Broadcast):
        yield both_sent(f, one, other)
    else:
        yield f"{_showed(f, one)}, and {_showed(f, other)}"
    if one.txn == other.txn:
        yield f"Each of these primaries took the zxid {zxid} for its own"
    else:
        yield f"Both carry the zxid {zxid}{'' if told else _who_has(f, one.txn, other.txn)}"
    yield demands(v, "a zxid names one transaction, of one primary")
    yield f"So whoever is told of {zxid} by its zxid alone, as by a COMMIT, cannot know which of the two it is"


def _showed(f: Facts, event: Broadcast | Deliver | Accept) -> str:
    if isinstance(event, Broadcast):
        return sent(f, event)
    did = "delivered" if isinstance(event, Deliver) else f"accepted, in epoch {event.epoch},"
    return f"{f.who(event)} {did} {shown(event.txn)}{f.at(event)}"


def _who_has(f: Facts, one: Txn, other: Txn) -> str:
    """Name who delivered the one, and who the other; or else, who accepted them."""
    deliveries: list[tuple[Local, Txn]] = [(event, event.txn) for event in f.all(Deliver)]
    acceptances: list[tuple[Local, Txn]] = [(event, event.txn) for event in f.all(Accept)]
    for did, events in (("delivered", deliveries), ("accepted", acceptances)):
        first = {event.process: event for event, txn in reversed(events) if txn == one}
        second = {event.process: event for event, txn in reversed(events) if txn == other}
        if first and second:
            ones = by_whom(f, [first[process] for process in sorted(first)])
            others = by_whom(f, [second[process] for process in sorted(second)])
            return f"; {shown(one)} was {did} {ones}, {shown(other)} {others}"
    return ""

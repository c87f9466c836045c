"""Reads an explanation back: what its sentences say of who did what, in which epoch, where, and in which order.

`wrong_claims` compares that with the events of the same trace. It knows the words of the sentences and the events, and
nothing of how the sentences were made.
"""

import re
from collections.abc import Iterator, Sequence

from invariants import (
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    CommitEpoch,
    Deliver,
    Establish,
    Event,
    Local,
    Promise,
    Ready,
    Restore,
)

TXN = r"[^\s,;:]+⟨\d+,\d+⟩"
WHO = r"p(\d+)(?: \(incarnation (\d+)[^)]*\))?"
AT = r" at (?:step|line) (\d+)"

Numbered = Sequence[tuple[int, Event]]


class _Trace:
    def __init__(self, events: Numbered, ordered: bool) -> None:
        self.events = events
        self.ordered = ordered

    def has(self, kind: type[Local], place: str, process: str, **fields: object) -> bool:
        """Return True if there is such an event of this process at this place."""
        return any(
            number == int(place)
            and isinstance(event, kind)
            and event.process == int(process)
            and all(_told(getattr(event, name)) == value for name, value in fields.items())
            for number, event in self.events
        )

    def delivered(self, process: str, incarnation: str) -> list[str]:
        """Return the transactions that the incarnation delivered by events of its own, in order."""
        return [
            str(event.txn)
            for _, event in self.events
            if isinstance(event, Deliver)
            and (event.process, event.incarnation) == (int(process), int(incarnation or 0))
        ]

    def restored(self, process: str, incarnation: str) -> bool:
        actor = int(process), int(incarnation or 0)
        return any(isinstance(e, Restore) and (e.process, e.incarnation) == actor for _, e in self.events)

    def of_epoch(self, kind: type[Local], epoch: str) -> list[int]:
        """The processes with such an event of this epoch."""
        return [e.process for _, e in self.events if isinstance(e, kind) and getattr(e, "epoch", None) == int(epoch)]


def _told(value: object) -> object:
    return value if isinstance(value, int) else str(value)


def wrong_claims(sentences: Sequence[str], events: Numbered, ordered: bool = True) -> list[str]:
    """The claims that the events do not bear out; and what is no sentence."""
    trace = _Trace(events, ordered)
    text = " ".join(sentences)
    found = [claim for check in _CHECKS for claim in check(text, trace)]
    lame = [sentence for sentence in sentences if re.search(r"\bbut in epoch \d+\.|\s[,.;]|,,| {2}", sentence)]
    return [*found, *(f"no sentence: {sentence}" for sentence in lame)]


def _primaries(text: str, trace: _Trace) -> Iterator[str]:
    """ "p1, primary of epoch 2, broadcast x⟨2,1⟩ at step 7 and then y⟨2,2⟩ at step 9"."""
    then = rf"(?: and then ({TXN}){AT})?"
    for found in re.finditer(rf"{WHO}, primary of epoch (\d+), broadcast ({TXN}){AT}{then}", text):
        process, _, epoch, txn, place, second, later = found.groups()
        if not trace.has(Broadcast, place, process, epoch=int(epoch), txn=txn):
            yield found[0]
        if second and not (trace.has(Broadcast, later, process, txn=second) and int(place) <= int(later)):
            yield found[0]


_OF_AN_EPOCH: tuple[tuple[str, type[Local]], ...] = (
    (rf"{WHO} was established as leader of epoch (\d+){AT}", Establish),
    (rf"{WHO} became ready to broadcast in epoch (\d+){AT}", Ready),
    (rf"{WHO} promised epoch (\d+){AT}", Promise),
    (rf"{WHO} provided [^.;]*? for epoch (\d+){AT}", AckEpoch),
    (rf"{WHO} accepted {TXN}, a proposal of epoch (\d+),{AT}", Accept),
    (rf"{WHO}, in the broadcast phase of epoch (\d+) since (?:step|line) (\d+)", CommitEpoch),
    (r"[Ii]nitial history of epoch (?P<epoch>\d+), which p(?P<who>\d+) adopted at (?:step|line) (?P<place>\d+)", Adopt),
)


def _epochs(text: str, trace: _Trace) -> Iterator[str]:
    """Yield the wrong claims about an epoch, at its place."""
    for pattern, kind in _OF_AN_EPOCH:
        for found in re.finditer(pattern, text):
            named = found.groupdict()
            process, epoch = (named["who"], named["epoch"]) if named else (found[1], found[3])
            if not trace.has(kind, named["place"] if named else found[4], process, epoch=int(epoch)):
                yield found[0]


def _nevers(text: str, trace: _Trace) -> Iterator[str]:
    """ "p2 delivered b⟨1,2⟩ at step 6, and never delivered a⟨1,1⟩"; where no snapshot can have brought it."""
    for found in re.finditer(rf"{WHO} delivered ({TXN})[^.;]*? never (?:delivered )?({TXN})", text):
        if found[4] in trace.delivered(found[1], found[2]) and not trace.restored(found[1], found[2]):
            yield found[0]


def _states(text: str, trace: _Trace) -> Iterator[str]:
    """ "p2 applied b⟨1,2⟩ to a state without a⟨1,1⟩"."""
    for found in re.finditer(rf"So {WHO} applied ({TXN}) to a state without ({TXN})", text):
        done = trace.delivered(found[1], found[2])
        if trace.restored(found[1], found[2]) or found[3] not in done or found[4] not in done:
            continue
        last = len(done) - 1 - done[::-1].index(found[3])
        if done.index(found[4]) < done.index(found[3]) and done.index(found[4]) < last:
            yield found[0]


def _orders(text: str, trace: _Trace) -> Iterator[str]:
    """ "p1 delivered a at step 3 and then b at step 5"; and whoever is said to have another order than an epoch."""
    for found in re.finditer(rf"delivered ({TXN}){AT} and (?:only )?then ({TXN}){AT}", text):
        if int(found[2]) > int(found[4]):
            yield found[0]
    for found in re.finditer(rf"So {WHO} applied {TXN} in another order than epoch (\d+) broadcast", text):
        sent = [str(e.txn) for _, e in trace.events if isinstance(e, Broadcast) and e.epoch == int(found[3])]
        done = [txn for txn in dict.fromkeys(trace.delivered(found[1], found[2])) if txn in sent]
        if done == [txn for txn in dict.fromkeys(sent) if txn in done]:
            yield found[0]


def _beginnings(text: str, trace: _Trace) -> Iterator[str]:
    """ "ends with ⟨1,2⟩, so a higher zxid is none of it", said of what was delivered."""
    said = re.search(r"broadcast phase of epoch \d+ since [^.;]*?, delivered [^\s,;:]+⟨(\d+),(\d+)⟩", text)
    ends = re.search(r"ends with ⟨(\d+),(\d+)⟩, so a higher zxid is none of it", text)
    if said and ends and (int(said[1]), int(said[2])) <= (int(ends[1]), int(ends[2])):
        yield ends[0]


def _nobody(text: str, trace: _Trace) -> Iterator[str]:
    """Yield the wrong claims that nobody did something."""
    for found in re.finditer(rf"no process broadcast ({TXN}) anywhere", text):
        if any(isinstance(event, Broadcast) and str(event.txn) == found[1] for _, event in trace.events):
            yield found[0]
    for found in re.finditer(r"Nobody provided a history for epoch (\d+)", text):
        if trace.of_epoch(AckEpoch, found[1]):
            yield found[0]
    for found in re.finditer(rf"p(\d+) never accepted ({TXN})", text):
        if any(isinstance(e, Accept) and (e.process, str(e.txn)) == (int(found[1]), found[2]) for _, e in trace.events):
            yield found[0]
    for found in re.finditer(rf"({TXN}), which p(\d+) did not have", text):
        if any(isinstance(e, Accept) and (e.process, str(e.txn)) == (int(found[2]), found[1]) for _, e in trace.events):
            yield found[0]


_CHECKS = (_primaries, _epochs, _nevers, _states, _orders, _beginnings, _nobody)

"""The story of a trace: of a run of which nothing but its events is known.

A row is one thing that happened: an event, and what it led to at once at the same process, as far as the order of the
trace tells (what was sent, accepted and delivered when a message was handled). Of a long trace the rows around the
witness are shown; what is left out is counted. Time and memory are linear in the trace.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from zabcheck.counterexample.explanation.sentences import explanation
from zabcheck.counterexample.folding import Placed, TraceRow, fold, is_folded, many, merged
from zabcheck.counterexample.pieces import DELIVERED
from zabcheck.counterexample.story import (
    Change,
    Flight,
    Moment,
    Story,
    Variables,
    flights_of,
    lost_in,
    sent_in,
    shown_in,
)
from zabcheck.invariants import (
    EMPTY,
    NO_ZXID,
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    Chain,
    ClientAck,
    Corrupt,
    Crash,
    Cut,
    Deliver,
    Drop,
    Elect,
    Establish,
    Event,
    FinalRead,
    Halt,
    Header,
    Heal,
    Hold,
    Local,
    Mend,
    Overtake,
    Pause,
    Promise,
    Quiescent,
    Ready,
    Receive,
    Recover,
    Restore,
    Send,
    Stabilised,
    Stall,
    State,
    Truncate,
    Txn,
    Verdict,
    Violation,
    Wake,
    explaining_first,
)
from zabcheck.text.words import cut, name, phrase

MOST_ROWS = 2000
"""The approximate number of rows shown of a longer trace."""
LONGEST_VALUE = 40

_BEGINNING: Mapping[str, str] = {"": "up", "epoch": "⊥", DELIVERED: "0"}
_STARTS = (
    *(Receive, Elect, Crash, Recover, Broadcast, Restore, Halt, Corrupt, Pause, Wake, Stabilised, Quiescent, FinalRead),
)
"""The events that are never a consequence of the event before them."""
_STIMULI = (Receive, Elect, Recover, Wake, Stabilised)
"""The events that a process reacts to. The others, as in a trace without messages, have rows of their own."""
_CONSEQUENCES = (Accept, Deliver, ClientAck)
"""The events that a broadcast or delivery of the same transaction may lead to."""
_FOLLOWED = (Deliver, Crash, Halt, Recover, Promise, Adopt, Ready, Restore)
"""The events that change the state of a process."""
_TOLD_BY_ROW = (Broadcast, Deliver, Ready, Restore, ClientAck, FinalRead, Crash, Halt)
"""The events that a row shows anyway, beside its action."""


def story_of_trace(
    header: Header,
    events: Sequence[Placed],
    verdicts: Sequence[Verdict],
    *,
    unit: str,
    sha256: str,
    folded: bool = False,
) -> Story:
    """Make the story of a trace from the `events` between header and end.

    `unit` is the thing that their numbers count: "line" or "event".

    If `folded`, many transactions to which the same happens at a process, while nothing else does anywhere, share a
    row.
    """
    violation = next((each.violation for each in explaining_first(verdicts)), None)
    ordered = header.order == "global"
    rows = list(_rows(events))
    trace = tuple(placed for placed in events if not isinstance(placed[1], Send | Receive))
    witness = violation.witness if violation is not None else ()
    if folded:
        rows = list(fold(rows, witness))
    sends = any(isinstance(event, Send) for _, event in events)
    flights = flights_of((row[0][0], [event for _, event in row]) for row in rows) if sends else ()
    by_number = {flight.number: flight for flight in flights}
    moments = tuple(_moments(header.processes, rows, _worth_showing(rows, violation), by_number, witness))
    shown = {moment.step for moment in moments}
    drawn = merged(flights) if folded else flights
    return Story(
        protocol=header.protocol,
        mutant=None,
        processes=header.processes,
        choices=0,
        schedule=b"",
        wrong=None,
        sha256=sha256,
        verdicts=tuple(verdicts),
        violation=violation,
        moments=moments,
        delivered=first_deliveries([event for _, event in events]),
        trace=trace,
        flights=tuple(flight for flight in drawn if flight.sent in shown or flight.received in shown),
        initial=dict.fromkeys(range(1, header.processes + 1), _BEGINNING),
        settings=() if ordered else ("each process's own order only",),
        is_ordered=ordered,
        unit=unit,
        explanation=() if violation is None else explanation(violation, trace, unit, ordered, header.quorums),
    )


def first_deliveries(events: Sequence[Event]) -> tuple[tuple[int, int, tuple[Txn, ...]], ...]:
    """Return (process, incarnation, first deliveries) for each incarnation; a restored snapshot counts as delivered."""
    wanted = {event.hash for event in events if isinstance(event, Restore)}
    known = {EMPTY.hash: EMPTY}
    at: dict[tuple[int, int], Chain] = {}  # only if a snapshot was restored
    sequences: dict[tuple[int, int], dict[Txn, None]] = {}
    for event in events:
        if isinstance(event, Restore):
            actor = event.process, event.incarnation
            at[actor] = known.get(event.hash, EMPTY)
            sequences[actor] = dict.fromkeys(at[actor])
        elif isinstance(event, Deliver):
            actor = event.process, event.incarnation
            sequence = sequences.setdefault(actor, {})
            if wanted and event.txn not in sequence:
                at[actor] = chain = at.get(actor, EMPTY).append(event.txn)
                if chain.hash in wanted:
                    known.setdefault(chain.hash, chain)
            sequence[event.txn] = None
    return tuple((process, incarnation, tuple(txns)) for (process, incarnation), txns in sorted(sequences.items()))


def _rows(events: Iterable[Placed]) -> Iterator[TraceRow]:
    row: list[Placed] = []
    for placed in events:
        if row and not _goes_with(row[0][1], placed[1]):
            yield tuple(row)
            row = []
        row.append(placed)
    if row:
        yield tuple(row)


def _goes_with(first: Event, event: Event) -> bool:
    """Return True if `event` follows from `first`, as far as can be seen: same process, nothing else in between."""
    if not isinstance(first, Local) or isinstance(event, _STARTS):
        return False
    if isinstance(event, Drop):
        return True
    if not isinstance(event, Local) or (event.process, event.incarnation) != (first.process, first.incarnation):
        return False
    if isinstance(first, _STIMULI) or isinstance(event, Send | State):
        return True
    if not isinstance(first, Broadcast | Deliver):
        return False
    return isinstance(event, _CONSEQUENCES) and event.txn == first.txn


def _worth_showing(rows: Sequence[TraceRow], violation: Violation | None) -> set[int]:
    """Return the positions of the rows to show: all of a short trace, of a long one those around the witness."""
    if len(rows) <= MOST_ROWS:
        return set(range(len(rows)))
    wanted = set(violation.witness) if violation is not None else set()
    kinds = tuple({type(event): None for event in wanted})
    at: list[int] = []
    for position, row in enumerate(rows):
        found = wanted.intersection([event for _, event in row if isinstance(event, kinds)])
        if found:
            wanted -= found
            at.append(position)
    reach = MOST_ROWS // (2 * len(at) + 1) if at else MOST_ROWS // 2
    return {
        near for position in at or [0] for near in range(max(0, position - reach), min(len(rows), position + reach))
    }


def _moments(
    processes: int, rows: Sequence[TraceRow], shown: set[int], flights: Mapping[int, Flight], witness: Iterable[Event]
) -> Iterator[Moment]:
    marked = set(witness)  # what is not yet shown of it: it is told with its mark, so the action need not say it
    states: dict[int, dict[str, Any]] = {process: dict(_BEGINNING) for process in range(1, processes + 1)}
    told: dict[int, Variables] = dict.fromkeys(states, _BEGINNING)
    counts: dict[tuple[int, int], int] = {}
    since: int | None = None  # the position of the first row that is left out
    for position, row in enumerate(rows):
        if position not in shown:
            since = position if since is None else since
            for _, event in row:
                _follow(states, counts, event)
            continue
        if since is not None:
            yield _gap(rows[since:position], _changes(states, told))
            since = None
        for _, event in row:
            _follow(states, counts, event)
        moment = _moment(row, _changes(states, told), flights, marked)
        yield replace(moment, action="") if row[0][1] in marked else moment
        marked.difference_update(moment.shown)
    if since is not None:
        yield _gap(rows[since:], _changes(states, told))


def _gap(rows: Sequence[TraceRow], changes: Mapping[int, tuple[Change, ...]]) -> Moment:
    """Return a moment that stands for the rows left out, with what they changed."""
    action = f"… {sum(map(len, rows)):,} events left out …"
    return Moment(rows[0][0][0], None, None, action, (), (), (), changes, {})


def _changes(states: Mapping[int, dict[str, Any]], told: dict[int, Variables]) -> dict[int, tuple[Change, ...]]:
    """Return the changes in `states` since they were last told, and note in `told` that they have been."""
    changes = {}
    for process, known in states.items():
        state = {variable: value if isinstance(value, str) else _delivered(*value) for variable, value in known.items()}
        found = tuple(
            Change(variable, (str(told[process][variable]),), (value,))
            for variable, value in state.items()
            if told[process][variable] != value
        )
        if found:
            changes[process] = found
            told[process] = state
    return changes


def _delivered(count: int, last: Txn) -> str:
    return f"{count:,}, last {_short(last)}"


def _follow(states: dict[int, dict[str, Any]], counts: dict[tuple[int, int], int], event: Event) -> None:
    """Update what is known of the state of a process by `event`; what it delivered becomes text when it is told."""
    if not isinstance(event, _FOLLOWED) or event.process not in states:
        return
    state = states[event.process]
    match event:
        case Deliver():
            actor = event.process, event.incarnation
            counts[actor] = counts.get(actor, 0) + 1
            state[DELIVERED] = counts[actor], event.txn
        case Crash() | Halt():
            state[""] = "down" if isinstance(event, Crash) else "halted"
        case Recover():
            state[""], state[DELIVERED] = "up", "0"
        case Promise() | Adopt() | Ready():
            state["epoch"] = str(event.epoch)
        case Restore():
            counts[event.process, event.incarnation] = event.length
            state[DELIVERED] = f"{event.length:,}" + (f", up to {event.zxid}" if event.zxid != NO_ZXID else "")


def _moment(
    row: TraceRow, changes: Mapping[int, tuple[Change, ...]], flights: Mapping[int, Flight], marked: Collection[Event]
) -> Moment:
    step, first = row[0]
    events = [event for _, event in row]
    if is_folded(row):
        assert isinstance(first, Local)
        return Moment(step, first.process, None, many(events, flights), (), (), (), changes, {})
    return Moment(
        step=step,
        process=first.process if isinstance(first, Local) else None,
        peer=first.sender if isinstance(first, Receive) else None,
        action=", ".join(filter(None, [_action(first, flights), *_led_to(events[1:], marked)])),
        shown=shown_in(events),
        sent=sent_in(events, flights),
        lost=lost_in(events, flights),
        changes=changes,
        unsynced={},
    )


def _led_to(events: Iterable[Event], marked: Collection[Event]) -> Iterator[str]:
    """Yield what the first event of a row led to, where the row does not show it anyway."""
    for event in events:
        if isinstance(event, Promise | AckEpoch | Adopt | Accept | Truncate | Establish) and event not in marked:
            yield phrase(event)


def _action(event: Event, flights: Mapping[int, Flight]) -> str:
    """Name the act that began the row in a few words; nothing where the row shows it anyway."""
    match event:
        case Receive():
            flight = flights.get(event.message)
            return f"← {name(event.sender)} {flight.name if flight else f'message {event.message}'}"
        case Elect():
            return "oracle: lead" if event.leader == event.process else f"oracle: follow {name(event.leader)}"
        case Cut() | Mend() | Stall():
            return f"{type(event).__name__.lower()} {name(event.sender)} → {name(event.receiver)}"
        case Hold():
            return f"holds {event.kind} {name(event.sender)} → {name(event.receiver)}"
        case Overtake():
            return f"{name(event.sender)} → {name(event.receiver)}: the last message overtakes"
        case Heal():
            return "every link healed"
        case Corrupt():
            which = event.variable if event.zxid == NO_ZXID else str(event.zxid)
            return f"disk: the record of {which} is altered"
        case Crash():
            return "crash"
        case Drop():
            return "" if event.message in flights else f"message {event.message} is lost"
        case Send():
            return ""
        case Accept():
            return f"accepts {_short(event.txn)}" + (
                f" in epoch {event.epoch}" if event.epoch != event.txn.zxid.epoch else ""
            )
        case _:
            return "" if isinstance(event, _TOLD_BY_ROW) else phrase(event)


def _short(txn: Txn) -> str:
    return f"{cut(txn.value, LONGEST_VALUE)}{txn.zxid}"

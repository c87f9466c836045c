"""The step at which a violation was decided: a page opens there, and marks it D."""

from msgspec import Struct

from zabcheck.counterexample.story import Flight, Moment, Story
from zabcheck.invariants import Accept, Broadcast, ClientAck, Deliver, Event, FinalRead, Truncate, Txn
from zabcheck.text.words import name

MARK = "D"


class DecisiveStep(Struct, frozen=True):
    """The step that decided, the process whose step it was, and the messages that it answers or sends."""

    step: int
    process: int | None
    what: str
    """The effect of the step, in a sentence without its full stop."""
    label: str
    """The effect on a history, in a few words for the diagram; "" if every history stayed as it was."""
    flights: frozenset[int] = frozenset()
    """The numbers of those messages."""


def decided(story: Story) -> DecisiveStep | None:
    """Return where the violation was decided; None if nothing is wrong, or no step of it is shown.

    That is the decisive step, where one was searched for and found. In a trace it is the first truncation that takes
    from a process what a client was told is done, and is missing at the end. Otherwise it is the last step of the
    witness, leaving aside what was read at the end. Where a real ensemble is wrong though its trace breaks nothing, it
    is the last step before a thread that was held goes on. Where a real ensemble did what the model does not, it is the
    row of that, the last one.
    """
    if story.mismatch is not None:
        last, process = story.moments[-1], story.mismatch.process
        return DecisiveStep(last.step, process, story.mismatch.summary, story.mismatch.label, _flights(story, last))
    if story.violation is None:
        return _let_go(story) if story.worst else None
    lost = _lost(story)
    cut = _truncation(story, lost)
    step = cut or (story.decisive.step if story.decisive is not None else None) or _last_of_witness(story)
    moment = next((each for each in story.moments if each.step == step), None)
    if moment is None:
        return None
    said = moment.action or "; ".join(text for text, _ in moment.sent)
    who = f"{name(moment.process)} " if moment.process is not None else ""
    label = _label(moment, lost)
    what = f"{who}{said}".strip() or "this step"
    if cut:
        what += f", and so cuts {lost[0]} off"
    return DecisiveStep(moment.step, moment.process, what, label, _flights(story, moment))


def _let_go(story: Story) -> DecisiveStep | None:
    """Return the step after which the last thread that was held goes on; None if none does."""
    rows = {moment.step: row for row, moment in enumerate(story.moments)}
    held = {each.until: each for each in story.threads if each.end == "goes on" and each.until is not None}
    step = max(held, key=rows.__getitem__, default=None)
    return None if step is None else DecisiveStep(step, held[step].process, f"{held[step].label} goes on after it", "")


def _lost(story: Story) -> tuple[Txn, ...]:
    """Return the transactions that a final read of the witness lacks, although a client was told that they are done."""
    witness = story.violation.witness if story.violation is not None else ()
    reads = [event for event in witness if isinstance(event, FinalRead)]
    if not reads:
        return ()
    named = [event.txn for event in witness if isinstance(event, ClientAck)]
    kept = set.intersection(*(set(read.txns) for read in reads))
    told = dict.fromkeys(event.txn for _, event in story.trace if isinstance(event, ClientAck))
    return tuple(named or (txn for txn in told if txn not in kept))


def _truncation(story: Story, lost: tuple[Txn, ...]) -> int | None:
    """Return the step of the first truncation by which a process loses one of these that it held. O(events)."""
    held: dict[int, set[Txn]] = {}
    wanted = set(lost)
    for _, event in story.trace if lost else ():
        if isinstance(event, Accept | Broadcast | Deliver) and event.txn in wanted:
            held.setdefault(event.process, set()).add(event.txn)
        elif isinstance(event, Truncate) and any(txn.zxid > event.zxid for txn in held.get(event.process, ())):
            return story.step_of(event)
    return None


def _last_of_witness(story: Story) -> int | None:
    """Return the last step that shows an event of the witness, other than a final read if there is any other."""
    witness = story.violation.witness if story.violation is not None else ()
    acts: list[Event] = [event for event in witness if not isinstance(event, FinalRead)]
    steps = [step for event in acts or witness if (step := story.step_of(event)) is not None]
    rows = {moment.step: row for row, moment in enumerate(story.moments)}
    return max(steps, key=rows.__getitem__, default=None)


def _label(moment: Moment, lost: tuple[Txn, ...]) -> str:
    cut = next((event for event in moment.shown if isinstance(event, Truncate)), None)
    if cut is not None:
        gone = next((txn for txn in lost if txn.zxid > cut.zxid), None)
        return f"cuts {gone} off" if gone is not None else f"cuts off after {cut.zxid}"
    changes = moment.changes.get(moment.process, ()) if moment.process is not None else ()
    gone_entries = [each for change in changes if change.is_sequence for each in change.gone]
    return f"drops {gone_entries[0]}" if gone_entries else ""


def _flights(story: Story, moment: Moment) -> frozenset[int]:
    """Return the message that the step handles, or else those that it sends.

    In a trace a truncation may have a row of its own, or be in that of NEWLEADER, after the message that ordered it.
    """
    mine = [flight for flight in story.flights if flight.to == moment.process and flight.received is not None]
    handled = [flight.number for flight in mine if flight.received == moment.step]
    cut = next((event for event in moment.shown if isinstance(event, Truncate)), None)
    if cut is not None:
        rows = {each.step: row for row, each in enumerate(story.moments)}
        earlier = [flight for flight in mine if rows.get(flight.received or 0, len(rows)) < rows[moment.step]]
        orders = [flight for flight in earlier if flight.kind in ("TRUNC", "SNAP")]
        last: list[Flight] = sorted(orders or earlier, key=lambda each: rows[each.received or 0])[-1:]
        if orders or not handled:
            return frozenset(flight.number for flight in last)
    if handled:
        return frozenset(handled)
    return frozenset(
        flight.number for flight in story.flights if flight.sent == moment.step and flight.sender == moment.process
    )

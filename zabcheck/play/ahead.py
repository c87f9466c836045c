"""The place of a session: its last steps as a story, and the choices that can be made there, or why they cannot."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.counterexample.explain import explain_end
from zabcheck.counterexample.story import Flight, Next, Story
from zabcheck.invariants import Event, Receive
from zabcheck.play.naming import LEAVE_ALONE, ROUND, told
from zabcheck.play.possible import obstacle, why_it_waits
from zabcheck.play.session import Option, Position, Session
from zabcheck.protocols.base import Variables
from zabcheck.search.recording import RecordedStep, Recording, recorder, variables_of
from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.simulator import Simulator

ROWS = 40
"""The steps that are told, about: the last choice is told with all of its steps."""
MOST_WAITING = 12
"""The most messages that have a row although they cannot be handled yet. Further ones are listed."""
OVER = "the protocol's own code raised an exception, so the run is over"
MANY = 100
"""The rounds after which a protocol that need not come to rest is left alone no longer."""


class Offer(Struct, frozen=True):
    """A choice in words. `why_not` says why it cannot be made here; "" if it can. `more` explains what it does."""

    choice: Choice
    words: str
    why_not: str = ""
    more: str = ""


class Ahead(Struct, frozen=True):
    """The choices at a position, by where they are made."""

    nexts: tuple[tuple[Next, Offer], ...]
    """The steps that the protocol may take next: messages to be handled, disks to be synced, requests.

    After them come messages that cannot be handled yet, at most `MOST_WAITING`.
    """
    waiting: tuple[Offer, ...]
    """The further messages that cannot be handled yet."""
    at: Mapping[int, tuple[Offer, ...]]
    """The elections and faults of each process."""
    between: Mapping[int, tuple[Offer, ...]]
    """The faults of the links that cross the gap between the lanes of a process and of the next one."""
    whole: tuple[Offer, ...]
    """The choices that concern all."""


class Here(NamedTuple):
    """The end of the run up to where a session is, with its choices."""

    story: Story
    positions: Mapping[int, Position]
    """The position after each step that is told."""
    ahead: Ahead


def look(session: Session, rows: int = ROWS) -> Here:
    """Tell the end of the run up to here, and what can be chosen. Some 30 ms with five processes.

    Cost: O(events of the run), an execution of the steps that are told and of each choice.
    """
    path = session.here.path
    first = len(path) - 1
    told_steps = 0
    while first > 0 and (told_steps == 0 or told_steps + len(path[first].steps) <= rows):
        told_steps += len(path[first].steps)
        first -= 1
    earlier = [events for each in path[: first + 1] for _, events in each.steps]
    story = explain_end(_recording(session, path, first), earlier)
    positions = {}
    number = len(earlier)
    for position in path[first + 1 :]:
        for _ in position.steps:
            number += 1
            positions[number] = position
    ahead = _ahead(session, story.flights)
    told_of = {each.message for each, _ in ahead.nexts}
    flights = tuple(each for each in story.flights if not _is_under_way(each) or each.number in told_of)
    return Here(replace(story, flights=flights), positions, ahead)


def _recording(session: Session, path: Sequence[Position], first: int) -> Recording:
    """Record the steps of a path that come after its position `first`. The step that raised is not taken again."""
    shown: list[Event] = []
    steps: list[RecordedStep] = []
    simulator = session.simulator_at(path[first]).fork(shown.append)
    initial = {process: _last_of(session, path[: first + 1], process) for process in simulator.ids}
    simulator.on_step = recorder(simulator, shown, steps)
    for position in path[first + 1 :]:
        if position.raised is not None:
            after = session.simulator_at(position)
            steps += [RecordedStep(choice, events, variables_of(after), {}) for choice, events in position.steps]
        else:
            assert position.choice is not None
            simulator.execute(position.choice)
    simulator.on_step = None  # it refers to the simulator, which only the garbage collector could free then
    return Recording(session.shown(), path[0].events, initial, tuple(steps), ())


def _last_of(session: Session, path: Sequence[Position], process: int) -> Variables | None:
    """Return the variables of a process at the end of a path; of one that is down those that it had when it was up."""
    for position in reversed(path):
        simulator = session.simulator_at(position)
        if simulator.is_up(process):
            known = variables_of(simulator)[process]
            return known if position is path[-1] or known is None else {**known, "": "down"}
    return None


# The choices.


_OWN = (choices.Receive, choices.Hear, choices.Sync, choices.Run, choices.Notice, choices.Request)
"""The choices that are steps of the protocol."""
_LINKS = (choices.Cut, choices.Mend, choices.Overtake, choices.Duplicate)


def _ahead(session: Session, flights: Sequence[Flight]) -> Ahead:
    simulator = session.simulator
    by_number = {flight.number: flight for flight in flights}
    offered = [(option, Offer(option.choice, told(option, by_number))) for option in session.options()]
    nexts = [(_next(option), offer) for option, offer in offered if isinstance(option.choice, _OWN)]
    handled = {each.message for each, _ in nexts}
    waits = [] if session.here.raised is not None else list(_waiting(simulator, flights, handled))
    nexts += waits[:MOST_WAITING]
    offers = [offer for _, offer in offered]
    return Ahead(
        tuple(nexts),
        tuple(offer for _, offer in waits[MOST_WAITING:]),
        {process: tuple(_at(session, process, offers)) for process in simulator.ids},
        {process: tuple(_between(process, offers)) for process in simulator.ids[:-1]},
        tuple(_whole(session, offers)),
    )


def _next(option: Option) -> Next:
    process: int = option.choice.process  # type: ignore[attr-defined]  # each of these has one
    if not isinstance(option.choice, choices.Receive | choices.Hear):
        return Next(process, None)
    return Next(process, next((event.message for event in option.events if isinstance(event, Receive)), None))


def waiting(session: Session, options: Sequence[Option], flights: Sequence[Flight]) -> list[Offer]:
    """Return the messages that are under way and cannot be handled yet, with the reason.

    `options` are those of the session, and `flights` the messages that were sent so far.
    """
    if session.here.raised is not None:
        return []
    handled = {_next(option).message for option in options if isinstance(option.choice, _OWN)}
    return [offer for _, offer in _waiting(session.simulator, flights, handled)]


def _waiting(simulator: Simulator, flights: Sequence[Flight], handled: set[int | None]) -> Iterator[tuple[Next, Offer]]:
    """Yield the messages that are under way and cannot be handled yet."""
    for flight in flights:
        if _is_under_way(flight) and flight.number not in handled:
            choice = choices.Receive(flight.to, flight.sender)
            words = f"p{flight.to} {choice.words((), flight.name)}"
            why = why_it_waits(simulator, flight.to, flight.sender)
            yield Next(flight.to, flight.number, False), Offer(choice, words, why)


def _is_under_way(flight: Flight) -> bool:
    return flight.received is None and flight.lost is None


def _at(session: Session, process: int, offers: Sequence[Offer]) -> Iterator[Offer]:
    """Yield the elections and the faults of a process, then those that there are but not here, with the reason."""
    mine = [offer for offer in offers if _is_at(offer.choice, process)]
    simulator = session.simulator
    others = tuple(each for each in simulator.ids if each != process and simulator.is_up(each))
    yield from (offer for offer in mine if isinstance(offer.choice, choices.Lead))
    for join in (choices.Elect(process, other) for other in others):
        if not session.why_not(join):
            yield Offer(join, f"p{process} {join.words((), '')}")
    yield from (offer for offer in mine if not isinstance(offer.choice, (*_OWN, choices.Lead)))
    usual: tuple[Choice, ...] = (
        choices.Request(process),
        choices.Lead(process, others),
        choices.Timeout(process),
        choices.Crash(process),
        choices.Recover(process),
        choices.Pause(process),
        choices.Snapshot(process),
    )
    never = (*session.protocol.environment.never, *simulator.switches.never)
    for choice in usual:
        is_offered = any(type(offer.choice) is type(choice) for offer in mine)
        if not is_offered and choice.__struct_config__.tag not in never:
            who = "" if isinstance(choice, choices.Lead) else f"p{process} "
            yield _impossible(session, choice, who + choice.words((), ""))


def _is_at(choice: Choice, process: int) -> bool:
    return getattr(choice, "leader" if isinstance(choice, choices.Lead) else "process", None) == process


def _between(process: int, offers: Sequence[Offer]) -> Iterator[Offer]:
    for offer in offers:
        if isinstance(offer.choice, _LINKS):
            low, high = sorted((offer.choice.sender, offer.choice.receiver))
            if low <= process < high:
                yield offer


def _whole(session: Session, offers: Sequence[Offer]) -> Iterator[Offer]:
    whole: list[tuple[Choice, str, str]] = [
        (choices.Heal(), "heal every link", ""),
        (choices.Settle(1), "let one round happen", f"settle 1: {ROUND}"),
    ]
    has_end = "quiesce" not in (*session.protocol.environment.never, *session.simulator.switches.never)
    if has_end:
        whole.append((choices.Quiesce(), LEAVE_ALONE, ""))
    for choice, words, more in whole:
        is_possible = any(offer.choice == choice for offer in offers) or not session.why_not(choice)
        yield Offer(choice, words, more=more) if is_possible else _impossible(session, choice, words)
    if not has_end:
        rounds = choices.Settle(MANY)  # possible if one round is, which was the last question
        more = f"settle {MANY}: at most as many rounds"
        yield Offer(rounds, LEAVE_ALONE, more=more) if is_possible else _impossible(session, rounds, LEAVE_ALONE)


def _impossible(session: Session, choice: Choice, words: str) -> Offer:
    return Offer(choice, words, OVER if session.here.raised is not None else obstacle(session.simulator, choice))

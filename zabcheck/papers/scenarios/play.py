"""Plays a scenario, tells it as any other run is told, and compares it with the outcome that it must have."""

from collections.abc import Iterator, Mapping
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.counterexample.explain import explain_replay
from zabcheck.counterexample.story import Argument, Story, states_after
from zabcheck.counterexample.traced import story_of_trace
from zabcheck.invariants import Event, Header, check
from zabcheck.invariants import trace as trace_format
from zabcheck.papers.scenarios.base import HandWrittenTrace, Outcome, Scenario
from zabcheck.search.run import named_by, replay_on
from zabcheck.simulation.schedule import Schedule

Texts = Mapping[int, str]


class PlayedScenario(Struct, frozen=True):
    """A scenario that was played.

    `unmet` names the parts of the outcome that did not come about, one sentence each; it is empty if all did.
    """

    scenario: Scenario
    story: Story
    events: list[Event]
    goals: tuple[str, ...]
    delivered: Texts
    histories: Texts
    unmet: tuple[str, ...]

    @property
    def trace(self) -> bytes:
        """The trace in its JSON Lines form, header and end included."""
        return b"".join(trace_format.dump(self.events))


def play(scenario: Scenario) -> PlayedScenario:
    """Execute the scenario, or judge its trace, and compare the result with the outcome that it must have."""
    outcome = scenario.outcome
    if isinstance(scenario.run, HandWrittenTrace):
        events, story = _judge(scenario.run, outcome)
        goals: tuple[str, ...] = ()
    else:
        events, story, goals = _execute(scenario.run, outcome)
    delivered = {process: " ".join(map(str, txns)) for process, _, txns in story.delivered}  # of the last incarnation
    histories = _histories(story)
    unmet = tuple(_unmet(scenario, story, goals, delivered, histories))
    story = replace(story, argument=Argument(scenario.title, scenario.source, scenario.shows))
    return PlayedScenario(scenario, story, events, goals, delivered, histories, unmet)


def _judge(written: HandWrittenTrace, outcome: Outcome) -> tuple[list[Event], Story]:
    events = written.trace
    header = events[0]
    assert isinstance(header, Header)
    verdicts = check(events, outcome.judged_by)
    digest = sha256(b"".join(trace_format.dump(events))).hexdigest()
    lines = list(enumerate(written.events, 2))  # the header is line 1
    return events, story_of_trace(header, lines, verdicts, unit="line", sha256=digest)


def _execute(schedule: Schedule, outcome: Outcome) -> tuple[list[Event], Story, tuple[str, ...]]:
    schedule = replace(schedule, violates=outcome.violated)
    protocol = named_by(schedule)
    replayed = replay_on(protocol, schedule, outcome.judged_by or protocol.properties)
    assert replayed.raised is None, "the code of our protocols does not raise"
    return replayed.events, explain_replay(replayed, decisive=True), tuple(replayed.goals)


def _histories(story: Story) -> Texts:
    """Return the log of each process after the last step.

    The log is recognised as the only variable of a process that is a sequence. That holds for the protocols that have
    scenarios; a protocol should rather say which of its variables is the log.
    """
    return {
        process: " ".join(variable)
        for process, variables in states_after(story, len(story.moments) - 1).items()
        for variable in variables.values()
        if isinstance(variable, tuple)
    }


def _unmet(
    scenario: Scenario, story: Story, goals: tuple[str, ...], delivered: Texts, histories: Texts
) -> Iterator[str]:
    outcome = scenario.outcome
    verdicts = {verdict.property: verdict for verdict in story.verdicts}
    if outcome.violated is None:
        broken = [name for name, verdict in verdicts.items() if verdict.status == "violated"]
        if broken:
            yield f"violated: {', '.join(broken)}"
    else:
        violation = verdicts[outcome.violated].violation
        if violation is None:
            yield f"{outcome.violated} is not violated"
        elif scenario.witness and scenario.witness != violation.witness:
            yield f"{outcome.violated} is violated for another reason: {violation.summary}"
    for name in outcome.holds:
        if verdicts[name].status != "holds":
            yield f"{name}: {verdicts[name].status}"
    for process, txns in outcome.delivered.items():
        if delivered.get(process, "") != txns:
            yield f"p{process} delivers {delivered.get(process) or 'nothing'}"
    for process, txns in outcome.histories.items():
        if histories.get(process, "") != txns:
            yield f"p{process} has in its log {histories.get(process) or 'nothing'}"
    yield from (f"not reached: {goal}" for goal in outcome.goals if goal not in goals)

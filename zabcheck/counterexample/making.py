"""Make a counterexample of a run that failed: minimise the run, execute it again, explain it.

Here the search and the report meet: the command line, the gate and the test suite's machine all end here.
"""

from collections.abc import Collection

from msgspec import structs

from zabcheck.counterexample.explain import explain_replay
from zabcheck.counterexample.story import Story
from zabcheck.search.minimise import SECONDS, minimise_raise, shortest
from zabcheck.search.recording import NOT_DETERMINISTIC, record
from zabcheck.search.run import PropertyBroken, ProtocolRaised, Replay, replay_on
from zabcheck.text.words import counted

HURRY = 0.05
"""The fraction of its CPU limit that a step has while a run with an endless step is minimised and explained."""
ENDLESS = 10.0
"""The most CPU seconds that go into making such a run shorter: each try costs that limit."""


def counterexample(
    found: PropertyBroken | ProtocolRaised, seconds: float = SECONDS, keep: Collection[str] = ()
) -> tuple[Replay, Story]:
    """Return the shortest run that could be found which fails as `found` does, and its story.

    It breaks the same property, or raises the same exception in the same line.
    At most `seconds` of CPU time go into making the run shorter. `keep` names what stays as it is: switches, "quorums".
    ValueError if the run does not fail again each time: the protocol is not deterministic. The message says which step
    does something else, and what.
    """
    try:
        return _counterexample(found, seconds, keep)
    except ValueError as error:
        raise ValueError(_difference(found)) from error


def _counterexample(
    found: PropertyBroken | ProtocolRaised, seconds: float, keep: Collection[str]
) -> tuple[Replay, Story]:
    if isinstance(found, ProtocolRaised):
        # A step that never returns costs its whole limit each time it is tried. Only the last word has that patience.
        patience = HURRY if found.raised.stopped else 1.0
        hurried = structs.replace(found.protocol, step_seconds=found.protocol.step_seconds * patience)
        seconds = min(seconds, ENDLESS) if found.raised.stopped else seconds
        shortened = minimise_raise(hurried, found.schedule, found.raised.place, seconds, keep)
        replayed = replay_on(found.protocol, shortened.schedule)
        if replayed.raised is None and found.raised.stopped:  # a step that is only slow
            replayed = replay_on(found.protocol, found.schedule)
        fails = replayed.raised is not None and replayed.raised.place == found.raised.place
        if fails:
            story = explain_replay(structs.replace(replayed, protocol=hurried))
            return replayed, structs.replace(story, is_minimal=shortened.is_minimal)
    else:
        shortened = shortest(found.protocol, found.schedule, found.property, seconds, keep)
        replayed = replay_on(found.protocol, shortened.schedule, [found.property])
        fails = any(verdict.status == "violated" for verdict in replayed.verdicts)
    if not fails:
        raise ValueError(NOT_DETERMINISTIC)
    return replayed, structs.replace(explain_replay(replayed, decisive=True), is_minimal=shortened.is_minimal)


EXECUTIONS = 5
"""The number of times that a run that did not fail again is executed once more, to see what it does instead."""


def _difference(found: PropertyBroken | ProtocolRaised) -> str:
    """Describe what a run that failed does when it is executed again, if it does not fail as it did."""
    choices = counted(len(found.choices), "choice", "choices")
    for _ in range(EXECUTIONS):
        replayed = replay_on(found.protocol, found.schedule)
        try:
            record(replayed)
        except ValueError as error:
            return str(error)
        raised = replayed.raised
        if isinstance(found, ProtocolRaised) and (raised is None or raised.place != found.raised.place):
            what = f"choice {len(found.choices)}, {found.choices[-1]!r}, " if found.choices else "the start "
            instead = "nothing" if raised is None else raised.said
            return f"{NOT_DETERMINISTIC}; {what}raised {found.raised.said} in the search, and {instead} afterwards"
    what = found.raised.said if isinstance(found, ProtocolRaised) else f"{found.property} was violated"
    return (
        f"{NOT_DETERMINISTIC}; after {choices} {what} in the search, and not again in {EXECUTIONS} executions,"
        " which were all alike: does something outlive a run, such as a variable of the class that is changed in place?"
    )

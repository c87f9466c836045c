"""Stories to draw, and the golden files.

After an intended change of the output, write the golden files anew and read the difference:

    python -c "from tests.counterexample.stories import write_golden; write_golden()"
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from invariants import Header
from zabcheck.counterexample.explain import explain
from zabcheck.counterexample.forms.terminal import to_text
from zabcheck.counterexample.story import Story
from zabcheck.counterexample.traced import story_of_trace
from zabcheck.search.run import replay, schedule_of
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import AnyChoice, Crash, Heal, Lead, Recover, Request, Reset, Settle, Split, Sync

GOLDEN = Path(__file__).parent / "golden"
SCHEDULES = Path(__file__).parents[1] / "schedules"
SCHEDULE = GOLDEN / "no-truncation.schedule.json"
WIDTHS = (80, 160)


@cache
def golden_story() -> Story:
    return explain(schedules.load(SCHEDULE.read_bytes(), SCHEDULE.name))


def golden_file(width: int) -> Path:
    return GOLDEN / f"no-truncation.{width}.txt"


def write_golden() -> None:
    for width in WIDTHS:
        golden_file(width).write_text(to_text(golden_story(), width), encoding="utf-8")


HOSTILE = (
    "a \"b\" 'c' \\ \\N #35;; end\n%%{init}%% <script>alert(1)</script> ]]> &amp; \x00\x1b[31m\x7f\u2028\u202e "
    'é日😀 {|} """ \\u0020 \\'
)
"""A value of a client that means something in every language that a report is written in."""


@cache
def scheduled(name: str) -> Story:
    """The story of one of `tests/schedules`."""
    return explain(schedules.load((SCHEDULES / f"{name}.json").read_bytes(), name))


@cache
def traced() -> Story:
    """The story that the trace of the golden schedule tells alone."""
    replayed = replay(schedules.load(SCHEDULE.read_bytes(), SCHEDULE.name))
    header, *events, _ = replayed.events
    assert isinstance(header, Header)
    placed = list(enumerate(events, 2))
    return story_of_trace(header, placed, replayed.verdicts, unit="line", sha256=replayed.sha256)


@cache
def broken(processes: int, value: str = "x") -> Story:
    """A run with cuts, a crash, a recovery and a reset that breaks primary integrity: `value` is delivered by one
    process alone."""
    everyone = tuple(range(1, processes + 1))
    choices: Sequence[AnyChoice] = (
        Lead(1, everyone),
        Settle(6),
        Split((1,)),
        Request(1, value),
        Sync(1),
        Lead(2, everyone[1:]),
        Settle(6),
        Request(2),
        Settle(2),
        Crash(1),
        Heal(),
        Recover(1),
        Reset(3, 2),
    )
    story = explain(schedule_of("zab", "commit-on-own-ack", processes, choices, "primary integrity"))
    assert story.violation is not None
    return story

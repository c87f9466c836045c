"""Explanations to compare: of each property a few of the recorded runs that break it, and the golden file.

After an intended change of the texts, write the golden file anew and read the difference:

    python -c "from tests.counterexample.explanation.explanations import write_golden; write_golden()"
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from invariants import Broadcast, ClientAck, Crash, Deliver, FinalRead, Txn, Violation, Zxid, check
from invariants.events import End, Event, Header
from tests.search.builders import RECORDED
from zabcheck.counterexample.explain import explain
from zabcheck.counterexample.explanation.sentences import explanation
from zabcheck.counterexample.story import Story

GOLDEN = Path(__file__).parent / "golden" / "explanations.txt"
OF_EACH = 2
"""The number of runs of each property in the golden file: the first ones by name."""


@cache
def story(name: str) -> Story:
    return explain(RECORDED[name])


def names() -> list[str]:
    """The recorded runs of the golden file."""
    of: dict[str, list[str]] = {}
    for name, schedule in RECORDED.items():
        of.setdefault(schedule.violates or "", []).append(name)
    return [name for property_ in sorted(of) for name in of[property_][:OF_EACH]]


def judged(property_: str, *events: Event, order: str = "global", processes: int = 3) -> tuple[Violation, list[Event]]:
    """The violation that these events show, and the events."""
    header = Header(1, processes, "test", order=order)  # type: ignore[arg-type]  # both orders are used
    [verdict] = check([header, *events, End(len(events))], [property_])
    assert verdict.violation is not None
    return verdict.violation, list(events)


def numbered(events: list[Event]) -> list[tuple[int, Event]]:
    return list(enumerate(events, 1))


def of_clock() -> tuple[str, ...]:
    """No run of the simulator breaks the clock: a trace that does."""
    x = Txn(Zxid(1, 1), "x")
    violation, events = judged("clock", Deliver(2, 0, x), Broadcast(1, 0, 1, x))
    return explanation(violation, numbered(events), unit="line")


def of_durability() -> tuple[str, ...]:
    """No run of the simulator has clients that are told anything: a trace that has one."""
    x, y = Txn(Zxid(1, 1), "x"), Txn(Zxid(2, 1), "y")
    violation, events = judged(
        "durability",
        Broadcast(1, 0, 1, x),
        Deliver(1, 0, x),
        ClientAck(1, 0, x),
        Crash(1, 0),
        FinalRead(2, 0, (y,)),
        FinalRead(3, 0, (y,)),
        order="per-process",
    )
    return explanation(violation, numbered(events), unit="line", ordered=False)


def of_final_agreement() -> tuple[str, ...]:
    """The same of reads at the end."""
    x, y, z = Txn(Zxid(1, 1), "x"), Txn(Zxid(1, 2), "y"), Txn(Zxid(2, 1), "z")
    violation, events = judged(
        "final agreement",
        ClientAck(1, 0, y),
        FinalRead(1, 0, (x, y)),
        FinalRead(2, 0, (x, z)),
        order="per-process",
    )
    return explanation(violation, numbered(events), unit="line", ordered=False)


def golden_text() -> str:
    return "\n".join(_paragraphs())


def _paragraphs() -> Iterator[str]:
    for name in names():
        yield "\n".join([name, *(f"  {sentence}" for sentence in story(name).explanation), ""])
    yield "\n".join(["a trace.clock", *(f"  {sentence}" for sentence in of_clock()), ""])
    yield "\n".join(["a trace.durability", *(f"  {sentence}" for sentence in of_durability()), ""])
    yield "\n".join(["a trace.final agreement", *(f"  {sentence}" for sentence in of_final_agreement()), ""])


def write_golden() -> None:
    GOLDEN.write_text(golden_text(), encoding="utf-8")

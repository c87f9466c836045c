"""Traces that are broken, once or throughout: the verdicts are right, and cost no more an event in long ones."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import invariants
from invariants import (
    PROPERTIES,
    Event,
    Verdict,
    agreement,
    check,
    ladis_causal_order,
    po_causal_order,
    strict_causality,
)
from tests.invariants.broken import BREAKS, Ensemble
from tests.invariants.builders import whole
from tests.invariants.by_property import LITERAL
from tests.invariants.oracle import Reading
from tests.tiers import sweep

SOURCES = str(Path(invariants.__file__).parent)


def broken(name: str, size: int, epochs: int) -> list[Event]:
    return BREAKS[name](list(Ensemble(size, epochs).events()))


@contextmanager
def counted() -> Iterator[list[int]]:
    """Count the lines of the package that are executed."""
    lines = [0]

    def on_line(frame: FrameType, event: str, _: Any) -> Any:
        lines[0] += event == "line"
        return on_line

    def on_call(frame: FrameType, event: str, _: Any) -> Any:
        return on_line if frame.f_code.co_filename.startswith(SOURCES) else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        yield lines
    finally:
        sys.settrace(before)


def judged(events: Sequence[Event]) -> list[Verdict]:
    return check(whole(events, "global", processes=3))


def lines_an_event(events: Sequence[Event]) -> float:
    with counted() as lines:
        judged(events)
    return lines[0] / len(events)


@pytest.mark.parametrize("name", sweep(BREAKS, normal=[*BREAKS][::3]))
def test_a_trace_four_times_as_long_costs_no_more_an_event(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trace is so long that nothing may be compared with all the rest while it comes."""
    for module in (agreement, ladis_causal_order, po_causal_order, strict_causality):
        monkeypatch.setattr(module, "_WORK", 0)
        monkeypatch.setattr(module, "_WORK_AN_EVENT", 0)
    monkeypatch.setattr(strict_causality, "LARGE", 50)
    short, long = (lines_an_event(broken(name, size, epochs=4)) for size in (200, 800))
    assert long < 1.45 * short


@pytest.mark.parametrize("name", BREAKS)
def test_the_verdicts_are_those_of_the_literal_readings(name: str) -> None:
    events = broken(name, 150, epochs=3)
    reading = Reading(events)
    found = {v.property: (v.status, v.violation and v.violation.witness) for v in judged(events)}
    for each, literal in LITERAL.items():
        assert found[each] == literal(reading), each


def test_the_breaks_break_every_property() -> None:
    breaks = {v.property for name in BREAKS for v in judged(broken(name, 600, 5)) if v.violation}
    assert set(PROPERTIES) - breaks == set()

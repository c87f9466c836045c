"""The plots of an evaluation: what they say, and how lines are told apart. Their layout is that of matplotlib."""

import sys
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Command, zabcheck
from zabcheck.extras import pip_install
from zabcheck.papers.evaluation.plots import Line, Plot, svg

__all__ = ["zabcheck"]

RISING = Line("rising", ((1, 10), (2, 20), (3, 40)))


def texts(text: str, tag: str = "text") -> list[str]:
    found = ElementTree.fromstring(text).iter(f"{{http://www.w3.org/2000/svg}}{tag}")
    return ["".join(element.itertext()) for element in found]


def test_everything_is_named() -> None:
    drawn = svg(Plot("a < b", "across", "up", (RISING, Line("limit", ((1, 50), (3, 50)), dashed=True)), note="n & m"))
    assert [texts(drawn, tag) for tag in ("title", "desc")] == [["a < b"], ["n & m"]]
    shown = texts(drawn)
    assert {"a < b", "rising", "limit", "across", "up", "0"} <= {*shown}
    assert [each for each in shown if each in ("1", "2", "3")] == ["1", "2", "3"]
    assert drawn.count("stroke-dasharray") == 2  # of the line, and in the legend


def test_the_same_figures_give_the_same_bytes() -> None:
    plot = Plot("t", "x", "y", (RISING,))
    assert svg(plot) == svg(plot)
    assert "metadata" not in svg(plot)


def test_a_logarithmic_axis_has_powers_of_ten() -> None:
    lines = (Line("l", ((10, 0.5), (100, 5), (1000, 5000))),)
    shown = texts(svg(Plot("t", "x", "y", lines, log_x=True, log_y=True)))
    assert {"10", "100", "1,000", "1"} <= {*shown}


@pytest.mark.slow
@pytest.mark.parametrize("points", [((3, 7),), ((3, 0),), ((0, 0),), ((1, 1e-3), (2, 1e9)), ((1, 1), (2, 1))])
def test_whatever_the_numbers_are_there_is_a_plot(points: tuple[tuple[float, float], ...]) -> None:
    drawn = svg(Plot("t", "x", "y", (Line("the line", points),)))
    assert "the line" in texts(drawn)
    assert "nan" not in drawn


def test_lines_are_told_apart_by_more_than_colour() -> None:
    lines = tuple(Line(str(number), ((1, number), (2, number))) for number in range(1, 5))

    def marks(drawn: str) -> set[str]:
        paths = ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}path")
        return {path.get("d", "") for path in paths if path.get("id")}

    axes = marks(svg(Plot("t", "x", "y", tuple(Line(each.name, each.points, dashed=True) for each in lines))))
    assert len(marks(svg(Plot("t", "x", "y", lines))) - axes) == 4


def test_without_matplotlib_nothing_is_measured(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "zabcheck.papers.evaluation.plots")
    result = zabcheck("evaluate", "--out", "x")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert result.err.startswith(f"zabcheck: --out: to draw plots, {pip_install('png')} (")

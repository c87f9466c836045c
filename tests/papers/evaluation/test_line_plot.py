"""A plot of lines: what it says, and that it can be read."""

import re
from xml.etree import ElementTree

import pytest

from zabcheck.papers.evaluation.line_plot import HEIGHT, WIDTH, Line, Plot, svg

RISING = Line("rising", ((1, 10), (2, 20), (3, 40)))


def elements(text: str, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(text).iter(f"{{http://www.w3.org/2000/svg}}{tag}"))


def texts(text: str) -> list[str]:
    return [element.text or "" for element in elements(text, "text")]


def test_everything_is_named() -> None:
    drawn = svg(Plot("a < b", "across", "up", (RISING, Line("limit", ((1, 50), (3, 50)), dashed=True)), note="n & m"))
    assert [elements(drawn, tag)[0].text for tag in ("title", "desc")] == ["a < b", "n & m"]
    shown = ["a < b", "rising", "limit", "0", "10", "20", "30", "40", "50", "1", "2", "3", "across", "up"]
    assert texts(drawn) == shown
    assert len(elements(drawn, "circle")) == 1 + 3  # in the legend, and at the points
    assert drawn.count("stroke-dasharray") == 2


def test_points_are_where_their_numbers_are() -> None:
    drawn = svg(Plot("t", "x", "y", (RISING,)))
    [one, two, three] = [(float(c.get("cx", "")), float(c.get("cy", ""))) for c in elements(drawn, "circle")[1:]]
    assert two[0] - one[0] == pytest.approx(three[0] - two[0], abs=0.2)
    assert two[1] - three[1] == pytest.approx(2 * (one[1] - two[1]), abs=0.2)


def test_a_logarithmic_axis_has_powers_of_ten() -> None:
    drawn = svg(Plot("t", "x", "y", (Line("l", ((10, 0.5), (100, 5), (1000, 50))),), log_x=True, log_y=True))
    assert texts(drawn)[2:6] == ["0.1", "1", "10", "100"]
    places = [(float(c.get("cx", "")), float(c.get("cy", ""))) for c in elements(drawn, "circle")[1:]]
    [(a, d), (b, e), (c, f)] = places
    assert b - a == pytest.approx(c - b, abs=0.2)
    assert d - e == pytest.approx(e - f, abs=0.2)


@pytest.mark.parametrize("points", [((3, 7),), ((3, 0),), ((0, 0),), ((1, 1e-3), (2, 1e9)), ((1, 1), (2, 1))])
def test_whatever_the_numbers_are_they_are_inside(points: tuple[tuple[float, float], ...]) -> None:
    drawn = svg(Plot("t", "x", "y", (Line("l", points),)))
    for circle in elements(drawn, "circle"):
        assert 0 < float(circle.get("cx", "")) < WIDTH
        assert 0 < float(circle.get("cy", "")) < HEIGHT
    assert "nan" not in drawn


def test_a_legend_that_is_too_long_has_several_rows() -> None:
    lines = tuple(Line(f"a long name with number {number}", ((1, number), (2, number))) for number in range(1, 6))
    drawn = svg(Plot("t", "x", "y", lines))
    rows = {element.get("y") for element in elements(drawn, "text") if (element.text or "").startswith("a long")}
    assert len(rows) == 3
    ticks = [float(match) for match in re.findall(r'<path d="M\d+ ([\d.]+)H', drawn)]
    assert min(ticks) > max(float(y or 0) for y in rows)


def test_lines_are_told_apart_by_more_than_colour() -> None:
    lines = tuple(Line(str(number), ((1, number), (2, number))) for number in range(1, 5))
    forms = re.findall(
        r'<(?:circle|path)[^>]*?(?: r="[\d.]+"|d="M[\d. ]+m[^"]*")[^>]*>', svg(Plot("t", "x", "y", lines))
    )
    assert len(forms) == 4 * 3
    assert len({re.sub(r'(?:c?[xy]|fill|stroke)="[^"]*"|M[\d.]+ [\d.]+', "", form) for form in forms}) == 4

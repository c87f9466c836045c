"""The diagram as SVG and PNG: well-formed, not blank, and the same each time."""

import re
import struct
import sys
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import matplotlib.image
import numpy as np
import pytest
from matplotlib.ft2font import FT2Font
from msgspec.structs import replace

from tests.counterexample.stories import HOSTILE, broken, scheduled
from zabcheck.counterexample.forms import diagram, picture
from zabcheck.counterexample.forms.decided import decided
from zabcheck.counterexample.forms.diagram_style import LIGHT
from zabcheck.counterexample.forms.lanes import NUMBERS
from zabcheck.counterexample.forms.lettering import SIZE
from zabcheck.counterexample.forms.picture import to_png
from zabcheck.counterexample.forms.svg import size, to_svg
from zabcheck.counterexample.pieces import labels_by_step
from zabcheck.counterexample.story import Moment, Story
from zabcheck.extras import pip_install

SVG = "{http://www.w3.org/2000/svg}"


def svg(story: Story) -> ElementTree.Element:
    return ElementTree.fromstring(to_svg(story, labels_by_step(story), dark=False))


def pixels(png: bytes) -> Any:
    """Rows of pixels, each red, green and blue from 0 to 1."""
    return matplotlib.image.imread(BytesIO(png))[:, :, :3]


def colour(word: str) -> list[float]:
    return [int(LIGHT[word][at : at + 2], 16) / 255 for at in (1, 3, 5)]


def is_there(area: Any, word: str) -> bool:
    return bool((np.abs(area - colour(word)).max(axis=2) < 0.02).any())


@pytest.fixture(scope="module")
def png() -> bytes:
    return to_png(broken(3), labels_by_step(broken(3)))


@pytest.mark.slow
def test_it_is_a_png_of_twice_the_size_of_the_diagram(png: bytes) -> None:
    width, height = size(broken(3), labels_by_step(broken(3)))
    root = svg(broken(3))
    assert (root.get("width"), root.get("height")) == (str(width), str(height))
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", png[16:24]) == (2 * width, 2 * height)


def test_lanes_texts_bands_and_marks_are_on_it(png: bytes) -> None:
    whole = pixels(png)
    story, labels = broken(3), labels_by_step(broken(3))
    lanes, decision = diagram.lanes_of(story), decided(story)
    assert decision is not None
    [group] = [each for each in svg(story).iter(f"{SVG}g") if each.get("transform", "").startswith("translate(0 ")]
    top = float(group.get("transform", "").split()[1].rstrip(")"))

    def at(x: float, y: float, width: float, height: float) -> Any:
        """Return this place in pixels of the diagram."""
        y += top
        return whole[round(2 * y) : round(2 * (y + height)), round(2 * x) : round(2 * (x + width))]

    for process in (1, 2, 3):
        x = NUMBERS + lanes.x(process)
        assert is_there(at(x - 2, lanes.y(2) - 8, 4, 4), "LINE")
        assert is_there(at(x - 10, 6, 20, 12), "INK"), "its name"
    for moment in story.moments:
        y = lanes.y(moment.step)
        assert is_there(at(0, y - 8, NUMBERS, 16), "SOFT"), "the number of the step"
        said = at(NUMBERS + lanes.across + 20, y - 8, 200, 16)
        assert (said.min(axis=2) < 0.6).any(), moment
        if moment.step != decision.step:
            assert (said.min(axis=2) > 0.9).mean() > 0.5, "on white"
    step, _ = next(iter(labels))
    assert step is not None
    assert is_there(at(NUMBERS + lanes.x(1) - 30, lanes.y(step) - 8, 50, 16), "BAD"), "W1 and its ring"
    band = at(NUMBERS + lanes.x(1) - 7, lanes.y(step - 1) + 4, 4, 4)
    assert band.min(axis=2).max() < 0.9
    assert band.min(axis=2).min() > 0.5


@pytest.mark.slow
def test_the_same_story_gives_the_same_bytes_and_another_one_others(png: bytes) -> None:
    assert to_png(broken(3), labels_by_step(broken(3))) == png
    assert to_png(broken(3), {}) != png, "the marks are on it"


def test_no_text_is_cut_off_at_the_right() -> None:
    font = FT2Font(str(Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"))
    font.set_size(11, 72)
    for story in (broken(3), broken(7), scheduled("no-truncation.agreement"), broken(3, "PROPOSED BY CLIENT " * 5)):
        root = svg(story)
        for text in root.iter(f"{SVG}text"):
            if "said" in text.get("class", ""):
                font.set_text("".join(text.itertext()))
                assert float(text.get("x", "")) + font.get_width_height()[0] / 64 < float(root.get("width", ""))


def test_the_lines_of_a_row_are_nearer_to_each_other_than_to_the_next_row() -> None:
    font = FT2Font(str(Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"))
    story = scheduled("keep-own-history.local-primary-order")
    rows: dict[str, list[tuple[float, float]]] = {}
    row = ""
    for text in svg(story).iter(f"{SVG}text"):
        kind, y = text.get("class", ""), float(text.get("y", "0"))
        if kind == "number":
            row = text.text or ""
        elif kind.startswith("said"):
            font.set_size(SIZE, 72)
            font.set_text("".join(text.itertext()))
            below = font.get_descent() / 64
            rows.setdefault(row, []).append((y - font.get_width_height()[1] / 64 + below, y + below))
    two = [lines for lines in rows.values() if len(lines) == 2]
    assert len(two) > 9
    inside = max(second[0] - first[1] for first, second in two)
    ends = [*rows.values()]
    assert min(after[0][0] - before[-1][1] for before, after in pairwise(ends)) > inside + 2


def test_a_hostile_value_is_text_in_the_svg_and_nothing_else() -> None:
    def tags(story: Story) -> set[str]:
        return {element.tag for element in svg(story).iter()}

    assert tags(broken(3, HOSTILE)) == tags(broken(3))
    said = "".join(svg(broken(3, HOSTILE)).itertext())
    assert "<script>alert(1)</script> ]]> &amp; \\x00\\x1b[31m" in said
    flights = tuple(replace(flight, kind="]]>\ud800\x00\ufffe", text="&<") for flight in broken(3).flights)
    assert "]]>\\ud800\\x00\\ufffe(&<)" in "".join(svg(replace(broken(3), flights=flights)).itertext())
    assert to_png(broken(3, HOSTILE), {}).startswith(b"\x89PNG")


def test_nothing_in_the_picture_depends_on_what_a_viewer_may_lack() -> None:
    text = to_svg(broken(3), labels_by_step(broken(3)), dark=False)
    for lacking in ("@", "var(", "url(", "href", "transparent", "color-mix"):
        assert lacking not in text


def test_a_long_run_gets_a_smaller_zoom(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 1_000_000
    monkeypatch.setattr(picture, "MOST_PIXELS", most)
    moments = tuple(Moment(step, None, None, "nothing", (), (), (), {}, {}) for step in range(1, 201))
    width, height = struct.unpack(">II", to_png(replace(broken(3), moments=moments, flights=()), {})[16:24])
    assert most * 0.95 < width * height < most * 1.01


@pytest.mark.parametrize("library", ["resvg_py", "matplotlib"])
def test_without_the_libraries_it_says_how_to_get_them(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=re.escape(pip_install("png"))):
        to_png(broken(3), {})

"""The space-time diagram as a file of its own."""

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from msgspec.structs import replace

from invariants import Ready
from tests.counterexample.pages import EVIL, STORIES
from zabcheck.counterexample.forms import diagram
from zabcheck.counterexample.forms.diagram_style import DARK, LIGHT
from zabcheck.counterexample.forms.svg import LONGEST_TEXT, to_svg
from zabcheck.counterexample.pieces import labels_by_step
from zabcheck.text.words import clean, name

SVG = "{http://www.w3.org/2000/svg}"
each_story = pytest.mark.parametrize("about", STORIES)


def drawn(about: str, *, dark: bool = True) -> Element:
    story = STORIES[about]()
    return ElementTree.fromstring(to_svg(story, labels_by_step(story), dark=dark))


def texts(root: Element, wanted: str) -> list[Element]:
    return [each for each in root.iter(f"{SVG}text") if each.attrib.get("class") == wanted]


@each_story
def test_it_needs_nothing_but_itself(about: str) -> None:
    root = drawn(about)
    assert root.tag == f"{SVG}svg"
    assert not {f"{SVG}{tag}" for tag in ("script", "image", "use", "a", "foreignObject")} & {
        e.tag for e in root.iter()
    }
    for element in root.iter():
        for attribute, value in element.attrib.items():
            assert not attribute.startswith("on")
            assert not attribute.endswith("href")
            assert "url(" not in value
    [style] = [each.text or "" for each in root.iter(f"{SVG}style")]
    assert not re.search(r"url\(|@import|var\(", style)
    assert not re.search(r"\b(INK|SOFT|FAINT|LINE|PAPER|GOOD|BAD)\b", style)


@each_story
def test_it_names_each_process_and_tells_each_step(about: str) -> None:
    story, root = STORIES[about](), drawn(about)
    assert [each.text for each in texts(root, "head")] == [name(p) for p in range(1, story.processes + 1)]
    assert [each.text for each in texts(root, "number")] == [str(moment.step) for moment in story.moments]
    told = [each.text or "" for each in texts(root, "said")]
    assert len(told) == len(story.moments)
    assert all(clean(m.action)[:30] in text for m, text in zip(story.moments, told, strict=True) if m.action)
    assert max((len(text) for text in told), default=0) <= LONGEST_TEXT + len("\\U0010ffff") * 20


@each_story
def test_everything_is_within_the_picture(about: str) -> None:
    root = drawn(about)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert root.attrib["viewBox"] == f"0 0 {root.attrib['width']} {root.attrib['height']}"
    for element in root.iter():
        for attribute, value in element.attrib.items():
            if attribute in ("x", "x1", "x2", "cx"):
                assert 0 <= float(value) <= width
            if attribute in ("y", "y1", "y2", "cy"):
                assert 0 <= float(value) <= height


def test_it_has_a_title() -> None:
    titles = {about: drawn(about).find(f"{SVG}title") for about in ("usual", "harmless")}
    assert {about: title.text for about, title in titles.items() if title is not None} == {
        "usual": "primary integrity is violated",
        "harmless": "zab",
    }


def test_dark_is_only_there_if_it_is_wanted() -> None:
    """A picture that is to be converted knows no scheme."""
    styles = [[each.text or "" for each in drawn("usual", dark=dark).iter(f"{SVG}style")] for dark in (True, False)]
    assert ["prefers-color-scheme: dark" in style for [style] in styles] == [True, False]
    assert LIGHT.keys() == DARK.keys()


def test_what_a_user_wrote_is_text() -> None:
    story = STORIES["hostile"]()
    text = to_svg(story, labels_by_step(story))
    assert "<script>" not in text
    assert EVIL not in text
    assert not {"\x1b", "\x00", "\r", "\u202e", "\ud800"} & {*text}
    text.encode()


def test_many_marks_at_one_point_take_no_more_room() -> None:
    story = STORIES["usual"]()
    [first, *others] = story.moments
    events = tuple(Ready(1, 0, epoch) for epoch in range(1, 15))
    labels = {(first.step, event): f"W{number}" for number, event in enumerate(events, 1)}
    crowded = replace(story, moments=(replace(first, shown=events), *others))
    tags = re.findall(r'class="tag"[^>]*>([^<]*)<', to_svg(crowded, labels))
    assert tags == ["W1…W14"]


def test_work_is_linear_in_the_run() -> None:
    """Counted in what is drawn: nothing of it is drawn twice."""
    for about in ("usual", "long"):
        story = STORIES[about]()
        text = diagram.draw(story, labels_by_step(story), {})
        messages = len([each for each in story.flights if each.sender != each.to])
        assert text.count('class="pt"') == sum(len(diagram.processes_of(moment)) for moment in story.moments)
        assert text.count('class="f ') == messages
        assert len(text) < 700 * (len(story.moments) + messages + 10)

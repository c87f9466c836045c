"""The space-time diagram as a file of its own."""

import re
from collections.abc import Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from msgspec.structs import replace

from invariants import Ready, Truncate, Zxid
from tests.counterexample.pages import EVIL, STORIES
from tests.tiers import sweep
from zabcheck.counterexample.forms import diagram
from zabcheck.counterexample.forms.decided import decided
from zabcheck.counterexample.forms.diagram_style import DARK, LIGHT
from zabcheck.counterexample.forms.lanes import ROW
from zabcheck.counterexample.forms.svg import LEGEND, WIDEST, to_svg
from zabcheck.counterexample.pieces import labels_by_step
from zabcheck.text.words import clean, name

SVG = "{http://www.w3.org/2000/svg}"
each_story = pytest.mark.parametrize("about", sweep(STORIES, normal=[about for about in STORIES if about != "long"]))


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
    told = rows(root)
    assert list(told) == [str(moment.step) for moment in story.moments]
    for moment, lines in zip(story.moments, told.values(), strict=True):
        assert 1 <= len(lines) <= 2
        said = " ".join(lines)
        if moment.process is not None:
            assert said.startswith(name(moment.process)), "who acts"
        assert " ".join(clean(moment.action).split())[:20] in " ".join(said.split())


def rows(root: Element) -> dict[str, list[str]]:
    """The lines of each row's text, by the number of its step."""
    found: dict[str, list[str]] = {}
    for each in root.iter(f"{SVG}text"):
        kind = each.attrib.get("class", "").split()
        if kind == ["number"]:
            found[each.text or ""] = []
        elif "said" in kind:
            found[list(found)[-1]].append("".join(each.itertext()))
    return found


@each_story
def test_everything_is_within_the_picture(about: str) -> None:
    root = drawn(about)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert root.attrib["viewBox"] == f"0 0 {root.attrib['width']} {root.attrib['height']}"
    for element in root.iter():
        for attribute, value in element.attrib.items():
            if attribute in ("x1", "x2"):
                assert 0 <= float(value) <= width
            if attribute in ("y1", "y2"):
                assert 0 <= float(value) <= height
    for text in root.findall(f"{SVG}text"):
        assert 0 <= float(text.attrib["y"]) <= height


def test_it_has_a_title() -> None:
    titles = {about: drawn(about).find(f"{SVG}title") for about in ("usual", "harmless")}
    for about, start in (("usual", "primary integrity is violated: "), ("harmless", "a run of zab")):
        title = titles[about]
        assert title is not None
        assert title.text is not None
        assert title.text.startswith(start)
        seen = " ".join(each.text or "" for each in texts(drawn(about), "title"))
        assert seen == title.text, "it is there to be read, too"


@each_story
def test_a_readme_shows_it_as_large_as_it_is(about: str) -> None:
    """Its letters have 11 px or more where it is shown 860 px wide."""
    root = drawn(about)
    shrunk = min(1.0, WIDEST / float(root.attrib["width"]))
    [style] = [each.text or "" for each in root.iter(f"{SVG}style")]
    sizes = [float(each) for each in re.findall(r"font-size: ([\d.]+)px", style)]
    assert sizes
    assert min(*sizes, float(root.attrib["font-size"])) * shrunk >= 11


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_its_texts_can_be_read_in_light_and_in_dark(colours: Mapping[str, str]) -> None:
    """The contrast is the one that WCAG 2.2 asks for (1.4.3), also on the row of the step that decided."""
    [style] = [each.text or "" for each in drawn("usual").iter(f"{SVG}style")]
    schemes = style.split("@media (prefers-color-scheme: dark)")
    scheme = schemes[1 if colours is DARK else 0]
    fills = {
        kind: next(fill for _, fill in re.findall(rf"\.{kind}(, [^{{]*)? \{{[^}}]*?fill: (#\w+)", scheme))
        for kind in ("said", "who", "title", "legend", "number", "head", "label", "tag", "epoch", "name", "paper")
    }
    paper = rgb(fills.pop("paper"))
    assert paper == rgb(colours["PAPER"])
    marked = [0.14 * bad + 0.86 * white for bad, white in zip(rgb(colours["BAD"]), paper, strict=True)]
    for kind, fill in fills.items():
        assert contrast(rgb(fill), paper) >= 4.5, kind
        if kind in ("number", "who", "tag", "label"):
            assert contrast(rgb(fill), marked) >= 4.5, kind


def rgb(colour: str) -> list[float]:
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def contrast(one: list[float], other: list[float]) -> float:
    """The contrast ratio of WCAG 2.2."""
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: list[float]) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_the_legend_says_what_the_signs_mean() -> None:
    legend = " ".join(each.text or "" for each in texts(drawn("usual"), "legend"))
    assert LEGEND in legend
    assert "where the violation was decided" in legend


def test_the_step_that_decided_is_what_one_sees_first() -> None:
    story = STORIES["usual"]()
    decision = decided(story)
    assert decision is not None
    root = drawn("usual")
    [row] = [each for each in root.iter(f"{SVG}rect") if each.attrib.get("class") == "verdict"]
    assert float(row.attrib["y"]) == diagram.lanes_of(story).y(decision.step) - ROW / 2
    assert row.attrib["width"] == root.attrib["width"]
    arrows = [each for each in root.iter(f"{SVG}g") if "deciding" in each.attrib.get("class", "").split()]
    assert [each.attrib["data-r"] for each in arrows] == [str(decision.step)]
    [halo] = [each for each in root.iter(f"{SVG}circle") if each.attrib.get("class") == "halo"]
    assert halo is not None


def test_a_truncation_was_ordered_by_the_trunc_before_the_message_in_its_row() -> None:
    """A server's disk shows what was cut off when NEWLEADER has come."""
    story = STORIES["usual"]()
    decision = decided(story)
    assert decision is not None
    order, *_, last = (each for each in story.flights if each.to == decision.process and each.received is not None)
    assert decision.flights == {last.number}
    cut = Truncate(1, 0, Zxid(1, 1), 1)
    moments = [
        replace(each, shown=(*each.shown, cut)) if each.step == decision.step else each for each in story.moments
    ]
    for kind, number in (("TRUNC", order.number), ("DIFF", last.number)):
        flights = [replace(each, kind=kind) if each == order else each for each in story.flights]
        found = decided(replace(story, moments=tuple(moments), flights=tuple(flights)))
        assert found is not None
        assert found.flights == {number}


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
    assert [each.split(" ")[0] for each in tags if "…" in each] == ["W1…W14"]


@pytest.mark.slow
def test_work_is_linear_in_the_run() -> None:
    """Counted in what is drawn: nothing of it is drawn twice."""
    for about in ("usual", "long"):
        story = STORIES[about]()
        text = diagram.draw(story, labels_by_step(story), {})
        messages = len([each for each in story.flights if each.sender != each.to])
        assert text.count('class="pt"') == sum(len(diagram.processes_of(moment)) for moment in story.moments)
        assert text.count('class="f ') == messages
        assert len(text) < 700 * (len(story.moments) + messages + 10)


def test_a_lane_splits_where_a_thread_of_its_process_is_held() -> None:
    """Its line leaves that of the process, and comes back where the thread goes on, beside those of other threads."""
    story = STORIES["hostile"]()
    placed = diagram.layout(story, labels_by_step(story))
    first, second, third = placed.branches
    lanes, steps = placed.lanes, [moment.step for moment in story.moments]
    assert [branch.mark.text for branch in placed.branches] == ["T1", "T2", "T3"]
    assert first.x != second.x
    assert first.x < lanes.x(1)
    assert second.x < lanes.x(1)
    assert third.x == first.x - lanes.x(1) + lanes.x(3)
    assert first.top < lanes.y(steps[0])
    assert lanes.y(steps[4]) < first.bottom < lanes.y(steps[5])
    assert lanes.y(steps[1]) < second.top < lanes.y(steps[2])
    assert second.bottom >= lanes.y(steps[-1])
    assert third.bottom == lanes.y(steps[5]), "its process is killed"
    comes_back = [group[1].attrib["d"].endswith(f"L{lanes.x(1):g} {first.bottom:g}") for group in branches("hostile")]
    assert comes_back == [True, False, False]


def branches(about: str) -> list[list[Element]]:
    return [list(each) for each in drawn(about).iter(f"{SVG}g") if each.attrib.get("class") == "ht"]


def test_the_legend_says_which_threads_were_held_and_where() -> None:
    said = ["".join(each.itertext()) for each in texts(drawn("hostile"), "legend")]
    assert [each[:4] for each in said if each.startswith("T")] == ["T3: ", "T2: ", "T1: "]
    assert branches("usual") == []

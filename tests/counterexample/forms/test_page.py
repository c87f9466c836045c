"""The page of a counterexample: it stands alone, whoever reads it, and says what the story says."""

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from invariants import Crash, Halt, Local, Pause, Recover, Wake
from tests.counterexample.pages import EVIL, IMAGE, MARKUP, STORIES
from tests.tiers import sweep
from zabcheck.counterexample.forms import diagram
from zabcheck.counterexample.forms.decided import decided
from zabcheck.counterexample.forms.lanes import BAND
from zabcheck.counterexample.forms.page import heading, page
from zabcheck.counterexample.forms.page_data import LONGEST_ENTRY
from zabcheck.counterexample.forms.regression import regression_test
from zabcheck.counterexample.pieces import entries_of, labels_by_step, labels_of
from zabcheck.counterexample.story import Story, states_after
from zabcheck.text.words import LONGEST, clean, name

ROOT = Path(__file__).parents[3]
SVG = "{http://www.w3.org/2000/svg}"
WITH_STEPS = [name for name in STORIES if name != "empty"]
SHORT = [name for name in WITH_STEPS if name != "long"]
each_page = pytest.mark.parametrize("about", sweep(STORIES, normal=["empty", *SHORT]))
each_run = pytest.mark.parametrize("about", sweep(WITH_STEPS, normal=SHORT))


@cache
def made(about: str) -> str:
    return page(STORIES[about](), "x.schedule.json")


@cache
def parsed(about: str) -> Element:
    start = "<!DOCTYPE html>\n"
    assert made(about).startswith(start)
    return ElementTree.fromstring(made(about).removeprefix(start))


def by_id(about: str, wanted: str) -> Element:
    [found] = [each for each in parsed(about).iter() if each.attrib.get("id") == wanted]
    return found


def of_class(root: Element, wanted: str) -> list[Element]:
    return [each for each in root.iter() if wanted in each.attrib.get("class", "").split()]


def words(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


def lanes(about: str) -> Element:
    [drawn] = of_class(parsed(about), "lanes")
    return drawn


# It stands alone.


@each_page
def test_it_needs_nothing_but_itself(about: str) -> None:
    root = parsed(about)
    tags = [element.tag for element in root.iter()]
    assert not {"link", "img", "iframe", "object", "form", "audio", "video", f"{SVG}script", f"{SVG}image"} & {*tags}
    scripts = [element for element in root.iter("script") if element.attrib.get("type") != "application/json"]
    assert [each.attrib for each in scripts] == [{}]
    for element in root.iter():
        for attribute, value in element.attrib.items():
            assert not attribute.startswith("on"), attribute
            assert attribute not in ("src", "srcset", "action", "formaction", "background")
            if attribute.endswith("href"):
                assert value.startswith("#")
            assert attribute != "style"
    [style] = root.iter("style")
    assert not re.search(r"url\(|@import|@font-face|expression|https?:", style.text or "")
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|import|eval|innerHTML|https?:)", scripts[0].text or "")
    [policy] = [each.attrib["content"] for each in root.iter("meta") if "http-equiv" in each.attrib]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")
    assert "unsafe-eval" not in policy


@each_page
def test_every_id_is_there_once_and_what_refers_to_one_finds_it(about: str) -> None:
    root = parsed(about)
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert len(ids) == len({*ids})
    referred = set()
    for element in root.iter():
        for attribute, value in element.attrib.items():
            if attribute.endswith("href"):
                referred.add(value[1:])
            if attribute in ("aria-labelledby", "aria-describedby", "aria-controls", "for", "data-copy"):
                referred.add(value)
    assert referred - {*ids} == set()
    script = "".join(each.text or "" for each in root.iter("script") if "type" not in each.attrib)
    optional = {"witness"} if STORIES[about]().violation is None else set()
    if STORIES[about]().moments:
        assert {*re.findall(r'byId\("(\w+)"\)', script)} - {*ids} == set()
        actions = re.search(r"const actions = \{(.*?)\};", script, re.DOTALL)
        assert actions is not None
        assert {*re.findall(r"(\w+)(?:[:,])", actions[1])} - {*ids} - {"toWitness", "traceHere"} == optional


@pytest.mark.parametrize("about", ["own", "hostile", "raised", "raised badly"])
def test_what_a_user_wrote_is_text(about: str) -> None:
    assert "<script>alert" not in made(about)
    assert "<img" not in made(about)
    invisible = {"\x1b", "\r", "\x00", "\u202e", "\ud800", "\u2028"}
    assert not invisible & {*made(about)}
    assert any(MARKUP in text for text in parsed(about).itertext())
    made(about).encode()


def test_whatever_a_user_wrote_is_shown_escaped_everywhere() -> None:
    assert EVIL not in made("hostile")
    shown = " ".join(clean(EVIL).split())
    for about, terms in (("hostile", ("planted", "run")), ("raised badly", ("handling", "traceback"))):
        *_, facts = parsed(about).iter("dl")
        said = {words(term): words(fact) for term, fact in zip(facts.iter("dt"), facts.iter("dd"), strict=True)}
        assert [term for term in terms if shown not in said[term]] == []
    for tag in (f"{SVG}title", "label", "li", "p"):
        assert any(shown in words(element) for element in parsed("hostile").iter(tag)), tag
    cells = [cell.attrib["data-of"] for cell in by_id("hostile", "state").iter("td") if cell.attrib]
    assert f"1 a{clean(EVIL)}" in cells
    assert any(IMAGE in text for text in parsed("own").itertext())


def test_values_of_any_length_make_no_page_of_any_length() -> None:
    assert len(made("hostile")) < 300_000


# Who reads it.


@each_page
def test_a_screen_reader_finds_its_way(about: str) -> None:
    root = parsed(about)
    assert root.attrib["lang"] == "en"
    landmarks = [each.tag for each in root.iter() if each.tag in ("h1", "main", "nav", "header", "footer")]
    assert landmarks == ["header", "h1", "main", "footer"]
    title = root.find("head/title")
    [first] = root.iter("h1")
    assert title is not None
    assert title.text == first.text == heading(STORIES[about]())
    levels = [int(each.tag[1]) for each in root.iter() if re.fullmatch("h[1-6]", each.tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for section in root.iter("section"):
        assert section[0].tag == "h2"
        assert section.attrib["aria-labelledby"] == section[0].attrib["id"]
    for table in root.iter("table"):
        assert {each.attrib["scope"] for each in table.findall("thead//th")} == {"col"}
        assert {row[0].attrib["scope"] for row in table.findall("tbody/tr")} <= {"row"}
    for button in root.iter("button"):
        assert button.attrib["type"] == "button"
        assert re.search(r"\w", button.attrib.get("aria-label", words(button)))
    for box in root.iter("input"):
        assert any(box in label for label in root.iter("label")), "a box has a label"
    for drawn in root.iter(f"{SVG}svg"):
        assert drawn.attrib["aria-hidden"] == "true", "the same is there in words"


@each_page
def test_what_scrolls_can_be_scrolled_by_keyboard(about: str) -> None:
    root = parsed(about)
    for box in (*of_class(root, "scroll"), *of_class(root, "diagram"), *root.iter("pre"), *root.iter("figure")):
        assert box.attrib["tabindex"] == "0"
    for element in root.iter():
        assert element.attrib.get("tabindex", "0") in ("0", "-1"), "the order is that of the page"


@each_run
def test_the_list_of_steps_holds_all_that_is_said_of_them(about: str) -> None:
    story = STORIES[about]()
    labels = labels_by_step(story)
    [steps] = of_class(parsed(about), "steps")
    assert steps.tag == "ol"
    assert len(steps) == len(story.moments)
    for item, moment in zip(steps, story.moments, strict=True):
        assert item.attrib["id"] == f"s{moment.step}"
        shown = words(item)
        assert shown.startswith(str(moment.step))
        for entry in entries_of(moment, labels):
            for piece in entry.pieces:
                assert " ".join(clean(piece.text, longest=LONGEST).split()) in shown
                assert f"◀{piece.label or ''}" in shown or piece.label is None
            if entry.process is not None and (entry.pieces or entry.process == moment.process):
                assert name(entry.process) in shown


@each_page
def test_colours_follow_the_reader_from_light_to_dark(about: str) -> None:
    [style] = [each.text or "" for each in parsed(about).iter("style")]
    schemes = [{*re.findall(r"(--\w+):", each)} for each in re.findall(r":root \{([^}]*)\}", style)]
    assert len(schemes) == 2
    assert schemes[0] == schemes[1]
    assert {*re.findall(r"var\((--[\w-]+)\)", style)} - {*re.findall(r"(--[\w-]+):", style)} == set()
    assert not re.search(r"\b(INK|SOFT|FAINT|LINE|PAPER|GOOD|BAD)\b", style)
    without_schemes = re.sub(r":root \{[^}]*\}", "", style)
    outside = {*re.findall(r"#[0-9a-f]{3,8}\b", without_schemes)}
    assert len(outside) == diagram.HUES, "only the bands, which are faint in both, are of one colour"
    for element in parsed(about).iter():
        assert "fill" not in element.attrib
        assert "stroke" not in element.attrib


# What it says.


def test_it_says_what_went_wrong_and_how_to_see_it_again() -> None:
    story = STORIES["usual"]()
    assert story.violation is not None
    told = words(parsed("usual"))
    for said in (
        "primary integrity is violated",
        story.violation.summary,
        story.violation.statement,
        "zabcheck replay x.schedule.json",
        story.sha256,
        "3 processes",
        "20 steps",
    ):
        assert " ".join(said.split()) in told, said


@each_page
def test_what_is_to_be_copied_is_there_to_the_letter(about: str) -> None:
    story = STORIES[about]()
    wanted = {}
    if story.schedule:
        wanted = {"schedule": story.schedule.decode(), "regression": regression_test(story)}
    assert len(list(parsed(about).iter("pre"))) == len(wanted)
    for each, content in wanted.items():
        element = by_id(about, each)
        exact = element.attrib.get("data-exact")
        assert (element.text if exact is None else json.loads(exact)) == content


def data_of(about: str) -> Any:
    return json.loads(by_id(about, "data").text or "")


@each_run
def test_the_data_of_the_script_gives_the_states_of_the_story(about: str) -> None:
    story = STORIES[about]()
    data = data_of(about)
    assert data["steps"] == [moment.step for moment in story.moments]
    state: dict[int, dict[str, Any]] = {process: dict(variables) for process, variables in data["initial"]}
    last = len(story.moments) - 1
    some = {0, last, *range(0, last, 1 + last // 100)}
    for row, changes in enumerate(data["changes"]):
        for process, variable, removed, added, is_sequence in changes:
            before = state[process][variable]
            if is_sequence:
                assert before[len(before) - len(removed) :] == removed, "so that one can step back"
                state[process][variable] = [*before[: len(before) - len(removed)], *added]
            else:
                assert [before] == removed
                state[process][variable] = added[0]
        if row in some:
            assert state == plain(states_after(story, row), state)


def plain(states: Any, like: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return the states as the page has them: cleaned, a sequence as a list, and empty for what is not there yet."""
    found: dict[int, dict[str, Any]] = {}
    for process, variables in states.items():
        known = {clean(variable): shortened(value) for variable, value in variables.items()}
        found[process] = {variable: known.get(variable, type(now)()) for variable, now in like[process].items()}
        assert known.keys() <= found[process].keys()
    return found


def shortened(value: str | tuple[str, ...]) -> str | list[str]:
    if isinstance(value, str):
        return clean(value, longest=LONGEST_ENTRY)
    return [clean(entry, longest=LONGEST_ENTRY) for entry in value]


# What is drawn.


@each_run
def test_every_message_is_drawn_once(about: str) -> None:
    story = STORIES[about]()
    drawn = [
        (each.attrib["data-s"], each.attrib["data-p"], each.attrib["data-r"], each.attrib["data-q"], words(each))
        for each in of_class(lanes(about), "f")
    ]
    wanted = [
        (str(f.sent or 0), str(f.sender), str(f.received or 0), str(f.to), title)
        for f in story.flights
        if f.sender != f.to
        for title in [" ".join(clean(f"p{f.sender} → p{f.to} {f.name}").split())]
    ]
    assert drawn == wanted
    lost = [f for f in story.flights if f.sender != f.to and f.received is None and f.lost is not None]
    assert len([each for each in of_class(lanes(about), "flight") if "lost" in each.attrib["class"]]) == len(lost)
    assert len(of_class(lanes(about), "tip")) == len([f for f in story.flights if f.received and f.sender != f.to])


@each_run
def test_every_event_of_the_witness_has_a_ring(about: str) -> None:
    story = STORIES[about]()
    labels, decision = labels_by_step(story), decided(story)
    places = {(step, event.process) for step, event in labels if isinstance(event, Local)}
    points = of_class(lanes(about), "pt")
    ringed = [(int(each.attrib["data-s"]), int(each.attrib["data-p"])) for each in points if of_class(each, "ring")]
    assert sorted(ringed) == sorted(places)
    assert len(of_class(lanes(about), "ring")) == len(ringed)
    tagged = [label for each in of_class(lanes(about), "tag") for label in words(each).split() if label != "D"]
    assert sorted(tagged) == sorted(labels.values())
    opens = story.moments[0].step if story.argument else None if decision is None else decision.step
    assert data_of(about)["decided"] == opens
    assert len(of_class(lanes(about), "halo")) <= 1
    listed = [words(each) for each in parsed(about).iterfind(".//ol[@aria-label='Witness']/li")]
    assert len(listed) == len(labels_of(story.violation))
    assert data_of(about)["witness"] == sorted({step for step, _ in labels})


@each_run
def test_there_is_a_point_for_whoever_took_part(about: str) -> None:
    story = STORIES[about]()
    points = [(int(p.attrib["data-s"]), int(p.attrib["data-p"])) for p in of_class(lanes(about), "pt")]
    assert points == [(m.step, process) for m in story.moments for process in diagram.processes_of(m)]
    assert [[p for s, p in points if s == step] for step in data_of(about)["steps"]] == data_of(about)["points"]


def lane(about: str, process: int) -> list[Element]:
    x = f"{diagram.lanes_of(STORIES[about]()).x(process):g}"
    return [each for each in of_class(lanes(about), "lane") if each.attrib["x1"] == x]


def down(story: Story, process: int) -> Iterator[tuple[int, int | None]]:
    """Yield the steps from which and to which the process is down."""
    since = None
    for moment in story.moments:
        for event in moment.shown:
            if isinstance(event, Local) and event.process == process:
                if isinstance(event, Crash | Halt | Pause) and since is None:
                    since = moment.step
                elif isinstance(event, Recover | Wake) and since is not None:
                    yield since, moment.step
                    since = None
    if since is not None:
        yield since, None


@each_run
def test_the_line_of_a_process_is_dashed_while_it_is_down(about: str) -> None:
    story = STORIES[about]()
    at = diagram.lanes_of(story)
    for process in range(1, story.processes + 1):
        parts = lane(about, process)
        dashed = [(p.attrib["y1"], p.attrib["y2"]) for p in parts if "down" in p.attrib["class"].split()]
        assert dashed == [
            (f"{at.y(since):g}", f"{at.height if until is None else at.y(until):g}")
            for since, until in down(story, process)
        ]
        assert all(before.attrib["y2"] == after.attrib["y1"] for before, after in pairwise(parts))


def test_some_line_is_dashed() -> None:
    assert any(of_class(lanes(about), "down") for about in WITH_STEPS)


def test_a_band_for_each_epoch_of_each_process() -> None:
    """The bands are those of the states: f.p is the epoch that a process has promised."""
    story = STORIES["usual"]()
    at = diagram.lanes_of(story)
    wanted = []
    for process in range(1, story.processes + 1):
        epochs = [states_after(story, row)[process]["f.p"] for row in range(len(story.moments))]
        for row, (before, after) in enumerate(pairwise(["⊥", *epochs])):
            if before != after:
                wanted.append((f"{at.x(process) - BAND / 2:g}", f"{at.y(row + 1):g}", f"e{after}"))
    bands = of_class(lanes("usual"), "band")
    names = [words(each) for each in of_class(lanes("usual"), "epoch")]
    found = [(band.attrib["x"], band.attrib["y"], epoch) for band, epoch in zip(bands, names, strict=True)]
    assert found == wanted
    assert len({*names}) == 3
    assert all(
        f"e{int(epoch[1:]) % diagram.HUES}" in band.attrib["class"].split()
        for band, epoch in zip(bands, names, strict=True)
    )


@each_run
def test_nothing_is_drawn_outside(about: str) -> None:
    """Marks left of a point, and labels right of it, are within the picture, by the widest letters."""
    width, height = (float(lanes(about).attrib[each]) for each in ("width", "height"))
    story = STORIES[about]()
    for text in diagram.texts_of(diagram.layout(story, labels_by_step(story))):
        assert all(0 <= x <= width and 0 <= y <= height for x, y in text.shape), text
    for point in of_class(lanes(about), "pt"):
        x, y = map(float, re.findall(r"[\d.]+", point.attrib["transform"]))
        assert 12 <= x <= width - 12
        assert 0 <= y <= height


def test_the_filter_has_each_kind_of_message() -> None:
    story = STORIES["usual"]()
    boxes = {words(label): label[0].attrib["data-kind"] for label in parsed("usual").iter("label")}
    assert list(boxes) == list(dict.fromkeys(flight.kind for flight in story.flights))
    [style] = [each.text or "" for each in parsed("usual").iter("style")]
    for kind, each in boxes.items():
        assert f".no-{each} .{each} {{ display: none; }}" in style
        drawn = [flight for flight in of_class(lanes("usual"), each) if flight.tag == f"{SVG}g"]
        assert len(drawn) == len([f for f in story.flights if f.kind == kind and f.sender != f.to])


def test_what_is_violated_is_in_red() -> None:
    assert '<h1 class="fine">' not in made("usual")
    assert "<h1>" in made("usual")


def test_where_nothing_happened_there_is_nothing_to_step_through() -> None:
    text = made("empty")
    assert 'id="data"' not in text
    assert 'id="run"' not in text
    assert '<h1 class="fine">no property is violated</h1>' in text


def test_what_a_real_ensemble_did_instead_is_the_last_row_and_the_page_opens_there() -> None:
    story = STORIES["differs"]()
    root, told = parsed("differs"), words(parsed("differs"))
    assert "<h1>the servers differ</h1>" in made("differs")
    last = story.moments[-1].step
    [opened] = [each for each in root.iter("li") if each.attrib.get("class") == "decided"]
    assert opened.attrib["id"] == f"s{last}"
    data = json.loads("".join(next(each for each in root.iter("script") if each.attrib.get("id") == "data").itertext()))
    assert data["decided"] == last
    for said in ("What happened insteadit would not ", "D in red: what the model does not do"):
        assert said in told
    assert "Run it again" not in told


def test_threads_that_were_held_are_told_with_links_to_where() -> None:
    section = next(each for each in parsed("hostile").iter("section") if each.attrib["aria-labelledby"] == "threads")
    story = STORIES["hostile"]()
    links = [link.attrib["href"] for link in section.iter("a")]
    steps = [moment.step for moment in story.moments]
    assert links == [f"#s{steps[at]}" for at in (4, 1, 2, 5)]
    first, second, third = (words(each) for each in section.iter("dd"))
    assert ", from the start, until step " in first
    assert second.endswith(f", after step {steps[1]}.")
    assert f", after step {steps[2]}, until step {steps[5]}. " in third
    assert not any(each.attrib["aria-labelledby"] == "threads" for each in parsed("usual").iter("section"))


def test_a_run_that_a_paper_argues_with_is_headed_by_its_argument() -> None:
    story = STORIES["argument"]()
    assert story.argument is not None
    header = next(parsed("argument").iter("header"))
    assert [words(each) for each in header][:3] == [
        story.argument.title,
        f"{' '.join(story.argument.shows.split())} ({story.argument.source})",
        "Causal order is violated:",
    ]

"""Moving through the run: the keyboard, the buttons, a click, the causal past, the filter, what is copied."""

import json
from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING

import pytest

from invariants import Local
from tests.browser.conftest import Opened
from tests.counterexample.pages import STORIES
from zabcheck.counterexample.forms.page_data import LONGEST_ENTRY, states_of
from zabcheck.counterexample.forms.regression import regression_test
from zabcheck.counterexample.pieces import labels_by_step
from zabcheck.counterexample.story import Moment, Story, states_after
from zabcheck.text.words import clean

if TYPE_CHECKING:
    from playwright.sync_api import Page

WITH_STEPS = [name for name in STORIES if name != "empty"]
SHORT = [name for name in WITH_STEPS if name not in ("long", "left out")]
LONGEST = 12
"""The number of entries of a sequence that the table shows."""
Point = tuple[int, int]
"""A step's number, and a process."""

SHOWN = """
const cellText = (cell) => [...cell.childNodes].filter((node) => node.nodeName !== "DEL")
  .map((node) => node.textContent).join("").trim().replace(/^→ /, "").replace(/\\s+/g, " ");
const lines = () => [...document.querySelectorAll("#state tbody tr")]
  .map((row) => [...row.cells].slice(1).map(cellText));
const turned = (rows) => rows[0].map((_, column) => rows.map((row) => row[column]));
const table = () => document.querySelector("#state.turned") ? turned(lines()) : lines();
const where = () => document.getElementById("where").textContent;
const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
"""
"""Reads the table: a row for each variable, without the values of before."""


def tables(page: "Page", keys: list[str]) -> list[tuple[str, list[list[str]]]]:
    """Return the step, and the cells of the table, after each key."""
    found = page.evaluate(
        f"(keys) => {{ {SHOWN} return keys.map((key) => {{ press(key); return [where(), table()]; }}); }}", keys
    )
    return [(where, cells) for where, cells in found]


def expected(story: Story, position: int) -> tuple[str, list[list[str]]]:
    """The same by the story itself."""
    state, first = states_after(story, position), states_of(story)
    everything = {variable for state in states_after(story, len(story.moments) - 1).values() for variable in state}
    order = list(dict.fromkeys(variable for each in first.values() for variable in each))
    assert everything == {*order}
    rows = [
        [cell(state[process].get(variable, first[process].get(variable))) for process in first] for variable in order
    ]
    unit, steps = story.unit, [moment.step for moment in story.moments]
    return f"{unit} {steps[position]} of {steps[-1]}", rows


def cell(value: str | tuple[str, ...] | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return " ".join(clean(value, longest=LONGEST_ENTRY).split())
    entries = [clean(entry, longest=LONGEST_ENTRY) for entry in value]
    if len(entries) > LONGEST:
        entries = [f"… {len(entries) - LONGEST} more", *entries[-LONGEST:]]
    return " ".join(" ".join(entries).split()) or "empty"


def same(found: tuple[str, list[list[str]]], wanted: tuple[str, list[list[str]]]) -> bool:
    """A sequence of which the step removed all is shown by what was removed, and not called empty."""
    cells = [(f, w) for a, b in zip(found[1], wanted[1], strict=True) for f, w in zip(a, b, strict=True)]
    return found[0] == wanted[0] and all(f == w or (f, w) == ("", "empty") for f, w in cells)


@pytest.mark.parametrize("name", WITH_STEPS)
def test_the_state_is_right_at_every_step_there_and_back(opened: Opened, name: str) -> None:
    story = STORIES[name]()
    last = len(story.moments) - 1
    with opened(name) as page:
        forward = tables(page, ["Home", *["ArrowRight"] * last])
        back = tables(page, ["End", *["ArrowLeft"] * last])
    some = range(0, last + 1, 1 + last // 200)  # each takes a look at all steps before it
    wanted = {position: expected(story, position) for position in some}
    assert len({where for where, _ in forward}) == last + 1
    for position, each in wanted.items():
        assert same(forward[position], each), (forward[position], each)
        assert same(back[last - position], each), (back[last - position], each)
    assert [cells for _, cells in forward][1:] == [cells for _, cells in reversed(back)][1:]


@pytest.mark.parametrize("name", ["usual", "trace", "seven processes", "long"])
def test_a_click_on_a_step_jumps_there(opened: Opened, name: str) -> None:
    story = STORIES[name]()
    rng = Random(1)
    positions = [rng.randrange(len(story.moments)) for _ in range(25)]
    with opened(name) as page:
        found = page.evaluate(
            f"(rows) => {{ {SHOWN} const steps = document.querySelectorAll('.steps button');"
            "return rows.map((row) => { steps[row].click(); return [where(), table()]; }); }",
            positions,
        )
    for position, (where, cells) in zip(positions, found, strict=True):
        assert same((where, cells), expected(story, position))


def test_an_argument_is_opened_at_its_first_step_and_a_violation_where_it_was_decided(opened: Opened) -> None:
    for name, decided in (("argument", False), ("usual", True)):
        story = STORIES[name]()
        with opened(name) as page:
            shown = int(page.locator("#where").inner_text().split()[1])
        assert (shown == story.moments[0].step) == (not decided)


def test_the_keys(opened: Opened) -> None:
    story = STORIES["usual"]()
    steps = len(story.moments)
    witness = sorted({step for step, _ in labels_by_step(story)})
    with opened("usual") as page:
        where = page.locator("#where")
        at: list[str] = []
        for key in ("Home", "ArrowLeft", "ArrowRight", "ArrowDown", "j", "k", "ArrowUp", "End", "ArrowRight"):
            page.keyboard.press(key)
            at.append(where.inner_text())
        assert at == [f"step {step} of {steps}" for step in (1, 1, 2, 3, 4, 3, 2, steps, steps)]
        page.keyboard.press("Home")
        for step in (*witness, witness[0]):
            page.keyboard.press("w")
            assert where.inner_text() == f"step {step} of {steps}"
            assert page.locator("li[aria-current]").get_attribute("id") == f"s{step}"
        page.keyboard.press("c")
        assert page.locator("svg.traced .pt.in").count() > 0
        assert "happened before" in page.locator("#past").inner_text()
        page.keyboard.press("Escape")
        assert page.locator("svg.traced").count() == 0
        before = where.inner_text()
        page.keyboard.press("Control+ArrowLeft")
        assert where.inner_text() == before


def test_the_keys_leave_alone_whom_they_do_not_concern(opened: Opened) -> None:
    """A box that is ticked, a text that is scrolled, and a summary that is opened by keyboard."""
    with opened("usual") as page:
        before = page.locator("#where").inner_text()
        for summary in page.locator("summary").all():
            summary.focus()
            page.keyboard.press("Enter")
        for target in ("[data-kind]", "pre", "summary"):
            page.locator(target).first.focus()
            page.keyboard.press("ArrowLeft")
            page.keyboard.press("ArrowUp")
        assert page.locator("#where").inner_text() == before


def test_the_buttons(opened: Opened) -> None:
    steps = len(STORIES["usual"]().moments)
    with opened("usual") as page:
        for button, step in (("first step", 1), ("next", 2), ("next", 3), ("back", 2), ("last step", steps)):
            page.get_by_role("button", name=button, exact=True).click()
            assert page.locator("#where").inner_text() == f"step {step} of {steps}"
        assert page.get_by_role("button", name="next", exact=True).get_attribute("aria-disabled") == "true"
        page.get_by_role("button", name="next of the witness").click()
        page.get_by_role("button", name="Show its causal past").click()
        assert page.locator("svg.traced").count() == 1
        page.get_by_role("button", name="Show all").click()
        assert page.locator("svg.traced").count() == 0


@pytest.mark.parametrize("width", [360, 1600])
def test_the_witness_leads_to_its_steps(opened: Opened, width: int) -> None:
    story = STORIES["seven processes"]()
    witness = {label: step for (step, _), label in labels_by_step(story).items()}
    with opened("seven processes", width) as page:
        for label, step in witness.items():
            page.locator(".witness-list li", has_text=label).get_by_role("link").click()
            assert page.locator("#where").inner_text() == f"step {step} of {len(story.moments)}"
            assert page.locator("li[aria-current] .n").is_visible()
            inside = page.evaluate(
                "(() => { const a = document.querySelector('li[aria-current]').getBoundingClientRect(),"
                "b = document.querySelector('.bar').getBoundingClientRect();"
                "return a.top >= b.bottom - 1 && a.bottom <= innerHeight; })()"
            )
            assert inside, "the step is neither below the screen nor behind the bar"


# What happened before.


def took_part(moment: Moment) -> Iterator[int]:
    if moment.process is not None:
        yield moment.process
    yield from (event.process for event in moment.shown if isinstance(event, Local))
    yield from moment.changes


def past(story: Story, point: Point) -> set[Point]:
    """All from which a chain of steps of one process, and of messages, leads to it: by trying till nothing is new."""
    points = {(moment.step, process) for moment in story.moments for process in took_part(moment)}
    rows = {moment.step: row for row, moment in enumerate(story.moments)}
    ways = {
        ((flight.sent, flight.sender), (flight.received, flight.to))
        for flight in story.flights
        if flight.sent in rows and flight.received in rows
    }
    found = {point}
    while True:
        more = {sent for sent, received in ways if received in found}
        more |= {
            (step, process)
            for step, process in points
            if any(process == other and rows[step] <= rows[later] for later, other in found)
        }
        if more <= found:
            return found
        found |= more


@pytest.mark.parametrize("name", SHORT)
def test_a_click_on_an_event_shows_what_happened_before_it(opened: Opened, name: str) -> None:
    """Nothing else is shown: by trying, for events of all processes."""
    story = STORIES[name]()
    points = [(moment.step, process) for moment in story.moments for process in dict.fromkeys(took_part(moment))]
    some = {points[-1], *Random(2).sample(points, min(len(points), 6))}
    with opened(name) as page:
        for step, process in sorted(some):
            page.locator(f'.pt[data-s="{step}"][data-p="{process}"]').dispatch_event("click")
            lit = page.evaluate(
                "[...document.querySelectorAll('svg.traced .pt.in')].map((p) => [+p.dataset.s, +p.dataset.p])"
            )
            wanted = past(story, (step, process))
            assert {(s, p) for s, p in lit} == wanted
            dimmed = page.locator("svg.traced .pt:not(.in)")
            assert dimmed.count() == len(points) - len(wanted)
            ways = page.evaluate(
                "[...document.querySelectorAll('svg.traced .f.in')].map((f) => [[+f.dataset.s, +f.dataset.p],"
                "[+f.dataset.r, +f.dataset.q]])"
            )
            assert all(tuple(sent) in wanted and tuple(received) in wanted for sent, received in ways)
            assert f"{len(wanted)} of {len(points)} events" in page.locator("#past").inner_text()


def test_a_real_click_hits_a_point(opened: Opened) -> None:
    for width in (360, 1600):
        with opened("usual", width) as page:
            page.locator(".pt .ring").first.scroll_into_view_if_needed()
            point = page.locator(".pt:has(.ring) .hit").first
            box = point.bounding_box()
            assert box is not None
            assert round(min(box["width"], box["height"]), 1) >= 24  # a scaled drawing is off by thousandths
            point.click()
            assert page.locator("svg.traced .pt.in").count() > 0


# The filter, and what is copied.


@pytest.mark.parametrize("name", ["usual", "own", "trace", "hostile"])
def test_the_filter_hides_just_that_kind(opened: Opened, name: str) -> None:
    story = STORIES[name]()
    by_kind: dict[str, int] = {}
    for flight in story.flights:
        if flight.sender != flight.to:
            by_kind[flight.kind] = by_kind.get(flight.kind, 0) + 1
    with opened(name, 360) as page:
        page.get_by_text("Messages shown").click()
        for kind, count in by_kind.items():
            label = " ".join(clean(kind).split())
            box = page.get_by_role("checkbox", name=label, exact=True)
            shown = hidden_flights(page)
            box.uncheck()
            now = hidden_flights(page)
            titles = [title for title in now if title not in shown]
            assert len(now) - len(shown) == count
            assert all(f" {clean(kind)}(" in title or title.endswith(f" {clean(kind)}") for title in titles)
            box.check()
            assert hidden_flights(page) == shown == []


def hidden_flights(page: "Page") -> list[str]:
    """The titles of the messages that are not drawn."""
    titles: list[str] = page.evaluate(
        "[...document.querySelectorAll('.f')].filter((f) => getComputedStyle(f).display === 'none')"
        ".map((f) => f.querySelector('title').textContent)"
    )
    return titles


STAYS = "void (window.setTimeout = () => 0)"
"""Has a button go on saying that something was copied, which it does for a second otherwise."""


@pytest.mark.parametrize("name", ["usual", "hostile", "empty"])
def test_what_is_copied_is_what_was_saved(opened: Opened, name: str) -> None:
    """Texts that are shown escaped are copied as they are."""
    story = STORIES[name]()
    with opened(name, permissions=["clipboard-read", "clipboard-write"]) as page:
        for title, content in (
            ("Schedule", story.schedule.decode()),
            ("Regression test for pytest", regression_test(story)),
        ):
            page.get_by_text(title, exact=True).click()
            details = page.locator("details", has=page.get_by_text(title, exact=True))
            page.evaluate(STAYS)
            details.get_by_role("button").click()
            details.get_by_role("button", name="Copied").wait_for()
            assert page.evaluate("navigator.clipboard.readText()") == content
        json.loads(story.schedule)


def test_what_a_browser_does_not_let_one_copy_is_selected(opened: Opened) -> None:
    refuse = "void (navigator.clipboard.writeText = () => Promise.reject(new Error('no')))"
    with opened("usual") as page:
        page.evaluate(refuse)
        page.evaluate(STAYS)
        page.get_by_text("Schedule", exact=True).click()
        page.locator("[data-copy=schedule]").click()
        page.get_by_role("button", name="Copied").wait_for()
        assert page.evaluate("getSelection().toString()").strip() == STORIES["usual"]().schedule.decode().strip()

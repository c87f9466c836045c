"""All of a page is there for readers who do not see it, or run no scripts."""

from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import Opened
from tests.counterexample.pages import STORIES
from zabcheck.text.words import clean

if TYPE_CHECKING:
    from playwright.sync_api import Page

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
INSPECTED = ("usual", "own", "hostile", "raised", "trace", "empty", "seven processes", "campaign", "promises", "lesson")


def everything_open(page: "Page") -> None:
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")


@pytest.mark.parametrize("name", INSPECTED)
@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1600, "dark")])
def test_axe_finds_nothing(opened: Opened, name: str, width: int, scheme: str) -> None:
    """The rules of axe-core, by which others test too."""
    from axe_playwright_python.sync_playwright import Axe

    with opened(name, width, scheme, bypass_csp=True) as page:
        everything_open(page)
        results = Axe().run(page, options={"runOnly": RULES}).response
    assert len(results["passes"]) > 15
    assert [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in results["violations"]] == []


@pytest.mark.parametrize("name", ["usual", "own", "trace", "raised", "long"])
@pytest.mark.parametrize("width", [360, 1600])
def test_without_scripts_all_steps_can_be_read(opened: Opened, name: str, width: int) -> None:
    story = STORIES[name]()
    with opened(name, width, java_script_enabled=False) as page:
        assert page.locator("h1").inner_text()
        items = page.locator(".steps li")
        assert items.count() == len(story.moments)
        for moment, position in zip(story.moments[:30], range(30), strict=False):
            text = " ".join((items.nth(position).text_content() or "").split())
            assert text.startswith(str(moment.step))
            assert " ".join(clean(moment.action).split())[:60] in text
        first = items.first.locator(".said")
        assert first.is_visible()
        box = first.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) > 10, "not only for a screen reader: that box has a pixel"
        for link in page.locator(".witness-list a").all()[:1]:
            link.click()
            row, heads = page.locator(".steps li:target").bounding_box(), page.locator(".heads").bounding_box()
            assert row is not None
            assert heads is not None
            assert row["y"] >= heads["y"] + heads["height"], "the names of the processes do not cover it"


def test_a_screen_reader_is_told_what_there_is(opened: Opened) -> None:
    story = STORIES["usual"]()
    with opened("usual") as page:
        for heading in ("What happened", "The run", "What had to come before what", "Run it again"):
            assert page.get_by_role("heading", name=heading, exact=True).count() == 1
            assert page.get_by_role("region", name=heading, exact=True).count() == 1
        assert page.get_by_role("main").count() == 1
        assert page.get_by_role("region", name="Space-time diagram").count() == 1
        steps = page.get_by_role("region", name="Space-time diagram").get_by_role("listitem")
        assert steps.count() == len(story.moments)
        table = page.get_by_role("group", name="State after it").get_by_role("table")
        assert table.get_by_role("rowheader").count() == story.processes
        assert table.get_by_role("columnheader").count() == len(story.initial[1])
        assert page.get_by_role("list", name="Witness").get_by_role("listitem").count() > 1


def test_one_gets_everywhere_by_tab_in_the_order_of_the_page(opened: Opened) -> None:
    with opened("usual") as page:
        focused = []
        tops = []
        for _ in range(60):
            page.keyboard.press("Tab")
            name, top = page.evaluate(
                "(() => { const e = document.activeElement, r = e.getBoundingClientRect();"
                "const place = [...document.querySelectorAll('*')].indexOf(e);"
                "return [e.id || `${e.tagName} ${place}`, r.top + scrollY]; })()"
            )
            if name in focused or name.startswith("BODY"):
                break
            focused.append(name)
            tops.append(top)
        for needed in ("first", "back", "next", "last", "witness", "diagram", "trace"):
            assert needed in focused
        order = [focused.index(each) for each in ("first", "next", "witness", "diagram", "trace")]
        assert order == sorted(order)
        assert len(focused) < 40, "the steps are not all in the way"


def test_the_witness_of_a_broken_promise_leads_to_its_row_and_its_picture_is_reached_by_tab(opened: Opened) -> None:
    with opened("promises", 360) as page:
        link = page.get_by_role("region", name="multi is broken").get_by_role("link", name="W2").last
        link.focus()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.tagName") == "FIGURE"
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Enter")
        row = page.locator(".row:target")
        assert row.inner_text().startswith("W2 wrong:")
        box = row.bounding_box()
        assert box is not None
        assert 0 <= box["y"] <= 740
        assert page.get_by_role("group", name="By zxid").count() == 7


@pytest.mark.parametrize("name", ["usual", "seven processes"])
def test_a_finger_hits_what_there_is_to_touch(opened: Opened, name: str) -> None:
    """At least 24 pixels each way (WCAG 2.2, 2.5.8); buttons 44."""
    with opened(name, 360, has_touch=True, is_mobile=True) as page:
        everything_open(page)
        for button in page.locator("button:not(.steps button):visible").all():
            box = button.bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= 44, button.inner_text()
        for other in page.locator("summary, .filter label, .steps button").all():
            box = other.bounding_box()
            assert box is not None
            assert box["height"] >= 24

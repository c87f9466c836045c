"""A person finds a violation by hand on the page of `zabcheck play`, goes another way, and hands the run on."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import HEIGHTS, PATIENCE
from tests.browser.test_access import RULES
from tests.browser.test_every_page import BROKEN_WORDS, CUT
from tests.play.sessions import led, served
from zabcheck.cli.play import desk_of, lesson_of
from zabcheck.mutants.catalogue import mutated
from zabcheck.play.reading import Reading
from zabcheck.play.server import Server
from zabcheck.play.session import Session
from zabcheck.simulation import choices

if TYPE_CHECKING:
    from playwright.sync_api import APIResponse, Browser, Page, Route

Visited = Callable[..., AbstractContextManager["Page"]]


@pytest.fixture
def visited(browser: "Browser") -> Visited:
    """Opens the page of a server; at the end it must have said nothing, and asked nobody else."""

    @contextmanager
    def visiting(server: Server, width: int = 1600, scheme: Any = "light", **options: Any) -> "Iterator[Page]":
        viewport: Any = {"width": width, "height": HEIGHTS.get(width, 800)}
        context = browser.new_context(viewport=viewport, color_scheme=scheme, **options)
        context.set_default_timeout(PATIENCE)
        heard: list[str] = []
        context.on("console", lambda message: heard.append(f"{message.type}: {message.text}"))
        context.on("weberror", lambda error: heard.append(str(error.error)))
        own = f"http://127.0.0.1:{server.port}/"
        context.on("request", lambda r: heard.append(f"asks for {r.url}") if not r.url.startswith(own) else None)
        page = context.new_page()
        page.goto(server.address)
        page.locator("#where").wait_for()
        yield page
        context.close()
        assert [each for each in heard if "ERR_CONNECTION_REFUSED" not in each and "409" not in each] == []

    return visiting


def pressed(page: "Page", name: str) -> None:
    page.get_by_role("button", name=name).first.click()


def test_a_violation_is_found_by_hand_undone_and_handed_on(visited: Visited) -> None:
    """Three processes are up: elect, let what comes first happen until p1 leads, ask it, sync, and look."""
    with served(Session(mutated("zab", "commit-on-own-ack"), 3)) as server, visited(server) as page:
        verdict, branches = page.get_by_label("Verdict"), page.get_by_role("region", name="What was tried")
        nexts = page.get_by_role("list", name="Steps that may come next")
        page.get_by_label("p1: elections and faults").click()
        pressed(page, "oracles: p1 leads p2 p3")
        page.get_by_text("after 3 steps").wait_for()
        for number in range(4, 99):
            if page.get_by_role("button", name="p1 client: request").count():
                break
            nexts.get_by_role("button").first.click()
            page.get_by_text(f"after {number} steps").wait_for()
        nexts.get_by_role("button", name="p1 client: request").click()
        page.get_by_text("request 1").first.wait_for()
        assert "no property is violated" in verdict.inner_text()
        # The message is under way: its arrow is clicked where it ends.
        page.locator(".pt.next .hit").first.click()
        page.locator("#where").get_by_text("receive 2 1").wait_for()
        page.get_by_role("button", name="◀ undo").click()
        branches.get_by_text("nothing violated").wait_for()
        nexts.get_by_role("button", name="p1 disk: sync").click()
        verdict.get_by_text("chosen is violated: p1 delivered").wait_for()
        assert "which only p1 had accepted in epoch 1: no quorum" in verdict.inner_text()
        hash_found = page.locator("#hash").inner_text()
        link = page.locator("#link").inner_text()
        # Going back mends it, and the two runs are compared.
        [steps] = re.findall(r"after (\d+) steps", page.locator("#where").inner_text())
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")  # before the first one is done
        page.get_by_text(f"after {int(steps) - 2} steps").wait_for()
        assert "no property is violated" in verdict.inner_text()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        verdict.get_by_text("chosen is violated").wait_for()
        branches.get_by_role("button", name="compare with here").click()
        compared = page.get_by_role("group", name="Choices compared")
        assert "sync 1 chosen violated" in compared.inner_text()
        # What if the step were right?
        pressed(page, "What if commit-on-own-ack were not there?")
        page.get_by_label("Answer").get_by_text("there nothing is violated").wait_for()
        # The link leads there again, also in another tab, and both tabs show the same.
        page.keyboard.press("Home")
        verdict.get_by_text("no property is violated").wait_for()
        other = page.context.new_page()
        other.goto(f"http://127.0.0.1:{server.port}/#{link}")
        other.get_by_label("Verdict").get_by_text("chosen is violated").wait_for()
        verdict.get_by_text("chosen is violated").wait_for()
        assert other.locator("#hash").inner_text() == page.locator("#hash").inner_text() == hash_found
        assert re.fullmatch(r"trace SHA-256 [0-9a-f]{64}", hash_found)


def test_somebody_who_has_only_read_the_page_does_the_first_three_lessons(visited: Visited) -> None:
    """They begin as the lesson says, and then take what may come first, with the key that the page names."""
    from playwright.sync_api import expect

    begins = {
        "discovery": ["p1: elections and faults", "p1 leads these"],
        "synchronization": [],
        "broadcast": ["p1 client: request"],
    }
    acts = 0
    with served(desk_of(*lesson_of("discovery", None))) as server, visited(server) as page:
        where, task = page.locator("#where"), page.get_by_role("status", name="The task")
        for name, buttons in begins.items():
            _, exercise = lesson_of(name, None)
            assert exercise.question in page.get_by_role("region", name=exercise.title).inner_text()
            for button in buttons:
                for box in page.locator(".menu:popover-open").get_by_label("p2").all():
                    box.check()
                pressed(page, button)
            acts += len(buttons)
            expect(page.locator("html[aria-busy]")).to_have_count(0, timeout=PATIENCE)
            while not task.inner_text().startswith("Done."):
                assert task.inner_text().startswith("Still to do: p"), "at every step"
                was = where.inner_text()
                page.keyboard.press("n")
                expect(where).not_to_have_text(was, timeout=PATIENCE)
                acts += 1
            assert task.inner_text() == f"Done. {exercise.why} Next lesson"
            pressed(page, "Next lesson")
            acts += 1
            expect(page.get_by_role("region", name=exercise.title)).to_have_count(0, timeout=PATIENCE)
        expect(page.locator("#exercise-title")).to_be_focused()
    assert acts < 60, "at five seconds each that is half of ten minutes"


@pytest.mark.parametrize("width", [360, 1280, 3840])
def test_no_word_is_broken_in_the_table_and_the_whole_width_is_used(visited: Visited, width: int) -> None:
    session = Session(mutated("zab"), 5)
    session.follow([choices.Lead(1, (2, 3, 4, 5)), choices.Settle(2)])
    with served(session) as server, visited(server, width) as page:
        assert "synchronization" in page.get_by_role("group", name="State").inner_text()
        assert page.evaluate(BROKEN_WORDS) == []
        left, right = page.evaluate(
            "[...['#title', '.panel']].map((each) => document.querySelector(each)"
            ".getBoundingClientRect()).map((box, end) => end ? innerWidth - box.right : box.left)"
        )
        assert max(left, right) < 40


def test_a_tab_that_outlives_its_server_says_so_and_offers_the_run(visited: Visited) -> None:
    with served(led()) as server, visited(server) as page:
        link = page.locator("#link").inner_text()
        server.end()
        page.get_by_role("heading", name="The server has ended").wait_for()
        assert page.locator("#again").inner_text() == f"zabcheck play {link}"
        page.get_by_role("button", name="p1 disk: sync").click()
        assert page.get_by_text("no property is violated").is_visible()


def test_an_answer_that_comes_late_does_not_undo_what_was_done_since(visited: Visited) -> None:
    with served(led()) as server, visited(server) as page:
        held: list[tuple[Route, APIResponse]] = []
        page.route("**/state?*", lambda route: held.append((route, route.fetch())))
        for where in ("after 21 steps: settle 9", "after 3 steps: lead 1 2 3", "after 0 steps: the beginning"):
            page.keyboard.press("ArrowLeft")
            page.get_by_text(where).wait_for()
        assert held, "the tab has asked for what is new"
        for route, answer in held:
            route.fulfill(response=answer)
        page.wait_for_timeout(300)
        assert page.locator("#where").inner_text() == "after 0 steps: the beginning"
        # The tab always has a question open: its fetch ends with the context, and not in the test that comes next.
        page.unroute_all(behavior="ignoreErrors")


def test_everything_is_done_by_the_keyboard_alone(visited: Visited) -> None:
    with served(led()) as server, visited(server, 360) as page:
        page.get_by_label("p3: elections and faults").focus()
        page.keyboard.press("Enter")
        page.locator(".menu :focus").wait_for()
        page.keyboard.press("Tab")
        for _ in range(9):
            if page.evaluate("document.activeElement.textContent") == "p3 crash":
                break
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.get_by_text("crash 3").first.wait_for()
        assert page.evaluate("document.activeElement !== document.body"), "the focus is not lost"
        page.keyboard.press("n")
        page.get_by_text("after 24 steps").wait_for()
        for _ in range(60):
            page.keyboard.press("Tab")
            name, shown = page.evaluate(
                "(() => { const e = document.activeElement, s = getComputedStyle(e);"
                "return [e.id || e.textContent, s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2]; })()"
            )
            assert shown or name == "", name
            if name == "open":
                return
        pytest.fail("the last button is not reached")


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1280, "dark")])
def test_axe_finds_nothing(visited: Visited, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with served(led()) as server, visited(server, width, scheme, bypass_csp=True) as page:
        page.get_by_role("button", name="p1 disk: sync").click()
        page.get_by_label("Verdict").get_by_text("chosen is violated").wait_for()
        pressed(page, "How likely from each step?")
        page.get_by_text("It jumps at").wait_for()
        page.get_by_label("p2: elections and faults").click()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
        if width > 360:
            assert page.evaluate(CUT) == [0, 0], "the whole table of the state can be seen"
        results = Axe().run(page, options={"runOnly": RULES}).response
    assert len(results["passes"]) > 15
    assert [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in results["violations"]] == []


def test_a_trace_is_read_with_the_keyboard_and_offers_nothing_else(visited: Visited) -> None:
    from axe_playwright_python.sync_playwright import Axe

    session = led()
    session.do(choices.Sync(1))
    reading = Reading(session.story(), "zabcheck play run.jsonl")
    with served(reading) as server, visited(server, 360, bypass_csp=True) as page:
        verdict, where = page.get_by_label("Verdict"), page.locator("#where")
        verdict.get_by_text("chosen is violated: p1 delivered").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
        results = Axe().run(page, options={"runOnly": RULES}).response
        page.keyboard.press("ArrowLeft")
        verdict.get_by_text("no property is violated up to here").wait_for()
        page.keyboard.press("Home")
        where.get_by_text("the beginning").wait_for()
        page.keyboard.press("End")
        verdict.get_by_text("chosen is violated").wait_for()
        assert where.inner_text().startswith("row ")
        names = [each.inner_text() for each in page.get_by_role("button").all() if each.is_visible()]
        assert [each for each in names if not re.match(r"\d", each)] == [
            "|◀",
            "◀ back",
            "on ▶",
            "▶|",
            "Page that stands alone",
        ]
    assert [each["id"] for each in results["violations"]] == []

"""A browser for the tests of this folder: `make test-browser` runs them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FOLDER = Path(__file__).parent
HEIGHTS = {1600: 900, 360: 740}
"""The height of the window, by its width."""
PATIENCE = 300_000
"""The milliseconds that a page has for what it just has to do; a busy machine takes seconds."""
Opened = Callable[..., AbstractContextManager["Page"]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == FOLDER:
            item.add_marker("browser")


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        executable = chromium.find(playwright)
        if executable is None:
            pytest.fail(chromium.MISSING, pytrace=False)
        browser = chromium.launch(playwright, executable)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The file of a page, by the name of what it is about."""
    folder = tmp_path_factory.mktemp("pages")

    def file(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(made(name), encoding="utf-8")
        return path

    return file


def made(name: str) -> str:
    # Imported here, as pytest loads this file for every test of the project: matplotlib draws the plots of a campaign.
    from docs.generators import lessons
    from tests.campaign.report.campaigns import REPORT, worst
    from tests.counterexample.induction import states
    from tests.counterexample.pages import STORIES
    from tests.zookeeper.clients.broken import PROMISES_BROKEN, broken
    from zabcheck.campaign.report import page as campaign_page
    from zabcheck.counterexample.forms import page
    from zabcheck.counterexample.induction.page import page as refused_page
    from zabcheck.papers.lessons import LESSONS
    from zabcheck.zookeeper.report import clients

    if name == "campaign":
        return campaign_page.page(REPORT)
    if name == "bad campaign":
        return campaign_page.page(worst())
    if name == "refused":
        return refused_page([states.stale_proposal(), states.new_history(), states.two_leaders()])
    if name == "lesson":
        return lessons.page(LESSONS["quorum"], "disk", "truncation")
    if name == "promises":
        return clients.page("history.jsonl", broken(*PROMISES_BROKEN))
    return page.page(STORIES[name](), "x.schedule.json")


@pytest.fixture
def opened(browser: "Browser", files: Callable[[str], Path]) -> Opened:
    """Opens a page; at the end it must have said nothing, and have asked for nothing."""

    @contextmanager
    def opening(name: str, width: int = 1600, scheme: Any = "light", **options: Any) -> "Iterator[Page]":
        url = files(name).as_uri()
        viewport: Any = {"width": width, "height": HEIGHTS[width]}
        context = browser.new_context(viewport=viewport, color_scheme=scheme, **options)
        context.set_default_timeout(PATIENCE)
        tab = context.new_page()
        heard: list[str] = []
        tab.on("console", lambda message: heard.append(f"{message.type}: {message.text}"))
        tab.on("pageerror", lambda error: heard.append(str(error)))
        tab.on("request", lambda request: heard.append(f"asks for {request.url}") if request.url != url else None)
        tab.on("dialog", lambda dialog: heard.append(dialog.message))
        tab.goto(url)
        yield tab
        context.close()
        assert heard == []

    return opening

"""Every kind of page, on a phone and on a wide screen, in light and in dark."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.browser.conftest import HEIGHTS, Opened
from tests.counterexample.pages import OTHERS, STORIES
from zabcheck.counterexample.forms.page import heading
from zabcheck.counterexample.story import Story
from zabcheck.text.words import LONGEST, clean

ROOT = Path(__file__).parents[2]
COMMITTED = sorted([*ROOT.glob("reports/gallery/*.html"), *ROOT.glob("docs/examples/*.html")])
LOSSES = [path for path in COMMITTED if path.stem.endswith(".loss")]
RUNS = [
    path for path in COMMITTED if path.name not in ("index.html", "half-of-a-multi.html") and path not in LOSSES[3:]
]
"""The pages of runs; three of those of a user's loss, which are drawn alike, stand for them."""
READ = RUNS[::2]
"""The pages whose rows are read at each width; how the others open is looked at."""
each_read = pytest.mark.parametrize("path", READ, ids=[path.stem for path in READ])
EXPLAINED = [path for path in RUNS if path not in READ and path.stem != "zookeeper-2307"]
"""The pages without that of a server that cannot start: it breaks no property, and no step of it decides anything."""
each_explained = pytest.mark.parametrize("path", EXPLAINED, ids=[path.stem for path in EXPLAINED])

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CAMPAIGNS = ("campaign", "bad campaign")
every_width = pytest.mark.parametrize("width", HEIGHTS)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
every_page = pytest.mark.parametrize("name", [*STORIES, *CAMPAIGNS, "refused", "promises", "lesson"])
every_story = pytest.mark.parametrize("name", STORIES)

LEAST_CONTRAST = 4.5
"""WCAG 2.2, 1.4.3."""
SMALLEST = 11
"""The least size of a text, in pixels."""

CONTRASTS = """
() => {
  const parse = (colour) => {
    const numbers = colour.match(/[\\d.e-]+/g).map(Number);
    const [r, g, b] = colour.startsWith("color(") ? numbers.slice(0, 3).map((part) => 255 * part) : numbers;
    return { rgb: [r, g, b], alpha: numbers.length > 3 ? numbers[3] : 1 };
  };
  const over = (top, below) => top.rgb.map((part, i) => part * top.alpha + below[i] * (1 - top.alpha));
  const background = (element) => {
    const below = element.parentElement ? background(element.parentElement) : [255, 255, 255];
    return over(parse(getComputedStyle(element).backgroundColor), below);
  };
  const luminance = (rgb) => {
    const linear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = rgb.map((part) => linear(part / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || element.closest("script, title, style, desc") || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const colour = parse(element.closest("svg") ? style.fill : style.color);
    const behind = background(element.closest("svg") || element);
    const [dark, light] = [luminance(over(colour, behind)), luminance(behind)].sort((a, b) => a - b);
    found.push([(light + 0.05) / (dark + 0.05), parseFloat(style.fontSize), element.outerHTML.slice(0, 200)]);
  }
  return found;
}
"""
"""The contrast of each text that can be seen with what is behind it, its size, and its place."""


@every_page
@every_width
def test_it_opens_and_its_texts_can_be_read(opened: Opened, name: str, width: int) -> None:
    """It says nothing on the console, loads nothing, and does not scroll sideways; in light and in dark."""
    with opened(name, width) as page:
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for needed in (page.locator("h1"), page.locator("main")):
            assert needed.inner_text().strip()
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            drawn = [each for each in page.evaluate(CONTRASTS) if "<svg" not in each[2]]
            assert len(drawn) > 10
            assert [each for each in drawn if each[0] < LEAST_CONTRAST] == []
            if name not in CAMPAIGNS:  # whose plots shrink with the screen
                assert [each for each in drawn if each[1] < SMALLEST] == []


@every_story
@every_width
def test_the_page_opens_at_the_fault(opened: Opened, name: str, width: int) -> None:
    story = STORIES[name]()
    with opened(name, width) as page:
        text = page.locator("body").inner_text()
        told = " ".join(text.split())
        for each in said(story):
            assert " ".join(each.split()) in told, each
        if story.moments:
            assert page.locator("#what").inner_text().strip()
            assert page.locator("#where").inner_text().startswith(story.unit)
            check_step_in_view(page)
        if story.violation is not None and story.argument is None:
            check_witness_in_view(page)
        if name in ("usual", *OTHERS) and width == 1600:
            row = page.locator("li[aria-current]").bounding_box()
            assert row is not None
            assert row["y"] + row["height"] <= HEIGHTS[width], "no scrolling is needed"


def said(story: Story) -> list[str]:
    texts = [heading(story)]
    if story.violation is not None:
        texts.append(clean(story.violation.statement))
        texts.append(brief(story.violation.summary + "."))
    return [*texts, clean(" ".join(story.explanation), longest=8 * LONGEST)]


def brief(words: str) -> str:
    """A word of more than 60 characters without its middle."""
    short = (word if len(word) <= 60 else f"{word[:39]}…{word[-20:]}" for word in words.split(" "))
    return clean(" ".join(short), longest=LONGEST)


def check_step_in_view(page: "Page") -> None:
    """The step that is looked at, and its point, are in the part of the diagram that is shown."""
    frame = page.locator("#diagram").bounding_box()
    assert frame is not None
    row = page.locator("li[aria-current]").bounding_box()
    assert row is not None
    assert frame["y"] <= row["y"]
    assert row["y"] + row["height"] <= frame["y"] + frame["height"]
    for point in page.locator("svg.lanes .now .hit").all()[:1]:
        box = point.bounding_box()
        assert box is not None
        assert frame["x"] <= box["x"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"]


def check_witness_in_view(page: "Page") -> None:
    """In words at the top of the page, and a ring in the diagram."""
    height = page.viewport_size["height"] if page.viewport_size else 0
    items = page.locator(".witness-list li").all()
    assert items
    for item in items:
        box = item.bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= height
    assert page.locator("svg.lanes .now :is(.ring, .halo)").count() >= 1


CUT = """
() => [".panel", ".panel .scroll"].map((each) => {
  const { scrollWidth, clientWidth } = document.querySelector(each);
  return scrollWidth - clientWidth;
})
"""
"""The widths of the panel with the state, and of the table in it, beyond what is seen of them."""
BROKEN_WORDS = """
() => {
  const state = document.querySelector("#state"), broken = [];
  const texts = document.createTreeWalker(state, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (texts.nextNode()) {
    for (const word of texts.currentNode.data.matchAll(/[a-z]+/gi)) {
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      const tops = [...range.getClientRects()].map((each) => Math.round(each.top));
      if (new Set(tops).size > 1 && word[0].length < 20) broken.push(word[0]);
    }
  }
  return broken;
}
"""
"""The words in the table of the state that are broken over lines; what is longer is no word."""


@each_explained
def test_within_ten_seconds_one_sees_where_it_was_decided(browser: "Browser", path: Path) -> None:
    """The first screen of 1280 by 800 pixels has the diagram, and in it the step that decided."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(path.as_uri())
    diagram = page.locator("#diagram").bounding_box()
    row = page.locator("li[aria-current]").bounding_box()
    assert diagram is not None
    assert row is not None
    assert diagram["y"] < 500
    assert diagram["y"] <= row["y"]
    assert row["y"] + row["height"] <= 800
    assert page.locator(".signs").bounding_box() is not None
    assert page.evaluate(CUT) == [0, 0], "the whole table of the state can be seen"
    if "healthy" not in path.name:
        assert page.locator("li.decided[aria-current]").count() == 1
        assert page.locator("svg.lanes .now .halo").count() == 1
        link = page.locator("p.witness-list a")
        page.keyboard.press("Home")
        link.click()
        assert page.locator("li.decided[aria-current]").count() == 1
    for done in page.locator("#done + details").all():
        assert done.get_attribute("open") is None
    page.close()


@pytest.mark.parametrize("path", EXPLAINED[:1], ids=[path.stem for path in EXPLAINED[:1]])
def test_the_explanation_is_read_before_the_diagram_and_takes_no_row_of_its_own_where_there_is_room(
    browser: "Browser", path: Path
) -> None:
    for width in (360, 1280):
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto(path.as_uri())
        witness = page.locator(".why > div").bounding_box()
        explained = page.locator(".why > p").bounding_box()
        diagram = page.locator("#diagram").bounding_box()
        assert witness is not None
        assert explained is not None
        assert diagram is not None
        assert witness["y"] <= explained["y"] < diagram["y"]
        assert (explained["x"] > witness["x"] + witness["width"]) == (width == 1280)
        page.close()


ROWS = """
() => [...document.querySelectorAll(".steps .said")].map((said) => {
  const frame = said.getBoundingClientRect();
  const marked = [...said.querySelectorAll(".witness")].flatMap((each) => [...each.getClientRects()]);
  const cut = marked.some((each) => each.bottom > frame.bottom + 2 || each.right > innerWidth + 1);
  return [frame.height, frame.right, said.textContent.trim().length, cut];
})
"""
"""The height, right end and length of each row's text; True if the words of the witness in it are cut off."""


@each_read
def test_each_row_has_its_text_on_every_screen_and_on_paper(browser: "Browser", path: Path) -> None:
    """A4 has 718 pixels between its margins."""
    page = browser.new_page(color_scheme="dark")
    page.goto(path.as_uri())
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert not any(rows_cut(page, width))
    page.set_viewport_size({"width": 718, "height": 1000})
    page.emulate_media(media="print")
    hidden = page.evaluate(
        "(() => { const d = document.getElementById('diagram');"
        "return [d.scrollHeight - d.clientHeight, d.scrollWidth - d.clientWidth]; })()"
    )
    assert hidden == [0, 0], "the whole run is printed"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)", "printed in light"
    assert not page.locator(".bar").is_visible()
    assert not page.locator(".panel").is_visible()
    assert not any(rows_cut(page, 718, least=9))
    page.close()


def rows_cut(page: "Page", width: int, least: float = 11) -> list[bool]:
    """Check that each row has its text; return for each True if the words of the witness in it are cut off."""
    rows = page.evaluate(ROWS)
    assert len(rows) == page.locator(".steps li").count()
    for height, right, length, _ in rows:
        assert length == 0 or height >= least
        assert right <= width
    return [cut for *_, cut in rows]


def test_a_campaign_uses_the_width_of_the_screen(opened: Opened) -> None:
    """A table stands beside its plot where there is room for both."""
    with opened("campaign") as page:
        plot, table = (
            page.locator(f"section[aria-labelledby=goals] > {each}").bounding_box() for each in (".plots", ".scroll")
        )
        assert plot is not None
        assert table is not None
        assert table["x"] >= plot["x"] + plot["width"]
        assert abs(table["y"] - plot["y"]) < 40
        assert table["x"] + table["width"] > 1400
    with opened("campaign", 360) as page:
        assert page.locator("section[aria-labelledby=findings] td a").count() == 2

"""The page of a counterexample: CPU seconds to make it, its size, and how fast it is in a browser.

It is measured for a minimised counterexample of 20 choices, and for a run of 2,000 steps that breaks a property. In the
browser, a page is timed from the start of the navigation to the end of the load event. In a walk through the run, of up
to a thousand steps, a key is timed from the key to the end of the layout, and to the next frame.
"""

import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

from zabcheck.counterexample.explain import explain
from zabcheck.counterexample.forms.page import page
from zabcheck.counterexample.story import Story
from zabcheck.search.run import schedule_of
from zabcheck.simulation import choices
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import AnyChoice
from zabcheck.simulation.schedule import Schedule

ROOT = Path(__file__).parents[1]
USUAL = ROOT / "tests/schedules/no-truncation.primary-integrity.json"
REQUESTS = 200
REPEATS = 5
MOST_STEPS = 1000

WALK = """
async (most) => {
  const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const frame = () => new Promise(requestAnimationFrame);
  const steps = Math.min(most, document.querySelectorAll(".steps li").length);
  const [toLayout, toFrame] = [[], []];
  press("Home");
  for (let step = 1; step < steps; step++) {
    await frame();
    const start = performance.now();
    press("ArrowRight");
    document.getElementById("diagram").getBoundingClientRect();
    toLayout.push(performance.now() - start);
    await frame();
    await new Promise((done) => setTimeout(done)); // what the frame paints is done by then
    toFrame.push(performance.now() - start);
  }
  const timing = performance.getEntriesByType("navigation")[0];
  return [timing.loadEventEnd, toLayout, toFrame];
}
"""


def main() -> None:
    pages: dict[str, str] = {}
    print(f"CPU seconds to make the page, median of {REPEATS}; its size:")
    for name, schedule in (("20 choices", schedules.load(USUAL.read_bytes(), USUAL.name)), ("2,000 steps", long())):
        start = process_time()
        story = explain(schedule)
        told = process_time() - start
        pages[name] = page(story)
        seconds = [timed(story) for _ in range(REPEATS)]
        print(
            f"  {name:12}{len(story.moments):>6,} steps  explain {told:.2f}  page {median(seconds):.3f}  "
            f"{len(pages[name].encode()):>9,} bytes",
            flush=True,
        )
    in_browser(pages)


def timed(story: Story) -> float:
    start = process_time()
    page(story)
    return process_time() - start


def long() -> Schedule:
    """Make a long run, of ten steps a request: it is sent to two followers, acknowledged by both, and delivered."""
    made: list[AnyChoice] = [choices.Lead(1, (1, 2, 3)), choices.Settle(6)]
    for number in range(REQUESTS):
        made += [choices.Request(1, f"v{number}"), choices.Settle(2)]
    return schedule_of("zab", "commit-on-own-ack", 3, made)


def in_browser(pages: dict[str, str]) -> None:
    try:
        from playwright.sync_api import sync_playwright

        from tests.browser import chromium
    except ImportError:
        print("no browser: install the extra `browser`", file=sys.stderr)
        return
    with sync_playwright() as playwright, TemporaryDirectory() as folder:
        executable = chromium.find(playwright)
        if executable is None:
            print(chromium.MISSING, file=sys.stderr)
            return
        browser = chromium.launch(playwright, executable)
        print(f"milliseconds in {browser.browser_type.name} {browser.version}, median, 99th percentile and most:")
        for name, text in pages.items():
            path = Path(folder) / f"{name}.html"
            path.write_text(text, encoding="utf-8")
            opened: list[float] = []
            to_layout: list[float] = []
            to_frame: list[float] = []
            for steps in (MOST_STEPS, *[2] * (REPEATS - 1)):
                tab = browser.new_page(viewport={"width": 1600, "height": 900})
                tab.goto(path.as_uri())
                loaded, layout, frame = tab.evaluate(WALK, steps)
                opened.append(loaded)
                to_layout += layout
                to_frame += frame
                tab.close()
            print(f"  {name:12}open {said(opened)}  key to layout {said(to_layout)}  to frame {said(to_frame)}")
        browser.close()


def said(milliseconds: list[float]) -> str:
    later = sorted(milliseconds)[int(0.99 * (len(milliseconds) - 1))]
    return f"{median(milliseconds):6.1f} {later:6.1f} {max(milliseconds):6.1f}"

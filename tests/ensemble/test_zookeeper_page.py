"""docs/zookeeper.md, README.md, a picture and a page show a recorded run of ZooKeeper 3.8.0 that lost a write.

Other pages show one that did not, and one that cut acknowledged writes off for another reason.

`python -m tests.ensemble.test_zookeeper_page` writes them anew.
"""

import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from msgspec.structs import replace

from invariants import Crash, Truncate
from zabcheck.cli.zookeeper.command import story_of
from zabcheck.counterexample.forms.page import page
from zabcheck.counterexample.forms.svg import to_svg
from zabcheck.counterexample.forms.terminal import to_text
from zabcheck.counterexample.pieces import labels_by_step
from zabcheck.counterexample.story import Story
from zabcheck.ensemble.report.packets import render_divergence
from zabcheck.ensemble.run import schedule as schedules
from zabcheck.ensemble.verdict.judge import judge
from zabcheck.ensemble.verdict.known_issues import NO_NUMBER
from zabcheck.text.pen import text_of

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs/examples"
RECORDED = Path(__file__).parent / "lost-write-3.8.0"
SCHEDULE = "docs/examples/zookeeper-lost-write.schedule.json"
PAGE = ROOT / "docs/examples/zookeeper-lost-write.html"
HEALTHY = Path(__file__).parent / "healthy-3.8.0"
HEALTHY_PAGE = ROOT / "docs/examples/zookeeper-healthy.html"
ARCHIVED = {"zookeeper-applied-again": "applied-again-3.8.0", "zookeeper-stale-log": "stale-log-3.9.5"}
"""For pages in docs/examples, with schedules of these names: recordings, and logs without what tells of the machine."""
PICTURE = ROOT / "docs/examples/zookeeper-lost-write.svg"
SHOWN = {"docs/zookeeper.md": (0, 1, 2, 3), "README.md": (0,)}
"""Which paragraphs of the text: what is wrong, why, facts, what was done."""
BLOCK = re.compile(r"```text\ndurability is violated\n(?:.*\n)*?```\n")
RUN = re.compile(r"```text\nLines .*\n(?:.*\n)*?```\n")
"""The steps of the run; what is shown begins with the broadcast of the write, ends where its last copy is cut off."""
BEGIN, END = "broadcasts c3.1", "truncates its history"
PACKETS = re.compile(r"```text\nPacket \d+ of server (?:.*\n)*?```\n")


def texts() -> dict[Path, str]:
    """What each file has to be."""
    judged = judge(RECORDED)
    story = story_of(judged)
    divergence = text_of(render_divergence(judged.steps.divergences[0]), 100)
    packets = "```text\n" + "\n".join(line.rstrip() for line in divergence.splitlines()) + "\n```\n"
    told = {PAGE: page(story, SCHEDULE), HEALTHY_PAGE: page(story_of(judge(HEALTHY)), "")}
    for name in ARCHIVED:
        with archived(name) as folder:
            told[EXAMPLES / f"{name}.html"] = page(story_of(judge(folder)), f"docs/examples/{name}.schedule.json")
    paragraphs = "\n".join(line.rstrip() for line in to_text(story, 100, file=SCHEDULE).splitlines()).split("\n\n")
    head, *rows = next(each for each in paragraphs if each.startswith("Lines ")).splitlines()
    begin, end = (next(number for number, row in enumerate(rows) if word in row) for word in (BEGIN, END))
    run = "```text\n" + "\n".join([head, *rows[begin : end + 1]]) + "\n```\n"
    told[PICTURE] = to_svg(decisive(story), labels_by_step(story))
    for name, chosen in SHOWN.items():
        block = "```text\n" + "\n\n".join(paragraphs[number] for number in chosen) + "\n```\n"
        document = (ROOT / name).read_text(encoding="utf-8")
        document = BLOCK.sub(lambda _, block=block: block, document)
        told[ROOT / name] = RUN.sub(lambda _: run, PACKETS.sub(lambda _: packets, document))
    return told


@contextmanager
def archived(name: str) -> Iterator[Path]:
    """The recording of this page, in a folder. (Not every Python 3.11 can extract an archive without warnings.)"""
    recording = ARCHIVED[name]
    with TemporaryDirectory() as folder, tarfile.open(Path(__file__).parent / f"{recording}.tar.xz") as archive:
        Path(folder, recording).mkdir()
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                Path(folder, member.name).write_bytes(content.read())
        yield Path(folder, recording)


def decisive(story: Story) -> Story:
    """The part of the run from the crash before the write is broadcast to where its last copy is cut off."""
    first, last = (
        next(moment.step for moment in story.moments if any(map(wanted, moment.shown)))
        for wanted in (lambda event: isinstance(event, Crash), lambda event: isinstance(event, Truncate))
    )
    moments = tuple(moment for moment in story.moments if first <= moment.step <= last)
    sent = tuple(flight for flight in story.flights if flight.sent is not None and first <= flight.sent <= last)
    return replace(story, moments=moments, flights=sent)


def test_the_pages_are_up_to_date() -> None:
    for path, text in texts().items():
        assert path.read_text(encoding="utf-8") == text
        assert path.suffix in (".html", ".svg") or BLOCK.search(text)
    assert f"]({PICTURE.relative_to(ROOT)})" in (ROOT / "README.md").read_text(encoding="utf-8")
    page_of_docs = (ROOT / "docs/zookeeper.md").read_text(encoding="utf-8")
    assert RUN.search(page_of_docs)
    assert PACKETS.search(page_of_docs)


@pytest.mark.parametrize(
    ("name", "violated", "looks_like", "expected", "seen"),
    [
        (
            "zookeeper-applied-again",
            "final agreement",
            NO_NUMBER,
            "a history up to ⟨1,206⟩, which server 1 told with f.a = 1",
            "one up to ⟨1,154⟩",
        ),
        ("zookeeper-stale-log", "durability", "ZOOKEEPER-2846", "the proposal that follows ⟨1,9⟩", "PROPOSAL ⟨2,4⟩"),
    ],
)
def test_what_the_documentation_tells_of_a_run_is_seen_in_it(
    name: str, violated: str, looks_like: str, expected: str, seen: str
) -> None:
    with archived(name) as folder:
        judged = judge(folder)
    schedule = schedules.decode((EXAMPLES / f"{name}.schedule.json").read_bytes(), name)
    assert judged.violated[0] == schedule.finds == violated
    assert judged.zookeeper == schedule.zookeeper
    assert [each.issue.key for each in judged.known] == [looks_like]
    first = judged.steps.divergences[0]
    assert (first.expected, first.seen) == (expected, seen)
    assert judged.schedule is not None
    assert schedules.converted(judged.schedule).choices == schedule.choices


def test_the_recorded_run_executed_the_schedule_beside_it() -> None:
    recorded = judge(RECORDED)
    schedule = schedules.decode((ROOT / SCHEDULE).read_bytes(), SCHEDULE)
    assert recorded.violated[0] == schedule.finds == "durability"
    assert recorded.zookeeper == schedule.zookeeper == "3.8.0"
    assert recorded.schedule is not None
    assert schedules.converted(recorded.schedule).choices == schedule.choices


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text, encoding="utf-8")

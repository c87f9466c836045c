"""docs/zookeeper-findings.md shows a recorded run of ZooKeeper 3.8.0 that lost a write, with its picture and page.

Other pages show a run that lost nothing, and runs of other bugs.
"""

import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec.structs import replace

from docs.generators.gallery import KeptChances, estimated, hash_of, kept_in
from docs.generators.output import DOCS, ROOT, read
from docs.generators.zookeeper_catalogue import MINIMAL, RECORDED, SCHEDULES
from zabcheck.cli.zookeeper.recordings import story_of
from zabcheck.counterexample.forms.page import page
from zabcheck.counterexample.forms.svg import to_svg
from zabcheck.counterexample.forms.terminal import to_text
from zabcheck.counterexample.pieces import labels_by_step
from zabcheck.counterexample.story import Chances, Story
from zabcheck.invariants import Crash, Truncate
from zabcheck.simulation.schedule import load
from zabcheck.zookeeper.bugs.catalogue import BUGS
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches
from zabcheck.zookeeper.verdict.judge import judge

RECORDINGS = ROOT / "tests/zookeeper"
EXAMPLES = DOCS / "examples"
LOST_WRITE = RECORDINGS / "lost-write-3.8.0"
HEALTHY = RECORDINGS / "healthy-3.8.0"
ARCHIVED = {
    "zookeeper-applied-again": "applied-again-3.8.0",
    "zookeeper-2832": "2832-3.9.5",
    "zookeeper-stale-log": "stale-log-3.9.5",
    "zookeeper-2307": "2307-3.6.2",
    "zookeeper-4311": "4311-3.6.2",
    "zookeeper-4409": "4409-3.8.0",
    "zookeeper-4541": "4541-3.8.0",
    "zookeeper-4643": "4643-3.8.0",
    "zookeeper-4646": "4646-3.8.0",
    "zookeeper-4837": "4837-3.9.5",
    "zookeeper-4925": "4925-3.9.3",
    "zookeeper-5094": "5094-3.8.0",
    "zookeeper-ack-before-trunc": "ack-before-trunc-3.9.5",
    "zookeeper-trunc-keeps-one": "trunc-keeps-one-3.9.5",
    "zookeeper-4882": "4882-3.9.3",
    "zookeeper-half-record": "half-record-3.9.5",
    "zookeeper-unforced-snapshot": "unforced-snapshot-3.9.3",
    "zookeeper-numbered-not-applied": "numbered-not-applied-3.8.0",
    "zookeeper-late-set": "late-set-3.9.5",
    "zookeeper-late-proposal": "late-proposal-3.9.5",
    "zookeeper-unlogged-voter": "unlogged-voter-3.9.5",
    "zookeeper-pending-config": "pending-config-3.9.5",
    "zookeeper-skipped-config": "skipped-config-3.9.5",
    "zookeeper-old-config-epoch": "old-config-epoch-3.9.5",
    "zookeeper-unwritten-config": "unwritten-config-3.9.5",
    "zookeeper-two-lists": "two-lists-3.9.5",
    "zookeeper-missed-activation": "missed-activation-3.9.5",
    "zookeeper-promoted-observer": "promoted-observer-3.8.0",
    "zookeeper-observer-counted": "observer-counted-3.8.0",
    "zookeeper-nobody-designated": "nobody-designated-3.9.5",
}
"""For pages in docs/examples, with schedules of these names: recordings, and logs without what tells of the machine."""
PAGES = ("zookeeper-lost-write", *ARCHIVED)
"""The pages of bugs of the catalogue, by the names of their schedules."""
CHANCES = ROOT / "docs/generators/zookeeper_chances.json"
"""The estimates of `likelihood`, by page. They take some CPU seconds each."""
KEPT_CHANCES = msgspec.json.decode(CHANCES.read_bytes(), type=dict[str, KeptChances])
SERVERS = "Servers cannot be taken up in the middle of a run, to go on in a hundred ways"
WITH_CURVE = (
    SERVERS
    + ", so this is the shortest known run of the model of ZooKeeper {version} that shows the same bug; the steps "
    "are the model's. zabcheck play {file} takes that run up."
)
NO_CURVE = SERVERS + ", and {why}, so there is no curve for this bug."
LEFT_OUT = "the model of ZooKeeper leaves out what this bug needs"
ONLY_RECORDED = "no run of the model is known that shows this bug, beside those that were recorded of servers"
SCHEDULE = "docs/examples/zookeeper-lost-write.schedule.json"
FOUND = "docs/examples/zookeeper-lost-write-found.schedule.json"
"""The recording is of the run that the search found; the other schedule shows the same each time."""
PAGE = DOCS / "zookeeper-findings.md"
PICTURE = EXAMPLES / "zookeeper-lost-write.svg"
SHOWN = {PAGE: (0, 1, 2), ROOT / "README.md": (0,), DOCS / "start/zookeeper.md": (0, 1)}
"""The paragraphs of the text that each file shows: what is wrong, why, facts, what was done."""
BLOCK = re.compile(r"```text\ndurability is violated\n(?:.*\n)*?```\n")


def made() -> dict[Path, str]:
    """Return the pages and the picture. `README.md` is made by its own module too, which leaves this block alone."""
    judged = judge(LOST_WRITE)
    story = story_of(judged)
    told = {
        PICTURE: to_svg(decisive(story), labels_by_step(story)),
        EXAMPLES / "zookeeper-lost-write.html": page(story, SCHEDULE, *likelihood("zookeeper-lost-write")),
        CHANCES: _chances_file(),
        EXAMPLES / "zookeeper-healthy.html": page(story_of(judge(HEALTHY)), ""),
    }
    for name in ARCHIVED:
        with archived(name) as folder:
            told[EXAMPLES / f"{name}.html"] = page(
                story_of(judge(folder)), f"docs/examples/{name}.schedule.json", *likelihood(name)
            )
    paragraphs = "\n".join(line.rstrip() for line in to_text(story, 100, file=SCHEDULE).splitlines()).split("\n\n")
    for document, chosen in SHOWN.items():
        told[document] = block("\n\n".join(paragraphs[n] for n in chosen)).join(BLOCK.split(read(document)))
    return told


@cache
def likelihood(name: str) -> tuple[Chances | None, None, str]:
    """Return how likely the bug of a page is from each step of the model's run, and which run that is.

    Servers cannot be taken up in the middle of a run, so there is none if no run of the model shows the bug.
    """
    minimal = minimal_run(name)
    if minimal is None:
        return None, None, NO_CURVE.format(why=ONLY_RECORDED if RECORDED[bug_of(name)] else LEFT_OUT)
    schedule = load(minimal.read_bytes(), minimal.name)
    chances = kept_in(KEPT_CHANCES, name, schedule) or estimated(schedule)
    assert isinstance(schedule.switches, ZooKeeperSwitches)
    about = WITH_CURVE.format(version=schedule.switches.version, file=minimal.relative_to(ROOT))
    return chances, None, about


def minimal_run(name: str) -> Path | None:
    """Return the file with the model's minimal run of the bug of a page; None if there is none."""
    bug = bug_of(name)
    return SCHEDULES / f"{MINIMAL[bug][0]}.schedule.json" if bug in MINIMAL else None


def bug_of(name: str) -> str:
    """Return the bug of the catalogue that a page shows."""
    return next(bug.name for bug in BUGS if bug.file == name)


def _chances_file() -> str:
    lines = []
    for name in PAGES:
        minimal = minimal_run(name)
        chances, *_ = likelihood(name)
        if minimal is not None and chances is not None:
            kept = KeptChances(hash_of(load(minimal.read_bytes(), minimal.name)), chances)
            lines.append(f'"{name}":{msgspec.json.encode(kept).decode()}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def block(text: str) -> str:
    """Return a block of Markdown with this text."""
    return "```text\n" + "\n".join(line.rstrip() for line in text.splitlines()) + "\n```\n"


def extracted(recording: str, folder: Path) -> Path:
    """Extract this recording into a folder, and return its own. Not every Python 3.11 can do so without warnings."""
    own = folder / recording
    own.mkdir()
    with tarfile.open(RECORDINGS / f"{recording}.tar.xz") as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                (folder / member.name).write_bytes(content.read())
    return own


@contextmanager
def archived(name: str) -> Iterator[Path]:
    """Extract the recording of this page into a folder of its own, for as long as it is needed."""
    with TemporaryDirectory() as folder:
        yield extracted(ARCHIVED[name], Path(folder))


def decisive(story: Story) -> Story:
    """Return the part of the run from the crash before the write is broadcast to where its last copy is cut off."""
    first, last = (
        next(moment.step for moment in story.moments if any(map(wanted, moment.shown)))
        for wanted in (lambda event: isinstance(event, Crash), lambda event: isinstance(event, Truncate))
    )
    moments = tuple(moment for moment in story.moments if first <= moment.step <= last)
    sent = tuple(flight for flight in story.flights if flight.sent is not None and first <= flight.sent <= last)
    return replace(story, moments=moments, flights=sent)

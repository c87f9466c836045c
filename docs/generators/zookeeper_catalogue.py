"""docs/zookeeper-catalogue.md: the bugs of ZooKeeper for which a schedule is kept, and how often it shows each of them.

The figures were counted by `zabcheck replay SCHEDULE --times N`, with the versions named; whoever executes a schedule
again changes them here.
"""

from pathlib import Path
from typing import NamedTuple

from docs.generators.output import DOCS
from zabcheck.ensemble.run import schedule as schedules
from zabcheck.ensemble.verdict.known_issues import ISSUES, NO_NUMBER, KnownIssue

PAGE = DOCS / "zookeeper-catalogue.md"
EXAMPLES = DOCS / "examples"
VERSIONS = {
    "3.6.3": "PySpark 3.5.3",
    "3.8.0": "Debian 12 (`libzookeeper-java`)",
    "3.9.3": "PySpark 4.0.1",
    "3.9.5": "PySpark 4.3.0",
}
"""The versions that were run, and which package brings each."""


class Entry(NamedTuple):
    """A bug: its schedule, what has to come together, what is lost, and what an operator can do.

    `issue` is what the title of the known issue begins with. `shown` says, by version, in how many of how many
    executions the schedule showed what it was saved for.
    """

    issue: str
    schedule: str
    trigger: str
    lost: str
    remedy: str
    shown: dict[str, tuple[int, int]]


ENTRIES = (
    Entry(
        "a leader brings others up to date from a log",
        "zookeeper-stale-log",
        "a server takes over a snapshot, and later leads while a server comes back that was down in between",
        "acknowledged writes, at every server",
        "`-Dzookeeper.snapshotSizeFactor=-1`: a leader then never reads its log for others (with 3.9.5 nothing was "
        "lost in 4 executions)",
        {"3.6.3": (5, 5), "3.8.0": (10, 10), "3.9.3": (5, 5), "3.9.5": (10, 10)},
    ),
    Entry(
        "a server that leaves its leader loads its log",
        "zookeeper-applied-again",
        "a leader is lost while a follower has much to apply, and that follower leads next",
        "acknowledged writes, at one server or two",
        "none is known; 3.9.4 and later log a digest mismatch, and no more was seen",
        {"3.8.0": (1, 60), "3.9.5": (0, 40)},
    ),
    Entry(
        "the epoch is written before its history",
        "zookeeper-4643",
        "a follower is killed in a synchronisation, and another quorum forms with it",
        "acknowledged writes",
        "a version that has the repair",
        {"3.6.3": (3, 3), "3.8.0": (5, 5), "3.9.3": (0, 3), "3.9.5": (0, 2)},
    ),
    Entry(
        "a server that leaves its leader is shut down in part",
        "zookeeper-lost-write",
        "a leader is lost when a follower has acknowledged NEWLEADER, and has no UPTODATE yet",
        "acknowledged writes, at every server",
        "a version that has the repair",
        {"3.6.3": (5, 5), "3.8.0": (20, 20), "3.9.3": (0, 3), "3.9.5": (0, 3)},
    ),
    Entry(
        "an ACK of before a TRUNC still counts",
        "zookeeper-ack-before-trunc",
        "a leader's disk is slower than a follower's, the follower's connection breaks and is made again, and the "
        "leader is lost before the follower has logged again",
        "acknowledged writes, at every server",
        "none is known",
        {"3.6.3": (5, 5), "3.8.0": (10, 10), "3.9.3": (5, 5), "3.9.5": (10, 10)},
    ),
    Entry(
        "TRUNC to a zxid that the log does not have",
        "zookeeper-trunc-keeps-one",
        "a server takes over a snapshot, leads next, and is lost with a write that nobody else has",
        "agreement: one server has a write for good that was never acknowledged",
        "none is known",
        {"3.6.3": (5, 5), "3.8.0": (10, 10), "3.9.3": (5, 5), "3.9.5": (10, 10)},
    ),
)
"""In the order of the known issues."""

HEAD = """# Bugs of ZooKeeper, and schedules that show them

Each of these is a bug of ZooKeeper that loses data, with a schedule that shows it on unmodified servers. It is executed
again by `zabcheck replay docs/examples/NAME.schedule.json --times 10`, on the version that is installed or named
(`--classpath`). The table says in how many executions it showed what it was saved for; the machine had other work
beside. A dash: not executed.

"""


def made() -> dict[Path, str]:
    """Return the page."""
    return {PAGE: HEAD + _table() + "\n" + "\n".join(map(_section, ENTRIES))}


def issue_of(entry: Entry) -> KnownIssue:
    """Return the known issue that an entry is about."""
    [issue] = [each for each in ISSUES if each.title.startswith(entry.issue)]
    return issue


def _table() -> str:
    rows = ["| bug | " + " | ".join(VERSIONS) + " |", "|---|" + "---|" * len(VERSIONS)]
    for entry in ENTRIES:
        cells = [_count(entry.shown.get(version)) for version in VERSIONS]
        rows.append(f"| [{_name(entry)}](#{_anchor(entry)}) | " + " | ".join(cells) + " |")
    brought = ", ".join(f"{version} is in {package}" for version, package in VERSIONS.items())
    return "\n".join(rows) + f"\n\n{brought}.\n"


def _count(shown: tuple[int, int] | None) -> str:
    return "–" if shown is None else f"{shown[0]} of {shown[1]}"


def _name(entry: Entry) -> str:
    key = issue_of(entry).key
    return entry.schedule.removeprefix("zookeeper-").replace("-", " ") if key == NO_NUMBER else key


def _anchor(entry: Entry) -> str:
    return _name(entry).lower().replace(" ", "-")


def _section(entry: Entry) -> str:
    issue, name = issue_of(entry), entry.schedule
    schedule = schedules.decode((EXAMPLES / f"{name}.schedule.json").read_bytes(), name)
    page = f", [page](examples/{name}.html)" if (EXAMPLES / f"{name}.html").exists() else ""
    numbers = " No issue of ZooKeeper is known." if issue.key == NO_NUMBER else ""
    return f"""## {_name(entry)}

{issue.title[0].upper()}{issue.title[1:]}.{numbers}

| | |
|---|---|
| shows | {schedule.finds} is violated: [schedule](examples/{name}.schedule.json){page} |
| happens when | {entry.trigger} |
| what is lost | {entry.lost} |
| versions, by the sources | {_affected(issue)} |
| a way round | {entry.remedy} |
"""


def _affected(issue: KnownIssue) -> str:
    spans = [f"{first} on" if cured is None else f"{first} to before {cured}" for first, cured in issue.affected]
    return "; ".join(spans)

"""docs/zookeeper-catalogue.md: the bugs of ZooKeeper for which a schedule is kept, and how often it shows each of them.

What is said of each bug is in `zabcheck/ensemble/bugs/catalogue.py`, beside its schedule, of which docs/examples gets a
copy. The figures here were counted by `zabcheck zookeeper catalogue --bug NAME --times N`, with the versions named;
whoever executes a schedule again changes them.
"""

from pathlib import Path

from docs.generators.output import DOCS
from zabcheck.ensemble.bugs.catalogue import BUGS, NOT_SHOWN, PREFIX, Bug
from zabcheck.ensemble.report.bugs import affected, title
from zabcheck.ensemble.verdict.judge import SERIOUS
from zabcheck.ensemble.verdict.known_issues import NO_NUMBER

PAGE = DOCS / "zookeeper-catalogue.md"
EXAMPLES = DOCS / "examples"
VERSIONS = {
    "3.6.3": "PySpark 3.5.3",
    "3.8.0": "Debian 12 (`libzookeeper-java`)",
    "3.9.3": "PySpark 4.0.1",
    "3.9.5": "PySpark 4.3.0",
}
"""The versions that were run, and which package brings each."""

SHOWN: dict[str, dict[str, tuple[int, int]]] = {
    "ZOOKEEPER-1653": {"3.6.3": (5, 5), "3.8.0": (5, 5), "3.9.3": (5, 5), "3.9.5": (5, 5)},
    "ZOOKEEPER-2332": {"3.6.3": (5, 5), "3.8.0": (5, 5), "3.9.3": (0, 3), "3.9.5": (0, 3)},
    "ZOOKEEPER-2846": {"3.6.3": (5, 5), "3.8.0": (10, 10), "3.9.3": (5, 5), "3.9.5": (10, 10)},
    "ZOOKEEPER-3598": {"3.6.3": (20, 20), "3.8.0": (20, 20), "3.9.3": (18, 18), "3.9.5": (0, 19)},
    "ZOOKEEPER-4394": {"3.6.3": (5, 5), "3.8.0": (3, 3), "3.9.3": (0, 2), "3.9.5": (0, 3)},
    "ZOOKEEPER-4409": {"3.6.3": (0, 5), "3.8.0": (5, 5), "3.9.3": (0, 5), "3.9.5": (0, 5)},
    "ZOOKEEPER-4643": {"3.6.3": (2, 2), "3.8.0": (5, 5), "3.9.3": (0, 3), "3.9.5": (0, 3)},
    "ZOOKEEPER-4646": {"3.6.3": (5, 5), "3.8.0": (5, 5), "3.9.3": (0, 3), "3.9.5": (0, 3)},
    "ZOOKEEPER-4685": {"3.6.3": (5, 5), "3.8.0": (5, 5), "3.9.3": (0, 3), "3.9.5": (0, 1)},
    "ZOOKEEPER-4712": {"3.6.3": (5, 5), "3.8.0": (20, 20), "3.9.3": (0, 3), "3.9.5": (0, 3)},
    "ZOOKEEPER-4837": {"3.6.3": (1, 1), "3.8.0": (5, 5), "3.9.3": (5, 5), "3.9.5": (5, 5)},
    "ZOOKEEPER-4882": {"3.6.3": (5, 5), "3.8.0": (5, 5), "3.9.3": (5, 5), "3.9.5": (5, 5)},
    "ZOOKEEPER-4925": {"3.8.0": (0, 3), "3.9.3": (5, 5), "3.9.5": (0, 3)},
    "ZOOKEEPER-5094": {"3.6.3": (5, 5), "3.8.0": (5, 5), "3.9.3": (5, 5), "3.9.5": (5, 5)},
    "ack-before-trunc": {"3.6.3": (5, 5), "3.8.0": (10, 10), "3.9.3": (5, 5), "3.9.5": (10, 10)},
    "trunc-keeps-one": {"3.6.3": (5, 5), "3.8.0": (10, 10), "3.9.3": (5, 5), "3.9.5": (10, 10)},
    "half-record": {"3.8.0": (5, 5), "3.9.3": (5, 5), "3.9.5": (5, 5)},
    "unforced-snapshot": {"3.8.0": (5, 5), "3.9.3": (5, 5), "3.9.5": (5, 5)},
    "numbered-not-applied": {"3.6.3": (5, 5), "3.8.0": (5, 5), "3.9.3": (5, 5), "3.9.5": (5, 5)},
}
"""For each bug and version in how many of how many executions the schedule showed what it was saved for."""

HEAD = """# Bugs of ZooKeeper, and schedules that show them

Each of these is a bug of ZooKeeper, with a schedule that shows it on unmodified servers. All of them, or those that are
named, are executed by one command, which says what the version at hand has, and what to do:

    zabcheck zookeeper catalogue --times 5
    zabcheck zookeeper catalogue --bug 4643 --bug ack-before-trunc --classpath pyspark --classpath 'patched/lib/*'

It needs what [`zabcheck zookeeper`](zookeeper.md#what-it-needs) needs. Exit code 1: a bug was shown; 0: none was; 3:
nothing could be executed. A run that shows a bug is kept under `--out`, with its page. `zabcheck replay
docs/examples/NAME.schedule.json --times 10` executes one of the schedules alone.

The table says in how many executions a schedule showed what it was saved for; the machine had other work beside.
Executions are left out in which the servers did not come up in half a minute. A dash: not executed.

"""


def made() -> dict[Path, str]:
    """Return the page, and the copies of the schedules."""
    copies = {EXAMPLES / bug.path.name: bug.path.read_text(encoding="utf-8") for bug in BUGS}
    return {PAGE: HEAD + _table() + "\n" + "\n".join(map(_section, BUGS)) + _not_shown(), **copies}


def _table() -> str:
    rows = ["| bug | " + " | ".join(VERSIONS) + " |", "|---|" + "---|" * len(VERSIONS)]
    for bug in BUGS:
        cells = [_count(SHOWN[bug.name].get(version)) for version in VERSIONS]
        rows.append(f"| [{bug.name}](#{bug.name.lower()}) | " + " | ".join(cells) + " |")
    brought = ", ".join(f"{version} is in {package}" for version, package in VERSIONS.items())
    return "\n".join(rows) + f"\n\n{brought}.\n"


def _count(shown: tuple[int, int] | None) -> str:
    return "–" if shown is None else f"{shown[0]} of {shown[1]}"


def _section(bug: Bug) -> str:
    page = f", [page](examples/{bug.file}.html)" if (EXAMPLES / f"{bug.file}.html").exists() else ""
    numbers = " No issue of ZooKeeper is known." if bug.known.key == NO_NUMBER else ""
    others = f" {' and '.join(bug.others)} is about the same." if bug.others else ""
    return f"""## {bug.name}

{title(bug)}{numbers}{others}

| | |
|---|---|
| shows | {_finds(bug)}: [schedule](examples/{bug.path.name}){page} |
| happens when | {bug.trigger} |
| what is lost | {bug.lost} |
| versions, by the sources | {affected(bug)} |
| a way round | {bug.remedy} |
"""


def _finds(bug: Bug) -> str:
    """Say what an execution has to show to be counted."""
    return ", or ".join(map(_found, bug.finds))


def _found(what: str) -> str:
    if what.startswith(PREFIX):
        return "what the issue looks like from outside (its signature)"
    if "_" in what:
        return f"a packet breaks the rule `{what}`"
    return f"a server {what}" if what in SERIOUS else f"{what} is violated"


def _not_shown() -> str:
    rows = "\n".join(f"| {name} | {reason} |" for name, reason in NOT_SHOWN.items())
    return f"""
## Not shown

| bug | why no schedule shows it |
|---|---|
{rows}
"""

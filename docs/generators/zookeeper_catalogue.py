"""docs/zookeeper-catalogue.md: the bugs of ZooKeeper for which a schedule is kept, and how often it shows each of them.

The model's verdicts are of two kinds. Its minimal schedules are replayed here, in each version. What came of the
recordings of real executions (`RECORDED`) was found by `zabcheck zookeeper conform --write` and `zabcheck replay`.

What is said of each bug is in `zabcheck/zookeeper/bugs/catalogue.py`, beside its schedule, of which docs/examples gets
a copy. The figures in `executions.json`, beside it, were counted by `zabcheck zookeeper catalogue --bug NAME
--times N`, on processes and simulated, with the versions named; whoever executes a schedule again changes them.
"""

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from docs.generators.output import DOCS, ROOT, zabcheck
from zabcheck.search.run import replay_on
from zabcheck.simulation.schedule import load
from zabcheck.zookeeper.bugs.catalogue import BUGS, NOT_SHOWN, PREFIX, Bug
from zabcheck.zookeeper.conformance.conform import release_of
from zabcheck.zookeeper.model import ZOOKEEPER
from zabcheck.zookeeper.model.versions import ON_REQUEST
from zabcheck.zookeeper.report.bugs import affected, title
from zabcheck.zookeeper.verdict.judge import SERIOUS

PAGE = DOCS / "zookeeper-catalogue.md"
LIST = DOCS / "zookeeper-bugs.json"
"""The same for a program: the bugs as the command lists them."""
EXAMPLES = DOCS / "examples"
SCHEDULES = ROOT / "tests/zookeeper/model/schedules"
"""The minimal schedules of the model."""
VERSIONS = {
    "3.6.2": "Maven Central",
    "3.6.3": "PySpark 3.5.3",
    "3.8.0": "Debian 12 (`libzookeeper-java`)",
    "3.9.3": "PySpark 4.0.1",
    "3.9.5": "PySpark 4.3.0",
}
"""The versions that were run, and which package brings each."""


def _counts(simulated: bool) -> dict[str, dict[str, tuple[int, int]]]:
    counts = {bug.name: [each for each in bug.counts if each.simulated is simulated] for bug in BUGS}
    return {name: {each.zookeeper: (each.shown, each.times) for each in of} for name, of in counts.items()}


SHOWN = _counts(simulated=False)
"""For each bug and version in how many of how many executions the schedule showed what it was saved for."""

SIMULATED_VERSIONS = {
    "3.5.10": "Maven Central",
    "3.6.2": "Maven Central",
    "3.6.4": "Maven Central",
    "3.7.2": "Maven Central",
    "3.8.0": "Debian 12",
    "3.8.6": "Maven Central",
    "3.9.4": "Maven Central",
    "3.9.5": "PySpark 4.3.0",
}
"""The versions that were simulated, and where their jars come from; other jars are PySpark's."""

SIMULATED = _counts(simulated=True)
"""The same for simulated servers, counted by `zabcheck zookeeper catalogue --times 10` on 2026-11-27.

Executions that were not recorded to the end are left out, as are those of schedules that a version cannot execute.
"""

MINIMAL = {
    "ZOOKEEPER-2832": ("2832", "2832-differ"),
    "ZOOKEEPER-2846": ("2846-gap", "2846-abandoned"),
    "ZOOKEEPER-3598": ("3598",),
    "ZOOKEEPER-4311": ("4311",),
    "ZOOKEEPER-4409": ("4409",),
    "ZOOKEEPER-4643": ("4643",),
    "ZOOKEEPER-4646": ("4646",),
    "ZOOKEEPER-4712": ("4712-leaks", "4712-halted", "4712c"),
    "ZOOKEEPER-4837": ("4837", "4837-skipped"),
    "ZOOKEEPER-4882": ("4882",),
    "ZOOKEEPER-4925": ("4925",),
    "ZOOKEEPER-5094": ("5094",),
    "ack-before-trunc": ("n1",),
    "trunc-keeps-one": ("n2",),
    "unforced-snapshot": ("n3",),
}
"""The minimal schedules of the model for each bug, in tests/zookeeper/model/schedules."""

RECORDED: dict[str, dict[str, str]] = {
    "ZOOKEEPER-1653": {"3.6.3": "unjudged", "3.8.0": "unjudged", "3.9.3": "unjudged", "3.9.5": "unjudged"},
    "ZOOKEEPER-1675": {},
    "ZOOKEEPER-2307": {},
    "ZOOKEEPER-2332": {"3.6.3": "unjudged", "3.8.0": "unjudged", "3.9.3": "nothing", "3.9.5": "nothing"},
    "ZOOKEEPER-2832": {"3.6.3": "total order", "3.8.0": "total order", "3.9.3": "total order", "3.9.5": "total order"},
    "ZOOKEEPER-2846": {"3.6.3": "total order", "3.8.0": "total order", "3.9.3": "total order", "3.9.5": "total order"},
    "ZOOKEEPER-3598": {"3.6.3": "agreement", "3.8.0": "agreement", "3.9.3": "agreement", "3.9.5": "nothing"},
    "late-set": {},
    "ZOOKEEPER-4306": {},
    "ZOOKEEPER-4311": {},
    "ZOOKEEPER-4394": {"3.6.3": "unjudged", "3.8.0": "unjudged", "3.9.3": "nothing", "3.9.5": "nothing"},
    "ZOOKEEPER-4409": {"3.6.3": "nothing", "3.8.0": "total order", "3.9.3": "nothing", "3.9.5": "nothing"},
    "ZOOKEEPER-4466": {},
    "ZOOKEEPER-4541": {},
    "ZOOKEEPER-4643": {"3.6.3": "agreement", "3.8.0": "agreement", "3.9.3": "nothing", "3.9.5": "nothing"},
    "ZOOKEEPER-4646": {"3.6.3": "agreement", "3.8.0": "agreement", "3.9.3": "nothing", "3.9.5": "nothing"},
    "ZOOKEEPER-4685": {"3.6.3": "unjudged", "3.8.0": "unjudged", "3.9.3": "nothing", "3.9.5": "nothing"},
    "ZOOKEEPER-4712": {"3.6.3": "agreement", "3.8.0": "agreement", "3.9.3": "nothing", "3.9.5": "nothing"},
    "promoted-observer": {},
    "ZOOKEEPER-4837": {"3.6.3": "chosen", "3.8.0": "chosen", "3.9.3": "chosen", "3.9.5": "chosen"},
    "ZOOKEEPER-4882": {},
    "ZOOKEEPER-4925": {"3.6.3": "nothing", "3.8.0": "nothing", "3.9.3": "total order", "3.9.5": "nothing"},
    "ZOOKEEPER-5094": {"3.6.3": "total order", "3.8.0": "total order", "3.9.3": "total order", "3.9.5": "unjudged"},
    "ack-before-trunc": {"3.6.3": "unjudged", "3.8.0": "unjudged", "3.9.3": "unjudged", "3.9.5": "unjudged"},
    "trunc-keeps-one": {"3.6.3": "chosen", "3.8.0": "chosen", "3.9.3": "chosen", "3.9.5": "chosen"},
    "half-record": {},
    "unforced-snapshot": {"3.6.3": "nothing", "3.8.0": "nothing", "3.9.3": "nothing", "3.9.5": "nothing"},
    "numbered-not-applied": {
        "3.6.3": "total order",
        "3.8.0": "total order",
        "3.9.3": "total order",
        "3.9.5": "total order",
    },
    "late-proposal": {},
    "snapshot-digest": {},
    "unlogged-voter": {},
    "missed-activation": {},
    "pending-config": {},
    "skipped-config": {},
    "old-config-epoch": {},
    "observer-counted": {},
    "nobody-designated": {},
    "unwritten-config": {},
    "two-lists": {},
    "stale-sync": {},
    "eager-refusal": {},
}
"""For each bug and version what the run of the model breaks that explains the recording of an execution.

That is the first property, invariant 5 aside; "nothing"; or "unjudged", if what is wrong on the servers is judged by no
property of the model: a server does not start, or a client was told what is lost. Those are left out of which the model
says nothing.
"""
DIFFERENCES: dict[str, str] = {}
"""For each bug that servers show in a version, and the model does not, or the other way round: why."""

HEAD = """# Bugs of ZooKeeper, and schedules that show them

This page lists bugs of ZooKeeper, each with a schedule that shows it on unmodified servers. One command executes
them, all or by name, and says which of them your version has and what to do about it:

    zabcheck zookeeper catalogue --times 5
    zabcheck zookeeper catalogue --times 5 --processes
    zabcheck zookeeper catalogue --bug 4643 --bug ack-before-trunc --classpath pyspark --classpath 'patched/lib/*'

What is known of the bugs of a version is told at once, from what this page says, without Java or a network; the exit
code is 1 if the version has one, and `--list` lists all bugs:

    zabcheck zookeeper catalogue --version 3.8.4 --format json

[zookeeper-bugs.json](zookeeper-bugs.json) is what `--list --format json` prints, to be read without zabcheck
([its fields](output.md#zabcheck-zookeeper-catalogue)).

Executing needs the same as [`zabcheck zookeeper`](zookeeper.md#what-it-needs). Exit code 1: a bug was shown; 0: none
was; 3: nothing could be executed. A run that shows a bug is kept under `--out`, with its page.
`zabcheck replay docs/examples/NAME.schedule.json --times 10` executes one schedule alone. The page of a bug has a curve
of how likely it is from each step of the model's shortest run that shows it, or says why there is none.

The table says in how many executions each schedule showed its bug, on a machine with other work. A dash: not
executed. Executions in which the servers did not come up in half a minute are left out. The second line of a cell is
the verdict of [the model](zookeeper-model.md) of that version:

- *found*: a minimal schedule of the model breaks a property in this version;
- *run*: the recording of an execution [is a run of the model](zookeeper-conformance.md), and that run breaks a
  property, too;
- *unjudged*: it is a run of the model, but no property there judges the failure: a server does not start, an
  exception, a packet, or the loss of a write of which a client was told;
- *no*: none of these; in bold where the model and the servers differ;
- a dash: the model leaves out what the schedule needs, or has no such version.

"""


def made() -> dict[Path, str]:
    """Return the page, the list for a program, and the copies of the schedules."""
    copies = {EXAMPLES / bug.path.name: bug.path.read_text(encoding="utf-8") for bug in BUGS}
    verdicts = {bug.name: {version: model_says(bug.name, version) for version in VERSIONS} for bug in BUGS}
    page = (
        HEAD
        + _table(verdicts)
        + _differ(verdicts)
        + _simulated()
        + "\n"
        + "\n".join(map(_section, BUGS))
        + _not_shown()
    )
    listed = zabcheck("zookeeper", "catalogue", "--list", "--format", "json", codes=(0,))
    return {PAGE: page, LIST: listed, **copies}


def model_says(bug: str, version: str) -> tuple[str, ...] | None:
    """Return in which ways the model shows a bug in a version: "found", "run", or none; None if it leaves it out."""
    recorded = RECORDED[bug].get(version)
    if (recorded is None and bug not in MINIMAL) or release_of(version) is None:
        return None
    found = any(_breaks(name, version) for name in MINIMAL.get(bug, ()))
    run = {None: [], "nothing": [], "unjudged": ["unjudged"]}.get(recorded, ["run"])
    return (*(["found"] if found else []), *run)


def _breaks(name: str, version: str) -> bool:
    """Return True if a minimal schedule of the model breaks its property in this version, with all defects that it has.

    A disk fails, or loses a file, only where its defect is named.
    """
    file = SCHEDULES / f"{name}.schedule.json"
    schedule = load(file.read_bytes(), file.name)
    defects = schedule.switches.defects if schedule.switches.defects in ON_REQUEST else "all"
    switches = replace(schedule.switches, version=release_of(version), defects=defects)
    run = replay_on(ZOOKEEPER, replace(schedule, switches=switches))
    return any(each.status == "violated" and each.property == schedule.violates for each in run.verdicts)


def differs(bug: str, version: str, model: tuple[str, ...] | None) -> bool:
    """Return True if the model and the servers differ on a bug in a version; not if either says nothing."""
    shown = SHOWN[bug].get(version)
    return shown is not None and model is not None and bool(shown[0]) != bool(model)


def _table(verdicts: Mapping[str, Mapping[str, tuple[str, ...] | None]]) -> str:
    rows = ["| bug | " + " | ".join(VERSIONS) + " |", "|---|" + "---|" * len(VERSIONS)]
    for bug in BUGS:
        cells = [_cell(bug.name, version, verdicts[bug.name][version]) for version in VERSIONS]
        rows.append(f"| [{bug.name}](#{bug.name.lower()}) | " + " | ".join(cells) + " |")
    brought = ", ".join(f"{version} is in {package}" for version, package in VERSIONS.items())
    return "\n".join(rows) + f"\n\n{brought}.\n"


def _simulated() -> str:
    rows = ["| bug | " + " | ".join(SIMULATED_VERSIONS) + " |", "|---|" + "---|" * len(SIMULATED_VERSIONS)]
    for bug in BUGS:
        cells = [_simulated_cell(bug, version) for version in SIMULATED_VERSIONS]
        rows.append(f"| [{bug.name}](#{bug.name.lower()}) | " + " | ".join(cells) + " |")
    table = "\n".join(rows)
    return f"""
## On simulated servers

The same schedules on [simulated servers](zookeeper-simulated.md), ten or twenty times each, counted on 27 November
2026 by

    zabcheck zookeeper catalogue --times 10 --classpath zookeeper-3.7.2.jar:zookeeper-jute-3.7.2.jar:…

with a class path for each version. The jars `zookeeper` and `zookeeper-jute` of a release are from Maven Central, all
others (SLF4J, Log4j, Netty, Metrics, Snappy, Commons CLI) are PySpark's; those of 3.8.0 are Debian's. To execute each
schedule once on 3.6.4 took 8 CPU seconds. In bold: the sources say otherwise.

{table}

A dash: the schedule stops threads at a point that the code of this version does not have, as eleven do on 3.5.10; or,
of ZOOKEEPER-2832 on 3.5.10, the servers leave the run of the model with which they are kept in step. *late-set* shows
in 3.5.10, of which the sources were not read for it. ZOOKEEPER-3598 ends as a digest mismatch since 3.9.4.
*ack-before-trunc* does not show in 3.8.6, which logs what it was sent before it acknowledges NEWLEADER. In 3.6.2 the
schedule of ZOOKEEPER-4646 shows ZOOKEEPER-3911, by its signature; that of ZOOKEEPER-4712 loses a write, too.
"""


def _simulated_cell(bug: Bug, version: str) -> str:
    shown = SIMULATED[bug.name].get(version)
    text = _count(shown)
    return f"**{text}**" if shown is not None and bool(shown[0]) != bug.known.affects(version) else text


def _cell(bug: str, version: str, model: tuple[str, ...] | None) -> str:
    said = "–" if model is None else ", ".join(model) or "no"
    marked = said if not differs(bug, version, model) else f"**{said}**"
    return f"{_count(SHOWN[bug].get(version))}<br>{marked}"


def _differ(verdicts: Mapping[str, Mapping[str, tuple[str, ...] | None]]) -> str:
    rows = []
    for bug, of in verdicts.items():
        versions = [version for version, model in of.items() if differs(bug, version, model)]
        if versions:
            rows.append(f"| [{bug}](#{bug.lower()}) | {', '.join(versions)} | {DIFFERENCES[bug]} |")
    if not rows:
        return "\nThe model and the servers differ in none of these.\n"
    return """
## Where the model and the servers differ

| bug | versions | why |
|---|---|---|
""" + "".join(f"{row}\n" for row in rows)


def _count(shown: tuple[int, int] | None) -> str:
    return "–" if shown is None else f"{shown[0]} of {shown[1]}"


def _section(bug: Bug) -> str:
    page = f", [page](examples/{bug.file}.html)" if (EXAMPLES / f"{bug.file}.html").exists() else ""
    numbers = "" if bug.known.has_number else " No issue of ZooKeeper is known."
    others = f" {' and '.join(bug.others)} is about the same." if bug.others else ""
    return f"""## {bug.name}

{title(bug)}{numbers}{others}

| | |
|---|---|
| shows | {_finds(bug)}: [schedule](examples/{bug.path.name}){page} |
| happens when | {bug.trigger} |
| what is lost | {bug.lost} |
{_code(bug)}| versions, by the sources | {affected(bug)} |
| workaround | {bug.remedy} |
"""


def _code(bug: Bug) -> str:
    """Return the row with the methods of ZooKeeper in which the bug is; "" if it is in none."""
    return f"| in the code | {', '.join(f'`{each}`' for each in bug.known.code)} |\n" if bug.known.code else ""


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

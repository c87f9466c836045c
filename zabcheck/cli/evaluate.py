"""`zabcheck evaluate`: throughput, latency and recovery of Zab in simulated time (DSN 2011, VII)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import typer

from zabcheck.cli.commands import BadInput, Format, Formats, command
from zabcheck.cli.files import check_out, writing
from zabcheck.cli.output import make_console, print_json, print_path, progress
from zabcheck.cli.verdict import OK, VIOLATED, conclude, named
from zabcheck.extras import pip_install
from zabcheck.papers.evaluation import plan as plans
from zabcheck.papers.evaluation import report as evaluation
from zabcheck.papers.evaluation.costs import MICROSECOND, MILLISECOND, Costs
from zabcheck.papers.evaluation.plan import DISKS, Plan
from zabcheck.papers.evaluation.results import Evaluation
from zabcheck.text.files import write_all
from zabcheck.text.words import as_document, as_text, counted

FEWEST_SERVERS, MOST_SERVERS = 2, 25
MOST_TRANSACTIONS = 1_000_000
NO_HISTORY = "none"

_PLAN = Plan()
_COSTS = _PLAN.costs


class Setting(NamedTuple):
    """A cost that `--setting` changes: from `least` to `most` of a unit, which is `of` of the plan's own."""

    default: int
    unit: str
    of: int
    least: int
    most: int


_SETTINGS = {
    "size": Setting(_COSTS.size, "bytes of an operation", 1, 1, 2**20),
    "bandwidth": Setting(_COSTS.bandwidth, "Mbit/s of each network card", 10**6, 1, 1_000_000),
    "ping": Setting(_COSTS.ping, "microseconds of a round trip", MICROSECOND, 0, 10_000_000),
    "header": Setting(_COSTS.header, "bytes of a message besides its operations", 1, 1, 2**16),
    "cpu": Setting(_COSTS.cpu, "nanoseconds to handle a message", 1, 0, 10**9),
    "cached-sync": Setting(_PLAN.cached_sync, "microseconds of a sync with write cache", MICROSECOND, 0, 10_000_000),
    "uncached-sync": Setting(_PLAN.uncached_sync, "microseconds of one without", MICROSECOND, 0, 10_000_000),
    "disk-rate": Setting(_PLAN.disk_rate, "MB a second that a disk writes", 10**6, 1, 1_000_000),
    "detect": Setting(_PLAN.detect, "milliseconds until a crash is noticed", MILLISECOND, 0, 1_000_000),
}
SETTINGS = ", ".join(f"{name} ({each.unit}; {each.default // each.of})" for name, each in _SETTINGS.items())
_SERVERS, _DISKS, _HISTORIES = (",".join(map(str, each)) for each in (_PLAN.servers, _PLAN.disks, _PLAN.histories))

Servers = Annotated[
    str,
    typer.Option("--servers", metavar="N,…", help=f"Numbers of servers, from {FEWEST_SERVERS} to {MOST_SERVERS}."),
]
Disks = Annotated[
    str,
    typer.Option("--disk", metavar="D,…", help="Disks: none (network only), cache (with write cache), no-cache."),
]
Operations = Annotated[
    int,
    typer.Option("--operations", min=1, max=MOST_TRANSACTIONS, help="How many operations to measure under load."),
]
Outstanding = Annotated[
    int,
    typer.Option(
        "--outstanding",
        min=1,
        max=100_000,
        help="How many proposals of the leader may be outstanding; requests beyond that wait.",
    ),
]
History = Annotated[
    str,
    typer.Option("--history", metavar="N,…", help="Numbers of transactions in every log before a recovery; or `none`."),
]
Given = Annotated[
    list[str] | None,
    typer.Option("--setting", metavar="NAME=N", help=f"A cost (may be repeated): {SETTINGS}."),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Write the plots (SVG) and the figures (JSON) to this folder."),
]


@command
def evaluate(
    servers: Servers = _SERVERS,
    disk: Disks = _DISKS,
    operations: Operations = _PLAN.operations,
    outstanding: Outstanding = _PLAN.outstanding,
    history: History = _HISTORIES,
    setting: Given = None,
    out: Out = None,
    format: Formats = Format.text,
) -> int:
    """Measure throughput, latency and recovery of Zab in simulated time, as in the paper's evaluation.

    The network, the disks and the processors are simulated, each with its costs.
    """
    costs = _settings(setting or ())
    plan = Plan(
        servers=numbers("--servers", servers, FEWEST_SERVERS, MOST_SERVERS),
        disks=_disks(disk),
        histories=() if history == NO_HISTORY else numbers("--history", history, 0, MOST_TRANSACTIONS),
        operations=operations,
        outstanding=outstanding,
        costs=Costs(**{name: costs.pop(name) for name in Costs.__struct_fields__}),
        **{name.replace("-", "_"): value for name, value in costs.items()},
    )
    draw = None
    if out is not None:
        check_out(out)
        draw = load_plots()
    with progress(plan.runs, "evaluating") as show:
        found = plans.evaluate(plan, lambda runs: show("in simulated time", runs))
    files: list[Path] = []
    if out is not None and draw is not None:
        with writing("--out", out):
            files = write_all(out, contents(found, draw(found)))
    broken = [each.property for each in found.properties if each.status == "violated"]
    if format is Format.json:
        print_json("evaluate", **_fields(found), files=[as_text(file) for file in files])
    else:
        console = make_console()
        console.print(evaluation.render(found))
        for file in files:
            print_path(console, f"wrote {file}")
        conclude(console, VIOLATED if broken else OK, _reason(found, broken))
    return VIOLATED if broken else OK


def _reason(found: Evaluation, broken: Sequence[str]) -> str:
    """Return why the evaluation ends with its exit code."""
    runs = counted(found.runs, "run was", "runs were")
    if broken:
        return f"{runs} measured, but {named(broken)} was violated, so the figures are those of a broken protocol"
    holds = sum(each.status == "holds" for each in found.properties)
    return f"{runs} measured, and {counted(holds, 'property', 'properties')} held in all of them"


def _fields(found: Evaluation) -> Mapping[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(found)
    return fields


def load_plots() -> Callable[[Evaluation], Mapping[str, str]]:
    """Return the function that draws the plots, each by the name of its file. BadInput without matplotlib."""
    try:
        from zabcheck.papers.evaluation.plots import drawn
    except ImportError as error:
        raise BadInput(f"--out: to draw plots, {pip_install('png')} ({error})") from None
    return drawn


def contents(found: Evaluation, plots: Mapping[str, str]) -> dict[str, bytes]:
    """Return the files of an evaluation by name: the plots, and the figures."""
    return {**{name: plot.encode() for name, plot in plots.items()}, "evaluation.json": as_document(found)}


def numbers(option: str, text: str, least: int, most: int) -> tuple[int, ...]:
    """Parse the numbers in `text`, and return them ascending, each once.

    BadInput, naming the option, if one is not a number from `least` to `most`.
    """
    found = set()
    for each in text.split(","):
        digits = each.strip()
        if not (
            digits.isascii() and digits.isdigit() and len(digits) <= len(str(most)) and least <= int(digits) <= most
        ):
            raise BadInput(
                f"{option}: expected numbers from {least} to {most}, as in {least},{least + 1}; found `{each}`"
            )
        found.add(int(digits))
    return tuple(sorted(found))


def _settings(given: Sequence[str]) -> dict[str, int]:
    """Return every cost by its name, in the plan's units; those in `given`, NAME=N, in place of the defaults."""
    values = {name: each.default for name, each in _SETTINGS.items()}
    for text in given:
        name, _, value = text.partition("=")
        if name not in _SETTINGS:
            raise BadInput(f"--setting: expected one of {', '.join(_SETTINGS)}, as in ping=100; found `{name}`")
        number, *others = numbers(f"--setting {name}", value, _SETTINGS[name].least, _SETTINGS[name].most)
        if others:
            raise BadInput(f"--setting {name}: expected one number, found `{value}`")
        values[name] = number * _SETTINGS[name].of
    return values


def _disks(text: str) -> tuple[str, ...]:
    """Parse the names of disks, and return them in the order in which they are always shown."""
    named = [each.strip() for each in text.split(",")]
    for each in named:
        if each not in DISKS:
            raise BadInput(f"--disk: expected some of {', '.join(DISKS)}, found `{each}`")
    return tuple(name for name in DISKS if name in named)

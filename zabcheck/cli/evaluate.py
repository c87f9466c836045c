"""`zabcheck evaluate`: throughput, latency and recovery of Zab in simulated time (DSN 2011, VII)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

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
    int, typer.Option("--outstanding", min=1, max=100_000, help="How many operations are under way at any time.")
]
Size = Annotated[int, typer.Option("--size", min=1, max=2**20, help="Bytes of an operation.")]
Bandwidth = Annotated[
    int,
    typer.Option("--bandwidth", min=1, max=1_000_000, help="Bandwidth of each server's network card, in Mbit/s."),
]
Ping = Annotated[
    int, typer.Option("--ping", min=0, max=10_000_000, help="Round-trip time between two servers, in microseconds.")
]
MessageHeader = Annotated[
    int, typer.Option("--header", min=1, max=2**16, help="Bytes of a message in addition to its operations.")
]
Cpu = Annotated[int, typer.Option("--cpu", min=0, max=10**9, help="Time to handle a message, in nanoseconds.")]
CachedSync = Annotated[
    int,
    typer.Option("--cached-sync", min=0, max=10_000_000, help="Time of a sync with write cache, in microseconds."),
]
UncachedSync = Annotated[
    int,
    typer.Option("--uncached-sync", min=0, max=10_000_000, help="Time of a sync without write cache, in microseconds."),
]
DiskRate = Annotated[
    int, typer.Option("--disk-rate", min=1, max=1_000_000, help="How fast a disk writes, in MB a second.")
]
History = Annotated[
    str,
    typer.Option("--history", metavar="N,…", help="Numbers of transactions in every log before a recovery; or `none`."),
]
Detect = Annotated[
    int,
    typer.Option("--detect", min=0, max=1_000_000, help="Milliseconds until the survivors notice a leader's crash."),
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
    size: Size = _COSTS.size,
    bandwidth: Bandwidth = _COSTS.bandwidth // 10**6,
    ping: Ping = _COSTS.ping // MICROSECOND,
    header: MessageHeader = _COSTS.header,
    cpu: Cpu = _COSTS.cpu,
    cached_sync: CachedSync = _PLAN.cached_sync // MICROSECOND,
    uncached_sync: UncachedSync = _PLAN.uncached_sync // MICROSECOND,
    disk_rate: DiskRate = _PLAN.disk_rate // 10**6,
    history: History = _HISTORIES,
    detect: Detect = _PLAN.detect // MILLISECOND,
    out: Out = None,
    format: Formats = Format.text,
) -> int:
    """Measure throughput, latency and recovery of Zab in simulated time, as in the paper's evaluation.

    The network, the disks and the processors are simulated, each with its costs.
    """
    plan = Plan(
        servers=numbers("--servers", servers, FEWEST_SERVERS, MOST_SERVERS),
        disks=_disks(disk),
        histories=() if history == NO_HISTORY else numbers("--history", history, 0, MOST_TRANSACTIONS),
        operations=operations,
        outstanding=outstanding,
        detect=detect * MILLISECOND,
        costs=Costs(size=size, header=header, bandwidth=bandwidth * 10**6, ping=ping * MICROSECOND, cpu=cpu),
        cached_sync=cached_sync * MICROSECOND,
        uncached_sync=uncached_sync * MICROSECOND,
        disk_rate=disk_rate * 10**6,
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


def _disks(text: str) -> tuple[str, ...]:
    """Parse the names of disks, and return them in the order in which they are always shown."""
    named = [each.strip() for each in text.split(",")]
    for each in named:
        if each not in DISKS:
            raise BadInput(f"--disk: expected some of {', '.join(DISKS)}, found `{each}`")
    return tuple(name for name in DISKS if name in named)

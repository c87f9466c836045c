"""`zabcheck db19`: a run of the db-19 lab's cluster, its dump, and what the properties say of it."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from zabcheck.cli.commands import BadInput, Format, Formats, Properties, command
from zabcheck.cli.files import STDIN, bad_input_for, bad_path, writing
from zabcheck.cli.next_step import again, another
from zabcheck.cli.output import print_json, progress
from zabcheck.cli.verdict import VIOLATED, conclude_on_standard_error, on_verdicts
from zabcheck.invariants import End, Event, Header, Invariant, Judge, Verdict, select
from zabcheck.invariants import trace as trace_format
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.db19 import DB19
from zabcheck.protocols.db19.cluster import Cluster, Setting
from zabcheck.text.files import whole, write
from zabcheck.text.words import LONGEST_PATH, as_text, clean, counted

_BELOW_64 = 2**64
_BELOW_32 = 2**32
_TICKS_A_NOTE = 1024
"""The number of ticks between two advances of the progress bar; ticks in which nothing can happen do not count."""

Show = Callable[[Event], None]


Seed = Annotated[str, typer.Option("--seed", metavar="S", help="Decides delays and time-outs; below 2^64.")]
Nodes = Annotated[
    str, typer.Option("--nodes", metavar="N", help="How many nodes, at least 1; the lab calls them 0 to N-1.")
]
Rounds = Annotated[str, typer.Option("--rounds", metavar="R", help="How many ticks, at least 1.")]
Proposals = Annotated[
    str, typer.Option("--proposals", metavar="K", help="How many payloads clients send, spread evenly.")
]
Partition = Annotated[
    str | None,
    typer.Option("--partition", metavar="S,D,S,D,…", help="Links, from node to node, on which everything is lost."),
]
Dump = Annotated[Path | None, typer.Option("--dump", metavar="FILE", help="Write the canonical dump to this file.")]
TraceOut = Annotated[Path | None, typer.Option("--trace", metavar="FILE", help="Write the events to this file.")]
Messages = Annotated[
    bool, typer.Option("--messages", help="With --trace, also write what is sent and received, mostly votes.")
]


@command
def db19(
    seed: Seed,
    nodes: Nodes,
    rounds: Rounds,
    proposals: Proposals,
    partition: Partition = None,
    dump: Dump = None,
    trace: TraceOut = None,
    messages: Messages = False,
    property: Properties = None,
    format: Formats = Format.text,
) -> int:
    """Run the db-19 lab's cluster and print the SHA-256 of its dump; violations go to standard error."""
    size = number("--nodes", nodes, 1, _BELOW_32)
    setting = Setting(
        number("--seed", seed, 0, _BELOW_64),
        size,
        number("--rounds", rounds, 1, _BELOW_64),
        number("--proposals", proposals, 0, _BELOW_32),
        () if partition is None else links(partition, size),
    )
    with bad_input_for(ValueError):
        kinds = select(property or DB19.properties)
    check_files(dump, trace, messages)
    run = traced = dumped = None
    if trace is not None:
        with writing("--trace", trace):
            run, traced = judged(setting, kinds, trace, messages), trace
    cluster, judging = run or judged(setting, kinds, None, messages)  # the same run, if the disk is full, say
    if dump is not None:
        with writing("--dump", dump):
            dumped = write(dump, b"".join(cluster.dump()))
    verdicts = judging.finish()
    code, why = on_verdicts(verdicts)
    if format is Format.json:
        print_json(
            "db19",
            seed=setting.seed,
            nodes=setting.nodes,
            rounds=setting.rounds,
            proposals=setting.proposals,
            partition=setting.partition,
            sha256=cluster.digest(),
            messages=cluster.messages,
            dump=dumped and as_text(dumped),
            trace=traced and as_text(traced),
            verdicts=verdicts,
        )
    else:
        tell(verdicts)
        print(cluster.digest(), flush=True)
        # The lab has only the digest on standard output.
        told = again(trace="db19.jsonl") if traced is None else another("explain", str(traced), keep=["property"])
        then = told if code == VIOLATED else ""
        conclude_on_standard_error(code, why, then)
    return code


class Judging:
    """Judges a run by each property until the property is broken for good: a long run may break it again and again."""

    def __init__(self, kinds: Sequence[type[Invariant]], nodes: int) -> None:
        self.judge = Judge(kinds, quorums=Quorums(nodes))
        self.kinds = kinds
        self.settled: list[Verdict] = []
        self._left = 0  # how many properties are broken that may yet be repaired

    def observe(self, event: Event) -> None:
        """Show an event to the properties that are still judged."""
        self.judge.observe(event)
        if len(self.judge.broken) != self._left:
            self.settled += self.judge.settle()
            self._left = len(self.judge.broken)

    def finish(self) -> list[Verdict]:
        """Return the verdicts on all properties, in the order of the papers."""
        of = {verdict.property: verdict for verdict in (*self.settled, *self.judge.finish())}
        return [of[kind.name] for kind in self.kinds]


def judged(
    setting: Setting, kinds: Sequence[type[Invariant]], trace: Path | None, messages: bool
) -> tuple[Cluster, Judging]:
    """Run and judge the cluster, and write its events to `trace`, if that is a file. OSError if that fails."""
    judging = Judging(kinds, setting.nodes)
    if trace is None:
        return run_all(setting, judging.observe, messages), judging
    with whole(trace) as out:
        out.writelines(trace_format.dump([Header(1, setting.nodes, DB19.name)]))
        cluster = run_all(setting, recorded(judging.observe, out), messages)
        out.writelines(trace_format.dump([End(judging.judge.count)]))
    return cluster, judging


def run_all(setting: Setting, show: Show, messages: bool) -> Cluster:
    """Run the cluster to its last tick, with a progress bar, and return it."""
    with progress(setting.rounds, "running", "ticks") as advance:
        cluster = Cluster(setting, show, network=messages)
        for count, tick in enumerate(cluster.ticks()):
            if count % _TICKS_A_NOTE == 0:
                advance(counted(cluster.messages, "message", "messages"), tick)
    return cluster


def recorded(observe: Show, out: BinaryIO) -> Show:
    """Return a function that writes each event to `out`, then shows it to `observe`."""

    def show(event: Event) -> None:
        out.writelines(trace_format.dump([event]))
        observe(event)

    return show


def tell(verdicts: Sequence[Verdict]) -> None:
    """Print a line for each violation to standard error."""
    ascii_only = not (sys.stderr.encoding or "").lower().startswith("utf")
    said = [f"{v.property} is violated: {v.violation.summary}" for v in verdicts if v.violation is not None]
    for each in said:
        print(f"zabcheck: {clean(each, ascii_only, LONGEST_PATH)}", file=sys.stderr)


# What is asked for.


def number(option: str, text: str, least: int, below: int) -> int:
    """Parse a number. BadInput for anything but decimal digits, and for a number out of bounds."""
    digits = text.lstrip("0") or text[:1]
    if re.fullmatch("[0-9]{1,20}", digits) and least <= int(digits) < below:
        return int(digits)
    raise BadInput(f"{option} {text}: expected a number from {least} to {below - 1}")


def links(text: str, nodes: int) -> tuple[tuple[int, int], ...]:
    """Parse a list of ids as pairs (from, to). BadInput for an odd number of ids, or an id that is no node's."""
    ids = [number("--partition", each, 0, nodes) for each in text.split(",")]
    if len(ids) % 2:
        raise BadInput(f"--partition {text}: expected pairs of ids, from and to, found {len(ids)} ids")
    return tuple(zip(ids[::2], ids[1::2], strict=True))


def check_files(dump: Path | None, trace: Path | None, messages: bool) -> None:
    """Raise BadInput if a file could not be written, before anything is run."""
    if messages and trace is None:
        raise BadInput("--messages: expected --trace FILE, too")
    for option, file in (("--dump", dump), ("--trace", trace)):
        if file is None:
            continue
        with bad_path(option, file):
            if str(file) == STDIN or (file.exists() and not file.is_file()):
                raise BadInput(f"{option} {file}: expected the name of a file")
            if not file.absolute().parent.is_dir():
                raise BadInput(f"{option} {file}: expected a file in a folder that is there")
            if not os.access(file.absolute().parent, os.W_OK | os.X_OK):
                raise BadInput(f"{option} {file}: {file.absolute().parent} may not be written")
    if dump is not None and trace is not None and os.path.realpath(dump) == os.path.realpath(trace):
        raise BadInput(f"--trace {trace}: expected another file than the dump")

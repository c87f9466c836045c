"""The report on runs of a real ensemble: how often each property was broken, other faults, known issues."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from zabcheck.counterexample.pieces import servers_part
from zabcheck.counterexample.story import ServersPart
from zabcheck.invariants import Crash, Verdict
from zabcheck.search.coverage import State, states_of
from zabcheck.search.report.summary import STYLES
from zabcheck.text.pen import titled
from zabcheck.text.words import counted, phrase
from zabcheck.zookeeper.debugger.fields import in_words
from zabcheck.zookeeper.recording.folder import read
from zabcheck.zookeeper.recording.records import (
    Cast,
    Chose,
    Exited,
    FieldsRead,
    Killed,
    NotRead,
    PowerLost,
    Reached,
    Read,
    Timed,
)
from zabcheck.zookeeper.report.departure import KIND, departure
from zabcheck.zookeeper.report.servers_parts import servers_parts
from zabcheck.zookeeper.verdict.clients import CLIENT_PROPERTIES, ClientVerdict
from zabcheck.zookeeper.verdict.judge import SERIOUS_RULES, RecordingVerdict
from zabcheck.zookeeper.verdict.orders import Order


class ObservationCount(Struct):
    """An observation: the number of runs with it, the seed of the first, and the known issues that it looks like.

    `servers` is the part that they had in the first run, if this is a broken promise to clients.
    """

    name: str
    text: str
    runs: int
    first: int | None
    looks_like: tuple[str, ...] = ()
    servers: ServersPart | None = None


class TotalReach(Struct):
    """The states and orders of packets that runs have reached; the `newest` is the last of them to reach a new one."""

    states: set[State] = msgspec.field(default_factory=set)
    orders: set[Order] = msgspec.field(default_factory=set)
    newest: int = 0

    def add(self, judged: RecordingVerdict, run: int) -> None:
        """Add what a run has reached, which is the `run`-th."""
        states = states_of(judged.observation.events, judged.observation.header.processes)
        if not (states <= self.states and judged.orders <= self.orders):
            self.newest = run
        self.states |= states
        self.orders |= judged.orders

    def as_json(self) -> dict[str, int]:
        """Return the counts."""
        return {"states": len(self.states), "orders": len(self.orders), "newest": self.newest}


class EnsembleSummary(Struct):
    """Runs of an ensemble, added up. `seconds` is wall-clock time: an ensemble waits more than it computes.

    `partial` counts the runs that were not recorded to their end, `failed` those of them in which the ensemble itself
    did not work. `logged` is the number of deliveries in the transaction logs, `delivered` the number of these in the
    traces.
    """

    zookeeper: str
    servers: int
    runs: int = 0
    partial: int = 0
    failed: int = 0
    seconds: float = 0.0
    asked: int = 0
    acknowledged: int = 0
    epochs: int = 0
    packets: int = 0
    logged: int = 0
    delivered: int = 0
    exercised: dict[str, int] = {}
    """The number of runs that had something to judge, by property."""
    wrong: dict[str, ObservationCount] = {}
    noticed: dict[str, ObservationCount] = {}
    interrupted: bool = False
    simulated: bool = False
    """True if the servers were simulated, and not processes."""
    error: str = ""
    """The ensemble's last failure."""
    reached: TotalReach = msgspec.field(default_factory=TotalReach)

    def add(self, judged: RecordingVerdict, seed: int | None, seconds: float, error: str = "") -> None:
        """Add one run; `error` is a failure of the ensemble itself."""
        self.runs += 1
        self.partial += bool(judged.observation.partial)
        self.failed += bool(error)
        self.error = error or self.error
        self.seconds += seconds
        self.asked += judged.counts.asked
        self.acknowledged += judged.counts.acknowledged
        self.epochs += judged.counts.epochs
        self.packets += judged.steps.packets
        self.reached.add(judged, self.runs)
        self.logged += sum(each.logged for each in judged.coverage)
        self.delivered += sum(each.delivered for each in judged.coverage)
        verdicts: list[Verdict | ClientVerdict] = [*judged.verdicts, *judged.clients]
        for verdict in verdicts:
            self.exercised.setdefault(verdict.property, 0)
            self.exercised[verdict.property] += verdict.status in ("holds", "violated")
        issues = tuple(f"{each.issue.key}: {each.issue.title}" for each in judged.known)
        texts = {each.name: each.rule for each in judged.steps.divergences}
        texts |= {each.kind: each.text for each in judged.findings}
        for verdict in verdicts:
            if verdict.violation is not None:
                texts[verdict.property] = verdict.violation.summary
        texts[KIND] = departure(judged)
        for where, names in ((self.wrong, judged.wrong), (self.noticed, [KIND] * bool(texts[KIND]) + judged.noticed)):
            for name in names:
                seen = where.setdefault(name, ObservationCount(name, texts.get(name, ""), 0, seed, issues))
                seen.runs += 1
        for name, part in servers_parts(judged, [each.name for each in self.wrong.values() if each.runs > 1]).items():
            self.wrong[name].servers = part

    def as_json(self) -> dict[str, Any]:
        """Return the fields of the JSON form."""
        fields: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(self, reached=TotalReach()))
        fields["reached"] = self.reached.as_json()
        exercised: dict[str, int] = fields.pop("exercised")
        broken = {name: seen.runs for name, seen in self.wrong.items()}
        properties = [
            {"property": name, "exercised": runs, "violated": broken.get(name, 0)} for name, runs in exercised.items()
        ]
        seen = {name: list(fields.pop(name).values()) for name in ("wrong", "noticed")}
        return fields | {"properties": properties} | seen


def what_was_done(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the acts upon the ensemble with their times: roles of servers, choices, ends of servers.

    Times are in seconds since the servers were up. RecordingError if the recording in `folder` cannot be read.
    """
    start = 0
    lines: dict[tuple[str, int], tuple[str, str]] = {}
    for record in read(folder):
        if isinstance(record, Cast):
            start = record.time
            lines["cast", 0] = (
                "",
                ", ".join(f"{role} is p{server}" for role, server in record.roles.items()) + "; pN is server N",
            )
        elif start and isinstance(record, Timed):
            when = f"{(record.time - start) / 1_000_000:.1f} s"
            match record:
                case Chose(_, number, words, note):  # comes once more with a note, which goes where the choice began
                    begun = lines.get(("choice", number), (when, words))
                    lines["choice", number] = begun[0], words + (f": {note}" if note else "")
                case Killed(time, server):
                    lines["end", time] = when, f"  p{server} is killed"
                case Exited(time, server, code):
                    lines["end", time] = when, f"  p{server} ends by itself with exit code {code}"
                case Reached(time, server, point, thread, what):
                    lines["reached", time] = when, f"  p{server}, {point}: {thread} {_BECAME[what]}"
                case PowerLost(time, server):
                    lines["power", time] = when, f"  p{server} is without power: {_lost(record)}"
                case FieldsRead(time, server, values):
                    lines["fields", time] = when, f"  p{server}: {in_words(values)}"
                case Read() | NotRead():
                    lines["read", 0] = when, "all is healed and up, and every server is read"
                    break
    yield from lines.values()


_BECAME = {
    "held": "is held",
    "killed": "comes: the server is killed",
    "failed": "comes: it fails",
    "lost": "comes: the power fails",
}
"""The fate of a thread at a point, by `Reached.what`."""


def _lost(record: PowerLost) -> str:
    """Return the writes that a server's folder lost by a power failure, as text."""
    files = (
        f"{name} is gone" if size is None else f"{name} ends at byte {size}" for name, size in record.files.items()
    )
    renamed = [f"{name} is {name}.tmp again" for name in record.undone]
    lost = [f"it {phrase(Crash(record.server, 0, record.lost))}"] if record.lost else []
    said = "; ".join([*lost, *files, *renamed]) or "it loses nothing"
    return said + (f" ({record.short})" if record.short else "")


def noticed_in(judged: RecordingVerdict) -> Iterator[tuple[str, str]]:
    """Yield findings other than broken properties: the first of each kind, and the number of further ones."""
    every = [(KIND, left)] if (left := departure(judged)) else []
    every += [(each.property, each.violation.summary) for each in judged.clients if each.violation is not None]
    every += [(each.kind, f"server {each.server}: {each.text}") for each in judged.findings]
    every += [("Zab's steps", each.sentence()) for each in judged.steps.divergences]
    counts = Counter(kind for kind, _ in every)
    first = dict(reversed(every))
    for kind in dict.fromkeys(kind for kind, _ in every):
        yield kind, first[kind] + (f" (and {counts[kind] - 1} more)" if counts[kind] > 1 else "")


def worst_in(judged: RecordingVerdict) -> str:
    """Return a heading for the worst fault of a run whose trace breaks no property; "" if none counts."""
    if judged.violated or not judged.wrong:
        return ""
    name = judged.wrong[0]
    if name in CLIENT_PROPERTIES:
        return f"{name} is violated"
    return "a packet follows from no step of Zab" if name in SERIOUS_RULES else name


def render(summary: EnsembleSummary) -> RenderableType:
    """Render the tables, and a line of totals."""
    parts: list[RenderableType] = [_properties(summary)]
    for title, seen in (("wrong", summary.wrong), ("noticed besides", summary.noticed)):
        others = [each for each in seen.values() if each.name not in summary.exercised]
        if others:
            parts += ["", _seen(title, others, summary.runs)]
    parts += _servers(summary)
    known = {issue: None for each in (*summary.wrong.values(), *summary.noticed.values()) for issue in each.looks_like}
    if known:
        parts += ["", Text("known issues whose signature fits", "bold"), *(f"  {issue}" for issue in known)]
    return Group(*parts, "", _totals(summary))


def _servers(summary: EnsembleSummary) -> Iterator[RenderableType]:
    """Yield what is known of the servers in broken promises to clients; equal parts are told once."""
    parts: dict[ServersPart, list[str]] = {}
    for each in summary.wrong.values():
        if each.servers is not None:
            parts.setdefault(each.servers, []).append(each.name)
    for part, names in parts.items():
        yield from ("", Text(f"the servers' part in: {', '.join(names)}", "bold"))
        yield from (Padding(Text(line), (0, 0, 0, 2)) for line in servers_part(part))


def _properties(summary: EnsembleSummary) -> Table:
    figures = "runs that exercised it", "that broke it", "first seed"
    table = titled("properties", "property", "verdict", *figures, figures=figures)
    for name, exercised in summary.exercised.items():
        broken = summary.wrong.get(name)
        verdict = "violated" if broken else "holds" if exercised else "not exercised"
        if verdict == "holds" and summary.partial == summary.runs:
            verdict = "inconclusive"
        table.add_row(
            name,
            Text(verdict, STYLES[verdict]),
            f"{exercised:,}",
            f"{broken.runs:,}" if broken else "",
            "" if broken is None or broken.first is None else str(broken.first),
        )
    return table


def _seen(title: str, seen: list[ObservationCount], runs: int) -> Table:
    table = titled(title, "runs", "first seed", "what", figures=("runs", "first seed"))
    for each in sorted(seen, key=lambda each: -each.runs):
        what = each.name if not each.text or each.text == each.name else f"{each.name}: {each.text}"
        table.add_row(f"{each.runs:,}", "" if each.first is None else str(each.first), Text(what))
    return table


def _totals(summary: EnsembleSummary) -> Text:
    servers = "simulated servers" if summary.simulated else "servers"
    text = Text(
        f"ZooKeeper {summary.zookeeper}, {summary.servers} {servers}: {counted(summary.runs, 'run', 'runs')} in "
        f"{summary.seconds:,.0f} s, {counted(summary.epochs, 'epoch', 'epochs')}, "
        f"{summary.acknowledged:,} of {summary.asked:,} writes "
        f"acknowledged, {summary.packets:,} packets judged"
    )
    if summary.logged:
        share = 100 * summary.delivered / summary.logged
        text.append(
            f"\n{share:.2f} % of the {summary.logged:,} deliveries that the transaction logs show are in the traces"
        )
    if summary.runs > 1:
        states, orders = len(summary.reached.states), len(summary.reached.orders)
        text.append(
            f"\n{counted(states, 'abstract state', 'abstract states')} and "
            f"{counted(orders, 'packet order', 'packet orders')} reached, "
            f"the last new one in run {summary.reached.newest:,}"
        )
    if summary.partial:
        text.append(f"\n{counted(summary.partial, 'run was', 'runs were')} not recorded to the end", "yellow")
    if summary.interrupted:
        text.append("\ninterrupted: this is what was done so far", "yellow")
    if summary.failed:
        text.append(f"\nin {counted(summary.failed, 'run', 'runs')} the ensemble failed: {summary.error}", "red")
    return text

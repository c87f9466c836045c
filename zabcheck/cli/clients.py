"""`zabcheck clients`: what the clients of a service that speaks ZooKeeper's protocol were promised."""

import asyncio
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from shutil import copyfileobj, which
from tempfile import TemporaryDirectory, TemporaryFile
from time import process_time
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, NamedTuple

import msgspec
import typer

from zabcheck.cli.check import JudgingEngine
from zabcheck.cli.commands import BadInput, Commands, Format, Formats, app, command_of, example_of
from zabcheck.cli.files import STDIN, bad_input_for, bad_path, check_file, check_out, opened, writing
from zabcheck.cli.output import doing, interrupts, make_console, print_json, print_path
from zabcheck.cli.tables import render_promises
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, conclude, named
from zabcheck.extras import pip_install
from zabcheck.garbage import rare_collections
from zabcheck.invariants.diagnosis import like
from zabcheck.text.files import whole, write_all
from zabcheck.text.words import as_text, counted
from zabcheck.zookeeper.clients import edn, forms
from zabcheck.zookeeper.clients.disturbance import Command
from zabcheck.zookeeper.clients.exchange import Exchange, read
from zabcheck.zookeeper.clients.history import HistoryError, HistoryFile, HistoryLine, InitialNode, Record, dump, load
from zabcheck.zookeeper.clients.judge import PROMISES, Judgement, judge, judge_columns
from zabcheck.zookeeper.clients.minimise import SECONDS, Least, least
from zabcheck.zookeeper.clients.picture import marks_of, pictures
from zabcheck.zookeeper.clients.promise import Breach, Linearizability
from zabcheck.zookeeper.clients.proxy import SERVERS, Proxy
from zabcheck.zookeeper.clients.recorder import NotServed, Recorder, Target
from zabcheck.zookeeper.clients.registers import MOST_STATES
from zabcheck.zookeeper.clients.words import words
from zabcheck.zookeeper.report.clients import BreachReport, listed, page, render, told_of_least

if TYPE_CHECKING:
    from zabcheck.zookeeper.clients.screen import Gathering  # loads numpy, which not every command needs
    from zabcheck.zookeeper.run.disturbed import ServerDisturbances  # loads kazoo, an extra
    from zabcheck.zookeeper.run.ensemble import Ensemble

_PATIENCE = 60.0
"""Seconds that servers of one's own may take to start."""
_AS_THEY_ARE: Mapping[str, str] = {}
"""Renamed functions by default: none, as all have their names in Jepsen."""

clients = typer.Typer(
    name="clients",
    cls=Commands,
    epilog=example_of("clients"),
    help="Check what a service that speaks ZooKeeper's protocol promises to its clients.",
)
app.add_typer(clients, name="clients")


class JudgedHistory(NamedTuple):
    """A history, its verdicts, and the line of each record of a witness."""

    name: str
    judgements: list[Judgement]
    lines: dict[Record | InitialNode, int]
    """Empty for a history of Jepsen, whose operations are numbered."""
    records: Iterable[HistoryLine]
    """All lines; none if nothing is broken."""
    is_jepsen: bool = False

    @property
    def age(self) -> int | None:
        """The longest time, in ns, for which a read missed a write that had been answered; None if nobody knows."""
        return max((each.age for each in self.judgements if each.age is not None), default=None)

    @property
    def reads(self) -> Linearizability | None:
        """Return whether reads are linearizable; None if nobody knows, or no order explains them."""
        return next((each.reads for each in self.judgements if each.reads is not None), None)


class _Finding(NamedTuple):
    """A breach, and how it is shown."""

    breach: Breach
    shown: BreachReport


@command_of(clients)
def check(
    histories: Annotated[
        list[str],
        typer.Argument(metavar="HISTORY...", help="JSON Lines, Parquet or Jepsen's EDN; - is standard input."),
    ],
    promise: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Judge only this promise; repeat it for more.")
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the page of a history that breaks a promise is written.")
    ] = Path("reports"),
    functions: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="F=OP", help="Function F of a Jepsen test is a read, write, cas or txn."),
    ] = None,
    bound: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            min=0,
            max=1e9,
            help="Judge timeliness: a read has to show each write that was answered more than S seconds before.",
        ),
    ] = None,
    format: Formats = Format.text,
    engine: Annotated[
        JudgingEngine,
        typer.Option(help="Where to judge: in this process, or by Spark, each history in a task of its own."),
    ] = JudgingEngine.local,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="With --engine spark: the master, as spark-submit takes it.")
    ] = None,
    divide: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --engine spark: divide each history among tasks, which share their results in this folder.",
        ),
    ] = None,
) -> int:
    """Judge histories: what clients asked, were answered and heard (docs/clients.md)."""
    for name in promise or ():
        if name not in PROMISES:
            raise BadInput(f"--promise: no promise `{name}`; {like(name, PROMISES)}")
    for name in histories:
        if name == STDIN and histories.count(name) > 1:
            raise BadInput(f"{name}: named more than once, expected at most once")
    check_out(out)
    meant, longest = dict(map(_meant, functions or ())), None if bound is None else round(bound * 1e9)
    if engine is JudgingEngine.spark:
        if divide is not None and not divide.is_dir():
            raise BadInput(f"--divide: expected a folder, found none: {as_text(divide)}")
        judged = _judged_by_spark(histories, promise or (), meant, master, divide, longest)
        return _tell("clients check", judged, out, format)
    for option, value in (("--master", master), ("--divide", divide)):
        if value is not None:
            raise BadInput(f"{option}: only with --engine spark")
    return _tell("clients check", [_judged(name, promise or (), meant, longest) for name in histories], out, format)


def _meant(text: str) -> tuple[str, str]:
    """Return a function of Jepsen, and the one that it is. BadInput."""
    function, _, operation = text.rpartition("=")
    if not function or operation not in edn.OPERATIONS:
        raise BadInput(f"--map: expected F=OP, with an OP of {', '.join(edn.OPERATIONS)}, found `{text}`")
    return function.removeprefix(":"), operation


def _tell(command: str, judged: list[JudgedHistory], out: Path, format: Format, **more: Any) -> int:
    """Print the verdicts on histories, write the pages of broken promises into `out`, and return the exit code.

    `more`: further fields of the JSON document.
    """
    codes = [_outcome(each)[0] for each in judged]
    code = VIOLATED if VIOLATED in codes else max(codes)
    broken = [[*_broken(each)] for each in judged]
    with writing("--out", out):
        written = [
            _write(each.name, findings, out) if findings else _WrittenFiles(None, {})
            for each, findings in zip(judged, broken, strict=True)
        ]
    if format is Format.json:
        print_json(command, histories=[*map(_as_json, judged, broken, written)], **more)
        return code
    console = make_console()
    for each, findings, files in zip(judged, broken, written, strict=True):
        print_path(console, each.name, style="bold")
        for _, shown in findings:
            print_path(console, f"{shown.heading}: {shown.summary}", style="red")
            for statement, source in shown.promises:
                print_path(console, f"  promised: {statement.removesuffix('.')} ({source})")
            for mark, place, said in shown.witness:
                print_path(console, f"  {mark} {place:<11}{said}" if place else f"  {mark} {said}")
            print_path(console, f"  {told_of_least(shown)}")
            for place, said in listed(shown):
                print_path(console, f"     {place:<11}{said}" if place else f"     {said}")
            console.print(render(shown))
        told = [one for one in each.judgements if one.judged or not each.is_jepsen]
        console.print(render_promises(told or each.judgements))
        if told and len(told) < len(each.judgements):
            console.print("the other promises need zxids, watches or sessions, which Jepsen's histories do not have")
        if each.reads is not None:
            print_path(console, _of_reads(each.reads))
        if each.age is not None:
            console.print(f"the greatest age of a read: {each.age / 1e9:.3f} s")
        for file in files.all:
            print_path(console, f"wrote {file}")
    why = _outcome(judged[codes.index(code)])[1]
    if len(judged) > 1:
        first, how_many = judged[codes.index(code)].name, counted(len(judged), "history", "histories")
        why = f"{codes.count(code):,} of {how_many}, the first of them {first}: {why}"
    return conclude(console, code, why)


def _of_reads(reads: Linearizability) -> str:
    if reads.holds is None:
        return f"whether reads are linearizable, too, is undecided after {MOST_STATES:,} states"
    if reads.holds:
        return "reads are linearizable, too"
    said = "; ".join(map(_said, reads.witness))
    return f"reads are not linearizable, which ZooKeeper does not promise: {said}"


class _WrittenFiles(NamedTuple):
    """The files of a history: its page, and by breach the least history that shows it."""

    page: Path | None
    least: dict[Breach, Path]

    @property
    def all(self) -> list[Path]:
        return [*self.least.values(), *([] if self.page is None else [self.page])]


def _write(name: str, findings: Sequence[_Finding], out: Path) -> _WrittenFiles:
    """Write a history's page, and the least history of each finding; names have the start of the page's SHA-256."""
    made = page(Path(name).name, [each.shown for each in findings]).encode()
    stem = re.sub(r"[^\w-]+", "-", Path(name).stem).strip("-")
    stem = f"{stem}-{sha256(made).hexdigest()[:8]}"
    least = {
        each.breach: (f"{stem}-{number}.jsonl", b"".join(dump(each.shown.least.history())))
        for number, each in enumerate(findings, 1)
        if each.shown.least is not None
    }
    write_all(out, {f"{stem}.html": made, **dict(least.values())})
    return _WrittenFiles(out / f"{stem}.html", {breach: out / file for breach, (file, _) in least.items()})


Out = Annotated[Path, typer.Option(metavar="FILE", help="Where the history is written, as JSON Lines.")]


@command_of(clients)
def record(
    connect: Annotated[str | None, typer.Option(metavar="HOST:PORT,…", help="The servers of the service.")] = None,
    classpath: Annotated[
        str | None,
        typer.Option(
            metavar="PATHS",
            help="Start three servers of ZooKeeper with these jars, or those of `pyspark`, instead; hold them back, "
            "stop and kill them meanwhile.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Where the history is written; as Parquet if it ends in .parquet.")
    ] = Path("history.jsonl"),
    requests: Annotated[int, typer.Option(metavar="N", min=1, help="How many requests are sent.")] = 10_000,
    seconds: Annotated[float, typer.Option(metavar="S", min=0.1, help="How long they are sent, at most.")] = 60.0,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Draws the requests and the faults of connections.")
    ] = 1,
    faults: Annotated[bool, typer.Option(help="Cut connections, and let sessions end and expire.")] = True,
    disturb: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Run this command again and again, to disturb the servers."),
    ] = None,
    format: Formats = Format.text,
) -> int:
    """Record sessions of its own at a service, which exercise each promise, and judge their history."""
    if (connect is None) == (classpath is None):
        raise BadInput("expected either --connect, the servers of a service, or --classpath")
    if classpath is not None and disturb is not None:
        raise BadInput("--disturb: not with --classpath, whose servers are disturbed already; see --faults")
    targets = [] if connect is None else _addresses("--connect", connect)
    check_file("--out", out)
    dump = _writer(out)
    command = None if disturb is None else _command(disturb)
    own: ServerDisturbances | None = None
    with ExitStack() as stack:
        if classpath is not None:
            ensemble = stack.enter_context(_own_servers(classpath))
            targets = [Target("127.0.0.1", ensemble.client_port(number)) for number in ensemble.servers]
            own = _disturbed(ensemble) if faults else None
        stack.enter_context(bad_path("--out", out))
        target = stack.enter_context(TemporaryFile())
        history = HistoryFile(target)
        recorder = Recorder(targets, seed, history.write, faults=faults, disturbance=command or own)
        with bad_input_for(NotServed, "--connect: "):
            recorder.begin()
        with suppress(KeyboardInterrupt), interrupts() as look:
            recorder.run(requests, seconds, look)
        recorder.finish()
        history.close()
        target.seek(0)
        with whole(out) as file:
            dump(target, file)
    disturbed: dict[str, Any] | None = None
    said = ""
    if command is not None:
        disturbed = {"command": disturb, "times": command.times, "failed": command.failed}
        said = _of_command(str(disturb), command)
    elif own is not None:
        disturbed = {"command": None, "times": own.times, "failed": 0}
        said = _of_own_servers(own)
    if said and format is Format.text:
        print_path(make_console(), said)
    return _tell("clients record", [_judged(str(out), ())], out.parent, format, disturbed=disturbed)


def _of_command(text: str, command: Command) -> str:
    failed = f", and failed {command.failed}" if command.failed else ""
    return f"`{text}` ran {counted(command.times, 'time', 'times')}{failed}"


def _of_own_servers(own: "ServerDisturbances") -> str:
    return (
        f"a server was held back, two were stopped, and the leader was killed {counted(own.times, 'time', 'times')} "
        f"(with multis open: {own.with_multis})"
    )


@contextmanager
def _own_servers(classpath: str) -> "Iterator[Ensemble]":
    """Start three servers that serve clients, and stop them in the end. BadInput."""
    from zabcheck.cli.zookeeper.builds import found_distribution
    from zabcheck.zookeeper.run.ensemble import EnsembleError

    distribution = found_distribution(None, None, classpath)
    from zabcheck.zookeeper.run.disturbed import OPTIONS
    from zabcheck.zookeeper.run.processes import ProcessEnsemble

    with bad_input_for(EnsembleError, "--classpath: "), TemporaryDirectory() as folder:
        distribution = distribution._replace(options=OPTIONS)
        with ProcessEnsemble(3, distribution, Path(folder), lambda _: None, deliveries=False) as ensemble:
            for number in ensemble.servers:
                ensemble.start(number)
            if not ensemble.await_patiently(_PATIENCE, lambda: all(map(ensemble.served, ensemble.servers))):
                raise EnsembleError(f"three servers do not serve clients within {_PATIENCE:g} s")
            yield ensemble


def _disturbed(ensemble: "Ensemble") -> "ServerDisturbances":
    from zabcheck.zookeeper.run.disturbed import ServerDisturbances

    return ServerDisturbances(ensemble)


def _command(text: str) -> Command:
    """Return the command that disturbs servers. BadInput."""
    with bad_input_for(ValueError, "--disturb: "):
        command = shlex.split(text)
    if not command or which(command[0]) is None:
        raise BadInput(f"--disturb: expected a command, found no program `{command[0] if command else ''}`")
    return Command(command)


def _writer(out: Path) -> Callable[[BinaryIO, BinaryIO], None]:
    """Return the function that copies a history to a file, as Parquet if its name says so. BadInput."""
    if out.suffix != ".parquet":
        return copyfileobj
    with _needs_parquet(str(out)):
        from zabcheck.zookeeper.clients import parquet
    return lambda lines, file: parquet.dump(load(lines, str(out)), file)


@command_of(clients)
def proxy(
    listen: Annotated[str, typer.Option(metavar="HOST:PORT,…", help="Where clients connect, one for each server.")],
    to: Annotated[str, typer.Option(metavar="HOST:PORT,…", help="The servers of the service.")],
    out: Out = Path("history.jsonl"),
    seconds: Annotated[
        float | None, typer.Option(metavar="S", min=0.1, help="How long; by default until Ctrl-C.")
    ] = None,
    format: Formats = Format.text,
) -> int:
    """Stand between clients and a service, record what they ask and are answered, and judge their history."""
    listening, targets = _addresses("--listen", listen), _addresses("--to", to)
    if len(listening) != len(targets):
        raise BadInput(f"--listen: expected an address for each of --to, {len(targets)} of them")
    check_file("--out", out)
    with bad_path("--out", out), out.open("wb") as target:
        history = HistoryFile(target)
        passing = Proxy(listening, targets, history.write)
        try:
            with bad_path("--listen", Path(listen)), suppress(KeyboardInterrupt):
                asyncio.run(passing.run(seconds, partial(_listens, listening)))
        except BadInput:
            out.unlink()
            raise
        history.close()
    told = sorted(passing.told_of_servers)
    if told and format is Format.text:
        who = counted(len(told), "client has", "clients have")
        print_path(
            make_console(),
            f"{who} asked for the service's servers ({SERVERS}): what goes to one of these directly is not recorded",
        )
    return _tell("clients proxy", [_judged(str(out), ())], out.parent, format, told_of_servers=told)


def _listens(listening: Sequence[Target], ports: Sequence[int]) -> None:
    addresses = ", ".join(f"{each.host}:{port}" for each, port in zip(listening, ports, strict=True))
    print(f"clients may connect to {addresses}; Ctrl-C ends it", file=sys.stderr, flush=True)


def _addresses(option: str, text: str) -> list[Target]:
    """Return addresses that an option names. BadInput."""
    targets = []
    for each in text.split(","):
        host, _, port = each.rpartition(":")
        if not (host and port.isdecimal() and len(port) < 6 and int(port) < 1 << 16):
            raise BadInput(f"{option}: expected HOST:PORT, found `{each}`")
        targets.append(Target(host.strip("[]"), int(port)))
    return targets


def _judged(
    name: str, promises: Sequence[str], meant: Mapping[str, str] = _AS_THEY_ARE, bound: int | None = None
) -> JudgedHistory:
    shown = "standard input" if name == STDIN else as_text(name)
    with bad_input_for(HistoryError), opened(name) as source, rare_collections():
        is_jepsen = forms.is_jepsen(source)
        if is_jepsen or not source.seekable():
            lines = _lines(source, shown, meant, bound)
            return _with_lines(shown, judge(read(lines, shown), promises), lines, is_jepsen)
        start, lines = source.tell(), []

        def gather(gathering: "Gathering") -> None:
            with _needs_parquet(shown):
                forms.gather(source, shown, gathering, bound)

        def again() -> Exchange:
            source.seek(start)
            lines.extend(_lines(source, shown, meant, bound))
            return read(lines, shown)

        return _with_lines(shown, judge_columns(gather, again, promises), lines, is_jepsen)


def _lines(source: BinaryIO, name: str, meant: Mapping[str, str], bound: int | None) -> list[HistoryLine]:
    with _needs_parquet(name):
        return [*forms.load(source, name, meant, bound)]


@contextmanager
def _needs_parquet(name: str) -> Iterator[None]:
    """Turn an extra that is not installed into BadInput, with the command that installs it."""
    try:
        yield
    except ImportError:
        raise BadInput(f"{name}: for Parquet files, {pip_install('parquet')}") from None


def _with_lines(name: str, judgements: list[Judgement], lines: Iterable[HistoryLine], is_jepsen: bool) -> JudgedHistory:
    wanted = {record for each in judgements if each.breach is not None for record in each.breach.witness}
    found = _found(lines, wanted) if wanted and not is_jepsen else {}
    return JudgedHistory(name, judgements, found, lines if wanted else [], is_jepsen)


def _judged_by_spark(
    histories: Sequence[str],
    promises: Sequence[str],
    meant: Mapping[str, str],
    master: str | None,
    divide: Path | None = None,
    bound: int | None = None,
) -> list[JudgedHistory]:
    """Judge histories on Spark. A history that breaks a promise is read here, too, to be drawn."""
    from zabcheck.cli.campaign.report import needed

    if STDIN in histories:
        raise BadInput("-: expected files, as Spark reads no standard input")
    judged = []
    with needed(), bad_input_for(HistoryError):
        from zabcheck.zookeeper.campaign import histories as stored

        with doing("reading what is stored") as say:
            if divide is None:
                found = stored.judge_stored(histories, promises, meant, master, say, bound)
            else:
                found = stored.judge_in_parts(histories, promises, meant, divide, master, say, bound)
        for file, judgements in found:
            name = as_text(file)
            with stored.opened(file) as source:
                is_jepsen = forms.is_jepsen(source)
            lines = _StoredLines(partial(stored.opened, file), name, meant, bound)
            judged.append(_with_lines(name, judgements, lines, is_jepsen))
    return judged


class _StoredLines:
    """The lines of a file, which is read anew each time: it may be too long for the memory."""

    def __init__(
        self,
        opened: Callable[[], AbstractContextManager[BinaryIO]],
        name: str,
        meant: Mapping[str, str],
        bound: int | None,
    ) -> None:
        self._opened = opened
        self._name = name
        self._meant = meant
        self._bound = bound

    def __iter__(self) -> Iterator[HistoryLine]:
        with self._opened() as source, _needs_parquet(self._name):
            yield from forms.load(source, self._name, self._meant, self._bound)


def _found(lines: Iterable[HistoryLine], wanted: set[Record | InitialNode]) -> dict[Record | InitialNode, int]:
    """Return the first line of each of these records."""
    kinds = {type(record) for record in wanted}
    found: dict[Record | InitialNode, int] = {}
    for number, line in enumerate(lines, 1):
        if type(line) in kinds and line in wanted:
            found.setdefault(line, number)
    return found


def _broken(judged: JudgedHistory) -> Iterator[_Finding]:
    """Yield each breach once, with the promises that it breaks."""
    until = process_time() + SECONDS
    found: dict[tuple[object, ...], list[Judgement]] = {}
    for each in judged.judgements:
        if each.breach is not None:
            found.setdefault((each.breach.summary, each.breach.witness), []).append(each)
    for several in found.values():
        breach, names = several[0].breach, [each.promise.name for each in several]
        assert breach is not None
        marks = marks_of(breach.witness)
        part = least(judged.records, breach, names, until - process_time())
        shown = BreachReport(
            heading=_are_broken(names),
            summary=breach.summary,
            promises=tuple((each.promise.statement, each.promise.source) for each in several),
            witness=tuple((mark, *_line(judged, each)) for mark, each in zip(marks, breach.witness, strict=True)),
            pictures=tuple(pictures(judged.records, breach, names)),
            least=part,
            beside=() if part is None else tuple(_beside(judged, part, breach)),
        )
        yield _Finding(breach, shown)


def _beside(judged: JudgedHistory, part: Least, breach: Breach) -> Iterator[tuple[str, str]]:
    """Yield the records of a least history that are not in the witness, each with its line, and as text."""
    for number, line in part.lines:
        if line not in breach.witness:
            yield f"line {number}" if judged.lines else "", _said(line)


def _are_broken(promises: Sequence[str]) -> str:
    return f"{named(promises)} {'is' if len(promises) == 1 else 'are'} broken"


def _line(judged: JudgedHistory, record: Record | InitialNode) -> tuple[str, str]:
    """Return the line of a record of a witness, and the record as text."""
    return f"line {judged.lines[record]}" if record in judged.lines else "", _said(record)


def _said(line: HistoryLine | Record) -> str:
    return f"client {line.client} {words(line)}" if isinstance(line, Record) else words(line)


def _outcome(judged: JudgedHistory) -> tuple[int, str]:
    broken = [each.promise.name for each in judged.judgements if each.status == "violated"]
    exercised = [each for each in judged.judgements if each.judged]
    if broken:
        return VIOLATED, _are_broken(broken)
    undecided = [each.promise.name for each in judged.judgements if each.status == "inconclusive"]
    if not all(each.is_whole for each in judged.judgements):
        return INCONCLUSIVE, "the history does not end with `end`"
    if undecided:
        return INCONCLUSIVE, f"{named(undecided)} {'is' if len(undecided) == 1 else 'are'} undecided: {_why(undecided)}"
    if not exercised:
        return INCONCLUSIVE, "the history exercises no promise"
    if len(exercised) == 1:
        return OK, "the history keeps the only promise that it exercises"
    return OK, f"the history breaks none of {len(exercised)} promises that it exercises"


def _why(undecided: Sequence[str]) -> str:
    """Return why promises of a whole history are undecided."""
    reasons = {
        f"no order was found within {MOST_STATES:,} states, or values were written twice"
        if each == "one order"
        else "events are missing, about nodes that not everybody is allowed to read"
        for each in undecided
    }
    return "; ".join(sorted(reasons))


def _as_json(judged: JudgedHistory, findings: Sequence[_Finding], files: _WrittenFiles) -> dict[str, Any]:
    least = {each.breach: _least_as_json(judged, each.shown.least, files.least.get(each.breach)) for each in findings}
    promises = [_promise_as_json(judged, each, least) for each in judged.judgements]
    page = files.page and as_text(files.page)
    reads = judged.reads and {
        "linearizable": judged.reads.holds,
        "witness": [msgspec.to_builtins(record) for record in judged.reads.witness],
    }
    return {"history": judged.name, "promises": promises, "age": judged.age, "reads": reads, "page": page}


def _least_as_json(judged: JudgedHistory, part: Least | None, file: Path | None) -> dict[str, Any] | None:
    if part is None or file is None:
        return None
    lines = [each.number for each in part.lines] if judged.lines else None
    return {"file": as_text(file), "count": len(part.lines), "lines": lines, "minimal": part.is_minimal}


def _promise_as_json(
    judged: JudgedHistory, judgement: Judgement, least: Mapping[Breach, dict[str, Any] | None]
) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "promise": judgement.promise.name,
        "kind": judgement.promise.kind,
        "status": judgement.status,
        "judged": judgement.judged,
        "breach": None,
    }
    if judgement.breach is not None:
        breach = judgement.breach
        fields["breach"] = {
            "summary": breach.summary,
            "kind": breach.kind,
            "zxid": breach.zxid,
            "witness": [{"line": judged.lines.get(record), **msgspec.to_builtins(record)} for record in breach.witness],
            "least": least[breach],
        }
    return fields

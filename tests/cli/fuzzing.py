"""Random input of every kind for the command: case NUMBER of a kind is the same everywhere.

Each case ends in a verdict, or in one line that says what is wrong, within a bound of CPU time.
"""

import re
import signal
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from random import Random
from time import process_time
from typing import Any, get_args

import msgspec
import typer
from msgspec import inspect

from invariants import GROUPS, PROPERTIES, End, Event, Header, trace
from invariants.events import Local
from tests.cli.command import BROKEN_SCHEDULE, CALM_SCHEDULE, ROOT, trace_of
from tests.ensemble.disk.disks import disk, real
from tests.invariants.builders import split
from tests.invariants.traces import random_trace
from zabcheck import cli
from zabcheck.cli import verdict
from zabcheck.counterexample.forms.exports import FORMS
from zabcheck.ensemble.recording.folder import RECORDING
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.protocols.switches import Switches
from zabcheck.scenarios import SCENARIOS
from zabcheck.search.run import replay
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import AnyChoice

SAID = ("zabcheck: ", "PASS: ", "FAIL: ", "INCONCLUSIVE: ")
"""How a line on standard error begins."""
SECONDS = 20
"""CPU time that a case may take; the slowest take a tenth of it."""

SCHEDULES = [CALM_SCHEDULE, BROKEN_SCHEDULE]
HEALTHY = {file.name: file.read_bytes() for file in sorted((ROOT / "tests/ensemble/healthy-3.8.0").iterdir())}
"""A recording of a real ensemble, file by file."""
TRACES = [replay(schedules.load(data, "schedule")).trace for data in SCHEDULES]
TRACES += [trace_of(random_trace(seed).events, "per-process", 9) for seed in range(4)]

NUMBERS = [-1, 0, 1, 2, 3, 4, 7, 999, 1000, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64, 10**25, 0.5, 1.0, 1e300]
TEXTS = ["", "x", "é☃\x00\x1b", "x" * 999, "per-process", "total order", "no-truncation", "weights 1,1,1", "sets 1+2"]
TAGS = [
    "header",
    "end",
    "restore",
    "recover",
    "crash",
    "deliver",
    "broadcast",
    "lead",
    "split",
    "heal",
    "settle",
    "cut",
]
REST: list[Any] = [None, True, [], [0], [1, 2], [2, 1], [1, 2, 3], [[]], {}, {"a": 1}, {"zxid": [1, 1], "value": "y"}]
VALUES = [*NUMBERS, *TEXTS, *TAGS, *REST]
BYTES = [b"", b"\x00", b"\xff", b'"', b"\\", b"{", b"}", b"[" * 2000, b",", b"\n", b"\r", b"\r\n", b"\n\n", b"NaN"]
BYTES += [b"-", b"1" * 5000, b"\\ud800", b"1.0", b"1e9"]
STARTS = [b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b\x08", b"PK\x03\x04", b"\n", b"\r\n", b" "]

# The command, called.

_command = typer.main.get_command(cli.all_commands())


class Hang(BaseException):
    """The case took too long; no handler in the program takes it for an error of its own."""


@contextmanager
def limited() -> Iterator[None]:
    """No more than SECONDS of CPU time."""

    def stop(*_: object) -> None:
        raise Hang(f"more than {SECONDS} seconds of CPU time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def call(arguments: Sequence[str], stdin: bytes = b"") -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the command, within this process."""
    out, err = (TextIOWrapper(BytesIO(), "utf-8") for _ in range(2))
    before, sys.stdin = sys.stdin, TextIOWrapper(BytesIO(stdin), "utf-8")
    try:
        with limited(), redirect_stdout(out), redirect_stderr(err):
            code = cli.guarded(lambda: _command(arguments, prog_name="zabcheck", standalone_mode=False))
    finally:
        sys.stdin = before
    out.flush()
    err.flush()
    return code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()  # type: ignore[attr-defined]  # BytesIO


def answers(arguments: Sequence[str], starts: Sequence[str] = ("",), stdin: bytes = b"") -> int:
    """The command ends by itself, with a verdict or with one line; its exit code."""
    code, out, err = call(arguments, stdin)
    if code == verdict.BAD_INPUT:
        assert out == ""
        assert err.startswith(tuple(f"zabcheck: {start}" for start in starts))
        assert err[:-1].isprintable()
        assert err.endswith("\n")
        assert len(err) < 6000
    else:
        assert code in (verdict.OK, verdict.VIOLATED, verdict.INCONCLUSIVE)
        told = err.splitlines()
        assert not told or list(arguments)[:1] == ["db19"]  # whose standard output is the digest, and nothing else
        assert all(line.startswith(SAID) and line.isprintable() for line in told)
        assert out != ""
    return code


# Changes.


def change_bytes(rng: Random, data: bytes) -> bytes:
    start = rng.randrange(len(data) + 1)
    return data[:start] + rng.choice(BYTES) + data[start + rng.choice([0, 0, 1, 2, 40]) :]


def change_start(rng: Random, data: bytes) -> bytes:
    return rng.choice(STARTS) + data


def cut_off(rng: Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def change_lines(rng: Random, data: bytes) -> bytes:
    """Leave a line out, repeat one, or let two change places."""
    lines = data.splitlines(keepends=True) or [b""]
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.choice(["drop", "repeat", "swap"]):
        case "drop":
            del lines[first]
        case "repeat":
            lines.insert(second, lines[first])
        case _:
            lines[first], lines[second] = lines[second], lines[first]
    return b"".join(lines)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container in a JSON value with each of its keys or indices."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def change_value(rng: Random, value: Any) -> None:
    """Replace, leave out or add something somewhere in a JSON value."""
    found = list(places(value))
    if not found:
        return
    container, key = rng.choice(found)
    match rng.choice(["replace", "replace", "drop", "add"]):
        case "replace":
            container[key] = rng.choice(VALUES)
        case "drop":
            del container[key]
        case _ if isinstance(container, dict):
            container[rng.choice(["x", "process", "txn", "keep"])] = rng.choice(VALUES)
        case _:
            container.insert(key, rng.choice(VALUES))


def change_fields(rng: Random, data: bytes) -> bytes:
    """Change the JSON of the whole file if it is one document, of one line otherwise."""
    for whole in (True, False):
        parts = [data] if whole else data.splitlines(keepends=True) or [b""]
        at = rng.randrange(len(parts))
        try:
            document = msgspec.json.decode(parts[at])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        change_value(rng, document)
        parts[at] = msgspec.json.encode(document) + b"\n"
        return b"".join(parts)
    return data


def change_digit(rng: Random, data: bytes) -> bytes:
    """Which leaves most files well formed."""
    digits = [match.start() for match in re.finditer(rb"(?<=[:,[])\d(?!\d)", data)]
    at = rng.choice(digits or [0])
    return data[:at] + rng.choice([b"0", b"1", b"1", b"2", b"2", b"3", b"4", b"9"]) + data[at + 1 :]


def counted(data: bytes) -> bytes:
    """A trace with the right number of events in its last line."""
    return re.sub(rb'"count":\d+', b'"count":%d' % (data.count(b"\n") - 2), data)


ROUGH = [change_fields, change_fields, change_fields, change_lines, change_bytes, cut_off, change_start]


def changed(rng: Random, data: bytes) -> bytes:
    """Either still well formed, mostly, or anything."""
    if rng.random() < 0.5:
        for _ in range(rng.choice([1, 2, 3, 5])):
            data = rng.choice([change_lines, change_digit])(rng, data)
        return counted(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 4])):
        data = rng.choice(ROUGH)(rng, data)
    return data


# Files.


def formats(rng: Random) -> list[str]:
    return rng.choice([[], [], ["--format", "json"]])


def check_one(rng: Random, folder: Path) -> int:
    """A trace."""
    (folder / "file").write_bytes(changed(rng, rng.choice(TRACES)))
    return answers(["check", "file", *formats(rng)], ["file"])


def check_merged(rng: Random, folder: Path) -> int:
    """The traces of several processes."""
    [header, *events, _] = trace.loads(rng.choice(TRACES))
    assert isinstance(header, Header)
    header = Header(1, header.processes, header.protocol, header.quorums, "per-process")
    names = []
    if not (folder / "server").exists():
        disk(folder / "server", {1: real("log.100000001")}, {0: real("snapshot.0")})
    for process, log in split([event for event in events if isinstance(event, Local)]).items():
        lines: list[Event] = [header, *log, End(len(log))]
        data = b"".join(trace.dump(lines))
        (folder / f"p{process}").write_bytes(changed(rng, data) if rng.random() < 0.4 else data)
        names.append(f"p{process}")
    rng.shuffle(names)
    return answers(["check", "--merge", *names, *formats(rng)], names or ["Missing"])


def replay_one(rng: Random, folder: Path) -> int:
    """A schedule."""
    (folder / "file").write_bytes(changed(rng, rng.choice(SCHEDULES)))
    return answers(["replay", "file", *formats(rng)], ["file"])


QUICK_FORMS = [suffix for suffix in FORMS if suffix != ".png"]
"""A picture takes a second."""


def explain_one(rng: Random, folder: Path) -> int:
    """A schedule or a trace, written in a form, or walked through."""
    (folder / "file").write_bytes(changed(rng, rng.choice([*SCHEDULES, *TRACES])))
    out = f"out{rng.choice(QUICK_FORMS)}"
    options = rng.choice([[], formats(rng), ["--write", out], ["--write", out], ["--step"]])
    walk = b"".join(rng.choice([b"\n", b"b\n", b"w\n", b"7\n", b"-1\n", b"\xff\x00\n", b"q"]) for _ in range(9))
    return answers(["explain", "file", *options], ["file", f"--write {out}"], stdin=walk)


def judge_one(rng: Random, folder: Path) -> int:
    """What was recorded of a real ensemble, and what its servers logged."""
    (folder / "run").mkdir(exist_ok=True)
    files = dict(HEALTHY)
    for file in rng.sample([*files], rng.choice([0, 1, 1, 2])):
        files[file] = rng.choice([change_lines, change_lines, change_digit, cut_off, change_bytes])(rng, files[file])
    if rng.random() < 0.6:
        files[RECORDING] = changed(rng, files[RECORDING])
    for file, data in files.items():
        (folder / "run" / file).write_bytes(data)
    return answers(["zookeeper", "judge", "run", *formats(rng)], ["run"])


# Configurations of schedules.

CHOICES = [inspect.type_info(kind) for kind in get_args(AnyChoice)]
SWITCHES = inspect.type_info(Switches)


def number(rng: Random) -> str:
    return str(rng.choice([0, 1, 1, 1, 2, 2, 3, 3, 4, 999, 10**9, 10**30, -1]))


def quorums(rng: Random) -> str:
    """The name of a quorum system, or almost."""
    name = rng.choice(["majority", "weights", "weights ", "weights ", "sets ", "sets ", "Sets ", ""])
    if name.endswith(" "):
        length = rng.choice([1, 2, 3, 3, 3, 5, 9, rng.choice([1000, 20_000])])
        between = "," if name == "weights " else rng.choice([",", "+", "+", "++"])
        parts = [between.join(number(rng) for _ in range(rng.choice([1, 2, 2, 3]))) for _ in range(length)]
        if rng.random() < 0.5:
            parts = [rng.choice(["1", "2", "1+2", "2+3", "1+3"]) for _ in range(length)]
        name += ",".join(parts)
    if rng.random() < 0.2:
        at = rng.randrange(len(name) + 1)
        name = name[:at] + rng.choice(["", " ", ",", "+", "é", "\n", "1", "٣", "\x00"]) + name[at + rng.randrange(2) :]
    return name


def json_value(rng: Random, kind: inspect.Type, processes: int) -> Any:
    """What a field of a choice or a switch may be, with numbers that are often those of processes."""
    match kind:
        case inspect.IntType():
            top = kind.le or 2**31 - 1
            return rng.choice([rng.randint(1, max(1, processes))] * 9 + [0, 1, 7, 1000, top, top + 1])
        case inspect.VarTupleType():
            return [json_value(rng, kind.item_type, processes) for _ in range(rng.choice([0, 1, 2, 3, 3]))]
        case inspect.LiteralType():
            return rng.choice([*kind.values, *kind.values, "x"])
        case inspect.StructType():
            tagged = {} if kind.tag_field is None else {kind.tag_field: kind.tag}
            kept = [field for field in kind.fields if field.required or rng.random() < 0.5]
            return tagged | {field.encode_name: json_value(rng, field.type, processes) for field in kept}
        case _:
            return rng.choice([None, "x", "y"])


def configured_schedule(rng: Random) -> dict[str, Any]:
    """A schedule of random choices and switches, under names of which most are known."""
    processes = rng.choice([1, 2, 3, 3, 3, 3, 4, 5, rng.choice([0, 99, 1000, 1001])])
    calm = msgspec.json.decode(CALM_SCHEDULE)["choices"] if processes >= 3 else []
    choices = [json_value(rng, rng.choice(CHOICES), processes) for _ in range(rng.choice([0, 0, 1, 3, 10]))]
    broken = msgspec.json.decode(BROKEN_SCHEDULE)
    document: dict[str, Any] = {
        "version": 1,
        "protocol": rng.choice(["zab"] * 18 + ["ladis", "ladis-2008", "raft", ""]),
        "processes": processes,
        "choices": rng.choice([calm, choices, calm + choices, broken["choices"]]),
    }
    if document["choices"] is broken["choices"]:
        document |= {"processes": broken["processes"], "mutant": broken["mutant"]}
    if rng.random() < 0.4:
        document["mutant"] = rng.choice([*CATALOGUE, *CATALOGUE, None, "x"])
    if rng.random() < 0.5:
        document["quorums"] = quorums(rng)
    if rng.random() < 0.5:
        document["switches"] = json_value(rng, SWITCHES, processes)
    if rng.random() < 0.5:
        document["violates"] = rng.choice([*PROPERTIES, *PROPERTIES, *GROUPS, None, "x", ""])
    return document


def replay_configured(rng: Random, folder: Path) -> int:
    """A schedule that is well formed, and says things that few would."""
    (folder / "file").write_bytes(msgspec.json.encode(configured_schedule(rng)))
    return answers(["replay", "file", *formats(rng)], ["file"])


# Configurations of the gate.

LIKELY: dict[str, list[Any]] = {
    "time-limit": [0.02, 0.05, 0.1, 1, 0, -1],
    "protocols": [["zab"], ["zab"], ["tests.protocols.own.echo:Echo"], ["zab", "raft"], [""], ["x:Y"], [], "zab"],
    "engine": ["swarm", "swarm", "hypothesis", "Swarm"],
    "seeds": [[1], [1, 2], [0], [2**64], [10**25], [-1], [], 1],
    "runs": [1, 2, 5, 0, 2000, 2**31],
    "steps": [1, 9, 50, 0, 5000, 5001],
    "processes": [1, 2, 3, 9, 0, 100],
    "properties": [["core"], ["integrity"], ["Total-Order", "clock"], ["convergence"], ["x"], []],
    "goals": [["all"], ["three epochs"], [], ["x"]],
    "kills": [["commit-on-own-ack"], ["promise-not-durable"], ["counter-wraps"], [], ["x"]],
    "out": ["out", "out/a/b", ".", "pyproject.toml", ""],
}
ALWAYS = ("time-limit", "protocols", "runs", "steps")
"""First, so that they are the last to be cut off."""


def toml(value: Any) -> str:
    """A value, or something that is none."""
    match value:
        case None:
            return "null"
        case list():
            return f"[{', '.join(map(toml, value))}]"
        case dict():
            return f"{{{', '.join(f'{toml(key)} = {toml(inner)}' for key, inner in value.items())}}}"
        case str():
            return msgspec.json.encode(value).decode()
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def gate_table(rng: Random) -> bytes:
    """A pyproject.toml with a table for the gate; right in most of its parts."""
    table = {key: rng.choice(LIKELY[key][:3]) for key in ALWAYS}
    for key in rng.sample([*LIKELY], rng.choice([0, 1, 2, 4])):
        table[key] = rng.choice(LIKELY[key][:2] if rng.random() < 0.7 else LIKELY[key])
    if rng.random() < 0.2:
        table[rng.choice([*LIKELY, "x", "time_limit", "é\n", ""])] = rng.choice(VALUES)
    head = rng.choice(["[tool.zabcheck]"] * 30 + ["[tool.other]", "[[tool.zabcheck]]", "tool.zabcheck = 1"])
    lines = [head, *(f"{key if key.replace('-', '').isalpha() else toml(key)} = {toml(table[key])}" for key in table)]
    data = "".join(f"{line}\n" for line in lines).encode()
    if rng.random() < 0.2:
        for _ in range(rng.choice([1, 1, 2])):
            data = rng.choice([change_lines, change_bytes, cut_off, change_start])(rng, data)
    return data


def takes_long(data: bytes) -> bool:
    """A configuration that is right and large: such a gate takes as long as it was told to."""
    try:
        table = tomllib.loads(data.decode())["tool"]["zabcheck"]
        runs, steps, limit = table.get("runs", 2000), table.get("steps", 200), table.get("time-limit", 600)
        return bool(limit > 0.1 and (runs > 5 or steps > 50))
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return False


def gate_configured(rng: Random, folder: Path) -> int:
    """What a gate is told to demand."""
    data = gate_table(rng)
    while takes_long(data):
        data = gate_table(rng)
    (folder / "pyproject.toml").write_bytes(data)
    files = rng.choice([[], [], ["--junit", "j.xml"], ["--summary", "s.md"]])
    return answers(["gate", *files, *formats(rng)], ["pyproject.toml"])


# Command lines.

NAMES = [*PROPERTIES, *GROUPS, *(name.upper().replace(" ", "-") for name in PROPERTIES), "x", "", "é", "total  order"]
WORDS = ["", "x", "0", "-1", "1e3", "9" * 30, "é", "\x1b[2J", "a\nb", "--", "-", "[bold]", "'", "%s", "x" * 5000]
# No number of runs that is right and large: such a search takes as long as it was told to.
VALUES_OF: dict[str, list[str]] = {
    "--protocol": ["zab", "zab", "ladis", "raft"],
    "--mutant": [*CATALOGUE, "none"],
    "--processes": ["1", "2", "3", "5", "99", "100", "0"],
    "--seed": ["0", "1", "2", str(2**32), "-1"],
    "--runs": ["1", "2", "0", "-1"],
    "--steps": ["1", "3", "9", "0", "5001"],
    "--property": NAMES,
    "--out": ["out", "out/a/b", "t.jsonl", "t.jsonl/x", "."],
    "--format": ["text", "json", "xml", "JSON"],
    "--engine": ["swarm", "swarm", "hypothesis", "x"],
    "--seeds": ["1", "2", "0", "10001"],
    "--seconds": ["0", "0.1", "inf", "nan", "-1"],
    "--config": ["gate.toml", "gate.toml", "nowhere", ".", "s.json"],
    "--junit": ["j.xml", "j.xml", "nowhere/j.xml", ".", "t.jsonl/x"],
    "--summary": ["s.md", "s.md", "nowhere/s.md", ".", "t.jsonl/x"],
    "--trace": ["trace", "nowhere/trace", ".", "s.json", "t.jsonl/x", "-"],
    "--write": ["o.html", "o.svg", "o.graphml", "o.py", "o.log", "nowhere/o.html", ".", "s.json", "t.jsonl/x.mmd", "-"],
    "--run": ["0", "1", "-1"],
    "--epochs": ["0", "1", "2", "100"],
    "--txns": ["0", "1", "-1"],
    "--timeouts": ["0", "1", "x"],
    "--crashes": ["0", "1", "-1"],
    "--cuts": ["0", "0", "100"],
    "--quorums": ["majority", "weights 1,1", "sets 1", "weights 9", "x"],
    "--switch": ["sync=separate", "closing=graceful", "histories=missing", "elections=together", "sync", "x=y"],
    "--certify": ["s.json", "t.jsonl", "nowhere", "."],
    "--memory": ["0.05", "0", "x"],
    "--workers": ["1", "2", "0", "65"],
    "--nodes": ["1", "2", "3", "3", "0", "x"],
    "--rounds": ["1", "20", "200", "0", "-1"],
    "--proposals": ["0", "1", "9", "x"],
    "--partition": ["0,1", "0,1,1,0", "0,0", "0", "", "0,9", ",", "x,y"],
    "--dump": ["d", "d", "nowhere/d", ".", "t.jsonl/x", "-"],
    "--checkpoint": ["at", "nowhere/at", ".", "t.jsonl"],
    "--servers": ["2", "3", "5,3", "1", "26", "3,", "3,x"],
    "--disk": ["none", "cache", "no-cache,none", "x", ","],
    "--operations": ["1", "9", "0"],
    "--outstanding": ["1", "9", "0"],
    "--size": ["1", "1024", "0"],
    "--bandwidth": ["1", "1000", "0"],
    "--ping": ["0", "100", "-1"],
    "--header": ["1", "60", "0"],
    "--cpu": ["0", "1000", "-1"],
    "--cached-sync": ["0", "100", "-1"],
    "--uncached-sync": ["0", "28333", "-1"],
    "--disk-rate": ["1", "100", "0"],
    "--history": ["none", "0", "1,9", "x", "-1"],
    "--detect": ["0", "200", "-1"],
    "--times": ["1", "2", "0", "x"],
    "--java": ["nowhere", ".", "s.json"],
    "--zookeeper-home": ["nowhere", ".", "server"],
    "--classpath": ["nowhere", "server", "", ":", "*"],
    "--minimise": ["0", "1", "-1", "x"],
    "--log-dir": ["server", "server/version-2", "nowhere", ".", "s.json"],
}
FLAGS = ["--merge", "--help", "-h", "--version", "--no-merge", "--x"]
FILES = ["t.jsonl", "p1.jsonl", "p2.jsonl", "s.json", "nowhere", ".", "-"]
OPTIONS = {
    "run": [
        "--protocol",
        "--mutant",
        "--engine",
        "--processes",
        "--seed",
        "--runs",
        "--steps",
        "--property",
        "--out",
        "--format",
    ],
    "mutants": [
        "--mutant",
        "--engine",
        "--seeds",
        "--seed",
        "--runs",
        "--steps",
        "--seconds",
        "--property",
        "--out",
        "--format",
    ],
    "gate": ["--config", "--out", "--junit", "--summary", "--format"],
    "explore": [
        "--protocol",
        "--mutant",
        "--processes",
        "--epochs",
        "--txns",
        "--timeouts",
        "--crashes",
        "--cuts",
        "--quorums",
        "--switch",
        "--property",
        "--certify",
        "--workers",
        "--checkpoint",
        "--resume",
        "--memory",
        "--out",
        "--format",
    ],
    "db19": [
        "--seed",
        "--nodes",
        "--rounds",
        "--proposals",
        "--partition",
        "--dump",
        "--trace",
        "--messages",
        "--property",
        "--format",
    ],
    "evaluate": [
        "--servers",
        "--disk",
        "--operations",
        "--outstanding",
        "--size",
        "--bandwidth",
        "--ping",
        "--header",
        "--cpu",
        "--cached-sync",
        "--uncached-sync",
        "--disk-rate",
        "--history",
        "--detect",
        "--out",
        "--format",
    ],
    "replay": ["--trace", "--format", "--times", "--exact", "--java", "--zookeeper-home", "--classpath"],
    "explain": ["--property", "--write", "--write", "--format", "--merge", "--step", "--run"],
    "check": ["--property", "--property", "--format", "--merge"],
    "list": ["--format"],
    "scenario": ["--out", "--format"],
    "schema": [],
    "zookeeper": ["--log-dir", "--txns", "--no-digests", "--format"],
    "zookeeper judge": ["--property", "--property", "--write", "--format"],
    "zookeeper search": [
        "--seed",
        "--runs",
        "--servers",
        "--threads",
        "--property",
        "--java",
        "--zookeeper-home",
        "--classpath",
        "--minimise",
        "--out",
        "--keep",
        "--format",
    ],
}
SHORT = {
    "run": ["--runs", "1", "--steps", "3", "--seed", "1"],
    "mutants": ["--runs", "1", "--steps", "3", "--seeds", "1", "--mutant", "promise-not-durable"],
    "gate": ["--config", "gate.toml"],
    "db19": ["--seed", "1", "--nodes", "3", "--rounds", "9", "--proposals", "2"],
    "explore": ["--processes", "1", "--epochs", "1", "--timeouts", "0", "--memory", "0.05"],
    "evaluate": ["--servers", "3", "--operations", "9", "--outstanding", "3", "--history", "9"],
    "zookeeper": ["logs"],
    "zookeeper search": ["--java", "nowhere"],
}
"""First, so that what was drawn takes the place of it."""
FILES_OF = {
    "replay": ["s.json"],
    "explain": ["s.json"],
    "check": ["t.jsonl"],
    "schema": ["trace"],
    "scenario": ["dsn-figure-3"],
    "zookeeper": ["server"],
    "zookeeper judge": ["recording"],
}


def value_of(rng: Random, option: str) -> str:
    if option == "--runs":
        return rng.choice([*VALUES_OF[option], *(word for word in WORDS if not word.isdigit())])
    return rng.choice(VALUES_OF[option] if rng.random() < 0.85 else WORDS)


def arguments(rng: Random) -> list[str]:
    """A command line; most are right in most of their parts."""
    command = rng.choice([*OPTIONS, "check", "check", "replay"])
    words = [*FILES_OF.get(command, [])]
    if rng.random() < 0.4 and command not in SHORT:
        words = [
            rng.choice([*FILES, "trace", "schedule", "goals", *SCENARIOS]) for _ in range(rng.choice([0, 1, 2, 3]))
        ]
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        option = rng.choice(OPTIONS[command] or ["--format"])
        if rng.random() < 0.07:
            option = rng.choice([*VALUES_OF, *FLAGS])
        value = [value_of(rng, option)] if option in VALUES_OF else []
        at = rng.randrange(len(words) + 1)
        words[at:at] = [f"{option}={value[0]}"] if value and rng.random() < 0.2 else [option, *value]
    if rng.random() < 0.07:
        words.insert(rng.randrange(len(words) + 1), rng.choice([*WORDS, *FLAGS, *VALUES_OF]))
    name, *group = command.removesuffix(" search").split()
    return [rng.choice([name] * 30 + ["x", ""]), *group, *SHORT.get(command, []), *words]


WRITING = ("--checkpoint", "--dump", "--trace", "--write", "--out", "--junit", "--summary")


def write_files(folder: Path) -> None:
    """What the command lines name; some of them write over it."""
    (folder / "t.jsonl").write_bytes(TRACES[1])
    (folder / "s.json").write_bytes(CALM_SCHEDULE)
    table = '[tool.zabcheck]\nprotocols = ["zab"]\nruns = 2\nsteps = 9\nproperties = ["integrity"]\n'
    (folder / "gate.toml").write_text(table)
    if not (folder / "server").exists():
        disk(folder / "server", {1: real("log.100000001")}, {0: real("snapshot.0")})
    (folder / "recording").mkdir(exist_ok=True)
    for file, data in HEALTHY.items():
        (folder / "recording" / file).write_bytes(data)
    for process, log in split(random_trace(1).events).items():
        (folder / f"p{process}.jsonl").write_bytes(trace_of(log, "per-process", 9))


def command_line(rng: Random, folder: Path) -> int:
    words = arguments(rng)
    if not (folder / "s.json").exists() or any(word.startswith(WRITING) for word in words):
        write_files(folder)
    return answers(words, stdin=rng.choice([*TRACES, *SCHEDULES, b""]))


KINDS: dict[str, Callable[[Random, Path], int]] = {
    "check": check_one,
    "merge": check_merged,
    "replay": replay_one,
    "explain": explain_one,
    "recording": judge_one,
    "configuration": replay_configured,
    "gate": gate_configured,
    "arguments": command_line,
}


def fuzz(kind: str, numbers: range, folder: Path) -> list[int]:
    """The exit codes of these cases; the current folder has to be `folder`."""
    codes = []
    for case in numbers:
        try:
            codes.append(KINDS[kind](Random(f"{kind} {case}"), folder))
        except (Exception, Hang) as error:
            raise AssertionError(f"{kind}, case {case}: {type(error).__name__} {error}") from error
    return codes


def main() -> None:
    """How much CPU time the cases of each kind take: `python -m tests.cli.fuzzing 1000`."""
    import os
    import tempfile
    from collections import Counter

    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            codes, slowest, start = Counter[int](), (0.0, 0), process_time()
            for case in range(int(sys.argv[1])):
                before = process_time()
                codes.update(fuzz(kind, range(case, case + 1), Path(folder)))
                slowest = max(slowest, (process_time() - before, case))
            print(kind, f"{process_time() - start:.1f} s, slowest {slowest[0]:.2f} s in {slowest[1]},", dict(codes))
            os.chdir("/")


if __name__ == "__main__":
    main()

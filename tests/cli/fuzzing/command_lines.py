"""Command lines, of words that commands know and words that they do not."""

from pathlib import Path
from random import Random

from invariants import GROUPS, PROPERTIES
from tests.cli.command import CALM_SCHEDULE, trace_of
from tests.cli.fuzzing.calling import WRITING, answers
from tests.cli.fuzzing.files import HEALTHY, SCHEDULES, TRACES
from tests.invariants.builders import split
from tests.invariants.traces import random_trace
from tests.zookeeper.disk.disks import disk, real
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.papers.scenarios import SCENARIOS

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
    "--scenario": ["zab-joining", "dsn-figure-3", "x"],
    "--lesson": ["quorum", "x"],
    "--epochs": ["0", "1", "2", "100"],
    "--txns": ["0", "1", "-1"],
    "--timeouts": ["0", "1", "x"],
    "--crashes": ["0", "1", "-1"],
    "--cuts": ["0", "0", "100"],
    "--snapshots": ["0", "1", "16"],
    "--quorums": ["majority", "weights 1,1", "sets 1", "weights 9", "x"],
    "--switch": ["sync=separate", "closing=graceful", "histories=missing", "elections=together", "sync", "x=y"],
    "--certify": ["s.json", "t.jsonl", "nowhere", "."],
    "--memory": ["0.05", "0", "x"],
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
    "--setting": ["size=1", "ping=0", "bandwidth=0", "header", "cpu=-1", "detect=200", "x=1", "disk-rate=1,2"],
    "--history": ["none", "0", "1,9", "x", "-1"],
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
        "--snapshots",
        "--quorums",
        "--switch",
        "--property",
        "--certify",
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
        "--setting",
        "--history",
        "--out",
        "--format",
    ],
    "replay": ["--trace", "--format", "--times", "--exact", "--java", "--zookeeper-home", "--classpath"],
    "explain": ["--property", "--write", "--write", "--format", "--merge", "--step", "--run"],
    "play": [
        "--protocol",
        "--mutant",
        "--processes",
        "--quorums",
        "--switch",
        "--scenario",
        "--lesson",
        "--property",
        "--on-zookeeper",
    ],
    "check": ["--property", "--property", "--format", "--merge"],
    "list": ["--format"],
    "scenario": ["--out", "--format"],
    "schema": [],
    "zookeeper": ["--log-dir", "--txns", "--no-digests", "--format"],
    "zookeeper judge": ["--property", "--property", "--write", "--format"],
    "zookeeper conform": ["--release", "--write", "--format"],
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
    "zookeeper conform": ["recording"],
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


def write_files(folder: Path) -> None:
    """Write the files that the command lines name; some of them write over it."""
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
    beside = [Path(word) for word in words] if words[:1] == ["zookeeper"] and "--write" in " ".join(words) else []
    return answers(words, stdin=rng.choice([*TRACES, *SCHEDULES, b""]), writable=beside)

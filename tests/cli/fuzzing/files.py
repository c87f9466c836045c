"""Files that are changed: traces, schedules, recordings."""

from pathlib import Path
from random import Random

from invariants import End, Event, Header, trace
from invariants.events import Local
from tests.cli.command import BROKEN_SCHEDULE, CALM_SCHEDULE, ROOT, trace_of
from tests.cli.fuzzing.calling import answers
from tests.cli.fuzzing.changes import change_bytes, change_digit, change_lines, changed, cut_off
from tests.invariants.builders import split
from tests.invariants.traces import random_trace
from tests.zookeeper.disk.disks import disk, real
from tests.zookeeper.scaling.plans import PLANS
from zabcheck.counterexample.forms.exports import FORMS
from zabcheck.play.link import BEGINNING, link_of
from zabcheck.search.run import replay
from zabcheck.simulation import schedule as schedules
from zabcheck.zookeeper.recording.folder import RECORDING
from zabcheck.zookeeper.scaling.plan import encode

SCHEDULES = [CALM_SCHEDULE, BROKEN_SCHEDULE]
HEALTHY = {file.name: file.read_bytes() for file in sorted((ROOT / "tests/zookeeper/healthy-3.8.0").iterdir())}
"""A recording of a real ensemble, file by file."""
TRACES = [replay(schedules.load(data, "schedule")).trace for data in SCHEDULES]
TRACES += [trace_of(random_trace(seed).events, "per-process", 9) for seed in range(4)]


def formats(rng: Random) -> list[str]:
    """Tables for one of four: to draw them takes three times as long as all the rest."""
    return rng.choice([[], *[["--format", "json"]] * 3])


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


def scale_one(rng: Random, folder: Path) -> int:
    """A plan of an operator."""
    (folder / "file").write_bytes(changed(rng, encode(rng.choice([given for given, _ in PLANS.values()]))))
    return answers(["zookeeper", "scale", "file", *formats(rng)], ["file"])


QUICK_FORMS = [suffix for suffix in FORMS if suffix != ".png"]
"""A picture takes a second."""


def explain_one(rng: Random, folder: Path) -> int:
    """A schedule or a trace, written in a form, or walked through."""
    (folder / "file").write_bytes(changed(rng, rng.choice([*SCHEDULES, *TRACES])))
    out = f"out{rng.choice(QUICK_FORMS)}"
    options = rng.choice([[], formats(rng), ["--write", out], ["--write", out], ["--step"]])
    walk = b"".join(rng.choice([b"\n", b"b\n", b"w\n", b"7\n", b"-1\n", b"\xff\x00\n", b"q"]) for _ in range(9))
    return answers(["explain", "file", *options], ["file", f"--write {out}"], stdin=walk)


LINES = (
    "",
    "b",
    "f",
    "t",
    "e",
    "r",
    "v",
    "p",
    "p agreement",
    "?",
    "g 3",
    "g -1",
    "s saved",
    "s no/file",
    "1",
    "7",
    "40",
)
LINKS = [link_of(replay(schedules.load(data, "schedule"))) for data in SCHEDULES]
ASKED = (
    *("lead 1 2 3", "lead 9", "settle 9", "request 1", "request 2 x y", "crash 1", "crash 1 1", "recover 1", "sync 1"),
    *("cut 1 2", "heal", "quiesce", "stabilise 1 1 2", "receive 2 1", "split 1", "wipe", "timeout x", "snapshot 1 yes"),
)


def play_one(rng: Random, folder: Path) -> int:
    """A schedule, or a run from its beginning, and lines of which most can be done; the last ones are not read."""
    (folder / "file").write_bytes(changed(rng, rng.choice(SCHEDULES)))
    bug = ["--mutant", "commit-on-own-ack"]
    link = rng.choice(LINKS).removeprefix(BEGINNING)
    if rng.random() < 0.5:
        link = changed(rng, link.encode()).decode(errors="replace")
    of = rng.choice(
        [["file"], [], bug, ["--protocol", "ladis"], ["--scenario", "zab-joining"], [f"#{BEGINNING}{link}"]]
    )
    lines = [rng.choice([*LINES, *ASKED, *ASKED]).encode() for _ in range(rng.choice([0, 3, 9]))]
    if rng.random() < 0.3:
        lines = [b"lead 1 2 3", b"settle 9", b"request 1", b"sync 1", *lines]
    if rng.random() < 0.2:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice([b"\xff\x00", b"\x1b[2J", b"q", b"9" * 99]))
    writable = [folder / "saved", folder / "no/file"]
    return answers(["play", *of], ["file", "the link"], stdin=b"\n".join(lines), writable=writable)


def judge_one(rng: Random, folder: Path) -> int:
    """Judge a recording of a real ensemble, and what its servers logged."""
    (folder / "run").mkdir(exist_ok=True)
    files = dict(HEALTHY)
    for file in rng.sample([*files], rng.choice([0, 1, 1, 2])):
        files[file] = rng.choice([change_lines, change_lines, change_digit, cut_off, change_bytes])(rng, files[file])
    if rng.random() < 0.6:
        files[RECORDING] = changed(rng, files[RECORDING])
    for file, data in files.items():
        (folder / "run" / file).write_bytes(data)
    return answers(["zookeeper", "judge", "run", *formats(rng)], ["run"])

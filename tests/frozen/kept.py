"""Files that are kept and read again: schedules, recordings of real servers, and their disks."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from docs.generators.zookeeper import extracted
from tests.frozen.command import folder, json
from tests.frozen.hashing import ROOT
from zabcheck.search.run import replay
from zabcheck.simulation import schedule as schedules
from zabcheck.zookeeper.run import schedule as ensembles
from zabcheck.zookeeper.run.draw import draw
from zabcheck.zookeeper.run.schedule import EnsembleSchedule

Parts = Mapping[str, Any]

DAMAGED = 470
"""A byte of the log that is damaged at one of the servers."""
SEEDS = 50
LEFT = 250
"""Bytes of the log at whose end a server was killed."""


def schedule_files() -> dict[str, list[Path]]:
    """Return the schedules of the tests and of the papers' runs, by the known bug or protocol that names them."""
    found = defaultdict(list)
    files = [*ROOT.glob("tests/**/schedules/*.json"), *ROOT.glob("zabcheck/**/*.schedule.json")]
    for path in sorted((path for path in files if not is_for_servers(path)), key=_by_name):
        found[path.name.split(".")[0]].append(path)
    return dict(found)


def is_for_servers(path: Path) -> bool:
    """Return True if a schedule is one for real servers."""
    return b'"servers"' in path.read_bytes()


def replayed(files: list[Path]) -> Parts:
    """Return what each schedule shows when it is executed again, and its form when it is written again."""
    return dict(map(_replayed, files))


def _replayed(path: Path) -> tuple[str, Any]:
    schedule = schedules.load(path.read_bytes(), path.name)
    shown = replay(schedule)
    verdicts = [
        (each.property, str(each.status), each.judged, msgspec.to_builtins(each.violation)) for each in shown.verdicts
    ]
    return path.name.removesuffix(".json").removesuffix(".schedule"), {
        "written": sha256(schedules.dump(schedule)).hexdigest(),
        "trace": sha256(shown.trace).hexdigest(),
        "verdicts": verdicts,
        "goals": shown.goals,
        "steps": (shown.steps, shown.skipped),
        "raised": None if shown.raised is None else {"message": str(shown.raised)},
    }


def for_servers() -> Parts:
    """Return the schedules for real servers, written again, and what is said of each choice."""
    files = sorted((path for path in ROOT.glob("zabcheck/**/*.schedule.json") if is_for_servers(path)), key=_by_name)
    read = {path.name: ensembles.decode(path.read_bytes(), path.name) for path in files}
    return {name: _for_servers(schedule) for name, schedule in read.items()}


def drawn_for_servers() -> Parts:
    """Return the schedules for real servers that are drawn for 50 seeds, in each of the ways."""
    ways: dict[str, dict[str, Any]] = {
        "plain": {},
        "threads": {"threads": True},
        "sessions": {"sessions": True},
        "observers": {"observers": 2},
        "five": {"servers": 5, "threads": True, "sessions": True},
    }
    return {
        name: [_for_servers(draw(seed, **{"servers": 3, **way})) for seed in range(SEEDS)] for name, way in ways.items()
    }


def _for_servers(schedule: EnsembleSchedule) -> dict[str, Any]:
    return {
        "written": sha256(ensembles.encode(schedule)).hexdigest(),
        "text": [choice.words() for choice in schedule.choices],
    }


def _by_name(path: Path) -> str:
    return path.name


def recordings() -> dict[str, Path]:
    """Return the recordings of real servers in the tests, by name: archives, and folders."""
    archives = {path.name.removesuffix(".tar.xz"): path for path in ROOT.glob("tests/**/*.tar.xz")}
    folders = {path.parent.name: path.parent for path in ROOT.glob("tests/**/recording.jsonl")}
    return dict(sorted({**archives, **folders}.items()))


def unpack(path: Path, here: Path) -> str:
    """Put a recording into a folder, and return its name there."""
    if path.is_dir():
        (here / path.name).mkdir()
        for file in path.iterdir():
            (here / path.name / file.name).write_bytes(file.read_bytes())
        return path.name
    return extracted(path.name.removesuffix(".tar.xz"), here).name


def judged(path: Path) -> Callable[[], Parts]:
    """Return what judges a recording, with the trace and the report that are written beside it."""

    def make() -> Parts:
        with folder() as here:
            found = json("zookeeper", "judge", unpack(path, here), "--write")
        result = found["json"]
        noticed = result.pop("noticed")
        likely = [like for each in (*result["wrong"], *noticed) for like in each["looks_like"]]
        files = {Path(name).name: content for name, content in found.pop("files").items()}
        bugs = sorted({like.partition(":")[0] for like in likely})
        return {"": found, "noticed": noticed, "bugs": bugs, **files}

    return make


def conforming(path: Path) -> Callable[[], Parts]:
    """Return what looks for a run of the model that a recording shows, with its schedule, or the difference."""

    def make() -> Parts:
        with folder() as here:
            return {"": json("zookeeper", "conform", unpack(path, here), "--write")}

    return make


def logs() -> Parts:
    """Return what is said of the disks of three servers: one as it was, one damaged, one torn."""
    with folder() as here:
        first, second = _written("log.100000001"), _written("log.10000000c")
        start, later = {"snapshot.0": _written("snapshot.0")}, {"snapshot.10000000a": _written("snapshot.10000000a")}
        damaged = bytearray(first)
        damaged[DAMAGED] ^= 1
        _disk(here / "s1", 1, {"log.100000001": first, "log.10000000c": second, **start, **later})
        _disk(here / "s2", 2, {"log.100000001": bytes(damaged), "log.10000000c": second, **start})
        _disk(here / "s3", 3, {"log.100000001": first, "log.10000000c": second[:LEFT], **start, **later})
        return {
            "all": json("zookeeper", "logs", ".", "--txns"),
            "one": json("zookeeper", "logs", "s1"),
            "no digests": json("zookeeper", "logs", ".", "--no-digests"),
        }


def _disk(place: Path, server: int, files: Mapping[str, bytes]) -> None:
    (place / "version-2").mkdir(parents=True)
    (place / "myid").write_text(f"{server}\n")
    for name in ("acceptedEpoch", "currentEpoch"):
        (place / "version-2" / name).write_text("1")
    for name, content in files.items():
        (place / "version-2" / name).write_bytes(content)


def _written(name: str) -> bytes:
    [path] = ROOT.glob(f"tests/**/zookeeper-3.8.0/{name}.hex")
    return bytes.fromhex(path.read_text())


def points() -> Parts:
    """Return where the named places in ZooKeeper's threads are in the jars of PySpark."""
    with folder():
        return {"": json("zookeeper", "points", "--classpath", "pyspark")}


def all_items() -> Iterator[tuple[str, Callable[[], Parts]]]:
    """Yield each item of this module, by name."""
    for name, files in schedule_files().items():
        yield f"kept/{name}", lambda files=files: replayed(files)  # type: ignore[misc]  # bound now, not later
    for name, path in recordings().items():
        yield f"judge/{name}", judged(path)
        yield f"conform/{name}", conforming(path)
    yield "for servers/kept", for_servers
    yield "for servers/drawn", drawn_for_servers
    yield "zookeeper logs", logs
    yield "zookeeper points", points

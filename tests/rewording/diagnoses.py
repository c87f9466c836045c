"""The verdicts and diagnoses of kept recordings and schedules.

`python -m tests.rewording.diagnoses NAMES` prints hashes of them, made with all message texts changed but those in the
file NAMES, a JSON list. The item `diagnoses` of `tests.frozen` is the same with the texts as they are.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.frozen.hashing import hash_of, parts_of
from tests.rewording import reworded

ROOT = Path(__file__).parents[2]
_HUNTED = ("commit-on-own-ack", "no-truncation", "quorum-off-by-one")
"""The bugs that are searched for."""


def main(names: list[str]) -> None:
    """Print the hashes."""
    reworded.install(names)
    print(json.dumps({name: hash_of(data) for name, data in parts_of("diagnoses", diagnosed())}))


def diagnosed() -> dict[str, Any]:
    """Return the verdicts and diagnoses, by what they are of."""
    return {**dict(_recordings()), **dict(_schedules()), "disks": _disks(), "searches": _searches()}


def _recordings() -> Iterator[tuple[str, Any]]:
    from docs.generators.zookeeper import extracted

    here = ROOT / "tests/zookeeper"
    for folder in sorted(path.parent for path in here.glob("*/recording.jsonl")):
        yield folder.name, _of_recording(folder)
    for archive in sorted(here.glob("*.tar.xz")):
        with TemporaryDirectory() as folder:
            yield archive.name, _of_recording(extracted(archive.name.removesuffix(".tar.xz"), Path(folder)))


def _of_recording(folder: Path) -> Any:
    from zabcheck.zookeeper.conformance.conform import conform
    from zabcheck.zookeeper.report.departure import departure
    from zabcheck.zookeeper.run.minimise import idle_in
    from zabcheck.zookeeper.verdict.judge import judge

    judged, compared = judge(folder), conform(folder)
    return {
        "violated": judged.wrong,
        "verdicts": judged.verdicts,
        "clients": [(each.property, each.status, each.judged) for each in judged.clients],
        "issues": [each.issue.name for each in judged.known],
        "findings": [(each.kind, each.server, each.incarnation, each.step, each.count) for each in judged.findings],
        "packets": [(each.name, each.packet, each.server) for each in judged.steps.divergences],
        "kinds of notes": [type(each).__name__ for each in judged.observation.notes],
        "complete": (len(judged.observation.holes), len(judged.observation.partial), len(judged.unsure)),
        "departs": departure(judged) != "",
        "conforms": compared.verdict,
        "states": compared.states,
        "left open": len(compared.undecided),
        "idle": idle_in(folder),
    }


def _schedules() -> Iterator[tuple[str, Any]]:
    """Yield the diagnoses of one counterexample for each planted bug, and of all of the model of ZooKeeper."""
    from zabcheck.counterexample.explain import explain_replay
    from zabcheck.counterexample.pieces import entries_of, labels_by_step
    from zabcheck.search.run import replay
    from zabcheck.simulation import schedule as schedules

    planted = {path.name.partition(".")[0]: path for path in sorted(ROOT.glob("tests/schedules/*.json"), reverse=True)}
    for path in sorted([*planted.values(), *ROOT.glob("tests/zookeeper/model/schedules/*.json")]):
        replayed = replay(schedules.load(path.read_bytes(), path.name))
        story = explain_replay(replayed)
        labels = labels_by_step(story)
        pieces = [entry for moment in story.moments for entry in entries_of(moment, labels)]
        yield (
            path.name,
            {
                "verdicts": replayed.verdicts,
                "steps": (replayed.steps, replayed.skipped),
                "raised": replayed.raised is not None,
                "decisive": story.decisive and story.decisive.step,
                "explained": len(story.explanation),
                "shown": [(each.step, each.process, [(of.tone, of.label) for of in each.pieces]) for each in pieces],
            },
        )


def _searches() -> Any:
    """Return the findings of short searches, what is left of them, and how papers' scenarios come out."""
    from zabcheck.explore.bounds import Bounds
    from zabcheck.explore.exploration import explore
    from zabcheck.mutants.catalogue import CATALOGUE
    from zabcheck.papers.scenarios import SCENARIOS
    from zabcheck.papers.scenarios.play import play
    from zabcheck.search.hunt import Budget, hunt
    from zabcheck.search.minimise import minimise

    hunts = [hunt(CATALOGUE[name], 1, budget=Budget(runs=60), shorten=minimise) for name in _HUNTED]
    explored = explore("zab", mutant="commit-on-own-ack", bounds=Bounds(2, 1, 1, 0, 1))
    return {
        "hunts": [(each.property, each.runs, each.steps, each.minimised) for each in hunts],
        "explored": (explored.states, explored.transitions, explored.broken, explored.steps, explored.exercised),
        "scenarios": {name: len(play(each).unmet) for name, each in SCENARIOS.items()},
    }


def _disks() -> Any:
    from tests.zookeeper.disk.disks import create, disk, log, snapshot, zxid
    from zabcheck.zookeeper.bugs.traces import traces
    from zabcheck.zookeeper.disk.comparison import compare
    from zabcheck.zookeeper.disk.contents import scan

    with TemporaryDirectory() as name:
        whole, again = [zxid(1, each) for each in (1, 2, 3)], [zxid(1, each) for each in (1, 2, 3, 2, 3)]
        disks = [
            scan(disk(Path(name) / str(at), {zxids[0]: log([create(each) for each in zxids])}, {0: snapshot()}, 9, 1))
            for at, zxids in enumerate((whole, again, whole[:1] + whole[2:]))
        ]
        found = traces(disks, compare(disks))
        return [(each.kind, each.wrong) for read in disks for each in read.findings], [
            (each.bug, each.server) for each in found
        ]


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))

"""The points that threads were held at, and their orders."""

from pathlib import Path

from zabcheck.text.pen import text_of
from zabcheck.zookeeper.recording.folder import Recorder
from zabcheck.zookeeper.recording.records import Reached
from zabcheck.zookeeper.report.threads import ThreadOrders, render


def run(folder: Path, *came: tuple[int, str]) -> Path:
    """A recording in which threads of these servers came to these points, in this order."""
    folder.mkdir()
    recorder = Recorder(folder)
    for time, (server, point) in enumerate(came):
        recorder.record(Reached(time, server, point, "a thread", "held"))
    recorder.close()
    return folder


def test_points_and_orders_are_counted_by_runs(tmp_path: Path) -> None:
    seen = ThreadOrders()
    seen.add(run(tmp_path / "a", (1, "ack"), (2, "lead"), (1, "ack")))
    seen.add(run(tmp_path / "b", (3, "ack"), (3, "lead")))
    seen.add(run(tmp_path / "c"))
    assert seen.total() == "threads came to 2 points, in 2 orders of two"
    assert seen.as_json() == {
        "threads": {
            "points": {"ack": 2, "lead": 2},
            "orders": [{"first": "ack", "then": "lead", "runs": 2}, {"first": "lead", "then": "ack", "runs": 1}],
        }
    }
    assert [line.split() for line in text_of(render(seen), 100).splitlines()[2:]] == [["ack", "2"], ["lead", "2"]]

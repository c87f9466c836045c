"""The least history that breaks a promise as a longer one does."""

from io import BytesIO

import pytest

from tests.zookeeper.clients.histories import History, stat
from tests.zookeeper.clients.service import World
from tests.zookeeper.clients.test_violations import VIOLATIONS
from zabcheck.zookeeper.clients import edn, minimise
from zabcheck.zookeeper.clients.exchange import read
from zabcheck.zookeeper.clients.history import HistoryEnd, HistoryLine
from zabcheck.zookeeper.clients.judge import judge
from zabcheck.zookeeper.clients.minimise import Least, least
from zabcheck.zookeeper.clients.promise import Breach


def breach_of(lines: list[HistoryLine], promise: str) -> Breach | None:
    [judgement] = judge(read(lines, "history"), [promise])
    return judgement.breach


def part_of(lines: list[HistoryLine], promise: str, seconds: float = 10.0) -> Least | None:
    breach = breach_of(lines, promise)
    assert breach is not None
    return least(lines, breach, [promise], seconds)


def whole(history: History) -> list[HistoryLine]:
    return [*history.lines, HistoryEnd(len(history.lines) - 1)]


@pytest.mark.parametrize("name", VIOLATIONS)
def test_each_violation_has_a_least_history_with_the_same_witness(name: str) -> None:
    promise, written = VIOLATIONS[name]
    lines = whole(written())
    part = part_of(lines, promise)
    assert part is not None
    assert part.is_minimal
    assert breach_of([*part.history()], promise) == breach_of(lines, promise)
    again = part_of([*part.history()], promise)
    assert again is not None
    assert len(again.lines) == len(part.lines) <= len(lines) - 2


def stale() -> list[HistoryLine]:
    """A long history of others, in which a client reads what is older than its own write."""
    world = World(1)
    history = History()
    history.lines = world.history(400)[:-1]
    history.connections, history.time = 900, 1 << 40
    client = history.client(99)
    client.set("/z", 1 << 40, "y", stat(1 << 39, 1 << 40, 1 << 39, 1))
    client.get("/z", 1 << 40, "x", stat(1 << 39))
    return whole(history)


def test_the_least_part_of_a_long_history_is_its_witness_and_the_connection() -> None:
    part = part_of(stale(), "own writes")
    assert part is not None
    assert [each.line for each in part.lines] == stale()[-7:-1]
    assert [*part.history()][-1] == HistoryEnd(6)


def test_what_has_no_more_time_is_not_said_to_be_minimal() -> None:
    part = part_of(stale(), "own writes", seconds=0)
    assert part is not None
    assert not part.is_minimal


def test_a_part_that_is_too_long_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimise, "MOST_LINES", 5)
    assert part_of(stale(), "own writes") is None


def operation(kind: str, process: int, function: str, value: object) -> str:
    return f"{{:type :{kind}, :f :{function}, :value {value}, :process {process}}}\n"


def test_of_a_register_each_write_of_a_value_that_is_read_stays() -> None:
    """Without one of them no order might explain the read, whatever the service did."""
    told = ""
    for process, function, value in [
        (0, "write", 1), (0, "read", 1), (0, "write", 2), (0, "write", 3), (0, "read", 3), (0, "read", 2),
    ]:  # fmt: skip
        asked = "nil" if function == "read" else value
        told += operation("invoke", process, function, asked) + operation("ok", process, function, value)
    lines = [*edn.load(BytesIO(told.encode()), "h", {})]
    part = part_of(lines, "one order")
    assert part is not None
    said = [(each.line.op, each.line.data) for each in part.lines if hasattr(each.line, "op")]
    assert said == [("setData", "2"), ("setData", "3"), ("getData", None)]

"""Lists of Jepsen, judged by the order that what was read of them gives."""

from collections.abc import Iterable
from io import BytesIO
from itertools import combinations
from random import Random

import pytest

from zabcheck.zookeeper.clients import edn, lists
from zabcheck.zookeeper.clients.exchange import read
from zabcheck.zookeeper.clients.history import HistoryError
from zabcheck.zookeeper.clients.judge import Judgement, judge

Micro = tuple[str, str, object]
"""A part of a transaction: `append` or `r`, the key, and the value or the values."""


def op(kind: str, process: int, *parts: Micro) -> str:
    text = " ".join(f"[:{function} {key} {_edn(value)}]" for function, key, value in parts)
    return f"{{:type :{kind}, :f :txn, :value [{text}], :process {process}}}"


def _edn(value: object) -> str:
    return "nil" if value is None else str(value).replace(",", "")


def asked(process: int, *parts: Micro) -> str:
    return op("invoke", process, *((name, key, None if name == "r" else value) for name, key, value in parts))


def done(process: int, *parts: Micro) -> list[str]:
    return [asked(process, *parts), op("ok", process, *parts)]


def judged(*operations: list[str]) -> Judgement:
    text = "\n".join(line for each in operations for line in each)
    lines = edn.load(BytesIO(text.encode()), "history", {})
    [judgement] = judge(read(lines, "history"), ["one order"])
    return judgement


def append(key: str, value: int) -> Micro:
    return "append", key, value


def seen(key: str, *values: int) -> Micro:
    return "r", key, [*values]


ONE, TWO = done(0, append("x", 1)), done(1, append("x", 2))
FAILED = [asked(0, append("x", 1)), op("fail", 0, append("x", 1))]
LOST = [asked(0, append("x", 1)), op("info", 0, append("x", 1))]
RIGHT = {
    "a stale read": (ONE, TWO, done(2, seen("x", 1, 2)), done(3, seen("x", 1))),
    "an own append is read": (done(0, append("x", 1), seen("x", 1), append("x", 2), seen("x", 1, 2)),),
    "nobody reads one that failed": (FAILED, done(1, seen("x"))),
    "one of unknown outcome is read": (LOST, done(1, seen("x", 1))),
    "one of unknown outcome is not read": (LOST, done(1, append("x", 2)), done(2, seen("x", 2))),
    "appends at once": (ONE[:1], TWO, ONE[1:], done(2, seen("x", 2, 1))),
    "two lists of nearly one name": (
        done(0, append('"a b"', 1)),
        done(1, append('"a_b"', 1)),
        done(2, seen('"a_b"', 1)),
    ),
    "an append that nobody reads": (ONE, done(1, seen("x", 1), append("x", 2)), done(2, seen("x", 1))),
}
READ_AND_APPENDED = [done(process, seen("x"), append("x", process)) for process in range(4)]
WRONG = {
    "none reads the append of another": (
        ([asked for asked, _ in READ_AND_APPENDED], [answered for _, answered in READ_AND_APPENDED]),
        "no order explains this: request 0 (txn) of client 0 read /x without 1, which request 1 (txn) of client 1 "
        "appended; request 1 (txn) of client 1 read /x without 0, which request 0 (txn) of client 0 appended",
    ),
    "two orders of one list": (
        (ONE, TWO, done(2, seen("x", 1, 2)), done(3, seen("x", 2))),
        "request 6 (txn) of client 3 read [2] from /x, but request 4 (txn) of client 2 read [1, 2], which does not "
        "begin with that",
    ),
    "a value of nobody": (
        (done(0, seen("x", 7)),),
        "request 0 (txn) of client 0 read [7] from /x, but nobody appended 7",
    ),
    "one that failed is read": (
        (FAILED, done(1, seen("x", 1))),
        "request 2 (txn) of client 1 read [1] from /x, but request 0 (txn) of client 0, which appended 1, failed",
    ),
    "a value is there twice": (
        (ONE, done(1, seen("x", 1, 1))),
        "request 2 (txn) of client 1 read [1, 1] from /x, which has a value twice",
    ),
    "an own append is not read": (
        (done(0, append("x", 1), seen("x")),),
        "request 0 (txn) of client 0 reads [] from /x, where its own earlier steps left [1]",
    ),
    "an own append is read before it": (
        (done(0, seen("x", 1), append("x", 1)),),
        "request 0 (txn) of client 0 read [1] from /x, but appended 1 only afterwards",
    ),
    "two appends of one transaction change places": (
        (done(0, append("x", 1), append("x", 2)), done(1, seen("x", 2, 1))),
        "request 2 (txn) of client 1 read [2, 1] from /x, but request 0 (txn) of client 0 appended 1 before 2",
    ),
    "half of a transaction is read": (
        (done(0, append("x", 1), append("y", 1)), done(1, seen("x", 1), seen("y")), done(2, seen("y", 1))),
        "no order explains this: request 2 (txn) of client 1 read 1 from /x, which request 0 (txn) of client 0 appended"
        "; request 2 (txn) of client 1 read /y without 1, which request 0 (txn) of client 0 appended",
    ),
    "appends change places": (
        (ONE, TWO, done(2, seen("x", 2, 1))),
        "no order explains this: request 0 (txn) of client 0 was answered before request 2 (txn) of client 1 was sent; "
        "request 0 (txn) of client 0 appended 1 to /x after request 2 (txn) of client 1 appended 2",
    ),
    "one is lost": (
        (ONE, TWO, done(2, seen("x", 2))),
        "no order explains this: request 0 (txn) of client 0 was answered before request 2 (txn) of client 1 was sent; "
        "request 0 (txn) of client 0 appended 1 to /x after request 2 (txn) of client 1 appended 2",
    ),
    "a session goes back": (
        (ONE, done(1, seen("x", 1)), done(1, seen("x"))),
        "no order explains this: request 2 (txn) of client 1 read 1 from /x, which request 0 (txn) of client 0 appended"
        "; request 2 (txn) of client 1 was before request 4 (txn) of client 1 in its session; request 4 (txn) of "
        "client 1 read /x without 1, which request 0 (txn) of client 0 appended",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_history_that_an_order_explains_holds(name: str) -> None:
    judgement = judged(*RIGHT[name])
    assert judgement.status == "holds"
    assert judgement.reads is not None
    assert judgement.reads.holds == (name not in ("a stale read", "an append that nobody reads"))


@pytest.mark.parametrize("name", WRONG)
def test_a_history_that_no_order_explains_is_told(name: str) -> None:
    history, summary = WRONG[name]
    breach = judged(*history).breach
    assert breach is not None
    assert breach.summary == summary


@pytest.mark.parametrize("is_both", [True, False])
def test_appends_that_nobody_reads_cost_no_edge_for_each_read(is_both: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    edges = 0

    def count(found: Iterable[object], *_: object) -> None:
        nonlocal edges
        edges = sum(1 for _ in found)

    monkeypatch.setattr(lists, "_look_for_a_cycle", count)
    reads, appends = [seen("x")], [[append("x", each)] for each in range(200)]
    operations = [done(2 * each, *reads, *(appends[each] if is_both else ())) for each in range(200)]
    operations += [] if is_both else [done(2 * each + 1, *appends[each]) for each in range(200)]
    judged([asked for asked, _ in operations], [answered for _, answered in operations])
    assert 200 < edges < 200 * 8


def test_values_that_are_not_unique_decide_nothing() -> None:
    assert judged(ONE, done(1, append("x", 1))).status == "inconclusive"


def test_a_register_in_a_transaction_is_refused() -> None:
    with pytest.raises(HistoryError) as told:
        judged([op("invoke", 0, ("w", "x", 1))])
    message = "expected [:append key value] or [:r key values] in a :txn"
    assert str(told.value) == f"history, operation 0, field `:value`: {message}"


# All orders, one after the other.

Drawn = tuple[int, list[Micro], int, int | None]
"""Process, parts, when it was asked, and when it was answered: None if it never was."""


def drawn(random: Random) -> tuple[list[str], list[Drawn]]:
    lines: list[str] = []
    found: list[Drawn] = []
    lists: dict[str, list[int]] = {"x": [], "y": []}
    waiting: dict[int, tuple[list[Micro], int]] = {}
    processes, values = [0, 1, 2], 0
    for time in range(random.randint(5, 14)):
        index = random.randrange(3)
        process = processes[index]
        if process not in waiting:
            parts: list[Micro] = []
            for key in random.choice((["x"], ["y"], ["x", "y"])):
                values += 1
                parts.append(random.choice((append(key, values), seen(key))))
            waiting[process] = parts, time
            lines.append(asked(process, *parts))
            continue
        parts, sent = waiting.pop(process)
        is_lost = random.random() < 0.2
        for place, (name, key, value) in enumerate(parts):
            if name == "r":
                parts[place] = seen(key, *lists[key][: len(lists[key]) - random.choice((0, 0, 1))])
            elif not (is_lost and random.random() < 0.5):
                lists[key].insert(len(lists[key]) - (random.random() < 0.3), int(str(value)))
        lines.append(op("info" if is_lost else "ok", process, *parts))
        found.append((process, parts, sent, None if is_lost else time))
        processes[index] += 3 * is_lost
    found += [(process, parts, sent, None) for process, (parts, sent) in waiting.items()]
    return lines, found


def is_explained(transactions: list[Drawn]) -> bool:
    lost = [each for each in transactions if each[3] is None]
    known = [each for each in transactions if each[3] is not None]
    return any(
        _has_order([*known, *some], {"x": [], "y": []})
        for size in range(len(lost) + 1)
        for some in combinations(lost, size)
    )


def _has_order(left: list[Drawn], lists: dict[str, list[object]]) -> bool:
    return not left or any(_fits(each, left, lists) for each in left)


def _fits(first: Drawn, left: list[Drawn], lists: dict[str, list[object]]) -> bool:
    """True if `first` may be the next one, and the others follow."""
    process, parts, sent, answered = first
    others = [each for each in left if each is not first]
    writes = any(name == "append" for name, _, _ in parts)
    if any((each[0] == process or (writes and (each[3] or 99) < sent)) and each[2] < sent for each in others):
        return False
    after = {key: [*values] for key, values in lists.items()}
    for name, key, value in parts:
        if name == "append":
            after[key].append(value)
        elif answered is not None and after[key] != value:
            return False
    return _has_order(others, after)


def test_the_graph_agrees_with_all_orders() -> None:
    broken = 0
    for seed in range(200):
        lines, transactions = drawn(Random(seed))
        expected = is_explained(transactions)
        assert (judged(lines).breach is None) == expected, seed
        broken += not expected
    assert 20 < broken < 180

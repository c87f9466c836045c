"""Registers of Jepsen, and the search for an order that explains them."""

from io import BytesIO
from itertools import combinations, permutations
from random import Random
from typing import Any

import pytest

from tests.zookeeper.clients.histories import History, Session
from zabcheck.zookeeper.clients import edn, registers
from zabcheck.zookeeper.clients.exchange import read
from zabcheck.zookeeper.clients.history import Data, HistoryError, Part, Result
from zabcheck.zookeeper.clients.judge import Judgement, judge


def op(kind: str, process: int, function: str, value: object) -> str:
    return f"{{:type :{kind}, :f :{function}, :value {value}, :process {process}, :time 7}}"


def judged(*operations: str) -> Judgement:
    lines = edn.load(BytesIO("\n".join(operations).encode()), "history", {})
    [judgement] = judge(read(lines, "history"), ["one order"])
    return judgement


def done(process: int, function: str, value: object) -> tuple[str, str]:
    asked = "nil" if function == "read" else value
    return op("invoke", process, function, asked), op("ok", process, function, value)


FIRST = done(1, "read", "nil")
READ_BACKWARDS = (*done(1, "read", 3), *done(1, "read", 2))
WRITTEN = (*done(0, "write", 1), *done(0, "write", 2))

RIGHT = {
    "a stale read": (*WRITTEN, *done(1, "read", 1)),
    "what was there at first": (*done(1, "read", "nil"), *WRITTEN),
    "a write of unknown outcome": (op("invoke", 0, "write", 1), op("info", 0, "write", 1), *done(1, "read", 1)),
    "one that failed": (*WRITTEN, op("invoke", 0, "cas", "[2 3]"), op("fail", 0, "cas", "[2 3]"), *done(0, "read", 2)),
    "a nemesis": (op("info", ":nemesis", "start", '"cut ]"'), *WRITTEN),
    "a map and a set in another order": (
        *done(0, "write", "{nil 1, [2] #{3 4}}"),
        *done(0, "read", "{[2] #{4 3}, nil 1}"),
    ),
    "registers of several keys": (*done(0, "write", "[0 1]"), *done(0, "write", "[1 2]"), *done(0, "read", "[0 1]")),
    "a character": (*done(0, "write", "\\("), *done(1, "read", "\\(")),
    "several keys that nobody reads": (*done(0, "write", "[0 1]"), *done(0, "cas", "[0 [1 2]]")),
}
WRONG = {
    "an own write is not read": (*WRITTEN, *done(0, "read", 1)),
    "a session goes back": (*FIRST, *WRITTEN, *done(1, "read", 2), *done(1, "read", 1)),
    "two values at first": (*done(1, "read", 8), *done(1, "read", 9)),
    "a cas that finds other data": (*WRITTEN, *done(1, "cas", "[1 3]")),
    "a write is read after one that was sent later": (*FIRST, *WRITTEN, *done(2, "write", 3), *READ_BACKWARDS),
    "one key of several": (*done(0, "write", "[0 1]"), *done(0, "read", "[1 2]"), *done(0, "read", "[0 5]")),
    "a map with another value": (*done(0, "write", "{nil 1}"), *done(0, "read", "{nil 2}")),
    "a failed write is read": (op("invoke", 0, "write", 2), op("fail", 0, "write", 2), *READ_BACKWARDS),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_history_that_an_order_explains_holds(name: str) -> None:
    assert judged(*RIGHT[name]).status == "holds"


@pytest.mark.parametrize("name", WRONG)
def test_a_history_that_no_order_explains_is_a_violation(name: str) -> None:
    judgement = judged(*WRONG[name])
    assert judgement.status == "violated"
    assert judgement.breach is not None
    assert judgement.breach.summary.startswith("no order that sessions and times allow explains why request ")


# A client of one's own tells no zxids.


class Register(History):
    """A history of one register."""

    def write(self, client: Session, data: str | Data | None, op: str = "setData", error: str = "") -> None:
        client.answer(client.ask(op, "/r", data=data), error=error)

    def read(self, client: Session, *data: str | Data) -> None:
        for each in data:
            client.answer(client.ask("getData", "/r"), data=each)

    def judged(self) -> Judgement:
        [judgement] = judge(self.exchange(), ["one order"])
        return judgement


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ({"clock": "one"}, "violated"),
        ({"clock": "one", "clock_error": 10**9}, "holds"),
        ({"clock": "per-host"}, "holds"),
    ],
)
@pytest.mark.parametrize("op", ["setData", "txn"])
def test_only_times_of_one_clock_say_which_write_was_first(op: str, header: dict[str, object], status: str) -> None:
    h = Register(**header)
    one, two, three = (h.client(number) for number in (1, 2, 3))
    if op == "setData":
        for client in (one, two, three):
            h.read(client, "0")
        h.write(one, "1")
        h.write(two, "2")
        h.read(three, "2", "1")
    else:
        for client in (one, two):
            client.answer(client.ask("txn", parts=(Part(op="append", path="/l", data=client.session),)))
        both = (Result(children=(two.session, one.session)),)
        three.answer(three.ask("txn", parts=(Part(op="getData", path="/l"),)), results=both)
    assert h.judged().status == status


def test_a_lost_write_may_be_done_after_reads_on_the_next_connection() -> None:
    h = Register()
    one = h.client(1)
    h.read(one, "0")
    one.ask("setData", "/r", data="1")
    one.again()
    h.read(one, "0", "0", "1")
    assert h.judged().status == "holds"
    h.read(one, "0")
    assert h.judged().status == "violated"


def test_a_write_that_the_client_gave_up_may_have_been_done() -> None:
    h = Register()
    h.write(h.client(1), "1", error="RequestTimeout")
    h.read(h.client(2), "0", "1")
    assert h.judged().status == "holds"


@pytest.mark.parametrize("change", ["delete", "a set of unknown data", "a multi"])
def test_a_node_that_is_changed_in_other_ways_is_no_register(change: str) -> None:
    h = Register()
    one = h.client(1)
    h.write(one, "1", "create")
    h.read(one, "1", "2")
    assert h.judged().status == "violated"
    if change == "a multi":
        one.answer(one.ask("multi", parts=(Part(op="setData", path="/r", data="2"),)), results=(Result(),))
    else:
        h.write(one, None, "delete" if change == "delete" else "setData")
    assert h.judged().status == "not exercised"


def test_a_node_that_was_only_created_is_no_register() -> None:
    h = Register()
    one = h.client(1)
    one.create("/r", 2)
    one.ask("getData", "/r")
    assert h.judged().status == "not exercised"


def test_data_that_is_not_shown_has_its_length_and_digest() -> None:
    h = Register()
    one = h.client(1)
    h.write(one, "1" * 41)
    h.read(one, Data(base64="AAED"))
    breach = h.judged().breach
    assert breach is not None
    assert breach.summary.endswith(
        "(getData /r) of client 1 finds data of 3 bytes, crc32:7f53b9e9, which nobody wrote, after request 1 (setData "
        "/r) of client 1 wrote data of 41 characters"
    )


def test_only_what_is_read_before_a_write_may_have_been_there_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    h = Register()
    one = h.client(1)
    for number in range(20):
        h.write(one, str(number))
        h.read(one, str(number))
    h.read(one, "3")
    searches = 0
    search = registers._Search

    def counted(*arguments: Any) -> object:
        nonlocal searches
        searches += 1
        return search(*arguments)

    monkeypatch.setattr(registers, "_Search", counted)
    assert h.judged().status == "violated"
    assert searches == 2


def test_too_many_states_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registers, "MOST_STATES", 1)
    assert judged(*WRONG["an own write is not read"]).status == "inconclusive"


def test_a_vector_of_operations_with_tags_and_comments_is_read() -> None:
    told = "[" + " ".join(f"#jepsen.history.Op{each}" for each in WRITTEN) + "] ; the end\n"
    assert judged(told).judged == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            op("invoke", 0, "enqueue", 1),
            "h, operation 0, field `:f`: expected :read, :write, :cas or :txn, found :enqueue; --map enqueue=… says "
            "which of these it is",
        ),
        (f"{FIRST[0]} {FIRST[0]}", "h, operation 1, field `:process`: 1 has no answer to operation 0 yet"),
        (op("ok", 0, "read", 1), "h, operation 0, field `:type`: expected an answer to what was asked"),
        ("{:type :info}\n; a comment {\n{:type :invoke\n", "h, line 3: expected EDN, brackets or quotes do not fit"),
        ('{:type :info\n:error "no end}', "h, line 2: expected EDN, brackets or quotes do not fit"),
        ("{:type}", "h, line 1: expected EDN, brackets or quotes do not fit"),
        ("[1]", "h, operation 0: expected a map"),
    ],
)
def test_what_is_no_history_of_registers_is_told(text: str, message: str) -> None:
    with pytest.raises(HistoryError) as told:
        [*edn.load(BytesIO(text.encode()), "h", {})]
    assert str(told.value) == message


# Word for word.

Drawn = tuple[int, str, int, int, int | None]
"""Process, function, value, when it was asked, and when it was answered: None if it never was."""


def drawn(random: Random) -> tuple[list[str], list[Drawn]]:
    told, found, waiting = [], [], {}
    processes = [0, 1, 2]
    for time in range(random.randint(4, 11)):
        index = random.randrange(3)
        process = processes[index]
        if process in waiting:
            function, value, asked = waiting.pop(process)
            is_lost = function == "write" and random.random() < 0.2
            told.append(op("info" if is_lost else "ok", process, function, value))
            found.append((process, function, value, asked, None if is_lost else time))
            processes[index] += 3 * is_lost
        else:
            function, value = random.choice(("read", "write")), random.randrange(3)
            told.append(op("invoke", process, function, "nil" if function == "read" else value))
            waiting[process] = function, value, time
    found += [(process, *each, None) for process, each in waiting.items() if each[0] == "write"]
    return told, found


def is_explained(operations: list[Drawn], timed: tuple[str, ...] = ("write",)) -> bool:
    lost = [each for each in operations if each[4] is None]
    known = [each for each in operations if each[4] is not None]
    return any(
        _is_right(order, initial, timed)
        for size in range(len(lost) + 1)
        for some in combinations(lost, size)
        for order in permutations([*known, *some])
        for initial in range(3)
    )


def _is_right(order: tuple[Drawn, ...], value: int, timed: tuple[str, ...]) -> bool:
    for place, (process, function, data, asked, _) in enumerate(order):
        for other in order[place + 1 :]:
            if other[0] == process and other[3] < asked:
                return False
            if function in timed and other[4] is not None and other[4] < asked:
                return False
        if function == "read" and data != value:
            return False
        value = data
    return True


def test_the_search_agrees_with_all_orders() -> None:
    broken = linearizable = 0
    for seed in range(150):
        told, operations = drawn(Random(seed))
        expected = is_explained(operations)
        judgement = judged(*told)
        assert (judgement.breach is None) == expected, seed
        broken += not expected
        if judgement.reads is not None:
            assert judgement.reads.holds == is_explained(operations, ("read", "write")), seed
            linearizable += judgement.reads.holds
    assert 10 < broken < 140
    assert 10 < linearizable < 145 - broken

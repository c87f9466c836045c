"""The screen and the proof agree: the same verdicts, counts and witnesses, however a history is judged."""

from collections.abc import Callable
from functools import partial
from io import BytesIO
from random import Random
from typing import Any
from zlib import crc32

import pytest
from msgspec.structs import replace

from tests.zookeeper.clients.histories import History, stat
from tests.zookeeper.clients.service import World
from tests.zookeeper.clients.test_violations import RIGHT, VIOLATIONS
from zabcheck.zookeeper.clients import parquet
from zabcheck.zookeeper.clients.exchange import Exchange, read
from zabcheck.zookeeper.clients.history import (
    Answer,
    Connect,
    Connected,
    HistoryEnd,
    HistoryError,
    HistoryHeader,
    HistoryLine,
    Request,
    WatchEvent,
)
from zabcheck.zookeeper.clients.judge import Judgement, judge, judge_columns
from zabcheck.zookeeper.clients.screen.digests import digests_of, hashes_of
from zabcheck.zookeeper.clients.screen.parquet import gather


def ended(lines: list[HistoryLine]) -> list[HistoryLine]:
    return [*lines, HistoryEnd(len(lines) - 1)]


def is_judged_alike(lines: list[HistoryLine]) -> bool:
    """Judge in each way, and return True if the history was not read again."""
    again: list[Exchange] = []

    def reread() -> Exchange:
        again.append(read(lines, "history"))
        return again[0]

    proved = outcome(lambda: judge(read(lines, "history")))
    assert outcome(lambda: judge_columns(lambda gathering: gathering.add(lines), reread)) == proved
    columns = BytesIO()
    parquet.dump(lines, columns)
    assert outcome(lambda: judge_columns(partial(gather, columns, "history"), reread)) == proved
    return not again and not isinstance(proved, str)


def outcome(judged: Callable[[], list[Judgement]]) -> list[Judgement] | str:
    """The verdicts, or why there are none."""
    try:
        return judged()
    except HistoryError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(4))
def test_a_sound_history_is_not_read_again(seed: int) -> None:
    lines = World(seed).history(300)
    assert is_judged_alike(lines)
    is_judged_alike([replace(lines[0], bound=seed * 20_000), *lines[1:]])


@pytest.mark.parametrize("write", RIGHT.values(), ids=RIGHT)
def test_what_only_looks_wrong_is_not_read_again(write: Callable[[], History]) -> None:
    assert is_judged_alike(ended(write().lines))


@pytest.mark.parametrize("write", [write for _, write in VIOLATIONS.values()], ids=VIOLATIONS)
def test_a_violation_is_proved(write: Callable[[], History]) -> None:
    assert not is_judged_alike(ended(write().lines))


@pytest.mark.parametrize("seed", range(12))
def test_a_history_with_wrong_fields_is_judged_alike(seed: int) -> None:
    random = Random(seed)
    lines = World(seed).history(random.choice((40, 100, 200)))
    for _ in range(4):
        is_judged_alike(corrupted(lines, random))


ERRORS = ("", "NoNode", "BadVersion", "NodeExists", "NotEmpty", "NoChildrenForEphemerals", "ConnectionLoss")


def test_the_highest_zxids_are_judged_alike() -> None:
    h = History(complete=(), initial="unknown")
    c1, c2 = h.client(1), h.client(2)
    c1.set("/a", (1 << 63) - 1, "x", stat(2, 4, version=1))
    c2.set("/b", 7, "y", stat(3, 7, version=1))
    assert not is_judged_alike(ended(h.lines))
    assert "linearizable writes" in h.broken()


def corrupted(lines: list[HistoryLine], random: Random) -> list[HistoryLine]:
    """Change some lines of a history at random, leave out others, and swap neighbours."""
    wrong = [*lines]
    for _ in range(random.randrange(1, 4)):
        place = random.randrange(1, len(wrong) - 2)
        match random.randrange(12):
            case 0:
                del wrong[place]
            case 1:
                wrong[place : place + 2] = wrong[place + 1], wrong[place]
            case 2:
                wrong[0] = _changed(wrong[0], random)
            case 3 if isinstance(wrong[place], WatchEvent):
                wrong.insert(place, wrong[place])
            case _:
                wrong[place] = _changed(wrong[place], random)
    return ended(wrong[:-1])


def other_children(names: tuple[str, ...], random: Random) -> tuple[str, ...]:
    """Leave out a name, or add one."""
    if names and random.random() < 0.5:
        return tuple(each for each in names if each != random.choice(names))
    return (*names, random.choice(("a", "b", "n0000000001")))


def _changed(line: HistoryLine, random: Random) -> HistoryLine:
    fields: dict[str, Any] = {}
    if isinstance(line, Answer):
        wrong = random.choice(("zxid", "error", "stat", "stat", "stat", "results", "data", "none"))
        if wrong == "zxid":
            fields = {"zxid": max(0, line.zxid + random.randrange(-3, 4))}
        elif wrong == "error":
            fields = {"error": random.choice(ERRORS)}
        elif wrong == "stat" and line.stat is not None:
            counters = ("czxid", "mzxid", "pzxid", "version", "cversion", "data_length", "num_children", "mtime")
            name = random.choice(counters)
            counted = {name: max(0, (getattr(line.stat, name) or 0) + random.choice((-1, 1, 2)))}
            owned = {"ephemeral_owner": random.choice(("0x0", "0x1", "0x2"))}
            fields = {"stat": replace(line.stat, **random.choice((counted, counted, counted, owned)))}
        elif wrong == "results" and line.results:
            results, part = [*line.results], random.randrange(len(line.results))
            results[part] = replace(results[part], error=random.choice(("", "NoNode", "RuntimeInconsistency")))
            fields = {"results": tuple(results)}
        elif wrong == "data" and line.data is not None:
            fields = {"data": "wrong"}
        elif wrong == "data" and line.children is not None:
            fields = {"children": other_children(line.children, random)}
        else:
            fields = {"stat": None}
    elif isinstance(line, Request):
        modes: list[tuple[str, ...]] = [(), ("ephemeral",), ("container",), ("ephemeral", "sequential")]
        choices: list[dict[str, Any]] = [
            {"version": random.randrange(-1, 4)},
            {"data": random.choice(("a", "b"))},
            {"path": random.choice(("/r0", "/q", "/p", "/e1"))},
            {"mode": random.choice(modes)},
            {"op": random.choice(("sync", "ping", "exists", "delete"))},
            {"time": None},
            {"xid": random.randrange(1, 50)},
        ]
        fields = random.choice(choices) if line.path is not None else {}
    elif isinstance(line, Connected):
        fields = {"session": random.choice(("0x0", "0x1", "0x2"))}
    elif isinstance(line, Connect):
        fields = {"seen": random.randrange(100)}
    elif isinstance(line, WatchEvent):
        fields = random.choice(({"zxid": max(-1, line.zxid + random.randrange(-2, 3))}, {"path": "/r0"}))
    elif isinstance(line, HistoryHeader):
        fields = {
            "complete": random.choice(((), ("/",), ("/q",), ("/r0", "/e1"))),
            "clock": random.choice(("one", "none")),
            "clock_error": random.choice((0, 1000)),
            "bound": random.choice((None, 0, 20_000)),
        }
    return replace(line, **fields)


def test_digests_are_those_of_each_text() -> None:
    for texts in (["", "a", "0.1", "x" * 64, "", "y" * 65, "123456789"], ["é", "a"], []):
        raw = [text.encode() for text in texts]
        assert digests_of(texts).tolist() == [crc32(each) << 31 | len(each) for each in raw]
    several, lengths = hashes_of([("a", "b"), (), ("b", "a"), ("a", "c"), ("a",)])
    assert lengths.tolist() == [2, 0, 2, 2, 1]
    assert several[0] == several[2]
    assert len({*several.tolist()}) == 4

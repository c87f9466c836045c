"""A history that is judged in parts: the verdicts, counts and witnesses of one process."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.tiers import sweep
from tests.zookeeper.clients import test_own_clients
from tests.zookeeper.clients.service import World
from tests.zookeeper.clients.test_screen import ERRORS, is_judged_alike, other_children
from tests.zookeeper.clients.test_violations import RIGHT, VIOLATIONS
from zabcheck.zookeeper.clients.division import NotDivided, judge_divided, prove_divided
from zabcheck.zookeeper.clients.exchange import read
from zabcheck.zookeeper.clients.history import (
    Answer,
    ClientMessage,
    Connect,
    Connected,
    HistoryEnd,
    HistoryHeader,
    HistoryLine,
    InitialNode,
    Request,
    WatchEvent,
)
from zabcheck.zookeeper.clients.judge import Judgement, judge
from zabcheck.zookeeper.clients.screen import Gathering

RANDOM = range(130)
_encode = msgspec.msgpack.Encoder().encode


def run(work: Callable[[Any], Any], items: Sequence[Any], kind: Any) -> list[Any]:
    """Do the work here; what comes of it is sent, as by a task."""
    return [msgspec.msgpack.decode(_encode(work(each)), type=kind) for each in items]


def divided(lines: Sequence[HistoryLine], folder: Path, pieces: int = 4, shares: int = 3) -> list[Judgement]:
    """Judge in parts, and assert that all of it proved, in parts as well, comes to the same."""
    cuts = [len(lines) * number // pieces for number in range(pieces + 1)]
    some = [lines[begin:end] for begin, end in pairwise(cuts)]
    judged = judge_divided(_gather, _read, some, shares, str(folder), run)
    assert judged == prove_divided(_read, some, shares, str(folder), run)
    return judged


def _gather(piece: Sequence[HistoryLine], gathering: Gathering) -> None:
    gathering.add(piece)


def _read(piece: Sequence[HistoryLine]) -> list[Sequence[HistoryLine]]:
    return [piece]


EACH = [*VIOLATIONS, *RIGHT]
OF_OWN_CLIENTS = {each.__name__: each for each in test_own_clients.RIGHT}


@pytest.mark.parametrize("name", [*sweep(EACH, normal=EACH[::3]), *OF_OWN_CLIENTS])
def test_each_violation_is_told_in_parts_as_by_one_process(name: str, tmp_path: Path) -> None:
    written = VIOLATIONS[name][1]() if name in VIOLATIONS else (RIGHT | OF_OWN_CLIENTS)[name]()
    lines = [*written.lines, HistoryEnd(len(written.lines) - 1)]
    judged = judge(read(lines, "history"))
    assert divided(lines, tmp_path) == judged
    assert name not in VIOLATIONS or VIOLATIONS[name][0] in [each.promise.name for each in judged if each.breach]


class Altered:
    """A random history of a service without a bug, of which some lines are altered."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.lines = World(seed).history(self._random.choice((60, 150, 300)))
        self._zxids = [each.zxid for each in self.lines if isinstance(each, Answer) and each.zxid]
        for _ in range(self._random.randrange(1, 5)):
            self._alter(self._random.randrange(1, len(self.lines) - 1))
        self._add_told()
        self._alter_header()
        self.lines.pop()
        if self._random.random() < 0.9:
            self.lines.append(HistoryEnd(len(self.lines) - 1))

    def _any(self, kind: type[Any], field: str) -> Any:
        return getattr(self._random.choice([each for each in self.lines if isinstance(each, kind)]), field)

    def _alter(self, place: int) -> None:
        line, choose, zxid = self.lines[place], self._random.choice, self._random.choice(self._zxids)
        match line:
            case Answer():
                others: list[dict[str, Any]] = [{"zxid": zxid}, {"data": self._any(Answer, "data")}]
                others += [{"error": each} for each in ERRORS]
                if line.children is not None:
                    others += [{"children": other_children(line.children, self._random)}] * 9
                if line.stat is not None:
                    stats = [{each: zxid} for each in ("czxid", "mzxid", "pzxid")]
                    owner = choose(("0x0", "0x1", "0x2", "0x3"))
                    stats += [{"version": line.stat.version + 1}, {"cversion": 7}, {"ephemeralOwner": owner}]
                    stat = msgspec.convert(msgspec.to_builtins(line.stat) | choose(stats), type(line.stat))
                    others += [{"stat": stat}] * 5
                self.lines[place] = replace(line, **choose(others))
            case WatchEvent():
                other = replace(line, **choose(({"zxid": zxid}, {"path": self._any(WatchEvent, "path")})))
                self.lines[place : place + 1] = choose(([], [line, line], [other]))
            case Connected():
                self.lines[place] = replace(line, session=choose(("0x0", "0x1", "0x2", "0x3")))
            case Connect():
                self.lines[place] = replace(line, **choose(({"session": "0x2"}, {"seen": zxid})))
            case Request() if line.op == "create":
                self.lines[place] = replace(line, mode=(choose(("ephemeral", "container", "ttl", "sequential")),))
            case Request() if line.op == "getData":
                watch = [{"op": "addWatch", "watch": each} for each in ("persistent", "recursive")]
                others = [{"watch": "standard"}, {"op": "sync"}, {"path": self._any(Request, "path")}]
                self.lines[place] = replace(line, **choose(watch + others))

    def _add_told(self) -> None:
        asked = [(each.client, each.xid) for each in self.lines if isinstance(each, Request)]
        for _ in range(self._random.randrange(3)):
            (one, after), (other, before) = self._random.choices(asked, k=2)
            self.lines.insert(len(self.lines) // 2, ClientMessage(from_=one, to=other, after=after, before=before))

    def _alter_header(self) -> None:
        header, random = self.lines[0], self._random
        assert isinstance(header, HistoryHeader)
        if random.random() < 0.3:
            header = replace(header, profile="protocol")
        if random.random() < 0.3:
            header = replace(header, clock="none")
        if random.random() < 0.3:
            header = replace(header, complete=random.choice(((), ("/p",))))
        if random.random() < 0.3:
            header = replace(header, initial="given")
            shown = [each.stat for each in self.lines if isinstance(each, Answer) and each.stat is not None]
            for path, stat in zip(("/p", "/r0", "/p/a"), random.choices(shown, k=3) if shown else (), strict=False):
                self.lines.insert(1, InitialNode(path=path, zxid=stat.mzxid, stat=stat))
        bound = Random(str(header)).choice((None, 0, 10_000, 100_000))
        self.lines[0] = replace(header, bound=bound)


@pytest.mark.parametrize("seed", sweep(RANDOM, range(12)))
def test_random_histories_are_judged_in_parts_as_by_one_process(seed: int, tmp_path: Path) -> None:
    lines = Altered(seed).lines
    assert divided(lines, tmp_path, 1 + seed % 4, 1 + seed % 5) == judge(read(lines, "history"))


@pytest.mark.parametrize("seed", range(2))
def test_a_sound_history_is_not_judged_operation_by_operation(seed: int, tmp_path: Path) -> None:
    is_looked_at_alone(World(seed).history(400), tmp_path)


@pytest.mark.parametrize("name", sweep(RIGHT, normal=[*RIGHT][::3]))
def test_what_only_looks_wrong_is_not_judged_operation_by_operation(name: str, tmp_path: Path) -> None:
    lines = RIGHT[name]().lines
    is_looked_at_alone([*lines, HistoryEnd(len(lines) - 1)], tmp_path)


def is_looked_at_alone(lines: list[HistoryLine], folder: Path) -> None:
    def read_piece(piece: Sequence[HistoryLine]) -> list[Sequence[HistoryLine]]:
        raise AssertionError("the columns of a part say all that there is")

    pieces = [lines[begin : begin + 150] for begin in range(0, len(lines), 150)]
    assert judge_divided(_gather, read_piece, pieces, 3, str(folder), run) == judge(read(lines, "history"))
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize(
    "name",
    [
        "an_event_comes_after_the_read",
        "a_change_while_away_is_not_told",
        "a_persistent_watch_tells_one_of_two_changes_where_others_may_write",
    ],
)
def test_nothing_is_said_of_an_event_about_a_node_that_not_everybody_may_read(name: str, tmp_path: Path) -> None:
    promise, write = VIOLATIONS[name]
    history = write()
    restricts = history.client(9)
    restricts.answer(restricts.ask("setACL", "/a", restricted=True), 20)
    lines = [*history.lines, HistoryEnd(len(history.lines) - 1)]
    judged = judge(read(lines, "history"))
    assert [each.status for each in judged if each.promise.name == promise] == ["inconclusive"]
    assert not is_judged_alike(lines)
    assert divided(lines, tmp_path) == judged


def test_files_that_are_gone_before_the_end_are_an_error(tmp_path: Path) -> None:
    """Else promises would count as not exercised, and the history pass."""

    def losing(work: Callable[[Any], Any], items: Sequence[Any], kind: Any) -> list[Any]:
        found = run(work, items, kind)
        if [*tmp_path.rglob("rows-*"), *tmp_path.rglob("ops-*")]:
            for folder in [*tmp_path.rglob("lines-*")]:
                rmtree(folder)
        return found

    lines = World(1).history(400)
    with pytest.raises(FileNotFoundError, match="removed"):
        judge_divided(_gather, _read, [lines[:400], lines[400:]], 3, str(tmp_path), losing)
    with pytest.raises(FileNotFoundError, match="removed"):
        prove_divided(_read, [lines[:400], lines[400:]], 3, str(tmp_path), losing)


def test_most_promises_are_broken_by_random_histories() -> None:
    judged = [each for seed in range(20) for each in judge(read(Altered(seed).lines, "history"))]
    assert len({each.promise.name for each in judged if each.breach is not None}) > 10


LINES = VIOLATIONS["half_of_a_multi_is_seen"][1]().lines
REQUEST = next(each for each in LINES if isinstance(each, Request))


@pytest.mark.parametrize(
    "lines",
    [
        [*LINES, HistoryEnd(len(LINES))],
        [*LINES, HistoryEnd(len(LINES) - 1), HistoryEnd(len(LINES) - 1)],
        [*LINES, LINES[0], HistoryEnd(len(LINES))],
        LINES[1:],
        [*LINES, REQUEST, REQUEST],
        [*LINES, replace(REQUEST, xid=99, op="txn")],
    ],
)
def test_what_is_no_history_of_zookeeper_is_not_divided(lines: list[HistoryLine], tmp_path: Path) -> None:
    with pytest.raises(NotDivided):
        divided(lines, tmp_path)

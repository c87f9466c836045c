"""The age of reads, by the judge and by the promise read literally: each read is compared with each write."""

from random import Random

import pytest
from msgspec.structs import replace

from tests.zookeeper.clients.service import SERVERS, World
from zabcheck.zookeeper.clients.exchange import Exchange, Operation, read
from zabcheck.zookeeper.clients.history import Answer, HistoryHeader, HistoryLine
from zabcheck.zookeeper.clients.judge import Judgement, judge

MINUTE = 60_000_000_000


def judged(exchange: Exchange) -> Judgement:
    [judgement] = judge(exchange, ["timeliness"])
    return judgement


def with_bound(lines: list[HistoryLine], bound: int, error: int = 0) -> Exchange:
    assert isinstance(lines[0], HistoryHeader)
    return read([replace(lines[0], bound=bound, clock_error=error), *lines[1:]], "history")


def missed(exchange: Exchange) -> list[tuple[int, Operation, Operation]]:
    """Each read with each write that was answered before and that it misses, and for how long."""
    reads = [each for each in exchange.operations if each.request.op in ("getData", "exists", "getChildren")]
    writes = [each for each in exchange.operations if each.is_write and each.is_done]
    return [
        (answered_at(read) - answered_at(write) - exchange.header.clock_error, write, read)
        for read in reads
        for write in writes
        if read.zxid and read.zxid < write.zxid and read.answer is not None
    ]


def answered_at(operation: Operation) -> int:
    assert operation.answer is not None
    assert operation.answer.time is not None
    return operation.answer.time


@pytest.mark.parametrize("seed", range(8))
def test_the_judge_agrees_with_each_read_compared_with_each_write(seed: int) -> None:
    random = Random(seed)
    lines = World(seed).history(150)
    for place in random.sample(range(len(lines)), 10):
        line = lines[place]
        if isinstance(line, Answer) and line.zxid:
            lines[place] = replace(line, zxid=random.randrange(1, line.zxid + 1))
    for bound, error in ((0, 0), (2_000, 500), (MINUTE, 0)):
        exchange = with_bound(lines, bound, error)
        pairs, judgement = missed(exchange), judged(exchange)
        assert judgement.age == max((age for age, _, _ in pairs if age > 0), default=0)
        late = [(write, read) for age, write, read in pairs if age > bound]
        assert (judgement.status == "violated") == bool(late)
        if judgement.breach is not None:
            assert judgement.breach.witness in [write.witness + read.witness for write, read in late]
            assert judgement.breach.zxid == min(read.zxid for _, read in late)


def test_without_a_bound_the_greatest_age_is_told_alone() -> None:
    judgement = judged(read(World(1).history(150), "history"))
    assert (judgement.status, judgement.judged) == ("not exercised", 0)
    assert judgement.age


def test_without_one_clock_nothing_is_said() -> None:
    lines = World(1).history(150)
    assert isinstance(lines[0], HistoryHeader)
    judgement = judged(with_bound([replace(lines[0], clock="per-host"), *lines[1:]], 0))
    assert (judgement.judged, judgement.age) == (0, None)


class Prompt(World):
    """A service whose servers have heard of all writes when a session has expired, which takes a minute."""

    def __init__(self, seed: int, held_back: int) -> None:
        super().__init__(seed)
        self.prompt = self.servers[held_back:]

    def step(self) -> None:
        before = self.time
        super().step()
        if self.time - before > MINUTE:
            for server in self.prompt:
                server.catch_up(len(self.leader.log))


@pytest.mark.parametrize(("held_back", "status"), [(0, "holds"), (SERVERS, "violated")])
def test_servers_that_are_a_minute_behind_are_found(held_back: int, status: str) -> None:
    for seed in (0, 2, 3):
        assert judged(with_bound(Prompt(seed, held_back).history(400), MINUTE)).status == status

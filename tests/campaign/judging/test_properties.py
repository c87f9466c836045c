"""The six properties on Spark say of every run what the incremental judge and the literal reading say of it."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from invariants import Broadcast, Deliver, Event, Restore, Txn, Zxid, check
from invariants.events import Local
from tests.campaign.judging.engines import expected, judged, stored
from tests.invariants.builders import A, B, C, D, E, F, Order, broadcasts, deliveries, merge, restore, whole
from tests.invariants.by_property import OF_SEQUENCES
from tests.invariants.oracle import Reading
from tests.invariants.traces import random_trace
from zabcheck.campaign.judging.properties import FORKED, ON_A_PATH, STREAMED, explain
from zabcheck.campaign.judging.verdicts import SIX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


def traces(seeds: range, length: int | None = None) -> dict[int, list[Event]]:
    """Random traces of all defects; of three one is complete, one says that it is not, and one lacks its end."""
    found = {}
    for seed in seeds:
        events = random_trace(seed).events[:length]
        order: Order = "global" if seed % 2 else "per-process"
        lines = whole(events, order, complete=seed % 3 != 1)
        found[seed] = lines[:-1] if seed % 3 == 2 else lines
    return found


@pytest.mark.slow
def test_ten_thousand_random_traces_are_judged_as_the_incremental_judge_does(
    spark: "SparkSession", tmp_path: Path
) -> None:
    runs = traces(range(10_000))
    statuses, how = judged(stored(spark, tmp_path / "x.parquet", runs))
    assert statuses == expected(runs)
    assert all(list(how.values()).count(way) > 1000 for way in (ON_A_PATH, FORKED, STREAMED))
    for place, name in enumerate(SIX):
        said = [each[place] for each in statuses.values()]
        assert all(said.count(status) > 50 for status in ("holds", "violated", "not exercised", "inconclusive")), name


@pytest.mark.slow
def test_forty_thousand_more(spark: "SparkSession", tmp_path: Path) -> None:
    """In one table: a judgement takes Spark half a minute, however few traces there are."""
    runs = traces(range(20_000, 60_000))
    assert judged(stored(spark, tmp_path / "x.parquet", runs))[0] == expected(runs)


MANY = [Txn(Zxid(1, counter), f"v{counter}") for counter in range(1, 31)]
SENT = broadcasts(1, 1, *MANY)
G = Txn(Zxid(4, 1), "g")


def each_delivers(*sequences: Sequence[Txn]) -> list[Event]:
    """Process 1 delivers the first sequence, process 2 the second, and so on."""
    return [event for process, txns in enumerate(sequences, 1) for event in deliveries(process, *txns)]


CRAFTED: dict[str, tuple[str, list[Event]]] = {
    "nothing at all": (ON_A_PATH, []),
    "broadcasts alone": (ON_A_PATH, SENT),
    "a hundred processes": (ON_A_PATH, [*SENT, *each_delivers(*[MANY[: n % 31] for n in range(100)])]),
    "a hundred processes, the last lacks one in the middle": (
        FORKED,
        [*SENT, *each_delivers(*[MANY] * 99, [*MANY[:5], *MANY[6:]])],
    ),
    "a hundred processes that deliver the even or the odd ones": (
        FORKED,
        [*SENT, *each_delivers(*[MANY[n % 2 :: 2] for n in range(100)])],
    ),
    "eighty incarnations, each from the start": (
        ON_A_PATH,
        [*SENT, *(Deliver(2, life, txn) for life in range(80) for txn in MANY[: life % 5])],
    ),
    "eighty incarnations, one of them the wrong way round": (
        FORKED,
        [*SENT, *(Deliver(2, life, txn) for life in range(80) for txn in (MANY[:3] if life != 40 else MANY[2::-1]))],
    ),
    "delivered twice by one incarnation": (FORKED, [*SENT, *each_delivers(MANY, [*MANY[:9], *MANY])]),
    "broadcast after it was delivered": (ON_A_PATH, [*each_delivers(MANY, MANY), *SENT]),
    "two broadcasters of an epoch, one after the other": (
        ON_A_PATH,
        [*broadcasts(1, 1, A, B), *broadcasts(2, 1, C), *each_delivers([A, B, C], [A])],
    ),
    "two broadcasters of an epoch, in turns": (
        FORKED,
        [*broadcasts(1, 1, A, C), *broadcasts(2, 1, B), *each_delivers([A, B, C], [A])],
    ),
    "two broadcasters of an epoch, and the second one of the first is missing": (
        FORKED,
        [*broadcasts(1, 1, A, C, F), *broadcasts(2, 1, B), *each_delivers([A, B, F], [A])],
    ),
    "broadcast in two epochs by two primaries": (
        FORKED,
        [*broadcasts(1, 1, A, B), *broadcasts(2, 2, B, D), *each_delivers([A, B, D], [A, B, D])],
    ),
    "broadcast in two epochs, with one between": (
        FORKED,
        [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *broadcasts(3, 3, A), *each_delivers([A, D], [A, D])],
    ),
    "an epoch unlike the zxid's": (
        ON_A_PATH,
        [*broadcasts(1, 7, A), *broadcasts(2, 3, D), *each_delivers([A, D])],
    ),
    "descending zxids": (ON_A_PATH, [*broadcasts(1, 1, C, B, A), *each_delivers([C, B, A], [C, B])]),
    "epochs in the wrong order": (ON_A_PATH, [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *each_delivers([D, A])]),
    "a primary that broadcasts too soon": (
        ON_A_PATH,
        [*broadcasts(1, 1, A, B), *deliveries(2, A), *broadcasts(2, 2, D), *each_delivers([A, B, D], [B, D])],
    ),
    "a primary that goes back to an earlier epoch": (
        FORKED,
        [*broadcasts(1, 2, D), *broadcasts(1, 1, A), *broadcasts(1, 2, E), *each_delivers([A, D, E])],
    ),
    "the largest epoch": (
        ON_A_PATH,
        [*(e for z in (0, 2**31, 2**32 - 1) for e in broadcasts(1, z, Txn(Zxid(z, 2**32 - 1), "x")))],
    ),
    "a snapshot, on record": (
        ON_A_PATH,
        [*SENT, *deliveries(1, *MANY), restore(2, *MANY[:9]), *deliveries(2, *MANY[9:])],
    ),
    "its own snapshot, and nothing that it did not have": (
        ON_A_PATH,
        [*SENT, *deliveries(1, *MANY), restore(1, *MANY[:9]), *deliveries(1, *MANY[:9])],
    ),
    "two snapshots, one of which is gone on from": (
        ON_A_PATH,
        [*SENT, *deliveries(1, *MANY), restore(2, *MANY[:9]), restore(3, *MANY[:9]), *deliveries(3, MANY[9])],
    ),
    "a snapshot, on record, and repeats of what is in it": (
        ON_A_PATH,
        [*SENT, *deliveries(1, *MANY), restore(2, *MANY[:9]), *deliveries(2, *MANY[4:])],
    ),
    "a snapshot before it is on record, of what came from another snapshot": (
        ON_A_PATH,
        [
            restore(3, A, B),
            restore(2, A),
            *deliveries(2, B),
            *deliveries(1, A),
            *broadcasts(1, 1, A),
            *broadcasts(2, 1, B),
        ],
    ),
    "the same, where the primary has broadcast both": (
        STREAMED,
        [restore(3, A, B), restore(2, A), *deliveries(2, B), *deliveries(1, A), *broadcasts(1, 1, A, B)],
    ),
    "a snapshot with the right zxid and length, of other transactions": (
        STREAMED,
        [*SENT, *deliveries(1, *MANY), restore(2, MANY[1], MANY[0], *MANY[2:9]), *deliveries(2, *MANY[9:])],
    ),
    "two snapshots that justify each other": (
        STREAMED,
        [*SENT, restore(1, *MANY[:4]), *deliveries(1, *MANY[4:9]), restore(2, *MANY[:9]), *deliveries(2, *MANY[:4])],
    ),
    "snapshots of both branches": (
        STREAMED,
        [*broadcasts(1, 1, A, B, C), *each_delivers([A, B], [B, A]), restore(3, A, B), restore(4, B, A)],
    ),
    "a snapshot of nothing": (ON_A_PATH, [*SENT, *deliveries(1, *MANY), restore(1), *deliveries(1, *MANY)]),
    "a snapshot of nothing, and then the wrong way round": (
        FORKED,
        [*SENT, *deliveries(1, *MANY), restore(1), *deliveries(1, *MANY[::-1])],
    ),
    "a snapshot of nothing, with a hash": (STREAMED, [*SENT, Restore(1, 0, Zxid(0, 0), 0, 5), *deliveries(1, A)]),
    "a snapshot between two broadcasts of a primary": (
        ON_A_PATH,
        [
            *broadcasts(1, 1, A, B),
            *each_delivers([A, B], [A, B]),
            *broadcasts(2, 2, D),
            restore(2, A),
            *broadcasts(2, 2, E),
        ],
    ),
    "nothing but a snapshot": (STREAMED, [restore(1, A)]),
    "values that are much alike": (
        FORKED,
        [*(Broadcast(1, 0, 4, Txn(G.zxid, v)) for v in ("", " ", "g", "g\0")), *each_delivers([G], [Txn(G.zxid, "")])],
    ),
}


@pytest.mark.slow
def test_crafted_and_random_traces_and_the_literal_reading_in_any_order(spark: "SparkSession", tmp_path: Path) -> None:
    """In one go, as what Spark does for a table of runs takes long for one as well."""
    many = 2000
    names = list(CRAFTED)
    runs = {number: whole(events, processes=200) for number, (_, events) in enumerate(CRAFTED.values())}
    runs |= traces(range(10_000, 10_000 + many))
    wanted = expected(runs)
    for seed in range(1000, 1000 + many // 4):
        events = random_trace(seed).events
        wanted[seed] = [OF_SEQUENCES[name](Reading(events))[0] for name in SIX]
        runs[seed] = whole(merge(Random(seed), [event for event in events if isinstance(event, Local)]))
    statuses, how = judged(stored(spark, tmp_path / "x.parquet", runs))
    for number, name in enumerate(names):
        assert (statuses[number], how[number]) == (wanted[number], CRAFTED[name][0]), name
    assert statuses == wanted


@pytest.mark.slow
def test_runs_in_small_chunks_and_rows_in_disorder_change_nothing(spark: "SparkSession", tmp_path: Path) -> None:
    runs = traces(range(100))
    runs |= {1000 + number: whole(events, processes=200) for number, (_, events) in enumerate(CRAFTED.values())}
    events = stored(spark, tmp_path / "x.parquet", runs)
    disorder = events.orderBy("zxid_counter", "event", "value").repartition(3, "process")
    statuses, how = judged(disorder, chunk=7)
    assert statuses == expected(runs)
    assert [how[1000 + number] for number in range(len(CRAFTED))] == [way for way, _ in CRAFTED.values()]


@pytest.mark.slow
def test_what_is_explained_is_the_canonical_witness(spark: "SparkSession", tmp_path: Path) -> None:
    runs = {seed: whole(random_trace(seed).events) for seed in range(40)}
    events = stored(spark, tmp_path / "x.parquet", runs)
    told = explain(events, range(3, 9))
    assert {run: [v.violation and v.violation.witness for v in said] for run, said in told.items()} == {
        run: [v.violation and v.violation.witness for v in check(runs[run], SIX)] for run in range(3, 9)
    }

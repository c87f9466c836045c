"""A task says of each run what a judge and the literal reading of the paper say of it."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from invariants import Broadcast, Deliver, Event, Restore, Status, Txn, Verdict, Zxid, check
from invariants.columns import PARQUET
from invariants.columns import parquet as parquet_files
from tests.campaign.judging.stored import judged, lines, parquet
from tests.invariants.builders import A, B, C, D, E, F, broadcasts, deliveries, restore, whole
from tests.invariants.by_property import OF_SEQUENCES
from tests.invariants.columns import table_of
from tests.invariants.oracle import Reading
from tests.invariants.traces import random_trace
from tests.tiers import sweep
from zabcheck.campaign.judging import shares
from zabcheck.campaign.judging.checking import SIX
from zabcheck.campaign.judging.shares import shares_of
from zabcheck.campaign.judging.task import MOST_BROKEN, CheckedRuns

MANY = [Txn(Zxid(1, counter), f"v{counter}") for counter in range(1, 31)]
SENT = broadcasts(1, 1, *MANY)
G = Txn(Zxid(4, 1), "g")


def each_delivers(*sequences: Sequence[Txn]) -> list[Event]:
    """Process 1 delivers the first sequence, process 2 the second, and so on."""
    return [event for process, txns in enumerate(sequences, 1) for event in deliveries(process, *txns)]


CRAFTED: dict[str, list[Event]] = {
    "nothing at all": [],
    "broadcasts alone": SENT,
    "twenty processes": [*SENT, *each_delivers(*[MANY[: n % 31] for n in range(20)])],
    "twenty processes, the last lacks one in the middle": [*SENT, *each_delivers(*[MANY] * 19, [*MANY[:5], *MANY[6:]])],
    "twenty processes that deliver the even or the odd ones": [
        *SENT,
        *each_delivers(*[MANY[n % 2 :: 2] for n in range(20)]),
    ],
    "eighty incarnations, each from the start": [
        *SENT,
        *(Deliver(2, life, txn) for life in range(80) for txn in MANY[: life % 5]),
    ],
    "eighty incarnations, one of them the wrong way round": [
        *SENT,
        *(Deliver(2, life, txn) for life in range(80) for txn in (MANY[:3] if life != 40 else MANY[2::-1])),
    ],
    "delivered twice by one incarnation": [*SENT, *each_delivers(MANY, [*MANY[:9], *MANY])],
    "broadcast after it was delivered": [*each_delivers(MANY, MANY), *SENT],
    "two broadcasters of an epoch, one after the other": [
        *broadcasts(1, 1, A, B),
        *broadcasts(2, 1, C),
        *each_delivers([A, B, C], [A]),
    ],
    "two broadcasters of an epoch, in turns": [
        *broadcasts(1, 1, A, C),
        *broadcasts(2, 1, B),
        *each_delivers([A, B, C], [A]),
    ],
    "two broadcasters of an epoch, and the second one of the first is missing": [
        *broadcasts(1, 1, A, C, F),
        *broadcasts(2, 1, B),
        *each_delivers([A, B, F], [A]),
    ],
    "broadcast in two epochs by two primaries": [
        *broadcasts(1, 1, A, B),
        *broadcasts(2, 2, B, D),
        *each_delivers([A, B, D], [A, B, D]),
    ],
    "broadcast in two epochs, with one between": [
        *broadcasts(1, 1, A),
        *broadcasts(2, 2, D),
        *broadcasts(3, 3, A),
        *each_delivers([A, D], [A, D]),
    ],
    "an epoch unlike the zxid's": [*broadcasts(1, 7, A), *broadcasts(2, 3, D), *each_delivers([A, D])],
    "descending zxids": [*broadcasts(1, 1, C, B, A), *each_delivers([C, B, A], [C, B])],
    "epochs in the wrong order": [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *each_delivers([D, A])],
    "a primary that broadcasts too soon": [
        *broadcasts(1, 1, A, B),
        *deliveries(2, A),
        *broadcasts(2, 2, D),
        *each_delivers([A, B, D], [B, D]),
    ],
    "a primary that goes back to an earlier epoch": [
        *broadcasts(1, 2, D),
        *broadcasts(1, 1, A),
        *broadcasts(1, 2, E),
        *each_delivers([A, D, E]),
    ],
    "the largest epoch": [*(e for z in (0, 2**31, 2**32 - 1) for e in broadcasts(1, z, Txn(Zxid(z, 2**32 - 1), "x")))],
    "a snapshot, on record": [*SENT, *deliveries(1, *MANY), restore(2, *MANY[:9]), *deliveries(2, *MANY[9:])],
    "its own snapshot, and nothing that it did not have": [
        *SENT,
        *deliveries(1, *MANY),
        restore(1, *MANY[:9]),
        *deliveries(1, *MANY[:9]),
    ],
    "two snapshots, one of which is gone on from": [
        *SENT,
        *deliveries(1, *MANY),
        restore(2, *MANY[:9]),
        restore(3, *MANY[:9]),
        *deliveries(3, MANY[9]),
    ],
    "a snapshot, on record, and repeats of what is in it": [
        *SENT,
        *deliveries(1, *MANY),
        restore(2, *MANY[:9]),
        *deliveries(2, *MANY[4:]),
    ],
    "a snapshot before it is on record, of what came from another snapshot": [
        restore(3, A, B),
        restore(2, A),
        *deliveries(2, B),
        *deliveries(1, A),
        *broadcasts(1, 1, A),
        *broadcasts(2, 1, B),
    ],
    "the same, where the primary has broadcast both": [
        restore(3, A, B),
        restore(2, A),
        *deliveries(2, B),
        *deliveries(1, A),
        *broadcasts(1, 1, A, B),
    ],
    "a snapshot with the right zxid and length, of other transactions": [
        *SENT,
        *deliveries(1, *MANY),
        restore(2, MANY[1], MANY[0], *MANY[2:9]),
        *deliveries(2, *MANY[9:]),
    ],
    "two snapshots that justify each other": [
        *SENT,
        restore(1, *MANY[:4]),
        *deliveries(1, *MANY[4:9]),
        restore(2, *MANY[:9]),
        *deliveries(2, *MANY[:4]),
    ],
    "snapshots of both branches": [
        *broadcasts(1, 1, A, B, C),
        *each_delivers([A, B], [B, A]),
        restore(3, A, B),
        restore(4, B, A),
    ],
    "a snapshot of nothing": [*SENT, *deliveries(1, *MANY), restore(1), *deliveries(1, *MANY)],
    "a snapshot of nothing, and then the wrong way round": [
        *SENT,
        *deliveries(1, *MANY),
        restore(1),
        *deliveries(1, *MANY[::-1]),
    ],
    "a snapshot of nothing, with a hash": [*SENT, Restore(1, 0, Zxid(0, 0), 0, 5), *deliveries(1, A)],
    "a snapshot between two broadcasts of a primary": [
        *broadcasts(1, 1, A, B),
        *each_delivers([A, B], [A, B]),
        *broadcasts(2, 2, D),
        restore(2, A),
        *broadcasts(2, 2, E),
    ],
    "nothing but a snapshot": [restore(1, A)],
    "values that are much alike": [
        *(Broadcast(1, 0, 4, Txn(G.zxid, v)) for v in ("", " ", "g", "g\0")),
        *each_delivers([G], [Txn(G.zxid, "")]),
    ],
}


def counts_of(verdicts: Sequence[Sequence[Verdict]]) -> dict[str, dict[Status, int]]:
    counts: dict[str, dict[Status, int]] = {}
    for each in (verdict for run in verdicts for verdict in run):
        of_it = counts.setdefault(each.property, {})
        of_it[each.status] = of_it.get(each.status, 0) + 1
    return counts


def assert_agrees(found: CheckedRuns, verdicts: Sequence[Sequence[Verdict]]) -> None:
    """Assert that what was found is the sum of the verdicts of a judge on each run."""
    counts = {name: {status: n for status, n in each.items() if n} for name, each in found.counts.items()}
    assert counts == counts_of(verdicts)
    broken = [(run, v) for run, each in enumerate(verdicts) if (v := [e.violation for e in each if e.violation])]
    assert (found.runs, found.violated) == (len(verdicts), len(broken))
    assert [[vars_of(v) for v in each.violations] for each in found.broken] == [
        [vars_of(v) for v in violations] for _, violations in broken[:MOST_BROKEN]
    ]


def vars_of(violation: object) -> object:
    return {name: getattr(violation, name) for name in ("property", "summary", "witness", "detected")}


def traces(seeds: range) -> list[list[Event]]:
    """Random traces of all defects; of three one is complete, one says that it is not, and one lacks its end."""
    found = []
    for seed in seeds:
        events = whole(random_trace(seed).events, "global" if seed % 2 else "per-process", complete=seed % 3 != 1)
        found.append(events[:-1] if seed % 3 == 2 else events)
    return found


@pytest.mark.parametrize("seeds", sweep((range(200), range(1000, 2500)), normal=(range(200),)), ids=str)
def test_random_traces_are_judged_as_by_a_judge(seeds: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a table of two files, which is divided in the middle of runs."""
    monkeypatch.setattr(shares, "ROWS", 500)
    monkeypatch.setattr(parquet_files, "BATCH", 64)
    runs = traces(seeds)
    parquet(tmp_path / "x.parquet", *runs, row_group=120, files=2)
    assert len(shares_of([str(tmp_path)])) > 5
    assert_agrees(judged(tmp_path), [check(each, SIX) for each in runs])


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_trace_is_judged_by_the_literal_reading(name: str, tmp_path: Path) -> None:
    events = CRAFTED[name]
    parquet(tmp_path / "x.parquet", whole(events, processes=200))
    (tmp_path / "x.jsonl").write_bytes(lines(whole(events, processes=200)))
    found = judged(tmp_path)
    assert (found.runs, found.lines) == (2, 2 * len(events) + 4)
    wanted = {each: OF_SEQUENCES[each](Reading(events))[0] for each in SIX}
    assert {each: [status for status, n in found.counts[each].items() if n == 2] for each in SIX} == {
        each: [status] for each, status in wanted.items()
    }


def test_json_lines_and_parquet_are_judged_alike(tmp_path: Path) -> None:
    runs = traces(range(40))
    parquet(tmp_path / "x.parquet", *runs)
    (tmp_path / "lines").mkdir()
    for number, events in enumerate(runs):
        (tmp_path / "lines" / f"{number:02} ü.jsonl").write_bytes(lines(events))
    from_lines, from_rows = judged(tmp_path / "lines"), judged(tmp_path / "x.parquet")
    verdicts = [check(each, SIX) for each in runs]
    assert_agrees(from_lines, verdicts)
    assert_agrees(from_rows, verdicts)
    assert from_lines.lines == from_rows.lines == sum(map(len, runs))
    assert from_lines.broken[0].trace == f"{tmp_path}/lines/{from_rows.broken[0].run:02} ü.jsonl"


def test_any_property_can_be_asked_for(tmp_path: Path) -> None:
    run = whole([*broadcasts(1, 1, A, B), *deliveries(1, A, B), *deliveries(2, A, B)], "global")
    parquet(tmp_path / "x.parquet", run, run)
    found = judged(tmp_path / "x.parquet", properties=("clock", "prefix", "redelivery"))
    assert_agrees(found, [check(run, ("clock", "prefix", "redelivery"))] * 2)
    assert found.in_arrays == 2


def test_rows_in_disorder_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "ROWS", 300)
    runs = traces(range(100))
    table = table_of(runs)
    disorder = table.take(pa.array(Random(1).sample(range(table.num_rows), table.num_rows)))
    pq.write_table(disorder, tmp_path / "x.parquet", row_group_size=100, **PARQUET)
    assert len(shares_of([str(tmp_path)])) == 1
    assert_agrees(judged(tmp_path), [check(each, SIX) for each in runs])


@pytest.mark.parametrize("is_broken", [False, True])
def test_a_run_of_many_pieces_is_judged_piece_by_piece(
    is_broken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken one twice: in arrays until that shows, then from its start, by a judge."""
    monkeypatch.setattr(parquet_files, "BATCH", 100)
    txns = [Txn(Zxid(1, counter), "v") for counter in range(1, 1000)]
    delivered = [*txns[:-2], txns[-1]] if is_broken else txns
    run = whole([*broadcasts(1, 1, *txns), *deliveries(1, *txns), *deliveries(2, *delivered)])
    parquet(tmp_path / "x.parquet", run, row_group=100)
    (tmp_path / "x.jsonl").write_bytes(lines(run))
    for file in ("x.parquet", "x.jsonl"):
        found = judged(tmp_path / file)
        assert_agrees(found, [check(run, SIX)])
        assert (found.lines, found.in_arrays, found.violated) == (len(run), not is_broken, is_broken)

"""Traces as files, and what tasks say of them."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from invariants import Event, trace
from invariants.columns import PARQUET
from tests.invariants.builders import A, B, broadcasts, deliveries, restore, whole
from tests.invariants.columns import table_of
from zabcheck.campaign.judging.checking import SIX
from zabcheck.campaign.judging.shares import shares_of
from zabcheck.campaign.judging.task import CheckedRuns, judge_share

GOOD = whole([*broadcasts(1, 1, A, B), *deliveries(1, A, B), restore(2, A), *deliveries(2, B)])


def lines(events: Sequence[Event]) -> bytes:
    return b"".join(trace.dump(events))


def parquet(path: Path, *runs: Sequence[Event], row_group: int = 1 << 20, files: int = 1) -> None:
    """Write the runs, numbered from 0, as a Parquet file, or as several with the rows of one after those of another."""
    table = table_of(runs)
    size = -(-table.num_rows // files)
    for number in range(files):
        place = path if files == 1 else path.with_stem(f"{path.stem}-{number}")
        pq.write_table(table.slice(number * size, size), place, row_group_size=row_group, **PARQUET)


def judged(*paths: Path, properties: Sequence[str] = SIX) -> CheckedRuns:
    """Judge the traces at these paths, share by share, as Spark does."""
    found = CheckedRuns()
    for share in shares_of(map(str, paths)):
        found += judge_share(share, properties)
    return found

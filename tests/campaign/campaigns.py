"""Small campaigns that are real, and changed copies of them."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.campaign import plans
from tests.campaign.plans import plan_of
from zabcheck.campaign.schema import RUNS, RUNS_PARQUET
from zabcheck.campaign.store import Store

NUMBER = 300
MUTANTS = (None, "no-truncation", "commit-ld-zxid")
PART = 50


def made(place: Path, runs: int, mutants: tuple[str | None, ...]) -> Store:
    """A campaign whose parts are all finished."""
    plan = plan_of(runs, *mutants, runs_a_part=PART, keep="violations", processes=None, minimise=100)
    return plans.made(place, plan)


def copied(store: Store, place: Path) -> Store:
    """A copy that may be changed."""
    return Store(str(shutil.copytree(store.place, place)))


def change(store: Store, name: str, edit: Callable[[pa.Table], pa.Table]) -> None:
    """Write a file of runs anew, as `edit` has it."""
    path = f"{store.place}/{name}"
    pq.write_table(edit(pq.read_table(path, schema=RUNS)), path, **RUNS_PARQUET)


def rows_of(store: Store) -> list[dict[str, Any]]:
    """All rows of runs, in the order of their numbers; maps as dictionaries."""
    rows = [row for name in store.finished().values() for row in pq.read_table(f"{store.place}/{name}").to_pylist()]
    return sorted(
        ({**row, **{name: dict(row[name]) for name in ("switches", "weights", "judged")}} for row in rows),
        key=lambda row: row["run"],
    )

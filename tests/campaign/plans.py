"""Plans of small campaigns, and their folders made without Spark."""

from pathlib import Path
from typing import Any

import msgspec

from invariants import select
from zabcheck.campaign.part import Maker
from zabcheck.campaign.plan import Plan
from zabcheck.campaign.schema import RUNS
from zabcheck.campaign.store import Store
from zabcheck.protocols.base import WITHOUT_CLIENTS

EVERY = tuple(kind.name for kind in select(WITHOUT_CLIENTS))


def plan_of(runs: int = 30, *mutants: str | None, **changed: Any) -> Plan:
    """Return a plan of parts of ten runs."""
    plan = Plan(1, "zab", mutants or (None,), 1, runs, 10, "events", 100, 3, None, EVERY, {}, 3)
    return msgspec.structs.replace(plan, **changed)


def begun(folder: Path, plan: Plan) -> Store:
    store = Store(str(folder))
    store.begin(plan)
    return store


def made(folder: Path, plan: Plan) -> Store:
    """Make all parts, here and now."""
    store = begun(folder, plan)
    maker = Maker(plan, store)
    for part in range(plan.parts):
        maker.make(part)
    return store


def rows(store: Store) -> list[dict[str, Any]]:
    """The rows of all parts, in order, without the CPU time."""
    found = [row for name in store.finished().values() for row in store.table(name, RUNS).to_pylist()]
    return sorted(({**row, "seconds": 0.0} for row in found), key=lambda row: int(row["run"]))

"""The questions of the tables, answered in this process by Arrow: for a small campaign, Spark's start costs more.

All rows are in memory: 1.5 GiB for 300,000 runs, whose files take 60 MiB, in 9 CPU seconds. Spark's tables of a handful
of runs take three times that.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property
from math import ceil, floor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from invariants.quorums import MAJORITY
from zabcheck.campaign.schema import RUNS
from zabcheck.campaign.store import Store
from zabcheck.campaign.tables.questions import BINS, FIGURES, MOST_RAISED, PERCENTILES, SUMS, Key
from zabcheck.campaign.tables.saturation import block_width
from zabcheck.campaign.tables.things import FAULTS, LETTERS

_MICROSECOND = Decimal("0.000001")
_DRAWN = pa.schema([("row", pa.int64()), ("kind", pa.string()), ("value", pa.string())])


def read(store: Store) -> pa.Table:
    """Read the rows of all finished parts. StoreError if a file is corrupt or has other columns."""
    return pa.concat_tables(store.table(name, RUNS) for name in store.finished().values()).combine_chunks()


class InProcess:
    """Answers to `Questions` about `runs`, a table with the columns of `zabcheck.campaign.schema`."""

    def __init__(self, runs: pa.Table) -> None:
        self.runs = runs.append_column("row", pa.array(range(runs.num_rows), pa.int64()))

    def overview(self) -> Mapping[str, Any]:
        as_it_is = self.runs.filter(pc.is_null(self.runs["mutant"]))
        return {
            "runs": self.runs.num_rows,
            "parts": pc.count_distinct(self.runs["part"]).as_py(),
            **{name: pc.sum(self.runs[name]).as_py() for name in SUMS},
            "longest": pc.max(self.runs["longest"]).as_py(),
            "violating": _known(self.runs["broken"]),
            "raised": _known(self.runs.filter(pc.is_null(self.runs["broken"]))["raised"]),
            "as_it_is": as_it_is.num_rows,
            "broken_as_it_is": _known(as_it_is["broken"]),
            "seconds": _rounded(pc.sum(self.runs["seconds"]).as_py()),
        }

    def judged(self) -> Mapping[Key, Key]:
        _, keys, times = self._entries("judged")
        table = pa.table({"property": keys, "times": times, "was": pc.cast(pc.greater(times, 0), pa.int64())})
        return _by_key(table.group_by("property").aggregate([("was", "sum"), ("times", "sum")]))

    def goals(self) -> Mapping[Key, Key]:
        rows, goals = self._items("goals")
        table = pa.table({"goal": goals, "run": self.runs["run"].take(rows)})
        return _by_key(table.group_by("goal").aggregate([("run", "count"), ("run", "min")]))

    def mutants(self) -> Mapping[Key, Key]:
        sums = [("row", "count"), ("steps", "sum"), ("seconds", "sum"), ("broken", "count")]
        found = _by_key(self.runs.group_by("mutant").aggregate(sums))
        return {key: (runs, steps, _rounded(seconds), n) for key, (runs, steps, seconds, n) in found.items()}

    def waits(self) -> Mapping[Key, Key]:
        waits: dict[Any, list[float]] = {}
        spent: dict[Any, float] = {}
        columns = self.runs.select(["mutant", "seconds", "broken"]).take(pc.sort_indices(self.runs["run"]))
        for mutant, seconds, broken in zip(*(column.to_pylist() for column in columns.columns), strict=True):
            spent[mutant] = spent.get(mutant, 0.0) + seconds
            if broken is not None:
                waits.setdefault(mutant, []).append(_rounded(spent.pop(mutant)))
        return {(mutant,): (_percentile(sorted(each), 0.5), max(each)) for mutant, each in waits.items()}

    def broken_first(self) -> Mapping[Key, Key]:
        broken = self.runs.filter(pc.is_valid(self.runs["broken"]))
        return _by_key(broken.group_by(["mutant", "broken"]).aggregate([("row", "count")]), 2)

    def violated(self) -> Mapping[Key, Key]:
        rows, names = self._items("violated")
        table = pa.table({"mutant": self.runs["mutant"].take(rows), "property": names, "row": rows})
        return _by_key(table.group_by(["mutant", "property"]).aggregate([("row", "count")]), 2)

    def raised(self) -> Sequence[Key]:
        raised = self.runs.filter(pc.is_valid(self.runs["raised"]))
        found = _by_key(raised.group_by(["mutant", "raised"]).aggregate([("row", "count"), ("run", "min")]), 2)
        rows = [(*key, *value) for key, value in found.items()]
        return sorted(rows, key=lambda row: (-row[2], row[3]))[:MOST_RAISED]

    def percentiles(self) -> Mapping[str, Sequence[float]]:
        return {name: [_percentile(values, at) for at in PERCENTILES] for name, values in self._figures.items()}

    def bins(self, least: Mapping[str, float], width: Mapping[str, float]) -> Mapping[Key, Key]:
        found = {}
        for name, values in self._figures.items():
            places = np.floor((np.array(values, np.float64) - least[name]) / (width[name] or 1.0))
            for place, count in Counter(np.minimum(places, BINS).astype(np.int64).tolist()).items():
                found[name, place] = (count,)
        return found

    def blocks(self) -> tuple[int, Mapping[Key, Key]]:
        width = block_width(pc.max(self.runs["run"]).as_py())
        table = self.runs.append_column("block", pc.divide(self.runs["run"], width))
        return width, _by_key(table.group_by("block").aggregate([("row", "count"), ("broken", "count")]))

    def new_states(self, width: int) -> Mapping[Key, Key]:
        table = self._firsts.append_column("block", pc.divide(self._firsts["run"], width))
        return _by_key(table.group_by("block").aggregate([("run", "count"), ("run", "count_distinct")]))

    def states(self) -> Key:
        parts = self._firsts["parts"]
        return self._firsts.num_rows, *(pc.sum(pc.equal(parts, number)).as_py() or 0 for number in (1, 2))

    def drawn(self) -> Mapping[Key, Key]:
        drawn = pa.concat_tables(
            [
                self._moves(),
                self._switches(),
                self._valued("cycle"),
                self._valued("processes"),
                *(self._valued(name, pc.equal(self.runs["order"], "priorities")) for name in ("order", "demoted")),
                self._drawn_by("quorums", "weighted", pc.not_equal(self.runs["quorums"], MAJORITY)),
            ]
        )
        counted = self._counted.take(drawn["row"])
        for name in ("kind", "value"):
            counted = counted.append_column(name, drawn[name])
        return _by_key(counted.group_by(["mutant", "kind", "value"]).aggregate(_SUMS), 3)

    def all_of(self) -> Mapping[Key, Key]:
        return _by_key(self._counted.group_by("mutant").aggregate(_SUMS))

    @cached_property
    def _firsts(self) -> pa.Table:
        """A row for each abstract state: the first run that was in it, and how many parts reached it."""
        rows, states = self._items("states")
        table = pa.table({"state": states, "run": self.runs["run"].take(rows)})
        found = table.group_by("state").aggregate([("run", "min"), ("run", "count")])
        return pa.table({"run": found["run_min"], "parts": found["run_count"]})

    @cached_property
    def _figures(self) -> Mapping[str, list[Any]]:
        """The values of each figure, sorted."""
        return {
            name: sorted(map(_rounded, values) if name == "seconds" else values)
            for name in FIGURES
            for values in [self.runs[name].to_pylist()]
        }

    @cached_property
    def _counted(self) -> pa.Table:
        new = pc.cast(pc.list_value_length(self.runs["states"]), pa.int64())
        return pa.table(
            {
                "mutant": self.runs["mutant"],
                "steps": pc.cast(self.runs["steps"], pa.int64()),
                "violating": pc.cast(pc.is_valid(self.runs["broken"]), pa.int64()),
                "new": new,
                "squares": pc.multiply(new, new),
            }
        )

    # What runs drew: tables of a row (its place in `runs`), a kind and a value.

    def _moves(self) -> pa.Table:
        rows, names, _ = self._entries("weights")
        return _things(rows, "move", names).filter(pc.is_in(names, pa.array(FAULTS)))

    def _switches(self) -> pa.Table:
        rows, names, values = self._entries("switches")
        said = pc.binary_join_element_wise(names, values, " ")
        return _things(rows, "switch", said).filter(pc.invert(pc.is_in(said, pa.array(LETTERS))))

    def _valued(self, kind: str, where: pa.ChunkedArray | None = None) -> pa.Table:
        """What each of the runs drew in the column of that name."""
        runs = self.runs if where is None else self.runs.filter(where)
        return _things(runs["row"], kind, pa.array(map(str, runs[kind].to_pylist()), pa.string()))

    def _drawn_by(self, kind: str, value: str, where: pa.ChunkedArray) -> pa.Table:
        rows = self.runs.filter(where)["row"]
        return _things(rows, kind, pa.array([value] * len(rows), pa.string()))

    def _items(self, name: str) -> tuple[pa.Array, pa.Array]:
        """Return the items of a column of lists, each with the place of its row."""
        column = pa.concat_arrays(self.runs[name].chunks)
        return pc.list_parent_indices(column), pc.list_flatten(column)

    def _entries(self, name: str) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Return the keys and values of a column of maps, each with the place of its row."""
        column = pa.concat_arrays(self.runs[name].chunks)
        entries = column.cast(pa.list_(pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])))
        items = pc.list_flatten(entries)
        return pc.list_parent_indices(entries), items.field("key"), items.field("value")


_SUMS = [("steps", "count"), ("steps", "sum"), ("violating", "sum"), ("new", "sum"), ("squares", "sum")]
"""What `configurations.Sums` has."""


def _things(rows: Any, kind: str, values: Any) -> pa.Table:
    return pa.Table.from_arrays([rows, pa.array([kind] * len(rows), pa.string()), values], schema=_DRAWN)


def _by_key(grouped: pa.Table, keys: int = 1) -> dict[Key, Key]:
    """Return what a grouping gives, as a dictionary: the first `keys` columns give the key, the others the value."""
    columns = [column.to_pylist() for column in grouped.columns]
    return {tuple(row[:keys]): tuple(row[keys:]) for row in zip(*columns, strict=True)}


def _known(column: pa.ChunkedArray) -> int:
    return len(column) - int(column.null_count)


def _percentile(values: Sequence[float], at: float) -> float:
    """Return a percentile of sorted values, between two of them interpolated."""
    place = (len(values) - 1) * at
    low, high = floor(place), ceil(place)
    if values[low] == values[high]:
        return float(values[low])
    return (high - place) * values[low] + (place - low) * values[high]


def _rounded(seconds: float) -> float:
    return float(Decimal(repr(seconds)).quantize(_MICROSECOND, ROUND_HALF_UP))

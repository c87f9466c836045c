"""The points at which threads were held in runs of a real ensemble, and their orders: the stops that were tried."""

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from rich.table import Table

from zabcheck.text.pen import titled
from zabcheck.text.words import counted
from zabcheck.zookeeper.recording.folder import read
from zabcheck.zookeeper.recording.records import Reached


class ThreadOrders(Struct):
    """Runs, added up. `points` has the number of runs in which a thread was held, killed or failed at a point.

    `orders` has the number in which a thread came to the first of two points before one came to the second, in any
    server.
    """

    points: Counter[str] = field(default_factory=Counter)
    orders: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, folder: Path) -> None:
        """Add the run of the recording in `folder`. RecordingError if it cannot be read; O(records + stops squared)."""
        came = [record.point for record in read(folder) if isinstance(record, Reached)]
        self.points.update({*came})
        self.orders.update({(first, then) for first, then in combinations(came, 2) if first != then})

    def total(self) -> str:
        """Return one line on how much was tried."""
        return f"threads came to {counted(len(self.points), 'point', 'points')}, in {len(self.orders):,} orders of two"

    def as_json(self) -> dict[str, Any]:
        """Return the fields of the JSON form."""
        orders = [{"first": first, "then": then, "runs": runs} for (first, then), runs in sorted(self.orders.items())]
        return {"threads": {"points": dict(sorted(self.points.items())), "orders": orders}}


def render(seen: ThreadOrders) -> Table:
    """Render the points, those of the most runs first."""
    table = titled("threads", "point", "runs", figures=("runs",))
    for point, runs in sorted(seen.points.items(), key=lambda each: (-each[1], each[0])):
        table.add_row(point, f"{runs:,}")
    return table

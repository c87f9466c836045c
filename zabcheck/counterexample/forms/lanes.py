"""The layout of the space-time diagram: where its lanes and rows are, in pixels."""

from collections.abc import Mapping

from msgspec import Struct

ROW = 26
"""The height of a row, in pixels."""
HEAD = 30
NUMBERS = 40
"""The width that the numbers of the steps take."""
BAND = 16
TAGS = 82
"""The room left of the first lane's line, for the marks of the witness."""


class Lanes(Struct, frozen=True):
    """The layout of the lanes, in pixels."""

    processes: int
    rows: Mapping[int, int]
    """The row of each step, by its number."""
    width: int
    """The width of a lane."""
    room: int
    """The room right of the last lane's line, for the texts beside its points."""
    below: int = 1
    """The rows below those of the steps."""

    def x(self, process: int) -> float:
        return max(self.width / 2, TAGS) + (process - 1) * self.width

    def y(self, step: int | None) -> float:
        """Return the height of a step; the end of the run for None, and for a step that is not shown."""
        row = self.rows.get(step, len(self.rows)) if step is not None else len(self.rows)
        return HEAD + (row + 0.5) * ROW

    def next(self, number: int) -> float:
        """Return the height of a row below those of the steps, counted from 0."""
        return HEAD + (len(self.rows) + number + 0.5) * ROW

    @property
    def across(self) -> int:
        """The width of all lanes, with the texts beside the last one."""
        return round(self.x(self.processes)) + self.room

    @property
    def height(self) -> int:
        return HEAD + (len(self.rows) + self.below) * ROW

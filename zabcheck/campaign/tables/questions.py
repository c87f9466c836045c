"""What the tables ask of a campaign's rows of `runs`. Spark answers (`on_spark`), or this process (`in_process`).

Both give the same answers, to the last digit. Rows have CPU seconds in whole microseconds, and so are sums rounded, as
their last digits depend on the order in which machines finish. Percentiles are of such values, and interpolated between
neighbouring ones; the last digits of that, in which versions of Spark differ, are not kept (`counts.PLACES`).
A key of None stands for the unchanged protocol.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

MILLION = 1_000_000
"""Detections are counted in so many steps."""

SUMS = ("steps", "events", "broadcasts", "deliveries", "crashes", "epochs")
"""The columns whose sums the overview has."""

FIGURES = ("steps", "events", "broadcasts", "deliveries", "crashes", "epochs", "longest", "seconds")
"""The columns of `runs` whose distribution is shown."""

PERCENTILES = (0.0, 0.5, 0.9, 0.99, 1.0)

BINS = 30
"""The most bins of a histogram, one more for what lies above the 99th percentile not counted."""

MOST_RAISED = 20
"""The most exceptions in the table; the most frequent ones are kept."""

Key = tuple[Any, ...]


class Questions(Protocol):
    """The rows of the finished parts, and what can be asked of them."""

    def overview(self) -> Mapping[str, Any]:
        """Return the fields of `Overview` that are about stored runs, but `states`."""

    def judged(self) -> Mapping[Key, Key]:
        """Return by (property): in how many runs it was exercised, and how often it was judged in all."""

    def goals(self) -> Mapping[Key, Key]:
        """Return by (goal): how many runs reached it, and the number of the first."""

    def mutants(self) -> Mapping[Key, Key]:
        """Return by (mutant): its runs, their steps and CPU seconds, and how many of them break something."""

    def waits(self) -> Mapping[Key, Key]:
        """Return by (mutant): the median and the longest time of a detection, in CPU seconds.

        That is the time of all runs of the mutant since the detection before it.
        """

    def broken_first(self) -> Mapping[Key, Key]:
        """Return by (mutant, property): in how many runs the property broke first."""

    def violated(self) -> Mapping[Key, Key]:
        """Return by (mutant, property): in how many runs the property was violated in the end."""

    def raised(self) -> Sequence[Key]:
        """Return (mutant, exception, runs, first run), the most frequent first, then the earliest; not all if many."""

    def percentiles(self) -> Mapping[str, Sequence[float]]:
        """Return by figure its PERCENTILES over all runs."""

    def bins(self, least: Mapping[str, float], width: Mapping[str, float]) -> Mapping[Key, Key]:
        """Return by (figure, bin): how many runs are in it. Bin 0 begins at `least`; BINS holds all from there on."""

    def blocks(self) -> tuple[int, Mapping[Key, Key]]:
        """Return how many run numbers make a block (POINTS blocks at most), and by (block): runs, and broken ones."""

    def new_states(self, width: int) -> Mapping[Key, Key]:
        """Return by (block): in how many states some run was as the first of all, and how many such runs there are."""

    def states(self) -> Key:
        """Return how many abstract states there are, and of these how many only one part reached, and only two."""

    def drawn(self) -> Mapping[Key, Key]:
        """Return by (mutant, kind, value), for all that runs drew, the sums of `Sums` over the runs that drew it."""

    def all_of(self) -> Mapping[Key, Key]:
        """Return by (mutant): the same sums over all of its runs."""

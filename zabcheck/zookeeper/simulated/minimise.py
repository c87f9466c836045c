"""The shortest schedule of simulated servers that shows the same: few choices, and few decisions about threads.

An execution is exact, so that one of a candidate is enough.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from zabcheck.zookeeper.run.minimise import Minimising, leave_out_parts
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, ThreadOrder

OTHER_ORDERS = 2
"""Orders that are drawn for fewer choices that do not show it with the decisions so far."""


def minimise(
    schedule: EnsembleSchedule,
    shows: Callable[[EnsembleSchedule], EnsembleSchedule | None],
    executions: int,
    idle: Callable[[], Sequence[int]],
    keep: Callable[[], None],
) -> EnsembleSchedule:
    """Find a schedule of few choices and decisions that still shows it, in so many executions at most.

    `shows` executes a schedule, and returns it with the decisions that it came to, or None if it does not show it.
    `idle` and `keep` are as in `run.minimise`. The result is that of the last execution that was kept.
    """
    shortest = _Shortest(schedule, shows, executions, idle, keep)
    if not shortest.takes_decisions([]):
        shortest.leave_out_decisions()
    size = -1
    while shortest.size != size and shortest.more():
        size = shortest.size
        shortest.leave_out_choices()
        shortest.leave_out_decisions()
    return shortest.schedule


class _Shortest:
    """The shortest `schedule` so far, with its order of threads."""

    def __init__(
        self,
        schedule: EnsembleSchedule,
        shows: Callable[[EnsembleSchedule], EnsembleSchedule | None],
        executions: int,
        idle: Callable[[], Sequence[int]],
        keep: Callable[[], None],
    ) -> None:
        assert schedule.simulated is not None
        self.schedule = schedule
        self._drawn = replace(schedule.simulated, decisions=None)
        self._order = schedule.simulated
        self._shows = shows
        self._left = executions
        self._idle = idle
        self._keep = keep

    @property
    def size(self) -> int:
        """The number of choices and decisions."""
        return len(self.schedule.choices) + len(self._decisions())

    def more(self) -> bool:
        """Return True if another execution is left."""
        return self._left > 0

    def takes_decisions(self, decisions: Sequence[str]) -> bool:
        """Execute the schedule with these decisions. Return True if it shows it, and is kept."""
        if not self._finds(replace(self.schedule, simulated=replace(self._order, decisions=",".join(decisions)))):
            return False
        self.schedule = replace(self.schedule, simulated=self._order)
        self._keep()
        return True

    def _finds(self, candidate: EnsembleSchedule) -> bool:
        self._left -= 1
        shown = self._shows(candidate)
        if shown is None:
            return False
        assert shown.simulated is not None
        self._order = shown.simulated
        return True

    def leave_out_choices(self) -> None:
        """Leave out choices, and do less; then the decisions may be others, too."""

        def shows(candidate: EnsembleSchedule) -> bool:
            return any(self.more() and self._finds(replace(candidate, simulated=order)) for order in self._orders())

        minimising = Minimising(self.schedule, shows, self._idle, self._keep, self.more, attempts=1)
        minimising.leave_out(patient=False)
        minimising.do_less(patient=False)
        self.schedule = replace(minimising.schedule, simulated=self._order)

    def _orders(self) -> Iterator[ThreadOrder]:
        """Yield orders for a candidate with fewer choices: the present decisions, none, and a few that are drawn."""
        yield self._order
        if self._order.decisions:
            yield replace(self._order, decisions="")
            for number in range(OTHER_ORDERS):
                yield replace(self._drawn, seed=number)

    def leave_out_decisions(self) -> None:
        """Leave out decisions, ever fewer at a time."""

        def shown(start: int, end: int) -> bool:
            decisions = self._decisions()
            return self.takes_decisions([*decisions[:start], *decisions[end:]])

        leave_out_parts(lambda: len(self._decisions()), shown, self.more)

    def _decisions(self) -> list[str]:
        assert self._order.decisions is not None
        return [each for each in self._order.decisions.split(",") if each]

"""The shortest schedule of simulated servers that shows the same: few choices, and few decisions about threads.

An execution is exact, so one of a candidate is enough. Decisions are named by their thread, so most keep their meaning
when others are left out; but thousands are too many to leave out one by one. So orders with few decisions are drawn
first, in which threads take turns, and one stands still now and then. After that decisions are left out, and choices.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from zabcheck.zookeeper.leaving_out import leave_out_parts
from zabcheck.zookeeper.run.minimise import Minimising
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, ThreadOrder

FEW = 10
"""The number of decisions up to which no other orders are drawn: they are left out one by one."""
SPARSE = 20
"""The number of orders with few decisions that are drawn in each round."""
STALLS = (1000, 300, 3000)
"""The rates of stalls in these orders, per million points; they take turns."""
OTHER_ORDERS = 2
"""The number of orders that are drawn for a candidate that does not show it with the present decisions."""


def minimise(
    schedule: EnsembleSchedule,
    shows: Callable[[EnsembleSchedule], EnsembleSchedule | None],
    executions: int,
    idle: Callable[[], Sequence[int]],
    keep: Callable[[], None],
) -> EnsembleSchedule:
    """Find a schedule of few choices and decisions that still shows it, in at most `executions`.

    `shows` executes a schedule, and returns it with the decisions that it came to, or None if it does not show it.
    `idle` and `keep` are as in `run.minimise`. The result is that of the last execution that was kept.
    """
    shortest = _Shortest(schedule, shows, executions, idle, keep)
    shortest.takes_decisions([])
    size = -1
    while shortest.size != size and shortest.more():
        size = shortest.size
        shortest.take_few_decisions()
        shortest.cut_decisions_off()
        shortest.leave_out_choices()
        shortest.leave_out_decisions()
    return shortest.schedule


def _sparse(number: int) -> ThreadOrder:
    """Return an order with few decisions, the same for the same number: a thread stands still now and then."""
    return ThreadOrder(number, "fifo", first=0, second=STALLS[number % len(STALLS)])


def _decisions_of(order: ThreadOrder) -> list[str]:
    assert order.decisions is not None
    return [each for each in order.decisions.split(",") if each]


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
        return self._takes(replace(self._order, decisions=",".join(decisions)))

    def _takes(self, order: ThreadOrder) -> bool:
        if not self._finds(replace(self.schedule, simulated=order)):
            return False
        self.schedule = replace(self.schedule, simulated=self._order)
        self._keep()
        return True

    def take_few_decisions(self) -> None:
        """Take the first of some orders that shows it with fewer decisions, if there are many."""
        for number in range(SPARSE):
            before = self._order
            if len(self._decisions()) <= FEW or not self.more():
                break
            if self._finds(replace(self.schedule, simulated=_sparse(number))):
                if len(self._decisions()) < len(_decisions_of(before)):
                    self.schedule = replace(self.schedule, simulated=self._order)
                    self._keep()
                    break
                self._order = before

    def cut_decisions_off(self) -> None:
        """Leave out the last decisions, as many as can be: what happens once it has shown is of no concern."""
        least, most = 0, len(self._decisions())
        while most - least > 1 and self.more():
            middle = (least + most) // 2
            if self.takes_decisions(self._decisions()[:middle]):
                most = min(middle, len(self._decisions()))
            else:
                least = middle

    def _finds(self, candidate: EnsembleSchedule) -> bool:
        self._left -= 1
        shown = self._shows(candidate)
        if shown is None:
            return False
        assert shown.simulated is not None
        self._order = shown.simulated
        return True

    def _finds_smaller(self, candidate: EnsembleSchedule, most: int) -> bool:
        """Execute a candidate. Return True if it shows it with at most `most` choices and decisions."""
        before = self._order
        if self.more() and self._finds(candidate):
            if len(candidate.choices) + len(self._decisions()) <= most:
                return True
            self._order = before
        return False

    def leave_out_choices(self) -> None:
        """Leave out choices, and do less; decisions may be replaced by as many others, or fewer."""

        def shows(candidate: EnsembleSchedule) -> bool:
            most = len(minimising.schedule.choices) + len(self._decisions())
            return any(self._finds_smaller(replace(candidate, simulated=order), most) for order in self._orders())

        minimising = Minimising(self.schedule, shows, self._idle, self._keep, self.more, attempts=1)
        minimising.leave_out(patient=False)
        minimising.do_less(patient=False)
        self.schedule = replace(minimising.schedule, simulated=self._order)

    def _orders(self) -> Iterator[ThreadOrder]:
        """Yield orders for a candidate with fewer choices: the present decisions, and a few that are drawn."""
        yield self._order
        if self._order.decisions:
            yield from map(_sparse, range(OTHER_ORDERS))

    def leave_out_decisions(self) -> None:
        """Leave out decisions, ever fewer at a time."""

        def shown(start: int, end: int) -> bool:
            decisions = self._decisions()
            return self.takes_decisions([*decisions[:start], *decisions[end:]])

        leave_out_parts(lambda: len(self._decisions()), shown, self.more)

    def _decisions(self) -> list[str]:
        return _decisions_of(self._order)

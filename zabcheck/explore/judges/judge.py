"""A judge that learns of processes that leave an iteration, and keeps no more than its properties need."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from zabcheck.explore.judges.lookup import monitored
from zabcheck.explore.judges.monitored import MonitoredInvariant, WentOn
from zabcheck.explore.judges.record import MonitorRecord
from zabcheck.invariants import Broadcast, Event, Invariant, Judge
from zabcheck.invariants.quorums import Quorums
from zabcheck.invariants.record import Record


class MonitorJudge(Judge):
    """Judges by properties as they are `monitored`, in the order of time.

    It keeps no record if no property reads it: then forks are cheaper, but it does not notice an event of an earlier
    incarnation. It judges local properties for one `process` alone, if that is given; its caller then has to show it
    the events that these look at. `told_of_leaving`: `leave` is called each time that a process leaves its iteration.
    """

    record: MonitorRecord
    invariants: list[MonitoredInvariant]  # type: ignore[assignment]  # all of them are made from these kinds

    def __init__(
        self,
        properties: Iterable[type[Invariant]],
        quorums: Quorums | None = None,
        *,
        told_of_leaving: bool = False,
        process: int | None = None,
    ) -> None:
        self._kinds = tuple(map(monitored, properties))
        reads = any(kind.reads_sequences or kind.reads_broadcasts for kind in self._kinds)
        self._asks_who_goes_on = told_of_leaving and reads
        self._keeps_record = reads or any(map(_is_told_of_the_record, self._kinds))
        self._has_leavers = any(kind.leave is not MonitoredInvariant.leave for kind in self._kinds)
        super().__init__(self._kinds, "global", quorums)
        self.told_of_leaving = told_of_leaving
        for each in self.invariants:
            each.told_of_leaving = told_of_leaving
            if process is not None:
                each.process = process

    def _new_record(self, quorums: Quorums | None) -> Record:
        return MonitorRecord(quorums)

    def _own_calls(self) -> Mapping[type[Event], Callable[[Any, Any], None]]:
        return {**super()._own_calls(), Broadcast: MonitorJudge._broadcast} if self._keeps_record else {}

    def _broadcast(self, event: Broadcast) -> None:
        if self._asks_who_goes_on and self.record.goes_on(event):
            raise WentOn
        super()._broadcast(event)

    def forgets_nothing(self, process: int) -> bool:
        """Return True only if `leave` would change nothing. O(primaries)."""
        return not self._has_leavers and not self.record.may_go_on(process)

    def leave(self, process: int) -> None:
        """Forget facts that mattered only as long as `process` went on in its iteration (`MonitoredInvariant.leave`).

        For a judge that is `told_of_leaving` each time. It raises `WentOn` if the process goes on all the same.
        """
        if self._keeps_record:
            record = self._record_to_change()
            assert isinstance(record, MonitorRecord)
            record.leave(process)
        for each in self.invariants:
            each.leave(process)

    def of_what_comes(self, fresh: Judge) -> Judge:
        """Return a judge of a continuation by the properties of `fresh`, which has seen nothing and stays as it is.

        They have this record, and nothing else of the past events. O(size of the record), in C.
        """
        return fresh._on(self.record.fork())


def _is_told_of_the_record(kind: type[Invariant]) -> bool:
    """Return True if a property is called when something new is on record."""
    return any(
        getattr(kind, hook) is not getattr(Invariant, hook) for hook in ("on_link", "on_sent", "on_position", "on_move")
    )

"""A property as a search keeps it in its monitors.

@monitors(EpochUniqueness)
class MonitoredEpochUniqueness(Monitored, EpochUniqueness):
    reads_sequences = False

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        return frozenset(self.primaries)
"""

from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar, Literal, TypeVar

from zabcheck.explore.judges.content import content
from zabcheck.explore.judges.record import MonitorRecord
from zabcheck.invariants import Event, Invariant

Need = Literal["who delivered the whole path", "what each server broadcast"]
"""Part of the record besides the transactions yet to be delivered: see `MonitoredInvariant.needs`."""


class WentOn(Exception):
    """A process went on with an iteration that it had left, or another one acted as the primary of its epoch.

    So facts that were forgotten when it left (`MonitoredInvariant.leave`) would have mattered.
    """


class MonitoredInvariant(Invariant):
    """A property that knows which facts of a trace it still needs: by default all its attributes, and the record.

    A subclass is also a subclass of a property, which it `monitors`, and overrides the defaults.
    """

    record: MonitorRecord

    reads_sequences: ClassVar[bool] = True
    """True if it judges the delivered sequences on record; if not, `remembers` has all that it needs of the record."""
    reads_broadcasts: ClassVar[bool] = False
    """True if it judges the broadcast sequences on record; then `remembers` has all of `MonitorRecord.proposals`."""
    is_local: ClassVar[bool] = False
    """True if it judges each process by that process's own events, by those `of_all`, and, if it `reads_broadcasts`, by
    broadcasts. It does not read delivered sequences.
    """
    of_all: ClassVar[tuple[type[Event], ...]] = ()
    """The kinds of event that matter to it whichever process shows them, besides broadcasts, if it `is_local`."""
    needs: ClassVar[tuple[Need, ...] | None] = None
    """The parts of the record that its next verdicts depend on while all delivered sequences are prefixes of one path.

    An empty tuple means nothing except the transactions yet to be delivered. None, which is always right, means perhaps
    the whole record: then a search distinguishes more states than it has to.
    """

    told_of_leaving = False
    """True if `leave` is called each time that a process leaves its iteration; no trace shows that."""

    process: int | None = None
    """The only process that is judged; all its events are shown, and those `of_all`. None: all processes are judged."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.is_local and cls.reads_sequences:
            raise TypeError(f"{cls.__name__}: expected `reads_sequences = False`, as it is local")

    @classmethod
    def forgets_what_is_left(cls) -> bool:
        """Return True if it, or the record that it reads, needs fewer facts about a process that left its iteration."""
        return cls.reads_sequences or cls.reads_broadcasts or cls.leave is not MonitoredInvariant.leave

    @classmethod
    def awaits_something(cls) -> bool:
        """Return True if it needs more facts until it is exercised, to know when it is."""
        return cls.awaits is not MonitoredInvariant.awaits

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return the facts that the next verdicts depend on, besides the delivered sequences: see `identity`.

        `incarnations` are the current ones, by process. A subclass that knows which facts can still matter returns
        fewer.
        """
        kept = {name: value for name, value in vars(self).items() if name not in ("record", "order")}
        return tuple(incarnations), content(kept)

    def awaits(self) -> Hashable:
        """Return facts that decide when the property will be exercised, and are not in `remembers`; by default none."""
        return None

    def leave(self, process: int) -> None:  # most properties have nothing to forget
        """Forget facts that matter only as long as `process` goes on in its iteration, which it has left.

        Called if `told_of_leaving` is True, so that fewer states differ. Verdicts stay the same, or an observer raises
        `WentOn`.
        """


MONITORED: dict[type[Invariant], type[MonitoredInvariant]] = {}
"""The class that a search keeps in place of each property."""
M = TypeVar("M", bound=type[MonitoredInvariant])


def monitors(kind: type[Invariant]) -> Callable[[M], M]:
    """Register the decorated class as the one that a search keeps in place of this property."""

    def registered(monitored_kind: M) -> M:
        assert issubclass(monitored_kind, kind), "it is judged as the property is"
        MONITORED[kind] = monitored_kind
        return monitored_kind

    return registered


def judged_in_every_state(kind: type[Invariant]) -> bool:
    """Return True if a search can judge a property in every state.

    It cannot if the property waits for a promise of the environment, or for an application, as no state has these.
    """
    return kind.group not in ("liveness", "application")

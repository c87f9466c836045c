"""A property as a search keeps it in its monitors, and where that is looked up.

@monitors(EpochUniqueness)
class MonitoredEpochUniqueness(Monitored, EpochUniqueness):
    reads_sequences = False

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        return frozenset(self.primaries)
"""

import sys
from collections.abc import Callable, Hashable, Sequence
from types import new_class
from typing import ClassVar, Literal, TypeVar

from invariants import Event, Invariant
from zabcheck.explore.judges.content import content
from zabcheck.explore.judges.record import MonitorRecord

Need = Literal["who delivered the whole path", "what each server broadcast"]
"""Part of the record besides what is yet to be delivered: see `Monitored.needs`."""


class WentOn(Exception):
    """A process went on with an iteration that it had left, or another one acted as the primary of its epoch.

    So what was forgotten when it left (`Monitored.leave`) would have mattered.
    """


class Monitored(Invariant):
    """A property that says what it still needs to know of a trace. As it is, that is all that it keeps, and the record.

    A subclass is of a property, too, which it `monitors`, and overrides what it knows better.
    """

    record: MonitorRecord

    reads_sequences: ClassVar[bool] = True
    """Whether it judges the delivered sequences on record; if not, `remembers` tells all it needs of the record."""
    reads_broadcasts: ClassVar[bool] = False
    """Whether it judges the broadcast sequences on record; then `remembers` has all of `MonitorRecord.proposals`."""
    is_local: ClassVar[bool] = False
    """Whether it judges each process by itself: by that process's own events, by those `of_all`, and if it
    `reads_broadcasts`, by these. It does not read delivered sequences.
    """
    of_all: ClassVar[tuple[type[Event], ...]] = ()
    """If it `is_local`: the kinds of event that matter to it whichever process shows them, besides broadcasts."""
    needs: ClassVar[tuple[Need, ...] | None] = None
    """If it judges delivered sequences: what its next verdicts depend on while all of these are prefixes of one path.

    An empty tuple says that they depend on nothing but what is yet to be delivered. None, which is always right, says
    that they may depend on the whole record: then a search tells more states apart than it has to.
    """

    told_of_leaving = False
    """Whether `leave` is called each time that a process leaves its iteration; no trace tells that."""

    process: int | None = None
    """The only process that is judged; all its events are shown, and those `of_all`. None: all processes are judged."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.is_local and cls.reads_sequences:
            raise TypeError(f"{cls.__name__}: expected `reads_sequences = False`, as it is local")

    @classmethod
    def forgets_what_is_left(cls) -> bool:
        """Return whether it, or the record that it reads, needs to know less of a process that left its iteration."""
        return cls.reads_sequences or cls.reads_broadcasts or cls.leave is not Monitored.leave

    @classmethod
    def awaits_something(cls) -> bool:
        """Return whether it needs to know more until it is exercised, to tell when it is."""
        return cls.awaits is not Monitored.awaits

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return what the next verdicts depend on, besides the delivered sequences: see `identity`.

        `incarnations` are the current ones, by process. A subclass that knows what can still matter returns less.
        """
        kept = {name: value for name, value in vars(self).items() if name not in ("record", "order")}
        return tuple(incarnations), content(kept)

    def awaits(self) -> Hashable:
        """Return what decides whether the property will be exercised, and is not in `remembers`; by default nothing."""
        return None

    def leave(self, process: int) -> None:  # most properties have nothing to forget
        """Forget what matters only as long as `process` goes on in its iteration, which it has left.

        Done where `told_of_leaving` is True, so that fewer states differ. It makes no difference to what is judged, or
        an observer raises `WentOn`.
        """


_MONITORED: dict[type[Invariant], type[Monitored]] = {}
M = TypeVar("M", bound=type[Monitored])


def monitors(kind: type[Invariant]) -> Callable[[M], M]:
    """Have a search keep the decorated class in place of this property."""

    def registered(monitored_kind: M) -> M:
        assert issubclass(monitored_kind, kind), "it is judged as the property is"
        _MONITORED[kind] = monitored_kind
        return monitored_kind

    return registered


def monitored(kind: type[Invariant]) -> type[Monitored]:
    """Return a property as a search keeps it. If nobody `monitors` it, all that it keeps and reads is remembered.

    A subclass of a property needs a class of its own: it may look at more.
    """
    if issubclass(kind, Monitored):
        return kind
    _load_all()
    if kind not in _MONITORED:
        made = new_class(f"Monitored{kind.__name__}", (Monitored, kind))
        _MONITORED[kind] = made
    return _MONITORED[kind]


def _load_all() -> None:
    """Import the modules that monitor the properties of zabcheck; they import this one."""
    from zabcheck.explore.judges import clients, local, primaries, sequences  # noqa: F401

    if "zabcheck.proof.monitors" in sys.modules:  # else nobody has asked for its properties
        from zabcheck.explore.judges import abstraction  # noqa: F401


def judged_in_every_state(kind: type[Invariant]) -> bool:
    """Whether a search can judge a property in every state: not if it waits for a promise of the environment, or for
    an application, as no state of a search has these.
    """
    return kind.group not in ("liveness", "application")

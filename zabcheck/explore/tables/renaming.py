"""Components under other names, which differ in the names of processes alone.

Renaming a component costs as much as a step. But the result depends only on the names of the few processes that
occur in it. The first renaming shows which ones these are: no other names are looked at. So most renamings are looked
up.
"""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from msgspec.structs import replace

from zabcheck.simulation.choices import AnyChoice, Lead

Names = tuple[int, ...]
"""The new name of each process, by its id; entry 0 is not used."""


_NAMING = ("process", "sender", "receiver", "to", "leader")
"""The fields of events, and of choices, that name a process."""


class LookedAt(Sequence[int]):
    """The names of processes, and the places that were looked at."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.places: set[int] = set()

    def __getitem__(self, place: Any) -> Any:
        found = self._names[place]
        self.places.update(range(*place.indices(len(self))) if isinstance(place, slice) else (place % len(self),))
        return found

    def __len__(self) -> int:
        return len(self._names)


class Twins:
    """The components of one kind under other names, by number; `rename` makes one that is new."""

    def __init__(self, rename: Callable[[int, Sequence[int]], int]) -> None:
        self._rename = rename
        self._about: dict[int, Callable[[Names], Any]] = {}
        """By component: what takes those out of all names that it is about."""
        self._known: dict[tuple[int, Any], int] = {}
        """By component, and the names of those that it is about."""

    def of(self, number: int, names: Names) -> int:
        """Return the same component under these names."""
        about = self._about.get(number)
        if about is None:
            looked_at = LookedAt(names)
            twin = self._rename(number, looked_at)
            about = self._about[number] = itemgetter(0, *sorted(looked_at.places))
            self._known[number, about(names)] = twin
            return twin
        key = number, about(names)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._rename(number, names)
        return found


def renamed_event(event: Any, names: Sequence[int]) -> Any:
    """Return the event of the same step under the new names."""
    changes = {name: names[who] for name in _NAMING if (who := getattr(event, name, None)) is not None}
    return replace(event, **changes)


def renamed_choice(choice: AnyChoice, names: Names) -> AnyChoice:
    """Return the same choice under the new names."""
    naming = (name for name in (*_NAMING, "peer") if name in choice.__struct_fields__)
    changes: dict[str, Any] = {name: names[getattr(choice, name)] for name in naming}
    if isinstance(choice, Lead):
        changes["followers"] = tuple(names[process] for process in choice.followers)
    return replace(choice, **changes)

"""Keeps of a known bug the shortest run found for each property that it breaks, and its pages in the gallery.

    python -m tests.record no-truncation                       each property of its entry in the catalogue
    python -m tests.record no-truncation --property agreement  this one

Then it says what is wrong with the entry, as far as these schedules show it; the exit code is 1 if anything is.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, structs

from docs.generators import gallery
from docs.generators.recorded import FOLDER
from zabcheck.invariants.quorums import MAJORITY
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.mutants.mutant import Mutant
from zabcheck.search.engines import DEFAULT
from zabcheck.search.hunt import Budget, hunt
from zabcheck.search.minimise import Failure, breaks
from zabcheck.search.run import Run, named_by, replay
from zabcheck.simulation.schedule import Schedule, dump, load
from zabcheck.text.files import write


class Recorded(Struct, frozen=True):
    """The result of searches for a mutant that breaks `property`; no schedule if none of them found one."""

    property: str
    schedule: Schedule | None
    steps: int
    """The steps of the schedule; 0 if there is none."""
    is_new: bool
    """True if the schedule is better than the one that was there, or there was none."""


def file_name(mutant: str, property_: str) -> str:
    """Return the name of the file with the schedule in which `mutant` breaks `property_`."""
    return f"{mutant}.{property_.replace(' ', '-')}.json"


def recorded(folder: Path, mutant: Mutant) -> dict[str, Schedule]:
    """Read the schedules that `folder` has for the properties of `mutant`, by property.

    OSError if a file cannot be read, ScheduleError if it is no schedule.
    """
    files = {name: folder / file_name(mutant.name, name) for name in mutant.breaks}
    return {name: load(file.read_bytes(), str(file)) for name, file in files.items() if file.exists()}


def record(
    mutant: Mutant,
    known: Mapping[str, Schedule],
    properties: Iterable[str],
    seeds: Sequence[int],
    budget: Budget,
) -> Iterator[Recorded]:
    """Search with each of `seeds` for a run in which `mutant` breaks each of `properties`, and yield the shortest.

    A schedule that is `known` (by property) stays if it still breaks its property and no search finds a better one: the
    majority is better than another quorum system, and then fewer steps are.
    """
    for name in properties:
        kept = known.get(name)
        failure = None if kept is None or kept.mutant != mutant.name else _breaks(kept, name)
        best = None if kept is None or failure is None else _Candidate(kept, failure.steps)
        for seed in seeds:
            found = hunt(mutant, seed, DEFAULT, budget, (name,), _pass)
            if found.schedule is not None and found.minimised is not None:
                candidate = _Candidate(found.schedule, found.minimised)
                best = candidate if best is None else min(best, candidate, key=_Candidate.rank)
        if best is None:
            yield Recorded(name, None, 0, False)
        else:
            yield Recorded(name, best.schedule, best.steps, best.schedule is not kept)


class _Candidate(NamedTuple):
    """A schedule that breaks the property, and its steps."""

    schedule: Schedule
    steps: int

    def rank(self) -> tuple[bool, int]:
        return self.schedule.quorums != MAJORITY, self.steps


def not_told_apart(
    mutant: Mutant, schedules: Iterable[Schedule], of_other: Callable[[Mutant], Iterable[Schedule]]
) -> list[str]:
    """Return the other mutants of the protocol that no schedule distinguishes from `mutant`.

    Another mutant is distinguished by one of these `schedules` of `mutant`, if that breaks its property with `mutant`
    alone. Those that `mutant` is `within` break all of these; a schedule that is kept `of_other` distinguishes them.
    """
    others = [each for each in CATALOGUE.values() if each.protocol == mutant.protocol and each.name != mutant.name]
    alike = [each for each in others if each.name not in mutant.within]
    for schedule in schedules:
        alike = [other for other in alike if _breaks_as(other.name, schedule)]
    wider = [other for other in others if other.name in mutant.within]
    alike += [other for other in wider if all(_breaks_as(mutant.name, each) for each in of_other(other))]
    return [other.name for other in alike]


def _breaks_as(mutant: str, schedule: Schedule) -> bool:
    """Return True if the property that a schedule names breaks with this mutant, too."""
    assert schedule.violates is not None
    return _breaks(structs.replace(schedule, mutant=mutant), schedule.violates) is not None


def broken_without(schedules: Iterable[Schedule]) -> list[str]:
    """Return the properties of those schedules that break theirs without any bug: something else is wrong."""
    return [
        schedule.violates
        for schedule in schedules
        if schedule.violates is not None and _breaks(structs.replace(schedule, mutant=None), schedule.violates)
    ]


def _breaks(schedule: Schedule, property_: str) -> Failure | None:
    """Execute `schedule` on the protocol that it names until the property is broken; None if it stays whole."""
    return breaks(named_by(schedule), schedule, property_)


def break_first(schedules: Iterable[Schedule]) -> list[str]:
    """Return the properties that break first, by one event, in the shortest run in which one breaks before the end.

    Those that the end of the shortest run breaks, if in no run one breaks before.
    """
    first: tuple[bool, int, list[str]] | None = None
    for schedule in schedules:
        replayed = replay(schedule)
        found = [v.violation for v in replayed.verdicts if v.violation is not None]
        detected = [each.detected for each in found if each.detected is not None]
        at = min(detected, default=None)
        broken = [each.property for each in found if each.detected == at]
        if broken and (first is None or (at is None, replayed.steps) < first[:2]):
            first = at is None, replayed.steps, broken
    return [] if first is None else first[2]


def also_broken(mutant: Mutant, schedules: Iterable[Schedule]) -> list[str]:
    """Return the properties that break in one of these schedules and that the entry of `mutant` does not name."""
    verdicts = [verdict for schedule in schedules for verdict in replay(schedule).verdicts]
    broken = dict.fromkeys(verdict.property for verdict in verdicts if verdict.status == "violated")
    return [name for name in broken if name not in mutant.breaks]


def keep(
    mutant: Mutant, properties: Sequence[str], seeds: Sequence[int], budget: Budget, folder: Path
) -> Iterator[str]:
    """Write the schedules of one bug into `folder`; say what was written, and what its entry in the catalogue lacks."""
    known = recorded(folder, mutant)
    for each in record(mutant, known, properties, seeds, budget):
        if each.schedule is None:
            yield f"not found: {each.property}; try more --seeds, or leave it out of `breaks`"
            continue
        known[each.property] = each.schedule
        if each.is_new:
            file = write(folder / file_name(mutant.name, each.property), dump(each.schedule))
            print(f"{each.property}: {each.steps} steps, wrote {file}")
    more = also_broken(mutant, known.values())
    if more:
        print(f"these break as well, and `breaks` does not name them: {', '.join(more)}")
    yield from _shortcomings(mutant, list(known.values()), folder)


def _shortcomings(mutant: Mutant, schedules: Sequence[Schedule], folder: Path) -> Iterator[str]:
    """Describe what is wrong with the entry of a bug, as far as its schedules show it."""
    for name in broken_without(schedules):
        yield f"the schedule of {name} breaks it without the bug as well"
    first = break_first(schedules)
    if first and mutant.breaks[0] not in first:
        yield f"what breaks first in the shortest run: {', '.join(first)}; name one of them first in `breaks`"
    alike = not_told_apart(mutant, schedules, lambda other: recorded(folder, other).values())
    if alike:
        yield (
            f"not told apart from {', '.join(alike)}; record with another --seed, or name a bug that breaks more in "
            "`within`"
        )


def _pass(run: Run) -> None:
    pass


def main() -> int:
    """Record one bug, and make its pages and the index of the gallery."""
    parser = argparse.ArgumentParser("python -m tests.record", description=__doc__)
    parser.add_argument("bug", choices=list(CATALOGUE), metavar="BUG")
    parser.add_argument("--property", action="append", help="only this one of those that it breaks; may be repeated")
    parser.add_argument("--seeds", type=int, default=5, help="how many searches for each property")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first search; the others follow it")
    options = parser.parse_args()
    mutant = CATALOGUE[options.bug]
    seeds = range(options.seed, options.seed + options.seeds)
    wrong = list(keep(mutant, options.property or mutant.breaks, seeds, Budget(20_000, 200, 60.0), FOLDER))
    if (FOLDER / file_name(mutant.name, mutant.breaks[0])).exists():
        for name, content in gallery.files_of(mutant.name).items():
            write(gallery.FOLDER / name, content)
        write(gallery.FOLDER / "index.html", gallery.index_page())
    print("\n".join(wrong) or f"the entry of {mutant.name} says what its schedules show")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

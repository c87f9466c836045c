"""Which faults matter: runs that drew something, compared with the runs that did not."""

from collections.abc import Iterable, Sequence
from math import isinf
from typing import Any, get_args

import msgspec
from msgspec import Struct

from zabcheck.campaign.results import ConfigurationRow, Kind
from zabcheck.campaign.tables import ratios
from zabcheck.campaign.tables.questions import MILLION, Questions
from zabcheck.campaign.tables.things import FAULTS


class Sums(Struct, frozen=True):
    """Sums over several runs. `squares` is the sum of the squared numbers of new states of each run."""

    runs: int = 0
    steps: int = 0
    violating: int = 0
    new: int = 0
    squares: int = 0

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(*(a + b for a, b in zip(*map(msgspec.structs.astuple, (self, other)), strict=True)))

    def __sub__(self, other: "Sums") -> "Sums":
        return Sums(*(a - b for a, b in zip(*map(msgspec.structs.astuple, (self, other)), strict=True)))


def configurations_table(runs: Questions, mutants: Sequence[str | None]) -> tuple[ConfigurationRow, ...]:
    """Compare, for everything that runs can draw, the runs that drew it with all other runs.

    A run counts for each thing that it drew. "demoted" is the exception: every run draws it, but it matters only under
    priorities, so the runs "without" it are the other runs under priorities.
    """
    base = {mutant: Sums(*row) for (mutant,), row in runs.all_of().items()}
    drawn = {key: Sums(*row) for key, row in runs.drawn().items()}
    names = sorted({key[1:] for key in drawn}, key=_place)
    groups: list[tuple[bool, list[str | None]]] = [(True, list(base))]
    if len(mutants) > 1:
        groups += [(False, [mutant]) for mutant in dict.fromkeys(mutants) if mutant in base]
    rows = []
    for in_all, members in groups:
        everything = _sum(base[mutant] for mutant in members)
        of = {name: _sum(drawn.get((mutant, *name), Sums()) for mutant in members) for name in names}
        for (kind, value), with_it in of.items():
            without = (of["order", "priorities"] if kind == "demoted" else everything) - with_it
            if min(with_it.steps, without.steps) > 0:
                detections = everything.violating > 0
                row = _compared(with_it, without, detections)
                rows.append(ConfigurationRow(in_all, None if in_all else members[0], kind, value, *row))
    return tuple(rows)


def _place(name: tuple[str, str]) -> tuple[int, int, str]:
    """Return the sort key that gives a drawn thing, (kind, value), its place in the table."""
    kind, value = name
    return get_args(Kind).index(kind), FAULTS.index(value) if kind == "move" else 0, value


def _sum(counts: Iterable[Sums]) -> Sums:
    return sum(counts, Sums())


def _compared(with_it: Sums, without: Sums, detections: bool) -> tuple[Any, ...]:
    """Return the fields of a row from `measure` on."""
    one, other = with_it, without
    if detections:
        found, found_without = one.violating, other.violating
        rates = found * MILLION / one.steps, found_without * MILLION / other.steps
        compared = ratios.of_rates(found, one.steps, found_without, other.steps)
    else:
        found, found_without = one.new, other.new
        rates = found / one.runs, found_without / other.runs
        compared = ratios.of_means(found, one.squares, one.runs, (found_without, other.squares, other.runs))
    ratio, low, high = compared
    return (
        "detections" if detections else "new states",
        *(one.runs, one.steps, found, rates[0]),
        *(other.runs, other.steps, found_without, rates[1]),
        *(None if isinf(ratio) else ratio, low, None if isinf(high) else high),
    )

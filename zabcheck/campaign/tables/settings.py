"""The influence of faults and other draws: runs that drew something, compared with the runs that did not."""

from collections.abc import Iterable, Sequence
from math import isinf
from typing import Any, get_args

import msgspec
from msgspec import Struct

from zabcheck.campaign.results import Kind, SettingRow
from zabcheck.campaign.tables import ratios
from zabcheck.campaign.tables.counts import MILLION
from zabcheck.campaign.tables.engines import Ask
from zabcheck.invariants.quorums import MAJORITY
from zabcheck.protocols.switch_settings import kinds
from zabcheck.search.settings import SETTINGS

FAULTS = (*SETTINGS.optional, *SETTINGS.seldom)
"""The moves that a run may leave out."""

LETTERS = tuple(f"{name} {value}" for kind in kinds() for name, value in msgspec.structs.asdict(kind()).items())
"""The switches as in the paper, each with its value, as in "sync separate"; these are not compared."""


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(f"'{text}'" for text in texts)


_SUMS = "count(*), sum(steps), count(broken), sum(new), sum(new * new)"
"""The fields of `Sums`."""

_SUMMED = "mutant, steps, broken, new"

_ALL_OF = f"SELECT mutant, {_SUMS} FROM (SELECT {_SUMMED} FROM runs) GROUP BY mutant"

_DRAWN = f"""
SELECT mutant, kind, value, {_SUMS}
FROM (
    SELECT mutant, steps, broken, new, kind, value
    FROM (SELECT {_SUMMED}, 'move' AS kind, explode(map_keys(weights)) AS value FROM runs)
    WHERE value IN ({_listed(FAULTS)})
    UNION ALL
    SELECT mutant, steps, broken, new, kind, setting.key || ' ' || setting.value AS value
    FROM (SELECT {_SUMMED}, 'switch' AS kind, explode(map_entries(switches)) AS setting FROM runs)
    WHERE setting.key || ' ' || setting.value NOT IN ({_listed(LETTERS)})
    UNION ALL
    SELECT mutant, steps, broken, new, CASE kind WHEN 'ordering' THEN 'order' ELSE kind END AS kind, value
    FROM (
        SELECT
            {_SUMMED},
            cast(cycle AS string) AS cycle,
            cast(processes AS string) AS processes,
            CASE WHEN runs.order = 'priorities' THEN runs.order END AS ordering,
            CASE WHEN runs.order = 'priorities' THEN cast(demoted AS string) END AS demoted,
            CASE WHEN quorums <> '{MAJORITY}' THEN 'weighted' END AS quorums
        FROM runs
    ) UNPIVOT (value FOR kind IN (cycle, processes, ordering, demoted, quorums))
)
GROUP BY mutant, kind, value
"""
"""The same sums by drawn thing; a thing that a run did not draw is null, which UNPIVOT leaves out."""


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


def settings_table(ask: Ask, mutants: Sequence[str | None]) -> tuple[SettingRow, ...]:
    """Compare, for everything that runs can draw, the runs that drew it with all other runs.

    A run counts for each thing that it drew. "demoted" is the exception: every run draws it, but it matters only under
    priorities, so the runs "without" it are the other runs under priorities.
    """
    base = {mutant: Sums(*sums) for mutant, *sums in ask(_ALL_OF)}
    drawn = {(mutant, kind, value): Sums(*sums) for mutant, kind, value, *sums in ask(_DRAWN)}
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
                rows.append(SettingRow(in_all, None if in_all else members[0], kind, value, *row))
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

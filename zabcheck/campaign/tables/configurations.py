"""Which faults matter: runs that drew something, compared with the runs that did not."""

from collections.abc import Iterable, Sequence
from math import isinf
from typing import TYPE_CHECKING, Any, get_args

import msgspec
from msgspec import Struct
from pyspark.sql import functions as f

from invariants.quorums import MAJORITY
from zabcheck.campaign.results import ConfigurationRow, Kind
from zabcheck.campaign.tables import ratios
from zabcheck.campaign.tables.collected import MILLION, by_key
from zabcheck.protocols.switches import LETTER
from zabcheck.search.moves import OPTIONAL, SELDOM

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class _Counts(Struct, frozen=True):
    """Sums over several runs. `squares` is the sum of the squared numbers of new states of each run."""

    runs: int = 0
    steps: int = 0
    violating: int = 0
    new: int = 0
    squares: int = 0

    def __add__(self, other: "_Counts") -> "_Counts":
        return _Counts(*(a + b for a, b in zip(*map(msgspec.structs.astuple, (self, other)), strict=True)))

    def __sub__(self, other: "_Counts") -> "_Counts":
        return _Counts(*(a - b for a, b in zip(*map(msgspec.structs.astuple, (self, other)), strict=True)))


def configurations_table(runs: "DataFrame", mutants: Sequence[str | None]) -> tuple[ConfigurationRow, ...]:
    """Compare, for everything that runs can draw, the runs that drew it with all other runs.

    A run counts for each thing that it drew. "demoted" is the exception: every run draws it, but it matters only under
    priorities, so the runs "without" it are the other runs under priorities.
    """
    new = f.size("states").cast("long")
    counted = runs.select(
        "mutant",
        f.col("steps").cast("long").alias("steps"),
        f.col("broken").isNotNull().cast("long").alias("violating"),
        new.alias("new"),
        _drawn().alias("drawn"),
    )
    sums = (f.count("*"), f.sum("steps"), f.sum("violating"), f.sum("new"), f.sum(f.col("new") * f.col("new")))
    base = {mutant: _Counts(*row) for (mutant,), row in by_key(counted.groupBy("mutant").agg(*sums)).items()}
    exploded = counted.select("mutant", "steps", "violating", "new", f.inline("drawn"))
    drawn = {
        key: _Counts(*row) for key, row in by_key(exploded.groupBy("mutant", "kind", "value").agg(*sums), 3).items()
    }
    names = sorted({key[1:] for key in drawn}, key=_place)
    groups: list[tuple[bool, list[str | None]]] = [(True, list(base))]
    if len(mutants) > 1:
        groups += [(False, [mutant]) for mutant in dict.fromkeys(mutants) if mutant in base]
    rows = []
    for in_all, members in groups:
        everything = _sum(base[mutant] for mutant in members)
        of = {name: _sum(drawn.get((mutant, *name), _Counts()) for mutant in members) for name in names}
        for (kind, value), with_it in of.items():
            without = (of["order", "priorities"] if kind == "demoted" else everything) - with_it
            if min(with_it.steps, without.steps) > 0:
                detections = everything.violating > 0
                row = _compared(with_it, without, detections)
                rows.append(ConfigurationRow(in_all, None if in_all else members[0], kind, value, *row))
    return tuple(rows)


def _drawn() -> "Column":
    """Return an array of what a run drew, each item a kind and a value; switches set as in the paper are left out."""

    def thing(kind: str, value: "Column") -> "Column":
        return f.struct(f.lit(kind).alias("kind"), value.alias("value"))

    def if_(condition: "Column", *things: "Column") -> "Column":
        return f.when(condition, f.array(*things)).otherwise(f.array().cast("array<struct<kind:string,value:string>>"))

    def is_a_fault(name: "Column") -> "Column":
        return name.isin(*OPTIONAL, *SELDOM)

    letter = {name: str(value) for name, value in msgspec.structs.asdict(LETTER).items()}

    def differs(setting: "Column") -> "Column":
        equal = [(setting["key"] == name) & (setting["value"] == value) for name, value in letter.items()]
        return ~f.greatest(*equal)

    priorities = f.col("order") == "priorities"
    return f.concat(
        f.transform(f.filter(f.map_keys("weights"), is_a_fault), lambda name: thing("move", name)),
        f.transform(
            f.filter(f.map_entries("switches"), differs),
            lambda setting: thing("switch", f.concat_ws(" ", setting["key"], setting["value"])),
        ),
        f.array(thing("cycle", f.col("cycle").cast("string")), thing("processes", f.col("processes").cast("string"))),
        if_(priorities, thing("order", f.col("order")), thing("demoted", f.col("demoted").cast("string"))),
        if_(f.col("quorums") != MAJORITY, thing("quorums", f.lit("weighted"))),
    )


def _place(name: tuple[str, str]) -> tuple[int, int, str]:
    """Return the sort key that gives a drawn thing, (kind, value), its place in the table."""
    kind, value = name
    moves = (*OPTIONAL, *SELDOM)
    return get_args(Kind).index(kind), moves.index(value) if kind == "move" else 0, value


def _sum(counts: Iterable[_Counts]) -> _Counts:
    return sum(counts, _Counts())


def _compared(with_it: _Counts, without: _Counts, detections: bool) -> tuple[Any, ...]:
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

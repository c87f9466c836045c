"""The tables of a campaign, as data: what its report shows, and what `DIR/tables/NAME.parquet` holds.

A row is a struct of plain values, so that each table is a flat one wherever it is read. `mutant` is None for the
protocol as it is. `zabcheck.campaign.tables` makes them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct


class Overview(Struct, frozen=True):
    """The campaign in a row. Counts are of runs that are stored, `seconds` is CPU time.

    `planned_runs` and `planned_parts` are what the plan says; `parts` are finished. `longest` is the longest delivered
    sequence of any run, in transactions. `as_it_is` counts the runs without a mutant, `broken_as_it_is` those of them
    that violate a property: in a sound protocol there are none. `states` are abstract ones, each counted once.
    """

    planned_runs: int
    planned_parts: int
    parts: int
    runs: int
    steps: int
    events: int
    broadcasts: int
    deliveries: int
    crashes: int
    epochs: int
    longest: int
    violating: int
    raised: int
    as_it_is: int
    broken_as_it_is: int
    states: int
    seconds: float


class PropertyRow(Struct, frozen=True):
    """A property. In how many runs it was exercised, was violated, was the first to break; how often it was judged."""

    property: str
    exercised: int
    judged: int
    violated: int
    first: int


class GoalRow(Struct, frozen=True):
    """A `sometimes` goal: how many runs reached it, the number of the first that did, and what it means."""

    goal: str
    runs: int
    first: int | None
    meaning: str


class GrowthRow(Struct, frozen=True):
    """How far the campaign was after `runs` runs, in the order of their numbers.

    `states`, `goals` and `violating` are all up to there. `new` and `discovering` are of the runs since the row before:
    states in which no earlier run was, and runs that were in such a state. `per_1000` is `new` for 1,000 runs.
    """

    runs: int
    states: int
    new: int
    discovering: int
    per_1000: float
    goals: int
    violating: int


class Saturation(Struct, frozen=True):
    """Whether more runs would find more; `zabcheck.campaign.tables.saturation_table` tells what is estimated, and how.

    Of the last `last_runs` runs, a tenth, `last_discovering` reached a state in which no earlier run was, and together
    `last_new` such states. `chance` is the share of them, from `low` to `high` with 95 % confidence. `only_once` counts
    the states that only one part reached, `next_part` estimates how many new ones the next part would, and `reachable`
    how many there are at least. Both are None for a single part.
    """

    runs: int
    states: int
    last_runs: int
    last_new: int
    last_discovering: int
    chance: float
    low: float
    high: float
    parts: int
    part_runs: int
    only_once: int
    next_part: float | None
    reachable: float | None


class MutantRow(Struct, frozen=True):
    """A mutant: `rate` is detections in 10^6 steps. `median_seconds` and `worst_seconds` are CPU time for a detection:
    that of all runs of the mutant since the one before. None if there was no detection."""

    mutant: str | None
    runs: int
    steps: int
    seconds: float
    violating: int
    rate: float
    median_seconds: float | None
    worst_seconds: float | None


class BrokenRow(Struct, frozen=True):
    """In how many runs of a mutant a property was the first to break, and in how many it was violated in the end."""

    mutant: str | None
    property: str
    first: int
    violated: int


class RaisedRow(Struct, frozen=True):
    """An exception of the protocol's own code: in how many runs, and the number of the first."""

    mutant: str | None
    raised: str
    runs: int
    first: int


Kind = Literal["move", "order", "demoted", "cycle", "processes", "quorums", "switch"]
Measure = Literal["detections", "new states"]


class ConfigurationRow(Struct, frozen=True):
    """Runs that drew `value` of `kind`, and those that did not, of one mutant, or of all together (`in_all`).

    `found` and `found_without` are what `measure` counts: runs that violate a property, or, where none does, states in
    which no earlier run of the part was. The rates are detections in 10^6 steps, or states a run. `ratio` is the rate
    with it by the rate without it, from `low` to `high` with 95 % confidence; None is beyond any number.
    """

    in_all: bool
    mutant: str | None
    kind: str
    value: str
    measure: str
    runs: int
    steps: int
    found: int
    rate: float
    runs_without: int
    steps_without: int
    found_without: int
    rate_without: float
    ratio: float | None
    low: float
    high: float | None


class DistributionRow(Struct, frozen=True):
    """A figure over all runs: of p90 nine tenths are not above it. `seconds` is CPU time."""

    figure: str
    least: float
    median: float
    p90: float
    p99: float
    most: float


class HistogramRow(Struct, frozen=True):
    """How many runs have a figure from `low` to below `high`; the last row of a figure has its greatest, too."""

    figure: str
    low: float
    high: float
    runs: int


class Tables(Struct, frozen=True):
    """All of them."""

    overview: tuple[Overview, ...]
    properties: tuple[PropertyRow, ...]
    goals: tuple[GoalRow, ...]
    growth: tuple[GrowthRow, ...]
    saturation: tuple[Saturation, ...]
    mutants: tuple[MutantRow, ...]
    broken: tuple[BrokenRow, ...]
    raised: tuple[RaisedRow, ...]
    configurations: tuple[ConfigurationRow, ...]
    distributions: tuple[DistributionRow, ...]
    histograms: tuple[HistogramRow, ...]


class CampaignReport(Struct, frozen=True):
    """What is reported: the plan, in words and as data, the tables, and the findings, if the campaign has written any.

    A finding has `mutant`, `property`, `runs`, `run`, `seed`, `steps`, `summary`, `schedule` and `report`.
    """

    name: str
    """What the campaign is called: its folder."""
    plan: Mapping[str, Any]
    tables: Tables
    findings: Sequence[Mapping[str, Any]] | None = None

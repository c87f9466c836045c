"""The tables of a campaign, as data: the contents of its report, and of `DIR/tables/NAME.parquet`.

`zabcheck.campaign.tables` computes them. They are defined here, beside it, because a report has to be shown
without loading Spark. A row is a struct of plain values, so that each table is flat wherever it is read. A `mutant`
of None stands for the unchanged protocol.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct


class Overview(Struct, frozen=True):
    """The campaign in one row. All counts are over the stored runs; `seconds` is CPU time.

    `planned_runs` and `planned_parts` are those of the plan; `parts` is the number of finished parts. `longest` is the
    longest delivered sequence of any run, in transactions. `as_it_is` counts the runs without a mutant, and
    `broken_as_it_is` how many of them violate a property: none, if the protocol is sound. An error of the modelled code
    counts as a violation. `states` counts the abstract states, each once.
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
    """A property: the numbers of runs in which it was exercised, was violated, broke first; and of all judgements."""

    property: str
    exercised: int
    judged: int
    violated: int
    first: int


class GoalRow(Struct, frozen=True):
    """A `sometimes` goal: the number of runs that reached it, the first of them, and its meaning."""

    goal: str
    runs: int
    first: int | None
    meaning: str


class GrowthRow(Struct, frozen=True):
    """The state of the campaign after `runs` runs, in the order of their numbers.

    `states`, `goals` and `violating` count from the start. `new` and `discovering` count since the row before: the
    states in which no earlier run was, and the runs that were in such a state. `per_1000` is `new` for 1,000 runs.
    """

    runs: int
    states: int
    new: int
    discovering: int
    per_1000: float
    goals: int
    violating: int


class Saturation(Struct, frozen=True):
    """Estimates of how much more runs would find, as computed in `zabcheck.campaign.tables.saturation`.

    Of the last `last_runs` runs (a tenth), `last_discovering` reached a state in which no earlier run was: `last_new`
    such states in all. `chance` is the share of such runs, from `low` to `high` with 95 % confidence.
    `only_once` counts the states that exactly one part reached; `next_part` estimates how many new states the next part
    would reach, and `reachable` how many states can be reached at least. Both are None if there is a single part.
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
    """A mutant and how often it was detected; `rate` is detections in 10^6 steps.

    `median_seconds` and `worst_seconds` are the CPU time of a detection, that is, of all runs of the mutant since the
    detection before it; None if there was no detection.
    """

    mutant: str | None
    runs: int
    steps: int
    seconds: float
    violating: int
    rate: float
    median_seconds: float | None
    worst_seconds: float | None


class BrokenRow(Struct, frozen=True):
    """The numbers of a mutant's runs in which a property was the first to break, and was violated in the end.

    `property` is "error" for the runs that an error of the modelled code has ended.
    """

    mutant: str | None
    property: str
    first: int
    violated: int


class RaisedRow(Struct, frozen=True):
    """An exception that the protocol's own code raised, or an error of the modelled code.

    Further fields are the number of runs with it, and the number of the first one.
    """

    mutant: str | None
    raised: str
    runs: int
    first: int


Kind = Literal["move", "order", "demoted", "cycle", "processes", "quorums", "switch"]
Measure = Literal["detections", "new states"]


class SettingRow(Struct, frozen=True):
    """The runs that drew `value` of `kind` against those that did not: runs of one mutant, or all runs (`in_all`).

    `found` and `found_without` count the runs named by `measure`: runs that violate a property or, where no run does,
    states in which no earlier run of the part was. The rates are detections in 10^6 steps, or states a run. `ratio` is
    the rate with the thing divided by the rate without it, from `low` to `high` with 95 % confidence; None means
    infinity.
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
    """The distribution of a figure over all runs; nine tenths of them are not above `p90`. `seconds` is CPU time."""

    figure: str
    least: float
    median: float
    p90: float
    p99: float
    most: float


class HistogramRow(Struct, frozen=True):
    """The number of runs whose figure is at least `low` and below `high`; the last row includes `high`."""

    figure: str
    low: float
    high: float
    runs: int


class Tables(Struct, frozen=True):
    """All tables of a campaign. A table of one row is a tuple of one."""

    overview: tuple[Overview, ...]
    properties: tuple[PropertyRow, ...]
    goals: tuple[GoalRow, ...]
    growth: tuple[GrowthRow, ...]
    saturation: tuple[Saturation, ...]
    mutants: tuple[MutantRow, ...]
    broken: tuple[BrokenRow, ...]
    raised: tuple[RaisedRow, ...]
    settings: tuple[SettingRow, ...]
    distributions: tuple[DistributionRow, ...]
    histograms: tuple[HistogramRow, ...]


class CampaignReport(Struct, frozen=True):
    """The contents of a report: the plan, the tables, and the findings if the campaign has written any.

    The plan and the findings are plain data, with the fields of `zabcheck.campaign.plan.Plan` and of
    `zabcheck.campaign.findings.Finding`.
    """

    name: str
    """The campaign's folder, which is its name."""
    plan: Mapping[str, Any]
    tables: Tables
    findings: Sequence[Mapping[str, Any]] | None = None
    unseen: Mapping[str, Sequence[str]] = {}
    """The goals that need kinds of event which the runs do not show, each with these kinds."""

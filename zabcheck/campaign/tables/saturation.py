"""The growth of a campaign's abstract states, and estimates of how much more runs would find.

The column `states` of `runs` is the heavy one. It has, for each run, the fingerprints of the abstract states in which
no earlier run *of the same part* was. So a fingerprint occurs at most once a part, and one grouping by fingerprint
gives both the first run that was in the state (the least run number) and the number of parts that reached it.
"""

from collections.abc import Iterable, Sequence
from math import ceil
from typing import NamedTuple

from zabcheck.campaign.results import GoalRow, GrowthRow, Saturation
from zabcheck.campaign.tables import ratios
from zabcheck.campaign.tables.engines import Ask

POINTS = 40
"""The most points at which the growth of a campaign is recorded."""


class StateCounts(NamedTuple):
    """The number of abstract states, and of those that exactly one part reached, and exactly two."""

    states: int
    once: int
    twice: int


def growth_table(ask: Ask, goals: Iterable[GoalRow]) -> tuple[tuple[GrowthRow, ...], StateCounts]:
    """Make up to `POINTS` rows, each for the same number of runs (the last may have fewer); and count the states.

    The states are the heavy part: for each state of each part, 16 bytes are grouped.
    """
    [(last,)] = ask("SELECT max(run) FROM runs")
    width = ceil((last + 1) / POINTS)
    block = f"cast(floor(run / {width}) AS bigint)"
    done = ask(f"SELECT block, count(*), count(broken) FROM (SELECT {block} AS block, broken FROM runs) GROUP BY block")
    new = ask(f"""
        SELECT
            block,
            count(*),
            count(DISTINCT run),
            count(*) FILTER (WHERE parts = 1),
            count(*) FILTER (WHERE parts = 2)
        FROM (
            SELECT {block} AS block, run, parts
            FROM (
                SELECT min(run) AS run, count(*) AS parts
                FROM (SELECT run, explode(states) AS state FROM runs)
                GROUP BY state
            )
        )
        GROUP BY block
    """)
    found_in = {number: (found, discovering) for number, found, discovering, *_ in new}
    reached = [goal.first // width for goal in goals if goal.first is not None]
    rows: list[GrowthRow] = []
    count = states = violating = 0
    for number, here, broken in sorted(done):
        found, discovering = found_in.get(number, (0, 0))
        count, states, violating = count + here, states + found, violating + broken
        goals_so_far = sum(each <= number for each in reached)
        rows.append(GrowthRow(count, states, found, discovering, 1000 * found / here, goals_so_far, violating))
    return tuple(rows), StateCounts(states, sum(row[3] for row in new), sum(row[4] for row in new))


def saturation_table(grown: Sequence[GrowthRow], reached: StateCounts, parts: int, part_runs: int) -> Saturation:
    """Estimate how much more runs would find, in three ways, none of which assumes anything about the protocol.

    1. Of the last tenth of the runs, the share that reached a state in which no earlier run was. As discoveries get
       rarer, this is an upper estimate of the chance that the next run reaches one. The interval is Wilson's.
    2. The number of new states in the next part, after Good and Turing (I. J. Good: "The population frequencies of
       species and the estimation of population parameters", Biometrika 1953). With a part as the sample, this is the
       number of states that exactly one part reached, divided by the number of parts. The states that only one part
       reached are the ones that would be new in that part if it came last, so the mean over all parts is unbiased.
       M. Böhme, "STADS: Software testing as species discovery" (TOSEM 2018), uses the estimate to decide when a fuzzer
       may stop; there the sample is a test.
    3. A lower bound for the number of states that runs like these can reach at all (A. Chao 1987, "Chao2", corrected
       for its bias), from the number of states that one part reached and the number that two parts reached.

    These estimates do not cover other settings, longer runs, or concrete states.
    """
    states, once, twice = reached
    last = grown[-ceil(len(grown) / 10) :]
    last_runs = grown[-1].runs - (grown[-len(last) - 1].runs if len(last) < len(grown) else 0)
    discovering = sum(row.discovering for row in last)
    several = parts > 1
    return Saturation(
        runs=grown[-1].runs,
        states=states,
        last_runs=last_runs,
        last_new=sum(row.new for row in last),
        last_discovering=discovering,
        chance=discovering / last_runs,
        low=ratios.share(discovering, last_runs)[0],
        high=ratios.share(discovering, last_runs)[1],
        parts=parts,
        part_runs=part_runs,
        only_once=once,
        next_part=once / parts if several else None,
        reachable=states + (parts - 1) / parts * once * (once - 1) / (2 * (twice + 1)) if several else None,
    )

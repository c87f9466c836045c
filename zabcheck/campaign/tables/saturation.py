"""Whether more runs of a campaign would find more: how the abstract states grew, and what that says.

The column `states` of `runs` is the heavy one. It has, for each run, the fingerprints of the abstract states in which
no earlier run *of the same part* was. So a fingerprint occurs at most once a part, and one grouping by fingerprint
gives both the first run that was in the state (the least run number) and the number of parts that reached it.
"""

from collections.abc import Iterable, Sequence
from math import ceil

from zabcheck.campaign.results import GoalRow, GrowthRow, Saturation
from zabcheck.campaign.tables import ratios
from zabcheck.campaign.tables.questions import Questions

POINTS = 40
"""The most points at which the growth of a campaign is recorded."""


def block_width(last: int) -> int:
    """Return how many runs make a point of the growth, if `last` is the highest number of a run."""
    return ceil((last + 1) / POINTS)


def growth_table(runs: Questions, goals: Iterable[GoalRow]) -> tuple[GrowthRow, ...]:
    """Make up to `POINTS` rows, each for the same number of runs (the last one may have fewer)."""
    width, done = runs.blocks()
    new = runs.new_states(width)
    reached = [goal.first // width for goal in goals if goal.first is not None]
    rows: list[GrowthRow] = []
    count = states = violating = 0
    for key in sorted(done):
        (number,) = key
        here, broken = done[key]
        found, discovering = new.get(key, (0, 0))
        count, states, violating = count + here, states + found, violating + broken
        goals_so_far = sum(each <= number for each in reached)
        rows.append(GrowthRow(count, states, found, discovering, 1000 * found / here, goals_so_far, violating))
    return tuple(rows)


def saturation_table(runs: Questions, grown: Sequence[GrowthRow], parts: int, part_runs: int) -> Saturation:
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

    None of this says anything about other configurations, longer runs, or concrete states.
    """
    states, once, twice = runs.states()
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

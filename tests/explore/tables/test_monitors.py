"""A search says the same, whatever it forgets of the past."""

from collections.abc import Hashable, Sequence

import pytest

from invariants import EpochUniqueness, Prefix, Promise, Ready, select
from invariants.quorums import Quorums
from tests.tiers import sweep
from zabcheck.explore.bounds import UNLIMITED, Bounds
from zabcheck.explore.judges import MonitorJudge, judged_in_every_state
from zabcheck.explore.judges.identity import identity
from zabcheck.explore.results import SearchResult
from zabcheck.explore.space import Space
from zabcheck.explore.tables import group_judges
from zabcheck.explore.tables.group_judges import groups_of
from zabcheck.explore.tables.monitors import Monitors
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols.switches import Switches

ABRUPT = Switches(sync="atomic", closing="abrupt")
CASES = {
    "any time-outs": (Bounds(2, 2, 0, UNLIMITED, 0), None),
    "any faults": (Bounds(2, 2, 1, UNLIMITED, UNLIMITED), None),
    "two leaders": (Bounds(2, 2, 1, 1, 0), "reuse-highest-epoch"),
    "never exercised": (Bounds(2, 1, 0, 1, 0), None),
    "three processes": (Bounds(3, 2, 1, 1, 0), None),
    "two leaders of three": (Bounds(3, 2, 1, 1, 0), "reuse-highest-epoch"),
}


def explored(bounds: Bounds, mutant: str | None) -> SearchResult:
    return Space(
        mutated("zab", mutant), Quorums(bounds.processes), ABRUPT, bounds, (Prefix, EpochUniqueness), reduction=True
    ).explore()


@pytest.mark.parametrize("name", sweep(CASES, normal=("any time-outs", "two leaders", "never exercised")))
def test_what_only_tells_whether_a_property_is_exercised_is_forgotten_once_it_is(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgetting = explored(*CASES[name])

    def everything(judge: MonitorJudge, incarnations: Sequence[int], exercised: Sequence[str]) -> Hashable:
        return identity(judge, incarnations)

    monkeypatch.setattr(group_judges, "identity", everything)
    knowing = explored(*CASES[name])
    for field in ("whole", "broken", "raised", "depth", "exercised", "goals"):
        assert getattr(forgetting, field) == getattr(knowing, field), field
    if knowing.whole:
        assert (forgetting.states < knowing.states) == knowing.exercised[EpochUniqueness.name]


@pytest.mark.parametrize("mutant", [None, "reuse-highest-epoch"])
def test_properties_together_know_what_each_group_of_them_knows(mutant: str | None) -> None:
    kinds = [kind for kind in select(None) if judged_in_every_state(kind)]
    protocol, quorums = mutated("zab", mutant), Quorums(2)
    space = Space(protocol, quorums, ABRUPT, Bounds(2, 2, 1, 1, 1), kinds, symmetry=False, reduction=False)
    space.explore()
    together = Monitors(kinds, quorums, space.components, [])
    apart = [Monitors(group, quorums, space.components, []) for group in groups_of(kinds)]
    nothing = tuple(0 for _ in apart)
    reached, known = {0: (0, nothing)}, {0: nothing}
    for (before, events), after in space.monitors.known_after.items():
        number, numbers = reached[before]
        number = together.after(number, events)
        numbers = tuple(each.after(one, events) for each, one in zip(apart, numbers, strict=True))
        assert known.setdefault(number, numbers) == numbers
        broken = (each.broken[one] for each, one in zip(apart, numbers, strict=True))
        assert together.broken[number] == next(filter(None, broken), None)
        reached.setdefault(after, (number, numbers))
    assert len(set(known.values())) == len(known) == len(together) > 50
    assert any(together.broken) == (mutant is not None)


def test_until_then_it_is_known() -> None:
    asked, nobody = (MonitorJudge([EpochUniqueness], Quorums(2)) for _ in range(2))
    asked.observe(Promise(1, 0, 1, leader=2))
    assert identity(asked, (0, 0, 0)) != identity(nobody, (0, 0, 0))
    assert identity(asked, (0, 0, 0), ["epoch uniqueness"]) == identity(nobody, (0, 0, 0), ["epoch uniqueness"])
    for judge in (asked, nobody):
        judge.observe(Ready(1, 0, 1))
    assert [judge.finish()[0].judged for judge in (asked, nobody)] == [1, 0]

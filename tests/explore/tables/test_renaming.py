"""A component under other names depends on those of the processes that it is about, and is found out once."""

from collections.abc import Sequence
from itertools import permutations

import pytest

from tests.explore.at_once.test_many import ABRUPT, ORACLE, by_vote, space
from zabcheck.explore.bounds import Bounds
from zabcheck.explore.space import Space
from zabcheck.explore.tables.renaming import LookedAt, Twins


def test_what_is_the_same_for_some_names_is_found_out_once() -> None:
    asked: list[tuple[int, ...]] = []

    def rename(number: int, names: Sequence[int]) -> int:
        asked.append(tuple(names[process] for process in (1, 3)))
        return 100 * names[1] + 10 * names[3] + number

    twins, everybody = Twins(rename), [(0, *order) for order in permutations(range(1, 5))]
    for _ in range(2):
        assert [twins.of(7, names) for names in everybody] == [100 * n[1] + 10 * n[3] + 7 for n in everybody]
    assert len(asked) == len(set(asked)) == 4 * 3


def test_each_way_to_look_at_a_name_is_seen() -> None:
    for look, places in (
        (lambda names: names[2], {2}),
        (lambda names: names[-1], {3}),
        (lambda names: names[1:3], {1, 2}),
        (list, {0, 1, 2, 3}),
        (lambda names: {2: names[1]}, {1}),
        (len, set()),
    ):
        looked_at = LookedAt((0, 3, 1, 2))
        look(looked_at)
        assert looked_at.places == places
    with pytest.raises(IndexError):
        LookedAt((0, 1))[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "searched",
    [space(Bounds(3, 1, 1, 1, 0), ABRUPT), by_vote(Bounds(3, 1, 1, 0, 1), ORACLE)],
    ids=["zab", "zookeeper"],
)
def test_a_component_is_renamed_as_when_all_names_are_looked_at(searched: Space) -> None:
    searched.explore(levels=9)
    components = searched.components
    assert searched.symmetry is not None
    processes, links = len(components.processes), len(components.links)
    for names in searched.symmetry.renamings:
        for number in range(processes):
            assert components.renamed_process(number, names) == components._rename_process(number, names)
        for number in range(links):
            assert components.renamed_link(number, names) == components._rename_link(number, names)
    assert len(components._process_twins._known) < processes * len(searched.symmetry.renamings)

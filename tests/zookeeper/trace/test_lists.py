"""Two quorums that the lists of servers in configurations allow."""

import pytest

from zabcheck.zookeeper.trace.lists import disjoint_quorums

THREE, FIVE = (1, 2, 3), (1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("longer", "there", "found"),
    [
        ((4, 5), FIVE, None),
        ((1, 4, 5), FIVE, ((2, 3), (1, 4, 5))),
        ((1, 4), (1, 2, 3, 4), None),
        ((1, 2, 4), (1, 2, 3, 4), None),
        ((1, 2, 3, 4), (1, 2, 3, 4), None),
    ],
)
def test_two_groups_can_elect_if_neither_needs_a_server_of_the_other(
    longer: tuple[int, ...], there: tuple[int, ...], found: object
) -> None:
    """A server votes for one of its own list only: {1,4,5} cannot elect while 1 has the list of three."""
    assert disjoint_quorums({each: FIVE if each in longer else THREE for each in there}) == found

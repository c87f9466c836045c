"""DSN 2011, definition II.1: any two quorums intersect."""

from itertools import chain, combinations

import pytest

from invariants.quorums import MAX_SETS, Quorums, quorums_of

SIZES = range(1, 6)


def subsets(size: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(1, size + 1), n) for n in range(size + 1)))


@pytest.mark.parametrize(
    "name",
    [
        *((size, "majority") for size in SIZES),
        (3, "weights 1,1,1"),
        (3, "weights 5,1,1"),
        (4, "weights 2,1,1,0"),
        (5, "weights 0,0,0,0,1"),
        (5, "weights 3,3,2,1,1"),
        (3, "sets 1"),
        (4, "sets 1+2,2+3,1+3"),
        (4, "sets 1+2,1+3,1+4,2+3+4"),
    ],
    ids=str,
)
def test_two_quorums_intersect_and_what_contains_a_quorum_is_one(name: tuple[int, str]) -> None:
    quorums = quorums_of(name[1], name[0])
    found = [set(each) for each in subsets(name[0]) if quorums.contains(each)]
    assert found
    assert set() not in found
    assert all(one & other for one in found for other in found)
    for each in subsets(name[0]):
        assert quorums.contains(each) == any(quorum <= set(each) for quorum in found)
    assert quorums_of(quorums.name, name[0]) == quorums


@pytest.mark.parametrize("size", SIZES)
def test_equal_weights_are_majorities(size: int) -> None:
    weighted = quorums_of("weights " + ",".join(["7"] * size), size)
    assert all(weighted.contains(each) == Quorums(size).contains(each) for each in subsets(size))


def test_a_heavy_process_is_a_quorum_by_itself() -> None:
    quorums = quorums_of("weights 5,1,1", 3)
    assert quorums.contains([1])
    assert not quorums.contains([2, 3])


def test_half_of_the_weight_is_not_enough() -> None:
    assert not quorums_of("weights 2,1,1", 3).contains([1])
    assert not quorums_of("weights 2,1,1", 3).contains([2, 3])


@pytest.mark.parametrize(
    ("name", "size", "message"),
    [
        ("sets 1+2,3+4", 4, "the quorums {p1, p2} and {p3, p4} do not intersect"),
        ("sets 1+2,2+3,3+1,4", 4, "the quorums {p1, p2} and {p4} do not intersect"),
        ("sets 1+2,3", 2, "expected processes from 1 to 2 in a quorum, found 3"),
        ("sets 0+1", 2, "expected processes from 1 to 2 in a quorum, found 0"),
        ("weights 1,1", 3, "expected 3 weights, one for each process, found 2"),
        ("weights 0,0,0", 3, "expected a weight above 0: without one there is no quorum"),
    ],
)
def test_what_is_no_quorum_system_is_refused(name: str, size: int, message: str) -> None:
    with pytest.raises(ValueError, match=r"quorum|weight") as caught:
        quorums_of(name, size)
    assert str(caught.value) == message


def test_a_set_that_is_named_again_counts_once() -> None:
    quorums = quorums_of("sets " + ",".join(["1+2", "2+1", "1+2+2"] * 30_000), 3)
    assert quorums.name == "sets 1+2"


def test_so_many_sets_that_comparing_them_would_take_long_are_refused() -> None:
    many = ",".join(f"1+{process}" for process in range(2, MAX_SETS + 2))
    assert quorums_of(f"sets {many}", 9999).contains([1, 7])
    with pytest.raises(ValueError, match=f"^expected at most {MAX_SETS} sets, found {MAX_SETS + 1}$"):
        quorums_of(f"sets {many},1", 9999)


@pytest.mark.parametrize(
    "name",
    ["", "Majority", "weights", "weights 1,-1", "weights ١,1", "sets", "sets 1++2", "config", "config 2,01", "x"],
)
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(
        ValueError, match=r"^expected `majority`, `weights 3,1,1`, `sets 1.* or `config 1,2,3`, found `"
    ):
        quorums_of(name, 3)


@pytest.mark.parametrize("name", ["config 2,1", "config 1,1", "config 1,4"])
def test_the_processes_of_a_configuration_ascend(name: str) -> None:
    with pytest.raises(ValueError, match=f"^expected processes from 1 to 3 in ascending order, found `{name}`$"):
        quorums_of(name, 3)


def test_a_configuration_counts_its_members_only() -> None:
    quorums = quorums_of("config 1,2,4", 5)
    assert quorums.contains([1, 4])
    assert not quorums.contains([1, 3, 5])
    assert [process for process in range(1, 6) if quorums.may_lead(process)] == [1, 2, 4]

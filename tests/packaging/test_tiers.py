"""The tiers of the tests, and the groups that share what takes long to start."""

import pytest

from tests.tiers import sweep


def test_the_normal_tier_has_only_the_named_cases_of_a_sweep() -> None:
    one, two, three = sweep(("one", "two", ("three", 3)), normal=("two",))
    assert two == "two"
    assert [each.values for each in (one, three)] == [("one",), ("three", 3)]
    assert [mark.name for each in (one, three) for mark in each.marks] == ["slow", "slow"]


def test_a_case_that_there_is_not_is_noticed() -> None:
    with pytest.raises(AssertionError, match="four"):
        sweep(("one", "two"), normal=("four",))


@pytest.mark.xdist_group("a group")
def test_groups_are_formed(request: pytest.FixtureRequest) -> None:
    """Where pytest and xdist do not fit each other, no test says so, and each worker starts a Spark of its own."""
    asked = getattr(request.config.option, "loadgroup", False)
    assert request.node.nodeid.endswith("@a group") == asked

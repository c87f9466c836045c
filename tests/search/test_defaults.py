"""`zabcheck run` without an option finds every known bug, whatever it takes: five processes, weights, a crash."""

import pytest

from benchmarks.defaults import found_with
from tests.search.more_bugs import MORE_BUGS
from tests.tiers import sweep
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.search.engines import DEFAULT, Engine
from zabcheck.search.run import Search

BUGS = {**{name: mutated(bug.protocol, name) for name, bug in CATALOGUE.items()}, **MORE_BUGS}
SEED = {"discover-in-old-only": 1}
"""The seed, where it is not 2: the default has too few runs with that (docs/reconfiguration.md)."""
QUICK = ("quorum-off-by-one", "commit-on-own-ack", "majority-of-connected", "heads-instead-of-weights")


@pytest.mark.parametrize("name", sweep(BUGS, normal=QUICK))
def test_the_default_search_finds_it(name: str) -> None:
    assert found_with(BUGS[name], SEED.get(name, 2)) is not None


def test_the_default_draws_what_a_bug_may_need() -> None:
    """A bug that takes five processes, or weights, is out of reach where every run has three and majorities."""
    assert DEFAULT is Engine.swarm
    assert (Search(BUGS["commit-on-own-ack"]).processes, Search(BUGS["commit-on-own-ack"]).quorums) == (None, None)

"""Many states expanded at once are expanded as they are one by one: the same states, counts, runs and tables."""

import pickle
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from invariants import select
from invariants.quorums import Quorums, quorums_of
from tests.explore.tables.test_reduction import ABRUPT, DISK, GRACEFUL, PROPERTIES, ZAB
from tests.explore.told import everything
from tests.tiers import sweep
from zabcheck.explore import portions as portions_module
from zabcheck.explore import space as module
from zabcheck.explore.at_once import many as many_module
from zabcheck.explore.at_once.index import MISSING, Index, extended, twins
from zabcheck.explore.bounds import UNLIMITED, Bounds
from zabcheck.explore.judges import judged_in_every_state
from zabcheck.explore.portions import Portions
from zabcheck.explore.space import Space
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.switches import Switches
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches

ANY = UNLIMITED
NEVER = 1 << 40
ORACLE = ZooKeeperSwitches(sync="atomic", closing="abrupt", elections="oracle")

SPACES: dict[str, tuple[Bounds, Switches, dict[str, bool]]] = {
    "reduction": (Bounds(3, 1, 1, 1, 1), ABRUPT, {}),
    "held": (Bounds(3, 1, 1, 1, 0), ABRUPT, {"moments": False}),
    "no elections put off": (Bounds(3, 1, 1, 1, 0), GRACEFUL, {}),
    "nor with a crash": (Bounds(2, 1, 1, 1, 1), GRACEFUL, {}),
    "eager after all": (Bounds(3, 1, 0, 1, 1), GRACEFUL, {}),  # where moves of others have to be left out again
    "symmetry alone": (Bounds(2, 2, 1, 1, 0), ABRUPT, {"reduction": False}),
    "reduction alone": (Bounds(2, 2, 1, 2, 1), ABRUPT, {"symmetry": False}),
    "neither": (Bounds(2, 1, 1, 2, 0), ABRUPT, {"symmetry": False, "reduction": False}),
    "any faults": (Bounds(2, 2, 1, ANY, ANY), ABRUPT, {}),
    "any time-outs, three processes": (Bounds(3, 1, 1, ANY, 0), ABRUPT, {}),
    "cuts": (Bounds(2, 1, 1, 1, 0, 2), ABRUPT, {}),
    "a disk": (Bounds(2, 1, 1, 1, 1), DISK, {}),
    "five processes": (Bounds(5, 1, 0, 0, 0), ABRUPT, {}),
    "two epochs": (Bounds(3, 2, 1, 1, 0), ABRUPT, {"moments": False}),
    "forgetful": (Bounds(3, 2, 1, 0, 1), ABRUPT, {"moments": False, "forgetful": True}),
}


def space(bounds: Bounds, switches: Switches, mutant: str | None = None, **how: bool) -> Space:
    protocol, quorums = mutated("zab", mutant), Quorums(bounds.processes)
    return Space(protocol, quorums, switches, bounds, PROPERTIES, **{"reduction": True, **how})


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expand also levels of few states at once, a few states at a time; keys are soon made short again."""
    monkeypatch.setattr(portions_module, "LARGE", 1)
    monkeypatch.setattr(many_module, "_DEEPEST", 2)
    monkeypatch.setattr(many_module, "FEWEST", 20)
    monkeypatch.setattr(many_module, "MOST", 80)


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("name", sweep(SPACES, normal=("neither", "nor with a crash")))
def test_many_states_at_once_are_expanded_as_they_are_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds, switches, how = SPACES[name]
    at_once = everything(space(bounds, switches, **how))
    monkeypatch.setattr(portions_module, "LARGE", NEVER)
    assert at_once == everything(space(bounds, switches, **how))


BY_VOTE: dict[str, tuple[Bounds, Switches, dict[str, bool]]] = {
    "a time-out": (Bounds(2, 2, 1, 1, 0), ORACLE, {}),
    "a time-out and a crash": (Bounds(2, 2, 1, 1, 1), ORACLE, {}),
    "any time-outs": (Bounds(2, 2, 1, ANY, 0), ORACLE, {}),
    "a crash": (Bounds(3, 2, 1, 0, 1), ORACLE, {}),
    "a crash, unreduced": (Bounds(3, 1, 1, 0, 1), ORACLE, {"reduction": False}),
    "names": (Bounds(3, 1, 1, 0, 1), ORACLE, {"symmetry": False}),
    "a snapshot": (Bounds(2, 2, 1, 0, 1, 0, 1), ORACLE, {}),
    "threads": (Bounds(2, 2, 1, 0, 1), replace(ORACLE, sync="separate", grain="G3"), {}),
    "a bug": (Bounds(3, 2, 1, 0, 1), replace(ORACLE, version="3.4.2", defects="1343"), {}),
    "moments": (Bounds(2, 2, 1, 1, 1), ORACLE, {"moments": True}),
}


def by_vote(bounds: Bounds, switches: Switches, **how: bool) -> Space:
    kinds = select(["core"])
    how = {"reduction": True, "moments": False, **how}
    return Space(PROTOCOLS["zookeeper"], Quorums(bounds.processes), switches, bounds, kinds, **how)


@pytest.mark.slow
def test_elections_by_vote_are_made_where_more_is_known_than_there_are_local_states() -> None:
    """Most elections have fewer members than there are processes; nobody's local state is looked at for the rest."""
    protocol = PROTOCOLS["zookeeper"]
    kinds = tuple(kind for kind in select(protocol.properties) if judged_in_every_state(kind))
    switches = replace(ORACLE, version="3.9.5", defects="none")
    searched = Space(protocol, Quorums(3), switches, Bounds(3, 2, 1, 0, 1), kinds, reduction=True)
    assert searched.explore().whole
    assert len(searched.monitors) > len(searched.local_states.made_of)


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("name", sweep(BY_VOTE, normal=("a time-out",)))
def test_elections_by_vote_are_made_as_they_are_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds, switches, how = BY_VOTE[name]
    at_once = everything(by_vote(bounds, switches, **how))
    monkeypatch.setattr(portions_module, "LARGE", NEVER)
    assert at_once == everything(by_vote(bounds, switches, **how))


@pytest.mark.slow
def test_from_which_level_on_many_are_expanded_at_once_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a snapshot takes servers back that have delivered something, too: tables are filled in another order."""
    found = []
    for large in (1, 1000):
        monkeypatch.setattr(portions_module, "LARGE", large)
        switches = replace(ORACLE, version="3.9.5", defects="none")
        explored = by_vote(Bounds(3, 2, 1, 1, 1), switches, forgetful=True).explore()
        found.append((explored.whole, explored.states, explored.transitions))
    assert found[0] == found[1] == (True, 97_748, 234_331)


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("mutant", sweep(ZAB[1::4], normal=("commit-on-own-ack",)))
def test_known_bugs_are_found_by_the_same_runs(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = Bounds(2, 2, 1, 1, 1)
    at_once = everything(space(bounds, ABRUPT, mutant))
    monkeypatch.setattr(portions_module, "LARGE", NEVER)
    assert at_once == everything(space(bounds, ABRUPT, mutant))


@pytest.mark.slow
@pytest.mark.usefixtures("everywhere")
def test_only_states_in_which_something_breaks_are_expanded_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise all the tests above would be of states that are expanded one by one."""
    whole: list[int] = []
    expand = Portions._expand

    def expanding(self: Portions, place: int, *others: Any) -> Any:
        whole.append(place)
        return expand(self, place, *others)

    monkeypatch.setattr(Portions, "_expand", expanding)
    for name in ("no elections put off", "any faults"):
        bounds, switches, how = SPACES[name]
        assert space(bounds, switches, **how).explore().whole
    assert by_vote(Bounds(3, 2, 1, 0, 1), ORACLE).explore().whole
    assert not whole


@pytest.mark.slow
@pytest.mark.parametrize("order", [(1, NEVER), (NEVER, 1)], ids=["at once first", "one by one first"])
def test_either_goes_on_from_a_checkpoint_of_the_other(
    order: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOOK", 30)
    file, bounds = tmp_path / "checkpoint", Bounds(2, 1, 1, ANY, ANY)
    first, second = order
    monkeypatch.setattr(portions_module, "LARGE", first)
    assert not space(bounds, ABRUPT).explore(memory=1, checkpoint=file).whole
    monkeypatch.setattr(portions_module, "LARGE", second)
    resumed = space(bounds, ABRUPT)
    assert everything(resumed, checkpoint=file, resume=True) == everything(space(bounds, ABRUPT))


def test_names_that_are_not_all_alike_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    quorums = quorums_of("weights 2,1,1", 3)
    found = []
    for large in (1, NEVER):
        monkeypatch.setattr(portions_module, "LARGE", large)
        searched = Space(mutated("zab"), quorums, ABRUPT, Bounds(3, 1, 0, 0, 0), PROPERTIES, reduction=True)
        found.append(everything(searched)[:-1])  # one by one, more is renamed
        assert (searched._portions.many is None) == (large == NEVER)
    assert found[0] == found[1]


def test_an_index_knows_what_was_put_into_it() -> None:
    rng = Random(1)
    index, known = Index(3), dict[tuple[int, ...], int]()
    for _ in range(40):
        new = {(rng.randrange(50), rng.randrange(-20, 20), rng.randrange(1 << 45)) for _ in range(100)} - known.keys()
        keys = sorted(new)
        index.extend(keys)
        known |= {key: len(known) + place for place, key in enumerate(keys)}
    assert len(index) == len(known)
    asked = [*known, *((one, two, three + 1) for one, two, three in known)]
    found = index.find(*np.array(asked, np.int64).T)
    assert found.tolist() == [known.get(key, MISSING) for key in asked]


def test_a_row_has_its_twin_before_it() -> None:
    rng = np.random.default_rng(1)
    for length, width in ((0, 2), (1, 1), (500, 2), (5000, 3)):
        rows = rng.integers(0, 12, (length, width))
        found = twins(rows)
        assert np.array_equal(rows[found], rows)
        assert (found <= np.arange(length)).all()
        first = {row: place for place, row in reversed(list(enumerate(map(tuple, rows.tolist()))))}
        expected = np.array([first[tuple(row)] for row in rows.tolist()], np.int64)
        assert ((found == expected) | (found == np.arange(length))).all()
        assert (found == expected).sum() >= 0.9 * length


@pytest.mark.parametrize(
    "bounds",
    [
        pytest.param(Bounds(2, 1, 1, ANY, ANY), id="two"),
        pytest.param(Bounds(3, 1, 1, 1, 0), id="three", marks=pytest.mark.slow),
    ],
)
def test_what_is_left_out_was_found_from_a_state_before(bounds: Bounds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portions_module, "LARGE", 1)
    searched = space(bounds, ABRUPT)
    searched.explore(levels=9)
    assert searched._portions.many is not None
    rows = searched._portions.states.array(0, searched._expanded)
    found = searched._portions.many.of(rows)
    monkeypatch.setattr(many_module, "twins", lambda rows: np.arange(len(rows)))
    every = searched._portions.many.of(rows)
    assert not every.again
    assert not found.again
    assert np.array_equal(every.count, np.bincount(every.source, minlength=len(rows)))
    assert np.array_equal(found.count, every.count)
    assert len(found.rows) < 0.9 * len(every.rows)
    columns = ("source", "first", "rows", "naming")
    all_ = zip(*(getattr(every, column).tolist() for column in columns), strict=True)
    left = zip(*(getattr(found, column).tolist() for column in columns), strict=True)
    waiting, known = next(left, None), set[tuple[int, ...]]()
    for transition in all_:
        row = tuple(transition[2])
        if transition == waiting:
            waiting = next(left, None)
        else:
            assert row in known
        known.add(row)
    assert waiting is None


@pytest.mark.parametrize("width", [None, 2], ids=["numbers", "rows"])
def test_an_array_that_is_extended_has_all_and_leaves_what_there_was(width: int | None) -> None:
    shape = () if width is None else (width,)
    known = np.empty((0, *shape), np.int64)
    parts = [np.full((length, *shape), length) for length in (0, 1, 3, 0, 40)]
    for part in parts:
        before = known.copy()
        known = pickle.loads(pickle.dumps(extended(known, part)))  # it has no room any more then
        longer = extended(known, part)
        assert np.array_equal(known, np.concatenate((before, part)))
        assert np.array_equal(longer, np.concatenate((known, part)))
        known = longer
    assert len(known) == 2 * 44

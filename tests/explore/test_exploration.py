"""`explore` and `certify` as a Python caller uses them: what they prove holds, and the runs that they give are real."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import zabcheck
from tests.tiers import sweep
from zabcheck.explore import Bounds, CannotExplore, Exploration, certify, exploration, explore, space
from zabcheck.explore.bounds import UNLIMITED
from zabcheck.explore.liveness import rests, undisturbed
from zabcheck.explore.results import Progress
from zabcheck.explore.tables.successors import Row
from zabcheck.explore.tables.symmetry import Symmetry
from zabcheck.protocols.switches import Switches
from zabcheck.search.run import replay, schedule_of
from zabcheck.simulation import choices
from zabcheck.simulation.schedule import Schedule, load
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches

TWO = Bounds(processes=2, epochs=1, txns=1, timeouts=1)
ATOMIC = Switches(sync="atomic")
MINIMAL = Path(__file__).parents[1] / "zookeeper/model/schedules"


def test_properties_that_hold_are_proved() -> None:
    told: list[Progress] = []
    found = explore(bounds=TWO, properties=["core"], on_progress=told.append)
    assert (found.whole, found.broken, found.counterexample, found.steps) == (True, None, None, 0)
    assert found.bounds == "2 processes, 1 epoch, 1 transaction, 1 time-out, 0 crashes"
    assert found.settings == ("sync atomic", "closing abrupt")
    assert found.symmetry is found.reduction is True
    assert "agreement" in found.exercised
    assert found.followed == 0


def test_from_where_leaders_get_on_is_followed() -> None:
    found = explore(bounds=TWO, properties=["core", "convergence"])
    assert (found.trap, found.followed) == (None, 2 * found.states)
    assert "convergence" in found.exercised


def assert_real(found: Exploration) -> None:
    """The simulator can make each of its choices, and shows that it violates the property."""
    assert found.counterexample is not None
    assert found.broken is not None
    schedule = found.counterexample.schedule
    again = replay(schedule, [found.broken])
    assert [verdict.status for verdict in again.verdicts] == ["violated"]
    assert (again.skipped, schedule.violates) == (0, found.broken)
    assert found.steps == len(schedule.choices)


def test_a_counterexample_is_real_and_the_shortest() -> None:
    found = explore(mutant="commit-on-own-ack", bounds=TWO)
    assert_real(found)
    assert (found.whole, found.tried) == (False, found.steps - 1)


def test_the_example_of_the_documentation_holds() -> None:
    page = (Path(__file__).parents[2] / "docs" / "explore.md").read_text()
    example = page.split("```python\n")[1].split("```")[0]
    assert "assert found.whole" in example
    exec(example, {})


# Runs that are real only because they were searched for again.


def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take for real what is found first."""
    monkeypatch.setattr(exploration, "_is_real", lambda *_: True)


MADE_UP_BY_SYMMETRY: dict[str, Any] = {
    "mutant": "duplicate-proposal",
    "bounds": Bounds(processes=3, epochs=2, txns=2, timeouts=0),
    "properties": ["integrity", "convergence"],
    "reduction": False,
}
"""A proposal that is there twice makes two histories with one (f.a, f.zxid): to choose between them takes an id."""


@pytest.mark.slow
def test_this_run_is_not_real_at_the_first_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    once(monkeypatch)
    made_up = explore(**MADE_UP_BY_SYMMETRY)
    assert made_up.counterexample is not None
    assert made_up.symmetry
    assert [verdict.status for verdict in made_up.counterexample.verdicts] != ["violated"]


@pytest.mark.slow
def test_what_symmetry_makes_up_may_be_real_under_other_names() -> None:
    found = explore(**MADE_UP_BY_SYMMETRY)
    assert (found.broken, found.trap, found.symmetry) == ("reliable delivery", "trap", True)
    assert_real(found)


@pytest.mark.slow
def test_a_counterexample_that_is_real_under_no_names_is_searched_for_without_symmetry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Symmetry, "under_all_names", lambda _, choices: iter([choices]))
    found = explore(**MADE_UP_BY_SYMMETRY)
    assert (found.broken, found.trap, found.symmetry) == ("reliable delivery", "trap", False)
    assert_real(found)


def test_a_process_that_leads_the_same_epoch_twice_is_not_two_leaders() -> None:
    """With this mutant it may, and a run that breaks epoch uniqueness is longer."""
    bounds = Bounds(processes=2, epochs=2, txns=1, timeouts=1)
    found = explore(mutant="reuse-highest-epoch", bounds=bounds, properties=["epoch uniqueness"])
    assert (found.broken, found.steps, found.tried) == ("epoch uniqueness", 15, 14)
    assert_real(found)


# The search, as it really went.


def test_where_liveness_is_not_asked_fewer_states_are_kept() -> None:
    """A leader may be undisturbed from any moment on, so what a quorum has at one moment has to be kept for it."""
    bounds = Bounds(processes=2, epochs=2, txns=1, timeouts=1)
    asked, not_asked = (explore(bounds=bounds, properties=["core", *more]) for more in (["convergence"], []))
    assert asked.whole
    assert not_asked.whole
    assert not_asked.states < asked.states


@pytest.mark.parametrize(
    ("protocol", "mutant", "symmetry", "reduction"),
    [
        ("zab", None, True, True),
        ("zab", "stale-proposal-accepted", True, False),  # its moves do not commute
        ("ladis", None, True, True),
        ("paxos", None, False, True),  # which ballots a process takes depends on its number
        ("zookeeper", None, False, True),  # of two servers that vote there are more states with symmetry
    ],
)
def test_what_applied_is_told_not_what_was_asked_for(
    protocol: str, mutant: str | None, symmetry: bool, reduction: bool
) -> None:
    found = explore(protocol, mutant=mutant, bounds=structs.replace(TWO, timeouts=0), properties=["core"])
    assert found.whole
    assert (found.symmetry, found.reduction) == (symmetry, reduction)


def test_the_search_for_the_shortest_run_is_not_reduced() -> None:
    """The figures are those of the last search, and so is what is said of it."""
    found = explore(mutant="reuse-highest-epoch", bounds=Bounds(3, 1, 1, 1), properties=["epoch uniqueness"])
    assert_real(found)
    assert not found.reduction


# A protocol of somebody's own.


class Climbing(zabcheck.Process):
    """Each time-out makes it promise a later epoch, of which no event tells."""

    seen: int = 0

    def on_timed_out(self) -> None:
        self.seen += 1

    def on_elected(self, leader: int) -> None:
        if self.leads:
            self.ready(1)

    def on_request(self, value: str) -> None:
        txn = zabcheck.Txn(zabcheck.Zxid(1, 1), value)
        self.broadcast(txn)
        self.deliver(txn)


class Bounded(Climbing):
    def highest_epoch(self) -> int:
        return self.seen


class Forgetful(Climbing):
    def highest_epoch(self) -> int:
        raise KeyError("epoch")


class Vague(Climbing):
    def highest_epoch(self) -> int:
        return "many"  # type: ignore[return-value]  # the bug that is tried


class Failing(Climbing):
    def on_elected(self, leader: int) -> None:
        raise KeyError(7)


ALONE = Bounds(processes=1, epochs=2, txns=1, timeouts=6)


def test_a_protocol_says_itself_which_epochs_it_knows() -> None:
    free, bounded = (explore(kind, bounds=ALONE, properties=["integrity"]) for kind in (Climbing, Bounded))
    assert free.whole
    assert bounded.whole
    assert bounded.states < free.states
    assert (free.switched_off, bounded.switched_off.keys()) == ({}, {"epochs"})


@pytest.mark.parametrize(
    ("kind", "reason"),
    [(Forgetful, "highest_epoch: KeyError: 'epoch'"), (Vague, "highest_epoch: expected a whole number, found 'many'")],
)
def test_a_protocol_that_fails_to_say_so_is_refused(kind: type[Climbing], reason: str) -> None:
    with pytest.raises(CannotExplore, match=reason) as refused:
        explore(kind, bounds=ALONE, properties=["integrity"])
    assert refused.value.argument == "protocol"


def test_code_that_raises_is_a_counterexample() -> None:
    found = explore(Failing, bounds=ALONE)
    assert (found.broken, found.raised, found.whole, found.steps) == (None, True, False, 1)
    assert found.counterexample is not None
    assert found.counterexample.schedule.choices == (choices.Elect(1, 1),)


class Exploding(zabcheck.Process):
    """Raises at a time-out, before it changes anything."""

    def on_timed_out(self) -> None:
        raise KeyError("nothing has changed")


def test_a_step_that_raises_before_it_changes_anything_is_found_where_time_outs_are_not_counted() -> None:
    found = explore(Exploding, bounds=Bounds(1, 1, 0, UNLIMITED, 0), properties=["integrity"])
    assert (found.broken, found.raised, found.whole) == (None, True, False)


# Questions that are refused.


@pytest.mark.parametrize(
    ("asked", "argument", "reason"),
    [
        ({"protocol": "nothing"}, None, "no protocol `nothing`"),
        ({"mutant": "nothing"}, None, "no mutant `nothing` of protocol `zab`"),
        ({"properties": ["nothing"]}, None, "nothing"),
        ({"protocol": "db19-fifo"}, "protocol", "expected one whose processes follow whom an oracle names"),
        ({"mutant": "non-fifo-link"}, "mutant", "expected channels that keep the order"),
        ({"bounds": Bounds(processes=6)}, "bounds", "expected 1 to 5 processes, found 6"),
        ({"bounds": Bounds(processes=0)}, "bounds", "expected 1 to 5 processes, found 0"),
        ({"quorums": "weights 1"}, "quorums", "expected"),
        ({"switches": Switches(elections="together")}, "switches", "expected another value"),
        ({"switches": Switches(elections="fle")}, "switches", "the processes of `zab` do not vote"),
        ({"properties": ["convergence"]}, "properties", "expected one that can be judged in every state"),
        (
            {"properties": ["convergence", "invariant 1"], "bounds": Bounds(1, 1, 1, 0)},
            "properties",
            "no property of the search reads delivered sequences",
        ),
    ],
)
def test_what_is_refused(asked: dict[str, Any], argument: str | None, reason: str) -> None:
    with pytest.raises(CannotExplore, match=reason) as refused:
        explore(**asked)
    assert refused.value.argument == argument
    assert "\n" not in str(refused.value)


# Certified.

TWO_LEADERS = (choices.Elect(1, 1), choices.Elect(2, 2))


def planted(*run: choices.AnyChoice, violates: str | None = None) -> Schedule:
    return schedule_of("zab", "quorum-off-by-one", 2, run, violates, switches=ATOMIC)


def minimal(name: str) -> Schedule:
    """A minimal schedule of a bug of ZooKeeper."""
    file = MINIMAL / f"{name}.schedule.json"
    return load(file.read_bytes(), file.name)


def test_the_shortest_run_is_certified() -> None:
    found = certify(planted(*TWO_LEADERS, violates="epoch uniqueness"))
    assert (found.certified, found.tried, found.broken, found.counterexample) == (2, 1, None, None)
    assert not found.reduction


def test_a_shorter_run_is_given() -> None:
    found = certify(planted(TWO_LEADERS[0], choices.Timeout(1), *TWO_LEADERS))
    assert (found.certified, found.steps, found.broken) == (4, 2, "epoch uniqueness")
    assert_real(found)


def test_a_snapshot_is_counted_among_what_a_run_uses() -> None:
    delivered_twice = (choices.Elect(1, 1), choices.Request(1), choices.Snapshot(1), choices.Request(1))
    again = (choices.Request(1), choices.Crash(1), choices.Recover(1), choices.Elect(1, 1), choices.Request(1))
    run = schedule_of("zab", "redeliver-with-gap", 1, delivered_twice + again, "total order", switches=ATOMIC)
    found = certify(run)
    assert found.bounds == "1 process, 2 epochs, 4 transactions, 0 time-outs, 1 crash, 1 snapshot"
    assert (found.certified, found.steps, found.broken) == (9, 6, "total order")
    assert_real(found)


@pytest.mark.parametrize(("name", "steps"), sweep([("1319", 21), ("1343", 14)], normal=[("1343", 14)]))
def test_a_run_with_elections_by_vote_is_certified(name: str, steps: int) -> None:
    found = certify(minimal(name))
    assert (found.certified, found.tried, found.counterexample) == (steps, steps - 1, None)
    assert "elections oracle" in found.settings


@pytest.mark.slow
def test_an_election_by_vote_uses_a_timeout_for_each_process_that_leaves_an_iteration() -> None:
    run = minimal("1343")
    longer = structs.replace(run, choices=(choices.Lead(3, (1,)), *run.choices))
    assert "1 time-out," in certify(run).bounds
    assert "3 time-outs," in certify(longer).bounds


@pytest.mark.slow
def test_an_election_that_elects_nobody_is_a_timeout_for_each_process_that_leaves_an_iteration() -> None:
    """Processes 1 and 3 have the same history, and 3 the greater id: it cannot follow 1."""
    run = minimal("1343")
    longer = structs.replace(run, choices=(choices.Lead(3, (1,)), choices.Lead(1, (3,)), *run.choices))
    found = certify(longer)
    assert (found.certified, found.steps) == (len(run.choices) + 3, len(run.choices))


@pytest.mark.slow
def test_a_run_of_elections_by_messages_is_certified() -> None:
    switches = ZooKeeperSwitches(sync="atomic", closing="abrupt", elections="fle", version="3.4.0-rc0", defects="1319")
    known = explore("zookeeper", bounds=Bounds(processes=2), switches=switches, properties=["core"])
    assert known.counterexample is not None
    found = certify(known.counterexample.schedule)
    assert (found.certified, found.tried, found.counterexample) == (known.steps, known.steps - 1, None)
    assert "elections fle" in found.settings


def test_a_run_that_violates_nothing_is_not_certified() -> None:
    with pytest.raises(CannotExplore, match="expected a run that violates a property; it does not"):
        certify(planted(TWO_LEADERS[0]))


def test_a_run_with_an_obstacle_is_not_certified() -> None:
    with pytest.raises(CannotExplore, match="expected no `cut`, a run with one cannot be certified"):
        certify(planted(choices.Cut(1, 2), *TWO_LEADERS))


def test_a_run_with_more_than_can_be_counted_is_not_certified() -> None:
    snapshots = 16 * (choices.Request(1), choices.Snapshot(1))
    run = schedule_of("zab", "quorum-off-by-one", 2, (TWO_LEADERS[0], *snapshots, TWO_LEADERS[1]), switches=ATOMIC)
    with pytest.raises(CannotExplore, match="expected at most 15 snapshots"):
        certify(run)


@pytest.mark.slow
def test_what_follows_a_search_goes_on_where_it_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once while leaders are followed, and once while the ensemble is left alone, of 501 states each."""
    for module in (undisturbed, rests):
        monkeypatch.setattr(module, "LOOK", 100)
    monkeypatch.setattr(space, "RECHECKED", 20)
    to_follow, taken = space.Space.to_follow, list[list[int]]()

    def noted(searched: space.Space, done: int) -> Iterator[tuple[int, Row]]:
        taken.append([])
        for state, row in to_follow(searched, done):
            taken[-1].append(state)
            yield state, row

    def interrupt_after(looks: int) -> Callable[[], None]:
        def look() -> None:
            if sum(map(len, taken)) >= looks:
                raise KeyboardInterrupt

        return look

    monkeypatch.setattr(space.Space, "to_follow", noted)
    bounds, file = structs.replace(TWO, epochs=2, txns=2, timeouts=0, crashes=1), tmp_path / "at"
    whole = explore(bounds=bounds)
    assert [len(each) for each in taken] == [501, 501]
    found = []
    for looks, followed in ((300, [300]), (420, [10 + 10 + 201, 200]), (9999, [10 + 10, 10 + 10 + 301])):
        taken.clear()
        look = interrupt_after(looks)
        found.append(explore(bounds=bounds, checkpoint=file, resume=bool(found), look_for_interrupt=look))
        assert [len(each) for each in taken] == followed, "20 of those that were followed are followed again"
    assert [each.interrupted for each in found] == [True, True, False]
    assert structs.replace(found[-1], seconds=0.0) == structs.replace(whole, seconds=0.0)


@pytest.mark.slow
def test_a_search_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    file = tmp_path / "at"
    bounds = structs.replace(TWO, epochs=2, txns=2, timeouts=2, crashes=1)
    unfinished = explore(bounds=bounds, properties=["total order"], reduction=False, memory=1, checkpoint=file)
    assert not unfinished.whole
    resumed = explore(bounds=bounds, properties=["total order"], reduction=False, checkpoint=file, resume=True)
    whole = explore(bounds=bounds, properties=["total order"], reduction=False)
    assert resumed.whole
    assert structs.replace(resumed, seconds=0.0) == structs.replace(whole, seconds=0.0)

"""Searches of the model: each bug in the versions that have it, nothing in the one without known defects."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from invariants import Chain, Deliver, Send, select
from tests.tiers import sweep
from tests.zookeeper.model.builders import D
from zabcheck.counterexample.explain import explain
from zabcheck.counterexample.forms.terminal import to_text
from zabcheck.protocols import PROTOCOLS
from zabcheck.search import machine, swarm
from zabcheck.search.run import ProtocolRaised, Replay, Search, replay, schedule_of
from zabcheck.search.tally import Tally
from zabcheck.simulation.choices import Elect, Heal, Lead, Request, Settle, Sever, Timeout
from zabcheck.simulation.schedule import Schedule, load
from zabcheck.simulation.simulator import Simulator
from zabcheck.zookeeper.model import KINDS, messages, show
from zabcheck.zookeeper.model.switches import Grain, Release, ZooKeeperSwitches
from zabcheck.zookeeper.model.versions import ON_REQUEST, REPAIRS, VERSIONS

ZOOKEEPER = PROTOCOLS["zookeeper"]
SCHEDULES = Path(__file__).parent / "schedules"
SINCE_3_5 = (
    *("3.5.5", "3.6.3", "3.8.0", "3.9.2", "3.9.3", "3.9.5"),
    *("pr-1130", "pr-2172", "pr-2268", "pr-2459"),
)
KEPT: dict[str, tuple[str, ...]] = {
    "335": ("3.3.1", "3.4.0-rc0", "3.4.2"),
    "790": ("3.3.1",),
    "962": ("3.3.1",),
    "1154": ("3.3.1",),
    "1264": ("3.3.1", "3.4.0-rc0"),
    "1282": ("3.4.0-rc0",),
    "1319": ("3.3.1", "3.4.0-rc0"),
    "1343": ("3.3.1", "3.4.0-rc0", "3.4.2"),
    "1489": ("3.4.2",),
    "2355": ("3.4.10",),
    "2832": ("3.4.0-rc0", "3.4.2", *SINCE_3_5),
    "2832-differ": ("3.4.0-rc0", "3.4.2", *SINCE_3_5),
    "2845": ("3.4.10",),
    "2846-gap": SINCE_3_5,
    "2846-abandoned": ("3.4.0-rc0", *SINCE_3_5),
    "2872": ("3.4.0-rc0", "3.4.2", "3.5.5"),
    "3104": ("3.3.1", "3.4.0-rc0", "3.4.2", "3.4.10"),
    "3598": ("3.6.3", "3.8.0", "3.9.2", "3.9.3"),
    "3598-agreement": ("3.6.3", "3.8.0", "3.9.2", "3.9.3"),
    "3642": ("3.3.1", "3.4.0-rc0", "3.5.5"),
    "3911": SINCE_3_5[:4],
    "4311": ("3.5.5", "3.6.3"),
    "4409": ("3.8.0", "3.9.2"),
    "4643": ("3.4.10", *SINCE_3_5[:3]),
    "4646": ("3.3.1", "3.4.0-rc0", *SINCE_3_5[:3]),
    "4712-halted": SINCE_3_5[:4],
    "4712-leaks": SINCE_3_5[:4],
    "4712c": SINCE_3_5[:4],
    "4837": SINCE_3_5,
    "4837-skipped": ("3.4.2", "3.4.10", *SINCE_3_5),
    "4882": ("3.4.10", *(each for each in SINCE_3_5 if each != "pr-2268")),
    "4925": ("3.9.3",),
    "5094": ("3.9.3", "3.9.5", "pr-1130", "pr-2172", "pr-2268"),
    "5094-weights": ("3.9.3", "3.9.5", "pr-1130", "pr-2172", "pr-2268"),
    "n1": ("3.3.1", "3.4.0-rc0", *SINCE_3_5[4:]),
    "n2": SINCE_3_5,
    "n3": ("3.4.10", *SINCE_3_5),
    "n3-weights": ("3.4.10", *SINCE_3_5),
    "n4": ("3.4.10", *SINCE_3_5),
}
"""Each minimal schedule with the releases in which it breaks a property, all of their defects included.

A release can have several defects of which each shows in the same run, as 3911, 4712 and 4712c do, or 335 and 1343.
What synchronises otherwise may have the bug, and need another schedule, as releases up to 3.9.2 do for 5094 and N1.
"""
AS_ANOTHER: dict[Release, Release] = {"3.8.4": "3.8.0", "master": "3.9.5"}
"""Versions that do in everything what another one does."""
DISTINCT = tuple(version for version in VERSIONS if version not in AS_ANOTHER)
FOUND: dict[str, tuple[Release, Grain]] = {
    "335": ("3.3.1", "G0"),
    "962": ("3.3.1", "G0"),
    "1154": ("3.3.1", "G0"),
    "1264": ("3.4.0-rc0", "G0"),
    "1282": ("3.4.0-rc0", "G0"),
    "1319": ("3.4.0-rc0", "G0"),
    "1343": ("3.4.2", "G0"),
    "1489": ("3.4.2", "G0"),
    "2355": ("3.4.10", "G0"),
    "2832": ("3.9.5", "G0"),
    "2845": ("3.4.10", "G0"),
    "2846": ("3.9.5", "G0"),
    "2872": ("3.5.5", "G0"),
    "3104": ("3.4.10", "G0"),
    "3598": ("3.8.0", "G4"),
    "3642": ("3.5.5", "G0"),
    "3911": ("3.5.5", "G0"),
    "4311": ("3.6.3", "G0"),
    "4409": ("3.8.0", "G2"),
    "4643": ("3.8.0", "G1"),
    "4646": ("3.8.0", "G2"),
    "4712": ("3.8.0", "G4"),
    "4712c": ("3.8.0", "G0"),
    "4837": ("3.9.5", "G0"),
    "4882": ("3.9.5", "G2"),
    "4925": ("3.9.3", "G0"),
    "5094": ("3.9.5", "G3"),
    "n1": ("3.9.5", "G2"),
    "n2": ("3.9.5", "G0"),
    "n3": ("3.9.5", "G3"),
    "n4": ("3.9.5", "G0"),
}
"""A release that has each bug, and the coarsest grain in which it shows."""
ERRORS: dict[str, tuple[Release, Grain, tuple[str, ...]]] = {
    "1653": ("3.9.5", "G1", SINCE_3_5),
    "3023": ("3.8.0", "G3", ("3.4.10", *SINCE_3_5[:4])),
    "4394": ("3.8.0", "G0", SINCE_3_5[1:4]),
    "4685": ("3.8.0", "G2", SINCE_3_5[1:3]),
}
"""Bugs that break no property, but come upon an error (the switch `errors`): a release, and the coarsest grain.

Then the releases in which the minimal schedule comes upon it, with all other defects repaired.
"""
REPAIRED: dict[str, Release] = {
    "335": "3.4.0-rc0",
    "962": "3.4.0-rc0",
    "1154": "3.4.0-rc0",
    "1264": "3.4.2",
    "1282": "3.4.2",
    "1319": "3.4.2",
    "1343": "3.4.10",
    "1489": "3.4.10",
    "2845": "3.5.5",
    "2872": "3.6.3",
    "3104": "3.5.5",
    "3642": "3.6.3",
    "4311": "3.8.0",
    "4409": "3.9.3",
    "4712": "3.9.3",
    "4925": "3.9.5",
}
"""A release that has it no more; of the others there is none yet."""


def kept(name: str) -> Schedule:
    file = SCHEDULES / f"{name}.schedule.json"
    return load(file.read_bytes(), file.name)


def with_switches(name: str, **values: Any) -> Replay:
    schedule = kept(name)
    return replay(
        structs.replace(schedule, switches=structs.replace(schedule.switches, **values)), ZOOKEEPER.properties
    )


def broken(run: Replay) -> list[str]:
    return [each.property for each in run.verdicts if each.status == "violated"]


@pytest.mark.parametrize("name", KEPT)
def test_a_minimal_schedule_breaks_a_property_by_its_bug_alone(name: str) -> None:
    run = with_switches(name)
    assert run.skipped == 0
    assert run.schedule.violates in broken(run)
    assert run.schedule.switches.defects == name.partition("-")[0]
    assert run.schedule.switches.version in KEPT[name]


@pytest.mark.parametrize("name", KEPT)
def test_a_minimal_schedule_breaks_exactly_the_versions_that_have_the_bug(name: str) -> None:
    violates = kept(name).violates
    bug = name.partition("-")[0]
    defects = bug if bug in ON_REQUEST else "all"
    runs = {version: with_switches(name, version=version, defects=defects) for version in DISTINCT}
    violated = [version for version, run in runs.items() if violates in broken(run)]
    assert violated == [version for version in DISTINCT if version in KEPT[name]]


@pytest.mark.parametrize("name", sweep(KEPT, normal=[*KEPT][::3]))
def test_a_minimal_schedule_breaks_nothing_where_the_bug_is_repaired(name: str) -> None:
    for version in DISTINCT:
        assert broken(with_switches(name, version=version, defects="none")) == []


@pytest.mark.parametrize("name", ERRORS)
def test_a_minimal_schedule_of_an_error_shows_it_where_the_bug_is(name: str) -> None:
    release, grain, having = ERRORS[name]
    switches = kept(name).switches
    assert (switches.version, switches.defects, switches.grain, switches.errors) == (release, name, grain, "raised")
    runs = {version: with_switches(name, version=version) for version in DISTINCT}
    assert tuple(version for version, run in runs.items() if run.raised) == having
    assert runs[release].skipped == 0
    assert not any(with_switches(name, version=version, defects="none").raised for version in DISTINCT)


@pytest.mark.parametrize("name", ERRORS)
def test_where_errors_are_handled_the_same_run_goes_on_and_breaks_nothing(name: str) -> None:
    run = with_switches(name, errors="handled")
    assert run.raised is None
    assert broken(run) == []


@pytest.mark.parametrize("name", sweep(ERRORS, normal=("4394",)))
def test_the_swarm_finds_an_error(name: str) -> None:
    version, grain, _ = ERRORS[name]
    with pytest.raises(ProtocolRaised):
        search(version, name, 10_000, 1, grain=grain, errors="raised")


def test_an_error_is_told_as_one_of_the_code_that_is_modelled() -> None:
    story = explain(kept("4394"))
    assert story.raised is not None
    assert story.raised.title == "the code that is modelled has an error"
    assert story.raised.traceback == ()
    assert to_text(story, 200).splitlines()[1].startswith("Learner.syncWithLeader: a NullPointerException, as COMMIT")


BEHIND_A_SNAP = (
    *(Lead(2, (1,)), Settle(6), Request(2), Settle(3)),
    *(Elect(3, 2), Settle(6)),  # 3 gets SNAP(⟨1,1⟩), so it has no record ⟨1,1⟩
    *(Lead(3, (1,)), Settle(6), Sever(3, 1), Request(3)),  # ⟨2,1⟩ is at 3 alone
    *(Lead(1, (2,)), Settle(6), Heal(), Timeout(3), Elect(3, 1), Settle(6)),  # 3 gets TRUNC(⟨1,1⟩)
    *(Request(1), Settle(4)),
)
"""The scenario in which N2 was seen on real servers."""


@pytest.mark.parametrize(("defects", "kept"), [("n2", True), ("all", True), ("none", False)])
def test_trunc_behind_a_snap_keeps_one_record_too_many(defects: Any, kept: bool) -> None:
    switches = ZooKeeperSwitches(sync="atomic", elections="oracle", defects=defects)
    run = replay(schedule_of("zookeeper", None, 3, BEHIND_A_SNAP, switches=switches), ZOOKEEPER.properties)
    packets = [event.text for event in run.events if isinstance(event, Send) and event.kind in ("SNAP", "TRUNC")]
    assert packets == ["⟨1,1⟩", "⟨1,1⟩"]
    delivered = [event.txn.value for event in run.events if isinstance(event, Deliver) and event.process == 3]
    assert delivered == (["v2", "v3"] if kept else ["v3"]), "v1 came with the snapshot"
    assert ("total order" in broken(run)) is kept


def search(
    version: Release, defects: str, runs: int, seed: int, engine: Any = swarm, **fixed: Any
) -> tuple[Any, Tally]:
    names = tuple(kind.name for kind in select(ZOOKEEPER.properties))
    tally = Tally(select(names))
    fixed = {"version": version, "defects": defects, **fixed}
    processes = 3 if engine is machine else None
    return engine.find(Search(ZOOKEEPER, processes, names, runs, 200, seed, tally.add, fixed=fixed)), tally


QUICKER = {"4643": 4, "5094": 3, "2832": 2, "2846": 3, "4925": 2, "n1": 2}
"""Seeds that take a tenth of the runs that seed 1 takes, for the bugs that take most."""


@pytest.mark.parametrize(
    ("defects", "seed"),
    sweep([(bug, QUICKER.get(bug, 1)) for bug in FOUND], normal=[("2872", 1), ("3911", 1), ("n2", 1)]),
)
def test_the_swarm_finds_each(defects: str, seed: int) -> None:
    version, grain = FOUND[defects]
    assert search(version, defects, 10_000, seed, grain=grain)[0] is not None


@pytest.mark.slow
def test_hypothesis_finds() -> None:
    assert search("3.9.5", "n2", 300, 1, machine, grain="G0")[0] is not None


def test_without_known_defects_nothing_is_found() -> None:
    found, tally = search("3.9.5", "none", 60, 1)
    assert found is None
    assert [name for name, runs in tally.exercised.items() if not runs] == []


@pytest.mark.slow
@pytest.mark.parametrize("version", DISTINCT)
def test_without_known_defects_nothing_is_found_in_many_runs(version: Release) -> None:
    """No violation, and no error either."""
    assert search(version, "none", 60, 1, errors="raised")[0] is None


@pytest.mark.slow
@pytest.mark.parametrize("defects", REPAIRED)
def test_the_release_with_the_repair_survives(defects: str) -> None:
    assert search(REPAIRED[defects], defects, 40, 1)[0] is None


def test_an_explanation_shows_the_files_and_the_packets() -> None:
    """4837: the snapshot survives a TRUNC."""
    text = to_text(explain(kept("4837")), 200)
    for shown in ("TRUNC(⟨0,0⟩)", "snapshots +⟨1,1⟩", "log −v1⟨1,1⟩", "oracles: p3 leads p2", "ACKEPOCH(1, ⟨1,1⟩)"):
        assert shown in text


def test_every_packet_has_a_name() -> None:
    zxid, chain = D.zxid, Chain.of([D])
    packets = (
        messages.FollowerInfo(2),
        messages.LeaderInfo(2),
        messages.AckEpoch(None, zxid),
        messages.Diff(zxid),
        messages.Trunc(zxid),
        messages.Snap(zxid, chain),
        messages.Proposal(D),
        messages.Commit(zxid),
        messages.NewLeader(2),
        messages.Ack(zxid),
        messages.UpToDate(),
    )
    assert [show(packet)[0] for packet in packets] == list(KINDS.values())
    assert show(packets[2]) == ("ACKEPOCH", "-1, ⟨2,1⟩")


def test_an_election_names_the_greatest_vote_of_a_quorum() -> None:
    run = Simulator(ZOOKEEPER, 3, lambda _: None, switches=ZooKeeperSwitches(sync="atomic", elections="oracle"))
    assert run.execute(Lead(1, (2,))) == 0, "2 has the greater vote"
    assert run.execute(Lead(3, ())) == 0, "no quorum"
    assert run.execute(Elect(1, 3)) == 0, "3 leads nobody"
    assert run.execute(Lead(2, (1,))) == 1
    assert run.following[1:] == [2, 2, 0]
    assert run.execute(Elect(3, 2)) == 1, "a quorum has 2"
    assert run.execute(Elect(1, 2)) == 0, "it is in an iteration"


def test_every_defect_is_a_value_of_a_version() -> None:
    for name, repair in REPAIRS.items():
        for field, repaired in repair.items():
            assert any(getattr(version, field) != repaired for version in VERSIONS.values()), (name, field)

"""A run of the model as a schedule for real servers: what each choice becomes, and what cannot be had."""

from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from invariants import Zxid
from tests.tiers import sweep
from zabcheck.protocols.switches import parsed
from zabcheck.simulation import choices
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import AnyChoice
from zabcheck.simulation.schedule import Schedule
from zabcheck.zookeeper.conformance.on_servers import CannotBeHad, Translation, as_servers_are, translate
from zabcheck.zookeeper.model.switches import Release, ZooKeeperSwitches
from zabcheck.zookeeper.run.choices.in_step import Expect, LetThrough
from zabcheck.zookeeper.run.choices.points import AwaitStop, Go, Stop
from zabcheck.zookeeper.run.choices.servers import Kill
from zabcheck.zookeeper.run.schedule import decode, encode

KEPT = Path(__file__).parents[1] / "model/schedules"
KNOWN: dict[str, Release] = {
    "2832": "3.9.5",
    "2832-differ": "3.9.5",
    "2846-abandoned": "3.9.5",
    "3911": "3.8.0",
    "4643": "3.8.0",
    "4646": "3.8.0",
    "4712-leaks": "3.8.0",
    "4712c": "3.8.0",
    "4837": "3.9.5",
    "5094": "3.9.5",
    "n1": "3.9.5",
    "n2": "3.9.5",
}
each_known = pytest.mark.parametrize("name", sweep(tuple(KNOWN), normal=["4643", "n1", "5094"]))


def kept(name: str, version: Release = "3.9.5") -> Schedule:
    file = KEPT / f"{name}.schedule.json"
    schedule = schedules.load(file.read_bytes(), file.name)
    return as_servers_are(replace(schedule, switches=replace(schedule.switches, version=version)), version)


def run_of(*done: AnyChoice, processes: int = 3, quorums: str = "majority", **switches: str) -> Schedule:
    named = {"elections": "oracle", **switches}
    return Schedule(
        1,
        "zookeeper",
        processes,
        done,
        quorums=quorums,
        switches=ZooKeeperSwitches(**parsed([f"{name}={value}" for name, value in named.items()], ZooKeeperSwitches)),
    )


@pytest.mark.parametrize(("version", "servers"), [("3.8.4", "3.8.0"), ("master", "3.9.5")])
def test_a_run_of_a_version_that_does_the_same_can_be_had(version: Release, servers: Release) -> None:
    run = as_servers_are(run_of(*ESTABLISHED, version=version), servers)
    assert run.switches.version == servers
    with pytest.raises(CannotBeHad, match=f"its version is {version}, the servers are 3.9.3"):
        as_servers_are(run_of(*ESTABLISHED, version=version), "3.9.3")


def test_servers_go_on_after_an_error() -> None:
    assert translate(kept("4394", "3.8.0")).schedule.choices


def words(translation: Translation, of: int) -> list[str]:
    """Return what servers do instead of choice number `of`."""
    pairs = zip(translation.schedule.choices, translation.sources, strict=True)
    return [each.words() for each, source in pairs if source == of]


ESTABLISHED = (
    choices.Lead(3, (2,)),
    choices.Receive(3, 2),
    choices.Receive(2, 3),
    choices.Receive(3, 2),
    choices.Receive(2, 3),
    choices.Receive(2, 3),
    choices.Receive(3, 2),
)


def test_each_choice_has_its_choices_on_servers() -> None:
    ends = choices.Crash(3), choices.Wipe(3), choices.Recover(3)
    run = run_of(*ESTABLISHED, choices.Request(3), choices.Timeout(2), *ends)
    translation = translate(run)
    assert words(translation, -1) == [
        "let packets pass one by one, and nobody elect",
        "start C",
        "start B",
        "start A",
        *(f"compare {server} with the model after choice -1" for server in "CBA"),
    ]
    assert words(translation, 0)[0] == "let A, B elect one of them, who hear A only"
    assert words(translation, 0)[2] == "let A, B elect one of them"
    assert words(translation, 0)[4] == "let nobody elect any more"
    assert words(translation, 1)[1:] == ["pass FOLLOWERINFO on B → A", "compare A with the model after choice 1"]
    assert words(translation, 7) == ["a write of 10 bytes at A", "compare A with the model after choice 7"]
    assert words(translation, 8)[0] == "close the end of B of its connection with A"
    assert words(translation, 9) == ["kill -9 of A", "compare A with the model after choice 9"]
    assert words(translation, 10) == ["wipe the disk of A"]
    assert words(translation, 11) == ["start A", "compare A with the model after choice 11"]


def test_a_server_that_waits_for_a_leader_that_leads_anew_elects_it_again() -> None:
    """A real connection was made at once, and has ended with the leader's last iteration."""
    run = run_of(choices.Lead(3, (2,)), choices.Lead(3, (1,)), choices.Receive(3, 2))
    said = [each for each in words(translate(run), 1) if not each.startswith("compare")]
    assert said[-4:] == [
        "lose what is under way between B and A",
        "close the end of B of its connection with A",
        "let A, B, C elect one of them",
        "let nobody elect any more",
    ]


def test_what_waits_on_a_connection_is_passed_before_the_leader_notices_that_it_has_ended() -> None:
    run = run_of(choices.Lead(3, (2,)), choices.Timeout(2), choices.Receive(3, 2), choices.Notice(3, 2))
    translation = translate(run)
    assert words(translation, 1)[0] == "close the end of B of its connection with A"
    assert words(translation, 2) == ["pass FOLLOWERINFO on B → A", "compare A with the model after choice 2"]


def test_the_connection_before_is_noticed_to_have_ended_when_its_follower_is_back() -> None:
    again = choices.Timeout(2), choices.Elect(2, 3), choices.Receive(3, 2)
    translation = translate(run_of(choices.Lead(3, (2, 1)), choices.Receive(3, 2), *again))
    assert words(translation, 4)[:2] == ["let A notice that B has closed its connection", "pass FOLLOWERINFO on B → A"]


def test_a_connection_that_ended_with_an_iteration_cannot_be_had_in_the_next() -> None:
    """In the model it waits for the new iteration; a server that is still there elects the same leader again."""
    run = run_of(choices.Lead(3, (2,)), choices.Timeout(2), choices.Lead(3, (1,)), choices.Receive(3, 2))
    with pytest.raises(CannotBeHad, match=r"choices\[3\], receive process 3, sender 2: its sender has left, and"):
        translate(run)
    back = run_of(
        choices.Lead(3, (2,)), choices.Timeout(2), choices.Lead(3, (1,)), choices.Elect(2, 3), choices.Receive(3, 2)
    )
    assert "pass FOLLOWERINFO on B → A" in words(translate(back), 4)


def test_the_counters_of_servers_do_not_end_so_soon() -> None:
    run = as_servers_are(run_of(*ESTABLISHED, counter_limit="2"), "3.9.5")
    assert run.switches.counter_limit == ZooKeeperSwitches().counter_limit


def test_what_is_compared_after_a_request() -> None:
    translation = translate(run_of(*ESTABLISHED, choices.Request(3)))
    expected, *_ = [
        each for each in translation.schedule.choices if isinstance(each, Expect) and each.after == len(ESTABLISHED)
    ]
    first = Zxid(1, 1).packed()
    assert (expected.server, expected.up, expected.log, expected.snapshots) == ("A", True, (first,), (0,))
    assert expected.fields == {
        "acceptedEpoch": 1,
        "currentEpoch": 1,
        "lastProcessedZxid": Zxid(1, 0).packed(),
        "lastProposed": first,
        "outstandingProposals": 1,
    }
    assert expected.under_way == {"B": ("UPTODATE", "PROPOSAL")}


@each_known
def test_the_runs_of_known_bugs_can_be_had(name: str) -> None:
    translation = translate(kept(name, KNOWN[name]))
    schedule = translation.schedule
    assert decode(encode(schedule), name) == schedule
    assert list(translation.sources) == sorted(translation.sources)
    received = [each for each in translation.executed if isinstance(each, choices.Receive)]
    assert len(received) == sum(isinstance(each, LetThrough) for each in schedule.choices)
    assert {number for number in translation.sources if number >= 0} >= {
        number for number, each in enumerate(translation.executed) if isinstance(each, choices.Receive)
    }


@each_known
def test_no_thread_is_stopped_twice_at_a_point_and_none_goes_on_that_is_not_stopped(name: str) -> None:
    """A server that is killed loses its stops; the next incarnation has its own."""
    stopped: Counter[tuple[str, str]] = Counter()
    for each in translate(kept(name, KNOWN[name])).schedule.choices:
        match each:
            case Stop(server, point):
                stopped[server, point] += 1
                assert stopped[server, point] == 1, each.words()
            case AwaitStop(server, point):
                assert stopped[server, point] == 1, each.words()
            case Go(server, point):
                assert stopped[server, point] == 1, each.words()
                stopped[server, point] -= 1
            case Kill(server):
                for key in [*stopped]:
                    if key[0] == server:
                        del stopped[key]


def test_a_thread_takes_its_turns_as_in_the_run() -> None:
    """4643: the follower is killed when its epoch is written, and its history is not."""
    translation = translate(kept("4643", "3.8.0"))
    _, crash = (number for number, each in enumerate(translation.executed) if isinstance(each, choices.Crash))
    assert words(translation, crash - 2)[:2] == [
        "hold the next thread of C that comes to learner-epoch",
        "pass NEWLEADER on A → C",
    ]
    assert words(translation, crash - 1)[:3] == [
        "hold the next thread of C that comes to learner-start-threads",
        "let the thread of C at learner-epoch go on",
        "wait until the thread of C has come to learner-start-threads, 10 s at most",
    ]
    assert words(translation, crash)[0] == "kill -9 of C"


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (run_of(processes=4), "it has 4 processes; an ensemble has 3 or 5 servers"),
        (run_of(quorums="weights 1,1,3"), "its quorums are `weights 1,1,3`; an ensemble has majorities"),
        (run_of(elections="fle"), "it has each message of an election; search with --switch elections=oracle"),
        (
            run_of(choices.Elect(1, 1), choices.Crash(1), elections="apart"),
            "its elections are not by vote (--switch elections=oracle), and none by vote do the same",
        ),
        (
            run_of(*ESTABLISHED, choices.Snapshot(3, cut=True)),
            "choices[7], snapshot process 3, cut True: no server can be told when to write a snapshot",
        ),
    ],
)
def test_what_cannot_be_had_is_told_with_the_choice(run: Schedule, said: str) -> None:
    with pytest.raises(CannotBeHad) as refused:
        translate(as_servers_are(run, "3.9.5"))
    assert str(refused.value) == said


@pytest.mark.parametrize("elections", ["apart", "together"])
def test_elections_become_those_of_servers(elections: str) -> None:
    """The highest number wins among equal votes, who has a greater vote joins, and who joins leaves first."""
    told = {
        "together": (choices.Lead(1, (2,)), choices.Lead(2, (1, 3))),
        "apart": (
            choices.Elect(1, 1),
            choices.Elect(2, 1),
            choices.Elect(2, 2),
            choices.Elect(3, 2),
            choices.Elect(1, 2),
        ),
    }[elections]
    synchronised = tuple(choices.Receive(*each) for each in ((1, 2), (2, 1), (1, 2), (2, 1), (2, 1), (1, 2)))
    first = 1 if elections == "together" else 2
    run = run_of(*told[:first], *synchronised, choices.Request(1), *told[first:], elections=elections)
    voted = as_servers_are(run, "3.9.5")
    assert voted.switches.elections == "oracle"
    assert voted.choices == (
        choices.Lead(2, (1,)),
        *(choices.Receive(*(3 - process for process in (each.process, each.sender))) for each in synchronised),
        choices.Request(2),
        choices.Lead(1, (3,)),
        choices.Timeout(2),
        choices.Elect(2, 1),
    )


def test_servers_have_all_defects_and_the_whole_window_of_their_own_release() -> None:
    run = run_of(window="1", defects="n2")
    switches = as_servers_are(run, "3.9.5").switches
    assert (switches.defects, switches.window) == ("all", 500)
    with pytest.raises(CannotBeHad, match=r"its version is 3\.9\.5, the servers are 3\.8\.0"):
        as_servers_are(run, "3.8.0")
    with pytest.raises(CannotBeHad, match="a disk fails in it, or loses a file"):
        as_servers_are(run_of(defects="4882"), "3.9.5")


def test_a_leader_is_killed_before_its_epoch_is_written() -> None:
    run = run_of(*ESTABLISHED[:4], choices.Crash(3), choices.Recover(3), grain="G1")
    translation = translate(run)
    assert words(translation, 3) == [
        "hold the next thread of A that comes to current-epoch",
        "pass ACKEPOCH on B → A",
        "wait until the thread of A has come to current-epoch, 10 s at most",
        "compare A with the model after choice 3",
    ]
    assert words(translation, 4)[0] == "kill -9 of A"


def test_a_follower_does_what_it_has_begun_before_it_leaves() -> None:
    """It acknowledges NEWLEADER, and only then is its connection closed."""
    run = run_of(*ESTABLISHED[:6], choices.Timeout(2), grain="G1")
    translation = translate(run)
    assert words(translation, 5)[0] == "hold the next thread of B that comes to learner-epoch"
    assert words(translation, 6)[:3] == [
        "let the thread of B at learner-epoch go on",
        "compare B with the model after choice 6",
        "close the end of B of its connection with A",
    ]
    expected = next(
        each
        for each, source in zip(translation.schedule.choices, translation.sources, strict=True)
        if source == 6 and isinstance(each, Expect)
    )
    assert expected.under_way == {"A": ("ACK",)}

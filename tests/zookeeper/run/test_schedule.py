"""A schedule for a real ensemble: data that survives its JSON form, drawn by seed."""

import re
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec import structs

from zabcheck.zookeeper.bugs.catalogue import SCHEDULES
from zabcheck.zookeeper.debugger.catalogue import CATALOGUE
from zabcheck.zookeeper.run import schedule as schedules
from zabcheck.zookeeper.run.choices import KINDS
from zabcheck.zookeeper.run.choices.choice import ROLE_FIELDS, Choice
from zabcheck.zookeeper.run.choices.in_step import Expect, Leave, LetThrough, Lose, Meet, NoticeEnd, OpenedGate
from zabcheck.zookeeper.run.choices.links import Hold, KillAt, Reset
from zabcheck.zookeeper.run.choices.points import (
    AwaitStop,
    Fail,
    Go,
    KillAtPoint,
    PowerLoss,
    ReadFields,
    RollOver,
    Step,
    Stop,
)
from zabcheck.zookeeper.run.choices.reconfigure import Fixed, Readonly, Reconfigure, Writable
from zabcheck.zookeeper.run.choices.servers import BackUp, DiskChoice, Elected, Kill, Restore, Start, StartAll, Wipe
from zabcheck.zookeeper.run.choices.sessions import WAYS, Forbidden, SessionChoice, Sync, Watch
from zabcheck.zookeeper.run.choices.writes import Write
from zabcheck.zookeeper.run.distribution import Distribution, with_properties
from zabcheck.zookeeper.run.draw import draw
from zabcheck.zookeeper.run.schedule import (
    EnsembleSchedule,
    EnsembleScheduleError,
    ThreadOrder,
    decode,
    encode,
    is_for_an_ensemble,
)
from zabcheck.zookeeper.run.tuning import TUNING

SEEDS = range(300)
NO_NAME_LOST = structs.replace(TUNING, disks=structs.replace(TUNING.disks, loses_names=0.0))
AT_POINTS: tuple[Choice, ...] = (
    Stop("A", "ack"),
    Stop("A", "ack", 3),
    AwaitStop("A", "ack"),
    Step("A", "ack"),
    Go("A", "ack"),
    KillAtPoint("A", "ack"),
    Fail("A", "log-force", 2),
    PowerLoss("A"),
    PowerLoss("A", bytes=0),
    PowerLoss("A", "log-force", 2, 1, 20, "lost"),
    PowerLoss("A", "log-force", renames="undone"),
    ReadFields("A", ("currentEpoch", "syncQueue")),
    RollOver("leader"),
)
IN_STEP: tuple[Choice, ...] = (
    OpenedGate(),
    Meet(("A", "B")),
    Meet(("A", "B"), "A"),
    Meet(()),
    LetThrough("B", "A", "ACKEPOCH", 0x100000002),
    Leave("A"),
    Leave("B", "A"),
    NoticeEnd("A", "B"),
    Lose("A", "B"),
    Expect("A", 3, fields={"currentEpoch": 2}, log=(0x100000001,), snapshots=(0,), under_way={"B": ("DIFF",)}),
)


@cache
def in_stages() -> list[EnsembleSchedule]:
    """Return schedules with threads that do not consist of rounds."""
    return [schedule for seed in range(1200) if not (schedule := draw(seed, 3, threads=True)).patient]


@pytest.mark.parametrize("servers", schedules.SIZES)
def test_what_is_drawn_survives_its_json_form(servers: int) -> None:
    for seed in SEEDS:
        schedule = draw(seed, servers)
        assert decode(encode(schedule), "x.json") == schedule
        assert is_for_an_ensemble(encode(schedule))


def test_the_examples_of_the_documentation_are_schedules() -> None:
    files = sorted((Path(__file__).parents[3] / "docs/examples").glob("*.schedule.json"))
    assert [file.name for file in files] == sorted(
        [
            *(file.name for file in SCHEDULES.iterdir()),
            "zookeeper-lost-write-found.schedule.json",
            "zookeeper-old-config-epoch-four-servers.schedule.json",
            "zookeeper-one-list-after-another.schedule.json",
            "zookeeper-skipped-config-four-servers.schedule.json",
            "zookeeper-two-lists-one-epoch.schedule.json",
        ]
    )
    for file in files:
        assert encode(decode(file.read_bytes(), file.name)) == file.read_bytes()


def test_a_seed_gives_the_same_schedule_and_another_seed_another() -> None:
    assert draw(7, 3) == draw(7, 3)
    assert len({draw(seed, 3).choices for seed in SEEDS}) == len(SEEDS)


def test_every_kind_of_choice_has_words_of_its_own_and_most_are_drawn() -> None:
    drawn = {type(choice) for seed in SEEDS for choice in draw(seed, 5, sessions=True).choices}
    not_drawn = {kind.__name__ for kind in KINDS} - {kind.__name__ for kind in drawn}
    of_disk = (Wipe("A"), BackUp("A"), Restore("A"))
    reconfigurations = (Reconfigure("A", ("D",)), Reconfigure("A", observers=("D",)), Reconfigure("A", leaving=("B",)))
    of_configuration = (Fixed("A"), Readonly("A"), Writable("A"))
    by_name = (StartAll(), Sync("A"), Forbidden("A"), Start("A", ("A", "B")), Start("A", ("B",), ("A",)))
    not_drawn_yet = (*by_name, *of_disk, *reconfigurations, *of_configuration, *AT_POINTS, *IN_STEP)
    by_hand = {type(choice).__name__ for choice in not_drawn_yet} - {"Start"}
    assert not_drawn == {"Mend"} | by_hand
    drawn_too = {choice for seed in SEEDS for choice in draw(seed, 5, sessions=True).choices}
    assert {choice.how for choice in drawn_too if isinstance(choice, Watch)} == {*WAYS, "children"}
    every = [*drawn_too, *not_drawn_yet]
    assert len({choice.words() for choice in every}) == len(every)


def test_a_reconfiguration_survives_its_json_form_and_names_servers_that_are_there() -> None:
    choice = Reconfigure("A", voters=("D",), leaving=("C",))
    schedule = EnsembleSchedule(2, "zookeeper", 3, (choice,), observers=1)
    assert schedule.reconfigures
    assert not structs.replace(schedule, choices=(Kill("A"),)).reconfigures
    assert decode(encode(schedule), "x.json") == schedule
    assert choice.words() == "the session of A asks for a configuration in which D votes, C leaves"
    for changed, said in (
        ({"observers": 0}, "field `choices[0].voters`: expected one of A, B, C, leader, found D"),
        ({"choices": (Reconfigure("A", leaving=("E",)),)}, "field `choices[0].leaving`: expected one of"),
        ({"version": 1, "observers": 0}, "expected 2 for a schedule with sessions"),
        ({"version": 1, "observers": 0, "choices": (Readonly("A"),)}, "with unwritten configurations, found"),
    ):
        with pytest.raises(EnsembleScheduleError) as refused:
            decode(encode(structs.replace(schedule, **changed)), "x.json")
        assert said in str(refused.value)


def test_a_list_of_servers_names_each_of_them_once_and_the_server_that_is_started_with_it() -> None:
    schedule = EnsembleSchedule(2, "zookeeper", 3, (Start("D", ("A", "B", "C", "D")),), joiners=1)
    assert not schedule.reconfigures
    assert decode(encode(schedule), "x.json") == schedule
    for changed, said in (
        ({"joiners": 0}, "field `choices[0].server`: expected one of A, B, C, leader, found D"),
        ({"choices": (Start("D", ("A", "E", "D")),)}, "`choices[0].voters`: expected one of A, B, C, D, leader, found"),
        ({"choices": (Start("D", ("A", "B")),)}, "field `choices[0].voters`: expected D in its own list"),
        ({"choices": (Start("D", (), ("D",)),)}, "field `choices[0].observers`: expected `voters`, too"),
        ({"choices": (Start("D", ("A", "D"), ("D",)),)}, "voters and observers, found A, D, D"),
        ({"choices": (Start("D", ("leader", "D")),)}, "field `choices[0].voters`: expected a server, found leader"),
        ({"version": 1}, "expected 2 for a schedule with servers that join, found 1"),
        ({"version": 1, "joiners": 0, "choices": (Start("C", ("C",)),)}, "a schedule with lists of servers, found 1"),
    ):
        with pytest.raises(EnsembleScheduleError) as refused:
            decode(encode(structs.replace(schedule, **changed)), "x.json")
        assert said in str(refused.value)


def test_servers_that_are_reconfigured_let_anybody_ask_for_that() -> None:
    """ZooKeeper has only a superuser reconfigure, unless it is told to check no permissions."""
    plain = Distribution("3.9.5", Path("java"), "zookeeper.jar")
    schedule = EnsembleSchedule(2, "zookeeper", 3, (Reconfigure("A", leaving=("C",)),))
    assert with_properties(plain, schedule).options == ("-Dzookeeper.skipACL=yes",)
    assert with_properties(plain, structs.replace(schedule, choices=())).options == ()


def test_a_schedule_that_keeps_in_step_survives_its_json_form_and_begins_with_the_gate() -> None:
    schedule = EnsembleSchedule(2, "zookeeper", 3, IN_STEP)
    assert schedule.in_step
    assert schedule.needs_agent
    assert decode(encode(schedule), "x.json") == schedule
    for changed, said in (
        ({"choices": IN_STEP[1:]}, "field `choices[0]`: expected `gate`"),
        ({"version": 1}, "expected 2 for a schedule with a gate"),
        ({"choices": (*IN_STEP, Leave("A", "E"))}, f"field `choices[{len(IN_STEP)}].peer`: expected one of"),
        ({"choices": (*IN_STEP, Kill("leader"))}, f"`choices[{len(IN_STEP)}].server`: expected a server, behind"),
        ({"choices": (*IN_STEP, Meet(("D",)))}, f"field `choices[{len(IN_STEP)}].servers`: expected one of"),
        ({"choices": (*IN_STEP, Expect("A", 0, fields={"zxid": 1}))}, "no field `zxid`"),
    ):
        with pytest.raises(EnsembleScheduleError) as refused:
            decode(encode(structs.replace(schedule, **changed)), "x.json")
        assert said in str(refused.value)


def test_quorums_that_follow_each_other_share_one_server() -> None:
    """The search would find little if who is up hardly changed, so that is what the drawing is judged by."""
    crossed = 0
    for seed in SEEDS:
        up, quorums = set("ABC"), []
        for choice in draw(seed, 3).choices:
            if isinstance(choice, Kill):
                up.discard(choice.server)
            elif isinstance(choice, Start):
                up.add(choice.server)
            elif isinstance(choice, Elected):
                quorums.append(frozenset(up))
        crossed += any(len(one & other) == 1 for one, other in pairwise(quorums))
    assert crossed > len(SEEDS) / 5


def test_the_trap_of_a_promise_that_is_not_kept_is_drawn() -> None:
    """The follower that is synchronised dies after its ACK of NEWLEADER; writes came before, another quorum follows."""
    drawn = 0
    for seed in SEEDS:
        choices = draw(seed, 3).choices
        traps = [
            i for i, c in enumerate(choices) if isinstance(c, KillAt) and c.kind == "ACK-LD" and c.server == c.sender
        ]
        drawn += any(
            any(isinstance(choice, Write) for choice in choices[:trap])
            and any(isinstance(choice, Start) for choice in choices[trap + 3 :])
            for trap in traps
        )
    assert drawn > len(SEEDS) / 20


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "x.json, line 1: expected a schedule as one JSON object, Input data was truncated"),
        (
            '{"version":3,"protocol":"zookeeper","servers":3,"choices":[]}',
            "x.json, line 1, field `version`: expected 1 or 2",
        ),
        (
            '{"version":1,"protocol":"zookeeper","servers":3,"choices":[{"choice":"go","server":"A","point":"ack"}]}',
            "x.json, line 1, field `version`: expected 2 for a schedule with points, fields or power failures, found 1",
        ),
        (
            '{"version":1,"protocol":"zookeeper","servers":3,"choices":[{"choice":"read","server":"A","fields":["x"]}]}',
            "x.json, line 1, field `version`: expected 2 for a schedule with points, fields or power failures, found 1",
        ),
        (
            '{"version":1,"protocol":"zookeeper","servers":3,"choices":[{"choice":"multi","server":"A"}]}',
            "x.json, line 1, field `version`: expected 2 for a schedule with sessions, found 1",
        ),
        (
            '{"version":1,"protocol":"zookeeper","servers":3,"observers":1,"choices":[]}',
            "x.json, line 1, field `version`: expected 2 for a schedule with observers, found 1",
        ),
        (
            '{"version":1,"protocol":"zookeeper","servers":3,"choices":[{"choice":"wipe","server":"A"}]}',
            "x.json, line 1, field `version`: expected 2 for a schedule with wiped or restored disks, found 1",
        ),
        (
            '{"version":1,"protocol":"zookeeper","servers":3,"properties":[{"name":"jute.maxbuffer","value":"3"}],"choices":[]}',
            "x.json, line 1, field `version`: expected 2 for a schedule with properties, found 1",
        ),
        (
            '{"version":2,"protocol":"zookeeper","servers":3,"properties":[{"name":"java.home","value":"3"}],"choices":[]}',
            "`: Expected `str` matching regex",
        ),
        (
            '{"version":2,"protocol":"zookeeper","servers":3,"choices":[],'
            '"properties":[{"name":"jute.x","value":"3 -cp x"}]}',
            "`: Expected `str` matching regex",
        ),
        (
            '{"version":2,"protocol":"zookeeper","servers":3,"observers":1,"choices":[{"choice":"kill","server":"E"}]}',
            "x.json, line 1, field `choices[0].server`: expected one of A, B, C, D, leader, found E",
        ),
        (
            '{"version":2,"protocol":"zookeeper","servers":3,"choices":[{"choice":"get","server":"A","of":"D"}]}',
            "x.json, line 1, field `choices[0].of`: expected one of A, B, C, leader, found D",
        ),
        (
            '{"version":2,"protocol":"zookeeper","servers":3,'
            '"choices":[{"choice":"read","server":"A","fields":["currentEpoch","maxCommitedLog"]}]}',
            "x.json, line 1, field `choices[0].fields`: no field `maxCommitedLog`; did you mean `maxCommittedLog`?",
        ),
        (
            '{"version":2,"protocol":"zookeeper","servers":3,"choices":[{"choice":"read","server":"A","fields":[]}]}',
            "x.json, line 1, field `choices[0].fields`: Expected `array` of length >= 1",
        ),
        (
            '{"version":2,"protocol":"zookeeper","servers":3,"choices":[{"choice":"go","server":"A","point":"ak"}]}',
            "x.json, line 1, field `choices[0].point`: no point `ak`; did you mean `ack`?",
        ),
        (
            '{"version":2,"protocol":"zookeeper","servers":3,'
            '"choices":[{"choice":"stop","server":"A","point":"ack","nth":0}]}',
            "x.json, line 1, field `choices[0].nth`: Expected `int` >= 1",
        ),
        (
            '{"version":2,"protocol":"zookeeper","servers":3,'
            '"choices":[{"choice":"powerloss","server":"A","point":"log-forc"}]}',
            "x.json, line 1, field `choices[0].point`: no point `log-forc`; did you mean `log-force`?",
        ),
        (
            '{"version":2,"protocol":"zookeeper","servers":3,"choices":[{"choice":"powerloss","server":"A","bytes":-1}]}',
            "x.json, line 1, field `choices[0].bytes`: Expected `int` >= 0",
        ),
        (
            '{"version":1,"protocol":"zookeeper","servers":3,"choices":[{"choice":"powerloss","server":"A"}]}',
            "x.json, line 1, field `version`: expected 2 for a schedule with points, fields or power failures, found 1",
        ),
        (
            '{"version":1,"protocol":"zookeeper","servers":4,"choices":[]}',
            "x.json, line 1, field `servers`: Invalid value 4; expected one of: 3, 5",
        ),
        (
            '{"version":1,"protocol":"zookeeper","servers":3,"choices":[{"choice":"kill"}]}',
            "x.json, line 1, field `choices[0]`: Object missing required field `server`",
        ),
        (
            '{"version":1,"protocol":"zookeeper","servers":3,"choices":[{"choice":"kill","server":"D"}]}',
            "x.json, line 1, field `choices[0].server`: expected one of A, B, C, leader, found D",
        ),
        (
            '{"version":1,"protocol":"zookeeper","servers":3,"choices":[{"choice":"wait","seconds":99}]}',
            "x.json, line 1, field `choices[0].seconds`: Expected `float` <= 30.0",
        ),
    ],
)
def test_what_is_no_schedule_is_told_in_one_line(text: str, complaint: str) -> None:
    with pytest.raises(EnsembleScheduleError, match=re.escape(complaint)):
        decode(text.encode(), "x.json")


def test_a_schedule_of_the_simulator_is_not_taken_for_one() -> None:
    assert not is_for_an_ensemble(b'{"version":1,"protocol":"zab","processes":3,"choices":[]}')
    assert not is_for_an_ensemble(b'{"version":1,"protocol":"zookeeper","processes":3,"choices":[]}')
    assert not is_for_an_ensemble(b"[]")
    assert not is_for_an_ensemble(b"\xff")


def test_stops_survive_their_json_form() -> None:
    schedule = EnsembleSchedule(2, "zookeeper", 3, (*AT_POINTS, Kill("A")))
    assert decode(encode(schedule), "x.json") == schedule
    assert schedule.points == ("ack", "log-force")
    assert draw(1, 3).points == ()
    assert b'{"choice":"stop","server":"A","point":"ack","nth":3}' in encode(schedule)


def test_a_saved_one_has_a_choice_a_line() -> None:
    schedule = EnsembleSchedule(1, "zookeeper", 3, (Kill("A"), Hold("A", "B", "NEWLEADER")))
    assert encode(schedule).decode() == (
        '{"version":1,"protocol":"zookeeper","servers":3,"choices":[\n'
        '  {"choice":"kill","server":"A"},\n'
        '  {"choice":"hold","sender":"A","receiver":"B","kind":"NEWLEADER"}\n]}\n'
    )


def test_drawn_threads_are_at_points_of_every_version_and_let_go_again() -> None:
    everywhere = set(CATALOGUE) - {"learner-start-threads", "learner-append", "learner-force"}
    seen = set()
    for schedule in in_stages():
        assert schedule.version == 2
        assert decode(encode(schedule), "x.json") == schedule
        assert set(schedule.points) <= everywhere
        stops = [(choice.server, choice.point) for choice in schedule.choices if isinstance(choice, Stop)]
        goes = [(choice.server, choice.point) for choice in schedule.choices if isinstance(choice, Go)]
        assert set(goes) <= set(stops)
        seen |= set(schedule.points)
    of = TUNING.threads
    assert seen == {*of.joining, *of.bringing, *of.leaving, *of.logging, *of.failing, *of.losing}
    assert draw(7, 3, threads=True) == draw(7, 3, threads=True)


def test_with_threads_disks_fail_now_and_then() -> None:
    """Both kinds are drawn, and most schedules have none: what follows would hide what threads alone do."""
    for kind in (Fail, PowerLoss):
        shown = sum(any(isinstance(choice, kind) for choice in schedule.choices) for schedule in in_stages())
        assert 0 < shown < len(in_stages()) / 4
    assert not any(isinstance(choice, Fail | PowerLoss) for seed in SEEDS for choice in draw(seed, 3).choices)


def test_with_sessions_a_schedule_is_the_same_and_sessions_act_in_between() -> None:
    for seed in SEEDS:
        schedule = draw(seed, 3, sessions=True)
        assert schedule.version == 2
        assert decode(encode(schedule), "x.json") == schedule
        rest = tuple(choice for choice in schedule.choices if not isinstance(choice, SessionChoice))
        assert rest == draw(seed, 3).choices
        assert schedule.has_sessions or seed != 1


@pytest.mark.parametrize("observers", [1, 2])
def test_with_observers_a_schedule_is_the_same_and_something_happens_to_them_in_between(observers: int) -> None:
    seen = set()
    for seed in SEEDS:
        schedule = draw(seed, 3, observers=observers)
        assert (schedule.version, schedule.observers) == (2, observers)
        assert decode(encode(schedule), "x.json") == schedule
        of_observers = [choice for choice in schedule.choices if {*"DE"} & {*_roles(choice)}]
        rest = tuple(choice for choice in schedule.choices if choice not in of_observers)
        assert rest == draw(seed, 3).choices
        seen |= {type(choice) for choice in of_observers}
    assert seen == {Write, Kill, Start, Reset}


def test_with_disks_a_schedule_is_the_same_and_something_happens_to_disks_in_between() -> None:
    seen = set()
    for seed in SEEDS:
        schedule = draw(seed, 3, disks=True, tuning=NO_NAME_LOST)
        assert (schedule.version, schedule.patient) == (2, False)
        assert decode(encode(schedule), "x.json") == schedule
        of_disks = [choice for choice in schedule.choices if isinstance(choice, DiskChoice | Fail)]
        assert tuple(choice for choice in schedule.choices if choice not in of_disks) == draw(seed, 3).choices
        assert len({choice.server for choice in of_disks if isinstance(choice, DiskChoice)}) <= 1
        seen |= {type(choice) for choice in of_disks}
    assert seen == {Wipe, BackUp, Restore, Fail}


def test_with_disks_a_power_loss_undoes_renames_and_the_rest_is_the_same() -> None:
    points = set()
    for seed in SEEDS:
        schedule, without = draw(seed, 3, disks=True), draw(seed, 3, disks=True, tuning=NO_NAME_LOST)
        choices = iter(schedule.choices)
        assert all(choice in choices for choice in without.choices), "it is a sub-sequence"
        more = Counter(schedule.choices) - Counter(without.choices)
        lost = [choice for choice in more if isinstance(choice, PowerLoss)]
        assert {type(choice) for choice in more} <= {PowerLoss, Start}
        assert {choice.renames for choice in lost} <= {"undone"}
        points |= {choice.point for choice in lost}
        assert decode(encode(schedule), "x.json") == schedule
    assert points == {*TUNING.disks.named}


def _roles(choice: Choice) -> list[str]:
    return [role for field in ROLE_FIELDS if (role := getattr(choice, field, None))]


def test_with_threads_logs_are_slow_while_a_connection_is_made_anew() -> None:
    """An ACK of before a TRUNC can count only in this way."""
    found = 0
    for schedule in in_stages():
        choices = schedule.choices
        for number, choice in enumerate(choices):
            held = [
                each
                for each in choices[:number][-8:]
                if isinstance(each, Stop) and each.point in TUNING.threads.logging
            ]
            found += isinstance(choice, Reset) and len({each.server for each in held}) >= 2
    assert found > len(in_stages()) / 4


@pytest.mark.parametrize(("nth", "words"), [(1, "the next"), (2, "the 2nd"), (3, "the 3rd"), (4, "the 4th")])
def test_which_thread_is_meant_is_said_in_words(nth: int, words: str) -> None:
    assert Stop("A", "ack", nth).words() == f"hold {words} thread of A that comes to ack"


@pytest.mark.parametrize(
    "decisions",
    ["", "12:1", "12:1,80:1003", "2/SyncRequestProcessor@153:1003", "0/client1writes@1:1,2.3/LearnerHandler.2@0:12"],
)
def test_decisions_of_an_order_of_threads(decisions: str) -> None:
    schedule = EnsembleSchedule(2, "zookeeper", 3, (), simulated=ThreadOrder(decisions=decisions))
    assert decode(encode(schedule), "s.json") == schedule


@pytest.mark.parametrize("decisions", ["1", "a@1:1", "/a@1:1", "2/a@1:1,", "2/a b@1:1", "2/a@-1:1", '2/"@1:1'])
def test_decisions_that_are_none(decisions: str) -> None:
    schedule = EnsembleSchedule(2, "zookeeper", 3, (), simulated=ThreadOrder(decisions=decisions))
    with pytest.raises(EnsembleScheduleError, match=r"simulated\.decisions"):
        decode(encode(schedule), "s.json")


def test_the_words_of_decisions_whose_places_are_known() -> None:
    decisions = "2/SyncRequestProcessor@153:1003,2.3/LearnerHandler.2@4:1000,1/QuorumPeer@7:1"
    assert ThreadOrder(decisions=decisions).words() == []
    assert ThreadOrder(decisions=decisions, places=("FileTxnLog.commit:382", "", "Leader.lead:600")).words() == [
        "thread scheduling decisions:",
        "  SyncRequestProcessor of server 2 stalls for 2.5 s in FileTxnLog.commit:382",
        "  LearnerHandler.2 of server 2 (start 3) stalls for 0.005 s",
        "  another thread runs while QuorumPeer of server 1 is in Leader.lead:600",
    ]

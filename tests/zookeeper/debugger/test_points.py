"""Points are found by what is called, not by lines, and what a version lacks is told."""

import struct
from pathlib import Path

import pytest

from tests.zookeeper import real
from tests.zookeeper.debugger.assembled import IFEQ, RETURN, VIRTUAL, Assembler, Made
from zabcheck.zookeeper.debugger.catalogue import CATALOGUE, Moment, Point
from zabcheck.zookeeper.debugger.class_path import SERVER, ClassPath, ClassPathError
from zabcheck.zookeeper.debugger.points import PlacesOfPoint, PointError, find, located, named

TABLE = """
Learner.readPacket Learner.writePacket Learner.syncWithLeader Learner.registerWithLeader
QuorumPeer.setCurrentEpoch QuorumPeer.setAcceptedEpoch
SyncRequestProcessor.processRequest SyncRequestProcessor.flush SyncRequestProcessor.shutdown
FileTxnSnapLog.append FileTxnSnapLog.commit FileTxnSnapLog.save
SendAckRequestProcessor.processRequest SendAckRequestProcessor.flush
CommitProcessor.run CommitProcessor.commit CommitProcessor.shutdown FinalRequestProcessor.processRequest
FollowerZooKeeperServer.logRequest FollowerZooKeeperServer.commit
LearnerHandler.syncFollower LearnerHandler.queuePacket LearnerHandler.sendPackets
Leader.propose Leader.processAck Leader.tryToCommit Leader.getEpochToPropose Leader.waitForEpochAck
Leader.waitForNewLeaderAck
ZKDatabase.append ZKDatabase.commit ZKDatabase.truncateLog ZKDatabase.fastForwardDataBase
ZKDatabase.addCommittedProposal ZooKeeperServer.shutdown
"""
"""The methods at whose beginning there has to be a point."""
NOT_IN_NEW_VERSIONS = ["learner-start-threads"]
"""From 3.9.3 on the follower starts its threads when it serves."""


def classes_with(folder: Path, *methods: Made, assembler: Assembler) -> ClassPath:
    """A class path whose class Leader has these methods, of a ZooKeeper 3.8.1."""
    for name, data in {
        f"{SERVER}quorum/Leader": assembler.finished(f"{SERVER}quorum/Leader", methods),
        "org/apache/zookeeper/version/Info": Assembler().finished(
            "org/apache/zookeeper/version/Info", [], {"MAJOR": 3, "MINOR": 8, "MICRO": 1}
        ),
    }.items():
        file = folder / f"{name}.class"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return ClassPath(str(folder))


def lines(found: PlacesOfPoint) -> list[int]:
    """The lines of its places."""
    return [place.line for place in found.places]


def three_calls(folder: Path, assembler: Assembler) -> ClassPath:
    """A method that calls Leader.send three times, and something else in between."""
    send, other = (assembler.call(VIRTUAL, f"{SERVER}quorum/Leader", name) for name in ("send", "other"))
    rows = [(0, 10), (3, 11), (6, 12), (9, 13), (12, 14)]
    method = Made("propose", send + other + send + send + RETURN, lines=rows)
    return classes_with(folder, method, assembler=assembler)


@pytest.mark.parametrize(
    ("moment", "which", "expected"),
    [
        ("before", None, [10, 12, 13]),
        ("before", 0, [10]),
        ("before", -1, [13]),
        ("after", 0, [11]),
        ("after", -1, [14]),
        ("entry", None, [10]),
    ],
)
def test_each_point_has_its_place_in_the_code(
    moment: Moment, which: int | None, expected: list[int], tmp_path: Path
) -> None:
    callees = () if moment == "entry" else ("Leader.gone", "Leader.send")
    point = Point("p", "any", "…", "quorum.Leader.propose", moment, callees, which)
    found = find(point, three_calls(tmp_path, Assembler()))
    assert lines(found) == expected
    assert {(place.class_name, place.method, place.descriptor) for place in found.places} == {
        (f"{SERVER}quorum/Leader", "propose", "()V")
    }


def test_behind_a_call_where_other_paths_join_there_is_no_point(tmp_path: Path) -> None:
    """Otherwise a thread would be stopped there that has not made the call."""
    assembler = Assembler()
    send = assembler.call(VIRTUAL, f"{SERVER}quorum/Leader", "send")
    method = Made("propose", struct.pack(">Bh", IFEQ, 6) + send + RETURN)
    classes = classes_with(tmp_path, method, assembler=assembler)
    after = Point("p", "any", "…", "quorum.Leader.propose", "after", ("Leader.send",))
    assert find(after, classes) == PlacesOfPoint(after, (), "behind the call of Leader.send other paths join")
    assert lines(find(after._replace(moment="before"), classes)) == [1]


def test_parameters_choose_among_methods_of_one_name(tmp_path: Path) -> None:
    methods = [Made("shutdown", RETURN, "()V", [(0, 5)]), Made("shutdown", RETURN, "(Z)V", [(0, 6)])]
    classes = classes_with(tmp_path, *methods, Made("shutdown", None, "(J)V"), assembler=Assembler())
    point = Point("p", "any", "…", "quorum.Leader.shutdown")
    assert lines(find(point, classes)) == [5, 6]
    assert lines(find(point._replace(method="quorum.Leader.shutdown(Z)"), classes)) == [6]


def test_a_method_that_has_the_call_in_other_versions(tmp_path: Path) -> None:
    point = Point("p", "any", "…", "quorum.Leader.apply", "before", ("Leader.send",), 0, also="propose")
    assert lines(find(point, three_calls(tmp_path, Assembler()))) == [10]


def test_a_missing_method_or_call_is_named(tmp_path: Path) -> None:
    classes = three_calls(tmp_path, Assembler())
    point = Point("p", "any", "…", "quorum.Leader.lead")
    assert find(point, classes).missing == "there is no quorum.Leader.lead"
    point = Point("p", "any", "…", "quorum.Leader.propose", "before", ("Leader.a", "Leader.b"))
    assert find(point, classes).missing == "quorum.Leader.propose does not call Leader.a or Leader.b"


def test_a_name_that_is_none_and_one_like_it() -> None:
    with pytest.raises(PointError, match=r"no point `sync-forse`; did you mean `sync-force`\?"):
        named("sync-forse")
    with pytest.raises(PointError, match="no point `x`; `zabcheck zookeeper points` lists what there is"):
        named("x")


def test_a_point_that_a_version_lacks_names_the_nearest_that_it_has(tmp_path: Path) -> None:
    methods = [Made(name, RETURN) for name in ("propose", "processAck", "startForwarding", "shutdown", "lead")]
    classes = classes_with(tmp_path, *methods, assembler=Assembler())
    with pytest.raises(PointError) as caught:
        located("leader-try-commit", classes)
    assert str(caught.value) == (
        "ZooKeeper 3.8.1 has no point `leader-try-commit`: there is no quorum.Leader.tryToCommit; "
        "near it: leader-ack, leader-forward, leader-propose, leader-leave"
    )


def test_a_class_without_lines_is_one_clear_line(tmp_path: Path) -> None:
    classes = classes_with(tmp_path, Made("propose", RETURN, lines=None), assembler=Assembler())
    with pytest.raises(ClassPathError, match=r"server\.quorum\.Leader: expected a class with line numbers, found one"):
        located("leader-propose", classes)


def test_the_points_of_the_zookeeper_of_pyspark() -> None:
    classes = ClassPath(real.classpath())
    found = [find(point, classes) for point in CATALOGUE.values()]
    assert [each.point.name for each in found if not each.places] == NOT_IN_NEW_VERSIONS
    entries = {
        f"{place.class_name.rpartition('/')[2]}.{place.method}"
        for each in found
        for place in each.places
        if each.point.moment == "entry"
    }
    assert {*TABLE.split()} - entries == set()
    assert [each.point.name for each in found if len(each.places) > 1] == ["learner-sync-packet"]


def test_before_the_epoch_comes_the_log_and_behind_it_the_acknowledgement() -> None:
    """In 3.9.5 the follower's main thread does all three for NEWLEADER."""
    classes = ClassPath(real.classpath())
    names = [
        "learner-sync",
        "learner-append",
        "learner-force",
        "learner-epoch",
        "learner-epoch-written",
        "learner-ack-newleader",
        "learner-ack-uptodate",
        "learner-serve",
    ]
    places = [located(name, classes).places[0].at for name in names]
    assert places == sorted(places)
    assert len({*places}) == len(places)

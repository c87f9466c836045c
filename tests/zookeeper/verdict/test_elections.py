"""Faults of elections: votes below a voter's own, and ensembles in which nobody leads."""

from pathlib import Path

import pytest

from tests.zookeeper.recordings import Recording, zxid
from zabcheck.zookeeper.recording.folder import Recorder
from zabcheck.zookeeper.recording.records import Ended, Fault, Reconfigures, Run, Stopped
from zabcheck.zookeeper.trace.incarnations import read_sorted
from zabcheck.zookeeper.verdict.elections import Leaderless, election_findings
from zabcheck.zookeeper.verdict.findings import Finding

SERVERS = (1, 2, 3)
SECOND = 1_000_000


class Elections(Recording):
    """A run of simulated servers, of which nothing but elections is told."""

    def __init__(self, folder: Path, simulated: bool = True) -> None:
        super().__init__(folder)
        self.record.close()
        (folder / "recording.jsonl").unlink()
        self.record = Recorder(folder)
        self.record.record(Run(1, "3.9.5", 3, simulated=simulated))
        self.start(*SERVERS)
        self.up = [*SERVERS]

    def vote(self, voter: int, leader: int, at: int, epoch: int, in_round: int, hears: int | None = None) -> None:
        said = f"n.sid:{voter}, n.state:LOOKING, n.leader:{leader}, n.round:0x{in_round:x}, n.peerEpoch:0x{epoch:x}"
        said += f", n.zxid:0x{at:x}, message format version:0x2, n.config version:0x0"
        self.line(hears or voter, "quorum.FastLeaderElection", f"Notification: my state:LOOKING; {said}")

    def lead_in_vain(self, leader: int, in_round: int) -> None:
        for server in SERVERS:
            self.line(server, "quorum.QuorumPeer", "LOOKING")
            self.vote(server, leader, zxid(1, 7), 1, in_round)
        self.line(leader, "quorum.QuorumPeer", "LEADING")
        self.line(leader, "quorum.QuorumPeer", "Unexpected exception", "WARN")
        self.raw(leader, "java.lang.InterruptedException: Timeout while waiting for epoch from quorum\n")
        self.time += 5 * SECOND

    def lead_at_last(self, leader: int) -> None:
        self.line(leader, "quorum.QuorumPeer", "LEADING")
        self.line(leader, "quorum.Leader", "Have quorum of supporters, sids: [1, 3]; last processed zxid: 0x200000000")

    def heal(self) -> None:
        self.record.record(Fault(self.tick(), "heal"))

    def over(self, complete: bool = True) -> list[Finding]:
        for server in self.up:
            self.record.record(Stopped(self.tick(), server))
        self.record.record(Ended(self.tick(), complete))
        self.record.close()
        return election_findings(read_sorted(self.folder))


@pytest.fixture
def elections(tmp_path: Path) -> Elections:
    return Elections(tmp_path)


def test_a_vote_below_its_own_is_a_finding(elections: Elections) -> None:
    elections.vote(1, 1, zxid(1, 3), 2, in_round=4)
    for _ in range(2):
        elections.vote(1, 3, zxid(1, 87), 1, in_round=4)
    [found] = elections.over()
    assert (found.kind, found.server, found.step, found.count) == ("lower vote", 1, "election", 2)
    assert found.text == (
        "votes for server 3 (epoch 1, ⟨1,87⟩) in round 4, though its own history is more recent (epoch 2, ⟨1,3⟩)"
    )


def test_higher_votes_and_those_of_others_are_none(elections: Elections) -> None:
    elections.vote(1, 1, zxid(1, 3), 1, in_round=4)
    elections.vote(1, 2, zxid(1, 3), 1, in_round=4)
    elections.vote(1, 3, zxid(1, 2), 2, in_round=4)
    elections.vote(2, 3, zxid(1, 1), 1, in_round=4, hears=1)
    elections.vote(1, 1, zxid(1, 1), 1, in_round=5)
    elections.vote(1, 2, zxid(1, 1), 1, in_round=5)
    assert elections.over() == []


def test_nothing_is_said_of_votes_where_configurations_change(elections: Elections) -> None:
    elections.record.record(Reconfigures(elections.tick(), 1, 1))
    elections.vote(1, 1, zxid(1, 3), 2, in_round=1)
    elections.vote(1, 3, zxid(1, 87), 1, in_round=1)
    assert elections.over() == []


def test_nobody_leads_though_nothing_disturbs_the_servers(elections: Elections) -> None:
    elections.lead_at_last(3)
    elections.heal()
    for in_round in range(2, 9):
        elections.lead_in_vain(3, in_round)
    elections.line(3, "quorum.QuorumPeer", "LOOKING")
    [found] = elections.over()
    assert (found.kind, found.server) == ("nobody leads", 3)
    assert isinstance(found.fact, Leaderless)
    assert (found.fact.elections, len(found.fact.in_vain)) == (7, 7)
    assert found.text.startswith("nobody led for 35.1 of the last 35.1 s, although all servers were up and connected; ")
    assert "server 3, because of java.lang.InterruptedException: Timeout while" in found.text
    assert found.text.endswith("; server 3 votes for server 3 (epoch 1, ⟨1,7⟩) in round 8")


@pytest.mark.parametrize("in_vain", [1, 7])
def test_a_leader_at_last_is_enough_unless_many_gave_up(elections: Elections, in_vain: int) -> None:
    """One that waits for minutes, as where threads are held, may do so once."""
    elections.heal()
    for in_round in range(in_vain):
        elections.lead_in_vain(3, in_round + 1)
    elections.time += 31 * SECOND
    elections.lead_at_last(2)
    assert [each.kind for each in elections.over()] == (["nobody leads"] if in_vain == 7 else [])


@pytest.mark.parametrize("why", ["soon over", "processes", "one is down", "not recorded to its end"])
def test_less_is_no_finding(tmp_path: Path, why: str) -> None:
    elections = Elections(tmp_path, simulated=why != "processes")
    elections.heal()
    for in_round in range(3 if why == "soon over" else 8):
        elections.lead_in_vain(3, in_round + 1)
    if why == "one is down":
        elections.exit(2, 1)
        elections.up.remove(2)
        elections.time += 40 * SECOND
    assert elections.over(complete=why != "not recorded to its end") == []

"""Recordings written by hand: what servers would have said and sent, step by step."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from zabcheck.zookeeper.recording.folder import Recorder, log_file
from zabcheck.zookeeper.recording.records import (
    Acknowledged,
    Asked,
    Disk,
    Ended,
    Exited,
    Killed,
    Opened,
    Passed,
    Read,
    Run,
    Sent,
    Session,
    Started,
)
from zabcheck.zookeeper.wire.jute import LoggedTxn

BEGIN = 1_767_225_600_000_000
"""2026-01-01, in microseconds."""
PACKAGE = "org.apache.zookeeper.server"
CREATE = 15
ELECTION = 200_000
"""The time for which servers wait for another vote, in microseconds."""


def zxid(epoch: int, counter: int) -> int:
    return epoch << 32 | counter


def session(client: int) -> int:
    """The session of client `client`."""
    return 0x1000_0000_0000_0000 + client


def create(z: int, client: int, cxid: int) -> LoggedTxn:
    """Request `cxid` of client `client`, which created a node."""
    return LoggedTxn(z, session(client), cxid, CREATE, f"/c{client}-{cxid}")


class Recording:
    """A recording while it is written. Each step takes a millisecond, unless `step` is changed."""

    def __init__(self, folder: Path, servers: int = 3, version: str = "3.8.0", observers: int = 0) -> None:
        self.folder = folder
        self.time = BEGIN
        self.step = 1000
        self.incarnations: dict[int, int] = {}
        self.disks: dict[int, list[LoggedTxn]] = {server: [] for server in range(1, servers + observers + 1)}
        self.epochs: dict[int, int] = dict.fromkeys(self.disks, 0)
        self.snapshots: dict[int, tuple[int, ...]] = {}
        self.record = Recorder(folder)
        self.record.record(Run(1, version, servers + observers, None, observers))
        self._packet = self._connection = 0
        self.links: dict[frozenset[int], int] = {}  # follower and leader: their connection
        for client in self.disks:
            self.record.record(Session(BEGIN, client, session(client), client))

    def tick(self) -> int:
        self.time += self.step
        return self.time

    # Servers.

    def start(self, *servers: int) -> None:
        for server in servers:
            number = self.incarnations[server] = self.incarnations.get(server, -1) + 1
            if number:
                self.disk(server, number - 1)
            self.record.record(Started(self.tick(), server, number))
            log_file(self.folder, server, number).write_bytes(b"")

    def disk(self, server: int, incarnation: int) -> None:
        self.record.record(
            Disk(
                self.tick(),
                server,
                incarnation,
                tuple(self.disks[server]),
                self.snapshots.get(server, (0,)),
                self.epochs[server],
                self.epochs[server],
            )
        )

    def kill(self, *servers: int) -> None:
        for server in servers:
            self.record.record(Killed(self.tick(), server))

    def exit(self, server: int, code: int) -> None:
        self.record.record(Exited(self.tick(), server, code))

    def end(self, *servers: int, complete: bool = True) -> None:
        """Stop these, and end the recording."""
        for server in servers:
            self.kill(server)
        for server, number in self.incarnations.items():
            self.disk(server, number)
        self.record.record(Ended(self.tick(), complete, "" if complete else "interrupted"))
        self.record.close()

    # Lines.

    def raw(self, server: int, text: str) -> None:
        with log_file(self.folder, server, self.incarnations[server]).open("a") as log:
            log.write(text)

    def line(self, server: int, source: str, message: str, level: str = "INFO") -> None:
        milliseconds = (self.tick() - BEGIN) // 1000
        minute, second = divmod(milliseconds // 1000, 60)
        stamp = f"2026-01-01T00:{minute:02}:{second:02}.{milliseconds % 1000:03}+0000"
        self.raw(server, f"{stamp} [main] {level} {PACKAGE}.{source} - {message}\n")

    def request(self, server: int, source: str, verb: str, txn: LoggedTxn) -> None:
        self.line(
            server,
            source,
            f"{verb}:: sessionid:0x{txn.session:x} type:create2 cxid:0x{txn.cxid:x} zxid:0x{txn.zxid:x} "
            f"txntype:{txn.type} reqpath:n/a",
            "DEBUG",
        )

    def propose(self, server: int, txn: LoggedTxn) -> None:
        self.request(server, "quorum.Leader", "Proposing", txn)

    def deliver(self, *servers: int, txn: LoggedTxn) -> None:
        for server in servers:
            self.request(server, "FinalRequestProcessor", "Processing request", txn)

    def look(self, *servers: int, reach: int = 0) -> None:
        """They begin an election, which takes a while."""
        self.time += ELECTION
        for server in servers:
            self.line(server, "quorum.QuorumPeer", "LOOKING")
            self.line(server, "quorum.FastLeaderElection", f"New election. My id = {server}, proposed zxid=0x{reach:x}")
        self.time += ELECTION

    # Packets.

    def packet(
        self,
        sender: int,
        receiver: int,
        kind: str,
        z: int = 0,
        *,
        epoch: int | None = None,
        txn: LoggedTxn | None = None,
        passed: bool = True,
    ) -> None:
        connection = self.links[frozenset((sender, receiver))]
        self._packet += 1
        self.record.record(Sent(self.tick(), self._packet, connection, sender, receiver, kind, z, epoch=epoch, txn=txn))
        if passed:
            self.record.record(Passed(self.time + 1, self._packet))

    def proposal(self, leader: int, follower: int, txn: LoggedTxn, *, passed: bool = True) -> None:
        self.packet(leader, follower, "PROPOSAL", txn.zxid, txn=txn, passed=passed)

    # Whole steps of Zab.

    def discover(self, leader: int, followers: Iterable[int], epoch: int, reach: int, *, rejoin: bool = False) -> None:
        """They follow the leader, and learn of the new epoch."""
        if not rejoin:
            self.line(leader, "quorum.QuorumPeer", "LEADING")
            self.line(leader, "quorum.QuorumPeer", "Peer state changed: leading - discovery")
        for follower in followers:
            self.line(follower, "quorum.QuorumPeer", "FOLLOWING")
            self._connection += 1
            self.links[frozenset((follower, leader))] = self._connection
            self.record.record(Opened(self.tick(), self._connection, follower, leader, "quorum"))
            self.packet(follower, leader, "FOLLOWERINFO", zxid(self.epochs[follower], 0))
            self.packet(leader, follower, "LEADERINFO", zxid(epoch, 0))
            self.packet(follower, leader, "ACKEPOCH", reach, epoch=self.epochs[follower])
        if not rejoin:
            self.line(leader, "quorum.QuorumPeer", "Peer state changed: leading - synchronization")
            self.epochs[leader] = epoch

    def diff(self, leader: int, follower: int, epoch: int, txns: Sequence[LoggedTxn] = (), up_to: int = 0) -> None:
        """DIFF with these transactions, all committed, then NEWLEADER and its acknowledgement."""
        self.packet(leader, follower, "DIFF", up_to)
        for txn in txns:
            self.proposal(leader, follower, txn)
            self.packet(leader, follower, "COMMIT", txn.zxid)
        self.new_leader(leader, follower, epoch)
        self.disks[follower] += txns

    def new_leader(self, leader: int, follower: int, epoch: int) -> None:
        self.packet(leader, follower, "NEWLEADER", zxid(epoch, 0))
        self.line(follower, "quorum.Learner", "Learner received NEWLEADER message")
        self.packet(follower, leader, "ACK", zxid(epoch, 0))
        self.epochs[follower] = epoch

    def establish(self, leader: int, epoch: int) -> None:
        self.line(
            leader,
            "quorum.Leader",
            f"Have quorum of supporters, sids: [[1, 2]]; starting up and setting last processed zxid: "
            f"0x{zxid(epoch, 0):x}",
        )

    def up_to_date(self, leader: int, follower: int, epoch: int) -> None:
        self.packet(leader, follower, "UPTODATE")
        self.line(follower, "quorum.Learner", "Learner received UPTODATE message")
        self.packet(follower, leader, "ACK", zxid(epoch, 0))

    def lead(self, leader: int, followers: Sequence[int], epoch: int, reach: int = 0) -> None:
        """An election and a synchronisation of servers with equal histories up to `reach`."""
        self.look(leader, *followers, reach=reach)
        self.discover(leader, followers, epoch, reach)
        for follower in followers:
            self.diff(leader, follower, epoch, up_to=reach)
        self.establish(leader, epoch)
        for follower in followers:
            self.up_to_date(leader, follower, epoch)

    def accept(self, leader: int, followers: Iterable[int], txn: LoggedTxn) -> None:
        """A proposal that the leader and all of these accept."""
        self.propose(leader, txn)
        self.disks[leader].append(txn)
        for follower in followers:
            self.proposal(leader, follower, txn)
            self.disks[follower].append(txn)
            self.packet(follower, leader, "ACK", txn.zxid)

    def write(self, leader: int, followers: Sequence[int], txn: LoggedTxn, client: int) -> None:
        """A write of client `client` that everybody accepts and delivers, and that the client is told of."""
        self.ask(client, txn)
        self.accept(leader, followers, txn)
        for follower in followers:
            self.packet(leader, follower, "COMMIT", txn.zxid)
        self.deliver(leader, *followers, txn=txn)
        self.acknowledge(client, txn)

    # Clients.

    def ask(self, client: int, txn: LoggedTxn) -> None:
        self.record.record(Asked(self.tick(), client, txn.cxid, txn.path))

    def acknowledge(self, client: int, txn: LoggedTxn) -> None:
        self.record.record(Acknowledged(self.tick(), client, txn.cxid, txn.zxid, client))

    def read(self, *servers: int, txns: Iterable[LoggedTxn]) -> None:
        nodes = tuple((txn.path, txn.zxid) for txn in txns)
        for server in servers:
            self.record.record(Read(self.tick(), server, nodes))

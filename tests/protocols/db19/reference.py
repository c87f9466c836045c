"""The db-19 lab again, straight from its text and with nothing in common with `zabcheck.protocols.db19`.

It goes through every tick, keeps plain lists and dicts, copies histories, and knows nothing of events. Nodes are
counted from 0, a zxid is a pair of numbers, a transaction (zxid, payload), a message a tuple that begins with its name.
"""

import heapq
import struct
from typing import Any

MASK = (1 << 64) - 1
LOOKING, FOLLOWING, LEADING = 0, 1, 2


def mix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    z = x
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E7B5) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return z ^ (z >> 31)


class Reference:
    def __init__(self, seed: int, nodes: int, rounds: int, proposals: int, partition: list[tuple[int, int]]) -> None:
        self.seed, self.rounds, self.proposals = seed, rounds, proposals
        self.partition = partition
        self.size, self.quorum = nodes, nodes // 2 + 1
        self.heap: list[Any] = []
        self.seq = 0
        self.now = 0
        self.nodes = [ReferenceNode(self, index) for index in range(nodes)]
        for node in self.nodes:
            node.reset_election_deadline()
            node.enter_looking()

    def send(self, source: int, target: int, message: tuple[Any, ...]) -> None:
        if (source, target) in self.partition:
            return
        delay = 1 + mix(self.seed ^ source ^ target ^ self.now) % 3
        heapq.heappush(self.heap, (self.now + delay, source, self.seq, target, message))
        self.seq += 1

    def run(self) -> bytes:
        schedule = [((i + 1) * self.rounds & MASK) // (self.proposals + 1) for i in range(self.proposals)]
        pending: list[bytes] = []
        for tick in range(self.rounds):
            self.now = tick
            pending += [b"zab-%d" % i for i, due in enumerate(schedule) if due == tick]
            leaders = [node for node in self.nodes if node.role == LEADING and node.synced]
            if leaders:
                for payload in pending:
                    leaders[0].propose(payload)
                pending = []
            while self.heap and self.heap[0][0] <= self.now:
                _, source, _, target, message = heapq.heappop(self.heap)
                self.nodes[target].receive(source, message)
            for node in self.nodes:
                node.on_tick()
        return b"DSEZAB01" + struct.pack("<I", len(self.nodes)) + b"".join(node.dump() for node in self.nodes)


class ReferenceNode:
    def __init__(self, cluster: Reference, index: int) -> None:
        self.cluster, self.id = cluster, index
        self.current_epoch = self.accepted_epoch = 0
        self.history: list[tuple[tuple[int, int], bytes]] = []
        self.last_committed = (0, 0)
        self.role = LOOKING
        self.leader_id: int | None = None
        self.vote_target_id, self.vote_target_zxid = 0, (0, 0)
        self.vote_view: dict[int, int] = {}
        self.pending_new_epoch = 0
        self.epoch_acks: set[int] = set()
        self.leader_acks: set[int] = set()
        self.synced = False
        self.next_counter = 0
        self.ack_set: dict[tuple[int, int], set[int]] = {}
        self.election_deadline = self.last_heartbeat_sent = 0

    def last_zxid(self) -> tuple[int, int]:
        return self.history[-1][0] if self.history else (0, 0)

    def send(self, target: int, *message: Any) -> None:
        self.cluster.send(self.id, target, message)

    def broadcast(self, *message: Any) -> None:
        for node in range(self.cluster.size):
            if node != self.id:
                self.send(node, *message)

    def reset_election_deadline(self) -> None:
        t = self.cluster.now
        self.election_deadline = t + 150 + mix(self.cluster.seed ^ self.id ^ t) % 150

    def on_tick(self) -> None:
        t = self.cluster.now
        if self.role == LEADING:
            if t - self.last_heartbeat_sent >= 50:
                self.last_heartbeat_sent = t
                if self.synced:
                    self.broadcast("Commit", self.last_committed)
                elif len(self.epoch_acks) >= self.cluster.quorum:
                    self.broadcast("NewLeader", self.current_epoch, list(self.history))
        elif t >= self.election_deadline:
            self.reset_election_deadline()
            self.enter_looking()

    def enter_looking(self) -> None:
        self.role, self.leader_id, self.synced = LOOKING, None, False
        self.vote_target_id, self.vote_target_zxid = self.id, self.last_zxid()
        self.vote_view = {self.id: self.id}
        self.broadcast("LookForLeader", self.id, self.last_zxid(), self.current_epoch)
        self.broadcast("Vote", self.id, self.last_zxid(), self.current_epoch, self.id)
        self.check_election()

    def check_election(self) -> None:
        agreeing = [voter for voter in self.vote_view if self.vote_view[voter] == self.vote_target_id]
        if len(agreeing) >= self.cluster.quorum:
            if self.vote_target_id == self.id:
                self.become_leading()
            else:
                self.become_following(self.vote_target_id)

    def become_following(self, leader: int) -> None:
        self.role, self.leader_id, self.synced = FOLLOWING, leader, False
        self.reset_election_deadline()

    def become_leading(self) -> None:
        self.role, self.leader_id, self.synced = LEADING, self.id, False
        self.last_heartbeat_sent = self.cluster.now
        self.leader_acks, self.ack_set = set(), {}
        self.pending_new_epoch = max(self.accepted_epoch, self.current_epoch) + 1
        self.accepted_epoch = self.pending_new_epoch
        self.epoch_acks = {self.id}
        self.broadcast("NewEpoch", self.pending_new_epoch)
        self.try_finish_discovery()

    def try_finish_discovery(self) -> None:
        if len(self.epoch_acks) < self.cluster.quorum:
            return
        self.current_epoch = self.pending_new_epoch
        self.next_counter = 0
        self.leader_acks = {self.id}
        self.broadcast("NewLeader", self.current_epoch, list(self.history))
        self.try_finish_sync()

    def try_finish_sync(self) -> None:
        if self.synced or len(self.leader_acks) < self.cluster.quorum:
            return
        self.synced = True
        if self.last_zxid() > self.last_committed:
            self.last_committed = self.last_zxid()
            self.broadcast("Commit", self.last_committed)

    def propose(self, payload: bytes) -> None:
        self.next_counter += 1
        zxid = (self.current_epoch, self.next_counter)
        self.history.append((zxid, payload))
        self.ack_set[zxid] = {self.id}
        self.broadcast("Propose", (zxid, payload))
        self.try_commit(zxid)

    def try_commit(self, zxid: tuple[int, int]) -> None:
        if zxid <= self.last_committed:
            return
        if len(self.ack_set.get(zxid, ())) >= self.cluster.quorum:
            self.last_committed = zxid
            self.broadcast("Commit", zxid)

    def receive(self, source: int, message: tuple[Any, ...]) -> None:
        kind, *rest = message
        if kind in ("LookForLeader", "Vote"):
            voter, peer_zxid, _, chosen = rest if kind == "Vote" else [*rest, rest[0]]
            self.on_vote(source, voter, peer_zxid, chosen)
        elif kind == "NewEpoch":
            [epoch] = rest
            if epoch > self.accepted_epoch:
                self.accepted_epoch = epoch
                if self.role != FOLLOWING:
                    self.become_following(source)
                self.send(source, "AckEpoch", self.current_epoch, self.last_zxid())
            elif epoch == self.accepted_epoch:
                self.send(source, "AckEpoch", self.current_epoch, self.last_zxid())
            self.reset_election_deadline()
        elif kind == "AckEpoch" and self.role == LEADING:
            self.epoch_acks.add(source)
            self.try_finish_discovery()
        elif kind == "NewLeader":
            epoch, history = rest
            if epoch >= self.accepted_epoch:
                self.accepted_epoch = self.current_epoch = epoch
                self.history = list(history)
                if self.role != FOLLOWING:
                    self.become_following(source)
                self.reset_election_deadline()
                self.send(source, "AckLeader", epoch)
        elif kind == "AckLeader" and self.role == LEADING and rest[0] == self.current_epoch:
            self.leader_acks.add(source)
            self.try_finish_sync()
        elif kind == "Propose" and self.role == FOLLOWING and source == self.leader_id:
            [txn] = rest
            if txn[0] > self.last_zxid():
                self.history.append(txn)
                self.reset_election_deadline()
                self.send(source, "Ack", txn[0])
        elif kind == "Ack" and self.role == LEADING:
            [zxid] = rest
            self.ack_set.setdefault(zxid, set()).add(source)
            self.try_commit(zxid)
        elif kind == "Commit":
            [zxid] = rest
            if source == self.leader_id:
                self.reset_election_deadline()
            if self.last_committed < zxid <= self.last_zxid():
                self.last_committed = zxid

    def on_vote(self, source: int, voter: int, peer_zxid: tuple[int, int], chosen: int) -> None:
        if self.role != LOOKING:
            self.send(source, "Vote", self.id, self.last_zxid(), self.current_epoch, self.leader_id)
            return
        if (peer_zxid, voter) > (self.vote_target_zxid, self.vote_target_id):
            self.vote_target_id, self.vote_target_zxid = voter, peer_zxid
            self.vote_view = {self.id: voter}
            self.broadcast("Vote", self.id, self.last_zxid(), self.current_epoch, voter)
        self.vote_view[voter] = chosen
        self.check_election()

    def dump(self) -> bytes:
        data = struct.pack("<IB", self.id, self.role) + struct.pack("<II", self.current_epoch, self.accepted_epoch)
        data += struct.pack("<II", *self.last_zxid()) + struct.pack("<II", *self.last_committed)
        data += struct.pack("<I", len(self.history))
        for zxid, payload in self.history:
            data += struct.pack("<II", *zxid) + struct.pack("<I", len(payload)) + payload
        return data


def reference(seed: int, nodes: int, rounds: int, proposals: int, partition: list[tuple[int, int]]) -> bytes:
    """The canonical dump of this run."""
    return Reference(seed, nodes, rounds, proposals, partition).run()

"""A server whose configuration changes (`QuorumPeer`): what it knows of configurations, and which quorums it needs.

ZooKeeper keeps configurations in files of their own, beside the log: the active one (`zoo.cfg.dynamic.VERSION`), and
the one that was proposed last (`zoo.cfg.dynamic.next`). The log is never asked, and no TRUNC or SNAP touches the files.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from zabcheck.invariants import Activate, Txn
from zabcheck.invariants.quorums import Configuration, Quorums, configuration_of
from zabcheck.protocols.base import Effect, Message, Notify, ProcessId, Stimulus, Write
from zabcheck.protocols.switches import Switches, completed
from zabcheck.zookeeper.model import leader as leaders
from zabcheck.zookeeper.model import server
from zabcheck.zookeeper.model.identity import identity as identity_of_server
from zabcheck.zookeeper.model.identity import rename as rename_server
from zabcheck.zookeeper.model.messages import Commit, Proposal
from zabcheck.zookeeper.model.reconfiguration.messages import (
    CommitAndActivate,
    FollowerInfo,
    Inform,
    InformAndActivate,
    LeaderInfo,
    NewLeader,
    ObserverInfo,
    UpToDate,
    Verifier,
)
from zabcheck.zookeeper.model.reconfiguration.switches import ReconfigurationSwitches
from zabcheck.zookeeper.model.reconfiguration.versions import Changing, changing_of
from zabcheck.zookeeper.model.server import Outstanding, Server

Required = tuple[Configuration, ...]


class Designated(Stimulus, frozen=True):
    """The server goes over to an iteration of `leader` without an election (`QuorumPeer.reconfigFlag`)."""

    leader: ProcessId


class Proposed(Outstanding, frozen=True, gc=False):
    """A proposal with the configurations that have to acknowledge it, as of its birth (`Proposal.qvAcksetPairs`)."""

    required: Required = ()


class Member(Server):
    """The variables of one server. Its `quorums` are those of the active configuration (`quorumVerifier`)."""

    # Durable: two files.
    active: Verifier | None = None
    """The active configuration; None only until the server has started."""
    next: Verifier | None = None
    """The file `.next`: the configuration that was proposed last; None: there is no such file."""

    # Of the incarnation.
    seen: Verifier | None = None
    """The configuration that it has seen last (`lastSeenQuorumVerifier`); None only until it has started."""
    designated: ProcessId | None = None
    """As a leader that may not commit: the server that is to lead in its place."""

    unsaved: bool = False
    """True if it is yet to write what it has not logged as an observer, where that is repaired (R3)."""

    # Of the iteration.
    observing: bool = False
    """True if it is an observer (`QuorumPeer.learnerType`)."""
    observers: tuple[ProcessId, ...] = ()
    """As a leader: its learners that observe (`Leader.observingLearners`)."""
    named: Verifier | None = None
    """The configuration that NEWLEADER has named (`newLeaderQV`)."""

    @property
    def acting(self) -> Verifier:
        """The active configuration of a server that has started."""
        assert self.active is not None
        return self.active

    @property
    def last_seen(self) -> Verifier:
        """The configuration that a server that has started has seen last."""
        assert self.seen is not None
        return self.seen

    @property
    def repairs(self) -> ReconfigurationSwitches:
        """The switches that say what is repaired."""
        assert isinstance(self.switches, ReconfigurationSwitches)
        return self.switches

    @property
    def changing(self) -> Changing:
        """The behaviour of its version."""
        return changing_of(self.switches.version, self.switches.defects)

    def with_a_say(self) -> Required:
        """Return the configurations that have a say: the active one, and one that is pending (`addQuorumVerifier`)."""
        if self.last_seen.version > self.acting.version:
            return self.acting.configuration, self.last_seen.configuration
        return (self.acting.configuration,)

    def may_lead(self) -> bool:
        """`QuorumPeer.getInitId`: a server that is no voter of its active configuration is no candidate."""
        return self.quorums.may_lead(self.id)

    @property
    def observes(self) -> bool:
        return self.observing

    def logs_nothing(self) -> bool:
        """`ObserverZooKeeperServer.syncRequestProcessorEnabled`: return True if it is an observer that does not log."""
        return self.observing and self.repairs.outsiders in ("unlogged", "saved")

    def is_outside(self) -> bool:
        """`QuorumPeer.updateLearnerType`: return True if the active configuration makes the server an observer."""
        return self.repairs.outsiders != "followers" and self.id not in self.acting.configuration.members

    def changes_role(self) -> bool:
        """`QuorumPeer.processReconfig`: return True if the active configuration gives a learner the other role."""
        return self.leader is not None and not self.leads and self.observing != self.is_outside()

    def proposes_to(self, learner: ProcessId) -> bool:
        return learner not in self.observers

    def said_to(self, learner: ProcessId, message: Message) -> Message | None:
        """`Leader.inform`, `Leader.informAndActivate`: an observer is told of what is committed, with its value."""
        if learner not in self.observers or not isinstance(message, Proposal | Commit):
            return message
        if isinstance(message, Proposal):
            return None
        committed = self.to_apply[-1]
        if isinstance(message, CommitAndActivate):
            return InformAndActivate(committed, designated=message.designated)
        return Inform(committed)

    def may_change(self, to: Configuration) -> bool:
        """`PrepRequestProcessor.pRequest2Txn`: nothing is pending, and a quorum of the new configuration is synced.

        A server counts as synced even before it has read what brings it up to date (`Leader.isQuorumSynced`).
        """
        if self.repairs.addresses == "checked" and to.members == (self.id,):
            return False
        forwarding = [each for each in leaders.forwarding(self) if each not in self.observers]
        return self.last_seen.version == self.acting.version and to.contains([self.id, *forwarding])

    # Decisions that the other model takes by a fixed configuration.

    def settles_epoch(self, servers: Collection[ProcessId]) -> bool:
        """`Leader.getEpochToPropose`, `waitForEpochAck`: the active configuration alone, unless repaired (R4).

        Until 3.5.3 servers that are no voters count, too (2959).
        """
        asked = self.with_a_say() if self.repairs.epochs == "both" else (self.acting.configuration,)
        if not self.changing.counts_voters:
            return all(2 * len(servers) > len(each.members) for each in asked)
        return all(each.contains(servers) for each in asked)

    def is_adopted_by(self, servers: Collection[ProcessId]) -> bool:
        """`Leader.newLeaderProposal`: a pending configuration, too, has to acknowledge NEWLEADER.

        Where nobody could lead on in that one, `Leader.startZkServer` fails: an exception ends the iteration (R12).
        """
        if self.repairs.observed == "ignored":
            servers = [each for each in servers if each not in self.observers]
        acknowledged = Proposed(self.last_seen.txn, tuple(servers), self.with_a_say())
        return all(each.contains(servers) for each in self.with_a_say()) and bool(designated_leader(self, acknowledged))

    def is_acknowledged(self, proposal: Outstanding) -> bool:
        """`Proposal.hasAllQuorums`; a leader that is not the designated one commits no more (`allowedToCommit`)."""
        assert isinstance(proposal, Proposed)
        return self.designated is None and all(each.contains(proposal.acks) for each in proposal.required)

    def committing(self, proposal: Outstanding) -> tuple[list[Effect], Message | None]:
        """`Leader.tryToCommit`: a configuration change is activated before COMMITANDACTIVATE leaves.

        If nobody can lead on, an exception ends the thread that has brought the last ACK, and the change is neither
        outstanding nor committed (R12): the handler of a follower, or the leader's own logging thread.
        """
        to = change_of(self, proposal.txn)
        if to is None:
            return super(Member, self).committing(proposal)  # noqa: UP008  # a class of msgspec has no cell
        leader = designated_leader(self, proposal)
        if leader is None:
            last = proposal.acks[-1]
            if last == self.id:
                return server.give_up(self, "its logging thread has ended: nobody leads on"), None
            leaders.handler_ends(self, last)
            return [], None
        self.designated = None if leader == self.id else leader
        return activate(self, to), CommitAndActivate(proposal.txn.zxid, designated=leader)

    def starting_up(self) -> list[Effect]:
        """`Leader.startZkServer`: activate the pending configuration: the leader's files name it, not its history."""
        leader = designated_leader(self, Proposed(self.last_seen.txn, self.new_leader_acks, self.with_a_say()))
        self.designated = None if leader == self.id else leader
        return activate(self, self.last_seen)

    def follower_info(self) -> Message:
        kind = ObserverInfo if self.observing else FollowerInfo
        return kind(self.accepted_epoch, active=self.acting)

    def leader_info(self) -> Message:
        return LeaderInfo(self.epoch, active=self.acting)

    def new_leader(self) -> Message:
        active = self.acting if self.repairs.newleader == "both" else None
        return NewLeader(self.epoch, seen=self.last_seen, active=active)

    def up_to_date(self) -> Message:
        return UpToDate(active=self.acting if self.repairs.uptodate == "active" else None)


def start(
    process: ProcessId, incarnation: int, quorums: Quorums, durable: Mapping[str, Any], switches: Switches
) -> Member:
    """`QuorumPeerConfig.parse`: start with the configurations in the files; at first with that of the run."""
    assert isinstance(quorums, Configuration), "the quorums of this protocol are those of a configuration"
    own = completed(switches, ReconfigurationSwitches)
    f = Member(process, incarnation, quorums, own, **{"active": Verifier(quorums), **durable})
    f.quorums = f.acting.configuration
    f.seen = f.next or f.active
    return f


def change_of(f: Member, txn: Txn) -> Verifier | None:
    """Return the configuration that this transaction names, if it is a change."""
    to = configuration_of(txn.value, f.quorums.size)
    return None if to is None else Verifier(to, txn.zxid)


def is_active(f: Member, txn: Txn) -> bool:
    """Return True unless the transaction is a change later than the active configuration."""
    return change_of(f, txn) is None or txn.zxid <= f.acting.version


def activate(f: Member, to: Verifier) -> list[Effect]:
    """`QuorumPeer.setQuorumVerifier`: make `to` the active configuration, if it is later than the present one."""
    if to.version <= f.acting.version:
        return []
    f.active, f.quorums = to, to.configuration
    if to.version > f.last_seen.version:
        f.seen = to
    effects: list[Effect] = [*written(f, active=to), Activate(f.id, f.incarnation, to.txn)]
    if f.last_seen.version == to.version and f.next is not None:
        f.next = None
        effects += written(f, next=None)
    return effects


def see(f: Member, proposed: Verifier) -> list[Effect]:
    """`QuorumPeer.setLastSeenQuorumVerifier`: keep the configuration that was proposed last, also an earlier one."""
    if proposed.version == f.last_seen.version:
        return []
    f.seen = f.next = proposed
    return written(f, next=proposed)


def written(f: Member, **file: Verifier | None) -> list[Effect]:
    """`QuorumPeerConfig.writeDynamicConfig`: write the file of a configuration. An IOException is logged, no more (R5).

    Nothing can be written to a full folder, and nothing removed from it.
    """
    return [Write(**file)] if f.repairs.folder == "writable" else []


def forget_unlogged(l: Member) -> list[Effect]:
    """Forget a pending change that is not in the history with which the server is about to lead: a repair."""
    if l.last_seen.version <= l.acting.version or l.last_seen.txn in l.database.tree.after(0):
        return []
    l.seen, l.next = l.active, None
    return [Write(next=None)]


def designated_leader(l: Member, change: Outstanding) -> ProcessId | None:
    """`Leader.getDesignatedLeader`: the leader itself if the new configuration has it, at its present address.

    Otherwise a server that has acknowledged the change, and most of the proposals behind it; the lowest of several.
    There is none if the leader is all of the new configuration, at another address (R12).
    """
    assert isinstance(change, Proposed)
    to = change.required[-1]
    moves = l.repairs.addresses != "kept" and change.txn.zxid > l.acting.version
    if l.id in to.members and not moves:
        return l.id
    candidates = [ack for ack in sorted(change.acks) if ack in to.members and ack != l.id]
    if not candidates:
        return None
    leader = candidates[0]
    for each in l.outstanding:
        assert isinstance(each, Proposed)
        if each.txn.zxid > change.txn.zxid:
            voters = [set(pair.members) & set(each.acks) for pair in each.required]
            candidates = [able for able in candidates if all(able in some for some in voters)]
            if not candidates:
                return leader
            leader = candidates[0]
    return leader


def hand_over(leader: ProcessId) -> Notify:
    """`QuorumPeer.updateServerState` with `reconfigFlag`: lead or follow the designated leader without an election."""
    return Notify(Designated(leader))


def abandon(f: Member) -> None:
    """Forget the variables of the iteration; the files stay."""
    server.abandon(f)
    f.named = f.designated = None
    f.observing, f.observers = False, ()


def identity(f: Member) -> Hashable:
    """Return all variables that a server's further steps depend on."""
    required = tuple(each.required for each in f.outstanding if isinstance(each, Proposed))
    return (
        *identity_of_server(f),
        f.active,
        f.next,
        f.seen,
        f.designated,
        f.named,
        required,
        f.observing,
        f.unsaved,
        frozenset(f.observers),
    )


def rename(value: Any, names: Sequence[ProcessId]) -> Any:
    """Return a server or a packet with process i called `names[i]`, which maps each configuration to itself."""
    if isinstance(value, Member):
        value = replace(value, observers=tuple(names[each] for each in value.observers))
    if isinstance(value, Member | CommitAndActivate | InformAndActivate) and value.designated is not None:
        value = replace(value, designated=names[value.designated])
    return rename_server(value, names)

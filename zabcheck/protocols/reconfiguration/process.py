"""A process of Zab whose configuration changes: what it knows of configurations, and which quorums it needs.

The configurations lie in the histories (`zabcheck.invariants.configurations`). Besides them a process knows which
configuration is active: that of the last configuration change that it has delivered, or of which it was told. It has no
files.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from zabcheck.invariants import Activate, Chain, Zxid
from zabcheck.invariants.configurations import Configurations, Required, without_quorum
from zabcheck.invariants.quorums import Configuration, Quorums
from zabcheck.protocols.base import Effect, Persist, ProcessId
from zabcheck.protocols.reconfiguration.messages import Active, Commit, CommitLd
from zabcheck.protocols.switches import Switches, ZabSwitches, completed
from zabcheck.protocols.zab import process as zab
from zabcheck.protocols.zab.histories import received
from zabcheck.protocols.zab.leader import latest_follower


class Member(zab.Process):
    """The variables of one process: those of Zab, and what it knows of configurations.

    The methods from `may_lead` on are decisions of the algorithm; a mutant is a subclass with some of them replaced.
    """

    # Durable.

    active: Active | None = None
    """The active configuration; None only until the process has started."""

    # Of the incarnation.

    by_history: Configurations | None = None
    """Finds the configurations that a history names; None only until the process has started."""

    # Of the iteration, as a leader.

    designated: ProcessId | None = None
    """The process that leads on, once this leader is in the active configuration no more."""

    @property
    def acting(self) -> Active:
        """The active configuration of a process that has started."""
        assert self.active is not None
        return self.active

    @property
    def configurations(self) -> Configurations:
        """Finds the configurations that a history names, for a process that has started."""
        assert self.by_history is not None
        return self.by_history

    def changes(self, history: Chain) -> list[Chain]:
        """Return the histories up to each configuration change in `history` that is not active here, in order."""
        return self.configurations.changes_after(history, self.acting.zxid)

    def pending(self, history: Chain) -> Required:
        """Return the configurations that the changes in `history` name, as far as they are not active here."""
        return tuple([self.configurations.governing(change) for change in self.changes(history)])

    def is_quorum(self, members: Collection[ProcessId]) -> bool:
        """Return True if these processes are a quorum of each configuration that has a say at this point."""
        return not without_quorum(self.asked_for(), members)

    # What the algorithm decides.

    def may_lead(self) -> bool:
        """Return True if the process belongs to the active configuration, as a leader has to."""
        return self.id in self.acting.configuration.members

    def asked_for(self) -> Required:
        """Return the configurations that have a say in the present phase of a leader, the active one first.

        R.9 and R.10: if the history that is chosen, or about to be, has a change, its configuration is asked, too.
        R.11: a change that is found nowhere, or only in a history that is not chosen, counts for nothing.
        """
        if self.proposed is not None:
            return self.synchronised()
        return self.discovered(self.best()) if self.acks_e else (self.acting.configuration,)

    def discovered(self, best: Chain) -> Required:
        """R.10: `best` is chosen as I_e' if all these have answered."""
        return self.acting.configuration, *self.pending(best)

    def synchronised(self) -> Required:
        """R.9: e' is established if all these have acknowledged I_e'; a leader that loses one of them gives up."""
        assert self.proposed is not None
        return self.acting.configuration, *self.pending(self.proposed)

    def best(self) -> Chain:
        """Return the history that would be chosen from the ACK-Es that have come."""
        return received(self.history, self.acks_e[latest_follower(self.acks_e)].history)

    def is_accepted(self, acks: Sequence[tuple[ProcessId, Zxid]], zxid: Zxid) -> bool:
        """R.3, R.4, R.8: return True if everything up to `zxid` may be committed, given how far each process has it."""
        assert self.proposed is not None
        if self.designated is not None:
            return False  # R.6
        history = self.proposed.up_to(zxid)
        return all(
            not without_quorum(self.needed_for(each), [f for f, acked in acks if acked >= each.zxid])
            for each in (*self.configurations.changes_after(history, self.committed), history)
        )

    def needed_for(self, history: Chain) -> Required:
        """R.3, R.4, R.8: a quorum of each of these has to acknowledge the last transaction of `history`.

        A configuration change takes two: of the configuration before it, and of its own.
        """
        return self.configurations.required(history)

    def may_change(self, to: Configuration) -> bool:
        """R.1: no other change is pending, and a quorum of the new configuration has what the leader has."""
        assert self.proposed is not None
        synced = [follower for follower, link in self.links.items() if link is zab.Link.SYNCED]
        return self.designated is None and not self.pending(self.proposed) and to.contains(synced)

    def activated_by(self, delivered: Chain) -> Chain | None:
        """R.5: return the history up to the last change that is delivered and not active here; None without one."""
        changes = self.changes(delivered)
        return changes[-1] if changes else None


Starts = Callable[[ProcessId, int, Quorums, Mapping[str, Any], Switches], Member]


def starting(kind: type[Member]) -> Starts:
    """Return the function that makes a process of this kind as it starts: in ELECTION, with its durable variables."""

    def start(
        process: ProcessId, incarnation: int, quorums: Quorums, durable: Mapping[str, Any], switches: Switches
    ) -> Member:
        assert isinstance(quorums, Configuration), "the quorums of this protocol are those of a configuration"
        f = kind(
            process, incarnation, quorums, completed(switches, ZabSwitches), **{"active": Active(quorums), **durable}
        )
        f.by_history = Configurations(quorums)
        return f

    return start


def activate(f: Member, active: Active) -> list[Effect]:
    """R.5 and R.12: `active` decides here from now on, unless a later configuration does.

    It is kept on the disk, behind everything that was done before: a process that forgets it has to ask a quorum of the
    configuration before, as if the change were pending.
    """
    if active.zxid <= f.acting.zxid:
        return []
    f.active = active
    return [Persist(active=active), Activate(f.id, f.incarnation, active.txn)]


def activate_delivered(f: Member) -> list[Effect]:
    """R.5: activate the configuration of the last change that was delivered."""
    change = f.activated_by(f.delivered)
    return [] if change is None else activate(f, Active(f.configurations.governing(change), change.zxid))


def abandon(f: Member) -> None:
    """Drop the iteration; what is active stays so."""
    zab.abandon(f)
    f.designated = None


def hands_over(f: Member) -> bool:
    """Return True if the process leads, and another one is to lead on (R.6)."""
    return f.designated is not None


def identity(f: Member) -> Hashable:
    """Return all that the further steps may depend on."""
    return zab.identity(f), f.active, f.designated


def rename(value: Any, names: Sequence[ProcessId]) -> Any:
    """Return a process or a message with process i called `names[i]`, which maps each configuration to itself.

    So the names of configurations, in transactions and in what is active, stay the same.
    """
    if isinstance(value, Member | Commit | CommitLd) and value.designated is not None:
        value = replace(value, designated=names[value.designated])
    return zab.rename(value, names)


class Governing(Quorums, frozen=True):
    """The sets of processes that can go on by themselves with `leader`, by what each, from 1 on, has `known`."""

    known: tuple[Any, ...]
    leader: ProcessId

    def contains(self, members: Collection[int]) -> bool:
        """Return True if they are a quorum of what is active or pending, as far as they know, and it may lead there."""
        if not members:
            return False
        found = [self.known[member - 1] for member in members]
        latest: Member = max(found, key=lambda f: f.acting.zxid)
        required = [latest.acting.configuration]
        for f in found:
            required += latest.pending(f.history)
        leader: Member = self.known[self.leader - 1]
        # The leader is told of each configuration that is active at one of them, in any order (R.12).
        told = [f.acting.configuration for f in found if f.acting.zxid > leader.acting.zxid]
        may_lead = all(self.leader in each.members for each in (leader.acting.configuration, *told, *required))
        return may_lead and not without_quorum(tuple(required), members)


def governing(known: Sequence[Member], leader: ProcessId) -> Quorums:
    """Return the quorums that can go on by themselves with `leader`."""
    return Governing(len(known), tuple(known), leader)

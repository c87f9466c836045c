"""The mutants of Zab with configurations that change: which quorums they ask, and when a configuration is active.

C is the configuration before a change, V its own, Q(C) a quorum of C. R.0 to R.12 are the steps of
`zabcheck.protocols.reconfiguration.steps`. Most mutants are a process that decides otherwise in one or two places.
"""

from collections.abc import Hashable, Sequence

from msgspec import structs

from zabcheck.invariants import NO_ZXID, Chain, Zxid
from zabcheck.invariants.configurations import Required
from zabcheck.invariants.quorums import Configuration, configuration_of
from zabcheck.protocols.base import AddedState, Effect, ProcessId, Request, Send
from zabcheck.protocols.reconfiguration.messages import Active, CEpoch, Designated
from zabcheck.protocols.reconfiguration.process import Member, activate
from zabcheck.protocols.reconfiguration.steps import on_ack, on_cepoch, on_designated, on_request
from zabcheck.protocols.zab.follower import on_newleader, on_propose
from zabcheck.protocols.zab.messages import Ack, NewLeader, Propose
from zabcheck.protocols.zab.process import Link

# Which quorums commit.


class ChangesByNewOnly(Member, gc=False):
    """R.4 without the Q(C)."""

    def needed_for(self, history: Chain) -> Required:
        return self.configurations.required(history)[-1:]


class ChangesByOldOnly(Member, gc=False):
    """R.4 without the Q(V)."""

    def needed_for(self, history: Chain) -> Required:
        return self.configurations.required(history)[:1]


class GoesOnInOld(Member, gc=False):
    """R.8, but what comes after a change needs a Q(C) instead of a Q(V)."""

    def needed_for(self, history: Chain) -> Required:
        changes = self.configurations.changes_after(history, NO_ZXID)
        needed = self.configurations.required(history)
        return self.configurations.required(changes[-1])[:1] if changes and changes[-1] != history else needed


class Overtaking(AddedState, frozen=True):
    """The changes that a leader has proposed while another one was pending: zxid, and what was active then."""

    changes: tuple[tuple[Zxid, Configuration], ...] = ()

    def abandoned(self) -> AddedState:
        return Overtaking()

    def identity(self, process: Member) -> Hashable:
        return self.changes

    def renamed(self, names: Sequence[ProcessId]) -> AddedState:
        return Overtaking(tuple((zxid, _renamed(active, names)) for zxid, active in self.changes))

    def described(self) -> dict[str, str | tuple[str, ...]]:
        return {"overtaking": tuple(f"{zxid} in {active.name}" for zxid, active in self.changes)}


class ChangesTwice(Member, gc=False):
    """R.1 while another change is pending; a Q of what is active now commits the second one, and one of its own.

    The one in between is passed over where a history is chosen, too.
    """

    def may_change(self, to: Configuration) -> bool:
        synced = [follower for follower, link in self.links.items() if link is Link.SYNCED]
        return self.designated is None and to.contains(synced)

    def needed_for(self, history: Chain) -> Required:
        assert isinstance(self.added, Overtaking)
        before = dict(self.added.changes).get(history.zxid)
        needed = self.configurations.required(history)
        return needed if before is None else (before, needed[-1])

    def discovered(self, best: Chain) -> Required:
        return self.acting.configuration, *self.pending(best)[-1:]

    def synchronised(self) -> Required:
        assert self.proposed is not None
        return self.discovered(self.proposed)


def propose_second_change(l: Member, sender: ProcessId, m: Request) -> list[Effect]:
    """R.1, but a change that is proposed while another one is pending is noted."""
    effects = on_request(l, sender, m)
    changes = [] if l.proposed is None else l.changes(l.proposed)
    if effects and len(changes) > 1 and changes[-1] == l.proposed:
        assert isinstance(l.added, Overtaking)
        l.added = Overtaking((*l.added.changes, (changes[-1].zxid, l.acting.configuration)))
    return effects


def _renamed(configuration: Configuration, names: Sequence[ProcessId]) -> Configuration:
    return structs.replace(configuration, members=tuple(sorted(names[member] for member in configuration.members)))


# Which quorums elect.


class DiscoversInOld(Member, gc=False):
    """R.10 without the Q(V)."""

    def discovered(self, best: Chain) -> Required:
        return (self.acting.configuration,)


class CompletesInOld(DiscoversInOld, gc=False):
    """R.9 and R.10 without the Q(V)."""

    def synchronised(self) -> Required:
        return (self.acting.configuration,)


class IgnoresPending(CompletesInOld, gc=False):
    """R.9, but a new leader goes on in C, as if there were no change in its initial history."""

    def needed_for(self, history: Chain) -> Required:
        changes = self.configurations.changes_after(history, self.acting.zxid)
        if changes and changes[-1].zxid.epoch < self.new_epoch:
            return (self.acting.configuration,)
        return super().needed_for(history)

    def activated_by(self, delivered: Chain) -> Chain | None:
        change = super().activated_by(delivered)
        return None if change is not None and self.leads and change.zxid.epoch < self.new_epoch else change


class ElectsInOld(Member, gc=False):
    """R.10, but a process in which V is active elects by C."""

    @property
    def electing(self) -> Configuration:
        change = self.history.up_to(self.acting.zxid)
        return self.configurations.required(change)[0] if change.zxid == self.acting.zxid else self.acting.configuration

    def may_lead(self) -> bool:
        return self.id in self.electing.members

    def asked_for(self) -> Required:
        return (self.electing,)


class ElectsInNew(Member, gc=False):
    """R.9 and R.10 without the Q(C)."""

    def may_lead(self) -> bool:
        electing = self.acting.configuration if self.established else self.configurations.governing(self.history)
        return self.id in electing.members

    def asked_for(self) -> Required:
        return (self.configurations.governing(self.history if self.proposed is None else self.proposed),)


# Activation.


def activate_on_accepting(f: Member, sender: ProcessId, m: Propose) -> list[Effect]:
    """Step f.3.2, but V is active with the ACK (R.5)."""
    return _activated(f, on_propose(f, sender, m))


def activate_on_adopting(f: Member, sender: ProcessId, m: NewLeader) -> list[Effect]:
    """Step f.2.1, but V is active with the ACK-LD (R.5)."""
    return _activated(f, on_newleader(f, sender, m))


def _activated(f: Member, effects: list[Effect]) -> list[Effect]:
    changes = f.changes(f.history)
    if not effects or not changes:
        return effects
    return [*effects, *activate(f, Active(f.configurations.governing(changes[-1]), changes[-1].zxid))]


# Joiners.


def let_joiner_wait(l: Member, sender: ProcessId, m: CEpoch) -> list[Effect]:
    """Step l.3.3, but a joiner is sent NEWLEADER only once it has answered NEWEPOCH."""
    effects = on_cepoch(l, sender, m)
    if l.links.get(sender) is Link.PROPOSED and sender not in l.acting.configuration.members:
        l.links = {**l.links, sender: Link.ASKED}
        return [each for each in effects if not (isinstance(each, Send) and isinstance(each.message, NewLeader))]
    return effects


def propose_to_joiner_that_waits(l: Member, sender: ProcessId, m: Request) -> list[Effect]:
    """R.1, but a change is proposed to those as well that have not been sent NEWLEADER."""
    effects = on_request(l, sender, m)
    proposed = [each.message for each in effects if isinstance(each, Send) and isinstance(each.message, Propose)]
    if not proposed or configuration_of(m.value, l.quorums.size) is None:
        return effects
    waiting = [follower for follower, link in l.links.items() if link in (Link.ASKED, Link.DISCOVERED)]
    return [*effects, *[Send(follower, proposed[0]) for follower in waiting]]


def count_joiner_that_waits(l: Member, sender: ProcessId, m: Ack) -> list[Effect]:
    """R.0, but an ACK counts before the ACK-LD has come."""
    if l.leads and l.established and sender in l.links and sender not in l.acks:
        l.acks = {**l.acks, sender: m.zxid}
    return on_ack(l, sender, m)


# The process that leads on.


def lead_on_unpromised(f: Member, sender: ProcessId, m: Designated) -> list[Effect]:
    """R.7, but the named process takes the next epoch and its own history, and asks nobody."""
    return _lead_at_once(f, sender, m, f.accepted_epoch + 1)


def lead_on_in_same_epoch(f: Member, sender: ProcessId, m: Designated) -> list[Effect]:
    """R.7, but the named process goes on in the epoch of the leader before."""
    return _lead_at_once(f, sender, m, f.accepted_epoch)


def _lead_at_once(f: Member, sender: ProcessId, m: Designated, epoch: int) -> list[Effect]:
    effects = on_designated(f, sender, m)
    if effects and f.leads:
        f.new_epoch, f.proposed, f.proposed_base, f.initial = epoch, f.history, f.base, f.history.zxid
    return effects


# A change that is cut off.


class LastSeen(AddedState, frozen=True):
    """The last configuration change that a process has accepted."""

    seen: Active | None = None

    def abandoned(self) -> AddedState:
        return self

    def identity(self, process: Member) -> Hashable:
        return self.seen

    def renamed(self, names: Sequence[ProcessId]) -> AddedState:
        if self.seen is None:
            return self
        return LastSeen(structs.replace(self.seen, configuration=_renamed(self.seen.configuration, names)))

    def described(self) -> dict[str, str | tuple[str, ...]]:
        return {"last seen": "none" if self.seen is None else str(self.seen.txn)}


class AsksWhatItHasSeen(Member, gc=False):
    """R.11, but a leader asks a quorum of the change that it has accepted last, whatever became of that."""

    def discovered(self, best: Chain) -> Required:
        return *super().discovered(best), *self.last_seen()

    def synchronised(self) -> Required:
        return *super().synchronised(), *self.last_seen()

    def last_seen(self) -> Required:
        assert isinstance(self.added, LastSeen)
        seen = self.added.seen
        return () if seen is None or seen.zxid <= self.acting.zxid else (seen.configuration,)


def note_proposed_change(f: Member, sender: ProcessId, m: Propose) -> list[Effect]:
    """Step f.3.2, but a change is noted."""
    return _noted(f, on_propose(f, sender, m))


def keep_noted_change(f: Member, sender: ProcessId, m: NewLeader) -> list[Effect]:
    """Step f.2.1, but a change that was noted stays so if the initial history has none."""
    return _noted(f, on_newleader(f, sender, m))


def _noted(f: Member, effects: list[Effect]) -> list[Effect]:
    changes = f.changes(f.history)
    if effects and changes:
        f.added = LastSeen(Active(f.configurations.governing(changes[-1]), changes[-1].zxid))
    return effects

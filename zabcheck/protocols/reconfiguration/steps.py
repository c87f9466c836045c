"""The steps in which Zab with configurations that change differs from Zab (USENIX ATC 2012; R.0 to R.12).

| step | what happens |
| --- | --- |
| R.0 | members of V outside of C follow the leader of C and get its history and proposals; their ACKs do not count |
| R.1 | the leader proposes the change to V like any value, if none is pending and a Q(V) has its history |
| R.2 | what comes after the change is proposed to everybody, and committed after it |
| R.3 | what comes before the change is committed by a Q(C) |
| R.4 | the change is committed when a Q(C) and a Q(V) have acknowledged it |
| R.5 | COMMIT activates V: a process activates it when it delivers the change |
| R.6 | a leader outside V names one of V, the one that has acknowledged most; it commits no more |
| R.7 | the named process begins an epoch in V without an election, and everybody follows it |
| R.8 | what comes after the change is committed by a Q(V) alone |
| R.9 | a new leader that finds the change completes it: a Q(C) and a Q(V) acknowledge its initial history |
| R.10 | discovery, too, is answered by both; who knows that V is active says so |
| R.11 | a change that is not found was not committed, and C goes on |
| R.12 | a leader or follower that is told that V is active goes on with V; a leader that has chosen e' gives up |

Section numbers of the paper are left out: the steps are those of its protocol, put on the steps of DSN 2011, IV. One
change at a time: the paper also lets several be pending.
"""

from collections.abc import Sequence

from zabcheck.invariants.quorums import configuration_of
from zabcheck.protocols.base import Effect, Elected, GiveUp, Notify, ProcessId, Request, Send
from zabcheck.protocols.reconfiguration.messages import CEpoch, Commit, CommitLd, Designated, NewEpoch
from zabcheck.protocols.reconfiguration.process import Member, activate, activate_delivered
from zabcheck.protocols.zab import follower, leader, messages
from zabcheck.protocols.zab.process import Link


def on_elected(f: Member, sender: ProcessId, m: Elected) -> list[Effect]:
    """Step f.1.1 with R.10: CEPOCH says which configuration is active. A process outside of it does not lead."""
    if m.leader == f.id and not f.may_lead():
        return []
    f.designated = None  # it belongs to the iteration that ends
    return naming_active(f, follower.on_elected(f, sender, m))


def naming_active(f: Member, effects: Sequence[Effect]) -> list[Effect]:
    """R.10 and R.12: say in each CEPOCH and NEWEPOCH which configuration is active."""
    said: list[Effect] = []
    for each in effects:
        if isinstance(each, Send) and type(each.message) is messages.CEpoch:
            each = Send(each.to, CEpoch(each.message.epoch, each.message.lasts, active=f.acting))
        elif isinstance(each, Send) and type(each.message) is messages.NewEpoch:
            each = Send(each.to, NewEpoch(each.message.epoch, each.message.lasts, active=f.acting))
        said.append(each)
    return said


def on_designated(f: Member, sender: ProcessId, m: Designated) -> list[Effect]:
    """R.7: follow the process that leads on, as if an oracle had named it; that process itself leads."""
    return on_elected(f, sender, Elected(m.leader))


def on_cepoch(l: Member, sender: ProcessId, m: CEpoch) -> list[Effect]:
    """Steps l.1.1 and l.3.3 with R.12: a leader that is told of a later configuration goes on with that one.

    A leader outside of that configuration gives up, and so does one that has chosen e': the configuration may have
    become active in an epoch after e', which began without what this leader has, and a quorum of that configuration may
    have followed this leader before.
    """
    if not l.leads:
        return []
    told = activate(l, m.active)
    if told and l.new_epoch:
        return [GiveUp("a later configuration is active than the one in which it has chosen e'"), *told]
    if not l.may_lead() and l.designated is None:
        return [GiveUp("it is not in the active configuration"), *told]
    return [*naming_active(l, leader.on_cepoch(l, sender, m)), *told]


def on_newepoch(f: Member, sender: ProcessId, m: NewEpoch) -> list[Effect]:
    """Step f.1.2 with R.12: a follower is told which configuration is active."""
    answer = follower.on_newepoch(f, sender, m)
    return [*answer, *activate(f, m.active)] if answer else []


def on_ack_ld(l: Member, sender: ProcessId, m: messages.AckLd) -> list[Effect]:
    """Steps l.2.2 and l.3.4 with R.6 and R.9."""
    return naming_successor(l, leader.on_ack_ld(l, sender, m))


def on_ack(l: Member, sender: ProcessId, m: messages.Ack) -> list[Effect]:
    """Step l.3.2 with R.4 and R.6."""
    return naming_successor(l, leader.on_ack(l, sender, m))


def naming_successor(l: Member, effects: Sequence[Effect]) -> list[Effect]:
    """R.6: if the leader is not in the configuration of what it has committed, its commits name the one that leads on.

    That is, of the synchronised members of the new configuration, the one that has acknowledged most; of several the
    lowest. Without any the leader gives up, and an election finds the next one.
    """
    if l.proposed is not None and l.established and l.designated is None:
        governs = l.configurations.governing(l.proposed.up_to(l.committed))
        able = [f for f in governs.members if f in l.acks and l.links.get(f) is Link.SYNCED]
        if l.id not in governs.members:
            if not able:
                return [*effects, GiveUp("it is not in the configuration that it has committed")]
            l.designated = max(able, key=lambda f: (l.acks[f], -f))
    return [_naming(each, l.designated) for each in effects]


def _naming(effect: Effect, designated: ProcessId | None) -> Effect:
    """Return a COMMIT or COMMIT-LD with the process that leads on, if there is one; other effects as they are."""
    if isinstance(effect, Send):
        message = effect.message
        if type(message) is messages.Commit:
            return Send(effect.to, Commit(message.epoch, message.zxid, designated=designated))
        if type(message) is messages.CommitLd:
            return Send(effect.to, CommitLd(message.epoch, message.zxid, designated=designated))
    return effect


def on_commit_ld(f: Member, sender: ProcessId, m: CommitLd) -> list[Effect]:
    """Steps f.2.2 and f.3.1 with R.5 and R.7."""
    return _delivered(f, follower.on_commit_ld(f, sender, m), m.designated)


def on_commit(f: Member, sender: ProcessId, m: Commit) -> list[Effect]:
    """Step f.3.3 with R.5 and R.7."""
    return _delivered(f, follower.on_commit(f, sender, m), m.designated)


def _delivered(f: Member, effects: list[Effect], designated: ProcessId | None) -> list[Effect]:
    """Activate the changes that were delivered; a follower leaves for the process that leads on, if one is named.

    The leader that has named it stays, and commits no more.
    """
    if not effects:
        return []
    leaves = [] if designated is None or f.leads else [Notify(Designated(designated))]
    return [*effects, *leaves, *activate_delivered(f)]


def on_request(l: Member, sender: ProcessId, m: Request) -> list[Effect]:
    """Step l.3.1 with R.1: a configuration change is proposed only if a quorum of the new configuration is ready."""
    to = configuration_of(m.value, l.quorums.size)
    if to is not None and leader.can_broadcast(l) and not l.may_change(to):
        return []
    return leader.on_request(l, sender, m)

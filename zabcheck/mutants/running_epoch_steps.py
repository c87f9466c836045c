"""The steps of the mutants that lose somebody while an epoch runs: safe, and put right by the next election.

A follower that joins an established leader late, or whose connection is closed, is forgotten in them, or brings the
leader to a standstill. Nothing wrong is delivered.
"""

from collections.abc import Hashable, Sequence

from zabcheck.invariants import NO_ZXID, Zxid
from zabcheck.protocols.base import AddedState, Effect, Lost, ProcessId, Send
from zabcheck.protocols.zab.leader import on_ack, on_ack_ld, on_cepoch, on_lost
from zabcheck.protocols.zab.messages import Ack, AckLd, CEpoch, CommitLd
from zabcheck.protocols.zab.process import Follower, Leader, Link, Process


def commit_initial_history_to_late_joiner(l: Leader, sender: ProcessId, m: AckLd) -> list[Effect]:
    """Step l.3.4, but COMMIT-LD names the end of I_e', unless this ACK-LD itself helps to commit more."""
    late, committed = l.established, l.committed
    effects = on_ack_ld(l, sender, m)
    return _answered_with(l, effects, l.initial) if late and l.committed == committed else effects


def answer_before_counting(l: Leader, sender: ProcessId, m: AckLd) -> list[Effect]:
    """Step l.3.4, but COMMIT-LD names what was committed before this ACK-LD counted; no COMMIT follows it."""
    late, committed = l.established, l.committed
    effects = on_ack_ld(l, sender, m)
    return _answered_with(l, effects, committed) if late else effects


def by_own_count(f: Follower, m: CommitLd) -> Zxid:
    """Return nothing, as what is committed is what this follower counts ACKs of: it has missed those of before."""
    return NO_ZXID if f.switches.counts_everywhere and not f.leads else m.zxid


def _answered_with(l: Leader, effects: Sequence[Effect], zxid: Zxid) -> list[Effect]:
    """Return these effects with another zxid in COMMIT-LD."""
    return [
        Send(each.to, CommitLd(l.new_epoch, zxid))
        if isinstance(each, Send) and isinstance(each.message, CommitLd)
        else each
        for each in effects
    ]


class Stragglers(AddedState, frozen=True):
    """The followers that had yet to acknowledge NEWLEADER when their leader was established, in ascending order."""

    followers: tuple[ProcessId, ...] = ()

    def abandoned(self) -> AddedState:
        return Stragglers()

    def identity(self, process: Process) -> Hashable:
        return self.followers

    def renamed(self, names: Sequence[ProcessId]) -> AddedState:
        return Stragglers(tuple(sorted(names[follower] for follower in self.followers)))

    def described(self) -> dict[str, str | tuple[str, ...]]:
        return {"stragglers": tuple(f"p{follower}" for follower in self.followers)}


def leave_stragglers_waiting(l: Leader, sender: ProcessId, m: AckLd) -> list[Effect]:
    """Step l.3.4, but who was sent NEWLEADER in phase 2, and acknowledges it in phase 3, is never answered."""
    assert isinstance(l.added, Stragglers)
    late = l.established
    effects = on_ack_ld(l, sender, m)
    if late:
        unanswered = sender in l.added.followers
        return [each for each in effects if not (unanswered and isinstance(each, Send) and each.to == sender)]
    if l.established:
        left = sorted(follower for follower, link in l.links.items() if link is Link.PROPOSED and follower != l.id)
        l.added = Stragglers(tuple(left))
    return effects


def leave_newcomers_waiting(l: Leader, sender: ProcessId, m: CEpoch) -> list[Effect]:
    """Step l.3.3, but the CEPOCH of a process that has acknowledged nothing in e' is never answered."""
    if not l.leads or not l.established or sender in l.acks:
        return on_cepoch(l, sender, m)
    l.links = {**l.links, sender: Link.ASKED}
    return []


def ignore_closed_connection(l: Process, sender: ProcessId, m: Lost) -> list[Effect]:
    """V-C, but a follower goes on following a leader that has closed their connection."""
    return on_lost(l, sender, m) if l.leads else []


class SomebodyCameBack(AddedState, frozen=True):
    """True once a follower whose ACK-LD or ACK had arrived has connected to this established leader again."""

    came_back: bool = False

    def abandoned(self) -> AddedState:
        return SomebodyCameBack()

    def identity(self, process: Process) -> Hashable:
        return self.came_back

    def renamed(self, names: Sequence[ProcessId]) -> AddedState:
        return self

    def described(self) -> dict[str, str | tuple[str, ...]]:
        return {"came back": "yes" if self.came_back else "no"}


def note_who_comes_back(l: Leader, sender: ProcessId, m: CEpoch) -> list[Effect]:
    """Step l.3.3, but an established leader notes that a follower has come back."""
    if l.leads and l.established and sender in l.acks:
        l.added = SomebodyCameBack(came_back=True)
    return on_cepoch(l, sender, m)


def count_no_acks_after_return(l: Leader, sender: ProcessId, m: Ack) -> list[Effect]:
    """Step l.3.2, but no number of ACKs is enough once a follower has come back."""
    if isinstance(l.added, SomebodyCameBack) and l.added.came_back:
        return on_ack(l, sender, m, is_accepted=lambda *_: False)
    return on_ack(l, sender, m)

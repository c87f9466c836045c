"""The link from the proof of liveness to the code: each message that a process handles is an instance of the steps.

What the abstraction says is sent is what the code sends, and to whom.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.tiers import sweep
from zabcheck.invariants import Adopt, Broadcast, Deliver, Restore, Txn, Zxid
from zabcheck.invariants.quorums import Quorums
from zabcheck.mutants.catalogue import mutated
from zabcheck.proof.finite import Facts, Thing, Universe, holds, majorities, take
from zabcheck.proof.liveness import steps
from zabcheck.proof.liveness.iteration import Iteration
from zabcheck.proof.liveness.mutants import MUTANTS
from zabcheck.proof.liveness.stages import choosing_epoch, choosing_history, committing, establishing
from zabcheck.proof.liveness.theory import theory
from zabcheck.proof.steps import Step
from zabcheck.protocols.base import Effect, Elected, GiveUp, Lost, Message, Protocol, Request, Send
from zabcheck.protocols.zab import messages
from zabcheck.protocols.zab.process import Link, Process
from zabcheck.search.swarm import Search, drive

Abstract = tuple[int, int, str]


def name(process: int) -> str:
    return f"p{process}"


def abstract(txn: Txn) -> Abstract:
    return txn.zxid.epoch, txn.zxid.counter, txn.value


class Followed:
    """An iteration of a leader, as the abstraction has it."""

    def __init__(self, leader: int, counts: Counter[str]) -> None:
        self.nodes = tuple(map(name, range(1, 4)))
        self.facts: Facts = frozenset({("leads", (name(leader),))})
        self.connections: dict[int, list[tuple[str, int]]] = {}
        self.txns: set[Abstract] = set()
        self.epochs: set[int] = {0}
        self.counts = counts

    def universe(self, *quorums: frozenset[str]) -> Universe:
        every = tuple(each for known in self.connections.values() for each in known)
        epochs = {each for things in self.of("promised") for each in things if isinstance(each, int)} | self.epochs
        return Universe(
            self.nodes, quorums or majorities(self.nodes), tuple(sorted(epochs)), tuple(sorted(self.txns)), every
        )

    def take(self, step: Step, *things: Thing, given: Facts = frozenset()) -> None:
        """Take a step, in which the network or another iteration may give facts."""
        quorums = [each for each in things if isinstance(each, frozenset)]
        self.epochs |= {each for each in things if isinstance(each, int)}
        after = take(step, self.universe(*quorums), self.facts | given, things)
        assert after is not None, f"{step.name} is not possible with {things}"
        self.facts = after
        self.counts[step.name] += 1

    def of(self, relation: str) -> set[tuple[Thing, ...]]:
        """The things that a relation holds of."""
        return {things for fact, things in self.facts if fact == relation}

    def current(self, process: int) -> tuple[str, int]:
        return self.connections[process][-1]


class Watch:
    """Wraps the steps of a protocol, and follows each iteration in the abstraction."""

    def __init__(self) -> None:
        self.iterations: dict[int, Followed] = {}
        """The iteration of each leader."""
        self.joined: dict[int, Followed] = {}
        """The iteration that each follower's connection belongs to."""
        self.elected: dict[int, int] = {}
        """The leader that each process elected last."""
        self.counts = Counter[str]()
        self.wrong: AssertionError | None = None

    def watched(self, protocol: Protocol) -> Protocol:
        return replace(protocol, steps={kind: self._wrapped(step) for kind, step in protocol.steps.items()})

    def _wrapped(self, step: Callable[..., list[Effect]]) -> Callable[..., list[Effect]]:
        def wrapped(p: Process, sender: int, m: Message) -> list[Effect]:
            before = replace(p)
            effects = step(p, sender, m)
            try:
                if self.wrong is None:
                    self.saw(before, p, sender, m, effects)
            except AssertionError as error:  # not raised here, where it would be taken for one of the protocol
                self.wrong = error
            return effects

        return wrapped

    def saw(self, before: Process, p: Process, sender: int, m: Any, effects: Sequence[Effect]) -> None:
        if isinstance(m, Elected):
            self.joined.pop(p.id, None)
            self.elected[p.id] = m.leader
            if m.leader == p.id:
                self.iterations[p.id] = Followed(p.id, self.counts)
        if isinstance(m, messages.CEpoch) and p.leads and self.elected[sender] == p.id:
            self.joined[sender] = self.iterations[p.id]
        if any(isinstance(each, GiveUp) for each in effects):
            return
        assert not isinstance(m, Lost) or m.peer != before.leader, "a follower whose leader is lost leaves"
        handle = HANDLERS.get(type(m))
        own = self.iterations.get(p.id) if isinstance(m, LEADERS) else self.joined.get(p.id)
        if handle is not None and own is not None:
            was = own.facts
            handle(own, before, p, sender, m, effects)
            if p.leads and isinstance(m, LEADERS):
                self.check_sends(own, was, p, effects)
                for each in AT_ONCE:
                    waits = holds(each.some_unfinished(S), own.universe(), own.facts)
                    assert not waits, f"{each.step.name} follows at once where a quorum allows it"

    def check_sends(self, own: Followed, was: Facts, p: Process, effects: Sequence[Effect]) -> None:
        """Assert that the leader sends, and to whom, exactly what the steps add."""
        sends = [(own.current(each.to), each.message) for each in effects if isinstance(each, Send)]
        open_ones = {own.current(f) for f in p.links}
        for relation, kind in SENDS.items():
            added = {things[0] for fact, things in own.facts - was if fact == relation}
            assert {c for c, m in sends if isinstance(m, kind)} == added & open_ones, relation
        told = {fact[1] for fact in own.facts - was if fact[0] == "told"}
        covered = {
            (c, abstract(txn))
            for c, m in sends
            if isinstance(m, messages.CommitLd | messages.Commit) and p.proposed is not None
            for txn in p.proposed.up_to(m.zxid)
        }
        assert {(c, t) for c, t in told if c in open_ones} <= covered, "told"


S = Iteration()
AT_ONCE = (choosing_epoch, choosing_history, establishing, committing)
"""The stages that wait for a quorum, and for no message."""
SENDS: dict[str, type[Message]] = {
    "offered": messages.NewEpoch,
    "sent_history": messages.NewLeader,
    "released": messages.CommitLd,
    "sent": messages.Propose,
}
"""The relations of what is sent on a connection, each with its message."""


def on_cepoch(own: Followed, before: Process, p: Process, sender: int, m: messages.CEpoch, _: object) -> None:
    if not p.leads:
        return
    known = own.connections.setdefault(sender, [])
    known.append((name(sender), len(known) + 1))
    own.take(steps.connect, known[-1], given=frozenset({("promised", (known[-1], m.epoch))}))
    own.take(steps.hear_cepoch, known[-1])
    if p.new_epoch and not before.new_epoch:
        own.take(steps.choose_epoch, p.new_epoch, frozenset(map(name, p.promises)))


def on_newepoch(own: Followed, before: Process, p: Process, sender: int, m: messages.NewEpoch, to: object) -> None:
    if not to:
        return
    c, counts = own.current(p.id), m.epoch > before.accepted_epoch
    assert before.accepted_epoch in {f for d, f in own.of("promised") if d == c}, "f.p is that of CEPOCH"
    given: set[tuple[str, tuple[Thing, ...]]] = set()
    if counts:
        own.txns |= {abstract(txn) for txn in p.history}
        given = {("has_history", (name(p.id), abstract(txn))) for txn in p.history}
    own.take(steps.promise, c, given=frozenset(given))


def on_ack_e(own: Followed, before: Process, p: Process, sender: int, m: messages.AckE, _: object) -> None:
    if not p.leads or before.links.get(sender) is not Link.ASKED:
        return
    own.take(steps.hear_ack_e, own.current(sender))
    if before.proposed is None and p.proposed is not None:
        best = max(p.acks_e, key=lambda f: (p.acks_e[f].current_epoch, p.acks_e[f].history.zxid, -f))
        own.take(steps.choose_history, frozenset(map(name, p.acks_e)), name(best))
        assert {t for (t,) in own.of("initial")} == {abstract(txn) for txn in p.proposed}


def on_newleader(own: Followed, before: Process, p: Process, sender: int, m: object, to: Sequence[Effect]) -> None:
    if any(isinstance(each, Adopt) for each in to):
        c = own.current(p.id)
        own.take(steps.adopt, c)
        assert {t for d, t in own.of("accepted") if d == c} == {abstract(txn) for txn in p.history}


def on_ack_ld(own: Followed, before: Process, p: Process, sender: int, m: messages.AckLd, _: object) -> None:
    if not p.leads or before.links.get(sender) is not Link.PROPOSED:
        return
    own.take(steps.hear_ack_ld, own.current(sender))
    commit(own, before, p)
    if p.established and not before.established:
        own.take(steps.establish, frozenset(map(name, p.acks)))


def on_commit_ld(own: Followed, before: Process, p: Process, sender: int, m: object, to: Sequence[Effect]) -> None:
    if to:
        given = frozenset({("delivered", (name(p.id), abstract(txn))) for txn in before.delivered})
        own.take(steps.join, own.current(p.id), given=given)
        deliver(own, p, to)


def deliver(own: Followed, p: Process, to: Sequence[Effect]) -> None:
    """Deliver, or take over with a snapshot, what the process has not delivered, in this incarnation or an earlier."""
    restored = [txn for each in to if isinstance(each, Restore) for txn in p.base]
    for txn in [*restored, *(each.txn for each in to if isinstance(each, Deliver))]:
        if (name(p.id), abstract(txn)) not in own.of("delivered"):
            own.take(steps.deliver, own.current(p.id), abstract(txn))


def on_request(own: Followed, before: Process, p: Process, sender: int, m: object, to: Sequence[Effect]) -> None:
    for each in to:
        if isinstance(each, Broadcast):
            own.txns.add(abstract(each.txn))
            own.take(steps.broadcast, abstract(each.txn))


def on_propose(own: Followed, before: Process, p: Process, sender: int, m: messages.Propose, to: object) -> None:
    if to:
        own.take(steps.accept, own.current(p.id), abstract(m.txn))


def on_ack(own: Followed, before: Process, p: Process, sender: int, m: messages.Ack, _: object) -> None:
    if not p.leads or sender not in before.acks:
        return
    c = own.current(sender)
    for d, t in sorted(own.of("accepted"), key=str):
        if d == c and Zxid(*t[:2]) <= m.zxid and (name(sender), t) not in own.of("acked"):  # type: ignore[index, misc]  # a transaction
            own.take(steps.hear_ack, c, t)
    commit(own, before, p)


def commit(own: Followed, before: Process, p: Process) -> None:
    if before.established and p.committed > before.committed:
        assert p.proposed is not None
        *_, last = p.proposed.up_to(p.committed)
        own.take(steps.commit, abstract(last), frozenset(name(f) for f, z in p.acks.items() if z >= p.committed))


def on_commit(own: Followed, before: Process, p: Process, sender: int, m: object, to: Sequence[Effect]) -> None:
    deliver(own, p, to)


HANDLERS: dict[type, Callable[..., None]] = {
    messages.CEpoch: on_cepoch,
    messages.NewEpoch: on_newepoch,
    messages.AckE: on_ack_e,
    messages.NewLeader: on_newleader,
    messages.AckLd: on_ack_ld,
    messages.CommitLd: on_commit_ld,
    Request: on_request,
    messages.Propose: on_propose,
    messages.Ack: on_ack,
    messages.Commit: on_commit,
}
LEADERS = (messages.CEpoch, messages.AckE, messages.AckLd, Request, messages.Ack)
"""The messages that a leader handles; a follower handles the rest, in the iteration of the sender."""


def follow(protocol: Protocol, seed: int) -> Counter[str]:
    """Follow a run of the swarm, and return how often each step was taken. AssertionError if one is not possible."""
    watch = Watch()
    drive(Search(watch.watched(protocol), 3, None, 1, 80, quorums=Quorums(3)), [], seed)
    if watch.wrong is not None:
        raise watch.wrong
    for own in watch.iterations.values():
        for each in theory().conjuncts:
            assert holds(each.of(Iteration()), own.universe(), own.facts), each.name
    return watch.counts


@pytest.mark.parametrize("seeds", sweep([range(3), range(3, 150)], [range(3)]))
def test_each_message_is_an_instance_of_the_steps(seeds: range) -> None:
    taken = sum((follow(mutated("zab"), seed) for seed in seeds), Counter[str]())
    assert {*taken} == {each.name for each in steps.STEPS}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_known_bug_does_not_take_the_steps(mutant: str) -> None:
    protocol = mutated("zab", mutant)

    def follow_all() -> None:
        for seed in range(20):
            follow(protocol, seed)

    with pytest.raises(AssertionError):
        follow_all()

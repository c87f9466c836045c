"""The steps of the abstraction: what Zab may do in one of them, for any processes, epochs and transactions.

Each has a condition, and additions to the relations. A message is not modelled: a step needs the content of its
message to be true, not the message to be in transit. That allows more than any network does, so the proof
holds for every network, however it loses, delays, repeats or reorders; of the channel's FIFO order only the part in a
step's condition is used (f.3.2, f.3.3).
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from zabcheck.proof.logic import (
    TRUE,
    ZERO,
    Epoch,
    Formula,
    Node,
    Quorum,
    Term,
    Transaction,
    epoch_of,
    every,
    member,
    parameters,
    same,
)
from zabcheck.proof.relations import RELATIONS, Relations, State, WithHistories


class Addition(Struct, frozen=True):
    """An addition of a step to a relation: all tuples of which `formula` is true."""

    relation: str
    variables: tuple[Term, ...]
    formula: Formula


class Replacement(Addition, frozen=True):
    """A relation's new content: the tuples of which `formula` is true, and no others."""


class Change(Struct, frozen=True):
    """The condition of a step, and its additions and replacements."""

    when: Formula
    adds: tuple[Addition, ...]


class Step(Struct, frozen=True):
    """A step, with its terms: a process, an epoch."""

    name: str
    number: str
    text: str
    terms: tuple[Term, ...]
    says: Callable[..., Change]
    about: type[Relations] = State

    @property
    def change(self) -> Change:
        """Return the condition and the additions of the step for its terms."""
        return self.says(self.about(), *self.terms)


def add(relation: str, *terms: Term) -> Addition:
    """Add one tuple to a relation."""
    variables = tuple(type(term)("x") for term in terms)
    equal = [same(variable, term) for variable, term in zip(variables, terms, strict=True)]
    formula = equal[0] if equal else TRUE
    for each in equal[1:]:
        formula &= each
    return Addition(relation, variables, formula)


def add_all(
    relation: str, which: Callable[..., Formula], among: Mapping[str, tuple[type[Term], ...]] = RELATIONS
) -> Addition:
    """Add to a relation, which is one of `among`, everything of which `which` is true."""
    variables = tuple(sort("x") for sort in among[relation])
    return Addition(relation, variables, which(*variables))


def step(number: str, about: type[Relations] = State) -> Callable[[Callable[..., Change]], Step]:
    """Make a step of a definition with the paper's number."""

    def make(function: Callable[..., Change]) -> Step:
        terms = parameters(function)
        name = function.__name__.replace("_", " ")
        return Step(name, number, (function.__doc__ or "").strip(), terms, function, about)

    return make


@step("f.1.2")
def promise(s: State, n: Node, e: Epoch, l: Node) -> Change:
    """A follower n promises e to l if f.p < e: so it leaves all earlier epochs. f.p is on its disk before the ACK-E."""
    return Change(
        when=(ZERO < e) & fresh(s, n, e),
        adds=(add("promised", n, e, l), leave_before(n, e)),
    )


def fresh(s: State, n: Node, e: Epoch) -> Formula:
    """Return the formula that f.p < e: n promised neither e nor anything later."""
    return ~s.left(n, e) & every(lambda k: ~s.promised(n, e, k), Node)


def leave_before(n: Node, e: Epoch) -> Addition:
    """Return the additions by which n leaves all epochs before e."""
    return add_all("left", lambda m, d: same(m, n) & (d < e))


@step("l.1.2")
def choose(s: State, e: Epoch, l: Node, q: Quorum, b: Node, a: Epoch, z: Transaction) -> Change:
    """With ACK-Es of a quorum q, l takes as I_e the history of b, whose (f.a, f.zxid) = (a, z) is the highest in q."""
    return Change(
        when=promised_by_all(s, e, l, q) & has_latest_epoch(s, e, q, b, a) & has_last_zxid(s, q, b, a, z),
        adds=take_history(s, e, l, b, a),
    )


@step("l.1.2")
def choose_empty(s: State, e: Epoch, l: Node, q: Quorum, b: Node, a: Epoch) -> Change:
    """The same step where the histories of the latest f.a are empty: I_e is empty."""
    nothing = every(lambda n, t: member(n, q) >> ~s.accepted(n, a, t), Node, Transaction)
    return Change(
        when=promised_by_all(s, e, l, q) & has_latest_epoch(s, e, q, b, a) & nothing,
        adds=take_history(s, e, l, b, a),
    )


def promised_by_all(s: State, e: Epoch, l: Node, q: Quorum) -> Formula:
    """Return the formula that all of q promised e to l, which has not yet chosen I_e.

    A leader that crashes cannot come back to an epoch for which it chose: of any quorum that then sends CEPOCH, one has
    promised that epoch, so the leader has to propose a greater one (l.1.1).
    """
    return ~s.led(e, l) & every(lambda n: member(n, q) >> s.promised(n, e, l), Node)


def has_latest_epoch(s: State, e: Epoch, q: Quorum, b: Node, a: Epoch) -> Formula:
    """Return the formula that b is in q and its f.a before e is a, and that none in q has a later one."""
    latest = every(lambda n, d: (member(n, q) & s.adopted(n, d) & (d < e)) >> (d <= a), Node, Epoch)
    return member(b, q) & s.adopted(b, a) & (a < e) & latest


def has_last_zxid(s: State, q: Quorum, b: Node, a: Epoch, z: Transaction) -> Formula:
    """Return the formula that z is in b's history, and that none in q whose f.a is a has a later transaction."""
    return s.accepted(b, a, z) & every(lambda n, t: (member(n, q) & s.accepted(n, a, t)) >> (t <= z), Node, Transaction)


def take_history(s: State, e: Epoch, l: Node, b: Node, a: Epoch) -> tuple[Addition, ...]:
    """Return the additions by which l leads e, with b's history as the initial one."""
    return (
        add("led", e, l),
        add("opened", e),
        add_all("initial", lambda f, t: same(f, e) & s.accepted(b, a, t)),
    )


@step("f.2.1")
def adopt(s: State, n: Node, e: Epoch, k: Node) -> Change:
    """With NEWLEADER(e, I_e) and f.p = e, n sets f.a to e and accepts I_e, in one write.

    n may have promised e to another leader, which failed, and join this one (its ACK-E did not count).
    """
    return Change(
        when=s.opened(e) & s.promised(n, e, k) & ~s.left(n, e),
        adds=(add("adopted", n, e), add_all("accepted", lambda m, f, t: same(m, n) & same(f, e) & s.initial(e, t))),
    )


@step("l.3.3")
def adopt_late(s: State, n: Node, e: Epoch, k: Node, z: Transaction) -> Change:
    """A late joiner gets NEWLEADER(e, I_e ∘ β_e), where β_e goes as far as z: it accepts all of the history up to z."""
    up_to_z = add_all("accepted", lambda m, f, t: same(m, n) & same(f, e) & s.history(e, t) & (t <= z))
    return Change(
        when=s.opened(e) & s.promised(n, e, k) & ~s.left(n, e) & s.proposed(e, z),
        adds=(add("adopted", n, e), up_to_z),
    )


@step("l.2.2")
def establish(s: State, e: Epoch, l: Node, q: Quorum) -> Change:
    """With ACK-LDs of a quorum q, l is established, and I_e is committed."""
    return Change(
        when=s.led(e, l) & every(lambda n: member(n, q) >> s.adopted(n, e), Node),
        adds=(add("established", e, l), add_all("committed", lambda f, t: same(f, e) & s.initial(e, t))),
    )


@step("l.3.1")
def broadcast(s: State, e: Epoch, l: Node, t: Transaction) -> Change:
    """The established leader l, which has delivered I_e (f.2.2, f.3.1), broadcasts t of e, greater than all in H(e)."""
    return Change(
        when=s.established(e, l)
        & every(lambda u: s.initial(e, u) >> s.delivered(l, u), Transaction)
        & is_next(s, e, t),
        adds=propose(s, e, l, t),
    )


def propose(s: State, e: Epoch, l: Node, t: Transaction) -> tuple[Addition, ...]:
    """Return the additions by which l broadcasts t in e, knowing all that it has delivered."""
    return (add("proposed", e, t), add_all("knew", lambda u, v: same(u, t) & s.delivered(l, v)))


def is_next(s: WithHistories, e: Epoch, t: Transaction) -> Formula:
    """Return the formula that t is of e, and greater than all in the history of e."""
    return same(epoch_of(t), e) & every(lambda u: s.history(e, u) >> (u < t), Transaction)


@step("f.3.2")
def accept(s: State, n: Node, e: Epoch, t: Transaction) -> Change:
    """A follower of e that promised nothing later accepts t. The channel is FIFO, so it has all before t in H(e)."""
    return Change(
        when=s.adopted(n, e) & ~s.left(n, e) & s.proposed(e, t) & has_all_before(s, n, e, t),
        adds=(add("accepted", n, e, t),),
    )


def has_all_before(s: State, n: Node, e: Epoch, t: Transaction) -> Formula:
    """Return the formula that n accepted in e everything before t in H(e)."""
    return every(lambda u: (s.history(e, u) & (u < t)) >> s.accepted(n, e, u), Transaction)


@step("l.3.2")
def commit(s: State, e: Epoch, l: Node, t: Transaction, q: Quorum) -> Change:
    """With ACKs of t from a quorum q, the leader commits t, and whatever comes before t in H(e)."""
    return Change(
        when=s.established(e, l) & s.proposed(e, t) & every(lambda n: member(n, q) >> s.accepted(n, e, t), Node),
        adds=(commit_up_to(s, e, t),),
    )


def commit_up_to(s: WithHistories, e: Epoch, t: Transaction) -> Addition:
    """Return the addition that commits the history of e up to t."""
    return add_all("committed", lambda f, u: same(f, e) & s.history(e, u) & (u <= t))


@step("f.3.3")
def deliver(s: State, n: Node, e: Epoch, t: Transaction) -> Change:
    """A process delivers t, committed in e, after all that come before t in H(e) (f.2.2 likewise).

    It need not have accepted t durably: it may deliver what it has not synced yet, as a quorum has.
    """
    before = every(lambda u: (s.history(e, u) & (u < t)) >> s.delivered(n, u), Transaction)
    return Change(when=s.committed(e, t) & before, adds=(add("delivered", n, t),))


STEPS = (promise, choose, choose_empty, adopt, adopt_late, establish, broadcast, accept, commit, deliver)
"""All steps, in the order of the paper's phases."""


def start(s: State) -> Formula:
    """Return the formula of the start: every process is in epoch 0, with an empty history, and nothing has happened."""
    return (
        every(lambda n, e: same(e, ZERO) >> s.adopted(n, e), Node, Epoch)
        & every(lambda n, e: s.adopted(n, e) >> same(e, ZERO), Node, Epoch)
        & every(lambda e: s.opened(e) >> same(e, ZERO), Epoch)
        & s.opened(ZERO)
        & every(lambda n, e, l: ~s.promised(n, e, l), Node, Epoch, Node)
        & every(lambda n, e: ~s.left(n, e), Node, Epoch)
        & every(lambda e, l: ~s.led(e, l) & ~s.established(e, l), Epoch, Node)
        & every(lambda e, t: ~s.initial(e, t) & ~s.proposed(e, t) & ~s.committed(e, t), Epoch, Transaction)
        & every(lambda n, e, t: ~s.accepted(n, e, t), Node, Epoch, Transaction)
        & every(lambda n, t: ~s.delivered(n, t), Node, Transaction)
        & every(lambda t, u: ~s.knew(u, t), Transaction, Transaction)
    )

"""Liveness (DSN 2011, VI-D, claim 7): the stages through which a lasting connection gets, and the rule that joins them.

A stage is a step that *waits* to be taken, by one formula, until it is *done*, by another. Fairness: a step that waits
for ever, of the leader or on a lasting connection, is taken.

The rule. For a transaction t of the history let W be all stages of the leader and of the lasting connections, each with
the transactions up to t. They are finitely many, and stay the same ones (`nothing comes before`). As long as t is not
delivered on each lasting connection, some stage of W waits: let one connection not be in phase 3 (`somebody waits to
join`), or else one transaction up to t not be accepted (`… to accept`), or else not committed (`… to commit`), or else
not delivered (`… to deliver`). Its step is possible (`… is possible`) and waits until it is done (`waiting for …`), so
by fairness it is taken, and then the stage is done (`… ends its stage`). It stays done, for relations only grow. So
after finitely many steps of W, and any number of others, t is delivered on each lasting connection.
"""

from collections.abc import Callable
from functools import partial

from msgspec import Struct

from zabcheck.proof.conjuncts import Claim, claim
from zabcheck.proof.liveness import steps
from zabcheck.proof.liveness.iteration import Iteration
from zabcheck.proof.logic import (
    TRUE,
    Atom,
    Both,
    Connection,
    Either,
    Exists,
    ForAll,
    Formula,
    Node,
    Not,
    Quorum,
    Term,
    Transaction,
    every,
    follower,
    parameters,
    some,
)
from zabcheck.proof.relations import Relations
from zabcheck.proof.steps import Step


class Stage(Struct, frozen=True):
    """A step for which its terms may wait, and the fact by which it is done."""

    step: Step
    terms: tuple[Term, ...]
    waits: Callable[..., Formula]
    done: Callable[..., Formula]

    def unfinished(self, s: Iteration, *terms: Term) -> Formula:
        """Return the formula that the stage waits, and is not done."""
        return self.waits(s, *terms) & ~self.done(s, *terms)

    def some_unfinished(self, s: Iteration, up_to: Transaction | None = None) -> Formula:
        """Return the formula that the stage waits for a lasting connection, with a transaction up to one."""
        terms = tuple(type(term)(term.name) for term in self.terms)
        waits = self.unfinished(s, *terms)
        for term in terms:
            if isinstance(term, Connection):
                waits &= s.lasting(term)
            if isinstance(term, Transaction) and up_to is not None:
                waits &= term <= up_to
        return Exists(terms, waits) if terms else waits

    @property
    def possible(self) -> Claim:
        """Return the claim that the step is possible where the stage of a lasting connection waits."""

        def says(s: Iteration, *terms: Term) -> Formula:
            lasting = Both(tuple(s.lasting(term) for term in terms if isinstance(term, Connection)))
            others = tuple(type(term)(term.name) for term in self.step.terms[len(terms) :])
            when = self.step.says(s, *terms, *others).when
            return (lasting & self.unfinished(s, *terms)) >> (Exists(others, when) if others else when)

        text = f"Step {self.step.number} is possible for a lasting connection that waits for it."
        return Claim(f"{self.step.name} is possible", text, self.terms, says)

    @property
    def stays(self) -> Claim | None:
        """Return the claim that the stage waits until it is done; None if it does as relations only grow."""
        if is_positive(self.waits(Iteration(), *self.terms)):
            return None
        text = f"What waits for step {self.step.number} goes on waiting until it is done."
        return KeptClaim(f"waiting for {self.step.name}", text, self.terms, self.waits)

    @property
    def ends(self) -> Claim:
        """Return the claim that the step ends the stage."""
        text = f"After step {self.step.number} its stage is done."
        return EndedClaim("its stage is done", text, self.step.terms[: len(self.terms)], self.done)


def is_positive(formula: Formula, positive: bool = True) -> bool:
    """Return True if no relation that steps change is denied in a formula: once true, it stays true."""
    match formula:
        case Atom(relation):
            return positive or relation not in Iteration.relations
        case Not(inner):
            return is_positive(inner, not positive)
        case Both(formulas) | Either(formulas):
            return all(is_positive(each, positive) for each in formulas)
        case ForAll(_, inner) | Exists(_, inner):
            return is_positive(inner, positive)
    return True


STAGES: list[Stage] = []
"""All stages, in the order of the paper's phases."""


def stage(step: Step, done: Callable[..., Formula]) -> Callable[[Callable[..., Formula]], Stage]:
    """Make a stage of a definition of what waits, and of what is done."""

    def make(waits: Callable[..., Formula]) -> Stage:
        made = Stage(step, parameters(waits), waits, done)
        STAGES.append(made)
        return made

    return make


def by_a_quorum(body: Callable[[Node], Formula]) -> Formula:
    """Return the formula that `body` is true of all of some quorum."""
    return some(lambda q: steps.all_of(q, body), Quorum)


@stage(steps.connect, Iteration.opened)
def connecting(s: Iteration, c: Connection) -> Formula:
    """Every follower with a lasting connection opens it."""
    return TRUE


@stage(steps.hear_cepoch, Iteration.asked)
def asking(s: Iteration, c: Connection) -> Formula:
    """CEPOCH is on its way."""
    return s.opened(c)


@stage(steps.choose_epoch, Iteration.epoch_chosen)
def choosing_epoch(s: Iteration) -> Formula:
    """The CEPOCHs of a quorum are there."""
    return by_a_quorum(s.counted)


@stage(steps.promise, Iteration.answered)
def promising(s: Iteration, c: Connection) -> Formula:
    """NEWEPOCH is on its way."""
    return s.offered(c)


@stage(steps.hear_ack_e, lambda s, c: s.discovered(c) | s.sent_history(c))
def providing(s: Iteration, c: Connection) -> Formula:
    """ACK-E is on its way."""
    return s.answered(c)


@stage(steps.choose_history, Iteration.history_chosen)
def choosing_history(s: Iteration) -> Formula:
    """The ACK-Es of a quorum are there."""
    return s.epoch_chosen() & by_a_quorum(s.provided)


@stage(steps.adopt, Iteration.adopted)
def adopting(s: Iteration, c: Connection) -> Formula:
    """NEWLEADER is on its way, to who has answered NEWEPOCH."""
    return s.sent_history(c) & s.answered(c)


@stage(steps.hear_ack_ld, Iteration.synced)
def syncing(s: Iteration, c: Connection) -> Formula:
    """ACK-LD is on its way."""
    return s.adopted(c)


@stage(steps.establish, Iteration.established)
def establishing(s: Iteration) -> Formula:
    """The ACK-LDs of a quorum are there."""
    return s.history_chosen() & by_a_quorum(s.acknowledged)


@stage(steps.join, Iteration.joined)
def joining(s: Iteration, c: Connection) -> Formula:
    """COMMIT-LD is on its way."""
    return s.released(c) & s.adopted(c)


@stage(steps.accept, Iteration.accepted)
def accepting(s: Iteration, c: Connection, t: Transaction) -> Formula:
    """PROPOSE(t) is the next message that the follower gets."""
    return s.sent(c, t) & s.adopted(c) & steps.got_all_before(s, c, t)


@stage(steps.hear_ack, lambda s, c, t: s.acked(follower(c), t))
def acking(s: Iteration, c: Connection, t: Transaction) -> Formula:
    """ACK(t) is on its way."""
    return s.accepted(c, t) & s.synced(c)


@stage(steps.commit, Iteration.committed)
def committing(s: Iteration, t: Transaction) -> Formula:
    """The ACKs of a quorum are there."""
    return s.established() & s.history(t) & by_a_quorum(lambda n: s.acked(n, t))


@stage(steps.deliver, lambda s, c, t: s.delivered(follower(c), t))
def delivering(s: Iteration, c: Connection, t: Transaction) -> Formula:
    """COMMIT-LD or COMMIT covers t, which is the next that the follower delivers."""
    return s.joined(c) & s.told(c, t) & s.accepted(c, t) & steps.delivered_all_before(s, c, t)


def some_waits(s: Iteration, *stages: Stage, up_to: Transaction | None = None) -> Formula:
    """Return the formula that one of these stages waits, for a lasting connection and a transaction up to one."""
    return Either(tuple(each.some_unfinished(s, up_to) for each in stages))


@claim
def somebody_waits_to_join(s: Iteration, c: Connection) -> Formula:
    """Until each lasting connection is in phase 3, a stage of phase 1 or 2 waits."""
    phases = STAGES[: STAGES.index(joining) + 1]  # they stand in the order in which a connection gets through them
    return (s.lasting(c) & ~s.joined(c)) >> some_waits(s, *phases)


@claim
def somebody_waits_to_accept(s: Iteration, c: Connection, t: Transaction) -> Formula:
    """Until a follower in phase 3 accepted a transaction of the history, it waits to accept one up to it."""
    left = s.lasting(c) & s.joined(c) & s.history(t) & ~s.accepted(c, t)
    return left >> some_waits(s, accepting, up_to=t)


@claim
def somebody_waits_to_commit(s: Iteration, t: Transaction) -> Formula:
    """Until a transaction that all accepted is committed, an ACK of it waits to be heard, or the commit waits."""
    by_all = every(lambda c: s.lasting(c) >> (s.joined(c) & s.accepted(c, t)), Connection)
    return (s.history(t) & by_all & ~s.committed(t)) >> some_waits(s, acking, committing, up_to=t)


@claim
def somebody_waits_to_deliver(s: Iteration, c: Connection, t: Transaction) -> Formula:
    """Until a follower delivered a committed transaction, it waits to deliver one up to it."""
    up_to_t = every(lambda u: (s.history(u) & (u <= t)) >> (s.accepted(c, u) & s.committed(u)), Transaction)
    left = s.lasting(c) & s.joined(c) & s.history(t) & up_to_t & ~s.delivered(follower(c), t)
    return left >> some_waits(s, delivering, up_to=t)


PROPERTIES = (somebody_waits_to_join, somebody_waits_to_accept, somebody_waits_to_commit, somebody_waits_to_deliver)
"""The properties that have to follow besides: as long as something is left to be done, a stage waits."""


class KeptClaim(Claim, frozen=True):
    """A claim about a step: if its formula is true before, then also after. It need not be true in every state."""

    def goal(self, before: Relations, after: Relations) -> Formula:
        return ForAll(self.terms, self.says(before, *self.terms) >> self.says(after, *self.terms))


@partial(claim, kind=KeptClaim)
def nothing_comes_before(s: Iteration, t: Transaction, u: Transaction) -> Formula:
    """Nothing is added to the history of e' before what is in it, so finitely many stages are about what is up to t."""
    return s.history(t) & (u < t) & ~s.history(u)


class EndedClaim(Claim, frozen=True):
    """A claim about a step for its own terms: after it, its stage is done."""

    def goal(self, before: Relations, after: Relations) -> Formula:
        return self.says(after, *self.terms)

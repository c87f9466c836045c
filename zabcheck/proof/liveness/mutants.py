"""Zab's known bugs that break liveness: each as a step replaced, or one more, of an iteration."""

from msgspec import Struct, structs

from zabcheck.proof.liveness import steps
from zabcheck.proof.liveness.iteration import Iteration
from zabcheck.proof.liveness.stages import STAGES
from zabcheck.proof.liveness.steps import STEPS, add_all, step
from zabcheck.proof.liveness.theory import theory
from zabcheck.proof.logic import FALSE, Connection, Formula, Node, Quorum, Transaction, every, follower, member, same
from zabcheck.proof.obligations import Theory
from zabcheck.proof.steps import Change, Step, add


@step("f.1.1")
def connect_unless_abandoned(s: Iteration, c: Connection) -> Change:
    """A follower does not notice that its leader has closed their connection, and goes on waiting for it."""
    return Change(when=~s.opened(c) & ~s.abandoned(c), adds=(add("opened", c),))


@step("l.3.3")
def hear_cepoch_early(s: Iteration, c: Connection) -> Change:
    """The established leader does not answer the CEPOCH of a process that has acknowledged nothing."""
    answers = s.epoch_chosen() & (~s.established() | s.acknowledged(follower(c)))
    return steps.get_cepoch(s, c, s.epoch_chosen() & answers, s.history_chosen() & answers)


@step("l.3.4")
def release_with_the_initial_history(s: Iteration, c: Connection) -> Change:
    """COMMIT-LD to a late joiner covers the initial history, and not what was committed since."""
    return Change(
        when=s.adopted(c) & ~s.synced(c),
        adds=(*steps.count_ack_ld(s, c), *steps.release(s, c, s.established(), s.initial)),
    )


@step("l.3.4")
def release_nobody_late(s: Iteration, c: Connection) -> Change:
    """The established leader answers no ACK-LD."""
    return Change(
        when=s.adopted(c) & ~s.synced(c), adds=(*steps.count_ack_ld(s, c), *steps.release(s, c, FALSE, s.committed))
    )


@step("l.3.4")
def release_then_count(s: Iteration, c: Connection, t: Transaction, q: Quorum) -> Change:
    """COMMIT-LD covers what was committed before its ACK-LD counted; the commit that this allows is told to others."""
    others = every(lambda n: member(n, q) >> (s.acked(n, t) | same(n, follower(c))), Node)
    allows = s.established() & s.carried(c, t) & s.history(t) & ~s.committed(t) & others
    committed, told = steps.commit_up_to(s, t, s.synced)

    def covers(d: Connection, u: Transaction) -> Formula:
        return (same(d, c) & s.committed(u)) | (s.synced(d) & s.history(u) & (u <= t))

    return Change(
        when=s.adopted(c) & ~s.synced(c) & allows,
        adds=(*steps.count_ack_ld(s, c), add("released", c), committed, add_all(told.relation, covers)),
    )


@step("l.3.2")
def commit_until_somebody_returns(s: Iteration, t: Transaction, q: Quorum) -> Change:
    """The established leader commits nothing any more once a follower has come back."""
    nobody = every(lambda n: ~s.returned(n), Node)
    return Change(when=steps.can_commit(s, t, q) & nobody, adds=steps.commit_up_to(s, t, s.synced))


@step("l.3.1")
def broadcast_to_synced(s: Iteration, t: Transaction) -> Change:
    """The leader proposes to those whose ACK-LD it has, and not to those that it sent NEWLEADER."""
    return Change(when=steps.broadcast.says(s, t).when, adds=steps.propose(t, s.synced))


class Mutant(Struct, frozen=True):
    """A known bug in an iteration: a wrong step, which replaces one or is one more."""

    step: Step
    replaced: Step | None = None

    def theory(self) -> Theory:
        """Return the theory to prove, which should not succeed."""
        if self.replaced is None:
            return theory((*STEPS, self.step))
        changed = [structs.replace(each, step=self._changed(each.step)) for each in STAGES]
        return theory(tuple(map(self._changed, STEPS)), changed)

    def _changed(self, step: Step) -> Step:
        return self.step if step is self.replaced else step


MUTANTS = {
    "ignore-closed-connection": Mutant(connect_unless_abandoned, steps.connect),
    "late-cepoch-unanswered": Mutant(hear_cepoch_early, steps.hear_cepoch),
    "commit-ld-initial": Mutant(release_with_the_initial_history, steps.hear_ack_ld),
    "late-ack-ld-unanswered": Mutant(release_nobody_late, steps.hear_ack_ld),
    "commit-ld-before-counting": Mutant(release_then_count),
    "no-acks-after-return": Mutant(commit_until_somebody_returns, steps.commit),
    "propose-to-acked-only": Mutant(broadcast_to_synced, steps.broadcast),
}
"""The mutants of `zabcheck list mutants` that an iteration can express."""

"""The witness of a claim that is false."""

from collections.abc import Callable

import pytest

from tests.counterexample.induction import states
from zabcheck.proof.counterexample import SENTENCES, Counterexample, say, witness
from zabcheck.proof.finite import SMALL, holds
from zabcheck.proof.implemented.servers import Servers
from zabcheck.proof.liveness.iteration import Iteration
from zabcheck.proof.logic import Formula, Node, Transaction, every, some
from zabcheck.proof.reconfiguration.relations import Configured
from zabcheck.proof.relations import State

S = State()
A, B, *_ = SMALL.transactions
EVERYBODY = every(lambda n, t: S.delivered(n, t), Node, Transaction)
SOMEBODY = some(lambda n, t: S.delivered(n, t), Node, Transaction)
NOBODY = ~SOMEBODY


@pytest.mark.parametrize(
    ("formula", "witnessed"),
    [
        (EVERYBODY, [(("delivered", ("p1", A)), False)]),
        (SOMEBODY, [(("delivered", ("p2", B)), True)]),
        (NOBODY, [(("delivered", ("p2", B)), True)]),
    ],
)
def test_one_part_decides_if_it_can(formula: Formula, witnessed: list[object]) -> None:
    assert [*witness(formula, SMALL, frozenset({("delivered", ("p2", B))}), {})] == witnessed


def test_all_parts_decide_if_none_does_alone() -> None:
    found = witness(SOMEBODY, SMALL, frozenset(), {})
    assert len(found) == len(SMALL.nodes) * len(SMALL.transactions)
    assert not any(is_so for _, is_so in found)


@pytest.mark.parametrize("made", [states.stale_proposal, states.promise_not_on_disk, states.new_history])
def test_a_state_with_the_same_witness_breaks_the_claim(made: Callable[[], Counterexample]) -> None:
    """Facts that are not in the witness do not matter: without them, and with all else, the claim is false, too."""
    found = made()
    claim = found.obligation.claim
    bound = {term.number: found.broken[term.name] for term in claim.terms}
    so = frozenset(fact for fact, is_so in found.witness if is_so)
    assert so <= found.after
    assert not holds(claim.says(S, *claim.terms), SMALL, so, bound)


def test_each_relation_can_be_said_and_denied() -> None:
    assert {about: sorted(told) for about, told in SENTENCES.items()} == {
        about: sorted(about.relations) for about in (State, Iteration, Servers, Configured)
    }
    assert (
        say(Iteration, ("told", (("p2", 1), A)), False) == "no COMMIT or COMMIT-LD on p2's connection 1 covers a⟨1,1⟩"
    )
    assert say(State, ("accepted", ("p1", 2, A))) == "p1 accepted a⟨1,1⟩ in epoch 2"
    assert say(State, ("knew", (B, A)), False) == "the primary of b⟨1,2⟩ had not delivered a⟨1,1⟩"

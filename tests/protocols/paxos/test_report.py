"""The report of a run of Paxos: what an acceptor accepts is shown instance by instance."""

from tests.protocols.paxos.builders import A, B
from tests.protocols.paxos.test_runs import load
from zabcheck.counterexample.explain import explain_replay
from zabcheck.counterexample.story import Change, states_after
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.paxos import show
from zabcheck.protocols.paxos.messages import NO_OP, Chosen, Join, Phase1a, Phase1b, Phase2a, Phase2b, Proposal
from zabcheck.search.run import replay


def test_a_message_is_told_with_its_ballot_instance_and_value() -> None:
    told = {
        Join(3, 7): ("JOIN", "3"),
        Phase1a(4, 27): ("1A", "4, from 27 on"),
        Phase1b(4, ((27, Proposal(1, A)), (28, Proposal(2, NO_OP)))): ("1B", "4, 27: A⟨1,1⟩ of 1, 28: no-op of 2"),
        Phase1b(4, ()): ("1B", "4"),
        Phase2a(4, 27, (*A, *B)): ("2A", "4, 27: A⟨1,1⟩ + B⟨1,2⟩"),
        Phase2b(4, 27): ("2B", "4, 27"),
        Chosen(27, A): ("CHOSEN", "27: A⟨1,1⟩"),
    }
    assert {message: show(message) for message in told} == told
    assert {type(message) for message in told} == set(PROTOCOLS["paxos"].kinds)


def test_what_is_accepted_instead_of_something_else_shows_as_a_change_of_its_instance() -> None:
    story = explain_replay(replay(load("figure-1-shortest")))
    [moment] = [moment for moment in story.moments if moment.step == 21]
    assert moment.changes[1] == (Change("accepted 1", ("v1⟨1,1⟩ of 1",), ("v3⟨2,1⟩ of 3",), is_sequence=False),)


def test_what_a_crash_costs_an_acceptor_is_gone() -> None:
    story = explain_replay(replay(load("one-proposer")))
    position, moment = next((i, each) for i, each in enumerate(story.moments) if each.action == "recover")
    lost = [change for change in moment.changes[1] if change.variable.startswith("accepted")]
    assert lost == [
        Change("accepted 1", ("v1⟨1,1⟩ of 1",), ("⊥",), is_sequence=False),
        Change("accepted 2", ("v2⟨1,2⟩ of 1",), ("⊥",), is_sequence=False),
    ]
    assert states_after(story, position)[1]["accepted 1"] == "⊥"

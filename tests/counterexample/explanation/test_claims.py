"""Claims of explanations, compared with the events of the same trace: in thousands of counterexamples."""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from invariants import (
    AckEpoch,
    CommitEpoch,
    Event,
    Ready,
    Stabilised,
    Zxid,
    check,
)
from invariants.events import Header
from tests.counterexample.explanation.claims import wrong_claims
from tests.counterexample.explanation.explanations import judged, numbered, story
from tests.counterexample.explanation.test_explanation import claimed
from tests.invariants.builders import (
    A,
    B,
    Order,
    accepts,
    ack_epoch,
    adopt,
    broadcasts,
    deliveries,
    judge,
    merge,
    whole,
)
from tests.invariants.protocol_traces import random_protocol_trace
from tests.invariants.traces import RandomTrace, random_trace
from tests.search.builders import RECORDED
from tests.tiers import sweep
from zabcheck.counterexample.explanation.sentences import explanation
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.protocols import PROTOCOLS
from zabcheck.search.run import Search, replay
from zabcheck.search.swarm import find


@pytest.mark.parametrize("name", sweep(RECORDED, normal=list(RECORDED)[::36]))
def test_claims_of_a_recorded_run_are_true(name: str) -> None:
    told = story(name)
    assert wrong_claims(told.explanation, told.trace) == []


@pytest.mark.parametrize(
    "seeds", sweep([range(60), *(range(n, n + 500) for n in range(60, 1060, 500))], [range(60)]), ids=str
)
@pytest.mark.parametrize("make", [random_trace, random_protocol_trace])
@pytest.mark.parametrize("order", ["global", "per-process"])
def test_claims_of_random_traces_are_true(make: Callable[[int], RandomTrace], order: Order, seeds: range) -> None:
    explained = 0
    for seed in seeds:
        events = make(seed).events
        if order == "per-process":
            events = merge(Random(seed), events)
        explained += assert_true(whole(events, order), order == "global", f"seed {seed}")
    assert explained > len(seeds) // 2


def assert_true(lines: Sequence[Event], ordered: bool, where: str) -> int:
    """Compare what is said of each violation; return how many there are."""
    events = list(enumerate(lines[1:-1], 1))
    header = lines[0]
    assert isinstance(header, Header)
    explained = 0
    for verdict in check(lines):
        if verdict.violation is not None:
            explained += 1
            sentences = explanation(verdict.violation, events, "line", ordered, header.quorums)
            assert wrong_claims(sentences, events, ordered) == [], f"{verdict.property}, {where}: {sentences}"
            for kinds, process, txn, line in claimed(sentences):
                event = events[line - 1][1]
                assert isinstance(event, kinds), f"{verdict.property}, {where}: {sentences}"
                assert getattr(event, "process", None) == process, f"{verdict.property}, {where}: {sentences}"
                assert txn in (None, str(getattr(event, "txn", txn))), f"{verdict.property}, {where}: {sentences}"
    return explained


LATE = ("accept-past-a-hole", "count-from-nothing", "lossy-old-iteration")
SOON = [name for name, bug in CATALOGUE.items() if bug.protocol == "zab" and name not in LATE]
"""The bugs of Zab that short runs of few processes show: the others take the default search hundreds of longer ones."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SOON[::5])
def test_claims_of_runs_that_are_not_minimised_are_true(name: str) -> None:
    mutant = CATALOGUE[name]
    protocol = mutant.apply(PROTOCOLS[mutant.protocol])
    whichever = find(Search(protocol, mutant.processes, None, 1000, 120, 1))
    assert whichever is not None
    assert assert_true(replay(whichever.schedule).events, True, name)
    for property_ in mutant.breaks:
        broken = find(Search(protocol, mutant.processes, (property_,), 100, 120, 1))
        if broken is not None:
            assert assert_true(replay(broken.schedule).events, True, f"{name}, {property_}")


# What was wrong.


def sentences_of(name: str, *events: Event) -> tuple[str, ...]:
    violation, shown = judged(name, *events)
    return explanation(violation, numbered(shown))


def test_a_delivery_before_the_broadcast_phase_is_no_other_order() -> None:
    """A COMMIT that comes before COMMIT-LD: the phase begins behind the first broadcast."""
    events = [*broadcasts(1, 1, A, B), adopt(2, 1), *deliveries(2, A), CommitEpoch(2, 0, 1), *deliveries(2, B)]
    text = sentences_of("invariant 5", *events)
    assert text[1] == (
        "p1, primary of epoch 1, broadcast a⟨1,1⟩ at step 1 and then b⟨1,2⟩ at step 2; a⟨1,1⟩ was delivered at step 4, "
        "before that phase."
    )
    assert text[-1] == "So that phase began at p2 behind a⟨1,1⟩, the first that epoch 1 broadcast."


def test_a_leader_that_is_ready_and_idle_is_told_in_whole_sentences() -> None:
    calm = Stabilised(1, 0, (1, 2))
    assert "It became ready to broadcast in epoch 1 at step 2, and yet never did." in sentences_of(
        "convergence", calm, Ready(1, 0, 1)
    )
    used = sentences_of("convergence", *broadcasts(1, 1, A), calm, Ready(1, 0, 1))
    assert "It became ready to broadcast at step 3, but in epoch 1, in which p1 broadcast a⟨1,1⟩ at step 1." in used


def test_what_a_process_had_and_had_not_synced_it_is_not_said_to_lack() -> None:
    text = sentences_of("invariant 4", *broadcasts(1, 1, A), adopt(1, 1), ack_epoch(1, 2, 1, A))
    assert text[-1].endswith("holds a⟨1,1⟩, which was not in the durable history of p1.")


def test_where_processes_have_weights_these_are_told() -> None:
    events = [*broadcasts(1, 1, A), adopt(1, 1), *accepts(2, 1, A), *accepts(3, 1, A), *deliveries(2, A)]
    for system, weighed in (
        ("weights 3,1,1", ", with 2 of the weight 5"),
        ("sets 1+2,1+3", " of sets 1+2,1+3"),
    ):
        verdict = judge("chosen", events, processes=3, quorums=system)
        assert verdict.violation is not None
        text = explanation(verdict.violation, numbered(events), quorums=system)
        assert f"in epoch 1: by no quorum{weighed}." in text[1]
    assert judge("chosen", events, processes=3, quorums="weights 3,1,1").violation.summary.endswith(  # type: ignore[union-attr]  # it is violated
        "only p2, p3 had accepted in epoch 1: no quorum, with 2 of the weight 5"
    )


# Whether the comparison notices anything.


@pytest.mark.parametrize(
    "claim",
    [
        "p2, primary of epoch 1, broadcast a⟨1,1⟩ at step 1.",
        "p1, primary of epoch 2, broadcast a⟨1,1⟩ at step 1.",
        "p1, primary of epoch 1, broadcast a⟨1,1⟩ at step 2.",
        "p2 delivered b⟨1,2⟩ at step 5, and never delivered a⟨1,1⟩.",
        "So p2 applied b⟨1,2⟩ to a state without a⟨1,1⟩.",
        "So p2 applied b⟨1,2⟩ in another order than epoch 1 broadcast.",
        "p2 promised epoch 7 at step 3.",
        "p2 delivered b⟨1,2⟩ at step 5 and then a⟨1,1⟩ at step 4.",
        "It became ready to broadcast at step 1, but in epoch 1.",
        "It holds a⟨1,1⟩, which p2 did not have.",
        "Nobody provided a history for epoch 1.",
    ],
)
def test_a_wrong_claim_is_noticed(claim: str) -> None:
    events: list[Event] = [
        *broadcasts(1, 1, A, B),
        *accepts(2, 1, A),
        *deliveries(2, A, B),
        AckEpoch(2, 0, 1, 0, Zxid(0, 0), 0, 0),
    ]
    assert wrong_claims([claim], numbered(events))
    right = "p1, primary of epoch 1, broadcast a⟨1,1⟩ at step 1 and then b⟨1,2⟩ at step 2."
    assert wrong_claims([right, "p2 delivered a⟨1,1⟩ at step 4 and then b⟨1,2⟩ at step 5."], numbered(events)) == []

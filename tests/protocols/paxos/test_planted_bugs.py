"""Paxos without a rule that keeps it from disagreeing: the search notices each, so that its silence means something."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from msgspec import structs

from invariants import Deliver, select
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import Effect, Protocol, Send
from zabcheck.protocols.paxos import acceptor, proposer
from zabcheck.protocols.paxos.messages import Chosen, Join, Phase1a, Phase1b, Phase2a, Phase2b
from zabcheck.protocols.paxos.process import Process
from zabcheck.search.run import Run, Search
from zabcheck.search.swarm import find
from zabcheck.simulation.choices import Choice, Crash, Elect, Lead, Receive, Recover, Request, Settle, Sync

AGREED = ("integrity", "total order", "agreement")
Step = Callable[[Any, int, Any], list[Effect]]


def before_the_disk(step: Step, p: Process, sender: int, m: object) -> list[Effect]:
    """The answer does not wait until what it promises is durable."""
    effects = step(p, sender, m)
    sent = [effect for effect in effects if isinstance(effect, Send)]
    return [*sent, *(effect for effect in effects if not isinstance(effect, Send))]


def promise_whatever_was_promised(p: Process, sender: int, m: Phase1a) -> list[Effect]:
    return acceptor.promise(p, sender, m) if sender == p.leader else []


def forget_what_was_accepted(p: Process, sender: int, m: Phase1a) -> list[Effect]:
    effects = acceptor.on_phase_1a(p, sender, m)
    return [Send(sender, Phase1b(m.ballot, ())) if isinstance(each, Send) else each for each in effects]


def take_the_lowest_ballot(p: Process, sender: int, m: Phase1b) -> list[Effect]:
    """Take the lowest ballot for the highest."""
    turned = tuple((i, structs.replace(each, ballot=-each.ballot)) for i, each in m.accepted)
    return proposer.on_phase_1b(p, sender, structs.replace(m, accepted=turned))


def choose_without_a_quorum(p: Process, sender: int, m: Phase2b) -> list[Effect]:
    if not p.leads or m.ballot != p.ballot or m.instance in p.chosen:
        return []
    return [Send(a, Chosen(m.instance, p.proposals[m.instance])) for a in proposer.promised(p)]


def deliver_in_any_order(p: Process, sender: int, m: Chosen) -> list[Effect]:
    if sender != p.leader or m.instance in p.chosen:
        return []
    p.chosen = {**p.chosen, m.instance: m.value}
    p.delivered = max(p.delivered, m.instance)
    effects: list[Effect] = [Deliver(p.id, p.incarnation, txn) for txn in m.value]
    return effects + (proposer.become_ready(p) if p.leads else [])


BUGS: dict[str, tuple[str, type[Any], Step]] = {
    "accept before the disk": ("paxos", Phase2a, partial(before_the_disk, acceptor.on_phase_2a)),
    "promise below the promise": ("paxos", Phase1a, promise_whatever_was_promised),
    "1b without what was accepted": ("paxos", Phase1a, forget_what_was_accepted),
    "the value of the lowest ballot": ("paxos", Phase1b, take_the_lowest_ballot),
    "no quorum in phase 2": ("paxos", Phase2b, choose_without_a_quorum),
    "delivered out of order": ("paxos-unordered", Chosen, deliver_in_any_order),
}


def with_bug(kind: type[Any], step: Step, protocol: str = "paxos") -> Protocol:
    original = PROTOCOLS[protocol]
    return structs.replace(original, steps={**original.steps, kind: step})


@pytest.mark.parametrize("name", BUGS)
def test_a_search_finds_that_processes_disagree(name: str) -> None:
    protocol, kind, step = BUGS[name]
    names = tuple(kind.name for kind in select(AGREED))
    assert find(Search(with_bug(kind, step, protocol), 3, names, 1000, rng=1)) is not None


# What takes a crash at one moment of many; the choices are given.

PROMISE_IS_FORGOTTEN: tuple[Choice, ...] = (
    *(Lead(1, (2,)), Settle(9), Request(1, "A"), Sync(1)),
    *(Lead(3, (2,)), Receive(3, 2), Sync(3), Receive(2, 3), Crash(2), Receive(3, 2), Recover(2)),
    *(Elect(2, 1), Receive(1, 2), Receive(2, 1), Sync(2), Receive(1, 2), Receive(2, 1), Sync(2), Receive(1, 2)),
    *(Request(3, "C"), Sync(3)),
    *(Elect(2, 3), Receive(3, 2), Receive(2, 3), Sync(2), Receive(3, 2), Receive(2, 3), Sync(2), Receive(3, 2)),
)
"""p2 promises p3 a later ballot, forgets that, accepts A of p1, and then C of p3."""
BALLOT_IS_USED_TWICE: tuple[Choice, ...] = (
    *(Lead(1, (2,)), Receive(1, 2), Receive(2, 1), Sync(2), Receive(1, 2), Request(1, "A"), Receive(2, 1), Sync(2)),
    *(Crash(1), Recover(1), Lead(1, (3,)), Settle(9), Request(1, "C"), Settle(9)),
    *(Crash(1), Lead(2, (3,)), Settle(9)),
)
"""p1 forgets its ballot 1 after p2 has accepted A in it, and has C chosen in ballot 1."""


@pytest.mark.parametrize(
    ("choices", "kind", "step"),
    [(PROMISE_IS_FORGOTTEN, Phase1a, acceptor.on_phase_1a), (BALLOT_IS_USED_TWICE, Join, proposer.on_join)],
    ids=["a promise", "a proposer's own promise"],
)
def test_what_is_promised_has_to_be_durable_first(choices: tuple[Choice, ...], kind: type[Any], step: Step) -> None:
    assert disagree(with_bug(kind, partial(before_the_disk, step)), choices)
    assert not disagree(PROTOCOLS["paxos"], choices)


def disagree(protocol: Protocol, choices: tuple[Choice, ...]) -> bool:
    run = Run(protocol, 3, select(AGREED))
    for choice in choices:
        run.execute(choice)
    return run.broken is not None

"""Refinement: maps an event of a trace to one step of the abstraction, to several in a row, or to none.

This is the link from the proof to real runs: a trace of which each event is an instance of steps is a run of the
abstraction, so everything proved of all runs of the abstraction is true of it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from zabcheck.invariants import Accept, AckEpoch, Adopt, Broadcast, Deliver, Establish, Event, Promise, Restore
from zabcheck.proof import steps
from zabcheck.proof.abstraction import (
    LOOKS_AT,
    AbstractTxn,
    abstract,
    accepted_by,
    adopted_by,
    at_start,
    effect,
    epoch_of,
    epochs_committing,
    history_of,
    leaders,
    name_of,
    names_of,
    naming,
    provides_what_it_accepted,
    restored_by,
)
from zabcheck.proof.compiled import NOTHING, Effect, World, additions, of, with_more
from zabcheck.proof.conjuncts import CONJUNCTS, Claim
from zabcheck.proof.finite import Thing
from zabcheck.proof.relations import RELATIONS, Relations, State
from zabcheck.proof.steps import Step

Taken = tuple[Step, tuple[Thing, ...]]
"""A step, and the values of its terms."""
Stage = tuple[Step, Callable[[World], Iterable[Taken]]]
"""One step that an event needs, and the ways in which it may have been taken; the step stands for all of them."""


class Transition(Struct, frozen=True):
    """The effect of an event on a state: the state after it, and the steps that it is an instance of, if any.

    `steps`: the steps taken; empty if nothing changed. `refused`: the first step that was not possible, None if the
    event is an instance.
    """

    after: World
    steps: tuple[Taken, ...]
    refused: Step | None


def transition(
    before: World, event: Event, relations: Collection[str] = RELATIONS.keys(), rules: "Rules | None" = None
) -> Transition:
    """Return the effect of an event on a state, in these relations; without `rules`, by those of Zab.

    A state has large sets, so that after the event is made once only.
    """
    rules = rules or OF_ZAB
    about = rules.about
    before = rules.naming(before, event)
    said = _only(rules.effect(before, event), relations)
    reached, taken = before, list[Taken]()
    last: Step | None = None
    for last, ways in rules.stages(before, event):
        for step, things in ways(reached):
            added = additions(step, reached, things)
            if added is not None and _is_said(added := _only(added, relations), before, said, about):
                reached = with_more(reached, added, about)
                taken.append((step, things))
                break
        else:
            return Transition(with_more(before, said, about), (), last)
    if all(of(reached, name, about).issuperset(tuples) for name, tuples in said.items()):
        return Transition(reached, tuple(taken), None)
    return Transition(with_more(before, said, about), (), last)


def _only(changed: Effect, relations: Collection[str]) -> Effect:
    return {name: tuples for name, tuples in changed.items() if name in relations}


def _is_said(added: Effect, before: World, said: Effect, about: type[Relations]) -> bool:
    """Return True if all that a step adds held before the event, or follows from the event."""
    return all(of(before, name, about) >= tuples - said.get(name, NOTHING) for name, tuples in added.items())


def stages(world: World, event: Event) -> Iterator[Stage]:
    """Yield the steps that an event needs, in order; none if it changes nothing."""
    match event:
        case Promise():
            things = name_of(event.process), event.epoch, name_of(event.leader or 0)
            if things not in of(world, "promised"):
                yield steps.promise, lambda _: [(steps.promise, things)]
        case AckEpoch():
            if not provides_what_it_accepted(world, event):
                yield steps.promise, lambda _: []
        case Adopt():
            yield from _adopting(world, event)
        case Establish():
            led = event.epoch, name_of(event.process)
            again = led in of(world, "established")  # a leader is established once an epoch, whatever its incarnation
            yield steps.establish, lambda now: [] if again else [(steps.establish, (*led, q)) for q in now[1]]
        case Broadcast():
            txn = abstract(event.txn, world)
            again = any(each[:2] == txn[:2] for each in history_of(world, event.epoch))
            primary = event.epoch, name_of(event.process), txn
            yield steps.broadcast, lambda _: [] if again else [(steps.broadcast, primary)]
        case Accept():
            accepted = name_of(event.process), event.epoch, abstract(event.txn, world)
            if accepted not in of(world, "accepted"):
                yield steps.accept, lambda _: [(steps.accept, accepted)]
        case Deliver():
            yield from _delivering(world, event, [abstract(event.txn, world)])
        case Restore():
            restored = restored_by(world, event)
            if restored is None:
                yield steps.deliver, lambda _: []
            yield from _delivering(world, event, restored or ())


def _adopting(world: World, event: Adopt) -> Iterator[Stage]:
    n, e = name_of(event.process), event.epoch
    history = adopted_by(world, event)
    if (e,) not in of(world, "opened"):
        yield steps.choose, lambda now: choosing(now, e, history)
    if history is None:
        yield steps.adopt, lambda _: []
        return
    adopted = (n, e) in of(world, "adopted")
    if adopted and accepted_by(world, n, e) == list(history):
        return  # n comes back to the leader that it had
    to = sorted(str(leader) for m, epoch, leader in of(world, "promised") if (m, epoch) == (n, e))
    if history and history[-1][0] == e:
        yield steps.adopt_late, lambda _: [(steps.adopt_late, (n, e, leader, history[-1])) for leader in to]
    else:
        yield steps.adopt, lambda _: [(steps.adopt, (n, e, leader)) for leader in to]


def choosing(world: World, e: int, history: Sequence[AbstractTxn] | None) -> Iterator[Taken]:
    """Yield each way in which the leader of e may have chosen this initial history."""
    for leader in leaders(world, e):
        for q in world[1]:
            for b in sorted(q):
                a = max(epoch for n, epoch in of(world, "adopted") if n == b and epoch < e)
                if history is None or accepted_by(world, b, a) != list(history):
                    continue
                if history:
                    yield steps.choose, (e, leader, q, b, a, history[-1])
                else:
                    yield steps.choose_empty, (e, leader, q, b, a)


def _delivering(world: World, event: Deliver | Restore, txns: Iterable[AbstractTxn]) -> Iterator[Stage]:
    e = epoch_of(world, name_of(event.process))
    for txn in txns:
        new = [name for name in names_of(event) if (name, txn) not in of(world, "delivered")]
        if new and not epochs_committing(world, txn):
            yield steps.commit, partial(_committing, e=e, txn=txn)
        for name in new:
            yield steps.deliver, partial(_delivered, name=name, txn=txn)


def _committing(world: World, e: int, txn: AbstractTxn) -> Iterator[Taken]:
    for epoch, leader in sorted(of(world, "established")):
        if epoch == e:
            yield from ((steps.commit, (e, leader, txn, q)) for q in world[1])


def _delivered(world: World, name: str, txn: AbstractTxn) -> Iterator[Taken]:
    return ((steps.deliver, (name, e, txn)) for e in reversed(epochs_committing(world, txn)))


class Rules(Struct, frozen=True):
    """The rules by which the events of a trace are steps of an abstraction, and the invariant of that."""

    about: type[Relations]
    conjuncts: Sequence[Claim]
    looks_at: tuple[type[Event], ...]
    at_start: Callable[[Any], World]
    naming: Callable[[World, Event], World]
    effect: Callable[[World, Event], Effect]
    stages: Callable[[World, Event], Iterator[Stage]]


OF_ZAB = Rules(State, CONJUNCTS, LOOKS_AT, at_start, naming, effect, stages)
"""The rules of Zab."""

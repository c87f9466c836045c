"""Refinement where configurations change: an event of a trace as steps of Zab with configurations that change.

It differs from that of Zab in this: a transaction carries the configuration that governs it, by the history that it is
broadcast behind, and l.1.1 shows no event; it counts as done when an epoch is first promised to a leader, in each
configuration whose change is committed by then. An epoch began in the last of these in which its leader may choose.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import combinations

from zabcheck.invariants import Accept, Activate, Adopt, Broadcast, Deliver, Event, Promise, Txn
from zabcheck.invariants.quorums import Configuration as Quorums
from zabcheck.invariants.quorums import configuration_of
from zabcheck.proof import abstraction, refinement
from zabcheck.proof import steps as of_zab
from zabcheck.proof.abstraction import (
    AbstractTxn,
    abstract,
    adopted_by,
    epochs_committing,
    history_of,
    leaders,
    name_of,
)
from zabcheck.proof.compiled import Effect, World, is_possible, of, world_of
from zabcheck.proof.finite import Configuration, Thing
from zabcheck.proof.reconfiguration import steps
from zabcheck.proof.reconfiguration.conjuncts import CONJUNCTS
from zabcheck.proof.reconfiguration.relations import Configured
from zabcheck.proof.refinement import Rules, Stage, Taken
from zabcheck.proof.steps import Step

_Ways = Callable[[World], Iterable[Taken]]
LOOKS_AT = (*abstraction.LOOKS_AT, Activate)
"""The events that add facts to the relations."""
UNDER, MAKES = 3, 4
"""The places of the configurations in a transaction: that which governs it, and the one that it makes, if any."""
SAME = {
    of_zab.promise: steps.promise,
    of_zab.adopt: steps.adopt,
    of_zab.adopt_late: steps.adopt_late,
    of_zab.broadcast: steps.broadcast,
    of_zab.accept: steps.accept,
    of_zab.deliver: steps.deliver,
}
"""The steps that are about the same things as in Zab."""


def at_start(first: Quorums) -> World:
    """Return the state before the first event: every process is in epoch 0, and the first configuration is active."""
    names = tuple(map(name_of, range(1, first.size + 1)))
    c = _named(first, 0)
    relations = {
        "opened": frozenset({(0,)}),
        "adopted": frozenset((n, 0) for n in names),
        "base": frozenset({(0, c)}),
        "active": frozenset((n, c) for n in names),
    }
    return world_of((names, _sets(names), (0,), (), (c,)), relations, Configured)


@cache
def _sets(names: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """Return every set of processes but the empty one: each may be a quorum of some configuration."""
    return tuple(frozenset(each) for size in range(1, len(names) + 1) for each in combinations(names, size))


def _named(quorums: Quorums, number: int) -> Configuration:
    return Configuration(number, tuple(map(name_of, quorums.members)))


def configurations(world: World) -> tuple[Configuration, ...]:
    """Return all configurations that are known, in their order."""
    found: tuple[Configuration, ...] = world[-1]
    return found


def naming(world: World, event: Event) -> World:
    """Return the state with the things that an event names."""
    if isinstance(event, Accept | Broadcast | Deliver | Activate):
        world = _with_transaction(world, event.txn)
    return abstraction.naming(world, event)


def _with_transaction(world: World, txn: Txn) -> World:
    nodes, quorums, epochs, txns, *relations, known = world
    found = abstract(txn, world)
    if found in txns:
        return world
    before = [each for each in history_of(world, txn.zxid.epoch) if each < found]
    governs: Configuration = before[-1][-1] if before else known[0]  # type: ignore[assignment]
    placed: tuple[Thing, ...] = (*found, governs)
    to = configuration_of(txn.value, sum("." not in each for each in nodes))
    if to is not None:
        made = _named(to, txn.zxid.packed())
        placed, known = (*placed, made), tuple(sorted({*known, made}))
    return (nodes, quorums, epochs, tuple(sorted((*txns, placed))), *relations, known)


def chosen(world: World) -> list[tuple[int, AbstractTxn, Configuration]]:
    """Return the configurations whose change is committed, in their order: with an epoch of that, and the change."""
    changes = {t: e for e, t in sorted(of(world, "committed"), reverse=True) if len(t) > MAKES}
    return sorted(((e, t, t[MAKES]) for t, e in changes.items()), key=lambda each: each[2])


def asked_in(world: World, e: int, leader: str) -> list[Configuration]:
    """Return the configurations in which a process asked for promises of an epoch, the latest first."""
    return sorted((c for d, k, c in of(world, "asked", Configured) if (d, k) == (e, leader)), reverse=True)


def bases(world: World, e: int) -> list[Configuration]:
    """Return the configurations that an epoch began in."""
    return sorted(c for d, c in of(world, "base", Configured) if d == e)


def leader_of(world: World, e: int) -> str | None:
    """Return the process that leads an epoch, or may: a quorum of the configuration that it asked in promised it."""

    def may_lead(k: str) -> bool:
        by = frozenset(n for n, d, to in of(world, "promised") if (d, to) == (e, k))
        return any(c.has_quorum(by) for c in asked_in(world, e, k))

    led = [k for d, k in of(world, "led") if d == e]
    return next((k for k in [*led, *leaders(world, e)] if k in led or may_lead(k)), None)


def effect(world: World, event: Event) -> Effect:
    """Return the facts that an event adds, whether Zab allows that or not; they may have held before."""
    said = dict(abstraction.effect(world, event))
    match event:
        case Promise():
            asked = _asked_first(world, event)
            said["asked"] = {things for step, things in asked if step is steps.ask}
            said["active"] = {(things[0], things[-1]) for step, things in asked if step is steps.activate}
        case Adopt() if (event.epoch,) not in of(world, "opened"):
            ways = _choosing(world, partial(refinement.choosing, e=event.epoch, history=adopted_by(world, event)))
            e, leader, *_, c, _, _ = next(
                (things for step, things in ways if is_possible(step, world, things)), (0,) * 5
            )
            said["led"] = {(e, leader)} if e else set()
            said["base"] = {(e, c)} if e else set()
        case Activate():
            made = abstract(event.txn, world)[-1]
            said["active"] = {(name_of(event.process), made)}
    if "committed" in said:
        said["committed"] = frozenset(
            (e, t) for e, t in said["committed"] if all(c <= t[UNDER] for c in bases(world, e))
        )
    return said


def _asked_first(world: World, event: Promise) -> list[Taken]:
    """Return the steps before the first promise of an epoch to a leader: it asks in all that it may know to be active.

    The last of these asks least of the leader. None at later promises.
    """
    e, leader = event.epoch, name_of(event.leader or 0)
    if any(things[1:] == (e, leader) for things in of(world, "promised")):
        return []
    active = {c for n, c in of(world, "active", Configured) if n == leader}
    told = [(steps.activate, (leader, d, u, c)) for d, u, c in chosen(world) if c not in active]
    return [
        *told,
        *((steps.ask, (e, leader, c)) for c in (configurations(world)[0], *(c for _, _, c in chosen(world)))),
    ]


def stages(world: World, event: Event) -> Iterator[Stage]:
    """Yield the steps that an event needs, in order; none if it changes nothing."""
    if isinstance(event, Activate):
        yield from _activating(world, event)
    for step, ways in refinement.stages(world, event):
        if step is of_zab.promise and isinstance(event, Promise):
            for taken in _asked_first(world, event):
                yield taken[0], partial(_this, taken=taken)
        if step is of_zab.choose:
            yield steps.choose, partial(_choosing, ways=ways)
        elif step is of_zab.establish:
            yield steps.establish, partial(_in_its_configuration, by=steps.establish, ways=ways)
        elif step is of_zab.commit:
            yield steps.commit, partial(_in_its_configuration, by=steps.commit, ways=ways)
        else:
            yield SAME[step], partial(_the_same, ways=ways)


def _this(_: World, taken: Taken) -> list[Taken]:
    return [taken]


def _the_same(world: World, ways: _Ways) -> Iterator[Taken]:
    return ((SAME[step], things) for step, things in ways(world))


def _in_its_configuration(world: World, by: Step, ways: _Ways) -> Iterator[Taken]:
    """Yield the ways of a step whose last term is the configuration that its epoch began in."""
    for _, things in ways(world):
        e = things[0]
        assert isinstance(e, int)
        yield from ((by, (*things, c)) for c in bases(world, e))


def _choosing(world: World, ways: _Ways) -> Iterator[Taken]:
    """Yield the ways in which a leader may choose: with its configuration, what is missing, and the last known."""
    for step, things in ways(world):
        e, leader, _, b, a, *_ = things
        assert isinstance(e, int)
        assert isinstance(a, int)
        if leader != leader_of(world, e):
            continue
        before = {t for d, t in of(world, "committed") if d < e}
        missing = {t for t in before if (b, a, t) not in of(world, "accepted")}
        first = min(missing, default=(0, 0, "", configurations(world)[0]))
        last = max([configurations(world)[0], *(t[MAKES] for t in before if len(t) > MAKES)])
        by = steps.choose if step is of_zab.choose else steps.choose_empty
        yield from ((by, (*things, c, first, last)) for c in asked_in(world, e, str(leader)))


def _activating(world: World, event: Activate) -> Iterator[Stage]:
    """Yield the step of a process that activates a configuration which it has delivered, or of which it was told."""
    n, change = name_of(event.process), abstract(event.txn, world)
    made = change[-1]
    if (n, made) in of(world, "active", Configured):
        return
    delivered = [(steps.activate, (n, e, change, made)) for e in epochs_committing(world, change)]
    told = [(steps.tell, (n, k, made)) for k, c in sorted(of(world, "active", Configured)) if c == made]
    yield steps.activate, lambda _: [*delivered, *told]


RULES = Rules(Configured, CONJUNCTS, LOOKS_AT, at_start, naming, effect, stages)
"""The rules of Zab with configurations that change."""

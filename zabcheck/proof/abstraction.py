"""The abstraction of a trace: its events as facts in the relations of the proof, one event after the other.

A state of the abstraction is a `World`: the processes, quorums, epochs and transactions that the trace has named so
far, and the facts about them. Two steps of the paper show no event, and count as done as soon as another event implies
them: l.1.2, by which a leader chooses an initial history, when a process first adopts that; and l.3.2, by which it
commits, when a process delivers a transaction that was not committed. None of their conditions can become false in
between.

Each incarnation of a process delivers from the beginning, as a process of its own (definition VI.4). So a delivery of
an incarnation after the first one is recorded twice: for the process, and for one that is in no quorum and does
nothing but deliver.
"""

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import combinations
from typing import Any

from zabcheck.invariants import (
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    Deliver,
    Establish,
    Event,
    Promise,
    Restore,
    Txn,
    Zxid,
    chain_hash,
)
from zabcheck.invariants.quorums import Quorums
from zabcheck.proof.compiled import Effect, Tuples, World, of, with_more, world_of
from zabcheck.proof.logic import SORTS
from zabcheck.proof.relations import RELATIONS

AbstractTxn = tuple[int, int, str]
"""A transaction: epoch, counter and value, so that two values under one zxid are two transactions, as in a trace."""

_WITHOUT_CONFIGURATIONS = len(SORTS) + len(RELATIONS)
"""The length of a world without configurations."""
MOST_PROCESSES = 7
"""The most processes: with more, there are more quorums than one wants to try."""
LOOKS_AT = (Promise, AckEpoch, Adopt, Accept, Establish, Broadcast, Deliver, Restore)
"""The events that add facts to the relations; all others change nothing."""


def name_of(process: int) -> str:
    """Return the name of a process in the abstraction."""
    return f"p{process}"


def names_of(event: Deliver | Restore) -> list[str]:
    """Return the names that deliver: the process, and its incarnation, if that is not the first."""
    name = name_of(event.process)
    return [name, f"{name}.{event.incarnation}"] if event.incarnation else [name]


def at_start(quorums: Quorums) -> World:
    """Return the state before the first event: every process is in epoch 0."""
    names = tuple(map(name_of, range(1, quorums.size + 1)))
    adopted = frozenset((name, 0) for name in names)
    return world_of((names, all_of(quorums), (0,), ()), {"opened": frozenset({(0,)}), "adopted": adopted})


@cache
def all_of(quorums: Quorums) -> tuple[frozenset[str], ...]:
    """Return every set of processes that is a quorum, the smallest first. O(2^processes)."""
    processes = range(1, quorums.size + 1)
    sets = (members for size in processes for members in combinations(processes, size))
    return tuple(frozenset(map(name_of, members)) for members in sets if quorums.contains(members))


def naming(world: World, event: Event) -> World:
    """Return the state with the things that an event names. A process that left later epochs left a new one, too."""
    nodes, quorums, epochs, txns, *_ = world
    if isinstance(event, Deliver | Restore):
        nodes = (*nodes, *(name for name in names_of(event) if name not in nodes))
    epoch = getattr(event, "epoch", 0)
    if isinstance(event, Accept | Broadcast | Deliver):
        txn = abstract(event.txn, world)
        txns = txns if txn in txns else tuple(sorted((*txns, txn)))
        epoch = max(epoch, txn[0])
    named = dict.fromkeys((epoch, txns[-1][0] if txns else 0))
    new = [each for each in named if each not in epochs]
    world = (nodes, quorums, tuple(sorted((*epochs, *new))) if new else epochs, txns, *world[4:])
    left = {(n, each) for n, promised, _ in of(world, "promised") for each in new if each < promised}
    return with_more(world, {"left": left}) if left else world


def abstract(txn: Txn, world: World) -> AbstractTxn:
    """Return a transaction in the form of the abstraction; where there are configurations, as the world knows it."""
    plain = txn.zxid.epoch, txn.zxid.counter, txn.value
    if len(world) == _WITHOUT_CONFIGURATIONS:
        return plain
    return next((each for each in world[3] if each[:3] == plain), plain)


def effect(world: World, event: Event) -> Effect:
    """Return the facts that an event adds, whether Zab allows that or not; they may have held before."""
    match event:
        case Promise():
            n, leader = name_of(event.process), name_of(event.leader or 0)
            left = {(n, each) for each in world[2] if each < event.epoch}
            return {"promised": {(n, event.epoch, leader)}, "left": left}
        case Adopt():
            return _adopted(world, event)
        case Accept():
            return {"accepted": {(name_of(event.process), event.epoch, abstract(event.txn, world))}}
        case Establish():
            committed = {(event.epoch, t) for e, t in of(world, "initial") if e == event.epoch}
            return {"established": {(event.epoch, name_of(event.process))}, "committed": committed}
        case Broadcast():
            n, txn = name_of(event.process), abstract(event.txn, world)
            knew = {(txn, t) for m, t in of(world, "delivered") if m == n}
            return {"proposed": {(event.epoch, txn)}, "knew": knew}
        case Deliver():
            txn = abstract(event.txn, world)
            return {
                "delivered": {(name, txn) for name in names_of(event)},
                "committed": _committed(world, name_of(event.process), txn),
            }
        case Restore():
            restored = restored_by(world, event) or ()
            return {"delivered": {(name, txn) for name in names_of(event) for txn in restored}}
    return {}


def _adopted(world: World, event: Adopt) -> Effect:
    n, e = name_of(event.process), event.epoch
    history = adopted_by(world, event) or ()
    changed: dict[str, set[tuple[Any, ...]]] = {"adopted": {(n, e)}, "accepted": {(n, e, t) for t in history}}
    if (e,) not in of(world, "opened"):
        changed |= {"opened": {(e,)}, "initial": {(e, t) for t in history}}
        changed["led"] = {(e, leader) for leader in leaders(world, e)[:1]}
    return changed


def _committed(world: World, n: str, txn: AbstractTxn) -> Tuples:
    """Return the facts that are committed by now if n delivers the transaction in its present epoch."""
    if epochs_committing(world, txn):
        return frozenset()
    e = epoch_of(world, n)
    return frozenset((e, t) for t in (*history_of(world, e), txn) if t <= txn)


def epochs_committing(world: World, txn: AbstractTxn) -> list[int]:
    """Return the epochs in which a transaction was committed. O(epochs)."""
    committed = of(world, "committed")
    return [e for e in world[2] if (e, txn) in committed]


def epoch_of(world: World, n: str) -> int:
    """Return the f.a of a process: the latest epoch that it adopted."""
    return max((e for m, e in of(world, "adopted") if m == n), default=0)


def leaders(world: World, e: int) -> list[str]:
    """Return the processes that were promised an epoch: first the one with promises of a quorum, then by number."""
    promised: dict[str, set[str]] = {}
    for n, epoch, leader in of(world, "promised"):
        if epoch == e:
            promised.setdefault(str(leader), set()).add(str(n))

    def rank(leader: str) -> tuple[bool, int, str]:
        by = promised[leader]
        return not any(q <= by for q in world[1]), -len(by), leader

    return sorted(promised, key=rank)


# Histories. An event has the last zxid, the length and the hash of one; earlier events had its transactions.


def history_of(world: World, e: int) -> list[AbstractTxn]:
    """Return H(e), in order."""
    return _sorted(t for name in ("initial", "proposed") for epoch, t in of(world, name) if epoch == e)


def initial_history(world: World, e: int) -> list[AbstractTxn]:
    """Return I_e, in order."""
    return _sorted(t for epoch, t in of(world, "initial") if epoch == e)


def accepted_by(world: World, n: str, e: int) -> list[AbstractTxn]:
    """Return the transactions that a process accepted in an epoch, in order."""
    return _sorted(t for m, epoch, t in of(world, "accepted") if (m, epoch) == (n, e))


def adopted_by(world: World, event: Adopt) -> tuple[AbstractTxn, ...] | None:
    """Return the history that a process adopted; None if it is none that can be put together."""
    return _told(event, _known(world, name_of(event.process), event.epoch))


def restored_by(world: World, event: Restore) -> tuple[AbstractTxn, ...] | None:
    """Return the transactions of a snapshot; None if they are not known."""
    n = name_of(event.process)
    delivered = _sorted(t for m, t in of(world, "delivered") if m == n)
    return _told(event, [delivered, *_known(world, n, epoch_of(world, n))])


def provides_what_it_accepted(world: World, event: AckEpoch) -> bool:
    """Return True if an ACK-E has the history that its sender accepted in its f.a."""
    accepted = accepted_by(world, name_of(event.process), event.current_epoch)
    return len(accepted) == event.length and _told(event, [accepted]) is not None


def _known(world: World, n: str, e: int) -> Iterator[list[AbstractTxn]]:
    """Yield the sequences of which a history may be a prefix: an epoch's, or those accepted by a process in one."""
    yield history_of(world, e)
    own = accepted_by(world, n, epoch_of(world, n))
    yield own
    yield _sorted([*own, *history_of(world, e)])
    places = dict.fromkeys(sorted(((epoch, m) for m, epoch, _ in of(world, "accepted")), reverse=True))
    for epoch, m in places:
        yield accepted_by(world, m, epoch)
    for epoch in world[2]:
        yield history_of(world, epoch)


def _told(event: Adopt | Restore | AckEpoch, known: Iterable[list[AbstractTxn]]) -> tuple[AbstractTxn, ...] | None:
    for each in known:
        txns = tuple(each[: event.length])
        if len(txns) == event.length and _hash(txns) == event.hash:
            return txns
    return None


@lru_cache(maxsize=1 << 12)
def _hash(txns: tuple[AbstractTxn, ...]) -> int:
    found = 0
    for epoch, counter, value, *_ in txns:
        found = chain_hash(found, Txn(Zxid(epoch, counter), value))
    return found


def _sorted(txns: Iterable[AbstractTxn]) -> list[AbstractTxn]:
    return sorted(dict.fromkeys(txns))

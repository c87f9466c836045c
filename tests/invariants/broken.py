"""Long traces with every kind of event, intact, and broken in each property's way, once or throughout."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from msgspec.structs import replace

from invariants import (
    EMPTY,
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    ClientAck,
    CommitEpoch,
    Crash,
    Deliver,
    Elect,
    Establish,
    Event,
    FinalRead,
    Local,
    Promise,
    Quiescent,
    Ready,
    Recover,
    Restore,
    Stabilised,
    State,
    Txn,
    Zxid,
)
from invariants.chain import reference

OUTSTANDING = 10
"""The transactions that a primary has broadcast and not yet delivered."""


class Ensemble:
    """Three processes that do what Zab asks of them, for about so many events."""

    def __init__(self, size: int, epochs: int = 20) -> None:
        self.epochs = epochs
        self.rounds = max(1, size // epochs // 11)
        self.incarnation = dict.fromkeys((1, 2, 3), 0)
        self.epoch = dict.fromkeys((1, 2, 3), 0)
        self.history = EMPTY

    def events(self) -> Iterator[Event]:
        for epoch in range(1, self.epochs + 1):
            yield from self._elects(epoch)
            yield from self._broadcasts(epoch)
            if epoch < self.epochs:
                yield from self._restarts(1 + (epoch + 1) % 3)
        leader = 1 + self.epochs % 3
        for process, life in self.incarnation.items():
            yield Quiescent(process, life, 1, leader, "none" if process == leader else "open", process == leader)
            yield FinalRead(process, life, tuple(self.history))

    def _elects(self, epoch: int) -> Iterator[Event]:
        leader, told = 1 + epoch % 3, reference(self.history)
        for process, life in self.incarnation.items():
            yield Elect(process, life, leader)
            yield Promise(process, life, epoch, leader)
            yield AckEpoch(process, life, epoch, self.epoch[process], *told)
        for process, life in self.incarnation.items():
            yield Adopt(process, life, epoch, *told)
            self.epoch[process] = epoch
        yield Establish(leader, self.incarnation[leader], epoch)
        yield Ready(leader, self.incarnation[leader], epoch)
        for process, life in self.incarnation.items():
            yield CommitEpoch(process, life, epoch)
        if epoch == self.epochs:
            yield Stabilised(leader, self.incarnation[leader], (1, 2, 3))

    def _broadcasts(self, epoch: int) -> Iterator[Event]:
        leader = 1 + epoch % 3
        waiting: list[Txn] = []
        for counter in range(1, self.rounds + 1):
            txn = Txn(Zxid(epoch, counter), f"v{counter}")
            yield Broadcast(leader, self.incarnation[leader], epoch, txn)
            yield from (Accept(process, life, epoch, txn) for process, life in self.incarnation.items())
            waiting.append(txn)
            if len(waiting) > OUTSTANDING:
                yield from self._delivers(leader, waiting.pop(0))
        for txn in waiting:
            yield from self._delivers(leader, txn)

    def _delivers(self, leader: int, txn: Txn) -> Iterator[Event]:
        self.history = self.history.append(txn)
        for process, life in self.incarnation.items():
            yield Deliver(process, life, txn)
            yield State(process, life, txn.zxid, self.history.length, self.history.hash)
        yield ClientAck(leader, self.incarnation[leader], txn)

    def _restarts(self, process: int) -> Iterator[Event]:
        yield Crash(process, self.incarnation[process])
        self.incarnation[process] += 1
        yield Recover(process, self.incarnation[process])
        snapshot = self.history.prefix(self.history.length - self.rounds // 2)
        yield Restore(process, self.incarnation[process], *reference(snapshot))
        yield from (Deliver(process, self.incarnation[process], txn) for txn in self.history.after(snapshot.length))


Damage = Callable[[list[Event]], list[Event]]


def places(events: list[Event], kind: type[Event], process: int | None = None) -> list[int]:
    """Return the places of the events of this kind, at one process or at all."""
    return [
        place
        for place, event in enumerate(events)
        if type(event) is kind and (process is None or (isinstance(event, Local) and event.process == process))
    ]


def swapped(kind: type[Event], process: int | None = None, every: int = 0) -> Damage:
    """Swap an early event of a kind with the next one of it; or of each `every` of them the first two.

    Two incarnations of a process stay in their order: anything else is no trace.
    """

    def damage(events: list[Event]) -> list[Event]:
        events, at = events.copy(), places(events, kind, process)
        for first in range(2, len(at) - 1, every or len(at)):
            one, other = (events[at[first + number]] for number in (0, 1))
            assert isinstance(one, Local)
            assert isinstance(other, Local)
            if one.process != other.process or one.incarnation == other.incarnation:
                events[at[first]], events[at[first + 1]] = other, one
        return events

    return damage


def without(kind: type[Event], process: int | None = None, every: int = 0) -> Damage:
    """Leave out an early event of a kind, or each `every`th of them."""

    def damage(events: list[Event]) -> list[Event]:
        at = places(events, kind, process)
        gone = set(at[2 :: every or len(at)])
        return [event for place, event in enumerate(events) if place not in gone]

    return damage


def altered(kind: type[Event], change: Callable[[Any], Event], every: int = 0, process: int | None = None) -> Damage:
    """Change an early event of a kind, or each `every`th of them."""

    def damage(events: list[Event]) -> list[Event]:
        events, at = events.copy(), places(events, kind, process)
        for place in at[2 :: every or len(at)]:
            events[place] = change(events[place])
        return events

    return damage


def _changed(event: Event, **fields: Any) -> Event:
    return replace(event, **fields)


def other_value(event: Any) -> Event:
    return _changed(event, txn=Txn(event.txn.zxid, "other"))


def other_epoch(event: Any) -> Event:
    return _changed(event, epoch=event.epoch + 1)


def other_hash(event: Any) -> Event:
    return _changed(event, hash=event.hash ^ 1)


def shuffled(process: int | None = None) -> Damage:
    """Let processes deliver what they deliver in any order."""

    def damage(events: list[Event]) -> list[Event]:
        events, rng = events.copy(), Random(1)
        for each in (1, 2, 3) if process is None else (process,):
            at = places(events, Deliver, each)
            txns = [events[place].txn for place in at]  # type: ignore[attr-defined]
            rng.shuffle(txns)
            for place, txn in zip(at, txns, strict=True):
                events[place] = replace(events[place], txn=txn)
        return events

    return damage


def restarted(every: int) -> Damage:
    """Let process 3 begin anew, with nothing, after so many of its deliveries."""

    def damage(events: list[Event]) -> list[Event]:
        life, done = 0, 0
        found: list[Event] = []
        for event in events:
            if isinstance(event, Local) and event.process == 3:
                if isinstance(event, Deliver):
                    done += 1
                    life += done % every == 0
                event = replace(event, incarnation=life)
            found.append(event)
        return found

    return damage


def inserted(kind: type[Event], every: int, make: Callable[[Any, int], list[Event]]) -> Damage:
    """Insert events after each `every`th of a kind; `make` gets that one and its number."""

    def damage(events: list[Event]) -> list[Event]:
        found: list[Event] = []
        number = 0
        for event in events:
            found.append(event)
            if type(event) is kind:
                number += 1
                if number % every == 0:
                    found += make(event, number)
        return found

    return damage


def _at_rest(ack: ClientAck, number: int) -> list[Event]:
    """Return the rest of all processes, which follow the one that told a client; as if all were in its incarnation."""
    leader = ack.process
    return [
        Quiescent(each, ack.incarnation, number, leader, "none" if each == leader else "open", each == leader)
        for each in (1, 2, 3)
    ]


BREAKS: dict[str, Damage] = {
    "deliveries swapped": swapped(Deliver, 2),
    "every 10 swapped": swapped(Deliver, 2, 10),
    "delivery missing": without(Deliver, 2),
    "every 10 missing": without(Deliver, 2, 10),
    "other value delivered": altered(Deliver, other_value, process=2),
    "10 other values delivered": altered(Deliver, other_value, 10, 2),
    "broadcasts swapped": swapped(Broadcast),
    "every 10 broadcasts swapped": swapped(Broadcast, None, 10),
    "broadcast missing": without(Broadcast),
    "every 10 broadcasts missing": without(Broadcast, None, 10),
    "all broadcasts missing": without(Broadcast, None, 1),
    "broadcast of other epoch": altered(Broadcast, other_epoch),
    "10 broadcasts of other epoch": altered(Broadcast, other_epoch, 10),
    "other value accepted": altered(Accept, other_value, 10),
    "accepts missing": without(Accept, None, 3),
    "accepts swapped": swapped(Accept, 2, 10),
    "other value broadcast": altered(Broadcast, other_value, 10),
    "restore": altered(Restore, other_hash),
    "every restore": altered(Restore, other_hash, 1),
    "adopt": altered(Adopt, other_hash, 1),
    "adopt epoch": altered(Adopt, other_epoch, 1),
    "ack_epoch": altered(AckEpoch, other_hash, 1),
    "promises missing": without(Promise, None, 1),
    "no ready": without(Ready, None, 1),
    "ready epoch": altered(Ready, other_epoch, 1),
    "client_ack": altered(ClientAck, other_value, 10),
    "state": altered(State, lambda event: _changed(event, digest=event.digest ^ 1), 10),
    "commit_epoch": without(CommitEpoch, None, 1),
    "shuffled 2": shuffled(2),
    "shuffled": shuffled(),
    "reversed": lambda events: [replace(e, incarnation=0) if isinstance(e, Local) else e for e in reversed(events)],
    "restarted 1000": restarted(1000),
    "restarted 10": restarted(10),
    "restarted and swapped": lambda events: restarted(20)(swapped(Deliver, 3, 5)(events)),
    "restarted and missing": lambda events: restarted(20)(without(Deliver, 3, 5)(events)),
    "restarted and shuffled": lambda events: restarted(100)(shuffled(3)(events)),
    "rests": inserted(ClientAck, 1, _at_rest),
    "stabilised": inserted(ClientAck, 1, lambda e, _: [Stabilised(e.process, e.incarnation, (1, 2, 3))]),
    "reads": inserted(ClientAck, 1, lambda e, _: [FinalRead(e.process, e.incarnation, (e.txn,))]),
    "acks": inserted(Accept, 2, lambda e, n: [AckEpoch(e.process, e.incarnation, e.epoch, e.epoch, e.txn.zxid, n, n)]),
    "adopts": inserted(Accept, 2, lambda e, n: [Adopt(e.process, e.incarnation, e.epoch, e.txn.zxid, n, n)]),
    "phases": inserted(Accept, 2, lambda e, _: [CommitEpoch(e.process, e.incarnation, e.epoch)]),
    "promises": inserted(Accept, 2, lambda e, n: [Promise(e.process, e.incarnation, n, 1 + n % 3)]),
    "restores": inserted(Deliver, 2, lambda e, n: [Restore(e.process, e.incarnation, e.txn.zxid, n, n)]),
}

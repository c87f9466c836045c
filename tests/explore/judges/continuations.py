"""Traces that are cut in two: what was before, in many variants, and what comes then.

Two judges that have seen different variants may know the same. Whether they do is for them to say; then they must say
the same of what comes.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from random import Random
from typing import NamedTuple

from msgspec.structs import replace

from invariants import (
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    CommitEpoch,
    Crash,
    Deliver,
    Establish,
    Event,
    Invariant,
    Judge,
    Local,
    Promise,
    Recover,
    Txn,
)
from invariants.events import EVENTS
from invariants.quorums import Quorums
from tests.invariants.builders import A, B, D, restore, told
from zabcheck.explore.judges import MonitorJudge
from zabcheck.explore.judges.identity import identity, named
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.search.run import ProtocolRaised, Search
from zabcheck.search.swarm import drive

PROCESSES = 4
_LONGEST = 60

Events = tuple[Local, ...]


class Cut(NamedTuple):
    """The past, in variants, and the future, whose incarnations count from those at the cut on."""

    before: list[Events]
    after: list[Events]


def cut(events: Sequence[Event], rng: Random, variants: int) -> Cut:
    """`events` cut somewhere, with so many variants of both halves."""
    local = [event for event in events if isinstance(event, Local)]
    at = rng.randint(0, len(local))
    before, lives = tuple(local[:at]), lives_of(local[:at])
    after = tuple(replace(each, incarnation=each.incarnation - lives[each.process]) for each in local[at:])
    return Cut(
        [before, *(varied(before, rng) for _ in range(variants))],
        [after, *(fewer(after, rng) for _ in range(2))],
    )


def lives_of(events: Sequence[Local]) -> list[int]:
    """The lowest incarnation of each process that may come; entry 0 is not used."""
    lives = [0] * (PROCESSES + 1)
    for event in events:
        lives[event.process] = max(lives[event.process], event.incarnation + isinstance(event, Crash))
    return lives


def varied(events: Events, rng: Random) -> Events:
    """Some of `events` left out, done by another process, or after another crash; perhaps in another order."""
    for _ in range(rng.randint(0, 3)):
        events = rng.choice((fewer, elsewhere, with_a_crash))(events, rng)
    return shuffled(events, rng) if rng.random() < 0.5 else events


def fewer(events: Events, rng: Random) -> Events:
    """Leave one or more in a row out."""
    if not events:
        return events
    at = rng.randrange(len(events))
    return events[:at] + events[at + rng.randint(1, 3) :]


def elsewhere(events: Events, rng: Random) -> Events:
    """Let another process do one of them."""
    if not events:
        return events
    at, other = rng.randrange(len(events)), rng.randint(1, PROCESSES)
    incarnation = lives_of(events[:at])[other]
    return (*events[:at], replace(events[at], process=other, incarnation=incarnation), *events[at + 1 :])


def with_a_crash(events: Events, rng: Random) -> Events:
    """One process is in a later incarnation from somewhere on."""
    at, process = rng.randint(0, len(events)), rng.randint(1, PROCESSES)
    later = (replace(e, incarnation=e.incarnation + 1) if e.process == process else e for e in events[at:])
    return events[:at] + tuple(later)


def shuffled(events: Events, rng: Random) -> Events:
    """Each process's own events in their order."""
    logs: dict[int, list[Local]] = {}
    for event in events:
        logs.setdefault(event.process, []).append(event)
    mixed: list[Local] = []
    while logs:
        process = rng.choice(sorted(logs))
        mixed.append(logs[process].pop(0))
        if not logs[process]:
            del logs[process]
    return tuple(mixed)


def run_of(mutant: str | None, seed: int) -> list[Event]:
    """The events of a small run of Zab, or of a mutant of it."""
    events: list[Event] = []
    quorums = Quorums(3)
    search = Search(mutated("zab", mutant), properties=("total order",), processes=3, steps=_LONGEST, quorums=quorums)
    with suppress(ProtocolRaised):  # what was shown before counts
        drive(search, [], seed, lambda _: [dict.fromkeys(EVENTS, events.append)])
    return events


def of_few(rng: Random, variants: int, kinds: str) -> Cut:
    """Short traces of three transactions that have nothing in common but these, and what may come after any of them."""
    order = rng.sample((A, B, D), 3)
    before = [Few(rng, order, kinds).events(rng.randint(1, 9)) for _ in range(variants)]
    return Cut(before, [Few(rng, order, kinds).events(rng.randint(2, 7)) for _ in range(20)])


class Few:
    """A trace of what may happen to three transactions, as a rule in one order. `kinds` are letters of `ACTIONS`."""

    def __init__(self, rng: Random, order: Sequence[Txn], kinds: str) -> None:
        self.rng = rng
        self.order = order
        self.kinds = kinds
        self.lives = [0] * (PROCESSES + 1)
        self.places = [0] * (PROCESSES + 1)
        self.histories: list[list[Txn]] = [[] for _ in self.lives]
        self.unsent = list(rng.choice((order, rng.sample(order, 3))))

    def events(self, length: int) -> Events:
        """Draw so many actions; none of them may be possible, and a crash may be shown."""
        found: list[Local] = []
        for _ in range(length):
            process = self.rng.randint(1, 3)
            found += ACTIONS[self.rng.choice(self.kinds)](self, process)
        return tuple(found)

    def actor(self, process: int) -> tuple[int, int]:
        return process, self.lives[process]

    def epoch(self) -> int:
        return self.rng.randint(1, 2)

    def broadcast(self, process: int) -> list[Local]:
        if not self.unsent:
            return []
        txn = self.unsent.pop(0)
        epoch = txn.zxid.epoch if self.rng.random() < 0.8 else self.rng.randint(1, 3)
        return [Broadcast(*self.actor(process), epoch, txn)]

    def deliver(self, process: int) -> list[Local]:
        if self.rng.random() < 0.05:
            return self.deliver_any(process)
        txn = self.order[min(self.places[process], 2)]
        if txn in self.unsent:
            return []
        self.places[process] += 1
        return [Deliver(*self.actor(process), txn)]

    def deliver_any(self, process: int) -> list[Local]:
        return [Deliver(*self.actor(process), self.rng.choice(self.order))]

    def restore(self, process: int) -> list[Local]:
        self.places[process] = self.rng.randint(0, 2)
        return [restore(process, *self.order[: self.places[process]], incarnation=self.lives[process])]

    def crash(self, process: int) -> list[Local]:
        crash = Crash(*self.actor(process))
        self.lives[process] += 1
        self.places[process] = 0
        recover = Recover(*self.actor(process))
        return self.rng.choice(([crash], [recover], [crash, recover]))

    def promise(self, process: int) -> list[Local]:
        epoch = self.epoch()
        promise = Promise(*self.actor(process), epoch)
        return [promise, AckEpoch(*self.actor(process), epoch, 0, *told(self.histories[process]))]

    def adopt(self, process: int) -> list[Local]:
        history = self.rng.choice((*self.histories[1:], list(self.order[: self.rng.randint(0, 2)])))
        self.histories[process] = list(history)
        epoch = self.epoch()
        adopt = Adopt(*self.actor(process), epoch, *told(history))
        return [adopt] if self.rng.random() < 0.3 else [adopt, CommitEpoch(*self.actor(process), epoch)]

    def accept(self, process: int) -> list[Local]:
        txn = self.rng.choice(self.order)
        self.histories[process].append(txn)
        return [Accept(*self.actor(process), self.epoch(), txn)]

    def establish(self, process: int) -> list[Local]:
        return [Establish(*self.actor(process), self.epoch())]


ACTIONS: dict[str, Callable[[Few, int], list[Local]]] = {
    "b": Few.broadcast,
    "d": Few.deliver,
    "D": Few.deliver_any,
    "r": Few.restore,
    "c": Few.crash,
    "p": Few.promise,
    "h": Few.adopt,
    "a": Few.accept,
    "e": Few.establish,
}
MIXES = ("bbbbbbbddddddddcrr", "bbbddddcphhaaae", "DDDDDcr", "bbbbddDDcr", "bbbbhhddddDc", "aaaahhhdDDc")
"""The actions of short traces: for the properties of sequences, all, redelivery, forks, invariant 5 and chosen."""

MUTANTS = [
    None,
    *(
        name
        for name, mutant in CATALOGUE.items()
        if mutant.protocol == "zab" and not mutated("zab", name).environment.switches
    ),
]
"""Zab and its known bugs, but for those that take a switch: each shifts which seed makes which run."""


class Known(NamedTuple):
    """A judge, what it has been shown, and the incarnation of each process."""

    judge: MonitorJudge
    shown: Events
    lives: list[int]


def alike(kinds: Sequence[type[Invariant]], variants: Sequence[Events], quorums: Quorums) -> Iterator[list[Known]]:
    """The variants that make one identity, if nothing is broken, and they differ in what these properties look at."""
    found: dict[Hashable, dict[Events, Known]] = {}
    looks_at = Judge(kinds).looks_at
    for variant in variants:
        judge = MonitorJudge(kinds, quorums)
        seen = tuple(event for event in variant if type(event) in looks_at)
        if broadcast_again(seen):
            continue
        for event in seen:
            judge.observe(event)
        lives = lives_of(variant)
        if not broken(judge):
            found.setdefault(identity(judge, lives), {}).setdefault(seen, Known(judge, seen, lives))
    return (list(each.values()) for each in found.values() if len(each) > 1)


def broadcast_again(events: Sequence[Local]) -> bool:
    txns = [event.txn for event in events if isinstance(event, Broadcast)]
    return len(set(txns)) < len(txns)


def coming(rest: Events, group: Sequence[Known]) -> Events:
    """`rest` without what was broadcast before."""
    sent = {event.txn for known in group for event in known.shown if isinstance(event, Broadcast)}
    kept = []
    for event in rest:
        if isinstance(event, Broadcast):
            if event.txn in sent:
                continue
            sent.add(event.txn)
        kept.append(event)
    return tuple(kept)


def verdict(known: Known, rest: Events) -> tuple[int, str] | None:
    """Return the step with which something breaks first, and the property that stands for all that do."""
    judge = known.judge.fork()
    for number, event in enumerate(rest):
        judge.observe(replace(event, incarnation=known.lives[event.process] + event.incarnation))
        following = rest[number + 1] if number + 1 < len(rest) else None
        if following is not None and following.process == event.process and type(following) is type(event):
            continue  # what a process does at once is one step
        found = named(judge, broken(judge))
        if found is not None:
            return number, found
    return None


def broken(judge: Judge) -> list[str]:
    return [verdict.property for verdict in judge.finish() if verdict.status == "violated"]

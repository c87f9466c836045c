"""Coarse choices, each as a generator of the fine choices that it stands for.

Each fine choice is executed before the next is asked for, so later ones may depend on what earlier ones did: `Settle`
looks at the start of each round what waits, and stops after a round in which nothing happened. The generators see no
more of the run than `Running` has.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice

_MOST_TURNS = 100
"""How many turns each thread has at most in one round."""


class Running(Protocol):
    """What a coarse choice can see of the run in which it is executed, at any moment."""

    ids: range
    steps: int
    following: list[int]

    def waiting(self) -> list[tuple[int, int, int]]:
        """Return (process, sender, number of messages) for each link from which a message can be handled."""

    def hearing(self) -> list[tuple[int, int, int]]:
        """Return (process, sender, number of messages) for each sender of whose election a process can hear."""

    def unsynced(self) -> list[int]:
        """Return the processes that can sync something."""

    def threads(self) -> list[tuple[int, str]]:
        """Return (process, thread) for each thread that has something to do."""


def fine(choice: Choice, running: Running) -> Iterator[Choice]:
    """Yield the fine choices that `choice` stands for."""
    return _MEANINGS[type(choice)](choice, running)


def _lead(choice: choices.Lead, running: Running) -> Iterator[Choice]:
    yield choices.Elect(choice.leader, choice.leader)
    for process in choice.followers:
        if process != choice.leader:
            yield choices.Elect(process, choice.leader)


def _drain(choice: choices.Drain, running: Running) -> Iterator[Choice]:
    for process, sender, count in running.waiting():
        if (process, sender) == (choice.process, choice.sender):
            for _ in range(count):
                yield choices.Receive(process, sender)


def _settle(choice: choices.Settle, running: Running) -> Iterator[Choice]:
    for _ in range(choice.rounds):
        before = running.steps
        yield from _a_round(running, choice.sync)
        if running.steps == before:
            return


def _a_round(running: Running, sync: bool = True) -> Iterator[Choice]:
    for process, sender, count in sorted(running.waiting()):
        for _ in range(count):
            yield choices.Receive(process, sender)
    for process, sender, count in running.hearing():
        for _ in range(count):
            yield choices.Hear(process, sender)
    if sync:
        for process in running.unsynced():
            yield choices.Sync(process)
        for _ in range(_MOST_TURNS):
            for process, thread in (busy := running.threads()):
                yield choices.Run(process, thread)
            if not busy:
                return


def _split(choice: choices.Split, running: Running) -> Iterator[Choice]:
    others = [process for process in running.ids if process not in choice.side]
    return _apart(choice.side, others)


def _sever(choice: choices.Sever, running: Running) -> Iterator[Choice]:
    return _apart([choice.process], [choice.peer])


def _mute(choice: choices.Mute, running: Running) -> Iterator[Choice]:
    others = [process for process in running.ids if process not in choice.side]
    for process in choice.side:
        for other in others:
            yield choices.Cut(process, other)


def _bridge(choice: choices.Bridge, running: Running) -> Iterator[Choice]:
    side = [process for process in choice.side if process != choice.process]
    others = [process for process in running.ids if process not in choice.side and process != choice.process]
    return _apart(side, others)


def _ring(choice: choices.Ring, running: Running) -> Iterator[Choice]:
    last = len(running.ids)
    for process in running.ids:
        not_next = [other for other in range(process + 1, last + 1) if other - process not in (1, last - 1)]
        yield from _apart([process], not_next)


def _flap(choice: choices.Flap, running: Running) -> Iterator[Choice]:
    for _ in range(choice.times):
        yield from _apart([choice.process], [choice.peer])
        yield from _a_round(running)
        yield choices.Mend(choice.process, choice.peer)
        yield choices.Mend(choice.peer, choice.process)
        yield from _a_round(running)


def _power_loss(choice: choices.PowerLoss, running: Running) -> Iterator[Choice]:
    for process in running.ids:
        yield choices.Crash(process, choice.keep)


def _apart(side: Iterable[int], others: Iterable[int]) -> Iterator[Choice]:
    """Cut every link between `side` and `others`, both ways."""
    for process in side:
        for other in others:
            yield choices.Cut(process, other)
            yield choices.Cut(other, process)


_MEANINGS: dict[type[Choice], Callable[[Any, Running], Iterator[Choice]]] = {
    choices.Lead: _lead,
    choices.Drain: _drain,
    choices.Settle: _settle,
    choices.Split: _split,
    choices.Sever: _sever,
    choices.Mute: _mute,
    choices.Bridge: _bridge,
    choices.Ring: _ring,
    choices.Flap: _flap,
    choices.PowerLoss: _power_loss,
}

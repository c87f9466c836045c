"""What a coarse choice stands for: the fine ones that it yields, in order.

Each is executed before the next is asked for, so what comes later may depend on what the earlier ones did: a process
that settles handles what waits at the start of each round, and stops when a round did nothing. Of the run, a coarse
choice knows no more than a `Running` tells.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from zabcheck.simulation.schedule import (
    Bridge,
    Choice,
    Crash,
    Cut,
    Drain,
    Elect,
    Flap,
    Lead,
    Mend,
    Mute,
    PowerLoss,
    Receive,
    Ring,
    Settle,
    Sever,
    Split,
    Sync,
)


class Running(Protocol):
    """The run in which the choices are executed, as it is at the moment."""

    ids: range
    steps: int

    def waiting(self) -> list[tuple[int, int, int]]:
        """(process, sender, number of messages) for each link from which a message can be handled."""

    def unsynced(self) -> list[int]:
        """The processes that can sync something."""


def fine(choice: Choice, running: Running) -> Iterator[Choice]:
    """The fine choices that `choice` stands for."""
    return _MEANINGS[type(choice)](choice, running)


def _lead(choice: Lead, running: Running) -> Iterator[Choice]:
    yield Elect(choice.leader, choice.leader)
    for process in choice.followers:
        if process != choice.leader:
            yield Elect(process, choice.leader)


def _drain(choice: Drain, running: Running) -> Iterator[Choice]:
    for process, sender, count in running.waiting():
        if (process, sender) == (choice.process, choice.sender):
            for _ in range(count):
                yield Receive(process, sender)


def _settle(choice: Settle, running: Running) -> Iterator[Choice]:
    for _ in range(choice.rounds):
        before = running.steps
        yield from _a_round(running, choice.sync)
        if running.steps == before:
            return


def _a_round(running: Running, sync: bool = True) -> Iterator[Choice]:
    for process, sender, count in sorted(running.waiting()):
        for _ in range(count):
            yield Receive(process, sender)
    if sync:
        for process in running.unsynced():
            yield Sync(process)


def _split(choice: Split, running: Running) -> Iterator[Choice]:
    others = [process for process in running.ids if process not in choice.side]
    return _apart(choice.side, others)


def _sever(choice: Sever, running: Running) -> Iterator[Choice]:
    return _apart([choice.process], [choice.peer])


def _mute(choice: Mute, running: Running) -> Iterator[Choice]:
    others = [process for process in running.ids if process not in choice.side]
    for process in choice.side:
        for other in others:
            yield Cut(process, other)


def _bridge(choice: Bridge, running: Running) -> Iterator[Choice]:
    side = [process for process in choice.side if process != choice.process]
    others = [process for process in running.ids if process not in choice.side and process != choice.process]
    return _apart(side, others)


def _ring(choice: Ring, running: Running) -> Iterator[Choice]:
    last = len(running.ids)
    for process in running.ids:
        not_next = [other for other in range(process + 1, last + 1) if other - process not in (1, last - 1)]
        yield from _apart([process], not_next)


def _flap(choice: Flap, running: Running) -> Iterator[Choice]:
    for _ in range(choice.times):
        yield from _apart([choice.process], [choice.peer])
        yield from _a_round(running)
        yield Mend(choice.process, choice.peer)
        yield Mend(choice.peer, choice.process)
        yield from _a_round(running)


def _power_loss(choice: PowerLoss, running: Running) -> Iterator[Choice]:
    for process in running.ids:
        yield Crash(process, choice.keep)


def _apart(side: Iterable[int], others: Iterable[int]) -> Iterator[Choice]:
    """Cut every link between the two, both ways."""
    for process in side:
        for other in others:
            yield Cut(process, other)
            yield Cut(other, process)


_MEANINGS: dict[type[Choice], Callable[[Any, Running], Iterator[Choice]]] = {
    Lead: _lead,
    Drain: _drain,
    Settle: _settle,
    Split: _split,
    Sever: _sever,
    Mute: _mute,
    Bridge: _bridge,
    Ring: _ring,
    Flap: _flap,
    PowerLoss: _power_loss,
}

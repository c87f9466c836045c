"""Measure coverage: the abstract states that a run was in, from its events alone.

A concrete state hardly ever comes twice, so counting those is useless. An abstract state keeps the features that decide
how the algorithm goes on, and forgets the rest. It is the set of these situations, over all processes:

- the phase: down, halted, looking for a leader, promised, synchronised, in broadcast; and leading or not;
- its epochs compared with those of the others: f.p is the highest there is, or not;
- its log compared with theirs: empty, the furthest, or behind.

Neither the identities of processes count, nor how many are in the same situation. Many runs that reach no new abstract
state are a sign that more of them would not find much; it is no proof of anything.
"""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any

from zabcheck.invariants import (
    NO_ZXID,
    Accept,
    Adopt,
    CommitEpoch,
    Crash,
    Elect,
    Establish,
    Event,
    Halt,
    Promise,
    Recover,
    Restore,
)

DOWN, HALTED, LOOKING, PROMISED, SYNCHRONISED, BROADCAST = range(6)
"""The phases of a process, as far as its events show them."""

State = tuple[int, ...]
"""An abstract state: the numbers of the situations that processes are in, sorted."""


class Coverage:
    """Watches one run; `states` are the abstract ones that it was in, each once, in order.

    O(processes) an event of the kinds in `observers`.
    """

    def __init__(self, processes: int) -> None:
        self.states: dict[State, None] = {}
        self.observers: dict[type[Event], Callable[[Any], None]] = {
            Accept: self._accept,
            Adopt: self._adopt,
            CommitEpoch: self._commit_epoch,
            Crash: self._crash,
            Elect: self._elect,
            Establish: self._establish,
            Halt: self._halt,
            Promise: self._promise,
            Recover: self._recover,
            Restore: self._restore,
        }
        self._phase = [LOOKING] * processes
        self._leads = [False] * processes
        self._accepted = [0] * processes  # f.p
        self._last = [NO_ZXID] * processes  # of its log
        self._epoch = 0  # the highest f.p
        self._zxid = NO_ZXID  # the highest of any log
        self._numbers = [self._number(each) for each in range(processes)]
        self._changed(0)

    def _changed(self, process: int) -> None:
        """Record the state, after the process numbered from 0 has changed."""
        accepted, last = self._accepted[process], self._last[process]
        if accepted > self._epoch or last > self._zxid:
            self._epoch, self._zxid = max(accepted, self._epoch), max(last, self._zxid)
            for each in range(len(self._numbers)):
                self._numbers[each] = self._number(each)
        else:
            self._numbers[process] = self._number(process)
        self.states[self.state()] = None

    def state(self) -> State:
        """Return the abstract state that the run is in now."""
        return tuple(sorted({*self._numbers}))

    def _number(self, process: int) -> int:
        """Return the situation of a process as one number."""
        last = self._last[process]
        log = 0 if last == NO_ZXID else 1 if last == self._zxid else 2
        number = self._phase[process] * 2 + self._leads[process]
        return (number * 2 + (self._accepted[process] == self._epoch)) * 3 + log

    def _promise(self, event: Promise) -> None:
        process = event.process - 1
        self._accepted[process] = event.epoch
        self._phase[process] = PROMISED
        self._changed(process)

    def _adopt(self, event: Adopt) -> None:
        process = event.process - 1
        self._last[process] = event.zxid
        self._phase[process] = SYNCHRONISED
        self._changed(process)

    def _commit_epoch(self, event: CommitEpoch) -> None:
        process = event.process - 1
        self._phase[process] = BROADCAST
        self._changed(process)

    def _establish(self, event: Establish) -> None:
        process = event.process - 1
        self._leads[process] = True
        self._changed(process)

    def _accept(self, event: Accept) -> None:
        process = event.process - 1
        self._last[process] = event.txn.zxid
        self._changed(process)

    def _restore(self, event: Restore) -> None:
        process = event.process - 1
        self._last[process] = max(self._last[process], event.zxid)
        self._changed(process)

    def _elect(self, event: Elect) -> None:
        process = event.process - 1
        self._phase[process] = LOOKING
        self._leads[process] = False
        self._changed(process)

    def _crash(self, event: Crash) -> None:
        process = event.process - 1
        self._phase[process] = DOWN
        self._leads[process] = False
        self._changed(process)

    def _halt(self, event: Halt) -> None:
        process = event.process - 1
        self._phase[process] = HALTED
        self._leads[process] = False
        self._changed(process)

    def _recover(self, event: Recover) -> None:
        process = event.process - 1
        self._phase[process] = LOOKING
        self._changed(process)


def states_of(events: Iterable[Event], processes: int) -> frozenset[State]:
    """Return the abstract states of a trace. O(events · processes)."""
    coverage = Coverage(processes)
    for event in events:
        if (observe := coverage.observers.get(type(event))) is not None:
            observe(event)
    return frozenset(coverage.states)


def fingerprint(state: State) -> int:
    """Hash an abstract state to 63 bits. See `fingerprint_of`."""
    return fingerprint_of(bytes(state))


def fingerprint_of(data: bytes) -> int:
    """Hash bytes to 63 bits, the same everywhere. Of a million different ones two collide with a chance of 1e-7."""
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 1

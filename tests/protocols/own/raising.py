"""Protocols of one's own whose code raises; for the tests."""

import signal
from contextlib import suppress
from time import process_time, sleep
from typing import Any

import zabcheck
from zabcheck import Txn, Zxid


class Copy(zabcheck.Message, frozen=True):
    txn: Txn


class Raising(zabcheck.Process):
    """The third transaction of a primary is too much for its followers."""

    messages = (Copy,)
    sent = 0

    def on_elected(self, leader: int) -> None:
        self.send(leader, Copy(Txn(Zxid(0, 0), "hello")))
        if self.leads:
            self.ready(1)

    def on_request(self, value: str) -> None:
        self.sent += 1
        txn = Txn(Zxid(self.sent, self.id), value)
        for each in self.processes:
            self.send(each, Copy(txn))

    def on_copy(self, sender: int, m: Copy) -> None:
        if sender != self.id:
            self.look_up({0: "a", 1: "b", 2: "c"}, m.txn.zxid.epoch)

    def look_up(self, table: dict[int, Any], key: int) -> Any:
        return table[key]


class RaisingAtOnce(zabcheck.Process):
    def on_started(self) -> None:
        raise RuntimeError("not [today],\nnot ever \x1b[31m")


class Endless(zabcheck.Process):
    messages = (Copy,)

    def on_elected(self, leader: int) -> None:
        self.send(self.id, Copy(Txn(Zxid(0, 0), "hello")))

    def on_copy(self, sender: int, m: Copy) -> None:
        self.send(self.id, m)


class Moody(zabcheck.Process):
    """Not deterministic."""

    moods = 0

    def on_request(self, value: str) -> None:
        type(self).moods += 1
        if type(self).moods == 1:
            raise KeyError(value)

    def can_broadcast(self) -> bool:
        return True


class Fickle(zabcheck.Process):
    """Not deterministic: it delivers what nobody broadcast, but only so often."""

    left = 0

    def on_request(self, value: str) -> None:
        type(self).left -= 1
        txn = Txn(Zxid(1, 1), value)
        if type(self).left < 0:
            self.broadcast(txn)
        self.deliver(txn)

    def can_broadcast(self) -> bool:
        return True


class RaisingAfterAll(zabcheck.Process):
    """Only what a run ends with gets this far: to be elected by two."""

    messages = (Copy,)

    def on_elected(self, leader: int) -> None:
        self.send(leader, Copy(Txn(Zxid(0, 0), "hello")))

    def on_copy(self, sender: int, m: Copy) -> None:
        assert sender == self.id, "an assertion of the protocol's own"


class Stuck(zabcheck.Process):
    """The second request of a leader is one too many."""

    step_seconds = 0.02
    asked = 0

    def on_elected(self, leader: int) -> None:
        if self.leads:
            self.ready(1)

    def on_request(self, value: str) -> None:
        self.asked += 1
        while self.asked > 1:
            with suppress(Exception):
                value = value[:1]


class StuckWhenAsked(zabcheck.Process):
    """It does not even say whether it takes a request."""

    step_seconds = 0.02

    def can_broadcast(self) -> bool:
        while self.leads:
            pass
        return False


class EverSlower(zabcheck.Process):
    """Each request takes longer than the one before, but only the third too long."""

    step_seconds = 0.2
    asked = 0

    def can_broadcast(self) -> bool:
        return True

    def on_request(self, value: str) -> None:
        self.asked += 1
        end = process_time() + (0.0, 0.04, 0.04, 0.6)[self.asked]
        while process_time() < end:
            pass


class Waiting(zabcheck.Process):
    """It waits much longer than a step may compute."""

    step_seconds = 0.02

    def on_started(self) -> None:
        sleep(0.1)


class Hanging(zabcheck.Process):
    """It computes for ever once somebody has pressed Ctrl-C."""

    step_seconds = 600

    def on_elected(self, leader: int) -> None:
        if self.leads:
            self.ready(1)

    def on_request(self, value: str) -> None:
        signal.raise_signal(signal.SIGINT)
        while True:
            pass

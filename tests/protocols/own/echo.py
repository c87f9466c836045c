"""A protocol of one's own in which a process does what the request says; for the tests."""

from typing import Any

import zabcheck
from zabcheck.invariants import Event
from zabcheck.protocols.adapter import protocol_of
from zabcheck.simulation.choices import Choice, Elect, Receive, Request
from zabcheck.simulation.simulator import Simulator


class Word(zabcheck.Message, frozen=True):
    words: list[str]


class Ping(zabcheck.Message, frozen=True):
    pass


class Echo(zabcheck.Process):
    """Says and writes what it is asked to."""

    messages = (Word, Ping)
    durable = ("kept", "history")

    kept: list[str] = []  # noqa: RUF012  # the point is that this is harmless here
    history: tuple[str, ...] = ()
    heard: dict[int, list[str]] = {}  # noqa: RUF012  # as above
    idle = 0

    def on_elected(self, leader: int) -> None:
        self.send(leader, Ping())

    def can_broadcast(self) -> bool:
        return True

    def on_request(self, value: str) -> None:
        verb, _, word = value.partition(" ")
        match verb:
            case "say":
                for each in self.processes:
                    self.send(each, Word([word]))
            case "keep":
                self.kept.append(word)
                self.persist()
                for each in self.processes:
                    self.send(each, Word([word]))
            case "idle":
                self.idle += 1
            case "deliver":
                self.deliver(zabcheck.Txn(zabcheck.Zxid(1, 1), word))
            case "call":
                eval(
                    word, {"self": self, "Txn": zabcheck.Txn, "Zxid": zabcheck.Zxid, "Word": Word, "zabcheck": zabcheck}
                )

    def on_word(self, sender: int, m: Word) -> None:
        self.heard[sender] = m.words
        m.words.append("changed by the receiver")

    def on_message(self, sender: int, m: Any) -> None:
        self.heard[sender] = [type(m).__name__]


class Scene:
    """A run of a protocol of one's own, by hand."""

    def __init__(self, own: type[zabcheck.Process] = Echo, processes: int = 3) -> None:
        self.events: list[Event] = []
        self.simulator = Simulator(protocol_of(own), processes, self.events.append)

    def do(self, *choices: Choice) -> list[bool]:
        """Make the choices; return True for each that was enabled."""
        return [self.simulator.execute(choice) > 0 for choice in choices]

    def ask(self, process: int, value: str) -> bool:
        return self.do(Request(process, value)) == [True]

    def process(self, number: int) -> Any:
        return self.simulator.states[number]

    def connect(self, leader: int, *followers: int) -> None:
        """`leader` leads, and has heard of the followers."""
        self.do(Elect(leader, leader))
        for follower in followers:
            assert self.do(Elect(follower, leader), Receive(leader, follower)) == [True, True]

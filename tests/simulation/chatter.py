"""A protocol with nothing of Zab in it: a process says what it is asked to say, and remembers what it heard.

A request "2:hello" says hello to process 2; "disk>2:hello" writes hello down first. What ends in "?" is asked.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, structs

from invariants import Drop, Event
from invariants.quorums import Quorums
from zabcheck.protocols.base import (
    Connect,
    Effect,
    Elected,
    GiveUp,
    Lost,
    Message,
    Persist,
    Protocol,
    Request,
    Send,
    Started,
    TimedOut,
)
from zabcheck.protocols.environment import Environment
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.simulator import Simulator


class Say(Message, frozen=True):
    word: str


class Ask(Message, frozen=True):
    word: str


class Talker(Struct):
    id: int
    kept: tuple[str, ...] = ()
    heard: tuple[tuple[int, str], ...] = ()
    leader: int | None = None


def _start(process: int, incarnation: int, quorums: Quorums, durable: Mapping[str, Any], switches: Switches) -> Talker:
    return Talker(process, **durable)


def _abandon(talker: Talker) -> None:
    talker.leader = None


def _elected(talker: Talker, sender: int, m: Elected) -> list[Effect]:
    talker.leader = m.leader
    return [Connect(m.leader)]


def _elected_again(talker: Talker, sender: int, m: Elected) -> list[Effect]:
    talker.leader = m.leader
    return [Connect(m.leader, closes=m.leader == talker.id)]


def _request(talker: Talker, sender: int, m: Request) -> list[Effect]:
    where, word = m.value.split(":")
    message = Send(int(where.removeprefix("disk>")), Ask(word) if word.endswith("?") else Say(word))
    if not where.startswith("disk>"):
        return [message]
    talker.kept = (*talker.kept, word)
    return [Persist(kept=talker.kept), message]


def _said(talker: Talker, sender: int, m: Say | Ask) -> list[Effect]:
    talker.heard = (*talker.heard, (sender, m.word))
    return []


def _lost(talker: Talker, sender: int, m: Lost) -> list[Effect]:
    return [GiveUp("lost")] if m.peer == talker.leader else []


def _timed_out(talker: Talker, sender: int, m: TimedOut) -> list[Effect]:
    return [GiveUp("time-out")]


def _show(message: Message) -> tuple[str, str]:
    return KINDS[type(message)], str(structs.astuple(message)[0])


def _nothing(talker: Talker, sender: int, m: Started) -> list[Effect]:
    return []


KINDS: dict[type[Message], str] = {Say: "SAY", Ask: "ASK"}

CHATTER = Protocol(
    name="chatter",
    summary="says what it is asked to say",
    source="these tests",
    steps={
        Started: _nothing,
        Elected: _elected,
        Request: _request,
        Say: _said,
        Ask: _said,
        Lost: _lost,
        TimedOut: _timed_out,
    },
    start=_start,
    abandon=_abandon,
    can_broadcast=lambda _: True,
    describe=lambda talker: {"heard": str(talker.heard)},
    show=_show,
    kinds=KINDS,
)

LOYAL = structs.replace(CHATTER, name="loyal", steps={**CHATTER.steps, Elected: _elected_again})
"""A follower that goes to another leader keeps its connection to the one before."""

RUSHED = structs.replace(CHATTER, name="rushed", environment=Environment(fifo=False))
"""The channels do not keep the order."""


class Chat:
    """A run of the chatter, or of one like it."""

    def __init__(self, processes: int = 3, protocol: Protocol = CHATTER, switches: Switches = LETTER) -> None:
        self.events: list[Event] = []
        self.simulator = Simulator(protocol, processes, self.events.append, switches=switches, network=True)

    def do(self, *wanted: Choice) -> list[bool]:
        """Make the choices; return True for each that was enabled."""
        return [self.simulator.execute(choice) > 0 for choice in wanted]

    def say(self, process: int, to: int, *words: str, disk: bool = False) -> None:
        for word in words:
            self.do(choices.Request(process, f"{'disk>' if disk else ''}{to}:{word}"))

    def receive_all(self, process: int, sender: int) -> list[str]:
        """Return what `process` hears from `sender` now."""
        before = len(self.heard(process, sender))
        while self.do(choices.Receive(process, sender)) == [True]:
            pass
        return self.heard(process, sender)[before:]

    def heard(self, process: int, sender: int) -> list[str]:
        return [word for who, word in self.simulator.states[process].heard if who == sender]


def connected(*followers: int, processes: int = 3, protocol: Protocol = CHATTER, switches: Switches = LETTER) -> Chat:
    """Process 1 leads, and has accepted the connections of `followers`."""
    chat = Chat(processes, protocol, switches)
    chat.do(choices.Elect(1, 1))
    for follower in followers:
        chat.do(choices.Elect(follower, 1))
        chat.say(follower, 1, "hello")
        assert chat.receive_all(1, follower) == ["hello"]
    return chat


def dropped(chat: Chat) -> list[int]:
    return [event.message for event in chat.events if isinstance(event, Drop)]

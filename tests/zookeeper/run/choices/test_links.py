"""Each choice asks the right things of the links between servers, and of the servers."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from zabcheck.zookeeper.run.choices.choice import Choice
from zabcheck.zookeeper.run.choices.links import (
    Await,
    Cut,
    Delay,
    Heal,
    Hold,
    Isolate,
    KillAt,
    Mend,
    Release,
    Reset,
)
from zabcheck.zookeeper.run.choices.servers import Kill, KillAll, Pause, Resume, Start, StartAll
from zabcheck.zookeeper.run.running import Running
from zabcheck.zookeeper.run.server import AS_BEFORE
from zabcheck.zookeeper.run.undone import NotApplicable, NothingCame

A, B, C = 3, 2, 1


class Asked:
    """Notes what is asked of it: the names of methods, with their arguments.

    `answer` is what each method returns.
    """

    def __init__(self, asked: list[tuple[Any, ...]], *about: int, answer: object = None, **known: object) -> None:
        self._asked = asked
        self.about = about
        self._answer = answer
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Any:
        def ask(*arguments: object) -> object:
            self._asked.append((name, *self.about, *arguments))
            return self._answer

        return ask


class Ensemble:
    """Three servers that are up, of which the leader is B now, and a running schedule in which A led first."""

    def __init__(self, **known: object) -> None:
        self.asked: list[tuple[Any, ...]] = []
        state = {"up": True, "paused": False, "incarnation": -1, **known}
        servers = {number: Asked(self.asked, number, **state) for number in (1, 2, 3)}
        proxy = Asked(self.asked, answer=known.get("held", True))
        proxy.trap = lambda *trap: self.asked.append(("trap", *trap[:3], trap[3].about[0]))
        ensemble = SimpleNamespace(
            servers=servers,
            proxy=proxy,
            has_list=lambda _: True,
            start=lambda number, members=AS_BEFORE: self.asked.append(("start", number, *members.voters)),
        )
        self.running = Running(cast(Any, ensemble), cast(Any, None))
        self.running.roles = {"A": A, "B": B, "C": C, "leader": B}

    def done(self, choice: Choice) -> list[tuple[Any, ...]]:
        """Return what a choice asks."""
        choice.apply(self.running)
        return self.asked


@pytest.mark.parametrize(
    ("choice", "asked"),
    [
        (Cut("A", "B"), [("cut", A, B)]),
        (Mend("A", "B"), [("mend", A, B)]),
        (Isolate("B"), [("cut", B, C), ("cut", C, B), ("cut", B, A), ("cut", A, B)]),
        (Reset("A", "leader"), [("reset", A, B)]),
        (Hold("A", "B", "ACK"), [("hold", A, B, "ACK")]),
        (KillAt("C", "A", "B", "ACK"), [("trap", A, B, "ACK", C)]),
        (Await("A", "B", 2.0), [("wait_held", A, B, 2.0)]),
        (Release("A", "B"), [("release", A, B)]),
        (Delay("A", "B", 50), [("delay", A, B, 50)]),
        (Heal(), [("heal",)]),
        (Kill("leader"), [("kill", B)]),
        (KillAll(), [("kill", C), ("kill", B), ("kill", A)]),
        (Pause("A"), [("pause", A)]),
    ],
)
def test_what_is_asked_of_servers_and_links(choice: Choice, asked: list[tuple[Any, ...]]) -> None:
    assert Ensemble().done(choice) == asked


def test_servers_that_are_down_are_started_and_those_that_stand_still_go_on() -> None:
    assert Ensemble(up=False).done(Start("A")) == [("start", A)]
    assert Ensemble(up=False).done(StartAll()) == [("start", C), ("start", B), ("start", A)]
    assert Ensemble(paused=True).done(Resume("A")) == [("resume", A)]


def test_a_server_that_was_cut_off_counts_as_leader_only_when_all_is_healed() -> None:
    ensemble = Ensemble()
    ensemble.done(Isolate("B"))
    assert ensemble.running.isolated == {B}
    ensemble.done(Heal())
    assert ensemble.running.isolated == set()


@pytest.mark.parametrize(
    ("ensemble", "choice", "why"),
    [
        (Ensemble(), Start("A"), "it is up"),
        (Ensemble(up=False), Kill("A"), "it is down"),
        (Ensemble(up=False), Pause("A"), "it is down"),
        (Ensemble(), Resume("A"), "it does not stand still"),
        *(
            (Ensemble(), choice, "one server has no link to itself")
            for choice in (
                Cut("B", "leader"),
                Mend("leader", "B"),
                Hold("B", "leader", "ACK"),
                KillAt("A", "B", "leader", "ACK"),
                Await("B", "leader"),
                Release("B", "leader"),
                Delay("B", "leader", 5),
            )
        ),
    ],
)
def test_what_does_not_apply_is_passed_over_and_changes_nothing(ensemble: Ensemble, choice: Choice, why: str) -> None:
    with pytest.raises(NotApplicable, match=f"^passed over: {why}$"):
        choice.apply(ensemble.running)
    assert ensemble.asked == []


def test_a_packet_that_does_not_come_is_told() -> None:
    with pytest.raises(NothingCame, match="no such packet came"):
        Await("A", "B").apply(Ensemble(held=False).running)

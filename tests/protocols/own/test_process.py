"""A class of one's own: what it can do, and that it cannot do any harm by changing values in place."""

import pytest

import zabcheck
from invariants import Accept, Broadcast, Deliver, Event, Halt, Promise, Ready, Txn, Zxid
from tests.protocols.own.echo import Echo, Scene, Word
from zabcheck.protocols.base import StepRaised
from zabcheck.simulation.choices import Corrupt, Crash, Elect, Notice, Receive, Recover, Request, Reset, Sync, Timeout

X = Txn(Zxid(1, 1), "x")


def test_a_message_reaches_the_method_of_its_name_and_any_other_on_message() -> None:
    scene = Scene()
    scene.connect(1, 2)
    assert scene.process(1).heard == {1: ["Ping"], 2: ["Ping"]}
    scene.ask(1, "say hello")
    scene.do(Receive(2, 1))
    assert scene.process(2).heard[1][0] == "hello"


def test_what_follows_a_persist_waits_for_the_disk() -> None:
    scene = Scene()
    scene.connect(1, 2)
    assert scene.ask(1, "keep a")
    assert scene.process(1).kept == ["a"]
    assert scene.do(Receive(2, 1), Sync(1), Receive(2, 1)) == [False, True, True]


def test_the_disk_has_writes_in_their_order_even_if_one_step_makes_several() -> None:
    scene = Scene()
    scene.ask(1, "call self.persist(kept=['a']) or self.persist(history=('old',))")
    scene.ask(1, "call self.persist(history=('new',)) or self.deliver(Txn(Zxid(1, 1), 'x'))")
    scene.do(Sync(1))
    assert scene.events == []
    scene.do(Sync(1), Crash(1), Recover(1))
    assert scene.events[0] == Deliver(1, 0, X)
    assert scene.process(1).history == ("new",)


def test_a_primary_takes_no_request_before_its_ready_is_shown_and_drops_it_if_it_gives_up() -> None:
    class Primary(zabcheck.Process):
        durable = ("epoch",)
        epoch = 0

        def on_elected(self, leader: int) -> None:
            self.persist(epoch=self.epoch + 1)
            self.ready(self.epoch)

        def on_request(self, value: str) -> None:
            self.broadcast(Txn(Zxid(self.epoch, 1), value))

        def on_timed_out(self) -> None:
            self.persist()
            self.give_up("behind a write")

    scene = Scene(Primary)
    scene.do(Elect(1, 1))
    assert not scene.ask(1, "x")
    scene.do(Timeout(1), Elect(1, 1), Sync(1))
    assert scene.ask(1, "x"), "it gave up before it was elected again"
    assert scene.events == [Ready(1, 0, 2), Broadcast(1, 0, 2, Txn(Zxid(2, 1), "x"))]
    scene.do(Timeout(1))
    assert not scene.ask(1, "y")


def test_a_recovered_process_has_what_was_synced_and_nothing_else() -> None:
    scene = Scene()
    scene.ask(1, "keep a")
    scene.do(Sync(1))
    scene.ask(1, "keep b")
    scene.ask(1, "idle")
    scene.do(Crash(1), Recover(1))
    assert (scene.process(1).kept, scene.process(1).idle, scene.process(1).incarnation) == (["a"], 0, 1)


def test_a_value_that_is_changed_in_place_changes_nowhere_else() -> None:
    scene = Scene()
    scene.connect(1, 2)
    scene.ask(1, "keep a")
    scene.process(1).kept.append("not written")
    scene.do(Sync(1), Receive(2, 1))
    assert scene.process(2).heard[1] == ["a", "changed by the receiver"]
    assert scene.process(1).heard[1] == ["a", "changed by the receiver"]
    scene.do(Crash(1), Recover(1))
    assert scene.process(1).kept == ["a"]
    assert Echo.kept == [], "the first value in the class is nobody's"
    assert Echo.heard == {}
    scene.process(1).kept.append("not written either")
    scene.do(Crash(1), Recover(1))
    assert scene.process(1).kept == ["a"]


def test_a_copy_of_a_run_goes_its_own_way() -> None:
    scene = Scene()
    scene.connect(1, 2)
    scene.ask(1, "say hello")
    twin = scene.simulator.fork(lambda _: None)
    scene.do(Receive(2, 1))
    scene.process(2).heard[1].append("more")
    assert twin.states[2].heard == {}
    twin.execute(Receive(2, 1))
    assert twin.states[2].heard == {1: ["hello", "changed by the receiver"]}


def test_a_step_that_only_changes_a_variable_counts() -> None:
    """Otherwise it would be missing from the schedule that the run leaves."""
    scene = Scene()
    assert scene.ask(1, "idle")
    assert scene.simulator.executed == [Request(1, "idle")]


def test_by_default_a_process_that_loses_its_leader_gives_up() -> None:
    scene = Scene()
    scene.connect(1, 2)
    scene.do(Reset(1, 2))
    assert scene.do(Notice(2, 1)) == [True]
    assert scene.process(2).leader is None
    assert scene.process(1).leads
    assert scene.do(Notice(1, 2), Timeout(1)) == [True, True]
    assert scene.process(1).leader is None


def test_ready_lasts_until_the_next_election() -> None:
    class Primary(zabcheck.Process):
        def on_elected(self, leader: int) -> None:
            if self.leads:
                self.ready(3)

        def on_request(self, value: str) -> None:
            self.broadcast(Txn(Zxid(3, 1), value))

    scene = Scene(Primary)
    assert not scene.ask(1, "x")
    scene.do(Elect(1, 1))
    assert scene.ask(1, "x")
    assert scene.events == [Ready(1, 0, 3), Broadcast(1, 0, 3, Txn(Zxid(3, 1), "x"))]
    scene.do(Elect(1, 2))
    assert not scene.ask(1, "y")


def test_events_are_shown_as_they_are_called() -> None:
    scene = Scene()
    scene.ask(1, "deliver x")
    scene.ask(1, "call self.show(zabcheck.invariants.Promise(1, 0, 2))")
    scene.ask(1, "call self.halt('enough')")
    expected: list[Event] = [Deliver(1, 0, X), Promise(1, 0, 2), Halt(1, 0, "enough")]
    assert scene.events == expected
    assert scene.simulator.halted[1]


def test_an_altered_record_halts_a_process_whatever_is_in_it() -> None:
    for record in (0, 1):
        scene = Scene()
        scene.ask(1, "call self.persist(history=('a', 'b'), kept=['c'])")
        scene.do(Sync(1), Corrupt(1, record), Crash(1), Recover(1))
        assert [type(event) for event in scene.events[-1:]] == [Halt]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("self.send(4, Word([]))", "ValueError: no process 4; there are 1 to 3"),
        ("self.send(1, 'hello')", "TypeError: a str is sent, which is not in `messages` of Echo"),
        ("self.persist(heard={})", "ValueError: `heard` is not in `durable` of Echo"),
        ("self.deliver('x')", "msgspec.ValidationError: Expected `object`, got `str` - at `$.txn`"),
        ("self.deliver(Txn(Zxid(-1, 0), 'x'))", "msgspec.ValidationError: Expected `int` >= 0 - at `$.txn.zxid[0]`"),
        ("self.show(zabcheck.invariants.Crash(1, 0))", "TypeError: expected one of: Promise, AckEpoch, "),
        ("self.show(zabcheck.invariants.Promise(2, 0, 1))", "ValueError: Promise(process=2, "),
    ],
)
def test_a_call_that_makes_no_sense_raises_in_the_line_that_makes_it(call: str, said: str) -> None:
    scene = Scene()
    with pytest.raises(StepRaised) as raised:
        scene.ask(1, f"call {call}")
    assert raised.value.said.startswith(said)
    assert "echo.py" in " ".join(raised.value.traceback)


def test_only_a_step_can_have_effects() -> None:
    scene = Scene()
    with pytest.raises(RuntimeError, match="only a step can do that"):
        scene.process(1).send(2, Word([]))


def test_can_broadcast_raises_in_the_step_that_the_request_is() -> None:
    class Doubtful(zabcheck.Process):
        def can_broadcast(self) -> bool:
            raise KeyError("why")

    scene = Scene(Doubtful)
    with pytest.raises(StepRaised, match=r"Request\(value='x'\): KeyError"):
        scene.ask(1, "x")


def test_quorums_are_those_of_the_run() -> None:
    p = Scene().process(1)
    assert p.is_quorum([1, 2])
    assert not p.is_quorum([1, 1])
    assert p.processes == (1, 2, 3)


def test_protocol_events_can_be_shown_for_the_properties_over_them() -> None:
    scene = Scene()
    scene.ask(2, "call self.show(zabcheck.invariants.Accept(2, 0, 1, Txn(Zxid(1, 1), 'x')))")
    assert scene.events == [Accept(2, 0, 1, X)]

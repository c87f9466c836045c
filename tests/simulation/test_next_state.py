"""`next_state` says what the simulator would do, and leaves nothing behind."""

from collections.abc import Iterator
from itertools import chain
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from invariants import Event
from invariants.quorums import Quorums
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols import step_limit
from zabcheck.protocols.base import Elected
from zabcheck.protocols.switches import Switches
from zabcheck.simulation import choices
from zabcheck.simulation.choices import AnyChoice
from zabcheck.simulation.disk import Disk
from zabcheck.simulation.network import Connection
from zabcheck.simulation.next_state import EVERYBODY, LocalProcess, Model, after_acts, next_state
from zabcheck.simulation.simulator import Simulator

IDS = (1, 2, 3)
CRASHES = (choices.Crash, choices.Recover)


def moves() -> list[AnyChoice]:
    """All choices that move one of three processes."""
    pairs = [(p, q) for p in IDS for q in IDS]
    apart = [(p, q) for p, q in pairs if p != q]
    return [
        *(choices.Elect(p, q) for p, q in pairs),
        *chain.from_iterable([(choices.Receive(p, q), choices.Notice(p, q), choices.Reset(p, q)) for p, q in apart]),
        *chain.from_iterable([(choices.Sync(p), choices.Request(p), choices.Timeout(p)) for p in IDS]),
        *chain.from_iterable([(choices.Crash(p, keep), choices.Recover(p)) for p in IDS for keep in (0, 1)]),
    ]


def of_connection(c: Connection) -> tuple[Any, ...]:
    ends = (c.follower, c.leader, c.follower_end, c.leader_end, c.broken, c.supersedes)
    return *ends, [message for message, _ in c.to_leader], [message for message, _ in c.to_follower]


def of_disk(disk: Disk) -> tuple[Any, ...]:
    return disk.durable, [(write.fields, write.withheld) for write in disk.unsynced], disk.altered


def of_process(process: LocalProcess) -> tuple[Any, ...]:
    return process.id, repr(process.state), of_disk(process.disk), process.halted, process.following


def taken(run: Simulator, process: int) -> tuple[LocalProcess, dict[tuple[int, int], Connection]]:
    local = LocalProcess(process, run.states[process], run.disks[process], run.halted[process], run.following[process])
    return local, {pair: connection for pair, connection in run.connections.items() if process in pair}


def seen(local: LocalProcess, connections: Any) -> tuple[Any, ...]:
    return of_process(local), {pair: of_connection(each) for pair, each in sorted(connections.items())}


def walked(switches: Switches, seed: int, steps: int) -> Iterator[tuple[Simulator, AnyChoice, list[Event]]]:
    """A random run, with each choice that is about to be tried, and the events shown so far. No process crashes."""
    random, shown = Random(seed), list[Event]()
    run = Simulator(mutated("zab"), 3, shown.append, switches=switches)
    for _ in range(steps):
        possible = [each for each in moves() if not isinstance(each, CRASHES)]
        messages = [choices.Receive(p, q) for p, q, _ in run.waiting()]
        choice = random.choice(messages if messages and random.random() < 0.7 else possible)
        shown.clear()
        yield run, choice, shown


@pytest.mark.parametrize("switches", [Switches(), Switches(sync="atomic", closing="abrupt")])
def test_it_says_what_the_simulator_does(switches: Switches) -> None:
    model = Model(mutated("zab"), Quorums(3), switches)
    enabled = 0
    for seed in range(3):
        for run, choice, shown in walked(switches, seed, 150):
            process = choice.process  # type: ignore[union-attr]  # each one moves a process
            local, connections = taken(run, process)
            before = seen(local, connections)
            said = next_state(model, local, connections, choice, run.requests)
            assert seen(local, connections) == before
            others = [seen(*taken(run, other)) for other in IDS if other != process]
            if not run.execute(choice):
                assert said is None
                continue
            assert said is not None
            enabled += 1
            assert not said.raised
            assert seen(said.process, said.connections) == seen(*taken(run, process))
            assert said.events == tuple(shown)
            mine = {
                pair for pair in connections if run.connections.get(pair, connections[pair]) is not connections[pair]
            }
            assert set(said.replaced) == mine
            assert [one for one, *_ in others] == [seen(*taken(run, p))[0] for p in IDS if p != process]
    assert enabled > 150


@pytest.mark.parametrize("switches", [Switches(), Switches(sync="atomic", closing="abrupt")])
def test_other_connections_than_those_to_whom_a_choice_names_need_not_be_told(switches: Switches) -> None:
    model = Model(mutated("zab"), Quorums(3), switches)
    changed = 0
    for seed in range(3):
        for run, choice, _ in walked(switches, seed, 150):
            me: int = choice.process  # type: ignore[union-attr]
            local, connections = taken(run, me)
            named = getattr(choice, "sender", getattr(choice, "peer", me))

            def to(other: int, all_: Any, me: int = me) -> Any:
                return {pair: each for pair, each in all_.items() if {me, other} == set(pair)}

            whole = next_state(model, local, connections, choice, run.requests)
            part = next_state(model, local, to(named, connections), choice, run.requests)
            assert (part is None) == (whole is None)
            if part is not None and whole is not None:
                assert seen(part.process, to(named, part.connections)) == seen(
                    whole.process, to(named, whole.connections)
                )
                assert part.events == whole.events
                for other in IDS:
                    if other not in (named, me):
                        acts = [act for act in part.acts if act.to in (EVERYBODY, other)]
                        after, _, replaced = after_acts(model, local, acts, to(other, connections))
                        assert seen(local, to(other, after)) == seen(local, to(other, whole.connections))
                        assert {*replaced} & {*to(other, after)} == {*whole.replaced} & {*to(other, after)}
                        changed += seen(local, to(other, after)) != seen(local, to(other, connections))
            run.execute(choice)
    assert changed > 50


def test_a_process_that_is_down_can_only_recover() -> None:
    model = Model(mutated("zab"), Quorums(3), Switches())
    start = model.start()[0]
    assert [each.id for each in model.start()] == [1, 2, 3]
    crashed = next_state(model, start, {}, choices.Crash(1))
    assert crashed is not None
    down = crashed.process
    assert not down.is_up
    assert start.is_up
    possible = {type(each) for each in moves() if each.process == 1 and next_state(model, down, {}, each)}
    assert possible == {choices.Recover}
    recovered = next_state(model, crashed.process, {}, choices.Recover(1))
    assert recovered is not None
    assert recovered.process.is_up


def test_a_request_gets_the_next_value() -> None:
    model = Model(mutated("zab", "quorum-off-by-one"), Quorums(1), Switches(sync="atomic"))
    leading = next_state(model, model.start()[0], {}, choices.Elect(1, 1))
    assert leading is not None
    for requests in (0, 6):
        asked = next_state(model, leading.process, {}, choices.Request(1), requests)
        assert asked is not None
        assert f"v{requests + 1}" in repr(asked.events)


def test_code_that_raises_ends_the_run() -> None:
    def fail(*_: Any) -> Any:
        raise KeyError(7)

    zab = mutated("zab")
    model = Model(replace(zab, steps={**zab.steps, Elected: fail}), Quorums(3), Switches())
    raised = next_state(model, model.start()[0], {}, choices.Elect(1, 2))
    assert raised is not None
    assert raised.raised


def test_each_of_its_steps_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was forked since the model was made is watched as well."""
    model = Model(mutated("zab"), Quorums(3), Switches())
    watched = []
    monkeypatch.setattr(step_limit, "watch", lambda: watched.append(True))
    assert next_state(model, model.start()[0], {}, choices.Elect(1, 2)) is not None
    assert len(watched) > 1, "the first one is of the start"

"""A step rebinds the fields of its process and never changes what they held; so a shallow copy is a copy."""

from collections.abc import Mapping
from copy import copy
from random import Random
from typing import Any

from msgspec import Struct, structs

from invariants import Chain
from tests.protocols.zab.builders import AB, established
from tests.search.walk import Walk
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import Protocol, Request, Step
from zabcheck.protocols.zab.leader import on_request
from zabcheck.simulation.simulator import Simulator

ZAB = PROTOCOLS["zab"]


def as_it_is(value: object) -> object:
    """Return what a value holds now. Links of a chain are shared, so one says enough."""
    if isinstance(value, Chain):
        return value.length, value.hash, value.zxid, value.txn, id(value.previous)
    return dict(value) if isinstance(value, Mapping) else value


def fields(struct: Struct) -> dict[str, object]:
    return {name: as_it_is(value) for name, value in structs.asdict(struct).items()}


def guarded(protocol: Protocol) -> tuple[Protocol, dict[str, int]]:
    """The protocol with each step watched, and how often each kind of step was."""
    taken: dict[str, int] = {}

    def watch(name: str, step: Step) -> Step:
        def watched(process: Any, sender: int, stimulus: Any) -> Any:
            held = structs.asdict(process)
            before, message = fields(process), fields(stimulus)
            effects = step(process, sender, stimulus)
            assert {field: as_it_is(value) for field, value in held.items()} == before, f"{name} changed a value"
            assert fields(stimulus) == message, f"{name} changed what it was given"
            taken[name] = taken.get(name, 0) + bool(effects)
            return effects

        return watched

    steps = {kind: watch(kind.__name__, step) for kind, step in protocol.steps.items()}
    return structs.replace(protocol, steps=steps), taken


def test_no_step_changes_a_value_that_it_was_given() -> None:
    protocol, taken = guarded(ZAB)
    for seed in range(4):
        walk = Walk(Simulator(protocol, 3, lambda _: None), seed)
        for _ in range(1500):
            walk.step()
    assert {kind.__name__ for kind in ZAB.steps} == {name for name, count in taken.items() if count}


def test_shallow_copies_diverge_independently() -> None:
    leader = established(1, 2, 3)
    twin = copy(leader)
    before = structs.asdict(copy(leader))
    on_request(twin, 1, Request("v"))
    assert structs.asdict(leader) == before
    on_request(leader, 1, Request("w"))
    assert leader.proposed != twin.proposed
    assert leader.proposed is not None
    assert leader.proposed.starts_with(AB)
    assert leader.links == twin.links


def test_a_step_says_nothing_but_effects_and_the_same_each_time() -> None:
    """The same state and the same message give the same effects and the same state."""
    rng = Random(0)
    states: list[tuple[type, Any, int, Any]] = []

    def record(kind: type, step: Step) -> Step:
        def recording(process: Any, sender: int, stimulus: Any) -> Any:
            if rng.random() < 0.1:
                states.append((kind, copy(process), sender, stimulus))
            return step(process, sender, stimulus)

        return recording

    steps: Mapping[Any, Step] = {kind: record(kind, step) for kind, step in ZAB.steps.items()}
    walk = Walk(Simulator(structs.replace(ZAB, steps=steps), 3, lambda _: None), 1)
    for _ in range(2000):
        walk.step()
    assert len(states) > 50
    for kind, process, sender, stimulus in states:
        left, right = copy(process), copy(process)
        step = ZAB.steps[kind]
        assert step(left, sender, stimulus) == step(right, sender, stimulus)
        assert left == right

"""An operator's plan: the servers that there are, their settings, and the steps, in their order.

{"version":1,"zookeeper":"3.9.5","voters":[1,2,3],"steps":[
{"step":"start","server":4,"voters":[1,2,3,4]},
{"step":"restart","server":1,"voters":[1,2,3,4]}
]}
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from zabcheck.invariants.diagnosis import NOT_DECODED, malformed, place_of
from zabcheck.zookeeper.verdict.known_issues import parsed

MAX_BYTES = 1 << 20
"""The longest plan that is read."""
MOST_SERVERS = 7
"""The most servers of a plan: seven take about a second, nine would take ten."""
MOST_STEPS = 100

Server = Annotated[int, Meta(ge=1, le=255)]
Servers = Annotated[tuple[Server, ...], Meta(max_length=MOST_SERVERS)]


class Step(
    Struct, frozen=True, tag_field="step", tag=str.lower, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """A step of a plan."""


class Start(Step, frozen=True):
    """Start a server that is not running, with a list of its own in its configuration; its disk is as it was left.

    With `wait` the next step comes when the server serves.
    """

    server: Server
    voters: Servers
    observers: Servers = ()
    wait: bool = True


class Restart(Step, frozen=True):
    """Stop a server and start it again, with another list in its configuration, or without `voters` as it is."""

    server: Server
    voters: Servers | None = None
    observers: Servers = ()
    wait: bool = True


class Stop(Step, frozen=True):
    """Stop a server for good."""

    server: Server


class Reconfigure(Step, frozen=True):
    """Ask for a reconfiguration: `add` voters, `observe` adds observers, `remove` takes out either.

    The next step comes when it is answered.
    """

    add: Servers = ()
    observe: Servers = ()
    remove: Servers = ()


AnyStep = Start | Restart | Stop | Reconfigure


class ScalePlan(Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """The plan: `voters` and `observers` run release `zookeeper`, all with the same list, when it begins.

    Settings are those of zoo.cfg, the same at all servers. `reconfig_enabled` of None is the default of the release:
    true in 3.5.0 to 3.5.2, false later. `readonly` names the servers that cannot write to the folder of their
    configuration.
    """

    version: Literal[1]
    zookeeper: str
    voters: Annotated[Servers, Meta(min_length=1)]
    steps: Annotated[tuple[AnyStep, ...], Meta(min_length=1, max_length=MOST_STEPS)]
    observers: Servers = ()
    reconfig_enabled: bool | None = None
    standalone_enabled: bool = True
    sync_enabled: bool = True
    readonly: Servers = ()

    def is_of(self, first: str, cured: str) -> bool:
        """Return True if the release is `first`, or a later one before `cured`."""
        return parsed(first) <= parsed(self.zookeeper) < parsed(cured)

    @property
    def reconfigures(self) -> bool:
        """Return True if servers may be reconfigured while they run."""
        return not self.is_of("0", "3.5.0") and (
            self.is_of("3.5.0", "3.5.3") if self.reconfig_enabled is None else self.reconfig_enabled
        )

    @property
    def numbers_lists(self) -> bool:
        """Return True if lists have versions, and a server takes over a later one: from 3.5.4 on only with reconfig."""
        return self.reconfigures or self.is_of("3.5.0", "3.5.4")

    @property
    def servers(self) -> tuple[int, ...]:
        """All servers that it names, by number."""
        steps = [number for step in self.steps for _, numbers in named_by(step) for number in numbers]
        return tuple(sorted({*self.voters, *self.observers, *self.readonly, *steps}))


class PlanError(ValueError):
    """Not a plan. The message is one line: file, line, field, and what was expected."""


def named_by(step: AnyStep) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the fields of a step that name servers, and these servers."""
    for field in msgspec.structs.fields(step):
        value = getattr(step, field.name)
        if isinstance(value, tuple):
            yield field.encode_name, value
        elif field.name == "server":
            yield field.encode_name, (value,)


def changed(step: Reconfigure, voters: Iterable[int], observers: Iterable[int]) -> tuple[set[int], set[int]]:
    """Return the voters and the observers that a reconfiguration of these makes."""
    add, observe, remove = {*step.add}, {*step.observe}, {*step.remove}
    return ({*voters} - remove - observe) | add, ({*observers} - remove - add) | observe


def decode(data: bytes, name: str) -> ScalePlan:
    """Decode the plan in a file called `name`. PlanError if it is none."""
    if len(data) > MAX_BYTES:
        raise PlanError(f"{name}: expected a plan of at most {MAX_BYTES} bytes")
    try:
        plan = msgspec.json.decode(data, type=ScalePlan)
    except NOT_DECODED as error:
        raise PlanError(f"{name}{malformed(data, error, ScalePlan, 'plan', 1)}") from None
    for path, said in complaints(plan):
        raise PlanError(f"{name}{place_of(data, path)}: {said}")
    return plan


def encode(plan: ScalePlan) -> bytes:
    """Encode a plan as JSON, a step a line."""
    head = msgspec.json.encode(msgspec.structs.replace(plan, steps=()))
    lines = b",\n".join(msgspec.json.encode(step) for step in plan.steps)
    return head.replace(b'"steps":[]', b'"steps":[\n' + lines + b"\n]") + b"\n"


def complaints(plan: ScalePlan) -> Iterator[tuple[str, str]]:
    """Yield the faults of a plan whose fields have the right types, each with the path of its field."""
    try:
        parsed(plan.zookeeper)
    except ValueError as error:
        yield "zookeeper", str(error)
        return
    if len(plan.servers) > MOST_SERVERS:
        yield "steps", f"expected at most {MOST_SERVERS} servers in all, found {len(plan.servers)}"
    yield from _of_lists("", plan.voters, plan.observers)
    running = {*plan.voters, *plan.observers}
    for number, step in enumerate(plan.steps):
        place = f"steps[{number}]."
        if not isinstance(step, Reconfigure):
            running_now = ", ".join(map(str, sorted(running)))
            if isinstance(step, Start) == (step.server in running):
                wanted = "a server that is not running" if isinstance(step, Start) else "a server that is running"
                yield f"{place}server", f"expected {wanted} then (running: {running_now}), found {step.server}"
            running = running - {step.server} if isinstance(step, Stop) else running | {step.server}
        if isinstance(step, Start | Restart) and step.voters is not None:
            yield from _of_lists(place, step.voters, step.observers)
            if step.server not in (*step.voters, *step.observers):
                yield f"{place}voters", f"expected server {step.server} in its own list, which does not start without"
        elif isinstance(step, Restart) and step.observers:
            yield f"{place}observers", "expected `voters`, too"
        elif isinstance(step, Reconfigure):
            yield from _of_change(place, step)


def _of_lists(place: str, voters: tuple[int, ...], observers: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    if not voters:
        yield f"{place}voters", "expected at least one server"
    yield from _of_repeated(place, (("voters", voters), ("observers", observers)))


def _of_change(place: str, step: Reconfigure) -> Iterator[tuple[str, str]]:
    fields = tuple(named_by(step))
    if not any(numbers for _, numbers in fields):
        yield f"{place}add", "expected a server in `add`, `observe` or `remove`"
    yield from _of_repeated(place, fields)


def _of_repeated(place: str, fields: Iterable[tuple[str, tuple[int, ...]]]) -> Iterator[tuple[str, str]]:
    seen: set[int] = set()
    for name, numbers in fields:
        for number in numbers:
            if number in seen:
                yield f"{place}{name}", f"expected each server once, found {number} again"
            seen.add(number)

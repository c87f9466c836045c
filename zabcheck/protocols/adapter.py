"""Turns a user's class (`zabcheck.protocols.own`) into a `Protocol`, and finds it by its name, "module:Class"."""

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

from msgspec.structs import replace

from zabcheck.invariants import Chain
from zabcheck.invariants.diagnosis import like
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols import PROTOCOLS, step_limit
from zabcheck.protocols.base import (
    Changed,
    Connect,
    Effect,
    Elected,
    Lost,
    Members,
    Message,
    ProcessId,
    Protocol,
    Request,
    Started,
    Step,
    Stimulus,
    TimedOut,
)
from zabcheck.protocols.environment import Environment
from zabcheck.protocols.own import Process
from zabcheck.protocols.switches import Switches
from zabcheck.text.nodes import command_of, is_class

PROPERTIES = ("core", "causality", "zxid uniqueness")
"""The properties that a class is judged by unless the user asks for others: those of any primary order broadcast.

The other properties need more: events that only `Process.show` shows (most of the group `protocol`), a recovered
process that delivers again from the start (`ladis`), or a leader that comes to be established without any time-out
(`liveness`).
"""

STIMULI = ("on_started", "on_elected", "on_message", "on_request", "on_lost", "on_timed_out", "on_corrupted")

_GIVEN = ("id", "incarnation", "processes", "leader", "primary", "counter_limit", "messages", "durable", "step_seconds")
"""The attributes of a process that are not variables of the protocol."""

_OWN: dict[str, Protocol] = {}


# By name.


def register(own: type[Process] | Protocol) -> Protocol:
    """Return `own` as a protocol, and remember it for later calls of `find` by its name.

    ValueError if the class has a mistake, or if zabcheck has a protocol of that name.
    """
    protocol = own if isinstance(own, Protocol) else protocol_of(own)
    if protocol.name in PROTOCOLS and PROTOCOLS[protocol.name] is not protocol:
        raise ValueError(f"there is a protocol `{protocol.name}` already: give yours a name of its own")
    _OWN[protocol.name] = protocol
    return protocol


def find(name: str) -> Protocol:
    """Return the protocol registered by this name. No module is imported, and no command started.

    ValueError, in one line, if there is none.
    """
    if name in _OWN:
        return _OWN[name]
    if command_of(name) is not None:
        raise ValueError("a file alone starts no command: say it with --exec, or `exec=` in Python")
    if is_class(name):
        raise ValueError("a file alone imports no module: say it with --protocol, or `protocol=` in Python")
    known = f"expected one of: {', '.join(PROTOCOLS)}; or `module:Class`"
    raise ValueError(f"no protocol `{name}`; {like(name, PROTOCOLS, known)}")


def imported(name: str) -> Protocol:
    """Return the protocol of this name. The module of "module:Class" is imported, so no file may have given the name.

    ValueError, in one line, if the module cannot be imported, has nothing of that name, or if that is no protocol.
    """
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    if name in _OWN or not is_class(name):
        return find(name)
    module, _, qualified = name.partition(":")
    try:
        found: Any = import_module(module)
    except (Exception, SystemExit) as error:  # whatever somebody's module does when it is imported
        said = " ".join(str(error).split())
        raise ValueError(f"protocol `{name}`: cannot import `{module}`: {type(error).__name__}: {said}") from error
    for part in qualified.split("."):
        if not hasattr(found, part):
            raise ValueError(f"protocol `{name}`: no `{qualified}` in module `{module}`")
        found = getattr(found, part)
    if not isinstance(found, Protocol) and not (isinstance(found, type) and issubclass(found, Process)):
        raise ValueError(f"protocol `{name}`: expected a subclass of zabcheck.Process, found {found!r:.60}")
    protocol = register(found)
    return _OWN.setdefault(name, replace(protocol, name=name))  # a schedule says the name by which it is found


# A class as a table of steps.


def protocol_of(own: type[Process]) -> Protocol:
    """Return the class as a protocol. ValueError, in one line, if the class has a mistake."""
    name = f"{own.__module__}:{own.__qualname__}"
    _check(own)
    steps: dict[type[Message] | type[Stimulus], Step] = {
        Started: _on_started,
        Elected: _on_elected,
        Request: _on_request,
        Lost: _on_lost,
        TimedOut: _on_timed_out,
    }
    steps |= {kind: _receiving(_handler(own, kind)) for kind in own.messages}
    return Protocol(
        name=name,
        summary=((own.__doc__ or "").strip().splitlines() or ["a protocol of somebody's own"])[0],
        source=own.__module__,
        steps=steps,
        start=_starting(own),
        abandon=_abandon,
        can_broadcast=_can_broadcast,
        describe=_describe,
        show=_show,
        legend=(("", "⟨epoch,counter⟩"), ("⊥", "none")),
        kinds={kind: kind.__name__ for kind in own.messages},
        properties=PROPERTIES,
        highest_epoch=_epoch_as_primary if own.highest_epoch is Process.highest_epoch else _highest_epoch,
        step_seconds=own.step_seconds,
        environment=own.environment,
    )


def _check(own: type[Process]) -> None:
    """Check the class for mistakes that would silently change what it does. ValueError if there is one."""
    name = own.__qualname__
    for attribute, what in (("messages", "(Copy, Ack)"), ("durable", '("log",)')):
        if not isinstance(getattr(own, attribute), tuple):
            raise ValueError(f"{name}.{attribute}: expected a tuple, as in {what}, found {getattr(own, attribute)!r}")
    if not isinstance(own.environment, Environment) or own.environment.mesh:
        raise ValueError(f"{name}.environment: expected an Environment that is no mesh, found {own.environment!r}")
    if own.__init__ is not object.__init__:
        raise ValueError(f"{name}.__init__ is never called: give variables their first values in the body of the class")
    variables = _variables(own)
    for variable in own.durable:
        if variable not in variables:
            raise ValueError(f"{name}.durable: no variable {variable!r} with a first value in the body of the class")
    for kind in own.messages:
        if not (isinstance(kind, type) and issubclass(kind, Message)):
            raise ValueError(f"{name}.messages: expected subclasses of zabcheck.Message, found {kind!r}")
        if _method(kind) in STIMULI:
            raise ValueError(
                f"{name}.messages: {kind.__name__} needs another name: its method would be `{_method(kind)}`,"
                " which every process has already"
            )
        if _handler(own, kind) == "on_message" and own.on_message is Process.on_message:
            raise ValueError(
                f"{name}: no method `{_method(kind)}` for its message {kind.__name__}, and no `on_message`"
            )
    if not (isinstance(own.step_seconds, int | float) and own.step_seconds > 0):
        raise ValueError(f"{name}.step_seconds: expected a number of seconds above 0, found {own.step_seconds!r:.60}")
    if not callable(own.highest_epoch):
        raise ValueError(f"{name}.highest_epoch: expected a method, found {own.highest_epoch!r:.60}")
    handlers = [_method(kind) for kind in own.messages]
    if len(set(handlers)) < len(handlers):
        raise ValueError(f"{name}.messages: two have the same name: {', '.join(k.__name__ for k in own.messages)}")
    for method in dir(own):
        if method.startswith("on_") and method not in STIMULI and method not in handlers:
            raise ValueError(f"{name}.{method} is never called; expected one of: {', '.join((*STIMULI, *handlers))}")


def _method(kind: type[Message]) -> str:
    """Return the name of the method for a kind of message: `on_new_epoch` for NewEpoch."""
    return "on_" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()


def _handler(own: type[Process], kind: type[Message]) -> str:
    return _method(kind) if hasattr(own, _method(kind)) else "on_message"


# The life of a process.


def _starting(own: type[Process]) -> Callable[[ProcessId, int, Quorums, Mapping[str, Any], Switches], Process]:
    variables = _variables(own)

    def start(process: ProcessId, incarnation: int, quorums: Quorums, disk: Mapping[str, Any], at: Switches) -> Process:
        p = own()
        p.id = process
        p.incarnation = incarnation
        p.processes = tuple(range(1, quorums.size + 1))
        p.leader = p.primary = None
        p.counter_limit = at.counter_limit
        p._quorums = quorums
        vars(p).update(deepcopy({**variables, **disk}))
        return p

    return start


def _variables(own: type[Process]) -> dict[str, Any]:
    """Return the variables with a value in the body of the class or its bases: no methods, no classes."""
    found: dict[str, Any] = {}
    for each in reversed(own.__mro__[: own.__mro__.index(Process)]):
        for name, value in vars(each).items():
            is_variable = not hasattr(type(value), "__get__") and not isinstance(value, type)
            if is_variable and name not in _GIVEN and not name.startswith("_"):
                found[name] = value
    return found


def _abandon(p: Process) -> None:
    p.leader = p.primary = None


def _can_broadcast(p: Process) -> bool:
    """Return True if the process takes a request. True also if its method raises: the step will raise again."""
    step_limit.calls.begun += 1
    try:
        return bool(p.can_broadcast())
    except (Exception, step_limit.Stopped):
        return True
    finally:
        step_limit.calls.over += 1


step_limit.calls_steps(_can_broadcast, seconds=lambda frame: frame.f_locals["p"].step_seconds)


def _highest_epoch(p: Process) -> int:
    return p.highest_epoch()


def _epoch_as_primary(p: Process) -> int:
    return p.highest_epoch()


def tells_highest_epoch(protocol: Protocol) -> bool:
    """Return False for a class that has no `highest_epoch` of its own, so that only epochs of events are known."""
    return protocol.highest_epoch is not _epoch_as_primary


# Steps. A method that had no effect may still have changed a variable: `Changed` counts it as enabled.


def _taken(p: Process, method: Callable[..., None], *arguments: Any) -> list[Effect]:
    """Call a method of the process, and return the effects that it asked for."""
    effects: list[Effect] = []
    p._effects = effects
    try:
        method(*arguments)
    finally:
        p._effects = None
    return effects or [Changed()]


def _on_started(p: Process, sender: ProcessId, m: Started) -> list[Effect]:
    return _taken(p, p.on_started if m.intact else p.on_corrupted)


def _on_elected(p: Process, sender: ProcessId, m: Elected) -> list[Effect]:
    p.leader, p.primary = m.leader, None
    return [Connect(m.leader), *_taken(p, p.on_elected, m.leader)]


def _on_request(p: Process, sender: ProcessId, m: Request) -> list[Effect]:
    return _taken(p, p.on_request, m.value) if p.can_broadcast() else []


def _on_lost(p: Process, sender: ProcessId, m: Lost) -> list[Effect]:
    return _taken(p, p.on_lost, m.peer)


def _on_timed_out(p: Process, sender: ProcessId, m: TimedOut) -> list[Effect]:
    return _taken(p, p.on_timed_out)


def _receiving(handler: str) -> Step:
    """Return the step that hands a message to the method `handler`, as a copy that the method may change."""

    def on_message(p: Process, sender: ProcessId, m: Message) -> list[Effect]:
        return _taken(p, getattr(p, handler), sender, deepcopy(m))

    return on_message


# For reports.


def _describe(p: Process) -> dict[str, str | tuple[str, ...]]:
    role = "leads" if p.leads else "no leader" if p.leader is None else f"follows p{p.leader}"
    described: dict[str, str | tuple[str, ...]] = {"": role}
    for name, value in vars(p).items():
        if name not in _GIVEN and not name.startswith("_"):
            described.update(_parts(name, value))
    return described


def _parts(name: str, value: Any) -> Iterator[tuple[str, str | tuple[str, ...]]]:
    """Yield the parts of a value that change one by one, as text, each with its name: `votes[2]`, `vote.epoch`."""
    record = _fields(value)
    if record is not None:
        for field, each in record.items():
            yield from _parts(f"{name}.{field}", each)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _parts(f"{name}[{_text(key)}]", each)
    elif isinstance(value, tuple | list | Chain):
        yield name, tuple(map(_text, value))
    elif isinstance(value, set | frozenset):
        yield name, Members(sorted(map(_text, value)))
    else:
        yield name, _text(value)


def _fields(value: Any) -> dict[str, Any] | None:
    """Return the fields of a dataclass, named tuple or struct; None for other values, and if it has its own text."""
    if isinstance(value, type) or getattr(type(value), "__str__", None) is not object.__str__:
        return None
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    names = getattr(value, "_fields", None) if isinstance(value, tuple) else getattr(value, "__struct_fields__", None)
    return None if names is None else {name: getattr(value, name) for name in names}


def _show(message: Message) -> tuple[str, str]:
    return type(message).__name__, ", ".join(_text(getattr(message, field)) for field in message.__struct_fields__)


def _text(value: Any) -> str:
    """Return a value as text for a reader: None as the paper's ⊥, containers item by item, sets sorted."""
    record = _fields(value)
    if record is not None:
        return f"{type(value).__name__}({', '.join(map(_text, record.values()))})"
    match value:
        case None:
            return "⊥"
        case tuple() | list() | Chain():
            return f"[{' '.join(map(_text, value))}]"
        case set() | frozenset():
            return f"{{{' '.join(sorted(map(_text, value)))}}}"
        case dict():
            return f"{{{', '.join(f'{_text(key)}: {_text(each)}' for key, each in value.items())}}}"
    return str(value)

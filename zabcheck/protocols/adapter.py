"""How a class of somebody's own (`zabcheck.protocols.own`) becomes a `Protocol`, and how it is found by its name.

Its name is "module:Class", so that a saved schedule tells where the class is.
"""

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from importlib import import_module
from typing import Any

from msgspec.structs import replace

from invariants import Chain
from invariants.quorums import Quorums
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import (
    Changed,
    Connect,
    Effect,
    Elected,
    Lost,
    Message,
    ProcessId,
    Protocol,
    Request,
    Started,
    Step,
    Stimulus,
    TimedOut,
)
from zabcheck.protocols.own import Process
from zabcheck.protocols.switches import Switches

PROPERTIES = ("core", "causality", "zxid uniqueness")
"""What a class is judged by unless other properties are asked for: what holds for any primary order atomic broadcast.

The others take more than that: events that only `Process.show` shows (most of the group `protocol`), a recovered
process that delivers again from the start (`ladis`), or so many rounds to get going and no more (`liveness`).
"""

STIMULI = ("on_started", "on_elected", "on_message", "on_request", "on_lost", "on_timed_out", "on_corrupted")

_GIVEN = ("id", "incarnation", "processes", "leader", "primary", "counter_limit", "messages", "durable")
"""What a process has that is no variable of the protocol."""

_OWN: dict[str, Protocol] = {}


# By name.


def register(own: type[Process] | Protocol) -> Protocol:
    """The protocol that `own` is, to be found by its name from here on, in this process.

    ValueError if the class is not what it has to be, or the name is that of a protocol of zabcheck.
    """
    protocol = own if isinstance(own, Protocol) else protocol_of(own)
    if protocol.name in PROTOCOLS and PROTOCOLS[protocol.name] is not protocol:
        raise ValueError(f"there is a protocol `{protocol.name}` already: give yours a name of its own")
    _OWN[protocol.name] = protocol
    return protocol


def find(name: str) -> Protocol:
    """The protocol with this name, "module:Class"; imported, if it is not registered.

    ValueError, in one line, if there is no such module, nothing of that name in it, or if that is no protocol.
    """
    if name in _OWN:
        return _OWN[name]
    module, colon, qualified = name.partition(":")
    if not colon:
        raise ValueError(f"no protocol `{name}`; expected one of: {', '.join(PROTOCOLS)}; or `module:Class`")
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
    """The class as a protocol. ValueError, in one line, for a class that is not what it has to be."""
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
        legend=("⟨epoch,counter⟩", "⊥ none"),
        kinds={kind: kind.__name__ for kind in own.messages},
        properties=PROPERTIES,
    )


def _check(own: type[Process]) -> None:
    """ValueError for a class with a mistake that would make it do nothing, or something else than it says."""
    name = own.__qualname__
    for attribute, what in (("messages", "(Copy, Ack)"), ("durable", '("log",)')):
        if not isinstance(getattr(own, attribute), tuple):
            raise ValueError(f"{name}.{attribute}: expected a tuple, as in {what}, found {getattr(own, attribute)!r}")
    if own.__init__ is not object.__init__:
        raise ValueError(f"{name}.__init__ is never called: give variables their first values in the body of the class")
    variables = _variables(own)
    for variable in own.durable:
        if variable not in variables:
            raise ValueError(f"{name}.durable: no variable {variable!r} with a first value in the body of the class")
    for kind in own.messages:
        if not (isinstance(kind, type) and issubclass(kind, Message)):
            raise ValueError(f"{name}.messages: expected subclasses of zabcheck.Message, found {kind!r}")
        if _handler(own, kind) == "on_message" and own.on_message is Process.on_message:
            raise ValueError(
                f"{name}: no method `{_method(kind)}` for its message {kind.__name__}, and no `on_message`"
            )
    handlers = [_method(kind) for kind in own.messages]
    if len(set(handlers)) < len(handlers):
        raise ValueError(f"{name}.messages: two have the same name: {', '.join(k.__name__ for k in own.messages)}")
    for method in dir(own):
        if method.startswith("on_") and method not in STIMULI and method not in handlers:
            raise ValueError(f"{name}.{method} is never called; expected one of: {', '.join((*STIMULI, *handlers))}")


def _method(kind: type[Message]) -> str:
    """The name of the method for a kind of message: NewEpoch, on_new_epoch."""
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
    """What gets a value in the body of the class, or of one that it extends: no methods, no classes."""
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
    """If the method raises, it does so again in the step that the request then is."""
    try:
        return bool(p.can_broadcast())
    except Exception:
        return True


# Steps: what a method called is its effects. One that called nothing may still have changed a variable.


def _taken(p: Process, method: Callable[..., None], *arguments: Any) -> list[Effect]:
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
    """The step for the messages that the method `handler` takes. A copy is handed over: it may be changed in place."""

    def on_message(p: Process, sender: ProcessId, m: Message) -> list[Effect]:
        return _taken(p, getattr(p, handler), sender, deepcopy(m))

    return on_message


# For reports.


def _describe(p: Process) -> dict[str, str | tuple[str, ...]]:
    role = "leads" if p.leads else "no leader" if p.leader is None else f"follows p{p.leader}"
    described: dict[str, str | tuple[str, ...]] = {"": role}
    for name, value in vars(p).items():
        if name not in _GIVEN and not name.startswith("_"):
            is_sequence = isinstance(value, tuple | list | Chain)
            described[name] = tuple(map(_text, value)) if is_sequence else _text(value)
    return described


def _show(message: Message) -> tuple[str, str]:
    return type(message).__name__, ", ".join(_text(getattr(message, field)) for field in message.__struct_fields__)


def _text(value: Any) -> str:
    """A value for a reader: the paper's ⊥ for None, and what is in a container likewise; a set in order."""
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

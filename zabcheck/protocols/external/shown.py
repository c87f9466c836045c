"""Describes a node and its messages for reports."""

from typing import Any

import msgspec

from zabcheck.protocols.base import Message
from zabcheck.protocols.external.node import Node, NodeMessage


def describe(p: Node) -> dict[str, str | tuple[str, ...]]:
    """Return what a node has told of its variables, for a report: see `Protocol.describe`."""
    role = "leads" if p.leader == p.id else "no leader" if p.leader is None else f"follows p{p.leader}"
    described: dict[str, str | tuple[str, ...]] = {"": role}
    for name, value in p.variables.items():
        is_sequence = isinstance(value, list) and not _is_zxid(name, value)
        described[name] = tuple(map(_text, value)) if is_sequence else _text(value, name)
    return described


def show(message: Message) -> tuple[str, str]:
    """Return the type of a message of a node, and its fields: see `Protocol.show`."""
    assert isinstance(message, NodeMessage)
    fields = msgspec.json.decode(message.body)
    hidden = ("type", "msg_id", "in_reply_to")
    return message.type, ", ".join(_text(value, name) for name, value in fields.items() if name not in hidden)


def _text(value: Any, name: str = "") -> str:
    """Return a value of JSON as text for a reader: a transaction and a zxid in the paper's notation, null as its ⊥."""
    match value:
        case None:
            return "⊥"
        case {"zxid": [epoch, counter], "value": str(said)} if len(value) == 2:
            return f"{said}⟨{epoch},{counter}⟩"
        case [epoch, counter] if _is_zxid(name, value):
            return f"⟨{epoch},{counter}⟩"
        case list():
            return f"[{' '.join(map(_text, value))}]"
        case dict():
            return f"{{{', '.join(f'{key}: {_text(each, key)}' for key, each in value.items())}}}"
        case bool():
            return "true" if value else "false"
    return str(value)


def _is_zxid(name: str, value: list[Any]) -> bool:
    return name.endswith(("zxid", "committed")) and len(value) == 2 and all(isinstance(each, int) for each in value)

"""Histories of Jepsen, as the lines of a history: registers that are read, written, and compared and set.

`history.edn` is a sequence of maps, in real time, or a vector of them. A process is a session; one whose operation
ended with `:info` does nothing more. Operations of the nemesis are left out.
"""

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from zabcheck.zookeeper.clients.history import (
    Answer,
    Connect,
    Connected,
    HistoryEnd,
    HistoryError,
    HistoryHeader,
    HistoryLine,
    Request,
)

_TOKEN = re.compile(r'[\s,]*(;[^\n]*|#\{|#[\w.\-/]+|[()\[\]{}]|"(?:\\.|[^"\\])*"|[^\s,()\[\]{}"]+)')
_CLOSING = {"(": ")", "[": "]", "{": "}", "#{": "}"}


def load(source: BinaryIO, name: str) -> Iterator[HistoryLine]:
    """Yield the lines. HistoryError, with the number of the operation, for what is no history of registers."""
    operations = [*_operations(source.read().decode(errors="replace"), name)]
    has_keys = any(each.get(":f") == ":read" and isinstance(each.get(":value"), list) for _, each in operations)
    lines: list[HistoryLine] = []
    sessions: dict[int, str] = {}
    open_: dict[int, int] = {}
    for number, each in operations:
        process, kind = each.get(":process"), each.get(":type")
        if not isinstance(process, int):
            continue
        place: dict[str, Any] = {"client": process, "connection": process, "time": number}
        if process not in sessions:
            sessions[process] = f"0x{process + 1:x}"
            lines += [Connect(**place, session="0x0"), Connected(**place, session=sessions[process])]
        if kind == ":invoke":
            open_[process] = number
            lines.append(Request(**place, xid=number, **_asked(each, has_keys, f"{name}, operation {number}")))
        elif kind in (":ok", ":fail") and process in open_:
            error = "" if kind == ":ok" else "Failed"
            lines.append(Answer(**place, xid=open_.pop(process), error=error, **_shown(each, has_keys)))
        elif kind != ":info":
            raise HistoryError(f"{name}, operation {number}, field `:type`: expected an answer to what was asked")
    yield HistoryHeader(version=1, service="Jepsen", clock="one")
    yield from lines
    yield HistoryEnd(count=len(lines))


def _operations(text: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    tokens = [match for match in _TOKEN.findall(text) if not _is_no_form(match)]
    try:
        forms = [*_forms(iter(tokens), "")]
    except (RecursionError, IndexError, TypeError, ValueError):
        raise HistoryError(f"{name}: expected EDN, the brackets do not fit") from None
    if len(forms) == 1 and isinstance(forms[0], list):
        forms = forms[0]
    for number, form in enumerate(forms):
        if not isinstance(form, dict):
            raise HistoryError(f"{name}, operation {number}: expected a map")
        yield number, form


def _is_no_form(token: str) -> bool:
    """Return True for a comment, and for a tag."""
    return token.startswith((";", "#")) and token != "#{"


def _forms(tokens: Iterator[str], closing: str) -> Iterator[Any]:
    """Yield the forms up to a closing bracket, or up to the end if that is ""."""
    for token in tokens:
        if token == closing:
            return
        if token in _CLOSING:
            inner = [*_forms(tokens, _CLOSING[token])]
            yield dict(zip(inner[::2], inner[1::2], strict=True)) if token == "{" else inner
        elif token in (")", "]", "}"):
            raise IndexError(token)
        else:
            yield _atom(token)
    if closing:
        raise IndexError(closing)


def _atom(token: str) -> Any:
    if re.fullmatch(r"[+-]?\d+N?", token):
        return int(token.rstrip("N"))
    return {"nil": None, "true": True, "false": False}.get(token, token)


def _asked(operation: dict[str, Any], has_keys: bool, where: str) -> dict[str, Any]:
    path, value = _of(operation, has_keys)
    match operation.get(":f"):
        case ":read":
            return {"op": "getData", "path": path}
        case ":write":
            return {"op": "setData", "path": path, "data": _text(value)}
        case ":cas" if isinstance(value, list) and len(value) == 2:
            return {"op": "setData", "path": path, "expects": _text(value[0]), "data": _text(value[1])}
    raise HistoryError(f"{where}, field `:f`: expected :read, :write or :cas, found {operation.get(':f')}")


def _shown(operation: dict[str, Any], has_keys: bool) -> dict[str, Any]:
    _, value = _of(operation, has_keys)
    return {"data": _text(value)} if operation.get(":f") == ":read" and operation[":type"] == ":ok" else {}


def _of(operation: dict[str, Any], has_keys: bool) -> tuple[str, Any]:
    """Return the path that stands for the register, and the value."""
    value = operation.get(":value")
    if not has_keys:
        return "/register", value
    key, value = value if isinstance(value, list) and len(value) == 2 else (None, None)
    return f"/{re.sub('[^A-Za-z0-9_-]', '_', str(key))}", value


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()

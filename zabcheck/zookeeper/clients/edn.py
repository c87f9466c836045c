"""Histories of Jepsen as lines of a history: registers, and lists that transactions append to and read.

`history.edn` is a sequence of maps in the order of real time, or a vector of them. A process becomes a session; one
whose operation ended with `:info` does nothing more. Operations of the nemesis are left out.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from operator import length_hint
from typing import Any, BinaryIO
from urllib.parse import quote

import msgspec

from zabcheck.zookeeper.clients.history import (
    Answer,
    Connect,
    Connected,
    HistoryEnd,
    HistoryError,
    HistoryHeader,
    HistoryLine,
    Part,
    Request,
    Result,
)

_TOKEN = re.compile(r'[\s,]*(;[^\n]*|#\{|#[\w.\-/]+|[()\[\]{}]|"(?:\\.|[^"\\])*"|\\(?:\w+|.)|[^\s,()\[\]{}"]+|")')
_CLOSING = {"(": ")", "[": "]", "{": "}", "#{": "}"}


JEPSEN = "Jepsen"
"""The `service` of these histories. Their times are the numbers of operations in the file, from 0."""
OPERATIONS = ("read", "write", "cas", "txn")
"""The functions that are judged; a `txn` is of `[:append key value]` and `[:r key values]`."""


def load(source: BinaryIO, name: str, meant: Mapping[str, str]) -> Iterator[HistoryLine]:
    """Yield the lines. HistoryError, with the number of the operation, if the file is not such a history.

    `meant` has, for functions with other names, which of `OPERATIONS` they are.
    """
    operations = [*_operations(source.read().decode(errors="replace"), name)]
    for _, each in operations:
        function = str(each.get(":f")).removeprefix(":")
        each[":f"] = f":{meant[function]}" if function in meant else each.get(":f")
    has_keys = any(_has_key(each) for _, each in operations)
    lines: list[HistoryLine] = []
    sessions: dict[int, str] = {}
    open_: dict[int, int] = {}
    for number, each in operations:
        process, kind, where = each.get(":process"), each.get(":type"), f"{name}, operation {number}"
        if not isinstance(process, int):
            continue
        place: dict[str, Any] = {"client": process, "connection": process, "time": number}
        if process not in sessions:
            sessions[process] = f"0x{process + 1:x}"
            lines += [Connect(**place, session="0x0"), Connected(**place, session=sessions[process])]
        if kind == ":invoke":
            if process in open_:
                waits = f"{process} has no answer to operation {open_[process]} yet"
                raise HistoryError(f"{where}, field `:process`: {waits}")
            open_[process] = number
            lines.append(Request(**place, xid=number, **_asked(each, has_keys, where)))
        elif kind in (":ok", ":fail") and process in open_:
            error = "" if kind == ":ok" else "Failed"
            lines.append(Answer(**place, xid=open_.pop(process), error=error, **_shown(each, has_keys, where)))
        elif kind != ":info":
            raise HistoryError(f"{where}, field `:type`: expected an answer to what was asked")
    yield HistoryHeader(version=1, service=JEPSEN, clock="one")
    yield from lines
    yield HistoryEnd(count=len(lines))


def _operations(text: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    tokens = [match for match in _TOKEN.findall(text) if not _is_no_form(match)]
    unread = iter(tokens)
    try:
        forms = [*_forms(unread, "")]
    except (RecursionError, IndexError, ValueError):
        line = _line_of(len(tokens) - length_hint(unread), text)
        raise HistoryError(f"{name}, line {line}: expected EDN, brackets or quotes do not fit") from None
    if len(forms) == 1 and isinstance(forms[0], list):
        forms = forms[0]
    for number, form in enumerate(forms):
        if not isinstance(form, dict):
            raise HistoryError(f"{name}, operation {number}: expected a map")
        yield number, form


def _line_of(number: int, text: str) -> int:
    """Return the line of a token, by its number from 1."""
    places = (match.start(1) for match in _TOKEN.finditer(text) if not _is_no_form(match[1]))
    return text.count("\n", 0, next(islice(places, number - 1, None))) + 1


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
            yield _collection(token, inner)
        elif token in (")", "]", "}", '"'):
            raise IndexError(token)
        else:
            yield int(token) if token.isdecimal() else _atom(token)
    if closing:
        raise IndexError(closing)


def _collection(opening: str, inner: list[Any]) -> Any:
    """Return a map with texts as keys, a set as a sorted list, or a list."""
    if opening == "{":
        keys = (each if isinstance(each, str) else _text(each) for each in inner[::2])
        return dict(zip(keys, inner[1::2], strict=True))
    return sorted(inner, key=_text) if opening == "#{" else inner


@lru_cache(maxsize=1 << 12)
def _atom(token: str) -> Any:
    if re.fullmatch(r"[+-]?\d+N?", token):
        return int(token.rstrip("N"))
    return {"nil": None, "true": True, "false": False}.get(token, token)


def _asked(operation: dict[str, Any], has_keys: bool, where: str) -> dict[str, Any]:
    if operation.get(":f") == ":txn":
        return {"op": "txn", "parts": tuple(_part(*each) for each in _micro(operation, where))}
    path, value = _of(operation, has_keys)
    match operation.get(":f"):
        case ":read":
            return {"op": "getData", "path": path}
        case ":write":
            return {"op": "setData", "path": path, "data": _text(value)}
        case ":cas" if isinstance(value, list) and len(value) == 2:
            return {"op": "setData", "path": path, "expects": _text(value[0]), "data": _text(value[1])}
    *others, last = (f":{each}" for each in OPERATIONS)
    found = str(operation.get(":f"))
    hint = f"--map {found.removeprefix(':')}=… says which of these it is"
    raise HistoryError(f"{where}, field `:f`: expected {', '.join(others)} or {last}, found {found}; {hint}")


def _shown(operation: dict[str, Any], has_keys: bool, where: str) -> dict[str, Any]:
    if operation[":type"] != ":ok":
        return {}
    if operation.get(":f") == ":txn":
        return {"results": tuple(_result(*each) for each in _micro(operation, where))}
    return {"data": _text(_of(operation, has_keys)[1])} if operation.get(":f") == ":read" else {}


def _micro(operation: dict[str, Any], where: str) -> list[list[Any]]:
    """Return the appends and reads of a transaction. HistoryError if it has anything else."""
    parts = operation.get(":value")
    for each in parts if isinstance(parts, list) else [parts]:
        is_read = isinstance(each, list) and len(each) == 3 and each[0] == ":r" and isinstance(each[2], list | None)
        if not (is_read or (isinstance(each, list) and len(each) == 3 and each[0] == ":append")):
            raise HistoryError(f"{where}, field `:value`: expected [:append key value] or [:r key values] in a :txn")
    return parts or []


def _part(function: str, key: Any, value: Any) -> Part:
    if function == ":append":
        return Part(op="append", path=_path(key), data=_text(value))
    return Part(op="getData", path=_path(key))


def _result(function: str, key: Any, value: Any) -> Result:
    return Result(children=tuple(map(_text, value or ()))) if function == ":r" else Result()


def _has_key(operation: dict[str, Any]) -> bool:
    """Return True if a value is `[key value]`, as with several registers; a write alone cannot tell."""
    value = operation.get(":value")
    match operation.get(":f"):
        case ":read":
            return isinstance(value, list)
        case ":cas":
            return isinstance(value, list) and len(value) == 2 and isinstance(value[1], list) and len(value[1]) == 2
    return False


def _of(operation: dict[str, Any], has_keys: bool) -> tuple[str, Any]:
    """Return the path that stands for the register, and the value."""
    value = operation.get(":value")
    if not has_keys:
        return "/register", value
    key, value = value if isinstance(value, list) and len(value) == 2 else (None, None)
    return _path(key), value


def _path(key: Any) -> str:
    return f"/{quote(str(key), safe=':')}"


def _text(value: Any) -> str:
    """Return a value as text: as it is in the file, quotes included, if it is an atom, or as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()

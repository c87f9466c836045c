"""Messages about a file that cannot be read: what kind of file it seems to be; line, field, and what may be there.

For the readers of traces, schedules, plans, lessons and histories, which get the error of the JSON decoder.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from json import JSONDecoder
from typing import Any

import msgspec
from msgspec import inspect

NOT_DECODED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors of a JSON decoder about its input."""
MOST_NESTED = 50
"""The most levels of lists and objects in a value of any form. Far deeper ones cannot be handled, by Python's stack."""
_STARTS = {
    b"\xef\xbb\xbf": "UTF-8 without a byte order mark, found one: leave the first three bytes out",
    b"\xff\xfe": "UTF-8, this looks like UTF-16: convert it",
    b"\xfe\xff": "UTF-8, this looks like UTF-16: convert it",
    b"\x1f\x8b": "text, this is compressed with gzip: decompress it first (gunzip)",
    b"\x28\xb5\x2f\xfd": "text, this is compressed with zstd: decompress it first (unzstd)",
    b"\xfd7zXZ\x00": "text, this is compressed with xz: decompress it first (unxz)",
    b"BZh": "text, this is compressed with bzip2: decompress it first (bunzip2)",
    b"PK\x03\x04": "text, this is a zip archive: extract it first (unzip)",
    b'{"record":"run"': "something else, this records an ensemble: `zabcheck zookeeper judge` takes its folder",
}
_LONGEST_NAME = 99
"""The longest name, in characters, that is compared with known ones."""
_ALIKE = 0.65
"""The similarity that two names need, from 0 to 1 (`difflib`). Below it `mutnts` would be taken for `runs`."""
_JSON = JSONDecoder()
_PARTS = re.compile(r"[^.\[\]]+")
_INVALID = re.compile(r"Invalid (?:enum )?value (.*)", re.DOTALL)
_PATH = re.compile(r" - at `\$\.?(.*)`$")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_STEP = re.compile(r"\[[^]]*]|(\w+)")


def foreign(start: bytes) -> str | None:
    """Return the kind of file that was expected, if its `start` shows another kind; else None."""
    return next((said for magic, said in _STARTS.items() if start.startswith(magic)), None)


def why_not_decoded(error: Exception) -> str:
    """Return what one of the errors `NOT_DECODED` says of the input."""
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def is_nested_too_deeply(value: Any) -> bool:
    """Return True if a decoded value has more than `MOST_NESTED` levels of lists and objects. O(its size)."""
    level = [value]
    for _ in range(MOST_NESTED + 1):
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = [value for values in inner for value in values]
        if not level:
            return False
    return True


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return which of the `known` names was probably meant; None if none is like `name`."""
    meant = get_close_matches(name.lower(), list(known), 1, _ALIKE) if len(name) <= _LONGEST_NAME else []
    return meant[0] if meant else None


def like(name: str, known: Iterable[str], otherwise: str | None = None) -> str:
    """Return a suggestion for `name` from the `known` ones; if none is like it, `otherwise`, or else all of them.

    >>> like("agrement", ["integrity", "agreement"])
    'did you mean `agreement`?'
    >>> like("x", ["integrity", "agreement"])
    'expected one of: integrity, agreement'
    >>> like("mutnts", ["runs", "kills"])
    'expected one of: runs, kills'
    """
    known = list(known)
    meant = nearest(name, known)
    return otherwise or f"expected one of: {', '.join(known)}" if meant is None else f"did you mean `{meant}`?"


def why_no_line(error: Exception, line: bytes, known: Any) -> str:
    """Return why a line of a file is none of the type `known`, with the faulty field if the decoder's error names it.

    It follows the name of the file and the number of the line.
    """
    if isinstance(error, RecursionError):
        return ": nested too deeply"
    if not line.strip():
        return ": expected a JSON object, found a blank line: leave it out"
    if b"\r" in line.rstrip(b"\r\n"):
        return ": expected a line feed at the end of each line, found a carriage return alone"
    if not isinstance(error, msgspec.ValidationError):
        whole = "" if line.endswith(b"\n") else " (the line is cut off)"
        return f": expected a JSON object, {error}{whole}"
    message, path = wrong_field(error, known, line)
    where = f", field `{path}`" if path else ""
    return f"{where}: {message}"


def malformed(data: bytes, error: Exception, kind: Any, what: str, version: int | str) -> str:
    """Return why `data`, a file of JSON, is no `what` of the type `kind`, with its place: ", line 3: expected …".

    `error` is that of the decoder, one of `NOT_DECODED`; `version` is the one of the format.
    """
    if data.lstrip().startswith(b'{"event"'):
        return f": expected a {what}, this looks like a trace"
    if found := foreign(data):
        return f": expected {found}"
    if not data.strip():
        return f", line 1: expected a {what}, the file is empty"
    if not isinstance(error, msgspec.ValidationError):
        return f"{_place(data, error)}: expected a {what} as one JSON object, {why_not_decoded(error)}"
    message, path = wrong_field(error, kind, data)
    if path in ("version", what):
        return f"{line_of(data, path)}, field `{path}`: expected {version}"
    return f"{place_of(data, path)}: {message}"


def wrong_field(error: msgspec.ValidationError, known: Any, data: bytes) -> tuple[str, str]:
    """Return what is wrong in JSON of the type `known`, with the names or values that there are; and the field's path.

    The path is "" if it is about the whole.
    """
    message, path = message_and_path(error)
    unknown = _UNKNOWN.fullmatch(message)
    if unknown is None:
        return with_alternatives(message, path, known), path
    there = _object_at(data, path)
    names = dict.fromkeys(name for kind in _kinds_at(path, known) for name in _fields(kind, there))
    suggested = f"; {like(unknown[1], names)}" if names else ""
    return f"no such field{suggested}", f"{path}.{unknown[1]}" if path else unknown[1]


def message_and_path(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return the decoder's message without the path of the field, and that path; "" if it is about the whole."""
    message = str(error)
    found = _PATH.search(message)
    return (message, "") if found is None else (message[: found.start()], found[1])


def with_alternatives(message: str, path: str, known: Any) -> str:
    """Return the decoder's `message` about the field at `path` of the type `known`, with the possible values, if any.

    >>> from typing import Literal
    >>> with_alternatives("Invalid enum value 'x'", "", Literal["a", "b"])
    "Invalid value 'x'; expected one of: a, b"
    """
    if " matching regex " in message:
        described = [said for kind in _kinds_at(path, known) for said in _descriptions(kind)]
        return f"expected {' or '.join(dict.fromkeys(described))}" if described else message
    invalid = _INVALID.fullmatch(message)
    if invalid is None:
        return message
    values = list(dict.fromkeys(str(value) for kind in _kinds_at(path, known) for value in _values(kind)))
    return f"Invalid value {invalid[1]}; expected one of: {', '.join(values)}" if values else message


def _kinds_at(path: str, known: Any) -> list[inspect.Type]:
    """Return the types that a value at `path` in one of the type `known` may have."""
    kinds = [inspect.type_info(known)]
    for step in _STEP.finditer(path):
        kinds = [inner for kind in kinds for inner in _inner(kind, step[1])]
    return kinds


def _inner(kind: inspect.Type, field: str | None) -> Iterator[inspect.Type]:
    """Yield the types of a field of a value of this type; the field None stands for any item of an array."""
    if isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _inner(each, field)
    elif isinstance(kind, inspect.VarTupleType) and field is None:
        yield kind.item_type
    elif isinstance(kind, inspect.StructType):
        if field is not None and field == kind.tag_field:
            yield inspect.LiteralType((kind.tag,))
        yield from (each.type for each in kind.fields if each.encode_name == field)


def _values(kind: inspect.Type) -> Iterator[Any]:
    if isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _values(each)
    elif isinstance(kind, inspect.LiteralType):
        yield from kind.values


def _descriptions(kind: inspect.Type) -> Iterator[str]:
    if isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _descriptions(each)
    elif isinstance(kind, inspect.Metadata) and kind.extra_json_schema is not None:
        yield kind.extra_json_schema["description"]


def _fields(kind: inspect.Type, value: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the fields that an object may have; of a union those of the kind whose tag `value` has."""
    if isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _fields(each, value)
    elif isinstance(kind, inspect.StructType) and (kind.tag_field is None or value.get(kind.tag_field) == kind.tag):
        yield from (each.encode_name for each in kind.fields)


# The place of a value in a file of JSON.


def _object_at(data: bytes, path: str) -> Mapping[str, Any]:
    """Return the object at `path` in a file of JSON; an empty one if there is none, or if the file is no JSON."""
    text = data.decode(errors="replace")
    with suppress(ValueError, IndexError, RecursionError):
        found, _ = _JSON.raw_decode(text, _at(text, path))
        return found if isinstance(found, dict) else {}
    return {}


def _at(text: str, path: str) -> int:
    """Return where the value at `path` begins. ValueError or IndexError if there is none."""
    at = _after_space(text, 0)
    for part in _PARTS.findall(path):
        at = _value_in(text, at, part)
    return at


def _place(data: bytes, error: Exception) -> str:
    """Return the line at which the JSON is wrong, ", line 3"; empty if `error` does not have it.

    That is the line of the offending byte, or the last line if the data ends too early.
    """
    byte = re.search(r"\(byte (\d+)\)$", str(error))
    if byte is None and "truncated" not in str(error):
        return ""
    before = data[: int(byte.group(1))] if byte else data.rstrip()
    lines = before.count(b"\n") + 1
    return f", line {lines}"


def place_of(data: bytes, path: str) -> str:
    """Return the line of the value at `path`, as `line_of` does, and the field: ", line 3, field `choices[3].keep`"."""
    return line_of(data, path) + (f", field `{path}`" if path else "")


def line_of(data: bytes, path: str) -> str:
    """Return the line of the value at `path`, such as `choices[3].process`, in a file of JSON: ", line 3".

    If there is no such value, it is the line of the innermost one around it that there is. "" if the file has nothing
    of the path. Cost: O(the file up to there).
    """
    text = data.decode(errors="replace").rstrip()
    start = at = _after_space(text, 0)
    with suppress(ValueError, IndexError, RecursionError):
        for part in _PARTS.findall(path):
            at = _value_in(text, at, part)
    return f", line {text.count(chr(10), 0, at) + 1}" if at > start else ""


def _value_in(text: str, at: int, part: str) -> int:
    """Return where the field, or the item, called `part` begins in the object or array that begins at `at`.

    ValueError or IndexError if there is none.
    """
    is_object, index = text[at] == "{", 0
    while text[at] not in "]}":
        at = _after_space(text, at + 1)
        key = str(index)
        if is_object:
            key, at = _JSON.raw_decode(text, at)
            at = _after_space(text, _after_space(text, at) + 1)
        if key == part:
            return at
        _, at = _JSON.raw_decode(text, at)
        at, index = _after_space(text, at), index + 1
    raise ValueError(part)


def _after_space(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at

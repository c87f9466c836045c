"""Messages about a file that cannot be read: what kind of file it seems to be, and the possible values of a field.

For the readers of traces and of schedules, which get the error of the JSON decoder.
"""

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
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
_INVALID = re.compile(r"Invalid (?:enum )?value (.*)", re.DOTALL)
_PATH = re.compile(r" - at `\$\.?(.*)`$")
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
    message, path = message_and_path(error)
    where = f", field `{path}`" if path else ""
    return f"{where}: {with_alternatives(message, path, known)}"


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
    invalid = _INVALID.fullmatch(message)
    if invalid is None:
        return message
    kinds = [inspect.type_info(known)]
    for step in _STEP.finditer(path):
        kinds = [inner for kind in kinds for inner in _inner(kind, step[1])]
    values = list(dict.fromkeys(str(value) for kind in kinds for value in _values(kind)))
    return f"Invalid value {invalid[1]}; expected one of: {', '.join(values)}" if values else message


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

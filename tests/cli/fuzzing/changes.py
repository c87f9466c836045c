"""Changes of what is in a file: of its bytes, its lines, its fields."""

import re
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec

from tests.cli.fuzzing.watching import PLANTED

NUMBERS = [-1, 0, 1, 2, 3, 4, 7, 999, 1000, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64, 10**25, 0.5, 1.0, 1e300]
NAMED = [f"{PLANTED}:Mine", f"exec:{PLANTED}", f"exec:maelstrom:{PLANTED}"]
"""Protocols that are code: a file alone neither imports nor starts it."""
TEXTS = [
    *NAMED,
    "",
    "x",
    "é☃\x00\x1b",
    "x" * 999,
    "per-process",
    "total order",
    "no-truncation",
    "weights 1,1,1",
    "sets 1+2",
]
TAGS = [
    "header",
    "end",
    "restore",
    "recover",
    "crash",
    "deliver",
    "broadcast",
    "lead",
    "split",
    "heal",
    "settle",
    "cut",
]
REST: list[Any] = [None, True, [], [0], [1, 2], [2, 1], [1, 2, 3], [[]], {}, {"a": 1}, {"zxid": [1, 1], "value": "y"}]
VALUES = [*NUMBERS, *TEXTS, *TAGS, *REST]
BYTES = [b"", b"\x00", b"\xff", b'"', b"\\", b"{", b"}", b"[" * 2000, b",", b"\n", b"\r", b"\r\n", b"\n\n", b"NaN"]
BYTES += [b"-", b"1" * 5000, b"\\ud800", b"1.0", b"1e9"]
STARTS = [b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b\x08", b"PK\x03\x04", b"\n", b"\r\n", b" "]


def change_bytes(rng: Random, data: bytes) -> bytes:
    start = rng.randrange(len(data) + 1)
    return data[:start] + rng.choice(BYTES) + data[start + rng.choice([0, 0, 1, 2, 40]) :]


def change_start(rng: Random, data: bytes) -> bytes:
    return rng.choice(STARTS) + data


def cut_off(rng: Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def change_lines(rng: Random, data: bytes) -> bytes:
    """Leave a line out, repeat one, or let two change places."""
    lines = data.splitlines(keepends=True) or [b""]
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.choice(["drop", "repeat", "swap"]):
        case "drop":
            del lines[first]
        case "repeat":
            lines.insert(second, lines[first])
        case _:
            lines[first], lines[second] = lines[second], lines[first]
    return b"".join(lines)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container in a JSON value with each of its keys or indices."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def change_value(rng: Random, value: Any) -> None:
    """Replace, leave out or add something somewhere in a JSON value."""
    found = list(places(value))
    if not found:
        return
    container, key = rng.choice(found)
    match rng.choice(["replace", "replace", "drop", "add"]):
        case "replace":
            container[key] = rng.choice(VALUES)
        case "drop":
            del container[key]
        case _ if isinstance(container, dict):
            container[rng.choice(["x", "process", "txn", "keep"])] = rng.choice(VALUES)
        case _:
            container.insert(key, rng.choice(VALUES))


def change_fields(rng: Random, data: bytes) -> bytes:
    """Change the JSON of the whole file if it is one document, of one line otherwise."""
    for whole in (True, False):
        parts = [data] if whole else data.splitlines(keepends=True) or [b""]
        at = rng.randrange(len(parts))
        try:
            document = msgspec.json.decode(parts[at])
            change_value(rng, document)
            parts[at] = msgspec.json.encode(document) + b"\n"
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        return b"".join(parts)
    return data


def change_nesting(rng: Random, data: bytes) -> bytes:
    """Put a value of many levels in the place of another one, around what the decoder takes."""
    values = [*re.finditer(rb'(?<=[:,[])\s*("[^"\\]*"|\d+|null)(?=[],}])', data)]
    if not values:
        return data
    depth, place = rng.choice([40, 60, 300, rng.randrange(900, 1010), 5000, 100_000]), rng.choice(values)
    opening, closing = rng.choice([(b"[", b"]"), (b'{"a":', b"}")])
    return data[: place.start()] + opening * depth + b"1" + closing * depth + data[place.end() :]


def change_digit(rng: Random, data: bytes) -> bytes:
    """Change a digit, which leaves most files well formed."""
    digits = [match.start() for match in re.finditer(rb"(?<=[:,[])\d(?!\d)", data)]
    at = rng.choice(digits or [0])
    return data[:at] + rng.choice([b"0", b"1", b"1", b"2", b"2", b"3", b"4", b"9"]) + data[at + 1 :]


def counted(data: bytes) -> bytes:
    """A trace with the right number of events in its last line."""
    return re.sub(rb'"count":\d+', b'"count":%d' % (data.count(b"\n") - 2), data)


ROUGH = [change_fields, change_fields, change_fields, change_nesting, change_lines, change_bytes, cut_off, change_start]


def changed(rng: Random, data: bytes) -> bytes:
    """Either still well formed, mostly, or anything."""
    if rng.random() < 0.5:
        for _ in range(rng.choice([1, 2, 3, 5])):
            data = rng.choice([change_lines, change_digit])(rng, data)
        return counted(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 4])):
        data = rng.choice(ROUGH)(rng, data)
    return data

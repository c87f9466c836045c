"""Whatever is in a file, the answer is a verdict or one line that says what is wrong."""

from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.command import BROKEN_SCHEDULE, CALM_SCHEDULE
from zabcheck import cli
from zabcheck.search.run import replay
from zabcheck.simulation import schedule as schedules

QUICK, LONG = 300, 20_000

SCHEDULES = [CALM_SCHEDULE, BROKEN_SCHEDULE]
TRACES = [replay(schedules.load(data, "schedule")).trace for data in SCHEDULES]

NUMBERS = [-1, 0, 1, 2, 3, 4, 7, 2**31, 2**32, 2**63 - 1, 2**64, 10**25, 0.5, 1e300]
TEXTS = ["", "x", "é☃\x00\x1b", "x" * 999, "per-process", "total order", "no-truncation"]
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
VALUES = st.sampled_from([*NUMBERS, *TEXTS, *TAGS, *REST])
BYTES = st.sampled_from(
    [b"", b"\x00", b"\xff", b'"', b"\\", b"{", b"}", b"[" * 2000, b",", b"\n", b"NaN", b"-", b"1" * 5000]
)
Draw = Callable[[st.SearchStrategy[Any]], Any]


def index(draw: Draw, length: int) -> int:
    return int(draw(st.integers(0, max(0, length - 1))))


def change_bytes(draw: Draw, data: bytes) -> bytes:
    start = index(draw, len(data))
    new: bytes = draw(BYTES)
    return data[:start] + new + data[start + draw(st.sampled_from([0, 0, 1, 2, 40])) :]


def cut_off(draw: Draw, data: bytes) -> bytes:
    return data[: index(draw, len(data))]


def change_lines(draw: Draw, data: bytes) -> bytes:
    """Leave a line out, repeat one, or let two change places."""
    lines = data.splitlines(keepends=True) or [b""]
    first, second = index(draw, len(lines)), index(draw, len(lines))
    match draw(st.sampled_from(["drop", "repeat", "swap"])):
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


def change_value(draw: Draw, value: Any) -> None:
    """Replace, leave out or add something somewhere in a JSON value."""
    found = list(places(value))
    if not found:
        return
    container, key = found[index(draw, len(found))]
    match draw(st.sampled_from(["replace", "replace", "drop", "add"])):
        case "replace":
            container[key] = draw(VALUES)
        case "drop":
            del container[key]
        case _:
            if isinstance(container, dict):
                container[draw(st.sampled_from(["x", "process", "txn", "keep"]))] = draw(VALUES)
            else:
                container.insert(key, draw(VALUES))


def change_fields(draw: Draw, data: bytes) -> bytes:
    """Change the JSON of the whole file if it is one document, of one line otherwise."""
    try:
        document = msgspec.json.decode(data)
        change_value(draw, document)
        return msgspec.json.encode(document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        lines = data.splitlines(keepends=True) or [b""]
    at = index(draw, len(lines))
    try:
        document = msgspec.json.decode(lines[at])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return data
    change_value(draw, document)
    lines[at] = msgspec.json.encode(document) + b"\n"
    return b"".join(lines)


@st.composite
def changed(draw: Draw, originals: list[bytes]) -> bytes:
    data: bytes = draw(st.sampled_from(originals))
    for _ in range(draw(st.integers(1, 4))):
        data = draw(st.sampled_from([change_fields, change_fields, change_lines, change_bytes, cut_off]))(draw, data)
    return data


def answers(command: str, data: bytes, file: Path) -> None:
    """The command ends by itself, with a verdict or with one line."""
    file.write_bytes(data)
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = cli.guarded(lambda: cli.app([command, str(file)], standalone_mode=False))
    if code == cli.BAD_INPUT:
        assert out.getvalue() == ""
        assert err.getvalue().startswith(f"zabcheck: {file}")
        assert err.getvalue()[:-1].isprintable()
        assert len(err.getvalue()) < 6000
    else:
        assert code in (cli.OK, cli.VIOLATED, cli.INCONCLUSIVE)
        assert err.getvalue() == ""
        assert "holds" in out.getvalue() or code != cli.OK


def fuzz(command: str, originals: list[bytes], file: Path, examples: int) -> None:
    always = settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )

    @always
    @given(changed(originals))
    def test(data: bytes) -> None:
        answers(command, data, file)

    test()


each_command = pytest.mark.parametrize(("command", "originals"), [("check", TRACES), ("replay", SCHEDULES)])


@each_command
def test_whatever_is_in_a_file_there_is_an_answer(command: str, originals: list[bytes], tmp_path: Path) -> None:
    fuzz(command, originals, tmp_path / "file", QUICK)


@pytest.mark.slow
@each_command
def test_whatever_is_in_a_file_there_is_an_answer_at_length(
    command: str, originals: list[bytes], tmp_path: Path
) -> None:
    fuzz(command, originals, tmp_path / "file", LONG)

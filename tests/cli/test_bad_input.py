"""Bad input is one line on standard error that says where it is wrong; nothing else is printed, nothing is written."""

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from invariants import FURTHER, GROUPS, PROPERTIES, AnyEvent, trace
from invariants.diagnosis import like
from tests.cli.command import CALM_SCHEDULE, DELIVERED, SENT, trace_of
from tests.cli.conftest import Command
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.protocols import PROTOCOLS
from zabcheck.search.run import schedule_of
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import AnyChoice, Heal, Hold

OF_ZAB = [name for name, mutant in CATALOGUE.items() if mutant.protocol == "zab"]
TRACE = trace_of([*SENT, *DELIVERED])
RECORDING = Path(__file__).parents[1] / "zookeeper/lost-write-3.8.0/recording.jsonl"
TAGS = [*(str(kind.__struct_config__.tag) for kind in get_args(AnyEvent)), "header", "end"]
BLANK = "expected a JSON object, found a blank line: leave it out"
LONG = "x" * 300
Edit = Callable[[bytes], bytes]


def replaced(old: bytes, new: bytes) -> Edit:
    def edit(data: bytes) -> bytes:
        assert old in data
        return data.replace(old, new, 1)

    return edit


def cut(size: int) -> Edit:
    return lambda data: data[:size]


def whole(data: bytes) -> Edit:
    return lambda _: data


def message(zabcheck: Command, *arguments: str | Path) -> str:
    """Return the error message of the command."""
    before = sorted(Path().rglob("*"))
    result = zabcheck(*arguments)
    assert (result.code, result.out) == (2, "")
    assert sorted(Path().rglob("*")) == before
    assert result.err.startswith("zabcheck: ")
    assert result.err.endswith("\n")
    assert result.err[:-1].isprintable()
    return result.err[:-1].removeprefix("zabcheck: ")


# Traces.


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (whole(b""), ", line 1: expected a header, the file is empty"),
        (whole(b"rubbish\n"), ", line 1: expected a JSON object, JSON is malformed: invalid character (byte 0)"),
        (whole(b"\n"), f", line 1: {BLANK}"),
        (replaced(b"}\n", b"}\n\n"), f", line 2: {BLANK}"),
        (replaced(b"}\n", b"}\n \r\n"), f", line 2: {BLANK}"),
        (lambda data: data + b"\n", f", line 9: {BLANK}"),
        (whole(b"\0\n"), ", line 1: expected a JSON object, JSON is malformed: invalid character (byte 0)"),
        (whole(b"[]\n"), ", line 1: Expected `object`, got `array`"),
        (lambda data: data.split(b"\n", 1)[1], ", line 1, field `event`: expected `header`, found `broadcast`"),
        (cut(-9), ", line 8: expected a JSON object, Input data was truncated (the line is cut off)"),
        (replaced(b'"version":1', b'"version":2'), ", line 1, field `version`: expected 1"),
        (replaced(b'"processes":3', b'"processes":0'), ", line 1, field `processes`: Expected `int` >= 1"),
        (
            replaced(b'"deliver"', b'"delivers"'),
            f", line 4, field `event`: Invalid value 'delivers'; expected one of: {', '.join(TAGS)}",
        ),
        (
            replaced(b'"order":"global"', b'"order":"none"'),
            ", line 1, field `order`: Invalid value 'none'; expected one of: global, per-process",
        ),
        (
            lambda data: data.replace(b"\n", b"\r"),
            ", line 1: expected a line feed at the end of each line, found a carriage return alone",
        ),
        (replaced(b'"process":2', b'"process":4'), ", line 4, field `process`: expected 1 to 3, found 4"),
        (
            replaced(b'"process":2', b'"process":2,"x":0'),
            (", line 4, field `x`: no such field; expected one of: process, incarnation, txn"),
        ),
        (replaced(b'"epoch":1', b'"epoch":"1"'), ", line 2, field `epoch`: Expected `int`, got `str`"),
        (replaced(b'"epoch":1', b'"epoch":1.5'), ", line 2, field `epoch`: Expected `int`, got `float`"),
        (replaced(b'"epoch":1', b'"epoch":' + b"9" * 30), ", line 2, field `epoch`: Expected `int` <= 4294967295"),
        (replaced(b'"epoch":1', b'"epoch":' + b"9" * 9999), ", line 2, field `epoch`: Integer value out of range"),
        (
            replaced(b'"epoch":1', b'"epoch":NaN'),
            ", line 2: expected a JSON object, JSON is malformed: invalid character (byte 57)",
        ),
        (replaced(b'"epoch":1,', b""), ", line 2: Object missing required field `epoch`"),
        (replaced(b"[1,2]", b"[1,2,3]"), ", line 3: Expected `array` of at most length 2"),
        (replaced(b'"value":"a"', b'"value":"\xff"'), None),
        (replaced(b'"schedule":null', b'"schedule":' + b'{"a":' * 9999), ", line 1: nested too deeply"),
        (replaced(b'"count":6', b'"count":7'), ", line 8, field `count`: expected 6, the number of events, found 7"),
        (lambda data: data + data, ", line 9: expected nothing after `end`"),
        (
            replaced(b'"process":1,"incarnation":0', b'"process":1,"incarnation":1'),
            ", line 3, field `incarnation`: expected 1 or more at process 1, found 0: a process's own events must be "
            "in order",
        ),
        (
            whole(RECORDING.read_bytes()),
            ", line 1: expected something else, this records an ensemble: `zabcheck zookeeper judge` takes its folder",
        ),
        (whole(CALM_SCHEDULE), ", line 1: expected a trace, this looks like a schedule"),
        (whole(CALM_SCHEDULE.replace(b"\n", b"")), ", line 1: expected a trace, this looks like a schedule"),
    ],
)
def test_what_is_wrong_in_a_trace(edit: Edit, expected: str | None, zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(edit(TRACE))
    (tmp_path / "good.jsonl").write_bytes(TRACE)
    said = message(zabcheck, "check", "good.jsonl", "bad.jsonl")
    if expected is None:
        assert said.startswith("bad.jsonl, line 2")
        assert "utf-8" in said
    else:
        assert said == f"bad.jsonl{expected}"
    assert message(zabcheck, "check", "bad.jsonl", "--format", "json") == said


# Schedules.


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (whole(b""), ", line 1: expected a schedule, the file is empty"),
        (whole(b" \r\n"), ", line 1: expected a schedule, the file is empty"),
        (
            whole(b"rubbish"),
            ", line 1: expected a schedule as one JSON object, JSON is malformed: invalid character (byte 0)",
        ),
        (cut(-30), ", line 7: expected a schedule as one JSON object, Input data was truncated"),
        (replaced(b'"version":1', b'"version":2'), ", line 1, field `version`: expected 1"),
        (
            replaced(b'"zab"', b'"raft"'),
            ", line 1, field `protocol`: no protocol `raft`; expected one of: "
            f"{', '.join(PROTOCOLS)}; or `module:Class`",
        ),
        (
            replaced(b'"mutant":null', b'"mutant":"x"'),
            f", line 7, field `mutant`: no mutant `x` of protocol `zab`; expected one of: {', '.join(OF_ZAB)}",
        ),
        (
            replaced(b'"violates":null', b'"violates":"x"'),
            f", line 7, field `violates`: no property `x`; expected one of: {', '.join((*PROPERTIES, *FURTHER))}",
        ),
        *(
            (
                replaced(b'"violates":null', b'"violates":"' + group.encode() + b'"'),
                f", line 7, field `violates`: no property `{group}`; {like(group, (*PROPERTIES, *FURTHER))}",
            )
            for group in GROUPS
        ),
        (
            replaced(b'"settle"', b'"settles"'),
            ", line 3, field `choices[1].choice`: Invalid value 'settles'; expected one of: "
            f"{', '.join(str(kind.__struct_config__.tag) for kind in get_args(AnyChoice))}",
        ),
        (
            replaced(b'"switches":{}', b'"switches":{"sync":"never"}'),
            ", line 7, field `switches.sync`: Invalid value 'never'; expected one of: atomic, separate",
        ),
        (
            lambda data: data.replace(b"\n", b"\r\n").replace(b'"rounds":6', b'"rounds":-1', 1),
            ", line 3, field `choices[1].rounds`: Expected `int` >= 0",
        ),
        (replaced(b'"rounds":6', b'"rounds":-1'), ", line 3, field `choices[1].rounds`: Expected `int` >= 0"),
        (
            replaced(b'"rounds":6', b'"rounds":' + b"9" * 30),
            ", line 3, field `choices[1].rounds`: Expected `int` <= 2147483647",
        ),
        (
            replaced(b'"rounds":6', b'"rounds":NaN'),
            ", line 3: expected a schedule as one JSON object, JSON is malformed: invalid character (byte 138)",
        ),
        (
            replaced(b'"rounds":6', b'"rounds":6,"x":' + b"[" * 9999),
            ", line 3, field `choices[1].x`: no such field",
        ),
        (
            replaced(b"[1,2,3]", b"[1,2,4]"),
            ", line 2, field `choices[0].followers`: expected a process from 1 to 3, found 4",
        ),
        (replaced(b'"value":"a"', b'"value":"\xff"'), None),
        (whole(TRACE), ": expected a schedule, this looks like a trace"),
    ],
)
def test_what_is_wrong_in_a_schedule(edit: Edit, expected: str | None, zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(edit(CALM_SCHEDULE))
    said = message(zabcheck, "replay", "bad.json")
    if expected is None:
        assert said.startswith("bad.json")
        assert "utf-8" in said
    else:
        assert said == f"bad.json{expected}"


def test_what_a_link_is_to_hold_has_to_be_a_message_of_the_protocol(zabcheck: Command, tmp_path: Path) -> None:
    choices = (Heal(), Hold(1, 2, "COMMIT"), Hold(1, 2, "commit"))
    (tmp_path / "bad.json").write_bytes(schedules.dump(schedule_of("zab", "no-truncation", 3, choices)))
    expected = (
        "bad.json, line 4, field `choices[2].kind`: no message `commit` in protocol `zab`; expected one of: CEPOCH"
    )
    assert message(zabcheck, "replay", "bad.json").startswith(expected)


# Files.


@pytest.mark.parametrize(("command", "original"), [("check", TRACE), ("replay", CALM_SCHEDULE)])
@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (
            lambda data: b"\xef\xbb\xbf" + data,
            "UTF-8 without a byte order mark, found one: leave the first three bytes",
        ),
        (lambda data: data.decode().encode("utf-16"), "UTF-8, this looks like UTF-16: convert it"),
        (gzip.compress, "text, this is compressed with gzip: decompress it first (gunzip)"),
        (bz2.compress, "text, this is compressed with bzip2: decompress it first (bunzip2)"),
        (lzma.compress, "text, this is compressed with xz: decompress it first (unxz)"),
    ],
    ids=["bom", "utf-16", "gzip", "bzip2", "xz"],
)
def test_what_is_no_plain_text_is_called_by_its_name(
    command: str, original: bytes, edit: Edit, expected: str, zabcheck: Command, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(edit(original))
    where = "file, line 1: " if command == "check" else "file: "
    assert message(zabcheck, command, "file").startswith(f"{where}expected {expected}")


@pytest.mark.parametrize(("command", "original"), [("check", TRACE), ("replay", CALM_SCHEDULE)])
def test_a_carriage_return_before_the_line_feed_does_no_harm(
    command: str, original: bytes, zabcheck: Command, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(original)
    expected = zabcheck(command, "file")
    (tmp_path / "file").write_bytes(original.replace(b"\n", b"\r\n"))
    assert zabcheck(command, "file") == expected


@pytest.mark.parametrize("command", ["check", "replay"])
def test_a_file_that_cannot_be_read(command: str, zabcheck: Command, tmp_path: Path) -> None:
    assert message(zabcheck, command, "nowhere") == "nowhere: No such file or directory"
    assert message(zabcheck, command, ".") == ".: expected a file, found a directory"
    (tmp_path / "file").touch()
    assert message(zabcheck, command, "file/x") == "file/x: Not a directory"
    assert message(zabcheck, command, "a\nb\x1b[31m") == r"a\nb\x1b[31m: No such file or directory"


@pytest.mark.parametrize("command", ["check", "replay"])
def test_what_a_file_says_cannot_move_the_cursor(command: str, zabcheck: Command, tmp_path: Path) -> None:
    evil = rb"\u001b[2J\n" + "\u202e".encode() + b"x" * 100_000
    good, old = {"check": (TRACE, b'"header"'), "replay": (CALM_SCHEDULE, b'"lead"')}[command]
    (tmp_path / "evil").write_bytes(replaced(old, b'"' + evil + b'"')(good))
    said = message(zabcheck, command, "evil")
    assert r"\x1b[2J\n\u202exxx" in said
    assert len(said) < 5000


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("check", ", line 1: expected at most 16777216 bytes in a line"),
        ("replay", ": expected a schedule of at most 67108864 bytes"),
    ],
)
def test_a_line_of_a_gigabyte_is_not_read_to_its_end(
    command: str, expected: str, zabcheck: Command, tmp_path: Path
) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(10**9)  # a hole, which takes no room on the disk
    assert message(zabcheck, command, "huge") == f"huge{expected}"


def test_a_long_line_is_found_wherever_it_is(
    zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "MAX_LINE", 200)
    (tmp_path / "t.jsonl").write_bytes(replaced(b'"value":"b"', b'"value":"' + b"b" * 200 + b'"')(TRACE))
    assert message(zabcheck, "check", "t.jsonl") == "t.jsonl, line 3: expected at most 200 bytes in a line"


# Options.


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("run --mutant x", "no mutant `x` of protocol `zab`; expected one of: quorum-off-by-one, "),
        ("run --protocol x", "no protocol `x`; expected one of: zab"),
        ("run --property x", "no property `x`; expected one of: integrity, total order, "),
        ("check t.jsonl --property x", "no property `x`; expected one of: integrity, total order, "),
        (
            "run --mutant commit-on-own-ak",
            "no mutant `commit-on-own-ak` of protocol `zab`; did you mean `commit-on-own-",
        ),
        ("run --mutant commit-on-own-ack --protocol ladis", "no mutant `commit-on-own-ack` of protocol `ladis`; it is"),
        ("mutants --mutant no-trunction", "no mutant `no-trunction`; did you mean `no-truncation`?"),
        ("run --protocol ladi", "no protocol `ladi`; did you mean `ladis`?"),
        ("run --property agrement", "no property `agrement`; did you mean `agreement`?"),
        ("run --property Livenes", "no property `livenes`; did you mean `liveness`?"),
        ("run --switch snc=atomic", "--switch: no switch `snc`; did you mean `sync`?"),
        ("scenario dsn-figure-33", "no scenario `dsn-figure-33`; did you mean `dsn-figure-3`?"),
        ("list mutnts", "Invalid value for '[KIND]': no `mutnts`; did you mean `mutants`?"),
        ("run --engine x", "Invalid value for '--engine': no `x`; expected one of: hypothesis, swarm"),
        ("run --runs many", "Invalid value for '--runs': expected a whole number"),
        ("mutants --seconds -1", "Invalid value for '--seconds': expected a number greater than or equal to 0"),
        ("run --mutant no-truncation --mutant commit-on-own-ack", "--mutant: named more than once, expected at most"),
        ("explore --mutant no-truncation --mutant no-truncation", "--mutant: named more than once, expected at most"),
        ("campaign --protocol zab --protocol ladis", "--protocol: named more than once, expected at most once"),
        ("campaign --seed 1 --runs 9 --seed 2", "--seed: named more than once, expected at most once"),
        ("zookeeper --seed 1 --seed 2", "--seed: named more than once, expected at most once"),
        ("run --switch histories=mising", "--switch: histories: no `mising`; did you mean `missing`?"),
        ("explore --switch sync=atomc", "--switch: sync: no `atomc`; did you mean `atomic`?"),
        ("run --protocol zab --protocol ladis", "--protocol: named more than once, expected at most once"),
        ("run --processes 0", "Invalid value for '--processes'"),
        ("run --processes 100", "Invalid value for '--processes'"),
        ("run --processes many", "Invalid value for '--processes'"),
        ("run --runs 0", "Invalid value for '--runs'"),
        ("run --steps 0", "Invalid value for '--steps'"),
        ("run --steps 5001", "Invalid value for '--steps'"),
        ("run --seed -1", "Invalid value for '--seed'"),
        ("run --format xml", "Invalid value for '--format'"),
        ("run --x", "No such option: --x"),
        ("run x", "Got unexpected extra argument"),
        ("run --seed", "Option '--seed' requires an argument"),
        ("x", "No such command 'x'"),
        ("--x", "No such option: --x"),
        ("check", "Missing argument 'TRACE...'"),
        ("replay", "Missing argument 'FILE'"),
        ("replay s.json --trace", "Option '--trace' requires an argument"),
        ("replay s.json --trace nowhere/x", "--trace nowhere/x: No such file or directory"),
        ("replay s.json --trace t.jsonl/x", "--trace t.jsonl/x: Not a directory"),
        ("replay s.json --trace .", "--trace .: expected the name of a file"),
        ("replay s.json --trace -", "--trace -: expected the name of a file"),
        ("replay s.json --trace pipe", "--trace pipe: expected the name of a file"),
        (f"replay s.json --trace {LONG}", f"--trace {LONG}: File name too long"),
        ("replay s.json --trace ./s.json", "--trace s.json: expected another file than the schedule"),
        ("run --out t.jsonl", "--out t.jsonl: expected a directory, "),
        (f"run --out {LONG}", f"--out {LONG}: File name too long"),
        ("run --out t.jsonl/x/y", "--out t.jsonl/x/y: expected a directory, "),
    ],
)
def test_what_is_wrong_in_the_usage(arguments: str, expected: str, zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes(TRACE)
    (tmp_path / "s.json").write_bytes(CALM_SCHEDULE)
    os.mkfifo(tmp_path / "pipe")
    assert message(zabcheck, *arguments.split()).startswith(expected)


def test_a_folder_that_cannot_be_written_is_noticed_before_the_search(
    zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write anywhere
    assert message(zabcheck, "run", "--out", "a/b") == f"--out a/b: {tmp_path} may not be written"

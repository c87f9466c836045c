"""Schedules as JSON: what is written is what is read, and what is wrong is said with file, line and field."""

from collections.abc import Callable
from typing import get_args, get_origin

import pytest
from msgspec import structs

from zabcheck.protocols.switches import ZabSwitches
from zabcheck.simulation import schedule
from zabcheck.simulation.choices import (
    KINDS,
    AnyChoice,
    Bridge,
    Choice,
    Corrupt,
    Crash,
    Cut,
    Elect,
    Flap,
    Heal,
    Hold,
    Lead,
    Mend,
    Mute,
    Notice,
    Overtake,
    Pause,
    PowerLoss,
    Receive,
    Request,
    Settle,
    Snapshot,
    Split,
    Stall,
    process_fields,
)
from zabcheck.simulation.schedule import Schedule, ScheduleError, check_kinds, dump, load


def example(kind: type[Choice]) -> Choice:
    """A choice of this kind, with a value for each field that has no default."""
    given: dict[str, object] = {}
    for number, field in enumerate(structs.fields(kind), 1):
        if field.name in process_fields(kind):
            given[field.name] = (2, 3) if get_origin(field.type) is tuple else number
        elif field.required:
            given[field.name] = "COMMIT" if field.type is str else 2
    return kind(**given)


EVERY_KIND: tuple[Choice, ...] = (
    *map(example, KINDS),
    Elect(1, 1),
    Request(1, 'ö "☃"\n'),
    Crash(1, 3),
    Snapshot(1, cut=True),
    Corrupt(1, 3),
    Lead(1, ()),
    Settle(0),
    Settle(2, sync=False),
    PowerLoss(2),
)
WHOLE = Schedule(1, "zab", 3, EVERY_KIND, "no-truncation", violates="total order", switches=ZabSwitches())
TWO = Schedule(1, "zab", 3, (Elect(1, 2), Crash(3, 1)), switches=ZabSwitches())


def error(data: bytes) -> str:
    """The message; it is one line and names the file."""
    with pytest.raises(ScheduleError) as caught:
        load(data, "run.json")
    message = str(caught.value)
    assert message.startswith("run.json")
    assert "\n" not in message
    return message.removeprefix("run.json")


@pytest.mark.parametrize("whole", [WHOLE, TWO, Schedule(1, "paxos", 1, ())], ids=["every kind", "two", "none"])
def test_a_schedule_survives_the_round_trip(whole: Schedule) -> None:
    assert load(dump(whole), "run.json") == whole


def test_a_line_is_a_choice() -> None:
    assert dump(TWO).splitlines() == [
        b'{"version":1,"protocol":"zab","processes":3,"choices":[',
        b'  {"choice":"elect","process":1,"leader":2},',
        b'  {"choice":"crash","process":3,"keep":1}',
        b'],"mutant":null,"quorums":"majority","violates":null,"switches":{}}',
    ]


def test_defaults_may_be_left_out_and_the_order_is_free() -> None:
    data = b'{"choices":[{"process":2,"choice":"crash"}],"processes":3,"protocol":"zab","version":1}'
    assert load(data, "run.json") == Schedule(1, "zab", 3, (Crash(2),), switches=ZabSwitches())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"version":1', b'"version":2', ", line 1, field `version`: expected 1"),
        (b'"version":1', b'"version":"1"', ", line 1, field `version`: expected 1"),
        (b'"version":1,', b"", ": Object missing required field `version`"),
        (b'"protocol":"zab"', b'"protocol":7', ", line 1, field `protocol`: Expected `str`, got `int`"),
        (b'"processes":3', b'"processes":0', ", line 1, field `processes`: Expected `int` >= 1"),
        (b'"processes":3', b'"processes":1001', ", line 1, field `processes`: Expected `int` <= 1000"),
        (b'"processes":3', b'"processes":3.5', ", line 1, field `processes`: Expected `int`, got `float`"),
        (b'"majority"', b'"sets 1,2"', ", line 4, field `quorums`: the quorums {p1} and {p2} do not intersect"),
        (
            b'"version":1',
            b'"version":1,"x":0',
            ", line 1, field `x`: no such field; expected one of: version, protocol, processes, choices, mutant, "
            "quorums, violates, switches",
        ),
        (
            b'"crash"',
            b'"crush"',
            ", line 3, field `choices[1].choice`: Invalid value 'crush'; expected one of: "
            f"{', '.join(str(kind.__struct_config__.tag) for kind in get_args(AnyChoice))}",
        ),
        (b'"choice":"crash",', b"", ", line 3, field `choices[1]`: Object missing required field `choice`"),
        (b'"keep":1', b'"keep":-1', ", line 3, field `choices[1].keep`: Expected `int` >= 0"),
        (b'"keep":1', b'"keep":null', ", line 3, field `choices[1].keep`: Expected `int`, got `null`"),
        (b'"keep":1', b'"kept":1', ", line 3, field `choices[1].kept`: no such field; did you mean `keep`?"),
        (b'"process":1', b'"process":0', ", line 2, field `choices[0].process`: Expected `int` >= 1"),
        (b'"process":1,', b"", ", line 2, field `choices[0]`: Object missing required field `process`"),
        (b'"leader":2', b'"leader":4', ", line 2, field `choices[0].leader`: expected a process from 1 to 3, found 4"),
    ],
)
def test_what_is_wrong_is_said_with_line_and_field(old: bytes, new: bytes, message: str) -> None:
    data = dump(TWO)
    assert old in data
    assert error(data.replace(old, new, 1)) == message


@pytest.mark.parametrize(
    ("choice", "field"),
    [
        (Elect(4, 1), "process"),
        (Receive(1, 4), "sender"),
        (Cut(1, 4), "receiver"),
        (Notice(1, 4), "peer"),
        (Lead(1, (2, 4)), "followers"),
        (Split((4,)), "side"),
        (Mend(4, 1), "sender"),
        (Stall(1, 4), "receiver"),
        (Hold(1, 4, "ACK"), "receiver"),
        (Overtake(4, 1), "sender"),
        (Pause(4), "process"),
        (Mute((4,)), "side"),
        (Bridge(1, (2, 4)), "side"),
        (Flap(1, 4, 1), "peer"),
    ],
)
def test_every_process_that_a_choice_names_has_to_be_there(choice: AnyChoice, field: str) -> None:
    data = dump(Schedule(1, "zab", 3, (Heal(), choice)))
    assert error(data) == f", line 3, field `choices[1].{field}`: expected a process from 1 to 3, found 4"


def test_what_is_no_process_may_be_any_number() -> None:
    choices = (Crash(1, 9), Settle(9), PowerLoss(9), Flap(1, 1, 9), Hold(1, 1, "9"))
    assert load(dump(Schedule(1, "zab", 1, choices)), "run.json").processes == 1


def test_a_link_flaps_a_bounded_number_of_times() -> None:
    data = dump(Schedule(1, "zab", 2, (Heal(), Flap(1, 2, 1001))))
    assert error(data) == ", line 3, field `choices[1].times`: Expected `int` <= 1000"


def test_what_a_link_holds_is_a_kind_of_message_of_the_protocol() -> None:
    whole = Schedule(1, "zab", 2, (Heal(), Hold(1, 2, "ACK"), Hold(1, 2, "Commit")))
    check_kinds(structs.replace(whole, choices=whole.choices[:2]), ("ACK", "COMMIT"), b"", "run.json")
    with pytest.raises(ScheduleError) as caught:
        check_kinds(whole, ("ACK", "COMMIT"), dump(whole), "run.json")
    assert str(caught.value) == (
        "run.json, line 4, field `choices[2].kind`: no message `Commit` in protocol `zab`; expected one of: ACK, COMMIT"
    )


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", ", line 1"),
        (b"[", ""),
        (b"null", ""),
        (b"[]", ""),
        (b"7", ""),
        (b"{]", ", line 1"),
        (dump(TWO)[:-3], ", line 4"),
        (dump(TWO) + b"x", ", line 5"),
        (dump(TWO).replace(b"]", b"}"), ", line 4"),
    ],
)
def test_what_is_no_json_object_is_reported(data: bytes, line: str) -> None:
    assert error(data).startswith(f"{line}: expected ") or not line


def test_what_is_no_text_is_reported() -> None:
    error(dump(TWO).replace(b"zab", b"z\xffb"))
    error(dump(WHOLE).decode().encode("utf-16"))


def test_what_is_nested_too_deeply_is_reported() -> None:
    error(b'{"mutant":' + b"[" * 100_000)
    error(b"[" * 100_000)


def one_line(data: bytes) -> bytes:
    return data.replace(b"\n", b"")


def a_field_a_line(data: bytes) -> bytes:
    return data.replace(b",", b",\n")


def two_choices_a_line(data: bytes) -> bytes:
    return data.replace(b"},\n  {", b"},{", 1)


def choices_from_the_first_line_on(data: bytes) -> bytes:
    return data.replace(b"[\n", b"[", 1)


@pytest.mark.parametrize(
    ("layout", "line"),
    [
        (one_line, ", line 1"),
        (a_field_a_line, ", line 11"),
        (two_choices_a_line, ", line 3"),
        (choices_from_the_first_line_on, ", line 3"),
    ],
)
def test_the_line_is_told_however_the_file_is_laid_out(layout: Callable[[bytes], bytes], line: str) -> None:
    data = layout(dump(Schedule(1, "zab", 3, (Heal(), Heal(), Elect(1, 4), Heal(), Heal()))))
    wrong = f"{line}, field `choices[2].leader`: expected a process from 1 to 3, found 4"
    assert error(data) == wrong
    assert b'"leader":4' in data.splitlines()[int(line.removeprefix(", line ")) - 1]


def test_a_file_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = dump(TWO)
    monkeypatch.setattr(schedule, "MAX_BYTES", len(data))
    assert load(data, "run.json") == TWO
    monkeypatch.setattr(schedule, "MAX_BYTES", len(data) - 1)
    assert error(data) == f": expected a schedule of at most {len(data) - 1} bytes"

"""The JSON Schemas say what is read: they are generated, and they and the readers agree on anything."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any, get_args

import msgspec
import pytest
from jsonschema import Draft202012Validator
from msgspec import inspect

from invariants import events, trace
from tests.cli.command import BROKEN_SCHEDULE, CALM_SCHEDULE, ROOT
from tests.cli.conftest import Command
from zabcheck.schema import SCHEMAS, schema
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import AnyChoice
from zabcheck.simulation.schedule import ScheduleError

KINDS = (events.Header, events.End, *events.EVENTS)
EACH, CHANGED, SCHEDULES = 8, 300, 150
TEXTS = ["", "x", "é☃\x00", "header", "majority", "\ud800"]
WRONG: list[Any] = [None, True, -1, 0, 1, 1.0, -0.0, 2.5, 1e300, 2**31, 2**32, 2**63, 2**64, [], [1, 2], [[1, 1]], {}]


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_committed_file_is_what_is_generated(name: str, zabcheck: Command) -> None:
    """`zabcheck schema NAME > docs/NAME.schema.json` writes it anew."""
    result = zabcheck("schema", name)
    assert (result.code, result.err) == (0, "")
    assert result.out == (ROOT / f"docs/{name}.schema.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("arguments", [[], ["x"], ["trace", "schedule"]])
def test_a_missing_or_unknown_name_lists_the_schemas(arguments: list[str], zabcheck: Command) -> None:
    result = zabcheck("schema", *arguments)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert "schedule" in result.err


@pytest.mark.parametrize("name", SCHEMAS)
def test_it_is_a_schema_and_tells_an_editor_what_everything_is(name: str) -> None:
    document = schema(name)
    Draft202012Validator.check_schema(document)
    for definition in document["$defs"].values():
        assert definition["description"].strip()
        assert ">>>" not in definition["description"]
        assert definition["type"] == "array" or definition["additionalProperties"] is False


def test_every_kind_is_in_it() -> None:
    assert {kind.__name__ for kind in KINDS} <= set(schema("trace")["$defs"])
    assert {kind.__name__ for kind in get_args(AnyChoice)} <= set(schema("schedule")["$defs"])


# Random values of the types.


def whole_number(rng: Random, kind: inspect.IntType) -> int:
    low, high = kind.ge, kind.le
    assert low is not None
    assert high is not None
    return rng.choice([low, high, min(high, low + rng.randrange(4)), rng.randint(low, high)])


def value_of(rng: Random, kind: inspect.Type) -> Any:
    """A random JSON value of a type."""
    match kind:
        case inspect.IntType():
            return whole_number(rng, kind)
        case inspect.StrType():
            return rng.choice(TEXTS[:-1])
        case inspect.BoolType():
            return rng.random() < 0.5
        case inspect.NoneType():
            return None
        case inspect.LiteralType():
            return rng.choice(kind.values)
        case inspect.DictType():
            return {key: rng.choice(WRONG[:6]) for key in TEXTS[: rng.randrange(3)]}
        case inspect.VarTupleType():
            return [value_of(rng, kind.item_type) for _ in range(rng.randrange(4))]
        case inspect.UnionType():
            return value_of(rng, rng.choice(kind.types))
        case inspect.StructType(array_like=True):
            return [value_of(rng, field.type) for field in kind.fields]
        case inspect.StructType():
            tagged = {} if kind.tag_field is None else {kind.tag_field: kind.tag}
            kept = [field for field in kind.fields if field.required or rng.random() < 0.7]
            return tagged | {field.encode_name: value_of(rng, field.type) for field in kept}
        case _:
            raise AssertionError(kind)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def change(rng: Random, value: Any) -> None:
    """Replace, leave out, add or rename something somewhere."""
    found = list(places(value))
    if not found:
        return
    container, key = rng.choice(found)
    match rng.choice(["replace", "replace", "drop", "add", "rename"]):
        case "replace":
            same = [each for each in (0, 1, 7, "y", True) if type(each) is type(container[key])]
            container[key] = deepcopy(rng.choice(rng.choice([WRONG, TEXTS, TAGS, same or WRONG])))
        case "drop":
            del container[key]
        case "add" if isinstance(container, list):
            container.insert(key, deepcopy(rng.choice([*WRONG, *container])))
        case "add":
            container[rng.choice(["x", "process", "epoch", "keep", "value"])] = deepcopy(rng.choice(WRONG))
        case _ if isinstance(container, dict):
            container[rng.choice(["x", "epoch", "zxid"])] = container.pop(key)


TAGS = [str(kind.__struct_config__.tag) for kind in (*KINDS, *get_args(AnyChoice))]


def cannot_be_said(value: Any) -> bool:
    """Return True if it holds a number or a text that a schema accepts and the readers do not."""
    everything = [value, *(container[key] for container, key in places(value))]
    keys = [key for container, key in places(value) if isinstance(container, dict)]
    return any(isinstance(each, float) and each.is_integer() for each in everything) or any(
        "\ud800" in each for each in (*everything, *keys) if isinstance(each, str)
    )


# The agreement.


@cache
def fits(name: str) -> Callable[[Any], bool]:
    return Draft202012Validator(schema(name)).is_valid


def line_is_read(document: Any) -> bool:
    try:
        msgspec.json.decode(json.dumps(document), type=trace.Line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def schedule_is_read(document: Any) -> bool | None:
    """Return True if a schedule is read; None if it is refused for something that no schema can say."""
    try:
        schedules.load(json.dumps(document).encode(), "x")
    except ScheduleError as error:
        beyond = ": expected a process from 1 to " in str(error) or ", field `quorums`: " in str(error)
        beyond &= "Expected" not in str(error)
        return None if beyond else False
    return True


def agree_on_lines(seed: int, each: int, changed: int) -> None:
    rng = Random(seed)
    kinds = [inspect.type_info(kind) for kind in KINDS]
    for kind in kinds:
        for _ in range(each):
            document = value_of(rng, kind)
            assert fits("trace")(document), document
            assert line_is_read(document), document
    outcomes = []
    for _ in range(changed):
        document = value_of(rng, rng.choice(kinds))
        for _ in range(rng.choice([1, 1, 2, 3])):
            change(rng, document)
        if not cannot_be_said(document):
            outcomes.append(line_is_read(document))
            assert fits("trace")(document) == outcomes[-1], document
    assert changed / 50 < sum(outcomes) < changed * 0.9


def agree_on_schedules(seed: int, changed: int) -> None:
    rng = Random(seed)
    kind = inspect.type_info(schedules.Schedule)
    saved = [json.loads(data) for data in (CALM_SCHEDULE, BROKEN_SCHEDULE)]
    outcomes = []
    for _ in range(changed):
        document = value_of(rng, kind)
        assert fits("schedule")(document), document
        assert schedule_is_read(document) is not False, document
        document = deepcopy(rng.choice([document, *saved]))
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            change(rng, document)
        if not cannot_be_said(document):
            outcomes.append(schedule_is_read(document))
            assert fits("schedule")(document) == (outcomes[-1] is not False), document
    assert {True, False, None} == set(outcomes)


@pytest.mark.slow
def test_lines_that_fit_the_schema_and_only_these_are_read() -> None:
    agree_on_lines(1, EACH, CHANGED)


@pytest.mark.slow
def test_the_same_for_schedules() -> None:
    agree_on_schedules(1, SCHEDULES)


@pytest.mark.slow
def test_what_fits_is_read_and_what_does_not_is_not_at_length() -> None:
    agree_on_lines(2, EACH * 3, CHANGED * 3)
    agree_on_schedules(2, SCHEDULES * 3)


@pytest.mark.parametrize("old", ["1", '"a"'])
def test_the_limits_of_the_schema_are_those_the_text_names(old: str) -> None:
    """The limits can then be left out above, and nothing else is."""
    line = '{"event":"halt","process":1,"incarnation":0,"reason":"a"}'
    changed = line.replace(old, {"1": "1.0", '"a"': r'"\ud800"'}[old])
    assert line_is_read(json.loads(line))
    assert fits("trace")(json.loads(changed))
    assert not line_is_read(json.loads(changed))
    assert cannot_be_said(json.loads(changed))

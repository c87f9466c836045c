"""Plans are read with the line and field of whatever is wrong, and are written as they are read."""

import pytest

from tests.zookeeper.scaling.plans import PLANS
from zabcheck.zookeeper.scaling.plan import PlanError, decode, encode

HEAD = b'{"version":1,"zookeeper":"3.9.5","voters":[1,2,3],"steps":[\n'


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_read_as_it_is_written(name: str) -> None:
    given, _ = PLANS[name]
    assert decode(encode(given), "it") == given


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "plan.json, line 1: expected a plan, the file is empty"),
        (b"x", "plan.json, line 1: expected a plan as one JSON object, JSON is malformed: invalid character (byte 0)"),
        (b'{"version":2}', "plan.json, line 1, field `version`: expected 1"),
        (HEAD.replace(b"3.9.5", b"new") + b'{"step":"stop","server":1}\n]}', "field `zookeeper`: expected a version"),
        (HEAD + b"]}", "field `steps`: Expected `array` of length >= 1"),
        (
            HEAD + b'{"step":"halt","server":1}\n]}',
            "line 2, field `steps[0].step`: Invalid value 'halt'; expected one of",
        ),
        (HEAD + b'{"step":"stop","server":0}\n]}', "line 2, field `steps[0].server`: Expected `int` >= 1"),
        (
            HEAD + b'{"step":"stop","server":1,"wait":1}\n]}',
            "line 2, field `steps[0].wait`: no such field; expected one of: server",
        ),
        (
            HEAD + b'{"step":"stop","server":1},\n{"step":"restart","server":1}\n]}',
            "line 3, field `steps[1].server`: expected a server that is running then (running: 2, 3), found 1",
        ),
        (
            HEAD + b'{"step":"start","server":1,"voters":[1]}\n]}',
            "line 2, field `steps[0].server`: expected a server that is not running then (running: 1, 2, 3), found 1",
        ),
        (
            HEAD + b'{"step":"start","server":4,"voters":[1,2,3]}\n]}',
            "line 2, field `steps[0].voters`: expected server 4 in its own list, which does not start without",
        ),
        (HEAD + b'{"step":"restart","server":1,"voters":[]}\n]}', "`steps[0].voters`: expected at least one server"),
        (HEAD + b'{"step":"restart","server":1,"observers":[1]}\n]}', "`steps[0].observers`: expected `voters`, too"),
        (HEAD + b'{"step":"restart","server":1,"voters":[1,1]}\n]}', "expected each server once, found 1 again"),
        (HEAD + b'{"step":"reconfigure"}\n]}', "`steps[0].add`: expected a server in `add`, `observe` or `remove`"),
        (HEAD + b'{"step":"reconfigure","add":[4,5,6,7,8]}\n]}', "expected at most 7 servers in all, found 8"),
    ],
)
def test_a_fault_is_told_with_its_place(content: bytes, said: str) -> None:
    with pytest.raises(PlanError) as raised:
        decode(content, "plan.json")
    assert said in str(raised.value)
    assert str(raised.value).startswith("plan.json")

"""`zabcheck.assert_schedule`: a schedule as a test."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import zabcheck
from tests.protocols.own.hasty import Hasty
from tests.protocols.own.raising import RaisingAtOnce
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import Hold, Lead, Receive, Request
from zabcheck.simulation.schedule import Schedule
from zabcheck.testing import Broken, Raised
from zabcheck.zookeeper import model

FILE = Path(__file__).parents[1] / "schedules/no-truncation.agreement.json"
TEXT = FILE.read_text(encoding="utf-8")
ZOOKEEPER = Path(__file__).parents[1] / "zookeeper/model/schedules/1489.schedule.json"


def own(*choices: Any, **fields: Any) -> dict[str, Any]:
    """A schedule of the protocol `Hasty`."""
    made = Schedule(1, "tests.protocols.own.hasty:Hasty", 2, choices, **fields)
    return dict(json.loads(schedules.dump(made)))


DISAGREEMENT = (Lead(1, (2,)), Request(1, "a"), Lead(2, (1,)), Request(2, "b"))


@pytest.mark.parametrize(
    "schedule", [TEXT, TEXT.encode(), json.loads(TEXT), FILE], ids=["text", "bytes", "dict", "path"]
)
def test_a_schedule_in_any_form(schedule: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Broken, match=r"^agreement is violated\n") as found:
        zabcheck.assert_schedule(schedule)
    report = found.value.zabcheck_report
    assert isinstance(found.value, AssertionError)
    assert "no-truncation" in report
    assert "\nSteps" in report
    assert (f"replay: zabcheck replay {FILE}" in report) == (schedule is FILE)
    assert "replay: " not in report or schedule is FILE
    assert found.value.zabcheck_files == []
    assert list(tmp_path.iterdir()) == []
    zabcheck.assert_schedule(schedule, mutant=None)


def test_another_mutant_takes_the_place_of_the_one_that_is_named() -> None:
    plain = json.dumps({**json.loads(TEXT), "mutant": None})
    zabcheck.assert_schedule(plain)
    with pytest.raises(Broken):
        zabcheck.assert_schedule(plain, mutant="no-truncation")


def test_only_the_property_that_the_schedule_names_is_judged_or_the_ones_that_are_asked_for() -> None:
    zabcheck.assert_schedule(TEXT, properties="integrity")
    zabcheck.assert_schedule(TEXT, properties=["integrity", "zxid uniqueness"])
    zabcheck.assert_schedule(TEXT, properties=())
    with pytest.raises(Broken, match=r"^agreement is violated"):
        zabcheck.assert_schedule(TEXT, properties=["integrity", "agreement"])
    other = json.dumps({**json.loads(TEXT), "violates": "integrity"})
    zabcheck.assert_schedule(other)
    with pytest.raises(Broken):
        zabcheck.assert_schedule(other, properties="core")
    nothing = json.dumps({**json.loads(TEXT), "violates": None})
    with pytest.raises(Broken):
        zabcheck.assert_schedule(nothing)


def test_a_protocol_of_ones_own_is_judged_by_what_holds_for_any() -> None:
    with pytest.raises(Broken, match=r"tests\.protocols\.own\.hasty:Hasty, 2 processes"):
        zabcheck.assert_schedule(own(*DISAGREEMENT), protocol=Hasty)
    with pytest.raises(Broken):
        zabcheck.assert_schedule(own(*DISAGREEMENT, violates="agreement"), protocol=Hasty)


def test_another_protocol_takes_the_place_of_the_one_that_is_named() -> None:
    class Patient(Hasty):
        def on_request(self, value: str) -> None:
            pass

    zabcheck.assert_schedule(own(*DISAGREEMENT), protocol=Patient)
    zabcheck.assert_schedule(own(*DISAGREEMENT), protocol="zab")
    with pytest.raises(Broken):
        zabcheck.assert_schedule({**own(*DISAGREEMENT), "protocol": "moved:Away"}, protocol=Hasty)


WITH_SWITCHES = """
from msgspec.structs import replace

from zabcheck.zookeeper.model import ZOOKEEPER

PATCHED = replace(ZOOKEEPER, name="patched:PATCHED")
"""


def test_a_protocol_of_ones_own_may_have_switches_that_others_do_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test names its module, or has the protocol at hand; the schedule alone imports nothing."""
    named = json.dumps({**json.loads(ZOOKEEPER.read_bytes()), "protocol": "patched:PATCHED"})
    (tmp_path / "patched.py").write_text(WITH_SWITCHES, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="a file alone imports no module"):
        zabcheck.assert_schedule(named)
    assert "patched" not in sys.modules
    with pytest.raises(Broken, match=r"^primary integrity is violated"):
        zabcheck.assert_schedule(named, protocol="patched:PATCHED")
    mine = replace(model.ZOOKEEPER, name="mine")
    with pytest.raises(Broken, match=r"^primary integrity is violated"):
        zabcheck.assert_schedule(named.replace("patched:PATCHED", "mine"), protocol=mine)


def test_code_that_raises_is_no_broken_property() -> None:
    class Raising(Hasty):
        def on_request(self, value: str) -> None:
            self.deliver(self.latest[-1])  # there is none

    with pytest.raises(Raised, match="the protocol's own code raised an exception; no property was judged") as found:
        zabcheck.assert_schedule(own(*DISAGREEMENT), protocol=Raising, properties=())
    assert not isinstance(found.value, AssertionError)
    assert "AttributeError" in found.value.zabcheck_report
    with pytest.raises(Raised):
        zabcheck.assert_schedule(own(), protocol=RaisingAtOnce)


def test_an_error_of_the_code_that_is_modelled_is_a_failure() -> None:
    with pytest.raises(Broken, match="the code that is modelled has an error; no property was judged"):
        zabcheck.assert_schedule(Path(__file__).parents[1] / "zookeeper/model/schedules/4394.schedule.json")


def test_a_schedule_that_leads_nowhere_passes() -> None:
    zabcheck.assert_schedule(own(Receive(1, 2), Receive(2, 1), violates="agreement"))


@pytest.mark.parametrize(
    ("schedule", "options", "message"),
    [
        ("{}", {}, "^schedule: .*`protocol`|^schedule: .*version"),
        ("", {}, "^schedule, line 1: expected a schedule, the file is empty"),
        ("\ud800", {}, "^schedule"),
        ({"version": 2}, {}, "^schedule, line 1, field `version`"),
        (TEXT, {"mutant": "no-such"}, "^no mutant `no-such` of protocol `zab`"),
        (TEXT, {"protocol": "no-such"}, "^no protocol `no-such`"),
        (
            TEXT,
            {"protocol": Hasty},
            "^no mutant `no-truncation` of protocol `tests.protocols.own.hasty:Hasty`; it is one of protocol `zab`$",
        ),
        (TEXT, {"properties": "no-such"}, "^no property `no such`"),
        (own(Hold(1, 2, "NOPE")), {}, r"^schedule, .*field `choices\[0\].kind`: no message `NOPE`"),
    ],
)
def test_what_cannot_be_executed_is_told_in_a_line(schedule: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as found:
        zabcheck.assert_schedule(schedule, **options)
    assert "\n" not in str(found.value)


def test_a_file_is_named_in_the_message(tmp_path: Path) -> None:
    (tmp_path / "bug.json").write_text("[]")
    with pytest.raises(ValueError, match=r"bug\.json: Expected"):
        zabcheck.assert_schedule(tmp_path / "bug.json")
    with pytest.raises(OSError, match="missing"):
        zabcheck.assert_schedule(tmp_path / "missing.json")

"""`zabcheck zookeeper scale`."""

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.documented import assert_documented
from tests.zookeeper.scaling.plans import PLANS
from zabcheck.zookeeper.scaling.plan import decode, encode


def test_the_plan_that_is_written_is_safe(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(encode(PLANS["three to five at once"][0]))
    result = zabcheck("zookeeper", "scale", "plan.json", "--write", "safe.json")
    assert (result.code, result.err) == (1, "")
    assert "wrote safe.json\n" in result.out
    assert decode((tmp_path / "safe.json").read_bytes(), "") == PLANS["three to five, the fifth last"][0]
    again = zabcheck("zookeeper", "scale", "safe.json", "--write", "none.json")
    assert (again.code, again.err, (tmp_path / "none.json").exists()) == (0, "", False)


@pytest.mark.slow
def test_every_kind_of_finding_is_told_in_the_verdict(zabcheck: Command, tmp_path: Path) -> None:
    for given, found in PLANS.values():
        (tmp_path / "plan.json").write_bytes(encode(given))
        result = zabcheck("zookeeper", "scale", "plan.json")
        *_, last = result.out.splitlines()
        assert result.code == bool(found)
        assert (f"step {found[0][1]}: " if found else "PASS: no write is lost at any of ") in last
        for _, _, issue in found:
            assert issue in last


@pytest.mark.slow
def test_the_json_form_is_documented(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(encode(PLANS["folders that cannot be written"][0]))
    told = zabcheck("zookeeper", "scale", "plan.json", "--format", "json").json
    assert (told["safe"], [each["issue"] for each in told["findings"]]) == (False, ["unwritten-config"])
    assert_documented(told)


def test_bad_plans_are_told_in_one_line(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text('{"version":1,"zookeeper":"3.9.5","voters":[1],"steps":[\n{"step":"halt"}\n]}')
    result = zabcheck("zookeeper", "scale", "plan.json")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert "plan.json, line 2, field `steps[0].step`: " in result.err
    assert zabcheck("zookeeper", "scale", "nowhere").code == 2
    assert zabcheck("zookeeper", "scale", "plan.json", "--write", "nowhere/safe.json").code == 2

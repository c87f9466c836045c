"""`zabcheck evaluate`: what it prints and writes, and what it says of bad input."""

from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from tests.cli.conftest import Command, zabcheck
from zabcheck.cli import evaluate as command
from zabcheck.mutants.catalogue import mutated
from zabcheck.papers.evaluation import plan as plans
from zabcheck.papers.evaluation.results import Evaluation

__all__ = ["zabcheck"]

SHORT = ("evaluate", "--operations", "20", "--outstanding", "10", "--history", "10")


def test_the_report_is_printed(zabcheck: Command) -> None:
    result = zabcheck(*SHORT, "--servers", "5,3", "--setting", "size=2048")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0].startswith("Zab in simulated time: 35 runs, ")
    assert lines[1] == "load: 20 operations of 2,048 bytes, 10 outstanding"
    assert "servers     cap  network only  disk with write cache  disk without write cache" in result.out
    caps = [line.split()[1] for line in lines if line.startswith(("      3  30", "      5  15"))]
    assert caps == ["30,518", "15,259"]
    assert lines[-1] == "PASS: 35 runs were measured, and 6 properties held in all of them"
    assert lines[-8:-2] == [
        "integrity: holds, exercised in 35 runs",
        "total order: holds, exercised in 35 runs",
        "agreement: holds, exercised in 35 runs",
        "local primary order: holds, exercised in 35 runs",
        "global primary order: holds, exercised in 4 runs",
        "primary integrity: holds, exercised in 4 runs",
    ]


@pytest.mark.slow
def test_the_files_are_plots_and_what_was_measured(zabcheck: Command, tmp_path: Path) -> None:
    result = zabcheck(*SHORT, "--servers", "3,4", "--out", "a/b", "--format", "json")
    names = [
        "throughput.svg",
        "outstanding.svg",
        "latency.svg",
        "broadcast.svg",
        "relays.svg",
        "recovery.svg",
        "evaluation.json",
    ]
    assert result.json["files"] == [f"a/b/{name}" for name in names]
    assert sorted(path.name for path in (tmp_path / "a/b").iterdir()) == sorted(names)
    for name in names[:6]:
        tree = ElementTree.parse(tmp_path / "a/b" / name)
        assert tree.getroot().tag == "{http://www.w3.org/2000/svg}svg"
    written = msgspec.json.decode((tmp_path / "a/b/evaluation.json").read_bytes())
    told = {name: value for name, value in result.json.items() if name not in ("version", "command", "files")}
    assert written == told
    assert msgspec.convert(written, Evaluation).runs == 35


@pytest.mark.slow
def test_only_what_is_asked_for_is_measured(zabcheck: Command, tmp_path: Path) -> None:
    options = ("--servers", "3", "--disk", "no-cache, none", "--history", "none", "--out", ".", "--format", "json")
    result = zabcheck(*SHORT[:5], *options)
    assert [row["disk"] for row in result.json["throughput"]] == ["network only", "disk without write cache"]
    assert (result.json["recovery"], result.json["runs"]) == ([], 14)
    assert not (tmp_path / "recovery.svg").exists()
    assert [row["status"] for row in result.json["properties"]][-2:] == ["not exercised", "not exercised"]


def test_two_servers_do_not_recover(zabcheck: Command) -> None:
    """None is a quorum."""
    result = zabcheck(*SHORT, "--servers", "2", "--disk", "none", "--format", "json")
    assert (result.code, result.json["recovery"], result.json["runs"]) == (0, [], 11)


def test_every_setting_counts(zabcheck: Command) -> None:
    options = {
        "bandwidth": ("100", "bandwidth", 10**8),
        "ping": ("7", "ping_ns", 7_000),
        "header": ("9", "header", 9),
        "cpu": ("3", "cpu_ns", 3),
        "cached-sync": ("8", "cached_sync_ns", 8_000),
        "uncached-sync": ("11", "uncached_sync_ns", 11_000),
        "disk-rate": ("5", "disk_rate", 5_000_000),
        "detect": ("2", "detect_ns", 2_000_000),
    }
    given = [word for name, (value, *_) in options.items() for word in ("--setting", f"{name}={value}")]
    told = zabcheck(*SHORT, "--servers", "3", *given, "--format", "json").json
    assert [told["settings"][field] for _, field, _ in options.values()] == [value for *_, value in options.values()]
    [network, cached, uncached] = told["latency"]
    operation, header = (1024 + 9) * 80, 9 * 80
    wire = operation + header + 7_000 + 2 * 3
    assert network["leader_ns"] == wire
    assert cached["leader_ns"] == wire + 8_000 + (1024 + 9) * 200
    assert uncached["leader_ns"] == wire + 11_000 + (1024 + 9) * 200


def test_a_violation_is_exit_code_1(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = partial(plans.evaluate, protocol=mutated("zab", "commit-on-own-ack"))
    monkeypatch.setattr(command.plans, "evaluate", broken)
    load = ("--servers", "5", "--outstanding", "100", "--operations", "10", "--history", "9")
    result = zabcheck("evaluate", *load, "--setting", "detect=0")
    assert result.code == 1
    assert ": violated, exercised in" in result.out


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--servers", "1", "--servers: expected numbers from 2 to 25, as in 2,3; found `1`"),
        ("--servers", "3,26", "--servers: expected numbers from 2 to 25, as in 2,3; found `26`"),
        ("--servers", "3,", "--servers: expected numbers from 2 to 25, as in 2,3; found ``"),
        ("--servers", "3-5", "--servers: expected numbers from 2 to 25, as in 2,3; found `3-5`"),
        ("--servers", "٣", "--servers: expected numbers from 2 to 25, as in 2,3; found `٣`"),
        ("--disk", "none,ssd", "--disk: expected some of none, cache, no-cache, found `ssd`"),
        ("--history", "-1", "--history: expected numbers from 0 to 1000000, as in 0,1; found `-1`"),
        ("--operations", "0", "Invalid value for '--operations': "),
        ("--setting", "bandwidth=x", "--setting bandwidth: expected numbers from 1 to 1000000, as in 1,2; found `x`"),
        ("--setting", "ping=-1", "--setting ping: expected numbers from 0 to 10000000, as in 0,1; found `-1`"),
        ("--setting", "ping=1,2", "--setting ping: expected one number, found `1,2`"),
        ("--setting", "speed=1", "--setting: expected one of size, bandwidth, "),
        ("--out", "file/x", "--out file/x: expected a directory, "),
    ],
)
def test_bad_input_names_its_option(option: str, value: str, said: str, zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    result = zabcheck(*SHORT, option, value)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"zabcheck: {said}")
    assert result.err.count("\n") == 1

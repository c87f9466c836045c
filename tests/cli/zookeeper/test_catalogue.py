"""`zabcheck zookeeper catalogue`."""

from pathlib import Path

import pytest

from docs.generators.zookeeper_catalogue import LIST
from tests.cli.conftest import Command
from tests.cli.documented import assert_documented
from tests.cli.zookeeper.conftest import fake
from tests.zookeeper import fake_zookeeper
from zabcheck.zookeeper.bugs.catalogue import BUGS

CATALOGUE = ("zookeeper", "catalogue")


def test_a_bug_that_is_shown_is_kept_and_explained_to_an_operator(
    recorded: list[str], zabcheck: Command, tmp_path: Path
) -> None:
    recorded += ["healthy-3.8.0", "lost-write-3.8.0", "lost-write-3.8.0"]
    result = zabcheck(*CATALOGUE, "--bug", "4712", "--times", "3", *fake(tmp_path))
    assert (result.code, result.err) == (1, "")
    said = " ".join(result.out.split())
    assert "bug 3.8.0 versions that have it, by the sources" in said
    assert "ZOOKEEPER-4712 2 of 3 3.5.10 to before 3.6.0; 3.6.3 to before 3.9.3" in said
    assert "what is lost acknowledged writes, at every server workaround a version that has the repair" in said
    kept = tmp_path / "reports/zookeeper-3.8.0-ZOOKEEPER-4712"
    assert {"schedule.json", "report.html"} <= {file.name for file in kept.iterdir()}
    assert result.out.splitlines()[-1] == (
        "FAIL: 3 executions with ZooKeeper 3.8.0 showed ZOOKEEPER-4712 (2 of 3 with 3.8.0); "
        "next: open reports/zookeeper-3.8.0-ZOOKEEPER-4712/report.html"
    )


def test_versions_and_bugs_side_by_side_as_json(recorded: list[str], zabcheck: Command, tmp_path: Path) -> None:
    recorded += ["healthy-3.8.0"] * 2
    options = ("--bug", "ZOOKEEPER-4785", "--bug", "4712", "--times", "1", "--format", "json")
    result = zabcheck(*CATALOGUE, *options, *fake(tmp_path, version="3.9.3"))
    assert result.code == 0
    first, second = result.json["bugs"]
    assert (first["bug"], first["others"], first["finds"]) == ("ZOOKEEPER-4646", ["ZOOKEEPER-4785"], ["durability"])
    [executed] = first["executed"]
    assert executed == {
        "zookeeper": "3.9.3",
        "expected": False,
        "times": 1,
        "shown": 0,
        "partial": 0,
        "wrong": {},
        "error": "",
        "cannot": "",
        "kept": None,
        "undone": [],
    }
    assert second["affected"][0] == {"first": "3.5.10", "cured": "3.6.0"}
    assert result.json["interrupted"] is False
    assert_documented(result.json, absent=("repaired", "counted"))


def test_something_else_that_is_wrong_is_told(recorded: list[str], zabcheck: Command, tmp_path: Path) -> None:
    recorded += ["lost-write-3.8.0"]
    result = zabcheck(*CATALOGUE, "--bug", "4394", "--times", "1", *fake(tmp_path))
    assert result.code == 1
    assert "ZOOKEEPER-4394 with 3.8.0: where it was not shown, something else is wrong: durability in 1" in " ".join(
        result.out.split()
    )
    assert "where it was not shown, choice 7, wait until all writes are answered, 1 s at most: some writes have no" in (
        " ".join(result.out.split())
    )
    assert "showed none of the bugs, but something else is wrong: durability" in result.out


def test_what_was_done_until_ctrl_c_is_told(recorded: list[str], zabcheck: Command, tmp_path: Path) -> None:
    recorded += ["healthy-3.8.0", "Ctrl-C"]
    result = zabcheck(*CATALOGUE, "--bug", "4712", "--times", "9", *fake(tmp_path))
    assert result.code == 3
    assert "ZOOKEEPER-4712  0 of 1" in result.out
    verdict = "INCONCLUSIVE: interrupted after 1 execution with ZooKeeper 3.8.0, which showed no bug"
    assert result.out.splitlines()[-1] == verdict


def test_an_ensemble_that_never_comes_up(zabcheck: Command, tmp_path: Path) -> None:
    java = ("--java", str(fake_zookeeper.java(tmp_path, "exits")), "--classpath", str(tmp_path), "--processes")
    result = zabcheck(*CATALOGUE, "--bug", "2846", "--times", "2", *java)
    assert (result.code, result.err) == (3, "")
    last = result.out.splitlines()[-1]
    assert last.startswith("INCONCLUSIVE: 2 of 2 executions with ZooKeeper 3.8.0 not recorded to the end: server ")


def test_a_schedule_that_a_version_cannot_execute(zabcheck: Command, tmp_path: Path) -> None:
    """There are no classes with the points in this folder."""
    java = ("--java", str(fake_zookeeper.java(tmp_path, "serves")), "--classpath", str(tmp_path))
    result = zabcheck(*CATALOGUE, "--bug", "4643", *java)
    assert (result.code, result.err) == (3, "")
    assert "ZOOKEEPER-4643 with 3.8.0 is not executed: " in " ".join(result.out.split())
    assert result.out.splitlines()[-1] == "INCONCLUSIVE: nothing could be executed: ZOOKEEPER-4643 with 3.8.0"


def test_the_bugs_of_a_version_are_listed_without_java(zabcheck: Command) -> None:
    result = zabcheck(*CATALOGUE, "--version", "3.8.4", "--bug", "4643", "--bug", "4409", "--bug", "4925")
    assert (result.code, result.err) == (1, "")
    said = " ".join(result.out.split())
    assert "ZOOKEEPER-4643: the epoch is written before its history happens when " in said
    for words in (
        "by the sources 3.5.3 to before 3.8.5; 3.9.0 to before 3.9.2",
        "executed 20 of 20 (3.8.0), 10 of 10 (3.8.0, simulated), 0 of 10 (3.8.6, simulated)",
    ):
        assert words in said, words
    assert result.out.splitlines()[-1] == (
        "FAIL: ZooKeeper 3.8.4 has 2 of 3 known bugs: ZOOKEEPER-4643, ZOOKEEPER-4409; next: zabcheck zookeeper "
        "catalogue --version 3.9.5 --bug 4643 --bug 4409 --bug 4925"
    )


def test_a_version_as_json(zabcheck: Command) -> None:
    result = zabcheck(*CATALOGUE, "--version", "3.8.0", "--bug", "4643", "--bug", "2846", "--format", "json")
    assert result.code == 1
    assert [(each["bug"], each["repaired"]) for each in result.json["bugs"]] == [
        ("ZOOKEEPER-4643", "3.8.5"),
        ("ZOOKEEPER-2846", None),
    ]
    assert result.json["zookeeper"] == "3.8.0"
    assert result.json["bugs"][0]["counted"][1] == {"zookeeper": "3.8.0", "simulated": False, "shown": 20, "times": 20}
    absent = ("kept", "cannot", "error", "expected", "partial", "wrong", "executed", "interrupted")
    assert_documented(result.json, absent=absent)


def test_the_published_file_is_what_is_listed(zabcheck: Command) -> None:
    """`zabcheck zookeeper catalogue --list --format json > docs/zookeeper-bugs.json` writes it anew."""
    result = zabcheck(*CATALOGUE, "--list", "--format", "json")
    assert result.out == LIST.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "verdict"),
    [
        (["--list"], 0, f"PASS: {len(BUGS)} known bugs are listed, nothing was executed"),
        (["--version", "3.9.5", "--bug", "4643"], 0, "PASS: ZooKeeper 3.9.5 has none of 1 known bug"),
        (
            ["--version", "3.10.0"],
            3,
            "INCONCLUSIVE: the bugs of ZooKeeper 3.6.3 to 3.9.5 are known, not all of those of 3.10.0; "
            "next: zabcheck zookeeper catalogue --version 3.9.5",
        ),
        (
            ["--version", "3.5.9"],
            3,
            "INCONCLUSIVE: the bugs of ZooKeeper 3.6.3 to 3.9.5 are known, not all of those of 3.5.9; "
            "next: zabcheck zookeeper catalogue --version 3.6.3",
        ),
        (
            ["--version", "3.9.5", "--bug", "2846"],
            1,
            "FAIL: ZooKeeper 3.9.5 has 1 of 1 known bug: ZOOKEEPER-2846; "
            "next: zabcheck zookeeper catalogue --bug ZOOKEEPER-2846",
        ),
    ],
)
def test_the_verdict_on_a_list(arguments: list[str], code: int, verdict: str, zabcheck: Command) -> None:
    result = zabcheck(*CATALOGUE, *arguments)
    assert (result.code, result.err) == (code, "")
    assert result.out.splitlines()[-1] == verdict


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--version", "new"], "expected a version such as 3.8.0, found 'new'"),
        (["--bug", "464"], "no bug `464`; did you mean `4646`?"),
        (["--bug", "5088"], "no schedule shows ZOOKEEPER-5088: "),
        (["--times", "0"], "Invalid value for '--times'"),
        (["--out", "a file"], "--out a file: expected a directory, a file is a file"),
        (["--classpath", "nowhere"], "/nowhere: expected a jar or a folder of the class path, found nothing"),
        (["--zookeeper-home", "."], ".: expected a folder with zookeeper-*.jar in it or in its lib, found none"),
    ],
)
def test_bad_input(arguments: list[str], message: str, zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    result = zabcheck(*CATALOGUE, *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_the_same_version_twice(zabcheck: Command, tmp_path: Path) -> None:
    result = zabcheck(*CATALOGUE, *fake(tmp_path), "--classpath", str(tmp_path))
    assert (result.code, result.out) == (2, "")
    assert result.err == "zabcheck: expected builds of different versions, found 3.8.0, 3.8.0\n"


@pytest.mark.zookeeper
def test_a_real_ensemble_shows_a_bug(zabcheck: Command, tmp_path: Path) -> None:
    """ZOOKEEPER-3598 takes a thread that is held while its server leaves its leader: it was 1 of 60 without."""
    told = zabcheck(*CATALOGUE, "--bug", "3598", "--times", "1", "--format", "json").json
    [executed] = told["bugs"][0]["executed"]
    assert (executed["expected"], executed["shown"], executed["error"]) == (True, 1, "")
    assert (tmp_path / executed["kept"] / "report.html").exists()

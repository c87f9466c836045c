"""docs/zookeeper-findings.md, README.md, a picture and a page show a recorded run of ZooKeeper 3.8.0 that lost a write.

Other pages show one that did not, and runs of other bugs.
"""

import pytest

from docs.generators.gallery import KeptChances, estimated, hash_of
from docs.generators.output import ROOT
from docs.generators.zookeeper import (
    BLOCK,
    EXAMPLES,
    FOUND,
    KEPT_CHANCES,
    LEFT_OUT,
    LOST_WRITE,
    PAGES,
    PICTURE,
    SHOWN,
    archived,
    bug_of,
    likelihood,
    minimal_run,
)
from zabcheck.simulation.schedule import load
from zabcheck.text.html import text
from zabcheck.zookeeper.bugs.catalogue import BUGS
from zabcheck.zookeeper.run import schedule as schedules
from zabcheck.zookeeper.verdict.judge import judge


def test_each_page_has_the_block_that_is_written() -> None:
    assert all(BLOCK.search(page.read_text(encoding="utf-8")) for page in SHOWN)
    assert f"]({PICTURE.relative_to(ROOT)})" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_each_page_of_a_bug_has_its_curve_or_says_why_it_has_none(name: str) -> None:
    page = (EXAMPLES / f"{name}.html").read_text(encoding="utf-8")
    section = page.partition('<h2 id="chances">How likely from here</h2>')[2].partition("</section>")[0]
    chances, _, about = likelihood(name)
    assert text(about, len(about)) in section
    assert ("<rect" in section) == (chances is not None) == (name in KEPT_CHANCES) == (minimal_run(name) is not None)
    if chances is not None:
        file = minimal_run(name)
        assert file is not None
        assert KEPT_CHANCES[name] == KeptChances(hash_of(load(file.read_bytes(), file.name)), chances)
        assert (chances.broken[0] < 5, chances.broken[-1]) == (True, chances.tries)


def test_bugs_without_a_run_of_the_model_are_told() -> None:
    """Every bug of the catalogue that has a page."""
    assert {bug.file for bug in BUGS if (EXAMPLES / f"{bug.file}.html").exists()} == {*PAGES}
    left_out = [
        name for name in PAGES if likelihood(name)[2].endswith(f"{LEFT_OUT}, so there is no curve for this bug.")
    ]
    assert [bug_of(name) for name in left_out] == [
        "ZOOKEEPER-2307",
        "ZOOKEEPER-4541",
        "half-record",
        "late-set",
        "late-proposal",
        "unlogged-voter",
        "pending-config",
        "skipped-config",
        "old-config-epoch",
        "unwritten-config",
        "two-lists",
        "missed-activation",
        "promoted-observer",
        "observer-counted",
        "nobody-designated",
    ]
    assert len(KEPT_CHANCES) == len(PAGES) - len(left_out) - 1


@pytest.mark.slow
def test_the_chances_that_are_kept_are_those_of_the_models_run() -> None:
    """The run with the fewest steps is enough."""
    file = minimal_run("zookeeper-4311")
    assert file is not None
    assert KEPT_CHANCES["zookeeper-4311"].chances == estimated(load(file.read_bytes(), file.name))


@pytest.mark.parametrize(
    ("name", "violated", "looks_like", "expected", "seen"),
    [
        (
            "zookeeper-applied-again",
            "durability",
            [
                "ZOOKEEPER-3598: a server that leaves its leader loads its log, "
                "and then applies a transaction of it again"
            ],
            "a history up to ⟨1,6⟩, which server 1 told with f.a = 1",
            "one up to ⟨1,5⟩",
        ),
        (
            "zookeeper-stale-log",
            "durability",
            [
                "ZOOKEEPER-2846: a leader brings others up to date from a log that a snapshot has overtaken",
                "no issue known: TRUNC to a zxid that the log does not have keeps one record too many",
            ],
            "the proposal that follows ⟨1,9⟩",
            "PROPOSAL ⟨2,4⟩",
        ),
        (
            "zookeeper-late-set",
            "data agreement",
            [
                "ZOOKEEPER-3598: a server that leaves its leader loads its log, "
                "and then applies a transaction of it again"
            ],
            None,
            None,
        ),
        (
            "zookeeper-4409",
            "final agreement",
            ["ZOOKEEPER-4409: the thread that acknowledges fails when the connection is closed already"],
            None,
            None,
        ),
        (
            "zookeeper-4643",
            "durability",
            ["ZOOKEEPER-4643: the epoch is written before its history"],
            None,
            None,
        ),
        (
            "zookeeper-4646",
            "durability",
            ["ZOOKEEPER-4646, ZOOKEEPER-4785: NEWLEADER is acknowledged while what DIFF brought is still being logged"],
            "a history up to ⟨1,7⟩, of which the leader's ACK of NEWLEADER told (packet 66)",
            "one up to ⟨1,4⟩",
        ),
        (
            "zookeeper-2832",
            "final agreement",
            ["ZOOKEEPER-2832: a snapshot replaces what a server has in memory, and its log stays as it is"],
            None,
            None,
        ),
        (
            "zookeeper-4837",
            "final agreement",
            ["ZOOKEEPER-4837: TRUNC loads a snapshot that is newer than the cut"],
            None,
            None,
        ),
        (
            "zookeeper-4925",
            "final agreement",
            [
                "ZOOKEEPER-4925: what was committed while a server caught up is missing in what it remembers, "
                "and in what it sends as a leader",
            ],
            "⟨1,5⟩ before ⟨2,1⟩, as packet 71 showed",
            "⟨1,4⟩ before it",
        ),
        (
            "zookeeper-5094",
            "final agreement",
            ["ZOOKEEPER-5094: after a broken-off TRUNC a server's memory is ahead of its log"],
            None,
            None,
        ),
        (
            "zookeeper-ack-before-trunc",
            "durability",
            [
                "no issue known: an ACK of before a TRUNC still counts, "
                "though the follower does not have the transaction any more"
            ],
            "COMMIT ⟨1,4⟩ when 1 follower has it",
            "COMMIT after the ACK of server 3, which was told since to cut it off (TRUNC ⟨1,3⟩, packet 47)",
        ),
        (
            "zookeeper-trunc-keeps-one",
            "final agreement",
            ["no issue known: TRUNC to a zxid that the log does not have keeps one record too many"],
            None,
            None,
        ),
        (
            "zookeeper-4882",
            "final agreement",
            ["ZOOKEEPER-4882: after a disk error a server goes on with what it has in memory, and its log has a hole"],
            None,
            None,
        ),
        (
            "zookeeper-half-record",
            "durability",
            [
                "ZOOKEEPER-4882: after a disk error a server goes on with what it has in memory, "
                "and its log has a hole",
                "no issue known: a write that fails within a record hides all that is logged behind it",
            ],
            "a history up to ⟨1,5⟩, of which its ACK told (packet 122)",
            "one up to ⟨1,3⟩",
        ),
        (
            "zookeeper-unforced-snapshot",
            "final agreement",
            ["no issue known: NEWLEADER is acknowledged with a snapshot that is not forced to the disk"],
            None,
            None,
        ),
        (
            "zookeeper-numbered-not-applied",
            "total order",
            ["no issue known: a new leader counts as applied what it has only numbered"],
            "⟨1,8⟩ before ⟨3,1⟩, as packet 173 showed",
            "⟨2,1⟩ before it",
        ),
    ],
)
def test_what_the_documentation_tells_of_a_run_is_seen_in_it(
    name: str, violated: str, looks_like: list[str], expected: str | None, seen: str | None
) -> None:
    with archived(name) as folder:
        judged = judge(folder)
    schedule = schedules.decode((EXAMPLES / f"{name}.schedule.json").read_bytes(), name)
    assert schedule.finds == violated
    assert violated in (judged.violated[:1] or judged.wrong)
    assert judged.zookeeper == schedule.zookeeper
    assert [f"{each.issue.key}: {each.issue.title}" for each in judged.known] == looks_like
    first = next(iter(judged.steps.divergences), None)
    assert (first and first.expected, first and first.seen) == (expected, seen)
    assert judged.schedule is not None
    assert schedules.converted(judged.schedule).choices == schedule.choices


def test_the_recorded_run_executed_the_schedule_that_was_found() -> None:
    recorded = judge(LOST_WRITE)
    schedule = schedules.decode((ROOT / FOUND).read_bytes(), FOUND)
    assert recorded.violated[0] == schedule.finds == "durability"
    assert recorded.zookeeper == schedule.zookeeper == "3.8.0"
    assert recorded.schedule is not None
    assert schedules.converted(recorded.schedule).choices == schedule.choices

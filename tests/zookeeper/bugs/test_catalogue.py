"""The bugs for which a schedule is kept: how they are named, and what each entry refers to."""

import os
from pathlib import Path

import pytest

from tests.zookeeper import real
from zabcheck.zookeeper.bugs.catalogue import BUGS, NOT_SHOWN, SCHEDULES, UnknownBug, named
from zabcheck.zookeeper.debugger.class_file import Method
from zabcheck.zookeeper.debugger.class_path import ClassPath, ClassPathError
from zabcheck.zookeeper.report.bugs import title
from zabcheck.zookeeper.run.distribution import NEWEST, OLDEST
from zabcheck.zookeeper.verdict.known_issues import ISSUES, NO_NUMBER, parsed

FURTHER = {"late-set": "ZOOKEEPER-3598", "ZOOKEEPER-4541": "ZOOKEEPER-4409", "promoted-observer": "ZOOKEEPER-4712"}
"""Other effects of an issue, the worst of which another schedule shows."""
PACKAGES = ("server", "server/quorum", "server/persistence", "server/watch", "common")


def test_every_bug_is_a_known_issue_with_a_schedule_of_its_own() -> None:
    known = list(dict.fromkeys(bug.known for bug in BUGS))
    assert known == [issue for issue in ISSUES if issue in known], "in the order of the known issues"
    for bug in BUGS:
        issue = FURTHER.get(bug.name) or ", ".join((bug.name, *bug.others))
        assert bug.known.key in ((issue,) if bug.name in FURTHER else (NO_NUMBER, issue))
        assert (f"({issue})" in title(bug)) == (bug.name in FURTHER), "the others are called by their number"
        assert bug.schedule().finds
    assert {*FURTHER.values()} <= {bug.name for bug in BUGS}
    assert sorted(bug.path for bug in BUGS) == sorted(SCHEDULES.iterdir())


def test_a_bug_of_which_an_issue_is_known_is_shown_or_it_is_said_why_not() -> None:
    """The catalogue has the bugs of versions that can be run."""
    told = {name for bug in BUGS for name in (bug.name, *bug.others)} | NOT_SHOWN.keys()
    for issue in ISSUES:
        can_be_run = any(cured is None or parsed(cured)[:2] > OLDEST for _, cured in issue.affected)
        if issue.has_number and can_be_run:
            assert {issue.name, *issue.others} <= told
    assert parsed(max(bug.schedule().zookeeper for bug in BUGS))[:2] <= NEWEST


@pytest.mark.parametrize("name", ["ZOOKEEPER-4646", "4646", "zookeeper-4646", "4785", " ZooKeeper-4785 "])
def test_a_bug_has_its_number_and_those_of_other_issues_about_it(name: str) -> None:
    assert named(name).name == "ZOOKEEPER-4646"


def test_a_bug_without_a_number_has_words() -> None:
    assert named("ack-before-trunc").schedule().finds == "durability"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("464", "no bug `464`; did you mean `4646`?"),
        ("zookeeper-4722", "no bug `zookeeper-4722`; did you mean `4712`?"),
        ("ack", "no bug `ack`; expected one of: 1653, 1675, 2307, 2332, "),
        ("3911", "no schedule shows ZOOKEEPER-3911: it is repaired in 3.6.3"),
    ],
)
def test_a_name_that_is_none(name: str, message: str) -> None:
    with pytest.raises(UnknownBug) as raised:
        named(name)
    assert str(raised.value).startswith(message)


def test_a_bug_names_methods_that_zookeeper_has() -> None:
    [jar] = [each for each in real.classpath().split(os.pathsep) if Path(each).name.startswith("zookeeper-3")]
    classes = ClassPath(jar)
    for place in dict.fromkeys(place for issue in ISSUES for place in issue.code):
        *names, last = place.split(".")
        if not names:
            names, last = [last], "<init>"
        has = {method.name for package in PACKAGES for method in methods(classes, f"{package}/{'$'.join(names)}")}
        assert last in has, place


def methods(classes: ClassPath, name: str) -> tuple[Method, ...]:
    """Return the methods of a class of this name; none if there is no such class."""
    try:
        return classes.read(f"org/apache/zookeeper/{name}").methods
    except ClassPathError:
        return ()

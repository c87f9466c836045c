"""docs/zookeeper-catalogue.md has the bugs for which a schedule is kept, in the order of the known issues."""

from docs.generators.zookeeper_catalogue import ENTRIES, EXAMPLES, PAGE, VERSIONS, issue_of, made
from zabcheck.ensemble.run import schedule as schedules
from zabcheck.ensemble.verdict.known_issues import ISSUES


def test_the_page_is_up_to_date() -> None:
    assert made() == {PAGE: PAGE.read_text(encoding="utf-8")}


def test_every_schedule_that_is_kept_is_in_it_but_the_one_that_was_rewritten() -> None:
    kept = {file.name.removesuffix(".schedule.json") for file in EXAMPLES.glob("*.schedule.json")}
    assert {entry.schedule for entry in ENTRIES} == kept - {"zookeeper-lost-write-found"}


def test_figures_are_of_versions_that_were_run_and_fit_what_is_known_of_the_bug() -> None:
    """What was shown was shown in a version that has the bug by the sources."""
    assert [issue_of(entry) for entry in ENTRIES] == [issue for issue in ISSUES if issue in map(issue_of, ENTRIES)]
    for entry in ENTRIES:
        assert entry.shown.keys() <= VERSIONS.keys()
        name = f"{entry.schedule}.schedule.json"
        assert entry.shown[schedules.decode((EXAMPLES / name).read_bytes(), name).zookeeper][0]
        for version, (shown, times) in entry.shown.items():
            assert 0 <= shown <= times
            assert issue_of(entry).affects(version) or not shown

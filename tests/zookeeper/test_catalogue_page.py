"""docs/zookeeper-catalogue.md has the bugs for which a schedule is kept, in the order of the known issues."""

from docs.generators.zookeeper_catalogue import (
    DIFFERENCES,
    MINIMAL,
    RECORDED,
    SHOWN,
    SIMULATED,
    SIMULATED_VERSIONS,
    VERSIONS,
    differs,
    model_says,
)
from zabcheck.zookeeper.bugs.catalogue import BUGS


def test_figures_are_of_versions_that_were_run_and_fit_what_is_known_of_the_bug() -> None:
    """Each bug was shown in a version that has it by the sources, and in the one that the schedule names."""
    assert list(SHOWN) == [bug.name for bug in BUGS]
    for bug in BUGS:
        figures = SHOWN[bug.name]
        assert figures.keys() <= VERSIONS.keys()
        assert figures[bug.schedule().zookeeper][0]
        for version, (shown, times) in figures.items():
            assert 0 <= shown <= times
            assert bug.known.affects(version) or not shown


def test_simulated_servers_show_what_processes_of_the_same_version_show() -> None:
    assert list(SIMULATED) == list(SHOWN)
    for name, figures in SIMULATED.items():
        assert figures.keys() <= SIMULATED_VERSIONS.keys()
        for version, (shown, times) in figures.items():
            assert 0 <= shown <= times
            if version in SHOWN[name]:
                assert bool(shown) == bool(SHOWN[name][version][0])


def test_where_the_model_and_the_servers_differ_the_reason_is_told() -> None:
    assert list(RECORDED) == list(SHOWN)
    assert MINIMAL.keys() <= SHOWN.keys()
    told = [bug for bug in SHOWN if any(differs(bug, version, model_says(bug, version)) for version in VERSIONS)]
    assert told == list(DIFFERENCES)

"""The start of a server."""

from pathlib import Path

from zabcheck.zookeeper.run.distribution import Distribution, with_properties
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, JvmProperty
from zabcheck.zookeeper.run.server import command, write_log_settings


def test_deliveries_are_logged_unless_they_are_not_wanted(tmp_path: Path) -> None:
    for wanted in (True, False):
        options = write_log_settings(tmp_path, wanted)
        files = [file.read_text() for file in sorted(tmp_path.iterdir())]
        assert len(files) == 3
        for text in (*files, "\n".join(options)):
            assert ("FinalRequestProcessor" in text) == wanted
            assert ("debug" in text.lower()) == wanted


def test_properties_are_options_of_java_that_come_after_those_of_every_server() -> None:
    schedule = EnsembleSchedule(2, "zookeeper", 3, (), properties=(JvmProperty("zookeeper.preAllocSize", "64"),))
    build = with_properties(Distribution("3.9.5", Path("java"), "x.jar"), schedule)
    words = command(build, [], "zoo.cfg")
    assert (
        words.index("-Dzookeeper.preAllocSize=4096") < words.index("-Dzookeeper.preAllocSize=64") < words.index("-cp")
    )

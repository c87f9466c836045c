"""How a server is started."""

from pathlib import Path

from zabcheck.zookeeper.run.server import write_log_settings


def test_deliveries_are_logged_unless_they_are_not_wanted(tmp_path: Path) -> None:
    for wanted in (True, False):
        options = write_log_settings(tmp_path, wanted)
        files = [file.read_text() for file in sorted(tmp_path.iterdir())]
        assert len(files) == 3
        for text in (*files, "\n".join(options)):
            assert ("FinalRequestProcessor" in text) == wanted
            assert ("debug" in text.lower()) == wanted

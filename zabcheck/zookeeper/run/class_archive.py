"""The classes of a server as one file that Java maps into its memory: servers start in two thirds of the time.

Java calls it application class data sharing (JEP 350). Some Javas cannot do it: those before 13, those that come
without an archive of their own classes, and any if the class path has a folder of classes. Then there is none, and
servers start as they always do.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.ensemble import EnsembleError
from zabcheck.zookeeper.run.processes import ProcessEnsemble

PATIENCE = 20.0
"""Seconds that a server gets to come up, and to end, when the file is written. Each takes it about 1."""


@contextmanager
def class_archive(distribution: Distribution) -> Iterator[Distribution]:
    """Yield the same build with an option that names an archive of its classes, if one can be made.

    The archive is in a temporary folder, which is removed at the end. OSError if there is no room for one.
    """
    with TemporaryDirectory(prefix="zabcheck-", ignore_cleanup_errors=True) as folder:
        archive = Path(folder, "classes.jsa")
        made = _make(archive, distribution, Path(folder))
        yield distribution._replace(options=(f"-XX:SharedArchiveFile={archive}",)) if made else distribution


def _make(archive: Path, distribution: Distribution, folder: Path) -> bool:
    """Start an ensemble of one server, wait until it leads, and end it. Return True if that has left an archive.

    A Java without an archive of its own classes ends at once, because -Xshare:on demands one.
    """
    options = ("-Xshare:on", f"-XX:ArchiveClassesAtExit={archive}")
    try:
        with ProcessEnsemble(1, distribution._replace(options=options), folder, lambda _: None) as ensemble:
            ensemble.start(1)
            server = ensemble.servers[1]
            ensemble.await_patiently(PATIENCE, lambda: not server.up or ensemble.leader() is not None)
            server.ask_to_end()
            ended = ensemble.await_patiently(PATIENCE, lambda: not server.up)
    except EnsembleError:
        return False
    return ended and archive.exists()

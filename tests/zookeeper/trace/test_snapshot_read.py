"""The snapshot that a server loads after TRUNC is the one that its log names."""

import shutil
from pathlib import Path

from zabcheck.invariants import Zxid
from zabcheck.zookeeper.trace.notes import CutAboveSnapshot
from zabcheck.zookeeper.verdict.judge import judge

KEPT = Path(__file__).parent.parent / "4837-3.9.5.tar.xz"


def test_a_server_that_loads_an_older_snapshot_after_trunc_has_what_was_cut_no_more(tmp_path: Path) -> None:
    """A server of 3.9.5 loads the newest, which goes beyond the cut; one in which that is repaired need not."""
    shutil.unpack_archive(KEPT, tmp_path)
    folder = tmp_path / "4837-3.9.5"
    cut = CutAboveSnapshot(3, Zxid(1, 4), Zxid(1, 5))
    found = judge(folder)
    assert cut in found.observation.notes
    log = folder / "server-3.2.log"
    first, sign, rest = log.read_text().partition("Truncating log")
    newest = "version-2/snapshot.100000005"
    assert newest in rest
    log.write_text(first + sign + rest.replace(newest, "version-2/snapshot.0", 1))
    repaired = judge(folder)
    assert cut not in repaired.observation.notes
    assert "ZOOKEEPER-4837" in [each.issue.name for each in found.known]
    assert "ZOOKEEPER-4837" not in [each.issue.name for each in repaired.known]

"""docs/clients.md links a history that breaks each promise, and histories that only look wrong."""

from docs.generators.clients import PAGE, examples
from docs.generators.output import read
from tests.zookeeper.clients.test_violations import RIGHT, VIOLATIONS
from zabcheck.zookeeper.clients.judge import PROMISES


def test_each_promise_has_the_history_that_breaks_it() -> None:
    names = {path: path.stem.replace("-", "_") for path in examples()}
    assert {path: read(path) for path in names} == examples()
    rows = [line for line in read(PAGE).splitlines() if "(examples/clients/" in line and line.startswith("| `")]
    broken = {row.split("`")[1]: row.rpartition("/")[2].partition(".")[0].replace("-", "_") for row in rows}
    assert [VIOLATIONS[name][0] for name in broken.values()] == [*broken]
    assert broken.keys() == PROMISES.keys()
    assert len(RIGHT.keys() & {*names.values()}) == 10

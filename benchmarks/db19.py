"""CPU seconds for a million ticks of the db-19 lab's cluster, judged by its properties, and where the seconds go.

Most messages are votes that nodes with a leader send each other for ever, so their number grows with the ticks.
"""

from time import process_time

from zabcheck.cli.db19 import Judging
from zabcheck.invariants import select
from zabcheck.protocols.db19 import DB19
from zabcheck.protocols.db19.cluster import Cluster, Setting

TICKS = 1_000_000
CASES = (
    ("1,000 proposals", 5, 1000, ()),
    ("100,000 proposals", 5, 100_000, ()),
    ("1,000 proposals, node 4 cut off", 5, 1000, tuple((a, b) for i in range(4) for a, b in ((i, 4), (4, i)))),
    ("1,000 proposals, 3 nodes", 3, 1000, ()),
    ("1,000 proposals, 7 nodes", 7, 1000, ()),
)


def main() -> None:
    print(f"{TICKS:,} ticks, 5 nodes unless it says something else, seed 1:")
    print(f"  {'':36}{'messages':>12}{'CPU seconds':>13}{'judged':>9}{'µs a message':>14}")
    for name, nodes, proposals, partition in CASES:
        setting = Setting(1, nodes, TICKS, proposals, partition)
        plain, messages = seconds(setting, judged=False)
        judged, _ = seconds(setting, judged=True)
        each = 1e6 * plain / messages
        print(f"  {name:36}{messages:>12,}{plain:>13.1f}{judged:>9.1f}{each:>14.2f}", flush=True)


def seconds(setting: Setting, *, judged: bool) -> tuple[float, int]:
    """Make a run; return its CPU seconds, and the number of its messages."""
    start = process_time()
    judging = Judging(select(DB19.properties if judged else ()), setting.nodes)
    cluster = Cluster(setting, judging.observe)
    for _ in cluster.ticks():
        pass
    judging.finish()
    return process_time() - start, cluster.messages

"""Run the benchmarks that are named, or all of them."""

import sys
from collections.abc import Callable

from benchmarks import (
    broken,
    campaign,
    causality,
    check,
    clients,
    cost,
    db19,
    defaults,
    ensemble,
    explore,
    nodes,
    page,
    play,
    silence,
    small,
    spark_check,
    zookeeper,
)
from zabcheck.search.run import collect_garbage_less_often

BENCHMARKS: dict[str, Callable[[], None]] = {
    "broken": broken.main,
    "campaign": campaign.main,
    "causality": causality.main,
    "check": check.main,
    "clients": clients.main,
    "cost": cost.main,
    "db19": db19.main,
    "defaults": defaults.main,
    "ensemble": ensemble.main,
    "explore": explore.main,
    "nodes": nodes.main,
    "page": page.main,
    "play": play.main,
    "silence": silence.main,
    "small": small.main,
    "spark-check": spark_check.main,
    "zookeeper": zookeeper.main,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; expected: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    collect_garbage_less_often()  # as the command does
    for name in names or BENCHMARKS:
        print(f"== {name}", flush=True)
        BENCHMARKS[name]()
    return 0


sys.exit(main(sys.argv[1:]))

"""CPU seconds and memory for traces that are broken, in each property's way and throughout, relative to the intact one.

Each file is judged by all properties, and explained, in a process of its own, whose start counts, too.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.check import measured
from tests.invariants.broken import BREAKS, Ensemble
from zabcheck.invariants import End, Event, Header, trace

SIZES = (10_000, 100_000, 1_000_000)


def main() -> None:
    print("CPU seconds, and times those of the intact trace; MB at most:")
    print(f"  {'':38}" + "".join(f"{size:>25,}" for size in SIZES))
    base: dict[tuple[str, int], float] = {}
    with TemporaryDirectory() as folder:
        for name, damage in {"intact": list, **BREAKS}.items():
            for command in ("check", "explain"):
                row = ""
                for size in SIZES:
                    path = Path(folder, "file")
                    write(path, damage(list(Ensemble(size).events())))
                    seconds, megabytes = measured(command, path, broken=name != "intact")
                    times = seconds / base.setdefault((command, size), seconds)
                    row += f"{seconds:>10.2f}{times:>7.1f}{megabytes:>5,} MB"
                print(f"  {command:8}{name:30}{row}", flush=True)


def write(path: Path, events: list[Event]) -> None:
    with path.open("wb") as file:
        file.writelines(trace.dump([Header(1, 3, "benchmark"), *events, End(len(events))]))

"""CPU seconds of TLC on Apache ZooKeeper's specification of Zab, and of `zabcheck explore` on Zab, by turns.

`python -m benchmarks.tlc CLASSPATH Zab.tla`, with the classes of TLC and that specification; `benchmarks/tlc.md` says
where both are from, and what is compared. It is not among the benchmarks that `python -m benchmarks` runs, because it
needs both. Takes 25 CPU minutes; with `--most SECONDS` rows are left out that take TLC longer than that.
"""

import argparse
import re
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import copy, which
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec

INVARIANTS = (
    "ShouldNotBeTriggered",
    "Leadership1",
    "Leadership2",
    "PrefixConsistency",
    "Integrity",
    "Agreement",
    "TotalOrder",
    "LocalPrimaryOrder",
    "GlobalPrimaryOrder",
    "PrimaryIntegrity",
)
PROPERTIES = (
    "integrity",
    "total order",
    "agreement",
    "local primary order",
    "global primary order",
    "primary integrity",
    "prefix",
    "epoch uniqueness",
)
"""The properties that `explore` judges for the ten invariants."""
NAMES = (
    ("NullPoint",),
    ("LOOKING", "FOLLOWING", "LEADING"),
    ("ELECTION", "DISCOVERY", "SYNCHRONIZATION", "BROADCAST"),
    ("CEPOCH", "NEWEPOCH", "ACKEPOCH", "NEWLEADER", "ACKLD", "COMMITLD", "PROPOSE", "ACK", "COMMIT"),
)
"""The constants of the specification that stand for themselves, NullPoint among them: TLC cannot choose it."""
MODULE = """---- MODULE MC ----
EXTENDS Zab
CONSTANTS {names}
Servers == {{{names}}}
Bounds == [MaxTimeoutFailures |-> {timeouts}, MaxTransactionNum |-> {txns}, MaxEpoch |-> {epochs},
           MaxRestarts |-> {crashes}]
AnyNames == Permutations(Servers)
Counted == [each \\in {{"nTimeout", "nTransaction", "maxEpoch", "nRestart", "nClientRequest"}} |-> recorder[each]]
AllButTheLastStep == <<serverVars, leaderVars, followerVars, electionVars, msgVars, verifyVars, Counted>>
====
"""
"""A view without `recorder.pc`, the name of the last step: two states that differ in it alone go on in the same way."""


class Bounds(NamedTuple):
    """The number of servers, and how often each may happen at most."""

    servers: int
    timeouts: int
    txns: int
    epochs: int
    crashes: int

    def __str__(self) -> str:
        return f"({self.servers}; {self.timeouts},{self.txns},{self.epochs},{self.crashes})"


ROWS = (
    Bounds(2, 1, 2, 2, 1),
    Bounds(3, 1, 1, 1, 0),
    Bounds(3, 1, 2, 2, 0),
    Bounds(3, 1, 2, 2, 1),
    Bounds(3, 2, 2, 2, 1),
)


class Searched(NamedTuple):
    """The number of distinct states, and the CPU seconds of the whole command."""

    states: int
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a Markdown table, a row when it is measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tlc", description=__doc__.splitlines()[0])
    parser.add_argument("classpath", help="the classes of TLC, as for Java")
    parser.add_argument("specification", type=Path, help="Zab.tla")
    parser.add_argument("--most", type=float, default=3600.0, help="end a search of TLC after these seconds")
    said = parser.parse_args(arguments)
    if not said.specification.is_file():
        parser.error(f"{said.specification}: no such file; expected Zab.tla")
    if which("java") is None:
        parser.error("there is no `java`; expected one of version 17 or later")
    print("| bounds | TLC: states | CPU s | explore: states | CPU s | CPU s, TLC / explore |")
    print("|---|---|---|---|---|---|")
    for bounds in ROWS:
        ours = explored(bounds)
        theirs = checked(bounds, said.classpath, said.specification, said.most)
        if theirs is None:
            print(f"| {bounds} | not ended in {said.most:g} s | | {ours.states:,} | {ours.seconds:.1f} | |", flush=True)
            continue
        ratio = theirs.seconds / ours.seconds
        cells = f"{theirs.states:,} | {theirs.seconds:.1f} | {ours.states:,} | {ours.seconds:.1f} | {ratio:.0f}"
        print(f"| {bounds} | {cells} |", flush=True)
    return 0


def checked(bounds: Bounds, classpath: str, specification: Path, most: float) -> Searched | None:
    """Search with TLC, one worker; None if it has not ended after `most` seconds. SystemExit if it fails."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        copy(specification, folder / "Zab.tla")
        (folder / "MC.tla").write_text(MODULE.format(names=", ".join(_servers(bounds)), **bounds._asdict()))
        (folder / "MC.cfg").write_text(configuration(bounds))
        java = ("java", "-XX:+UseParallelGC", "-cp", classpath, "tlc2.TLC", "-workers", "1", "-deadlock", "MC.tla")
        before = _children()
        try:
            done = subprocess.run(java, cwd=folder, capture_output=True, text=True, timeout=most, check=False)
        except subprocess.TimeoutExpired:
            return None
    states = re.findall(r"([\d,]+) distinct states found, 0 states left on queue", done.stdout)
    if done.returncode or not states:
        sys.exit(f"TLC found no proof:\n{done.stdout}{done.stderr}")
    return Searched(int(states[-1].replace(",", "")), _children() - before)


def configuration(bounds: Bounds) -> str:
    """Return the configuration of TLC: all invariants, symmetry of the servers, and the view."""
    constants = [f"{name} = {name}" for names in (_servers(bounds), *NAMES) for name in names]
    lines = [
        "SPECIFICATION Spec",
        "CONSTANTS",
        *(f"  {each}" for each in (*constants, "Server <- Servers", "Parameters <- Bounds")),
        "SYMMETRY AnyNames",
        "VIEW AllButTheLastStep",
        "INVARIANTS",
        *(f"  {each}" for each in INVARIANTS),
    ]
    return "\n".join(lines) + "\n"


def explored(bounds: Bounds) -> Searched:
    """Search with `zabcheck explore`. SystemExit if it fails."""
    command = [sys.executable, "-m", "zabcheck", "explore", "--format", "json"]
    command += [f"--processes={bounds.servers}", f"--timeouts={bounds.timeouts}", f"--txns={bounds.txns}"]
    command += [f"--epochs={bounds.epochs}", f"--crashes={bounds.crashes}"]
    command += [f"--property={each}" for each in PROPERTIES]
    before = _children()
    done = subprocess.run(command, capture_output=True, check=False)
    seconds = _children() - before
    said = msgspec.json.decode(done.stdout) if done.stdout else {}
    if not said.get("whole") or said["broken"] is not None:
        sys.exit(f"explore found no proof:\n{done.stdout.decode()}{done.stderr.decode()}")
    return Searched(said["states"], seconds)


def _servers(bounds: Bounds) -> list[str]:
    return [f"s{number}" for number in range(1, bounds.servers + 1)]


def _children() -> float:
    """Return the CPU seconds of all processes that were started from here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())

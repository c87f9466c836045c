"""CPU seconds of an exhaustive search, by bounds, and what it is worth to take processes for interchangeable.

Bounds are (processes; time-outs, transactions, epochs, crashes), as in the figures that are published for TLC on Apache
ZooKeeper's specification of Zab; but here an election is a step for each process, and so is a closed connection that
somebody notices.
"""

from time import process_time

from invariants import select
from invariants.quorums import Quorums
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols.switches import Switches
from zabcheck.search.explore.bounds import UNLIMITED, Bounds
from zabcheck.search.explore.space import Explored, Space, judged_in_every_state

PROOFS = (
    Bounds(2, 1, 1, 1, 0),
    Bounds(2, 2, 2, 1, 0),
    Bounds(2, 2, 1, UNLIMITED, 0),
    Bounds(2, 2, 1, 1, 1),
    Bounds(3, 1, 1, 0, 0),
    Bounds(3, 1, 1, 1, 0),
)
MUTANTS = ("quorum-off-by-one", "commit-on-own-ack", "promise-not-durable", "reuse-highest-epoch", "keep-own-history")


def main() -> None:
    print(f"  {'bounds':30}{'states':>10}{'transitions':>13}{'depth':>7}{'parts':>8}{'CPU s':>8}{'a second':>10}")
    for bounds in PROOFS:
        for symmetry in (False, True):
            found, seconds = explored(None, bounds, symmetry)
            assert found.whole
            print(f"  {named(bounds) + (', symmetry' if symmetry else ''):30}{figures(found, seconds)}", flush=True)
    print("The shortest counterexample, within (3; 1,2,2,0):")
    for mutant in MUTANTS:
        found, seconds = explored(mutant, Bounds(3, 2, 2, 1, 0), True)
        told = f"{len(found.choices)} steps, {found.broken}"
        print(f"  {mutant:22}{told:34}{found.states:>10,} states{seconds:>8.2f} CPU s", flush=True)


def explored(mutant: str | None, bounds: Bounds, symmetry: bool) -> tuple[Explored, float]:
    kinds = [kind for kind in select(None) if judged_in_every_state(kind)]
    start = process_time()
    switches, quorums = Switches(sync="atomic"), Quorums(bounds.processes)
    found = Space(mutated("zab", mutant), quorums, switches, bounds, kinds, symmetry=symmetry).explore()
    return found, process_time() - start


def named(bounds: Bounds) -> str:
    timeouts = "any" if bounds.timeouts == UNLIMITED else bounds.timeouts
    return f"({bounds.processes}; {timeouts},{bounds.txns},{bounds.epochs},{bounds.crashes})"


def figures(found: Explored, seconds: float) -> str:
    rate = found.transitions / seconds if seconds else 0.0
    return f"{found.states:>10,}{found.transitions:>13,}{found.depth:>7}{found.parts:>8,}{seconds:>8.2f}{rate:>10,.0f}"

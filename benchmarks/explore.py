"""CPU seconds of an exhaustive search, by bounds; what each reduction is worth; the shortest run of each known bug.

Bounds are (processes; time-outs, transactions, epochs, crashes), as in the figures published for TLC on Apache
ZooKeeper's specification of Zab. But here an election is a step for each process, and so is noticing a closed
connection. TLC's ten invariants are judged, which are eight properties here; "all" are all that can be judged in every
state.
"""

import gc
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from msgspec.structs import replace

from zabcheck.explore.bounds import UNLIMITED, Bounds
from zabcheck.explore.judges import WentOn, judged_in_every_state
from zabcheck.explore.liveness.undisturbed import find_trap
from zabcheck.explore.results import SearchResult
from zabcheck.explore.shortest import search
from zabcheck.explore.space import Space
from zabcheck.invariants import Invariant, select
from zabcheck.invariants.quorums import Quorums
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols.switches import Switches

COARSE = Switches(sync="atomic", closing="abrupt")
ALL = tuple(kind for kind in select(None) if judged_in_every_state(kind))
TEN = tuple(
    kind
    for kind in ALL
    if (kind.group == "core" and kind.name != "clock") or kind.name in ("prefix", "epoch uniqueness")
)
ANY = UNLIMITED

PROOFS = (
    Bounds(3, 2, 2, 1, 0),
    Bounds(3, 2, 2, 2, 1),
    Bounds(5, 2, 2, 1, 0),
    Bounds(3, 2, 1, ANY, ANY),
    Bounds(3, 2, 2, ANY, ANY),
    Bounds(3, 3, 2, ANY, ANY),
    Bounds(3, 3, 3, ANY, ANY),
)
REDUCED = (Bounds(2, 2, 2, 2, 1), Bounds(2, 2, 2, ANY, ANY), Bounds(3, 1, 1, 1, 0), Bounds(3, 2, 1, 1, 0))
MUTANTS = {
    "quorum-off-by-one": Bounds(3, 2, 2, 1, 0),
    "reuse-highest-epoch": Bounds(3, 2, 2, 1, 0),
    "accept-equal-epoch": Bounds(3, 2, 2, ANY, ANY),
    "promise-not-durable": Bounds(3, 2, 2, 1, 0),
    "commit-on-own-ack": Bounds(3, 2, 2, 1, 0),
    "commit-only-named": Bounds(3, 2, 2, 1, 0),
    "stale-proposal-accepted": Bounds(3, 2, 2, 1, 0),
    "broadcast-before-established": Bounds(3, 2, 2, 1, 0),
    "keep-own-history": Bounds(3, 2, 2, 1, 0),
    "keep-longer-history": Bounds(3, 2, 2, 1, 0),
    "no-truncation": Bounds(3, 2, 2, 1, 0),
    "propose-to-acked-only": Bounds(3, 2, 2, 1, 0),
    "duplicate-proposal": Bounds(3, 2, 2, 1, 0),
    "deliver-initial-history-last": Bounds(3, 2, 2, 1, 0),
    "redeliver-with-gap": Bounds(3, 2, 2, ANY, ANY),
}
GROWTH = {
    "time-outs": ("timeouts", (0, 1, 2, 3)),
    "transactions": ("txns", (0, 1, 2, 3)),
    "epochs": ("epochs", (1, 2, 3)),
    "crashes": ("crashes", (0, 1, 2)),
}
MIDDLE = Bounds(3, 1, 1, 1, 0)
PLOT = Path(__file__).parents[1] / "docs/notes/explore-growth.svg"


def main() -> None:
    size = f"{'states':>10}{'transitions':>13}{'levels':>7}{'components':>11}"
    print(f"  {'bounds':28}{size}{'CPU s':>8}{'a second':>10}")
    for bounds in PROOFS:
        found, seconds = explored(bounds)
        assert found.whole
        print(f"  {named(bounds):28}{figures(found, seconds)}", flush=True)
    found, seconds = explored(PROOFS[0], properties=ALL)
    print(f"  {named(PROOFS[0]) + ', all':28}{figures(found, seconds)}", flush=True)
    liveness(PROOFS[0])
    reductions()
    shortest()
    plot()


def liveness(bounds: Bounds) -> None:
    space = made(bounds, properties=ALL, moments=True)
    space.explore()
    start = process_time()
    followed = find_trap(space)
    print(f"  {named(bounds)}: {followed.checked:,} pairs followed, {process_time() - start:.2f} CPU s")


def reductions() -> None:
    print("States: none, symmetry, partial order, both; and their CPU seconds")
    for bounds in REDUCED:
        both = [explored(bounds, symmetry=s, reduction=r) for r in (False, True) for s in (False, True)]
        states = "".join(f"{found.states:>11,}" for found, _ in both)
        print(f"  {named(bounds):28}{states}   " + "".join(f"{seconds:>8.2f}" for _, seconds in both), flush=True)


def shortest() -> None:
    print("The first counterexample, and the shortest:")
    for mutant, bounds in MUTANTS.items():
        found, seconds = explored(bounds, mutant=mutant, properties=ALL)

        def make(forgetful: bool, reduction: bool, mutant: str = mutant, bounds: Bounds = bounds) -> Space:
            return made(bounds, mutant=mutant, properties=ALL, reduction=reduction, forgetful=forgetful)

        gc.collect()
        start = process_time()
        try:
            least = search(partial(make, True), reduction=True)
        except WentOn:
            least = search(partial(make, False), reduction=True)
        told = f"{len(found.choices):>3} steps{seconds:>7.2f} s"
        steps, seconds = len(least.result.choices), process_time() - start
        certain = "shortest" if least.tried == steps - 1 else f"no shorter than {least.tried + 1}"
        after = f"{steps:>3} steps, {certain}{seconds:>8.2f} s, {least.result.broken}"
        print(f"  {mutant:30}{named(bounds):14}{told}; {after}", flush=True)


def plot() -> None:
    """Plot how the number of states grows with each bound, with and without partial-order reduction."""
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "growth", "font.size": 9}):
        figure = Figure(figsize=(9, 2.6), layout="constrained")
        for axes, (name, (field, values)) in zip(
            figure.subplots(1, len(GROWTH), sharey=True), GROWTH.items(), strict=True
        ):
            for reduction, style in ((False, "o--"), (True, "o-")):
                states = [explored(replace(MIDDLE, **{field: v}), reduction=reduction)[0].states for v in values]
                axes.plot(values, states, style, label="and partial-order reduction" if reduction else "symmetry alone")
                print(f"  {name:14}{'reduced' if reduction else '':9}" + "".join(f"{each:>11,}" for each in states))
            axes.set(xlabel=name, xticks=values, yscale="log")
        figure.axes[0].set_ylabel("states")
        figure.axes[0].legend(fontsize=7)
        figure.savefig(PLOT, metadata={"Date": None})


def made(
    bounds: Bounds,
    *,
    mutant: str | None = None,
    properties: tuple[type[Invariant], ...] = TEN,
    symmetry: bool = True,
    reduction: bool = True,
    moments: bool = False,
    forgetful: bool = True,
) -> Space:
    protocol, quorums = mutated("zab", mutant), Quorums(bounds.processes)
    return Space(
        protocol,
        quorums,
        COARSE,
        bounds,
        properties,
        symmetry=symmetry,
        reduction=reduction,
        moments=moments,
        forgetful=forgetful,
    )


def explored(
    bounds: Bounds,
    *,
    mutant: str | None = None,
    properties: tuple[type[Invariant], ...] = TEN,
    symmetry: bool = True,
    reduction: bool = True,
) -> tuple[SearchResult, float]:
    gc.collect()  # what the search before has left is not part of this one
    start = process_time()
    how: dict[str, Any] = {"mutant": mutant, "properties": properties, "symmetry": symmetry, "reduction": reduction}
    try:
        found = made(bounds, **how).explore()
    except WentOn:
        found = made(bounds, **how, forgetful=False).explore()
    return found, process_time() - start


def named(bounds: Bounds) -> str:
    timeouts, crashes = ("∞" if each == UNLIMITED else each for each in (bounds.timeouts, bounds.crashes))
    return f"({bounds.processes}; {timeouts},{bounds.txns},{bounds.epochs},{crashes})"


def figures(found: SearchResult, seconds: float) -> str:
    rate = found.transitions / seconds if seconds else 0.0
    size = f"{found.states:>10,}{found.transitions:>13,}{found.depth:>7}{found.components:>11,}"
    return f"{size}{seconds:>8.2f}{rate:>10,.0f}"

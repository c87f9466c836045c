"""How soon each mutant is found, with the default settings of `zabcheck run`, for seeds 1 to 20."""

from statistics import median
from time import process_time

from invariants import PROPERTIES
from zabcheck.counterexample import counterexample
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.search.machine import find
from zabcheck.search.run import Search
from zabcheck.search.tally import Tally

SEEDS = range(1, 21)


def main() -> None:
    print("mutant | found | property broken | runs, median | CPU s to the minimised, median (worst) | steps, median")
    for name, mutant in CATALOGUE.items():
        found, runs, spent, lengths = [], [], [], []
        for seed in SEEDS:
            tally = Tally(list(PROPERTIES.values()))
            start = process_time()
            broken = find(Search(mutated(mutant.protocol, name), mutant.processes, rng=seed, on_run=tally.add))
            if broken is None:
                print(f"  {name}: not found with seed {seed} in {tally.runs} runs", flush=True)
                continue
            replayed, _ = counterexample(broken.schedule(mutant.protocol, name), broken.property)
            spent.append(process_time() - start)
            found.append(broken.property)
            runs.append(tally.runs)
            lengths.append(replayed.steps)
        kinds = ", ".join(f"{kind} {found.count(kind)}" for kind in dict.fromkeys(found))
        print(
            f"{name} | {len(found)} of {len(SEEDS)} | {kinds} | {median(runs):.0f} | "
            f"{median(spent):.1f} ({max(spent):.1f}) | {median(lengths):.0f} ({min(lengths)} to {max(lengths)})",
            flush=True,
        )

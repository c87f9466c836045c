"""Zab, or a protocol of one's own, in a test suite.

    import zabcheck

    TestZab = zabcheck.machine_for("zab").TestCase

`pytest --hypothesis-seed=N` searches the same runs again. When a property breaks, the test fails with zabcheck's own
report; the schedule is saved, and `zabcheck replay` executes it again.
"""

import unittest
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from invariants import select
from invariants.quorums import MAJORITY, quorums_of
from zabcheck.counterexample import counterexample, save
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols.switches import checked
from zabcheck.report.terminal import to_text
from zabcheck.search.machine import Machine, find_with, hypothesis_settings, machine_class
from zabcheck.search.run import MAX_STEPS, Search
from zabcheck.search.tally import Tally

REPORT_WIDTH = 100


def machine_for(
    protocol: str,
    *,
    mutant: str | None = None,
    processes: int = 3,
    properties: str | Sequence[str] | None = None,
    runs: int = 500,
    steps: int = 200,
    quorums: str = MAJORITY,
    switches: Mapping[str, object] | None = None,
    out: str | Path = "reports",
) -> type[Machine]:
    """A Hypothesis `RuleBasedStateMachine` that searches `protocol`; its `TestCase` is for unittest and pytest.

    At least `runs` runs of up to about `steps` steps, judged by `properties`: names of properties or of groups of them,
    a single one or several (None: all). A counterexample is written to `out`.
    `quorums` names the quorum system: "majority", "weights 3,1,1" or "sets 1+2,2+3,1+3".
    `switches` fixes some of those that each run would draw, as in `{"sync": "atomic", "counter_limit": 3}`.
    The test fails also if a property was exercised by no run: that is no pass.
    ValueError for a protocol, mutant, property, quorum system or switch that there is not, or a value that is not
    possible.
    """
    for name, number in (("processes", processes), ("runs", runs), ("steps", steps)):
        if number < 1:
            raise ValueError(f"`{name}`: expected 1 or more, found {number}")
    if steps > MAX_STEPS:
        raise ValueError(f"`steps`: expected {MAX_STEPS} or less, found {steps}")
    chosen = (properties,) if isinstance(properties, str) else None if properties is None else tuple(properties)
    if chosen == ():
        raise ValueError("`properties`: expected one or more, or None for all")
    tally = Tally(select(chosen))
    search = Search(
        mutated(protocol, mutant),
        processes,
        chosen,
        runs,
        steps,
        on_run=tally.add,
        quorums=quorums_of(quorums, processes),
        fixed=checked(switches or {}),
    )
    machine = machine_class(search)

    class TestCase(unittest.TestCase):
        settings = hypothesis_settings(search)

        def runTest(self) -> None:  # noqa: N802  # the name that unittest calls
            __tracebackhide__ = True
            broken = find_with(machine, self.settings)
            if broken is None:
                unexercised = [name for name, runs in tally.exercised.items() if not runs]
                if unexercised:
                    self.fail(f"exercised by none of {tally.runs} runs: {', '.join(unexercised)}")
                return
            schedule = broken.schedule(protocol, mutant)
            replayed, story = counterexample(schedule, broken.property, keep=("quorums", *(switches or ())))
            files = save(Path(out), replayed, story)
            report = to_text(story, REPORT_WIDTH, file=quote(str(files[0])))
            wrote = "\n".join(f"wrote {file}" for file in files)
            raise self.failureException(f"{report}\n{wrote}")

        runTest.is_hypothesis_test = True  # type: ignore[attr-defined]  # so that --hypothesis-seed is known to apply

    TestCase.__name__ = f"{protocol}.TestCase"
    TestCase.__qualname__ = TestCase.__name__
    machine.TestCase = TestCase  # type: ignore[assignment]  # in Hypothesis it is a property that makes such a class
    return machine

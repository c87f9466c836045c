"""A part of a campaign: the work of one task, wherever it runs. Nothing here depends on Spark.

Each run is a run of the swarm, with the seed that the plan gives it. So a part that is made twice is the same both
times, apart from the CPU time.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

import msgspec
import pyarrow as pa
from msgspec import Struct

from zabcheck.campaign.findings import ERROR
from zabcheck.campaign.plan import Plan
from zabcheck.campaign.schema import RUNS, RUNS_PARQUET
from zabcheck.campaign.store import EVENTS_FOLDER, RUNS_FOLDER, Store, name_of
from zabcheck.invariants import Broadcast, Crash, Deliver, End, Establish, Event, Header, Invariant, select
from zabcheck.invariants.columns import PARQUET, Rows
from zabcheck.invariants.columns import SCHEMA as EVENTS
from zabcheck.invariants.events import EVENTS as KINDS
from zabcheck.search.coverage import Coverage, State, fingerprint
from zabcheck.search.run import ProtocolRaised, Run
from zabcheck.search.swarm import Draws, drive

_TOLD = 200
"""The number of runs after which the progress of a part is reported."""

_BATCH = 50_000
"""The approximate number of events in one batch of columns: events outside columns take much more memory."""


class RecordedRun(Struct):
    """A run of a campaign: its row of `runs`, and the lines of its trace, header and end included."""

    row: dict[str, Any]
    lines: list[Event]


class Maker:
    """Makes parts of a campaign, one after the other. ValueError if the plan names something that does not exist."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self.plan = plan
        self.store = store
        self.kinds: list[type[Invariant]] = select(plan.properties)
        self.searches = {mutant: plan.search(mutant) for mutant in dict.fromkeys(plan.mutants)}

    def make(self, part: int) -> None:
        """Make the runs of a part and write them. StoreError if they cannot be written; then the part has no runs."""
        with self.store.telling(part) as tell:
            self._make(part, tell)

    def _make(self, part: int, tell: Callable[[int], None]) -> None:
        plan, store = self.plan, self.store
        rows: list[dict[str, Any]] = []
        events, batches = Rows(), []
        known: dict[State, int] = {}
        for number in plan.runs_of(part):
            recorded = self.record(number, known)
            recorded.row["part"] = part
            rows.append(recorded.row)
            if plan.keep == "events" or (plan.keep == "violations" and recorded.row["violated"]):
                events.add(number, recorded.lines)
                if len(events) > _BATCH:
                    batches.append(events.take())
            if len(rows) % _TOLD == 0:
                tell(len(rows))
        if plan.keep != "none":
            store.write_table(name_of(EVENTS_FOLDER, part), [*batches, events.take()], EVENTS, **PARQUET)
        store.write_table(name_of(RUNS_FOLDER, part), [pa.RecordBatch.from_pylist(rows, RUNS)], RUNS, **RUNS_PARQUET)

    def record(self, number: int, known: dict[State, int]) -> RecordedRun:
        """Make one run of the plan.

        `known` maps the states in which earlier runs of the part were to their fingerprints; the run's new states are
        added to it.
        """
        mutant, seed = self.plan.mutant_of(number), self.plan.seed_of(number)
        lines: list[Event] = []
        watching: list[tuple[Draws, Coverage]] = []

        def watchers(drawn: Draws) -> Sequence[dict[type[Event], Any]]:
            coverage = Coverage(drawn.quorums.size)
            watching.append((drawn, coverage))
            return coverage.observers, dict.fromkeys(KINDS, lines.append)

        start = process_time()
        try:
            outcome, complete = _judged(drive(self.searches[mutant], self.kinds, seed, watchers)), True
        except ProtocolRaised as error:
            outcome, complete = _raised(error), False
        [(drawn, coverage)] = watching
        new = [state for state in coverage.states if state not in known]
        known |= {state: fingerprint(state) for state in new}
        row = {
            "run": number,
            "seed": str(seed),
            "mutant": mutant,
            **_drawn(drawn),
            **outcome,
            **_counted(lines),
            "reached": len(coverage.states),
            "states": [known[state] for state in new],
            "seconds": round(process_time() - start, 6),  # so no sum lies between two microseconds: see `engines`
        }
        header = Header(1, drawn.quorums.size, self.plan.protocol, drawn.quorums.name)
        return RecordedRun(row, [header, *lines, End(len(lines), complete=complete)])


def _drawn(drawn: Draws) -> dict[str, Any]:
    return {
        "processes": drawn.quorums.size,
        "quorums": drawn.quorums.name,
        "switches": {name: str(value) for name, value in msgspec.structs.asdict(drawn.switches).items()},
        "weights": dict(drawn.weights),
        "order": drawn.order,
        "demoted": drawn.demoted,
        "cycle": drawn.cycle,
    }


def _judged(run: Run) -> dict[str, Any]:
    """Return the columns of a run that came to its end: the verdicts, and its goals and states."""
    first = run.broken
    verdicts = run.judge.finish()
    violated = [verdict.property for verdict in verdicts if verdict.status == "violated"]
    return {
        "broken": first or next(iter(violated), None),
        "violated": violated,
        "raised": None,
        "judged": {verdict.property: verdict.judged for verdict in verdicts},
        "goals": list(run.goals.reached),
        "steps": run.simulator.steps,
        "longest": max((end.length for _, end in run.judge.record.ends()), default=0),
    }


def _raised(error: ProtocolRaised) -> dict[str, Any]:
    """Return the same columns of a run in which the protocol's code raised; no property judges such a run."""
    is_modelled = error.raised.is_modelled
    return {
        "broken": ERROR if is_modelled else None,
        "violated": [ERROR] if is_modelled else [],
        "raised": error.raised.said if is_modelled else " ".join(str(error).split()),
        "judged": {},
        "goals": [],
        "steps": len(error.choices),
        "longest": 0,
    }


def _counted(events: Sequence[Event]) -> dict[str, int]:
    kinds = Counter(map(type, events))
    return {
        "events": len(events),
        "broadcasts": kinds[Broadcast],
        "deliveries": kinds[Deliver],
        "crashes": kinds[Crash],
        "epochs": len({event.epoch for event in events if isinstance(event, Establish)}),
    }

"""The plan of a campaign: everything that each part of the campaign needs, and nothing that depends on the machine.

The plan is written to `campaign.json` before the first run. The seed of each run follows from the plan, so a part can
be made at any time, on any machine, and again, with the same result.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol

import msgspec
from msgspec import Struct

from zabcheck.invariants.diagnosis import NOT_DECODED, malformed
from zabcheck.invariants.quorums import quorums_of
from zabcheck.mutants.catalogue import planted
from zabcheck.protocols.adapter import imported
from zabcheck.search.run import Search
from zabcheck.search.swarm import run_seed
from zabcheck.text.nodes import command_of
from zabcheck.text.words import as_document

VERSION: Final = 1

RUNS_A_PART = 2000
"""The most runs in a part. They take some seconds, where a Spark task has an overhead of 65 ms."""
LEAST_PARTS = 16

Keep = Literal["events", "violations", "none"]


class AnyPlan(Protocol):
    """A plan of parts that are made one by one, each of some runs."""

    @property
    def keep(self) -> Keep: ...

    @property
    def parts(self) -> int: ...

    def runs_of(self, part: int) -> range: ...

    def seed_of(self, run: int) -> int: ...


class Plan(Struct, frozen=True, forbid_unknown_fields=True):
    """The plan of `runs` runs of the swarm, numbered from 0, over the protocol and its mutants in turn.

    `mutants` has None for the protocol as it is. `keep` says whose events are stored: those of all runs, of the runs
    that violate a property, or of none. `minimise` is how many violating runs of each mutant and property are
    minimised; None means all. The other fields are those of `zabcheck.search.run.Search`.
    """

    version: Literal[1]
    protocol: str
    mutants: tuple[str | None, ...]
    seed: int
    runs: int
    runs_a_part: int
    keep: Keep
    steps: int
    processes: int | None
    quorums: str | None
    properties: tuple[str, ...]
    switches: Mapping[str, Any]
    minimise: int | None = 100

    @property
    def parts(self) -> int:
        """The number of parts; parts are numbered from 0."""
        return -(-self.runs // self.runs_a_part)

    def runs_of(self, part: int) -> range:
        """Return the numbers of the runs of a part."""
        first = part * self.runs_a_part
        return range(first, min(first + self.runs_a_part, self.runs))

    def seed_of(self, run: int) -> int:
        """Return the seed of a run, 64 bits."""
        return run_seed(self.seed, run)

    def mutant_of(self, run: int) -> str | None:
        """Return the mutant planted in a run, None for none. The mutants take turns, so every part has all of them."""
        return self.mutants[run % len(self.mutants)]

    def search(self, mutant: str | None) -> Search:
        """Return the search that the swarm makes. ValueError for an unknown protocol, mutant or quorum system."""
        quorums = None
        if self.quorums is not None and self.processes is not None:
            quorums = quorums_of(self.quorums, self.processes)
        command = command_of(self.protocol)  # a command or a class: the driver has made sure that the user wants it
        if command is not None:
            from zabcheck.protocols.external.protocol import external

            external(command.text)
        return Search(
            planted(imported(self.protocol), mutant),
            self.processes,
            self.properties,
            1,
            self.steps,
            quorums=quorums,
            fixed=self.switches,
        )


def runs_a_part(runs: int) -> int:
    """Return how many runs make a part: few enough for 16 parts, so that the campaign's progress shows."""
    return max(1, min(RUNS_A_PART, -(-runs // LEAST_PARTS)))


def dump(plan: AnyPlan) -> bytes:
    """Return the content of `campaign.json`."""
    return as_document(plan)


def load(data: bytes, name: str) -> Plan:
    """Parse what `dump` returned. ValueError, with `name` and the field, for anything else."""
    try:
        return msgspec.json.decode(data, type=Plan)
    except NOT_DECODED as error:
        raise ValueError(f"{name}{malformed(data, error, Plan, 'plan of a campaign', 1)}") from None

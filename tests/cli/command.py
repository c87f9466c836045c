"""The command, as a process of its own and within this one; and files for it to read."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from invariants import Broadcast, Deliver, End, Event, Header, Txn, Verdict, Zxid, trace
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.mutants.mutant import Mutant
from zabcheck.protocols.base import Effect
from zabcheck.search.run import schedule_of
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import AnyChoice, Lead, Request, Settle

ROOT = Path(__file__).parents[2]
TIMEOUT = 600
"""Seconds; nothing here takes as long, so it only ends what hangs."""

MUTANT_RUN = ("run", "--mutant", "commit-on-own-ack", "--seed", "1")
"""It finds the bug, and its shortest counterexample, in a second."""
CALM: tuple[AnyChoice, ...] = (Lead(1, (1, 2, 3)), Settle(6), Request(1, "a"), Request(1, "b"), Settle(6))
CALM_SCHEDULE = schedules.dump(schedule_of("zab", None, 3, CALM))
BROKEN_SCHEDULE = (ROOT / "tests/schedules/no-truncation.total-order.json").read_bytes()

A, B = Txn(Zxid(1, 1), "a"), Txn(Zxid(1, 2), "b")
SENT: list[Event] = [Broadcast(1, 0, 1, A), Broadcast(1, 0, 1, B)]
DELIVERED: list[Event] = [Deliver(2, 0, A), Deliver(2, 0, B), Deliver(1, 0, A), Deliver(1, 0, B)]


class Result(NamedTuple):
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


_CHANGES_OUTPUT = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONHASHSEED", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY")


def environment(**variables: str) -> dict[str, str]:
    """This process's, without what changes how things are printed."""
    kept = {k: v for k, v in os.environ.items() if k not in _CHANGES_OUTPUT}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **variables}


def argv(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "zabcheck", *map(str, arguments)]


def process(
    *arguments: str | Path,
    cwd: Path,
    stdin: bytes = b"",
    variables: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
) -> Result:
    """The command in a process of its own."""
    done = subprocess.run(
        argv(*arguments),
        cwd=cwd,
        input=stdin,
        env=environment(**(variables or {})),
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def trace_of(events: Sequence[Event], order: Any = "global", processes: int = 3) -> bytes:
    """A complete trace."""
    return b"".join(trace.dump([Header(1, processes, "mine", order=order), *events, End(len(events))]))


def raising_mutant() -> Mutant:
    """A known bug whose code raises."""

    def raises(*_: object) -> list[Effect]:
        raise KeyError(3)

    bug = CATALOGUE["commit-on-own-ack"]
    return structs.replace(bug, steps=dict.fromkeys(bug.steps, raises))


def violation_in(verdicts: Sequence[Mapping[str, Any]], name: str) -> Any:
    """Return the violation of one property in JSON verdicts."""
    [violation] = [verdict["violation"] for verdict in verdicts if verdict["property"] == name]
    return violation


def statuses(verdicts: Sequence[Verdict | Mapping[str, Any]]) -> dict[str, str]:
    """Return the status of each property in JSON verdicts."""
    return {each["property"]: each["status"] for each in msgspec.to_builtins(verdicts)}

"""Asks z3 and cvc5 about statements in SMT-LIB, each of which has to be unsatisfiable.

The solvers run in a process of their own, in an empty folder, which can write nothing but its answers (`solvers`).
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from threading import Timer
from time import monotonic

from msgspec import Struct

from zabcheck.extras import pip_install
from zabcheck.proof import solvers
from zabcheck.proof.solvers import SOLVERS, Answer


class SolverMissing(Exception):
    """A solver is not installed; the message has the remedy."""


class SolverFailed(Exception):
    """A solver did not run, or could not read a statement; the message has what it said."""


class SolverAnswers(Struct, frozen=True):
    """The answer of each solver to a file, and the seconds it took."""

    file: str
    answers: dict[str, Answer]
    seconds: dict[str, float]


def look_for_solvers() -> None:
    """Raise SolverMissing if a solver is not installed."""
    for name in SOLVERS:
        if find_spec(name) is None:
            raise SolverMissing(f"{name} is not installed: {pip_install('prove')}")


class Verifier:
    """The process of the solvers. It is started when it is first asked, and again after one that has died."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="zabcheck-")
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Verifier":
        return self

    def __exit__(self, *error: object) -> None:
        self._end()
        self._folder.cleanup()

    def check(self, texts: Mapping[str, str], seconds: float) -> Iterator[SolverAnswers]:
        """Yield the answer of each solver to each file; each may take `seconds` for it. SolverFailed if one fails."""
        for file, text in texts.items():
            answers: dict[str, Answer] = {}
            took: dict[str, float] = {}
            for solver in SOLVERS:
                begun = monotonic()
                answers[solver] = self._ask(solver, file, text, seconds)
                took[solver] = monotonic() - begun
            yield SolverAnswers(file, answers, took)

    def _ask(self, solver: str, file: str, text: str, seconds: float) -> Answer:
        """Return the answer; `unknown` also if the solver took too much time or memory, so that its process died."""
        process = self._process = self._process or _start(self._folder.name)
        assert process.stdin is not None
        assert process.stdout is not None
        # A solver that overlooks its own limit is stopped from outside.
        timer = Timer(2 * seconds + 10, process.kill)
        timer.start()
        with suppress(BrokenPipeError):  # then there is no answer either
            process.stdin.write(json.dumps({"solver": solver, "text": text, "seconds": seconds}) + "\n")
            process.stdin.flush()
        line = process.stdout.readline()
        timer.cancel()
        if not line:
            self._end()
            if process.returncode > 0:
                raise SolverFailed(f"{file}: {solver} failed: its process ended with exit code {process.returncode}")
            return "unknown"
        told = json.loads(line)
        if "failed" in told:
            raise SolverFailed(f"{file}: {solver} failed: {told['failed']}")
        answer: Answer = told["answer"]
        return answer

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            with suppress(BrokenPipeError):
                self._process.communicate()
            self._process = None


def _start(folder: str) -> "subprocess.Popen[str]":
    """Start the process of the solvers. Their modules are looked for where zabcheck's are, but not in this folder."""
    return subprocess.Popen(
        [sys.executable, "-P", solvers.__file__],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )

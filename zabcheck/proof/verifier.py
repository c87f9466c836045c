"""Checks a certificate with z3 and cvc5: a folder of obligations in SMT-LIB, each of which has to be unsatisfiable.

Nothing of the prover is used here: only the files, their checksums, and the solvers.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Literal

from msgspec import Struct

SUMS = "SHA256SUMS"
"""The index: a line for each file, as `sha256sum` writes and checks it."""
LINE = re.compile(r"([0-9a-f]{64})  ([^/\s]+\.smt2)")

Answer = Literal["unsat", "sat", "unknown"]


class BadCertificate(Exception):
    """The folder differs from its index; the message is one line."""


class SolverMissing(Exception):
    """A solver is not installed; the message has the remedy."""


class _NotSmtLib(Exception):
    """A solver cannot read the text."""

    def __init__(self, said: str | bytes) -> None:
        super().__init__(" ".join((said.decode(errors="replace") if isinstance(said, bytes) else said).split()))


class Checked(Struct, frozen=True):
    """The answer of each solver to a file, and the seconds it took."""

    file: str
    answers: dict[str, Answer]
    seconds: dict[str, float]


def read(folder: Path) -> tuple[str, dict[str, str]]:
    """Return the fingerprint of a certificate, and the text of each of its files.

    BadCertificate if the index is not there or not readable, or a file is missing, changed, or not in the index.
    """
    try:
        index = (folder / SUMS).read_bytes()
    except OSError as error:
        raise BadCertificate(f"{folder / SUMS}: {error.strerror}") from None
    texts: dict[str, str] = {}
    for number, line in enumerate(index.decode(errors="replace").splitlines(), 1):
        entry = LINE.fullmatch(line)
        if entry is None:
            raise BadCertificate(f"{folder / SUMS}:{number}: expected a SHA-256 sum, two blanks and a file's name")
        digest, name = entry.groups()
        try:
            content = (folder / name).read_bytes()
        except OSError as error:
            raise BadCertificate(f"{folder / name}: missing: {error.strerror}") from None
        if hashlib.sha256(content).hexdigest() != digest:
            raise BadCertificate(f"{folder / name}: changed: its SHA-256 sum is not that of {SUMS}")
        try:
            texts[name] = content.decode()
        except UnicodeDecodeError as error:
            raise BadCertificate(f"{folder / name}: no UTF-8 at byte {error.start}") from None
    if not texts:
        raise BadCertificate(f"{folder / SUMS}: no file is in it")
    for extra in sorted(folder.glob("*.smt2")):
        if extra.name not in texts:
            raise BadCertificate(f"{extra}: not in {SUMS}")
    return hashlib.sha256(index).hexdigest(), texts


def solvers() -> dict[str, Callable[[str, float], Answer]]:
    """Return both solvers, by name. SolverMissing if one is not installed."""
    try:
        import cvc5  # noqa: F401  # only to see that it is there
        import z3  # noqa: F401  # likewise
    except ImportError as error:
        raise SolverMissing(f"{error.name} is not installed: pip install 'zabcheck[prove]'") from None
    return {"z3": by_z3, "cvc5": by_cvc5}


def check(texts: dict[str, str], seconds: float) -> Iterator[Checked]:
    """Yield the answer of each solver to each file; each may take `seconds` for it.

    BadCertificate if a solver cannot read one.
    """
    both = solvers()
    for name, text in texts.items():
        answers: dict[str, Answer] = {}
        took: dict[str, float] = {}
        for solver, ask in both.items():
            begun = monotonic()
            try:
                answers[solver] = ask(text, seconds)
            except _NotSmtLib as error:
                raise BadCertificate(f"{name}: {solver} cannot read it: {error}") from None
            took[solver] = monotonic() - begun
        yield Checked(name, answers, took)


SHORT = 2_000_000
"""The budgets of z3's first tries, each with a seed of its own, in z3's resource units: a second or so."""


def by_z3(text: str, seconds: float) -> Answer:
    """Return z3's answer: some short tries, then a long one."""
    import z3

    begun = monotonic()
    for seed, effort in enumerate((SHORT, SHORT, SHORT, 0)):
        left = seconds - (monotonic() - begun)
        if left <= 0:
            break
        solver = z3.Solver(ctx=z3.Context())  # earlier queries would change the result
        solver.set("random_seed", seed)
        solver.set("timeout", max(1, int(left * 1000)))
        solver.set("rlimit", effort)
        try:
            solver.from_string(text)
        except z3.Z3Exception as error:
            raise _NotSmtLib(error.value) from None
        answer = solver.check()
        if answer in (z3.unsat, z3.sat):
            return "unsat" if answer == z3.unsat else "sat"
    return "unknown"


def by_cvc5(text: str, seconds: float) -> Answer:
    """Return cvc5's answer: first by matching alone, then by enumerating the terms that are there."""
    import cvc5

    for options in ({}, {"enum-inst": "true"}):
        solver = cvc5.Solver()
        solver.setOption("tlimit-per", str(max(1, int(seconds * 500))))
        for name, value in options.items():
            solver.setOption(name, value)
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
        symbols = parser.getSymbolManager()
        said = ""
        try:
            while not (command := parser.nextCommand()).isNull():
                said += command.invoke(solver, symbols)
        except RuntimeError as error:
            raise _NotSmtLib(str(error)) from None
        if said.strip() in ("unsat", "sat"):
            return "unsat" if said.strip() == "unsat" else "sat"
    return "unknown"

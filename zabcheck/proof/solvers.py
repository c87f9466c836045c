"""A process of its own for z3 and cvc5: it opens no file and writes to none; questions and answers are lines of JSON.

It is started by its file's name and imports nothing of zabcheck.
"""

import json
import os
import signal
import sys
from time import monotonic
from typing import Literal

Answer = Literal["unsat", "sat", "unknown"]
MEMORY = 4 << 30
"""The most memory that the solvers may take, in bytes, where the system can be told."""


class NotSmtLib(Exception):
    """A solver cannot read the text."""

    def __init__(self, said: str | bytes) -> None:
        super().__init__(" ".join((said.decode(errors="replace") if isinstance(said, bytes) else said).split()))


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
            raise NotSmtLib(error.value) from None
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
            raise NotSmtLib(str(error)) from None
        if said.strip() in ("unsat", "sat"):
            return "unsat" if said.strip() == "unsat" else "sat"
    return "unknown"


SOLVERS = {"z3": by_z3, "cvc5": by_cvc5}


def confine() -> None:
    """Give up for good what a solver does not need: to open a file, to write to one, to take all memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for zabcheck, which ends this process
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def answer(question: str) -> dict[str, str]:
    """Return the answer to a line of JSON, or why there is none."""
    asked = json.loads(question)
    try:
        return {"answer": SOLVERS[asked["solver"]](asked["text"], asked["seconds"])}
    except MemoryError:
        return {"answer": "unknown"}
    except Exception as error:
        return {"failed": str(error)}


def main() -> None:
    """Answer the questions on standard input, each with a line on standard output."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a solver prints is no answer
    try:
        import cvc5  # noqa: F401  # no file can be opened later
        import z3  # noqa: F401  # likewise
    except Exception as error:
        print(json.dumps({"failed": str(error)}), file=answers, flush=True)
        return
    confine()
    for question in sys.stdin:
        print(json.dumps(answer(question)), file=answers, flush=True)


if __name__ == "__main__":
    main()

"""`zabcheck verify`: checks the certificate of a proof, with two solvers and without."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from zabcheck.cli.commands import Format, Formats, command
from zabcheck.cli.files import bad_input_for
from zabcheck.cli.output import interrupts, make_console, print_json, progress
from zabcheck.cli.tables import render_rows
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, conclude, named
from zabcheck.proof import certificate, verifier
from zabcheck.proof.solvers import SOLVERS
from zabcheck.text.words import counted


@command
def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `zabcheck prove --certificate` has written.")],
    seconds: Annotated[float, typer.Option(min=1, help="The most that a solver may take for one file.")] = 60,
    proofs: Annotated[bool, typer.Option("--proofs", help="Ask no solver: check the refutations alone.")] = False,
    format: Formats = Format.text,
) -> int:
    """Check the certificate of a proof with z3 and cvc5, and line by line without a solver.

    Each file has to be, word for word, an obligation that this version of zabcheck states; nothing else is given to the
    solvers, which run in a process that can write nothing. An obligation is proved if a solver or a
    refutation proves it; the table has what each decided. A certificate that lacks obligations is no proof: exit
    code 3.
    """
    with bad_input_for((certificate.BadCertificate, verifier.SolverMissing)):
        read = certificate.read(folder)
        if not proofs:
            verifier.look_for_solvers()
    asked: tuple[str, ...] = () if proofs else tuple(SOLVERS)
    done = [verifier.SolverAnswers(file, {}, {}) for file in read.texts] if proofs else _ask(folder, read, seconds)
    code, why = _verdict(done, read, asked)
    if format is Format.json:
        print_json(
            "verify",
            kind=read.subject.kind,
            mutant=read.subject.mutant,
            without=read.subject.without,
            missing=read.missing,
            fingerprint=read.fingerprint,
            refuted=read.refuted,
            satisfied=read.satisfied,
            files=done,
            verdict=why,
        )
        return code
    console = make_console()
    if asked:
        rows = [_row(each, done) for each in asked]
        console.print(render_rows(("solver", "unsat", "sat", "unknown", "seconds", "longest"), rows))
    console.print(f"refutations checked without a solver: {len(read.refuted)} of {len(done)}")
    console.print(f"obligations whose hypotheses are true in a model: {len(read.satisfied)} of {len(done)}")
    console.print(f"fingerprint of the index: {read.fingerprint}")
    return conclude(console, code, why)


def _ask(folder: Path, read: certificate.Certificate, seconds: float) -> list[verifier.SolverAnswers]:
    """Return what the solvers say of each file."""
    done: list[verifier.SolverAnswers] = []
    with (
        bad_input_for(verifier.SolverFailed, f"{folder}/"),
        verifier.Verifier() as solvers,
        progress(len(read.texts), "verify", "files") as advance,
        interrupts() as look_for_interrupt,
    ):
        for each in solvers.check(read.texts, seconds):
            done.append(each)
            advance(each.file, len(done))
            look_for_interrupt()
    return done


def _row(solver: str, done: Sequence[verifier.SolverAnswers]) -> list[str]:
    answers = [each.answers[solver] for each in done]
    longest = max(done, key=lambda each: each.seconds[solver])
    figures = [str(answers.count("unsat")), str(answers.count("sat")), str(answers.count("unknown"))]
    taken = sum(each.seconds[solver] for each in done)
    return [solver, *figures, f"{taken:.1f}", f"{longest.file} {longest.seconds[solver]:.1f} s"]


def _verdict(
    done: Sequence[verifier.SolverAnswers], read: certificate.Certificate, asked: Sequence[str]
) -> tuple[int, str]:
    """Return the exit code, and why. A statement that one solver refutes is refused, whatever the other says."""
    about = f"{read.subject.name}: "
    sat = [each.file for each in done if "sat" in each.answers.values()]
    if sat:
        return VIOLATED, f"{about}{counted(len(sat), 'file', 'files')} of {len(done)} refused: {named(sat)}"
    refuted = set(read.refuted)
    neither = [each.file for each in done if each.file not in refuted and "unsat" not in each.answers.values()]
    if neither:
        several = counted(len(neither), "file", "files")
        how = "decided by no solver" if asked else "without a refutation"
        return INCONCLUSIVE, f"{about}{several} of {len(done)} {how}: {named(neither)}"
    proved = f"{read.subject.proved(len(done), len(done) + len(read.missing))}, {len(refuted)} of them without a solver"
    if asked:
        both = sum(list(each.answers.values()).count("unsat") == len(asked) for each in done)
        proved = f"{proved} and {both} by both solvers"
    if read.missing:
        return INCONCLUSIVE, f"{proved}: a part, no proof; missing: {named(read.missing)}"
    if read.subject.mutant:
        return INCONCLUSIVE, f"{proved}: no proof of Zab itself"
    return OK, proved

"""`zabcheck verify`: checks the certificate of a proof with two solvers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from zabcheck.cli.commands import BadInput, Format, Formats, command
from zabcheck.cli.files import bad_input_for
from zabcheck.cli.output import interrupts, make_console, print_json, progress
from zabcheck.cli.tables import render_rows
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, conclude, named
from zabcheck.proof import verifier
from zabcheck.text.words import counted


@command
def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `zabcheck prove --certificate` has written.")],
    seconds: Annotated[float, typer.Option(min=1, help="The most that a solver may take for one file.")] = 60,
    format: Formats = Format.text,
) -> int:
    """Check the certificate of a proof with z3 and cvc5.

    Nothing of the prover is trusted: only the files, their SHA-256 sums, and the solvers. What one of them proves is
    proved; the table says what each decided.
    """
    try:
        fingerprint, texts = verifier.read(folder)
        solvers = list(verifier.solvers())
    except (verifier.BadCertificate, verifier.SolverMissing) as error:
        raise BadInput(str(error)) from None
    done: list[verifier.Checked] = []
    with (
        bad_input_for(verifier.BadCertificate, f"{folder}/"),
        progress(len(texts), "verify", "files") as advance,
        interrupts() as look_for_interrupt,
    ):
        for each in verifier.check(texts, seconds):
            done.append(each)
            advance(each.file, len(done))
            look_for_interrupt()
    code, why = _verdict(done)
    if format is Format.json:
        print_json("verify", fingerprint=fingerprint, files=done, verdict=why)
        return code
    console = make_console()
    console.print(
        render_rows(("solver", "unsat", "sat", "unknown", "seconds", "longest"), [_row(s, done) for s in solvers])
    )
    console.print(f"fingerprint of the index: {fingerprint}")
    return conclude(console, code, why)


def _row(solver: str, done: Sequence[verifier.Checked]) -> list[str]:
    answers = [each.answers[solver] for each in done]
    longest = max(done, key=lambda each: each.seconds[solver])
    figures = [str(answers.count("unsat")), str(answers.count("sat")), str(answers.count("unknown"))]
    taken = sum(each.seconds[solver] for each in done)
    return [solver, *figures, f"{taken:.1f}", f"{longest.file} {longest.seconds[solver]:.1f} s"]


def _verdict(done: Sequence[verifier.Checked]) -> tuple[int, str]:
    """Return the exit code, and why. What one solver refutes is refused, whatever the other says."""
    sat = [each.file for each in done if "sat" in each.answers.values()]
    if sat:
        return VIOLATED, f"{counted(len(sat), 'file', 'files')} of {len(done)} refused: {named(sat)}"
    neither = [each.file for each in done if "unsat" not in each.answers.values()]
    if neither:
        return (
            INCONCLUSIVE,
            f"{counted(len(neither), 'file', 'files')} of {len(done)} decided by no solver: {named(neither)}",
        )
    both = sum(list(each.answers.values()).count("unsat") == 2 for each in done)
    return OK, f"{counted(len(done), 'obligation', 'obligations')} proved, {both} of them by both solvers"

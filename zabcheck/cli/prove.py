"""`zabcheck prove`: the properties of Zab for any number of processes, by an inductive invariant and a solver."""

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from zabcheck.cli.commands import BadInput, Format, Formats, command
from zabcheck.cli.files import check_out, writing
from zabcheck.cli.next_step import another
from zabcheck.cli.output import interrupts, make_console, print_json, print_path, progress
from zabcheck.cli.tables import render_rows
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, conclude, named
from zabcheck.counterexample.induction.page import page
from zabcheck.counterexample.induction.terminal import render
from zabcheck.invariants.diagnosis import like
from zabcheck.proof import prover
from zabcheck.proof.certificate import Entry, contents, entry, write
from zabcheck.proof.obligations import Obligation, Theory, obligations
from zabcheck.proof.subject import KNOWN, NOT_EXPRESSED, Kind, Subject
from zabcheck.text.files import write_all
from zabcheck.text.words import as_text, counted

PAGE = "refused.html"
"""The file that --out writes."""


Step = Annotated[
    str | None, typer.Option("--step", metavar="S", help="Only what this step keeps, e.g. f.3.2 or accept.")
]
Conjunct = Annotated[str | None, typer.Option("--conjunct", metavar="C", help="Only what keeps this conjunct.")]
Implied = Annotated[
    str | None, typer.Option("--property", metavar="P", help="Only that the conjuncts imply this property.")
]
Mutant = Annotated[
    str | None,
    typer.Option("--mutant", metavar="M", help="Try to prove a known bug, or a release: see docs/proof.md."),
]
Liveness = Annotated[
    bool,
    typer.Option("--liveness", help="Prove that an undisturbed leader gets on: that all it broadcasts is delivered."),
]
Implemented = Annotated[
    bool,
    typer.Option("--implemented", help="Prove Zab as ZooKeeper implements it; --mutant is then a defect, e.g. 4643."),
]
Reconfiguration = Annotated[
    bool,
    typer.Option("--reconfiguration", help="Prove Zab with configurations that change, for any number of changes."),
]
Without = Annotated[
    str | None,
    typer.Option("--without", metavar="C", help="Leave this conjunct out of the invariant, to see what needs it."),
]
Seconds = Annotated[float, typer.Option("--seconds", min=1, help="The most CPU time that one obligation may take.")]
Certificate = Annotated[
    Path | None,
    typer.Option("--certificate", metavar="DIR", help="If all is proved, write the proof here, for `zabcheck verify`."),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help=f"Draw what is refused as a page, too: {PAGE} in this folder."),
]


@command
def prove(
    step: Step = None,
    conjunct: Conjunct = None,
    property: Implied = None,
    liveness: Liveness = False,
    implemented: Implemented = False,
    reconfiguration: Reconfiguration = False,
    mutant: Mutant = None,
    without: Without = None,
    seconds: Seconds = 60,
    certificate: Certificate = None,
    out: Out = None,
    format: Formats = Format.text,
) -> int:
    """Prove the properties of Zab for any number of processes, epochs, transactions and faults.

    The start satisfies each conjunct of an invariant, each step keeps each, and together they imply each property. What
    is refused is drawn with three processes: a state, a step, and the conjunct that the step breaks. What the solver
    cannot decide is never a proof: exit code 3. docs/proof.md says what is proved, and of what.
    """
    kind = _kind(liveness=liveness, implemented=implemented, reconfiguration=reconfiguration)
    subject = _subject(kind, mutant, without)
    theory = subject.theory()
    every = obligations(theory)
    wanted = _wanted(theory, every, step, conjunct, property)
    try:
        prover.load()
    except prover.NoSolver as error:
        raise BadInput(str(error)) from None
    if certificate is not None:
        check_out(certificate, "--certificate")
    if out is not None:
        check_out(out)
    done = _decide(wanted, seconds)
    code, why = _verdict(done, subject, len(every))
    fingerprint = None
    if certificate is not None and code == OK:
        fingerprint = _write(certificate, done, subject)
    file = _write_page(out, done) if out is not None else None
    if format is Format.json:
        print_json(
            "prove",
            kind=subject.kind,
            mutant=subject.mutant,
            without=subject.without,
            obligations=[*map(_as_json, done)],
            of=len(every),
            fingerprint=fingerprint,
            page=file,
            verdict=why,
        )
        return code
    console = make_console()
    _show(console, done)
    if fingerprint is not None:
        print_path(console, f"wrote {certificate}; fingerprint of its index: {fingerprint}")
    if file is not None:
        print_path(console, f"wrote {file}")
    return conclude(console, code, why, another("verify", str(certificate)) if fingerprint else "")


def _kind(**asked: bool) -> Kind:
    """Return the kind of proof that the options ask for. BadInput if they ask for two."""
    kinds: tuple[Kind, ...] = ("liveness", "implemented", "reconfiguration")
    chosen = [kind for kind in kinds if asked[kind]]
    if len(chosen) > 1:
        one, other, *_ = chosen
        raise BadInput(f"--{one} and --{other}: each is a proof of its own, expected one of them")
    return chosen[0] if chosen else "safety"


def _subject(kind: Kind, mutant: str | None, left_out: str | None) -> Subject:
    if mutant is not None and mutant not in KNOWN[kind]:
        if mutant in NOT_EXPRESSED[kind]:
            raise BadInput(f"--mutant: `{mutant}` is not expressed by the abstraction: {NOT_EXPRESSED[kind][mutant]}")
        raise BadInput(f"--mutant: no `{mutant}`; {like(mutant, list(KNOWN[kind]))}")
    if left_out is not None:
        conjuncts = Subject(kind=kind).theory().conjuncts
        left_out = _one_of("--without", left_out, [each.name for each in conjuncts])
    return Subject(mutant, left_out, kind)


def _one_of(option: str, name: str, names: Collection[str]) -> str:
    """Return the name, which may be written with hyphens. BadInput if there is none such."""
    spaced = name.replace("-", " ").replace("_", " ")
    if spaced in names:
        return spaced
    raise BadInput(f"{option}: no `{name}`; {like(name, [each.replace(' ', '-') for each in names])}")


def _wanted(
    theory: Theory, every: Sequence[Obligation], step: str | None, conjunct: str | None, property: str | None
) -> list[Obligation]:
    """Return the obligations that the options leave."""
    found = list(every)
    if step is not None:
        steps = [each.step for each in every if each.step]
        if not any(each.number == step for each in steps):
            step = _one_of("--step", step, dict.fromkeys(each.name for each in steps))
        found = [each for each in found if each.step and step in (each.step.number, each.step.name)]
    if conjunct is not None:
        conjunct = _one_of("--conjunct", conjunct, [each.name for each in (*theory.conjuncts, *theory.kept)])
        found = [each for each in found if each.kind != "property" and each.claim.name == conjunct]
    if property is not None:
        property = _one_of("--property", property, [each.claim.name for each in every if each.kind == "property"])
        found = [each for each in found if each.kind == "property" and each.claim.name == property]
    if not found:
        raise BadInput("no obligation is of all of these: a property is kept by no single step")
    return found


def _decide(wanted: Sequence[Obligation], seconds: float) -> list[prover.Decision]:
    """Decide obligations, with progress on a terminal."""
    done: list[prover.Decision] = []
    with progress(len(wanted), "prove", "obligations") as advance, interrupts() as look_for_interrupt:
        for obligation in wanted:
            advance(obligation.name, len(done))
            done.append(prover.decide(obligation, seconds))
            look_for_interrupt()
    return done


def _write(folder: Path, done: Sequence[prover.Decision], subject: Subject) -> str | None:
    """Write the certificate, and return its fingerprint; None if it is `unwritten`."""
    with progress(len(done), "certificate", "obligations") as advance, interrupts() as look_for_interrupt:
        entries: list[Entry] = []
        for each in done:
            advance(each.obligation.name, len(entries))
            entries.append(entry(each))
            look_for_interrupt()
    with writing("--certificate", folder):
        return write(folder, contents(entries, subject))
    return None


def _write_page(folder: Path, done: Sequence[prover.Decision]) -> str | None:
    """Write a page of all counterexamples, and return its name; None if nothing is refused, or it is `unwritten`."""
    found = [each.counterexample for each in done if each.counterexample is not None]
    if not found:
        return None
    file = None
    with writing("--out", folder):
        [file] = write_all(folder, {PAGE: page(found).encode()})
    return None if file is None else as_text(file)


def _as_json(decision: prover.Decision) -> dict[str, Any]:
    return {
        "name": decision.obligation.name,
        "status": decision.status,
        "seconds": decision.seconds,
        "counterexample": _lines(decision),
    }


def _lines(decision: prover.Decision) -> list[str]:
    return list(decision.counterexample.lines()) if decision.counterexample is not None else []


def _show(console: Console, done: Sequence[prover.Decision]) -> None:
    """Print the counterexamples, and the table."""
    for each in done:
        if each.counterexample is not None:
            console.print(render(each.counterexample))
            console.print()
    rows = [_row(part, [each for each in done if _part(each.obligation) == part]) for part in _parts(done)]
    console.print(render_rows(("what", "proved", "refused", "not decided", "seconds", "longest"), rows))


def _part(obligation: Obligation) -> str:
    if obligation.step is not None:
        return f"{obligation.step.number} {obligation.step.name}"
    return "the start" if obligation.kind == "start" else "the properties"


def _parts(done: Sequence[prover.Decision]) -> list[str]:
    return list(dict.fromkeys(_part(each.obligation) for each in done))


def _row(part: str, done: Sequence[prover.Decision]) -> list[str]:
    of = Counter(each.status for each in done)
    longest = max(done, key=lambda each: each.seconds)
    figures = [str(of["proved"]), str(of["refused"]), str(of["not decided"])]
    return [
        part,
        *figures,
        f"{sum(each.seconds for each in done):.1f}",
        f"{longest.obligation.claim.name} {longest.seconds:.1f} s",
    ]


def _verdict(done: Sequence[prover.Decision], subject: Subject, of: int) -> tuple[int, str]:
    """Return the exit code, and why. A proof of a part says which part: it is no proof of the protocol."""
    names: dict[str, list[str]] = {"refused": [], "not decided": [], "proved": []}
    for each in done:
        names[each.status].append(each.obligation.name)
    if names["refused"]:
        several = counted(len(names["refused"]), "obligation", "obligations")
        return VIOLATED, f"{subject.name}: {several} of {len(done)} refused: {named(names['refused'])}"
    if names["not decided"]:
        open_ = f"{counted(len(names['not decided']), 'obligation', 'obligations')} of {len(done)} not decided"
        return INCONCLUSIVE, f"{subject.name}: {open_}, which is no proof: {named(names['not decided'])}"
    proved = subject.proved(len(done), of)
    if len(done) < of:
        return OK, f"{proved}, a part and no proof of the protocol: {named(names['proved'])}"
    things = "connections" if subject.kind == "liveness" else "epochs"
    return OK, f"{proved}, for any number of processes, {things} and transactions"

"""Writes a proof to a folder: its obligations in SMT-LIB 2.6, which can be checked with any solver."""

import hashlib
from pathlib import Path

from msgspec import Struct

from zabcheck.proof import prover
from zabcheck.proof.obligations import Obligation
from zabcheck.proof.verifier import SUMS

README = """# A proof of Zab, as obligations in SMT-LIB 2.6

{files} files, one an obligation. A file gives what may be assumed, and denies what follows: a solver has to say
`unsat`, as no state denies it. A comment before each assertion names it. `INDEX.tsv` says what each file shows, and
from what: what a proof does not need is left out of its file.

    sha256sum --check --quiet SHA256SUMS
    for s in 0 1 2 3; do for f in *.smt2; do echo "$f $(z3 -T:10 smt.random_seed=$s $f)"; done; done | sort -u | {sieve}

The first line prints what was changed or is missing, the second how many files z3 decides, of {files}: how soon it ends
depends on its random seed, hence four of them. `zabcheck verify .` does the same with z3 and cvc5.
"""
SIEVE = "grep -c ' unsat$'"


class Entry(Struct, frozen=True):
    """An obligation of a certificate, with the names of all that its proof uses."""

    obligation: Obligation
    uses: list[str]


def entry(decision: prover.Decision) -> Entry:
    """Return the entry of a proved obligation."""
    assert decision.status == "proved"
    return Entry(decision.obligation, prover.needed(decision))


def contents(entries: list[Entry]) -> dict[str, str]:
    """Return the files of a certificate, by their names."""
    files = {each.obligation.file: each.obligation.script(each.uses) for each in entries}
    sums = [f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(files.items())]
    shown = [f"{each.obligation.file}\t{each.obligation.name}\t{', '.join(each.uses)}\n" for each in entries]
    about = {
        SUMS: "".join(sums),
        "INDEX.tsv": "file\twhat it shows\tfrom what\n" + "".join(shown),
        "README.md": README.format(files=len(files), sieve=SIEVE),
    }
    return {**files, **about}


def write(folder: Path, files: dict[str, str]) -> str:
    """Write the files into a folder, which is created, and return the fingerprint. OSError if that cannot be done."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return hashlib.sha256(files[SUMS].encode()).hexdigest()

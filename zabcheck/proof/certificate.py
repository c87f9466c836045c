"""Writes a proof to a folder, and reads it: its obligations in SMT-LIB 2.6, which can be checked with any solver.

Beside each obligation is its refutation, which is checked without a solver; models show that what they assume can be.
"""

import hashlib
import re
from collections.abc import Mapping
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path

import msgspec
from msgspec import Struct

from zabcheck.proof import models, prover, refutation, refuter
from zabcheck.proof.models import Model
from zabcheck.proof.obligations import Obligation, obligations
from zabcheck.proof.subject import KNOWN, Kind, Subject
from zabcheck.text.files import write_all

SUMS = "SHA256SUMS"
"""The index: a line for each obligation's file, as `sha256sum` writes and checks it."""
LINE = re.compile(r"([0-9a-f]{64})  ([\w.-]+\.smt2)")
MANIFEST = "manifest.json"
MODELS = "models.json"
REFUTATION = ".refutation"
"""The end of a refutation's file, after the name of its obligation's file."""
LARGEST = 1 << 20
"""The most bytes that a file of a certificate may have; ours have some thousands."""

LONGEST = 1 << 16
"""The most bytes that a refutation may have, so that whoever made it does not keep us busy; ours have some hundreds."""
MOST_THINGS = 8
"""The most things of a sort that a model may have, for the same reason; ours have at most four."""

README = """# {title}, in SMT-LIB 2.6
{part}
{files} files, one an obligation. A file gives what may be assumed, and denies what follows: a solver has to say
`unsat`, as no state denies it. A comment before each assertion names it. `INDEX.tsv` says what each file shows, and
from what: what a proof does not need is left out of its file.

    sha256sum --check --quiet SHA256SUMS
    for s in 0 1 2 3; do for f in *.smt2; do echo "$f $(z3 -T:10 smt.random_seed=$s $f)"; done; done | sort -u | {sieve}

The first line prints what was changed or is missing, the second how many files z3 decides, of {files}: how soon it ends
depends on its random seed, hence four of them. `zabcheck verify .` does the same with z3 and cvc5, and compares each
file with the obligation that zabcheck states. `zabcheck verify --proofs .` asks no solver: it checks the refutations,
`*.smt2.refutation`, line by line, as `python refutation.py *.smt2` does with zabcheck/proof/refutation.py alone, a file
that needs nothing but Python. `models.json` has states in which what the obligations assume is true.
"""
PART = """
This is no proof of the protocol, which takes all {of} obligations.
"""
SIEVE = "grep -c ' unsat$'"


class BadCertificate(Exception):
    """The folder is no certificate of this version of zabcheck; the message is one line."""


class Entry(Struct, frozen=True):
    """An obligation of a certificate, the names of all that its proof uses, and its refutation if one was found."""

    obligation: Obligation
    uses: list[str]
    refutation: str | None = None


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """The subject of a certificate, how many of its obligations are there, and the version that wrote it."""

    zabcheck: str
    mutant: str | None
    without: str | None
    obligations: int
    of: int
    kind: Kind = "safety"

    @property
    def subject(self) -> Subject:
        """The subject of the proof."""
        return Subject(self.mutant, self.without, self.kind)


class Certificate(Struct, frozen=True):
    """A certificate whose files are obligations, word for word: their texts by file, and the names of those missing."""

    fingerprint: str
    subject: Subject
    texts: dict[str, str]
    missing: list[str]
    refuted: list[str]
    """The files whose refutation was checked."""
    satisfied: list[str]
    """The files whose hypotheses are true in a model."""


def entry(decision: prover.Decision) -> Entry:
    """Return the entry of a proved obligation. NoSolver without z3 and cvc5; cost: see `refuter.refute`."""
    assert decision.status == "proved"
    uses = prover.needed(decision)
    return Entry(decision.obligation, uses, refuter.refute(decision.obligation.script(uses)))


def contents(entries: list[Entry], subject: Subject) -> dict[str, str]:
    """Return the files of a certificate, by their names."""
    files = {each.obligation.file: each.obligation.script(each.uses) for each in entries}
    sums = [f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(files.items())]
    shown = [f"{each.obligation.file}\t{each.obligation.name}\t{', '.join(each.uses)}\n" for each in entries]
    of = len(obligations(subject.theory()))
    manifest = Manifest(version("zabcheck"), subject.mutant, subject.without, len(files), of, subject.kind)
    about = {
        SUMS: "".join(sums),
        "INDEX.tsv": "file\twhat it shows\tfrom what\n" + "".join(shown),
        "README.md": _readme(manifest),
        MANIFEST: msgspec.json.format(msgspec.json.encode(manifest), indent=2).decode() + "\n",
        MODELS: msgspec.json.encode(models.models(subject)).decode() + "\n",
    }
    refutations = {each.obligation.file + REFUTATION: each.refutation for each in entries if each.refutation}
    return {**files, **refutations, **about}


def _readme(manifest: Manifest) -> str:
    title, part = f"A proof of {manifest.subject.name}", ""
    if manifest.obligations < manifest.of:
        title = f"{manifest.obligations} of the {manifest.of} obligations of a proof of {manifest.subject.name}"
        part = PART.format(of=manifest.of)
    return README.format(title=title, part=part, files=manifest.obligations, sieve=SIEVE)


def write(folder: Path, files: Mapping[str, str]) -> str:
    """Write the files into a folder, which is created, and return the fingerprint. OSError if that cannot be done."""
    write_all(folder, {name: text.encode() for name, text in files.items()})
    return hashlib.sha256(files[SUMS].encode()).hexdigest()


def read(folder: Path) -> Certificate:
    """Read a certificate. BadCertificate unless each file of its index is there, and is an obligation of its subject.

    The subject's obligations are stated anew, and compared with the files: a file may leave out what its proof does not
    need, and has nothing that its obligation has not. Refutations and models are checked where they are there.
    """
    manifest = _manifest(folder)
    every = {each.file: each for each in obligations(manifest.subject.theory())}
    fingerprint, digests = _index(folder)
    for extra in sorted(folder.glob("*.smt2")):
        if extra.name not in digests:
            raise BadCertificate(f"{extra}: not in {SUMS}")
    counts, found = (manifest.obligations, manifest.of), (len(digests), len(every))
    texts = {name: _text(folder / name, digest, every.get(name), manifest) for name, digest in digests.items()}
    if counts != found:
        said = f"expected {found[0]} of {found[1]} obligations, as in {SUMS}, found {counts[0]} of {counts[1]}"
        raise BadCertificate(f"{folder / MANIFEST}: {said}{_other_version(manifest)}")
    missing = [each.name for file, each in every.items() if file not in texts]
    refuted, satisfied = _refuted(folder, texts), _satisfied(folder, texts, every)
    return Certificate(fingerprint, manifest.subject, texts, missing, refuted, satisfied)


def _refuted(folder: Path, texts: Mapping[str, str]) -> list[str]:
    """Return the files that have a refutation. BadCertificate if one is wrong."""
    found = []
    for path in sorted(folder.glob(f"*{REFUTATION}")):
        file = path.name.removesuffix(REFUTATION)
        if file not in texts:
            raise BadCertificate(f"{path}: no file of {SUMS} is refuted by it")
        try:
            refutation.check(texts[file], _content(path, LONGEST).decode())
        except (refutation.NotRefuted, UnicodeDecodeError) as error:
            raise BadCertificate(f"{path}: {error}") from None
        found.append(file)
    return found


def _satisfied(folder: Path, texts: Mapping[str, str], every: Mapping[str, Obligation]) -> list[str]:
    """Return the files whose hypotheses are true in their model. BadCertificate if one is false."""
    path = folder / MODELS
    if not path.exists():
        return []
    try:
        known = msgspec.json.decode(_content(path), type=dict[str, Model])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadCertificate(f"{path}: expected what `zabcheck prove --certificate` writes: {error}") from None
    for name, model in known.items():
        for sort, things in model.sorts.items():
            if len(things) > MOST_THINGS:
                raise BadCertificate(f"{path}: {name}: {sort}: expected at most {MOST_THINGS} things")
    evaluations = {name: models.Evaluation(model) for name, model in known.items()}
    found = []
    for file, text in texts.items():
        name = models.of(every[file])
        if name not in evaluations:
            continue
        try:
            wrong = evaluations[name].false_in(text)
        except ValueError as error:
            raise BadCertificate(f"{path}: {name}: {error}") from None
        if wrong is not None:
            raise BadCertificate(
                f"{path}: {name}: false in this model, which {file} assumes: {refutation.written(wrong)}"
            )
        found.append(file)
    return found


def _manifest(folder: Path) -> Manifest:
    """Read the manifest, whose mutant and conjunct have to be known."""
    path = folder / MANIFEST
    try:
        found = msgspec.json.decode(_content(path), type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadCertificate(f"{path}: expected what `zabcheck prove --certificate` writes: {error}") from None
    conjuncts = [each.name for each in Subject(kind=found.kind).theory().conjuncts]
    for field, name, known in (("mutant", found.mutant, KNOWN[found.kind]), ("without", found.without, conjuncts)):
        if name is not None and name not in known:
            raise BadCertificate(f"{path}: {field}: no `{name}`{_other_version(found)}")
    return found


def _index(folder: Path) -> tuple[str, dict[str, str]]:
    """Return the fingerprint of the index, and the SHA-256 sum of each file that it names."""
    path = folder / SUMS
    index = _content(path)
    digests: dict[str, str] = {}
    for number, line in enumerate(index.decode(errors="replace").splitlines(), 1):
        found = LINE.fullmatch(line)
        if found is None:
            raise BadCertificate(f"{path}:{number}: expected a SHA-256 sum, two blanks and a file's name")
        digests[found[2]] = found[1]
    if not digests:
        raise BadCertificate(f"{path}: no file is in it")
    return hashlib.sha256(index).hexdigest(), digests


def _text(path: Path, digest: str, obligation: Obligation | None, manifest: Manifest) -> str:
    """Return the obligation's text. BadCertificate at the first line of the file that is another."""
    content = _content(path)
    if hashlib.sha256(content).hexdigest() != digest:
        raise BadCertificate(f"{path}: changed: its SHA-256 sum is not that of {SUMS}")
    if obligation is None:
        said = f"{manifest.subject.name} has no obligation of this name"
        raise BadCertificate(f"{path}: {said}{_other_version(manifest)}")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise BadCertificate(f"{path}: no UTF-8 at byte {error.start}") from None
    stated = obligation.as_in(text)
    for number, (found, expected) in enumerate(zip_longest(_lines(text), _lines(stated)), 1):
        if found != expected:
            said = f"expected {_shown(expected)} of the obligation, found {_shown(found)}"
            raise BadCertificate(f"{path}:{number}: {said}{_other_version(manifest)}")
    return stated


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def _shown(line: str | None) -> str:
    return "the end" if line is None else f"`{line}`"


def _other_version(manifest: Manifest) -> str:
    """Return a hint if another version of zabcheck wrote the certificate, which may state its obligations otherwise."""
    mine = version("zabcheck")
    theirs = manifest.zabcheck
    return "" if theirs == mine else f"; zabcheck {theirs} wrote it, this is {mine}: verify it with that version"


def _content(path: Path, most: int = LARGEST) -> bytes:
    """Return the content of a file of a certificate. BadCertificate if it has more bytes."""
    try:
        if path.exists() and not path.is_file():
            raise BadCertificate(f"{path}: expected a file")
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise BadCertificate(f"{path}: missing: {error.strerror}") from None
    if len(content) > most:
        raise BadCertificate(f"{path}: expected at most {most:,} bytes")
    return content

"""Violating runs, each repeated and minimised in a task; runs that are alike then become one finding.

Two runs are alike if they break the same property of the same mutant in the same way: their minimised schedules need
the same kinds of choices (faults, above all), and their witnesses have the same shape, that is, the same kinds of
events, at the same process or at different ones. How often something is received or requested does not count.
"""

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import msgspec
from msgspec import Struct

from zabcheck.campaign.findings import ERROR, FINDINGS, INDEX, RAISED, Finding
from zabcheck.campaign.part import Maker
from zabcheck.campaign.plan import Plan
from zabcheck.campaign.store import Store, StoreError
from zabcheck.counterexample.explain import explain_replay
from zabcheck.counterexample.saving import save
from zabcheck.invariants.diagnosis import NOT_DECODED, why_not_decoded
from zabcheck.search.minimise import minimise, minimise_raise
from zabcheck.search.run import PropertyBroken, ProtocolRaised, Replay, replay, replay_on
from zabcheck.search.swarm import drive
from zabcheck.simulation import choices
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.schedule import Schedule
from zabcheck.text.words import as_document

FOLDER = "minimised"
RUNS_A_PIECE = 4
"""The number of runs that one task minimises: most runs take a tenth of a second, some take ten seconds."""


class FailingRun(Struct, frozen=True, order=True):
    """A run that broke a property, or in which the protocol's code raised, or the modelled code has an error."""

    mutant: str | None
    property: str
    run: int


class MinimisedRun(Struct, frozen=True):
    """A failing run after minimisation: a schedule of `steps` steps. Runs that are alike have an equal `how`."""

    failing: FailingRun
    steps: int
    how: tuple[str, ...]
    schedule: Schedule


class _MinimisedFile(Struct, frozen=True):
    """A `MinimisedRun` in its file; which switches its schedule may have depends on the protocol that it names."""

    failing: FailingRun
    steps: int
    how: tuple[str, ...]
    schedule: msgspec.Raw

    def read(self, file: str) -> MinimisedRun:
        """Return it with its schedule decoded. ScheduleError if that is malformed."""
        return MinimisedRun(self.failing, self.steps, self.how, schedules.load(bytes(self.schedule), file))


def select_runs(failing: Iterable[FailingRun], most: int | None) -> list[FailingRun]:
    """Return the first `most` runs of each mutant and property, in order; all of them if `most` is None."""
    groups: dict[tuple[str | None, str], list[FailingRun]] = defaultdict(list)
    for each in sorted(failing, key=lambda each: each.run):
        groups[each.mutant, each.property].append(each)
    return sorted((each for group in groups.values() for each in group[:most]), key=lambda each: each.run)


def pieces_of(failing: Sequence[FailingRun]) -> list[Sequence[FailingRun]]:
    """Divide the runs into the pieces that the tasks work on."""
    return [failing[first : first + RUNS_A_PIECE] for first in range(0, len(failing), RUNS_A_PIECE)]


def name_of(piece: Sequence[FailingRun]) -> str:
    """Return the name of the file for the results of a piece. The name is a function of the runs in the piece."""
    digest = sha256(",".join(str(each.run) for each in piece).encode()).hexdigest()[:16]
    return f"{FOLDER}/{piece[0].run:09}-{digest}.json"


class Minimiser:
    """Minimises the runs of one piece after another, and writes the results."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self.maker = Maker(plan, store)
        self.plan = plan
        self.store = store
        self.keep = (*plan.switches, *(["quorums"] if plan.quorums is not None else []))

    def work(self, piece: Sequence[FailingRun]) -> None:
        """Minimise each run of a piece and write the results to the piece's file. StoreError if that fails."""
        name = name_of(piece)
        if self.store.read(name) is None:
            self.store.write(name, msgspec.json.encode([self.minimised(each) for each in piece]))

    def minimised(self, failing: FailingRun) -> MinimisedRun:
        """Repeat a run and minimise it.

        ValueError if the run does not fail again, or not in the same way: the protocol is not deterministic.
        """
        search, seed = self.maker.searches[failing.mutant], self.plan.seed_of(failing.run)
        protocol = search.protocol
        try:
            run = drive(search, self.maker.kinds, seed)
        except ProtocolRaised as error:
            shortened = minimise_raise(error.protocol, error.schedule, error.raised.place, keep=self.keep)
        else:
            broken = PropertyBroken(failing.property, run, seed)
            shortened = minimise(protocol, broken.schedule, failing.property, keep=self.keep)
        schedule = shortened.schedule
        replayed = replay_on(protocol, schedule, _to_judge(failing))
        return MinimisedRun(failing, replayed.steps, (*_moves(schedule), *_shape(replayed)), schedule)


def _to_judge(failing: FailingRun) -> list[str] | None:
    """Return the properties to judge when the run is replayed: the broken one, or all if its end is no violation."""
    return None if failing.property in (RAISED, ERROR) else [failing.property]


def read(store: Store, pieces: Iterable[Sequence[FailingRun]]) -> list[MinimisedRun]:
    """Read the results that the tasks have written. StoreError if a file is missing or malformed."""
    found: list[MinimisedRun] = []
    for piece in pieces:
        name = name_of(piece)
        content = store.read(name)
        try:
            written = msgspec.json.decode(content or b"", type=list[_MinimisedFile])
            found += [each.read(name) for each in written]
        except (*NOT_DECODED, schedules.ScheduleError) as error:
            raise StoreError(f"{store.path(name)}: expected minimised schedules, {why_not_decoded(error)}") from None
    return found


def group_alike(found: Iterable[MinimisedRun]) -> list[list[MinimisedRun]]:
    """Group the runs that are one finding; in each group the shortest schedule comes first."""
    groups: dict[Any, list[MinimisedRun]] = defaultdict(list)
    for each in found:
        groups[each.failing.mutant, each.failing.property, each.how].append(each)
    return [sorted(group, key=lambda each: (each.steps, each.failing.run)) for group in groups.values()]


def _moves(schedule: Schedule) -> Iterator[str]:
    """Yield the kinds of choices that are not mere progress. `Elect` counts as `Lead`, which is a series of it."""
    kinds = {choices.Lead if isinstance(choice, choices.Elect) else type(choice) for choice in schedule.choices}
    yield from sorted(
        kind.__name__.lower() for kind in kinds - {choices.Receive, choices.Sync, choices.Settle, choices.Drain}
    )


def _shape(replayed: Replay) -> Iterator[str]:
    """Yield the kinds of the witness's events, with letters for processes; or the place where the code raised."""
    if replayed.raised is not None:
        kind, file, line = replayed.raised.place
        yield f"{kind.__name__} {Path(file).name}:{line}"
    letters: dict[int, str] = {}
    for verdict in replayed.verdicts:
        for event in verdict.violation.witness if verdict.violation is not None else ():
            letter = letters.setdefault(getattr(event, "process", 0), ascii_lowercase[len(letters) % 26])
            yield f"{type(event).__name__.lower()}@{letter}"


def write_findings(plan: Plan, store: Store, groups: Iterable[list[MinimisedRun]]) -> list[Finding]:
    """Explain and write the shortest run of each group, and return the findings.

    The findings of each mutant stand together, the most frequent first. StoreError if a file cannot be written.
    """
    findings = []
    with tempfile.TemporaryDirectory() as folder:
        for group in groups:
            best, first = group[0], min(each.failing.run for each in group)
            failing = best.failing
            replayed = replay(best.schedule, _to_judge(failing))
            story = explain_replay(replayed)
            summary = story.violation.summary if story.violation is not None else ""
            if story.raised is not None:
                summary = story.raised.error
            names = {}
            for path in save(Path(folder), replayed, story):
                names[path.suffix] = path.name
                store.write(f"{FINDINGS}/{path.name}", path.read_bytes())
            findings.append(
                Finding(
                    failing.mutant,
                    failing.property,
                    len(group),
                    first,
                    str(plan.seed_of(first)),
                    best.steps,
                    summary,
                    names[".json"],
                    names[".txt"],
                    ", ".join(_moves(best.schedule)),
                )
            )
    findings.sort(key=lambda each: (each.mutant or "", -each.runs, each.steps, each.run))
    store.write(INDEX, as_document(findings))
    return findings

"""The gate for a patch of ZooKeeper: an outcome for each thing that the patch has to pass.

Three suites: the schedules of known bugs, replayed (`CATALOGUE`); drawn schedules (`SEARCH`); and the conformance of
the recordings of both to the model (`CONFORMANCE`). A patch is measured by the version that its jars name: that
version's bugs are known from ZooKeeper's sources, and anything else is the patch's doing.
"""

from collections.abc import Sequence
from typing import NamedTuple

from zabcheck.gate.checks import GateReport, Outcome, Status
from zabcheck.text.words import counted
from zabcheck.zookeeper.bugs.catalogue import Bug
from zabcheck.zookeeper.bugs.executed import Executions
from zabcheck.zookeeper.conformance.conform import Conformance, in_lines
from zabcheck.zookeeper.conformance.rates import OF_NO_ISSUE, RaisedRate, Tally
from zabcheck.zookeeper.verdict.judge import RecordingVerdict
from zabcheck.zookeeper.verdict.known_issues import KnownIssue

CATALOGUE = "catalogue"
SEARCH = "search"
CONFORMANCE = "conformance"
MOST_UNDECIDED = 0.1
"""The share of drawn runs in which the ensemble itself may fail: with more the rest is no pass."""


class PatchReport(GateReport, frozen=True):
    """The result of a gate for a patch. `steps` counts packets, and `seconds` are those of the clock."""

    @property
    def done(self) -> str:
        """The executions, as text."""
        executions = counted(self.runs, "execution", "executions")
        return f"{executions}, {counted(self.steps, 'packet', 'packets')}, {self.seconds:.0f} seconds"


class Expectations(NamedTuple):
    """The expectations of the patched servers, which claim to be of version `zookeeper`.

    `repairs` are the bugs that the patch is to repair. `strict`: a bug that the version has is a failure, too.
    """

    zookeeper: str
    repairs: tuple[Bug, ...] = ()
    strict: bool = False

    def tolerates(self, issue: KnownIssue) -> bool:
        """Return True if a run may look like this issue: the version has it, and the patch is not to repair it."""
        repaired = any(issue == bug.known for bug in self.repairs)
        return issue.affects(self.zookeeper) and not repaired and not self.strict

    def unexplained(self, judged: RecordingVerdict) -> list[str]:
        """Return the names of a run's faults that no issue explains which it looks like and which is tolerated."""
        issues = [match.issue for match in judged.known]
        excused = issues and all(map(self.tolerates, issues))
        return [name for name in judged.wrong if name in OF_NO_ISSUE] if excused else judged.wrong


def failure_of(bug: Bug, shows: bool, judged: RecordingVerdict, expected: Expectations) -> str:
    """Return the reason why one execution of a bug's schedule fails the gate, or "".

    Where simulated servers do not show a bug that this version has always shown, the patch has them do something else:
    what is wrong then is its doing.
    """
    if not shows:
        usual = expected.tolerates(bug.known) and not (judged.simulated and bug.is_always_shown(expected.zookeeper))
        unexplained = [name for name in expected.unexplained(judged) if not usual or name in OF_NO_ISSUE]
        return f"not shown, but something else is wrong: {', '.join(unexplained)}" if unexplained else ""
    if bug in expected.repairs:
        return f"shown, and the patch is to repair it: {bug.known.title}"
    if not bug.known.affects(expected.zookeeper):
        return f"shown, and ZooKeeper {expected.zookeeper} does not have it: {bug.known.title}"
    return f"shown: {bug.known.title}" if expected.strict else ""


def of_bug(
    executed: Executions,
    expected: Expectations,
    failures: Sequence[str] = (),
    over: str = "",
    detail: str = "",
    files: Sequence[str] = (),
) -> Outcome | None:
    """Return the outcome for a bug of the catalogue. `failures` are those of its executions.

    `over` is the reason why its schedule was not executed as often as asked for, or "". None if this version lacks a
    place in its threads that the schedule needs: then nothing is demanded, unless the patch is to repair this bug.
    """
    name, shown = executed.bug.name, f"shown in {executed.shown} of {executed.times}"
    has_it = f"ZooKeeper {expected.zookeeper} has it"
    if failures:
        of = f" (in {len(failures)} of {executed.times})" if executed.times > 1 else ""
        return Outcome(CATALOGUE, name, "failed", failures[0] + of, detail, files=tuple(files))
    if executed.cannot:
        repaired = executed.bug in expected.repairs
        return Outcome(CATALOGUE, name, "inconclusive", f"not executed: {executed.cannot}") if repaired else None
    if over:
        return Outcome(CATALOGUE, name, "inconclusive", f"{shown}: {over}")
    if executed.partial:
        message = f"{executed.partial} of {executed.times} not recorded to the end: {executed.error}"
        return Outcome(CATALOGUE, name, "inconclusive", message)
    if executed.shown:
        message = f"known: {shown}; {has_it}"
    elif executed.wrong:
        message = f"{shown}; what is wrong may be known: {', '.join(executed.wrong)}"
    else:
        message = shown + (f", though {has_it}" if executed.expected else "")
    return Outcome(CATALOGUE, name, "passed", message)


def of_raised(raised: RaisedRate, detail: str, files: Sequence[str]) -> Outcome:
    """Return the outcome for what the patched servers show more often than the release."""
    return Outcome(SEARCH, raised.mark, "failed", raised.sentence(), detail, files=tuple(files))


def of_rates(tally: Tally, over: str, lacking: Sequence[str] = ()) -> Outcome:
    """Return the outcome for the drawn runs as a whole, if their faults were compared with those of the release.

    `over` and `lacking` are as in `of_search`.
    """
    message = f"{counted(tally.runs, 'run', 'runs')} with drawn faults and thread orders"
    message += f", compared with {tally.before.runs:,} of the release without a patch"
    if tally.least < 1:
        message += f"; a new fault that shows in one of {round(1 / tally.least):,} runs would have been told"
    message += f"; in {tally.failed} of them the ensemble itself failed: {tally.error}" if tally.failed else ""
    message += _without(lacking)
    message += f"; {over}" if over else ""
    too_many = tally.failed > MOST_UNDECIDED * tally.runs
    status: Status = "inconclusive" if over or too_many or not tally.runs else "passed"
    return Outcome(SEARCH, "drawn runs", status, message)


def _without(lacking: Sequence[str]) -> str:
    return f"; no thread was held at points that this build lacks: {', '.join(lacking)}" if lacking else ""


def of_search(runs: int, known: int, failed: int, error: str, over: str, lacking: Sequence[str] = ()) -> Outcome:
    """Return the outcome for the drawn runs as a whole; each faulty run has one of its own besides.

    `known` of them look like issues that are tolerated. In `failed` of them the ensemble itself failed, the last time
    because of `error`; `over` is the reason why the search ended early, or "". `lacking` are points that drawn
    schedules name, and the servers do not have.
    """
    message = f"{counted(runs, 'run', 'runs')} with drawn faults and thread orders"
    message += f"; {known} of them looked like issues that are known" if known else ""
    message += f"; in {failed} of them the ensemble itself failed: {error}" if failed else ""
    message += _without(lacking)
    message += f"; {over}" if over else ""
    status: Status = "inconclusive" if over or runs == failed else "passed"
    return Outcome(SEARCH, "drawn runs", status, message)


class RecordingCheck(NamedTuple):
    """The verdict on the recording `name`; `excuse` is a reason why it need not be a run of the model, or "".

    `broken`: something is wrong in that run, and it is the patch's doing.
    """

    name: str
    conformance: Conformance
    files: tuple[str, ...] = ()
    excuse: str = ""
    broken: bool = False

    @property
    def unexpected(self) -> bool:
        """True if the recording is no run of the model, and that was not to be expected."""
        return self.conformance.verdict == "differs" and not self.excuse

    @property
    def place(self) -> str:
        """The place of the first difference, as text."""
        first = self.conformance.differences[0]
        return f"server {first.server}, {first.source}: {first.what}"


def excuse_of(bug: Bug, shows: bool, expected: Expectations) -> str:
    """Return the reason why the recording of a bug's schedule need not be a run of the model, or ""."""
    return "the model has that bug" if bug in expected.repairs and not shows else ""


EXPECTED = "--expect"
"""The excuse of a difference that the user has named."""


def is_expected(compared: RecordingCheck, named: Sequence[str]) -> bool:
    """Return True if each difference of a recording has one of these in its text."""
    places = [f"{each.source}: {each.what}" for each in compared.conformance.differences]
    return bool(places) and all(any(name in place for name in named) for place in places)


def of_conformance(compared: Sequence[RecordingCheck], model: str) -> list[Outcome]:
    """Return an outcome for each recording that is no run of the model, and one for all of them.

    A difference is a failure only if something is wrong in that run; else the patch may mean it, and that is left open.
    """
    outcomes = []
    for each in compared:
        if each.unexpected:
            detail = "\n".join(in_lines(each.conformance))
            message = f"differs from the model of {model} at {each.place}"
            status: Status = "failed" if each.broken else "inconclusive"
            message += "" if each.broken else "; if the patch means this, name it with --expect"
            outcomes.append(Outcome(CONFORMANCE, each.name, status, message, detail, files=each.files))
    of = {verdict: [each for each in compared if each.conformance.verdict == verdict] for verdict in _VERDICTS}
    number, conforms = counted(len(compared), "recording", "recordings"), len(of["conforms"])
    message = f"of {number} {conforms} {'is a run' if conforms == 1 else 'are runs'} of the model of {model}"
    if of["undecided"]:
        message += f", {len(of['undecided'])} left open ({of['undecided'][0].conformance.undecided[0]})"
    if of["differs"]:
        message += f", {len(of['differs'])} not"
        for excuse in dict.fromkeys(each.excuse for each in of["differs"] if each.excuse):
            names = dict.fromkeys(each.name for each in of["differs"] if each.excuse == excuse)
            message += f"; that is to be expected of {', '.join(names)}: {excuse}"
    status = "passed" if of["conforms"] else "inconclusive"
    return [*outcomes, Outcome(CONFORMANCE, "recordings", status, message)]


_VERDICTS = ("conforms", "differs", "undecided")

"""`zabcheck replay --on-zookeeper`: a run of the model is executed on real servers, which are compared with it."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

from zabcheck.cli.commands import BadInput, Format
from zabcheck.cli.files import writing
from zabcheck.cli.output import make_console, print_json, print_path
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, conclude, named
from zabcheck.cli.zookeeper.replay import repeat
from zabcheck.counterexample.forms.page import page as page_of
from zabcheck.search.run import replay_on
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.schedule import Schedule
from zabcheck.text.files import write
from zabcheck.text.words import as_text, counted
from zabcheck.zookeeper.conformance.conform import release_of
from zabcheck.zookeeper.conformance.on_servers import CannotBeHad, Translation, as_servers_are, translate
from zabcheck.zookeeper.conformance.story import Where, of_execution
from zabcheck.zookeeper.model import ZOOKEEPER
from zabcheck.zookeeper.recording.folder import read
from zabcheck.zookeeper.recording.records import Chose, Differed
from zabcheck.zookeeper.run import schedule as ensemble_schedules
from zabcheck.zookeeper.run.choices.in_step import Expect
from zabcheck.zookeeper.run.distribution import Distribution

if TYPE_CHECKING:
    from zabcheck.zookeeper.run.search import Attempt  # it loads the clients' library


class ServerExecution(NamedTuple):
    """The result of one execution. `error` says why it came to no end, if that was no difference."""

    wrong: list[str]
    difference: Where | None
    error: str


def replay_on_servers(
    schedule: Schedule,
    file: Path,
    times: int,
    distribution: Distribution,
    save: Path | None,
    trace: Path | None,
    page: Path | None,
    format: Format,
    simulated: bool,
) -> int:
    """Execute a run of the model on real servers, `simulated` or processes, `times` times; return the exit code.

    `save` is the file for the schedule of the servers; `trace` that for the trace of the first execution that breaks
    what the run breaks, else of the last; `page` that for a page of the first difference, if there is one. BadInput if
    the run cannot be had on these servers.
    """
    comparison = _Comparison(schedule, file, distribution.version, simulated)
    saved = shown = None
    if save is not None:
        with writing("--save", save):
            saved = write(save, ensemble_schedules.encode(comparison.translation.schedule))
    executed = comparison.translation.schedule
    interrupted, traced = repeat(executed, distribution, times, comparison.take, trace, simulated=simulated)
    if page is not None and comparison.first is not None:
        with writing("--page", page):
            shown = write(page, comparison.page())
    code, why = _verdict(comparison.tried, comparison.broken, comparison.servers)
    if format is Format.json:
        print_json(
            "replay",
            schedule=as_text(file),
            **comparison.as_json(),
            interrupted=interrupted,
            saved=saved and as_text(saved),
            trace=traced and as_text(traced),
            page=shown and as_text(shown),
        )
        return code
    console = make_console()
    for line in comparison.lines():
        print_path(console, line)
    for written in (saved, traced, shown):
        if written is not None:
            print_path(console, f"wrote {written}")
    return conclude(console, code, why)


def compared_with_servers(
    schedule: Schedule, file: str, times: int, distribution: Distribution, simulated: bool, stop: Event
) -> dict[str, Any]:
    """Execute a run of the model like `replay_on_servers`; return what came of it as fields of the JSON form.

    Once `stop` is set it ends soon, as interrupted.
    """
    comparison = _Comparison(schedule, Path(file), distribution.version, simulated)
    executed = comparison.translation.schedule
    repeat(executed, distribution, times, comparison.take, None, simulated=simulated, stop=stop)
    return comparison.as_json()


class _Comparison:
    """A run of the model beside its executions on servers of `version`, of which `tried` has the results.

    `translation` is what the servers are to do for it, `broken` are the properties that the run breaks in the model.
    """

    def __init__(self, schedule: Schedule, file: Path, version: str, simulated: bool) -> None:
        """BadInput if the run cannot be had on these servers."""
        if schedule.protocol != ZOOKEEPER.name:
            said = f"expected a run of the model `zookeeper`, {file} is of `{schedule.protocol}`"
            raise BadInput(f"--on-zookeeper: {said}")
        release = release_of(version)
        if release is None:
            raise BadInput(f"--on-zookeeper: the model has no ZooKeeper {version}")
        try:
            self.run = as_servers_are(schedule, release)
            self.translation = translate(self.run)
        except CannotBeHad as error:
            raise BadInput(f"{file}: cannot be had on real servers: {error}") from None
        verdicts = replay_on(ZOOKEEPER, self.run, _judged(schedule)).verdicts
        self.broken = [each.property for each in verdicts if each.status == "violated"]
        self.tried: list[ServerExecution] = []
        self._schedule = schedule
        self._release = release
        self._version = version
        self._simulated = simulated
        self._comparisons = sum(isinstance(each, Expect) for each in self.translation.schedule.choices)

    def take(self, one: "Attempt", folder: Path) -> bool:
        """Add an execution. Return True if the servers broke a property that the run breaks."""
        self.tried.append(_result(one, folder, self.translation))
        return _same(self.tried[-1], self.broken)

    @property
    def servers(self) -> str:
        """Name the servers: "simulated servers of ZooKeeper 3.9.5"."""
        return "simulated servers of " * self._simulated + f"ZooKeeper {self._version}"

    @property
    def first(self) -> Where | None:
        """Return the first difference; None if there is none."""
        return next((each.difference for each in self.tried if each.difference is not None), None)

    def page(self) -> bytes:
        """Return a page of the run with the first difference, which there has to be."""
        assert self.first is not None
        return page_of(of_execution(self.run, self.translation.executed, self.first, self._version)).encode()

    def as_json(self) -> dict[str, Any]:
        """Return the fields of the JSON form."""
        return {
            "zookeeper": self._version,
            "simulated": self._simulated,
            "choices": len(self.translation.executed),
            "comparisons": self._comparisons,
            "broken": self.broken,
            "times": len(self.tried),
            "matched": sum(map(_matched, self.tried)),
            "runs": [
                each._asdict() | {"difference": each.difference and each.difference._asdict()} for each in self.tried
            ],
        }

    def lines(self) -> Iterator[str]:
        """Print what the model breaks, and how each execution went."""
        length, violates = len(self.translation.executed), self._schedule.violates
        yield f"the model ({self._release}): {counted(length, 'choice', 'choices')}, {_breaks(self.broken)}"
        if violates is not None and violates not in self.broken:
            yield f"  it is said to break {violates}, and does not with all defects of {self._release}"
        yield f"the servers ({self._version}): compared {counted(self._comparisons, 'time', 'times')}"
        for number, each in enumerate(self.tried, start=1):
            yield f"run {number}: {_said(each, length)}"


def _judged(schedule: Schedule) -> tuple[str, ...]:
    """Return the properties by which the model is judged: those that apply to it, and the one the run should break."""
    applies = ZOOKEEPER.properties
    assert applies is not None
    return applies if schedule.violates is None else (*applies, schedule.violates)


def _result(one: "Attempt", folder: Path, translation: Translation) -> ServerExecution:
    """Return what came of an execution, with where it first differed."""
    done, difference = -1, None
    for record in read(folder):
        if isinstance(record, Chose):
            done = record.number
        if isinstance(record, Differed) and difference is None:
            number = translation.sources[done]
            text = "the start" if number < 0 else in_words(translation.executed[number])
            difference = Where(number, text, record.server, record.field, record.model, record.seen)
    error = "interrupted" if one.interrupted else "" if difference is not None else one.error
    return ServerExecution(one.judged.wrong, difference, error)


def in_words(choice: Choice) -> str:
    """Describe a choice of a run: "receive process 1, sender 3"."""
    fields = ((name, getattr(choice, name)) for name in choice.__struct_fields__)
    said = (f"{name} {' '.join(map(str, value)) if isinstance(value, tuple) else value}" for name, value in fields)
    return f"{type(choice).__name__.lower()} {', '.join(said)}"


def _matched(of: ServerExecution) -> bool:
    return of.difference is None and not of.error


def _same(of: ServerExecution, broken: list[str]) -> bool:
    """Return True if the servers broke a property that the run of the model breaks."""
    return any(each in of.wrong for each in broken)


def _breaks(names: list[str]) -> str:
    return f"breaks {', '.join(names)}" if names else "breaks nothing"


def _said(of: ServerExecution, length: int) -> str:
    broke = f"broke {', '.join(of.wrong)}" if of.wrong else "nothing is wrong"
    if of.error:
        return f"not complete: {of.error}; {broke}"
    if of.difference is None:
        return f"matched to the end; {broke}"
    choice, text, server, field, model, seen = of.difference
    place = f"after choice {choice} of {length} ({text})" if choice >= 0 else "at the start"
    return f"differs {place}: server {server}, {field}: the model has {model}, the server {seen}; {broke}"


def _verdict(tried: list[ServerExecution], broken: list[str], servers: str) -> tuple[int, str]:
    """Return the exit code, and why."""
    number = counted(len(tried), "execution", "executions")
    matched = sum(map(_matched, tried))
    why = f"{matched} of {number} on {servers} matched the model to the end"
    same = [each for each in broken if any(each in one.wrong for one in tried)]
    others = list(dict.fromkeys(name for each in tried for name in each.wrong))
    if same:
        why += f", and {sum(_same(each, broken) for each in tried)} broke {named(same)}, as the model does"
    elif others:
        why += f"; the servers broke {named(others)}" + (f", and not {named(broken)}" if broken else "")
    elif broken and matched:
        why += f", and the servers broke nothing, while the model breaks {named(broken)}"
    if others:
        return VIOLATED, why
    return INCONCLUSIVE if matched < len(tried) or broken else OK, why

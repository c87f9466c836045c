"""`zabcheck replay --on-zookeeper`: a run of the model is executed on real servers, which are compared with it."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from zabcheck.cli.commands import BadInput, Format
from zabcheck.cli.files import bad_path
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


class OnServers(NamedTuple):
    """What came of one execution. `error` says why it came to no end, if that was no difference."""

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
) -> int:
    """Execute a run of the model on real servers `times` times; return the exit code.

    `save` is where what the servers are told to do is written, `trace` where the trace of the first execution that
    breaks what the run breaks is, else of the last; `page` is where the first difference is shown, if there is one.
    BadInput if the run cannot be had on these servers.
    """
    if schedule.protocol != ZOOKEEPER.name:
        raise BadInput(f"--on-zookeeper: expected a run of the model `zookeeper`, {file} is of `{schedule.protocol}`")
    release = release_of(distribution.version)
    if release is None:
        raise BadInput(f"--on-zookeeper: the model has no ZooKeeper {distribution.version}")
    try:
        run = as_servers_are(schedule, release)
        translation = translate(run)
    except CannotBeHad as error:
        raise BadInput(f"{file}: cannot be had on real servers: {error}") from None
    verdicts = replay_on(ZOOKEEPER, run, _judged(schedule)).verdicts
    broken = [each.property for each in verdicts if each.status == "violated"]
    if save is not None:
        with bad_path("--save", save):
            write(save, ensemble_schedules.encode(translation.schedule))
    tried: list[OnServers] = []

    def take(one: "Attempt", folder: Path) -> bool:
        tried.append(_result(one, folder, translation))
        return _same(tried[-1], broken)

    interrupted = repeat(translation.schedule, distribution, times, take, trace)
    code, why = _verdict(tried, broken, distribution.version)
    where = next((each.difference for each in tried if each.difference is not None), None)
    page = page if where is not None else None
    if page is not None and where is not None:
        with bad_path("--page", page):
            write(page, page_of(of_execution(run, translation.executed, where, distribution.version)).encode())
    comparisons = sum(isinstance(each, Expect) for each in translation.schedule.choices)
    if format is Format.json:
        print_json(
            "replay",
            schedule=as_text(file),
            zookeeper=distribution.version,
            choices=len(translation.executed),
            comparisons=comparisons,
            broken=broken,
            times=len(tried),
            matched=sum(map(_matched, tried)),
            runs=[each._asdict() | {"difference": each.difference and each.difference._asdict()} for each in tried],
            interrupted=interrupted,
            saved=save and as_text(save),
            trace=trace and as_text(trace),
            page=page and as_text(page),
        )
        return code
    console = make_console()
    length = counted(len(translation.executed), "choice", "choices")
    print_path(console, f"the model ({release}): {length}, {_breaks(broken)}")
    if schedule.violates is not None and schedule.violates not in broken:
        print_path(console, f"  it is said to break {schedule.violates}, and does not with all defects of {release}")
    print_path(console, f"the servers ({distribution.version}): compared {counted(comparisons, 'time', 'times')}")
    for number, each in enumerate(tried, start=1):
        print_path(console, f"run {number}: {_said(each, len(translation.executed))}")
    for written in (save, trace, page):
        if written is not None:
            print_path(console, f"wrote {written}")
    return conclude(console, code, why)


def _judged(schedule: Schedule) -> tuple[str, ...]:
    """Return what the model is judged by: what applies to it, and what the run is said to break."""
    applies = ZOOKEEPER.properties
    assert applies is not None
    return applies if schedule.violates is None else (*applies, schedule.violates)


def _result(one: "Attempt", folder: Path, translation: Translation) -> OnServers:
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
    return OnServers(one.judged.wrong, difference, error)


def in_words(choice: Choice) -> str:
    """Say a choice of a run to a reader: "receive process 1, sender 3"."""
    fields = ((name, getattr(choice, name)) for name in choice.__struct_fields__)
    said = (f"{name} {' '.join(map(str, value)) if isinstance(value, tuple) else value}" for name, value in fields)
    return f"{type(choice).__name__.lower()} {', '.join(said)}"


def _matched(of: OnServers) -> bool:
    return of.difference is None and not of.error


def _same(of: OnServers, broken: list[str]) -> bool:
    """Whether the servers broke what the run of the model breaks, or one of it."""
    return any(each in of.wrong for each in broken)


def _breaks(names: list[str]) -> str:
    return f"breaks {', '.join(names)}" if names else "breaks nothing"


def _said(of: OnServers, length: int) -> str:
    broke = f"broke {', '.join(of.wrong)}" if of.wrong else "nothing is wrong"
    if of.error:
        return f"not complete: {of.error}; {broke}"
    if of.difference is None:
        return f"matched to the end; {broke}"
    choice, text, server, field, model, seen = of.difference
    place = f"after choice {choice} of {length} ({text})" if choice >= 0 else "at the start"
    return f"differs {place}: server {server}, {field}: the model has {model}, the server {seen}; {broke}"


def _verdict(tried: list[OnServers], broken: list[str], version: str) -> tuple[int, str]:
    """Return the exit code, and why."""
    number = counted(len(tried), "execution", "executions")
    matched = sum(map(_matched, tried))
    why = f"{matched} of {number} on ZooKeeper {version} matched the model to the end"
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

"""Reads from the JSON of `replay --on-zookeeper` what servers did for a run of the model, to be shown beside it."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct, structs

from zabcheck.cli.commands import BadInput
from zabcheck.invariants.diagnosis import NOT_DECODED, malformed, place_of
from zabcheck.play.desk import Layer
from zabcheck.simulation.schedule import Schedule
from zabcheck.zookeeper.conformance.conform import release_of
from zabcheck.zookeeper.conformance.on_servers import CannotBeHad, as_servers_are, translate
from zabcheck.zookeeper.model import ZOOKEEPER
from zabcheck.zookeeper.run.choices.choice import ROLES
from zabcheck.zookeeper.run.choices.in_step import Expect


class _Difference(Struct, frozen=True):
    choice: Annotated[int, Meta(ge=-1)]
    server: int
    field: str
    model: str
    seen: str


class _Execution(Struct, frozen=True):
    wrong: tuple[str, ...]
    difference: _Difference | None
    error: str


class _Report(Struct, frozen=True):
    zookeeper: str
    simulated: bool
    choices: int
    runs: tuple[_Execution, ...]


def layer_of(data: bytes, name: str, schedule: Schedule, file: str) -> tuple[Schedule, Layer]:
    """Return the run that the servers of a report executed, and what they did; `name` and `file` are for messages.

    The layer is that of a session whose positions are the choices of this run.

    BadInput if `data` is no report, or one of another run.
    """
    try:
        report = msgspec.json.decode(data, type=_Report)
    except NOT_DECODED as error:
        why = malformed(data, error, _Report, "report", 1)
        prints = "a report is what `zabcheck replay --on-zookeeper --format json` prints"
        raise BadInput(f"{name}{why}; {prints}") from None
    if schedule.protocol != ZOOKEEPER.name:
        raise BadInput(f"{file}: expected a run of the model `zookeeper`, it is of `{schedule.protocol}`")
    release = release_of(report.zookeeper)
    if release is None:
        raise BadInput(f"{name}{place_of(data, 'zookeeper')}: the model has no ZooKeeper {report.zookeeper}")
    try:
        run = as_servers_are(schedule, release)
        translation = translate(run)
    except CannotBeHad as error:
        raise BadInput(f"{file}: cannot be had on real servers: {error}") from None
    length = len(translation.executed)
    if report.choices != length or any(each.difference and each.difference.choice >= length for each in report.runs):
        where = place_of(data, "choices")
        raise BadInput(f"{name}{where}: expected {length}, those of {file}, found {report.choices}")
    done: list[list[str]] = [[] for _ in translation.executed]
    compared: list[set[str]] = [set() for _ in translation.executed]
    for choice, number in zip(translation.schedule.choices, translation.sources, strict=True):
        if number < 0:
            continue
        if isinstance(choice, Expect):
            compared[number].add(choice.server)
        else:
            done[number].append(choice.words())
    roles = ", ".join(f"p{process} is {ROLES[run.processes - process]}" for process in range(1, run.processes + 1))
    title = f"{'simulated servers' if report.simulated else 'servers'} of ZooKeeper {report.zookeeper} ({roles})"
    ended = tuple(_ended(each) for each in report.runs if each.difference is not None or not each.error)
    cut_off = tuple(
        f"not complete: {each.error}; {_broke(each)}" for each in report.runs if each.difference is None and each.error
    )
    places = tuple(range(1, length + 1))
    layer = Layer(title, tuple(map(tuple, done)), tuple(map(frozenset, compared)), ended, cut_off, places)
    return structs.replace(run, choices=translation.executed), layer


def _ended(execution: _Execution) -> tuple[int | None, str]:
    """Return the choice at which an execution differed, -1 for the start, and in words what came of it."""
    found = execution.difference
    if found is None:
        return None, f"matched to the end; {_broke(execution)}"
    differs = f"server {found.server}, {found.field}: the model has {found.model}, the server {found.seen}"
    return found.choice, f"{differs}; {_broke(execution)}"


def _broke(execution: _Execution) -> str:
    return f"broke {', '.join(execution.wrong)}" if execution.wrong else "nothing is wrong"

"""Decides whether a recording is a run of the model; returns the run, or the first difference."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from zabcheck.invariants import Chain
from zabcheck.search.minimise import minimise
from zabcheck.search.run import replay_on
from zabcheck.simulation.schedule import Schedule
from zabcheck.text.words import counted
from zabcheck.zookeeper.conformance.attempt import Attempt
from zabcheck.zookeeper.conformance.merge import not_enabled, schedule_of, up_to
from zabcheck.zookeeper.conformance.moves import Moves
from zabcheck.zookeeper.conformance.observations import Sends, ServerRecord, in_words, server_records
from zabcheck.zookeeper.conformance.packets import in_parts
from zabcheck.zookeeper.conformance.search import MOST_STATES, ServerSearch
from zabcheck.zookeeper.model import ZOOKEEPER, describe
from zabcheck.zookeeper.model.switches import Release
from zabcheck.zookeeper.recording.records import Sent
from zabcheck.zookeeper.trace.incarnations import SortedRecording, read_sorted

NOTHING = "whatever the server could still read or do does not lead to it"
"""The text of a difference to which no attempt came near."""
_SHOWN = 3
"""The number of elements, the last ones, that are shown of a long sequence."""


class SeenPacket(Struct, frozen=True):
    """A packet that was recorded: its kind, its contents as text, and the server that it went to."""

    kind: str
    text: str
    to: int


class Difference(Struct, frozen=True):
    """The place at which the recording of one server is no run of the model.

    `source` is the packet, the line or the disk that nothing in the model leads to, `what` its text; if it is a
    packet, `packet` has its parts. `time` is in microseconds, by the recording's clock. `state` is that of the model
    which explained all before it, by the names of its variables. `guards` are the alternatives of the model,
    `earlier` the refusals one observation before.
    """

    server: int
    time: int
    source: str
    what: str
    explained: int
    observations: int
    state: dict[str, str]
    guards: tuple[str, ...]
    earlier: tuple[str, ...] = ()
    packet: SeenPacket | None = None


class Conformance(Struct, frozen=True):
    """The verdict on a recording. `undecided` has the reasons, a line each, if there is none.

    `schedule` is the run of the model that explains it; `states` is the number of states tried at all servers. The
    `differences` are in the order of their times; `before` is the run of the model up to the first of them, as far as
    it is known.
    """

    folder: Path
    zookeeper: str
    verdict: Literal["conforms", "differs", "undecided"]
    packets: int
    states: int = 0
    schedule: Schedule | None = None
    differences: tuple[Difference, ...] = ()
    undecided: tuple[str, ...] = ()
    before: Schedule | None = None


class BrokenProperties(Struct, frozen=True):
    """The properties broken by the run of the model that explains a recording, and the shortest run that was found.

    `minimal` breaks the first of the `properties` in the same version; None if it was not looked for.
    """

    properties: tuple[str, ...]
    minimal: Schedule | None


def broken_by(schedule: Schedule, seconds: float, first: Collection[str] = ()) -> BrokenProperties | None:
    """Return the properties that a run of the model breaks, minimised for at most `seconds` of CPU time; None if none.

    The properties are in the order of the verdicts, but those of `first` come first. O(steps) if `seconds` is 0.
    """
    verdicts = replay_on(ZOOKEEPER, schedule).verdicts
    names = [each.property for each in verdicts if each.status == "violated"]
    broken = tuple(sorted(names, key=lambda name: name not in first))
    if not broken:
        return None
    if not seconds:
        return BrokenProperties(broken, None)
    shortened = minimise(ZOOKEEPER, schedule, broken[0], seconds, ("version", "defects"))
    return BrokenProperties(broken, shortened.schedule)


def release_of(version: str) -> Release | None:
    """Return the release of the model for a version of ZooKeeper: the same as far as the model goes."""
    numbers = tuple(int(each) for each in version.split("-")[0].split(".") if each.isdecimal())
    for first, last, release in _SAME:
        if first <= numbers <= last:
            return release
    return None


_SAME: tuple[tuple[tuple[int, ...], tuple[int, ...], Release], ...] = (
    ((3, 4, 10), (3, 4, 10), "3.4.10"),
    ((3, 5, 5), (3, 5, 9), "3.5.5"),
    ((3, 6, 3), (3, 6, 4), "3.6.3"),
    ((3, 7, 0), (3, 8, 4), "3.8.0"),
    ((3, 8, 5), (3, 8, 6), "3.9.2"),
    ((3, 9, 0), (3, 9, 1), "3.8.0"),
    ((3, 9, 2), (3, 9, 2), "3.9.2"),
    ((3, 9, 3), (3, 9, 3), "3.9.3"),
    ((3, 9, 4), (3, 9, 5), "3.9.5"),
)


def conform(folder: Path, release: Release | None = None, most_states: int = MOST_STATES) -> Conformance:
    """Decide whether the recording in `folder` is a run of the model. RecordingError if it is malformed.

    The model is that of its version, unless `release` names another. At most `most_states` states are tried for each
    server; each costs O(length of its log).
    """
    recording = read_sorted(folder)
    sent = [record for record in recording.records if isinstance(record, Sent)]
    version = recording.run.zookeeper
    release = release_of(version) if release is None else release
    if release is None:
        return Conformance(
            folder, version, "undecided", len(sent), undecided=(f"the model has no ZooKeeper {version}",)
        )
    try:
        records, unknown = server_records(recording)
    except ValueError as error:
        return Conformance(folder, version, "undecided", len(sent), undecided=(str(error),))
    trees: dict[int, Chain] = {}
    searches = [
        ServerSearch(Moves(record, release, recording.run.servers, recording.names, trees), most_states)
        for record in records
    ]
    _run(searches, trees)
    return _concluded(recording, sent, searches, unknown, trees)


def _run(searches: list[ServerSearch], trees: dict[int, Chain]) -> None:
    """Run the searches, each as far as it gets: one that has to read a SNAP waits for its sender's search."""
    goes_on = True
    while goes_on:
        goes_on = False
        for search in searches:
            if search.found is not None or (search.waits_for is not None and search.waits_for not in trees):
                continue
            if search.states and search.waits_for is None:
                continue  # nothing is left to be tried
            search.run()
            goes_on = True
            for attempt in search.best.path() if search.best is not None else ():
                for packet, tree in attempt.trees:
                    trees.setdefault(packet, tree)


def _undecided(search: ServerSearch) -> str:
    """Return why the search has found no run of the server, though there may be one; "" otherwise."""
    if search.found is not None:
        return ""
    server = search.moves.record.server
    if search.waits_for is not None:
        return f"server {server}: it was sent a tree (packet {search.waits_for}) that is not known"
    if search.gave_up:
        where = _difference(search)
        return f"server {server}: {search.states} states were tried, and none leads to {where.source}: {where.what}"
    return ""


def _concluded(
    recording: SortedRecording,
    sent: list[Sent],
    searches: list[ServerSearch],
    unknown: dict[int, str],
    trees: dict[int, Chain],
) -> Conformance:
    folder, version = recording.folder, recording.run.zookeeper
    states = sum(search.states for search in searches)
    undecided = [f"server {server}: {why}" for server, why in unknown.items()]
    undecided += [why.words() for why in recording.missing]
    found = [search.found for search in searches if search.found is not None]
    undecided += [why for why in map(_undecided, searches) if why]
    differences = [_difference(each) for each in searches if each.found is None and not _undecided(each)]
    told = [each for attempt in found for step in attempt.path() for each in step.trees]
    undecided += [
        f"packet {packet}: its sender's tree may have been another one"
        for packet, tree in told
        if trees[packet] != tree
    ]
    if not differences and undecided:
        return Conformance(folder, version, "undecided", len(sent), states, undecided=tuple(undecided))
    servers, switches = recording.run.servers, searches[0].moves.switches
    if differences:
        differences.sort(key=lambda each: each.time)
        paths = [search.best.path() for search in searches if search.best is not None]
        before = schedule_of(up_to(differences[0].time, paths), sent, servers, switches)
        told_all = tuple(differences), tuple(undecided)
        return Conformance(folder, version, "differs", len(sent), states, None, *told_all, before)
    schedule = schedule_of([attempt.path() for attempt in found], sent, servers, switches)
    stuck = not_enabled(schedule)
    if stuck:
        undecided.append(
            f"each server's part is a run of the model, but put together choice {stuck[0]} is not possible: "
            f"{schedule.choices[stuck[0]]}"
        )
        return Conformance(folder, version, "undecided", len(sent), states, undecided=tuple(undecided))
    return Conformance(folder, version, "conforms", len(sent), states, schedule)


def in_lines(of: Conformance) -> list[str]:
    """Return indented lines with the details of a verdict: the differences, and the open questions."""
    lines = [line for difference in of.differences for line in _lines(difference)]
    return lines + [f"left open: {why}" for why in of.undecided]


def _lines(of: Difference) -> Iterator[str]:
    yield f"server {of.server}: nothing in the model leads to {of.source}: {of.what}"
    yield f"  explained before it: {of.explained} of {counted(of.observations, 'observation', 'observations')}"
    if of.state:
        yield f"  the last state: {state_in_words(of)}"
    if not of.guards and not of.earlier:
        yield f"  {NOTHING}"
    for guard in of.guards:
        yield f"  not so: {guard}"
    for guard in of.earlier:
        yield f"  not so either, one observation before: {guard}"


def state_in_words(of: Difference) -> str:
    """Return one line with the server's state in the model."""
    return "; ".join(f"{name} {value}".strip() for name, value in of.state.items() if value)


def _difference(search: ServerSearch) -> Difference:
    record = search.moves.record
    if search.refused_start:
        return Difference(record.server, 0, "its start", search.refused_start, 0, len(record.observations), {}, ())
    stuck = search.stuck()
    return Difference(
        record.server,
        stuck.goal.time,
        stuck.goal.source,
        in_words(stuck.goal, record.connections),
        stuck.attempt.at,
        len(record.observations),
        _state(stuck.attempt),
        stuck.guards,
        stuck.earlier,
        _packet(stuck.goal, record) if isinstance(stuck.goal, Sends) else None,
    )


def _packet(of: Sends, record: ServerRecord) -> SeenPacket:
    kind, carries = in_parts(of.key)
    return SeenPacket(kind, carries, record.connections[of.connection].peer)


def _state(attempt: Attempt) -> dict[str, str]:
    """Return the variables of the server, long sequences cut to their last ones."""
    return {
        name: str(value) if isinstance(value, str) else _short(value)
        for name, value in describe(attempt.server).items()
    }


def _short(values: tuple[str, ...]) -> str:
    more = len(values) - _SHOWN
    return " ".join(([f"{more} more,"] if more > 0 else []) + list(values[-_SHOWN:]))

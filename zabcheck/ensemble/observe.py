"""A recording becomes a trace: what the servers of a real ensemble showed, in the vocabulary of the properties.

Every event is somebody's word, and that is kept beside it: a line of a server's log, a packet, a disk, a client. What
is not known is not invented: it is left out, and said in a note. If something is left out that would make the verdict
wrong (a log that cannot be read, a history of unknown origin), the trace says that it is not complete, so the verdict
is inconclusive.

What is told of each server, and from what: `zabcheck.ensemble.watch`.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from invariants.chain import Chain
from invariants.events import AckEpoch, End, Event, Header, Zxid
from invariants.trace import dump
from zabcheck.ensemble.identity import Names
from zabcheck.ensemble.lives import Life, Lives, Moment, read_lives
from zabcheck.ensemble.recording import Disk, Sent
from zabcheck.ensemble.server_log import Delivering, Proposing
from zabcheck.ensemble.watch import Watch

TRACE = "trace.jsonl"
SOURCES = "trace.sources.jsonl"


class Observation(Struct, frozen=True):
    """A trace, with the source of each event, and notes: what is not known of the run, a sentence each.

    `partial` says why the trace is not complete, if it is not. `holes` are those of these reasons by which something
    may be missing in the middle of it, so that what is sound may seem to be a violation.
    """

    header: Header
    events: tuple[Event, ...]
    sources: tuple[str, ...]
    notes: tuple[str, ...]
    partial: tuple[str, ...]
    holes: tuple[str, ...] = ()

    def trace(self) -> Iterator[Event]:
        """Header, events and end."""
        yield self.header
        yield from self.events
        yield End(len(self.events), not self.partial)


def observe(folder: Path) -> Observation:
    """The trace of the recording in `folder`. O(records + lines of the logs). RecordingError if it is malformed."""
    return observe_lives(read_lives(folder))


def observe_lives(lives: Lives) -> Observation:
    """The trace of a recording that was read already."""
    return _Observer(lives).observe()


def write_trace(observation: Observation, folder: Path) -> Path:
    """Write the trace into `folder`, and the sources of its events beside it; gives the path of the trace.

    Line k of the file of sources says where line k of the trace is from.
    """
    path = folder / TRACE
    with path.open("wb") as file:
        file.writelines(dump(observation.trace()))
    with (folder / SOURCES).open("wb") as file:
        for source in ("recording", *observation.sources, "recording"):
            file.write(msgspec.json.encode({"source": source}) + b"\n")
    return path


class _Observer:
    def __init__(self, lives: Lives) -> None:
        self.lives = lives
        self.events: list[Event] = []
        self.sources: list[str] = []
        self.notes: list[str] = []
        self.names = names_of(lives)
        self.watches = {
            number: Watch(number, self.names, self._emit, self.notes.append, self._snapshot_of)
            for number in lives.by_server
        }

    def _emit(self, event: Event, source: str) -> None:
        self.events.append(event)
        self.sources.append(source)

    def _snapshot_of(self, server: int, zxid: Zxid) -> Chain | None:
        watch = self.watches.get(server)
        if watch is None or watch.unknown:
            return None
        snapshot = watch.history.up_to(zxid)
        return snapshot if not zxid.counter or snapshot.zxid == zxid else None

    def observe(self) -> Observation:
        for life, what in _in_time(self.lives):
            watch = self.watches[life.server]
            if what == "begin":
                watch.begin(life)
            elif isinstance(what, Moment):
                watch.see(what.what)
            else:
                watch.end(life)
        self._leave_out()
        # The last of what is missing may be the end of the recording, and everything before it is there.
        end = [] if self.lives.complete else [self.lives.missing[-1]]
        holes = self.lives.missing[: len(self.lives.missing) - len(end)]
        for server in self.lives.by_server.values():
            for life in server:
                holes += life.log.problems
        holes += [f"server {watch.server}: {watch.unknown}" for watch in self.watches.values() if watch.unknown]
        run = self.lives.run
        header = Header(1, run.servers, f"zookeeper-{run.zookeeper}", order="per-process")
        return Observation(
            header, tuple(self.events), tuple(self.sources), tuple(self.notes), (*holes, *end), tuple(holes)
        )

    def _leave_out(self) -> None:
        """Without the history of a leader, those of its followers would seem to be the only ones it could take."""
        epochs = sorted(epoch for watch in self.watches.values() for epoch in watch.silent_epochs)
        if not epochs:
            return
        self.notes.append(f"no ACK-E is told at all, for that of the leader of epoch {epochs[0]} is not known")
        kept = [pair for pair in zip(self.events, self.sources, strict=True) if not isinstance(pair[0], AckEpoch)]
        self.events = [event for event, _ in kept]
        self.sources = [source for _, source in kept]


def _in_time(lives: Lives) -> Iterator[tuple[Life, Moment | str]]:
    """Everything that happened, in the order in which it is gone through; each server's own order is kept."""
    turns: list[tuple[int, int, int, Life, Moment | str]] = []
    for number, server in lives.by_server.items():
        now = 0
        steps: list[tuple[int, Life, Moment | str]] = []
        for life in server:
            steps.append((life.started.time, life, "begin"))
            steps += [(moment.time, life, moment) for moment in life.moments]
            if life.ended is not None:
                steps.append((life.ended.time, life, "end"))
            elif life.after is not None:
                steps.append((life.after.time, life, "end"))
        for index, (time, life, what) in enumerate(steps):
            now = max(now, time)
            turns.append((now, number, index, life, what))
    turns.sort(key=lambda turn: turn[:3])
    for *_, life, what in turns:
        yield life, what


def names_of(lives: Lives) -> Names:
    """The names of all transactions that anybody tells of. O(their number)."""
    names = Names(lives.records)
    for record in lives.records:
        if isinstance(record, Disk):
            for logged in record.log:
                names.learn(logged)
        elif isinstance(record, Sent) and record.txn is not None and record.kind in ("PROPOSAL", "INFORM"):
            names.learn(record.txn)
    for server in lives.by_server.values():
        for life in server:
            for line in life.log.lines:
                if isinstance(line, Proposing | Delivering):
                    names.txn(line)
    return names

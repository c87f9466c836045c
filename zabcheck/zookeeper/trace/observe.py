"""A recording becomes a trace: what the servers of a real ensemble showed, in the vocabulary of the properties.

Every event has a source, which is kept beside it: a line of a server's log, a packet, a disk, a client. What is not
known is not invented: it is left out, and a note says so. If something is left out that would make the verdict wrong (a
log that cannot be read, a history of unknown origin), the trace says that it is not complete, so the verdict is
inconclusive.

How the events of one server follow from its log, packets and disk: `zabcheck.zookeeper.trace.observed_server`.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import AckEpoch, End, Event, Header, Zxid
from zabcheck.invariants.quorums import MAJORITY
from zabcheck.invariants.trace import dump
from zabcheck.text.files import whole
from zabcheck.zookeeper.recording.records import Fault, Lost
from zabcheck.zookeeper.trace.configurations import notes_on_configurations
from zabcheck.zookeeper.trace.incarnations import SortedRecording, read_sorted
from zabcheck.zookeeper.trace.lists import notes_on_lists
from zabcheck.zookeeper.trace.messages import Messages, Network
from zabcheck.zookeeper.trace.moments import Moment, PacketReceived, PacketSent
from zabcheck.zookeeper.trace.notes import NoAckEpoch, Note
from zabcheck.zookeeper.trace.observed_server import ObservedServer
from zabcheck.zookeeper.trace.order import Bound, Turn, in_order
from zabcheck.zookeeper.trace.sources import Intervention, PacketSeen, Source

TRACE = "trace.jsonl"
SOURCES = "trace.sources.jsonl"


class ObservedRun(Struct, frozen=True):
    """A trace, with the source of each event, and notes on what is not known of the run, or unusual.

    `partial` has the reasons why the trace is not complete, if it is not. `holes` are those reasons because of which
    something may be missing in the middle of the trace, so that a sound run may seem to violate a property.
    """

    header: Header
    events: tuple[Event, ...]
    sources: tuple[Source, ...]
    notes: tuple[Note, ...]
    partial: tuple[Note, ...]
    holes: tuple[Note, ...] = ()
    times: tuple[int, ...] = ()
    """Times of the events, as far as known, in microseconds since 1970, to put other records among them. No property
    looks at it."""

    def trace(self) -> Iterator[Event]:
        """Yield header, events and end."""
        yield self.header
        yield from self.events
        yield End(len(self.events), not self.partial)


def observe(folder: Path) -> ObservedRun:
    """Make the trace of the recording in `folder`. O(records + lines of logs). RecordingError if it is malformed."""
    return observe_sorted(read_sorted(folder))


def observe_sorted(recording: SortedRecording) -> ObservedRun:
    """Make the trace of a recording that was read already."""
    return _Observer(recording).observe()


def write_trace(observation: ObservedRun, folder: Path) -> Path:
    """Write the trace into `folder`, and the sources of its events beside it; return the path of the trace.

    Line k of the file of sources says where line k of the trace is from.
    """
    path = folder / TRACE
    with whole(path) as file:
        file.writelines(dump(observation.trace()))
    with whole(folder / SOURCES) as file:
        for source in ("recording", *(each.words() for each in observation.sources), "recording"):
            file.write(msgspec.json.encode({"source": source}) + b"\n")
    return path


class _Observer:
    def __init__(self, recording: SortedRecording) -> None:
        self.recording = recording
        self.events: list[Event] = []
        self.sources: list[Source] = []
        self.times: list[int] = []
        self.now = 0
        self.notes: list[Note] = []
        self.messages = Messages(recording.names)
        self.network = Network(lambda server: self.servers[server].incarnation)
        self.servers = {
            number: ObservedServer(number, recording.names, self._emit, self.notes.append, self._snapshot_of)
            for number in recording.by_server
        }

    def _emit(self, event: Event, source: Source) -> None:
        self.events.append(event)
        self.sources.append(source)
        self.times.append(self.now)

    def _snapshot_of(self, number: int, zxid: Zxid) -> Chain | None:
        server = self.servers.get(number)
        if server is None or server.unknown is not None:
            return None
        snapshot = server.history.up_to(zxid)
        return snapshot if not zxid.counter or snapshot.zxid == zxid else None

    def observe(self) -> ObservedRun:
        for turn in in_order(self.recording):
            self._take(turn)
        self.notes += notes_on_lists(self.recording.records)
        self.notes += notes_on_configurations(self.recording.records)
        self._leave_out()
        # The last of what is missing may be the end of the recording, and everything before it is there.
        end = [] if self.recording.complete else [self.recording.missing[-1]]
        holes: list[Note] = self.recording.missing[: len(self.recording.missing) - len(end)]
        for server in self.recording.by_server.values():
            for incarnation in server:
                holes += incarnation.log.problems
        holes += [server.unknown for server in self.servers.values() if server.unknown is not None]
        run = self.recording.run
        voters = run.servers - run.observers
        quorums = "weights " + ",".join("1" * voters + "0" * run.observers) if run.observers else MAJORITY
        header = Header(1, run.servers, f"zookeeper-{run.zookeeper}", quorums, order="per-process")
        return ObservedRun(
            header,
            tuple(self.events),
            tuple(self.sources),
            tuple(self.notes),
            (*holes, *end),
            tuple(holes),
            tuple(self.times),
        )

    def _take(self, turn: Turn) -> None:
        """Make the events of a turn: a message is received before its effects, and sent after what it reports."""
        incarnation, what = turn.incarnation, turn.what
        self.now = max(self.now, turn.time)
        if incarnation is None:
            assert not isinstance(what, Moment | Bound), "those belong to an incarnation"
            if isinstance(what, Lost):
                self._show(self.messages.lost(what), PacketSeen(what.packet))
            else:
                self._show(self.network.event(what), Intervention(by_proxy=isinstance(what, Fault)))
            return
        server = self.servers[incarnation.server]
        match what:
            case Bound.BEGIN:
                server.begin(incarnation)
            case Bound.END:
                server.end(incarnation)
            case Moment(what=PacketReceived(packet)):
                self._show(self.messages.received(packet, incarnation.number), PacketSeen(packet.packet))
                server.see(what.what)
            case Moment(what=PacketSent(packet)):
                server.see(what.what)
                self._show(self.messages.sent(packet, incarnation.number), PacketSeen(packet.packet))
            case Moment():
                server.see(what.what)

    def _show(self, event: Event | None, source: Source) -> None:
        if event is not None:
            self._emit(event, source)

    def _leave_out(self) -> None:
        """Leave out every ACK-E if a leader's history is not known: its choice would seem to ignore its own history."""
        epochs = sorted(epoch for server in self.servers.values() for epoch in server.silent_epochs)
        if not epochs:
            return
        self.notes.append(NoAckEpoch(epochs[0]))
        told = zip(self.events, self.sources, self.times, strict=True)
        kept = [each for each in told if not isinstance(each[0], AckEpoch)]
        self.events = [event for event, _, _ in kept]
        self.sources = [source for _, source, _ in kept]
        self.times = [time for _, _, time in kept]

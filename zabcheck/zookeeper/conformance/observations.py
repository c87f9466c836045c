"""The observations of each server in a recording, in the order in which it must have made them happen.

An observation is something that has happened by a certain time: a packet that the server sent and the proxy read, a
line of its log, its end. The server's own reads are not recorded: a packet can be read from the time at which
it was passed on. Lines have whole milliseconds, so an event in a line has happened by the end of its millisecond, and
not before the beginning.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from zabcheck.invariants import NO_ZXID, Txn, Zxid
from zabcheck.zookeeper.conformance.packets import BESIDE, MODELLED, Key, key_of_packet
from zabcheck.zookeeper.conformance.packets import in_words as packet_in_words
from zabcheck.zookeeper.recording.records import (
    Acknowledged,
    Disk,
    Opened,
    PowerLost,
    Reached,
    Read,
    Sent,
    Undecoded,
    changes_members,
)
from zabcheck.zookeeper.trace.incarnations import Incarnation, SortedRecording
from zabcheck.zookeeper.trace.moments import ClientAnswered, PacketReceived, PacketSent
from zabcheck.zookeeper.trace.server_log import MILLISECOND, Delivering, Election, Proposing, State
from zabcheck.zookeeper.verdict.findings import created_nodes

HANDED_OVER = 20 * MILLISECOND
"""The time by which a packet may have arrived before the proxy had recorded that it was passed on."""


class Observation(Struct, frozen=True):
    """Something that a server has done by `time`. `source` is its place in the recording."""

    time: int
    source: str


class Starts(Observation, frozen=True):
    """An incarnation starts: not the first one."""


class Sends(Observation, frozen=True):
    """The server sent the packet at this position of this connection (one of `ServerRecord`)."""

    connection: int
    position: int
    key: Key


class Leads(Observation, frozen=True):
    """The election has named the server itself."""


class Leaves(Observation, frozen=True):
    """The server is LOOKING: it has left its iteration.

    Up to here its log names `applied` transactions as applied. The last one may have been only in hand.
    """

    applied: int


class Votes(Observation, frozen=True):
    """The server votes for itself with this zxid: its lastProcessedZxid."""

    zxid: Zxid


class Proposes(Observation, frozen=True):
    """The server has broadcast this number of transactions in this incarnation."""

    count: int
    txn: Txn


class Applies(Observation, frozen=True):
    """The applying thread has applied this number of transactions in this incarnation, by the time of the next line.

    The line of a transaction comes before it is applied, which can take as long as another thread holds the lock.
    """

    count: int
    txn: Txn


class Answers(Applies, frozen=True):
    """A client was told that this transaction is done, so the server had applied it: one thread does both, in order.

    If the log does not have it as applied at all, `count` is one more than the log names, and it has no value.
    """

    client: int


class Reads(Applies, frozen=True):
    """The server was read at the end, with the nodes that clients asked for and it has.

    Its tree has the transactions `there`, of which `txn` is the last that its log applies, and none of `absent`.
    """

    there: frozenset[Txn]
    absent: frozenset[Txn]


class Ends(Observation, frozen=True):
    """The incarnation ends; its disk then, None if that is not known; the snapshots by their labels."""

    log: tuple[Txn, ...] | None
    accepted_epoch: int = 0
    current_epoch: int = 0
    snapshots: tuple[Zxid, ...] | None = None


class InboundPacket(Struct, frozen=True):
    """A packet for the server that can be read from `time` on."""

    time: int
    packet: Sent
    key: Key


class LogMention(Struct, frozen=True):
    """A transaction that a line of the log names, and the beginning of the line's millisecond."""

    time: int
    txn: Txn


class Connection(Struct):
    """A connection of a server to `peer`: the packets passed on to the server, and those it sent, each in order."""

    peer: int
    opened: int
    inbound: list[InboundPacket]
    outbound: list[tuple[Sent, Key]]
    acks: dict[Zxid, int]
    """The place of each transaction's ACK among the packets passed on."""
    truncs: list[int]
    """The place of each TRUNC."""


class ServerRecord(Struct):
    """Everything that a recording shows of one server. `proposed` and `applied` have a list for each incarnation."""

    server: int
    observations: list[Observation]
    connections: list[Connection]
    proposed: list[list[LogMention]]
    applied: list[list[LogMention]]


def in_words(observation: Observation, connections: Sequence[Connection]) -> str:
    """Return as text the act of a server with these connections."""
    match observation:
        case Sends(connection=connection, key=key):
            return f"{packet_in_words(key)} to server {connections[connection].peer}"
        case Starts():
            return "it is up again"
        case Leads():
            return "it leads"
        case Leaves():
            return "it looks for a leader"
        case Votes(zxid=zxid):
            return f"it votes with {zxid}"
        case Proposes(txn=txn):
            return f"it broadcasts {txn}"
        case Answers(client=client, txn=txn):
            never = "" if txn.value else ", which by its log it does not apply"
            return f"it tells client {client} that {txn} is done{never}"
        case Reads(there=there, absent=absent):
            return f"it has {len(there)} of the {len(there) + len(absent)} nodes whose creation it knows of"
        case Applies(txn=txn):
            return f"it applies {txn}"
        case Ends(log=None):
            return "it ends"
        case Ends(log=log, accepted_epoch=accepted, current_epoch=current, snapshots=snapshots):
            assert log is not None, "the other case"
            last = f"up to {log[-1]}" if log else "empty"
            labels = "" if snapshots is None else f", snapshots {' '.join(map(str, snapshots))}"
            return f"acceptedEpoch {accepted}, currentEpoch {current}, a log of {len(log)}, {last}{labels}"
    raise TypeError(f"not an observation: {observation!r}")


def server_records(recording: SortedRecording) -> tuple[list[ServerRecord], dict[int, str]]:
    """Return the records of the servers; and the servers that nothing can be decided about, each with the reason.

    ValueError, in one line, if something was recorded that has no counterpart in the model.
    """
    if any(map(changes_members, recording.records)):
        raise ValueError("the model has no lists of servers that change")
    for record in recording.records:
        if isinstance(record, Sent) and record.kind not in MODELLED and record.kind not in BESIDE:
            raise ValueError(f"the model has no packet {record.kind} (packet {record.packet})")
        if isinstance(record, Reached) and record.what == "failed":
            raise ValueError(f"the model has no disk that fails while the process goes on (server {record.server})")
    for number, server in recording.by_server.items():
        for incarnation in server:
            if incarnation.wiped and not all(map(_wrote_nothing, server[: incarnation.number])):
                raise ValueError(f"the model has no disk that is emptied or replaced (server {number})")
    unknown = dict(_unknown(recording))
    return [
        _record(number, server, recording) for number, server in recording.by_server.items() if number not in unknown
    ], unknown


def _wrote_nothing(incarnation: Incarnation) -> bool:
    """Return True if the server received no packets, so that its disk is as empty as it was before.

    Nor has it led then, except for the snapshot of an empty tree. A server that does not come up at first is emptied
    and started again, before a schedule begins.
    """
    return not any(
        isinstance(moment.what, PacketReceived) and moment.what.packet.kind in MODELLED
        for moment in incarnation.moments
    )


def _unknown(recording: SortedRecording) -> Iterable[tuple[int, str]]:
    """Yield the servers with a source that cannot be read, each with the reason."""
    for number, server in recording.by_server.items():
        for incarnation in server:
            file = incarnation.log.file
            if incarnation.log.problems:
                yield number, incarnation.log.problems[0].words()
            elif not any(isinstance(line, State) for line in incarnation.log.lines) and _was_up(incarnation):
                yield number, f"{file}: it does not say whom the server follows"
    quorum = {each.connection for each in recording.records if isinstance(each, Opened) and each.port == "quorum"}
    for record in recording.records:
        if isinstance(record, Undecoded) and record.connection in quorum:
            for number in (record.sender, record.receiver):
                yield number, f"connection {record.connection} could not be decoded: {record.reason}"
        elif isinstance(record, Sent) and record.kind == "PROPOSAL" and record.txn is None:
            for number in (record.sender, record.receiver):
                yield number, f"the transaction of packet {record.packet}, a PROPOSAL, could not be decoded"


def _was_up(incarnation: Incarnation) -> bool:
    """Return True if the server has got to an election: it has sent a packet."""
    return any(isinstance(moment.what, PacketSent) for moment in incarnation.moments)


def _record(number: int, server: list[Incarnation], recording: SortedRecording) -> ServerRecord:
    found = ServerRecord(number, [], [], [], [])
    of: dict[int, int] = {}
    for incarnation in server:
        if incarnation.number:
            found.observations.append(
                Starts(incarnation.started.time, f"the start of incarnation {incarnation.number}")
            )
        _take_packets(found, incarnation, recording, of)
        observed = _sends(found, incarnation, recording, of) + _lines(found, incarnation, recording)
        end = _end(incarnation, recording)
        observed.sort(key=lambda each: each.time)
        found.observations += observed
        if end is not None:
            found.observations.append(end)
    return found


def _take_packets(
    found: ServerRecord, incarnation: Incarnation, recording: SortedRecording, of: dict[int, int]
) -> None:
    """Sort what the incarnation received and sent by connection."""
    names = recording.names
    for moment in incarnation.moments:
        if not isinstance(moment.what, PacketReceived | PacketSent) or moment.what.packet.kind not in MODELLED:
            continue
        packet = moment.what.packet
        if packet.connection not in of:
            of[packet.connection] = len(found.connections)
            peer = packet.sender if packet.receiver == found.server else packet.receiver
            found.connections.append(Connection(peer, packet.time, [], [], {}, []))
        connection = found.connections[of[packet.connection]]
        key = key_of_packet(packet, names)
        if isinstance(moment.what, PacketSent):
            connection.outbound.append((packet, key))
        else:
            if packet.kind == "ACK":
                connection.acks.setdefault(Zxid.unpack(packet.zxid), len(connection.inbound))
            elif packet.kind == "TRUNC":
                connection.truncs.append(len(connection.inbound))
            time = max(packet.time, moment.time - HANDED_OVER)
            connection.inbound.append(InboundPacket(time, packet, key))


def _sends(
    found: ServerRecord, incarnation: Incarnation, recording: SortedRecording, of: dict[int, int]
) -> list[Observation]:
    observed: list[Observation] = []
    counts: dict[int, int] = {}
    for moment in incarnation.moments:
        if isinstance(moment.what, PacketSent) and moment.what.packet.kind in MODELLED:
            packet = moment.what.packet
            connection = of[packet.connection]
            position = counts.get(connection, 0)
            counts[connection] = position + 1
            key = found.connections[connection].outbound[position][1]
            observed.append(Sends(packet.time, f"packet {packet.packet}", connection, position, key))
    return sorted(observed, key=lambda each: each.time)


def _lines(found: ServerRecord, incarnation: Incarnation, recording: SortedRecording) -> list[Observation]:
    observed: list[Observation] = []
    proposed: list[LogMention] = []
    applied: list[LogMention] = []
    left, before = 0, ""
    file, names = incarnation.log.file, recording.names
    for line in incarnation.log.lines:
        by, source = line.time + incarnation.log.cut, f"{file}:{line.number}"
        match line:
            case State(role="leading"):
                observed.append(Leads(max(line.time, left), source))
            case State(role="looking"):
                left = by
                observed.append(Leaves(by, source, len(applied)))
            case Election():
                observed.append(Votes(by, source, Zxid.unpack(line.zxid)))
            case Proposing():
                proposed.append(LogMention(line.time, names.txn(line)))
                observed.append(Proposes(by, source, len(proposed), proposed[-1].txn))
            case Delivering():
                if applied:  # the thread goes on to the next one when it has done with this one
                    observed.append(Applies(by, before, len(applied), applied[-1].txn))
                applied.append(LogMention(line.time, names.txn(line)))
                before = source
    found.proposed.append(proposed)
    found.applied.append(applied)
    return observed + list(_answers(incarnation, applied, recording))


def _answers(
    incarnation: Incarnation, applied: Sequence[LogMention], recording: SortedRecording
) -> Iterator[Observation]:
    counts: dict[Zxid, int] = {}
    for count, told in enumerate(applied, 1):
        counts.setdefault(told.txn.zxid, count)
    for moment in incarnation.moments:
        match moment.what:
            case ClientAnswered(record=Acknowledged() as record):
                zxid = Zxid.unpack(record.zxid)
                count = counts.get(zxid, len(applied) + 1)
                txn = applied[count - 1].txn if zxid in counts else Txn(zxid, "")
                source = f"the answer to write {record.number} of client {record.client}"
                yield Answers(record.time, source, count, txn, record.client)
            case ClientAnswered(record=Read() as record):
                if not _was_without_power(record.server, record.time, recording):
                    yield _read(record, applied, recording)


def _read(record: Read, applied: Sequence[LogMention], recording: SortedRecording) -> Reads:
    names = recording.names
    found = (names.find(Zxid.unpack(zxid), path) for path, zxid in record.nodes)
    there = frozenset(txn for txn in found if txn is not None)
    known = {txn for txn in created_nodes(recording) if txn.zxid.packed() <= record.reached}
    counts = [count for count, told in enumerate(applied, 1) if told.txn in there and told.time <= record.time]
    count = max(counts, default=0)
    txn = applied[count - 1].txn if count else Txn(NO_ZXID, "")
    return Reads(record.time, f"the read of server {record.server}", count, txn, there, frozenset(known - there))


def _end(incarnation: Incarnation, recording: SortedRecording) -> Ends | None:
    disk, ended = incarnation.after, incarnation.ended
    if ended is None:
        return None
    source = f"the disk of server {incarnation.server} after incarnation {incarnation.number}"
    if disk is None:
        return Ends(ended.time, f"the end of incarnation {incarnation.number}", None)
    epochs = disk.accepted_epoch or 0, disk.current_epoch or 0
    return Ends(ended.time, source, _logged(disk, recording), *epochs, _snapshots(disk, recording))


def _snapshots(disk: Disk, recording: SortedRecording) -> tuple[Zxid, ...] | None:
    """Return the labels of the snapshots; None if a power failure may have taken one, or none was written yet."""
    failed = _was_without_power(disk.server, disk.time, recording)
    return None if failed or not disk.snapshots else tuple(sorted(map(Zxid.unpack, disk.snapshots)))


def _was_without_power(server: int, until: int, recording: SortedRecording) -> bool:
    """Return True if the power of a server has failed: then it may have lost a snapshot that the model's server has."""
    failures = (each for each in recording.records if isinstance(each, PowerLost))
    return any(each.server == server and each.time <= until for each in failures)


def _logged(disk: Disk, recording: SortedRecording) -> tuple[Txn, ...]:
    return tuple(recording.names.txn(each) for each in disk.log)

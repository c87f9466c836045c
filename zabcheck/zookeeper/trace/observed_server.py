"""One server as it is observed: its history in memory and on disk, and the events that follow from its acts.

A server's log has its broadcasts and deliveries, but not the deliveries of an *initial history*: the server simply has
that when it is established as leader, or up to date as follower. So the history of each server is followed:

- it starts with the contents of the disk (all of the log; an uncommitted record is accepted, not delivered);
- at each election the log has the end of the memory;
- the leader of the next iteration changes it (`synchronisation`): TRUNC cuts it, SNAP replaces it, PROPOSAL adds to it;
- the server's own proposals as leader are added.
"""

from collections.abc import Callable

from zabcheck.invariants.chain import EMPTY, Chain
from zabcheck.invariants.events import (
    AckEpoch,
    Broadcast,
    ClientAck,
    CommitEpoch,
    Crash,
    Establish,
    Event,
    FinalRead,
    Halt,
    Ready,
    Recover,
    Txn,
    Zxid,
)
from zabcheck.zookeeper.disk.snapshot import SNAPSHOT_PREFIX
from zabcheck.zookeeper.recording.records import Acknowledged, Disk, Exited, Read, Sent, Stopped
from zabcheck.zookeeper.trace.disks import ascending, latest_snapshot, loaded
from zabcheck.zookeeper.trace.incarnations import Incarnation
from zabcheck.zookeeper.trace.leftovers import Leftovers
from zabcheck.zookeeper.trace.moments import (
    LEADING_SYNCHRONIZATION,
    ClientAnswered,
    LineLogged,
    LoggedIteration,
    Occurrence,
    PacketReceived,
    PacketSent,
)
from zabcheck.zookeeper.trace.names import Names
from zabcheck.zookeeper.trace.notes import (
    AckEpochUnknown,
    AckOfUnknown,
    ActivationMissed,
    CameBack,
    CutAboveSnapshot,
    DeliveredLater,
    DiskUnknown,
    DiskWiped,
    EpochUnknown,
    EpochWithoutHistory,
    MemoryUnknown,
    NeverProposed,
    Note,
    ReadOfUnknown,
    RecordsRepeated,
    SnapshotLost,
    SnapshotTakenOver,
    SnapshotUnknown,
)
from zabcheck.zookeeper.trace.server_log import (
    Delivering,
    Election,
    Failure,
    NewLeader,
    Phase,
    Proposing,
    SnapshotTaken,
    State,
    Supporters,
    UpToDate,
)
from zabcheck.zookeeper.trace.shown import Deliveries, Durable, Emit
from zabcheck.zookeeper.trace.sources import (
    AnswerTo,
    DiskAfter,
    FinalReading,
    Intervention,
    LogPlace,
    PacketSeen,
    Source,
)
from zabcheck.zookeeper.trace.synchronisation import Synchronisation
from zabcheck.zookeeper.wire.zxids import epoch_of

SnapshotOf = Callable[[int, Zxid], Chain | None]
"""Returns the history of a server up to a zxid, None if it is not known."""


class ObservedServer:
    """One server, as its moments are gone through: its history, and the events that follow from what it did.

    `snapshot_of` returns the history of another server up to a zxid, None if that is not known.
    """

    def __init__(
        self, server: int, names: Names, emit: Emit, note: Callable[[Note], None], snapshot_of: SnapshotOf
    ) -> None:
        self.server = server
        self.incarnation = 0
        self.history = EMPTY  # in memory, and what will be
        self.unknown: Note | None = None  # why the history is not known
        self.silent_epochs: list[int] = []  # in which it led, with an AckEpoch that is not known
        self._names = names
        self._emit = emit
        self._note = note
        self._snapshot_of = snapshot_of
        self._fallback = EMPTY  # the history before a synchronisation that failed
        self._snapshot = Zxid(0, 0)  # the latest on its disk
        self._leftovers = Leftovers()
        self._durable = Durable(server, emit)
        self._deliveries = Deliveries(server, emit)
        self._sync: Synchronisation | None = None
        self._file = ""
        self._proposed: dict[Zxid, Txn] = {}  # what it was asked to accept
        self._sent: set[Zxid] = set()  # what it proposes to others in this incarnation
        self._led: set[int | None] = set()  # the epochs in which it leads in this incarnation, by its log

    def _at(self, number: int) -> Source:
        return LogPlace(self._file, number)

    # Beginning and end of an incarnation.

    def begin(self, incarnation: Incarnation) -> None:
        """Begin an incarnation with the contents of the disk."""
        self.incarnation = self._durable.incarnation = incarnation.number
        self._file = incarnation.log.file
        self._sent = {
            Zxid.unpack(moment.what.packet.zxid)
            for moment in incarnation.moments
            if isinstance(moment.what, PacketSent) and moment.what.packet.kind == "PROPOSAL"
        }
        self._led = {
            moment.what.iteration.epoch
            for moment in incarnation.moments
            if isinstance(moment.what, LineLogged)
            and isinstance(moment.what.line, Phase)
            and moment.what.line.text == LEADING_SYNCHRONIZATION
        }
        self._deliveries.start(incarnation.number)
        self._leftovers.start(incarnation.wiped)
        self._sync = None
        if incarnation.number:
            self._emit(Recover(self.server, incarnation.number), Intervention())
        if incarnation.wiped:
            self._note(DiskWiped(self.server, incarnation.number, incarnation.before is not None))
            self._load_anew(incarnation.before)
        elif incarnation.before is not None:
            self._load(incarnation.before)
        elif incarnation.number:
            self._note(DiskUnknown(self.server, incarnation.number))
        self._fallback = self.history

    def _load(self, disk: Disk) -> None:
        """Load memory from the disk."""
        self.history = self._from_disk(disk)
        self._snapshot = latest_snapshot(disk)
        if disk.current_epoch is not None:
            self._durable.current_epoch = disk.current_epoch

    def _load_anew(self, disk: Disk | None) -> None:
        """Load memory from a disk that an operator has put in the place of the server's own; None for an empty one."""
        self.history = EMPTY if disk is None else self._from_disk(disk)
        self._snapshot = Zxid(0, 0) if disk is None else latest_snapshot(disk)
        self._durable.current_epoch = (disk and disk.current_epoch) or 0
        self._durable.promised = (disk and disk.accepted_epoch) or 0
        self._durable.is_unsettled = True

    def _from_disk(self, disk: Disk) -> Chain:
        """Return the history of a server that starts with this disk."""
        txns = ascending(disk, self._names)
        if len(txns) < len(disk.log):
            self._note(RecordsRepeated(self.server, disk.incarnation, len(disk.log) - len(txns)))
        up_to = latest_snapshot(disk)
        logged = (txn for txn in txns if txn.zxid > up_to or not self._leftovers.is_replaced(txn.zxid))
        return loaded(up_to, Chain.of(logged), (self.history, self._durable.history))

    def end(self, incarnation: Incarnation) -> None:
        """End an incarnation; its disk shows transactions that it had accepted without an answer."""
        if incarnation.after is not None:
            self._settle(incarnation.after)
        if incarnation.ended is not None and not isinstance(incarnation.ended, Stopped):
            self._emit(self._ended(incarnation, incarnation.ended), Intervention())
            for name in (name for each in incarnation.power_lost for name in each.files):
                if name.startswith(SNAPSHOT_PREFIX):
                    self._note(SnapshotLost(self.server, name))

    def _ended(self, incarnation: Incarnation, ended: object) -> Event:
        """Return the event of the end: the last incarnation that exits by itself halts, any other crashes."""
        if isinstance(ended, Exited) and incarnation.last:
            failures = [line for line in incarnation.log.lines if isinstance(line, Failure)]
            reason = f": {failures[-1].message}" if failures else ""
            return Halt(self.server, self.incarnation, f"exit code {ended.code}{reason}")
        return Crash(self.server, self.incarnation, sum(each.lost for each in incarnation.power_lost))

    def _settle(self, disk: Disk) -> None:
        logged = [Zxid.unpack(each.zxid) for each in disk.log]
        for note in self._leftovers.notes_on(self.server, logged, latest_snapshot(disk)):
            self._note(note)
        durable = self._from_disk(disk)
        source = DiskAfter(self.server, disk.incarnation)
        sync = self._sync
        packets = sync.packets if sync is not None and sync.logged_newleader else None
        if packets is not None and not packets.acknowledged and disk.current_epoch == packets.epoch:
            assert packets.epoch is not None
            if sync is not None and sync.adopted is not None and sync.adopted.zxid > durable.zxid:
                self._note(EpochWithoutHistory(self.server, packets.epoch, durable.zxid))
            self._durable.adopt(packets.epoch, durable, source, self.unknown is None)
        elif disk.current_epoch == self._durable.current_epoch and not self._durable.is_unsettled:
            self._durable.accept_up_to(durable, source)

    # Moments.

    def see(self, what: Occurrence) -> None:
        """Take in one moment."""
        match what:
            case LineLogged(line, iteration):
                self._hear(line, iteration)
            case PacketReceived(packet):
                if self._sync is not None and self._sync.iteration.connection == packet.connection:
                    self._receive(self._sync, packet)
            case PacketSent(packet):
                self._send(packet)
            case ClientAnswered(Acknowledged() as record, path):
                self._acknowledge(record, path)
            case ClientAnswered(Read() as record):
                self._read(record)

    def _hear(self, line: object, iteration: LoggedIteration) -> None:
        match line:
            case State(_, _, role):
                self._leave()
                self._sync = Synchronisation(self.history, iteration) if role in ("following", "observing") else None
            case Election(number, _, zxid):
                self._reach(Zxid.unpack(zxid), self._at(number))
            case Phase(number, _, text) if text == LEADING_SYNCHRONIZATION:
                self._lead(iteration, self._at(number))
            case Supporters(number, _, zxid):
                self._establish(epoch_of(zxid), self._at(number))
            case Proposing() as proposing:
                txn = self._names.txn(proposing)
                epoch = txn.zxid.epoch if iteration.epoch is None else iteration.epoch
                has_ended = iteration.role != "leading" or txn.zxid.epoch < epoch
                if has_ended and txn.zxid not in self._sent:
                    return  # a thread of a leader that has ended says so: nobody is sent it, nor is it logged
                self._append(txn)
                self._emit(Broadcast(self.server, self.incarnation, epoch, txn), self._at(proposing.number))
            case Delivering() as delivering:
                self._deliveries.deliver(self._names.txn(delivering), self._at(delivering.number))
            case SnapshotTaken(_, _, zxid):
                self._snapshot = max(self._snapshot, Zxid.unpack(zxid))
            case NewLeader() if self._sync is not None:
                self._sync.logged_newleader = True
            case UpToDate(number) if self._sync is not None:
                self._up_to_date(self._sync, self._at(number))

    def _leave(self) -> None:
        """Leave the leader, with the transactions brought behind a TRUNC in memory only."""
        packets = self._sync.packets if self._sync is not None else None
        if self._sync is None or packets is None or packets.sync is None or packets.acknowledged:
            return
        if packets.sync.kind == "TRUNC":
            brought = self._sync.history()
            cut = brought.up_to(Zxid.unpack(packets.sync.zxid)).length
            self._leftovers.leave(brought.after(cut))

    def _append(self, txn: Txn) -> None:
        """Add a transaction to the history, unless it comes again or out of order."""
        self._proposed[txn.zxid] = txn
        if txn.zxid > self.history.zxid:
            self.history = self.history.append(txn)

    def _reach(self, zxid: Zxid, source: Source) -> None:
        """Take in an election: the server's memory reaches up to `zxid`, unless that is the start of an epoch."""
        known = [self.history.up_to(zxid), self._fallback.up_to(zxid)]
        reached = next((chain for chain in known if chain.zxid == zxid), None)
        if reached is None:
            reached = known[0]
            if zxid.counter:
                self._forget(MemoryUnknown(self.server, source, zxid))
        self.history = self._fallback = reached
        if not self._durable.is_unsettled:  # else what a synchronisation brought is of the epoch that it was for
            self._durable.accept_up_to(reached, source)

    def _forget(self, why: Note) -> None:
        if self.unknown is None:
            self.unknown = why
            self._note(why)

    # As follower.

    def _receive(self, sync: Synchronisation, packet: Sent) -> None:
        packets = sync.packets
        packets.receives(packet)
        zxid = Zxid.unpack(packet.zxid & 0xFFFF_FFFF_FFFF_FFFF)
        match packet.plain_kind:
            case "DIFF" | "TRUNC" | "SNAP" if packets.sync is packet:
                self._begin_sync(sync, packet, zxid)
            case "PROPOSAL" if packet.txn is not None:
                txn = self._names.txn(packet.txn)
                self._proposed[txn.zxid] = txn
                self._leftovers.bring(txn.zxid)
                if packets.uptodate:
                    self._append(txn)
                else:
                    is_new = sync.propose(txn)
                    self._durable.is_unsettled = self._durable.is_unsettled or (is_new and not packets.newleader)
            case "COMMIT" if not packets.uptodate:
                is_late = packet.kind == "COMMITANDACTIVATE" and sync.adopted is not None
                if is_late and sync.pending and sync.pending[0].zxid < zxid:
                    self._note(ActivationMissed(self.server, zxid, sync.pending[0].zxid))
                sync.commit(zxid)
            case "INFORM" if packet.txn is not None:
                self._is_informed(sync, self._names.txn(packet.txn))
            case "NEWLEADER":
                sync.new_leader()
        if not packets.uptodate or packet.kind == "UPTODATE":
            self.history = sync.history()

    def _is_informed(self, sync: Synchronisation, txn: Txn) -> None:
        """Take in a packet to an observer: a transaction that is committed."""
        self._leftovers.inform(txn.zxid)
        self._proposed[txn.zxid] = txn
        if sync.packets.uptodate:
            self._append(txn)
        else:
            is_new = sync.propose(txn)
            sync.commit(txn.zxid)
            self._durable.is_unsettled = self._durable.is_unsettled or (is_new and not sync.packets.newleader)

    def _begin_sync(self, sync: Synchronisation, packet: Sent, zxid: Zxid) -> None:
        if packet.kind == "TRUNC":
            # It cuts its log, and then loads its memory from disk: from the snapshot that its log names, or the latest.
            loaded = sync.iteration.loaded
            snapshot = self._snapshot if loaded is None else Zxid.unpack(loaded)
            if snapshot.counter and snapshot > zxid:
                self._note(CutAboveSnapshot(self.server, zxid, snapshot))
                zxid = snapshot
                self._leftovers.cut_replaced(zxid)
            else:
                self._leftovers.cut(self.history.after(self.history.up_to(zxid).length), zxid)
            sync.applied = self.history.up_to(zxid)
            self._durable.is_unsettled = True
        elif packet.kind == "SNAP":
            taken = self._snapshot_of(packet.sender, zxid)
            self._durable.is_unsettled = True
            self._leftovers.begin_snapshot()
            if taken is None:
                self._forget(SnapshotUnknown(self.server, zxid, packet.sender))
                return
            self._note(SnapshotTakenOver(self.server, zxid, packet.sender))
            self._leftovers.take_over(self.history, taken, zxid)
            sync.applied = taken
            self._deliveries.inherit(taken)

    def _send(self, packet: Sent) -> None:
        sync = self._sync
        source = PacketSeen(packet.packet)
        if sync is None or sync.iteration.connection != packet.connection:
            if packet.kind == "LEADERINFO":
                self._durable.promise(epoch_of(packet.zxid), self.server, source)
            elif packet.kind == "NEWLEADER" and epoch_of(packet.zxid) not in self._led:
                # It ends before its log can say that a quorum has sent ACK-E.
                self._led.add(epoch_of(packet.zxid))
                self._provide_own(epoch_of(packet.zxid), source)
            return
        epoch = sync.packets.epoch
        if packet.kind == "ACKEPOCH" and epoch is not None:
            if packet.epoch is not None and packet.epoch >= 0:
                self._durable.promise(epoch, packet.receiver, source)
                self._ack_epoch(epoch, packet.epoch, source)
        elif packet.kind == "ACK" and sync.adopted is not None:
            assert epoch is not None, "NEWLEADER names it"
            if not sync.packets.acknowledged:
                self._leftovers.acknowledge()
                self._durable.adopt(epoch, sync.adopted, source, self.unknown is None)
            self._acknowledge_proposal(Zxid.unpack(packet.zxid), source)
        sync.packets.sends(packet)

    def _ack_epoch(self, epoch: int, current_epoch: int, source: Source) -> bool:
        """Provide the server's history for `epoch`. Return True if it is known."""
        history = self.history
        if self.unknown is not None or (self._durable.is_unsettled and history != self._durable.history):
            self._note(AckEpochUnknown(self.server, epoch))
            return False
        end = history.zxid, history.length, history.hash
        self._emit(AckEpoch(self.server, self.incarnation, epoch, current_epoch, *end), source)
        return True

    def _acknowledge_proposal(self, zxid: Zxid, source: Source) -> None:
        if not zxid.counter or zxid <= self._durable.history.zxid:
            return
        txn = self._proposed.get(zxid)
        if txn is None:
            self._note(NeverProposed(self.server, source, zxid))
        else:
            self._durable.accept(txn, source)

    def _up_to_date(self, sync: Synchronisation, source: Source) -> None:
        epoch = sync.packets.epoch
        if epoch is None:
            self._note(EpochUnknown(self.server, source, leads=False))
        else:
            self._emit(CommitEpoch(self.server, self.incarnation, epoch), source)
        applied = sync.applied
        first = sync.iteration.first_delivery
        if first is not None and applied.zxid >= Zxid.unpack(first):
            cut = applied.prefix(max(0, applied.up_to(Zxid.unpack(first)).length - 1))
            self._note(DeliveredLater(self.server, source, applied.length - cut.length))
            applied = cut
        self._deliver_initial(applied, source)

    # As leader.

    def _lead(self, iteration: LoggedIteration, source: Source) -> None:
        """Take in that a quorum has sent ACK-E: the leader's own history is the initial one."""
        epoch = iteration.epoch
        if epoch is None:
            self._note(EpochUnknown(self.server, source, leads=True))
            return
        self._durable.promise(epoch, self.server, source)
        self._provide_own(epoch, source)
        self._durable.take(epoch, self.history, source, self.unknown is None)

    def _provide_own(self, epoch: int, source: Source) -> None:
        if not self._ack_epoch(epoch, self._durable.current_epoch, source):
            self.silent_epochs.append(epoch)

    def _establish(self, epoch: int, source: Source) -> None:
        self._emit(Establish(self.server, self.incarnation, epoch), source)
        self._deliver_initial(self.history, source)
        self._emit(Ready(self.server, self.incarnation, epoch), source)

    # Deliveries and answers.

    def _deliver_initial(self, history: Chain, source: Source) -> None:
        if self.unknown is None:
            self._deliveries.deliver_initial(history, source)

    def _acknowledge(self, record: Acknowledged, path: str) -> None:
        source = AnswerTo(record.client, record.number)
        zxid = Zxid.unpack(record.zxid)
        txn = self._names.find(zxid, path)
        if txn is None:
            self._note(AckOfUnknown(self.server, source, zxid))
        else:
            self._emit(ClientAck(self.server, self.incarnation, txn), source)

    def _read(self, record: Read) -> None:
        txns = []
        for path, zxid in sorted(record.nodes, key=lambda node: (node[1], node[0])):
            txn = self._names.find(Zxid.unpack(zxid), path)
            if txn is None:
                self._note(ReadOfUnknown(self.server, path, Zxid.unpack(zxid)))
            else:
                txns.append(txn)
                if self._leftovers.may_come_back(txn.zxid):
                    self._note(CameBack(self.server, txn.zxid))
        self._emit(FinalRead(self.server, self.incarnation, tuple(txns)), FinalReading())

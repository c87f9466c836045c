"""One server as it is observed: its history in memory and on disk, and the events that follow from its acts.

A server's log has its broadcasts and deliveries, but not the deliveries of an *initial history*: the server simply has
that when it is established as leader, or up to date as follower. So the history of each server is followed:

- it starts with the contents of the disk (all of the log; an uncommitted record is accepted, not delivered);
- at each election the log has the end of the memory;
- the leader of the next iteration changes it (`synchronisation`): TRUNC cuts it, SNAP replaces it, PROPOSAL adds to it;
- the server's own proposals as leader are added.
"""

from collections.abc import Callable, Iterable, Iterator

from zabcheck.invariants.chain import EMPTY, Chain
from zabcheck.invariants.events import (
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    ClientAck,
    CommitEpoch,
    Crash,
    Deliver,
    Establish,
    Event,
    FinalRead,
    Halt,
    Promise,
    Ready,
    Recover,
    Restore,
    Truncate,
    Txn,
    Zxid,
)
from zabcheck.zookeeper.disk.snapshot import SNAPSHOT_PREFIX
from zabcheck.zookeeper.recording.records import Acknowledged, Disk, Exited, Read, Sent, Stopped
from zabcheck.zookeeper.trace.incarnations import Incarnation
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
    CameBack,
    CutAboveSnapshot,
    CutRecordKept,
    DeliveredLater,
    DiskUnknown,
    DiskWiped,
    EpochUnknown,
    EpochWithoutHistory,
    HoleInLog,
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
from zabcheck.zookeeper.trace.sources import AnswerTo, DiskAfter, Done, FinalReading, LogPlace, PacketSeen, Source
from zabcheck.zookeeper.trace.synchronisation import Synchronisation
from zabcheck.zookeeper.wire.zxids import epoch_of

Emit = Callable[[Event, Source], None]
"""Takes an event and its source."""
SnapshotOf = Callable[[int, Zxid], Chain | None]
"""Returns the history of a server up to a zxid, None if it is not known."""


class Leftovers:
    """The differences that TRUNC and SNAP may leave between the log of a server and its memory.

    A server that takes over a snapshot keeps its log, and one that leaves its leader applies the records that are later
    than the last transaction in its memory. So a record that a snapshot replaced comes back if one was taken over that
    ends before it (ZOOKEEPER-2832).
    """

    def __init__(self) -> None:
        self._cut_off: dict[Zxid, Zxid] = {}  # what a TRUNC was to take from the log, and after which zxid
        self._has_cut = False  # whether NEWLEADER was acknowledged since
        self._not_logged: dict[Zxid, None] = {}  # what was brought behind a TRUNC, if that was broken off
        self._replaced: dict[Zxid, bool] = {}  # by a snapshot, and whether one was taken over that ends before it

    def start(self, wiped: bool) -> None:
        """Begin an incarnation, which reads its log."""
        self._cut_off, self._not_logged = {}, {}
        if wiped:
            self._replaced = {}

    def cut(self, cut_off: Iterable[Txn], zxid: Zxid) -> None:
        """Note that TRUNC takes these transactions from the log: all behind `zxid`."""
        self._cut_off, self._has_cut = {txn.zxid: zxid for txn in cut_off}, False
        self.cut_replaced(zxid)

    def cut_replaced(self, zxid: Zxid) -> None:
        """Note that the log is cut behind `zxid`."""
        self._replaced = {each: seen for each, seen in self._replaced.items() if each <= zxid}

    def begin_snapshot(self) -> None:
        """Note that a snapshot comes: earlier TRUNCs are over."""
        self._cut_off, self._not_logged = {}, {}

    def take_over(self, history: Chain, snapshot: Chain, zxid: Zxid) -> None:
        """Note that a snapshot that ends with `zxid` replaces the history in memory."""
        self._replaced.update((txn.zxid, False) for txn in history.after(history.common_prefix(snapshot).length))
        self._replaced = {each: seen or zxid < each for each, seen in self._replaced.items()}

    def bring(self, zxid: Zxid) -> None:
        """Note that the transaction is proposed to the server, maybe again."""
        for each in (self._cut_off, self._replaced, self._not_logged):
            each.pop(zxid, None)

    def acknowledge(self) -> None:
        """Note that NEWLEADER is acknowledged: the log was cut."""
        self._has_cut = True

    def leave(self, brought: Iterable[Txn]) -> None:
        """Leave the leader, with these in memory only: a synchronisation with TRUNC brought them."""
        self._not_logged.update(dict.fromkeys(txn.zxid for txn in brought))

    def is_replaced(self, zxid: Zxid) -> bool:
        """Return True if a snapshot has replaced the transaction in memory."""
        return zxid in self._replaced

    def may_come_back(self, zxid: Zxid) -> bool:
        """Return True if the server would read the transaction from its log, though a snapshot has replaced it."""
        return self._replaced.get(zxid, False)

    def notes_on(self, server: int, logged: list[Zxid], snapshot: Zxid) -> Iterator[Note]:
        """Compare with a log, and the latest snapshot beside it: what was not cut off, and what was never logged."""
        kept = [zxid for zxid in logged if zxid in self._cut_off] if self._has_cut else []
        if kept:
            cut = self._cut_off[kept[0]]
            yield CutRecordKept(server, cut, kept[0], cut in logged)
        for zxid in self._not_logged:
            later = [each for each in logged if each > zxid]
            if zxid not in logged and zxid > snapshot and later:
                yield HoleInLog(server, zxid, min(later))


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
        self._shown = EMPTY  # the durable history, by the `Adopt` and `Accept` so far
        self._fallback = EMPTY  # the history before a synchronisation that failed
        self._inherited = EMPTY  # what came by SNAP in this incarnation; what the disk has at a start is delivered anew
        self._snapshot = Zxid(0, 0)  # the latest on its disk
        self._unsettled = False  # a synchronisation changed the disk, and may not have been completed
        self._leftovers = Leftovers()
        self._current_epoch = 0  # f.a
        self._promised = 0  # f.p, by the `Promise` so far
        self._delivered: dict[Txn, None] = {}  # in this incarnation
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
        self.incarnation = incarnation.number
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
        self._delivered = {}
        self._inherited = EMPTY
        self._leftovers.start(incarnation.wiped)
        self._sync = None
        if incarnation.number:
            self._emit(Recover(self.server, incarnation.number), Done())
        if incarnation.wiped:
            copy = incarnation.before
            self._note(DiskWiped(self.server, incarnation.number, copy is not None))
            self.history = EMPTY if copy is None else self._from_disk(copy)
            self._snapshot = Zxid(0, 0) if copy is None else _latest(copy)
            self._current_epoch = (copy and copy.current_epoch) or 0
            self._promised = (copy and copy.accepted_epoch) or 0
            self._unsettled = True
        elif incarnation.before is not None:
            self.history = self._from_disk(incarnation.before)
            self._snapshot = _latest(incarnation.before)
            if incarnation.before.current_epoch is not None:
                self._current_epoch = incarnation.before.current_epoch
        elif incarnation.number:
            self._note(DiskUnknown(self.server, incarnation.number))
        self._fallback = self.history

    def _from_disk(self, disk: Disk) -> Chain:
        """Return the history of a server that starts with this disk: the last snapshot, and the log after it."""
        up_to = _latest(disk)
        logged = Chain.of(
            txn for txn in self._ascending(disk) if txn.zxid > up_to or not self._leftovers.is_replaced(txn.zxid)
        )
        known = max((self.history, self._shown), key=lambda chain: chain.up_to(up_to).zxid).up_to(up_to)
        base = known if known.zxid >= logged.up_to(up_to).zxid else logged.up_to(up_to)
        for txn in logged.after(logged.up_to(base.zxid).length):
            base = base.append(txn)
        return base

    def _ascending(self, disk: Disk) -> Iterable[Txn]:
        """Yield the transactions of the log; a zxid that comes again is left out, as when ZooKeeper reads the log."""
        last, repeated = Zxid(0, 0), 0
        for logged in disk.log:
            txn = self._names.txn(logged)
            if txn.zxid > last:
                last = txn.zxid
                yield txn
            else:
                repeated += 1
        if repeated:
            self._note(RecordsRepeated(self.server, disk.incarnation, repeated))

    def end(self, incarnation: Incarnation) -> None:
        """End an incarnation; its disk shows transactions that it had accepted without an answer."""
        if incarnation.after is not None:
            self._settle(incarnation.after)
        if incarnation.ended is None or isinstance(incarnation.ended, Stopped):
            return
        if isinstance(incarnation.ended, Exited) and incarnation.last:
            failures = [line for line in incarnation.log.lines if isinstance(line, Failure)]
            reason = f": {failures[-1].message}" if failures else ""
            self._emit(Halt(self.server, self.incarnation, f"exit code {incarnation.ended.code}{reason}"), Done())
        else:
            lost = sum(each.lost for each in incarnation.power_lost)
            self._emit(Crash(self.server, self.incarnation, lost), Done())
        for gone in (
            name for each in incarnation.power_lost for name in each.files if name.startswith(SNAPSHOT_PREFIX)
        ):
            self._note(SnapshotLost(self.server, gone))

    def _settle(self, disk: Disk) -> None:
        for note in self._leftovers.notes_on(self.server, [Zxid.unpack(each.zxid) for each in disk.log], _latest(disk)):
            self._note(note)
        durable = self._from_disk(disk)
        source = DiskAfter(self.server, disk.incarnation)
        sync = self._sync
        packets = sync.packets if sync is not None and sync.logged_newleader else None
        if packets is not None and not packets.acknowledged and disk.current_epoch == packets.epoch:
            assert packets.epoch is not None
            if sync is not None and sync.adopted is not None and sync.adopted.zxid > durable.zxid:
                self._note(EpochWithoutHistory(self.server, packets.epoch, durable.zxid))
            self._adopt(packets.epoch, durable, source)
        elif disk.current_epoch == self._current_epoch and not self._unsettled:
            self._accept_up_to(durable, source)

    def _accept_up_to(self, durable: Chain, source: Source) -> None:
        """Accept the durable transactions that have no event yet: there was no answer to them."""
        if not durable.starts_with(self._shown):
            return
        for txn in durable.after(self._shown.length):
            if txn.zxid.epoch != self._current_epoch:
                return
            self._accept(txn, source)

    def _accept(self, txn: Txn, source: Source) -> None:
        self._shown = self._shown.append(txn)
        self._emit(Accept(self.server, self.incarnation, self._current_epoch, txn), source)

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
                self._deliver(self._names.txn(delivering), self._at(delivering.number))
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
        if not self._unsettled:  # else what a synchronisation brought is of the epoch that it was for
            self._accept_up_to(reached, source)

    def _forget(self, why: Note) -> None:
        if self.unknown is None:
            self.unknown = why
            self._note(why)

    # As follower.

    def _receive(self, sync: Synchronisation, packet: Sent) -> None:
        packets = sync.packets
        packets.receives(packet)
        zxid = Zxid.unpack(packet.zxid & 0xFFFF_FFFF_FFFF_FFFF)
        match packet.kind:
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
                    self._unsettled = self._unsettled or (is_new and not packets.newleader)
            case "COMMIT" if not packets.uptodate:
                sync.commit(zxid)
            case "INFORM" if packet.txn is not None:
                self._is_informed(sync, self._names.txn(packet.txn))
            case "NEWLEADER":
                sync.new_leader()
        if not packets.uptodate or packet.kind == "UPTODATE":
            self.history = sync.history()

    def _is_informed(self, sync: Synchronisation, txn: Txn) -> None:
        """Take in a packet to an observer: a transaction that is committed."""
        self._proposed[txn.zxid] = txn
        if sync.packets.uptodate:
            self._append(txn)
        else:
            is_new = sync.propose(txn)
            sync.commit(txn.zxid)
            self._unsettled = self._unsettled or (is_new and not sync.packets.newleader)

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
            self._unsettled = True
        elif packet.kind == "SNAP":
            taken = self._snapshot_of(packet.sender, zxid)
            self._unsettled = True
            self._leftovers.begin_snapshot()
            if taken is None:
                self._forget(SnapshotUnknown(self.server, zxid, packet.sender))
                return
            self._note(SnapshotTakenOver(self.server, zxid, packet.sender))
            self._leftovers.take_over(self.history, taken, zxid)
            sync.applied = self._inherited = taken

    def _send(self, packet: Sent) -> None:
        sync = self._sync
        source = PacketSeen(packet.packet)
        if sync is None or sync.iteration.connection != packet.connection:
            if packet.kind == "LEADERINFO":
                self._promise(epoch_of(packet.zxid), self.server, source)
            elif packet.kind == "NEWLEADER" and epoch_of(packet.zxid) not in self._led:
                # It ends before its log can say that a quorum has sent ACK-E.
                self._led.add(epoch_of(packet.zxid))
                self._provide_own(epoch_of(packet.zxid), source)
            return
        epoch = sync.packets.epoch
        if packet.kind == "ACKEPOCH" and epoch is not None:
            if packet.epoch is not None and packet.epoch >= 0:
                self._promise(epoch, packet.receiver, source)
                self._ack_epoch(epoch, packet.epoch, source)
        elif packet.kind == "ACK" and sync.adopted is not None:
            assert epoch is not None, "NEWLEADER names it"
            if not sync.packets.acknowledged:
                self._leftovers.acknowledge()
                self._adopt(epoch, sync.adopted, source)
            self._acknowledge_proposal(Zxid.unpack(packet.zxid), source)
        sync.packets.sends(packet)

    def _promise(self, epoch: int, leader: int, source: Source) -> None:
        if epoch > self._promised:
            self._promised = epoch
            self._emit(Promise(self.server, self.incarnation, epoch, leader), source)

    def _ack_epoch(self, epoch: int, current_epoch: int, source: Source) -> bool:
        """Provide the server's history for `epoch`. Return True if it is known."""
        history = self.history
        if self.unknown is not None or (self._unsettled and history != self._shown):
            self._note(AckEpochUnknown(self.server, epoch))
            return False
        end = history.zxid, history.length, history.hash
        self._emit(AckEpoch(self.server, self.incarnation, epoch, current_epoch, *end), source)
        return True

    def _acknowledge_proposal(self, zxid: Zxid, source: Source) -> None:
        if not zxid.counter or zxid <= self._shown.zxid:
            return
        txn = self._proposed.get(zxid)
        if txn is None:
            self._note(NeverProposed(self.server, source, zxid))
        else:
            self._accept(txn, source)

    def _adopt(self, epoch: int, history: Chain, source: Source) -> None:
        if not history.starts_with(self._shown):
            common = history.common_prefix(self._shown)
            self._emit(Truncate(self.server, self.incarnation, common.zxid, common.length), source)
        self._take_epoch(epoch, history, source)

    def _take_epoch(self, epoch: int, history: Chain, source: Source) -> None:
        self._current_epoch = epoch
        self._shown = history
        self._unsettled = False
        end = history.zxid, history.length, history.hash
        if self.unknown is None:
            self._emit(Adopt(self.server, self.incarnation, epoch, *end), source)

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
        self._promise(epoch, self.server, source)
        self._provide_own(epoch, source)
        self._take_epoch(epoch, self.history, source)

    def _provide_own(self, epoch: int, source: Source) -> None:
        if not self._ack_epoch(epoch, self._current_epoch, source):
            self.silent_epochs.append(epoch)

    def _establish(self, epoch: int, source: Source) -> None:
        self._emit(Establish(self.server, self.incarnation, epoch), source)
        self._deliver_initial(self.history, source)
        self._emit(Ready(self.server, self.incarnation, epoch), source)

    # Deliveries and answers.

    def _deliver_initial(self, history: Chain, source: Source) -> None:
        """Deliver the transactions in `history` that were not delivered yet in this incarnation."""
        if self.unknown is not None:
            return
        base = self._inherited
        if base and history.starts_with(base) and any(txn not in self._delivered for txn in base):
            self._emit(Restore(self.server, self.incarnation, base.zxid, base.length, base.hash), source)
            self._delivered.update(dict.fromkeys(base))
        for txn in history:
            if txn not in self._delivered:
                self._deliver(txn, source)

    def _deliver(self, txn: Txn, source: Source) -> None:
        self._delivered[txn] = None
        self._emit(Deliver(self.server, self.incarnation, txn), source)

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


def _latest(disk: Disk) -> Zxid:
    """Return the zxid of the latest snapshot; ⟨0,0⟩ if there is none."""
    return Zxid.unpack(max(disk.snapshots, default=0))

"""One server as it is observed: its history in memory and on disk, and the events that follow from what it did.

A server's log says what it broadcasts and delivers, but not what it delivers of an *initial history*: it simply has
that when it is established as leader, or up to date as follower. So the history of each server is followed:

- it starts with what was on the disk (all of the log; what was never committed is accepted, not delivered);
- at each election the log says how far the memory reaches;
- the leader of the next iteration changes it (`synchronisation`): TRUNC cuts it, SNAP replaces it, PROPOSAL adds to it;
- what the server proposes as leader is added.
"""

from collections.abc import Callable, Iterable

from invariants.chain import EMPTY, Chain
from invariants.events import (
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
from zabcheck.zookeeper.trace.notes import CAME_BACK, EPOCH_ALONE, LOST_SNAPSHOT, NOT_LOGGED, TAKEN_OVER
from zabcheck.zookeeper.trace.replaced import Replaced
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
from zabcheck.zookeeper.trace.synchronisation import Synchronisation
from zabcheck.zookeeper.wire.zxids import epoch_of

FROM_DISK = "disk of server"
"""How the source begins of an event that only a disk tells of."""
Emit = Callable[[Event, str], None]
"""Takes an event and its source."""
SnapshotOf = Callable[[int, Zxid], Chain | None]
"""Returns the history of a server up to a zxid, None if it is not known."""


class ObservedServer:
    """One server, as its moments are gone through: its history, and the events that follow from what it did.

    `snapshot_of` returns the history of another server up to a zxid, None if that is not known.
    """

    def __init__(
        self, server: int, names: Names, emit: Emit, note: Callable[[str], None], snapshot_of: SnapshotOf
    ) -> None:
        self.server = server
        self.incarnation = 0
        self.history = EMPTY  # in memory, and what will be
        self.unknown = ""  # why the history is not known; "" if it is
        self.silent_epochs: list[int] = []  # in which it led, with an AckEpoch that is not known
        self._names = names
        self._emit_to = emit
        self._note_to = note
        self._snapshot_of = snapshot_of
        self._shown = EMPTY  # the durable history, by the `Adopt` and `Accept` so far
        self._fallback = EMPTY  # the history before a synchronisation that failed
        self._inherited = EMPTY  # what came by SNAP in this incarnation; what the disk has at a start is delivered anew
        self._snapshot = Zxid(0, 0)  # the latest on its disk
        self._unsettled = False  # a synchronisation changed the disk, and may not have been completed
        self._cut_off: dict[Zxid, Zxid] = {}  # what a TRUNC was to take from its log, and after which zxid
        self._has_cut = False  # whether it has acknowledged NEWLEADER since
        self._not_logged: dict[Zxid, None] = {}  # what was brought behind a TRUNC, if that was broken off
        self._replaced = Replaced()
        self._current_epoch = 0  # f.a
        self._promised = 0  # f.p, by the `Promise` so far
        self._delivered: dict[Txn, None] = {}  # in this incarnation
        self._sync: Synchronisation | None = None
        self._file = ""
        self._proposed: dict[Zxid, Txn] = {}  # what it was asked to accept

    # Events and notes.

    def _emit(self, event: Event, source: str) -> None:
        self._emit_to(event, source)

    def _note(self, text: str) -> None:
        self._note_to(f"server {self.server}: {text}")

    def _at(self, number: int) -> str:
        return f"{self._file}:{number}"

    # Beginning and end of an incarnation.

    def begin(self, incarnation: Incarnation) -> None:
        """An incarnation starts, with what is on the disk."""
        self.incarnation = incarnation.number
        self._file = incarnation.log.file
        self._delivered = {}
        self._inherited = EMPTY
        self._cut_off = {}
        self._not_logged = {}
        self._sync = None
        if incarnation.number:
            self._emit(Recover(self.server, incarnation.number), "driver")
        if incarnation.wiped:
            self._note(f"its disk was wiped before incarnation {incarnation.number}, so it may have forgotten promises")
            self.history = EMPTY
            self._snapshot = Zxid(0, 0)
            self._replaced = Replaced()
            self._current_epoch = self._promised = 0
            self._unsettled = True
        elif incarnation.before is not None:
            self.history = self._from_disk(incarnation.before)
            self._snapshot = _latest(incarnation.before)
            if incarnation.before.current_epoch is not None:
                self._current_epoch = incarnation.before.current_epoch
        elif incarnation.number:
            self._note(f"what was on its disk before incarnation {incarnation.number} was not recorded")
        self._fallback = self.history

    def _from_disk(self, disk: Disk) -> Chain:
        """Return the history of a server that starts with this disk: the last snapshot, and the log after it."""
        up_to = _latest(disk)
        logged = Chain.of(self._ascending(disk))
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
            self._note(f"after incarnation {disk.incarnation} its log holds {repeated} records of zxids it had before")

    def end(self, incarnation: Incarnation) -> None:
        """An incarnation ended; its disk shows what it had accepted without an answer."""
        if incarnation.after is not None:
            self._settle(incarnation.after)
        if incarnation.ended is None or isinstance(incarnation.ended, Stopped):
            return
        if isinstance(incarnation.ended, Exited) and incarnation.last:
            failures = [line for line in incarnation.log.lines if isinstance(line, Failure)]
            reason = f": {failures[-1].message}" if failures else ""
            self._emit(Halt(self.server, self.incarnation, f"exit code {incarnation.ended.code}{reason}"), "driver")
        else:
            lost = sum(each.lost for each in incarnation.power_lost)
            self._emit(Crash(self.server, self.incarnation, lost), "driver")
        for gone in (
            name for each in incarnation.power_lost for name in each.files if name.startswith(SNAPSHOT_PREFIX)
        ):
            self._note(f"{LOST_SNAPSHOT} {gone}, which it had not forced")

    def _settle(self, disk: Disk) -> None:
        logged = [Zxid.unpack(each.zxid) for each in disk.log]
        kept = [zxid for zxid in logged if zxid in self._cut_off] if self._has_cut else []
        if kept:
            cut = self._cut_off[kept[0]]
            lacks = "" if cut in logged else ", which its log does not have"
            self._note(f"told to truncate after {cut}{lacks}, it keeps {kept[0]} in its log")
        self._find_hole(logged, _latest(disk))
        durable = self._from_disk(disk)
        source = f"{FROM_DISK} {self.server} after incarnation {disk.incarnation}"
        sync = self._sync
        packets = sync.packets if sync is not None and sync.logged_newleader else None
        if packets is not None and not packets.acknowledged and disk.current_epoch == packets.epoch:
            assert packets.epoch is not None
            if sync is not None and sync.adopted is not None and sync.adopted.zxid > durable.zxid:
                self._note(f"its disk has epoch {packets.epoch}, {EPOCH_ALONE}, and ends with {durable.zxid}")
            self._adopt(packets.epoch, durable, source)
        elif disk.current_epoch == self._current_epoch:
            self._accept_up_to(durable, source)

    def _find_hole(self, logged: list[Zxid], snapshot: Zxid) -> None:
        """Note what was brought and is neither in the log nor in the snapshot, if something later is in the log."""
        for zxid in self._not_logged:
            later = [each for each in logged if each > zxid]
            if zxid not in logged and zxid > snapshot and later:
                self._note(f"its log lacks {zxid}, {NOT_LOGGED}, and goes on with {min(later)}")

    def _accept_up_to(self, durable: Chain, source: str) -> None:
        """Accept what is durable and has no event yet: there was no answer to it."""
        if not durable.starts_with(self._shown):
            return
        for txn in durable.after(self._shown.length):
            if txn.zxid.epoch != self._current_epoch:
                return
            self._accept(txn, source)

    def _accept(self, txn: Txn, source: str) -> None:
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
        """The server leaves its leader, with what it was brought behind a TRUNC in its memory only."""
        packets = self._sync.packets if self._sync is not None else None
        if self._sync is None or packets is None or packets.sync is None or packets.acknowledged:
            return
        if packets.sync.kind == "TRUNC":
            brought = self._sync.history()
            cut = brought.up_to(Zxid.unpack(packets.sync.zxid)).length
            self._not_logged.update(dict.fromkeys(txn.zxid for txn in brought.after(cut)))

    def _append(self, txn: Txn) -> None:
        """Add a transaction to the history, unless it comes again or out of order."""
        self._proposed[txn.zxid] = txn
        if txn.zxid > self.history.zxid:
            self.history = self.history.append(txn)

    def _reach(self, zxid: Zxid, source: str) -> None:
        """An election: the server's memory reaches up to `zxid`, unless that is the start of an epoch."""
        known = [self.history.up_to(zxid), self._fallback.up_to(zxid)]
        reached = next((chain for chain in known if chain.zxid == zxid), None)
        if reached is None:
            reached = known[0]
            if zxid.counter:
                self._forget(f"at {source} it says that its memory reaches up to {zxid}, where that is from is unknown")
        self.history = self._fallback = reached
        if not self._unsettled:  # else what a synchronisation brought is of the epoch that it was for
            self._accept_up_to(reached, source)

    def _forget(self, why: str) -> None:
        if not self.unknown:
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
                self._cut_off.pop(txn.zxid, None)
                self._replaced.bring(txn.zxid)
                self._not_logged.pop(txn.zxid, None)
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
        """Take in what an observer is sent: a transaction that is committed."""
        self._proposed[txn.zxid] = txn
        if sync.packets.uptodate:
            self._append(txn)
        else:
            is_new = sync.propose(txn)
            sync.commit(txn.zxid)
            self._unsettled = self._unsettled or (is_new and not sync.packets.newleader)

    def _begin_sync(self, sync: Synchronisation, packet: Sent, zxid: Zxid) -> None:
        if packet.kind == "TRUNC":
            if self._snapshot.counter and self._snapshot > zxid:
                # It cuts its log, and then loads its memory from disk: from the latest snapshot on.
                self._note(f"told to truncate after {zxid}, it goes on from its snapshot up to {self._snapshot}")
                zxid = self._snapshot
            else:
                cut = self.history.after(self.history.up_to(zxid).length)
                self._cut_off, self._has_cut = {txn.zxid: zxid for txn in cut}, False
            sync.applied = self.history.up_to(zxid)
            self._replaced.cut(zxid)
            self._unsettled = True
        elif packet.kind == "SNAP":
            snapshot = self._snapshot_of(packet.sender, zxid)
            self._unsettled = True
            self._cut_off, self._not_logged = {}, {}
            if snapshot is None:
                self._forget(f"it got a snapshot up to {zxid} from server {packet.sender}, whose history is unknown")
                return
            self._note(f"{TAKEN_OVER} {zxid} holds is inferred from the history of server {packet.sender}")
            self._replaced.take_over(self.history, snapshot, zxid)
            sync.applied = self._inherited = snapshot

    def _send(self, packet: Sent) -> None:
        sync = self._sync
        source = f"packet {packet.packet}"
        if sync is None or sync.iteration.connection != packet.connection:
            if packet.kind == "LEADERINFO":
                self._promise(epoch_of(packet.zxid), self.server, source)
            return
        epoch = sync.packets.epoch
        if packet.kind == "ACKEPOCH" and epoch is not None:
            if packet.epoch is not None and packet.epoch >= 0:
                self._promise(epoch, packet.receiver, source)
                self._ack_epoch(epoch, packet.epoch, source)
        elif packet.kind == "ACK" and sync.adopted is not None:
            assert epoch is not None, "NEWLEADER names it"
            if not sync.packets.acknowledged:
                self._has_cut = True
                self._adopt(epoch, sync.adopted, source)
            self._acknowledge_proposal(Zxid.unpack(packet.zxid), source)
        sync.packets.sends(packet)

    def _promise(self, epoch: int, leader: int, source: str) -> None:
        if epoch > self._promised:
            self._promised = epoch
            self._emit(Promise(self.server, self.incarnation, epoch, leader), source)

    def _ack_epoch(self, epoch: int, current_epoch: int, source: str) -> bool:
        """The server provides its history for `epoch`; whether it is known which."""
        history = self.history
        if self.unknown or (self._unsettled and history != self._shown):
            self._note(f"what history it provided for epoch {epoch} is not told: a synchronisation had not ended")
            return False
        end = history.zxid, history.length, history.hash
        self._emit(AckEpoch(self.server, self.incarnation, epoch, current_epoch, *end), source)
        return True

    def _acknowledge_proposal(self, zxid: Zxid, source: str) -> None:
        if not zxid.counter or zxid <= self._shown.zxid:
            return
        txn = self._proposed.get(zxid)
        if txn is None:
            self._note(f"{source} acknowledges {zxid}, which it was never asked to accept")
        else:
            self._accept(txn, source)

    def _adopt(self, epoch: int, history: Chain, source: str) -> None:
        if not history.starts_with(self._shown):
            common = history.common_prefix(self._shown)
            self._emit(Truncate(self.server, self.incarnation, common.zxid, common.length), source)
        self._take_epoch(epoch, history, source)

    def _take_epoch(self, epoch: int, history: Chain, source: str) -> None:
        self._current_epoch = epoch
        self._shown = history
        self._unsettled = False
        end = history.zxid, history.length, history.hash
        if not self.unknown:
            self._emit(Adopt(self.server, self.incarnation, epoch, *end), source)

    def _up_to_date(self, sync: Synchronisation, source: str) -> None:
        epoch = sync.packets.epoch
        if epoch is None:
            self._note(f"{source}: in which epoch it is up to date is unknown")
        else:
            self._emit(CommitEpoch(self.server, self.incarnation, epoch), source)
        applied = sync.applied
        first = sync.iteration.first_delivery
        if first is not None and applied.zxid >= Zxid.unpack(first):
            cut = applied.prefix(max(0, applied.up_to(Zxid.unpack(first)).length - 1))
            self._note(f"{source}: {applied.length - cut.length} transactions it had are delivered later, with a line")
            applied = cut
        self._deliver_initial(applied, source)

    # As leader.

    def _lead(self, iteration: LoggedIteration, source: str) -> None:
        """A quorum has sent ACK-E: the leader's own history is the initial one."""
        epoch = iteration.epoch
        if epoch is None:
            self._note(f"{source}: in which epoch it leads is unknown")
            return
        self._promise(epoch, self.server, source)
        if not self._ack_epoch(epoch, self._current_epoch, source):
            self.silent_epochs.append(epoch)
        self._take_epoch(epoch, self.history, source)

    def _establish(self, epoch: int, source: str) -> None:
        self._emit(Establish(self.server, self.incarnation, epoch), source)
        self._deliver_initial(self.history, source)
        self._emit(Ready(self.server, self.incarnation, epoch), source)

    # Deliveries and answers.

    def _deliver_initial(self, history: Chain, source: str) -> None:
        """Deliver what is in `history` and was not delivered yet in this incarnation."""
        if self.unknown:
            return
        base = self._inherited
        if base and history.starts_with(base) and any(txn not in self._delivered for txn in base):
            self._emit(Restore(self.server, self.incarnation, base.zxid, base.length, base.hash), source)
            self._delivered.update(dict.fromkeys(base))
        for txn in history:
            if txn not in self._delivered:
                self._deliver(txn, source)

    def _deliver(self, txn: Txn, source: str) -> None:
        self._delivered[txn] = None
        self._emit(Deliver(self.server, self.incarnation, txn), source)

    def _acknowledge(self, record: Acknowledged, path: str) -> None:
        source = f"client {record.client}, write {record.number}"
        zxid = Zxid.unpack(record.zxid)
        txn = self._names.find(zxid, path)
        if txn is None:
            self._note(f"{source} was acknowledged as {zxid}, which no log, packet or disk has")
        else:
            self._emit(ClientAck(self.server, self.incarnation, txn), source)

    def _read(self, record: Read) -> None:
        txns = []
        for path, zxid in sorted(record.nodes, key=lambda node: (node[1], node[0])):
            txn = self._names.find(Zxid.unpack(zxid), path)
            if txn is None:
                self._note(f"the final read has {path} of {Zxid.unpack(zxid)}, which no log, packet or disk has")
            else:
                txns.append(txn)
                if self._replaced.may_come_back(txn.zxid):
                    self._note(f"{txn.zxid} {CAME_BACK}")
        self._emit(FinalRead(self.server, self.incarnation, tuple(txns)), "final read")


def _latest(disk: Disk) -> Zxid:
    """Return the zxid of the latest snapshot; ⟨0,0⟩ if there is none."""
    return Zxid.unpack(max(disk.snapshots, default=0))

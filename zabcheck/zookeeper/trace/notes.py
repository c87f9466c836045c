"""Notes on gaps in a trace of an ensemble, and on unusual things in it: each is a kind with its fields.

Signatures of known bugs and verdicts read the kinds and fields; `words` makes the sentence for a reader.
"""

from msgspec import Struct

from zabcheck.invariants.events import Zxid
from zabcheck.zookeeper.trace.sources import Source


class Note(Struct, frozen=True):
    """Base of all notes."""

    def words(self) -> str:
        """Return the note as a sentence."""
        raise NotImplementedError


# Gaps of the recording.


class Undecodable(Note, frozen=True):
    """Packets from `sender` to `receiver` could not be decoded, because of `reason`."""

    sender: int
    receiver: int
    reason: str

    def words(self) -> str:
        link = f"from server {self.sender} to server {self.receiver}"
        return f"what was sent {link} could not be decoded: {self.reason}"


class NoEnd(Note, frozen=True):
    """The recording breaks off."""

    def words(self) -> str:
        return "the recording has no end"


class NotComplete(Note, frozen=True):
    """The recording ended with `error`."""

    error: str

    def words(self) -> str:
        return f"the recording is not complete: {self.error}"


class NoLog(Note, frozen=True):
    """The log `file` cannot be read, because of `error`."""

    file: str
    error: str

    def words(self) -> str:
        return f"{self.file}: {self.error}"


class StrangeLine(Note, frozen=True):
    """Line `number` of the log `file` should have been understood, and was not: it begins with `found`."""

    file: str
    number: int
    found: str

    def words(self) -> str:
        return f"{self.file}, line {self.number}: expected a line that says when and what, found {self.found!r}"


class NoAckEpoch(Note, frozen=True):
    """A missing ACK-E: the history of the leader of `epoch` is not known."""

    epoch: int

    def words(self) -> str:
        return f"no ACK-E is told at all, for that of the leader of epoch {self.epoch} is not known"


# Unusual things in the ensemble as a whole.


class ListsPart(Note, frozen=True):
    """The lists of servers that configurations have let each of two groups elect a leader of its own."""

    one: tuple[int, ...]
    other: tuple[int, ...]

    def words(self) -> str:
        one, other = (f"{{{','.join(map(str, each))}}}" for each in (self.one, self.other))
        return f"by the lists of servers in their configurations {one} can elect a leader, and so can {other}"


# Gaps and unusual things at one server.


class ServerNote(Note, frozen=True):
    """Base of the notes on one server."""

    server: int

    def words(self) -> str:
        return f"server {self.server}: {self.says()}"

    def says(self) -> str:
        """Return the note without the server."""
        raise NotImplementedError


class DiskWiped(ServerNote, frozen=True):
    """The disk was emptied before this incarnation, or replaced by an older copy (`restored`)."""

    incarnation: int
    restored: bool = False

    def says(self) -> str:
        how = "replaced by an older copy" if self.restored else "wiped"
        return f"its disk was {how} before incarnation {self.incarnation}, so it may have forgotten promises"


class DiskUnknown(ServerNote, frozen=True):
    """The contents of the disk before this incarnation are not recorded."""

    incarnation: int

    def says(self) -> str:
        return f"what was on its disk before incarnation {self.incarnation} was not recorded"


class RecordsRepeated(ServerNote, frozen=True):
    """After this incarnation `records` records of the log have a zxid that the log had before."""

    incarnation: int
    records: int

    def says(self) -> str:
        return f"after incarnation {self.incarnation} its log holds {self.records} records of zxids it had before"


class SnapshotLost(ServerNote, frozen=True):
    """A power failure took the snapshot `file`, which was not forced to the disk."""

    file: str

    def says(self) -> str:
        return f"when its power failed it lost {self.file}, which it had not forced"


class CutRecordKept(ServerNote, frozen=True):
    """The log has `kept` after a TRUNC to `cut`; `has_cut` tells whether it has the transaction `cut` itself."""

    cut: Zxid
    kept: Zxid
    has_cut: bool

    def says(self) -> str:
        lacks = "" if self.has_cut else ", which its log does not have"
        return f"told to truncate after {self.cut}{lacks}, it keeps {self.kept} in its log"


class CutAboveSnapshot(ServerNote, frozen=True):
    """A TRUNC to `cut` loads the newer `snapshot`."""

    cut: Zxid
    snapshot: Zxid

    def says(self) -> str:
        return f"told to truncate after {self.cut}, it goes on from its snapshot up to {self.snapshot}"


class EpochWithoutHistory(ServerNote, frozen=True):
    """The disk has `epoch` without that epoch's initial history: its own history ends with `last`."""

    epoch: int
    last: Zxid

    def says(self) -> str:
        return f"its disk has epoch {self.epoch}, without the initial history of that epoch, and ends with {self.last}"


class HoleInLog(ServerNote, frozen=True):
    """The log lacks `lost`, which a broken-off synchronisation with TRUNC brought, and goes on with `then`."""

    lost: Zxid
    then: Zxid

    def says(self) -> str:
        brought = "which a synchronisation with TRUNC brought that was broken off"
        return f"its log lacks {self.lost}, {brought}, and goes on with {self.then}"


class InformedNotLogged(ServerNote, frozen=True):
    """The log lacks `lost`, of which the server was informed as an observer, and goes on with `then`.

    `logs`: it has others of which the server was informed, so the observer logged.
    """

    lost: Zxid
    then: Zxid
    logs: bool = False

    def says(self) -> str:
        return f"its log lacks {self.lost}, of which it was informed as an observer, and goes on with {self.then}"


class ActivationMissed(ServerNote, frozen=True):
    """COMMITANDACTIVATE of `zxid` came between NEWLEADER and UPTODATE, when `first` was the first proposal kept."""

    zxid: Zxid
    first: Zxid

    def says(self) -> str:
        came = f"told to activate the configuration {self.zxid} before it was up to date"
        return f"{came}, it looked at {self.first} instead, which it had been sent before"


class ConfigurationSkipped(ServerNote, frozen=True):
    """The configuration `zxid` was proposed to the server, which was never told to activate `before`."""

    before: Zxid
    zxid: Zxid

    def says(self) -> str:
        return f"the configuration {self.zxid} is proposed to it, and it has not been told to activate {self.before}"


class EpochTakenTwice(ServerNote, frozen=True):
    """The server has taken `epoch` with a quorum of one configuration, and server `leader` leads in that epoch."""

    epoch: int
    leader: int

    def says(self) -> str:
        return (
            f"it has taken epoch {self.epoch} and never led in it, and server {self.leader} leads in epoch {self.epoch}"
        )


class CountedNotLogged(ServerNote, frozen=True):
    """The server acknowledged NEWLEADER as an observer that was sent `zxid`, and not restarted, ends at `has`."""

    zxid: Zxid
    has: Zxid

    def says(self) -> str:
        return f"it acknowledged NEWLEADER as an observer that was sent {self.zxid}, and goes on from {self.has}"


class MemoryUnknown(ServerNote, frozen=True):
    """An election names `zxid` as the end of the memory, of unknown origin."""

    source: Source
    zxid: Zxid

    def says(self) -> str:
        return (
            f"at {self.source.words()} it says that its memory reaches up to {self.zxid}, where that is from is unknown"
        )


class SnapshotUnknown(ServerNote, frozen=True):
    """The snapshot up to `zxid` came from server `sender`, whose history is unknown."""

    zxid: Zxid
    sender: int

    def says(self) -> str:
        return f"it got a snapshot up to {self.zxid} from server {self.sender}, whose history is unknown"


class SnapshotTakenOver(ServerNote, frozen=True):
    """The snapshot up to `zxid` came from server `sender`, whose history tells its contents."""

    zxid: Zxid
    sender: int

    def says(self) -> str:
        return f"what its snapshot up to {self.zxid} holds is inferred from the history of server {self.sender}"


class CameBack(ServerNote, frozen=True):
    """The final read has `zxid`, which a snapshot had replaced in memory: it was read from the log again."""

    zxid: Zxid

    def says(self) -> str:
        return f"{self.zxid} is there again in the end, though a snapshot that ends before it was taken over"


class AckEpochUnknown(ServerNote, frozen=True):
    """The history that the server provided for `epoch` is not known."""

    epoch: int

    def says(self) -> str:
        return f"what history it provided for epoch {self.epoch} is not told: a synchronisation had not ended"


class NeverProposed(ServerNote, frozen=True):
    """The server acknowledges `zxid`, and was never asked to accept it."""

    source: Source
    zxid: Zxid

    def says(self) -> str:
        return f"{self.source.words()} acknowledges {self.zxid}, which it was never asked to accept"


class EpochUnknown(ServerNote, frozen=True):
    """The epoch in which the server leads, or else is up to date, is not known."""

    source: Source
    leads: bool

    def says(self) -> str:
        does = "it leads" if self.leads else "it is up to date"
        return f"{self.source.words()}: in which epoch {does} is unknown"


class DeliveredLater(ServerNote, frozen=True):
    """The last `txns` transactions of the initial history are delivered later, each with a line in the log."""

    source: Source
    txns: int

    def says(self) -> str:
        return f"{self.source.words()}: {self.txns} transactions it had are delivered later, with a line"


class AckOfUnknown(ServerNote, frozen=True):
    """A client was told that its write is transaction `zxid`, which is nowhere else."""

    source: Source
    zxid: Zxid

    def says(self) -> str:
        return f"{self.source.words()} was acknowledged as {self.zxid}, which no log, packet or disk has"


class ReadOfUnknown(ServerNote, frozen=True):
    """The final read has the node `path` of transaction `zxid`, which is nowhere else."""

    path: str
    zxid: Zxid

    def says(self) -> str:
        return f"the final read has {self.path} of {self.zxid}, which no log, packet or disk has"

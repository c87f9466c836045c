"""Jute, ZooKeeper's binary form of packets, transaction logs and snapshots.

Everything is big-endian: an int is 4 bytes, a long 8, a boolean 1. A buffer, a string (UTF-8) and a vector begin with
an int, their length, where -1 stands for null. A record is its fields in a row, without names or lengths. The records
are declared in ZooKeeper's zookeeper.jute (module org.apache.zookeeper.txn for transactions).
"""

import struct
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

import msgspec

NULL = -1  # the length of a null

# TxnHeader: clientId (the session), cxid (the client's number of the request), zxid, time (ms since 1970), type.
_HEADER = Struct(">qiqqi")
_INT = Struct(">i")
_LONG = Struct(">q")
# The first fields of every QuorumPacket: type, zxid and the length of its data.
_PACKET = Struct(">iqi")
# The first fields of every REQUEST's data: session, cxid and type.
_REQUEST = Struct(">qii")


class Operation(IntEnum):
    """The types of the requests that become transactions (ZooDefs.OpCode)."""

    ERROR = -1
    CREATE_SESSION = -10
    CLOSE_SESSION = -11
    CREATE = 1
    DELETE = 2
    SET_DATA = 5
    SET_ACL = 7
    CHECK = 13
    MULTI = 14
    CREATE2 = 15
    RECONFIG = 16
    CREATE_CONTAINER = 19
    DELETE_CONTAINER = 20
    CREATE_TTL = 21


WITH_PATH = frozenset(
    int(operation)
    for operation in Operation
    if operation not in (Operation.ERROR, Operation.CREATE_SESSION, Operation.CLOSE_SESSION, Operation.MULTI)
)
"""The types whose body begins with the node's path."""


class JuteError(ValueError):
    """Bytes that cannot be decoded, at `offset`, counted from the beginning of the data."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(f"byte {offset}: {message}")
        self.offset = offset
        self.message = message


class Truncated(JuteError):
    """The bytes end too early: with more of them they may make sense."""


class Reader:
    """A reader of fields, one after the other. `offset` is where the next field begins.

    Each method is O(the field's size), and raises Truncated if the bytes end within it, JuteError if they are no field.
    """

    __slots__ = ("_data", "_end", "offset")

    def __init__(self, data: bytes | bytearray | memoryview, offset: int = 0) -> None:
        self._data = data
        self._end = len(data)
        self.offset = offset

    @property
    def left(self) -> int:
        """The number of bytes that are left."""
        return self._end - self.offset

    def _take(self, size: int, field: str) -> int:
        start = self.offset
        if start + size > self._end:
            raise Truncated(start, f"the bytes end within {field}: {size} are needed and {self._end - start} are left")
        self.offset = start + size
        return start

    def int32(self, field: str = "an int") -> int:
        """Read the next int."""
        value: int = _INT.unpack_from(self._data, self._take(4, field))[0]
        return value

    def int64(self, field: str = "a long") -> int:
        """Read the next long."""
        value: int = _LONG.unpack_from(self._data, self._take(8, field))[0]
        return value

    def bool(self, field: str = "a boolean") -> bool:
        """Read the next boolean; any byte but 0 is true, as in Java."""
        return self._data[self._take(1, field)] != 0

    def length(self, field: str = "a length") -> int:
        """Read the length of a buffer, a string or a vector; -1 is that of a null."""
        start = self.offset
        length = self.int32(field)
        if length < NULL:
            self.offset = start
            raise JuteError(start, f"the length of {field} is {length}")
        return length

    def raw(self, size: int, field: str = "raw bytes") -> bytes:
        """Read the next `size` bytes as they are."""
        start = self._take(size, field)
        return bytes(self._data[start : start + size])

    def buffer(self, field: str = "a buffer") -> bytes | None:
        """Read the next buffer, None for a null."""
        start = self.offset
        length = self.length(field)
        if length == NULL:
            return None
        try:
            return self.raw(length, field)
        except Truncated:
            self.offset = start
            raise

    def string(self, field: str = "a string") -> str | None:
        """Read the next string, None for a null."""
        start = self.offset
        data = self.buffer(field)
        try:
            return None if data is None else data.decode()
        except UnicodeDecodeError as error:
            raise JuteError(start, f"{field} is no UTF-8: {error.reason}") from None

    def strings(self, field: str = "a vector of strings") -> list[str]:
        """Read the next vector of strings; a null is empty."""
        found: list[str] = []
        data, end, count = self._data, self._end, self.length(field)
        at = self.offset
        try:
            for _ in range(count):
                [length] = _INT.unpack_from(data, at)
                at += 4
                if length > 0:
                    found.append(str(data[at : at + length], "utf-8"))
                    at += length
                else:
                    found.append("")
                if length < NULL or at > end:
                    raise JuteError(self.offset, f"the strings of {field} end after {end} bytes")
        except (struct.error, UnicodeDecodeError):
            raise JuteError(self.offset, f"{field} has what is no string") from None
        self.offset = at
        return found


class LoggedTxn(msgspec.Struct, frozen=True, omit_defaults=True):
    """The header of a transaction in a packet or a log, and the path that the transaction is about, if any.

    `type` is the number of the operation, -1 for a request that failed (which is a transaction, too). `size` is in
    bytes.
    """

    zxid: int
    session: int
    cxid: int
    type: int
    path: str = ""
    size: int = 0


def logged_txn(data: bytes | memoryview) -> LoggedTxn:
    """Decode a transaction of a log or a PROPOSAL: TxnHeader, then body, then a digest of the tree (3.6+).

    The path is empty if the type is not known here. JuteError if the header or the path cannot be read.
    """
    if len(data) < _HEADER.size:
        raise Truncated(len(data), f"the header of a transaction has {_HEADER.size} bytes, and here are {len(data)}")
    session, cxid, zxid, _, kind = _HEADER.unpack_from(data)
    path = (Reader(data, _HEADER.size).string("the path") or "") if kind in WITH_PATH else ""
    return LoggedTxn(zxid, session, cxid, kind, path, len(data))


class PacketType(IntEnum):
    """The types of the packets between two servers (constants of the class Leader)."""

    REQUEST = 1
    PROPOSAL = 2
    ACK = 3
    COMMIT = 4
    PING = 5
    REVALIDATE = 6
    SYNC = 7
    INFORM = 8
    COMMITANDACTIVATE = 9
    NEWLEADER = 10
    FOLLOWERINFO = 11
    UPTODATE = 12
    DIFF = 13
    TRUNC = 14
    SNAP = 15
    OBSERVERINFO = 16
    LEADERINFO = 17
    ACKEPOCH = 18
    INFORMANDACTIVATE = 19


MAX_TYPE = 255
"""The highest type of a packet in any version of ZooKeeper: a greater number means that the bytes are no packet."""
MAX_PACKET = 16 << 20
"""Bytes of data that a packet has at most. ZooKeeper refuses data above 1 MB unless it is configured otherwise."""
MAX_IDENTITIES = 1000
"""Identities that a client has at most. Without a limit, damaged bytes would be taken for a packet that never ends."""

_NAMES = {int(each): each.name for each in PacketType}
_ACTIVATED = 8  # bytes of INFORMANDACTIVATE before its transaction: the next leader


class QuorumPacket(NamedTuple):
    """A packet between two servers, without the snapshot that follows SNAP. None stands for a null.

    `authinfo` is filled in a REQUEST only: scheme and identity of each of the client's identities.
    """

    type: int
    zxid: int
    data: bytes | None = None
    authinfo: tuple[tuple[str | None, str | None], ...] | None = None

    @property
    def kind(self) -> str:
        """The name of the packet's type, or the number if the type is not known."""
        return _NAMES.get(self.type) or str(self.type)

    def epoch(self) -> int | None:
        """Return the sender's currentEpoch in an ACKEPOCH; -1 if the sender has acknowledged this epoch before."""
        if self.type != PacketType.ACKEPOCH or self.data is None or len(self.data) < _INT.size:
            return None
        epoch: int = _INT.unpack_from(self.data)[0]
        return epoch

    def txn(self) -> LoggedTxn | None:
        """Return the packet's transaction, None if there is none; in a REQUEST its zxid is 0. May raise JuteError."""
        if self.data is None:
            return None
        if self.type in (PacketType.PROPOSAL, PacketType.INFORM):
            return logged_txn(self.data)
        if self.type == PacketType.INFORMANDACTIVATE:
            return logged_txn(self.data[_ACTIVATED:])
        if self.type == PacketType.REQUEST:
            return _request(self.data)
        return None


def quorum_packet(data: bytes | bytearray | memoryview, offset: int = 0) -> tuple[QuorumPacket, int]:
    """Decode the packet at `offset`; return it and its end. O(its size); O(1) if it is not whole yet.

    Truncated if the packet is not whole, JuteError as soon as the bytes cannot be one.
    """
    if len(data) - offset < _PACKET.size:
        if len(data) - offset >= _INT.size:
            _check_type(_INT.unpack_from(data, offset)[0], offset)
        raise Truncated(offset, "the bytes end within a packet")
    kind, zxid, size = _PACKET.unpack_from(data, offset)
    _check_type(kind, offset)
    if not NULL <= size <= MAX_PACKET:
        raise JuteError(offset + _PACKET.size - _INT.size, f"the length of a packet's data is {size}")
    start = offset + _PACKET.size
    reader = Reader(data, start + max(size, 0))
    count = reader.length("authinfo")
    if count > MAX_IDENTITIES:
        raise JuteError(reader.offset - _INT.size, f"the length of authinfo is {count}")
    authinfo = None
    if count != NULL:
        authinfo = tuple((_short(reader, "a scheme"), _short(reader, "an identity")) for _ in range(count))
    content = None if size == NULL else bytes(data[start : start + size])
    return QuorumPacket(kind, zxid, content, authinfo), reader.offset


def _check_type(kind: int, offset: int) -> None:
    if not 0 <= kind <= MAX_TYPE:
        raise JuteError(offset, f"the type of a packet is {kind}")


def _short(reader: Reader, field: str) -> str | None:
    """Read a string; its length is checked first, so that nothing waits for a string that cannot come."""
    start = reader.offset
    size = reader.length(field)
    if size > MAX_PACKET:
        raise JuteError(start, f"the length of {field} is {size}")
    reader.offset = start
    return reader.string(field)


def _request(data: bytes) -> LoggedTxn:
    """Decode a client's request; its path comes first, as in the transaction that it becomes."""
    if len(data) < _REQUEST.size:
        raise Truncated(len(data), f"a REQUEST has at least {_REQUEST.size} bytes, and here are {len(data)}")
    session, cxid, kind = _REQUEST.unpack_from(data)
    path = (Reader(data, _REQUEST.size).string("the path") or "") if kind in WITH_PATH else ""
    return LoggedTxn(0, session, cxid, kind, path, len(data))

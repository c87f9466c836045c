"""Jute, ZooKeeper's binary form: what its packets, transaction logs and snapshots consist of.

Everything is big-endian: an int is 4 bytes, a long 8, a boolean 1. A buffer, a string (UTF-8) and a vector begin with
an int, their length, where -1 stands for null. A record is its fields in a row, without names or lengths. The records
are declared in ZooKeeper's zookeeper.jute (module org.apache.zookeeper.txn for transactions).
"""

from enum import IntEnum
from struct import Struct

from zabcheck.ensemble.recording import LoggedTxn

NULL = -1  # the length of a null

# TxnHeader: clientId (the session), cxid (the client's number of the request), zxid, time (ms since 1970), type.
_HEADER = Struct(">qiqqi")
_INT = Struct(">i")
_LONG = Struct(">q")


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
"""The types whose body begins with the path that they are about."""


class JuteError(ValueError):
    """Bytes that are not what they should be; `offset` is where, counted from the beginning of what was read."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(f"byte {offset}: {message}")
        self.offset = offset
        self.message = message


class Truncated(JuteError):
    """The bytes end too early: more of them may make sense."""


class Reader:
    """Reads fields one after the other. Each raises Truncated if the bytes end in it, JuteError if they make no sense.

    `offset` is where the next field begins. Each call is O(the size of the field).
    """

    __slots__ = ("_data", "_end", "offset")

    def __init__(self, data: bytes | bytearray | memoryview, offset: int = 0) -> None:
        self._data = data
        self._end = len(data)
        self.offset = offset

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return self._end - self.offset

    def _take(self, size: int, field: str) -> int:
        start = self.offset
        if start + size > self._end:
            raise Truncated(start, f"the bytes end within {field}: {size} are needed and {self._end - start} are left")
        self.offset = start + size
        return start

    def int32(self, field: str = "an int") -> int:
        """The next int."""
        value: int = _INT.unpack_from(self._data, self._take(4, field))[0]
        return value

    def int64(self, field: str = "a long") -> int:
        """The next long."""
        value: int = _LONG.unpack_from(self._data, self._take(8, field))[0]
        return value

    def bool(self, field: str = "a boolean") -> bool:
        """The next boolean; any byte but 0 is true, as in Java."""
        return self._data[self._take(1, field)] != 0

    def length(self, field: str = "a length") -> int:
        """The length of a buffer, a string or a vector; -1 is that of a null."""
        start = self.offset
        length = self.int32(field)
        if length < NULL:
            self.offset = start
            raise JuteError(start, f"the length of {field} is {length}")
        return length

    def raw(self, size: int, field: str = "raw bytes") -> bytes:
        """The next `size` bytes as they are."""
        start = self._take(size, field)
        return bytes(self._data[start : start + size])

    def buffer(self, field: str = "a buffer") -> bytes | None:
        """The next buffer, None for a null."""
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
        """The next string, None for a null."""
        start = self.offset
        data = self.buffer(field)
        try:
            return None if data is None else data.decode()
        except UnicodeDecodeError as error:
            raise JuteError(start, f"{field} is no UTF-8: {error.reason}") from None


def logged_txn(data: bytes | memoryview) -> LoggedTxn:
    """A transaction as a log and a PROPOSAL have it: its TxnHeader, then its body, then a digest of the tree (3.6+).

    A type that is not known here has no path. JuteError if the header or the path cannot be read.
    """
    if len(data) < _HEADER.size:
        raise Truncated(len(data), f"the header of a transaction has {_HEADER.size} bytes, and here are {len(data)}")
    session, cxid, zxid, _, kind = _HEADER.unpack_from(data)
    path = (Reader(data, _HEADER.size).string("the path") or "") if kind in WITH_PATH else ""
    return LoggedTxn(zxid, session, cxid, kind, path, len(data))

"""ZooKeeper's snapshots: reads the tree of nodes in a file, and finds out if the file is whole.

A file `snapshot.Z` has the tree after the transaction of zxid Z (hexadecimal), and maybe of some later ones: it is
written while the server goes on ("fuzzy"). It begins with a header ("ZKSN", version, database); then come the sessions
with their time-outs, the lists of permissions, and the nodes, each path with its data and its counters, until the path
"/". A seal follows: the Adler-32 of all bytes so far (a long) and the string "/". Since 3.6 the digest that the
tree had after a zxid follows, with a seal of its own, and since 3.9 the last zxid, again with one.

`snapshot.Z.gz` is the same through gzip, `snapshot.Z.snappy` through Snappy.
"""

import gzip
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from msgspec import Struct

from zabcheck.text.files import regular
from zabcheck.zookeeper.disk import snappy
from zabcheck.zookeeper.disk.transaction_log import zxid_of_name
from zabcheck.zookeeper.wire.jute import JuteError, Reader, Truncated

SNAPSHOT_PREFIX = "snapshot"
SNAPSHOT_MAGIC = b"ZKSN"
DIGEST_VERSION = 2
"""The version of the computation of digests that can be checked here (`Node.digest`)."""

MOST_SWELLING = 50
"""The most times that a snapshot may be longer than its compressed file; those of real servers are 5 to 15 times."""

_CHUNK = 1 << 20
_LONGEST = 1 << 30  # of a field, in bytes; ZooKeeper's jute.maxbuffer is an int, and 1 MiB unless it is set
_LAST_PATH = "/"
_SEAL = b"/"
_END = b"\0\0\0\1/"
_SHORTEST = 10  # bytes that a snapshot has for a server
_MAGIC = {".gz": b"\x1f\x8b", ".snappy": snappy.MAGIC}
_INTERNAL = "/zookeeper/"
_STAT = struct.Struct(">qqqqiiiqq")
_DIGESTED = struct.Struct(">qqqqqiiiq")


class Stat(Struct, frozen=True, gc=False):
    """A node's counters, in the order in which they are stored; times are in ms since 1970 (StatPersisted).

    `pzxid` is the zxid of the last creation or deletion of a child.
    """

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    owner: int
    pzxid: int


class Node(Struct, frozen=True, gc=False):
    """A node of the tree. `content` is the CRC-32 of its path and its data, `size` the length of the data in bytes."""

    path: str
    size: int
    content: int
    stat: Stat

    def digest(self) -> int:
        """Return the node's part of the tree's digest, which is the sum of all (DigestCalculator, version 2)."""
        if self.path.startswith(_INTERNAL):
            return 0
        s = self.stat
        counters = (s.czxid, s.mzxid, s.pzxid, s.ctime, s.mtime, s.version, s.cversion, s.aversion, s.owner)
        return zlib.crc32(_DIGESTED.pack(*counters), self.content)


def content_of(path: str, data: bytes) -> int:
    """Return the CRC-32 of a node's path and data."""
    return zlib.crc32(data, zlib.crc32(path.encode()))


class TreeDigest(Struct, frozen=True):
    """The digest of the tree after `zxid`; `version` is that of the computation."""

    zxid: int
    version: int
    value: int


class Snapshot(Struct, frozen=True):
    """The contents of a snapshot file.

    `state` is "whole", "torn" (it ends too early: a server that is killed leaves that behind), "damaged", or "unread"
    (compressed, and longer than what is read here). `message` says what is wrong. `size` is that of all data, in bytes;
    `highest` is the greatest zxid that a node carries, which is above `zxid` if the snapshot is fuzzy. `listed`: a
    server takes it for complete before it reads it (SnapStream.isValidSnapshot). `fatal`: reading it ends the server,
    which does not go on to an older snapshot.
    """

    path: Path
    zxid: int
    state: Literal["whole", "torn", "damaged", "unread"]
    message: str = ""
    sessions: int = 0
    nodes: int = 0
    size: int = 0
    highest: int = 0
    digest: TreeDigest | None = None
    last_zxid: int | None = None
    listed: bool = True
    fatal: bool = False


def read_snapshot(path: Path, visit: Callable[[Node], None] | None = None) -> Snapshot:
    """Read a file named `snapshot.Z…`; `visit` is called with each node, parents first.

    If the file turns out not to be whole, its nodes up to the fault were visited, too. OSError if it cannot be read.
    About 5 µs a node; memory is that of one node. A compressed file is read up to `MOST_SWELLING` times its size.
    """
    zxid = zxid_of_name(path.name, SNAPSHOT_PREFIX)
    assert zxid is not None, path
    with regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        most = size if path.suffix not in _MAGIC else _CHUNK + MOST_SWELLING * size
        return _Reading(file, path, zxid, visit, most).result()


class _Content(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Swollen(Exception):
    """A compressed file holds more than is read of it."""


class _NoNumber(JuteError):
    """Text in place of a number, at which Java throws what a server does not catch (NumberFormatException)."""


class _Reading:
    """Reads one file; the parts read so far stay known if the file ends too early or is damaged.

    `most` is how many bytes it may hold, uncompressed.
    """

    def __init__(self, file: BinaryIO, path: Path, zxid: int, visit: Callable[[Node], None] | None, most: int) -> None:
        self._file, self._path, self._zxid, self._visit, self._most = file, path, zxid, visit, most
        self._content: _Content = gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
        self._offset, self._checksum = 0, zlib.adler32(b"")
        self._unread = b""
        self._sessions = self._nodes = self._size = self._highest = 0
        self._digest: TreeDigest | None = None
        self._last_zxid: int | None = None

    def result(self) -> Snapshot:
        state: Literal["whole", "torn", "damaged", "unread"] = "whole"
        message, fatal = "", False
        try:
            self._read()
        except Truncated as error:
            state, message = "damaged" if self._has_end(error.offset) else "torn", str(error)
        except EOFError:
            state, message = "torn", "the compressed file ends too early"
        except _Swollen:
            state = "unread"
            message = f"it holds more than {MOST_SWELLING} times its compressed size: decompress it, to have it read"
        except (JuteError, gzip.BadGzipFile, zlib.error, snappy.BadSnappy) as error:
            state, message, fatal = "damaged", str(error), isinstance(error, _NoNumber)
        return Snapshot(
            self._path,
            self._zxid,
            state,
            message,
            self._sessions,
            self._nodes,
            self._size,
            self._highest,
            self._digest,
            self._last_zxid,
            self._is_listed(),
            fatal,
        )

    def _is_listed(self) -> bool:
        """Return True if the file looks complete to a server, which looks at the end of it, or for its compression."""
        with regular(self._path) as file:
            if self._path.suffix in _MAGIC:
                magic = _MAGIC[self._path.suffix]
                return file.read(len(magic)) == magic
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - len(_END)))
            return size >= _SHORTEST and file.read() == _END

    def _has_end(self, offset: int) -> bool:
        """Return True if the file was written to its end, though a field at `offset` claims to be longer."""
        if self._path.suffix in _MAGIC:
            return self._path.suffix == ".gz"  # otherwise gzip would have raised; Snappy has no end of its own
        size = self._file.seek(0, 2)
        self._file.seek(max(0, size - len(_END)))
        return offset < size and self._file.read() == _END

    def _read(self) -> None:
        if self._path.suffix == ".snappy":
            self._content = snappy.SnappyFile(self._file)
        magic = self._take(len(SNAPSHOT_MAGIC), "the header")
        if magic != SNAPSHOT_MAGIC:
            raise JuteError(0, f'expected "ZKSN", found {magic!r}')
        self._take(12, "the header")
        self._sessions = self._int("the number of sessions")
        for _ in range(self._sessions):
            self._take(12, "a session")
        for _ in range(self._int("the number of permission lists")):
            self._long("the number of a permission list")
            for _ in range(self._int("the length of a permission list")):
                self._int("permissions")
                self._bytes("a scheme")
                self._bytes("an id")
        while self._node():
            pass
        self._seal()
        for part in (self._read_digest, self._read_last_zxid):
            if not self._has(part):
                return
            self._seal()

    def _has(self, part: Callable[[], None]) -> bool:
        """Read a part that older versions do not write; return False if it is not there.

        A server does not look at the end of a compressed file before it reads it, and takes one that ends within such a
        part for one of an older version, unless a block of Snappy is not whole.
        """
        try:
            if self._ends():
                return False
            part()
        except (Truncated, EOFError) as error:
            if self._path.suffix == ".gz" or (self._path.suffix in _MAGIC and isinstance(error, Truncated)):
                return False
            raise
        return True

    def _read_digest(self) -> None:
        zxid, version = self._long("the zxid of a digest"), self._int("the version of a digest")
        # Before version 2 it was a string, in hexadecimal.
        value = self._long("a digest") & (1 << 64) - 1 if version >= DIGEST_VERSION else self._hexadecimal("a digest")
        self._digest = TreeDigest(zxid, version, value) if zxid > 0 else None

    def _read_last_zxid(self) -> None:
        self._last_zxid = self._long("the last zxid")

    def _node(self) -> bool:
        """Read a node. Return False if it is the path that ends the nodes."""
        start = self._offset
        name = self._bytes("a path")
        try:
            path = name.decode()
        except UnicodeDecodeError as error:
            raise JuteError(start, f"a path is no UTF-8: {error.reason}") from None
        if path == _LAST_PATH:
            return False
        data = self._bytes(f"the data of {path}")
        self._long(f"the permissions of {path}")
        stat = Stat(*_STAT.unpack(self._take(_STAT.size, f"the counters of {path}")))
        self._nodes += 1
        self._size += len(data)
        self._highest = max(self._highest, stat.czxid, stat.mzxid, stat.pzxid)
        if self._visit is not None:
            self._visit(Node(path, len(data), content_of(path, data), stat))
        return True

    def _seal(self) -> None:
        """Read a seal, and check all bytes read so far against it."""
        found, start = self._checksum, self._offset
        expected = self._long("a checksum")
        if expected != found:
            raise JuteError(start, f"expected the checksum 0x{expected & (1 << 64) - 1:x}, found 0x{found:x}")
        if (end := self._bytes("the end")) != _SEAL:
            raise JuteError(start + 8, f'expected "/" as the end, found {end[:20]!r}')

    def _ends(self) -> bool:
        """Return True if nothing is left."""
        more = self._content.read(1)
        self._unread = more
        return not more

    def _take(self, size: int, field: str) -> bytes:
        if self._offset + size > self._most:
            if self._path.suffix in _MAGIC:
                raise _Swollen
            raise Truncated(self._offset, f"the file ends within {field}")
        data = self._unread + self._content.read(size - len(self._unread))
        self._unread = b""
        if len(data) < size:
            raise Truncated(self._offset, f"the file ends within {field}")
        self._offset += size
        self._checksum = zlib.adler32(data, self._checksum)
        return data

    def _int(self, field: str) -> int:
        return Reader(self._take(4, field)).int32()

    def _long(self, field: str) -> int:
        return Reader(self._take(8, field)).int64()

    def _bytes(self, field: str) -> bytes:
        """Read a string or a buffer; a null is empty."""
        start = self._offset
        length = self._int(field)
        if not -1 <= length <= _LONGEST:
            raise JuteError(start, f"the length of {field} is {length}")
        return self._take(length, field) if length > 0 else b""

    def _hexadecimal(self, field: str) -> int:
        start, text = self._offset, self._bytes(field)
        try:
            return int(text, 16)
        except ValueError:
            raise _NoNumber(start, f"expected hexadecimal digits as {field}, found {text[:20]!r}") from None

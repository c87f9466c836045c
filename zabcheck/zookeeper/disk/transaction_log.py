"""ZooKeeper's transaction logs: what one file holds, record by record, and where it is damaged.

A file `log.Z` begins with the transaction of zxid Z (hexadecimal). It has a header ("ZKLG", version, database), then
records: the Adler-32 of the transaction (a long), its length (an int), the transaction, and the byte "B". A file is
made longer ahead of what is written, 64 MiB at a time, with zeros: a length of 0 is the end.

A server that is killed may leave the first part of a record behind. That is a torn tail, and normal: the record was
not acknowledged. Anything else that is no record is damage. What a server makes of it is another matter (class
FileTxnLog): where "B" is not what ends a record, or a length is 0, it takes the file for ended, without a word about
what follows; where a checksum is wrong, it does not start.
"""

import os
import struct
import zlib
from collections.abc import Generator, Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Literal

from msgspec import Struct

from zabcheck.zookeeper.wire.jute import JuteError, LoggedTxn, Operation, Truncated, logged_txn

LOG_PREFIX = "log"
LOG_MAGIC = b"ZKLG"
HEADER_SIZE = 16
END_OF_RECORD = b"B"
LONGEST_RECORD = 2 * 0xFFFFF
"""Bytes of the longest record with which a server starts unless jute.maxbuffer is set: twice its default."""

_PREFIX = struct.Struct(">qi")  # of a record: checksum, length
_DIGEST = struct.Struct(">iq")  # version, digest of the tree
_INT = struct.Struct(">i")
_TIME = struct.Struct(">q")
_ZXID_AT, _TIME_AT = 12, 20  # of a TxnHeader
_TXN_HEADER = 32
_CHUNK = 1 << 20
_ZEROS = bytes(_CHUNK)
_NEXT_RECORD = b"B\0\0\0\0"  # the end of a record and the upper half of a checksum: it has 32 bits in a long
_DIGEST_VERSION = 2
_64_BITS = (1 << 64) - 1
_MOST_FLAWS = 100
"""The number of flaws after which the rest of a file is left out: each flaw costs a search through the rest."""
_TORN = "the first part of a record, and nothing after it"

FlawKind = Literal["torn", "checksum", "length", "end", "hole", "body", "header"]


class LogRecord(Struct, frozen=True, gc=False):
    """A whole record. `offset` is where it begins in its file, `time` is in ms since 1970 (the leader's clock).

    `data` is the transaction without its digest, `identity` a hash of that (see `_failed_alike`). `digest` is that of
    the tree afterwards, at the leader that proposed it (ZooKeeper 3.6 and later, `digest.enabled`). `length` is that of
    the transaction with its digest, in bytes.
    """

    offset: int
    txn: LoggedTxn
    time: int
    data: bytes
    identity: int
    length: int
    digest: int | None = None


class LogError(ValueError):
    """A log that no server writes, damaged or not. The message is one line with the name of the file."""


class Flaw(Struct, frozen=True):
    """A place in a file that is neither empty nor a record.

    torn      the first part of a record or of the header, and nothing after it: a kill
    checksum  the Adler-32 is another one
    length    the length cannot be
    end       the byte after the transaction is not "B"
    hole      zeros, and something after them
    body      the checksum is right and the transaction makes no sense
    header    the file does not begin with "ZKLG"

    `stops`: a server that reads this does not start; otherwise it takes the file for ended here. `empty`: the file has
    no byte, with which a server may start (`Boot`).
    """

    kind: FlawKind
    offset: int
    message: str
    stops: bool = False
    empty: bool = False


def zxid_of_name(name: str, prefix: str) -> int | None:
    """Return the zxid in `log.100000001` or `snapshot.0` or `snapshot.0.gz`; None for any other file's name."""
    first, _, rest = name.partition(".")
    number = rest.partition(".")[0]
    if first != prefix or not 1 <= len(number) <= 16 or set(number) - set("0123456789abcdefABCDEF"):
        return None
    return int(number, 16)


def read_log(path: Path) -> Iterator[LogRecord | Flaw]:
    """Read the records of a log file, in order. After damage the next record that is whole follows, if there is one.

    OSError if the file cannot be read, LogError if it is none of a server. About 5 µs a record; memory is that of one
    record, or of the rest of the file if that is damaged.
    """
    with path.open("rb", buffering=_CHUNK) as file:
        size = os.fstat(file.fileno()).st_size
        header = file.read(HEADER_SIZE)
        if len(header) < HEADER_SIZE or header.rstrip(b"\0") in (b"", b"Z", b"ZK", b"ZKL"):
            message = "the file ends within its header" if size else "the file is empty"
            yield Flaw("torn", 0, message, stops=True, empty=not size)
            return
        if not header.startswith(LOG_MAGIC):
            yield Flaw("header", 0, f'expected "ZKLG", found {header[:4]!r}', stops=True)
            return
        offset: int | None = HEADER_SIZE
        for _ in range(_MOST_FLAWS):
            assert offset is not None
            file.seek(offset)
            flaw = yield from _records(file, offset, size)
            if flaw is None:
                return
            yield flaw
            offset = None if flaw.kind == "torn" else _next_record(_rest(file, flaw.offset), flaw.offset)
            if offset is None:
                return


def record_at(path: Path, offset: int) -> LogRecord | None:
    """Read the record at `offset`; None if there is none any more. OSError if the file cannot be read."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(offset)
        return next(_records(file, offset, size), None)


def operation_name(kind: int) -> str:
    """Return ZooKeeper's name of a type of transactions; the number of a type that is not known here."""
    try:
        first, *rest = Operation(kind).name.lower().split("_")
    except ValueError:
        return str(kind)
    return first + "".join(part.upper() if part in ("ttl", "acl") else part.capitalize() for part in rest)


def _records(file: BinaryIO, offset: int, size: int) -> Generator[LogRecord, None, Flaw | None]:
    """Yield the whole records from `offset` on; return the flaw that ends them, None at the end of the file."""
    while True:
        prefix = file.read(_PREFIX.size)
        if len(prefix) < _PREFIX.size:
            return Flaw("torn", offset, _TORN) if prefix.strip(b"\0") else None
        checksum, length = _PREFIX.unpack(prefix)
        if not checksum and not length:
            return Flaw("hole", offset, "zeros, and more after them") if _rest(file, offset) else None
        if not 0 < length <= size - offset - _PREFIX.size:
            found = f"expected a length from 1 to {max(1, size - offset - _PREFIX.size)}, found {length}"
            # A length that is only longer than the rest of the file is the end of the file for a server.
            if length < 0 or length > LONGEST_RECORD:
                return Flaw("length", offset, found, stops=True)
            return _torn(file, offset) or Flaw("length", offset, found)
        data = file.read(length + 1)
        if data[length:] != END_OF_RECORD:
            found = f'expected "B" after the transaction of {length} bytes, found {data[length:]!r}'
            return _torn(file, offset) or Flaw("end", offset, found)
        data = data[:length]
        if zlib.adler32(data) != checksum:
            found = f"expected the checksum 0x{checksum & _64_BITS:x}, found 0x{zlib.adler32(data):x}"
            return Flaw("checksum", offset, found, stops=True)
        try:
            record = _record(offset, data)
        except JuteError as error:
            return Flaw("body", offset, f"the transaction, {error}", stops=not isinstance(error, Truncated))
        if record.txn.type == Operation.MULTI and Operation.MULTI in _parts(record.data).values():
            raise LogError(f"{file.name}, byte {offset}: a multi within a multi, which no server writes")
        yield record
        offset += _PREFIX.size + length + 1


def _record(offset: int, data: bytes) -> LogRecord:
    txn = logged_txn(data)
    length = len(data)
    if txn.zxid <= 0:
        raise JuteError(_ZXID_AT, f"expected a zxid above 0, found {txn.zxid}")
    end = _end_of_body(data, txn.type)
    digest = None
    if end is not None and len(data) - end == _DIGEST.size:
        version, value = _DIGEST.unpack_from(data, end)
        digest = value & _64_BITS if version == _DIGEST_VERSION else None
        data = data[:end]
    content = _failed_alike(data) if txn.type == Operation.MULTI and end is not None else data
    identity = int.from_bytes(blake2b(content, digest_size=8).digest(), "big")
    return LogRecord(offset, txn, _TIME.unpack_from(data, _TIME_AT)[0], data, identity, length, digest)


def _failed_alike(data: bytes) -> bytes:
    """Return a multi in the form that is hashed: if it fails, all its parts count as errors.

    A leader of ZooKeeper 3.8 marks the parts so when it applies the multi, which may be before or after it logs the
    multi; so the logs of a leader and its followers differ in that.
    """
    parts = _parts(data)
    if Operation.ERROR not in parts.values():
        return data
    content = bytearray(data)
    for start in parts:
        _INT.pack_into(content, start, Operation.ERROR)
    return bytes(content)


def _parts(data: bytes) -> dict[int, int]:
    """Return where each part of a multi begins, and its type; the parts before the first that is cut off."""
    parts: dict[int, int] = {}
    at = _TXN_HEADER + 4
    with suppress(struct.error):
        for _ in range(_int(data, _TXN_HEADER)):
            parts[at], at = _int(data, at), _after(data, at + 4)
    return parts


def _end_of_body(data: bytes, kind: int) -> int | None:
    """Find where the body of a transaction ends, and a digest may begin; None if the body is not as it is today.

    Before 3.6 the body of closeSession was empty.
    """
    at = _TXN_HEADER
    try:
        match kind:
            case Operation.ERROR | Operation.CREATE_SESSION:
                return at + 4
            case Operation.CLOSE_SESSION:
                if len(data) == at or _is_digest(data, at):
                    return at
                count = _int(data, at)
                at += 4
                for _ in range(count):
                    at = _after(data, at)
                return at
            case Operation.DELETE | Operation.DELETE_CONTAINER:
                return _after(data, at)
            case Operation.SET_DATA | Operation.RECONFIG:
                return _after(data, _after(data, at)) + 4
            case Operation.SET_ACL:
                return _after_acl(data, _after(data, at)) + 4
            case Operation.MULTI:
                count = _int(data, at)
                at += 4
                for _ in range(count):
                    at = _after(data, at + 4)
                return at
            case _ if kind in _AFTER_ACL:
                return _after_acl(data, _after(data, _after(data, at))) + _AFTER_ACL[kind]
            case _:
                return None
    except struct.error:
        return None


_AFTER_ACL: dict[int, int] = {
    Operation.CREATE: 5,  # ephemeral, parentCVersion
    Operation.CREATE2: 5,
    Operation.CREATE_CONTAINER: 4,  # parentCVersion
    Operation.CREATE_TTL: 12,  # parentCVersion, ttl
}


def _is_digest(data: bytes, at: int) -> bool:
    """Return True if only a digest is left. Read as a vector, it would be two paths in 8 bytes, so both empty."""
    return len(data) - at == _DIGEST.size and _int(data, at) == _DIGEST_VERSION


def _int(data: bytes, at: int) -> int:
    value: int = _INT.unpack_from(data, at)[0]
    return value


def _after(data: bytes, at: int) -> int:
    """Return the end of a string or a buffer that begins at `at`."""
    return at + 4 + max(0, _int(data, at))


def _after_acl(data: bytes, at: int) -> int:
    """Return the end of a vector of ACLs; each is permissions, a scheme and an id."""
    count = _int(data, at)
    at += 4
    for _ in range(count):
        at = _after(data, _after(data, at + 4))
    return at


def _rest(file: BinaryIO, offset: int) -> bytes:
    """Read the file from `offset` on, without the zeros at its end; quick if there is nothing else."""
    file.seek(offset)
    chunks: list[bytes] = []
    zeros = 0  # the number of zeros after `chunks`
    while chunk := file.read(_CHUNK):
        if chunk == _ZEROS[: len(chunk)]:
            zeros += len(chunk)
        else:
            chunks += (bytes(zeros), chunk)
            zeros = 0
    return b"".join(chunks).rstrip(b"\0")


def _torn(file: BinaryIO, offset: int) -> Flaw | None:
    """Return the flaw of a torn tail, if that is at `offset`: the first part of a record, and nothing after it.

    A record whose length is damaged looks alike; but then its checksum fits a shorter transaction that ends with "B",
    or whole records follow.
    """
    rest = _rest(file, offset)
    checksum, length = _PREFIX.unpack(rest[: _PREFIX.size].ljust(_PREFIX.size, b"\0"))
    if length < 0 or not 0 <= checksum < 1 << 32:
        return None
    if len(rest) > _PREFIX.size:
        if len(rest) > _PREFIX.size + length or zlib.adler32(rest[_PREFIX.size : -1]) == checksum:
            return None
        if _next_record(rest, 0) is not None:
            return None
    return Flaw("torn", offset, _TORN)


def _next_record(rest: bytes, offset: int) -> int | None:
    """Find where the next whole record begins after a flaw at `offset`; `rest` is what the file has from there on."""
    at = 1
    first = len(rest) - len(rest.lstrip(b"\0"))
    # After a hole the record begins with the upper half of its checksum, which is zeros too.
    candidates: list[int] = [*range(max(1, first - 7), first - 3)]
    if len(rest) >= _PREFIX.size:
        # If only the end of the record is damaged, its length says where the next one begins.
        _, length = _PREFIX.unpack_from(rest)
        candidates.append(_PREFIX.size + int(length) + 1)
    for start in candidates:
        if start > 0 and _is_record(rest, start):
            return offset + start
    while (at := rest.find(_NEXT_RECORD, at)) >= 0:
        at += 1
        if _is_record(rest, at):
            return offset + at
    return None


def _is_record(rest: bytes, start: int) -> bool:
    if start + _PREFIX.size > len(rest):
        return False
    checksum, length = _PREFIX.unpack_from(rest, start)
    begin = start + _PREFIX.size
    end = begin + length
    return bool(length > 0) and rest[end : end + 1] == END_OF_RECORD and zlib.adler32(rest[begin:end]) == checksum

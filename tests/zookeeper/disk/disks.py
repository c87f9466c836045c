"""Writes the files of a ZooKeeper server's disk: logs and snapshots, byte by byte as the server does."""

import gzip
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow

from zabcheck.zookeeper.wire.jute import Operation

_SNAPPY = pyarrow.Codec("snappy")
LOG_HEADER = b"ZKLG" + struct.pack(">iq", 2, 0)
SNAPSHOT_HEADER = b"ZKSN" + struct.pack(">iq", 2, -1)
SESSION = 0x1000_0000_0000_0001
TIME = 1_700_000_000_000
EVERYBODY = struct.pack(">ii5si6s", 31, 5, b"world", 6, b"anyone")
"""An ACL."""


_REAL = tuple(Path(__file__).parents[1] / f"zookeeper-{release}" for release in ("3.8.0", "3.9.5"))


def real(name: str) -> bytes:
    """Return a file that a server of ZooKeeper 3.8.0 wrote (with Snappy 3.9.5); a log without the zeros after it."""
    return bytes.fromhex((_REAL[name.endswith(".snappy")] / f"{name}.hex").read_text())


def zxid(epoch: int, counter: int) -> int:
    return epoch << 32 | counter


def text(content: str | bytes | None) -> bytes:
    """A string or a buffer."""
    if content is None:
        return struct.pack(">i", -1)
    data = content.encode() if isinstance(content, str) else content
    return struct.pack(">i", len(data)) + data


def vector(items: Sequence[bytes]) -> bytes:
    return struct.pack(">i", len(items)) + b"".join(items)


def number(value: int) -> bytes:
    return struct.pack(">i", value)


def txn(at: int, kind: int, body: bytes = b"", session: int = SESSION, cxid: int | None = None) -> bytes:
    """A transaction: header and body."""
    return struct.pack(">qiqqi", session, at & 0xFFFF if cxid is None else cxid, at, TIME, kind) + body


def create(at: int, path: str = "", data: bytes = b"v", ephemeral: bool = False) -> bytes:
    """The creation of a node, named after its zxid if nothing is said."""
    body = text(path or f"/n{at:x}") + text(data) + vector([EVERYBODY]) + bytes([ephemeral]) + number(-1)
    return txn(at, Operation.CREATE2, body)


def with_digest(data: bytes, digest: int) -> bytes:
    return data + struct.pack(">iQ", 2, digest)


def record(data: bytes) -> bytes:
    """A transaction as a log has it."""
    return struct.pack(">qi", zlib.adler32(data), len(data)) + data + b"B"


def log(txns: Sequence[bytes], padding: int = 100) -> bytes:
    """A log file."""
    return LOG_HEADER + b"".join(map(record, txns)) + bytes(padding)


def node(path: str, data: bytes | None = b"", at: int = 0, owner: int = 0, cversion: int = 0) -> bytes:
    """A node as a snapshot has it."""
    return text(path) + text(data) + struct.pack(">qqqqqiiiqq", 1, at, at, 0, 0, 0, cversion, 0, owner, at)


def seal(data: bytes) -> bytes:
    """Append the checksum of all that was before, and the end."""
    return data + struct.pack(">q", zlib.adler32(data)) + text("/")


EMPTY_TREE = (node(""), node("/zookeeper"), node("/zookeeper/config", b"server.1=x"), node("/zookeeper/quota"))


def snapshot(
    nodes: Sequence[bytes] = EMPTY_TREE,
    sessions: Mapping[int, int] | None = None,
    digest: tuple[int, int] | None = (0, 0),
    last: int | None = None,
) -> bytes:
    """A snapshot file: with a digest since 3.6 (zxid, value), with a last zxid since 3.9."""
    sessions = sessions or {}
    data = SNAPSHOT_HEADER + vector([struct.pack(">qi", *each) for each in sessions.items()])
    data += number(1) + struct.pack(">q", 1) + vector([EVERYBODY])
    data = seal(data + b"".join(nodes) + text("/"))
    if digest is not None:
        data = seal(data + struct.pack(">qiQ", digest[0], 2, digest[1]))
    if last is not None:
        data = seal(data + struct.pack(">q", last))
    return data


def disk(
    directory: Path,
    logs: Mapping[int, bytes | Sequence[int]],
    snapshots: Mapping[int, bytes] | None = None,
    accepted: int | str | None = 1,
    current: int | str | None = 1,
    server: int | None = None,
) -> Path:
    """A data directory. A log is its bytes, or the zxids of creations; without `snapshots` there is an empty tree."""
    files = directory / "version-2"
    files.mkdir(parents=True)
    for first, content in logs.items():
        data = content if isinstance(content, bytes) else log([create(at) for at in content])
        (files / f"log.{first:x}").write_bytes(data)
    for at, data in ({0: snapshot()} if snapshots is None else snapshots).items():
        (files / f"snapshot.{at:x}").write_bytes(data)
    for name, epoch in (("acceptedEpoch", accepted), ("currentEpoch", current)):
        if epoch is not None:
            (files / name).write_text(str(epoch))
    if server is not None:
        (directory / "myid").write_text(f"{server}\n")
    return directory


def compressed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def snappy(data: bytes, block: int = 32768) -> bytes:
    """Compress as snappy-java's stream does, in blocks of this length."""
    blocks = (_SNAPPY.compress(data[at : at + block], asbytes=True) for at in range(0, len(data), block))
    return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + b"".join(text(each) for each in blocks)

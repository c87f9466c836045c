"""Alters the disks of servers: files that are cut, damaged, emptied, copied, renamed or lost."""

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.zookeeper.disk.disks import compressed, create, log, real, snappy, snapshot, with_digest, zxid

E1 = [zxid(1, counter) for counter in range(1, 17)]
_FILES = (range(4), range(4, 7), range(7, 11), range(11, 14), range(14, 16))


def sound(directory: Path, random: Random) -> Path:
    """The disk of a server of an ensemble, as a real one wrote it, or with five logs."""
    files = directory / "version-2"
    files.mkdir(parents=True)
    if random.random() < 0.4:
        for name in ("log.100000001", "log.10000000c", "snapshot.0", "snapshot.10000000a"):
            (files / name).write_bytes(real(name))
    else:
        for part in _FILES:
            (files / f"log.{E1[part[0]]:x}").write_bytes(log([create(E1[each]) for each in part]))
        for at in (0, E1[5]):
            (files / f"snapshot.{at:x}").write_bytes(snapshot())
    for name in ("acceptedEpoch", "currentEpoch"):
        (files / name).write_text("1")
    return directory


def altered(directory: Path, seed: int) -> Path:
    """A disk with one to three alterations, by the seed."""
    random = Random(seed)
    files = sound(directory, random) / "version-2"
    for _ in range(random.randint(1, 3)):
        random.choice(_ALTERATIONS)(files, random)
    if random.random() < 0.15:
        _copy(files, random)  # at last: of two that differ, the file system decides which is read first
    return directory


def _some(files: Path, random: Random, prefix: str = "") -> Path | None:
    found = sorted(each for each in files.iterdir() if each.name.startswith(prefix or ("log", "snap")))
    return random.choice(found) if found else None


def _lose(files: Path, random: Random) -> None:
    if (path := _some(files, random)) is not None:
        path.unlink()


def _cut(files: Path, random: Random) -> None:
    if (path := _some(files, random)) is not None:
        data = path.read_bytes()
        padding = bytes(random.choice((0, 0, 50)))
        path.write_bytes(data[: random.randrange(len(data) + 1)] + padding)


def _flip(files: Path, random: Random) -> None:
    path = _some(files, random)
    if path is not None and path.stat().st_size:
        data = bytearray(path.read_bytes())
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        path.write_bytes(data)


def _zero(files: Path, random: Random) -> None:
    path = _some(files, random)
    if path is not None and path.stat().st_size:
        data = bytearray(path.read_bytes())
        start = random.randrange(len(data))
        end = min(len(data), start + random.choice((4, 12, 100)))
        data[start:end] = bytes(end - start)
        path.write_bytes(data)


def _empty(files: Path, random: Random) -> None:
    if (path := _some(files, random, "log")) is not None:
        path.write_bytes(b"")


def _insert_empty(files: Path, random: Random) -> None:
    path = files / f"log.{random.choice((*E1, zxid(1, 17), zxid(2, 1))):x}"
    if not path.exists():
        path.write_bytes(bytes(random.choice((0, 0, 7, 16, 40))))


def _copy(files: Path, random: Random) -> None:
    if (path := _some(files, random, "log")) is not None:
        shutil.copy(path, path.with_name(f"{path.name}.bak"))


def _foreign(files: Path, random: Random) -> None:
    name = random.choice((*E1, zxid(1, 40), zxid(3, 1)))
    first = random.choice((zxid(1, 20), zxid(9, 1), zxid(1, 2)))
    path = files / f"log.{name:x}"
    if not path.exists():
        path.write_bytes(log([create(first, "/foreign"), create(first + 1)]))


def _epochs(files: Path, random: Random) -> None:
    name = random.choice(("currentEpoch", "acceptedEpoch", "currentEpoch.tmp", "acceptedEpoch.tmp"))
    content = random.choice(("0", "1", "2", "", "x", "-1", "1\n", "1 ", "99999999999999999999", None))
    if content is None:
        (files / name).unlink(missing_ok=True)
    else:
        (files / name).write_text(content)


def _other_digest(files: Path, random: Random) -> None:
    path = files / f"log.{zxid(1, 17):x}"
    if not path.exists():
        path.write_bytes(log([with_digest(create(zxid(1, 17)), random.getrandbits(60))]))


def _compress(files: Path, random: Random) -> None:
    path = _some(files, random, "snapshot")
    if path is not None and path.suffix not in (".gz", ".snappy"):
        data = path.read_bytes()
        packed = random.choice((compressed(data), snappy(data), snappy(data, 100)))
        path.with_name(path.name + (".gz" if packed.startswith(b"\x1f") else ".snappy")).write_bytes(packed)
        path.unlink()


def _torn_snapshot(files: Path, random: Random) -> None:
    data = snapshot()
    (files / f"snapshot.{random.choice(E1):x}").write_bytes(data[: random.randrange(len(data))])


_ALTERATIONS: tuple[Callable[[Path, Random], None], ...] = (
    _compress,
    _compress,
    _lose,
    _cut,
    _cut,
    _flip,
    _zero,
    _empty,
    _insert_empty,
    _foreign,
    _epochs,
    _epochs,
    _other_digest,
    _torn_snapshot,
)

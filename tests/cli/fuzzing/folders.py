"""Files in folders, and those with checksums, which fit what has been changed: disks, campaigns, checkpoints, jars."""

import gzip
import hashlib
import os
import shutil
import struct
import zipfile
from collections.abc import Callable
from functools import cache
from io import BytesIO
from pathlib import Path
from random import Random

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from tests.cli.fuzzing.calling import answers
from tests.cli.fuzzing.changes import NUMBERS, VALUES, change_digit, change_value, changed, cut_off
from tests.cli.fuzzing.files import TRACES, formats
from tests.invariants.columns import table_of
from tests.zookeeper.debugger.test_class_path import klass
from tests.zookeeper.disk.disks import LOG_HEADER, create, log, node, number, real, record, snapshot, text, txn
from zabcheck.campaign import plan as plans
from zabcheck.campaign.plan import Plan
from zabcheck.cli import verdict
from zabcheck.explore.bounds import Bounds
from zabcheck.explore.exploration import explore
from zabcheck.invariants import trace
from zabcheck.proof import certificate
from zabcheck.proof.obligations import Theory, obligations
from zabcheck.proof.subject import Subject
from zabcheck.protocols.switches import Switches
from zabcheck.zookeeper.wire.jute import Operation


def change_binary(rng: Random, data: bytes) -> bytes:
    """Change some bytes, or a number of four or eight."""
    if not data:
        return rng.randbytes(rng.choice([0, 1, 40]))
    at = rng.randrange(len(data))
    match rng.choice(["byte", "byte", "int", "long", "drop", "add", "cut"]):
        case "byte":
            return data[:at] + rng.randbytes(1) + data[at + 1 :]
        case "int":
            return data[:at] + struct.pack(">i", rng.choice([-1, 0, 1, 2**31 - 1, -(2**31), 14, 99])) + data[at + 4 :]
        case "long":
            return data[:at] + struct.pack(">q", rng.choice([-1, 0, 1, 2**63 - 1, 2**32])) + data[at + 8 :]
        case "drop":
            return data[:at] + data[at + rng.choice([1, 4, 8]) :]
        case "add":
            return data[:at] + rng.randbytes(rng.choice([1, 4, 8])) + data[at:]
        case _:
            return cut_off(rng, data)


def put(rng: Random, file: Path, data: bytes) -> None:
    """Write a file; now and then it is something that is no file, or a link."""
    match rng.choice(["file"] * 40 + ["fifo", "device", "loop", "folder", "empty", "away"]):
        case "fifo":
            os.mkfifo(file)
        case "device":
            file.symlink_to(rng.choice(["/dev/zero", "/dev/full", "/dev/tty", "/proc/self/mem"]))
        case "loop":
            file.symlink_to(file.name)
        case "folder":
            file.mkdir()
        case "away":
            file.symlink_to("nowhere")
        case "empty":
            file.write_bytes(b"")
        case _:
            file.write_bytes(data)


def emptied(folder: Path) -> Path:
    """A folder of this name with nothing in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def a_txn(rng: Random, at: int) -> bytes:
    """A transaction of some type, whole or not, multis within multis among them."""
    body = text(rng.choice(["/a", "/a/b", "", "/zookeeper", "x" * 300])) + text(b"v")
    parts = rng.choice([0, 1, 2, 3])
    for _ in range(rng.choice([1, 1, 2, 400])):
        body = number(parts) + (number(rng.choice([1, 2, 14, -1])) + text(body[: 1 << 16])) * max(1, parts)
        if len(body) > 1 << 18:
            break
    made = rng.choice([create(at, rng.choice(["", "/a", "/a/b"])), txn(at, rng.choice([*Operation, 99]), body)])
    return change_binary(rng, made) if rng.random() < 0.4 else made


def disk_scanned(rng: Random, folder: Path) -> int:
    """A server's disk. The records of its logs have the right checksums, though not always the right content."""
    files = emptied(folder / "disk") / "version-2"
    files.mkdir()
    nodes = [node(path, cversion=rng.choice([0, 2**31 - 1])) for path in rng.choice([[""], ["", "/a"], ["/a", ""]])]
    for first in rng.sample([1, 2, 5, 2**32 + 1], rng.choice([0, 1, 1, 2])):
        whole = log([a_txn(rng, first + n) for n in range(rng.choice([0, 1, 3]))], rng.choice([0, 9, 100]))
        data = rng.choice([whole, whole, real("log.100000001"), LOG_HEADER + record(b"") + bytes(9)])
        put(rng, files / f"log.{first:x}", change_binary(rng, data) if rng.random() < 0.3 else data)
    for at in rng.sample([0, 1, 2**32], rng.choice([0, 1, 1, 2])):
        data = rng.choice([snapshot(nodes), snapshot(), real("snapshot.0"), b"ZKSN" + bytes(10**5)])
        data = change_binary(rng, data) if rng.random() < 0.3 else data
        packed = rng.choice(["", "", "", ".gz", ".snappy"])
        put(rng, files / f"snapshot.{at:x}{packed}", gzip.compress(data, 1, mtime=0) if packed == ".gz" else data)
    for name in rng.sample(["acceptedEpoch", "currentEpoch", "myid", "../myid"], rng.choice([0, 2, 4])):
        put(rng, files / name, rng.choice([b"1", b"0\n", b"-1", b"x", b"9" * 5000, b"\xff"]))
    options = rng.choice([[], [], ["--txns"], ["--no-digests"], ["--log-dir", "disk"]])
    return answers(["zookeeper", "logs", "disk", *options, *formats(rng)], ["disk"])


PLAN = plans.dump(Plan(1, "zab", (None,), 1, 2, 1, "none", 9, 2, None, ("integrity",), {}))


def campaign_reported(rng: Random, folder: Path) -> int:
    """A campaign that has made nothing yet, or whose files are none."""
    store = emptied(folder / "campaign")
    put(rng, store / "campaign.json", changed(rng, PLAN) if rng.random() < 0.8 else PLAN)
    if rng.random() < 0.3:
        (store / "findings").mkdir()
        put(rng, store / "findings/findings.json", changed(rng, b'[{"schedule":"x.json","steps":1}]'))
    if rng.random() < 0.3:
        (store / "runs").mkdir()
        put(rng, store / "runs/part-000000.parquet", change_binary(rng, b"PAR1" + bytes(30) + b"PAR1"))
    return answers(["campaign", "report", "campaign", *formats(rng)], writable=[store])


@cache
def a_checkpoint(folder: Path) -> bytes:
    """A small search that is over, without its digest."""
    file, switches = folder / "whole", Switches(sync="atomic", closing="abrupt")
    explore("zab", bounds=Bounds(2, 1, 1, 0, 0), switches=switches, checkpoint=file)
    return file.read_bytes()[:-32]


RESUMED = ["explore", "--processes", "2", "--epochs", "1", "--txns", "1", "--timeouts", "0", "--crashes", "0"]


def search_resumed(rng: Random, folder: Path) -> int:
    """A checkpoint with another content, and the digest of that."""
    content = a_checkpoint(folder)
    start = content.index(b"\n") + 1
    head, rest = content[:start], content[start:]
    if rng.random() < 0.5:
        document = msgspec.json.decode(head)
        change_value(rng, document[rng.choice(["position", "sizes"])] if rng.random() < 0.6 else document)
        head = rng.choice([msgspec.json.encode(document) + b"\n", change_digit(rng, head)])
    else:
        rest = change_binary(rng, rest)
    content = head + rest
    (folder / "at").write_bytes(content + hashlib.sha256(content).digest())
    code = answers([*RESUMED, "--checkpoint", "at", "--resume", *formats(rng)], ["--checkpoint at: expected"])
    assert code in (verdict.BAD_INPUT, verdict.INCONCLUSIVE), "without the checkpoint it is inconclusive"
    return code


OPTIONS = [
    '(set-option :regular-output-channel "written")',
    '(set-option :diagnostic-output-channel "written")',
    '(set-option :dump-models-to "written")',
    '(echo "unsat")',
    "(get-info :version)",
    "(exit)",
    "(assert false)",
    "(" * 5000 + ")" * 5000,
    "(set-logic ALL)",
    ";",
]


@cache
def a_certificate() -> dict[str, bytes]:
    """The files of some obligations of the proof."""
    entries = [certificate.Entry(each, []) for each in obligations(Theory())[:3]]
    return {name: content.encode() for name, content in certificate.contents(entries, Subject()).items()}


def certificate_verified(rng: Random, folder: Path) -> int:
    """A certificate in which something else stands; its index fits that."""
    files = dict(a_certificate())
    name = rng.choice([each for each in files if each.endswith(".smt2")])
    lines = files[name].splitlines(keepends=True)
    lines[rng.randrange(len(lines)) : rng.choice([None, 0])] = [f"{line}\n".encode() for line in rng.sample(OPTIONS, 2)]
    files[name] = b"".join(lines)
    sums = [f"{hashlib.sha256(data).hexdigest()}  {each}\n" for each, data in files.items() if each.endswith(".smt2")]
    files[certificate.SUMS] = "".join(sorted(sums)).encode()
    if rng.random() < 0.3:
        other = rng.choice([certificate.SUMS, certificate.MANIFEST])
        files[other] = changed(rng, files[other])
    for each, data in files.items():
        put(rng, (emptied(folder / "proof") if each == next(iter(files)) else folder / "proof") / each, data)
    return answers(["verify", "proof", *formats(rng)])


def jar_read(rng: Random, folder: Path) -> int:
    """A jar whose bytes or whose class has been changed."""
    (folder / "it.jar").unlink(missing_ok=True)
    data, made = klass("org/apache/zookeeper/version/Info", "a"), BytesIO()
    with zipfile.ZipFile(made, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as jar:
        swollen = rng.choice([data, data, change_binary(rng, data), bytes((1 << 24) + 1)])
        jar.writestr("org/apache/zookeeper/version/Info.class", swollen)
        jar.writestr(rng.choice(["é", "a/b", "../up", "x" * 99]), b"")
    data = made.getvalue()
    for _ in range(rng.choice([0, 1, 1, 3])):
        data = change_binary(rng, data)
    (folder / "it.jar").write_bytes(data)
    return answers(["zookeeper", "points", "--classpath", rng.choice(["it.jar", "*", "it.jar:nowhere"])])


def columns_judged(rng: Random, folder: Path) -> int:
    """Runs in a Parquet file: rows left out, repeated and altered, in a file that is well formed."""
    rows = table_of([trace.loads(rng.choice(TRACES)) for _ in range(rng.choice([1, 2]))]).to_pylist()
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        at = rng.randrange(len(rows)) if rng.random() < 0.6 else 0
        match rng.choice(["drop", "repeat", "change", "extra"]):
            case "drop" if len(rows) > 1:
                del rows[at]
            case "repeat":
                rows.insert(rng.randrange(len(rows)), rows[at])
            case "extra":
                deep = rng.choice([3, 60, 990, 5000])
                rows[at] = {**rows[at], "rest": rng.choice(["", "{", "[1]", '{"x":' * deep + "1" + "}" * deep, None])}
            case _:
                name = rng.choice([each for each in rows[at] if each != "rest"])
                rows[at] = {**rows[at], name: rng.choice([rows[at][name], *NUMBERS, *VALUES])}
    try:
        table = pa.Table.from_pylist(rows, table_of([trace.loads(TRACES[0])]).schema)
        pq.write_table(table, folder / "file", row_group_size=rng.choice([1 << 20, 7]))
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return columns_judged(rng, folder)  # the column cannot hold that
    arguments = rng.choice([["check"], ["check"], ["explain"], ["explain", "--run", "0"], ["check", "--run", "0"]])
    return answers([*arguments, "file", *formats(rng)], ["file"])


FOLDERS: dict[str, Callable[[Random, Path], int]] = {
    "disk": disk_scanned,
    "campaign": campaign_reported,
    "checkpoint": search_resumed,
    "certificate": certificate_verified,
    "jar": jar_read,
    "columns": columns_judged,
}

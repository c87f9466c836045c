"""Operators' logs: each usual layout, prefix and rotation gives the same lines."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.zookeeper.serverlogs.test_problems import LOGS
from zabcheck.zookeeper.serverlogs import reading
from zabcheck.zookeeper.serverlogs.reading import ServerLogError, read
from zabcheck.zookeeper.serverlogs.timeline import timeline

EXAMPLE = (LOGS / "half-record-3.8.0/zookeeper-1.log").read_text()
_LOG4J = re.compile(r"(\S+ \S+) \[myid:(.*?)\] - (\w+) +\[(.*):([\w$]+)@(\d+)\] - (.*)")


def told(*files: Path) -> list[tuple[str | None, ...]]:
    """Return what each server says, without files and lines."""
    return [
        (log.name, each.kind, str(each.time), str(each.zxid), str(each.other), each.text)
        for log in read(files)
        for each in timeline(log, 0)
    ]


def with_head(form: str) -> str:
    """Return the example with another layout of its lines."""
    lines = []
    for line in EXAMPLE.splitlines():
        match = _LOG4J.fullmatch(line)
        if match is None:
            lines.append(line)
        else:
            time, myid, level, thread, source, number, message = match.groups()
            package = "org.apache.zookeeper.server"
            lines.append(form.format(**locals()))
    return "\n".join(lines) + "\n"


def with_prefix(prefix: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in EXAMPLE.splitlines())


def in_json(text: str) -> str:
    return "".join(json.dumps({"log": f"{line}\n", "stream": "stdout"}) + "\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        with_head("{time} [myid:] - {level}  [{thread}:o.a.z.s.{source}@{number}] - {message}"),
        with_head("{time} - {level}  [{thread}:{source}@{number}] - {message}"),
        with_head("{time} [myid:{myid}] [{thread}] {level} {package}.{source} - {message}"),
        with_head("[{time}] {level} {message} ({package}.{source})"),
        with_head("{time} {level} {message} ({package}.{source}) [{thread}]"),
        with_prefix("Nov 27 20:19:25 zk-a zkServer.sh[812]: "),
        with_prefix("2026-11-27T20:19:25+0000 zk-a zkServer.sh[812]: "),
        with_prefix("zoo1_1  | "),
        with_prefix("[pod/zk-0/zookeeper] 2026-11-27T20:19:25.461123456Z "),
        with_prefix("2026-11-27T20:19:25.461123456Z stdout F "),
        in_json(EXAMPLE),
        with_head("\x1b[32m{time} [myid:{myid}] - {level}  [{thread}:{source}@{number}] - {message}\x1b[0m"),
        EXAMPLE.replace("\n", "\r\n"),
    ],
)
def test_each_usual_form_of_a_line(tmp_path: Path, text: str) -> None:
    plain, other = tmp_path / "a.log", tmp_path / "b.log"
    plain.write_text(EXAMPLE)
    other.write_bytes(text.encode())
    assert told(other) == told(plain)


@pytest.mark.parametrize("kept", [gzip.compress, bytes])
def test_rotated_files_are_one_log_in_the_order_of_time(tmp_path: Path, kept: Callable[[bytes], bytes]) -> None:
    lines = EXAMPLE.splitlines(keepends=True)
    places = [at for at, line in enumerate(lines) if line.startswith("2026")]
    first, second = places[len(places) // 3], places[2 * len(places) // 3]
    (tmp_path / "whole.log").write_text(EXAMPLE)
    folder = tmp_path / "logs"
    folder.mkdir()
    ending = ".gz" if kept is gzip.compress else ""
    (folder / f"zookeeper.log.2{ending}").write_bytes(kept("".join(lines[:first]).encode()))
    (folder / "zookeeper.log.1").write_text("".join(lines[first:second]))
    (folder / "copy of zookeeper.log.1.log").write_text("".join(lines[first:second]))
    (folder / "zookeeper.log").write_text("".join(lines[second:]))
    assert told(folder) == told(tmp_path / "whole.log")
    (folder / "zookeeper.log.1").unlink()
    [log] = read([folder])
    assert [Path(each).name for each in log.missing] == ["zookeeper.log.1"]


def test_several_servers_in_one_file(tmp_path: Path) -> None:
    """They are told apart by the prefix, else by the myid: a line without one belongs to the server before it."""
    parts = [(LOGS / f"half-record-3.8.0/zookeeper-{n}.log").read_text() for n in (1, 2)]
    (tmp_path / "joined.log").write_text("".join(parts))
    named = [f"zoo{n} | {line}" for n, part in enumerate(parts) for line in part.splitlines()]
    (tmp_path / "composed.log").write_text("\n".join(named) + "\n")
    apart = told(*(LOGS / f"half-record-3.8.0/zookeeper-{n}.log" for n in (1, 2)))
    assert told(tmp_path / "joined.log") == apart
    assert told(tmp_path / "composed.log") == apart


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.log", b"nothing of the kind\n", "a.log: expected the log of a ZooKeeper server"),
        ("a.log", bytes(range(256)), "a.log: expected the log of a ZooKeeper server"),
        ("a.log", b"2026-13-41 25:00:00,000 [myid:1] - INFO  [main:QuorumPeer@1] - LOOKING\n", "found no such line"),
        ("a.log", b"2026-01-31 12:00:00,000 INFO" + b" (a) [x" * 30_000, "found no such line"),
        ("a.log.gz", b"\x1f\x8b\x08broken", "a.log.gz: "),
        ("a.log.gz", b"no gzip", "a.log.gz: Not a gzipped file"),
        ("a.log.gz", gzip.compress(b"x" * 1000, mtime=0), "a.log.gz: expected at most 100 bytes"),
    ],
    ids=["other text", "bytes", "no date", "many brackets", "broken gzip", "no gzip", "large"],
)
def test_a_file_that_is_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: bytes, message: str
) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 100 if "most" in message else 1 << 20)
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ServerLogError, match=re.escape(message)):
        read([tmp_path / name])
    if "found no" in message or "expected the" in message:
        with pytest.raises(ServerLogError, match="expected logs of ZooKeeper servers, found none"):
            read([tmp_path])

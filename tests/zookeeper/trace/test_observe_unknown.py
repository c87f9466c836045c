"""Gaps in a recording are told, and make a verdict inconclusive; nothing is invented."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from invariants import (
    ClientAck,
    Crash,
    Event,
    FinalRead,
    Halt,
    Recover,
    Zxid,
)
from invariants.events import End
from tests.zookeeper.recordings import Recording, zxid
from tests.zookeeper.trace.observed import (
    A,
    E,
    broken,
    delivered,
    finish,
    healthy,
    joins,
    leader_without,
    of,
    told,
    txns,
)
from zabcheck.zookeeper.recording.folder import RecordingError
from zabcheck.zookeeper.recording.records import Undecoded, Wiped
from zabcheck.zookeeper.trace.notes import AckOfUnknown, DiskWiped
from zabcheck.zookeeper.trace.observe import ObservedRun, observe
from zabcheck.zookeeper.trace.sources import AnswerTo


def cut_off(recording: Recording) -> None:
    recording.end(1, 2, 3, complete=False)


def without_an_end(recording: Recording) -> None:
    recording.record.close()


def without_a_log(recording: Recording) -> None:
    recording.end(1, 2, 3)
    (recording.folder / "server-2.0.log").unlink()


def with_a_line_that_nobody_understands(recording: Recording) -> None:
    recording.line(2, "FinalRequestProcessor", "Processing request:: what?")
    recording.end(1, 2, 3)


def with_a_connection_that_nobody_understands(recording: Recording) -> None:
    recording.record.record(Undecoded(recording.tick(), 1, 3, 1, "from byte 7: nonsense"))
    recording.end(1, 2, 3)


def with_a_snapshot_of_unknown_content(recording: Recording) -> None:
    recording.kill(2)
    recording.start(2)
    recording.look(2, reach=A.zxid)
    recording.discover(3, [2], 1, A.zxid, rejoin=True)
    recording.packet(3, 2, "SNAP", zxid(1, 9))
    recording.end(1, 2, 3)


def with_a_memory_of_unknown_origin(recording: Recording) -> None:
    recording.look(2, reach=zxid(1, 9))
    recording.end(1, 2, 3)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (cut_off, "the recording is not complete: interrupted"),
        (without_an_end, "the recording has no end"),
        (without_a_log, "server-2.0.log: No such file or directory"),
        (
            with_a_line_that_nobody_understands,
            "server-2.0.log, line 7: expected a line that says when and what, found 'Processing request:: what?'",
        ),
        (
            with_a_connection_that_nobody_understands,
            "what was sent from server 3 to server 1 could not be decoded: from byte 7: nonsense",
        ),
        (
            with_a_snapshot_of_unknown_content,
            "server 2: it got a snapshot up to ⟨1,9⟩ from server 3, whose history is unknown",
        ),
        (
            with_a_memory_of_unknown_origin,
            "server 2: at server-2.0.log:8 it says that its memory reaches up to ⟨1,9⟩, where that is from is unknown",
        ),
    ],
)
def test_what_is_not_known_makes_the_verdict_inconclusive(
    recording: Recording, wrong: Callable[[Recording], None], why: str
) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.write(3, [1, 2], A, 1)
    wrong(recording)
    found = observe(recording.folder)
    assert told(found.partial) == [why]
    assert set(broken(found).values()) == {"inconclusive"}
    *_, end = found.trace()
    assert end == End(len(found.events), complete=False)


def test_an_acknowledged_write_that_nobody_else_tells_of_is_noted_and_not_invented(recording: Recording) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.ask(1, A)
    recording.acknowledge(1, A)
    found = finish(recording, A)
    assert not [event for event in found.events if isinstance(event, ClientAck)]
    assert found.notes[0] == AckOfUnknown(1, AnswerTo(1, 1), Zxid(1, 1))
    assert [event.txns for event in found.events if isinstance(event, FinalRead)] == [(), (), ()]


def test_a_wiped_disk_is_no_broken_promise(recording: Recording) -> None:
    leader_without(recording)
    recording.disk(3, 0)
    recording.record.record(Wiped(recording.tick(), 3))
    joins(recording, 3, 2, 0)
    recording.diff(2, 3, 2, [A, E], E.zxid)
    recording.up_to_date(2, 3, 2)
    recording.deliver(3, txn=A)
    recording.deliver(3, txn=E)
    found = finish(recording, A, E)
    assert delivered(found, 3, 1) == txns(A, E)
    assert broken(found) == {}
    assert DiskWiped(3, 1) in found.notes


def test_a_server_that_ends_by_itself_halts_or_crashes_if_it_comes_back(recording: Recording) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.exit(1, 1)
    recording.start(1)
    recording.line(1, "quorum.QuorumPeer", "Unable to load database on disk", "ERROR")
    recording.exit(1, 13)
    recording.end(2, 3)
    found = observe(recording.folder)
    ends = of(found, 1, Crash, Halt, Recover)
    assert ends == [Crash(1, 0), Recover(1, 1), Halt(1, 1, "exit code 13: Unable to load database on disk")]


def lines(*texts: str) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


RUN = '{"record":"run","version":1,"zookeeper":"3.8.0","servers":1}'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1: expected the record `run`"),
        (lines('{"record":"ended","time":1,"complete":true}'), "line 1: expected the record `run`"),
        (lines(RUN, '{"record":"killed","time":1,"server":1}'), "server 1 ended, and was never started"),
        (lines(RUN, '{"record":"killed","time":1,"server":2}'), "expected a server from 1 to 1, found 2"),
        (lines(RUN, '{"record":"started","time":1,"server":1,"incarnation":1}'), "expected incarnation 0"),
        (lines(RUN, "{}"), "line 2: "),
    ],
)
def test_a_malformed_recording_is_an_error_of_one_line(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "recording.jsonl").write_bytes(data)
    with pytest.raises(RecordingError, match=r"^[^\n]*$") as error:
        observe(tmp_path)
    assert message in str(error.value)


def test_no_order_of_the_servers_logs_changes_a_verdict(recording: Recording) -> None:
    healthy(recording)
    found = observe(recording.folder)
    by_server: Iterable[Event] = sorted(found.events, key=lambda event: -getattr(event, "process", 0))
    turned = ObservedRun(found.header, tuple(by_server), found.sources, found.notes, found.partial)
    assert broken(turned) == {}

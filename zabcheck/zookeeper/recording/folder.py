"""The recording of a run: a folder with one file of records, beside the servers' own logs.

Everything reported about a run later (its trace, the verdicts, the packets that diverge from the steps of Zab) is
computed from this folder alone, so a run can be judged again, by another version or on another machine:

    recording.jsonl      `Run`, then the other records in the order in which they were taken, then `Ended`
    server-2.0.log       the output of incarnation 0 of server 2
"""

import os
from collections.abc import Iterator
from errno import ENOSPC
from os import strerror
from pathlib import Path
from threading import Lock
from time import time_ns

import msgspec

from zabcheck.invariants.diagnosis import NOT_DECODED, is_nested_too_deeply, why_not_decoded
from zabcheck.invariants.trace import MAX_LINE
from zabcheck.text.files import regular
from zabcheck.zookeeper.recording.records import AnyRecord, Record, Run

RECORDING = "recording.jsonl"

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AnyRecord)


class RecordingError(ValueError):
    """A recording that cannot be read; the message is one line with file, line and field."""


class Recorder:
    """Writes records into a folder, from any thread, each at once: a run that is killed leaves what it had recorded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = (folder / RECORDING).open("wb", buffering=0)
        self._lock = Lock()

    def record(self, record: Record) -> None:
        """Write a record. OSError if there is no room. After `close` nothing is written."""
        with self._lock:
            if not self._file.closed:
                line = _encoder.encode(record) + b"\n"
                if self._file.write(line) < len(line):
                    raise OSError(ENOSPC, strerror(ENOSPC), str(self.folder / RECORDING))

    def close(self) -> None:
        """Close the file; records that come later are left out."""
        with self._lock:
            self._file.close()


def now() -> int:
    """Return the present time in microseconds since 1970, as in records."""
    return time_ns() // 1000


def log_file(folder: Path, server: int, incarnation: int) -> Path:
    """Return the path of this incarnation's log."""
    return folder / f"server-{server}.{incarnation}.log"


def read(folder: Path) -> Iterator[AnyRecord]:
    """Read the records of a recording, in order. RecordingError if there is none, or a record is malformed.

    A last line that is cut off is left out: a recording ends like that if there was no room for more.
    """
    path = folder / RECORDING
    if not os.path.exists(path):  # a name that is too long for the system is not there, either
        raise RecordingError(f"{folder}: expected a folder with a recording, found no {RECORDING} in it")
    try:
        with regular(path) as file:
            lines = iter(lambda: file.readline(MAX_LINE + 1), b"")
            for number, line in enumerate(lines, start=1):
                if len(line) > MAX_LINE:
                    raise RecordingError(f"{path}, line {number}: expected at most {MAX_LINE} bytes in a line")
                if not line.endswith(b"\n"):
                    return
                yield _record(line, f"{path}, line {number}")
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from None


def _record(line: bytes, where: str) -> AnyRecord:
    try:
        record: AnyRecord = _decoder.decode(line)
    except NOT_DECODED as error:
        raise RecordingError(f"{where}: {why_not_decoded(error)}") from None
    if isinstance(record, Run) and is_nested_too_deeply(record.schedule):
        raise RecordingError(f"{where}, field `schedule`: it is nested too deeply")
    return record

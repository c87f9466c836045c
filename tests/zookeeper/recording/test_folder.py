"""The file of records."""

from pathlib import Path

import pytest

from zabcheck.zookeeper.recording.folder import RECORDING, Recorder, RecordingError, read
from zabcheck.zookeeper.recording.records import Ended, Passed, Run

RECORDS = (Run(1, "3.8.0", 3), Passed(1, 7), Passed(2, 8), Ended(3, True))


def written(folder: Path) -> bytes:
    recorder = Recorder(folder)
    for record in RECORDS:
        recorder.record(record)
    recorder.close()
    recorder.record(Passed(9, 9))  # as a thread may that has not heard of the end: it is left out
    return (folder / RECORDING).read_bytes()


def test_what_was_written_is_read(tmp_path: Path) -> None:
    written(tmp_path)
    assert tuple(read(tmp_path)) == RECORDS


def test_wherever_the_file_breaks_off_the_whole_records_are_read(tmp_path: Path) -> None:
    data = written(tmp_path)
    for size in range(len(data)):
        (tmp_path / RECORDING).write_bytes(data[:size])
        assert tuple(read(tmp_path)) == RECORDS[: data[:size].count(b"\n")]


def test_a_malformed_line_is_an_error_with_its_number(tmp_path: Path) -> None:
    data = written(tmp_path)
    (tmp_path / RECORDING).write_bytes(data.replace(b'"packet":8', b'"packet":"8"'))
    with pytest.raises(RecordingError, match=r"recording\.jsonl, line 3: .*packet"):
        list(read(tmp_path))
    with pytest.raises(RecordingError, match=r"found no recording\.jsonl in it"):
        list(read(tmp_path / "nowhere"))

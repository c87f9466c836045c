"""Histories in files: what is read, and what is refused with line and field."""

from functools import partial
from io import BytesIO

import pytest

from tests.zookeeper.clients.histories import History, stat
from zabcheck.zookeeper.clients.exchange import Exchange, read
from zabcheck.zookeeper.clients.forms import gather
from zabcheck.zookeeper.clients.history import HistoryEnd, HistoryError, dump, load
from zabcheck.zookeeper.clients.judge import judge_columns

HEADER = '{"record":"header","version":1}'
CONNECT = '{"record":"connect","client":1,"connection":1,"session":"0x0","time":5}'
ASK = '{"record":"request","client":1,"connection":1,"xid":1,"op":"sync","path":"/"}'
ANSWER = '{"record":"answer","client":1,"connection":1,"xid":1,"zxid":5}'
LOST = '{"record":"lost","client":1,"connection":1}'
STAT = '{"czxid":1,"mzxid":1,"pzxid":1,"version":0}'


def test_what_is_written_is_read_again() -> None:
    h = History()
    c1 = h.client(1)
    c1.create("/a", 2)
    c1.children("/", 3, ("a",), stat(0, 0, 2, cversion=1, num_children=1), watch="standard")
    c1.again(seen=3)
    lines = [*h.lines, HistoryEnd(len(h.lines) - 1)]
    assert [*load(BytesIO(b"".join(dump(lines))), "h.jsonl")] == lines


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "h.jsonl, line 1: expected a header, the file is empty"),
        ([CONNECT], "h.jsonl, line 1, field `record`: expected `header`, found `connect`"),
        ([HEADER, HEADER], "h.jsonl, line 2, field `record`: a second header"),
        (
            [HEADER, "nonsense"],
            "h.jsonl, line 2: expected a JSON object, JSON is malformed: invalid character (byte 4)",
        ),
        ([HEADER, CONNECT, CONNECT], "h.jsonl, line 3, field `connection`: connection 1 has been opened already"),
        ([HEADER, ASK], "h.jsonl, line 2, field `connection`: connection 1 has not been opened"),
        (
            [HEADER, CONNECT, ASK.replace('"client":1', '"client":2')],
            "h.jsonl, line 3, field `client`: connection 1 belongs to client 1, found 2",
        ),
        ([HEADER, CONNECT, ASK, ASK], "h.jsonl, line 4, field `xid`: request 1 has no answer yet"),
        ([HEADER, CONNECT, ANSWER], "h.jsonl, line 3, field `xid`: no request 1 waits for an answer"),
        ([HEADER, CONNECT, LOST, ASK], "h.jsonl, line 4: connection 1 was lost"),
        ([HEADER, CONNECT, LOST[:-1] + ',"time":4}'], "h.jsonl, line 3, field `time`: expected 5 or later, found 4"),
        ([HEADER, '{"record":"end","count":1}'], "h.jsonl, line 2, field `count`: expected 0, found 1"),
        ([HEADER, '{"record":"end","count":0}', CONNECT], "h.jsonl, line 3: expected nothing after `end`"),
        (
            [HEADER, CONNECT, ASK[:-1] + ',"data":{"digest":"crc32:00"}}'],
            "h.jsonl, line 3, field `data`: expected text, `base64`, or a `digest` and the `length` in bytes",
        ),
        (
            [HEADER, CONNECT, ASK.replace('"/"', '"a/"')],
            "h.jsonl, line 3, field `path`: expected a path such as /a/b",
        ),
        (
            [HEADER, CONNECT, ASK, ANSWER[:-1] + f',"stat":{STAT[:-1]},"ephemeralOwner":"1"}}}}'],
            "h.jsonl, line 4, field `stat.ephemeralOwner`: expected a session such as 0x1a, or 0x0 for none",
        ),
        (
            [HEADER, CONNECT.replace('"connection":1', f'"connection":{1 << 63}')],
            f"h.jsonl, line 2, field `connection`: Expected `int` <= {(1 << 63) - 1}",
        ),
        (
            [HEADER, CONNECT, ASK.replace('"xid":1', f'"xid":{-1 - (1 << 63)}')],
            f"h.jsonl, line 3, field `xid`: Expected `int` >= {-1 << 63}",
        ),
        (
            [HEADER, CONNECT.replace('"time":5', f'"time":{1 << 62}')],
            f"h.jsonl, line 2, field `time`: Expected `int` <= {(1 << 62) - 1}",
        ),
        (
            [HEADER, ASK[:-1] + ',"vesion":1}'],
            "h.jsonl, line 2, field `vesion`: no such field; did you mean `version`?",
        ),
        (
            [HEADER, f'{{"record":"node","path":"/a","zxid":1,"stat":{STAT}}}'],
            'h.jsonl, line 2, field `record`: a node, but the header does not say `"initial":"given"`',
        ),
    ],
)
def test_what_is_no_history_is_refused(lines: list[str], message: str) -> None:
    text = "".join(f"{line}\n" for line in lines).encode()

    def read_all() -> Exchange:
        return read(load(BytesIO(text), "h.jsonl"), "h.jsonl")

    with pytest.raises(HistoryError) as refused:
        read_all()
    assert str(refused.value) == message
    with pytest.raises(HistoryError) as refused:
        judge_columns(partial(gather, BytesIO(text), "h.jsonl"), read_all)
    assert str(refused.value) == message

"""The pictures of broken promises: what is drawn of a history, and where."""

import pytest
from msgspec.structs import replace

from tests.zookeeper.clients.histories import History, stat
from tests.zookeeper.clients.test_violations import VIOLATIONS
from zabcheck.zookeeper.clients.history import Request
from zabcheck.zookeeper.clients.judge import judge
from zabcheck.zookeeper.clients.picture import AROUND, Line, Picture, Row, marks_of, pictures


def drawn(history: History, promise: str) -> list[Picture]:
    [judged] = judge(history.exchange(), [promise])
    assert judged.breach is not None
    return pictures(history.lines, judged.breach, [promise])


def rows(picture: Picture) -> list[Row]:
    return [row for lane in picture.lanes for row in lane.rows]


@pytest.mark.parametrize(("promise", "written"), VIOLATIONS.values(), ids=VIOLATIONS)
def test_each_violation_has_its_witness_marked_and_one_record_wrong(promise: str, written: type[History]) -> None:
    history = written()
    [judged] = judge(history.exchange(), [promise])
    assert judged.breach is not None
    made = pictures(history.lines, judged.breach, [promise])
    assert made
    for picture in made:
        shown = rows(picture)
        marked = {row.mark for row in shown if row.mark}
        assert marked == {*marks_of(judged.breach.witness)}
        assert {row.mark for row in shown if row.is_wrong} == {max(marked)}
        assert len([row for row in shown if not row.mark and row.sign != "connection"]) <= AROUND
        places = [row.at for row in shown] + [end for row in shown if row.line for end in row.line[:2]]
        assert {each for each in places if each is not None} == {*picture.ticks}


def test_a_stale_read_goes_from_the_change_that_it_shows_over_the_one_that_it_lacks() -> None:
    [picture] = drawn(VIOLATIONS["half_of_a_multi_is_seen"][1](), "multi")
    assert [*picture.ticks.values()] == ["⟨0,2⟩", "⟨0,5⟩", "⟨0,6⟩"]
    assert [lane.title for lane in picture.lanes] == ["client 1, session 0x1", "client 2, session 0x2"]
    assert rows(picture) == [
        Row("connection 1", "connection", None, Line(5, 5, "connection")),
        Row("1 multi /a, /b", "write", 5, None, "W1"),
        Row("connection 2", "connection", None, Line(5, 6, "connection")),
        Row("1 getData /b: `b`", "read", 5),
        Row("2 getData /a: `old`", "read", 6, Line(2, 6, "shows"), "W2", is_wrong=True),
    ]


def test_a_watch_goes_to_its_event_and_an_unknown_write_to_the_edge() -> None:
    [picture] = drawn(VIOLATIONS["an_event_comes_after_the_read"][1](), "watch fires")
    assert Row("1 getData /a, watch: `x`", "read", 5, Line(5, 6, "watch"), "W1") in rows(picture)
    assert Row("NodeDataChanged /a", "event", 6) in rows(picture)
    [late] = drawn(VIOLATIONS["a_write_that_was_given_up_comes_late"][1](), "writes in the order sent")
    assert Row("1 setData /a: no answer", "unknown", 0, Line(0, None, "unknown"), "W1") in rows(late)


def test_a_promise_about_times_has_a_picture_in_real_time() -> None:
    history = VIOLATIONS["a_sync_does_nothing"][1]()
    by_zxid, in_real_time = drawn(history, "sync")
    assert (by_zxid.axis, in_real_time.axis) == ("zxid", "time")
    assert [*in_real_time.ticks.values()] == ["0 ms", "1 ms", "2 ms", "3 ms"]
    assert [row.mark for row in rows(in_real_time)] == ["W1", "W2"]
    history.lines[0] = History(clock="none").lines[0]
    [judged] = judge(VIOLATIONS["a_sync_does_nothing"][1]().exchange(), ["sync"])
    assert judged.breach is not None
    assert [each.axis for each in pictures(history.lines, judged.breach, ["sync"])] == ["zxid"]


def test_a_request_without_an_answer_may_be_sent_at_the_same_time_as_another() -> None:
    history = VIOLATIONS["a_sync_does_nothing"][1]()
    [judged] = judge(history.exchange(), ["sync"])
    assert judged.breach is not None
    sent = next(each for each in judged.breach.witness if isinstance(each, Request))
    assert sent.time is not None
    also_sent = replace(sent, xid=99, op="setData", path="/a")
    breach = judged.breach._replace(witness=(*judged.breach.witness, also_sent))
    in_real_time = pictures([*history.lines, also_sent], breach, ["sync"])[-1]
    assert Line(sent.time, None, "time") in [row.line for row in rows(in_real_time)]


def test_only_the_nearest_of_many_records_are_drawn() -> None:
    history = History()
    c1, c2 = history.client(1), history.client(2)
    c1.create("/a", 1, data="0")
    for zxid in range(2, 60):
        c1.set("/a", zxid, f"{zxid}", stat(1, zxid, 1, zxid - 1))
    c2.get("/a", 60, "30", stat(1, 30, 1, 29))
    [picture] = drawn(history, "reads as of one zxid")
    shown = [row for row in rows(picture) if row.sign != "connection"]
    assert len(shown) == 2 + AROUND
    assert [row.at for row in shown if row.mark][-1] == 60

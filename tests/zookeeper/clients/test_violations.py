"""Each violation that a service may show, as its least history, and histories that only look wrong."""

from collections.abc import Callable

import pytest

from tests.zookeeper.clients.histories import History, Session, stat
from zabcheck.zookeeper.clients import lives
from zabcheck.zookeeper.clients.history import Answer, Part, Result
from zabcheck.zookeeper.clients.judge import judge
from zabcheck.zookeeper.clients.tree import parent

Written = Callable[[], History]
VIOLATIONS: dict[str, tuple[str, Written]] = {}
RIGHT: dict[str, Written] = {}


def breaks(promise: str) -> Callable[[Written], Written]:
    def keep(written: Written) -> Written:
        VIOLATIONS[written.__name__] = promise, written
        return written

    return keep


def is_right(written: Written) -> Written:
    RIGHT[written.__name__] = written
    return written


# Values and orders.


@breaks("own writes")
def a_stale_read_after_an_own_write() -> History:
    h = History()
    c1 = h.client(1)
    c1.create("/a", 2)
    c1.set("/a", 5, "new", stat(2, 5, 2, 1))
    c1.get("/a", 5, "", stat(2))
    return h


@breaks("own writes")
def a_read_before_the_pipelined_write() -> History:
    h = History()
    c1 = h.client(1)
    write, read = c1.ask("setData", "/a", data="x"), c1.ask("getData", "/a")
    c1.answer(write, 5, stat=stat(2, 5, 2, 1))
    c1.answer(read, 4, data="", stat=stat(2))
    return h


@breaks("reliability")
def an_acknowledged_write_is_lost() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.set("/a", 5, "new", stat(2, 5, 2, 1))
    c2.get("/a", 9, "old", stat(2))
    return h


@breaks("reliability")
def a_write_that_was_seen_is_lost() -> History:
    h = History()
    c1, c2, c3 = h.client(1), h.client(2), h.client(3)
    c1.ask("setData", "/a", data="new")
    c1.lose()
    c2.get("/a", 5, "new", stat(2, 5, 2, 1))
    c3.get("/a", 8, "old", stat(2))
    return h


@breaks("rising view")
def the_view_falls_on_a_connection() -> History:
    h = History()
    c1 = h.client(1)
    c1.get("/a", 7, "x", stat(2))
    c1.get("/a", 6, "x", stat(2))
    return h


@breaks("single system image")
def the_view_falls_after_a_reconnect() -> History:
    h = History()
    c1 = h.client(1)
    c1.get("/a", 9, "x", stat(2))
    c1.again(seen=9)
    c1.get("/a", 8, "x", stat(2))
    return h


@breaks("single system image")
def a_server_takes_a_client_that_is_ahead() -> History:
    h = History()
    c1 = h.client(1)
    c1.again(seen=9)
    c1.answer(c1.ask("ping"), 8)
    return h


@breaks("answer order")
def answers_are_swapped() -> History:
    h = History()
    c1 = h.client(1)
    first, second = c1.ask("getData", "/a"), c1.ask("getData", "/a")
    c1.answer(second, 5, data="x", stat=stat(2))
    c1.answer(first, 5, data="x", stat=stat(2))
    return h


@breaks("answer order")
def an_answer_comes_twice() -> History:
    h = History()
    c1 = h.client(1)
    c1.get("/a", 5, "x", stat(2))
    c1.add(Answer, xid=1, zxid=5, stray=True)
    return h


@breaks("answer order")
def an_answer_is_left_out() -> History:
    h = History()
    c1 = h.client(1)
    asked = [c1.ask("sync", "/") for _ in range(3)]
    c1.answer(asked[0], 5)
    c1.answer(asked[2], 5)
    return h


@breaks("answer order")
def a_request_is_answered_that_was_sent_after_the_end_of_the_session() -> History:
    h = History()
    c1 = h.client(1)
    asked = c1.ask("closeSession"), c1.ask("sync", "/")
    for each in asked:
        c1.answer(each, 5)
    return h


@breaks("linearizable writes")
def two_writes_have_one_zxid() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/a", 6)
    c2.create("/b", 6)
    return h


@breaks("linearizable writes")
def a_write_comes_before_one_that_was_done_before() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/a", 6)
    c2.create("/b", 5)
    return h


@breaks("linearizable writes")
def a_read_is_from_the_future() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.get("/a", 9, "x", stat(2))
    c2.create("/b", 8)
    return h


@breaks("writes in the order sent")
def a_write_that_was_given_up_comes_late() -> History:
    h = History()
    c1 = h.client(1)
    c1.ask("setData", "/a", data="u")
    c1.again()
    c1.set("/b", 8, "w", stat(3, 8, 3, 1))
    c1.get("/a", 11, "u", stat(2, 10, 2, 1))
    return h


@breaks("writes in the order sent")
def a_write_is_passed_over_on_a_connection() -> History:
    h = History()
    c1 = h.client(1)
    c1.get("/a", 4, "x", stat(2))
    passed = c1.ask("setData", "/a", data="u")
    assert passed
    c1.set("/b", 8, "w", stat(3, 8, 3, 1))
    c1.get("/a", 9, "x", stat(2))
    return h


@breaks("sync")
def a_sync_does_nothing() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.set("/a", 9, "new", stat(2, 9, 2, 1))
    c2.answer(c2.ask("sync", "/a"), 7)
    c2.get("/a", 7, "old", stat(2))
    return h


@breaks("timeliness")
def a_write_is_missed_for_longer_than_the_bound() -> History:
    return _read_later(11_000_000)


def _read_later(time: int) -> History:
    """A read that misses a write which was answered so many ns before, where 10 ms are allowed."""
    h = History(bound=10_000_000)
    c1, c2 = h.client(1), h.client(2)
    c1.create("/a", 2)
    c1.set("/a", 5, "new", stat(2, 5, 2, 1))
    answered = h.time + time
    c2.answer(c2.ask("getData", "/a"), 4, data="", stat=stat(2), time=answered)
    return h


@breaks("one order")
def a_register_goes_back() -> History:
    h = History(initial="unknown")
    c1, c2 = h.client(1), h.client(2)
    c1.answer(c1.ask("setData", "/r", data="1"))
    c1.answer(c1.ask("setData", "/r", data="2"))
    for read in ("0", "2", "1"):
        c2.answer(c2.ask("getData", "/r"), data=read)
    return h


@breaks("multi")
def half_of_a_multi_is_seen() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    parts = [Part(op="setData", path="/a", data="a"), Part(op="setData", path="/b", data="b")]
    c1.multi(5, parts, [Result(stat=stat(2, 5, 2, 1)), Result(stat=stat(3, 5, 3, 1))])
    c2.get("/b", 5, "b", stat(3, 5, 3, 1))
    c2.get("/a", 6, "old", stat(2))
    return h


REFUSED = [Result(error="BadVersion"), Result(error="RuntimeInconsistency")]


@breaks("multi")
def a_refused_multi_leaves_a_part() -> History:
    h = History()
    c1 = h.client(1)
    c1.multi(5, [Part(op="check", path="/b", version=7), Part(op="setData", path="/a", data="a")], REFUSED)
    c1.get("/a", 6, "a", stat(2, 5, 2, 1))
    return h


@breaks("watch fires once, for a cause")
def a_refused_multi_fires_a_watch() -> History:
    h = History()
    c1 = h.client(1)
    c1.create("/a", 2)
    c1.get("/a", 4, "", stat(2), watch="standard")
    c1.multi(5, [Part(op="check", path="/b", version=7), Part(op="setData", path="/a", data="a")], REFUSED)
    c1.event("DataChanged", "/a")
    return h


@breaks("multi")
def a_refused_multi_has_wrong_results() -> History:
    h = History()
    c1 = h.client(1)
    parts = [Part(op="check", path=path, version=1) for path in ("/a", "/b", "/c")]
    c1.multi(5, parts, [Result(), Result(error="RuntimeInconsistency"), Result(error="BadVersion")])
    return h


@breaks("conditions")
def an_expected_version_is_ignored() -> History:
    h = History()
    c1 = h.client(1)
    c1.set("/a", 6, "x", stat(2, 6, 2, 3))
    c1.set("/a", 7, "y", stat(2, 7, 2, 4), expected=2)
    return h


@breaks("conditions")
def a_version_is_skipped() -> History:
    h = History()
    c1 = h.client(1)
    c1.set("/a", 6, "x", stat(2, 6, 2, 3))
    c1.set("/a", 7, "y", stat(2, 7, 2, 5))
    return h


@breaks("conditions")
def an_expected_version_is_refused() -> History:
    h = History()
    c1 = h.client(1)
    c1.get("/a", 7, "x", stat(2, 6, 2, 3))
    c1.answer(c1.ask("setData", "/a", data="y", version=3), 8, "BadVersion")
    return h


@breaks("conditions")
def a_node_is_deleted_with_a_child_below() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/p", 2)
    c1.create("/p/a", 3)
    c2.delete("/p", 4)
    return h


@breaks("conditions")
def a_delete_is_refused_for_children_that_are_gone() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/p", 2)
    c1.create("/p/a", 3)
    c1.delete("/p/a", 4)
    c2.answer(c2.ask("delete", "/p"), 5, "NotEmpty")
    return h


@breaks("conditions")
def a_child_of_an_ephemeral_node_is_created() -> History:
    h = History()
    c1 = h.client(1)
    c1.create("/e", 2, "ephemeral")
    c1.exists("/e", 4, stat(2, ephemeral_owner=c1.session))
    c1.create("/e/a", 4)
    return h


@breaks("conditions")
def a_node_is_created_below_one_that_was_deleted() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/p", 2)
    c1.delete("/p", 3)
    c2.create("/p/a", 4)
    return h


@is_right
def creates_and_deletes_are_refused_for_parents_and_children() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/p", 2)
    c1.create("/p/a", 3)
    c2.answer(c2.ask("delete", "/p"), 4, "NotEmpty")
    c1.create("/p/e", 5, "ephemeral")
    c2.answer(c2.ask("create", "/p/e/a"), 6, "NoChildrenForEphemerals")
    c1.delete("/p/e", 7)
    c2.answer(c2.ask("create", "/p/e/a"), 8, "NoNode")
    c1.delete("/p/a", 9)
    parts = [Part(op=op, path=path) for op, path in (("delete", "/p"), ("create", "/p"), ("create", "/p/a"))]
    c1.multi(10, parts, [Result()] * 3)
    return h


@breaks("reads as of one zxid")
def a_node_that_is_there_is_not_found() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/a", 5)
    c2.get("/a", 7, None)
    return h


@breaks("Stat")
def the_mzxid_is_old() -> History:
    h = History()
    c1 = h.client(1)
    c1.set("/a", 7, "w", stat(2, 7, 2, 1))
    c1.get("/a", 8, "w", stat(2, 6, 2, 1))
    return h


@breaks("Stat")
def the_children_are_miscounted() -> History:
    h = History()
    c1 = h.client(1)
    c1.children("/p", 5, ("a", "b"), stat(2, 2, 4, cversion=3, num_children=3))
    return h


@breaks("Stat")
def the_pzxid_is_not_raised_by_a_delete() -> History:
    h = History()
    c1 = h.client(1)
    c1.delete("/p/c", 9)
    c1.exists("/p", 9, stat(2, 2, 5))
    return h


@breaks("Stat")
def the_cversion_is_raised_by_data_of_a_child() -> History:
    h = History()
    c1 = h.client(1)
    c1.exists("/p", 8, stat(2, 2, 5, cversion=3))
    c1.set("/p/c", 9, "x", stat(5, 9, 5, 1))
    c1.exists("/p", 9, stat(2, 2, 5, cversion=4))
    return h


@breaks("reads as of one zxid")
def a_child_is_listed_after_it_was_deleted() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/p", 2)
    c1.create("/p/a", 3)
    c1.delete("/p/a", 4)
    c2.children("/p", 5, ("a",), stat(2, 2, 4))
    return h


@breaks("reads as of one zxid")
def a_child_that_was_created_is_not_listed() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/p", 2)
    c1.create("/p/a", 3)
    c2.answer(c2.ask("getChildren", "/p"), 4, children=())
    return h


@breaks("reads as of one zxid")
def a_child_is_missing_from_the_second_list_though_the_cversion_has_no_delete() -> History:
    h = History(complete=())
    c1, c2 = h.client(1), h.client(2)
    c2.children("/p", 5, ("a",), stat(2, 2, 4, cversion=7))
    c1.create("/p/b", 6)
    c2.children("/p", 7, ("b",), stat(2, 2, 6, cversion=8))
    return h


@is_right
def lists_show_what_an_open_request_the_end_of_a_session_or_others_may_have_changed() -> History:
    h = History(complete=("/p",))
    c1, c2 = h.client(1), h.client(2)
    for number, path in enumerate(("/p", "/p/open", "/p/own", "/others")):
        c1.create(path, 2 + number)
    c2.ask("create", "/p/open/a")
    c2.again()
    c2.create("/p/own/e", 8, "ephemeral")
    c1.children("/p/open", 9, ("a",), stat(3, 3, 7, cversion=1))
    c1.children("/p/own", 9, ("e",), stat(4, 4, 8, cversion=1))
    c1.children("/p/own", 11, (), stat(4, 4, 10, cversion=2))
    c1.children("/others", 11, ("b",), stat(5, 5, 11, cversion=1))
    return h


@is_right
def a_node_is_made_anew_with_its_children_by_a_multi() -> History:
    h = History()
    c1 = h.client(1)
    c1.create("/p", 2)
    c1.create("/p/a", 3)
    asked = [Part(op=op, path=path) for op, path in (("delete", "/p/a"), ("delete", "/p"), ("create", "/p"))]
    c1.multi(4, [*asked, Part(op="create", path="/p/a")], [Result()] * 4)
    c1.children("/p", 5, ("a",), stat(4, cversion=1))
    return h


@breaks("Stat")
def the_cversion_beside_a_list_has_fewer_changes_than_there_were() -> History:
    h = History(complete=())
    c1 = h.client(1)
    c1.create("/p/a", 5)
    c1.delete("/p/a", 6)
    c1.children("/p", 7, (), stat(2, 2, 6, cversion=1))
    return h


@breaks("agreement")
def data_of_one_transaction_differ() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.get("/a", 5, "x", stat(2, 5, 2, 1))
    c2.get("/a", 5, "y", stat(2, 5, 2, 1))
    return h


@breaks("sequential nodes")
def a_number_comes_again() -> History:
    h = History()
    c1 = h.client(1)
    c1.create("/q/n", 5, "sequential", made="/q/n0000000003")
    c1.delete("/q/n0000000003", 6)
    c1.create("/q/n", 7, "sequential", made="/q/n0000000003")
    return h


@breaks("sequential nodes")
def a_number_falls() -> History:
    h = History()
    c1 = h.client(1)
    c1.create("/q/n", 5, "sequential", made="/q/n0000000004")
    c1.create("/q/m", 7, "sequential", made="/q/m0000000003")
    return h


@breaks("sequential nodes")
def a_number_is_skipped_after_a_refused_multi() -> History:
    h = History()
    c1 = h.client(1)
    c1.create("/q/n", 5, "sequential", made="/q/n0000000003")
    c1.multi(
        6, [Part(op="create", path="/q/x"), Part(op="check", path="/b", version=7)], [Result(), Result(error="NoNode")]
    )
    c1.create("/q/n", 7, "sequential", made="/q/n0000000005")
    return h


# Lives.


@breaks("ephemeral nodes end")
def an_ephemeral_node_outlives_its_session() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/e", 5, "ephemeral")
    c1.answer(c1.ask("closeSession"), 9)
    c2.exists("/e", 10, stat(5, ephemeral_owner="0x1"))
    return h


@breaks("ephemeral nodes end")
def only_some_ephemeral_nodes_go() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/e1", 5, "ephemeral")
    c1.create("/e2", 6, "ephemeral")
    c1.lose()
    c2.exists("/e1", 9)
    c2.exists("/e2", 10, stat(6, ephemeral_owner="0x1"))
    return h


@breaks("ephemeral nodes stay")
def an_ephemeral_node_of_a_living_session_goes() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/e", 5, "ephemeral")
    c2.exists("/e", 8)
    c1.create("/b", 9)
    return h


@breaks("Stat")
def an_ephemeral_node_has_another_owner() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/e", 5, "ephemeral")
    c2.exists("/e", 6, stat(5, ephemeral_owner="0x7"))
    return h


@breaks("session")
def a_new_session_is_given_in_place_of_the_old_one() -> History:
    h = History()
    c1 = h.client(1)
    c1.again(given="0x9")
    return h


@breaks("session")
def a_session_expires_while_its_client_talks() -> History:
    h = History()
    c1 = h.client(1)
    c1.answer(c1.ask("ping"), 5)
    h.now(500_000_000)
    c1.again(given="0x0")
    return h


@breaks("session")
def a_session_is_served_after_its_end() -> History:
    h = History()
    c1 = h.client(1)
    h.now(9_000_000_000)
    c1.again(given="0x0")
    c1.again(given="0x1")
    return h


@breaks("containers and TTL")
def a_container_goes_with_a_child_in_it() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/c", 5, "container")
    c1.create("/c/x", 6)
    c2.exists("/c", 8)
    c2.exists("/c/x", 8, stat(6))
    return h


@breaks("containers and TTL")
def a_node_goes_before_its_time() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/t", 5, "ttl", ttl=60_000)
    c2.exists("/t", 8)
    return h


@breaks("multi read")
def a_multi_reads_two_trees() -> History:
    h = History()
    c1 = h.client(1)
    results = (Result(data="a", stat=stat(2, 5, 2, 1)), Result(data="b", stat=stat(3, 6, 3, 1)))
    asked = c1.ask("multiRead", parts=(Part(op="getData", path="/a"), Part(op="getData", path="/b")))
    c1.answer(asked, 5, results=results)
    return h


# Watches.


@breaks("watch fires")
def an_event_comes_after_the_read() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.get("/a", 5, "x", stat(2), watch="standard")
    c2.set("/a", 6, "y", stat(2, 6, 2, 1))
    c1.get("/a", 7, "y", stat(2, 6, 2, 1))
    c1.event("DataChanged", "/a", 6)
    return h


@breaks("re-arming")
def a_change_while_away_is_not_told() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.get("/a", 5, "x", stat(2), watch="standard")
    c1.lose()
    c2.set("/a", 6, "y", stat(2, 6, 2, 1))
    c1.connect(seen=5)
    c1.answer(c1.ask("setWatches", relative=5, data_watches=("/a",)), 7)
    return h


@breaks("watch fires once, for a cause")
def an_event_comes_twice() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.get("/a", 5, "x", stat(2), watch="standard")
    c2.set("/a", 6, "y", stat(2, 6, 2, 1))
    c1.event("DataChanged", "/a", 6)
    c1.event("DataChanged", "/a", 6)
    return h


@breaks("watch fires once, for a cause")
def an_event_has_no_change() -> History:
    h = History()
    c1 = h.client(1)
    c1.get("/a", 5, "x", stat(2), watch="standard")
    c1.event("DataChanged", "/a")
    return h


@breaks("event order")
def events_are_swapped() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    for path in ("/a", "/b"):
        c1.get(path, 5, "x", stat(2), watch="standard")
    c2.set("/a", 6, "y", stat(2, 6, 2, 1))
    c2.set("/b", 7, "y", stat(2, 7, 2, 1))
    c1.event("DataChanged", "/b")
    c1.event("DataChanged", "/a")
    return h


@breaks("persistent watches")
def a_persistent_watch_ends_with_its_first_event() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.answer(c1.ask("addWatch", "/a", watch="persistent"), 5)
    c2.set("/a", 6, "y", stat(2, 6, 2, 1))
    c1.event("DataChanged", "/a", 6)
    c2.set("/a", 7, "z", stat(2, 7, 2, 2))
    c1.get("/a", 7, "z", stat(2, 7, 2, 2))
    return h


@breaks("persistent watches")
def a_recursive_watch_tells_of_children() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.answer(c1.ask("addWatch", "/p", watch="recursive"), 5)
    c2.create("/p/c", 6)
    c1.event("ChildrenChanged", "/p", 6)
    return h


@breaks("removal")
def a_watch_fires_after_it_was_removed() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.get("/a", 5, "x", stat(2), watch="standard")
    c1.answer(c1.ask("removeWatches", "/a", watch="any"), 6)
    c2.set("/a", 7, "y", stat(2, 7, 2, 1))
    c1.event("DataChanged", "/a", 7)
    return h


@breaks("removal")
def a_watch_that_is_there_cannot_be_removed() -> History:
    h = History()
    c1 = h.client(1)
    c1.get("/a", 5, "x", stat(2), watch="standard")
    c1.answer(c1.ask("removeWatches", "/a", watch="data"), 6, "NoWatcher")
    return h


@breaks("removal")
def a_watch_is_removed_that_has_fired() -> History:
    h = History()
    c1 = h.client(1)
    c1.get("/a", 5, "x", stat(2), watch="standard")
    c1.event("DataChanged", "/a", 6)
    c1.answer(c1.ask("removeWatches", "/a", watch="any"), 6)
    return h


@breaks("watch fires once, for a cause")
def get_data_arms_where_there_is_no_node() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.get("/a", 5, watch="standard")
    c2.create("/a", 6)
    c1.event("Created", "/a", 6)
    return h


# What only looks wrong.


@is_right
def another_client_reads_what_is_old_without_a_sync() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/a", 2)
    c1.set("/a", 5, "new", stat(2, 5, 2, 1))
    c2.get("/a", 4, "", stat(2))
    return h


@is_right
def a_write_is_missed_for_as_long_as_the_bound() -> History:
    return _read_later(10_000_000)


@is_right
def a_new_session_reads_what_is_older() -> History:
    h = History()
    c1 = h.client(1)
    c1.create("/a", 2)
    c1.set("/a", 5, "new", stat(2, 5, 2, 1))
    c1.lose()
    h.client(3).get("/a", 4, "", stat(2))
    return h


@is_right
def a_node_of_a_session_that_is_told_to_have_expired_is_read_by_others() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/e", 5, "ephemeral")
    h.now(9_000_000_000)
    c1.again(given="0x0")
    c2.exists("/e", 6, stat(5, ephemeral_owner="0x1"))
    c2.answer(c2.ask("create", "/e", data="x"), 7, "NodeExists")
    return h


@is_right
def two_sessions_see_the_change_of_a_third_one_after_the_other() -> History:
    h = History()
    c1, c2, c3 = h.client(1), h.client(2), h.client(3)
    c1.create("/a", 2)
    c1.set("/a", 5, "new", stat(2, 5, 2, 1))
    c2.get("/a", 5, "new", stat(2, 5, 2, 1))
    c3.get("/a", 4, "", stat(2))
    return h


@is_right
def a_session_goes_on_after_its_connection_was_lost() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/e", 5, "ephemeral")
    c1.lose()
    c2.exists("/e", 6, stat(5, ephemeral_owner="0x1"))
    c1.connect(seen=5)
    c1.delete("/e", 7)
    return h


@is_right
def a_session_whose_end_got_no_answer_is_told_to_have_expired() -> History:
    h = History()
    c1 = h.client(1)
    c1.create("/a", 1)
    c1.ask("closeSession")
    c1.again(1, given="0x0")
    return h


@is_right
def a_session_is_answered_on_both_connections_while_it_moves() -> History:
    h = History()
    c1 = h.client(1)
    c1.create("/a", 1)
    old, sent = c1.connection, c1.ask("setData", "/a", data="x")
    c1.connect(seen=1)
    new = c1.connection
    c1.get("/a", 1, "", stat(1))
    c1.connection = old
    c1.answer(sent, 2, stat=stat(1, 2, 1, 1))
    c1.connection = new
    c1.get("/a", 1, "", stat(1))
    c1.set("/a", 3, "y", stat(1, 3, 1, 2))
    c1.get("/a", 3, "y", stat(1, 3, 1, 2))
    return h


@is_right
def a_client_writes_after_it_lost_its_lock_to_another() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/lock", 5, "ephemeral")
    h.now(9_000_000_000)
    c2.create("/lock", 7, "ephemeral")
    c1.again(given="0x0")
    c1.session = "0x3"
    c1.lose()
    c1.connect("0x0")
    c1.create("/a", 8)
    return h


@is_right
def a_lost_write_shows_after_two_reads() -> History:
    h = History()
    c1 = h.client(1)
    c1.create("/a", 2)
    c1.ask("setData", "/a", data="late")
    c1.again(seen=2)
    c1.get("/a", 3, "", stat(2))
    c1.get("/a", 4, "", stat(2))
    c1.get("/a", 6, "late", stat(2, 6, 2, 1))
    return h


SAME_CRC = "plumless", "buckeroo"


@is_right
def a_read_shows_data_with_the_crc_of_what_was_refused() -> History:
    h = History()
    c1 = h.client(1)
    c1.multi(5, [Part(op="check", path="/b", version=7), Part(op="setData", path="/a", data=SAME_CRC[0])], REFUSED)
    c1.set("/a", 6, SAME_CRC[1], stat(2, 6, 2, 1))
    c1.get("/a", 7, SAME_CRC[1], stat(2, 6, 2, 1))
    return h


@is_right
def what_was_refused_is_written_by_another() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.multi(5, [Part(op="check", path="/b", version=7), Part(op="setData", path="/a", data="a")], REFUSED)
    c2.set("/a", 6, "a", stat(2, 6, 2, 1))
    c1.get("/a", 7, "a", stat(2, 6, 2, 1))
    return h


@is_right
def a_late_write_has_the_crc_of_what_was_given_up() -> History:
    h = History()
    c1 = h.client(1)
    c1.ask("setData", "/a", data=SAME_CRC[0])
    c1.again()
    c1.set("/b", 8, "w", stat(3, 8, 3, 1))
    c1.set("/a", 10, SAME_CRC[1], stat(2, 10, 2, 1))
    return h


@is_right
def numbers_have_gaps_where_plain_nodes_were_created() -> History:
    h = History()
    c1 = h.client(1)
    c1.create("/q/n", 5, "sequential", made="/q/n0000000003")
    c1.create("/q/plain", 6)
    c1.create("/q/m", 7, "sequential", made="/q/m0000000005")
    return h


@is_right
def a_name_ends_with_digits_that_are_no_number() -> History:
    h = History()
    h.client(1).create("/q/n", 5, "sequential", made="/q/n²²²²²²²²²²")
    return h


@is_right
def a_read_after_an_event_shows_a_later_change() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.get("/a", 5, "x", stat(2), watch="standard")
    c2.set("/a", 6, "y", stat(2, 6, 2, 1))
    c2.set("/a", 7, "z", stat(2, 7, 2, 2))
    c1.event("DataChanged", "/a", 6)
    c1.get("/a", 7, "z", stat(2, 7, 2, 2))
    return h


@is_right
def created_and_deleted_while_away_is_not_told() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.exists("/a", 5, watch="standard")
    c1.lose()
    c2.create("/a", 6)
    c2.delete("/a", 7)
    c1.connect(seen=5)
    c1.answer(c1.ask("setWatches", relative=5, exist_watches=("/a",)), 8)
    return h


@is_right
def a_persistent_watch_tells_nothing_of_what_happened_while_away() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.answer(c1.ask("addWatch", "/a", watch="persistent"), 5)
    c1.lose()
    c2.set("/a", 6, "y", stat(2, 6, 2, 1))
    c1.connect(seen=5)
    c1.answer(c1.ask("setWatches", relative=5, persistent_watches=("/a",)), 7)
    c1.get("/a", 8, "y", stat(2, 6, 2, 1))
    return h


@is_right
def a_node_deleted_and_made_anew_while_away_has_changed() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.get("/a", 5, "x", stat(2), watch="standard")
    c1.lose()
    c2.delete("/a", 6)
    c2.create("/a", 7)
    c1.connect(seen=5)
    asked = c1.ask("setWatches", relative=5, data_watches=("/a",))
    c1.event("DataChanged", "/a")
    c1.answer(asked, 8)
    return h


@is_right
def a_node_that_was_watched_twice_is_deleted_while_away() -> History:
    """setWatches tells it for each of its lists (DataTree.setWatches)."""
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.get("/a", 5, "x", stat(2), watch="standard")
    c1.answer(c1.ask("getChildren", "/a", watch="standard"), 5, stat=stat(2), children=())
    c1.lose()
    c2.delete("/a", 6)
    c1.connect(seen=5)
    asked = c1.ask("setWatches", relative=5, data_watches=("/a",), child_watches=("/a",))
    c1.event("Deleted", "/a")
    c1.event("Deleted", "/a")
    c1.answer(asked, 8)
    return h


@breaks("watch fires once, for a cause")
def a_node_that_was_watched_twice_is_deleted_and_told_three_times() -> History:
    h = a_node_that_was_watched_twice_is_deleted_while_away()
    answer = h.lines.pop()
    h.lines += [h.lines[-1], answer]
    return h


@is_right
def a_node_created_while_away_may_be_gone_by_a_delete_of_unknown_outcome() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.answer(c1.ask("exists", "/a", watch="standard"), 5, error="NoNode")
    c1.ask("delete", "/a")
    c1.lose()
    c2.create("/a", 6)
    c1.connect(seen=5)
    c1.answer(c1.ask("setWatches", relative=5, exist_watches=("/a",)), 8)
    return h


@is_right
def the_event_of_an_own_write_comes_before_its_answer() -> History:
    h = History()
    c1 = h.client(1)
    c1.get("/a", 5, "x", stat(2), watch="standard")
    asked = c1.ask("setData", "/a", data="y")
    c1.event("DataChanged", "/a", 6)
    c1.answer(asked, 6, stat=stat(2, 6, 2, 1))
    return h


@is_right
def two_servers_refuse_a_client_without_a_word() -> History:
    h = History()
    c1 = h.client(1)
    c1.create("/a", 9)
    for _ in range(2):
        c1.lose()
        c1.connect(seen=9, is_answered=False)
    c1.again(seen=9)
    c1.get("/a", 9, "", stat(9))
    return h


@is_right
def version_0_fits_again_after_delete_and_create() -> History:
    h = History()
    c1 = h.client(1)
    c1.set("/a", 6, "x", stat(2, 6, 2, 7))
    c1.set("/a", 7, "y", stat(2, 7, 2, 8), expected=-1)
    c1.delete("/a", 8)
    c1.create("/a", 9)
    c1.set("/a", 10, "z", stat(9, 10, 9, 1), expected=0)
    return h


@is_right
def an_answer_to_auth_overtakes() -> History:
    h = History()
    c1 = h.client(1)
    sync, auth = c1.ask("sync", "/"), c1.ask("auth")
    c1.answer(auth)
    c1.answer(sync, 5)
    return h


@is_right
def a_standard_watch_beside_a_recursive_one_tells_of_children() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.answer(c1.ask("addWatch", "/p", watch="recursive"), 5)
    c1.children("/p", 5, (), stat(2, cversion=0, num_children=0), watch="standard")
    c2.create("/p/c", 6)
    c1.event("Created", "/p/c", 6)
    c1.event("ChildrenChanged", "/p", 6)
    return h


@is_right
def a_node_is_gone_after_a_delete_whose_answer_has_no_zxid() -> History:
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/a", 2)
    c1.delete("/a", 0)
    c2.exists("/a", 4)
    return h


@is_right
def a_node_that_a_multi_made_and_checked_is_deleted() -> History:
    h = History(complete=("/",))
    c1 = h.client(1)
    c1.create("/a", 2)
    c1.delete("/a", 3)
    parts = Part(op="create", path="/a", data="x"), Part(op="check", path="/a", version=0)
    c1.answer(c1.ask("multi", parts=parts), 4, results=(Result(path="/a", stat=stat(4)), Result()))
    c1.delete("/a", 5)
    return h


def _set_without_a_stat() -> History:
    h = History(complete=("/",))
    c1 = h.client(1)
    c1.create("/a", 2)
    c1.answer(c1.ask("setData", "/a", data="x"), 5)
    return h


@is_right
def a_set_is_answered_without_a_stat() -> History:
    h = _set_without_a_stat()
    c2 = h.client(2)
    c2.get("/a", 5, "x", stat(2, 5, 2, 1))
    c2.set("/a", 6, "y", stat(2, 6, 2, 2), expected=1)
    return h


@breaks("reliability")
def a_set_that_was_answered_without_a_stat_is_lost() -> History:
    h = _set_without_a_stat()
    h.client(2).get("/a", 6, "", stat(2))
    return h


@is_right
def a_persistent_watch_tells_a_change_without_a_zxid_where_others_may_write() -> History:
    h = History(complete=())
    c1, c2 = h.client(1), h.client(2)
    c1.answer(c1.ask("addWatch", "/a", watch="persistent"), 3)
    c1.answer(c1.ask("addWatch", "/p", watch="recursive"), 3)
    c2.set("/a", 4, "x", stat(2, 4, 2, 1))
    c2.create("/p/c", 5)
    c1.event("DataChanged", "/a")
    c1.event("Created", "/p/c")
    c1.answer(c1.ask("sync", "/"), 5)
    c2.set("/a", 6, "y", stat(2, 6, 2, 2))
    c1.event("DataChanged", "/a")
    c1.answer(c1.ask("sync", "/"), 6)
    return h


@breaks("persistent watches")
def a_persistent_watch_tells_one_of_two_changes_where_others_may_write() -> History:
    h = a_persistent_watch_tells_a_change_without_a_zxid_where_others_may_write()
    del h.lines[-3]
    return h


def _watched_lastingly() -> tuple[History, Session, Session]:
    """A history without zxids of events, in which a client watches /a; it, and another, which made /a and /b."""
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c2.create("/a", 2)
    c2.create("/b", 3)
    c1.answer(c1.ask("addWatch", "/a", watch="persistent"), 3)
    return h, c1, c2


def test_a_change_that_was_not_told_is_not_the_one_that_a_later_event_tells() -> None:
    h, c1, c2 = _watched_lastingly()
    c2.set("/a", 4, "x", stat(2, 4, 2, 1))
    c1.get("/b", 5, "", stat(3), watch="standard")
    c1.get("/a", 5, "x", stat(2, 4, 2, 1), watch="standard")
    c2.set("/b", 6, "x", stat(3, 6, 3, 1))
    c2.set("/a", 7, "y", stat(2, 7, 2, 2))
    c1.event("DataChanged", "/b")
    c1.event("DataChanged", "/a")
    assert h.broken() == {"persistent watches"}


def test_an_event_may_tell_a_change_after_others_that_were_not_told() -> None:
    h, c1, c2 = _watched_lastingly()
    c1.get("/b", 3, "", stat(3), watch="standard")
    c2.set("/a", 4, "x", stat(2, 4, 2, 1))
    c2.set("/b", 5, "x", stat(3, 5, 3, 1))
    c2.set("/a", 6, "y", stat(2, 6, 2, 2))
    c1.event("DataChanged", "/b")
    c1.event("DataChanged", "/a")
    c1.exists("/b", 6, stat(3, 5, 3, 1))
    assert h.broken() == {"persistent watches"}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_a_violation_is_found(name: str) -> None:
    promise, written = VIOLATIONS[name]
    assert promise in written().broken()


@pytest.mark.parametrize("name", RIGHT)
def test_a_history_that_only_looks_wrong_is_right(name: str) -> None:
    assert RIGHT[name]().broken() == set()


def test_many_containers_are_judged_with_one_look_at_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def look(path: str) -> str:
        looked.append(path)
        return parent(path)

    monkeypatch.setattr(lives, "parent", look)
    history = History()
    c1 = history.client(1)
    for number in range(100):
        c1.create(f"/c{number}", 3 * number + 1, "container")
        c1.create(f"/c{number}/x", 3 * number + 2)
        c1.delete(f"/c{number}/x", 3 * number + 3)
    for number in range(100):
        c1.exists(f"/c{number}", 1000)
    [judged] = judge(history.exchange(), ["containers and TTL"])
    assert (judged.judged, judged.status) == (100, "holds")
    assert len(looked) == len({*looked})

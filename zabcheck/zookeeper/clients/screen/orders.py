"""Screens the promises of `clients.orders` in columns."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from zabcheck.zookeeper.clients.orders import TIMELY
from zabcheck.zookeeper.clients.screen.columns import NONE, OPS, Bools, Columns, Ints, grouped, highest, is_one_of
from zabcheck.zookeeper.clients.screen.nodes import NEVER, SET, Labels, Nodes

_TIMELY = [OPS[name] for name in TIMELY]


def answer_order(columns: Columns, nodes: Nodes) -> int | None:
    """Compare the places of each connection's answers, in the order of its requests."""
    rows = columns.by_connection[~columns.is_beside_the_order[columns.by_connection]]
    has, connection = columns.answer[rows] >= 0, columns.connection[rows]
    same = np.diff(connection) == 0
    if (same & has[1:] & ~has[:-1]).any():
        return None
    both = same & has[1:] & has[:-1]
    answered = columns.answered[rows]
    if (both & (np.diff(answered) < 0)).any():
        return None
    closes = (columns.op[rows] == OPS["closeSession"]) & columns.is_done[rows]
    if (closes[:-1] & same & has[1:]).any():
        return None
    return int((both & (columns.sent[rows][1:] < answered[:-1])).sum())


def rising_view(columns: Columns, nodes: Nodes) -> int | None:
    """Compare the zxid of each answer with that of the one before on its connection."""
    connection, zxid = views(columns)
    same = np.diff(connection) == 0
    return None if (same & (np.diff(zxid) < 0)).any() else int(same.sum())


def views(columns: Columns) -> tuple[Ints, Ints]:
    """Return the connection and the zxid of each answer with a zxid, by connection."""
    rows = columns.answers_by_connection
    zxid = columns.answers["zxid"][rows]
    return columns.answers["connection"][rows][zxid > 0], zxid[zxid > 0]


def system_image(columns: Columns, nodes: Nodes) -> int | None:
    """Compare the lowest zxid of each connection with the highest that its session had seen before."""
    connection, zxid = views(columns)
    if not len(zxid):
        return 0
    first = np.flatnonzero(np.diff(connection, prepend=-1))
    connection, least = connection[first], np.minimum.reduceat(zxid, first)
    declared = np.array(
        [each.seen if number in columns.connected else 0 for number, each in enumerate(columns.connects)], np.int64
    )
    before = _before(columns, np.ones(len(columns.op), np.bool_))
    if before is None:
        return None
    seen = np.maximum(declared, before)[connection]
    return None if (least < seen).any() else int(np.diff(first, append=len(zxid))[seen > 0].sum())


def _before(columns: Columns, chosen: Bools) -> Ints | None:
    """Return by connection the highest zxid in the answers to chosen requests of its session before it was opened.

    None if a connection is given a session that it did not ask for, and that another has.
    """
    answers = columns.answers
    of = np.zeros(len(answers["line"]), np.bool_)
    has = columns.answer >= 0
    of[columns.answer[chosen & has]] = True
    rows = np.flatnonzero(of & (answers["zxid"] > 0))
    session = columns.session_of[answers["connection"][rows]].astype(np.int64)
    order = grouped(session, len(columns.sessions))
    rows, session = rows[order], session[order]
    bits = int(max(columns.opened.max(initial=0), answers["line"].max(initial=0))).bit_length()
    told, tops = session << bits | answers["line"][rows], highest(answers["zxid"][rows], session)
    mine = columns.session_of.astype(np.int64)
    place = np.searchsorted(told, mine << bits | columns.opened) - 1
    found: Ints = (
        np.where((place >= 0) & (session[place] == mine), tops[place], 0) if len(rows) else np.zeros_like(mine)
    )
    asked = np.array([columns.session_numbers.get(each.session, -1) for each in columns.connects], np.int64)
    _, is_first = np.unique(mine, return_index=True)
    again = asked != mine
    again[is_first] = False
    return None if (again & (mine > 0)).any() else found


def own_writes(columns: Columns, nodes: Nodes) -> int | None:
    """Compare the zxid of each operation with the highest of its session's earlier writes."""
    done = columns.is_write & columns.is_done
    before = _before(columns, done)
    if before is None:
        return None
    rows = columns.by_connection[columns.zxid[columns.by_connection] > 0]
    zxid, connection, done = columns.zxid[rows], columns.connection[rows], done[rows]
    latest = np.maximum(highest(np.where(done, zxid, 0), connection), before[connection])
    judged = ~done & (latest > 0) & ~columns.is_beside_the_order[rows]
    return None if (judged & (zxid < latest)).any() else int(judged.sum())


def order_sent(columns: Columns, nodes: Nodes) -> int | None:
    """Compare the zxids of each session's writes, and look for writes that were given up and may have been skipped."""
    rows = columns.by_session(columns.done)
    same = np.diff(columns.session[rows]) == 0
    if (same & (np.diff(columns.zxid[rows]) <= 0)).any():
        return None
    unknown, later = _given_up(columns)
    passed_over = columns.connection[unknown] == columns.connection[later]
    if np.isin(nodes.effects["row"][nodes.effects["op"] == SET], unknown[passed_over]).any():
        return None
    return int(same.sum()) + len(unknown)


def _given_up(columns: Columns) -> tuple[Ints, Ints]:
    """Return the writes of unknown outcome that have a later write of their session that was done, and that write."""
    is_done = columns.is_done & (columns.zxid > 0)
    rows = columns.by_session(np.flatnonzero(columns.is_write & (~columns.is_known | is_done)))
    session, place = columns.session[rows], np.arange(len(rows))
    following = np.minimum.accumulate(np.where(is_done[rows], place, len(rows))[::-1])[::-1]
    unknown = np.flatnonzero(~columns.is_known[rows] & (following < len(rows)))
    following = following[unknown]
    same = session[unknown] == session[following]
    return rows[unknown[same]], rows[following[same]]


class AbandonedWrites(NamedTuple):
    """Writes that were given up on another connection, by path and content: none may take effect after `until`."""

    path: Ints
    content: Ints
    until: Ints


def lost_in(columns: Columns, nodes: Nodes) -> AbandonedWrites:
    """Return the writes that must not come late. `until` is the zxid of the session's next write that was done."""
    effects = nodes.effects
    unknown, later = _given_up(columns)
    of = np.full(len(columns.op), -1)
    of[unknown] = later
    row = effects["row"]
    elsewhere = (of[row] >= 0) & (columns.connection[row] != columns.connection[of[row]])
    mine = np.flatnonzero(elsewhere & (effects["content"] != NONE))
    return AbandonedWrites(
        effects["path"][mine].astype(np.int64), effects["content"][mine], columns.zxid[of[row[mine]]]
    )


def is_none_late(lost: AbandonedWrites, nodes: Nodes) -> bool:
    """Return False if a write that was given up may have come late: its content is seen, and nobody else wrote it."""
    labels, data, effects = Labels(lost.path, lost.content), nodes.data, nodes.effects
    seen = labels.rows(data)
    if not len(seen):
        return True
    label = labels.of(data["path"][seen], data["content"][seen])
    order = np.lexsort((data["start"][seen], label))
    label, start = label[order], data["start"][seen][order]
    of = labels.of(lost.path, lost.content)
    last = np.searchsorted(label, of, "right") - 1
    late = (label[last] == of) & (start[last] > lost.until) & nodes.is_owned[lost.path]
    if not late.any():
        return True
    written = labels.rows(effects)
    writes = np.sort(labels.of(effects["path"][written], effects["content"][written]))
    writers = np.searchsorted(writes, of[late], "right") - np.searchsorted(writes, of[late])
    return not (writers == 1).any()


class Times(NamedTuple):
    """The times and zxids that real time orders.

    `written` has the zxid of each write that was done; `asked` the times of these and of syncs, if known. `told` has
    only the answers with the highest zxid so far, of all or of writes; `read` only the reads after which none was
    older. With a bound, a read has to show the writes that were answered before it was `due`.
    """

    written: Ints
    asked: Ints
    asked_zxid: Ints
    is_sync: Bools
    told: Ints
    told_zxid: Ints
    is_told_of_write: Bools
    read: Ints
    read_zxid: Ints
    due: Ints
    due_zxid: Ints


@lru_cache(maxsize=1)
def times_of(columns: Columns, nodes: Nodes) -> Times:
    """Return the times and zxids of a history."""
    written = columns.zxid[columns.done]
    has = (columns.answer >= 0) & (columns.zxid > 0)
    if columns.header.clock != "one":
        has[:] = False
    is_done_write, is_sync = columns.is_write & columns.is_done, columns.op == OPS["sync"]
    asked = np.flatnonzero((is_done_write | is_sync) & has & (columns.time != NONE))
    when = columns.of_answer("time")
    has &= when != NONE
    read = np.flatnonzero(has & columns.is_known & is_one_of(columns.op, _TIMELY))
    read = read[np.argsort(when[read], kind="stable")]
    due = read if columns.header.bound is not None else read[:0]
    read = read[::-1][_is_highest(NEVER - columns.zxid[read[::-1]])]
    told = np.flatnonzero(has)
    order = np.argsort(when[told], kind="stable")
    told = told[order]
    zxid = columns.zxid[told]
    is_highest = _is_highest(zxid)
    of_write = np.flatnonzero(is_done_write[told])
    is_highest[of_write] |= _is_highest(zxid[of_write])
    told = told[is_highest]
    return Times(
        written,
        columns.time[asked],
        columns.zxid[asked],
        is_sync[asked],
        when[told] + columns.header.clock_error,
        columns.zxid[told],
        is_done_write[told],
        when[read],
        columns.zxid[read],
        when[due] - (columns.header.bound or 0),
        columns.zxid[due],
    )


def _is_highest(zxid: Ints) -> Bools:
    """Return which zxids are higher than all before them."""
    before = np.maximum.accumulate(np.append(0, zxid))[:-1]
    found: Bools = zxid > before
    return found


def linearizable(times: Times) -> int | None:
    """Compare the zxid of each write with the highest that was answered before it was sent."""
    if (np.diff(np.sort(times.written)) == 0).any():
        return None
    asked, zxid = times.asked[~times.is_sync], times.asked_zxid[~times.is_sync]
    return _in_real_time(asked, zxid, times, np.ones(len(times.told), np.bool_), 1)


def sync(times: Times) -> int | None:
    """Compare the zxid of each sync with the highest of the writes that were answered before it was sent."""
    asked, zxid = times.asked[times.is_sync], times.asked_zxid[times.is_sync]
    return _in_real_time(asked, zxid, times, times.is_told_of_write, 0)


def timeliness(times: Times) -> int | None:
    """Compare the zxid of each read with the highest of the writes that it has to show."""
    return _in_real_time(times.due, times.due_zxid, times, times.is_told_of_write, 0)


def _in_real_time(at: Ints, zxid: Ints, times: Times, before: Bools, more: int) -> int | None:
    """Check that zxids are higher, by `more` at least, than the highest of those told before."""
    if not before.any():
        return 0
    when, best = _best_told(times, before)
    place = np.searchsorted(when, at, "left")
    late = zxid[place > 0] < best[place[place > 0] - 1] + more
    return None if late.any() else int((place > 0).sum())


def _best_told(times: Times, of: Bools) -> tuple[Ints, Ints]:
    """Return the times of some of the answers, in order, and the highest zxid up to each."""
    when = times.told[of]
    order = np.argsort(when, kind="stable")
    return when[order], np.maximum.accumulate(times.told_zxid[of][order])


def greatest_age(times: Times) -> int | None:
    """Return the same as `clients.orders.greatest_age`."""
    if not (times.is_told_of_write.any() and len(times.read)):
        return None
    when, best = _best_told(times, times.is_told_of_write)
    place = np.searchsorted(best, times.read_zxid, "right")
    missed = place < len(best)
    return int((times.read[missed] - when[place[missed]]).max(initial=0))

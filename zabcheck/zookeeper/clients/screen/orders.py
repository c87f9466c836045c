"""What `clients.orders` judges, at a glance."""

import numpy as np

from zabcheck.zookeeper.clients.screen.columns import NONE, OPS, Bools, Columns, Ints, highest
from zabcheck.zookeeper.clients.screen.nodes import SET, Nodes


def answer_order(columns: Columns, nodes: Nodes) -> int | None:
    """Compare the lines of each connection's answers, in the order of its requests."""
    rows = columns.by_connection[~columns.is_beside_the_order[columns.by_connection]]
    has, connection = columns.answer[rows] >= 0, columns.connection[rows]
    same = np.diff(connection) == 0
    if (same & has[1:] & ~has[:-1]).any():
        return None
    both = same & has[1:] & has[:-1]
    answered = columns.answered[rows]
    if (both & (np.diff(answered) < 0)).any():
        return None
    return int((both & (columns.sent[rows][1:] < answered[:-1])).sum())


def rising_view(columns: Columns, nodes: Nodes) -> int | None:
    """Compare the zxid of each answer with that of the one before on its connection."""
    connection, zxid = views(columns)
    same = np.diff(connection) == 0
    return None if (same & (np.diff(zxid) < 0)).any() else int(same.sum())


def views(columns: Columns) -> tuple[Ints, Ints]:
    """Return the connection and the zxid of each answer that tells one, by connection."""
    rows = columns.answers_by_connection
    zxid = columns.answers["zxid"][rows]
    return columns.answers["connection"][rows][zxid > 0], zxid[zxid > 0]


def system_image(columns: Columns, nodes: Nodes) -> int | None:
    """Compare the lowest zxid of each connection with the highest before of its session."""
    connection, zxid = views(columns)
    if not len(zxid):
        return 0
    first = np.flatnonzero(np.diff(connection, prepend=-1))
    least, most = np.minimum.reduceat(zxid, first), np.maximum.reduceat(zxid, first)
    count = np.diff(first, append=len(zxid))
    highest_of: dict[int, int] = {}
    cases = 0
    for number, low, high, answers in zip(
        connection[first].tolist(), least.tolist(), most.tolist(), count.tolist(), strict=True
    ):
        session = int(columns.session_of[number])
        seen = max(columns.connects[number].seen if number in columns.connected else 0, highest_of.get(session, 0))
        if low < seen:
            return None
        cases += answers if seen else 0
        highest_of[session] = max(high, highest_of.get(session, 0))
    return cases


def own_writes(columns: Columns, nodes: Nodes) -> int | None:
    """Compare the zxid of each operation with the highest of its session's writes before."""
    if nodes.has_conflicts:
        return None
    rows = columns.by_session(np.flatnonzero(columns.zxid > 0))
    zxid, session = columns.zxid[rows], columns.session[rows]
    done = (columns.is_write & columns.is_done)[rows]
    latest = highest(np.where(done, zxid, 0), session)
    judged = ~done & (latest > 0) & ~columns.is_beside_the_order[rows]
    return None if (judged & (zxid < latest)).any() else int(judged.sum())


def order_sent(columns: Columns, nodes: Nodes) -> int | None:
    """Compare the zxids of each session's writes, and what was given up with what was seen."""
    rows = columns.by_session(columns.done)
    same = np.diff(columns.session[rows]) == 0
    if (same & (np.diff(columns.zxid[rows]) <= 0)).any():
        return None
    unknown, later = _given_up(columns)
    if len(unknown) and not _are_harmless(unknown, later, columns, nodes):
        return None
    return int(same.sum()) + len(unknown)


def _given_up(columns: Columns) -> tuple[Ints, Ints]:
    """Return the writes of unknown outcome, each with the next one of its session that was done, if there is one."""
    is_done = columns.is_done & (columns.zxid > 0)
    rows = columns.by_session(np.flatnonzero(columns.is_write & (~columns.is_known | is_done)))
    session, place = columns.session[rows], np.arange(len(rows))
    following = np.minimum.accumulate(np.where(is_done[rows], place, len(rows))[::-1])[::-1]
    unknown = np.flatnonzero(~columns.is_known[rows] & (following < len(rows)))
    following = following[unknown]
    same = session[unknown] == session[following]
    return rows[unknown[same]], rows[following[same]]


def _are_harmless(unknown: Ints, later: Ints, columns: Columns, nodes: Nodes) -> bool:
    """Return False if a write that was given up may be passed over, or have come late."""
    effects = nodes.effects
    of = np.full(len(columns.op), -1)
    of[unknown] = later
    mine = np.flatnonzero(of[effects["row"]] >= 0)
    row = effects["row"][mine]
    here = columns.connection[row] == columns.connection[of[row]]
    if (here & (columns.op[row] == SET)).any():
        return False
    elsewhere = mine[~here & (effects["content"][mine] != NONE)]
    if not len(elsewhere):
        return True
    wanted = np.unique(effects["content"][elsewhere])
    seen = np.flatnonzero(np.isin(nodes.data["content"], wanted))
    latest: dict[tuple[int, int], int] = {}
    for path, content, start in zip(
        *(nodes.data[name][seen].tolist() for name in ("path", "content", "start")), strict=True
    ):
        latest[path, content] = max(start, latest.get((path, content), 0))
    zxid = columns.zxid[of[effects["row"][elsewhere]]]
    return all(
        latest.get((path, content), 0) <= until
        for path, content, until in zip(
            effects["path"][elsewhere].tolist(), effects["content"][elsewhere].tolist(), zxid.tolist(), strict=True
        )
    )


def linearizable(columns: Columns, nodes: Nodes) -> int | None:
    """Compare the zxid of each write with the highest that was answered before it was sent."""
    zxid = np.sort(columns.zxid[columns.done])
    if (np.diff(zxid) == 0).any():
        return None
    return _in_real_time(columns, columns.is_write & columns.is_done, np.ones(len(columns.op), np.bool_), 1)


def sync(columns: Columns, nodes: Nodes) -> int | None:
    """Compare the zxid of each sync with the highest of the writes that were answered before it was sent."""
    return _in_real_time(columns, columns.op == OPS["sync"], columns.is_write & columns.is_done, 0)


def _in_real_time(columns: Columns, judged: Bools, before: Bools, more: int) -> int | None:
    """Compare the zxid of each operation with those of others that were answered before it was sent.

    It has to be higher than theirs by `more`.
    """
    if columns.header.clock != "one":
        return 0
    has = (columns.answer >= 0) & (columns.zxid > 0)
    asked = np.flatnonzero(judged & has & (columns.time != NONE))
    answered = columns.of_answer("time")
    told = np.flatnonzero(before & has & (answered != NONE))
    if not len(told):
        return 0
    when = answered[told] + columns.header.clock_error
    order = np.argsort(when, kind="stable")
    best = np.maximum.accumulate(columns.zxid[told[order]])
    place = np.searchsorted(when[order], columns.time[asked], "left")
    cases = asked[place > 0]
    late = columns.zxid[cases] < best[place[place > 0] - 1] + more
    return None if late.any() else len(cases)

"""What `clients.lives` judges, at a glance."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from zabcheck.zookeeper.clients.history import NOBODY
from zabcheck.zookeeper.clients.screen.columns import MODES, NONE, OPS, Columns, Ints
from zabcheck.zookeeper.clients.screen.nodes import CREATE, DELETE, Nodes

_NEVER = (1 << 63) - 1
_MS = 1_000_000


class _Ephemerals(NamedTuple):
    """The ephemerals of each session, and since when they are gone though nobody deleted them: `_NEVER` if not."""

    session: npt.NDArray[np.int32]
    gone: Ints


@lru_cache(maxsize=1)
def _ephemerals(columns: Columns, nodes: Nodes) -> _Ephemerals:
    effects = nodes.effects
    is_done = (columns.is_done & (columns.zxid > 0))[effects["row"]]
    made = np.flatnonzero((effects["op"] == CREATE) & is_done & (effects["mode"] & MODES["ephemeral"] > 0))
    row, path = effects["row"][made], effects["created"][made]
    session = columns.session[row]
    _, from_end = np.unique((session.astype(np.int64) * len(nodes.unsettled) + path)[::-1], return_index=True)
    last = len(made) - 1 - from_end
    row, path, session = row[last], path[last], session[last]
    gone = nodes.absence_after(path, columns.zxid[row])
    start = nodes.shown("start", gone)
    is_gone = (gone >= 0) & nodes.is_complete[path] & (deleted(columns, nodes)[path] > start)
    return _Ephemerals(session, np.where(is_gone, start, _NEVER))


def deleted(columns: Columns, nodes: Nodes) -> Ints:
    """Return the first zxid at which a request may have deleted each node; `_NEVER` if none may."""
    effects = nodes.effects
    may = (effects["op"] == DELETE) & (columns.is_done | ~columns.is_known)[effects["row"]]
    first = np.full(len(nodes.unsettled), _NEVER)
    np.minimum.at(first, effects["path"][may], columns.zxid[effects["row"][may]])
    return first


def ephemeral_ends(columns: Columns, nodes: Nodes) -> int | None:
    """Compare what was seen of ephemerals with the ends of their sessions."""
    data, ephemerals = nodes.data, _ephemerals(columns, nodes)
    end = np.full(len(columns.sessions), _NEVER)
    np.minimum.at(end, ephemerals.session, ephemerals.gone)
    closes = columns.done[columns.op[columns.done] == OPS["closeSession"]]
    end[columns.session[closes]] = columns.zxid[closes]
    there = data["czxid"] != NONE
    if (data["until"][there] >= end[data["owner"][there]]).any():
        return None
    return int((end[ephemerals.session] < _NEVER).sum())


def ephemeral_stays(columns: Columns, nodes: Nodes) -> int | None:
    """Compare when ephemerals were gone with the last writes of their sessions."""
    ephemerals = _ephemerals(columns, nodes)
    last = np.zeros(len(columns.sessions), np.int64)
    writes = columns.done[columns.op[columns.done] != OPS["closeSession"]]
    np.maximum.at(last, columns.session[writes], columns.zxid[writes])
    return None if (last[ephemerals.session] > ephemerals.gone).any() else len(ephemerals.session)


def sessions(columns: Columns, nodes: Nodes) -> int | None:
    """Look at what each connection was given, and at what came of a session after its end."""
    heard = _heard(columns)
    closed = {*columns.connection[(columns.op == OPS["closeSession"]) & columns.is_done].tolist()}
    served = np.bincount(columns.connection[columns.is_done], minlength=len(columns.connects)).tolist()
    holders: set[str] = set()
    ended: set[str] = set()
    timeouts: dict[str, int] = {}
    last: dict[str, int] = {}
    cases = 0
    for number, asked in enumerate(columns.connects):
        given = columns.connected.get(number)
        if given is None:
            continue
        if asked.session != NOBODY:
            cases += 1
            if given.session not in (asked.session, NOBODY):
                return None
            if given.session == NOBODY:
                if asked.session in last and given.time is not None and asked.session in timeouts:
                    least = (timeouts[asked.session] - columns.header.tick) * _MS - columns.header.clock_error
                    if given.time - last[asked.session] < least:
                        return None
                ended.add(asked.session)
            elif asked.session in ended:
                return None
        elif given.session in holders:
            return None
        if given.session != NOBODY:
            holders.add(given.session)
            timeouts[given.session] = given.timeout
        elif served[number]:
            return None
        if heard[number] != NONE:
            last[given.session] = heard[number]
        if number in closed:
            ended.add(given.session)
    return cases


def _heard(columns: Columns) -> list[int]:
    """Return for each connection the time of its last request that was answered; `NONE` if there is none."""
    rows = np.flatnonzero((columns.answer >= 0) & (columns.time != NONE))
    last = np.full(len(columns.connects), NONE)
    last[columns.connection[rows]] = columns.time[rows]
    return last.tolist()


def containers(columns: Columns, nodes: Nodes) -> int | None:
    """Compare when containers, and nodes with a time to live, were gone with their children and their last writes."""
    effects = nodes.effects
    is_done = columns.is_done[effects["row"]]
    is_special = effects["mode"] & (MODES["container"] | MODES["ttl"]) > 0
    made = np.flatnonzero(is_done & is_special & (effects["op"] == CREATE))
    if not len(made):
        return 0
    path, from_end = np.unique(effects["created"][made][::-1], return_index=True)
    last = made[len(made) - 1 - from_end]
    row = nodes.absence_after(path, columns.zxid[effects["row"][last]])
    gone = (row >= 0) & (deleted(columns, nodes)[path] > nodes.shown("start", row))
    path, last, row = path[gone], last[gone], row[gone]
    start, by = nodes.shown("start", row), nodes.shown("row", row)
    is_container = effects["mode"][last] & MODES["container"] > 0
    children = np.flatnonzero(np.isin(nodes.parents, path[is_container]))
    since = dict(zip(path.tolist(), start.tolist(), strict=True))
    when = np.array([since[each] for each in nodes.parents[children].tolist()], np.int64)
    child = nodes.state_at(children, when)
    if (nodes.shown("czxid", child) != NONE).any():
        return None
    ttl = np.zeros(len(columns.op), np.int64)
    np.maximum.at(ttl, effects["row"], effects["ttl"])
    written = np.zeros(len(nodes.unsettled), np.int64)
    written[effects["created"][is_done]] = effects["row"][is_done]
    sent, told = columns.time[written[path]], columns.of_answer("time")[by]
    known = ~is_container & (sent != NONE) & (told != NONE)
    least = ttl[effects["row"][last]] * _MS - columns.header.clock_error
    return None if (known & (told - sent < least)).any() else len(path)

"""Screens the promises of `clients.lives` in columns."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from zabcheck.zookeeper.clients.history import NOBODY
from zabcheck.zookeeper.clients.screen.columns import MODES, NONE, OPS, Columns, Ints
from zabcheck.zookeeper.clients.screen.nodes import CREATE, DELETE, NEVER, Nodes

_MS = 1_000_000
_LONGEST = 1 << 42
"""A time to live, in ms, that is longer than all times, and fits into 64 bits in ns."""


class Ephemerals(NamedTuple):
    """The evidence of nodes about each session; arrays by its number.

    `made` is the number of its ephemerals; `gone` the lowest zxid as of which one is gone though nobody deleted it,
    `NEVER` if none is; `until` the highest zxid as of which one was seen.
    """

    made: Ints
    gone: Ints
    until: Ints


class Ends(NamedTuple):
    """The evidence of each session about itself; arrays: the zxid of its close, or `NEVER`, and of its last write."""

    closed: Ints
    wrote: Ints


@lru_cache(maxsize=1)
def ephemerals_in(columns: Columns, nodes: Nodes) -> Ephemerals:
    """Return the evidence of the nodes about sessions."""
    effects, data = nodes.effects, nodes.data
    is_done = (columns.is_done & (columns.zxid > 0))[effects["row"]] & nodes.is_owned[effects["created"]]
    made = np.flatnonzero((effects["op"] == CREATE) & is_done & (effects["mode"] & MODES["ephemeral"] > 0))
    row, path = effects["row"][made], effects["created"][made]
    session = columns.session[row]
    _, from_end = np.unique((session.astype(np.int64) * len(nodes.unsettled) + path)[::-1], return_index=True)
    last = len(made) - 1 - from_end
    row, path, session = row[last], path[last], session[last]
    absent = nodes.absence_after(path, columns.zxid[row])
    start = nodes.shown("start", absent)
    is_gone = (absent >= 0) & nodes.is_complete[path] & (deleted(columns, nodes)[path] > start)
    gone, until = np.full(len(columns.sessions), NEVER), np.zeros(len(columns.sessions), np.int64)
    np.minimum.at(gone, session[is_gone], start[is_gone])
    there = data["czxid"] != NONE
    np.maximum.at(until, data["owner"][there], data["until"][there])
    return Ephemerals(np.bincount(session, minlength=len(gone)), gone, until)


def ends_in(columns: Columns, nodes: Nodes) -> Ends:
    """Return the evidence of the sessions about themselves."""
    closed, wrote = np.full(len(columns.sessions), NEVER), np.zeros(len(columns.sessions), np.int64)
    is_close = columns.op[columns.done] == OPS["closeSession"]
    closes, writes = columns.done[is_close], columns.done[~is_close]
    closed[columns.session[closes]] = columns.zxid[closes]
    np.maximum.at(wrote, columns.session[writes], columns.zxid[writes])
    return Ends(closed, wrote)


def deleted(columns: Columns, nodes: Nodes) -> Ints:
    """Return the lowest zxid at which a request may have deleted each node; `NEVER` if none may have."""
    effects = nodes.effects
    may = (effects["op"] == DELETE) & (columns.is_done | ~columns.is_known)[effects["row"]]
    first = np.full(len(nodes.unsettled), NEVER)
    np.minimum.at(first, effects["path"][may], columns.zxid[effects["row"][may]])
    return first


def ephemeral_ends(ephemerals: Ephemerals, ends: Ends) -> int | None:
    """Compare the sightings of ephemerals with the ends of their sessions."""
    end = np.where(ends.closed < NEVER, ends.closed, ephemerals.gone)
    return None if (ephemerals.until >= end).any() else int(ephemerals.made[end < NEVER].sum())


def ephemeral_stays(ephemerals: Ephemerals, ends: Ends) -> int | None:
    """Compare the zxids as of which ephemerals were gone with the last writes of their sessions."""
    return None if (ends.wrote > ephemerals.gone).any() else int(ephemerals.made.sum())


def sessions(columns: Columns, nodes: Nodes) -> int | None:
    """Check the session that each connection was given, and that no session is used after its end."""
    heard = _heard(columns)
    is_close = columns.op == OPS["closeSession"]
    closed = {*columns.connection[is_close & columns.is_done].tolist()}
    may_be_closed = {columns.sessions[each] for each in columns.session[is_close & ~columns.is_known].tolist()}
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
                is_judged = asked.session in timeouts and asked.session not in may_be_closed
                if is_judged and asked.session in last and given.time is not None:
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
    """Return the time of the last answered request of each connection; `NONE` if there is none."""
    rows = np.flatnonzero((columns.answer >= 0) & (columns.time != NONE))
    last = np.full(len(columns.connects), NONE)
    last[columns.connection[rows]] = columns.time[rows]
    return last.tolist()


class GoneNodes(NamedTuple):
    """The nodes that the service deleted: their number, and the containers among them, with the zxids of their ends."""

    nodes: int
    path: Ints
    since: Ints


def gone_in(columns: Columns, nodes: Nodes) -> GoneNodes | None:
    """Return the containers, and the nodes with a time to live, that are gone; None if one may be gone too early."""
    effects = nodes.effects
    is_done = columns.is_done[effects["row"]]
    is_special = effects["mode"] & (MODES["container"] | MODES["ttl"]) > 0
    made = np.flatnonzero(is_done & is_special & (effects["op"] == CREATE) & nodes.is_owned[effects["created"]])
    if not len(made):
        return GoneNodes(0, np.zeros(0, np.int64), np.zeros(0, np.int64))
    path, from_end = np.unique(effects["created"][made][::-1], return_index=True)
    last = made[len(made) - 1 - from_end]
    row = nodes.absence_after(path, columns.zxid[effects["row"][last]])
    gone = (row >= 0) & (deleted(columns, nodes)[path] > nodes.shown("start", row))
    path, last, row = path[gone], last[gone], row[gone]
    start, by = nodes.shown("start", row), nodes.shown("row", row)
    is_container = effects["mode"][last] & MODES["container"] > 0
    ttl = np.zeros(len(columns.op), np.int64)
    np.maximum.at(ttl, effects["row"], effects["ttl"])
    written = np.zeros(len(nodes.unsettled), np.int64)
    written[effects["created"][is_done]] = effects["row"][is_done]
    sent, told = columns.time[written[path]], columns.of_answer("time")[by]
    known = ~is_container & (sent != NONE) & (told != NONE)
    least = np.minimum(ttl[effects["row"][last]], _LONGEST) * _MS - columns.header.clock_error
    if (known & (told - sent < least)).any():
        return None
    return GoneNodes(len(path), path[is_container].astype(np.int64), start[is_container])


def containers(gone: GoneNodes | None, nodes: Nodes) -> int | None:
    """Look for children of containers as of the zxids of their ends."""
    if gone is None:
        return None
    children = np.flatnonzero(np.isin(nodes.parents, gone.path))
    since = dict(zip(gone.path.tolist(), gone.since.tolist(), strict=True))
    when = np.array([since[each] for each in nodes.parents[children].tolist()], np.int64)
    child = nodes.state_at(children, when)
    return None if (nodes.shown("czxid", child) != NONE).any() else gone.nodes

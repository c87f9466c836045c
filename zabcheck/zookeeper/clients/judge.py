"""Judges a history of clients by all promises."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from zabcheck.invariants.base import Status
from zabcheck.zookeeper.clients.exchange import Exchange
from zabcheck.zookeeper.clients.lives import LIVES
from zabcheck.zookeeper.clients.orders import ORDERS
from zabcheck.zookeeper.clients.promise import Breach, Found, Promise
from zabcheck.zookeeper.clients.registers import REGISTERS
from zabcheck.zookeeper.clients.tree import Tree
from zabcheck.zookeeper.clients.values import VALUES
from zabcheck.zookeeper.clients.watches import WATCHES

PROMISES: dict[str, Promise] = {each.name: each for each in (*ORDERS, *VALUES, *LIVES, *WATCHES, *REGISTERS)}
"""The promises by name, in the order of reports."""


class Judgement(NamedTuple):
    """The verdict on one promise. `judged` counts the cases in which the history could have broken it."""

    promise: Promise
    status: Status
    judged: int
    breach: Breach | None = None
    """The least one, by zxid."""


def judge(exchange: Exchange, names: Collection[str] = ()) -> list[Judgement]:
    """Judge by these promises, or by all. The profile "protocol" leaves out what only the code promises.

    ValueError for a name that is none. O(lines · log lines) time, O(lines) memory.
    """
    tree = Tree(exchange)
    return [*_judged(exchange, tree, [PROMISES[name] for name in names] or PROMISES.values())]


def _judged(exchange: Exchange, tree: Tree, promises: Iterable[Promise]) -> Iterable[Judgement]:
    by_code = exchange.header.profile == "zookeeper"
    for promise in promises:
        if promise.kind == "by the code" and not by_code:
            continue
        found = Found()
        promise.check(exchange, tree, found)
        breaches = [each for each in found.breaches if by_code or each.kind == "documented"]
        breach = min(breaches, key=lambda each: each.zxid, default=None)
        status: Status = "violated" if breach is not None else "holds" if found.judged else "not exercised"
        if breach is None and (found.is_undecided or not exchange.is_whole):
            status = "inconclusive"
        yield Judgement(promise, status, found.judged, breach)

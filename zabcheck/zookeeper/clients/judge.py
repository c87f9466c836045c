"""Judges a history of clients by all promises."""

from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from zabcheck.invariants.base import Status
from zabcheck.zookeeper.clients.exchange import Exchange
from zabcheck.zookeeper.clients.history import HistoryHeader
from zabcheck.zookeeper.clients.lives import LIVES
from zabcheck.zookeeper.clients.orders import ORDERS, TIMELINESS
from zabcheck.zookeeper.clients.promise import Breach, Findings, Linearizability, Promise
from zabcheck.zookeeper.clients.registers import REGISTERS
from zabcheck.zookeeper.clients.tree import Tree
from zabcheck.zookeeper.clients.values import VALUES
from zabcheck.zookeeper.clients.watches import WATCHES

if TYPE_CHECKING:
    from zabcheck.zookeeper.clients.screen import Gathering  # loads numpy, which not every command needs

PROMISES: dict[str, Promise] = {each.name: each for each in (*ORDERS, *VALUES, *LIVES, *WATCHES, *REGISTERS)}
"""The promises by name, in the order of reports."""


class Judgement(NamedTuple):
    """The verdict on one promise. `judged` is the number of cases in which the history could have broken it."""

    promise: Promise
    status: Status
    judged: int
    breach: Breach | None = None
    """The least one (`Breach.place`)."""
    age: int | None = None
    """As `Findings.age`."""
    reads: Linearizability | None = None
    """As `Findings.reads`; None if the promise is broken."""
    is_whole: bool = True
    """False if the history does not end with `end`."""


def judge(exchange: Exchange, names: Collection[str] = ()) -> list[Judgement]:
    """Judge by these promises, or by all. The profile "protocol" leaves out those that only the code makes.

    KeyError for an unknown name. O(lines · log lines) time, O(lines) memory.
    """
    proof = _Proof(lambda: exchange)
    return [proof.judged(each) for each in asked(exchange.header, names)]


def judge_columns(
    gather: "Callable[[Gathering], None]", again: Callable[[], Exchange], names: Collection[str] = ()
) -> list[Judgement]:
    """Judge as `judge` does, in columns, which `gather` fills; `again` reads the history if a promise may be broken.

    A history that breaks nothing takes a fraction of the time and memory of `judge`. HistoryError from either function.
    """
    from zabcheck.zookeeper.clients.screen import ScreenedHistory, Unusual

    proof = _Proof(again)
    try:
        screened = ScreenedHistory(gather)
    except Unusual:
        return [proof.judged(each) for each in asked(proof.exchange.header, names)]
    judgements = []
    for promise in asked(screened.header, names):
        cases = screened.cases(promise.name)
        if cases is None:
            judgements.append(proof.judged(promise))
        else:
            age = screened.age if promise is TIMELINESS else None
            judgements.append(judgement_on(promise, cases, None, age, is_whole=screened.is_whole))
    return judgements


def asked(header: HistoryHeader, names: Collection[str]) -> list[Promise]:
    """Return the promises by which a history is judged. KeyError for an unknown name."""
    promises = [PROMISES[name] for name in names] or [*PROMISES.values()]
    return [each for each in promises if each.kind == "documented" or header.profile == "zookeeper"]


class _Proof:
    """A judge that reads the history, and makes its tree, only when the first promise is judged."""

    def __init__(self, read: Callable[[], Exchange]) -> None:
        self._read = read

    @cached_property
    def exchange(self) -> Exchange:
        return self._read()

    @cached_property
    def tree(self) -> Tree:
        return Tree(self.exchange)

    def judged(self, promise: Promise) -> Judgement:
        found = Findings()
        promise.check(self.exchange, self.tree, found)
        by_code = self.exchange.header.profile == "zookeeper"
        breaches = [each for each in found.breaches if by_code or each.kind == "documented"]
        breach = min(breaches, key=lambda each: each.place, default=None)
        is_whole, is_decided = self.exchange.is_whole, not found.is_undecided
        judgement = judgement_on(promise, found.judged, breach, found.age, is_whole=is_whole, is_decided=is_decided)
        return judgement._replace(reads=found.reads if breach is None else None)


def judgement_on(
    promise: Promise,
    judged: int,
    breach: Breach | None,
    age: int | None = None,
    *,
    is_whole: bool,
    is_decided: bool = True,
) -> Judgement:
    """Return the verdict on a promise with `judged` cases, and its least breach, if there is one."""
    status: Status = "violated" if breach is not None else "holds" if judged else "not exercised"
    if breach is None and not (is_whole and is_decided):
        status = "inconclusive"
    return Judgement(promise, status, judged, breach, age, is_whole=is_whole)

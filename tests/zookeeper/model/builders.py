"""Servers in the middle of something, written down directly. The epoch under way is 2, what is logged is of epoch 1."""

from collections.abc import Iterable
from typing import Any

from invariants import NO_ZXID, Chain, Event, Txn, Zxid
from invariants.quorums import Quorums
from zabcheck.protocols.base import Buffer, Effect, Message, Send, Write
from zabcheck.zookeeper.model.database import Database, Snapshot
from zabcheck.zookeeper.model.server import Link, Mode, Phase, Server
from zabcheck.zookeeper.model.switches import Defects, Grain, Release, ZooKeeperSwitches


def txn(epoch: int, counter: int) -> Txn:
    return Txn(Zxid(epoch, counter), f"{epoch}.{counter}")


A, B, C, D = txn(1, 1), txn(1, 2), txn(1, 3), txn(2, 1)


def memory(*txns: Txn, lpz: Zxid | None = None, cache: Iterable[Txn] | None = None) -> Database:
    last = txns[-1].zxid if txns else NO_ZXID
    return Database(Chain.of(txns), last if lpz is None else lpz, txns if cache is None else tuple(cache))


def switches(version: Release = "3.9.5", defects: Defects = "all", window: int = 500) -> ZooKeeperSwitches:
    return ZooKeeperSwitches(version=version, defects=defects, window=window)


def raising(version: Release, grain: Grain = "G0") -> ZooKeeperSwitches:
    """With errors of the server's code as the end of the run."""
    return ZooKeeperSwitches(version=version, grain=grain, errors="raised")


def server(process: int = 2, *log: Txn, **fields: Any) -> Server:
    """A server of three that has `log` on disk and in memory, and looks for a leader."""
    usual = {
        "switches": switches(),
        "accepted_epoch": 1,
        "current_epoch": 1,
        "log": log,
        "database": memory(*log),
    }
    return Server(process, 0, Quorums(3), **{**usual, **fields})


def syncing(mode: Mode, *log: Txn, **fields: Any) -> Server:
    """Server 2, which server 1 synchronises for epoch 2."""
    usual = {"accepted_epoch": 2, "phase": Phase.SYNCHRONIZATION, "leader": 1, "mode": mode}
    return server(2, *log, **{**usual, **fields})


def following(*log: Txn, **fields: Any) -> Server:
    """Server 2, which serves under server 1 in epoch 2."""
    usual = {"accepted_epoch": 2, "current_epoch": 2, "phase": Phase.BROADCAST, "leader": 1}
    return server(2, *log, **{**usual, "delivered": Chain.of(log), **fields})


def leading(*log: Txn, **fields: Any) -> Server:
    """Server 1, which leads epoch 2 and serves; server 2 is synced."""
    usual = {
        "accepted_epoch": 2,
        "current_epoch": 2,
        "phase": Phase.BROADCAST,
        "leader": 1,
        "epoch": 2,
        "finished": True,
        "links": {2: Link.SYNCED},
        "peers": {2: NO_ZXID},
        "new_leader_acks": (1, 2),
        "delivered": Chain.of(log),
        "database": memory(*log, lpz=Zxid(2, 0)),
    }
    return server(1, *log, **{**usual, **fields})


def snapshot(label: Zxid, *txns: Txn) -> Snapshot:
    return Snapshot(label, Chain.of(txns))


def sent(effects: Iterable[Effect]) -> list[tuple[int, Message]]:
    return [(each.to, each.message) for each in effects if isinstance(each, Send)]


def shown(effects: Iterable[Effect]) -> list[Event]:
    """The events, those that tell of a write among them, as if nothing were lost."""
    found: list[Event] = []
    for each in effects:
        found += each.shows if isinstance(each, Buffer) else [each] if isinstance(each, Event) else []
    return found


def written(effects: Iterable[Effect]) -> list[str]:
    """The names of the durable variables that are written, in order."""
    return [name for each in effects if isinstance(each, Write | Buffer) for name in each.fields]

"""Servers in the middle of something, written down directly.

The epoch under way is 2, the log before it is of epoch 1.
"""

from typing import Any

from invariants import Chain
from invariants.quorums import Quorums
from tests.invariants.builders import A, B, C
from zabcheck.protocols.ladis.messages import FollowerInfo
from zabcheck.protocols.ladis.process import Mode, Server, first_of

EPOCH = 2
AB = Chain.of([A, B])
ABC = AB.append(C)
START = first_of(EPOCH)
TOLD = FollowerInfo(B.zxid.packed(), 1, (B.zxid.packed(),))
"""The answer of a follower whose log is AB."""


def up(process: int = 2, n: int = 3, **fields: Any) -> Server:
    """A server without a leader, whose log is AB, unless `history` says otherwise."""
    history = fields.get("history", AB)
    kept = {"history": history, "zxid": history.zxid.packed(), "recognised": history.zxid.epoch}
    return Server(process, 0, Quorums(n), **{**kept, **fields})


def recovering(**fields: Any) -> Server:
    """Server 2, which has connected to server 1."""
    return up(**{"leader": 1, "mode": Mode.RECOVERY, **fields})


def synchronising(**fields: Any) -> Server:
    """A follower that has recognised the leader for the epoch."""
    history = fields.get("history", AB)
    return recovering(**{"recognised": EPOCH, "incoming": history, **fields})


def following(**fields: Any) -> Server:
    """A follower in broadcast mode, which has delivered its log."""
    history = fields.get("history", AB)
    return recovering(**{"recognised": EPOCH, "zxid": START, "mode": Mode.BROADCAST, "delivered": history, **fields})


def named(**fields: Any) -> Server:
    """Server 1, which its oracle named; nobody has connected yet."""
    return up(**{"process": 1, "leader": 1, "mode": Mode.RECOVERY, **fields})


def asking(*followers: int, told: FollowerInfo = TOLD, **fields: Any) -> Server:
    """A leader that has asked these followers to recognise it, and has the highest zxid of them."""
    kept = {"followers": dict.fromkeys(followers, told), "epoch": EPOCH, "highest": B.zxid.packed()}
    return named(**{**kept, **fields})


def took_over(*followers: int, **fields: Any) -> Server:
    """A leader that has queued its log to these followers, and has no ACK yet."""
    kept = {"recognisers": followers, "listed": followers, "log": AB, "start": START, "latest": START}
    return asking(*followers, **{**kept, **fields})


def active(*followers: int, **fields: Any) -> Server:
    """A leader in broadcast mode, with these followers, which have all that it has; so has it."""
    kept = {
        "mode": Mode.BROADCAST,
        "active": True,
        "acks": dict.fromkeys(followers, START),
        "committed": START,
        "instance": EPOCH,
        "recognised": EPOCH,
        "zxid": START,
        "delivered": AB,
    }
    return took_over(*followers, **{**kept, **fields})

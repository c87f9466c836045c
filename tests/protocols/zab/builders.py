"""Processes in the middle of an iteration, written down directly.

The epoch under way is 2, the history before it is of epoch 1.
"""

from collections.abc import Sequence
from typing import Any

from invariants import Chain, Txn, Zxid
from invariants.quorums import Quorums
from tests.invariants.builders import A, B
from zabcheck.protocols.base import Effect, GiveUp, Message, Persist, Send
from zabcheck.protocols.zab.process import Follower, Leader, Link, Phase, Process

EPOCH = 2
AB = Chain.of([A, B])


def txn(epoch: int, counter: int) -> Txn:
    return Txn(Zxid(epoch, counter), "v")


def up(process: int = 2, n: int = 3, incarnation: int = 0, **fields: Any) -> Process:
    """A process in ELECTION, among `n`."""
    return Process(process, incarnation, Quorums(n), **fields)


def follower(**fields: Any) -> Follower:
    """Process 2 of 3, which follows process 1."""
    return up(**{"leader": 1, **fields})


def synchronizing(**fields: Any) -> Follower:
    """A follower that has promised the epoch and waits for NEWLEADER."""
    return follower(**{"phase": Phase.SYNCHRONIZATION, "accepted_epoch": EPOCH, "current_epoch": 1, **fields})


def synced(**fields: Any) -> Follower:
    """A follower that has accepted the initial history and waits for COMMIT-LD."""
    return synchronizing(**{"current_epoch": EPOCH, "history": AB, **fields})


def following(**fields: Any) -> Follower:
    """A follower in the broadcast phase, which has delivered the initial history."""
    return synced(**{"phase": Phase.BROADCAST, "delivered": AB, **fields})


def candidate(**fields: Any) -> Leader:
    """Process 1, which its oracle named; nobody has been heard of yet."""
    return up(**{"process": 1, "leader": 1, "phase": Phase.DISCOVERY, **fields})


def proposing(*asked: int, **fields: Any) -> Leader:
    """A leader that has chosen e', proposed it to the followers `asked`, and waits for their ACK-Es."""
    return candidate(**{"new_epoch": EPOCH, "links": dict.fromkeys(asked, Link.ASKED), **fields})


def announcing(*proposed: int, **fields: Any) -> Leader:
    """A leader that has sent NEWLEADER to the followers `proposed`, and waits for their ACK-LDs."""
    links = dict.fromkeys(proposed, Link.PROPOSED)
    return proposing(**{"phase": Phase.SYNCHRONIZATION, "links": links, "proposed": AB, "initial": B.zxid, **fields})


def established(*members: int, history: Chain = AB, **fields: Any) -> Leader:
    """A leader in the broadcast phase, with the followers `members`, which have all of `history`; so has it."""
    its_own = {"accepted_epoch": EPOCH, "current_epoch": EPOCH, "history": history, "delivered": history}
    usual = {
        "phase": Phase.BROADCAST,
        "links": dict.fromkeys(members, Link.SYNCED),
        "proposed": history,
        "established": True,
        "acks": dict.fromkeys(members, history.zxid),
        "committed": history.zxid,
        "instance": EPOCH,
    }
    return announcing(**{**its_own, **usual, **fields})


def sent(effects: Sequence[Effect]) -> list[tuple[int, Message]]:
    """(to, message) of each message sent."""
    return [(effect.to, effect.message) for effect in effects if isinstance(effect, Send)]


def at_once(effects: Sequence[Effect]) -> Sequence[Effect]:
    """Return what happens without waiting for the disk."""
    first = next((index for index, effect in enumerate(effects) if isinstance(effect, Persist)), len(effects))
    return effects[:first]


def written(effects: Sequence[Effect]) -> list[dict[str, object]]:
    """Each atomic write."""
    return [effect.fields for effect in effects if isinstance(effect, Persist)]


def gives_up(effects: Sequence[Effect]) -> bool:
    """Return True if this is a retreat, and nothing else."""
    return len(effects) == 1 and isinstance(effects[0], GiveUp)

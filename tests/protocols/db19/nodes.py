"""Single nodes of db-19, in the state that a test needs, and what their steps send."""

from typing import Any

from invariants import EMPTY, Event, Txn, Zxid
from invariants.quorums import Quorums
from zabcheck.protocols.base import Effect, Message, ProcessId, Request, ResetTimer, Send, Started, Stimulus, TimedOut
from zabcheck.protocols.db19 import DB19
from zabcheck.protocols.db19.messages import AckEpoch, AckLeader, History, Vote
from zabcheck.protocols.db19.node import Node, start
from zabcheck.protocols.switches import LETTER

NONE = Zxid(0, 0)
Sent = list[tuple[ProcessId, Message]]


def txn(epoch: int, counter: int, value: str = "") -> Txn:
    return Txn(Zxid(epoch, counter), value or f"v{epoch}.{counter}")


def history(*txns: Txn) -> History:
    found = History(EMPTY)
    for each in txns:
        found = found.append(each)
    return found


def node(process: ProcessId = 1, nodes: int = 3, **fields: Any) -> Node:
    """A node that has started, with these variables set after that."""
    n = start(process, 1, Quorums(nodes), {}, LETTER)
    take(n, Started())
    for name, value in fields.items():
        setattr(n, name, value)
    return n


def take(n: Node, stimulus: Message | Stimulus, sender: ProcessId | None = None) -> list[Effect]:
    """The effects of a step."""
    return DB19.steps[type(stimulus)](n, n.id if sender is None else sender, stimulus)


def sent(effects: list[Effect]) -> Sent:
    return [(each.to, each.message) for each in effects if isinstance(each, Send)]


def shown(effects: list[Effect]) -> list[Event]:
    return [each for each in effects if isinstance(each, Event)]


def resets(effects: list[Effect]) -> bool:
    return ResetTimer() in effects


def leader(nodes: int = 3, **fields: Any) -> Node:
    """Node 3, elected by node 1, which has not answered NewEpoch yet."""
    n = node(3, nodes)
    for voter in range(1, nodes // 2 + 1):
        take(n, Vote(voter, NONE, 0, 3), voter)
    for name, value in fields.items():
        setattr(n, name, value)
    return n


def synced_leader(nodes: int = 3) -> Node:
    """Node 3, with the acknowledgements of the first nodes: all that it needs."""
    n = leader(nodes)
    for follower in range(1, nodes // 2 + 1):
        take(n, AckEpoch(0, NONE), follower)
    for follower in range(1, nodes // 2 + 1):
        take(n, AckLeader(1), follower)
    assert n.synced
    return n


def request(n: Node, value: str) -> list[Effect]:
    return take(n, Request(value))


def time_out(n: Node) -> list[Effect]:
    return take(n, TimedOut())

"""Paxos processes in the middle of a ballot, written down directly. The ballot under way is 4: the second one of p1."""

from collections.abc import Mapping
from typing import Any

from invariants import Txn, Zxid
from invariants.quorums import Quorums
from zabcheck.protocols.paxos.messages import Instance, Proposal, Value
from zabcheck.protocols.paxos.process import Acceptor, Link, Process, Proposer

BALLOT = 4


def value(epoch: int, counter: int, text: str = "v") -> Value:
    return (Txn(Zxid(epoch, counter), text),)


A, B = value(1, 1, "A"), value(1, 2, "B")
C = value(2, 1, "C")


def up(process: int = 2, n: int = 3, **fields: Any) -> Process:
    """A process that follows nobody, among `n`."""
    return Process(process, 0, Quorums(n), **fields)


def acceptor(**fields: Any) -> Acceptor:
    """Process 2 of 3, which is connected to the proposer, process 1."""
    return up(**{"leader": 1, **fields})


def accepted(**values: tuple[int, Value]) -> dict[Instance, Proposal]:
    """`accepted(i27=(1, A))`: what was accepted, by instance."""
    return {int(name[1:]): Proposal(*each) for name, each in values.items()}


def proposer(*joined: int, **fields: Any) -> Proposer:
    """Process 1, to which it and `joined` are connected, before it has a ballot."""
    everybody = dict.fromkeys((1, *joined), 0)
    usual = {"process": 1, "leader": 1, "joined": everybody, "links": dict.fromkeys(everybody, Link.JOINED)}
    return up(**{**usual, **fields})


def asking(*joined: int, **fields: Any) -> Proposer:
    """A proposer that has promised its own ballot, and asked `joined` to do so."""
    links = {1: Link.PROMISED, **dict.fromkeys(joined, Link.JOINED)}
    usual = {"ballot": BALLOT, "promised": BALLOT, "first": 1, "links": links, "promises": {1: ()}}
    return proposer(*joined, **{**usual, **fields})


def established(*promised: int, proposals: Mapping[Instance, Value] | None = None, **fields: Any) -> Proposer:
    """A proposer in phase 2, to which `promised` have promised its ballot, with `proposals` under way."""
    links = dict.fromkeys((1, *promised), Link.PROMISED)
    usual = {"links": links, "promises": {}, "established": True, "proposals": proposals or {}, "ready": not proposals}
    return asking(*promised, **{**usual, **fields})

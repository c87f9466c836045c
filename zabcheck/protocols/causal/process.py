"""A process of the causal atomic broadcast: one of Paxos that keeps what it has broadcast."""

from collections.abc import Hashable, Mapping
from typing import Any

from zabcheck.invariants import Txn
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import NOTHING_ADDED, AddedState, ProcessId
from zabcheck.protocols.paxos import process as paxos
from zabcheck.protocols.paxos.messages import Value
from zabcheck.protocols.switches import Switches


class Process(paxos.Process, gc=False):
    """The variables of one process: those of Paxos, and `broadcast`, which is durable too."""

    broadcast: Value = ()
    """All that the process has broadcast, in any epoch and any incarnation, in order."""
    added: AddedState = NOTHING_ADDED
    """The variables that a known bug adds."""


def start(
    process: ProcessId, incarnation: int, quorums: Quorums, durable: Mapping[str, Any], switches: Switches
) -> Process:
    """Return a process as it starts: with what its disk has; it learns everything anew."""
    return Process(process, incarnation, quorums, switches, **durable)


def abandon(p: Process) -> None:
    """Leave the proposer, or give the ballot up. What the process has broadcast is kept: another proposer gets it."""
    paxos.abandon(p)
    p.added = p.added.abandoned()


def identity(p: Process) -> Hashable:
    """Return everything that the further steps of a process may depend on."""
    return paxos.identity(p), p.broadcast, p.added.identity(p)


def already_delivered(p: Process) -> set[Txn]:
    """Return the transactions that this incarnation has delivered. O(their number)."""
    return {txn for instance in range(1, p.delivered + 1) for txn in p.chosen[instance]}


def undelivered(p: Process) -> Value:
    """Return what the process has broadcast and this incarnation has not delivered, in order. O(delivered)."""
    known = already_delivered(p)
    return tuple(txn for txn in p.broadcast if txn not in known)

"""A Paxos process: its variables, and how it starts. Each is an acceptor and a learner, and a proposer while it leads.

A proposer is its own acceptor and its own learner: what it sends to itself it handles right after the step. It is the
distinguished learner as well: acceptors answer to it, and it tells the others what was chosen.
"""

from collections.abc import Hashable, Mapping
from enum import Enum
from typing import Any, Literal

from msgspec import Struct

from zabcheck.invariants import Halt
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import Effect, ProcessId, Started
from zabcheck.protocols.paxos.messages import Instance, Proposal, Value
from zabcheck.protocols.switches import LETTER, Switches


class Variant(Struct, frozen=True):
    """The parameters of a variant of Paxos. The defaults are the Paxos of DSN 2011, Figure 1.

    `outstanding`: a proposer has several proposals under way; or one, and starts the next when that one is chosen.
    `batches`: all that is requested in the meantime goes into the next proposal; if False, no request is taken then.
    `barrier`: a new proposer has a no-op chosen before it broadcasts anything.
    `proposers`: any process may propose; or the first one alone, in all its incarnations.
    """

    outstanding: Literal["several", "one"] = "several"
    batches: bool = False
    barrier: bool = False
    proposers: Literal["any", "first"] = "any"


SEVERAL = Variant()
"""The Paxos of Figure 1."""


class Link(Enum):
    """The stage of the exchange between a proposer and one of its connected acceptors."""

    JOINED = "JOIN came"
    PROMISED = "1b came"


class Process(Struct, gc=False):
    """The variables of one process. No ballot is 0. The values are immutable: steps rebind fields."""

    id: ProcessId
    incarnation: int
    quorums: Quorums
    switches: Switches = LETTER
    variant: Variant = SEVERAL

    # Durable, as an acceptor.
    promised: int = 0
    """The highest ballot promised."""
    accepted: Mapping[Instance, Proposal] = {}
    """The proposal of the highest ballot accepted in each instance."""

    # Of the incarnation, as a learner.
    chosen: Mapping[Instance, Value] = {}
    """The values that the process knows to be chosen."""
    delivered: Instance = 0
    """The instance up to which the process has delivered the chosen values."""

    # As an acceptor that is connected to a proposer.
    leader: ProcessId | None = None

    # As a proposer.
    joined: Mapping[ProcessId, Instance] = {}
    """The slot up to which each connected acceptor had delivered when it joined."""
    links: Mapping[ProcessId, Link] = {}
    """The connected acceptors."""
    highest: int = 0
    """The highest ballot that any connected acceptor had promised."""
    ballot: int = 0
    """The ballot of this proposer, once it has taken one."""
    first: Instance = 0
    """The first instance whose value the proposer did not know when it took its ballot."""
    promises: Mapping[ProcessId, tuple[tuple[Instance, Proposal], ...]] = {}
    """The values that each acceptor had accepted when it promised the ballot; empty again once phase 1 is over."""
    established: bool = False
    """True once a quorum has promised the ballot: phase 1 is over."""
    proposals: Mapping[Instance, Value] = {}
    """The values that the proposer has proposed, from instance `first` on."""
    accepts: Mapping[Instance, tuple[ProcessId, ...]] = {}
    """The acceptors that have accepted each of these proposals, until it is chosen."""
    counter: int = 0
    """The number of transactions broadcast in this ballot."""
    waiting: Value = ()
    """The transactions broadcast and not yet proposed: the next batch."""
    ready: bool = False
    """True once ready(e) was called, so that the primary may broadcast."""

    @property
    def leads(self) -> bool:
        return self.leader == self.id

    @property
    def last(self) -> Instance:
        """The last instance in which this proposer has proposed something, or that it knew before its ballot."""
        return max(self.proposals, default=self.first - 1)

    @property
    def outstanding(self) -> bool:
        """True while the process has not delivered everything that it proposed."""
        return self.delivered < self.last


Acceptor = Process
Learner = Process
Proposer = Process


def start(
    process: ProcessId,
    incarnation: int,
    quorums: Quorums,
    durable: Mapping[str, Any],
    switches: Switches,
    variant: Variant = SEVERAL,
) -> Process:
    """Return a process as it starts: with what its acceptor made durable; a learner learns everything anew."""
    return Process(process, incarnation, quorums, switches, variant, **durable)


def on_started(p: Process, sender: ProcessId, m: Started) -> list[Effect]:
    """Stop the process if the digest of a record on its disk does not match, as in Zab."""
    if not m.intact:
        return [Halt(p.id, p.incarnation, "the digest of a record on its disk does not match")]
    return []


def abandon(p: Process) -> None:
    """Leave the proposer, or give the ballot up; only what is durable or learned is kept."""
    p.leader = None
    p.joined = {}
    p.links = {}
    p.highest = 0
    p.ballot = 0
    p.first = 0
    p.promises = {}
    p.established = False
    p.proposals = {}
    p.accepts = {}
    p.counter = 0
    p.waiting = ()
    p.ready = False


def has_a_ballot(p: Proposer) -> bool:
    """Return True once the proposer has a ballot. Before, it counts the connected acceptors that have joined."""
    return p.ballot != 0


def highest_ballot(p: Process) -> int:
    """Return the highest ballot that a process has promised or, as a proposer, has chosen: a ballot is an epoch."""
    return max(p.promised, p.ballot)


def identity(p: Process) -> Hashable:
    """Return everything that the further steps of a process may depend on.

    Left out is the order in which acceptors came to a proposer, which only orders the messages to different acceptors
    in one step.
    """

    def unordered(mapping: Mapping[int, Any]) -> Hashable:
        return frozenset(mapping.items())

    return (
        p.promised,
        unordered(p.accepted),
        unordered(p.chosen),
        p.delivered,
        p.leader,
        unordered(p.joined),
        unordered(p.links),
        None if p.ballot else p.highest,
        p.ballot,
        p.first,
        unordered(p.promises),
        p.established,
        unordered(p.proposals),
        frozenset((i, frozenset(by)) for i, by in p.accepts.items()),
        p.counter,
        p.waiting,
        p.ready,
    )

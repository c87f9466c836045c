"""The messages of Paxos, named after its phases (Lamport, "Paxos Made Simple", 2001, 2.2), and what they carry."""

from msgspec import Struct

from zabcheck.invariants import Txn
from zabcheck.protocols.base import Message

Instance = int
"""A position in the sequence of values, from 1 on; each is one instance of the consensus algorithm."""

Value = tuple[Txn, ...]
"""The value of an instance: one transaction, several in a batch, or none."""

NO_OP: Value = ()
"""The value that fills a gap: nothing is delivered for it (Paxos Made Simple, 3)."""


class Proposal(Struct, frozen=True, gc=False):
    """A value with the ballot in which it was proposed."""

    ballot: int
    value: Value


class Join(Message, frozen=True):
    """An acceptor tells a proposer that it is there, what it has promised, and how far it has delivered.

    Paxos has no such message: there a proposer sends 1a to any acceptor. Here an acceptor has to open the connection
    first. Knowing its promise, the proposer does not choose a ballot that would be refused.
    """

    promised: int
    delivered: Instance


class Phase1a(Message, frozen=True):
    """Prepare: asks for a promise of `ballot`, and for what was accepted in the instances from `first` on."""

    ballot: int
    first: Instance


class Phase1b(Message, frozen=True):
    """The promise of `ballot`, with the proposal of the highest ballot accepted so far in each of those instances."""

    ballot: int
    accepted: tuple[tuple[Instance, Proposal], ...]


class Phase2a(Message, frozen=True):
    """Accept: proposes `value` in `instance`."""

    ballot: int
    instance: Instance
    value: Value


class Phase2b(Message, frozen=True):
    """The acceptor has accepted the proposal of `ballot` in `instance`."""

    ballot: int
    instance: Instance


class Chosen(Message, frozen=True):
    """The distinguished learner tells the others what was chosen in `instance` (Paxos Made Simple, 2.3)."""

    instance: Instance
    value: Value

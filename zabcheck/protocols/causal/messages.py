"""The message that a causal atomic broadcast has besides those of Paxos."""

from zabcheck.protocols.base import Message
from zabcheck.protocols.paxos.messages import Value


class HandOver(Message, frozen=True):
    """A process hands the proposer what it has broadcast and not yet delivered, in order."""

    value: Value

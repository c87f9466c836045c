"""The messages of LADIS 2008, 4. A zxid in a message is one number of 64 bits: the epoch, then the counter (4.2).

The paper names PROPOSAL, ACK and COMMIT, and describes the other messages without naming them. Their names are those of
ZooKeeper, except FETCH and SUPPLY, which are ours.
"""

from zabcheck.invariants import Txn
from zabcheck.protocols.base import Message


class FollowerInfo(Message, frozen=True):
    """A server connects to its leader and tells the highest zxid in its log.

    Repaired: also the last epoch for which the server recognised a leader, and the last zxid of each epoch in its log,
    the latest first.
    """

    zxid: int
    epoch: int = 0
    lasts: tuple[int, ...] = ()


class NewEpoch(Message, frozen=True):
    """Repaired: the new leader asks to be recognised as the leader of `epoch`."""

    epoch: int


class AckEpoch(Message, frozen=True):
    """Repaired: the sender recognises the leader for `epoch`, durably.

    With `counts` False the sender had recognised a leader for that epoch before, this one or another; such an answer
    never helps to complete a quorum.
    """

    epoch: int
    counts: bool = True


class Fetch(Message, frozen=True):
    """The new leader asks the follower with the highest zxid for what it lacks.

    `lasts`: the last zxid of each epoch in the leader's log, the latest first.
    """

    lasts: tuple[int, ...]


class Supply(Message, frozen=True):
    """The answer to FETCH: the transactions in the sender's log after `after`, and the sender's highest zxid."""

    after: int
    txns: tuple[Txn, ...]
    zxid: int


class Trunc(Message, frozen=True):
    """Forget what comes after `zxid` in the log."""

    zxid: int


class Proposal(Message, frozen=True):
    """A message to be delivered, with its zxid."""

    txn: Txn


class NewLeader(Message, frozen=True):
    """Repaired: the record with which the leader begins its epoch (counter zero), sent after the last old PROPOSAL."""

    zxid: int


class Ack(Message, frozen=True):
    """Everything up to `zxid` is on the disk of the sender."""

    zxid: int


class Commit(Message, frozen=True):
    """Deliver everything up to `zxid`."""

    zxid: int

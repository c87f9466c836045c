"""The packets between a leader and its learners (`QuorumPacket`, with the types of `Leader`)."""

from zabcheck.invariants import Chain, Txn, Zxid
from zabcheck.protocols.base import Message


class FollowerInfo(Message, frozen=True):
    """FOLLOWERINFO: the follower's acceptedEpoch (CEPOCH of DSN 2011)."""

    accepted_epoch: int


class LeaderInfo(Message, frozen=True):
    """LEADERINFO: the new epoch (NEWEPOCH)."""

    epoch: int


class AckEpoch(Message, frozen=True):
    """ACKEPOCH: the follower's currentEpoch and lastProcessedZxid (ACK-E, without a history).

    `current_epoch` is None (-1 on the wire) if the epoch had been accepted before: then the answer does not count.
    """

    current_epoch: int | None
    zxid: Zxid


class Diff(Message, frozen=True):
    """DIFF: the transactions that the follower lacks come next."""

    zxid: Zxid


class Trunc(Message, frozen=True):
    """TRUNC: the follower is to cut its log behind `zxid`."""

    zxid: Zxid


class Snap(Message, frozen=True):
    """SNAP: the leader's tree, as of its lastProcessedZxid."""

    zxid: Zxid
    tree: Chain


class Proposal(Message, frozen=True):
    """PROPOSAL: a transaction, of a synchronisation or of the broadcast (PROPOSE)."""

    txn: Txn


class Commit(Message, frozen=True):
    """COMMIT of the transaction with this zxid."""

    zxid: Zxid


class NewLeader(Message, frozen=True):
    """NEWLEADER: the synchronisation is complete; ⟨epoch,0⟩ on the wire."""

    epoch: int


class Ack(Message, frozen=True):
    """ACK: of NEWLEADER with ⟨epoch,0⟩ (ACK-LD), else of the transaction with this zxid."""

    zxid: Zxid


class UpToDate(Message, frozen=True):
    """UPTODATE: a quorum has the initial history; the follower may serve (COMMIT-LD)."""

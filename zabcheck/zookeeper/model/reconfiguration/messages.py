"""The packets that say more where configurations change, and the one that is new (`QuorumPacket`)."""

from msgspec import Struct

from zabcheck.invariants import NO_ZXID, Txn, Zxid
from zabcheck.invariants.quorums import Configuration
from zabcheck.protocols.base import Message, ProcessId
from zabcheck.zookeeper.model import messages


class Verifier(Struct, frozen=True, gc=False):
    """A configuration with its version, the zxid of the transaction that names it (`QuorumVerifier`).

    The first configuration has the version 0.
    """

    configuration: Configuration
    version: Zxid = NO_ZXID

    @property
    def txn(self) -> Txn:
        """The transaction that names it."""
        return Txn(self.version, self.configuration.name)

    def __str__(self) -> str:
        return str(self.txn) if self.version > NO_ZXID else self.configuration.name


class FollowerInfo(messages.FollowerInfo, frozen=True, kw_only=True):
    """FOLLOWERINFO with the configuration that is active at the follower."""

    active: Verifier


class ObserverInfo(FollowerInfo, frozen=True, kw_only=True):
    """OBSERVERINFO: FOLLOWERINFO of a server that observes."""


class LeaderInfo(messages.LeaderInfo, frozen=True, kw_only=True):
    """LEADERINFO with the configuration that is active at the leader.

    In ZooKeeper a notification has told the follower of it before (`FastLeaderElection`).
    """

    active: Verifier


class NewLeader(messages.NewLeader, frozen=True, kw_only=True):
    """NEWLEADER with the configuration that the leader has seen last; `active`: only with a repair (R2)."""

    seen: Verifier
    active: Verifier | None = None


class UpToDate(messages.UpToDate, frozen=True, kw_only=True):
    """UPTODATE; `active`, the configuration that is active at the leader, only with a repair (R1)."""

    active: Verifier | None = None


class CommitAndActivate(messages.Commit, frozen=True, kw_only=True):
    """COMMITANDACTIVATE: COMMIT of a configuration change, with the server that is to lead from now on."""

    designated: ProcessId


class Inform(Message, frozen=True):
    """INFORM: tells an observer of a transaction that is committed."""

    txn: Txn


class InformAndActivate(Inform, frozen=True, kw_only=True):
    """INFORMANDACTIVATE: tells it of a configuration change, with the server that is to lead from now on."""

    designated: ProcessId

"""The messages of Zab that say more where configurations change, and the one that is new (USENIX ATC 2012)."""

from msgspec import Struct

from zabcheck.invariants import NO_ZXID, Txn, Zxid
from zabcheck.invariants.quorums import Configuration
from zabcheck.protocols.base import ProcessId, Stimulus
from zabcheck.protocols.zab import messages


class Active(Struct, frozen=True):
    """A configuration that is active, and the zxid of the transaction that names it; `NO_ZXID` for the first one."""

    configuration: Configuration
    zxid: Zxid = NO_ZXID

    @property
    def txn(self) -> Txn:
        """The transaction that names it."""
        return Txn(self.zxid, self.configuration.name)


class CEpoch(messages.CEpoch, frozen=True, kw_only=True):
    """CEPOCH with the configuration that is active at the follower (R.10, R.12)."""

    active: Active


class NewEpoch(messages.NewEpoch, frozen=True, kw_only=True):
    """NEWEPOCH with the configuration that is active at the leader (R.12)."""

    active: Active


class CommitLd(messages.CommitLd, frozen=True, kw_only=True):
    """COMMIT-LD; `designated` is the process that leads on, if the leader is in the new configuration no more (R.6)."""

    designated: ProcessId | None = None


class Commit(messages.Commit, frozen=True, kw_only=True):
    """COMMIT, which carries ACTIVATE where it commits a configuration change (R.5); `designated` as in COMMIT-LD."""

    designated: ProcessId | None = None


class Designated(Stimulus, frozen=True):
    """The leader has named `leader` to lead on in the new configuration, without an election (R.7)."""

    leader: ProcessId

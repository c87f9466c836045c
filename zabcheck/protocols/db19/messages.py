"""The nine messages of the db-19 lab (its "Wire format"), and the histories that nodes keep and send."""

from msgspec import Struct

from zabcheck.invariants import EMPTY, Chain, Txn, Zxid
from zabcheck.protocols.base import Message, ProcessId


class History(Struct, frozen=True, gc=False):
    """A node's history. In this protocol its zxids need not ascend: a leader can begin its counter again.

    `turns` are the prefixes of `chain` that are followed by a zxid that is not higher, so the zxids between two turns
    ascend. Sending, comparing, copying and appending are O(1).
    """

    chain: Chain = EMPTY
    turns: tuple[Chain, ...] = ()

    @property
    def zxid(self) -> Zxid:
        """`last_zxid()` of the lab: that of the last transaction, (0, 0) if there is none."""
        return self.chain.zxid

    def append(self, txn: Txn) -> "History":
        """Return this history with `txn` at its end, whatever its zxid."""
        chain = self.chain
        turns = (*self.turns, chain) if chain and txn.zxid <= chain.zxid else self.turns
        return History(chain.append(txn), turns)

    def between(self, after: Zxid, up_to: Zxid) -> list[Txn]:
        """Return the transactions with `after` < zxid <= `up_to`, in the order of the history.

        O(turns × log length + number of transactions found).
        """
        found: list[Txn] = []
        start = 0
        for end in (*self.turns, self.chain):
            link = _last(end, start, up_to)
            stretch = []
            while link.length > start and link.zxid > after:
                stretch.append(link.txn)
                link = link.previous
            stretch.reverse()
            found += stretch
            start = end.length
        return found


def _last(end: Chain, start: int, up_to: Zxid) -> Chain:
    """Return the longest prefix of `end` whose last zxid is at most `up_to`; at least that of length `start`.

    The zxids of `end` ascend after the first `start` transactions.
    """
    if end.zxid <= up_to:
        return end
    if start == 0:
        return end.up_to(up_to)
    low, high = start, end.length
    while low < high:
        middle = (low + high + 1) // 2
        if end.prefix(middle).zxid <= up_to:
            low = middle
        else:
            high = middle - 1
    return end.prefix(low)


class LookForLeader(Message, frozen=True):
    """`src` is looking for a leader. A node that is looking too takes this as a vote of `src` for itself."""

    src: ProcessId
    last_zxid: Zxid
    peer_epoch: int


class Vote(Message, frozen=True):
    """`voter` votes for `leader`; or, if it is not looking for one, `leader` is the one it has."""

    voter: ProcessId
    last_zxid: Zxid
    peer_epoch: int
    leader: ProcessId


class NewEpoch(Message, frozen=True):
    """A new leader proposes its epoch."""

    new_epoch: int


class AckEpoch(Message, frozen=True):
    """A promise of an epoch; the message does not say of which one."""

    current_epoch: int
    last_zxid: Zxid


class NewLeader(Message, frozen=True):
    """The history with which the epoch begins: the leader's own, whatever the acknowledgements told."""

    new_epoch: int
    history: History


class AckLeader(Message, frozen=True):
    """The sender has the history of NewLeader now."""

    new_epoch: int


class Propose(Message, frozen=True):
    """The leader broadcasts `txn`."""

    txn: Txn


class Ack(Message, frozen=True):
    """The sender has accepted the transaction with this zxid."""

    zxid: Zxid


class Commit(Message, frozen=True):
    """Everything up to `zxid` is committed; it is also a leader's heartbeat."""

    zxid: Zxid

"""The state of servers as ZooKeeper implements Zab: files, memory, and what each has told the others.

The paper writes a history and an epoch at once. A server has a log, snapshots, a database in memory and two files of
epochs, each written apart; it may crash between any two writes. So some relations here also lose tuples. As in the
proof of the paper's Zab no message is modelled, and what has only been said grows.
"""

from zabcheck.proof.logic import SORTS, Epoch, Formula, Node, Transaction
from zabcheck.proof.relations import Relations, State, relation


class Servers(Relations):
    """The relations before a step or, if `after`, after it."""

    sorts = SORTS

    # The two files of epochs.

    @relation
    def reached(self, n: Node, e: Epoch) -> None:
        """n's acceptedEpoch is e or later (f.p)."""

    @relation
    def left(self, n: Node, e: Epoch) -> None:
        """n's acceptedEpoch is later than e."""

    @relation
    def current(self, n: Node, e: Epoch) -> None:
        """n has written e to currentEpoch, which only rises (f.a)."""

    # What changes both ways.

    @relation
    def log(self, n: Node, t: Transaction) -> None:
        """t is in n's log or newest snapshot, or in the queue of the thread that appends to the log."""

    @relation
    def forced(self, n: Node, t: Transaction) -> None:
        """The same, and t is on the disk: fsync has returned."""

    @relation
    def tree(self, n: Node, t: Transaction) -> None:
        """t is applied to n's database in memory; the last of these is lastProcessedZxid."""

    @relation
    def joined(self, n: Node) -> None:
        """n has got DIFF, TRUNC or SNAP on its present connection, or is a leader with an initial history."""

    @relation
    def unsaved(self, n: Node) -> None:
        """n has got SNAP or TRUNC, and has yet to write a snapshot, at NEWLEADER."""

    @relation
    def serving(self, n: Node) -> None:
        """n answers clients: it has got UPTODATE, or is the leader and has started its own server."""

    @relation
    def acked(self, n: Node, e: Epoch, t: Transaction) -> None:
        """The leader of e counts an ACK of n for t, or n's ACK of NEWLEADER, which covers I_e."""

    # Messages between servers: once true, each of these relations stays true. Those of `State` mean the same here.

    promised = State.promised

    @relation
    def reported(self, n: Node, e: Epoch, t: Transaction) -> None:
        """t was in n's memory when n promised e: its ACKEPOCH carries the last of these, and its currentEpoch."""

    led = State.led
    opened = State.opened
    initial = State.initial

    @relation
    def lacked(self, e: Epoch, t: Transaction) -> None:
        """An epoch later than e began without t."""

    @relation
    def carried(self, e: Epoch, t: Transaction) -> None:
        """An epoch later than e began with t."""

    @relation
    def adopted(self, n: Node, e: Epoch) -> None:
        """n acknowledged NEWLEADER of e (f.2.1)."""

    established = State.established
    proposed = State.proposed

    @relation
    def committed(self, e: Epoch, t: Transaction) -> None:
        """The leader of e committed t (l.2.2, l.3.2)."""

    @relation
    def delivered(self, n: Node, t: Transaction) -> None:
        """n applied t and served clients, at that time or later (f.2.2, f.3.3)."""

    def history(self, e: Epoch, t: Transaction) -> Formula:
        """Return H(e, t): t is in the history of e, which is the initial one and the later proposals."""
        return self.initial(e, t) | self.proposed(e, t)

    def known(self, e: Epoch, t: Transaction) -> Formula:
        """Return the formula that the leader of e has t as committed, or as part of I_e: it sends this to joiners."""
        return self.initial(e, t) | self.committed(e, t)

    def at(self, n: Node, e: Epoch) -> Formula:
        """Return the formula that n's acceptedEpoch is e."""
        return self.reached(n, e) & ~self.left(n, e)

    def follows(self, n: Node, e: Epoch) -> Formula:
        """Return the formula that n is joined in e, and has no snapshot to write: it appends, acknowledges, serves."""
        return self.joined(n) & ~self.unsaved(n) & self.at(n, e)

"""The state of one iteration of a leader: relations over the connections that its followers open to it.

A message is in the relation of those sent, and later in that of those received: so a planted bug that does not send one
is seen. Whatever a connection carries arrives in order, or never, for a connection may be closed: then its follower
opens another one, and nothing more happens on it. As in the proof of safety relations only grow.
"""

from zabcheck.proof.logic import Connection, Epoch, Formula, Node, Quorum, Transaction, some
from zabcheck.proof.relations import Relations, relation


class Iteration(Relations):
    """The relations before a step or, if `after`, after it. There is one leader, and one e'."""

    sorts = (Node, Quorum, Epoch, Transaction, Connection)

    # Not changed by any step.

    @relation
    def leads(self, n: Node) -> None:
        """n is the leader."""

    @relation
    def lasting(self, c: Connection) -> None:
        """c is never closed: its follower and the leader elect the leader, stay up, and hear from each other."""

    @relation
    def abandoned(self, c: Connection) -> None:
        """When it opens c, its follower still follows a leader that has closed their connection."""

    @relation
    def promised(self, c: Connection, e: Epoch) -> None:
        """The follower of c has f.p = e in its CEPOCH, and until it gets NEWEPOCH: it follows nobody else meanwhile."""

    @relation
    def has_history(self, n: Node, t: Transaction) -> None:
        """t is in the history that n provides with its ACK-E."""

    # Phase 1.

    @relation
    def opened(self, c: Connection) -> None:
        """The follower sent CEPOCH on c (f.1.1)."""

    @relation
    def asked(self, c: Connection) -> None:
        """The leader has the CEPOCH of c."""

    @relation
    def counted(self, n: Node) -> None:
        """The leader has a CEPOCH of n, on whatever connection (l.1.1)."""

    @relation
    def returned(self, n: Node) -> None:
        """n had acknowledged NEWLEADER in this iteration when it opened another connection."""

    @relation
    def epoch_chosen(self) -> None:
        """The leader has chosen e' (l.1.1)."""

    @relation
    def new(self, e: Epoch) -> None:
        """e is e'."""

    @relation
    def in_time(self, c: Connection) -> None:
        """The leader had the CEPOCH of c when it chose e'."""

    @relation
    def offered(self, c: Connection) -> None:
        """The leader sent NEWEPOCH(e') on c."""

    @relation
    def answered(self, c: Connection) -> None:
        """The follower sent ACK-E on c (f.1.2)."""

    @relation
    def discovered(self, c: Connection) -> None:
        """The leader has the ACK-E of c."""

    @relation
    def provided(self, n: Node) -> None:
        """The leader has an ACK-E of n that counts (l.1.2)."""

    @relation
    def history_chosen(self) -> None:
        """The leader has chosen I_e' (l.1.2)."""

    @relation
    def initial(self, t: Transaction) -> None:
        """t is in I_e'."""

    # Phase 2.

    @relation
    def sent_history(self, c: Connection) -> None:
        """The leader sent NEWLEADER on c (l.2.1, l.3.3)."""

    @relation
    def carried(self, c: Connection, t: Transaction) -> None:
        """t is in the NEWLEADER of c."""

    @relation
    def adopted(self, c: Connection) -> None:
        """The follower set f.a to e' and sent ACK-LD on c (f.2.1)."""

    @relation
    def synced(self, c: Connection) -> None:
        """The leader has the ACK-LD of c."""

    @relation
    def acknowledged(self, n: Node) -> None:
        """The leader has an ACK-LD of n (l.2.2)."""

    @relation
    def established(self) -> None:
        """The leader is established (l.2.2)."""

    @relation
    def released(self, c: Connection) -> None:
        """The leader sent COMMIT-LD on c (l.2.2, l.3.4)."""

    @relation
    def joined(self, c: Connection) -> None:
        """The follower got COMMIT-LD on c: it is in phase 3 (f.2.2)."""

    # Phase 3.

    @relation
    def proposed(self, t: Transaction) -> None:
        """The leader broadcast t in e' (l.3.1)."""

    @relation
    def sent(self, c: Connection, t: Transaction) -> None:
        """The leader sent PROPOSE(t) on c."""

    @relation
    def accepted(self, c: Connection, t: Transaction) -> None:
        """The follower got t on c, with NEWLEADER or PROPOSE, and acknowledged it (f.2.1, f.3.2)."""

    @relation
    def acked(self, n: Node, t: Transaction) -> None:
        """The leader has an ACK-LD or ACK of n that covers t (l.2.2, l.3.2)."""

    @relation
    def committed(self, t: Transaction) -> None:
        """The leader committed t in e' (l.2.2, l.3.2)."""

    @relation
    def told(self, c: Connection, t: Transaction) -> None:
        """The leader sent COMMIT-LD or COMMIT on c that covers t."""

    @relation
    def delivered(self, n: Node, t: Transaction) -> None:
        """n delivered t (f.2.2, f.3.3)."""

    def counts(self, c: Connection) -> Formula:
        """Return the formula that the follower has f.p < e', so its ACK-E counts."""
        return some(lambda e, f: self.promised(c, e) & self.new(f) & (e < f), Epoch, Epoch)

    def refuses(self, c: Connection) -> Formula:
        """Return the formula that the follower has f.p > e', so it does not answer NEWEPOCH."""
        return some(lambda e, f: self.promised(c, e) & self.new(f) & (f < e), Epoch, Epoch)

    def history(self, t: Transaction) -> Formula:
        """Return the formula that t is in I_e' ∘ β_e'."""
        return self.initial(t) | self.proposed(t)

    def on(self, c: Connection, t: Transaction) -> Formula:
        """Return the formula that t was sent on c, within NEWLEADER or after it."""
        return self.carried(c, t) | self.sent(c, t)

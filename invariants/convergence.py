"""Convergence (DSN 2011, VI-D, claim 7).

    Suppose that a quorum Q of followers is up, the followers in Q elect the same process ℓ and ℓ is up, and messages
    between a follower in Q and ℓ are received in a timely fashion. If ℓ proposes a transaction ⟨e,⟨v,z⟩⟩, then
    ⟨e,⟨v,z⟩⟩ is eventually committed.

"Eventually" is judged on a trace that goes on long enough after a `Stabilised`, which promises that the rest of the
trace keeps the conditions, and that clients ask ℓ to broadcast. So from there on in its own order ℓ has to broadcast
something; and when the trace ends, every member of Q must have delivered everything that ℓ broadcast since (see
`invariants.stabilised` for the promises that count).

The claim begins "if ℓ proposes", so it allows an ℓ that never does. Here that is a violation: an ensemble that
does nothing would satisfy the claim. How soon ℓ proposes is left open, as the claim does: the first time that Q chooses
ℓ may come to nothing, and `Stabilised` promises that Q then chooses ℓ again, at least once, and once more for each
epoch by which ℓ is behind the members of Q (of very many, ten times in all).

Witness: the `Stabilised` and the `Broadcast` that a member lacks, least by (zxid, value, leader); if there is none, the
`Stabilised` of the least leader that broadcast nothing. Exercised by: a `Stabilised` that counts, if a
member of Q lacked something that had been broadcast or delivered when it came, so that there was something to recover
from (merged logs do not show this, and each counts).
Cost: O(1) an event, O(members) for a `Stabilised`; at the end O(n) for each that counts.
"""

from itertools import islice

from zabcheck.invariants.base import Violation
from zabcheck.invariants.events import Stabilised
from zabcheck.invariants.record import Record, Sent
from zabcheck.invariants.stabilised import Liveness


class Convergence(Liveness):
    name = "convergence"
    statement = (
        "Suppose that a quorum Q of followers is up, the followers in Q elect the same process ℓ and ℓ is up, and "
        "messages between a follower in Q and ℓ are received in a timely fashion. If ℓ proposes a transaction "
        "⟨e,⟨v,z⟩⟩, then ⟨e,⟨v,z⟩⟩ is eventually committed."
    )
    source = "DSN 2011, VI-D, claim 7"

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.sents: list[Sent] = []  # of all leaders
        self.start: dict[int, int] = {}  # by leader: the number of these before its `Stabilised`

    def on_sent(self, sent: Sent) -> bool:
        if self.stabilised:
            self.sents.append(sent)
        return False

    def on_stabilised(self, event: Stabilised) -> bool:
        self.start[event.process] = len(self.sents)
        return super().on_stabilised(event)

    def wanted(self) -> int:
        return self.record.transactions

    def violation(self) -> Violation | None:
        lacking: list[tuple[Sent, Stabilised]] = []
        idle: list[Stabilised] = []
        for event in self.counting():
            sents = [
                sent
                for sent in islice(self.sents, self.start[event.process], None)
                if sent.event.process == event.process and sent.event.incarnation == event.incarnation
            ]
            if not sents:
                idle.append(event)
            members = self.members(event).values()
            there = self.record.counts(members)
            lacking += [(sent, event) for sent in sents if there.get(sent.txn, 0) < len(members)]
        if lacking:
            sent, event = min(lacking, key=lambda each: (each[0].txn, each[1].process, each[0].epoch))
            member = self.lacking(event, sent.txn)
            return self._violation(
                f"p{member} never delivered {sent.txn}, which p{event.process} broadcast while it led undisturbed",
                event,
                sent.event,
            )
        if idle:
            return self._violation(f"p{idle[0].process} led undisturbed, and never broadcast anything", idle[0])
        return None

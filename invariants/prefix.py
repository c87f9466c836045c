"""Prefix (LADIS 2008, 2).

    If m is the last message delivered for a leader L, any message proposed before m by L must also be delivered.

A process that is elected again is a different leader: a leader is one process in one incarnation and one epoch. A
message that was not delivered last needs all before it as well, since every delivered message was the last at some
time. The place does not matter: the property is local primary order without the order. So it is judged on the messages
delivered when the trace ends: a missing one may still come.

Detection: a delivered m needs its neighbour before it in β, wherever; that one needs its own, and so on. A link before
which the neighbour is missing is a suspicion, which the end of each sequence through it settles.

Witness: L proposes a, then m; p delivers m, and never a; least by (m, p, a, L).
Exercised by: a delivery of a transaction that was not the leader's first proposal.
Cost: O(1) an event; the witness O(n) for n links.
"""

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import Deliver, Txn
from zabcheck.invariants.record import Actor, Primary, Record, Sent, named


class Prefix(Invariant):
    name = "prefix"
    statement = (
        "If m is the last message delivered for a leader L, any message proposed before m by L is delivered too."
    )
    source = "LADIS 2008, 2, prefix property"
    group = "ladis"
    looks_at = ()

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.pairs = 0
        self.suspected = False

    def on_link(self, link: Chain, sent: Sent | None) -> bool:
        found = False
        while sent is not None:
            found |= self._gap(link, sent)
            sent = sent.other
        return found

    def on_sent(self, sent: Sent) -> bool:
        found = False
        if not self.record.late:
            return False  # the usual case
        for link in self.record.links_of(sent.txn):
            found |= self._gap(link, sent)
        return found

    def _gap(self, link: Chain, sent: Sent) -> bool:
        if sent.previous is None:
            return False
        self.pairs += 1
        if not self.record.lacks_previous(link, sent):
            return False
        self.suspected = True
        return True

    def judged(self) -> int:
        return self.pairs

    def inconclusive(self) -> bool:
        return True

    def violation(self) -> Violation | None:
        if not self.suspected:
            return None
        record = self.record
        bad = _with_a_gap(record)
        if not bad:
            return None
        m = min(sent.txn for sent in bad)
        ends = [(actor, end) for actor, end in record.ends() if record.contains(end, m)]
        lacking: list[tuple[Actor, Chain, Sent, list[Sent]]] = []
        for sent in (sent for sent in bad if sent.txn == m):
            earlier = record.sequences[sent.primary][: sent.place]
            held = record.held({each.txn for each in earlier})
            lacking += [(actor, end, sent, earlier) for actor, end in ends if held[end.hash] < len(earlier)]
        p = min(actor for actor, *_ in lacking)
        first, second = min(
            (
                (each, sent)
                for sent, earlier in {sent: earlier for actor, _, sent, earlier in lacking if actor == p}.items()
                for each in _missing(record, earlier, [e for actor, e, s, _ in lacking if actor == p and s is sent])
            ),
            key=lambda pair: (pair[0].txn, pair[0].primary),
        )
        leader = first.primary[1:]
        return self._violation(
            f"{named(leader, p)}, leader of epoch {first.epoch}, proposed {first.txn} before {second.txn}, but "
            f"{named(p, leader)} delivered {second.txn} and never {first.txn}",
            first.event,
            second.event,
            Deliver(*p, second.txn),
        )


def _missing(record: Record, sents: list[Sent], ends: list[Chain]) -> list[Sent]:
    """Return those of `sents` that one of these sequences at least lacks."""
    there = record.counts(ends)
    return [sent for sent in sents if there.get(sent.txn, 0) < len(ends)]


def _with_a_gap(record: Record) -> list[Sent]:
    """Return the broadcasts that some process delivered although an earlier one of the same primary is missing."""
    passing = record.passing(end for _, end in record.ends())
    counts: dict[Txn, int] = {}  # the number of sequences that have it
    whole: dict[Sent, int] = {}  # and all before it
    held: set[Txn] = set()
    done: dict[Primary, int] = {}  # the number of first broadcasts without a gap
    path: list[tuple[Txn, int]] = []  # each transaction, with the number of `changes` before it
    changes: list[tuple[Primary, int]] = []  # of `done`: what there was before
    for link in record.walk():
        while len(path) >= link.length:
            txn, before = path.pop()
            held.remove(txn)
            while len(changes) > before:
                primary, at = changes.pop()
                done[primary] = at
        held.add(link.txn)
        through = passing[link.hash]
        counts[link.txn] = counts.get(link.txn, 0) + through
        path.append((link.txn, len(changes)))
        sent = record.sent.get(link.txn)
        while sent is not None:
            at = start = done.get(sent.primary, 0)
            sents = record.sequences[sent.primary]
            while at < len(sents) and sents[at].txn in held:
                whole[sents[at]] = whole.get(sents[at], 0) + through
                at += 1
            if at > start:
                changes.append((sent.primary, start))
                done[sent.primary] = at
            sent = sent.other
    return [
        sent for sents in record.sequences.values() for sent in sents if whole.get(sent, 0) < counts.get(sent.txn, 0)
    ]

"""The record of a trace: the broadcast sequences β and the delivered sequences Δ.

The properties of DSN 2011, III-A speak of the first deliveries of each process (Δ_f, definition VI.4) and of the
broadcasts of each primary (β_e, definition IV.3). Both are kept once, here, and every property reads them.

All delivered sequences together are a tree: each link (a `Chain`) is one sequence, its children are the sequences
that continue it. As long as nothing is wrong, the tree is a single path, and a process is a position on
it. So the memory needed is O(distinct transactions + processes), a delivery that follows another process's
costs two look-ups, and only a *new* link can break a property. Where the tree forks, total order or agreement is
broken (and the reverse).

An incarnation counts as a process of its own; so does a process after a `Restore`. Positions that were
left for one of these reasons stay on record for ever: a recovery cannot erase evidence. A `Restore` whose prefix is
not on record yet makes its process wait, because in merged logs the deliveries of others may come later in the file.

A transaction that is delivered again by one incarnation, and one that is broadcast again by one primary, count once.
"""

from bisect import insort
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, Self, TypeVar

from zabcheck.invariants.chain import EMPTY, Chain
from zabcheck.invariants.events import Broadcast, Deliver, EventError, Restore, Txn, Zxid
from zabcheck.invariants.quorums import Quorums

Actor = tuple[int, int]
"""A process and its incarnation."""

Primary = tuple[int, int, int]
"""ρ_e: epoch, process, incarnation."""


T = TypeVar("T")

_MANY_LINKS = 5
"""The number of links of one transaction from which they are looked for by branch."""


def named(actor: Actor, *others: Actor) -> str:
    """Return the name of an incarnation of a process for a sentence in which `others` are named, too.

    The first incarnation is named after the process alone, unless the sentence names another one of that process.
    """
    process, incarnation = actor
    is_one_of_several = any(other != actor and other[0] == process for other in others)
    return f"p{process}" + (f" (incarnation {incarnation})" if incarnation or is_one_of_several else "")


class Sent:
    """One transaction in β_e: its primary, the broadcast before it, and what that primary had delivered by then."""

    __slots__ = (
        "delivered",
        "epoch",
        "epochs",
        "event",
        "highest",
        "longest",
        "other",
        "place",
        "previous",
        "primary",
        "rank",
        "segment",
        "txn",
    )

    def __init__(
        self,
        event: Broadcast,
        primary: Primary,
        previous: "Sent | None",
        other: "Sent | None",
        delivered: Chain | None,
        longest: Chain,
        segment: int,
        rank: int,
        place: int,
    ) -> None:
        epoch = event.epoch
        self.event = event
        self.txn = event.txn
        self.epoch = epoch
        self.primary = primary
        self.previous = previous
        self.other = other
        # The lowest and the highest epoch in which the transaction was broadcast so far.
        self.epochs: tuple[int, int] = (epoch, epoch)
        if other is not None:
            self.epochs = min(epoch, other.epochs[0]), max(epoch, other.epochs[1])
        self.delivered = delivered  # None if that was not on record then, see `Record.had`
        self.longest = (
            longest  # its process's longest delivered sequence by then, in any incarnation, as far as on record then
        )
        self.segment = segment  # the number of the sequence that the process was in
        self.rank = rank  # the number of broadcasts that the process had made before, in any incarnation
        self.place = place  # in β
        # The highest zxid in β up to here.
        self.highest: Zxid = event.txn.zxid if previous is None else max(event.txn.zxid, previous.highest)


class Waiting:
    """The deliveries and broadcasts of a process since a `Restore` whose prefix is not on record yet."""

    __slots__ = ("done", "restore", "segment")

    def __init__(self, restore: Restore, segment: int) -> None:
        self.restore = restore
        self.segment = segment
        self.done: dict[Txn | Sent, None] = {}  # in order, without repeats


class Standing(NamedTuple):
    """A position in time: the delivered sequence or, after a `Restore` of a prefix not on record, the wait so far."""

    at: Chain
    waiting: Waiting | None = None
    done: int = 0


class Record:
    """Δ and β of a trace, built event by event. Amortised O(1) an event as long as nothing is broken.

    Where the tree has forked, an event costs O(links of its transaction).

    After each call, `new_links`, `new_sents` and `new_positions` hold the new entries; their readers empty them.
    """

    def __init__(self, quorums: Quorums | None = None) -> None:
        self.quorums = quorums  # of the processes; None if that is not known
        self.links: dict[int, Chain] = {0: EMPTY}  # by chain hash; a link comes after the one before it
        self.sent: dict[Txn, Sent] = {}  # the latest broadcast of it, `other` is the one before
        self.sequences: dict[Primary, list[Sent]] = {}  # β
        self.broadcast_events = 0  # of these
        self.forked = False
        self.deliveries = 0  # first deliveries of each actor
        self.starts = 0  # of those, the ones at the start of a sequence
        self.actors = 0  # actors that delivered something; one that only took a snapshot over could not go wrong
        self.transactions = 0  # distinct ones, broadcast or delivered
        self.late = False  # a broadcast came after its delivery, or after another broadcast of the same transaction
        self.rewound = False  # a snapshot was taken over where something had been delivered or restored before
        self.resumed = False  # a snapshot that a process had taken over turned out later to be on record
        self.new_links: list[Chain] = []
        self.new_sents: list[Sent] = []
        self.new_positions: list[Sent] = []  # broadcasts whose primary's delivered sequence is known now
        self._at: dict[int, Chain | Waiting] = {}
        self._incarnation: dict[int, int] = {}
        self._segment: dict[int, int] = {}  # the number of sequences that the process has begun
        self._passed: dict[int, list[tuple[int, int, Chain]]] = {}  # segment, incarnation and sequence that it left
        self._longest: dict[int, Chain] = {}  # of these
        self._only_restored: dict[
            int, None
        ] = {}  # processes that have taken over a snapshot, and delivered nothing after it
        self._ranks: dict[int, int] = {}
        self._left: dict[int, tuple[Actor, Chain]] = {}  # by chain hash: the least actor that ended there
        self._first_child: dict[int, Chain] = {}
        self._children: dict[tuple[int, Txn], Chain] = {}  # all but the first child
        self._link_of: dict[Txn, Chain] = {}
        self._more_links: dict[Txn, dict[int, Chain]] = {}  # only where the tree forked: all but the first, by branch
        # A branch begins at a link that is not the first child, and goes on with first children.
        self._branch: dict[int, int] = {}  # by chain hash; a link of the branch 0, which begins at the root, has none
        self._forks: list[Chain] = [EMPTY]  # by branch: the link that it forked from
        self._last: dict[Primary, Sent] = {}
        self._others: dict[tuple[Txn, Primary], None] = {}  # primaries whose transaction others broadcast after them
        self._awaited: dict[int, list[tuple[Actor, Waiting]]] = {}
        self._arrived: list[Chain] = []  # links that were awaited; empty between two events
        self._made: dict[Any, tuple[tuple[int, int], Any]] = {}  # see `once`
        self._had: dict[
            Sent, Chain
        ] = {}  # for a broadcast before the prefix that its primary had taken over was on record

    # Building.

    def deliver(self, event: Deliver) -> None:
        process, txn = event.process, event.txn
        if self._incarnation.get(process) != event.incarnation:
            self._begin(process, event.incarnation)
        at = self._at[process]
        if isinstance(at, Waiting):
            at.done[txn] = None
            return
        link = self._at[process] = self._step(at, txn)
        if self._only_restored and link is not at and process in self._only_restored:
            del self._only_restored[process]
            self.actors += 1
        while self._arrived:
            self._resume(self._arrived.pop())

    def broadcast(self, event: Broadcast) -> None:
        process, txn = event.process, event.txn
        if self._incarnation.get(process) != event.incarnation:
            self._begin(process, event.incarnation)
        primary = (event.epoch, process, event.incarnation)
        other = self.sent.get(txn)
        if other is not None:
            if other.primary == primary or (txn, primary) in self._others:
                return
            self._others[txn, other.primary] = None
        if other is not None or txn in self._link_of:
            self.late = True
        else:
            self.transactions += 1
        at = self._at[process]
        delivered = None if isinstance(at, Waiting) else at
        longest = self._longest.get(process, EMPTY)
        if delivered is not None and delivered.length >= longest.length:
            longest = delivered
        rank = self._ranks[process] = self._ranks.get(process, -1) + 1
        segment = self._segment[process]
        sequence = self.sequences.setdefault(primary, [])
        previous = self._last.get(primary)
        sent = Sent(event, primary, previous, other, delivered, longest, segment, rank, len(sequence))
        self.sent[txn] = self._last[primary] = sent
        sequence.append(sent)
        self.broadcast_events += 1
        if isinstance(at, Waiting):
            at.done[sent] = None
        else:
            self.new_positions.append(sent)
        self.new_sents.append(sent)

    def restore(self, event: Restore) -> None:
        process = event.process
        if self._incarnation.get(process) != event.incarnation:
            self._begin(process, event.incarnation)
        self.rewound |= self._at[process] is not EMPTY
        self._leave(process)
        self._segment[process] += 1
        link = self._restored(event)
        if link is None:
            waiting = Waiting(event, self._segment[process])
            self._at[process] = waiting
            self._awaited.setdefault(event.hash, []).append(((process, event.incarnation), waiting))
        else:
            self._at[process] = link
            if link.length:
                self._only_restored[process] = None

    def _begin(self, process: int, incarnation: int) -> None:
        """Take in that an incarnation begins, with nothing delivered."""
        before = self._incarnation.get(process, -1)
        if incarnation < before:
            raise EventError(
                f"field `incarnation`: expected {before} or more at process {process}, found {incarnation}: "
                "a process's own events must be in order"
            )
        self._leave(process)
        self._segment[process] = self._segment.get(process, 0) + 1
        self._incarnation[process] = incarnation
        self._at[process] = EMPTY

    def _leave(self, process: int) -> None:
        at = self._at.get(process)
        self._only_restored.pop(process, None)
        if isinstance(at, Chain):
            self._end((process, self._incarnation[process]), self._segment[process], at)

    def _end(self, actor: Actor, segment: int, at: Chain) -> None:
        if not at:
            return
        old = self._left.get(at.hash)
        if old is None or actor < old[0]:
            self._left[at.hash] = actor, at
        process, incarnation = actor
        passed = self._passed.setdefault(process, [])
        if passed and passed[-1][0] < segment and passed[-1][2].starts_with(at):
            return
        insort(passed, (segment, incarnation, at), key=lambda each: each[0])
        if at.length > self._longest.get(process, EMPTY).length:
            self._longest[process] = at

    def _step(self, at: Chain, txn: Txn) -> Chain:
        """Return the sequence `at` with `txn` delivered after it."""
        child = self._first_child.get(at.hash)
        if child is not None:
            if child.txn is txn or child.txn == txn:
                self.deliveries += 1
                if not at.length:
                    self.starts += 1
                    self.actors += 1
                return child
            other = self._children.get((at.hash, txn))
            if other is not None:
                self._count_delivery(at)
                return other
        if self.contains(at, txn):
            return at  # delivered again: not in Δ
        known = self.sent.get(txn)
        link = at.append(txn if known is None else known.txn)  # one object for all who tell of it
        self.links[link.hash] = link
        branch = self._branch.get(at.hash, 0)
        if child is None:
            self._first_child[at.hash] = link
        else:
            self._children[at.hash, txn] = link
            branch = len(self._forks)
            self._forks.append(at)
            self.forked = True
        if branch:
            self._branch[link.hash] = branch
        if self._link_of.setdefault(txn, link) is not link:
            self._more_links.setdefault(txn, {})[branch] = link
            self.forked = True
        elif txn not in self.sent:
            self.transactions += 1
        self._count_delivery(at)
        self.new_links.append(link)
        if link.hash in self._awaited:
            self._arrived.append(link)
        return link

    def _count_delivery(self, at: Chain) -> None:
        self.deliveries += 1
        if not at.length:
            self.starts += 1
            self.actors += 1

    def _restored(self, event: Restore) -> Chain | None:
        link = self.links.get(event.hash)
        if link is not None and link.length == event.length and link.zxid == event.zxid:
            return link
        return None

    def _resume(self, link: Chain) -> None:
        """Take in the events of processes after they took over a prefix, now that another process has delivered it."""
        awaited = self._awaited.pop(link.hash)
        self.resumed = True
        for actor, waiting in awaited:
            if self._restored(waiting.restore) is None:
                self._awaited.setdefault(link.hash, []).append((actor, waiting))
                continue
            at = link
            for done in waiting.done:
                if isinstance(done, Sent):
                    self._had[done] = at
                    self.new_positions.append(done)
                else:
                    at = self._step(at, done)
            self.actors += at is not link
            if self._at.get(actor[0]) is waiting:
                self._at[actor[0]] = at
                if at is link:
                    self._only_restored[actor[0]] = None
            else:
                self._end(actor, waiting.segment, at)

    # Reading.

    def links_of(self, txn: Txn) -> list[Chain]:
        """Return every link that ends in `txn`: one, unless the tree forked."""
        link = self._link_of.get(txn)
        return [] if link is None else [link, *self._more_links.get(txn, {}).values()]

    def first_link(self, txn: Txn) -> Chain:
        """Return the link by which a process delivered `txn` that was the first to do so."""
        return self._link_of[txn]

    def is_first_link(self, link: Chain) -> bool:
        """Return True if no process had delivered `link.txn` after anything else before."""
        return self._link_of[link.txn] is link

    def contains(self, at: Chain, txn: Txn) -> bool:
        """Return True if `txn` is in the sequence `at`. O(log length), and O(links of `txn`) at most."""
        link = self._link_of.get(txn)
        if link is None:
            return False
        more = self._more_links.get(txn)
        if more is None or at.starts_with(link):
            return at.starts_with(link)
        if len(more) < _MANY_LINKS:
            return any(at.starts_with(link) for link in more.values())
        to = at
        for _ in more:  # a branch has one link of `txn` at most
            branch = self._branch.get(to.hash, 0)
            found = more.get(branch)
            if found is not None and found.length <= to.length:
                return True
            if not branch:
                return False
            to = self._forks[branch]
        return any(at.starts_with(link) for link in more.values())

    def lacks_previous(self, link: Chain, sent: Sent) -> bool:
        """Return True if the same primary's broadcast just before `sent` is missing before `link`. O(1) as a rule."""
        previous = sent.previous
        if previous is None or link.previous.txn is previous.txn or link.previous.txn == previous.txn:
            return False  # the usual case
        return not self.contains(link.previous, previous.txn)

    def distinct(self) -> int:
        """Return the number of different transactions that were delivered. O(1)."""
        return len(self._link_of)

    def delivered(self) -> Iterator[Txn]:
        """Iterate over the distinct delivered transactions, in the order in which they turned up."""
        return iter(self._link_of)

    def repeated(self) -> Iterator[Txn]:
        """Iterate over the transactions that were delivered after different sequences."""
        return iter(self._more_links)

    def following(self, sent: Sent) -> Sent | None:
        """Return the broadcast after `sent` in β."""
        sequence = self.sequences[sent.primary]
        return sequence[sent.place + 1] if sent.place + 1 < len(sequence) else None

    def broadcasts(self, txn: Txn) -> Iterator[Sent]:
        """Yield every broadcast of `txn`, each primary's first only."""
        sent = self.sent.get(txn)
        while sent is not None:
            yield sent
            sent = sent.other

    def epochs(self, txn: Txn) -> tuple[int, int] | None:
        """Return the lowest and the highest epoch in which `txn` was broadcast, or None."""
        sent = self.sent.get(txn)
        return None if sent is None else sent.epochs

    def had(self, sent: Sent) -> Chain | None:
        """Return the sequence that the primary had delivered when it broadcast `sent`; None if it is not on record."""
        return self._had.get(sent) if sent.delivered is None else sent.delivered

    def incarnation(self, process: int) -> int:
        """Return the last incarnation in which `process` delivered, broadcast or restored something; else -1."""
        return self._incarnation.get(process, -1)

    def known(self, sent: Sent) -> list[tuple[int, Chain]]:
        """Return the sequences that the process had delivered, in any incarnation, when it broadcast `sent`, if known.

        Each sequence comes with its incarnation, in the order of the process. One may be missing that is a prefix of
        an earlier one.
        """
        passed = self.passed(sent.event.process)
        known = [(incarnation, at) for segment, incarnation, at in passed if segment < sent.segment]
        had = self.had(sent)
        return known if had is None else [*known, (sent.event.incarnation, had)]

    def passed(self, process: int) -> Sequence[tuple[int, int, Chain]]:
        """Return the sequences that `process` has left, in order, with their numbers and incarnations; see `known`."""
        return self._passed.get(process, ())

    def position(self, process: int) -> Chain | None:
        """Return the sequence that the current incarnation of `process` has delivered; None if it is not on record."""
        at = self._at.get(process)
        return at if isinstance(at, Chain) else None

    def standing(self, process: int, incarnation: int) -> Standing:
        """Return the present position of this incarnation, to be `resolved` later. O(1)."""
        at = self._at.get(process, EMPTY)
        if self.incarnation(process) != incarnation:
            return Standing(EMPTY)
        return Standing(at) if isinstance(at, Chain) else Standing(EMPTY, at, len(at.done))

    def resolved(self, standing: Standing) -> Chain | None:
        """Return the sequence that was delivered then; None if it goes on from a prefix that is not on record.

        O(1); O(deliveries since the `Restore`) if its prefix came to be on record only after that moment.
        """
        if standing.waiting is None:
            return standing.at
        at = self._restored(standing.waiting.restore)
        if at is not None:
            for done in islice(standing.waiting.done, standing.done):
                if isinstance(done, Txn) and not self.contains(at, done):
                    at = at.append(done)
        return at

    def ends(self) -> list[tuple[Actor, Chain]]:
        """Return each link at which a sequence ends, with the least actor that is there; in no particular order."""
        ends = dict(self._left)
        for process, at in self._at.items():
            actor = process, self._incarnation[process]
            if isinstance(at, Chain) and at and (at.hash not in ends or actor < ends[at.hash][0]):
                ends[at.hash] = actor, at
        return list(ends.values())

    def least_actor(self, *links: Chain) -> tuple[Actor, list[tuple[Chain, Chain]]]:
        """Return the least actor with a sequence through one of `links`; each such link of its sequences, and its end.

        `links` end in one transaction. The pairs are more than one only if it has several sequences (see `Restore`).
        """
        ends = self.ends()
        if len(links) * len(ends) <= len(self.links):
            passing = [(actor, (link, end)) for actor, end in ends for link in links if end.starts_with(link)]
        else:
            below = {link.hash: link for link in links}
            for link in self.links.values():
                if link.previous.hash in below:
                    below[link.hash] = below[link.previous.hash]
            passing = [(actor, (below[end.hash], end)) for actor, end in ends if end.hash in below]
        least = min(actor for actor, _ in passing)
        return least, [pair for actor, pair in passing if actor == least]

    # The whole tree. These cost O(links).

    def once(self, make: Callable[[Self], T]) -> T:
        """Return what `make` gives for this record, which is asked only once as long as nothing changes."""
        size = len(self.links), self.broadcast_events
        known = self._made.get(make)
        if known is None or known[0] != size:
            known = self._made[make] = size, make(self)
        found: T = known[1]
        return found

    def walk(self) -> list[Chain]:
        """Return every link but the root, each followed by all that continue it."""
        return self.once(_walked)

    def passing(self, sequences: Iterable[Chain]) -> dict[int, int]:
        """Return for each link, by its hash, the number of these sequences that go through it, if any does."""
        passing: dict[int, int] = {}
        for at in sequences:
            passing[at.hash] = passing.get(at.hash, 0) + 1
        for link in reversed(self.links.values()):
            number = passing.get(link.hash)
            if number is not None and link.length:
                passing[link.previous.hash] = passing.get(link.previous.hash, 0) + number
        return passing

    def counts(self, sequences: Iterable[Chain]) -> dict[Txn, int]:
        """Return for each transaction the number of these sequences that contain it, if any does."""
        counts: dict[Txn, int] = {}
        for hash_, number in self.passing(sequences).items():
            if hash_:
                txn = self.links[hash_].txn
                counts[txn] = counts.get(txn, 0) + number
        return counts

    def held(self, txns: Collection[Txn]) -> dict[int, int]:
        """Return for each sequence, by its hash, how many of these transactions it contains."""
        held = {EMPTY.hash: 0}
        for link in self.links.values():
            if link.length:
                held[link.hash] = held[link.previous.hash] + (link.txn in txns)
        return held

    def unmatched(self) -> list[tuple[Actor, Waiting]]:
        """Return the restored prefixes that were never delivered, with the events after them."""
        return [pair for pairs in self._awaited.values() for pair in pairs]

    def delivered_apart(self) -> dict[Txn, Actor]:
        """Return transactions delivered after a restored prefix that was never delivered, with their least actors."""
        found: dict[Txn, Actor] = {}
        for actor, waiting in self.unmatched():
            for done in waiting.done:
                if isinstance(done, Txn):
                    found[done] = min(actor, found.get(done, actor))
        return found

    def fork(self) -> Self:
        """Return an independent copy. O(size), in C."""
        copy = object.__new__(type(self))
        copy.__dict__ = {
            name: value.copy() if type(value) in (dict, list) else value for name, value in self.__dict__.items()
        }
        copy._made = {}
        # The lists inside dicts, and the events of a waiting process, grow in place.
        copy._more_links = {txn: links.copy() for txn, links in self._more_links.items()}
        copy.sequences = {primary: sents.copy() for primary, sents in self.sequences.items()}
        copy._passed = {process: passed.copy() for process, passed in self._passed.items()}
        copy._awaited = {}
        for hash_, pairs in self._awaited.items():
            for actor, waiting in pairs:
                twin = Waiting(waiting.restore, waiting.segment)
                twin.done = waiting.done.copy()
                copy._awaited.setdefault(hash_, []).append((actor, twin))
                if self._at.get(actor[0]) is waiting:
                    copy._at[actor[0]] = twin
        return copy


def _walked(record: Record) -> list[Chain]:
    others: dict[int, list[Chain]] = {}
    for child in record._children.values():
        others.setdefault(child.previous.hash, []).append(child)
    walked: list[Chain] = []
    waiting = others.get(EMPTY.hash, [])
    link = record._first_child.get(EMPTY.hash)
    while link is not None or waiting:
        if link is None:
            link = waiting.pop()
        walked.append(link)
        if link.hash in others:
            waiting += others[link.hash]
        link = record._first_child.get(link.hash)
    return walked

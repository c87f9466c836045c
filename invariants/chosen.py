"""Chosen transactions alone are delivered (DSN 2011, definition VI.1; steps l.3.2, f.3.3, l.2.2 and f.2.2).

    A follower delivers ⟨v,z⟩ only if it is chosen: for some epoch e a quorum has accepted ⟨v,z⟩ in e, as a proposal
    of e, or within the initial history of e.

An `Accept` of epoch e accepts one transaction in e, an `Adopt` every transaction of its history. A transaction that was
accepted once stays accepted, whatever the process does later. Transactions that come with a snapshot (`Restore`) are
not delivered by the process that takes it over. The header gives the quorum system; without one the property is not
exercised. Where that is a configuration, the history that ends with ⟨v,z⟩ tells which quorums it needs, and for one
epoch e each of them has to have accepted it (`zabcheck.invariants.configurations`). That history is a sequence that
some process delivered; of what nobody delivered, one in which it was accepted; if none is known, ⟨v,z⟩ is not judged.

An `Adopt` has only the hash of its history. The history is known if it can be put together: it is a process's last
known history (in the beginning: the empty one), continued with the transactions that this process accepted after
it; or a known history that was adopted in the same epoch and ends before it, continued with the first broadcasts of a
primary of that epoch. A process that adopted an unknown history in e may have accepted anything in e: a delivery that
would be right then is not judged. Neither is a trace that does not show both kinds of event (they are as optional as
other protocol events).

Detection: in the order of time, a quorum has accepted before the delivery, so the delivery shows a violation at once.
In merged logs all acceptances count, wherever they are in the file, and the end of the trace decides.

Witness: the delivery, least by (zxid, value, process, incarnation), preceded by the acceptances in the epoch in which
most processes had accepted it, the lowest of these: an `Accept`, or else an `Adopt`, of each process.
Exercised by: a transaction that is delivered, counted once: once chosen, it stays so for later deliveries.
Cost: amortised O(1) an event, and O(processes) for each acceptance and delivery until the first delivery of a chosen
transaction; an `Adopt` also takes O(transactions of its history not known to be chosen), a delivery that may be chosen
or not O(epochs of unknown histories). Memory O(distinct transactions + processes), and until that delivery each
acceptance.

In an incomplete trace of merged logs an acceptance may be missing: a violation is never certain. In one in the order of
time it always is.
"""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import EMPTY, Chain, Reference, chain_hash, reference
from zabcheck.invariants.configurations import Configurations, Required, without_quorum
from zabcheck.invariants.events import Accept, Activate, Adopt, Deliver, Event, Txn
from zabcheck.invariants.quorums import Configuration, Weighted
from zabcheck.invariants.record import Primary, Record, Sent

_Accepted = tuple[Accept | Adopt, ...]
"""The acceptances of a transaction: one event for each epoch and process."""


_Settled = Deliver | Activate
"""An event that shows that its transaction is chosen."""


class Chosen(Invariant):
    name = "chosen"
    statement = (
        "A follower delivers ⟨v,z⟩ only if it is chosen: for some epoch e a quorum has accepted ⟨v,z⟩ in e, as a "
        "proposal of e, or within the initial history of e."
    )
    source = "DSN 2011, VI-A (definition VI.1)"
    group = "protocol"
    looks_at: ClassVar[tuple[type[Event], ...] | None] = (Adopt, Accept)
    did = "delivered"
    """The word for what a process did that shows a transaction as chosen."""

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.accepts = self.adopts = False  # True if the trace shows these
        self.delivered: dict[Txn, None] = {}  # those that are judged already
        self.accepted: dict[Txn, _Accepted | None] = {}  # None: known to be accepted by a quorum
        self.histories: dict[int, Chain | Reference] = {}  # by process
        self.known: dict[int, Chain] = {0: EMPTY}  # by hash
        self.settled: set[int] = {0}  # the hashes of those in which everything is chosen
        self.unknown: dict[Reference, tuple[Adopt, ...]] = {}
        # By epoch: the processes that adopted one of these; None: to be counted.
        self.adopted: dict[int, tuple[int, ...]] | None = None
        self.initial: dict[int, tuple[Chain, ...]] = {}  # by epoch: known histories adopted in it that end before it
        self.primaries: dict[int, tuple[Primary, ...]] = {}  # by epoch: the processes that broadcast
        self.unsought: dict[Reference, None] = {}  # unknown ones that were not compared with these
        self.followed: dict[
            tuple[Chain, Primary], tuple[int, Chain]
        ] = {}  # the number of transactions of β that were put behind a history
        self.going_on: dict[Reference, tuple[Txn, ...]] = {}  # the transactions accepted after an unknown history
        self.pending: dict[Txn, _Settled] = {}  # in merged logs: the least
        self.least: tuple[_Settled, _Accepted] | None = None  # in the order of time
        self.configurations: Configurations | None = None
        """The chain of configurations, where they change."""
        if isinstance(record.quorums, Configuration):
            self.configurations = Configurations(record.quorums)
        self.accepted_in: dict[Txn, tuple[Chain, ...]] = {}  # where they change: the known histories that end with it

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        if self.record.quorums is None:
            return {}
        return {Adopt: self._adopt, Accept: self._accept, Deliver: self._deliver}

    def on_sent(self, sent: Sent) -> bool:
        if sent.previous is None:
            self.primaries[sent.epoch] = (*self.primaries.get(sent.epoch, ()), sent.primary)
        return False

    def _accept(self, event: Accept) -> bool:
        process, txn = event.process, event.txn
        at = self.histories.get(process, EMPTY)
        if not isinstance(at, Chain):
            at = self._resolved(at)
        if isinstance(at, Chain):
            at = self.histories[process] = at.append(txn)
            if at.hash not in self.known:
                self._learn(at)
        else:
            self.histories[process] = self._go_on(at, txn)
        accepted = self.accepted.get(txn, ())
        if accepted is not None:
            self.accepted[txn] = _with(accepted, event)
        self.accepts = True
        return self.least is not None and self.adopts

    def _adopt(self, event: Adopt) -> bool:
        self.adopts = True
        told = event.zxid, event.length, event.hash
        history = self.histories[event.process] = self._resolved(told)
        if isinstance(history, Chain):
            self._count_all(history, event)
        elif event not in (adopts := self.unknown.get(told, ())):
            self.unknown[told] = (*adopts, event)
            self.unsought[told] = None
            if self.adopted is not None and event.process not in (known := self.adopted.get(event.epoch, ())):
                self.adopted[event.epoch] = (*known, event.process)
        return self.least is not None and self.accepts

    # Histories.

    def _resolved(self, told: Reference) -> Chain | Reference:
        known = self.known.get(told[2])
        return known if known is not None and reference(known) == told else told

    def _go_on(self, at: Reference, txn: Txn) -> Reference:
        following = self.going_on.get(at, ())
        if txn not in following:
            self.going_on[at] = (*following, txn)
        return txn.zxid, at[1] + 1, chain_hash(at[2], txn)

    def _learn(self, link: Chain) -> None:
        """Put a history on record, and others that become known by it."""
        links = [link]
        while links:
            link = links.pop()
            self.known[link.hash] = link
            self._note(link)
            if not self.unknown and not self.going_on:
                continue
            told = reference(link)
            for adopt in self.unknown.pop(told, ()):
                self._count_all(link, adopt)
                self.adopted = None
            links += [link.append(txn) for txn in self.going_on.pop(told, ())]

    def _follow(self) -> None:
        """Extend known histories by the broadcasts of their epoch, until none of those is an unknown history."""
        before = -1
        while self.unknown and before != len(self.unknown):
            before = len(self.unknown)
            new = [(told, adopt.epoch) for told in self.unsought for adopt in self.unknown.get(told, ())]
            self.unsought = {}
            for epoch in self._adopted():
                for initial in self.initial.get(epoch, ()):
                    for primary in self.primaries.get(epoch, ()):
                        whole = self._put_behind(initial, primary, epoch)
                        for told, of in new:
                            if of == epoch and initial.length < told[1] <= whole.length:
                                self._recognise(whole.prefix(told[1]), epoch)

    def _put_behind(self, initial: Chain, primary: Primary, epoch: int) -> Chain:
        """Return `initial` with all broadcasts of `primary` so far after it. Amortised O(1)."""
        done, link = self.followed.get((initial, primary), (0, initial))
        sents = self.record.sequences[primary]
        for sent in sents[done:]:
            link = link.append(sent.txn)
            self._recognise(link, epoch)
        self.followed[initial, primary] = len(sents), link
        return link

    def _recognise(self, link: Chain, epoch: int) -> None:
        """Put a history on record if it was adopted in this epoch and not known."""
        if any(adopt.epoch == epoch for adopt in self.unknown.get(reference(link), ())):
            self._learn(link)

    # Acceptances.

    def _count_all(self, history: Chain, adopt: Adopt) -> None:
        """Count `adopt` as an acceptance of everything in `history`."""
        if history.zxid.epoch < adopt.epoch and history not in (initial := self.initial.get(adopt.epoch, ())):
            self.initial[adopt.epoch] = (*initial, history)
        unsettled = []
        while history.hash not in self.settled:
            unsettled.append(history)
            history = history.previous
        settled = True
        for link in reversed(unsettled):
            self._note(link)
            accepted = self.accepted.get(link.txn, ())
            if accepted is not None:
                accepted = self.accepted[link.txn] = _with(accepted, adopt)
                settled = self._is_chosen(link.txn, accepted) and self.accepted[link.txn] is None and settled
            if settled:
                self.settled.add(link.hash)

    def _is_chosen(self, txn: Txn, accepted: _Accepted) -> bool:
        """Return True if a quorum has accepted the transaction, so that `accepted` need not be kept."""
        if not accepted:
            return False
        epoch = accepted[0].epoch  # the only one, as a rule
        if not self._is_quorum(txn, _processes(accepted, epoch)):
            others = [other for other in _epochs(accepted) if other != epoch]
            if not any(self._is_quorum(txn, _processes(accepted, other)) for other in others):
                return False
        if self.configurations is None or self.record.links_of(txn):  # otherwise a delivery may tell of more quorums
            self.accepted[txn] = None
        return True

    def _is_quorum(self, txn: Txn, processes: Iterable[int]) -> bool:
        """Return True if these processes are all the quorums that the transaction needs."""
        quorums = self.record.quorums
        assert quorums is not None
        members = [process for process in processes if process <= quorums.size]
        if self.configurations is None:
            return quorums.contains(members)
        return any(not without_quorum(required, members) for required in self._required(txn))

    def _note(self, link: Chain) -> None:
        """Keep a known history by its last transaction, where that tells which quorums it needs."""
        if self.configurations is not None and link not in (known := self.accepted_in.get(link.txn, ())):
            self.accepted_in[link.txn] = (*known, link)

    def _required(self, txn: Txn) -> list[Required]:
        """Return the configurations of which the transaction needs a quorum each, by each known history; sorted."""
        assert self.configurations is not None
        links = self.record.links_of(txn) or self.accepted_in.get(txn, ())
        required = dict.fromkeys(map(self.configurations.required, links))
        return sorted(required, key=lambda each: [one.members for one in each])

    # Deliveries.

    def _deliver(self, event: _Settled) -> bool:
        txn = event.txn
        accepted = self.accepted.get(txn, ())
        if accepted is None or self._is_chosen(txn, accepted):
            self.delivered[txn] = None
            return False
        if self.order != "global":
            self.pending[txn] = min(self.pending.get(txn, event), event, key=_rank)
            return False
        if self.unknown or self.configurations is not None:
            self._follow()
            accepted = self.accepted.get(txn, ())
            if accepted is not None and not self._is_chosen(txn, accepted) and self._may_be_chosen(txn, accepted):
                return False
        self.delivered[txn] = None
        if self.accepted.get(txn, ()) is None:
            return False
        assert accepted is not None
        if self.least is None or _rank(event) < _rank(self.least[0]):
            self.least = event, accepted
        return self.accepts and self.adopts

    def _may_be_chosen(self, txn: Txn, accepted: _Accepted) -> bool:
        """Return True if the transaction would be chosen by being in every history that is not known.

        Also if nobody knows which quorums it needs, as no history that ends with it is known.
        """
        if self.configurations is not None and not self._required(txn):
            return True
        return any(
            self._is_quorum(txn, {*processes, *_processes(accepted, epoch)})
            for epoch, processes in self._adopted().items()
        )

    def _adopted(self) -> dict[int, tuple[int, ...]]:
        """Return, by epoch, the processes that adopted a history in it that is not known."""
        if self.adopted is None:
            adopted: dict[int, dict[int, None]] = {}
            for adopts in self.unknown.values():
                for adopt in adopts:
                    adopted.setdefault(adopt.epoch, {})[adopt.process] = None
            self.adopted = {epoch: tuple(processes) for epoch, processes in adopted.items()}
        return self.adopted

    def _judged(self) -> list[tuple[_Settled, _Accepted | None]]:
        """Return, in merged logs, the pending transactions that can be judged: the least delivery, and its acceptances.

        The acceptances are None if a quorum has accepted it.
        """
        self._follow()
        judged: list[tuple[_Settled, _Accepted | None]] = []
        for txn, least in self.pending.items():
            accepted = self.accepted.get(txn, ())
            if accepted is None or self._is_chosen(txn, accepted):
                judged.append((least, None))
            elif not self._may_be_chosen(txn, accepted):
                judged.append((least, accepted))
        return judged

    def judged(self) -> int:
        if not (self.accepts and self.adopts):
            return 0
        return len({**self.delivered, **{deliver.txn: None for deliver, _ in self._judged()}})

    def inconclusive(self) -> bool:
        return self.order != "global"

    def violation(self) -> Violation | None:
        if not (self.accepts and self.adopts):
            return None
        wrong = [(deliver, accepted) for deliver, accepted in self._judged() if accepted is not None]
        if self.least is not None:
            wrong.append(self.least)
        if not wrong:
            return None
        deliver, accepted = min(wrong, key=lambda each: _rank(each[0]))
        said = f"p{deliver.process} {self.did} {deliver.txn}, which "
        if not accepted:
            return self._violation(said + "nobody had accepted", deliver)
        epoch = max(sorted(_epochs(accepted)), key=lambda epoch: len(_processes(accepted, epoch)))
        best = sorted((event for event in accepted if event.epoch == epoch), key=lambda event: event.process)
        names = ", ".join(f"p{event.process}" for event in best)
        weighed = self._weighed(deliver.txn, [event.process for event in best])
        return self._violation(f"{said}only {names} had accepted in epoch {epoch}: no quorum{weighed}", *best, deliver)

    def _weighed(self, txn: Txn, processes: list[int]) -> str:
        """Return the weight of these processes as text, or the configurations that they are no quorum of."""
        quorums = self.record.quorums
        if self.configurations is not None:
            lacking = without_quorum(self._required(txn)[0], processes)
            return f" of {' and none of '.join(each.name for each in lacking)}"
        if not isinstance(quorums, Weighted):
            return ""
        held = sum(quorums.weights[process - 1] for process in processes if process <= quorums.size)
        return f", with {held} of the weight {sum(quorums.weights)}"


def _epochs(accepted: _Accepted) -> Iterable[int]:
    """Return the epochs of these acceptances, each once."""
    return dict.fromkeys([event.epoch for event in accepted])


def _processes(accepted: _Accepted, epoch: int) -> list[int]:
    """Return the processes that accepted in `epoch`, each once."""
    return [event.process for event in accepted if event.epoch == epoch]


def _with(accepted: _Accepted, event: Accept | Adopt) -> _Accepted:
    """Add this event; of several of one epoch and process, keep the least."""
    for other in accepted:
        if other.process == event.process and other.epoch == event.epoch:
            if _order(event) < _order(other):
                return (*(each for each in accepted if each is not other), event)
            return accepted
    return (*accepted, event)


def _order(event: Accept | Adopt) -> tuple[Any, ...]:
    """Return the rank of an acceptance among those of one transaction by one process in one epoch; the least counts."""
    if isinstance(event, Accept):
        return 0, event.incarnation
    return 1, event.incarnation, event.length, event.zxid, event.hash


def _rank(event: _Settled) -> tuple[Any, ...]:
    return event.txn, event.process, event.incarnation

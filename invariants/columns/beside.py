"""The events that a trace in order has beside broadcasts, deliveries and snapshots: judged one by one, in few steps.

See `invariants.columns.in_order`. Each process is somewhere: in the transactions that are accepted in its epoch, in its
broadcast phase, in its promises. So an event is compared with a number or two. A trace that may break a property, or
is of an unusual kind, is refuted, as there; what takes the transactions themselves is settled at the end. A trace is in
order if, besides,

- what is accepted in an epoch are the first broadcasts of its primary, and each process accepts the next one; what it
  adopts in an epoch ends before that epoch, or within these;
- a quorum has accepted what is delivered, by its proposal or within an initial history, and where the order is that of
  time, before the first delivery;
- all that shows who the primary of an epoch is (`Ready`, `Establish`, `Broadcast`) shows the same;
- in a broadcast phase a process delivers in the order of the zxids, and leaves out nothing;
- at a rest, and at the end of a stable trace, nothing is missing.

Cost: less than a microsecond an event; memory O(distinct transactions + processes + elections).
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from zabcheck.invariants.chain import EMPTY, Reference, chain_hash, reference
from zabcheck.invariants.columns.in_order import Array, Proof
from zabcheck.invariants.events import (
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    ClientAck,
    CommitEpoch,
    Crash,
    Deliver,
    Establish,
    Event,
    FinalRead,
    Halt,
    Promise,
    Quiescent,
    Ready,
    Recover,
    Restore,
    Stabilised,
    State,
    Txn,
    Zxid,
)
from zabcheck.invariants.quorums import MAJORITY, Quorums
from zabcheck.invariants.stabilised import Life

_LATE = np.iinfo(np.int64).max
_MOST_SIGHTS = 1000
"""The number of times that the positions of processes are looked at, each of which ends a block."""
_MOST_COMPARED = 1_000_000


class Refuted(Exception):
    """Raised if something may be wrong, or is unusual."""


def _demand(condition: bool) -> None:
    if not condition:
        raise Refuted


class _Accepted:
    """The transactions broadcast or accepted in an epoch, in their order."""

    __slots__ = ("by_proposal", "chosen", "counts", "rows", "sent", "txns")

    def __init__(self) -> None:
        self.txns: list[Txn] = []
        self.counts: list[int] = []  # the number of processes that have accepted it
        self.rows: list[int] = []  # the row with which a quorum had
        self.by_proposal = bytearray()  # 1 if a process did not only adopt it
        self.chosen = 0  # the number of first ones that a quorum has accepted
        self.sent = 0  # the number of those that were broadcast

    def put(self, txn: Txn, place: int) -> None:
        """Put a transaction at this place, or find it there."""
        if place == len(self.txns):
            _demand(not place or self.txns[place - 1].zxid < txn.zxid)
            self.txns.append(txn)
            self.counts.append(0)
            self.rows.append(_LATE)
            self.by_proposal.append(0)
        elif self.txns[place] != txn:
            raise Refuted


class _Phase:
    """A broadcast phase of a process."""

    __slots__ = ("count", "epoch", "first", "incarnation", "last", "start")

    def __init__(self, epoch: int, incarnation: int, start: Zxid | None) -> None:
        self.epoch = epoch
        self.incarnation = incarnation
        self.start = start  # the beginning of D_f; None if another epoch was adopted, so that nothing is judged
        self.last: Zxid | None = None  # of what was delivered, or restored
        self.first: Zxid | None = None  # of D_f
        self.count = 0  # of D_f


class _Process:
    """The state of a process."""

    __slots__ = (
        "accepted",
        "adopt",
        "life",
        "phase",
        "place",
        "promised",
        "reached",
        "ready",
        "sent",
    )

    def __init__(self) -> None:
        self.promised = -1
        self.adopt: Adopt | None = None  # the last
        self.accepted = _Accepted()  # in the epoch of that
        self.place = 0  # in these
        self.reached = 0  # how far it ever was
        self.phase: _Phase | None = None
        self.ready: Ready | None = None  # the last
        self.sent: Broadcast | None = None  # the last of its epoch
        self.life: Life | Stabilised | None = None  # the last


class _Acked(NamedTuple):
    """A history that a process provided; what it had adopted last, and how many it had accepted in that epoch."""

    event: AckEpoch
    adopt: Adopt | None
    end: int


class _AtRest(NamedTuple):
    event: Quiescent
    position: int
    sent: Broadcast | None  # the last in its epoch


class _Promised(NamedTuple):
    """A promise of the environment, its row, and whether a member lacked something delivered, or broadcast, then."""

    event: Stabilised
    row: int
    behind: bool
    behind_broadcasts: bool


class OtherEvents:
    """Judges the events of a trace beside broadcasts, deliveries and snapshots, which `proof` judges.

    `looked_at` are the kinds of event that the chosen properties look at.
    """

    def __init__(self, proof: Proof, quorums: Quorums, looked_at: Collection[type[Event]]) -> None:
        self.proof = proof
        self.clocked = bool(proof.clocked[0])
        self.quorums = quorums
        self.quorum = quorums.size // 2 + 1
        self.row = 0
        self.processes: dict[int, _Process] = {}
        self.accepted: dict[int, _Accepted] = {}  # by epoch
        self.claims: dict[int, tuple[int, int]] = {}  # by epoch: its primary, process and incarnation
        self.asked: dict[int, set[int]] = {}  # by epoch: the processes that were promised it
        self.adopts: list[tuple[int, Adopt]] = []  # with their rows
        self.acked: list[_Acked] = []
        self.phases: list[tuple[int, Zxid, Zxid, Zxid, int]] = []  # D_f: epoch, beginning, first, last, number
        self.stabilised: dict[int, _Promised] = {}  # by leader
        self.rests: dict[int, list[_AtRest]] = {}
        self.digests: dict[int, int] = {}  # of states, by length
        self.told: set[Txn] = set()  # to clients
        self.read: tuple[Txn, ...] | None = None  # at the end
        self.sights = self.reads = 0
        self.counts = dict.fromkeys(("accepts", "in order", "kept", "states"), 0)
        self.observers: dict[type[Event], Callable[[Any], None]] = {
            kind: observe for kind, observe in self._all_observers().items() if kind in looked_at
        }
        self.is_quiet = True
        """True as long as nothing but broadcasts mattered."""
        self.observers |= {Broadcast: self._broadcast, Crash: self._lives, Recover: self._lives, Halt: self._lives}

    def _all_observers(self) -> dict[type[Event], Callable[[Any], None]]:
        return {
            Promise: self._promise,
            AckEpoch: self._ack_epoch,
            Adopt: self._adopt,
            Accept: self._accept,
            Establish: self._claim,
            Ready: self._ready,
            CommitEpoch: self._commit_epoch,
            Stabilised: self._stabilise,
            Quiescent: self._rest,
            State: self._state,
            ClientAck: self._client_ack,
            FinalRead: self._final_read,
        }

    def take(self, lines: Sequence[Event], by_kind: dict[type[Event], list[Any]], first: int) -> None:
        """Take in these events, which follow `first` others. The proof is at the first of them."""
        observers = self.observers
        if self.is_quiet and not observers.keys() & by_kind.keys() - {Broadcast}:
            for event in by_kind.get(Broadcast, ()):
                self._broadcast(event)
            return
        self.is_quiet = False
        for self.row, event in enumerate(lines, first):
            observe = observers.get(type(event))
            if observe is not None:
                observe(event)

    def looks_around(self, kind: type[Event]) -> bool:
        """Return True if an event of this kind needs the positions of processes."""
        return kind in (Stabilised, Quiescent) and kind in self.observers

    def process(self, process: int) -> _Process:
        """Return the state of a process so far."""
        found = self.processes.get(process)
        if found is None:
            found = self.processes[process] = _Process()
        return found

    # Primaries.

    def _broadcast(self, event: Broadcast) -> None:
        at = self.process(event.process)
        sent, ready = at.sent, at.ready
        if ready is not None and ready.epoch != event.epoch and ready.incarnation == event.incarnation:
            raise Refuted
        if sent is None or sent.epoch != event.epoch or sent.incarnation != event.incarnation:
            _demand(sent is None or sent.epoch < event.epoch)
            self._claim(event)
        elif not sent.txn.zxid < event.txn.zxid:
            return  # again
        at.sent = event
        if self.adopts:
            accepted = self._accepted_in(event.epoch)
            accepted.put(event.txn, accepted.sent)
            accepted.sent += 1

    def _claim(self, event: Broadcast | Establish | Ready) -> None:
        actor = event.process, event.incarnation
        _demand(self.claims.setdefault(event.epoch, actor) == actor)

    def _ready(self, event: Ready) -> None:
        at = self.process(event.process)
        _demand(at.ready is None or (at.ready.incarnation <= event.incarnation and at.ready.epoch <= event.epoch))
        _demand(at.sent is None or at.sent.epoch <= event.epoch)
        self._claim(event)
        at.ready = event

    def _promise(self, event: Promise) -> None:
        at = self.process(event.process)
        at.promised = max(at.promised, event.epoch)
        if event.leader is not None:
            self.asked.setdefault(event.epoch, set()).add(event.leader)

    # Histories.

    def _ack_epoch(self, event: AckEpoch) -> None:
        at = self.process(event.process)
        _demand(event.epoch <= at.promised)
        self.acked.append(_Acked(event, at.adopt, at.place))

    def _adopt(self, event: Adopt) -> None:
        at = self.process(event.process)
        self._keeps(at, event.epoch)
        if at.adopt is None or at.adopt.epoch != event.epoch:
            _demand(at.adopt is None or at.adopt.epoch < event.epoch)
            at.accepted, at.reached = self._accepted_in(event.epoch), 0
        at.adopt = event
        at.place = place = _place_behind(at.accepted, event)
        for index in range(max(at.reached, at.accepted.chosen), place):
            self._count(at.accepted, index)
        at.reached = max(at.reached, place)
        self.adopts.append((self.row, event))
        self._end(at)

    def _accept(self, event: Accept) -> None:
        at = self.process(event.process)
        _demand(at.adopt is not None and at.adopt.epoch == event.epoch)
        self._keeps(at, event.epoch)
        self.counts["accepts"] += 1
        accepted, place, txn = at.accepted, at.place, event.txn
        _demand(txn.zxid.epoch == event.epoch)
        accepted.put(txn, place)
        accepted.by_proposal[place] = 1
        at.place = place + 1
        if place >= at.reached:
            at.reached = place + 1
            self._count(accepted, place)

    def _accepted_in(self, epoch: int) -> _Accepted:
        found = self.accepted.get(epoch)
        if found is None:
            found = self.accepted[epoch] = _Accepted()
        return found

    def _keeps(self, at: _Process, epoch: int) -> None:
        """Compare an epoch with the promises of a process."""
        if at.promised > epoch:
            raise Refuted
        if at.promised >= 0:
            self.counts["kept"] += 1

    def _count(self, accepted: _Accepted, place: int) -> None:
        """Count another process that has accepted a transaction."""
        accepted.counts[place] += 1
        if accepted.counts[place] == self.quorum:
            accepted.rows[place] = self.row
            while accepted.chosen < len(accepted.rows) and accepted.rows[accepted.chosen] < _LATE:
                accepted.chosen += 1

    # Phases.

    def _commit_epoch(self, event: CommitEpoch) -> None:
        at = self.process(event.process)
        self._end(at)
        is_adopted = at.adopt is not None and at.adopt.epoch == event.epoch
        start = at.adopt.zxid if at.adopt is not None and is_adopted else None
        at.phase = _Phase(event.epoch, event.incarnation, start)
        self.observers[Deliver], self.observers[Restore] = self._deliver, self._restore

    def _phase(self, event: Deliver | Restore) -> _Phase | None:
        """Return the phase that an event belongs to; it ends the phase of another incarnation."""
        at = self.processes.get(event.process)
        phase = None if at is None else at.phase
        if phase is not None and phase.incarnation != event.incarnation:
            assert at is not None
            self._end(at)
            return None
        return phase

    def _deliver(self, event: Deliver) -> None:
        phase = self._phase(event)
        if phase is None:
            return
        zxid = event.txn.zxid
        if phase.last is not None:
            self.counts["in order"] += 1
            if not phase.last < zxid:
                raise Refuted
        phase.last = zxid
        if phase.start is not None and phase.start < zxid:
            phase.count += 1
            if phase.first is None:
                phase.first = zxid

    def _restore(self, event: Restore) -> None:
        phase = self._phase(event)
        if phase is not None:
            self._keep(phase)
            if phase.start is not None:
                adopt = self.process(event.process).adopt
                assert adopt is not None
                phase.start = max(adopt.zxid, event.zxid)
            phase.last, phase.first, phase.count = event.zxid, None, 0

    def _end(self, at: _Process) -> None:
        if at.phase is not None:
            self._keep(at.phase)
            at.phase = None

    def _keep(self, phase: _Phase) -> None:
        """Keep D_f, to be compared with β."""
        if phase.first is not None and phase.last is not None and phase.start is not None:
            self.phases.append((phase.epoch, phase.start, phase.first, phase.last, phase.count))

    # The environment, applications and clients.

    def _lives(self, event: Life) -> None:
        at = self.process(event.process)
        at.life = event
        self._end(at)
        self.stabilised.pop(event.process, None)

    def _stabilise(self, event: Stabilised) -> None:
        self.process(event.process).life = event
        behind = behind_broadcasts = True
        if self.clocked:
            self._look()
            path = self.proof.path.array
            behind = any(self.delivered_by(member) < len(path) for member in event.quorum)
            behind_broadcasts = behind or bool(np.setdiff1d(self.proof.sents[0].array, path).size)
        self.stabilised[event.process] = _Promised(event, self.row, behind, behind_broadcasts)

    def _rest(self, event: Quiescent) -> None:
        self._look()
        at = self.process(event.process)
        sent, ready = at.sent, at.ready
        if sent is not None and sent.incarnation != event.incarnation:
            sent = None
        if sent is not None and ready is not None and ready.incarnation == event.incarnation:
            sent = sent if ready.epoch == sent.epoch else None
        incarnation, position = self.position(event.process)
        rest = _AtRest(event, position if incarnation == event.incarnation else 0, sent)
        self.rests.setdefault(event.rest, []).append(rest)

    def _look(self) -> None:
        self.sights += 1
        _demand(self.sights <= _MOST_SIGHTS)

    def position(self, process: int) -> tuple[int, int]:
        """Return the last incarnation of a process, or -1, and the length of what that has delivered."""
        slot = int(np.searchsorted(self.proof.processes, process))
        if slot == len(self.proof.processes) or self.proof.processes[slot] != process:
            return -1, 0
        return int(self.proof.incarnation[slot]), int(self.proof.position[slot])

    def delivered_by(self, process: int) -> int:
        """Return the length of what the last incarnation has delivered that the trace shows."""
        incarnation, position = self.position(process)
        life = self.process(process).life
        return 0 if incarnation < 0 or (life is not None and life.incarnation > incarnation) else position

    def _state(self, event: State) -> None:
        digest = self.digests.get(event.length)
        if digest is None:
            self.digests[event.length] = event.digest
        else:
            self.counts["states"] += 1
            _demand(digest == event.digest)

    def _client_ack(self, event: ClientAck) -> None:
        self.told.add(event.txn)

    def _final_read(self, event: FinalRead) -> None:
        held = tuple(sorted(dict.fromkeys(event.txns)))
        _demand(self.read in (None, held))
        self.read = held
        self.reads += 1

    def finish(self) -> dict[str, int]:
        """Return how often each property was exercised, beyond what the proof counts. It is finished, and in order."""
        for at in self.processes.values():
            self._end(at)
        return _Settlement(self).check()


class _Settlement:
    """Checks the transactions of the events that were `seen`, once the trace has ended."""

    def __init__(self, seen: OtherEvents) -> None:
        self.seen = seen
        self.proof = seen.proof

    def check(self) -> dict[str, int]:
        """Return how often each property was exercised, beyond what the proof counts."""
        self._check_phases()
        judged = {
            "invariant 1": self.seen.counts["accepts"],
            "invariant 2": self.seen.counts["accepts"] + self.seen.counts["in order"],
            "invariant 3": self.seen.counts["kept"] + len(self.seen.acked),
            "invariant 4": self._histories(),
            "invariant 5": sum(count for *_, count in self.seen.phases),
            "epoch uniqueness": sum(
                any(process != actor[0] for process in self.seen.asked.get(epoch, ()))
                for epoch, actor in self.seen.claims.items()
            ),
            "state": self.seen.counts["states"],
            "durability": 0 if self.seen.read is None else len(self.seen.told),
            "final agreement": max(0, self.seen.reads - 1),
            "epoch progress": self._rested(),
            **self._stable(),
            **self._check_accepted(),
        }
        _demand(self.seen.read is None or self.seen.told.issubset(self.seen.read))
        return judged

    def _keys(self, zxids: Iterable[Zxid]) -> Array:
        """Return the keys of zxids."""
        pairs = [(zxid.epoch, zxid.counter) for zxid in zxids]
        epochs, counters = np.array(pairs or [(0, 0)], np.int64)[: len(pairs)].T
        _demand(bool(self.proof.keys.fit(epochs, counters).all()))
        return self.proof.keys.of(np.zeros_like(epochs), epochs, counters)

    def _check_phases(self) -> None:
        """Check that each D_f has no gap: it is as long as what it covers of the path, from its beginning on."""
        path = self.proof.path.array
        epochs, starts, firsts, lasts, counts = zip(*self.seen.phases, strict=True) if self.seen.phases else ((),) * 5
        first, last = np.searchsorted(path, self._keys(firsts)), np.searchsorted(path, self._keys(lasts))
        fine = first == np.searchsorted(path, self._keys(starts), "right")
        fine &= last - first + 1 == np.array(counts, np.int64)
        of_epoch = [e == one.epoch == other.epoch for e, one, other in zip(epochs, firsts, lasts, strict=True)]
        fine &= np.array(of_epoch, bool)
        _demand(bool(fine.all()))

    def _check_accepted(self) -> dict[str, int]:
        """Check what was accepted: these are the first broadcasts of each epoch, and what was delivered is chosen."""
        if not self.seen.counts["accepts"]:
            return {}
        epochs = sorted(epoch for epoch, accepted in self.seen.accepted.items() if accepted.txns)
        txns = [txn for epoch in epochs for txn in self.seen.accepted[epoch].txns]
        rows = np.array([row for epoch in epochs for row in self.seen.accepted[epoch].rows], np.int64)
        key, value = self._keys(txn.zxid for txn in txns), np.array([hash(txn.value) for txn in txns], np.int64)
        sent, at = np.unique(self.proof.sents[0].array, return_index=True)
        place = np.searchsorted(sent, key)
        _demand(bool((place < len(sent)).all() and (sent[place] == key).all()))
        _demand(bool((self.proof.sents[1].array[at[place]] == value).all()))
        begins = np.cumsum([0, *(len(self.seen.accepted[epoch].txns) for epoch in epochs)])[:-1]
        in_epoch = np.arange(len(key)) - np.repeat(begins, np.diff(np.append(begins, len(key))))
        first = np.searchsorted(sent, self._keys(Zxid(epoch, 0) for epoch in epochs))
        _demand(bool((place - in_epoch == np.repeat(first, np.diff(np.append(begins, len(key))))).all()))
        path = self.proof.path.array
        by_proposal = np.frombuffer(b"".join(self.seen.accepted[epoch].by_proposal for epoch in epochs), bool)
        judged = {"zxid uniqueness": len(np.union1d(path, key[by_proposal]))}
        if self.seen.adopts:
            self._check_chosen(key, rows)
            judged["chosen"] = len(path)
        return judged

    def _check_chosen(self, key: Array, rows: Array) -> None:
        """Check that a quorum had accepted what was delivered; `key` and `rows` are of what a process accepted."""
        _demand(self.seen.quorums.name == MAJORITY)
        path = self.proof.path.array
        before = self.proof.path_row.array if self.seen.clocked else np.full(len(path), _LATE)
        found = np.searchsorted(key, path)
        found[found == len(key)] = 0
        chosen = (key[found] == path) & (rows[found] < before)
        others = np.flatnonzero(~chosen).tolist()
        _demand(not others or bool(self.seen.acked))  # otherwise nothing is known of what was adopted
        _demand(len(others) * len(self.seen.adopts) < _MOST_COMPARED)
        adopts = [(row, adopt) for row, adopt in self.seen.adopts if self._is_prefix(adopt)] if others else []
        for place in others:
            by_epoch: dict[int, set[int]] = {}
            for row, adopt in adopts:
                if adopt.length > place and row < before[place]:
                    by_epoch.setdefault(adopt.epoch, set()).add(adopt.process)
            _demand(any(len(processes) >= self.seen.quorum for processes in by_epoch.values()))

    def _is_prefix(self, adopt: Adopt) -> bool:
        """Return True if the adopted history is a prefix of the path."""
        if adopt.length > len(self.proof.path):
            return False
        return self.proof.hashes_up_to(adopt.length)[adopt.length] == adopt.hash

    def _histories(self) -> int:
        """Check the histories that were provided and adopted; return their number, 0 if none was provided."""
        if not self.seen.acked:
            _demand(not any(_place_behind(self.seen.accepted[adopt.epoch], adopt) for _, adopt in self.seen.adopts))
            return 0
        hashes: dict[tuple[int, Reference], list[int]] = {}  # by epoch and I_e: behind it, the accepted transactions
        provided: dict[int, list[Reference]] = {}  # by epoch, each once
        for told in dict.fromkeys((acked.event.epoch, reference(acked.event)) for acked in self.seen.acked):
            provided.setdefault(told[0], []).append(told[1])
            hashes[told] = [told[1][2]]

        def initial_of(adopt: Adopt) -> Reference:
            """Return the I_e that an adopted history is, or begins with."""
            place = _place_behind(self.seen.accepted[adopt.epoch], adopt)
            for initial in provided.get(adopt.epoch, ()):
                if initial[1] + place == adopt.length and behind(adopt.epoch, initial, place) == reference(adopt):
                    return initial
            raise Refuted

        def behind(epoch: int, initial: Reference, end: int) -> Reference:
            """Return the history of `initial` with the first transactions accepted in the epoch, up to `end`."""
            known, txns = hashes[epoch, initial], self.seen.accepted[epoch].txns
            for txn in txns[len(known) - 1 : end]:
                known.append(chain_hash(known[-1], txn))
            return txns[end - 1].zxid if end else initial[0], initial[1] + end, known[end]

        initials = {(adopt.epoch, reference(adopt)): adopt for _, adopt in self.seen.adopts}
        _demand(sum(len(provided.get(epoch, ())) for epoch, _ in initials) < _MOST_COMPARED)
        found = {told: initial_of(adopt) for told, adopt in initials.items()}
        for event, adopt, end in self.seen.acked:
            if adopt is None:
                _demand(reference(event) == reference(EMPTY))
            else:
                _demand(behind(adopt.epoch, found[adopt.epoch, reference(adopt)], end) == reference(event))
        return len(self.seen.acked) + len(self.seen.adopts)

    def _rested(self) -> int:
        """Check that nothing was missing at any rest; return how often something could have been."""
        judged = 0
        for rest in self.seen.rests.values():
            _demand(all(each.event.connection != "closed" for each in rest))
            for leader in rest:
                number = leader.event.process
                if not leader.event.primary or leader.event.leader != number:
                    continue
                followers = [each for each in rest if each.event.leader == number and each.event.connection == "open"]
                members = [leader, *(each for each in followers if each is not leader)]
                _demand(all(each.position >= leader.position for each in members))
                judged += (len(members) - 1) * (leader.position > 0)
                if leader.sent is not None and self.seen.quorums.contains([each.event.process for each in members]):
                    judged += 1
                    key = self._keys([leader.sent.txn.zxid])[0]
                    place = int(np.searchsorted(self.proof.path.array, key))
                    _demand(place < leader.position and self.proof.path.array[place] == key)
        return judged

    def _stable(self) -> dict[str, int]:
        """Check that nothing is missing at the end; return how often something could have been."""
        counting = [
            promised
            for process, promised in self.seen.stabilised.items()
            if promised.event.quorum
            and promised.event.incarnation >= self.seen.position(process)[0]
            and not any(self._is_down(member) for member in promised.event.quorum)
        ]
        path = self.proof.path.array
        for event, row, *_ in counting:
            _demand(all(self.seen.delivered_by(member) == len(path) for member in event.quorum))
            columns = [column.array for column in self.proof.sents]
            _, once = np.unique(columns[0], return_index=True)
            key, _, slot, incarnation, *_, at = [column[once] for column in columns]
            own = (at >= row) & (self.proof.processes[slot] == event.process) & (incarnation == event.incarnation)
            _demand(bool(own.any()) and not np.setdiff1d(key[own], path).size)
        return {
            "convergence": sum(promised.behind_broadcasts for promised in counting),
            "reliable delivery": sum(promised.behind for promised in counting) if len(path) else 0,
        }

    def _is_down(self, process: int) -> bool:
        life = self.seen.process(process).life
        return isinstance(life, Crash | Halt) and life.incarnation >= self.seen.position(process)[0]


def _place_behind(accepted: _Accepted, adopt: Adopt) -> int:
    """Return the number of transactions accepted in the epoch that an adopted history ends with."""
    if adopt.zxid.epoch < adopt.epoch:
        return 0
    place = bisect_left(accepted.txns, adopt.zxid, key=lambda txn: txn.zxid)
    _demand(place < len(accepted.txns) and accepted.txns[place].zxid == adopt.zxid)
    return place + 1

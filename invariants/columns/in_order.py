"""Traces in which nothing is wrong, proved to be so in arrays: no object an event, and many short traces at once.

As long as nothing is wrong, all delivered sequences are one path (see `invariants.record`), and on a path the
properties are arithmetic. So a trace is *in order* if

- the zxids of the delivered transactions ascend along the path, and each process delivers, in each of its sequences,
  either the next transaction on the path or one that it has already;
- each snapshot that was taken over is a prefix of the path, by its zxid, length and chain hash;
- everything on the path was broadcast, by one primary, in the epoch of its zxid, and with one value a zxid; where the
  order of the file is the order in time, before it was delivered;
- each process broadcasts in the order of its incarnations and epochs, and within an epoch in the order of the zxids,
  which are of that epoch; no other process, and no other incarnation, broadcasts in the same epoch;
- a process's broadcasts are on the path in their order, and each primary's broadcasts on the path are its first ones,
  without a gap;
- a primary had delivered everything of earlier epochs whenever it broadcast, and nothing that comes after the broadcast
  transaction.

None of the properties that look at broadcasts, deliveries and snapshots is broken in such a trace (strict causality
asks for a little more, see `Proof.causal`), and the number of times that each was exercised is a count:

    N transactions on the path, n of them of its first epoch, d first deliveries of a sequence, s sequences that start
    with the first transaction, r that go on from a snapshot of one transaction or more, M broadcasts

    integrity, clock       N                               total order              d - s - (N - 1)
    agreement              s + r - 1                       global primary order     N - n
    local primary order    those of the N before which     primary integrity        primaries of an epoch above the
    and prefix             their primary broadcast                                  first on the path
    po causal order        these, and those whose process  strict causality         N - 1
                           had delivered something before  causal order             N - the processes that broadcast
    zxid uniqueness        N                                                        the n
    zxid assignment        M                               redelivery               see `invariants.columns.redelivery`

Nothing follows for a trace that is not in order: if it is of an unusual kind, it may still break nothing. The caller
then has it judged by a `Judge`, from its start. So a wrong verdict would take two values with one 64-bit hash
(Python's, which is keyed).

The arrays: rows are sorted by process, stably, so that each process's rows stand together in its order.
A process is a *slot*, a pair of run and process. The path of all runs is one sorted array of *keys*, a number for each
run and zxid, so a place on it is found with `searchsorted`, and a position of a process is a place on it too.
Broadcasts are kept until the end, when all are joined with the path.

Cost: O(log N) a row, in C. Memory O(distinct transactions + processes), about 100 bytes for each transaction and
broadcast; the rows of a block are forgotten.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from zabcheck.invariants.chain import chain_hash
from zabcheck.invariants.columns.arrays import Grown, beginnings, distinct, running_maximum, sort_by
from zabcheck.invariants.columns.redelivery import Redeliveries
from zabcheck.invariants.events import Txn, Zxid

Array = npt.NDArray[Any]

BROADCAST, DELIVER, RESTORE = range(3)
"""The kinds of event that a proof looks at."""

MOST_RUNS = 1 << 15
"""The number of runs that fit into the key of a zxid."""

_PIECE = 1 << 18
"""The number of broadcasts that are joined with the path at once."""

_LATE = np.iinfo(np.int64).max


class Keys:
    """The number of a zxid in a run: ordered by run, epoch and counter. 63 bits, so not every zxid has one."""

    def __init__(self, runs: int) -> None:
        assert runs <= MOST_RUNS
        self.runs = runs
        self.run_shift = 63 if runs == 1 else 48
        self.counter_bits = 32 if runs == 1 else 24
        self.epoch_bits = 31 if runs == 1 else 24

    def fit(self, epoch: Array, counter: Array) -> Array:
        """Return for each zxid True if it has a key."""
        fit: Array = (epoch < (1 << self.epoch_bits)) & (counter < (1 << self.counter_bits))
        return fit

    def of(self, run: Array, epoch: Array, counter: Array) -> Array:
        """Return the keys of zxids, all of which have one."""
        key: Array = self.first(run) | (epoch << self.counter_bits) | counter
        return key

    def first(self, run: Array) -> Array:
        """Return the key of NO_ZXID in each run."""
        return run << self.run_shift if self.runs > 1 else np.zeros_like(run)

    def epoch(self, key: Array) -> Array:
        """Return the epoch in each key."""
        epoch: Array = (key >> self.counter_bits) & ((1 << self.epoch_bits) - 1)
        return epoch


class Block(NamedTuple):
    """Columns of the rows of several runs, or of a piece of one run, in the order of the file."""

    rows: Array  # int64, ascending: the rows of the columns that count, all of them broadcasts, deliveries or snapshots
    first: int  # the place of the columns' first row in the file
    run: Array  # int64, ascending, from 0
    kind: Array  # uint8: BROADCAST, DELIVER or RESTORE
    process: Array  # int64
    incarnation: Array  # int64
    epoch: Array  # int64; of a broadcast
    key: Array  # int64, see `Keys`
    value: Array  # int64: a hash; of a broadcast or a delivery
    length: Array  # int64; of a snapshot
    hash: Array  # int64; of a snapshot
    texts: Callable[[Array], pa.Array]  # the values of deliveries in these rows, as text


class _ByProcess(NamedTuple):
    """The rows of a block that count, those of each process together and in its order."""

    row: Array  # of the block's columns
    slot: Array
    run: Array
    kind: Array
    key: Array
    incarnation: Array


class _Sequences(NamedTuple):
    """The sequences of a block. A column has an element for each row, if nothing else is said."""

    base: Array  # for each run the place at which its path begins
    first: Array  # whether it is its process's first row of the block
    lives: Array  # whether an incarnation begins there
    again: Array  # whether that is not the process's first
    begins: Array  # the rows at which sequences begin, or go on from the block before
    start: Array  # the place at which it begins, if one begins there
    at: Array  # the place behind what its process has delivered in the sequence, this row included
    had: Array  # the same, this row not included
    news: Array  # whether it delivers what comes next
    delivers_more: Array  # for each sequence whether it has such a row


class _Sents(NamedTuple):
    """Broadcasts; those of one process in its order."""

    key: Array
    value: Array
    slot: Array
    incarnation: Array
    had: Array  # the place behind the last transaction that its process had delivered in this sequence
    longest: Array  # in any sequence
    row: Array

    def of(self, rows: Array) -> "_Sents":
        """Return the broadcasts with these indices, in this order."""
        return _Sents(*[column[rows] for column in self])


class _Cast(NamedTuple):
    """The broadcasts, joined with the path. A column has an element for each, if nothing else is said."""

    base: Array  # for each run the place at which its path begins
    size: Array  # for each run the length of its path
    run: Array
    place: Array  # the place on the path, or at which it would be
    delivered: Array  # whether it is on the path
    epoch: Array
    same_life: Array  # whether the broadcast before it is of the same incarnation
    same_primary: Array  # and of the same epoch


_SENTS_AS = (np.int64, np.int64, np.int32, np.int64, np.int32, np.int32, np.int64)
"""The types of the fields as kept: a path has fewer than 2^31 places, or it would not fit into memory."""


class Proof:
    """Proves that traces are in order. Takes in one block with all of `runs` traces, or one trace in blocks.

    `clocked` is True for each run in which the order of the file is the order in time.
    """

    def __init__(self, runs: int, clocked: Array, redelivery: bool = True) -> None:
        self.runs = runs
        self.keys = Keys(runs)
        self.clocked = clocked
        self.in_order = np.ones(runs, bool)  # as far as is known
        self.causal = np.ones(runs, bool)
        """True if each transaction of the path is known to precede the next one, as strict causality asks: their
        primary is the same and broadcast them in a row, or the process of the later one had delivered the other."""
        self.counts = {name: np.zeros(runs, np.int64) for name in ("deliveries", "starts", "resumed")}
        self.processes = np.zeros(0, np.int64)  # of each slot: run and process, ascending
        self.incarnation = np.zeros(0, np.int64)  # -1: none so far
        self.position = np.zeros(0, np.int64)
        self.longest = np.zeros(0, np.int64)
        self.only_restored = np.zeros(
            0, np.int64
        )  # 1: it has taken over a snapshot, and has delivered nothing after it
        self.path = Grown(np.int64)  # keys
        self.path_value = Grown(np.int64)
        self.path_row = Grown(np.int64)  # of its first delivery
        self.path_first = Grown(np.bool_)  # True if some process delivered it where it comes next
        self.sents = [Grown(dtype) for dtype in _SENTS_AS]
        self.texts: list[pa.Array] = []  # of the path, behind those in `hashes`
        self.hashes = [0]  # the chain hashes of the path, as far as needed so far; of a single run
        self.redeliveries = Redeliveries(runs) if redelivery else None
        self.taken = False

    def take(self, block: Block) -> None:
        """Take in the next rows. Of a single run that is not in order, nothing more is taken in."""
        assert self.runs == 1 or not self.taken, "several runs come in one block"
        self.taken = True
        if not len(block.rows) or (self.runs == 1 and not self.in_order[0]):
            return
        by = self._by_process(block)
        place = self._extend_path(block, by)
        found = self._sequences(block, by, place)
        resumes = self._resuming(by, found)
        self._count("resumed", by.run[found.begins][resumes & found.delivers_more])
        self._count("deliveries", by.run[found.news])
        self._count("starts", by.run[found.news & (place == found.base[by.run])])
        longest = self._keep_sents(block, by, found)
        if self.redeliveries is not None:
            self._keep_repeats(self.redeliveries, by, found, place)
        # A process is where its last row left it, with its last sequence.
        ends = np.append(np.flatnonzero(found.first)[1:], len(by.slot)) - 1
        self.position[by.slot[ends]] = found.at[ends]
        self.incarnation[by.slot[ends]] = by.incarnation[ends]
        owner = by.slot[found.begins]
        self.longest[owner] = longest
        self.only_restored[owner] = resumes & ~found.delivers_more

    def _by_process(self, block: Block) -> "_ByProcess":
        slots = self._slots(block)
        order = sort_by(slots, len(self.processes))
        rows = block.rows[order]
        return _ByProcess(
            rows, slots[order], block.run[rows], block.kind[rows], block.key[rows], block.incarnation[rows]
        )

    def _sequences(self, block: Block, by: "_ByProcess", place: Array) -> "_Sequences":
        """Find where each sequence begins, and how far it is on the path; refute deliveries that are out of turn."""
        base = self._base()
        first = beginnings(by.slot)
        last_incarnation = np.concatenate(([-1], by.incarnation[:-1]))
        last_incarnation[first] = self.incarnation[by.slot[first]]
        lives = by.incarnation != last_incarnation
        self._refute(by.run[by.incarnation < last_incarnation])
        restores = by.kind == RESTORE
        start = np.where(lives, base[by.run], self.position[by.slot])
        if restores.any():
            start[restores] = self._restored(block, by.row[restores], by.run[restores], by.key[restores], base)
        begins = np.flatnonzero(first | lives | restores)
        reached = place + 1
        reached[begins] = np.maximum(reached[begins], start[begins])
        at = running_maximum(reached, begins)
        had = np.concatenate(([0], at[:-1]))
        had[begins] = start[begins]
        delivers = by.kind == DELIVER
        self._refute(by.run[delivers & (place > had)])
        news = delivers & (place == had)
        self.path_first.array[place[news]] = True
        delivers_more = np.add.reduceat(news, begins) > 0
        again = lives & (last_incarnation >= 0)
        return _Sequences(base, first, lives, again, begins, start, at, had, news, delivers_more)

    def _resuming(self, by: "_ByProcess", found: "_Sequences") -> Array:
        """Tell which sequences go on from a snapshot of one transaction or more, and have delivered nothing before."""
        begins, restores = found.begins, by.kind[found.begins] == RESTORE
        resumes: Array = np.where(restores, found.start[begins] > found.base[by.run[begins]], False)
        goes_on = ~found.lives[begins] & ~restores
        resumes[goes_on] = self.only_restored[by.slot[begins]][goes_on] > 0
        return resumes

    def _keep_sents(self, block: Block, by: "_ByProcess", found: "_Sequences") -> Array:
        """Keep the broadcasts. Return for each sequence the place behind its process's longest one up to it."""
        begins, owner = found.begins, by.slot[found.begins]
        opens = np.flatnonzero(found.first[begins])
        ends_at = found.at[np.append(begins[1:], len(found.at)) - 1]
        ends_at[opens] = np.maximum(ends_at[opens], self.longest[owner[opens]])
        longest = running_maximum(ends_at, opens)
        earlier = np.concatenate(([0], longest[:-1]))
        earlier[opens] = self.longest[owner[opens]]
        sends = np.flatnonzero(by.kind == BROADCAST)
        known = np.maximum(found.at[sends], earlier[np.searchsorted(begins, sends, "right") - 1])
        rows, key = by.row[sends], by.key[sends]
        self._refute(by.run[sends][block.epoch[rows] != self.keys.epoch(key)])
        columns = (
            key,
            block.value[rows],
            by.slot[sends],
            by.incarnation[sends],
            found.had[sends],
            known,
            rows + block.first,
        )
        for kept, column in zip(self.sents, columns, strict=True):
            kept.extend(column)
        return longest

    def _keep_repeats(self, redeliveries: Redeliveries, by: "_ByProcess", found: "_Sequences", place: Array) -> None:
        """Let the redeliveries see the rows of the processes that have delivered something twice."""
        base, delivers, restores = found.base, by.kind == DELIVER, by.kind == RESTORE
        repeats = found.again | restores | (delivers & ~found.news)
        redeliveries.keep(distinct(by.slot[repeats]), self.position - base[self.processes >> 32], self.incarnation)
        kept = np.flatnonzero(redeliveries.kept[by.slot] & (delivers | restores))
        if not len(kept):
            return
        run = by.run[kept]
        size = np.append(base, len(self.path))[1:] - base
        held = np.where(restores[kept], found.start[kept] - 1, place[kept]) - base[run]
        wrong = redeliveries.take(run, by.slot[kept], delivers[kept], by.incarnation[kept], held, size[run])
        self._refute(wrong)

    def _refute(self, runs: Array) -> None:
        self.in_order[runs] = False

    def _count(self, name: str, runs: Array) -> None:
        self.counts[name] += np.bincount(runs, minlength=self.runs)

    def _base(self) -> Array:
        """Return the place at which the path of each run begins."""
        return np.searchsorted(self.path.array, self.keys.first(np.arange(self.runs)))

    def _slots(self, block: Block) -> Array:
        """Return the slot of each row; a process that has none yet gets one."""
        run, process = block.run[block.rows], block.process[block.rows]
        highest = int(process.max())
        if (
            self.runs > 1 and self.runs * highest < 1 << 16
        ):  # the usual case: each run has a slot for every process up to the highest
            self._renumber(np.add.outer(np.arange(self.runs) << 32, np.arange(1, highest + 1)).ravel())
            return run * highest + process - 1
        process |= run << 32
        found = np.searchsorted(self.processes, process)
        known = self.processes[np.minimum(found, len(self.processes) - 1)] if len(self.processes) else None
        if known is not None and np.array_equal(known, process):
            return found
        self._renumber(distinct(np.concatenate((self.processes, process))))
        return np.searchsorted(self.processes, process)

    def _renumber(self, processes: Array) -> None:
        """Give each of these processes a slot; those that had one are among them."""
        old = np.searchsorted(processes, self.processes)
        for name, initial in (("incarnation", -1), ("position", 0), ("longest", 0), ("only_restored", 0)):
            array = np.full(len(processes), initial, np.int64)
            array[old] = getattr(self, name)
            setattr(self, name, array)
        slot = _Sents(*[column.array for column in self.sents]).slot
        slot[:] = old[slot]
        if self.redeliveries is not None:
            self.redeliveries.renumber(old, len(processes))
        self.processes = processes

    # The path.

    def _extend_path(self, block: Block, by: "_ByProcess") -> Array:
        """Add what was delivered for the first time. Return each delivery's place on the path; -1 for other rows."""
        delivers = by.kind == DELIVER
        rows, run, delivered = by.row[delivers], by.run[delivers], by.key[delivers]
        place = np.full(len(by.key), -1, np.int64)
        if not len(delivered):
            return place
        before = len(self.path)
        last = self.path.array[-1] if before else -1
        new = distinct(delivered[delivered > last])
        self.path.extend(new)
        # Most deliveries are near the end of the path, so that only its end has to be in the processor's cache.
        low = np.searchsorted(self.path.array, delivered.min())
        found = np.searchsorted(self.path.array[low:], delivered) + low
        place[delivers] = found
        self._refute(run[self.path.array[found] != delivered])

        value = block.value[rows]
        is_new = found >= before
        new_place, new_row = found[is_new], rows[is_new]
        self.path_value.extend(np.zeros(len(new), np.int64))
        self.path_value.array[new_place] = value[is_new]
        self._refute(run[self.path_value.array[found] != value])
        self.path_first.extend(np.zeros(len(new), np.bool_))
        self.path_row.extend(np.full(len(new), _LATE, np.int64))
        np.minimum.at(self.path_row.array, new_place, new_row + block.first)
        example = np.zeros(len(new), np.int64)
        example[new_place - before] = new_row
        if self.runs > 1:
            self.example = example
        elif len(new):
            self.texts.append(block.texts(example))
        return place

    def _restored(self, block: Block, rows: Array, run: Array, key: Array, base: Array) -> Array:
        """Return for each of these snapshots the place after its last transaction."""
        length, hash_ = block.length[rows], block.hash[rows]
        end = np.append(base, len(self.path))[1:]
        self._refute(run[length > (end - base)[run]])
        length = np.minimum(length, (end - base)[run])
        place: Array = base[run] + length
        some = length > 0
        zxid = self.keys.first(run)
        zxid[some] = self.path.array[place[some] - 1]
        self._refute(run[(zxid != key) | ~some & (hash_ != 0)])
        for each in np.unique(run[some]).tolist():
            if self.in_order[each]:
                asked = some & (run == each) if self.runs > 1 else some
                lengths = length[asked]
                hashes = self._hashes(block, each, int(lengths.max()), base)
                if any(hashes[n] != h for n, h in zip(lengths.tolist(), hash_[asked].tolist(), strict=True)):
                    self.in_order[each] = False
        return place

    def _hashes(self, block: Block, run: int, length: int, base: Array) -> list[int]:
        """Return the chain hashes of the path of this run, up to this length at least."""
        if self.runs > 1:
            first = int(base[run])
            texts = block.texts(self.example[first : first + length])
            return self._chained([0], first, texts)
        return self.hashes_up_to(length)

    def hashes_up_to(self, length: int) -> list[int]:
        """Return the chain hashes of the path of the only run, up to this length at least."""
        while len(self.hashes) <= length:
            self._chained(self.hashes, 0, self.texts.pop(0))
        return self.hashes

    def _chained(self, hashes: list[int], first: int, texts: pa.Array) -> list[int]:
        """Return `hashes` continued with those of the next transactions of a path that begins at `first`."""
        start = first + len(hashes) - 1
        keys = self.path.array[start : start + len(texts)]
        epochs = self.keys.epoch(keys).tolist()
        counters = (keys & (1 << self.keys.counter_bits) - 1).tolist()
        for epoch, counter, value in zip(epochs, counters, texts.to_pylist(), strict=True):
            hashes.append(chain_hash(hashes[-1], Txn(Zxid(epoch, counter), value)))
        return hashes

    # Broadcasts.

    def _all_sents(self) -> _Sents:
        """Return all broadcasts, by process and in its order, without repeats."""
        sents = _Sents(*[column.array for column in self.sents])
        if not (sents.key[1:] > sents.key[:-1]).all():
            by_key = np.argsort(sents.key, kind="stable")
            key = sents.key[by_key]
            again = np.flatnonzero(key[1:] == key[:-1]) + 1
            repeats, before = by_key[again], by_key[again - 1]
            for column in (sents.value, sents.slot, sents.incarnation):
                differs = column[repeats] != column[before]
                self._refute(self.processes[sents.slot[repeats[differs]]] >> 32)
            if len(repeats):
                kept = np.ones(len(key), bool)
                kept[repeats] = False
                sents = sents.of(kept)
        if (sents.slot[1:] >= sents.slot[:-1]).all():
            return sents
        return sents.of(sort_by(sents.slot, len(self.processes)))

    def finish(self) -> dict[str, Array]:
        """Return how often each run exercised each property. Of a run that is not `in_order` this means nothing."""
        sents = self._all_sents()
        cast = self._joined(sents)
        self._refute(np.flatnonzero(self._per_run(cast.run, cast.delivered) != cast.size))  # not all was broadcast
        nobody_delivered_it_in_turn = np.flatnonzero(~self.path_first.array)
        self._refute(np.searchsorted(cast.base, nobody_delivered_it_in_turn, "right") - 1)
        self._check_order(sents, cast)
        self._check_primaries(sents, cast)
        return self._counts(sents, cast)

    def _per_run(self, run: Array, rows: Array) -> Array:
        """Count the rows that are true, by their run."""
        return np.bincount(run[rows], minlength=self.runs) if self.runs > 1 else np.array([np.count_nonzero(rows)])

    def _joined(self, sents: _Sents) -> "_Cast":
        """Join the broadcasts with the path, piece by piece, as there may be many."""
        path, base = self.path.array, self._base()
        one = self.runs == 1
        run = np.broadcast_to(np.int64(0), len(sents.slot)) if one else self.processes[sents.slot] >> 32
        place = np.empty(len(sents.key), np.int32)
        delivered = np.zeros(len(sents.key), bool)
        for low in range(0, len(place), _PIECE):
            here = slice(low, low + _PIECE)
            place[here] = found = np.searchsorted(path, sents.key[here])
            inside = found < len(path)
            on_path = inside.copy()
            on_path[inside] = path[found[inside]] == sents.key[here][inside]
            delivered[here] = on_path
            found, its_run = found[on_path], run[here][on_path]
            self._refute(its_run[self.path_value.array[found] != sents.value[here][on_path]])
            late = self.path_row.array[found] < sents.row[here][on_path]
            self._refute(its_run[late & self.clocked[its_run]])
        epoch = self.keys.epoch(sents.key)
        same_process = np.zeros(len(place), bool)
        same_process[1:] = sents.slot[1:] == sents.slot[:-1]
        same_life = same_process.copy()
        same_life[1:] &= sents.incarnation[1:] <= sents.incarnation[:-1]
        same_primary = same_life.copy()
        same_primary[1:] &= epoch[1:] == epoch[:-1]
        size = np.append(base, len(path))[1:] - base
        return _Cast(base, size, run, place, delivered, epoch, same_life, same_primary)

    def _check_order(self, sents: _Sents, cast: "_Cast") -> None:
        """Refute runs in which a process, or a primary, did not broadcast in order, or with a gap on the path."""
        run, delivered = cast.run, cast.delivered
        wrong = np.zeros(len(run), bool)
        wrong[1:] = cast.same_life[1:] & (cast.epoch[1:] < cast.epoch[:-1])
        wrong[1:] |= cast.same_primary[1:] & (sents.key[1:] < sents.key[:-1])
        wrong[1:] |= (delivered & cast.same_primary)[1:] & ~delivered[:-1]
        self._refute(run[wrong])
        begins_epoch = np.flatnonzero(~cast.same_primary)
        epochs = np.sort(self.keys.of(run[begins_epoch], cast.epoch[begins_epoch], np.zeros_like(begins_epoch)))
        twice = epochs[1:][epochs[1:] == epochs[:-1]]  # two primaries of one epoch
        self._refute(np.searchsorted(self.keys.first(np.arange(self.runs)), twice, "right") - 1)
        slots, places = sents.slot[delivered], cast.place[delivered]
        overtakes = (slots[1:] == slots[:-1]) & (places[1:] < places[:-1])
        self._refute(self.processes[slots[1:][overtakes]] >> 32)

    def _check_primaries(self, sents: _Sents, cast: "_Cast") -> None:
        """Refute runs in which a primary had delivered too little, or too much, when it broadcast; judge causality."""
        run, place, delivered = cast.run, cast.place, cast.delivered
        self._refute(run[delivered & (sents.longest > place)])
        firsts = np.flatnonzero(~cast.same_primary)
        least = np.minimum.reduceat(sents.had, firsts) if len(firsts) else firsts
        lowest = self.keys.of(run[firsts], cast.epoch[firsts], np.zeros_like(firsts))
        self._refute(run[firsts][least < np.searchsorted(self.path.array, lowest)])
        in_a_row = cast.same_primary.copy()
        in_a_row[1:] &= place[1:] == place[:-1] + 1
        begins_path = place == cast.base[run]
        self.causal[run[delivered & ~in_a_row & ~begins_path & (sents.longest < place)]] = False

    def _counts(self, sents: _Sents, cast: "_Cast") -> dict[str, Array]:
        """Return how often each property was exercised, by run; see the module."""
        run, base, size, delivered = cast.run, cast.base, cast.size, cast.delivered
        path, runs, counts = self.path.array, self.runs, self.counts
        some = size > 0
        first_epoch = np.full(runs, _LATE)
        first_epoch[some] = self.keys.epoch(path[base[some]])
        highest = np.full(np.count_nonzero(some), (1 << self.keys.counter_bits) - 1)
        behind = self.keys.of(np.flatnonzero(some), first_epoch[some], highest)
        of_first = np.zeros(runs, np.int64)
        of_first[some] = np.searchsorted(path, behind, "right") - base[some]
        servers = distinct(sents.slot[delivered & (cast.place < (base + of_first)[run])])
        firsts = np.flatnonzero(~cast.same_primary)
        later = run[firsts][cast.epoch[firsts] > first_epoch[run[firsts]]]
        pairs = self._per_run(run, delivered & cast.same_primary)
        learned = delivered & (cast.same_primary | (sents.longest > base[run]))
        return {
            "integrity": size,
            "total order": counts["deliveries"] - counts["starts"] - np.maximum(size - 1, 0),
            "agreement": np.maximum(counts["starts"] + counts["resumed"] - 1, 0),
            "local primary order": pairs,
            "global primary order": size - of_first,
            "primary integrity": np.bincount(later, minlength=runs),
            "po causal order": self._per_run(run, learned),
            "strict causality": np.maximum(size - 1, 0),
            "clock": np.where(self.clocked, size, 0),
            "prefix": pairs,
            "causal order": size - np.bincount(self.processes[servers] >> 32, minlength=runs),
            "redelivery": np.zeros(runs, np.int64) if self.redeliveries is None else self.redeliveries.repeats,
            "zxid uniqueness": size,
            "zxid assignment": np.bincount(run, minlength=runs),
        }


__all__ = ["BROADCAST", "DELIVER", "MOST_RUNS", "RESTORE", "Block", "Keys", "Proof"]

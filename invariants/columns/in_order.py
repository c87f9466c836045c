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

from invariants.chain import chain_hash
from invariants.columns.arrays import Grown, beginnings, distinct, running_maximum, sort_by
from invariants.columns.redelivery import Redeliveries
from invariants.events import Txn, Zxid

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
        """Whether each transaction of the path is known to precede the next one, as strict causality asks: their
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
        slots = self._slots(block)
        order = sort_by(slots, len(self.processes))
        slot, rows = slots[order], block.rows[order]
        run, kind, key, incarnation = block.run[rows], block.kind[rows], block.key[rows], block.incarnation[rows]
        delivers = kind == DELIVER
        place = self._extend_path(block, rows[delivers], run[delivers], key, delivers)
        base = self._base()

        # The beginning of each sequence, and its last place on the path.
        first = beginnings(slot)
        last_incarnation = np.concatenate(([-1], incarnation[:-1]))
        last_incarnation[first] = self.incarnation[slot[first]]
        lives = incarnation != last_incarnation
        self._refute(run[incarnation < last_incarnation])
        restores = kind == RESTORE
        start = np.where(lives, base[run], self.position[slot])
        if restores.any():
            start[restores] = self._restored(block, rows[restores], run[restores], key[restores], base)
        pieces = first | lives | restores
        begins = np.flatnonzero(pieces)
        reached = place + 1
        reached[begins] = np.maximum(reached[begins], start[begins])
        at = running_maximum(reached, begins)
        had = np.concatenate(([0], at[:-1]))
        had[begins] = start[begins]
        self._refute(run[delivers & (place > had)])
        news = delivers & (place == had)
        self.path_first.array[place[news]] = True

        # The sequences that go on from a snapshot.
        from_snapshot = np.where(restores[begins], start[begins] > base[run[begins]], False)
        goes_on = ~lives[begins] & ~restores[begins]
        from_snapshot[goes_on] = self.only_restored[slot[begins]][goes_on] > 0
        delivers_more = np.add.reduceat(news, begins) > 0
        self._count("resumed", run[begins][from_snapshot & delivers_more])

        # The longest sequence that a process had before the one that begins there.
        opens = np.flatnonzero(first[begins])
        owner = slot[begins]
        ends_at = at[np.append(begins[1:], len(at)) - 1]
        ends_at[opens] = np.maximum(ends_at[opens], self.longest[owner[opens]])
        longest = running_maximum(ends_at, opens)
        earlier = np.concatenate(([0], longest[:-1]))
        earlier[opens] = self.longest[owner[opens]]
        sends = np.flatnonzero(kind == BROADCAST)
        known = np.maximum(at[sends], earlier[np.searchsorted(begins, sends, "right") - 1])
        self._keep_sents(block, rows[sends], run[sends], slot[sends], had[sends], known)
        if self.redeliveries is not None:
            again = (lives & (last_incarnation >= 0)) | restores | (delivers & ~news)
            self.redeliveries.keep(distinct(slot[again]), self.position - base[self.processes >> 32], self.incarnation)
            kept = np.flatnonzero(self.redeliveries.kept[slot] & (delivers | restores))
            if len(kept):
                size = np.append(base, len(self.path))[1:] - base
                held = np.where(restores[kept], start[kept] - 1, place[kept]) - base[run[kept]]
                self._refute(
                    self.redeliveries.take(
                        run[kept], slot[kept], delivers[kept], incarnation[kept], held, size[run[kept]]
                    )
                )

        self._count("deliveries", run[news])
        self._count("starts", run[news & (place == base[run])])
        ends = np.append(np.flatnonzero(first)[1:], len(slot)) - 1
        self.position[slot[ends]] = at[ends]
        self.longest[owner] = longest  # the last one of a process counts
        self.incarnation[slot[ends]] = incarnation[ends]
        self.only_restored[owner] = from_snapshot & ~delivers_more  # the last one counts here, too

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

    def _extend_path(self, block: Block, rows: Array, run: Array, key: Array, delivers: Array) -> Array:
        """Add transactions delivered for the first time. Return each delivery's place on the path, -1 for other rows.

        `rows` are those of the deliveries, and `run` is theirs.
        """
        place = np.full(len(key), -1, np.int64)
        delivered = key[delivers]
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
        if self.runs == 1:
            self.texts.append(block.texts(example))
        else:
            self.example = example
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

    def _keep_sents(self, block: Block, rows: Array, run: Array, slot: Array, had: Array, longest: Array) -> None:
        """Keep these rows, all of which are broadcasts."""
        key = block.key[rows]
        self._refute(run[block.epoch[rows] != self.keys.epoch(key)])
        columns = (
            key,
            block.value[rows],
            slot,
            block.incarnation[rows],
            had,
            longest,
            rows + block.first,
        )
        for kept, column in zip(self.sents, columns, strict=True):
            kept.extend(column)

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
        """Return how often each run exercised each property. For a run that is not `in_order` this means nothing."""
        sents = self._all_sents()
        runs, base = self.runs, self._base()
        size = np.append(base, len(self.path))[1:] - base
        run = self.processes[sents.slot] >> 32 if runs > 1 else np.broadcast_to(np.int64(0), len(sents.slot))
        path = self.path.array

        def per_run(rows: Array) -> Array:
            return np.bincount(run[rows], minlength=runs) if runs > 1 else np.array([np.count_nonzero(rows)])

        # Join with the path, piece by piece, as there may be many.
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
        self._refute(np.flatnonzero(per_run(delivered) != size))  # something on the path was not broadcast
        nobody_delivered_it_in_turn = np.flatnonzero(~self.path_first.array)
        self._refute(np.searchsorted(base, nobody_delivered_it_in_turn, "right") - 1)

        # The broadcasts of each process, and of each primary.
        same_process = np.zeros(len(place), bool)
        same_process[1:] = sents.slot[1:] == sents.slot[:-1]
        epoch = self.keys.epoch(sents.key)
        later_life = np.zeros(len(place), bool)
        later_life[1:] = sents.incarnation[1:] > sents.incarnation[:-1]
        same_primary = same_process & ~later_life
        same_primary[1:] &= epoch[1:] == epoch[:-1]
        descends = np.zeros(len(place), bool)
        descends[1:] = same_process[1:] & ~later_life[1:] & (epoch[1:] < epoch[:-1])
        self._refute(run[descends])
        lower_zxid = np.zeros(len(place), bool)
        lower_zxid[1:] = same_primary[1:] & (sents.key[1:] < sents.key[:-1])
        self._refute(run[lower_zxid])
        begins_epoch = np.flatnonzero(~same_primary)
        epochs = np.sort(self.keys.of(run[begins_epoch], epoch[begins_epoch], np.zeros_like(begins_epoch)))
        twice = epochs[1:][epochs[1:] == epochs[:-1]]  # two primaries of one epoch
        self._refute(np.searchsorted(self.keys.first(np.arange(runs)), twice, "right") - 1)
        slots, places = sents.slot[delivered], place[delivered]
        overtakes = (slots[1:] == slots[:-1]) & (places[1:] < places[:-1])
        self._refute(self.processes[slots[1:][overtakes]] >> 32)
        gap = delivered & same_primary
        gap[1:] &= ~delivered[:-1]
        self._refute(run[gap])

        # The deliveries of each primary by then.
        self._refute(run[delivered & (sents.longest > place)])
        firsts = np.flatnonzero(~same_primary)
        least = np.minimum.reduceat(sents.had, firsts) if len(firsts) else firsts
        older = np.searchsorted(path, self.keys.of(run[firsts], epoch[firsts], np.zeros_like(firsts)))
        self._refute(run[firsts][least < older])
        in_a_row = same_primary.copy()
        in_a_row[1:] &= place[1:] == place[:-1] + 1
        begins_path = place == base[run]
        self.causal[run[delivered & ~in_a_row & ~begins_path & (sents.longest < place)]] = False

        # The number of times that each property was exercised.
        counts = self.counts
        some = size > 0
        first_epoch = np.full(runs, _LATE)
        first_epoch[some] = self.keys.epoch(path[base[some]])
        highest = np.full(np.count_nonzero(some), (1 << self.keys.counter_bits) - 1)
        of_first = np.zeros(runs, np.int64)
        of_first[some] = (
            np.searchsorted(path, self.keys.of(np.flatnonzero(some), first_epoch[some], highest), "right") - base[some]
        )
        servers = distinct(sents.slot[delivered & (place < (base + of_first)[run])])
        pairs = per_run(delivered & same_primary)
        learned = delivered & (same_primary | (sents.longest > base[run]))
        later_primaries = np.bincount(run[firsts][epoch[firsts] > first_epoch[run[firsts]]], minlength=runs)
        return {
            "integrity": size,
            "total order": counts["deliveries"] - counts["starts"] - np.maximum(size - 1, 0),
            "agreement": np.maximum(counts["starts"] + counts["resumed"] - 1, 0),
            "local primary order": pairs,
            "global primary order": size - of_first,
            "primary integrity": later_primaries,
            "po causal order": per_run(learned),
            "strict causality": np.maximum(size - 1, 0),
            "clock": np.where(self.clocked, size, 0),
            "prefix": pairs,
            "causal order": size - np.bincount(self.processes[servers] >> 32, minlength=runs),
            "redelivery": np.zeros(runs, np.int64) if self.redeliveries is None else self.redeliveries.repeats,
            "zxid uniqueness": size,
            "zxid assignment": np.bincount(run, minlength=runs),
        }


__all__ = ["BROADCAST", "DELIVER", "MOST_RUNS", "RESTORE", "Block", "Keys", "Proof"]

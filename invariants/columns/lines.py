"""JSON Lines, judged block by block in arrays: for long traces, several times as fast as with a `Judge`.

A file that is not a trace, or not in order, is left to the reader and the judge that go line by line: they report the
fault and its place. So nothing is reported here, and anything unusual is refuted.

Cost: about 2 microseconds a line; memory as in `invariants.columns.in_order` and `beside`, and a few megabytes for a
block.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from operator import attrgetter
from typing import Any, Protocol

import msgspec
import numpy as np
import pyarrow as pa

from zabcheck.invariants.base import Invariant, Verdict
from zabcheck.invariants.columns.beside import OtherEvents, Refuted
from zabcheck.invariants.columns.in_order import BROADCAST, DELIVER, RESTORE, Array, Block, Keys, Proof
from zabcheck.invariants.columns.verdicts import Selection, verdicts
from zabcheck.invariants.events import Broadcast, Deliver, End, Event, Header, Local, Restore, Stabilised, TraceError
from zabcheck.invariants.quorums import Configuration, Quorums, quorums_of
from zabcheck.invariants.trace import BLOCK, MAX_LINE, Line, decode_block, ignored_fields, without, wrong_quorum

_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Line)


class Readable(Protocol):
    """A file that is only read from its present place on."""

    def read(self, size: int, /) -> bytes:
        """Return the next `size` bytes, or fewer; none at the end."""


def judge_in_order(source: Readable, properties: Iterable[type[Invariant]], block: int = BLOCK) -> list[Verdict] | None:
    """Return the verdicts, as `invariants.check` gives them, on a trace in order; None if it may not be in order.

    `source` is read from where it is, `block` bytes at once.
    """
    return judge_blocks(_blocks(source, block), Selection(properties))


def judge_blocks(blocks: Iterable[list[Event]], selection: Selection) -> list[Verdict] | None:
    """Return the verdicts on a trace in order, which comes in pieces; None if it may not be in order."""
    if not selection.countable:
        return None
    try:
        return _Trace(selection).judge(blocks)
    except Refuted:
        return None


def _blocks(source: Readable, block: int) -> Iterator[list[Event]]:
    """Yield the decoded lines, some at once."""
    ignored: Collection[str] | None = None
    rest = b""
    while data := source.read(block):
        data = rest + data
        if len(data) > MAX_LINE and not 0 < data.find(b"\n") + 1 <= MAX_LINE:
            raise Refuted
        cut = data.rfind(b"\n") + 1
        rest, data = data[cut:], data[:cut]
        if ignored is None and data:
            first, _, data = data.partition(b"\n")
            header = _decode(first + b"\n")
            ignored = _ignored(header[0])
            yield header
        if data:
            yield _decode(data, ignored or ())
    if rest:
        yield _decode(rest + b"\n", ignored or ())


def _ignored(header: Event) -> Collection[str]:
    """Return the fields that a header says to ignore."""
    try:
        return ignored_fields(header.ignores or (), "") if isinstance(header, Header) else ()
    except TraceError:
        raise Refuted from None


class _Trace:
    """A trace while it is read."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.header: Header | None = None
        self.quorums: Quorums | None = None
        self.end: End | None = None
        self.count = 0
        self.proof = Proof(1, np.ones(1, bool))
        self.beside = OtherEvents(self.proof, Quorums(1), ())

    def judge(self, blocks: Iterable[list[Event]]) -> list[Verdict]:
        for lines in blocks:
            if self.header is None:
                self._begin(lines.pop(0))
            if lines:
                self._take(lines)
        if self.header is None:
            raise Refuted
        judged = {name: int(count[0]) for name, count in self.proof.finish().items()}
        if not self.proof.in_order[0] or (self.selection.causality and not self.proof.causal[0]):
            raise Refuted
        judged |= self.beside.finish()
        return verdicts(self.selection.names, judged, self.end is not None and self.end.complete)

    def _take(self, lines: list[Event]) -> None:
        if self.end is not None:
            raise Refuted
        if isinstance(last := lines[-1], End):
            self.end = last
            del lines[-1]
            if last.count != self.count + len(lines):
                raise Refuted
        kinds = list(map(type, lines))
        begin = 0
        for place in self._sights(kinds):
            self._take_events(lines[begin:place], kinds[begin:place])
            begin = place
        self._take_events(lines[begin:], kinds[begin:])

    def _sights(self, kinds: list[type[Event]]) -> Iterator[int]:
        """Yield the places of the events that need to know where processes are, the first of those in a row."""
        if any(map(self.beside.looks_around, set(kinds))):
            before: type[Event] | None = None
            for place, kind in enumerate(kinds):
                if kind is not before and place and self.beside.looks_around(kind):
                    yield place
                before = kind

    def _take_events(self, lines: list[Event], kinds: list[type[Event]]) -> None:
        if not lines:
            return
        places = np.array(list(map(_NUMBERS.get, kinds)), np.int8)
        by_kind: defaultdict[type[Event], list[Any]] = defaultdict(list)
        for kind, event in zip(kinds, lines, strict=True):
            by_kind[kind].append(event)
        for kind, events in by_kind.items():
            self._check(kind, events)
        self.beside.take(lines, by_kind, self.count)
        self.proof.take(_block(by_kind, places, self.count))
        self.count += len(lines)
        if not self.proof.in_order[0]:
            raise Refuted

    def _begin(self, header: Event) -> None:
        if not isinstance(header, Header):
            raise Refuted
        self.header = header
        try:
            self.quorums = quorums_of(header.quorums, header.processes)
        except ValueError:
            raise Refuted from None
        if isinstance(self.quorums, Configuration):
            raise Refuted
        self.proof = Proof(1, np.array([header.order == "global"]), self.selection.redelivery)
        self.beside = OtherEvents(self.proof, self.quorums, self.selection.beside)

    def _check(self, kind: type[Event], events: list[Any]) -> None:
        """Refute an event that the header forbids, or of a kind that only a judge can tell about."""
        assert self.header is not None
        assert self.quorums is not None
        if kind in (Header, End) or kind in self.selection.beyond:
            raise Refuted
        if issubclass(kind, Local) and max(map(_process, events)) > self.header.processes:
            raise Refuted
        if kind is Stabilised and any(wrong_quorum(event, self.quorums) for event in events):
            raise Refuted


_KINDS: list[Any] = list(Line.__args__)
_NUMBERS: dict[type[Event], int] = {kind: number for number, kind in enumerate(_KINDS)}
_process = attrgetter("process")
_incarnation = attrgetter("incarnation")
_epoch = attrgetter("epoch")
_counter = attrgetter("counter")
_zxid = attrgetter("zxid")


def _decode(data: bytes, ignored: Collection[str] = ()) -> list[Event]:
    """Decode the lines in `data`, which ends with a line feed, without the fields that are to be ignored."""
    if ignored:
        data = b"".join(without(line, ignored) for line in data.splitlines(keepends=True))
    lines = decode_block(_DECODER, data)
    if lines is None:
        raise Refuted
    return lines


def _block(by_kind: dict[type[Event], list[Any]], kinds: Array, count: int) -> Block:
    """Make a block of these events, which follow `count` others; `kinds` has the kind of each."""
    size = len(kinds)
    columns = {name: np.zeros(size, np.int64) for name in _COLUMNS}
    kind_of = np.zeros(size, np.uint8)
    wanted = np.zeros(size, bool)
    texts: list[tuple[Array, list[str]]] = []
    for kind, number in _ROWS.items():
        if events := by_kind.get(kind, []):
            at = np.flatnonzero(kinds == _NUMBERS[kind])
            kind_of[at] = number
            wanted[at] = True
            texts.append((at, _fill(columns, at, kind, events)))

    def texts_of(rows: Array) -> pa.Array:
        """Return the values of these rows, which are deliveries."""
        at, values = texts[-1]
        return pa.array([values[row] for row in np.searchsorted(at, rows).tolist()], pa.string())

    if not KEYS.fit(columns["zxid_epoch"], columns["zxid_counter"]).all():
        raise Refuted
    run = np.zeros(size, np.int64)
    return Block(
        np.flatnonzero(wanted),
        count,
        run,
        kind_of,
        columns["process"],
        columns["incarnation"],
        columns["epoch"],
        KEYS.of(run, columns["zxid_epoch"], columns["zxid_counter"]),
        columns["value"],
        columns["length"],
        columns["hash"],
        texts_of,
    )


def _fill(columns: dict[str, Array], at: Array, kind: type[Event], events: list[Any]) -> list[str]:
    """Fill in the columns of these events, all of one kind, at these rows. Return their values; none of snapshots."""
    values: list[str] = []
    if kind is Restore:
        columns["length"][at] = [event.length for event in events]
        columns["hash"][at] = [event.hash for event in events]
        zxids = [event.zxid for event in events]
    else:
        if kind is Broadcast:
            columns["epoch"][at] = _column(_epoch, events)
        txns = [event.txn for event in events]
        zxids = list(map(_zxid, txns))
        values = [txn.value for txn in txns]
        columns["value"][at] = np.fromiter(map(hash, values), np.int64, len(values))
    columns["process"][at] = _column(_process, events)
    columns["incarnation"][at] = _column(_incarnation, events)
    columns["zxid_epoch"][at] = _column(_epoch, zxids)
    columns["zxid_counter"][at] = _column(_counter, zxids)
    return values


_ROWS: dict[type[Event], int] = {Broadcast: BROADCAST, Restore: RESTORE, Deliver: DELIVER}
_COLUMNS = ("process", "incarnation", "epoch", "zxid_epoch", "zxid_counter", "value", "length", "hash")
KEYS = Keys(1)


def _column(get: Callable[[Any], int], events: list[Any]) -> Array:
    return np.fromiter(map(get, events), np.int64, len(events))

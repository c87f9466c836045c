"""Promises about orders: of the answers on a connection, of views, of writes, and in real time."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from zabcheck.zookeeper.clients.exchange import BESIDE_THE_ORDER, Connection, Exchange, Operation, Sender, effects_of
from zabcheck.zookeeper.clients.history import Content
from zabcheck.zookeeper.clients.promise import GUIDE, INTERNALS, USENIX, Findings, Promise
from zabcheck.zookeeper.clients.tree import READS, Sightings, Tree
from zabcheck.zookeeper.wire.zxids import shown

TIMELY = (*READS, "multiRead")
"""The reads that timeliness is about."""
TIME = itemgetter(0)
"""The key that orders pairs of a time and an operation."""


def answer_order(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare the order of the answers on each connection with that of the requests."""
    for connection in exchange.connections.values():
        for stray in connection.strays:
            found.breach(stray.zxid, f"{_answered(stray)}, but had sent none, or had had the answer before", stray)
        _order_of_answers(connection, found)


def _order_of_answers(connection: Connection, found: Findings) -> None:
    """Note each answer that came before the one to an earlier request, or after the session was closed.

    An error that leaves the outcome open does not count as an answer: the client gave up and did not wait.
    """
    waiting: Operation | None = None
    latest: Operation | None = None
    closed: Operation | None = None
    until = 0
    for operation in connection.operations:
        if operation.request.op in BESIDE_THE_ORDER:
            continue
        if operation.answered is None:
            waiting = waiting or operation
            continue
        if operation.sent < until:
            found.case()
        until = max(until, operation.answered)
        if not operation.is_known:
            continue
        is_overtaken = latest is not None and operation.answered < (latest.answered or 0)
        overtaken = waiting or (latest if is_overtaken else None)
        if overtaken is not None:
            text = f"{_answered(operation)} before the one to request {overtaken.request.xid}"
            found.breach(operation.zxid, text, overtaken, operation)
        elif closed is not None:
            text = f"{_answered(operation)}, sent after request {closed.request.xid}, which closed the session"
            found.breach(operation.zxid, text, closed, operation)
        if operation.request.op == "closeSession" and operation.is_done:
            closed = operation
        if not is_overtaken:
            latest = operation


def _answered(operation: Operation) -> str:
    return f"client {operation.connection.client} got the answer to request {operation.request.xid}"


def rising_view(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Look for a zxid that is lower than that of an earlier answer on the same connection."""
    for connection in exchange.connections.values():
        if not connection.answers:
            continue
        found.case(len(connection.answers) - 1)
        zxids = [answer.zxid for answer in connection.answers]
        if zxids == sorted(zxids):
            continue
        highest = connection.answers[0]
        for answer in connection.answers:
            if answer.zxid < highest.zxid:
                text = (
                    f"client {connection.client} was answered as of {shown(highest.zxid)} and then, by the same "
                    f"server, as of {shown(answer.zxid)}"
                )
                found.breach(answer.zxid, text, highest, answer)
            elif answer.zxid > highest.zxid:
                highest = answer


def system_image(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare the answers after a session was resumed with the highest zxid that it had seen by then.

    Later answers on another connection of the session, which may still be open, do not count.
    """
    for connection in exchange.connections.values():
        answers, before = connection.answers, connection.seen_before
        seen = connection.connect.seen if connection.connected is not None else 0
        least = max(seen, before.zxid if before is not None else 0)
        if not least:
            continue
        wrong = next((number for number, each in enumerate(answers) if each.zxid < least), None)
        found.case(len(answers) if wrong is None else wrong + 1)
        if wrong is not None:
            by = "" if before is None or before.zxid < least else f" ({before.name})"
            text = (
                f"client {connection.client} had seen {shown(least)}{by}, but after it connected again it was "
                f"answered as of {shown(answers[wrong].zxid)}"
            )
            found.breach(answers[wrong].zxid, text, before, connection.connect, answers[wrong])


def own_writes(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare each read with the writes that its session had sent before it."""
    own_writes_by_zxid(exchange, tree, found)
    own_writes_in_nodes(exchange, tree, found)


def own_writes_by_zxid(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare the zxid of each read with those of the writes that its session had sent before it.

    The writes of its own connection count, and those that other connections of the session knew to be done when this
    one was asked for.
    """
    latest: dict[Connection, Operation | None] = {}
    stale: list[tuple[Operation, Operation]] = []
    cases = 0
    for operation in exchange.operations:
        zxid = operation.zxid
        if not zxid:
            continue
        connection = operation.connection
        write = latest.get(connection, connection.written_before)
        if operation.is_write and operation.is_done:
            if write is None or zxid > write.zxid:
                latest[connection] = operation
        elif write is not None and operation.request.op not in BESIDE_THE_ORDER:
            cases += 1
            if zxid < write.zxid:
                stale.append((write, operation))
    found.case(cases)
    for write, operation in stale:
        text = (
            f"{write.name} was done at {shown(write.zxid)}, but {operation.name}, sent after it, is as of "
            f"{shown(operation.zxid)}"
        )
        found.breach(operation.zxid, text, write, operation)


def own_writes_in_nodes(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Look for reads, after a write on the same connection, that show its node as it was before."""
    for conflict in tree.conflicts:
        change, stale = conflict.change.by, conflict.stale.by
        if not (conflict.change.is_change and isinstance(change, Operation) and isinstance(stale, Operation)):
            continue
        if change.connection is stale.connection and change.sent < stale.sent:
            text = (
                f"{change.name} was done at {shown(conflict.change.start)}, but {stale.name} finds {conflict.path} "
                f"as of {shown(conflict.stale.start)}"
            )
            found.breach(conflict.change.start, text, change, stale)


def order_sent(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare the zxids of each session's writes, and look for writes of unknown outcome that are out of order."""
    order_of_zxids(exchange, tree, found)
    given_up = [*given_up_in(exchange)]
    found.case(len(given_up))
    effects_of_given_up(given_up, exchange, tree, found)


def order_of_zxids(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare the zxids of each session's writes."""
    latest: dict[Sender, Operation] = {}
    for operation in exchange.done:
        before = latest.get(operation.sender)
        if before is not None:
            found.case()
            if operation.zxid <= before.zxid:
                text = (
                    f"client {operation.connection.client} sent request {before.request.xid} before request "
                    f"{operation.request.xid}, but they were done at {shown(before.zxid)} and {shown(operation.zxid)}"
                )
                found.breach(operation.zxid, text, before, operation)
        latest[operation.sender] = operation


class GivenUp(NamedTuple):
    """A write of unknown outcome, and the next write of its session that was done.

    `least` is the highest zxid of the answers on its connection before it was sent.
    """

    unknown: Operation
    later: Operation
    least: int


def effects_of_given_up(given_up: Sequence[GivenUp], exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Look for writes of unknown outcome that took effect too late, or were skipped."""
    elsewhere = [each.unknown for each in given_up if each.unknown.connection is not each.later.connection]
    effects = [effect for unknown in elsewhere for effect in effects_of(unknown)]
    shown_to = tree.with_content({(each.path, each.content): [] for each in effects if each.content is not None})
    for each in given_up:
        if each.unknown.connection is each.later.connection:
            _look_for_a_hole(each, exchange, tree, found)
        else:
            _look_for_a_late_one(each, exchange, tree, shown_to, found)


@lru_cache(maxsize=1)
def _writers(exchange: Exchange) -> dict[tuple[str, Content], list[Operation]]:
    """Return the writes by path and content."""
    writers: dict[tuple[str, Content], list[Operation]] = defaultdict(list)
    for operation in exchange.writes:
        for effect in effects_of(operation):
            if effect.content is not None:
                writers[effect.path, effect.content].append(operation)
    return writers


def given_up_in(exchange: Exchange) -> Iterator[GivenUp]:
    """Yield each write of unknown outcome with the next write of its session that was done. O(log answers) each."""
    waiting: dict[Sender, list[Operation]] = defaultdict(list)
    views: dict[Connection, _View] = {}
    for operation in exchange.writes:
        if not operation.is_known:
            waiting[operation.sender].append(operation)
        elif operation.is_done and operation.zxid:
            connection = operation.connection
            for unknown in waiting.pop(operation.sender, ()):
                if unknown.connection is not connection:
                    yield GivenUp(unknown, operation, 0)
                    continue
                if connection not in views:
                    views[connection] = _View(connection)
                yield GivenUp(unknown, operation, views[connection].before(unknown.sent))


class _View:
    """The highest zxid of the answers on a connection up to any place in its stream."""

    def __init__(self, connection: Connection) -> None:
        self._places = [answer.answered or 0 for answer in connection.answers]
        self._highest = [*accumulate((answer.zxid for answer in connection.answers), max)]

    def before(self, place: int) -> int:
        """Return the highest zxid of the answers before a place; 0 if there is none."""
        number = bisect_left(self._places, place)
        return self._highest[number - 1] if number else 0


def _look_for_a_hole(given_up: GivenUp, exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Note a write that was skipped: a later one on its connection was done, and its node has not changed."""
    unknown, later, least = given_up
    for effect in effects_of(unknown):
        if effect.op != "setData" or effect.version >= 0 or unknown.request.op == "multi":
            continue
        seen = tree.state_at(effect.path, least) if exchange.owns(effect.path) else None
        if seen is not None and seen.stat is not None and seen.until >= later.zxid:
            text = (
                f"{later.name} was done at {shown(later.zxid)}, but {unknown.name}, sent before it on the same "
                "connection, was not"
            )
            found.breach(later.zxid, text, unknown, later, seen.by)


def _look_for_a_late_one(
    given_up: GivenUp, exchange: Exchange, tree: Tree, shown_to: Sightings, found: Findings
) -> None:
    """Note a write that took effect after a later one of its session, on another connection.

    Its data proves that only if nobody else can have written the same.
    """
    unknown, later, _ = given_up
    for effect in effects_of(unknown):
        if effect.content is None or not exchange.owns(effect.path):
            continue
        what = effect.path, effect.content
        is_recorded = exchange.header.values == "unique" or tree.is_complete(effect.path)
        for seen in shown_to[what]:
            if seen.start > later.zxid and is_recorded and len(_writers(exchange)[what]) == 1:
                text = (
                    f"client {unknown.connection.client} gave up request {unknown.request.xid} and was told that "
                    f"request {later.request.xid} was done at {shown(later.zxid)}, but then request "
                    f"{unknown.request.xid} took effect at {shown(seen.start)}"
                )
                found.breach(seen.start, text, unknown, later, seen.by)


# Real time.


class Earlier(NamedTuple):
    """An operation, and two of those answered before it was sent: with the highest zxid of all, and of the writes."""

    operation: Operation
    any: Operation | None
    write: Operation | None


@lru_cache(maxsize=1)
def in_real_time(exchange: Exchange) -> list[Earlier]:
    """Return each sync, and each write that was done, if it is known to have been sent after another was answered.

    O(operations · log operations).
    """
    return [*_by_clock(exchange), *_told(exchange)]


def _by_clock(exchange: Exchange) -> Iterator[Earlier]:
    if exchange.header.clock != "one":
        return
    asked = [
        (each.request.time, each)
        for each in exchange.operations
        if each.zxid
        and each.answer is not None
        and each.request.time is not None
        and (each.request.op == "sync" or (each.is_write and each.is_done))
    ]
    yield from merged(sorted(asked, key=TIME), _answered_by_clock(exchange))


Timed = tuple[int, Operation]
"""An operation with the time at which it was sent, or answered."""


@lru_cache(maxsize=1)
def _answered_by_clock(exchange: Exchange) -> list[Timed]:
    """Return the operations that were answered, in the order of the latest time at which each can have been."""
    told = [
        (each.answer.time + exchange.header.clock_error, each)
        for each in exchange.operations
        if each.zxid and each.answer is not None and each.answer.time is not None
    ]
    return sorted(told, key=TIME)


def merged(
    asked: Iterable[Timed], told: Sequence[Timed], best: Operation | None = None, best_write: Operation | None = None
) -> Iterator[Earlier]:
    """Yield each operation of `asked` with those of `told` before it that have the highest zxids. Both are in order.

    `best` and `best_write` are those with the highest zxids that were told before all of these.
    """
    place = 0
    for sent, operation in asked:
        while place < len(told) and told[place][0] < sent:
            answered = told[place][1]
            place += 1
            if best is None or answered.zxid > best.zxid:
                best = answered
            if answered.is_write and answered.is_done and (best_write is None or answered.zxid > best_write.zxid):
                best_write = answered
        yield Earlier(operation, best, best_write)


def _told(exchange: Exchange) -> Iterator[Earlier]:
    """Yield the orders that messages between clients imply, if the numbers of both requests were used only once."""
    if not exchange.told:
        return
    named = numbered_once(exchange.operations)
    for told in exchange.told:
        after, before = named.get((told.from_, told.after)), named.get((told.to, told.before))
        if after is not None and before is not None and after.zxid:
            yield earlier(before, after)


def numbered_once(operations: Collection[Operation]) -> dict[tuple[int, int], Operation]:
    """Return operations by client and number, without those whose number their client used again."""
    numbers = Counter((each.request.client, each.request.xid) for each in operations)
    by_number = {(each.request.client, each.request.xid): each for each in operations}
    return {number: each for number, each in by_number.items() if numbers[number] == 1}


def earlier(operation: Operation, answered: Operation) -> Earlier:
    """Return an operation with the one that is known to have been answered before it was sent."""
    return Earlier(operation, answered, answered if answered.is_write and answered.is_done else None)


def linearizable(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare the zxids of writes with each other, and with those of the answers that came before they were sent."""
    zxids_of_their_own(exchange, tree, found)
    writes_in_real_time(in_real_time(exchange), found)


def zxids_of_their_own(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Look for two writes with the same zxid."""
    holders: dict[int, Operation] = {}
    for operation in exchange.done:
        other = holders.setdefault(operation.zxid, operation)
        if other is not operation:
            found.breach(
                operation.zxid,
                f"{other.name} and {operation.name} were both done at {shown(operation.zxid)}",
                other,
                operation,
            )


def writes_in_real_time(known: Iterable[Earlier], found: Findings) -> None:
    """Compare the zxid of each write with the highest of the answers that came before it was sent."""
    for earlier in known:
        write, before = earlier.operation, earlier.any
        if before is None or not (write.is_write and write.is_done and write.zxid):
            continue
        found.case()
        if write.zxid <= before.zxid:
            text = (
                f"{write.name} was sent after {before.name} was answered, but was done at {shown(write.zxid)}, which "
                f"is not above {shown(before.zxid)}"
            )
            found.breach(write.zxid, text, before, write)


def sync(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare each sync with the writes that were answered before it was sent."""
    syncs_in_real_time(in_real_time(exchange), found)


def syncs_in_real_time(known: Iterable[Earlier], found: Findings) -> None:
    """Compare the zxid of each sync with the highest of the writes that were answered before it was sent."""
    for earlier in known:
        if earlier.operation.request.op != "sync" or earlier.write is None or not earlier.operation.zxid:
            continue
        found.case()
        if earlier.operation.zxid < earlier.write.zxid:
            text = (
                f"{earlier.write.name} was done at {shown(earlier.write.zxid)} before {earlier.operation.name} was "
                f"sent, but that was answered as of {shown(earlier.operation.zxid)}; a known limit if its server led"
            )
            found.breach(earlier.operation.zxid, text, earlier.write, earlier.operation)


def timeliness(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare each read with the writes that were answered more than the header's bound before it was."""
    if exchange.header.clock != "one":
        return
    found.age = greatest_age(*times_of_reads_and_writes(exchange))
    bound = exchange.header.bound
    if bound is not None:
        due = sorted(((time - bound, each) for time, each in reads_by_clock(exchange.operations)), key=TIME)
        reads_in_real_time(merged(due, _answered_by_clock(exchange)), found)


def reads_by_clock(operations: Iterable[Operation]) -> list[Timed]:
    """Return the reads that tell a zxid, each with the time of its answer."""
    return [
        (each.answer.time, each)
        for each in operations
        if each.zxid
        and each.is_known
        and each.request.op in TIMELY
        and each.answer is not None
        and each.answer.time is not None
    ]


def times_of_reads_and_writes(exchange: Exchange) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the times and zxids of reads, and those of writes with the latest possible times; none without a clock."""
    if exchange.header.clock != "one":
        return [], []
    reads = [(time, each.zxid) for time, each in reads_by_clock(exchange.operations)]
    return reads, [(time, each.zxid) for time, each in _answered_by_clock(exchange) if each.is_write and each.is_done]


def greatest_age(reads: Iterable[tuple[int, int]], writes: Iterable[tuple[int, int]]) -> int | None:
    """Return the longest time, in ns, for which a read missed a write that had been answered.

    None without a read or without a write. Both are pairs of the time of the answer, in ns, and the zxid. O(n log n).
    """
    times: list[int] = []
    zxids: list[int] = []  # only of writes that were answered before all writes with a higher zxid
    for time, zxid in sorted(writes):
        if not zxids or zxid > zxids[-1]:
            times.append(time)
            zxids.append(zxid)
    if not times:
        return None
    missed = ((time, bisect_right(zxids, zxid)) for time, zxid in reads)
    return max((max(0, time - times[place]) if place < len(times) else 0 for time, place in missed), default=None)


def reads_in_real_time(known: Iterable[Earlier], found: Findings) -> None:
    """Compare the zxid of each read with that of the writes that it has to show."""
    for earlier in known:
        read, write = earlier.operation, earlier.write
        if write is None:
            continue
        found.case()
        if read.zxid < write.zxid:
            text = (
                f"{write.name} was done at {shown(write.zxid)}, but {read.name}, answered "
                f"{_seconds_between(write, read)} s after it, is as of {shown(read.zxid)}"
            )
            found.breach(read.zxid, text, write, read)


def _seconds_between(one: Operation, other: Operation) -> str:
    """Return the seconds between two answers that tell their times."""
    assert one.answer is not None
    assert other.answer is not None
    return f"{((other.answer.time or 0) - (one.answer.time or 0)) / 1e9:.3f}"


TIMELINESS = Promise(
    "timeliness",
    "A read shows each write that was answered longer before it than a bound, which `--bound` sets.",
    f"{GUIDE}, Consistency Guarantees: on the order of tens of seconds",
    "documented",
    timeliness,
)
ORDERS = (
    Promise(
        "answer order",
        "On a connection the answers come in the order of the requests, one each.",
        f"{USENIX}, 2.3: FIFO client order; ClientCnxn.readResponse",
        "documented",
        answer_order,
    ),
    Promise(
        "rising view",
        "On a connection no answer is as of an older zxid than an earlier one.",
        "FinalRequestProcessor takes lastProcessedZxid for each answer",
        "by the code",
        rising_view,
    ),
    Promise(
        "single system image",
        "A session that goes on at another server sees no older tree than before.",
        f"{GUIDE}, Consistency Guarantees",
        "documented",
        system_image,
    ),
    Promise(
        "own writes",
        "A read that is sent after a write of its session sees it.",
        f"{USENIX}, 2.3; {GUIDE}, Consistency Guarantees: sequential consistency",
        "documented",
        own_writes,
    ),
    Promise(
        "writes in the order sent",
        "The writes of a session take effect in the order in which they were sent, also across reconnects.",
        f"{GUIDE}, Consistency Guarantees: sequential consistency",
        "documented",
        order_sent,
    ),
    Promise(
        "linearizable writes",
        "Each write has a zxid of its own, above those of all answers that came before it was sent.",
        f"{INTERNALS}; {USENIX}, 2.3",
        "documented",
        linearizable,
    ),
    Promise(
        "sync",
        "A sync is answered as of a zxid that covers each write that was answered before it was sent.",
        f"{GUIDE}, Consistency Guarantees, note; {USENIX}, 2.3 and 4.4",
        "documented",
        sync,
    ),
    TIMELINESS,
)
"""The promises of this module, in the order of reports."""

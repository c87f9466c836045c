"""A small replicated key-value store on top of the broadcast, as ZooKeeper is one (LADIS 2008, 2).

A client asks for a path to be set. The primary knows the state in which the request will be applied: all that it has
delivered, and its own broadcasts since. It turns the request into an idempotent change: path, value, and the
resulting version. Each process applies the changes in the order of delivery, and shows a digest of its state.

    /a=v7@3         set /a to v7, which is version 3 of it
"""

import re
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from zabcheck.invariants import (
    NO_ZXID,
    Broadcast,
    Chain,
    Crash,
    Deliver,
    Event,
    Local,
    Recover,
    Restore,
    State,
    Txn,
    Zxid,
)

PATHS = ("/a", "/b", "/c")
MOST_PATHS = 5
"""The number of paths of a state that are shown; the requests of a schedule may have set any number."""
_CHANGE = re.compile(r"(?P<path>/[^=]*)=(?P<value>[^@]*)@(?P<version>\d{1,9})", re.ASCII)


class Values:
    """The state of the store at one process: path -> (value, version). Immutable; replicas share it."""

    __slots__ = ("_latest", "digest", "entries", "length", "zxid")

    def __init__(self, entries: dict[str, tuple[str, int]], digest: int, length: int, zxid: Zxid) -> None:
        self.entries = entries
        self.digest = digest
        self.length = length
        self.zxid = zxid
        self._latest: tuple[Txn, Values] | None = None

    def apply(self, txn: Txn) -> "Values":
        """Return the state after `txn`. O(paths).

        A value that is no change is taken as a path that is set to the empty value: applied twice, it gets another
        version, so it is not idempotent.
        """
        latest = self._latest
        if latest is not None and latest[0] is txn:
            return latest[1]
        change = _CHANGE.fullmatch(txn.value)
        path, entry = txn.value, ("", self.version(txn.value) + 1)
        if change is not None:
            path, entry = change["path"], (change["value"], int(change["version"]))
        # The digest of a state is that of its entries, each on its own, joined by exclusive or.
        digest = self.digest ^ _digest(path, self.entries.get(path)) ^ _digest(path, entry)
        after = Values({**self.entries, path: entry}, digest, self.length + 1, txn.zxid)
        self._latest = txn, after
        return after

    def __str__(self) -> str:
        shown = " ".join(
            f"{path}={value}@{version}" for path, (value, version) in sorted(self.entries.items())[:MOST_PATHS]
        )
        return shown if len(self.entries) <= MOST_PATHS else f"{shown} …"

    def version(self, path: str) -> int:
        """Return the version of `path`; 0 if it was never set."""
        return self.entries.get(path, ("", 0))[1]


NOTHING = Values({}, 0, 0, NO_ZXID)


def _digest(path: str, entry: tuple[str, int] | None) -> int:
    if entry is None:
        return 0
    data = f"{path}={entry[0]}@{entry[1]}".encode()
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 1


class Application:
    """The state of each process, derived from the events of the process.

    `show` is called with each event, and with a `State` event after each change; with `in_words` that event also has
    the state as text.
    """

    def __init__(self, show: Callable[[Event], None], *, in_words: bool = False) -> None:
        self.show = show
        self.in_words = in_words
        self.fresh: set[int] = set()  # recovered, with no delivery or restore since
        self.states: dict[int, Values] = {}  # no entry: restored from a snapshot that no process here has written
        self.ahead: dict[int, Values] = {}  # of a primary: its state with its undelivered broadcasts applied
        self.waiting: dict[int, tuple[str, ...]] = {}  # of a primary: its changes that are yet to be broadcast
        self.snapshots: dict[tuple[int, int], Values] = {}  # by (writer, chain hash of the delivered sequence)

    def observe(self, event: Event) -> None:
        """Show `event`, then apply it to the state of its process."""
        self.show(event)
        observer = _OBSERVERS.get(type(event))
        if observer is not None:
            observer(self, event)

    def change(self, process: int, number: int) -> str:
        """Return the change that the primary `process` makes from the client's request with this number."""
        path = PATHS[number % len(PATHS)]
        waiting = self.waiting.get(process, ())
        earlier = sum(each.startswith(f"{path}=") for each in waiting)
        change = f"{path}=v{number}@{self._ahead(process).version(path) + earlier + 1}"
        self.waiting[process] = (*waiting, change)
        return change

    def start(self, process: int) -> None:
        """Start the process for the first time, with the empty state."""
        self.states[process] = NOTHING

    def snapshot(self, process: int, delivered: Chain) -> None:
        """Keep the state of the process as its snapshot of `delivered`."""
        state = self.states.get(process)
        if state is not None:
            self.snapshots[process, delivered.hash] = state

    def lose_leadership(self, process: int) -> None:
        """Forget the broadcasts that the process has not applied, and its changes: they may never be delivered."""
        self.ahead.pop(process, None)
        self.waiting.pop(process, None)

    def fork(self, show: Callable[[Event], None]) -> "Application":
        """Return an independent copy. O(processes + snapshots)."""
        twin = Application(show, in_words=self.in_words)
        twin.fresh = self.fresh.copy()
        twin.states = self.states.copy()
        twin.ahead = self.ahead.copy()
        twin.waiting = self.waiting.copy()
        twin.snapshots = self.snapshots.copy()
        return twin

    def _ahead(self, process: int) -> Values:
        ahead = self.ahead.get(process)
        return self.states.get(process, NOTHING) if ahead is None else ahead

    def _broadcast(self, event: Broadcast) -> None:
        waiting = self.waiting.pop(event.process, ())
        if event.txn.value in waiting:
            self.waiting[event.process] = waiting[waiting.index(event.txn.value) + 1 :]
        self.ahead[event.process] = self._ahead(event.process).apply(event.txn)

    def _crash(self, event: Crash) -> None:
        self.states.pop(event.process, None)
        self.lose_leadership(event.process)

    def _recover(self, event: Recover) -> None:
        self.states[event.process] = NOTHING
        self.fresh.add(event.process)

    def _deliver(self, event: Deliver) -> None:
        self.fresh.discard(event.process)
        before = self.states.get(event.process)
        if before is None:
            return
        after = self.states[event.process] = before.apply(event.txn)
        self._tell(event, after)

    def _restore(self, event: Restore) -> None:
        """Restore a snapshot of the prefix in the event.

        Right after a recovery the process prefers its own snapshot, later that of another process; among several the
        one with the lowest id.
        """
        writers = sorted(process for process, chain_hash in self.snapshots if chain_hash == event.hash)
        writers.sort(key=lambda writer: (writer == event.process) != (event.process in self.fresh))
        state = self.snapshots[writers[0], event.hash] if writers else None
        self.fresh.discard(event.process)
        self.states.pop(event.process, None)
        if state is None:
            return
        self.states[event.process] = self.snapshots[event.process, event.hash] = state
        self._tell(event, state)

    def _tell(self, event: Local, state: Values) -> None:
        text = str(state) if self.in_words else ""
        self.show(State(event.process, event.incarnation, state.zxid, state.length, state.digest, text))


_OBSERVERS: dict[type[Event], Callable[[Application, Any], None]] = {
    Broadcast: Application._broadcast,
    Deliver: Application._deliver,
    Crash: Application._crash,
    Recover: Application._recover,
    Restore: Application._restore,
}

"""`sometimes` goals: situations that a search has to have seen before its silence means anything.

A property that holds because nothing happened is worth nothing. So each run finds from its own events which of these
situations it reached, and a search names the goals that no run reached. (After the `sometimes` properties of
Stateright, and Antithesis' "sometimes assertions".)
"""

from collections.abc import Callable, Collection, Hashable
from functools import lru_cache
from types import MethodType
from typing import Any

from zabcheck.invariants import (
    NO_ZXID,
    Accept,
    Adopt,
    Broadcast,
    Crash,
    Deliver,
    Establish,
    Event,
    Halt,
    Promise,
    Ready,
    Recover,
    Restore,
    Truncate,
    Txn,
    Zxid,
)
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import Protocol, TakeSnapshot

GOALS: dict[str, str] = {
    "three epochs": "leaders of three epochs were established",
    "several outstanding": "a primary broadcast before all of its earlier broadcasts were delivered",
    "partial replication": "an epoch was established while a transaction had reached a process, but no quorum",
    "truncation": "an initial history replaced one that was not a prefix of it",
    "single survivor": "what was delivered was recovered from the only process of those that promised that had it",
    "late joiner": "a follower joined an epoch in which there had been broadcasts",
    "loaded late joiner": "a follower joined an epoch while a broadcast of it had been delivered by nobody",
    "tail lost": "a crash lost writes that were not synced",
    "power loss": "an epoch was established after all processes had been down",
    "two leaders": "a primary broadcast although a later epoch was established",
    "repeated delivery": "a recovered process delivered again what it had delivered before",
    "restored snapshot": "a recovered process went on from its snapshot",
    "received snapshot": "a process took over the snapshot of another, whose log no longer went back far enough",
    "altered record": "a process found a record altered, and halted",
}
"""Each goal with its meaning, in a line."""
NEEDS: dict[str, tuple[type[Event], ...]] = {
    "three epochs": (Ready,),
    "several outstanding": (Broadcast,),
    "partial replication": (Accept, Adopt, Establish),
    "truncation": (Truncate,),
    "single survivor": (Promise, Accept, Adopt, Deliver),
    "late joiner": (Adopt,),
    "loaded late joiner": (Broadcast, Adopt),
    "tail lost": (Crash,),
    "power loss": (Crash, Ready),
    "two leaders": (Broadcast, Ready),
    "repeated delivery": (Crash, Deliver),
    "restored snapshot": (Crash, Restore),
    "received snapshot": (Restore,),
    "altered record": (Halt,),
}
"""The kinds of event by which each goal is seen. A process that shows `Establish` need not show `Ready`."""
EXPECTED: dict[type[Event], type[Event]] = {Establish: Ready, Adopt: Truncate}
"""The kind of event that a process need not show, or may show later, though it shows the kind before the colon."""


def unseen(shown: Collection[type[Event]]) -> dict[str, tuple[str, ...]]:
    """Return the goals that need kinds of event of which none is `shown`, each with these kinds.

    Runs without a broadcast have shown too little to tell.
    """
    if Broadcast not in shown:
        return {}
    missing = {goal: [kind for kind in NEEDS[goal] if kind not in shown] for goal in GOALS}
    return {goal: tuple(str(kind.__struct_config__.tag) for kind in kinds) for goal, kinds in missing.items() if kinds}


def possible(protocol: Protocol, left_out: Collection[str]) -> frozenset[type[Event]]:
    """Return the kinds of event that a search brings about by itself, so that they only have to be waited for.

    `left_out` are kinds of choices that the run's switches leave out.
    """
    moves, never = protocol.environment.moves, (*protocol.environment.never, *left_out)
    crashes = "crash" not in never and (moves.get("crash", 1) or moves.get("power_loss", 1))
    kinds: dict[type[Event], object] = {
        Crash: crashes,
        Halt: crashes and "corrupt" not in never and moves.get("corrupt", 1),
        Restore: TakeSnapshot in protocol.steps and "snapshot" not in never and moves.get("snapshot", 1),
    }
    return frozenset(kind for kind, possible in kinds.items() if possible)


class Goals:
    """Watches one run; `reached` names the goals that it has reached, in that order.

    O(processes) an event, O(transactions since the last epoch) for one that begins another.
    """

    def __init__(self, quorums: Quorums) -> None:
        self.quorums = quorums
        self.reached: dict[str, None] = {}
        self._established: dict[int, int] = {}  # epoch -> leader
        self._down: set[int] = set()
        self._fresh: set[int] = set()  # recovered, with no delivery or snapshot since
        self._all_down = False
        self._promised: dict[int, int] = {}
        self._last: dict[int, Zxid] = {}  # process -> the last zxid of its durable history
        self._holders: dict[Txn, set[int]] = {}
        self._adopted = 0  # the highest epoch whose initial history is known
        self._newest_epoch = 0  # that was established
        self._partial = False  # True if something was on too few disks when the last initial history was chosen
        self._last_broadcast: dict[int, Zxid] = {}  # process -> the zxid of its last
        self._delivered: dict[int, Zxid] = {}  # process -> the highest ever
        self._accepts = self._establishes = False  # set by the first `Accept`, and the first `Establish`
        self._position: dict[int, Zxid] = {}  # the last zxid that its incarnation delivered or restored

    def _reach(self, goal: str) -> None:
        assert goal in GOALS
        self.reached[goal] = None

    def _promise(self, event: Promise) -> None:
        self._promised[event.process] = event.epoch

    def _accept(self, event: Accept) -> None:
        self._accepts = True
        self._last[event.process] = event.txn.zxid
        self._holders.setdefault(event.txn, set()).add(event.process)

    def _adopt(self, event: Adopt) -> None:
        self._fresh.discard(event.process)
        if event.epoch > self._adopted:
            self._adopted = event.epoch
            newest = max(self._delivered.values(), default=NO_ZXID)
            members = [p for p, epoch in self._promised.items() if epoch == event.epoch]
            holders = [p for p in members if self._last.get(p, NO_ZXID) >= newest]
            self._partial = any(not self.quorums.contains(holders) for holders in self._holders.values())
            if newest != NO_ZXID and len(members) > 1 and len(holders) == 1 and event.zxid >= newest:
                self._reach("single survivor")
        self._last[event.process] = event.zxid
        if event.zxid.epoch == event.epoch:
            self._reach("late joiner")
            if max(self._delivered.values(), default=NO_ZXID) < max(self._last_broadcast.values(), default=NO_ZXID):
                self._reach("loaded late joiner")
        for txn, copies in self._holders.items():
            if txn.zxid <= event.zxid:
                copies.add(event.process)

    def _truncate(self, event: Truncate) -> None:
        self._reach("truncation")

    def _establish(self, event: Establish) -> None:
        self._establishes = True
        self._lead(event, self._partial)
        self._holders.clear()

    def _lead(self, event: Establish | Ready, partial: bool = False) -> None:
        """Take in that an epoch has its leader: `Ready` alone says so, too, and changes nothing after `Establish`."""
        self._established[event.epoch] = event.process
        self._newest_epoch = max(self._newest_epoch, event.epoch)
        if len(self._established) >= 3:
            self._reach("three epochs")
        if partial:
            self._reach("partial replication")
        if self._all_down:
            self._reach("power loss")

    def _broadcast(self, event: Broadcast) -> None:
        before = self._last_broadcast.get(event.process, NO_ZXID)
        if before.epoch == event.epoch and self._position.get(event.process, NO_ZXID) < before:
            self._reach("several outstanding")
        self._last_broadcast[event.process] = event.txn.zxid
        if event.epoch < self._newest_epoch:
            self._reach("two leaders")

    def _deliver(self, event: Deliver) -> None:
        process, zxid = event.process, event.txn.zxid
        self._fresh.discard(process)
        self._position[process] = zxid
        known = self._delivered.get(process)
        if known is None or known < zxid:
            self._delivered[process] = zxid
        elif event.incarnation:
            self._reach("repeated delivery")

    def _restore(self, event: Restore) -> None:
        own = event.process in self._fresh
        self._reach("restored snapshot" if own else "received snapshot")
        self._fresh.discard(event.process)
        self._position[event.process] = event.zxid

    def _crash(self, event: Crash) -> None:
        if event.lost:
            self._reach("tail lost")
        self._down.add(event.process)
        if len(self._down) == self.quorums.size:
            self._all_down = True

    def _halt(self, event: Halt) -> None:
        self._reach("altered record")

    def _recover(self, event: Recover) -> None:
        self._fresh.add(event.process)
        self._down.discard(event.process)
        self._position.pop(event.process, None)

    @property
    def shown(self) -> frozenset[type[Event]]:
        """The kinds of event in `NEEDS` that the run has shown, as far as a goal depends on them."""
        kinds = [kind for name, kinds in _TOLD_BY.items() if self.__dict__[name] for kind in kinds]
        return frozenset([*kinds, *(kind for goal in self.reached for kind in NEEDS[goal])])

    @property
    def observers(self) -> dict[type[Event], Callable[[Any], None]]:
        """A function for each kind of event that goals look at, made anew."""
        return {kind: MethodType(looks, self) for kind, looks in _LOOKS.items()}

    def observe(self, event: Event) -> None:
        """Look at one event."""
        looks = _LOOKS.get(type(event))
        if looks is not None:
            looks(self, event)

    def fork(self) -> "Goals":
        """Return an independent copy, to watch another continuation of the run. O(processes + transactions)."""
        twin = object.__new__(Goals)
        twin.__dict__ = kept = self.__dict__.copy()
        for name, value in self.__dict__.items():
            if type(value) is dict or type(value) is set:
                kept[name] = value.copy()
        twin._holders = {txn: holders.copy() for txn, holders in self._holders.items()}
        return twin

    def identity(self, but: Collection[str] = ()) -> tuple[Hashable, ...]:
        """Return the values that decide which goals, except `but`, a continuation reaches. O(processes + transactions).

        A search asks for each step that is new, so this has to be fast.
        """
        needed, kept = _needed(frozenset(but)), self.__dict__
        return tuple([_hashable(kept[name]) if name in needed else None for name in _NEEDED_FOR])


_NEEDED_FOR = {
    "_established": ("three epochs",),
    "_down": ("power loss",),
    "_fresh": ("restored snapshot", "received snapshot"),
    "_all_down": ("power loss",),
    "_promised": ("single survivor",),
    "_last": ("single survivor",),
    "_holders": ("partial replication",),
    "_adopted": ("partial replication", "single survivor"),
    "_newest_epoch": ("two leaders",),
    "_partial": ("partial replication",),
    "_last_broadcast": ("several outstanding", "loaded late joiner"),
    "_delivered": ("single survivor", "loaded late joiner", "repeated delivery"),
    "_accepts": (),
    "_establishes": (),
    "_position": ("several outstanding",),
}
"""The goals that each attribute may decide. The other goals are seen in one event."""

_TOLD_BY: dict[str, tuple[type[Event], ...]] = {
    "_accepts": (Accept,),
    "_adopted": (Adopt, EXPECTED[Adopt]),  # what adopts a history may have to truncate its own
    "_delivered": (Deliver,),
    "_established": (Ready,),
    "_establishes": (Establish,),
    "_last_broadcast": (Broadcast,),
    "_promised": (Promise,),
}
"""The kinds of event that have been shown, or can be expected, if an attribute has a value, by attribute."""


@lru_cache
def _needed(but: frozenset[str]) -> frozenset[str]:
    """Return the attributes that decide any goal except `but`."""
    return frozenset(name for name, goals in _NEEDED_FOR.items() if not but.issuperset(goals))


def _hashable(value: Any) -> Hashable:
    """Return a number, or a dict or set, perhaps of sets, in a form that can be hashed."""
    if type(value) is dict:
        return frozenset([(key, frozenset(each)) if type(each) is set else (key, each) for key, each in value.items()])
    return frozenset(value) if type(value) is set else value


_LOOKS: dict[type[Event], Callable[[Goals, Any], None]] = {
    Accept: Goals._accept,
    Adopt: Goals._adopt,
    Broadcast: Goals._broadcast,
    Crash: Goals._crash,
    Deliver: Goals._deliver,
    Establish: Goals._establish,
    Halt: Goals._halt,
    Promise: Goals._promise,
    Ready: Goals._lead,
    Recover: Goals._recover,
    Restore: Goals._restore,
    Truncate: Goals._truncate,
}
"""The function for each kind of event."""
LOOK_AT = frozenset(_LOOKS)
"""The kinds of event that matter to goals."""

"""The proof as two properties of a trace with protocol events: `refinement` and `proof`.

`refinement`: each event is an instance of steps of the abstraction, or changes nothing in it. Then the trace is a run
of the abstraction, and what is proved of that is true of it.

`proof`: each conjunct of the invariant is true after each event. As long as each event is an instance of steps, the
proof says so; after that, the conjuncts that mention what an event changes are evaluated. So this one detects the first
wrong state, long before anybody delivers what is wrong.

Neither is exercised by a trace without protocol events, by one that does not tell to whom an epoch was promised, or by
more than `MOST_PROCESSES` processes. In merged logs the events of the processes are taken in the first order in which
each is an instance, each process's own order kept, but for an acceptance, which may have been durable before the log
tells; an event that is in no such order is judged when the trace ends.

Witness: the event. Exercised by: an event that changes the state of the abstraction.
Cost: some hundred microseconds for such an event, more if there are many transactions; memory O(processes · epochs ·
distinct transactions).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

from zabcheck.invariants import (
    Accept,
    AckEpoch,
    Adopt,
    End,
    Establish,
    Event,
    Header,
    Invariant,
    Judge,
    Local,
    Promise,
    Violation,
    Zxid,
    add,
)
from zabcheck.invariants.quorums import Configuration, Quorums, quorums_of
from zabcheck.invariants.record import Record
from zabcheck.proof.abstraction import (
    LOOKS_AT,
    MOST_PROCESSES,
    AbstractTxn,
    accepted_by,
    adopted_by,
    history_of,
    initial_history,
    name_of,
)
from zabcheck.proof.compiled import World, broken, mentioned, of, read_by
from zabcheck.proof.conjuncts import Claim
from zabcheck.proof.counterexample import named, show
from zabcheck.proof.finite import Thing
from zabcheck.proof.reconfiguration import refinement as reconfiguration
from zabcheck.proof.refinement import OF_ZAB, Transition, transition
from zabcheck.proof.relations import RELATIONS
from zabcheck.proof.steps import STEPS, Step
from zabcheck.text.words import counted, sentence

_TELLS_OF_THE_PROTOCOL = (Promise, Adopt, Accept, Establish)


class NoStep(NamedTuple):
    """An event that is no instance of the step that it names; `why`, if more is known."""

    event: Local
    step: Step
    why: str

    def words(self) -> str:
        """Return the fault as text."""
        said = f"that is no instance of step {self.step.number} ({self.step.name})"
        return f"{sentence(self.event)}: {said}" + (self.why and f": {self.why}")


class FalseConjunct(NamedTuple):
    """An event after which a conjunct of the invariant is false, for these values of its variables."""

    event: Local
    conjunct: Claim
    things: Mapping[str, Thing]

    def words(self) -> str:
        """Return the fault as text, with the names of the variables."""
        said = f"`{self.conjunct.name}` is false, for {named(self.things)}"
        return f"{sentence(self.event)}: {said}: {self.conjunct.text}"


Fault = NoStep | FalseConjunct
"""An event that breaks one of the two properties, and how."""


def fault_in(trace: Sequence[Event], kind: "type[_Abstracted]") -> Fault | None:
    """Return the first fault that a property finds in a trace with header and end; None if nothing is certain."""
    header, *events, end = trace
    assert isinstance(header, Header)
    assert isinstance(end, End)
    judge = Judge([kind], header.order, quorums_of(header.quorums, header.processes))
    for event in events:
        judge.observe(event)
    [monitor] = judge.invariants
    assert isinstance(monitor, _Abstracted)
    return monitor.fault() if end.complete or not monitor.inconclusive() else None


class _Abstracted(Invariant):
    """Interprets the events of a trace as steps of the abstraction."""

    group = "abstraction"
    looks_at = LOOKS_AT
    depends_on: ClassVar[Collection[str]] = RELATIONS
    """The relations on which later verdicts depend."""

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        quorums = record.quorums
        self.world: World | None = None
        """The state so far; None if this trace is not judged."""
        self.rules = OF_ZAB
        if isinstance(quorums, Configuration):
            self.rules = reconfiguration.RULES
        if quorums is not None and quorums.size <= MOST_PROCESSES and self.judges(quorums):
            self.world = self.rules.at_start(quorums)
        self.tells = False
        self.steps = 0
        self.seen = 0
        self.judged_last = (False, 0, 0)
        self.waiting: dict[int, tuple[tuple[int, Local], ...]] = {}
        """In merged logs, by process: an event that is no instance so far, and all that come after it, numbered."""
        self.wrong: Fault | None = None

    def judges(self, quorums: Quorums) -> bool:
        """Return True if a trace with this quorum system, which may be a configuration that changes, is judged."""
        return True

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {} if self.world is None else dict.fromkeys(self.rules.looks_at, self._observe)

    def _observe(self, event: Local) -> bool:
        if self.world is None or self.wrong is not None:
            return self.wrong is not None and self.tells
        if isinstance(event, _TELLS_OF_THE_PROTOCOL):
            self.tells = True
        if isinstance(event, Promise) and event.leader is None:
            self.world, self.waiting = None, {}
        elif self.order == "global":
            self._take(event, self._after(self.world, event))
        else:
            self.seen += 1
            self.waiting[event.process] = (*self.waiting.get(event.process, ()), (self.seen, event))
        return self.wrong is not None and self.tells

    def _after(self, world: World, event: Local) -> Transition:
        """Return the effect of an event on a state."""
        more = self.rules.about.relations.keys() - RELATIONS.keys()
        return transition(world, event, {*self.depends_on, *more}, self.rules)

    def _go_on(self) -> None:
        """Take the events that are instances by now, in merged logs."""
        goes_on = True
        while goes_on:
            goes_on = False
            for process in list(self.waiting):
                while process in self.waiting and self._take_one(process):
                    goes_on = True

    def _take_one(self, process: int) -> bool:
        """Take an event of a process that is an instance. Return True if there is one."""
        assert self.world is not None
        events = self.waiting[process]
        for place in self._places(events):
            event = events[place][1]
            found = self._after(self.world, event)
            if found.refused is None:
                self._take(event, found)
                self._drop(process, place)
                return True
        return False

    def _places(self, events: Sequence[tuple[int, Local]]) -> Iterator[int]:
        """Yield the places of waiting events that may be next: the first, or an acceptance after it.

        Logs and packets show that a write was durable, often long after it was; but it was so in the epoch that the
        process was in then.
        """
        yield 0
        for place, ((_, before), (_, event)) in enumerate(pairwise(events), 1):
            if isinstance(before, Promise | Adopt):
                return
            if isinstance(event, Accept):
                yield place
                return

    def _drop(self, process: int, place: int) -> None:
        events = self.waiting.pop(process)
        if len(events) > 1:
            self.waiting[process] = (*events[:place], *events[place + 1 :])

    def _take(self, event: Local, found: Transition) -> None:
        self.steps += found.after is not self.world and found.after != self.world
        if self.wrong is None and (wrong := self._wrong(event, found)) is not None:
            self.wrong = wrong
        self.world = found.after

    def _wrong(self, event: Local, found: Transition) -> Fault | None:
        """Return the fault of an event, given its effect on the state so far; None if there is none."""
        raise NotImplementedError

    def judged(self) -> int:
        self._go_on()
        return self.steps if self.tells and self.world is not None else 0

    def inconclusive(self) -> bool:
        return self.order != "global"

    def violation(self) -> Violation | None:
        fault = self.fault()
        return None if fault is None else self._violation(fault.words(), fault.event)

    def fault(self) -> Fault | None:
        """Return the first fault if the trace ends here."""
        if not self.tells or self.world is None:
            return None
        self._go_on()
        return self._wrong_at_the_end() if self.wrong is None and self.waiting else self.wrong

    def _wrong_at_the_end(self) -> Fault | None:
        """Judge the events that are no instance in any order, one after the other, until one is at fault.

        Most of these wait for an event of another process. So of the first ones of each process, that is judged first
        after which most of the others are instances; of several, the first in the file. An ACK-E waits for no other
        process, so it comes before all of these.
        """
        rest = self
        while rest.waiting and rest.wrong is None:
            taken = [rest._without_waiting_for(process) for process in rest.waiting]
            rest = min(taken, key=lambda each: each.judged_last)
        return rest.wrong

    def _without_waiting_for(self, process: int) -> "_Abstracted":
        """Take the first waiting event of a process, and then all that are instances."""
        rest = self.fork(self.record)
        assert isinstance(rest, _Abstracted)
        assert rest.world is not None
        number, event = rest.waiting[process][0]
        rest._take(event, rest._after(rest.world, event))
        rest._drop(process, 0)
        rest._go_on()
        rest.judged_last = not isinstance(event, AckEpoch), sum(map(len, rest.waiting.values())), number
        return rest


def _difference(world: World, event: Local) -> str:
    """Return as text the difference of a provided (ACK-E) or adopted history from the one that Zab demands, or ""."""
    match event:
        case AckEpoch(current_epoch=e):
            accepted = accepted_by(world, name_of(event.process), e)
            lacking = [txn for txn in accepted if Zxid(*txn[:2]) > event.zxid]
            return f"it had accepted {_first(lacking)} in epoch {e}" if lacking else ""
        case Adopt(epoch=e) if (e,) in of(world, "opened"):
            whole, history = history_of(world, e), adopted_by(world, event)
            if history is None:
                known = sum(Zxid(*txn[:2]) <= event.zxid for txn in whole)
                has = counted(event.length, "transaction", "transactions")
                return f"it has {has} up to there, not {known:,}" if event.length != known else ""
            if lacking := [txn for txn in initial_history(world, e) if txn not in history]:
                return f"the initial history of epoch {e} has {_first(lacking)}, too"
            if more := [txn for txn in history if txn not in whole]:
                return f"the history of epoch {e} does not have {_first(more)}"
    return ""


def _first(txns: Sequence[AbstractTxn]) -> str:
    return show(txns[0]) + (f" and {len(txns) - 1} more" if len(txns) > 1 else "")


class Refinement(_Abstracted):
    """Finds the first event that is no instance of steps of the abstraction."""

    name = "refinement"
    statement = "Each event is an instance of steps of the abstraction that is proved, or changes nothing in it."
    source = "docs/proof.md"
    depends_on = frozenset(name for step in STEPS for name in read_by(step))

    def _wrong(self, event: Local, found: Transition) -> Fault | None:
        if found.refused is None:
            return None
        assert self.world is not None
        return NoStep(event, found.refused, _difference(self.world, event))


class Proof(_Abstracted):
    """Finds the first state in which a conjunct of the invariant is false."""

    name = "proof"
    statement = "After each event, each conjunct of the invariant that carries the proof is true."
    source = "docs/proof.md"

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.has_left = False
        """True if some event so far is no instance; from there on the proof says nothing."""

    def _wrong(self, event: Local, found: Transition) -> Fault | None:
        assert self.world is not None
        self.has_left = self.has_left or found.refused is not None
        if not self.has_left:
            return None
        about = self.rules.about
        changed = {name for name in about.relations if of(self.world, name, about) != of(found.after, name, about)}
        for each in self.rules.conjuncts:
            names = mentioned(each, about)  # type: ignore[arg-type]  # a class is hashable
            if names & changed and (things := broken(each, found.after, about)) is not None:
                return FalseConjunct(event, each, things)
        return None


add(Refinement)
add(Proof)

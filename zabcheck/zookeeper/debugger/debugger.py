"""Holds single threads of a JVM at places in its code, while the others go on."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Condition
from typing import NamedTuple

from zabcheck.zookeeper.debugger.agent import PATIENCE, Agent, AgentError, AgentGone
from zabcheck.zookeeper.debugger.jdwp import (
    BREAKPOINT,
    CLASS_PREPARE,
    SINGLE_STEP,
    SUSPEND_THREAD,
    VM_DEATH,
    VM_START,
    Event,
    Location,
    packed,
    packed_text,
)
from zabcheck.zookeeper.debugger.jvm import Jvm
from zabcheck.zookeeper.debugger.points import Place

_DISPOSE, _RESUME_VM = (1, 6), (1, 9)
_SET, _CLEAR = (15, 1), (15, 2)
"""Commands, each by the number of its set and its own number in the set."""

_LOCATION_ONLY, _STEP, _CLASS_MATCH = 7, 10, 5
"""Modifiers of a request for events."""
_A_LINE, _OVER = 1, 1
"""The length of a step: to the next line, over calls."""
_CLASS = 1


class Held(NamedTuple):
    """A thread that stands still before the instruction at `location`."""

    thread: int
    name: str
    location: Location


class Trap:
    """A request to hold a thread: the `nth` that comes to one of `places`. Made by `Debugger.stop`."""

    def __init__(self, places: Sequence[Place], nth: int, then: Callable[[Held], None], hold: bool) -> None:
        self.places = tuple(places)
        self.nth = nth
        self.then = then
        self.hold = hold
        self.held: Held | None = None
        self.came = 0
        """The number of threads that have come by."""
        self.over = False
        """True if the thread that was held goes on, or none can be held any more."""
        self.requests: dict[int, Place] = {}
        """The breakpoints, by the numbers of their requests."""

    @property
    def done(self) -> bool:
        """True if the thread has come: it is held, or its action is done."""
        return self.held is not None or (not self.hold and self.over and self.came >= self.nth)


class Debugger:
    """Holds threads of the JVM whose agent listens at `port`. Any thread may call its methods.

    All of them raise AgentGone once the JVM has ended, and AgentError if the agent refuses.
    """

    def __init__(self, port: int, patience: float = PATIENCE) -> None:
        """Connect to a JVM that waits, or runs. Raises AgentError if there is no agent."""
        self._changed = Condition()
        self._stops: list[Trap] = []
        self._watches: list[Trap] = []
        self._watched: set[str] = set()
        """The signatures of the classes of which it is told when they are there."""
        self._steps: dict[int, Trap] = {}
        self._patience = patience
        self._waits = False
        self._ended = False
        self.error: AgentError | None = None
        """The reason why events could not be handled."""
        self._agent = Agent(port, self._handle, patience)
        self.jvm = Jvm(self._agent)
        """The classes, objects and threads of the JVM, also those that are held."""

    @property
    def ended(self) -> bool:
        """True if the JVM has ended, or the connection to it."""
        with self._changed:
            return self._ended

    def begin(self) -> None:
        """Let a JVM go on that waits at its start.

        A JVM that is resumed before it waits would wait for ever, so this first waits until it does.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._waits or self._ended, self._patience):
                raise AgentError(f"the JVM did not wait at its start in {self._patience:g} s")
        self._agent.ask(_RESUME_VM)

    def stop(
        self, places: Sequence[Place], nth: int = 1, then: Callable[[Held], None] = lambda _: None, hold: bool = True
    ) -> Trap:
        """Hold the `nth` thread from now on that comes to one of `places`; also in classes that are not loaded yet.

        When it comes, `then` is called, in a thread of the debugger's. If `hold` is false, the thread goes on after
        that.
        """
        assert nth >= 1
        stop = Trap(places, nth, then, hold)
        self._set(stop, self._stops)
        return stop

    def watch(self, places: Sequence[Place], then: Callable[[Held], None]) -> None:
        """Call `then` for every thread that comes to one of `places`, before any stop there; the thread then goes on.

        The thread stands still meanwhile. `then` is called in a thread of the debugger's, and does not get the thread's
        name.
        """
        self._set(Trap(places, 1, then, False), self._watches)

    def _set(self, stop: Trap, among: list[Trap]) -> None:
        """Set the breakpoints of a stop or a watch in the classes that are loaded, and later in those that will be."""
        with self._changed:
            among.append(stop)
        for class_name in dict.fromkeys(place.class_name for place in stop.places):
            signature = f"L{class_name};"
            with self._changed:
                if signature not in self._watched:  # before it is looked for, so that it is not missed in between
                    pattern = class_name.replace("/", ".")
                    self._request(CLASS_PREPARE, packed(_CLASS_MATCH, 1) + packed_text(pattern))
                    self._watched.add(signature)
            for class_id in self.jvm.prepared(signature):
                self._arm(stop, signature, class_id)

    def wait(self, stop: Trap, seconds: float) -> Held | None:
        """Wait at most `seconds` until a thread is held there. Return it, or None, and at once if the JVM has ended."""
        with self._changed:
            self._changed.wait_for(lambda: stop.held or stop.over or self._ended, seconds)
            return stop.held

    def go(self, stop: Trap) -> bool:
        """Let the thread go on that is held there, and hold no other there. Return True if one was held."""
        with self._changed:
            held, stop.held, stop.over = stop.held, None, True
            self._changed.notify_all()
        self._disarm(stop)
        if held is not None:
            self.jvm.resume(held.thread)
        return held is not None

    def step(self, stop: Trap) -> None:
        """Let the thread that is held there go on to the next line, over calls, where it is held again."""
        with self._changed:
            held, stop.held = stop.held, None
            assert held is not None
        modifier = packed(_STEP, 1) + self.jvm.packed_id(held.thread) + packed(_A_LINE) + packed(_OVER)
        self._request(SINGLE_STEP, modifier, stop)
        self.jvm.resume(held.thread)

    def close(self) -> None:
        """Let every thread go on, and end the connection."""
        with suppress(AgentError):
            self._agent.ask(_DISPOSE)
        self._agent.close()

    # Events: all that follows, up to the next heading, is called in the thread that handles them.

    def _handle(self, events: list[Event]) -> None:
        if not events:
            self._end()
            return
        try:
            held = False
            for event in events:
                self._look(event)
            for event in events:
                if event.kind == VM_DEATH:
                    self._end()
                elif event.kind == VM_START:
                    self._wait_at_start()
                elif event.kind == CLASS_PREPARE:
                    self._prepare(event)
                elif event.kind in (BREAKPOINT, SINGLE_STEP):
                    held = self._come(event, held) or held
            if not held and events[0].kind in (BREAKPOINT, SINGLE_STEP, CLASS_PREPARE):
                self.jvm.resume(events[0].thread)
        except AgentGone:
            pass  # `handle` is called once more, without events
        except AgentError as error:
            with self._changed:
                self.error = self.error or error
            self._end()

    def _wait_at_start(self) -> None:
        with self._changed:
            self._waits = True
            self._changed.notify_all()

    def _end(self) -> None:
        with self._changed:
            self._ended = True
            for stop in self._stops:
                stop.held, stop.over = None, True
            self._changed.notify_all()

    def _prepare(self, event: Event) -> None:
        with self._changed:
            stops = [stop for stop in (*self._watches, *self._stops) if not stop.over]
        for stop in stops:
            self._arm(stop, event.signature, event.class_id)

    def _look(self, event: Event) -> None:
        """Call the watches at the place that a thread has come to."""
        with self._changed:
            watch = next((each for each in self._watches if event.request in each.requests), None)
        if event.kind == BREAKPOINT and watch is not None:
            assert event.location is not None
            watch.then(Held(event.thread, "", event.location))

    def _come(self, event: Event, taken: bool) -> bool:
        """Hold the thread if a stop is meant for it, unless another stop has `taken` it. Return True if it is held."""
        assert event.location is not None
        step = self._steps.pop(event.request, None)
        with self._changed:
            of_request = (each for each in self._stops if event.request in each.requests and not each.over)
            stop = step or next(of_request, None)
            if stop is None or taken:
                return False
            if step is None:
                stop.came += 1
                if stop.came != stop.nth:
                    return False
        if step is not None:
            self._clear(SINGLE_STEP, event.request)
        else:
            self._disarm(stop)
        held = Held(event.thread, self.jvm.name(event.thread), event.location)
        if step is None:
            stop.then(held)
        with self._changed:
            if stop.hold:
                stop.held = held
            else:
                stop.over = True
            self._changed.notify_all()
        return stop.hold

    # Requests.

    def _arm(self, stop: Trap, signature: str, class_id: int) -> None:
        """Set the breakpoints of a stop that are in this class, unless they are set."""
        for place in stop.places:
            if f"L{place.class_name};" != signature:
                continue
            for method, named in self.jvm.methods(class_id).items():
                if named == (place.method, place.descriptor):
                    location = (
                        packed(_CLASS, 1)
                        + self.jvm.packed_class(class_id)
                        + packed(method, self._agent.sizes.method)
                        + packed(place.at, 8)
                    )
                    with self._changed:
                        if place not in stop.requests.values() and not stop.over:
                            self._request(BREAKPOINT, packed(_LOCATION_ONLY, 1) + location, stop, place)

    def _request(self, kind: int, modifier: bytes, stop: Trap | None = None, place: Place | None = None) -> None:
        """Request events of a kind, which hold their thread: for a breakpoint of a stop, or for a step of it.

        An event may come before the number of the request is known, so whoever looks for the number waits for the lock.
        """
        with self._changed:
            reader = self._agent.ask(_SET, packed(kind, 1) + packed(SUSPEND_THREAD, 1) + packed(1) + modifier)
            request = reader.number()
            if place is not None:
                assert stop is not None
                stop.requests[request] = place
            elif stop is not None:
                self._steps[request] = stop

    def _disarm(self, stop: Trap) -> None:
        with self._changed:
            requests = list(stop.requests)
        for request in requests:
            self._clear(BREAKPOINT, request)

    def _clear(self, kind: int, request: int) -> None:
        self._agent.ask(_CLEAR, packed(kind, 1) + packed(request))

"""Holds single threads of a JVM at places in its code, while the others go on.

A thread that is held inside `synchronized` holds up every thread that wants that monitor: `blocked` returns which wait
for which. Locks of java.util.concurrent are no monitors, and not seen.
"""

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
    Content,
    Event,
    Location,
    packed,
    packed_text,
)
from zabcheck.zookeeper.debugger.points import Place

_SIGNATURE_OF, _FIELDS, _METHODS = (2, 1), (2, 4), (2, 5)
_CLASSES_BY_SIGNATURE, _ALL_THREADS, _DISPOSE = (1, 2), (1, 4), (1, 6)
_SUSPEND_VM, _RESUME_VM, _CREATE_STRING = (1, 8), (1, 9), (1, 11)
_SUPERCLASS, _INVOKE, _NEW_INSTANCE = (3, 1), (3, 3), (3, 4)
_CLASS_OF, _VALUES, _SET_VALUES, _MONITOR, _KEEP = (9, 1), (9, 2), (9, 3), (9, 5), (9, 7)
_NAME, _SUSPEND, _RESUME, _STATUS, _FRAMES = (11, 1), (11, 2), (11, 3), (11, 4), (11, 6)
_CONTENDED, _STOP, _INTERRUPT = (11, 9), (11, 10), (11, 11)
_LENGTH = (13, 1)
_SET, _CLEAR = (15, 1), (15, 2)
"""Commands, each by the number of its set and its own number in the set."""

_LOCATION_ONLY, _STEP, _CLASS_MATCH = 7, 10, 5
"""Modifiers of a request for events."""
_A_LINE, _OVER = 1, 1
"""The length of a step: to the next line, over calls."""
_PREPARED = 2
_ENDED, _WAITS_FOR_MONITOR = 0, 3
_CLASS = 1
_SINGLE_THREADED = 1


class Held(NamedTuple):
    """A thread that stands still before the instruction at `location`."""

    thread: int
    name: str
    location: Location


class Blocked(NamedTuple):
    """A thread that wants a monitor which another one has; `owner` is the other one's name, or empty."""

    thread: str
    owner: str


class Trap:
    """A request to hold a thread: the `nth` that comes to one of `places`. Made by `Debugger.stop`."""

    def __init__(self, places: Sequence[Place], nth: int, then: Callable[[Held], None], hold: bool) -> None:
        self.places = tuple(places)
        self.nth = nth
        self.then = then
        self.hold = hold
        self.held: Held | None = None
        self.came = 0
        """How many threads have come by."""
        self.over = False
        """Whether the thread that was held goes on, or none can be held any more."""
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
        self._methods: dict[int, dict[int, str]] = {}
        self._classes: dict[int, str] = {}
        self._patience = patience
        self._waits = False
        self._ended = False
        self.error: AgentError | None = None
        """Why events could not be handled."""
        self._agent = Agent(port, self._handle, patience)

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
            for class_id in self._prepared(signature):
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
            self._resume(held.thread)
        return held is not None

    def step(self, stop: Trap) -> None:
        """Let the thread that is held there go on to the next line, over calls, where it is held again."""
        with self._changed:
            held, stop.held = stop.held, None
            assert held is not None
        modifier = packed(_STEP, 1) + self._id(held.thread) + packed(_A_LINE) + packed(_OVER)
        self._request(SINGLE_STEP, modifier, stop)
        self._resume(held.thread)

    def throw(self, held: Held, class_name: str, message: str) -> None:
        """Make a held thread throw an exception where it stands, once it goes on: as if the call there threw it.

        `class_name` ("java/io/IOException") has a constructor that takes a text.
        """
        signature = f"L{class_name};"
        if not self._prepared(signature):
            self._load(held, class_name)
        exception = self._prepared(signature)[0]
        constructor = self._method(exception, "<init>", "(Ljava/lang/String;)V")
        made = self._agent.ask(_NEW_INSTANCE, self._called(exception, held, constructor, message))
        made.number(1)
        thrown = made.object()
        self._agent.ask(_KEEP, self._id(thrown))
        self._agent.ask(_STOP, self._id(held.thread) + self._id(thrown))

    def frames(self, held: Held) -> list[str]:
        """Return the calls that a held thread is in, innermost first: "Learner.syncWithLeader"."""
        return [self._named(location) for location in self._locations(held.thread)]

    def where(self, thread: int, package: str) -> str | None:
        """Return the call that a thread is in, held or not: the innermost of a class below `package` ("org/apache/").

        None if there is none, as when the thread has ended.
        """
        self._agent.ask(_SUSPEND, self._id(thread))
        try:
            if self._status(thread) == _ENDED:
                return None
            named = ((location, self._named(location)) for location in self._locations(thread))
            return next(
                (name for at, name in named if self._classes[at.class_id].startswith(package)),
                None,
            )
        finally:
            self._resume(thread)

    def thread_of(self, class_name: str) -> int | None:
        """Return a thread that is an object of this class ("p/Two"), None if there is none. It need not be held."""
        classes = self._prepared(f"L{class_name};")
        reader = self._agent.ask(_ALL_THREADS)
        threads = [reader.object() for _ in range(reader.number())]
        return next((thread for thread in threads if self._class_of(thread) in classes), None)

    def value(self, start: int, path: Sequence[str]) -> int | float | bool | None:
        """Return a number that is reached from an object over fields, also private ones: ("self", "myid").

        None if there is no such field, or a null on the way. The number of an object is its id, which is 0 for null.
        """
        value: int | float | bool = start
        for name in path:
            field = self._field(int(value), name) if value else None
            if field is None:
                return None
            values = self._agent.ask(_VALUES, self._id(int(value)) + packed(1) + packed(field, self._agent.sizes.field))
            values.number()
            value = values.value()
        return value

    def set_long(self, start: int, path: Sequence[str], number: int) -> None:
        """Set a long, reached from an object over fields as in `value`. It has to exist."""
        owner = self.value(start, path[:-1])
        field = self._field(int(owner or 0), path[-1])
        assert field is not None, path
        what = self._id(int(owner or 0)) + packed(1) + packed(field, self._agent.sizes.field)
        self._agent.ask(_SET_VALUES, what + packed(number, 8))

    def length(self, array: int) -> int:
        """Return the length of an array."""
        return self._agent.ask(_LENGTH, self._id(array)).number()

    def interrupt(self, thread: int) -> None:
        """Interrupt a thread, as `Thread.interrupt` does: one that waits throws an InterruptedException."""
        self._agent.ask(_INTERRUPT, self._id(thread))

    def blocked(self) -> list[Blocked]:
        """Return the threads that want a monitor which another thread has. Everything stands still meanwhile."""
        self._agent.ask(_SUSPEND_VM)
        try:
            reader = self._agent.ask(_ALL_THREADS)
            threads = [reader.object() for _ in range(reader.number())]
            return [self._wants(thread) for thread in threads if self._status(thread) == _WAITS_FOR_MONITOR]
        finally:
            self._agent.ask(_RESUME_VM)

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
                self._resume(events[0].thread)
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
        held = Held(event.thread, self._name(event.thread), event.location)
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
            for method, named in self._all_methods(class_id).items():
                if named == (place.method, place.descriptor):
                    location = (
                        packed(_CLASS, 1)
                        + self._class_id(class_id)
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

    def _prepared(self, signature: str) -> list[int]:
        """Return the ids of the classes of this name that can have breakpoints now."""
        reader = self._agent.ask(_CLASSES_BY_SIGNATURE, packed_text(signature))
        found = []
        for _ in range(reader.number()):
            _, class_id, status = reader.number(1), reader.number(reader.sizes.reference), reader.number()
            if status & _PREPARED:
                found.append(class_id)
        return found

    def _load(self, held: Held, class_name: str) -> None:
        """Load a class, in a held thread. Raises AgentError if it does not exist."""
        [java_class] = self._prepared("Ljava/lang/Class;")
        loader = self._method(java_class, "forName", "(Ljava/lang/String;)Ljava/lang/Class;")
        name = class_name.replace("/", ".")
        if not self._agent.ask(_INVOKE, self._called(java_class, held, loader, name)).value():
            raise AgentError(f"the JVM has no class {name}")

    def _called(self, class_id: int, held: Held, method: int, text: str) -> bytes:
        """Return the data of a command by which a held thread calls a static method, or a constructor, of one text."""
        argument = self._agent.ask(_CREATE_STRING, packed_text(text)).object()
        called = self._class_id(class_id) + self._id(held.thread) + packed(method, self._agent.sizes.method)
        return called + packed(1) + b"s" + self._id(argument) + packed(_SINGLE_THREADED)

    def _method(self, class_id: int, name: str, descriptor: str) -> int:
        """Return the id of a method of one of Java's own classes."""
        methods = self._all_methods(class_id)
        return next(method for method, named in methods.items() if named == (name, descriptor))

    def _all_methods(self, class_id: int) -> dict[int, tuple[str, str]]:
        """Return the names and descriptors of a class's own methods, by their ids."""
        reader = self._agent.ask(_METHODS, self._class_id(class_id))
        found = {}
        for _ in range(reader.number()):
            method, name, descriptor, _ = (
                reader.number(reader.sizes.method),
                reader.text(),
                reader.text(),
                reader.number(),
            )
            found[method] = name, descriptor
        return found

    def _field(self, value: int, name: str) -> int | None:
        """Return the id of a field of an object, declared in its class or in a class above; None if there is none."""
        class_id = self._class_of(value)
        while class_id:
            fields = self._agent.ask(_FIELDS, self._class_id(class_id))
            for _ in range(fields.number()):
                field, called, _, _ = fields.number(fields.sizes.field), fields.text(), fields.text(), fields.number()
                if called == name:
                    return field
            class_id = self._agent.ask(_SUPERCLASS, self._class_id(class_id)).number(self._agent.sizes.reference)
        return None

    def _class_of(self, value: int) -> int:
        """Return the id of an object's class."""
        reader = self._agent.ask(_CLASS_OF, self._id(value))
        reader.number(1)
        return reader.number(reader.sizes.reference)

    def _locations(self, thread: int) -> list[Location]:
        """Return the instructions that a thread stands at, that of the innermost call first. It has to stand still."""
        reader = self._agent.ask(_FRAMES, self._id(thread) + packed(0) + packed(0xFFFFFFFF))
        found = []
        for _ in range(reader.number()):
            reader.number(reader.sizes.frame)
            found.append(reader.location())
        return found

    def _named(self, location: Location) -> str:
        """Return a place in the code as "Learner.syncWithLeader"."""
        if location.class_id not in self._classes:
            signature = self._agent.ask(_SIGNATURE_OF, self._class_id(location.class_id)).text()
            self._classes[location.class_id] = signature.removeprefix("L").removesuffix(";")
            methods = self._all_methods(location.class_id)
            self._methods[location.class_id] = {method: name for method, (name, _) in methods.items()}
        class_name = self._classes[location.class_id].rpartition("/")[2]
        return f"{class_name}.{self._methods[location.class_id].get(location.method, '?')}"

    def _wants(self, thread: int) -> Blocked:
        """Return a thread that wants a monitor, with the monitor's owner. Everything has to stand still."""
        monitor: Content = self._agent.ask(_CONTENDED, self._id(thread))
        owner = self._agent.ask(_MONITOR, self._id(int(monitor.value()))).object()
        return Blocked(self._name(thread), self._name(owner) if owner else "")

    def _status(self, thread: int) -> int:
        return self._agent.ask(_STATUS, self._id(thread)).number()

    def _name(self, thread: int) -> str:
        return self._agent.ask(_NAME, self._id(thread)).text()

    def _resume(self, thread: int) -> None:
        self._agent.ask(_RESUME, self._id(thread))

    def _id(self, number: int) -> bytes:
        return packed(number, self._agent.sizes.object)

    def _class_id(self, number: int) -> bytes:
        return packed(number, self._agent.sizes.reference)

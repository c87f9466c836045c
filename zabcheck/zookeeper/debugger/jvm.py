"""The classes, objects and threads of a JVM, as its agent tells of them: fields, calls, and who waits for whom.

A thread that is held inside `synchronized` holds up every thread that wants that monitor: `Jvm.blocked` returns which
wait for which. Locks of java.util.concurrent are no monitors, and not seen.
"""

from collections.abc import Sequence
from typing import NamedTuple

from zabcheck.zookeeper.debugger.agent import Agent, AgentError
from zabcheck.zookeeper.debugger.jdwp import Content, Location, packed, packed_text

_SIGNATURE_OF, _FIELDS, _METHODS = (2, 1), (2, 4), (2, 5)
_CLASSES_BY_SIGNATURE, _ALL_THREADS = (1, 2), (1, 4)
_SUSPEND_VM, _RESUME_VM, _CREATE_STRING = (1, 8), (1, 9), (1, 11)
_SUPERCLASS, _INVOKE, _NEW_INSTANCE = (3, 1), (3, 3), (3, 4)
_CLASS_OF, _VALUES, _SET_VALUES, _MONITOR, _KEEP = (9, 1), (9, 2), (9, 3), (9, 5), (9, 7)
_NAME, _SUSPEND, _RESUME, _STATUS, _FRAMES = (11, 1), (11, 2), (11, 3), (11, 4), (11, 6)
_CONTENDED, _STOP, _INTERRUPT = (11, 9), (11, 10), (11, 11)
_LENGTH = (13, 1)
"""Commands, each by the number of its set and its own number in the set."""

_PREPARED = 2
_ENDED, _WAITS_FOR_MONITOR = 0, 3
_SINGLE_THREADED = 1


class BlockedThread(NamedTuple):
    """A thread that wants a monitor which another one has; `owner` is the other one's name, or empty."""

    thread: str
    owner: str


class Jvm:
    """The JVM of an agent. Any thread may call its methods.

    Classes, objects and threads have the numbers that the agent gives them; a class is named as in "java/lang/Class".
    All methods raise AgentGone once the JVM has ended, and AgentError if the agent refuses.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._methods: dict[int, dict[int, str]] = {}
        self._classes: dict[int, str] = {}

    # Threads.

    def name(self, thread: int) -> str:
        """Return the name of a thread."""
        return self._agent.ask(_NAME, self.packed_id(thread)).text()

    def resume(self, thread: int) -> None:
        """Let a thread go on that is held, or that was suspended."""
        self._agent.ask(_RESUME, self.packed_id(thread))

    def thread_of(self, class_name: str) -> int | None:
        """Return a thread that is an object of this class ("p/Two"), None if there is none. It need not be held."""
        classes = self.prepared(f"L{class_name};")
        reader = self._agent.ask(_ALL_THREADS)
        threads = [reader.object() for _ in range(reader.number())]
        return next((thread for thread in threads if self._class_of(thread) in classes), None)

    def calls(self, thread: int) -> list[str]:
        """Return the calls that a held thread is in, innermost first: "Learner.syncWithLeader"."""
        return [self._named(location) for location in self._locations(thread)]

    def where(self, thread: int, package: str) -> str | None:
        """Return the call that a thread is in, held or not: the innermost of a class below `package` ("org/apache/").

        None if there is none, as when the thread has ended.
        """
        self._agent.ask(_SUSPEND, self.packed_id(thread))
        try:
            if self._status(thread) == _ENDED:
                return None
            named = ((location, self._named(location)) for location in self._locations(thread))
            return next(
                (name for at, name in named if self._classes[at.class_id].startswith(package)),
                None,
            )
        finally:
            self.resume(thread)

    def blocked(self) -> list[BlockedThread]:
        """Return the threads that want a monitor which another thread has. Everything stands still meanwhile."""
        self._agent.ask(_SUSPEND_VM)
        try:
            reader = self._agent.ask(_ALL_THREADS)
            threads = [reader.object() for _ in range(reader.number())]
            return [self._wants(thread) for thread in threads if self._status(thread) == _WAITS_FOR_MONITOR]
        finally:
            self._agent.ask(_RESUME_VM)

    def throw(self, thread: int, class_name: str, message: str) -> None:
        """Make a held thread throw an exception where it stands, once it goes on: as if the call there threw it.

        `class_name` ("java/io/IOException") has a constructor that takes a text.
        """
        signature = f"L{class_name};"
        if not self.prepared(signature):
            self._load(thread, class_name)
        exception = self.prepared(signature)[0]
        constructor = self._method(exception, "<init>", "(Ljava/lang/String;)V")
        made = self._agent.ask(_NEW_INSTANCE, self._called(exception, thread, constructor, message))
        made.number(1)
        thrown = made.object()
        self._agent.ask(_KEEP, self.packed_id(thrown))
        self._agent.ask(_STOP, self.packed_id(thread) + self.packed_id(thrown))

    def interrupt(self, thread: int) -> None:
        """Interrupt a thread, as `Thread.interrupt` does: one that waits throws an InterruptedException."""
        self._agent.ask(_INTERRUPT, self.packed_id(thread))

    # Objects.

    def value(self, start: int, path: Sequence[str]) -> int | float | bool | None:
        """Return a number that is reached from an object over fields, also private ones: ("self", "myid").

        None if there is no such field, or a null on the way. The number of an object is its id, which is 0 for null.
        """
        value: int | float | bool = start
        for name in path:
            field = self._field(int(value), name) if value else None
            if field is None:
                return None
            values = self._agent.ask(_VALUES, self._one_field(int(value), field))
            values.number()
            value = values.value()
        return value

    def set_long(self, start: int, path: Sequence[str], number: int) -> None:
        """Set a long, reached from an object over fields as in `value`. It has to exist."""
        owner = int(self.value(start, path[:-1]) or 0)
        field = self._field(owner, path[-1])
        assert field is not None, path
        self._agent.ask(_SET_VALUES, self._one_field(owner, field) + packed(number, 8))

    def length(self, array: int) -> int:
        """Return the length of an array."""
        return self._agent.ask(_LENGTH, self.packed_id(array)).number()

    # Classes.

    def prepared(self, signature: str) -> list[int]:
        """Return the ids of the classes of this name that can have breakpoints now."""
        reader = self._agent.ask(_CLASSES_BY_SIGNATURE, packed_text(signature))
        found = []
        for _ in range(reader.number()):
            _, class_id, status = reader.number(1), reader.number(reader.sizes.reference), reader.number()
            if status & _PREPARED:
                found.append(class_id)
        return found

    def methods(self, class_id: int) -> dict[int, tuple[str, str]]:
        """Return the names and descriptors of a class's own methods, by their ids."""
        reader = self._agent.ask(_METHODS, self.packed_class(class_id))
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

    # Numbers, as commands have them.

    def packed_id(self, number: int) -> bytes:
        """Return the number of an object or thread as bytes."""
        return packed(number, self._agent.sizes.object)

    def packed_class(self, number: int) -> bytes:
        """Return the number of a class as bytes."""
        return packed(number, self._agent.sizes.reference)

    # Parts of the above.

    def _load(self, thread: int, class_name: str) -> None:
        """Load a class, in a held thread. Raises AgentError if it does not exist."""
        [java_class] = self.prepared("Ljava/lang/Class;")
        loader = self._method(java_class, "forName", "(Ljava/lang/String;)Ljava/lang/Class;")
        name = class_name.replace("/", ".")
        if not self._agent.ask(_INVOKE, self._called(java_class, thread, loader, name)).value():
            raise AgentError(f"the JVM has no class {name}")

    def _called(self, class_id: int, thread: int, method: int, text: str) -> bytes:
        """Return the data of a command by which a held thread calls a static method, or a constructor, of one text."""
        argument = self._agent.ask(_CREATE_STRING, packed_text(text)).object()
        called = self.packed_class(class_id) + self.packed_id(thread) + packed(method, self._agent.sizes.method)
        return called + packed(1) + b"s" + self.packed_id(argument) + packed(_SINGLE_THREADED)

    def _method(self, class_id: int, name: str, descriptor: str) -> int:
        """Return the id of a method of one of Java's own classes."""
        methods = self.methods(class_id)
        return next(method for method, named in methods.items() if named == (name, descriptor))

    def _field(self, value: int, name: str) -> int | None:
        """Return the id of a field of an object, declared in its class or in a class above; None if there is none."""
        class_id = self._class_of(value)
        while class_id:
            fields = self._agent.ask(_FIELDS, self.packed_class(class_id))
            for _ in range(fields.number()):
                field, called, _, _ = fields.number(fields.sizes.field), fields.text(), fields.text(), fields.number()
                if called == name:
                    return field
            class_id = self._agent.ask(_SUPERCLASS, self.packed_class(class_id)).number(self._agent.sizes.reference)
        return None

    def _one_field(self, value: int, field: int) -> bytes:
        """Return the data by which a command names one field of an object."""
        return self.packed_id(value) + packed(1) + packed(field, self._agent.sizes.field)

    def _class_of(self, value: int) -> int:
        """Return the id of an object's class."""
        reader = self._agent.ask(_CLASS_OF, self.packed_id(value))
        reader.number(1)
        return reader.number(reader.sizes.reference)

    def _locations(self, thread: int) -> list[Location]:
        """Return the instructions that a thread stands at, that of the innermost call first. It has to stand still."""
        reader = self._agent.ask(_FRAMES, self.packed_id(thread) + packed(0) + packed(0xFFFFFFFF))
        found = []
        for _ in range(reader.number()):
            reader.number(reader.sizes.frame)
            found.append(reader.location())
        return found

    def _named(self, location: Location) -> str:
        """Return a place in the code as "Learner.syncWithLeader"."""
        if location.class_id not in self._classes:
            signature = self._agent.ask(_SIGNATURE_OF, self.packed_class(location.class_id)).text()
            self._classes[location.class_id] = signature.removeprefix("L").removesuffix(";")
            methods = self.methods(location.class_id)
            self._methods[location.class_id] = {method: name for method, (name, _) in methods.items()}
        class_name = self._classes[location.class_id].rpartition("/")[2]
        return f"{class_name}.{self._methods[location.class_id].get(location.method, '?')}"

    def _wants(self, thread: int) -> BlockedThread:
        """Return a thread that wants a monitor, with the monitor's owner. Everything has to stand still."""
        monitor: Content = self._agent.ask(_CONTENDED, self.packed_id(thread))
        owner = self._agent.ask(_MONITOR, self.packed_id(int(monitor.value()))).object()
        return BlockedThread(self.name(thread), self.name(owner) if owner else "")

    def _status(self, thread: int) -> int:
        return self._agent.ask(_STATUS, self.packed_id(thread)).number()

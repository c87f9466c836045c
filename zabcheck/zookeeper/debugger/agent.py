"""The socket to a debug agent: commands with their replies, and events in the order in which they happen.

The agent lets every thread go on when the connection ends, however it ends: nothing stays suspended when zabcheck dies.
It listens on 127.0.0.1 only, at a port that its JVM prints in its first line of output.
"""

import re
import socket
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread

from zabcheck.zookeeper.debugger.jdwp import (
    Content,
    Conversation,
    Event,
    ProtocolError,
    RawEvents,
    Reply,
    Sizes,
    events_in,
)

HOST = "127.0.0.1"
PATIENCE = 300.0
"""Seconds that an agent has for an answer. It takes a millisecond, but a machine may be busy."""
OPTION = f"-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address={HOST}:0"
"""The option that starts the agent, at a port that the system chooses. The JVM waits until the agent resumes it."""

_ID_SIZES = (1, 7)
_LISTENS = re.compile(r"^Listening for transport dt_socket at address: (?:[\w.:]*:)?(\d+)$", re.MULTILINE)


class AgentError(Exception):
    """The debug agent refused a command or did not answer. The message is one line."""


class AgentGone(AgentError):
    """The connection to the agent has ended, as when its JVM is killed."""


def port_told(output: str) -> int | None:
    """Return the port that an agent has printed, None if its JVM has not printed it yet."""
    found = _LISTENS.search(output)
    return int(found[1]) if found else None


class Agent:
    """A connection to the agent at `port`. Any thread may send commands.

    Events go to `handle`, one packet of them after the other, in a thread of their own, which may send commands. Once
    the connection has ended, `handle` is called a last time, without events.
    """

    def __init__(self, port: int, handle: Callable[[list[Event]], None], patience: float = PATIENCE) -> None:
        """Connect. Raises AgentError if nobody listens there, or something that is no agent."""
        self._patience = patience
        self._connection = Conversation()
        self._lock = Lock()
        self._replies: dict[int, SimpleQueue[Reply | None]] = {}
        self._told: SimpleQueue[RawEvents | None] = SimpleQueue()
        self._gone = False
        self._why = "the connection to the debug agent has ended"
        self.sizes = Sizes()
        try:
            self._socket = socket.create_connection((HOST, port), patience)
            self._socket.sendall(self._connection.begin())
            self._socket.settimeout(None)
        except OSError as error:
            raise AgentError(f"no debug agent at port {port}: {error.strerror or error}") from None
        self._reading = Thread(target=self._read, name=f"debug agent at {port}", daemon=True)
        self._handling = Thread(target=self._handle, args=(handle,), name=f"events of {port}", daemon=True)
        self._reading.start()
        try:
            reader = self.ask(_ID_SIZES)
            self.sizes = Sizes(*(reader.number() for _ in range(5)))
        except AgentError:
            self.close()
            raise
        self._handling.start()

    def ask(self, command: tuple[int, int], data: bytes = b"") -> Content:
        """Send a command, and return the data of its reply.

        AgentGone if the connection has ended; AgentError if the agent refuses, or does not answer in time.
        """
        came: SimpleQueue[Reply | None] = SimpleQueue()
        with self._lock:
            if self._gone:
                raise AgentGone(self._why)
            number, sent = self._connection.command(command, data)
            self._replies[number] = came
            try:
                self._socket.sendall(sent)
            except OSError:
                raise AgentGone(self._why) from None
        try:
            reply = came.get(timeout=self._patience)
        except Empty:
            raise AgentError(f"the debug agent did not answer in {self._patience:g} s") from None
        finally:
            self._replies.pop(number, None)
        if reply is None:
            raise AgentGone(self._why)
        if reply.error:
            raise AgentError(f"the debug agent refuses command {command[0]}.{command[1]}: {reply.reason}")
        return Content(reply.data, self.sizes)

    def close(self) -> None:
        """End the connection: the agent lets every thread go on. Waits until all events so far are handled."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._reading.join()
        if self._handling.ident is not None:
            self._handling.join()

    def _read(self) -> None:
        try:
            while data := self._socket.recv(1 << 16):
                for each in self._connection.receive(data):
                    if isinstance(each, RawEvents):
                        self._told.put(each)
                    elif came := self._replies.get(each.number):
                        came.put(each)
        except ProtocolError as error:
            self._why = str(error)
        except OSError:
            pass
        with self._lock:
            self._gone = True
            waiting = list(self._replies.values())
        for came in waiting:
            came.put(None)
        self._told.put(None)
        self._socket.close()

    def _handle(self, handle: Callable[[list[Event]], None]) -> None:
        try:
            while (told := self._told.get()) is not None:
                handle(events_in(told, self.sizes))
        except ProtocolError as error:
            self._why = str(error)
            self._socket.shutdown(socket.SHUT_RDWR)
        finally:
            handle([])

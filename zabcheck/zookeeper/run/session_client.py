"""A client that speaks ZooKeeper's own protocol, so that it decides when its session moves, falls silent and ends.

The clients that write (`zabcheck.zookeeper.run.clients`) are left alone for a whole run. This one is for what they do
not do, and its requests and answers are recorded one by one.
"""

import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Event, RLock, Thread
from time import monotonic
from typing import NamedTuple

from zabcheck.zookeeper.recording.folder import now
from zabcheck.zookeeper.recording.records import Heard, NodeState, Record, Replied, Requested, Session, Unwatched
from zabcheck.zookeeper.wire import client as wire
from zabcheck.zookeeper.wire.jute import JuteError, Reader

HOST = "127.0.0.1"
TIMEOUT = 2.0
"""Seconds after which a silent session ends, once its servers have a leader."""
SILENCE = 1.75 * TIMEOUT
"""Seconds for which a session that is to expire is silent: a leader looks after sessions once in a tick."""
HEARS_NOTHING = 0.75 * TIMEOUT
"""Seconds after which a connection on which nothing comes is given up."""
PING = TIMEOUT / 4
"""Seconds of silence of the server after which it is sent a ping."""
RETRY = 0.05
"""Seconds until a client connects again."""
LOST = "ConnectionLoss"
"""The recorded answer to a request whose connection is gone."""
NOBODY = 0
"""The id that stands for no session."""


class _Pending(NamedTuple):
    number: int
    what: str
    path: str


class SessionRequests:
    """The requests of client `number`, one session at a time, and what has become of them; without a connection.

    `server` is where the session is, or begins. `now` tells the time for records.
    """

    def __init__(self, number: int, server: int, record: Callable[[Record], None], now: Callable[[], int]) -> None:
        self.number = number
        self.server = server
        self.session = NOBODY
        self.versions: dict[str, int] = {}
        """The versions of nodes as last heard of."""
        self.error: JuteError | None = None
        """The reason why a message of a server is no answer, if one was not."""
        self._record = record
        self._now = now
        self._asked = 0
        self._pending: deque[_Pending] = deque()
        self._closing = False
        self._wanted = False
        self._watches = False
        """True if there may be watches on the connection."""

    @property
    def outstanding(self) -> int:
        """Count the requests that wait for an answer."""
        return len(self._pending)

    @property
    def next_number(self) -> int:
        """Return the number of the next request."""
        return self._asked + 1

    def asked_to(self, what: str, path: str) -> int:
        """Count such requests for this node that wait for an answer."""
        return sum((each.what, each.path) == (what, path) for each in self._pending)

    def _ask(self, what: str, paths: tuple[str, ...], version: int, content: int, watches: bool) -> int:
        """Record a request that is sent now, and return its number."""
        self._closing = what == "close"
        self._asked += 1
        self._watches |= watches
        self._record(
            Requested(self._now(), self.number, self.session, self._asked, what, paths, version, content, watches)
        )
        self._pending.append(_Pending(self._asked, what, paths[-1] if paths else ""))
        return self._asked

    def _began(self, session: int) -> None:
        """Record a session that has begun."""
        self.session = session
        self._record(Session(self._now(), self.number, session, self.server))

    def _lose(self) -> None:
        """Give up the answers that have not come: the connection is gone."""
        self._closing = False
        while self._pending:
            self._record(Replied(self._now(), self.number, self._pending.popleft().number, LOST))
        if self._watches:
            self._watches = False
            self._record(Unwatched(self._now(), self.number, self.session))

    def _ended(self) -> None:
        """Note that the session has ended."""
        self.session = NOBODY
        self._wanted = self._closing = False

    def _take(self, answer: wire.ReplyPacket) -> None:
        """Note an answer. It has the number of its request, whether or not that is the next one. JuteError."""
        found = next((each for each in self._pending if each.number == answer.xid), None)
        if found is None:
            raise JuteError(0, f"an answer to request {answer.xid}, which was not asked")
        self._pending.remove(found)
        error, node = answer.error, None
        if not error:
            if found.what == "multi":
                error = wire.error_of_multi(answer)
            elif found.what == "get":
                data, stat = wire.data_of(answer)
                self.versions[found.path] = stat.version
                node = NodeState(found.path, stat.czxid, stat.mzxid, stat.version, wire.content_of(data), stat.owner)
            elif found.what == "exists":
                stat = wire.stat_of(Reader(answer.body))
                node = NodeState(found.path, stat.czxid, stat.mzxid, stat.version, 0, stat.owner)
            elif found.what == "set":
                self.versions[found.path] = wire.stat_of(Reader(answer.body)).version
        self._record(Replied(self._now(), self.number, answer.xid, error, answer.zxid, node))
        if found.what == "close" and not error:
            self._ended()

    def _hear(self, message: bytes) -> None:
        """Note what a watch tells. JuteError."""
        found = wire.event_of(wire.answered(message))
        if found is not None:
            self._record(Heard(self._now(), self.number, self.session, found.type, found.path, found.zxid))


class SessionClient(SessionRequests):
    """Client `number`: one session at a time, the first of which begins at `server`, whose port is `port`."""

    def __init__(self, number: int, server: int, port: int, record: Callable[[Record], None]) -> None:
        super().__init__(number, server, record, now)
        self._port = port
        self._socket: socket.socket | None = None
        self._silent_until = 0.0
        self._password = bytes(16)
        self._seen = 0
        self._over = Event()
        self._lock = RLock()
        self._thread = Thread(target=self._run, name=f"client {number}", daemon=True)
        self._thread.start()

    @property
    def ready(self) -> bool:
        """Return True if requests can be sent."""
        return self._socket is not None and not self._closing

    @property
    def settled(self) -> bool:
        """Return True if the session is known to go on, or there is none."""
        return not self._wanted or self.ready

    def asked_to(self, what: str, path: str) -> int:
        with self._lock:
            return super().asked_to(what, path)

    def begins(self) -> bool:
        """Have a session begin, unless there is one. Return True if it is ready."""
        with self._lock:
            self._wanted = self._wanted or not self._closing
            return self.ready

    def send(
        self,
        what: str,
        paths: tuple[str, ...],
        part: wire.Part,
        version: int = -1,
        content: int = 0,
        watches: bool = False,
    ) -> bool:
        """Send a request, and record it. Return False if there is no connection for it."""
        with self._lock:
            if self._socket is None or self._closing:
                return False
            self._send(wire.request(self._ask(what, paths, version, content, watches), part))
            return True

    def _send(self, message: bytes) -> None:
        """Send a message; if that fails, the connection is given up."""
        with self._lock:
            try:
                if self._socket is not None:
                    self._socket.sendall(message)
            except OSError:
                self._disconnect()

    def move(self, server: int, port: int) -> None:
        """Go on at another server."""
        with self._lock:
            self.server, self._port = server, port
            self._disconnect()

    def fall_silent(self) -> None:
        """Let the session expire; it is asked after when its time is over."""
        with self._lock:
            self._silent_until = monotonic() + SILENCE
            self._disconnect()

    def leave(self) -> None:
        """Give the connection up, and the session with it, without a word."""
        self._over.set()
        self._disconnect()
        self._thread.join()

    def _disconnect(self) -> None:
        with self._lock:
            if self._socket is not None:
                with suppress(OSError):  # it is closed by now
                    self._socket.shutdown(socket.SHUT_RDWR)  # which the thread notices
                self._socket = None

    # The thread.

    def _run(self) -> None:
        while not self._over.is_set():
            if self._wanted and monotonic() >= self._silent_until:
                try:
                    port = self._port
                    with socket.create_connection((HOST, port), HEARS_NOTHING) as connection:
                        self._talk(connection, port)
                except OSError:
                    pass  # it connects again
                except JuteError as error:
                    self.error = error
                    self._over.set()
                finally:
                    self._lose()
            self._over.wait(RETRY)

    def _lose(self) -> None:
        with self._lock:
            self._socket = None
            super()._lose()

    def _talk(self, connection: socket.socket, port: int) -> None:
        """Take the session up at the server with this port, and read answers until connection or session end."""
        messages = _Messages(connection)
        connection.sendall(wire.connect(self.session, self._password, int(1000 * TIMEOUT), self._seen))
        hello = wire.opened(messages.next())
        if hello.session == NOBODY:
            self._ended()
            return
        if self.session == NOBODY:
            self._password = hello.password
            self._began(hello.session)
        connection.settimeout(PING)
        with self._lock:
            if self._port != port or monotonic() < self._silent_until:
                return  # it has moved, or fallen silent, meanwhile
            self._socket = connection
        heard = monotonic()
        while self._wanted and not self._over.is_set():
            try:
                message = messages.next()
            except TimeoutError:
                if monotonic() > heard + HEARS_NOTHING:
                    raise
                self._send(wire.ping())
                continue
            heard = monotonic()
            answer = wire.answered(message)
            self._seen = max(self._seen, answer.zxid)
            if answer.xid >= 0:
                self._take(answer)
            elif answer.xid == wire.EVENT:
                self._hear(message)

    def _ended(self) -> None:
        with self._lock:
            super()._ended()
            self._socket = None

    def _take(self, answer: wire.ReplyPacket) -> None:
        with self._lock:
            super()._take(answer)

    def _hear(self, message: bytes) -> None:
        with self._lock:
            super()._hear(message)


class _Messages:
    """The messages that come on a connection. A time-out between two of its parts loses nothing."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._received = bytearray()

    def next(self) -> bytes:
        """Return the next message. OSError if the connection has ended, or nothing came in time; JuteError."""
        while True:
            size = int.from_bytes(self._received[:4]) if len(self._received) >= 4 else 0
            if size > wire.LONGEST:
                raise JuteError(0, f"an answer of {size} bytes")
            if len(self._received) >= 4 and len(self._received) >= 4 + size:
                message = bytes(self._received[4 : 4 + size])
                del self._received[: 4 + size]
                return message
            part = self._connection.recv(1 << 16)
            if not part:
                raise ConnectionResetError("the server has closed the connection")
            self._received += part

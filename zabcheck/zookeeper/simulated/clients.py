"""The clients of simulated servers: the connections are the simulation's, the requests and answers are here."""

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from zabcheck.zookeeper.recording.records import Acknowledged, Asked, NodeState, NotRead, Read, Session, Unanswered
from zabcheck.zookeeper.run.session_client import (
    HEARS_NOTHING,
    LOST,
    NOBODY,
    PING,
    RETRY,
    SILENCE,
    TIMEOUT,
    SessionRequests,
)
from zabcheck.zookeeper.run.tree import OURS, WINDOW
from zabcheck.zookeeper.wire import client as wire
from zabcheck.zookeeper.wire.jute import JuteError

if TYPE_CHECKING:
    from zabcheck.zookeeper.simulated.ensemble import SimulatedEnsemble


EXPIRED = "SessionExpired"


def _milliseconds(seconds: float) -> int:
    return int(1000 * seconds)


class _Waiting(NamedTuple):
    """A request that waits: the number of a write, or 0 for a request of the look at the end."""

    xid: int
    write: int


class SimulatedClient:
    """A client that writes. See `run.ensemble.Client`."""

    def __init__(self, ensemble: "SimulatedEnsemble", number: int, session: float) -> None:
        self.number = number
        self._ensemble = ensemble
        self._session: int | None = None
        self._asked = 0
        self._xid = 0
        self._queued: deque[tuple[int, int]] = deque()
        """Writes that wait for a connection: their numbers and sizes."""
        self._pending: deque[_Waiting] = deque()
        self._answers: dict[int, wire.ReplyPacket] = {}
        timeout = _milliseconds(session)
        port = ensemble.client_port(number)
        retry = _milliseconds(RETRY)
        ensemble.do("client", number, port, timeout, timeout // 3, 2 * timeout // 3, retry, "renews")

    @property
    def connected(self) -> bool:
        return self._ensemble.is_open(self.number)

    @property
    def outstanding(self) -> int:
        return len(self._queued) + sum(each.write > 0 for each in self._pending)

    @property
    def may_write(self) -> bool:
        return self.outstanding < WINDOW

    def write(self, size: int) -> None:
        self._asked += 1
        self._ensemble.record(Asked(self._ensemble.now(), self.number, self._asked, self._path(self._asked), size))
        self._queued.append((self._asked, size))
        self._send_queued()

    def _path(self, write: int) -> str:
        return f"/c{self.number}-{write}"

    def _send_queued(self) -> None:
        if self._queued and self.connected:
            writes = [(wire.create(self._path(write), b"z" * size), write) for write, size in self._queued]
            self._queued.clear()
            self._send(writes)

    def _send(self, parts: Sequence[tuple[wire.Part, int]]) -> list[int]:
        """Send requests, each with the number of its write, or 0. Return their xids."""
        sent = [_Waiting(xid, write) for xid, (_, write) in enumerate(parts, start=self._xid + 1)]
        self._xid += len(sent)
        self._pending.extend(sent)
        messages = (wire.request(each.xid, part) for each, (part, _) in zip(sent, parts, strict=True))
        self._ensemble.send(self.number, *messages)
        return [each.xid for each in sent]

    def _unanswered(self, write: int, error: str = LOST) -> None:
        self._ensemble.record(Unanswered(self._ensemble.now(), self.number, write, error))

    def opened(self, session: int) -> None:
        """Note the session that the client has now."""
        if session != self._session:
            self._session = session
            self._ensemble.record(Session(self._ensemble.now(), self.number, session, self.number))
        self._send_queued()

    def lost(self) -> None:
        """Note that the connection has ended."""
        while self._pending:
            write = self._pending.popleft().write
            if write:
                self._unanswered(write)

    def expired(self) -> None:
        """Note that the session has ended; a new one begins by itself."""
        while self._queued:
            self._unanswered(self._queued.popleft()[0], EXPIRED)

    def answered(self, message: bytes) -> None:
        """Take in an answer."""
        answer = wire.answered(message)
        pending = self._pending.popleft()
        assert pending.xid == answer.xid
        if not pending.write:
            self._answers[answer.xid] = answer
        elif answer.error:
            self._unanswered(pending.write, answer.error)
        else:
            now = self._ensemble.now()
            self._ensemble.record(Acknowledged(now, self.number, pending.write, answer.zxid, self.number))

    def read_all(self, seconds: float) -> Read | NotRead:
        # Each answer may take `seconds`: threads that stand still at times make hundreds of them slow.
        until = self._ensemble.clock() + seconds
        error = LOST
        while self._ensemble.clock() < until:
            try:
                return self._read(seconds)
            except _NoAnswer as failure:
                error = str(failure)
                self._ensemble.pass_time()
        return NotRead(self._ensemble.now(), self.number, error)

    def _read(self, seconds: float) -> Read:
        [synced] = self._ask([wire.sync("/")], seconds)
        [root] = self._ask([wire.get_children("/")], seconds)
        paths = [f"/{name}" for name in sorted(wire.children_of(root)) if OURS.match(name)]
        states = []
        for start in range(0, len(paths), WINDOW):
            some = paths[start : start + WINDOW]
            answers = self._ask([wire.get_data(path) for path in some], seconds, may_lack=True)
            for path, answer in zip(some, answers, strict=True):
                if not answer.error:
                    data, stat = wire.data_of(answer)
                    state = NodeState(path, stat.czxid, stat.mzxid, stat.version, wire.content_of(data), stat.owner)
                    states.append(state)
        nodes = tuple((state.path, state.created) for state in states if state.path.startswith("/c"))
        return Read(self._ensemble.now(), self.number, nodes, tuple(states), synced.zxid)

    def _ask(self, parts: Sequence[wire.Part], seconds: float, may_lack: bool = False) -> list[wire.ReplyPacket]:
        """Send requests, and wait for their answers. _NoAnswer if one has none, or it is an error."""
        if not self.connected:
            raise _NoAnswer(LOST)
        xids = self._send([(part, 0) for part in parts])
        self._ensemble.await_all(seconds, lambda: not any(each.xid == xids[-1] for each in self._pending))
        answers = [self._answers.pop(xid, None) for xid in xids]
        for answer in answers:
            if answer is None or (answer.error and not may_lack):
                raise _NoAnswer(LOST if answer is None else answer.error)
        return [answer for answer in answers if answer is not None]

    def close(self) -> None:
        """It ends with the simulation."""


class _NoAnswer(Exception):
    """A request has no answer. The message is the name of an error."""


class SimulatedSession(SessionRequests):
    """A client whose session moves, falls silent and ends. See `run.ensemble.SessionClient`."""

    def __init__(self, ensemble: "SimulatedEnsemble", number: int, server: int) -> None:
        super().__init__(number, server, ensemble.record, ensemble.now)
        self._ensemble = ensemble
        port = ensemble.client_port(server)
        times = map(_milliseconds, (TIMEOUT, PING, HEARS_NOTHING, RETRY))
        ensemble.do("client", number, port, *times, "waits")

    @property
    def ready(self) -> bool:
        """Return True if requests can be sent."""
        return self._ensemble.is_open(self.number) and not self._closing

    @property
    def settled(self) -> bool:
        return not self._wanted or self.ready

    def begins(self) -> bool:
        if not self._wanted and not self._closing:
            self._wanted = True
            self._ensemble.do("want", self.number)
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
        if not self.ready:
            return False
        number = self._ask(what, paths, version, content, watches)
        self._ensemble.send(self.number, wire.request(number, part))
        return True

    def move(self, server: int, port: int) -> None:
        self.server = server
        self._ensemble.do("move", self.number, port)

    def fall_silent(self) -> None:
        self._ensemble.do("silent", self.number, _milliseconds(SILENCE))

    def leave(self) -> None:
        """It ends with the simulation."""

    def opened(self, session: int) -> None:
        """Note the session that the client has now."""
        if self.session == NOBODY:
            self._began(session)

    def lost(self) -> None:
        """Note that the connection has ended."""
        self._lose()

    def expired(self) -> None:
        """Note that the session has ended."""
        self._ended()

    def answered(self, message: bytes) -> None:
        """Take in an answer. A closed session is forgotten by the connection, too."""
        try:
            answer = wire.answered(message)
            if answer.xid == wire.EVENT:
                self._hear(message)
            else:
                self._take(answer)
        except JuteError as error:
            self.error = error
        if self.session == NOBODY:
            self._ensemble.do("forget", self.number)

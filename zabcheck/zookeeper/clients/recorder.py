"""Records clients of its own: sessions that exercise each promise at a service, on the wire.

One thread sends and reads for all sessions, so that all times of a history come from one clock. Each session has its
own connection. It loses it, resumes elsewhere with the watches that it had, falls silent until it expires, or ends. All
nodes are below one node that is created for the history, and deleted at its end.
"""

import select
import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import accumulate, count
from random import Random
from time import monotonic
from typing import NamedTuple

from zabcheck.zookeeper.clients.conversation import Conversation
from zabcheck.zookeeper.clients.disturbance import Disturbance
from zabcheck.zookeeper.clients.history import (
    NOBODY,
    Answer,
    Connected,
    HistoryHeader,
    HistoryLine,
    Request,
    WatchEvent,
)
from zabcheck.zookeeper.wire import client as wire
from zabcheck.zookeeper.wire.jute import JuteError

PATIENCE = 5.0
"""Seconds to wait for an answer before the connection is given up."""
_PAUSE = 0.001
"""Seconds to wait for answers when no session may ask for more."""
_SELDOM = 20
"""Turns after which the slow reader reads again: until then events and answers queue up at its server."""
_TURN = 0.2
"""Seconds after which the other sessions are kept alive while one waits."""
TIMEOUT = 4000
"""The time-out that sessions ask for, in ms."""
WINDOW = 30
"""The most requests of a session that may wait for an answer."""
_LOOKED_FOR = 100
"""The most nodes, of those that nobody deletes, that are looked for in the end."""
_REFUSALS = 5
"""The number of forbidden writes that are sent in the end."""
_FAULTS = {"cut": 0.02, "close": 0.006, "move": 0.004, "silence": 0.0015}
"""The probability that a session loses its connection, ends, moves, or falls silent before it sends anything."""
_OWN_AT_THE_END = 20
"""The number of nodes that some sessions create just before they end."""


class Target(NamedTuple):
    """A server of the service."""

    host: str
    port: int

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"


class NotServed(Exception):
    """No server of the service gives a session, or the first request fails."""


class _Session:
    """Client `number`: a session, its connection if it has one, and what it knows."""

    def __init__(self, number: int, recorder: "Recorder") -> None:
        self.number = number
        self._recorder = recorder
        self._socket: socket.socket | None = None
        self._received = bytearray()
        self._unsent = bytearray()
        self._talk: Conversation | None = None
        self._xids = count(1)
        self._asked: dict[int, Request] = {}
        self._password = bytes(16)
        self._last_sent = self._last_heard = 0.0
        self._last_answer: Answer | None = None
        self._is_answered = False
        """True from the answer to `connect` on."""
        self.is_ending = False
        """True from the request that ends the session until the connection is gone."""
        self.target: Target | None = None
        """The server to which it connected last."""
        self.former: _Session | None = None
        """The connection at the server that it has moved away from, as long as that is open."""
        self._forget()

    def _forget(self) -> None:
        self.session = NOBODY
        self.seen = 0
        self.silent_until = 0.0
        self.watches: list[dict[str, None]] = [{} for _ in range(5)]
        """The paths that are watched: data, exist, child, persistent, recursive."""

    @property
    def is_connected(self) -> bool:
        return self._socket is not None

    @property
    def is_ready(self) -> bool:
        """True if the server has given the session, and has set its watches again."""
        return self._is_answered and not self.is_ending and wire.SET_WATCHES not in self._asked

    @property
    def is_silent(self) -> bool:
        return self.silent_until > 0 and monotonic() < self.silent_until

    @property
    def is_able(self) -> bool:
        """True if it may connect, or send further requests."""
        return (self._socket is None or (len(self._asked) < WINDOW and self.is_ready)) and not self.is_silent

    @property
    def open(self) -> int:
        """Count the requests that wait for an answer."""
        return len(self._asked)

    @property
    def open_multis(self) -> int:
        """Count the multis that wait for an answer."""
        return sum(each.op == "multi" for each in self._asked.values())

    def fileno(self) -> int:
        assert self._socket is not None
        return self._socket.fileno()

    def connect(self, target: Target) -> bool:
        """Connect, and ask for the current session. Return True if the server gives one."""
        self.dial(target)
        return self.is_served()

    def is_served(self) -> bool:
        """Wait until the server has given the session. Return False if the connection is gone."""
        return self.is_connected and self.wait(lambda: self.is_ready)

    def dial(self, target: Target) -> None:
        """Connect, and ask for the current session, without waiting for the answer."""
        talk = self._recorder.conversation(self.number, target)
        self.target = target
        session = int(self.session, 16)
        signed = session - (1 << 64) if session >> 63 else session
        try:
            self._socket = socket.create_connection(target, PATIENCE)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
            self._talk = talk
            self._last_heard = monotonic()
            self._send_message(wire.connect(signed, self._password, TIMEOUT, self.seen))
        except OSError:
            self.lose()

    def move(self, target: Target) -> None:
        """Connect elsewhere, ask for the current session there, and keep the current connection open."""
        if self.former is not None:
            self.former.lose()
        former = self.former = _Session(self.number, self._recorder)
        former._socket, former._talk, former._is_answered = self._socket, self._talk, self._is_answered
        former._received, former._asked, former._unsent = self._received, self._asked, self._unsent
        former._xids = self._xids  # servers take two requests of a session with one number to be the same
        former._last_sent = former._last_heard = monotonic()
        self._socket = self._talk = None
        self._is_answered = False
        self._received, self._asked, self._unsent = bytearray(), {}, bytearray()
        self.dial(target)

    def _send_message(self, message: bytes) -> HistoryLine | None:
        assert self._talk is not None
        sent = self._talk.sent(message[4:])
        self._last_sent = monotonic()
        self._unsent += message
        self._recorder.hold(self)
        return sent

    def flush(self) -> None:
        """Send the bytes that wait; give the connection up if that fails."""
        if self._socket is not None:
            message, self._unsent = self._unsent, bytearray()
            try:
                self._socket.sendall(message)
            except OSError:
                self.lose()

    def send(self, part: wire.Part, xid: int | None = None) -> int:
        """Queue a request for the next `flush`. Return its number, 0 if there is no connection."""
        if self._socket is None:
            return 0
        if xid is None:
            xid = next(self._xids)
        sent = self._send_message(wire.request(xid, part))
        if isinstance(sent, Request):
            self._asked[xid] = sent
        return xid

    def stay(self) -> None:
        """Send a ping if nothing was sent for a third of the time-out."""
        if self._is_answered and monotonic() > self._last_sent + TIMEOUT / 3000:
            self.send(wire.Part(wire.PING_TYPE, b""), wire.PING)

    def give_up_if_overdue(self) -> None:
        """Give the connection up if it has waited for an answer for `PATIENCE`."""
        if not self.is_able and monotonic() > self._last_heard + PATIENCE:
            self.lose("no answer in time")

    def wait(self, condition: Callable[[], bool]) -> bool:
        """Read until the condition holds. Return False, with the connection given up, if it does not in time."""
        until = monotonic() + PATIENCE
        while not condition():
            self._recorder.flush()
            if self._socket is None:
                return False
            if select.select([self], [], [], min(_TURN, max(0.0, until - monotonic())))[0]:
                self.read()
            elif monotonic() >= until:
                self.lose("no answer in time")
                return False
            else:
                self._recorder.stay(self)
        return True

    def settle(self) -> None:
        """Wait until no request is open."""
        self.wait(lambda: not self.open)

    def close(self) -> None:
        """End the session."""
        self.end()
        self.wait(lambda: not self.is_connected)

    def end(self) -> None:
        """Ask for the end of the session, without waiting for the answer."""
        self.is_ending = self.send(wire.close()) > 0

    def ask(self, part: wire.Part) -> Answer | None:
        """Send a request and wait for its answer; None if there is none."""
        xid = self.send(part)
        if not xid or not self.wait(lambda: xid not in self._asked):
            return None
        return self._last_answer if self._last_answer is not None and self._last_answer.xid == xid else None

    def read(self) -> None:
        """Receive bytes, and take the messages that are whole."""
        assert self._socket is not None
        try:
            part = self._socket.recv(1 << 16)
        except OSError:
            part = b""
        if not part:
            self.lose()
            return
        self._last_heard = monotonic()
        self._received += part
        while len(self._received) >= 4 and self._socket is not None:
            size = int.from_bytes(self._received[:4])
            if size > wire.LONGEST:
                self.lose("an answer that is none")
            elif len(self._received) >= 4 + size:
                message = bytes(self._received[4 : 4 + size])
                del self._received[: 4 + size]
                self._take(message)
            else:
                return

    def _take(self, message: bytes) -> None:
        assert self._talk is not None
        try:
            line = self._talk.received(message)
        except JuteError:
            self.lose("an answer that is none")
            return
        if isinstance(line, Connected):
            self._greeted(line, message)
        elif isinstance(line, WatchEvent):
            self._heard(line)
        elif isinstance(line, Answer):
            self.seen = max(self.seen, line.zxid)
            self._last_answer = line
            asked = self._asked.pop(line.xid, None)
            if asked is not None:
                self._recorder.learn(self, asked, line)
                self._watch(asked, line)
            if asked is not None and asked.op == "closeSession":
                self.lose()
                self._forget()

    def _greeted(self, line: Connected, message: bytes) -> None:
        if line.session == NOBODY:
            self.lose()
            self._forget()
            return
        if self.session == NOBODY:
            self.session, self._password = line.session, wire.opened(message).password
        elif any(self.watches):
            self.send(wire.set_watches(self.seen, self.watches), wire.SET_WATCHES)
        self._is_answered = True

    def _watch(self, asked: Request, answer: Answer) -> None:
        """Note a watch that an answer has set or removed."""
        data, exist, child, persistent, recursive = self.watches
        if asked.path is None:
            return
        if asked.op == "addWatch" and not answer.error:
            (recursive if asked.watch == "recursive" else persistent)[asked.path] = None
        elif asked.op == "removeWatches" and not answer.error:
            for paths in self.watches:
                paths.pop(asked.path, None)
        elif asked.watch and not answer.error:
            (child if asked.op == "getChildren" else data)[asked.path] = None
        elif asked.watch and asked.op == "exists" and answer.error == "NoNode":
            exist[asked.path] = None

    def _heard(self, event: WatchEvent) -> None:
        data, exist, child, _, _ = self.watches
        ended = {
            "NodeCreated": (exist, data),
            "NodeDataChanged": (data,),
            "NodeDeleted": (data, exist, child),
            "NodeChildrenChanged": (child,),
        }
        for paths in ended[event.type]:
            paths.pop(event.path, None)

    def lose(self, why: str = "") -> None:
        """Give the connection up, and the one from which it has moved."""
        if self.former is not None:
            self.former.lose(why)
            self.former = None
        if self._socket is not None:
            with suppress(OSError):
                self._socket.sendall(self._unsent)
            self._socket.close()
        if self._talk is not None:
            self._talk.lost(why)
        self._socket = self._talk = None
        self._is_answered = self.is_ending = False
        self._received.clear()
        self._unsent.clear()
        self._asked.clear()


class Recorder:
    """Clients that send random requests to a service: the same requests and faults for the same seed."""

    def __init__(
        self,
        targets: Sequence[Target],
        seed: int,
        write: Callable[[HistoryLine], None],
        *,
        faults: bool = True,
        disturbance: Disturbance | None = None,
    ) -> None:
        """Make the clients; `write` gets each line but the end, and `disturbance` acts on the servers."""
        self._targets = targets
        self._random = Random(seed)
        self._write = write
        self._faults = faults
        self._disturbance = disturbance
        self._connections = 0
        self.requests = 0
        self.root = ""
        self._before: list[HistoryLine] = []
        self._versions: dict[str, int] = {}
        """The versions of nodes, as the last answers showed them."""
        self._numbered: list[str] = []
        """The sequential nodes that were created and not deleted."""
        self._awaited: dict[tuple[int, int], _Session] = {}
        """By client and number of a write: the session that is told when it is done."""
        self._passing: list[str] = []
        """The nodes that end by themselves: ephemerals, containers, and those with a time to live."""
        self._holding: dict[_Session, None] = {}
        """The connections that have something to send."""
        draws: dict[Callable[[_Session], Iterable[wire.Part]], int] = {
            self._draw_set: 20,
            self._draw_get: 20,
            self._draw_exists: 8,
            self._draw_children: 8,
            self._draw_child: 10,
            self._draw_numbered: 8,
            self._draw_own: 4,
            self._draw_container: 2,
            self._draw_with_ttl: 1,
            self._draw_multi: 8,
            self._draw_multi_read: 3,
            self._draw_sync: 6,
            self._draw_watch: 5,
            self._draw_permissions: 1,
        }
        self._draws, self._shares = [*draws], [*accumulate(draws.values())]
        self._sessions = [_Session(number, self) for number in range(1, 2 * len(targets) + 3)]
        self._turns = 0

    def conversation(self, client: int, target: Target) -> Conversation:
        """Begin a connection."""
        self._connections += 1
        return Conversation(client, self._connections, target.name, self._record, keeps_data=True)

    def _record(self, line: HistoryLine) -> None:
        """Write a line, or keep it until the header is written, for which the root has to be known."""
        if self.root:
            self._write(line)
        else:
            self._before.append(line)

    def hold(self, session: _Session) -> None:
        """Note that a session has something to send."""
        self._holding[session] = None

    def flush(self) -> None:
        """Send the bytes that wait, of all sessions."""
        while self._holding:
            self._holding.popitem()[0].flush()

    def learn(self, session: _Session, asked: Request, answer: Answer) -> None:
        """Note the facts about a node in an answer, and let the session go on that waits for it."""
        told = self._awaited.pop((session.number, asked.xid), None)
        if told is not None and not answer.error:
            self._sync_and_read(told)
        if asked.op == "closeSession":
            self._look_after(session.number)
        path = answer.path or asked.path
        if path is not None and answer.stat is not None:
            self._versions[path] = answer.stat.version
        if asked.op == "create" and "sequential" in asked.mode and answer.path is not None and self.root:
            self._numbered.append(answer.path)

    def begin(self) -> None:
        """Create the root of all nodes, and write the header. NotServed."""
        first = self._sessions[0]
        made = None
        if any(first.connect(target) for target in self._targets):
            made = first.ask(wire.create("/zabcheck-", b"", wire.SEQUENTIAL))
        if made is None or made.path is None:
            why = f": {made.error}" if made is not None else ""
            raise NotServed(f"no session at {', '.join(target.name for target in self._targets)}{why}")
        self.root = made.path
        self._write(HistoryHeader(version=1, clock="one", complete=(self.root,), values="unique"))
        for line in self._before:
            self._write(line)
        self._before.clear()
        for name in ("p", "q", "e", "c", "r0", "r1", "r2", "r3", "m0", "m1"):
            first.ask(wire.create(f"{self.root}/{name}", b""))

    def run(self, requests: int, seconds: float, look: Callable[[], None] = lambda: None) -> None:
        """Send about this number of requests, for at most this number of seconds.

        `look` is called between two steps and may raise KeyboardInterrupt. Raised within a step, that could lose an
        answer that was read, and is not in the history yet.
        """
        until = monotonic() + seconds
        while self.requests < requests and monotonic() < until:
            look()
            if self._disturbance is not None:
                self._disturbance.go_on(sum(each.open_multis for each in self._sessions))
            able = [each for each in self._sessions if each.is_able]
            if able:
                self._go_on(self._random.choice(able))
            self._read(0.0 if able else _PAUSE)

    def _read(self, seconds: float) -> None:
        """Read for each session, for the last one only seldom, and keep those alive that are not silent."""
        self.flush()
        self._turns += 1
        reading = self._sessions if self._turns % _SELDOM == 0 else self._sessions[:-1]
        connected = [each for each in reading if each.is_connected and not each.is_silent]
        connected += [each.former for each in connected if each.former is not None and each.former.is_connected]
        if not connected:
            select.select([], [], [], seconds)
            return
        for each in select.select(connected, [], [], seconds)[0]:
            if each.is_connected:
                each.read()
                self.flush()
        for each in connected:
            if each.is_connected:
                each.give_up_if_overdue()
        self.stay()

    def stay(self, waiting: _Session | None = None) -> None:
        """Keep the sessions alive that are not silent, except one that is `waiting`."""
        for each in self._sessions:
            if each is not waiting and not each.is_silent:
                each.stay()

    def _go_on(self, session: _Session) -> None:
        """Let a session do what comes next."""
        if not session.is_connected:
            session.dial(self._random.choice(self._targets))
            return
        drawn = self._random.random() if self._faults else 1.0
        for fault, share in _FAULTS.items():
            if drawn < share:
                self._disturb(session, fault)
                return
            drawn -= share
        if session.former is not None:
            self._go_on_at_both(session, session.former)
            return
        if self._random.random() < 0.05:
            self._tell_another(session)
            return
        for _ in range(self._random.choice((1, 1, 1, 1, 2, 3, 5, 10))):
            for part in self._draw(session):
                self._send(session, part)

    def _send(self, session: _Session, part: wire.Part) -> int:
        self.requests += 1
        return session.send(part)

    def _go_on_at_both(self, session: _Session, former: _Session) -> None:
        """Let a session that has moved send requests on both connections, or give up the one from which it moved."""
        if not former.is_connected or self._random.random() < 0.2:
            former.lose("moved")
            session.former = None
            return
        for each in self._random.sample((session, former, session), 3):
            read = wire.get_data(self._random.choice(self._registers))
            self._send(each, read if self._random.random() < 0.5 else self._set(session))

    def _disturb(self, session: _Session, fault: str) -> None:
        """Lose a connection with requests open, end a session with nodes of its own, move, or fall silent.

        At most a quarter of the sessions are silent at once.
        """
        for _ in range(self._random.randint(0, 4)):
            self._send(session, self._set(session))
        elsewhere = [each for each in self._targets if each != session.target]
        if fault == "move" and elsewhere:
            session.move(self._random.choice(elsewhere))
            return
        if fault == "close":
            for _ in range(_OWN_AT_THE_END if self._random.random() < 0.5 else 0):
                self._send(session, wire.create(self._new(session, "e"), b"", wire.EPHEMERAL))
            session.end()
            return
        if fault == "silence" and sum(each.is_silent for each in self._sessions) < len(self._sessions) // 4:
            if self._random.random() < 0.5:
                self._look_after(session.number, watch=True)
            session.silent_until = monotonic() + TIMEOUT / 1000 * self._random.choice((0.5, 0.9, 1.2, 2.0))
            session.settle()
        session.lose("cut")

    def _look_after(self, number: int, watch: bool = False) -> None:
        """Let another session look for ephemeral nodes of a client."""
        others = [each for each in self._sessions if each.is_ready and each.number != number]
        mine = [path for path in self._passing[-200:] if path.startswith(f"{self.root}/e/{number}-")]
        for path in self._random.sample(mine, min(3, len(mine))) if others else ():
            self._send(self._random.choice(others), wire.exists(path, watch))

    def _tell_another(self, session: _Session) -> None:
        """Send a write, and tell another session when it is done."""
        others = [each for each in self._sessions if each.is_ready and each is not session]
        xid = self._send(session, self._set(session))
        if xid and others:
            self._awaited[session.number, xid] = self._random.choice(others)

    def _sync_and_read(self, session: _Session) -> None:
        """Let a session sync, two times in three, and then read."""
        if session.is_ready:
            if self._random.random() < 0.67:
                self._send(session, wire.sync(self.root))
            self._send(session, wire.get_data(self._random.choice(self._registers)))

    # The requests.

    @property
    def _registers(self) -> list[str]:
        return [f"{self.root}/r{number}" for number in range(4)]

    def _set(self, session: _Session) -> wire.Part:
        """Set a register to unique data; a third of these requests expect a version, mostly the right one."""
        path, version = self._random.choice(self._registers), wire.NOTHING_EXPECTED
        if self._random.random() < 0.33:
            version = self._versions.get(path, 0) + (5 if self._random.random() < 0.1 else 0)
        return wire.set_data(path, self._value(session), version)

    def _value(self, session: _Session) -> bytes:
        return f"{session.number}.{self.requests}".encode()

    def _draw(self, session: _Session) -> Iterable[wire.Part]:
        """Draw a request, or two that belong together."""
        [draw] = self._random.choices(self._draws, cum_weights=self._shares)
        return draw(session)

    def _draw_set(self, session: _Session) -> Iterable[wire.Part]:
        return [self._set(session)]

    def _draw_get(self, session: _Session) -> Iterable[wire.Part]:
        paths = [*self._registers, f"{self.root}/m0", f"{self.root}/m1", self._child()]
        return [wire.get_data(self._random.choice(paths), self._random.random() < 0.5)]

    def _child(self) -> str:
        return f"{self.root}/p/{self._random.randrange(3)}"

    def _own(self, session: _Session) -> str:
        return f"{self.root}/e/{session.number}-{self._random.randrange(3)}"

    def _draw_exists(self, session: _Session) -> Iterable[wire.Part]:
        other = self._random.choice(self._sessions)
        registers, passing = self._random.choice(self._registers), self._passing[-20:] or [self.root]
        path = self._random.choice((self._child(), self._own(other), registers, self._random.choice(passing)))
        return [wire.exists(path, self._random.random() < 0.5)]

    def _draw_children(self, session: _Session) -> Iterable[wire.Part]:
        path = f"{self.root}/{self._random.choice('pqec')}"
        return [wire.get_children2(path, self._random.random() < 0.5)]

    def _draw_child(self, session: _Session) -> Iterable[wire.Part]:
        path, kind = self._child(), self._random.random()
        if kind < 0.2:
            return [wire.set_data(path, self._value(session)), wire.exists(f"{self.root}/p")]
        if kind < 0.6:
            return [wire.create(path, self._value(session))]
        return [wire.delete(path, self._random.choice((-1, -1, 0, 1)))]

    def _draw_numbered(self, session: _Session) -> Iterable[wire.Part]:
        if len(self._numbered) > 5 and self._random.random() < 0.5:
            return [wire.delete(self._numbered.pop(self._random.randrange(len(self._numbered))))]
        if self._random.random() < 0.2:
            return [wire.create(f"{self.root}/q/plain-{session.number}-{self.requests}", b"")]
        flags = wire.SEQUENTIAL | (wire.EPHEMERAL if self._random.random() < 0.2 else 0)
        return [wire.create(f"{self.root}/q/{self._random.choice('ab')}-", self._value(session), flags)]

    def _draw_own(self, session: _Session) -> Iterable[wire.Part]:
        kind = self._random.random()
        if kind < 0.2:
            return [wire.delete(self._own(session))]
        path = self._own(session) if kind < 0.6 else self._new(session, "e")
        return [wire.create(path, self._value(session), wire.EPHEMERAL)]

    def _new(self, session: _Session, parent: str) -> str:
        """Return the path of a node that nobody has created."""
        self._passing.append(f"{self.root}/{parent}/{session.number}-{self.requests}")
        return self._passing[-1]

    def _draw_container(self, session: _Session) -> Iterable[wire.Part]:
        """Create a container with a node, and mostly delete the node, so that the service deletes the container."""
        path = self._new(session, "c")
        made = [wire.create(path, b"", wire.CONTAINER), wire.create(f"{path}/x", self._value(session))]
        return [*made, wire.delete(f"{path}/x")] if self._random.random() < 0.7 else made

    def _draw_with_ttl(self, session: _Session) -> Iterable[wire.Part]:
        return [wire.create_with_ttl(self._new(session, "c"), b"", self._random.choice((500, 60_000)))]

    def _draw_multi(self, session: _Session) -> Iterable[wire.Part]:
        one, other = f"{self.root}/m0", f"{self.root}/m1"
        data = self._value(session)
        sets = [wire.set_data(one, data), wire.set_data(other, data)]
        kind = self._random.random()
        if kind < 0.15:
            return [wire.multi([sets[0], wire.check(other, 1 << 30), sets[1]])]
        if kind < 0.25:
            numbered = wire.create(f"{self.root}/q/a-", data, wire.SEQUENTIAL)
            return [wire.multi([numbered, wire.check(other, 1 << 30)])]
        if kind < 0.4:
            return [wire.multi([*sets, wire.set_data(one, data + b"'")])]
        if kind < 0.5:
            path = self._child()
            return [wire.multi([wire.create(path, data), wire.check(path, 0), *sets])]
        return [wire.multi(sets)]

    def _draw_multi_read(self, session: _Session) -> Iterable[wire.Part]:
        paths = [f"{self.root}/m0", f"{self.root}/m1", self._child()]
        return [wire.multi(map(wire.get_data, paths), wire.MULTI_READ)]

    def _draw_sync(self, session: _Session) -> Iterable[wire.Part]:
        return [wire.sync(self.root), wire.get_data(self._random.choice(self._registers))]

    def _draw_watch(self, session: _Session) -> Iterable[wire.Part]:
        path = self._random.choice((f"{self.root}/p", self._child(), *self._registers))
        if self._random.random() < 0.3:
            return [wire.add_watch(f"{self.root}/p", is_recursive=True)]
        return [wire.remove_watches(path) if self._random.random() < 0.6 else wire.add_watch(path, is_recursive=False)]

    def _draw_permissions(self, session: _Session) -> Iterable[wire.Part]:
        return [wire.set_open_permissions(self._random.choice(self._registers))]

    # The end.

    def finish(self) -> None:
        """Wait for open requests, let each session read once more, delete all nodes, and end all sessions."""
        if self._disturbance is not None:
            self._disturbance.finish()
        for session in self._sessions:
            session.silent_until = 0.0
            if session.is_served() or session.connect(self._targets[0]):
                for path in self._registers:
                    session.send(wire.get_data(path))
                session.settle()
        self._look_for_ends()
        self._ask_for_refusals()
        for session in self._sessions[1:]:
            session.close()
        last = self._sessions[0]
        if last.is_connected or any(last.connect(target) for target in self._targets):
            self._clear(last, self.root)
            last.close()
        for session in self._sessions:
            session.lose()

    def _look_for_ends(self) -> None:
        """Look for containers and nodes with a time to live, which the service may have deleted."""
        made = [path for path in self._passing if path.startswith(f"{self.root}/c/")]
        session = next((each for each in self._sessions if each.is_connected), None)
        if session is not None:
            for path in made[:: 1 + len(made) // _LOOKED_FOR]:
                session.send(wire.exists(path))
            session.settle()

    def _ask_for_refusals(self) -> None:
        """Send writes in turn with writes that permissions forbid: all have to be answered in the order sent."""
        session = next((each for each in self._sessions if each.is_connected), None)
        if session is not None:
            path = f"{self.root}/closed"
            session.ask(wire.create(path, b""))
            session.ask(wire.forbid_writes(path))
            for _ in range(_REFUSALS):
                self._send(session, wire.set_data(self._registers[0], self._value(session)))
                self._send(session, wire.set_data(path, self._value(session)))
            session.settle()

    def _clear(self, session: _Session, path: str) -> None:
        listed = session.ask(wire.get_children2(path))
        for name in listed.children or () if listed is not None else ():
            self._clear(session, f"{path}/{name}")
        session.ask(wire.delete(path))

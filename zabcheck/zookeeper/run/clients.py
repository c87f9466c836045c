"""The clients that write while the ensemble is broken, one for each server, and the answers that they get.

A write is the creation of a node of its own, which is never changed or deleted: so an acknowledged write can be
looked for on every server at the end, and be named by its path.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic, sleep
from typing import Any

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException, NoNodeError, SessionExpiredError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.interfaces import IAsyncResult
from kazoo.retry import KazooRetry

from zabcheck.zookeeper.recording.folder import now
from zabcheck.zookeeper.recording.records import (
    Acknowledged,
    Asked,
    NodeState,
    NotRead,
    Read,
    Record,
    Session,
    Unanswered,
)
from zabcheck.zookeeper.run.tree import OURS, WINDOW
from zabcheck.zookeeper.wire.client import content_of

_POLL = 0.05
"""Seconds until a client whose session has expired looks for its next one."""

_quiet = logging.getLogger("zabcheck.kazoo")
for _logger in (_quiet, logging.getLogger("kazoo")):
    _logger.addHandler(logging.NullHandler())
    _logger.propagate = False


class Client:
    """Client `number`, of the server with the same number; until it is closed it connects again and again."""

    def __init__(self, number: int, port: int, record: Callable[[Record], None], session: float) -> None:
        """`session`: seconds after which the leader forgets the client."""
        self.number = number
        self._record = record
        self._asked = 0
        self._answered = 0
        self._session: int | None = None
        again = KazooRetry(max_tries=-1, delay=0.05, backoff=2, max_delay=0.1)
        self._kazoo = KazooClient(f"127.0.0.1:{port}", session, connection_retry=again, logger=_quiet)
        self._kazoo.add_listener(self._changed)
        self._kazoo.start_async()

    @property
    def connected(self) -> bool:
        return bool(self._kazoo.connected)

    @property
    def outstanding(self) -> int:
        """Count the writes that wait for an answer."""
        return self._asked - self._answered

    @property
    def may_write(self) -> bool:
        """Return True if the window has room for one more write."""
        return self.outstanding < WINDOW

    def write(self, size: int) -> None:
        """Ask for the creation of a node with `size` bytes in it; the answer is recorded when it comes."""
        self._asked += 1
        path = f"/c{self.number}-{self._asked}"
        self._record(Asked(now(), self.number, self._asked, path, size))
        result = self._kazoo.create_async(path, b"z" * size, include_data=True)
        result.rawlink(partial(self._answer, self._asked))

    def _answer(self, number: int, result: IAsyncResult) -> None:
        try:
            _, stat = result.get_nowait()
            self._record(Acknowledged(now(), self.number, number, stat.czxid, self.number))
        except (KazooException, KazooTimeoutError) as error:
            self._record(Unanswered(now(), self.number, number, type(error).__name__))
        finally:
            self._answered += 1  # in kazoo's thread only

    def _changed(self, state: str) -> None:
        if state == KazooState.CONNECTED and self._kazoo.client_id[0] != self._session:
            self._session = self._kazoo.client_id[0]
            self._record(Session(now(), self.number, self._session, self.number))

    def read_all(self, seconds: float) -> Read | NotRead:
        """Do a sync, then read the nodes that clients created. Takes `seconds` at most.

        This uses the session that the client has: a new one would be one more transaction. If that session has expired,
        as when threads of its server were held for long, the client gets a new one by itself, and reads in that.
        """
        until = monotonic() + seconds
        while True:
            try:
                return self._read(until)
            except SessionExpiredError as error:
                if monotonic() >= until:
                    return self._not_read(error)
                sleep(_POLL)
            except (KazooException, KazooTimeoutError) as error:
                return self._not_read(error)

    def _read(self, until: float) -> Read:
        def answer(result: IAsyncResult) -> Any:
            return result.get(timeout=max(0.0, until - monotonic()))

        answer(self._kazoo.sync_async("/"))
        reached = self._kazoo.last_zxid
        names = sorted(name for name in answer(self._kazoo.get_children_async("/")) if OURS.match(name))
        asked = [(f"/{name}", self._kazoo.get_async(f"/{name}")) for name in names]
        states = []
        for path, result in asked:
            with suppress(NoNodeError):  # its session has just ended
                data, stat = answer(result)
                owner = stat.ephemeralOwner
                states.append(NodeState(path, stat.czxid, stat.mzxid, stat.version, content_of(data), owner))
        nodes = tuple((state.path, state.created) for state in states if state.path.startswith("/c"))
        return Read(now(), self.number, nodes, tuple(states), reached)

    def _not_read(self, error: Exception) -> NotRead:
        return NotRead(now(), self.number, f"{type(error).__name__}: {error}".rstrip(": "))

    def close(self) -> None:
        """Close the connection."""
        _close(self._kazoo)


def _close(kazoo: KazooClient) -> None:
    # It says goodbye to the server first; that fails if the server is gone, and closing does not depend on it.
    with suppress(OSError, KazooException):
        kazoo.stop()
    with suppress(OSError, KazooException):
        kazoo.close()

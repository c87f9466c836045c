"""Choices for sessions, which change, delete and read nodes, end, or move to another server.

Each server has a session that begins with the first of these choices that names the server. The session has a node of
its own, whose data is set again and again, and makes others, which are deleted or end with it. The nodes that `write`
creates are left alone. No choice waits for answers.
"""

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from zabcheck.zookeeper.run.choices.choice import Choice, Role, Size
from zabcheck.zookeeper.run.sessions import WINDOW, own_node
from zabcheck.zookeeper.run.undone import NotApplicable, OnlySome

if TYPE_CHECKING:
    from zabcheck.zookeeper.run.ensemble import AnySessionClient
    from zabcheck.zookeeper.run.running import Running  # it loads the clients' library

_Count = Annotated[int, Meta(ge=1, le=100)]
Way = Literal["data", "exists", "persistent", "children"]
WAYS: tuple[Way, ...] = ("data", "exists", "persistent")
"""The ways in which a session can watch a node that is set."""
NO_CONNECTION = "no server has the session"


class SessionChoice(Choice, frozen=True):
    """Base of the choices for a session: the one that began at `server`, wherever it is connected now."""

    server: Role


class Requests(SessionChoice, frozen=True):
    """Base of the choices for `count` requests of a session, which begins with them unless there is one."""

    count: _Count = 1

    def ask(self, run: "Running", client: "AnySessionClient") -> bool:
        """Send one request. Return False if it cannot be sent."""
        raise NotImplementedError

    def apply(self, run: "Running") -> None:
        client = run.sessions.ready(run.number(self.server))
        if client is None:
            raise OnlySome(0, NO_CONNECTION)
        for done in range(self.count):
            if client.outstanding >= WINDOW or not self.ask(run, client):
                run.sessions.check()  # an answer that cannot be understood has ended the connection
                raise OnlySome(done, "nothing is answered, or nothing is left")


class SetData(Requests, frozen=True):
    """Requests of the session that set data of `size` bytes, `count` times: of its own node, or that of session `of`.

    With `versioned` each request expects the version that the node has if nobody else changes it, so some are refused.
    """

    size: Size = 10
    of: Role | None = None
    versioned: bool = False

    def words(self) -> str:
        node, version = self.of or self.server, "its version" if self.versioned else "any version"
        times = _times(self.count)
        return f"the session of {self.server} sets {self.size} bytes at the node of {node}{times}, at {version}"

    def ask(self, run: "Running", client: "AnySessionClient") -> bool:
        path = own_node(run.number(self.of or self.server))
        return run.sessions.set_data(client, path, self.size, self.versioned)


class Multi(Requests, frozen=True):
    """Transactions of the session that create a node and set the data of its own node at once; `count` of them."""

    def words(self) -> str:
        return f"the session of {self.server} creates a node and sets its own at once{_times(self.count)}"

    def ask(self, run: "Running", client: "AnySessionClient") -> bool:
        return run.sessions.multi(client, run.number(self.server))


class Delete(Requests, frozen=True):
    """Requests of the session that delete the oldest `count` of the nodes that its multis created."""

    def words(self) -> str:
        return f"the session of {self.server} deletes {self.count} of its nodes"

    def ask(self, run: "Running", client: "AnySessionClient") -> bool:
        return run.sessions.delete(client, run.number(self.server))


class Ephemeral(Requests, frozen=True):
    """Requests of the session that create `count` nodes, which are to be gone when it ends."""

    def words(self) -> str:
        return f"the session of {self.server} creates {self.count} ephemeral nodes"

    def ask(self, run: "Running", client: "AnySessionClient") -> bool:
        return run.sessions.create_ephemeral(client)


class Get(Requests, frozen=True):
    """Requests of the session that read its own node, or that of session `of`, `count` times."""

    of: Role | None = None

    def words(self) -> str:
        return f"the session of {self.server} reads the node of {self.of or self.server}{_times(self.count)}"

    def ask(self, run: "Running", client: "AnySessionClient") -> bool:
        return run.sessions.get(client, own_node(run.number(self.of or self.server)))


class Sync(Requests, frozen=True):
    """Requests of the session for a sync, `count` times: what was answered to anybody before is to be there then."""

    def words(self) -> str:
        return f"the session of {self.server} asks for a sync{_times(self.count)}"

    def ask(self, run: "Running", client: "AnySessionClient") -> bool:
        return run.sessions.sync(client)


class Forbidden(Requests, frozen=True):
    """Requests of the session that set the data of a node that clients may only read, `count` times.

    The node is that of the ensemble's configuration, which is there from the beginning.
    """

    def words(self) -> str:
        return f"the session of {self.server} sets what it may not set{_times(self.count)}"

    def ask(self, run: "Running", client: "AnySessionClient") -> bool:
        return run.sessions.set_forbidden(client)


class Watch(SessionChoice, frozen=True):
    """The session watches its own node, or that of session `of`: with a read, with exists, or for good (addWatch).

    Or it watches the children of the root, which are the nodes that all create and delete. The watch ends with the
    connection.
    """

    of: Role | None = None
    how: Way = "data"

    def words(self) -> str:
        if self.how == "children":
            return f"the session of {self.server} watches the children of the root"
        how = {"data": "with a read", "exists": "with exists", "persistent": "for good"}[self.how]
        return f"the session of {self.server} watches the node of {self.of or self.server} {how}"

    def apply(self, run: "Running") -> None:
        client = run.sessions.ready(run.number(self.server))
        path = "/" if self.how == "children" else own_node(run.number(self.of or self.server))
        if client is None or not run.sessions.watch(client, path, self.how):
            run.sessions.check()
            raise OnlySome(0, NO_CONNECTION)


class EndSession(SessionChoice, frozen=True):
    """The session is closed; or it falls silent until its time is over, and then hears that it has expired.

    The next choice for `server` begins a new one.
    """

    how: Literal["close", "expire"] = "close"

    def words(self) -> str:
        return f"the session of {self.server} {'is closed' if self.how == 'close' else 'expires'}"

    def apply(self, run: "Running") -> None:
        if run.sessions.begun(run.number(self.server)) is None:
            raise NotApplicable("it has not begun")
        client = run.sessions.ready(run.number(self.server))
        if client is None:
            raise OnlySome(0, NO_CONNECTION)
        if self.how == "expire":
            client.fall_silent()
        elif not run.sessions.close(client):
            run.sessions.check()
            raise OnlySome(0, NO_CONNECTION)


class Move(SessionChoice, frozen=True):
    """The session leaves its server and goes on at server `to`; requests that have no answer then get none."""

    to: Role

    def words(self) -> str:
        return f"the session of {self.server} moves to {self.to}"

    def apply(self, run: "Running") -> None:
        client = run.sessions.begun(run.number(self.server))
        if client is None:
            raise NotApplicable("it has not begun")
        run.sessions.move(client, run.number(self.to))


def _times(count: int) -> str:
    return "" if count == 1 else f", {count} times"

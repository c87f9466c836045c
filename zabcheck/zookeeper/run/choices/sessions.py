"""Choices for sessions, which change, delete and read nodes, end, or move to another server.

Each server has a session that begins with the first of these choices that names the server. The session has a node of
its own, whose data is set again and again, and makes others, which are deleted or end with it. The nodes that `write`
creates are left alone. No choice waits for answers.
"""

from typing import Annotated, Literal

from msgspec import Meta

from zabcheck.zookeeper.run.choices.choice import Choice, Role, Size

_Count = Annotated[int, Meta(ge=1, le=100)]


class SessionChoice(Choice, frozen=True):
    """Base of the choices for a session: the one that began at `server`, wherever it is connected now."""

    server: Role


class SetData(SessionChoice, frozen=True):
    """Requests of the session that set data of `size` bytes, `count` times: of its own node, or that of session `of`.

    With `versioned` each request expects the version that the node has if nobody else changes it, so some are refused.
    """

    count: _Count = 1
    size: Size = 10
    of: Role | None = None
    versioned: bool = False

    @property
    def words(self) -> str:
        node, version = self.of or self.server, "its version" if self.versioned else "any version"
        times = _times(self.count)
        return f"the session of {self.server} sets {self.size} bytes at the node of {node}{times}, at {version}"


class Multi(SessionChoice, frozen=True):
    """Transactions of the session that create a node and set the data of its own node at once; `count` of them."""

    count: _Count = 1

    @property
    def words(self) -> str:
        return f"the session of {self.server} creates a node and sets its own at once{_times(self.count)}"


class Delete(SessionChoice, frozen=True):
    """Requests of the session that delete the oldest `count` of the nodes that its multis created."""

    count: _Count = 1

    @property
    def words(self) -> str:
        return f"the session of {self.server} deletes {self.count} of its nodes"


class Ephemeral(SessionChoice, frozen=True):
    """Requests of the session that create `count` nodes, which are to be gone when it ends."""

    count: _Count = 1

    @property
    def words(self) -> str:
        return f"the session of {self.server} creates {self.count} ephemeral nodes"


class Get(SessionChoice, frozen=True):
    """Requests of the session that read its own node, or that of session `of`, `count` times."""

    count: _Count = 1
    of: Role | None = None

    @property
    def words(self) -> str:
        return f"the session of {self.server} reads the node of {self.of or self.server}{_times(self.count)}"


class EndSession(SessionChoice, frozen=True):
    """The session is closed; or it falls silent until its time is over, and then hears that it has expired.

    The next choice for `server` begins a new one.
    """

    how: Literal["close", "expire"] = "close"

    @property
    def words(self) -> str:
        return f"the session of {self.server} {'is closed' if self.how == 'close' else 'expires'}"


class Move(SessionChoice, frozen=True):
    """The session leaves its server and goes on at server `to`; requests that have no answer then get none."""

    to: Role

    @property
    def words(self) -> str:
        return f"the session of {self.server} moves to {self.to}"


def _times(count: int) -> str:
    return "" if count == 1 else f", {count} times"

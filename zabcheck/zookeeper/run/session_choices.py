"""What a schedule can have a session do: change, delete and read nodes, end, or move to another server.

Each server has a session that begins with the first of these choices that names the server. The session has a node of
its own, whose data is set again and again, and makes others, which are deleted or end with it. The nodes that `write`
creates are left alone. No choice waits for answers.
"""

from typing import Annotated, Literal

from msgspec import Meta

from zabcheck.zookeeper.run.choice import Choice, Role

_Count = Annotated[int, Meta(ge=1, le=100)]


class SessionChoice(Choice, frozen=True):
    """Base of the choices for a session: the one that began at `server`, wherever it is connected now."""

    server: Role


class SetData(SessionChoice, frozen=True):
    """The session sets data of `size` bytes, `count` times: that of its own node, or of the one of the session of `of`.

    With `versioned` each request expects the version that the node has if nobody else changes it, so some are refused.
    """

    count: _Count = 1
    size: Annotated[int, Meta(ge=0, le=900_000)] = 10
    of: Role | None = None
    versioned: bool = False


class Multi(SessionChoice, frozen=True):
    """The session creates a node and sets the data of its own, both in one transaction; `count` times."""

    count: _Count = 1


class Delete(SessionChoice, frozen=True):
    """The session deletes the oldest `count` of the nodes that its multis created."""

    count: _Count = 1


class Ephemeral(SessionChoice, frozen=True):
    """The session creates `count` nodes that are to be gone when it ends."""

    count: _Count = 1


class Get(SessionChoice, frozen=True):
    """The session reads its own node, or the one of the session of `of`, `count` times."""

    count: _Count = 1
    of: Role | None = None


class EndSession(SessionChoice, frozen=True):
    """The session is closed; or it falls silent until its time is over, and then hears what became of it.

    The next choice for `server` begins a new one.
    """

    how: Literal["close", "expire"] = "close"


class Move(SessionChoice, frozen=True):
    """The session leaves its server and goes on at server `to`; what has no answer then gets none."""

    to: Role


def session_in_words(choice: SessionChoice) -> str:
    """Say such a choice to a reader, in one line."""
    match choice:
        case SetData(server, count, size, of, versioned):
            which = "its version" if versioned else "any version"
            return f"the session of {server} sets {size} bytes at the node of {of or server}{_times(count)}, at {which}"
        case Multi(server, count):
            return f"the session of {server} creates a node and sets its own at once{_times(count)}"
        case Delete(server, count):
            return f"the session of {server} deletes {count} of its nodes"
        case Ephemeral(server, count):
            return f"the session of {server} creates {count} ephemeral nodes"
        case Get(server, count, of):
            return f"the session of {server} reads the node of {of or server}{_times(count)}"
        case EndSession(server, how):
            return f"the session of {server} {'is closed' if how == 'close' else 'expires'}"
        case Move(server, to):
            return f"the session of {server} moves to {to}"
    raise AssertionError(choice)


def _times(count: int) -> str:
    return "" if count == 1 else f", {count} times"

"""The choices that act on a thread of a server at a named point, or on its power (docs/zookeeper-points.md)."""

from typing import Annotated, Literal

from msgspec import Meta

from zabcheck.zookeeper.run.choice import Choice, Role

_Nth = Annotated[int, Meta(ge=1, le=1_000_000)]
_Seconds = Annotated[float, Meta(ge=0, le=30)]


class AtPoint(Choice, frozen=True):
    """Base of the choices that name a point in a thread (docs/zookeeper-points.md)."""

    server: Role
    point: str


class Stop(AtPoint, frozen=True):
    """Hold the `nth` thread of `server` that comes to `point` from now on, or from the server's start if it is down.

    Only that thread stands still. Until it comes the choices go on.
    """

    nth: _Nth = 1


class AwaitStop(AtPoint, frozen=True):
    """Wait until the thread of `server` has come to `point` that is held, killed or fails there; `seconds` at most."""

    seconds: _Seconds = 10.0


class Step(AtPoint, frozen=True):
    """Let the thread of `server` that is held at `point` go on to the next line, over calls, where it is held again."""


class Go(AtPoint, frozen=True):
    """Let the thread of `server` that is held at `point` go on, and stop none there any more."""


class KillAtPoint(AtPoint, frozen=True):
    """kill -9 of `server` when its `nth` thread comes to `point`, before the next instruction."""

    nth: _Nth = 1


class Fail(AtPoint, frozen=True):
    """The `nth` thread of `server` that comes to `point` throws an IOException there, as if the disk were full."""

    nth: _Nth = 1


class PowerLoss(Choice, frozen=True):
    """The power of `server` fails: when its `nth` thread comes to `point`, or at once if that is empty.

    The server is killed, and its folder cut: of what its log holds that was never forced to the disk, `records` whole
    records are kept, and `bytes` bytes of the next. A new file of which nothing is kept is empty if `bytes` is 0, and
    not there without `bytes`. `snapshots` that were never forced are "kept", or "lost" if they are of this incarnation.
    """

    server: Role
    point: str = ""
    nth: _Nth = 1
    records: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    bytes: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    snapshots: Literal["kept", "lost"] = "kept"


def point_in_words(choice: AtPoint | PowerLoss) -> str:
    """Say a choice to a reader, in one line."""
    match choice:
        case Stop(server, point, nth):
            return f"hold the {_ordinal(nth)}thread of {server} that comes to {point}"
        case AwaitStop(server, point, seconds):
            return f"wait until the thread of {server} has come to {point}, {seconds:g} s at most"
        case Step(server, point):
            return f"let the thread of {server} at {point} go on by a line"
        case Go(server, point):
            return f"let the thread of {server} at {point} go on"
        case KillAtPoint(server, point, nth):
            return f"kill -9 of {server} at the {_ordinal(nth)}{point}"
        case Fail(server, point, nth):
            return f"an IOException at the {_ordinal(nth)}{point} of {server}"
        case PowerLoss(server, point, nth):
            when = f" at the {_ordinal(nth)}{point}" if point else ""
            return f"the power of {server} fails{when}{_kept_in_words(choice)}"
    raise AssertionError(choice)


def _kept_in_words(choice: PowerLoss) -> str:
    """Say what is kept of what was not forced, if anything is."""
    kept = [f"{choice.records} records"] if choice.records else []
    kept += [f"{choice.bytes} bytes" + (" of the next" if choice.records else "")] if choice.bytes is not None else []
    said = f", its log keeps {' and '.join(kept)} that were not forced" if kept else ""
    return said + (", its snapshots that were not forced are lost" if choice.snapshots == "lost" else "")


def _ordinal(number: int) -> str:
    return {1: "next ", 2: "2nd ", 3: "3rd "}.get(number, f"{number}th ")  # nobody stops at the 21st

"""Choices that use the debug agent of a server: threads at named points, power that fails, memory that is read or set.

Points and fields are those of docs/zookeeper-points.md.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta

from zabcheck.zookeeper.run.choices.choice import Choice, Role, Seconds
from zabcheck.zookeeper.run.forces import KeptData

if TYPE_CHECKING:
    from zabcheck.zookeeper.run.running import Running  # it loads the clients' library

_REFUSE_GAPS = ("3.9.4", "3.9.5")
"""The versions in which a follower ends with `Committed proposal cached out of order` where zxids have a gap."""

_Nth = Annotated[int, Meta(ge=1, le=1_000_000)]
_Kept = Annotated[int, Meta(ge=0, le=1_000_000)]


class PointChoice(Choice, frozen=True):
    """Base of the choices that name a point in a thread of `server`."""

    server: Role
    point: str
    needs_agent: ClassVar[bool] = True

    @property
    def at_points(self) -> tuple[tuple[Role, str], ...]:
        return ((self.server, self.point),)


class Stop(PointChoice, frozen=True):
    """The `nth` thread of `server` that comes to `point` is held there.

    Counts threads from now on, or from the server's start if it is down. Only that thread stands still. The choices
    that follow do not wait for it.
    """

    nth: _Nth = 1

    def words(self) -> str:
        return f"hold the {_ordinal(self.nth)}thread of {self.server} that comes to {self.point}"

    def apply(self, run: "Running") -> None:
        run.stops.stop(run.number(self.server), self.point, self.nth)


class AwaitStop(PointChoice, frozen=True):
    """A wait until the thread of `server` that is held, killed or fails at `point` is there; `seconds` at most."""

    seconds: Seconds = 10.0

    def words(self) -> str:
        return f"wait until the thread of {self.server} has come to {self.point}, {self.seconds:g} s at most"

    def apply(self, run: "Running") -> None:
        run.stops.wait(run.number(self.server), self.point, run.patience(self.seconds), explain=not run.exact)
        run.stops.check_kept()


class Step(PointChoice, frozen=True):
    """The thread of `server` that is held at `point` goes on to the next line, over calls, where it is held again."""

    def words(self) -> str:
        return f"let the thread of {self.server} at {self.point} go on by a line"

    def apply(self, run: "Running") -> None:
        number = run.number(self.server)
        run.await_held(number, self.point)
        run.stops.step(number, self.point)


class Go(PointChoice, frozen=True):
    """The thread of `server` that is held at `point` goes on, and no more threads are held there."""

    def words(self) -> str:
        return f"let the thread of {self.server} at {self.point} go on"

    def apply(self, run: "Running") -> None:
        number = run.number(self.server)
        run.await_held(number, self.point)
        run.stops.go(number, self.point)


class KillAtPoint(PointChoice, frozen=True):
    """kill -9 of `server` when its `nth` thread comes to `point`, before the next instruction."""

    nth: _Nth = 1

    def words(self) -> str:
        return f"kill -9 of {self.server} at the {_ordinal(self.nth)}{self.point}"

    def apply(self, run: "Running") -> None:
        run.stops.stop(run.number(self.server), self.point, self.nth, "killed")


class Fail(PointChoice, frozen=True):
    """The `nth` thread of `server` that comes to `point` throws an IOException there, as if the disk were full.

    If another failure is to come there already, this one waits its turn, and counts threads from then on.
    """

    nth: _Nth = 1

    def words(self) -> str:
        return f"an IOException at the {_ordinal(self.nth)}{self.point} of {self.server}"

    def apply(self, run: "Running") -> None:
        run.stops.stop(run.number(self.server), self.point, self.nth, "failed")


class PowerLoss(Choice, frozen=True):
    """The power of `server` fails: when its `nth` thread comes to `point`, or at once if that is empty.

    The server is killed, and its folder cut: of the records in its log that were never forced to the disk, `records`
    whole ones are kept, and `bytes` bytes of the next. A new file of which nothing is kept is empty if `bytes` is 0,
    and not there without `bytes`. `snapshots` that were never forced are "kept", or "lost" if they are of this
    incarnation. `renames` are "kept", or "undone" if nothing was forced since: files of epochs, and forced snapshots,
    then have the names that they were written under.
    """

    server: Role
    point: str = ""
    nth: _Nth = 1
    records: _Kept = 0
    bytes: _Kept | None = None
    snapshots: Literal["kept", "lost"] = "kept"
    renames: Literal["kept", "undone"] = "kept"
    needs_agent: ClassVar[bool] = True

    @property
    def at_points(self) -> tuple[tuple[Role, str], ...]:
        return ((self.server, self.point),) if self.point else ()

    def words(self) -> str:
        when = f" at the {_ordinal(self.nth)}{self.point}" if self.point else ""
        return f"the power of {self.server} fails{when}{self._kept()}"

    def apply(self, run: "Running") -> None:
        kept = KeptData(self.records, self.bytes, self.snapshots == "kept", self.renames == "kept")
        if self.point:
            run.stops.stop(run.number(self.server), self.point, self.nth, kept)
        else:
            run.stops.cut_power(run.number(self.server), kept)

    def plainer(self) -> list[Choice]:
        plain = PowerLoss(self.server, self.point, self.nth)
        return [] if plain == self else [plain]

    def _kept(self) -> str:
        """Describe how much is kept that was not forced, if anything is."""
        kept = [f"{self.records} records"] if self.records else []
        kept += [f"{self.bytes} bytes" + (" of the next" if self.records else "")] if self.bytes is not None else []
        said = f", its log keeps {' and '.join(kept)} that were not forced" if kept else ""
        said += ", its snapshots that were not forced are lost" if self.snapshots == "lost" else ""
        return said + (", its renamed files have their old names again" if self.renames == "undone" else "")


class ReadFields(Choice, frozen=True, tag="read"):
    """A look at `fields` of the memory of `server`, for the recording; best while a thread of it is held."""

    server: Role
    fields: Annotated[tuple[str, ...], Meta(min_length=1)]
    needs_agent: ClassVar[bool] = True

    @property
    def memory_fields(self) -> tuple[str, ...]:
        return self.fields

    def words(self) -> str:
        return f"read {', '.join(self.fields)} of {self.server}"

    def apply(self, run: "Running") -> None:
        run.stops.read(run.number(self.server), self.fields)


class RollOver(Choice, frozen=True):
    """The counter of `server`, which has to lead, is set in its memory: after `left` transactions it rolls over.

    The leader must not be broadcasting then, so `settle` comes before.
    """

    server: Role
    left: Annotated[int, Meta(ge=0, le=1000)] = 16
    needs_agent: ClassVar[bool] = True

    def words(self) -> str:
        return f"the counter of {self.server} is to roll over after {self.left} transactions"

    def apply(self, run: "Running") -> None:
        run.stops.roll_over(run.number(self.server), self.left)

    def refusal(self, zookeeper: str) -> str:
        if zookeeper.startswith(_REFUSE_GAPS):
            return f"`rollover` leaves a gap in the zxids, and ZooKeeper {zookeeper} refuses gaps"
        return ""


def _ordinal(number: int) -> str:
    return {1: "next ", 2: "2nd ", 3: "3rd "}.get(number, f"{number}th ")  # nobody stops at the 21st

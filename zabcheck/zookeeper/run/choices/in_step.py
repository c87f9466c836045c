"""Choices that keep an ensemble in step with a run of the model, packet by packet.

A schedule of these begins with `gate`: fresh servers start one by one, nobody can elect, and no packet of Zab passes
unless a choice says so. `zabcheck.zookeeper.conformance.on_servers` writes these schedules.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from msgspec import Meta, field

from zabcheck.zookeeper.debugger.fields import FIELDS, STATES
from zabcheck.zookeeper.disk.contents import DiskError, scan
from zabcheck.zookeeper.recording.records import Differed
from zabcheck.zookeeper.run.choices.choice import Choice, Role
from zabcheck.zookeeper.run.ensemble import EnsembleError
from zabcheck.zookeeper.wire.zxids import shown

if TYPE_CHECKING:
    from zabcheck.zookeeper.run.running import Running  # it loads the clients' library

_Zxid = Annotated[int, Meta(ge=-1, le=2**63 - 1)]
PATIENCE = 15.0
"""Seconds that servers get to do what is expected of them. They take milliseconds, but a machine may be busy."""
_FROM_FOLLOWER = frozenset(("FOLLOWERINFO", "ACKEPOCH", "ACK"))


class Apart(EnsembleError):
    """The servers do something else than the model. The message is one line."""


class Deviation(NamedTuple):
    """One thing that the model and a server do not agree on."""

    field: str
    model: str
    server: str


class InStepChoice(Choice, frozen=True):
    """Base of the choices that keep an ensemble in step."""

    needs_agent: ClassVar[bool] = True


class OpenedGate(InStepChoice, frozen=True, tag="gate"):
    """The first choice: the servers are not started yet, A is the one with the highest number, and so on down.

    From here on each packet of Zab, and each end of a connection, waits until a choice lets it pass; nobody can elect.
    """

    def words(self) -> str:
        return "let packets pass one by one, and nobody elect"

    def apply(self, run: "Running") -> None:
        run.proxy.gate()


class Meet(InStepChoice, frozen=True):
    """The servers of these roles can elect one of them, and nobody else can elect anybody; without any, nobody can.

    With `around` each hears only that one: else others that are a quorum might elect another before they hear of it.
    """

    servers: tuple[Role, ...]
    around: Role | None = None

    @property
    def roles(self) -> Iterator[tuple[str, Role]]:
        yield from (("servers", each) for each in self.servers)
        if self.around is not None:
            yield "around", self.around

    def words(self) -> str:
        if not self.servers:
            return "let nobody elect any more"
        hearing = f", who hear {self.around} only" if self.around else ""
        return f"let {', '.join(self.servers)} elect one of them{hearing}"

    def apply(self, run: "Running") -> None:
        around = run.number(self.around) if self.around else None
        run.proxy.meet([run.number(each) for each in self.servers], around)


class LetThrough(InStepChoice, frozen=True, tag="pass"):
    """The packet that waits from `sender` to `receiver` passes, which is of this kind and has this zxid (packed).

    The connection is the newest that the follower of the two has opened. ACK is also that of NEWLEADER.
    """

    sender: Role
    receiver: Role
    kind: str
    zxid: _Zxid | None = None

    def words(self) -> str:
        return f"pass {self.kind} on {self.sender} → {self.receiver}"

    def apply(self, run: "Running") -> None:
        sender, receiver = run.number(self.sender), run.number(self.receiver)
        client = sender if self.kind in _FROM_FOLLOWER else receiver

        def passes() -> bool:
            waiting = run.proxy.under_way(sender, receiver, client)
            if not waiting:
                return False
            if not self._is_meant(*waiting[0]):
                self._differ(run, _packet(*waiting[0]))
            return run.proxy.let_through(sender, receiver, client)

        if not run.ensemble.await_patiently(PATIENCE, passes):
            self._differ(run, "none")

    def _is_meant(self, kind: str, zxid: int | None) -> bool:
        return kind == self.kind and (self.zxid is None or zxid in (None, self.zxid))

    def _differ(self, run: "Running", seen: str) -> None:
        link = f"the next packet of {self.sender} to {self.receiver}"
        _differ(run, self.sender, Deviation(link, _packet(self.kind, self.zxid), seen))


class Leave(InStepChoice, frozen=True):
    """`server` leaves: as a leader its wait is interrupted, as a follower its connection with `peer` is closed.

    An interrupted wait ends as one that has lasted too long. The other ends of connections stay open.
    """

    server: Role
    peer: Role | None = None

    def words(self) -> str:
        if self.peer is None:
            return f"interrupt the wait of {self.server}, which leads"
        return f"close the end of {self.server} of its connection with {self.peer}"

    def apply(self, run: "Running") -> None:
        if self.peer is None:
            run.stops.interrupt(run.number(self.server))
        else:
            run.proxy.close_ends(run.number(self.server), run.number(self.peer), ended=False)


class NoticeEnd(InStepChoice, frozen=True, tag="notice"):
    """`server`, which leads, notices that `peer` has closed its connection."""

    server: Role
    peer: Role

    def words(self) -> str:
        return f"let {self.server} notice that {self.peer} has closed its connection"

    def apply(self, run: "Running") -> None:
        run.proxy.close_ends(run.number(self.server), run.number(self.peer), ended=True)


class Lose(InStepChoice, frozen=True):
    """The packets under way between `server` and `peer` are lost, and nothing passes on this connection any more."""

    server: Role
    peer: Role

    def words(self) -> str:
        return f"lose what is under way between {self.server} and {self.peer}"

    def apply(self, run: "Running") -> None:
        run.proxy.lose(run.number(self.server), run.number(self.peer))


class Expect(InStepChoice, frozen=True):
    """A comparison of a server with the model after choice number `after` of its schedule; zxids are packed.

    `fields` are those of memory (docs/zookeeper-points.md#fields); `log` has the zxids of the records in the order in
    which they were appended, `snapshots` the labels; None is not compared. `under_way` has the packets that the server
    has sent, by receiver. A server that is not `up` is to be down, whether it was killed or has ended by itself.
    """

    server: Role
    after: int
    up: bool = True
    fields: dict[str, int] = field(default_factory=dict)
    log: tuple[_Zxid, ...] | None = None
    snapshots: tuple[_Zxid, ...] | None = None
    under_way: dict[Role, tuple[str, ...]] = field(default_factory=dict)

    @property
    def memory_fields(self) -> tuple[str, ...]:
        return tuple(self.fields)

    def words(self) -> str:
        return f"compare {self.server} with the model after choice {self.after}"

    def apply(self, run: "Running") -> None:
        found: list[Deviation] = []

        def agree() -> bool:
            found[:] = self._deviations(run)
            return not found

        if not run.ensemble.await_patiently(PATIENCE, agree):
            _differ(run, self.server, found[0])

    def _deviations(self, run: "Running") -> list[Deviation]:
        server = run.server(self.server)
        if server.up != self.up:
            said = {True: "up", False: "down"}
            return [Deviation("process", said[self.up], said[server.up])]
        return [*self._in_memory(run), *self._on_disk(server.data), *self._on_links(run)]

    def _in_memory(self, run: "Running") -> Iterator[Deviation]:
        values = run.stops.fields(run.number(self.server), tuple(self.fields)) if self.fields else {}
        for name, expected in self.fields.items():
            value = None if values is None else values[name]
            if value != expected:
                yield Deviation(name, _value(name, expected), _value(name, value))

    def _on_disk(self, folder: Path) -> Iterator[Deviation]:
        if self.log is None and self.snapshots is None:
            return
        zxids: list[int] = []
        try:
            disk = scan(folder, visit=lambda _, record: zxids.append(record.txn.zxid))
        except (DiskError, OSError) as error:  # it is being written
            yield Deviation("disk", "can be read", str(error))
            return
        labels = tuple(sorted(each.zxid for each in disk.snapshots if each.state == "whole"))
        if self.log is not None and tuple(zxids) != self.log:
            yield Deviation("log", _zxids(self.log), _zxids(zxids))
        if self.snapshots is not None and labels != self.snapshots:
            yield Deviation("snapshots", _zxids(self.snapshots), _zxids(labels))

    def _on_links(self, run: "Running") -> Iterator[Deviation]:
        number = run.number(self.server)
        for role, kinds in self.under_way.items():
            other = run.number(role)
            client = number if kinds and kinds[0] in _FROM_FOLLOWER else other
            seen = tuple(kind for kind, _ in run.proxy.under_way(number, other, client))
            if seen != kinds:
                yield Deviation(f"under way to {role}", ", ".join(kinds), ", ".join(seen) or "nothing")


def _differ(run: "Running", server: Role, difference: Deviation) -> None:
    """Record where a server differs from the model. Raises Apart."""
    run.record(Differed(run.ensemble.now(), run.number(server), *difference))
    field, model, seen = difference
    raise Apart(f"the servers leave the model's run: {server}: {field}: the model has {model}, the server {seen}")


def _packet(kind: str, zxid: int | None) -> str:
    return kind if zxid is None else f"{kind} {shown(zxid)}"


def _value(name: str, value: int | None) -> str:
    if value is None:
        return "none"
    if name == "state" and value in range(len(STATES)):
        return STATES[value]
    return shown(value) if FIELDS[name].zxid else str(value)


def _zxids(zxids: Sequence[int]) -> str:
    return " ".join(map(shown, zxids)) or "empty"

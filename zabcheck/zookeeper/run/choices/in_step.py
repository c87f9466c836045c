"""Choices that keep an ensemble in step with a run of the model, packet by packet.

A schedule of these begins with `gate`: fresh servers start one by one, nobody can elect, and no packet of Zab passes
unless a choice says so. `zabcheck.zookeeper.conformance.on_servers` writes these schedules.
"""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from msgspec import Meta, field

from zabcheck.zookeeper.run.choices.choice import Choice, Role

_Zxid = Annotated[int, Meta(ge=-1, le=2**63 - 1)]
PATIENCE = 15.0
"""Seconds that servers get to do what is expected of them. They take milliseconds, but a machine may be busy."""


class InStepChoice(Choice, frozen=True):
    """Base of the choices that keep an ensemble in step."""

    needs_agent: ClassVar[bool] = True


class OpenedGate(InStepChoice, frozen=True, tag="gate"):
    """The first choice: the servers are not started yet, A is the one with the highest number, and so on down.

    From here on each packet of Zab, and each end of a connection, waits until a choice lets it pass; nobody can elect.
    """

    @property
    def words(self) -> str:
        return "let packets pass one by one, and nobody elect"


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

    @property
    def words(self) -> str:
        if not self.servers:
            return "let nobody elect any more"
        hearing = f", who hear {self.around} only" if self.around else ""
        return f"let {', '.join(self.servers)} elect one of them{hearing}"


class LetThrough(InStepChoice, frozen=True, tag="pass"):
    """The packet that waits from `sender` to `receiver` passes, which is of this kind and has this zxid (packed).

    The connection is the newest that the follower of the two has opened. ACK is also that of NEWLEADER.
    """

    sender: Role
    receiver: Role
    kind: str
    zxid: _Zxid | None = None

    @property
    def words(self) -> str:
        return f"pass {self.kind} on {self.sender} → {self.receiver}"


class Leave(InStepChoice, frozen=True):
    """`server` leaves: as a leader its wait is interrupted, as a follower its connection with `peer` is closed.

    An interrupted wait ends as one that has lasted too long. The other ends of connections stay open.
    """

    server: Role
    peer: Role | None = None

    @property
    def words(self) -> str:
        if self.peer is None:
            return f"interrupt the wait of {self.server}, which leads"
        return f"close the end of {self.server} of its connection with {self.peer}"


class NoticeEnd(InStepChoice, frozen=True, tag="notice"):
    """`server`, which leads, notices that `peer` has closed its connection."""

    server: Role
    peer: Role

    @property
    def words(self) -> str:
        return f"let {self.server} notice that {self.peer} has closed its connection"


class Lose(InStepChoice, frozen=True):
    """The packets under way between `server` and `peer` are lost, and nothing passes on this connection any more."""

    server: Role
    peer: Role

    @property
    def words(self) -> str:
        return f"lose what is under way between {self.server} and {self.peer}"


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

    @property
    def words(self) -> str:
        return f"compare {self.server} with the model after choice {self.after}"

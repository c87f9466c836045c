"""The choices of a schedule that keeps an ensemble in step with a run of the model, packet by packet.

Such a schedule begins with `gate`: fresh servers start one by one, nobody can elect, and no packet of Zab passes unless
a choice says so. `zabcheck.zookeeper.conformance.on_servers` writes these schedules.
"""

from typing import Annotated

from msgspec import Meta, field

from zabcheck.zookeeper.run.choice import Choice, Role

_Zxid = Annotated[int, Meta(ge=-1, le=2**63 - 1)]
PATIENCE = 15.0
"""Seconds that servers get to do what is expected of them. They take milliseconds, but a machine may be busy."""


class InStepChoice(Choice, frozen=True):
    """Base of the choices that keep an ensemble in step."""


class OpenedGate(InStepChoice, frozen=True, tag="gate"):
    """The first choice: the servers are not started yet, A is the one with the highest number, and so on down.

    From here on each packet of Zab, and each end of a connection, waits until a choice lets it pass; nobody can elect.
    """


class Meet(InStepChoice, frozen=True):
    """The servers of these roles can elect one of them, and nobody else can elect anybody; without any, nobody can.

    With `around` each hears only that one: else others that are a quorum might elect another before they hear of it.
    """

    servers: tuple[Role, ...]
    around: Role | None = None


class LetThrough(InStepChoice, frozen=True, tag="pass"):
    """The packet that waits from `sender` to `receiver` passes, which is of this kind and has this zxid (packed).

    The connection is the newest that the follower of the two has opened. ACK is also that of NEWLEADER.
    """

    sender: Role
    receiver: Role
    kind: str
    zxid: _Zxid | None = None


class Leave(InStepChoice, frozen=True):
    """`server` leaves: as a leader its wait is interrupted, as a follower its connection with `peer` is closed.

    An interrupted wait ends as one that has lasted too long. The other ends of connections stay open.
    """

    server: Role
    peer: Role | None = None


class NoticeEnd(InStepChoice, frozen=True, tag="notice"):
    """`server`, which leads, notices that `peer` has closed its connection."""

    server: Role
    peer: Role


class Lose(InStepChoice, frozen=True):
    """What is under way between `server` and `peer` is lost, and nothing passes on this connection any more."""

    server: Role
    peer: Role


class Expect(InStepChoice, frozen=True):
    """Compare a server with the model after choice number `after` of its schedule; zxids are packed.

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


def in_step_in_words(choice: InStepChoice) -> str:
    """Say a choice to a reader, in one line."""
    match choice:
        case OpenedGate():
            return "let packets pass one by one, and nobody elect"
        case Meet(()):
            return "let nobody elect any more"
        case Meet(servers, around):
            hearing = f", who hear {around} only" if around else ""
            return f"let {', '.join(servers)} elect one of them{hearing}"
        case LetThrough(sender, receiver, kind):
            return f"pass {kind} on {sender} → {receiver}"
        case Leave(server, None):
            return f"interrupt the wait of {server}, which leads"
        case Leave(server, peer):
            return f"close the end of {server} of its connection with {peer}"
        case NoticeEnd(server, peer):
            return f"let {server} notice that {peer} has closed its connection"
        case Lose(server, peer):
            return f"lose what is under way between {server} and {peer}"
        case Expect(server, after):
            return f"compare {server} with the model after choice {after}"
    raise AssertionError(choice)

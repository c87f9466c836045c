"""Choices for the links between servers: one is cut, held at a packet, slow, or loses its connections."""

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from zabcheck.zookeeper.run.choices.choice import Choice, Role, Seconds
from zabcheck.zookeeper.run.undone import NotApplicable, NothingCame

if TYPE_CHECKING:
    from zabcheck.zookeeper.run.running import Running  # it loads the clients' library

Kind = Literal[
    "FOLLOWERINFO",
    "LEADERINFO",
    "ACKEPOCH",
    "DIFF",
    "TRUNC",
    "SNAP",
    "NEWLEADER",
    "ACK-LD",
    "UPTODATE",
    "PROPOSAL",
    "ACK",
    "COMMIT",
    "COMMITANDACTIVATE",
    "OBSERVERINFO",
    "INFORM",
    "INFORMANDACTIVATE",
]
"""Packets at which a link can be held. ACK-LD is the ACK that answers NEWLEADER.

COMMIT is not COMMITANDACTIVATE, which commits a configuration, nor INFORM INFORMANDACTIVATE.
"""


class Cut(Choice, frozen=True):
    """The link from `sender` to `receiver` holds everything back from here on; connections stay open."""

    sender: Role
    receiver: Role

    def words(self) -> str:
        return f"cut {self.sender} → {self.receiver}"

    def apply(self, run: "Running") -> None:
        run.proxy.cut(*_link(run, self.sender, self.receiver))


class Mend(Choice, frozen=True):
    """The link from `sender` to `receiver` works again, and first passes on the packets that waited."""

    sender: Role
    receiver: Role

    def words(self) -> str:
        return f"mend {self.sender} → {self.receiver}"

    def apply(self, run: "Running") -> None:
        run.proxy.mend(*_link(run, self.sender, self.receiver))


class Isolate(Choice, frozen=True):
    """All the links to and from `server` are cut."""

    server: Role

    def words(self) -> str:
        return f"cut all links of {self.server}"

    def apply(self, run: "Running") -> None:
        one = run.number(self.server)
        run.isolated.add(one)
        for other in run.ensemble.servers:
            if other != one:
                run.proxy.cut(one, other)
                run.proxy.cut(other, one)


class Reset(Choice, frozen=True):
    """The connections between the two are closed, the packets on them are lost; the servers may connect again."""

    sender: Role
    receiver: Role

    def words(self) -> str:
        return f"reset the connections of {self.sender} and {self.receiver}"

    def apply(self, run: "Running") -> None:
        run.proxy.reset(run.number(self.sender), run.number(self.receiver))


class Hold(Choice, frozen=True):
    """The link from `sender` to `receiver` stops at the next packet of this kind, and behind it."""

    sender: Role
    receiver: Role
    kind: Kind

    def words(self) -> str:
        return f"hold {self.kind} on {self.sender} → {self.receiver}"

    def apply(self, run: "Running") -> None:
        run.proxy.hold(*_link(run, self.sender, self.receiver), self.kind)


class KillAt(Choice, frozen=True):
    """kill -9 of `server` at the moment when the next packet of this kind is read from `sender` to `receiver`.

    Then the packet goes on its way, as packets do that are in the network when their sender dies. The choices that
    follow do not wait for it.
    """

    server: Role
    sender: Role
    receiver: Role
    kind: Kind

    def words(self) -> str:
        return f"kill -9 of {self.server} at the next {self.kind} on {self.sender} → {self.receiver}"

    def apply(self, run: "Running") -> None:
        run.proxy.trap(*_link(run, self.sender, self.receiver), self.kind, run.server(self.server))


class Await(Choice, frozen=True):
    """A wait until a packet is held on the link from `sender` to `receiver`, `seconds` at most."""

    sender: Role
    receiver: Role
    seconds: Seconds = 5.0

    def words(self) -> str:
        return f"wait until a packet is held on {self.sender} → {self.receiver}, {self.seconds:g} s at most"

    def apply(self, run: "Running") -> None:
        seconds = run.patience(self.seconds)
        if not run.proxy.wait_held(*_link(run, self.sender, self.receiver), seconds):
            raise NothingCame("no such packet came")


class Release(Choice, frozen=True):
    """The packets that are held on the link from `sender` to `receiver` are passed on."""

    sender: Role
    receiver: Role

    def words(self) -> str:
        return f"pass on what is held on {self.sender} → {self.receiver}"

    def apply(self, run: "Running") -> None:
        run.proxy.release(*_link(run, self.sender, self.receiver))


class Delay(Choice, frozen=True):
    """Everything on the link from `sender` to `receiver` takes `milliseconds` longer."""

    sender: Role
    receiver: Role
    milliseconds: Annotated[int, Meta(ge=0, le=1000)]

    def words(self) -> str:
        return f"delay {self.sender} → {self.receiver} by {self.milliseconds} ms"

    def apply(self, run: "Running") -> None:
        run.proxy.delay(*_link(run, self.sender, self.receiver), self.milliseconds)


class Heal(Choice, frozen=True):
    """Every link works: nothing is cut, held or delayed."""

    def words(self) -> str:
        return "heal all links"

    def apply(self, run: "Running") -> None:
        run.heal()


def _link(run: "Running", sender: Role, receiver: Role) -> tuple[int, int]:
    """Return the numbers of two servers. NotApplicable if they are one, as "leader" and its letter may be."""
    if run.number(sender) == run.number(receiver):
        raise NotApplicable("one server has no link to itself")
    return run.number(sender), run.number(receiver)

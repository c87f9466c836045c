"""Choices that start and end servers, let them stand still, and wait for one that leads."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from zabcheck.zookeeper.run.choices.choice import Choice, Role, Seconds
from zabcheck.zookeeper.run.server import Members
from zabcheck.zookeeper.run.undone import NobodyLeads, NotApplicable

if TYPE_CHECKING:
    from zabcheck.zookeeper.run.running import Running  # it loads the clients' library


class Kill(Choice, frozen=True):
    """kill -9 of one server."""

    server: Role

    def words(self) -> str:
        return f"kill -9 of {self.server}"

    def apply(self, run: "Running") -> None:
        server = run.server(self.server)
        if not server.up:
            raise NotApplicable("it is down")
        server.kill()


class KillAll(Choice, frozen=True):
    """kill -9 of all servers at once: the power fails."""

    def words(self) -> str:
        return "kill -9 of all"

    def apply(self, run: "Running") -> None:
        for server in run.ensemble.servers.values():
            server.kill()


class Start(Choice, frozen=True):
    """Start of one server, from the data on its disk.

    With `voters` its configuration names these servers, and `observers` that do not vote, and no others: in a rolling
    restart each server gets another list. A server that joins has none before.
    """

    server: Role
    voters: tuple[Role, ...] = ()
    observers: tuple[Role, ...] = ()

    def words(self) -> str:
        observing = f" and {', '.join(self.observers)} observing" if self.observers else ""
        listed = f" with a list of servers in which {', '.join(self.voters)} vote{observing}" if self.voters else ""
        return f"start {self.server}{listed}"

    @property
    def roles(self) -> Iterator[tuple[str, Role]]:
        yield from super().roles
        yield from (("voters", role) for role in self.voters)
        yield from (("observers", role) for role in self.observers)

    def plainer(self) -> Sequence[Choice]:
        return (Start(self.server),) if self.voters else ()

    def apply(self, run: "Running") -> None:
        number = run.number(self.server)
        if run.server(self.server).up:
            raise NotApplicable("it is up")
        if not self.voters and not run.ensemble.has_list(number):
            raise NotApplicable("it has no list of servers")
        voters, observers = (tuple(sorted(map(run.number, each))) for each in (self.voters, self.observers))
        run.start(number, Members(voters, observers))


class StartAll(Choice, frozen=True):
    """Start of all servers that are down."""

    def words(self) -> str:
        return "start all that are down"

    def apply(self, run: "Running") -> None:
        run.start_all()


class DiskChoice(Choice, frozen=True):
    """Base of the choices that change or copy the disk of a server as a whole."""

    server: Role


class Wipe(DiskChoice, frozen=True):
    """Remove what a server that is down has stored: it comes back with an empty disk."""

    def words(self) -> str:
        return f"wipe the disk of {self.server}"

    def apply(self, run: "Running") -> None:
        if run.server(self.server).up:
            raise NotApplicable("it is up")
        run.wipe(run.number(self.server))


class BackUp(DiskChoice, frozen=True):
    """Copy what a server has stored so far, for `restore`."""

    def words(self) -> str:
        return f"copy the disk of {self.server}"

    def apply(self, run: "Running") -> None:
        run.back_up(run.number(self.server))


class Restore(DiskChoice, frozen=True):
    """Put the copy of its disk in its place: a server that is down comes back with an older disk."""

    def words(self) -> str:
        return f"restore the disk of {self.server} from the copy"

    def plainer(self) -> Sequence[Choice]:
        return (Wipe(self.server),)

    def apply(self, run: "Running") -> None:
        if run.server(self.server).up:
            raise NotApplicable("it is up")
        if not run.restore(run.number(self.server)):
            raise NotApplicable("there is no copy")


class Pause(Choice, frozen=True):
    """SIGSTOP: the server stands still, and its connections stay open."""

    server: Role

    def words(self) -> str:
        return f"SIGSTOP to {self.server}"

    def apply(self, run: "Running") -> None:
        server = run.server(self.server)
        if not server.up:
            raise NotApplicable("it is down")
        server.pause()


class Resume(Choice, frozen=True):
    """SIGCONT: the server goes on."""

    server: Role

    def words(self) -> str:
        return f"SIGCONT to {self.server}"

    def apply(self, run: "Running") -> None:
        server = run.server(self.server)
        if not server.paused:
            raise NotApplicable("it does not stand still")
        server.resume()


class Elected(Choice, frozen=True):
    """A wait until a server serves as leader, `seconds` at most; from then on "leader" names it."""

    seconds: Seconds = 5.0

    def words(self) -> str:
        return f"wait for a leader, {self.seconds:g} s at most"

    def apply(self, run: "Running") -> None:
        seconds = run.patience(self.seconds)
        if not run.wait_while_possible(seconds, lambda: run.leader() is not None, run.some_may_serve):
            raise NobodyLeads

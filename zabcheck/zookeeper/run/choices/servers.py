"""Choices that start and end servers, let them stand still, and wait for one that leads."""

from zabcheck.zookeeper.run.choices.choice import Choice, Role, Seconds


class Kill(Choice, frozen=True):
    """kill -9 of one server."""

    server: Role

    @property
    def words(self) -> str:
        return f"kill -9 of {self.server}"


class KillAll(Choice, frozen=True):
    """kill -9 of all servers at once: the power fails."""

    @property
    def words(self) -> str:
        return "kill -9 of all"


class Start(Choice, frozen=True):
    """Start of one server, from the data on its disk."""

    server: Role

    @property
    def words(self) -> str:
        return f"start {self.server}"


class StartAll(Choice, frozen=True):
    """Start of all servers that are down."""

    @property
    def words(self) -> str:
        return "start all that are down"


class Pause(Choice, frozen=True):
    """SIGSTOP: the server stands still, and its connections stay open."""

    server: Role

    @property
    def words(self) -> str:
        return f"SIGSTOP to {self.server}"


class Resume(Choice, frozen=True):
    """SIGCONT: the server goes on."""

    server: Role

    @property
    def words(self) -> str:
        return f"SIGCONT to {self.server}"


class Elected(Choice, frozen=True):
    """A wait until a server serves as leader, `seconds` at most; from then on "leader" names it."""

    seconds: Seconds = 5.0

    @property
    def words(self) -> str:
        return f"wait for a leader, {self.seconds:g} s at most"

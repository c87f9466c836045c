"""The sources of the events of a trace: each a kind with its fields, and its words for a reader and the file."""

from msgspec import Struct


class Source(Struct, frozen=True):
    """Base of all sources."""

    def words(self) -> str:
        """Name it for a reader."""
        raise NotImplementedError


class LogPlace(Source, frozen=True):
    """Line `number` of the log `file` of a server, counted from 1."""

    file: str
    number: int

    def words(self) -> str:
        return f"{self.file}:{self.number}"


class LogWhole(Source, frozen=True):
    """The log `file` of a server."""

    file: str

    def words(self) -> str:
        return self.file


class PacketSeen(Source, frozen=True):
    """A packet that the proxy has seen, by its number."""

    packet: int

    def words(self) -> str:
        return f"packet {self.packet}"


class DiskAfter(Source, frozen=True):
    """The disk of a server after an incarnation."""

    server: int
    incarnation: int

    def words(self) -> str:
        return f"disk of server {self.server} after incarnation {self.incarnation}"


class AnswerTo(Source, frozen=True):
    """The answer to write `write` of a client."""

    client: int
    write: int

    def words(self) -> str:
        return f"client {self.client}, write {self.write}"


class FinalReading(Source, frozen=True):
    """The read of all nodes at the end."""

    def words(self) -> str:
        return "final read"


class Intervention(Source, frozen=True):
    """A deed of zabcheck itself: by the proxy between the servers, or else by the driver of the run."""

    by_proxy: bool = False

    def words(self) -> str:
        return "proxy" if self.by_proxy else "driver"

"""Choices for the clients that write, and for waiting: until they have answers, or for a time."""

from typing import Annotated

from msgspec import Meta

from zabcheck.zookeeper.run.choices.choice import Choice, Role, Seconds, Size


class Write(Choice, frozen=True):
    """Requests of the client of `server` for `count` writes of `size` bytes each. No answer is waited for."""

    server: Role
    count: Annotated[int, Meta(ge=1, le=1000)] = 1
    size: Size = 10

    @property
    def words(self) -> str:
        writes = f"{self.count} writes" if self.count > 1 else "a write"
        return f"{writes} of {self.size} bytes at {self.server}"


class Settle(Choice, frozen=True):
    """A wait until every write has its answer, `seconds` at most."""

    seconds: Seconds = 2.0

    @property
    def words(self) -> str:
        return f"wait until all writes are answered, {self.seconds:g} s at most"


class Wait(Choice, frozen=True):
    """A wait of `seconds`, in which the ensemble goes on by itself."""

    seconds: Seconds

    @property
    def words(self) -> str:
        return f"wait {self.seconds:g} s"

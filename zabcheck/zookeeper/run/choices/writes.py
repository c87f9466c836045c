"""Choices for the clients that write, and for waiting: until they have answers, or for a time."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta
from msgspec.structs import replace

from zabcheck.zookeeper.run.choices.choice import Choice, Role, Seconds, Size
from zabcheck.zookeeper.run.undone import NoAnswer, OnlySome

if TYPE_CHECKING:
    from zabcheck.zookeeper.run.running import Running  # it loads the clients' library

PLAINER_COUNTS = (1, 3, 20, 100)
PLAINER_SIZES = (10, 1000)
"""Bytes."""


class Write(Choice, frozen=True):
    """Requests of the client of `server` for `count` writes of `size` bytes each. No answer is waited for."""

    server: Role
    count: Annotated[int, Meta(ge=1, le=1000)] = 1
    size: Size = 10

    def words(self) -> str:
        writes = f"{self.count} writes" if self.count > 1 else "a write"
        return f"{writes} of {self.size} bytes at {self.server}"

    def apply(self, run: "Running") -> None:
        client = run.clients[run.number(self.server)]
        if run.in_step:
            run.await_connected([client])
        for written in range(self.count):
            if not run.window_opens(client):
                raise OnlySome(written, "nothing is answered")
            client.write(self.size)

    def plainer(self) -> list[Choice]:
        fewer = [replace(self, count=count) for count in PLAINER_COUNTS if count < self.count]
        return [*fewer, *(replace(self, size=size) for size in PLAINER_SIZES if size < self.size)]


class Settle(Choice, frozen=True):
    """A wait until every write has its answer, `seconds` at most."""

    seconds: Seconds = 2.0

    def words(self) -> str:
        return f"wait until all writes are answered, {self.seconds:g} s at most"

    def apply(self, run: "Running") -> None:
        if not run.wait_while_possible(self.seconds, run.all_answered, run.some_may_be_answered):
            raise NoAnswer


class Wait(Choice, frozen=True):
    """A wait of `seconds`, in which the ensemble goes on by itself."""

    seconds: Seconds

    def words(self) -> str:
        return f"wait {self.seconds:g} s"

    def apply(self, run: "Running") -> None:
        run.ensemble.await_all(self.seconds, lambda: False)

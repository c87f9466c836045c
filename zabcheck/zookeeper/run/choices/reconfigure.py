"""The choice that changes the configuration of an ensemble while it runs: who votes, who observes, who has left."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from zabcheck.zookeeper.run.choices.choice import Role
from zabcheck.zookeeper.run.choices.sessions import NO_CONNECTION, SessionChoice
from zabcheck.zookeeper.run.undone import OnlySome

if TYPE_CHECKING:
    from zabcheck.zookeeper.run.running import Running  # it loads the clients' library

_MEMBERS = ("voters", "observers", "leaving")
"""The fields that name several servers."""


class Reconfigure(SessionChoice, frozen=True):
    """Request of the session of `server` for another configuration. No answer is waited for.

    `voters` and `observers` join in that part, or change to it, and `leaving` are in no part any more; the other
    servers stay what they are. Each server of a schedule that has this choice keeps its list of servers in a file of
    its own, which ZooKeeper writes (`reconfigEnabled`).
    """

    voters: tuple[Role, ...] = ()
    observers: tuple[Role, ...] = ()
    leaving: tuple[Role, ...] = ()

    def words(self) -> str:
        changes = (
            *(f"{each} votes" for each in self.voters),
            *(f"{each} observes" for each in self.observers),
            *(f"{each} leaves" for each in self.leaving),
        )
        return f"the session of {self.server} asks for a configuration in which {', '.join(changes) or 'nobody moves'}"

    @property
    def roles(self) -> Iterator[tuple[str, Role]]:
        yield from super().roles
        for field in _MEMBERS:
            yield from ((field, role) for role in getattr(self, field))

    def apply(self, run: "Running") -> None:
        client = run.sessions.ready(run.number(self.server))
        voters, observers, leaving = (tuple(map(run.number, getattr(self, field))) for field in _MEMBERS)
        if client is None or not run.sessions.reconfigure(client, voters, observers, leaving):
            run.sessions.check()
            raise OnlySome(0, NO_CONNECTION)

"""The choices that change the configuration of an ensemble while it runs, and that keep a server from storing it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from zabcheck.zookeeper.run.choices.choice import Choice, Role
from zabcheck.zookeeper.run.choices.sessions import NO_CONNECTION, SessionChoice
from zabcheck.zookeeper.run.server import CONFIGURATION, DYNAMIC, ENABLED
from zabcheck.zookeeper.run.undone import NotApplicable, OnlySome

if TYPE_CHECKING:
    from zabcheck.zookeeper.run.running import Running  # it loads the clients' library

_MEMBERS = ("voters", "observers", "leaving", "elsewhere")
"""The fields that name several servers."""


class Reconfigure(SessionChoice, frozen=True):
    """Request of the session of `server` for another configuration. No answer is waited for.

    `voters` and `observers` join in that part, or change to it, and `leaving` are in no part any more; `elsewhere`
    vote, and are to be followed at another port, where nobody listens yet. The other servers stay what they are. Each
    server of a schedule that has this choice keeps its list of servers in a file of its own, which ZooKeeper writes
    (`reconfigEnabled`).
    """

    voters: tuple[Role, ...] = ()
    observers: tuple[Role, ...] = ()
    leaving: tuple[Role, ...] = ()
    elsewhere: tuple[Role, ...] = ()

    def words(self) -> str:
        changes = (
            *(f"{each} votes" for each in self.voters),
            *(f"{each} observes" for each in self.observers),
            *(f"{each} leaves" for each in self.leaving),
            *(f"{each} votes at another port" for each in self.elsewhere),
        )
        return f"the session of {self.server} asks for a configuration in which {', '.join(changes) or 'nobody moves'}"

    @property
    def roles(self) -> Iterator[tuple[str, Role]]:
        yield from super().roles
        for field in _MEMBERS:
            yield from ((field, role) for role in getattr(self, field))

    def apply(self, run: "Running") -> None:
        client = run.sessions.ready(run.number(self.server))
        members = (tuple(map(run.number, getattr(self, field))) for field in _MEMBERS)
        if client is None or not run.sessions.reconfigure(client, *members):
            run.sessions.check()
            raise OnlySome(0, NO_CONNECTION)


_WRITTEN_FIRST = f"{CONFIGURATION}.tmp", f"{DYNAMIC}.next.tmp"
"""The files that a server writes and then renames: to its configuration, and to the list of servers proposed last."""


class ConfigurationChoice(Choice, frozen=True):
    """Base of the choices that decide whether a server can write its configuration."""

    server: Role


class Readonly(ConfigurationChoice, frozen=True):
    """From here on a server cannot write its configuration, as if the folder were read-only, or the disk full.

    Folders take the names that it writes first, so that opening them fails: an IOException as for any other cause, and
    for root, too, whom no permission stops. The list of an activated configuration can still be written, under a name
    that has its version; nothing reads it, as zoo.cfg goes on naming the one before.
    """

    def words(self) -> str:
        return f"{self.server} cannot write its configuration any more"

    def apply(self, run: "Running") -> None:
        in_the_way = _in_the_way(run.server(self.server).data)
        if in_the_way[0].is_dir():
            raise NotApplicable("it cannot write it as it is")
        for each in in_the_way:
            (each / "kept").mkdir(parents=True)  # in an empty folder's place Java would put its file


class Writable(ConfigurationChoice, frozen=True):
    """The end of `readonly`."""

    def words(self) -> str:
        return f"{self.server} can write its configuration again"

    def apply(self, run: "Running") -> None:
        in_the_way = _in_the_way(run.server(self.server).data)
        if not in_the_way[0].is_dir():
            raise NotApplicable("it can write it as it is")
        for each in in_the_way:
            shutil.rmtree(each)


class Fixed(ConfigurationChoice, frozen=True):
    """From its next start a server has `reconfigEnabled=false`, and the list of servers that it has now."""

    def words(self) -> str:
        return f"{self.server} is to have reconfigEnabled=false"

    def apply(self, run: "Running") -> None:
        path = run.server(self.server).data / CONFIGURATION
        text = path.read_text()
        if ENABLED not in text:
            raise NotApplicable("it has that")
        path.write_text(text.replace(ENABLED, "reconfigEnabled=false"))


def _in_the_way(data: Path) -> list[Path]:
    return [data / name for name in _WRITTEN_FIRST]

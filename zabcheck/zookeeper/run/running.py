"""An ensemble while a schedule is executed on it, as choices see it."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path

from zabcheck.text.files import replace_folder
from zabcheck.zookeeper.disk.contents import VERSION_DIRECTORY, DiskError, scan, version_directory
from zabcheck.zookeeper.disk.log_analysis import DiskFinding
from zabcheck.zookeeper.recording.records import Disk, Record, Wiped
from zabcheck.zookeeper.run.ensemble import AnyClient, AnyServer, Ensemble, EnsembleError
from zabcheck.zookeeper.run.server import AS_BEFORE, Members
from zabcheck.zookeeper.run.sessions import OPENS, Sessions
from zabcheck.zookeeper.run.stops import Stops
from zabcheck.zookeeper.wire.jute import LoggedTxn

EXACT_PATIENCE = 60.0
"""Seconds that a thread, a packet or a leader gets at least to come in an exact execution."""
WINDOW_OPENS = 0.3
"""Seconds for which a client whose window is full waits for room."""
GIVEN_UP = 0.3
"""Seconds after which a pointless wait ends: the servers get them to do by themselves what they still do."""
CONNECTED_AT_FIRST = 10.0
"""Seconds that clients get to connect; a run goes on without those that do not."""


class Running:
    """Servers, links, clients and sessions, and which server plays which role.

    `exact`: each choice has to be done as it is written. `in_step`: the ensemble is kept in step with a run of the
    model. `drawn`: choices wait for what need not come.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        record: Callable[[Record], None],
        stops: Stops | None = None,
        exact: bool = False,
        in_step: bool = False,
        drawn: bool = True,
    ) -> None:
        self.ensemble = ensemble
        self.proxy = ensemble.proxy
        self.record = record
        self.sessions = Sessions(ensemble, record, EXACT_PATIENCE if exact else OPENS)
        self.clients: dict[int, AnyClient] = {}
        """The clients that write, by the number of their server."""
        self.roles: dict[str, int] = {}
        """The number of the server that plays each role; "leader" only while a choice is executed that names it."""
        self.isolated: set[int] = set()
        """The servers that a choice has cut off."""
        self.exact = exact
        self.in_step = in_step
        self.drawn = drawn
        self.agents = stops
        """The debug agents, if there are any."""
        self._replaced: set[int] = set()
        """The servers whose disk is not that of their last incarnation, which is recorded already."""

    @property
    def stops(self) -> Stops:
        """Return the debug agents, which are there if a choice needs them."""
        assert self.agents is not None
        return self.agents

    def number(self, role: str) -> int:
        """Return the number of the server that plays this role."""
        return self.roles[role]

    def server(self, role: str) -> AnyServer:
        """Return the server that plays this role."""
        return self.ensemble.servers[self.roles[role]]

    def role_of(self, number: int) -> str:
        """Return the role that a server plays."""
        return next(role for role, server in self.roles.items() if server == number)

    def leader(self) -> int | None:
        """Find the leader; a server that is cut off does not count, as it may not know yet that nobody follows it."""
        return self.ensemble.leader(other_than=self.isolated)

    def patience(self, seconds: float) -> float:
        """Return the seconds for which to wait where a choice says `seconds`.

        Longer in an exact execution, and on a busy machine, unless the schedule is drawn.
        """
        if self.exact:
            return max(seconds, EXACT_PATIENCE) * self.ensemble.slowness()
        return seconds if self.drawn else seconds * self.ensemble.slowness()

    # Starting.

    def start(self, number: int, members: Members = AS_BEFORE) -> None:
        """Start a server that is not up, as `Ensemble.start` does.

        First record what its last incarnation has left on its disk.
        """
        if self.agents is not None:
            self.agents.forget(number)  # its folder may be about to be cut
        if self.ensemble.servers[number].incarnation >= 0 and number not in self._replaced:
            self.record_disk(number)
        self._replaced.discard(number)
        self.ensemble.start(number, members)
        if self.agents is not None:
            self.agents.attach(number)

    def start_all(self) -> None:
        """Start all servers that are down, and have a list of servers."""
        for number, server in self.ensemble.servers.items():
            if not server.up and self.ensemble.has_list(number):
                self.start(number)

    def wipe(self, number: int) -> None:
        """Remove what a server that is down has stored."""
        self._leave_disk(number)
        self.ensemble.servers[number].wipe()

    def back_up(self, number: int) -> None:
        """Copy what a server has stored so far; the copy takes the place of an earlier one. O(its size)."""
        data = self.ensemble.servers[number].data / VERSION_DIRECTORY
        with self._disk_of(number):
            if data.is_dir():
                replace_folder(self._copy(number), data)

    def restore(self, number: int) -> bool:
        """Put the copy of what a server had stored in the place of what it has stored. False if there is no copy."""
        copy, server = self._copy(number), self.ensemble.servers[number]
        if not copy.is_dir():
            return False
        self._leave_disk(number)
        with self._disk_of(number):
            replace_folder(server.data / VERSION_DIRECTORY, copy)
            now = self.ensemble.now()
            self.record(Wiped(now, number, read_disk(server.data, number, server.incarnation, now)))
        return True

    def _copy(self, number: int) -> Path:
        return self.ensemble.servers[number].folder / f"copy-{number}"

    def _leave_disk(self, number: int) -> None:
        """Record what is on the disk of a server that has ended, before something else is put there."""
        if self.agents is not None:
            self.agents.forget(number)
        if self.ensemble.servers[number].incarnation >= 0 and number not in self._replaced:
            self.record_disk(number)
        self._replaced.add(number)

    def record_disk(self, number: int) -> None:
        """Record what is on the disk of a server that has ended: nothing if it ended before it wrote.

        EnsembleError if the disk cannot be read.
        """
        server = self.ensemble.servers[number]
        with self._disk_of(number):
            if version_directory(server.data) is None:
                self.record(Disk(self.ensemble.now(), number, server.incarnation, ()))
            else:
                self.record(read_disk(server.data, number, server.incarnation, self.ensemble.now()))

    @contextmanager
    def _disk_of(self, number: int) -> Iterator[None]:
        """Turn what goes wrong with the disk of a server into an EnsembleError."""
        try:
            yield
        except (DiskError, OSError) as error:
            raise EnsembleError(f"the disk of server {number} cannot be read: {error}") from None

    def heal(self) -> None:
        """Let every link work."""
        self.isolated.clear()
        self.proxy.heal()

    def interrupt_waiting(self) -> None:
        """Interrupt the servers that are up and do not serve.

        One that was elected by a server that then followed another would wait for minutes.
        """
        for number, server in self.ensemble.servers.items():
            if server.up and not self.serves(number):
                self.stops.interrupt(number)

    # Waiting.

    def await_connected(self, clients: Collection[AnyClient]) -> None:
        """Wait until these clients are connected, `CONNECTED_AT_FIRST` seconds at most."""
        self.ensemble.await_patiently(CONNECTED_AT_FIRST, lambda: all(client.connected for client in clients))

    def await_held(self, number: int, point: str) -> None:
        """Wait, in an exact execution, until a thread is held at a point. NothingCame if none comes."""
        if self.exact:
            self.stops.wait(number, point, self.patience(0.0))

    def wait_while_possible(self, seconds: float, condition: Callable[[], bool], possible: Callable[[], bool]) -> bool:
        """Wait until `condition` holds, `seconds` at most. Return True if it does.

        Gives up soon if it is not `possible`. That may change meanwhile: a trap kills a server, or the last server that
        served gives up.
        """
        came = False
        until = inf

        def over() -> bool:
            nonlocal came, until
            came = condition()
            if not came:
                until = inf if possible() else min(until, self.ensemble.clock() + GIVEN_UP)
            return came or self.ensemble.clock() >= until

        self.ensemble.await_all(seconds, over)
        return came

    def window_opens(self, client: AnyClient) -> bool:
        """Wait until the client may write again. Return False if it still may not, or if its server cannot answer."""
        if client.may_write:
            return True
        if client.number not in self.ensemble.may_serve():
            return False
        return self.ensemble.await_all(WINDOW_OPENS, lambda: client.may_write)

    def all_answered(self) -> bool:
        """Return True if every request of clients and sessions has its answer."""
        return self.sessions.all_answered() and not any(client.outstanding for client in self.clients.values())

    def some_may_be_answered(self) -> bool:
        """Return True if a request is outstanding at a server that may come to answer it."""
        may_serve = self.ensemble.may_serve()
        return any(self.clients[number].outstanding or self.sessions.outstanding_at(number) for number in may_serve)

    def some_may_serve(self) -> bool:
        """Return True if there may be a leader, or a server has not noticed yet that there is none."""
        return bool(self.ensemble.may_serve()) or any(map(self.serves, self.ensemble.servers))

    def serves(self, number: int) -> bool:
        """Return True if a server serves clients."""
        return self.ensemble.served(number) is not None

    def one_leads(self) -> bool:
        """Return True if one server serves as leader, and no more than one."""
        served = map(self.ensemble.served, self.ensemble.servers)
        return sum(each is not None and each.leads for each in served) == 1

    def all_serve_that_are_up(self) -> bool:
        """Return True if each server serves clients, or is down."""
        return all(self.serves(number) or not server.up for number, server in self.ensemble.servers.items())


def read_disk(data_dir: Path, server: int, incarnation: int, time: int) -> Disk:
    """Return the record of what is in a server's data directory. DiskError as `scan` says; memory O(transactions)."""
    log: list[LoggedTxn] = []
    disk = scan(data_dir, visit=lambda _, record: log.append(record.txn))
    return Disk(
        time,
        server,
        incarnation,
        tuple(log),
        tuple(snapshot.zxid for snapshot in disk.snapshots if snapshot.state == "whole"),
        disk.accepted_epoch,
        disk.current_epoch,
        tuple(_sentence(finding) for finding in disk.findings),
    )


def _sentence(finding: DiskFinding) -> str:
    """Return a finding in one line, for the recording."""
    where = Path(finding.file).name + ("" if finding.offset is None else f", byte {finding.offset}")
    return f"{finding.kind}: {where}: {finding.message}"

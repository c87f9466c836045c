"""The execution of a schedule on a real ensemble, which leaves a folder with the recording."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event

import msgspec

from zabcheck.zookeeper.recording.folder import Recorder, log_file, now
from zabcheck.zookeeper.recording.records import Cast, Chose, Ended, NotRead, Read, Record, Run
from zabcheck.zookeeper.run.choices.choice import LEADER, ROLES, Choice
from zabcheck.zookeeper.run.debugged_process import opened, with_agent
from zabcheck.zookeeper.run.distribution import Distribution, with_properties
from zabcheck.zookeeper.run.ensemble import Ensemble, EnsembleError
from zabcheck.zookeeper.run.forces import WATCHED
from zabcheck.zookeeper.run.places import found_places
from zabcheck.zookeeper.run.processes import ProcessEnsemble
from zabcheck.zookeeper.run.proxy import ProxyError
from zabcheck.zookeeper.run.running import EXACT_PATIENCE, Running
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.run.server import IN_STEP, PATIENT_LIMITS, TICK, reason
from zabcheck.zookeeper.run.stops import Stops
from zabcheck.zookeeper.run.undone import NotApplicable, NotDone
from zabcheck.zookeeper.trace.server_log import State, read_log

SESSION = 10.0
"""Seconds after which the leader forgets a client; the longest that the servers' tick allows."""
LONG_SESSION = 300.0
"""The same where servers are kept in step with the model, and stand still for long."""
UP_AT_FIRST = 30.0
"""Seconds that a fresh ensemble gets to elect a leader."""
ALONE_AT_FIRST = 12.0
"""Seconds after which a fresh server that does not serve, though others do, is emptied and started again: it may have
been elected by one that then followed another, and would wait for followers for minutes if the ensemble is patient."""
UNBOUND = "nothing writes it; add slf4j-simple or logback-classic to the class path (simulated servers need neither)"
"""The reason why a log is empty that begins with the warning of SLF4J that it has no provider."""
UP_AT_LAST = 60.0
"""Seconds that every server gets to serve again once all is healed: 1 or 2 do, but a machine may be busy.

Servers that wait long for each other get as much more: what delays them then is a setting of ours.
"""
ONE_LEADS_AT_LAST = 10.0
"""Seconds that a leader which was cut off gets to notice that another one leads: until then it answers a sync itself,
with what it had."""
STARTS_AT_LAST = 3
"""Times that servers which end by themselves are started in the end."""
ANSWERED_AT_LAST = 5.0
"""Seconds that outstanding writes get in the end to be answered."""
SETTLED_AT_LAST = 10.0
"""Seconds that sessions get in the end to hear what has become of them."""
READ_AT_LAST = 30.0
"""Seconds that a server gets in the end to serve, and then to be read."""


def execute(
    schedule: EnsembleSchedule,
    distribution: Distribution,
    folder: Path,
    stop: Event | None = None,
    exact: bool = False,
) -> None:
    """Execute `schedule`, and write the recording into `folder`, which has to be empty.

    An `exact` execution does each choice as it is written, and waits until a thread is held before it lets the thread
    go on; EnsembleError says why it cannot, and which thread waits for which.

    EnsembleError if the ensemble does not come up, or the proxy fails; KeyboardInterrupt after Ctrl-C, or soon
    after `stop` is set (Ctrl-C reaches the main thread only). Whatever is raised, everything is stopped, and
    the recording says that it is partial.
    """
    debugged = schedule.needs_agent
    places = found_places(schedule, distribution) if debugged else {}
    distribution = with_properties(distribution, schedule)
    with (
        recorded(schedule, distribution.version, folder, now) as record,
        ProcessEnsemble(
            schedule.servers,
            with_agent(distribution) if debugged else distribution,
            folder,
            record,
            stop=stop,
            patient=schedule.waits_long,
            observers=schedule.observers,
            settings=IN_STEP if schedule.in_step else (),
            reconfigurable=schedule.reconfigures,
            joiners=schedule.joiners,
        ) as ensemble,
    ):
        stops = None
        if debugged:
            stops = Stops(
                ensemble, record, partial(opened, ensemble, places), all(point in places for point in WATCHED)
            )
        try:
            execute_on(ensemble, schedule, stops, record, exact)
        except ProxyError as failure:
            raise EnsembleError(str(failure)) from None


def execute_on(
    ensemble: Ensemble,
    schedule: EnsembleSchedule,
    stops: Stops | None,
    record: Callable[[Record], None],
    exact: bool,
) -> None:
    """Execute a schedule on an ensemble of which nothing was started, and end all of it. Raises as `execute` does."""
    exact = exact or schedule.in_step
    waited = UP_AT_LAST + (PATIENT_LIMITS[0] * TICK / 1000 if schedule.waits_long else 0)
    running = Running(ensemble, record, stops, exact, schedule.in_step, schedule.seed is not None)
    execution = Execution(running, waited)
    try:
        execution.begin()
        for number, choice in enumerate(schedule.choices):
            execution.choose(number, choice)
        if not schedule.in_step:
            execution.await_stops()
        execution.finish()
    finally:
        execution.close()


@contextmanager
def recorded(
    schedule: EnsembleSchedule, version: str, folder: Path, clock: Callable[[], int], simulated: bool = False
) -> Iterator[Callable[[Record], None]]:
    """Record a run into a folder, from its first record to its last, whose time `clock` tells."""
    recorder = Recorder(folder)
    apart = schedule.observers + schedule.joiners
    recorder.record(Run(1, version, schedule.servers + apart, msgspec.to_builtins(schedule), apart, simulated))
    error = "interrupted"
    try:
        yield recorder.record
        error = ""
    except EnsembleError as failure:
        error = str(failure)
        raise
    finally:
        recorder.record(Ended(clock(), not error, error))
        recorder.close()


class Execution:
    """The execution of a schedule, from the first start of the servers to the last look at their disks."""

    def __init__(self, running: Running, up_at_last: float) -> None:
        """Prepare an execution at whose end each server gets `up_at_last` seconds to serve again."""
        self.running = running
        self.ensemble = running.ensemble
        self._up_at_last = up_at_last

    def begin(self) -> None:
        """Start everything, and cast the roles. EnsembleError if a server does not come up, or nobody leads.

        If a fresh server ends by itself, nothing more is waited for. Behind a gate none is started here.
        """
        servers, observers = self.ensemble.servers, self.ensemble.observers
        if self.running.in_step:
            self._cast(sorted(servers, reverse=True), LONG_SESSION)
            return
        leader = self._start_fresh()
        begin = self.ensemble.at_first
        for number in (*begin.voters, *observers):
            self._check_log(number)
        others = sorted((number for number in begin.voters if number != leader), reverse=True)
        self._cast([leader, *others, *observers, *self.ensemble.joiners], SESSION)
        self.running.await_connected([self.running.clients[number] for number in (*begin.voters, *observers)])

    def _start_fresh(self) -> int:
        """Start all but joiners, and return the leader. EnsembleError if a server does not come up, or nobody leads."""
        servers = {each: server for each, server in self.ensemble.servers.items() if each not in self.ensemble.joiners}
        for number in servers:
            self.running.start(number)
        waiting: list[int] = []
        leader: int | None = None

        def all_serve_or_one_has_ended() -> bool:
            nonlocal waiting, leader
            waiting = [number for number in servers if not self.ensemble.served(number)]
            leader = None if waiting else self.ensemble.leader()
            return leader is not None or not all(server.up for server in servers.values())

        first = min(ALONE_AT_FIRST, UP_AT_FIRST)
        if not self.ensemble.await_patiently(first, all_serve_or_one_has_ended):
            for number in waiting if len(waiting) < len(servers) else ():
                servers[number].kill()
                servers[number].wipe()
                self.running.start(number)
            self.ensemble.await_patiently(UP_AT_FIRST - first, all_serve_or_one_has_ended)
        for number, server in servers.items():
            if not server.up:
                raise EnsembleError(f"server {number} ended by itself when it was started: {reason(server.log())}")
        if waiting:
            why = reason(servers[waiting[0]].log())
            raise EnsembleError(f"server {waiting[0]} did not come up in {UP_AT_FIRST:g} s: {why}")
        if leader is None:
            raise EnsembleError(f"nobody led in {UP_AT_FIRST:g} s")
        return leader

    def _check_log(self, number: int) -> None:
        """EnsembleError if the log of a server that serves is not in the form that was asked for."""
        server = self.ensemble.servers[number]
        log = read_log(log_file(server.folder, number, server.incarnation))
        if not any(isinstance(line, State) for line in log.lines):
            said = (server.log().splitlines() or ["nothing"])[0][:300]
            why = UNBOUND if said.startswith("SLF4J") else f"it begins: {said}"
            raise EnsembleError(f"the log of server {number} is not understood: {why}")

    def _cast(self, numbers: list[int], session: float) -> None:
        """Cast the roles, in this order, and let clients connect for sessions of `session` seconds."""
        roles: dict[str, int] = dict(zip(ROLES, numbers, strict=False))
        self.running.record(Cast(self.ensemble.now(), roles))
        self.running.roles = roles
        self.running.clients = {number: self.ensemble.client(number, session) for number in self.ensemble.servers}

    def choose(self, number: int, choice: Choice) -> None:
        """Execute a choice, or pass over it and record why. EnsembleError if an exact execution cannot go on."""
        self.ensemble.check()
        if self.running.agents is not None:
            self.running.agents.check()
        words, leads = choice.words(), ""
        try:
            if LEADER in (role for _, role in choice.roles):
                leader = self._leader()
                if leader is None:
                    raise NotApplicable("nobody leads")
                leads = self.running.role_of(leader)
                words += f" ({LEADER} is {leads})"
                self.running.roles[LEADER] = leader
            self.running.record(Chose(self.ensemble.now(), number, words, leader=leads))
            choice.apply(self.running)
            self.ensemble.settle()
        except NotDone as undone:
            self.running.record(Chose(self.ensemble.now(), number, words, str(undone), undone.idle, leads))
            if self.running.exact and undone.ends_exact:
                raise EnsembleError(f"choice {number}, {words}: {undone}{self._standing()}") from None
        finally:
            self.running.roles.pop(LEADER, None)

    def _leader(self) -> int | None:
        """Find the leader, for which an exact execution waits."""
        if self.running.exact:
            self.ensemble.await_patiently(EXACT_PATIENCE, lambda: self.running.leader() is not None)
        return self.running.leader()

    def _standing(self) -> str:
        return "" if self.running.agents is None else self.running.agents.standing()

    def await_stops(self) -> None:
        """Wait until every stop of an exact execution has come. EnsembleError if one has not."""
        stops = self.running.agents
        if stops is None or not self.running.exact:
            return
        for number, point in stops.not_come():
            try:
                stops.wait(number, point, self.running.patience(0.0))
            except NotDone as undone:
                role = self.running.role_of(number)
                raise EnsembleError(f"{point} of {role}: {undone}{self._standing()}") from None
        if stops.short is not None:
            raise EnsembleError(str(stops.short))

    def finish(self) -> None:
        """Heal everything, start the servers that are down, and read every server.

        A server that ends by itself is started again, as an operator would do, but not for ever.
        """
        self.running.heal()
        for server in self.ensemble.servers.values():
            server.resume()
        if self.running.agents is not None:
            self.running.agents.go_all()
        for _ in range(STARTS_AT_LAST):
            self.running.start_all()
            serve = self.running.all_serve_that_are_up
            if self.running.in_step and not self.ensemble.await_all(ALONE_AT_FIRST, serve):
                self.running.interrupt_waiting()
            self.ensemble.await_patiently(self._up_at_last, serve)
            if all(self.ensemble.servers[number].up for number in self._listed()):
                break
        self.ensemble.await_patiently(ONE_LEADS_AT_LAST, self.running.one_leads)
        self.ensemble.await_patiently(ANSWERED_AT_LAST, self.running.all_answered)
        self.ensemble.await_patiently(SETTLED_AT_LAST, self.running.sessions.all_settled)
        read = self._read_all()
        if len({each.nodes for each in read if isinstance(each, Read)}) > 1:
            read = self._read_all()  # a write without an answer may have been committed meanwhile
        for each in read:
            self.running.record(each)

    def _read_all(self) -> list[Read | NotRead]:
        return [self._read(number) for number in self._listed()]

    def _listed(self) -> list[int]:
        """Return the servers that have a list of servers: joiners once they were started."""
        return [number for number in self.ensemble.servers if self.ensemble.has_list(number)]

    def _read(self, number: int) -> Read | NotRead:
        """Read the nodes that a server has in the end."""
        server = self.ensemble.servers[number]
        if not server.up:
            why = reason(server.log())
            return NotRead(self.ensemble.now(), number, f"ended by itself each time that it was started: {why}")
        if not self.ensemble.await_patiently(READ_AT_LAST, lambda: self.running.serves(number)):
            error = f"does not serve {self._up_at_last:g} s after everything is healed"
            agents = self.running.agents
            thread = agents.main_place(number) if agents is not None else None
            return NotRead(self.ensemble.now(), number, error, thread or "", reason(server.log()))
        return self.running.clients[number].read_all(READ_AT_LAST * self.ensemble.slowness())

    def close(self) -> None:
        """End the servers, then the clients, and record the disks."""
        running = self.running
        try:
            for server in self.ensemble.servers.values():
                server.kill(over=True)
        finally:
            running.sessions.leave()
            for client in running.clients.values():
                client.close()
            if running.agents is not None:
                running.agents.close()
        for number, server in self.ensemble.servers.items():
            if server.incarnation >= 0:
                running.record_disk(number)

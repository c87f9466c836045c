"""Executes a schedule on a real ensemble; what remains is a folder with the recording."""

from collections.abc import Callable
from functools import partial
from math import inf
from pathlib import Path
from threading import Event
from time import monotonic

import msgspec

from zabcheck.zookeeper.disk.contents import DiskError, version_directory
from zabcheck.zookeeper.recording.folder import Recorder, log_file, now
from zabcheck.zookeeper.recording.records import Cast, Chose, Disk, Ended, NotRead, Read, Record, Run
from zabcheck.zookeeper.run.choices.choice import LEADER, ROLES, Choice
from zabcheck.zookeeper.run.choices.in_step import InStepChoice
from zabcheck.zookeeper.run.choices.links import Await, Cut, Delay, Heal, Hold, Isolate, KillAt, Mend, Release, Reset
from zabcheck.zookeeper.run.choices.points import (
    AtPoint,
    AwaitStop,
    Fail,
    Go,
    KillAtPoint,
    PowerLoss,
    ReadFields,
    RollOver,
    Step,
    Stop,
)
from zabcheck.zookeeper.run.choices.servers import Elected, Kill, KillAll, Pause, Resume, Start, StartAll
from zabcheck.zookeeper.run.choices.sessions import SessionChoice
from zabcheck.zookeeper.run.choices.writes import Settle, Wait, Write
from zabcheck.zookeeper.run.clients import LONG_SESSION, SESSION, Client
from zabcheck.zookeeper.run.disk_record import read_disk
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.ensemble import Ensemble, EnsembleError
from zabcheck.zookeeper.run.in_step import InStep
from zabcheck.zookeeper.run.proxy import ProxyError
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.run.server import IN_STEP, reason
from zabcheck.zookeeper.run.sessions import Sessions
from zabcheck.zookeeper.run.stops import SHORT, Stops, found_places, with_agent
from zabcheck.zookeeper.trace.server_log import State, read_log

DID_NOTHING = ("passed over", "no such packet came", "no thread came", "only 0 of them")
"""How notes of choices begin that did nothing but take time."""
NOBODY_LEADS = "nobody leads"
CANNOT_GO_ON = (*DID_NOTHING, NOBODY_LEADS, SHORT)
"""How notes begin of choices with which an exact execution ends."""
EXACT_PATIENCE = 60.0
"""Seconds that a thread, a packet or a leader gets at least to come in an exact execution."""
WINDOW_OPENS = 0.3
"""Seconds for which a client whose window is full waits for room."""
GIVEN_UP = 0.3
"""Seconds after which a pointless wait ends: the servers get them to do by themselves what they still do."""
UP_AT_FIRST = 30.0
"""Seconds that a fresh ensemble gets to elect a leader."""
ALONE_AT_FIRST = 12.0
"""Seconds after which a fresh server that does not serve, though others do, is emptied and started again: it may have
been elected by one that then followed another, and would wait for followers for minutes if the ensemble is patient."""
CONNECTED_AT_FIRST = 10.0
"""Seconds that clients get to connect; a run goes on without those that do not."""
UP_AT_LAST = 60.0
"""Seconds that every server gets to serve again once all is healed: 1 or 2 do, but a machine may be busy."""
STARTS_AT_LAST = 3
"""How often servers that end by themselves are started in the end."""
ANSWERED_AT_LAST = 5.0
"""Seconds that outstanding writes get in the end to be answered."""
SETTLED_AT_LAST = 10.0
"""Seconds that sessions get in the end to hear what has become of them."""
READ_AT_LAST = 30.0
"""Seconds that a server gets in the end to serve, and then to be read."""


def execute(
    schedule: EnsembleSchedule, distribution: Distribution, folder: Path, stop: Event | None = None, exact: bool = False
) -> None:
    """Execute `schedule`, and write the recording into `folder`, which has to be empty.

    An `exact` execution does each choice as it is written, and waits until a thread is held before it lets the thread
    go on; EnsembleError says why it cannot, and which thread waits for which.

    EnsembleError if the ensemble does not come up, or the proxy fails; KeyboardInterrupt after Ctrl-C, or soon after
    `stop` is set (Ctrl-C reaches the main thread only). Whatever is raised, everything is stopped, and the recording
    says that it is partial.
    """
    debugged = schedule.needs_agent
    places = found_places(schedule, distribution) if debugged else {}
    if debugged:
        distribution = with_agent(distribution)
    recorder = Recorder(folder)
    size, observers = schedule.servers, schedule.observers
    recorder.record(Run(1, distribution.version, size + observers, msgspec.to_builtins(schedule), observers))
    error = "interrupted"
    try:
        with Ensemble(
            size,
            distribution,
            folder,
            recorder.record,
            stop=stop,
            patient=debugged and schedule.patient,
            observers=observers,
            settings=IN_STEP if schedule.in_step else (),
        ) as ensemble:
            stops = Stops(ensemble, places, recorder.record) if debugged else None
            in_step = InStep(ensemble, stops, recorder.record) if schedule.in_step and stops is not None else None
            execution = Execution(ensemble, recorder.record, stops, exact or schedule.in_step, in_step)
            try:
                execution.begin()
                for number, choice in enumerate(schedule.choices):
                    execution.choose(number, choice)
                if not schedule.in_step:
                    execution.await_stops()
                execution.finish()
            finally:
                execution.close()
        error = ""
    except EnsembleError as failure:
        error = str(failure)
        raise
    except ProxyError as failure:
        error = str(failure)
        raise EnsembleError(error) from None
    finally:
        recorder.record(Ended(now(), not error, error))
        recorder.close()


class Execution:
    """One run: the clients, and which server plays which role."""

    def __init__(
        self,
        ensemble: Ensemble,
        record: Callable[[Record], None],
        stops: Stops | None = None,
        exact: bool = False,
        in_step: InStep | None = None,
    ) -> None:
        """`stops` are there with the debug agent, `in_step` behind a gate. For `exact` see `execute`."""
        self.ensemble = ensemble
        self.clients: dict[int, Client] = {}
        self._record = record
        self._stops = stops
        self._sessions = Sessions(ensemble, record)
        self._exact = exact
        self._in_step = in_step
        self._roles: dict[str, int] = {}
        self._isolated: set[int] = set()

    def begin(self) -> None:
        """Start everything, and cast the roles. EnsembleError if a server does not come up, or nobody leads.

        If a fresh server ends by itself, nothing more is waited for. Behind a gate none is started here.
        """
        servers = self.ensemble.servers
        if self._in_step is not None:
            self._cast(sorted(servers, reverse=True), LONG_SESSION)
            return
        for number in servers:
            self._start(number)
        waiting: list[int] = []
        leader: int | None = None

        def all_serve_or_one_has_ended() -> bool:
            nonlocal waiting, leader
            waiting = [number for number in servers if not self.ensemble.served(number)]
            leader = None if waiting else self.ensemble.leader()
            return leader is not None or not all(server.up for server in servers.values())

        first = min(ALONE_AT_FIRST, UP_AT_FIRST)
        if not self.ensemble.await_all(first, all_serve_or_one_has_ended):
            for number in waiting if len(waiting) < len(servers) else ():
                servers[number].kill()
                servers[number].wipe()
                self._start(number)
            self.ensemble.await_all(UP_AT_FIRST - first, all_serve_or_one_has_ended)
        for number, server in servers.items():
            if not server.up:
                raise EnsembleError(f"server {number} ended by itself when it was started: {reason(server.log())}")
        if waiting:
            why = reason(servers[waiting[0]].log())
            raise EnsembleError(f"server {waiting[0]} did not come up in {UP_AT_FIRST:g} s: {why}")
        if leader is None:
            raise EnsembleError(f"nobody led in {UP_AT_FIRST:g} s")
        for number, server in servers.items():
            log = read_log(log_file(server.folder, number, server.incarnation))
            if not any(isinstance(line, State) for line in log.lines):
                said = (server.log().splitlines() or ["nothing"])[0][:300]
                raise EnsembleError(f"the log of server {number} is not understood; is slf4j bound? It begins: {said}")
        observers = self.ensemble.observers
        others = sorted((number for number in servers if number not in (leader, *observers)), reverse=True)
        self._cast([leader, *others, *observers], SESSION)
        self.ensemble.await_all(CONNECTED_AT_FIRST, lambda: all(client.connected for client in self.clients.values()))

    def _cast(self, numbers: list[int], session: float) -> None:
        """Cast the roles, in this order, and let clients connect for sessions of so many seconds."""
        self._roles = dict(zip(ROLES, numbers, strict=False))
        self._record(Cast(now(), self._roles))
        self.clients = {
            number: Client(number, server.client_port, self._record, session)
            for number, server in self.ensemble.servers.items()
        }

    def choose(self, number: int, choice: Choice) -> None:
        """Execute a choice, or pass over it and record why."""
        self.ensemble.check()
        if self._stops is not None:
            self._stops.check()
        words = choice.words
        roles = self._roles
        if any(role == LEADER for _, role in choice.roles):
            leader = self._leader()
            if leader is None:
                self._record(Chose(now(), number, words, f"passed over: {NOBODY_LEADS}"))
                self._go_on(number, words, NOBODY_LEADS)
                return
            words += f" ({LEADER} is {self._role_of(leader)})"
            roles = {**roles, LEADER: leader}
        self._record(Chose(now(), number, words))
        note = self._apply(choice, roles)
        if note:
            self._record(Chose(now(), number, words, note))
            self._go_on(number, words, note)

    def _go_on(self, number: int, words: str, note: str) -> None:
        """EnsembleError if the execution is exact and this choice, because of `note`, was not done."""
        if self._exact and note.startswith(CANNOT_GO_ON):
            raise EnsembleError(f"choice {number}, {words}: {note}{self._standing()}")

    def _standing(self) -> str:
        return "" if self._stops is None else self._stops.standing()

    def _patience(self, seconds: float) -> float:
        return max(seconds, EXACT_PATIENCE) if self._exact else seconds

    def await_stops(self) -> None:
        """Wait until every stop of an exact execution has come. EnsembleError if one has not."""
        for number, point in self._stops.not_come() if self._exact and self._stops is not None else ():
            assert self._stops is not None
            why = self._stops.wait(number, point, EXACT_PATIENCE)
            if why:
                raise EnsembleError(f"{point} of {self._role_of(number)}: {why}{self._standing()}")
        if self._exact and self._stops is not None and self._stops.short:
            raise EnsembleError(self._stops.short)

    def _apply(self, choice: Choice, roles: dict[str, int]) -> str:
        """Apply a choice; return why it did nothing, or "" if it did something."""
        if isinstance(choice, AtPoint):
            return self._apply_at_point(choice, roles[choice.server])
        if isinstance(choice, SessionChoice):
            return self._sessions.apply(choice, roles)
        if isinstance(choice, InStepChoice):
            assert self._in_step is not None
            self._in_step.apply(choice, roles)
            return ""
        servers, proxy = self.ensemble.servers, self.ensemble.proxy
        match choice:
            case Write(server, count, size):
                client = self.clients[roles[server]]
                if self._in_step is not None:
                    self.ensemble.await_all(CONNECTED_AT_FIRST, lambda: client.connected)
                for written in range(count):
                    if not client.may_write and not self._window_opens(client):
                        return f"only {written} of them: nothing is answered"
                    client.write(size)
            case Settle(seconds):
                if not self._await(seconds, self._all_answered, self._some_may_be_answered):
                    return "some writes have no answer"
            case Wait(seconds):
                self.ensemble.await_all(seconds, lambda: False)
            case Kill(server):
                if not servers[roles[server]].up:
                    return "passed over: it is down"
                servers[roles[server]].kill()
            case KillAll():
                for one in servers.values():
                    one.kill()
            case Start(server):
                if servers[roles[server]].up:
                    return "passed over: it is up"
                self._start(roles[server])
            case StartAll():
                self._start_all()
            case Pause(server):
                if not servers[roles[server]].up:
                    return "passed over: it is down"
                servers[roles[server]].pause()
            case Resume(server):
                if not servers[roles[server]].paused:
                    return "passed over: it does not stand still"
                servers[roles[server]].resume()
            case Cut(sender, receiver):
                proxy.cut(roles[sender], roles[receiver])
            case Mend(sender, receiver):
                proxy.mend(roles[sender], roles[receiver])
            case Isolate(server):
                self._isolated.add(roles[server])
                for other in servers:
                    if other != roles[server]:
                        proxy.cut(roles[server], other)
                        proxy.cut(other, roles[server])
            case Reset(sender, receiver):
                proxy.reset(roles[sender], roles[receiver])
            case Hold(sender, receiver, kind):
                if roles[sender] == roles[receiver]:
                    return "passed over: one server has no link to itself"
                proxy.hold(roles[sender], roles[receiver], kind)
            case KillAt(server, sender, receiver, kind):
                if roles[sender] == roles[receiver]:
                    return "passed over: one server has no link to itself"
                proxy.trap(roles[sender], roles[receiver], kind, servers[roles[server]].kill)
            case Await(sender, receiver, seconds):
                if not proxy.wait_held(roles[sender], roles[receiver], self._patience(seconds)):
                    return "no such packet came"
            case Release(sender, receiver):
                proxy.release(roles[sender], roles[receiver])
            case Delay(sender, receiver, milliseconds):
                proxy.delay(roles[sender], roles[receiver], milliseconds)
            case Heal():
                self._heal()
            case Elected(seconds):
                if not self._await(self._patience(seconds), lambda: self._leader() is not None, self._some_may_serve):
                    return NOBODY_LEADS
            case PowerLoss(server):
                assert self._stops is not None
                return self._stops.cut_power(roles[server], choice)
            case ReadFields(server, fields):
                assert self._stops is not None
                return self._stops.read(roles[server], fields)
            case RollOver(server, left):
                assert self._stops is not None
                return self._stops.roll_over(roles[server], left)
        return ""

    def _apply_at_point(self, choice: AtPoint, number: int) -> str:
        assert self._stops is not None
        if self._exact and isinstance(choice, Step | Go):
            why = self._stops.wait(number, choice.point, EXACT_PATIENCE)
            if why:
                return why
        match choice:
            case Stop(_, point, nth):
                return self._stops.stop(number, point, nth)
            case KillAtPoint(_, point, nth):
                return self._stops.stop(number, point, nth, "killed")
            case Fail(_, point, nth):
                return self._stops.stop(number, point, nth, "failed")
            case AwaitStop(_, point, seconds):
                why = self._stops.wait(number, point, self._patience(seconds))
                return why + self._stops.waiting() if why and not self._exact else why or self._stops.short
            case Step(_, point):
                return self._stops.step(number, point)
            case Go(_, point):
                return self._stops.go(number, point)
        raise AssertionError(choice)

    def finish(self) -> None:
        """Heal everything, start the servers that are down, and read what every server has.

        A server that ends by itself is started again, as an operator would do, but not for ever.
        """
        self._heal()
        for server in self.ensemble.servers.values():
            server.resume()
        if self._stops is not None:
            self._stops.go_all()
        for _ in range(STARTS_AT_LAST):
            self._start_all()
            if self._in_step is not None:
                self._in_step.end_waits(partial(self.ensemble.await_all, ALONE_AT_FIRST, self._all_serve_that_are_up))
            self.ensemble.await_all(UP_AT_LAST, self._all_serve_that_are_up)
            if all(server.up for server in self.ensemble.servers.values()):
                break
        self.ensemble.await_all(ANSWERED_AT_LAST, self._all_answered)
        self.ensemble.await_all(SETTLED_AT_LAST, self._sessions.all_settled)
        for number, server in self.ensemble.servers.items():
            read: Read | NotRead
            if not server.up:
                read = NotRead(now(), number, f"ended by itself each time that it was started: {reason(server.log())}")
            elif not self.ensemble.await_all(READ_AT_LAST, partial(self._serves, number)):
                read = NotRead(now(), number, f"does not serve {UP_AT_LAST:g} s after everything is healed")
            else:
                read = self.clients[number].read_all(READ_AT_LAST)
            self._record(read)

    def close(self) -> None:
        """End the servers, then the clients, and read what the disks have."""
        try:
            for server in self.ensemble.servers.values():
                server.kill(over=True)
        finally:
            self._sessions.leave()
            for client in self.clients.values():
                client.close()
            if self._stops is not None:
                self._stops.close()
        for number, server in self.ensemble.servers.items():
            if server.incarnation >= 0:
                self._record(self._disk(number))

    def _start(self, number: int) -> None:
        if self._stops is not None:
            self._stops.forget(number)  # its folder may be about to be cut
        if self.ensemble.servers[number].incarnation >= 0:
            self._record(self._disk(number))
        self.ensemble.start(number)
        if self._stops is not None:
            self._stops.attach(number)

    def _start_all(self) -> None:
        for number, server in self.ensemble.servers.items():
            if not server.up:
                self._start(number)

    def _disk(self, number: int) -> Disk:
        """Read a server's disk; it is empty if the server ended before it wrote. EnsembleError if it cannot be read."""
        server = self.ensemble.servers[number]
        try:
            if version_directory(server.data) is None:
                return Disk(now(), number, server.incarnation, ())
            return read_disk(server.data, number, server.incarnation)
        except (DiskError, OSError) as error:
            raise EnsembleError(f"the disk of server {number} cannot be read: {error}") from None

    def _heal(self) -> None:
        self._isolated.clear()
        self.ensemble.proxy.heal()

    def _leader(self) -> int | None:
        """Find who leads; a server that is cut off does not count, as it may not know yet that nobody follows it."""
        return self.ensemble.leader(other_than=self._isolated)

    def _role_of(self, number: int) -> str:
        return next(role for role, server in self._roles.items() if server == number)

    def _await(self, seconds: float, condition: Callable[[], bool], possible: Callable[[], bool]) -> bool:
        """Wait until `condition` holds, `seconds` at most; whether it does. Gives up soon if that is not `possible`.

        What is possible may change meanwhile: a trap kills a server, or the last server that served gives up.
        """
        came = False
        until = inf

        def over() -> bool:
            nonlocal came, until
            came = condition()
            if not came:
                until = inf if possible() else min(until, monotonic() + GIVEN_UP)
            return came or monotonic() >= until

        self.ensemble.await_all(seconds, over)
        return came

    def _window_opens(self, client: Client) -> bool:
        """Wait until a client may write again, unless its server cannot answer; whether it may."""
        if client.number not in self.ensemble.may_serve():
            return False
        return self.ensemble.await_all(WINDOW_OPENS, lambda: client.may_write)

    def _all_answered(self) -> bool:
        return self._sessions.all_answered() and not any(client.outstanding for client in self.clients.values())

    def _some_may_be_answered(self) -> bool:
        """Whether a write is outstanding at a server that may come to answer it."""
        may_serve = self.ensemble.may_serve()
        return any(self.clients[number].outstanding or self._sessions.outstanding_at(number) for number in may_serve)

    def _some_may_serve(self) -> bool:
        """Whether there may be a leader, or a server has not noticed yet that there is none."""
        return bool(self.ensemble.may_serve()) or any(map(self._serves, self.ensemble.servers))

    def _serves(self, number: int) -> bool:
        return self.ensemble.served(number) is not None

    def _all_serve_that_are_up(self) -> bool:
        return all(self.ensemble.served(number) or not server.up for number, server in self.ensemble.servers.items())

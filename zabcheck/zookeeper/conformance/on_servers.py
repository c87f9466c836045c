"""A run of the model as a schedule for real servers, which is compared with them after each choice.

The model and an ensemble have different choices. In the model a packet waits until it is received; here it waits
at the gate of its link (`zabcheck.zookeeper.run.choices.in_step`). In the model an oracle names a leader; here servers
elect, and a leader is elected by those of its followers that the run names next, while no others can be heard. A
thread that takes turns of its own in the run is held at a named point between two turns (`held_threads`).
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Never

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.invariants import Event, Halt, Zxid
from zabcheck.invariants.quorums import MAJORITY, quorums_of
from zabcheck.protocols.base import Message, Send
from zabcheck.protocols.switches import COUNTER_LIMIT, completed
from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.network import End
from zabcheck.simulation.schedule import Schedule
from zabcheck.simulation.simulator import Simulator
from zabcheck.zookeeper.conformance.by_vote import by_vote
from zabcheck.zookeeper.conformance.held_threads import HeldThreads
from zabcheck.zookeeper.model import KINDS, ZOOKEEPER, messages
from zabcheck.zookeeper.model.leader import start_server
from zabcheck.zookeeper.model.server import Link, Server, finish, vote
from zabcheck.zookeeper.model.switches import Release, ZooKeeperSwitches
from zabcheck.zookeeper.model.versions import ON_REQUEST, VERSIONS
from zabcheck.zookeeper.run.choices.choice import ROLES, Role
from zabcheck.zookeeper.run.choices.choice import Choice as Done
from zabcheck.zookeeper.run.choices.in_step import Expect, Leave, LetThrough, Lose, Meet, NoticeEnd, OpenedGate
from zabcheck.zookeeper.run.choices.servers import BackUp, Kill, Restore, Start, Wipe
from zabcheck.zookeeper.run.choices.writes import Write
from zabcheck.zookeeper.run.schedule import SIZES, EnsembleSchedule

LOOKING, FOLLOWING, LEADING = 0, 1, 2
"""The values of the field `state` of a server."""
_WINDOW = 500
"""The least that committedLog can hold in ZooKeeper."""


class CannotBeHad(ValueError):
    """The run is impossible on real servers. The message is one line with the choice and the reason."""


class Translation(Struct, frozen=True):
    """A schedule for servers. `executed` are the choices of the run, `sources` the choice behind each of `schedule`.

    `sources` has an entry for each choice of `schedule`: the number of the choice of the run, from 0; -1 before the
    first.
    """

    schedule: EnsembleSchedule
    executed: tuple[Choice, ...]
    sources: tuple[int, ...]


def as_servers_are(schedule: Schedule, release: Release) -> Schedule:
    """Return a run that servers of a release can have: with its defects, the window, all counters, elections by vote.

    CannotBeHad if the schedule is of another release, or if there is no such run that breaks the same.
    """
    its = completed(schedule.switches, ZooKeeperSwitches)
    if VERSIONS[its.version] != VERSIONS[release]:
        raise CannotBeHad(f"its version is {its.version}, the servers are {release}, as the model has it")
    if schedule.processes not in SIZES:
        raise CannotBeHad(f"it has {schedule.processes} processes; an ensemble has 3 or 5 servers")
    if schedule.quorums != MAJORITY:
        raise CannotBeHad(f"its quorums are `{schedule.quorums}`; an ensemble has majorities")
    if its.defects in ON_REQUEST:
        raise CannotBeHad("a disk fails in it, or loses a file; a schedule for servers says which file, and when")
    window = max(its.window, _WINDOW)
    switches = replace(
        its, version=release, defects="all", window=window, counter_limit=COUNTER_LIMIT, errors="handled"
    )
    run = replace(schedule, switches=switches)
    if run.switches.elections == "fle":
        raise CannotBeHad("it has each message of an election; search with --switch elections=oracle")
    if run.switches.elections == "oracle":
        return run
    voted = by_vote(run)
    if voted is None:
        raise CannotBeHad("its elections are not by vote (--switch elections=oracle), and none by vote do the same")
    return voted


def translate(run: Schedule) -> Translation:
    """Turn a run of the model, as `as_servers_are` returns it, into one of real servers.

    CannotBeHad if servers cannot do that. StepRaised as in `Simulator`.
    """
    assert run.switches.elections == "oracle"
    first = _simulator(run, lambda _: None)
    for choice in run.choices:
        first.execute(choice)
    return _Translator(run, tuple(first.executed)).translation()


def _simulator(schedule: Schedule, show: Callable[[Event], None]) -> Simulator:
    quorums = quorums_of(schedule.quorums, schedule.processes)
    return Simulator(ZOOKEEPER, schedule.processes, show, quorums=quorums, switches=schedule.switches)


class ExitWatcher:
    """Called with the events of a run: remembers the servers that ended by themselves."""

    def __init__(self) -> None:
        self.ended: list[int] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, Halt):
            self.ended.append(event.process)


class _Translator:
    """Executes the run in the model, choice by choice, and writes the choices for servers instead."""

    def __init__(self, schedule: Schedule, executed: tuple[Choice, ...]) -> None:
        self._schedule = schedule
        self._executed = executed
        self._shown = ExitWatcher()
        self._run = _simulator(schedule, self._shown)
        self._done: list[Done] = []
        self._sources: list[int] = []
        self._number = -1
        self._following: dict[int, int] = {}
        """The server that each server really follows; itself if it leads. One that is LOOKING or down is left out."""
        self._unnoticed: list[tuple[int, int]] = []
        """(leader, follower): the leader is to notice that the follower has gone, once it would not give up then."""
        self._ended: list[tuple[int, int]] = []
        """(leader, follower): their connection ended with the leader's last iteration; in the model it still waits."""
        self._switches = completed(schedule.switches, ZooKeeperSwitches)
        self._threads = HeldThreads(self._switches.grain, self._emit, self._role)

    def translation(self) -> Translation:
        """Return the schedule for servers."""
        self._emit(OpenedGate())
        for process in self._run.ids:
            self._emit(Start(self._role(process)))
            self._threads.started(process)
        for process in self._run.ids:
            self._compare(process, {})
        for number, choice in enumerate(self._executed):
            self._number = number
            self._take(choice)
        for process in self._run.ids:
            state = self._state(process)
            if process in self._following and (state is None or not state.running):
                self._leave(process)  # it would wait for minutes
        schedule = EnsembleSchedule(
            2,
            "zookeeper",
            self._schedule.processes,  # type: ignore[arg-type]  # it was checked
            tuple(self._done),
            zookeeper=self._switches.version,
            finds=self._schedule.violates or "",
        )
        return Translation(schedule, self._executed, tuple(self._sources))

    def _take(self, choice: Choice) -> None:
        """Write the choices for servers instead of a choice, then execute it, and compare the processes that moved."""
        before = {process: self._state(process) for process in self._run.ids}
        sent = self._under_way()
        moved = self._before(choice)
        ended = len(self._shown.ended)
        executed = self._run.execute(choice)
        assert executed, "it was executed before"
        now = self._under_way()
        for process in moved:
            if process in self._shown.ended[ended:]:
                self._emit(Expect(self._role(process), self._number, up=False))
                self._forget(process)
                continue
            after = self._state(process)
            self._threads.moved(process, before[process], after)
            if after is not None and after.leader is None and process in self._following:
                self._left(process)  # by itself
            changed = {
                receiver: kinds
                for (sender, receiver), kinds in now.items()
                if sender == process and len(kinds) > len(sent.get((sender, receiver), ()))
            }
            self._compare(process, changed)
            self._threads.settled(process)
        self._notice_what_can_be()

    def _before(self, choice: Choice) -> list[int]:
        """Write the choices for servers instead of a choice; return the processes that move."""
        match choice:
            case choices.Lead(leader, followers):
                return self._elect(leader, followers)
            case choices.Elect(process, leader):
                self._join(process, leader)
            case choices.Receive(process, sender):
                self._receive(process, sender)
            case choices.Request(process):
                self._emit(Write(self._role(process)))
            case choices.Timeout(process):
                if process in self._following:
                    self._leave(process)
            case choices.Notice(process, peer):
                if self._following.get(process) == process:
                    self._unnoticed.append((process, peer))
                elif self._following.get(process) == peer:
                    self._leave(process)
            case choices.Reset(process, peer):
                self._emit(Lose(self._role(process), self._role(peer)))
                return []
            case choices.Crash(process, keep):
                if keep and self._run.disks[process].unsynced:
                    self._refuse("kill -9 keeps nothing that was not forced to the disk")
                self._emit(Kill(self._role(process)))
                self._forget(process)
            case choices.Recover(process):
                self._emit(Start(self._role(process)))
                self._threads.started(process)
            case choices.Wipe(process):
                self._emit(Wipe(self._role(process)))
                return []  # nothing is left to compare
            case choices.BackUp(process):
                self._emit(BackUp(self._role(process)))
                return []
            case choices.Restore(process):
                self._emit(Restore(self._role(process)))
                return []  # it is compared when its server is up
            case choices.Run(process, thread):
                self._turn(process, thread)
            case choices.Snapshot():
                self._refuse("no server can be told when to write a snapshot")
            case (
                choices.Cut()
                | choices.Mend()
                | choices.Stall()
                | choices.Hold()
                | choices.Heal()
                | choices.Pause()
                | choices.Wake()
            ):
                return []  # nothing gets through anyway, and no process moves, unless a choice moves it
            case _:
                self._refuse("it has no counterpart")
        return [choice.process]

    # Elections.

    def _elect(self, leader: int, followers: tuple[int, ...]) -> list[int]:
        """Have servers leave their iterations, and elect, as in `Simulator._lead_by_vote`; return those that move."""
        chosen = [each for each in dict.fromkeys((leader, *followers)) if self._state(each) is not None]
        trial = self._run.fork(lambda _: None)
        for each in chosen:
            trial.execute(choices.Timeout(each))
            if each in self._following:
                self._leave(each)
        votes = {each: vote(trial.states[each]) for each in chosen}
        if max(votes, key=votes.__getitem__, default=None) == leader and self._run.quorums.contains(votes):
            self._meet(leader, [], chosen)
            self._ended += [
                (leader, each.follower)
                for each in self._run.connections.values()
                if each.leader == leader and each.leader_end is End.WAITING and each.follower not in chosen
            ]
            for each in self._waiting_for(leader, chosen):
                self._emit(Lose(self._role(each), self._role(leader)))
                self._leave(each)
                self._join(each, leader)
        return chosen

    def _waiting_for(self, leader: int, chosen: Sequence[int]) -> list[int]:
        """Return the followers of a leader that leads anew, if it has not accepted them before.

        In the model such a connection waits for the new iteration, as of a server that is late to connect. A real one
        was made at once, and has ended with the leader's last iteration: so the server elects the same leader again.
        """
        others = [each for each, of in self._following.items() if of == leader and each not in chosen]
        return [each for each in others if self._run.channels.connection_of(each) == "waiting"]

    def _join(self, process: int, leader: int) -> None:
        """Have one more server follow a leader."""
        self._meet(leader, [each for each, of in self._following.items() if of == leader], [process])

    def _meet(self, leader: int, there: Sequence[int], joining: Sequence[int]) -> None:
        """Let servers elect `leader`, wait until they have, and let none elect any more."""
        everybody = tuple(map(self._role, sorted({leader, *there, *joining}, reverse=True)))
        for each in joining:
            self._following[each] = leader
        self._ended = [each for each in self._ended if each[1] not in joining]
        if leader in joining:
            self._emit(Meet(everybody, self._role(leader)))
            self._await_state(leader, LEADING)
        self._emit(Meet(everybody))
        for each in joining:
            if each != leader:
                self._await_state(each, FOLLOWING)
        self._emit(Meet(()))

    # The ends of iterations.

    def _tried(self, choice: Choice, process: int) -> Server | None:
        """Return a server as a choice would leave it."""
        trial = self._run.fork(lambda _: None)
        trial.execute(choice)
        return trial.states[process]  # type: ignore[no-any-return]  # all are servers

    def _finish(self, process: int) -> None:
        """Let a main thread that is held do all that it has begun, and wait until that is done."""
        state = self._state(process)
        if state is None or not self._threads.let_main_go(process):
            return
        trial = copy(state)
        sent = [each for each in finish(trial) if isinstance(each, Send)]
        leader = state.leader
        assert leader is not None
        kinds = self._under_way().get((process, leader), ())
        under_way = {self._role(leader): (*kinds, *(KINDS[type(each.message)] for each in sent))}
        self._emit(
            Expect(
                self._role(process),
                self._number,
                fields={"currentEpoch": trial.current_epoch},
                under_way=under_way if sent and leader != process else {},
            )
        )

    def _leave(self, process: int) -> None:
        self._finish(process)
        leader = self._following[process]
        self._emit(Leave(self._role(process), None if leader == process else self._role(leader)))
        self._threads.leaves(process, self._state(process))
        self._left(process)
        self._threads.has_left(process, self._state(process))

    def _left(self, process: int) -> None:
        """Let a server leave now, because of a choice, or by itself."""
        self._following.pop(process, None)
        self._unnoticed = [each for each in self._unnoticed if process not in each]
        self._await_state(process, LOOKING)

    def _forget(self, process: int) -> None:
        self._following.pop(process, None)
        self._unnoticed = [each for each in self._unnoticed if process not in each]
        self._threads.ended(process)

    def _notice_what_can_be(self) -> None:
        """Let leaders notice gone followers, if a quorum remains: a leader without one gives up at once."""
        for leader, follower in [*self._unnoticed]:
            state = self._state(leader)
            if state is None:
                continue
            gone = [each for of, each in self._unnoticed if of == leader]
            synced = [each for each, link in state.links.items() if link is Link.SYNCED and each not in gone]
            if not state.running or self._run.quorums.contains([leader, *synced]):
                self._emit(NoticeEnd(self._role(leader), self._role(follower)))
                self._unnoticed.remove((leader, follower))

    # Packets and threads.

    def _receive(self, process: int, sender: int) -> None:
        leads = self._run.channels.following[process] == process
        connection = self._run.connections[(sender, process) if leads else (process, sender)]
        message = (connection.to_leader if leads else connection.to_follower)[0][0]
        if isinstance(message, messages.FollowerInfo):
            self._unnoticed = [each for each in self._unnoticed if each != (process, sender)]
            if self._following.get(sender) == process:
                self._emit(NoticeEnd(self._role(process), self._role(sender)))  # of the connection before
            elif (process, sender) in self._ended:
                self._refuse("its sender has left, and its leader leads anew: their connection has ended")
        before = self._state(process)
        assert before is not None
        if before.todo and not before.leads:
            self._finish(process)  # the main thread reads nothing before
            before.todo = ()
        self._threads.begins(process, before, self._tried(choices.Receive(process, sender), process))
        self._emit(LetThrough(self._role(sender), self._role(process), KINDS[type(message)], _zxid(message)))

    def _turn(self, process: int, thread: str) -> None:
        state = self._state(process)
        assert state is not None
        why = self._threads.turn(process, thread, state)
        if why:
            self._refuse(why)

    # Comparing.

    def _compare(self, process: int, changed: dict[int, tuple[str, ...]]) -> None:
        """Write the comparison of a server."""
        state = self._state(process)
        after = self._number
        if state is None:
            kept = self._run.disks[process].durable.get("log", ())
            on_disk = tuple(each.zxid.packed() for each in kept)
            self._emit(Expect(self._role(process), after, up=False, log=on_disk))
            return
        if any(each.step is start_server for each in state.todo):
            return  # it is not held before that
        fields = dict(self._fields(state))
        records = tuple(each.zxid.packed() for each in state.log)
        log = None if state.to_flush else records
        labels = tuple(each.label.packed() for each in state.snapshots)
        under_way = {self._role(receiver): kinds for receiver, kinds in changed.items()}
        self._emit(Expect(self._role(process), after, True, fields, log, labels, under_way))

    def _fields(self, state: Server) -> Iterator[tuple[str, int]]:
        """Yield the part of a server's memory that both sides know, by the names of the fields."""
        database = state.database
        if state.id not in self._following:
            yield "state", LOOKING
        yield "acceptedEpoch", state.accepted_epoch
        yield "currentEpoch", state.current_epoch
        yield "lastProcessedZxid", database.lpz.packed()
        if database.cache:
            yield "minCommittedLog", database.oldest.packed()
            yield "maxCommittedLog", database.newest.packed()
        if state.leads and state.running:
            yield "lastProposed", Zxid(state.epoch, state.counter).packed()
            yield "outstandingProposals", len(state.outstanding)
        if state.running and not state.leads:
            yield "pendingTxns", len(state.pending)

    def _await_state(self, process: int, value: int) -> None:
        self._emit(Expect(self._role(process), self._number, fields={"state": value}))

    def _under_way(self) -> dict[tuple[int, int], tuple[str, ...]]:
        """Return the kinds of the packets in transit, by sender and receiver."""
        found = {}
        for (follower, leader), connection in self._run.connections.items():
            found[follower, leader] = tuple(KINDS[type(message)] for message, _ in connection.to_leader)
            found[leader, follower] = tuple(KINDS[type(message)] for message, _ in connection.to_follower)
        return found

    # What all of it needs.

    def _state(self, process: int) -> Server | None:
        state = self._run.states[process]
        assert state is None or isinstance(state, Server)
        return copy(state)

    def _role(self, process: int) -> Role:
        """A is the server with the highest number."""
        return ROLES[self._schedule.processes - process]

    def _emit(self, done: Done) -> None:
        self._done.append(done)
        self._sources.append(self._number)

    def _refuse(self, why: str) -> Never:
        choice = self._executed[self._number]
        said = ", ".join(f"{name} {getattr(choice, name)}" for name in choice.__struct_fields__)
        raise CannotBeHad(f"choices[{self._number}], {type(choice).__name__.lower()} {said}: {why}")


def _zxid(message: Message) -> int | None:
    """Return the zxid in the header of a packet; None if that is meaningless."""
    match message:
        case messages.FollowerInfo():
            return Zxid(message.accepted_epoch, 0).packed()
        case messages.LeaderInfo() | messages.NewLeader():
            return Zxid(message.epoch, 0).packed()
        case messages.Proposal():
            return message.txn.zxid.packed()
        case (
            messages.AckEpoch() | messages.Diff() | messages.Trunc() | messages.Snap() | messages.Commit()
        ) | messages.Ack():
            return message.zxid.packed()
    return None

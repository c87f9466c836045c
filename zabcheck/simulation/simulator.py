"""The simulator: processes, channels and disks, moved by choices and by nothing else.

Deterministic: the same choices on the same protocol give the same events, on every machine. No clock is read, no
random source, and no set is iterated.

A step is one fine choice that was enabled. A choice that is not enabled does nothing, and is no step.

This module takes each fine choice to the part of the run that it moves: `processes` takes the steps of the protocol,
`disk` keeps what they write, `channels` carries messages, `obstacles` holds them back. `coarse` turns the other choices
into fine ones.
"""

import operator
from collections.abc import Callable, Iterable
from copy import copy
from functools import cache
from typing import Any, get_args

from invariants import (
    Corrupt,
    Cut,
    Drop,
    Elect,
    Event,
    Heal,
    Hold,
    Mend,
    Overtake,
    Pause,
    Quiescent,
    Receive,
    Stabilised,
    Stall,
    Wake,
)
from invariants.quorums import Quorums
from zabcheck.protocols.base import Elected, Lost, Protocol, StepRaised, TakeSnapshot, TimedOut
from zabcheck.protocols.base import Request as RequestStimulus
from zabcheck.protocols.base import Run as RunStimulus
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.simulation import choices, coarse, quiesce, stabilise, voting
from zabcheck.simulation.application import Application
from zabcheck.simulation.channels import Channels
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.mesh import Mesh
from zabcheck.simulation.network import Parcel
from zabcheck.simulation.processes import Processes

_Disturbance = (
    choices.Cut
    | choices.Mend
    | choices.Stall
    | choices.Hold
    | choices.Overtake
    | choices.Heal
    | choices.Pause
    | choices.Wake
)
"""The choices that concern the environment alone: they only change which messages and processes get through."""


def _not_enabled(simulator: "Simulator", choice: Choice) -> bool:
    return False


class Simulator:
    """One run of `protocol` with processes 1 to `processes`, all up at first.

    `show` is called with each event; with `network` True also with the events that are for drawing only: messages,
    cuts, the oracle's answers. `executed` lists the fine choices that were enabled, in order; with `remember` False it
    stays empty, and memory does not grow with the number of steps. `on_step` is called after each step with its fine
    choice.

    If a step of the protocol raises, the constructor or `execute` raises StepRaised; the choice that led to it counts
    as a step like any other, and the run is over.
    """

    def __init__(
        self,
        protocol: Protocol,
        processes: int,
        show: Callable[[Event], None],
        *,
        quorums: Quorums | None = None,
        switches: Switches = LETTER,
        network: bool = False,
        remember: bool = True,
        on_step: Callable[[Choice], None] | None = None,
    ) -> None:
        assert processes >= 1
        assert quorums is None or quorums.size == processes
        self.remember = remember
        self.on_step = on_step
        quorums = Quorums(processes) if quorums is None else quorums
        application = Application(show, in_words=network) if switches.application == "key-value" else None
        show = show if application is None else application.observe
        kind = Mesh if protocol.environment.mesh else Channels
        channels = kind(processes, self._show_lost, abrupt=switches.closing == "abrupt")
        self._begin(Processes(protocol, quorums, switches, show, channels, application, network=network))
        for process in self.ids:
            if self.application is not None:
                self.application.start(process)
            self.processes.start(process)

    @classmethod
    def of(cls, processes: Processes, requests: int = 0) -> "Simulator":
        """A run that begins with these processes and their channels as they are, when `requests` were made."""
        run = cls.__new__(cls)
        run.remember, run.on_step = False, None
        run._begin(processes, requests)
        return run

    def _begin(self, processes: Processes, requests: int = 0) -> None:
        self.protocol = processes.protocol
        self.quorums = processes.quorums
        self.switches = processes.switches
        self.application = processes.application
        self.show = processes.show
        self.network = processes.network
        self.ids = range(1, self.quorums.size + 1)
        self.steps = 0
        self.requests = requests
        self.executed: list[Choice] = []
        self.stable = False  # the environment promised not to disturb any more
        self.rests = 0  # how often the environment has looked at an ensemble at rest
        self._waiting: list[tuple[int, int, int]] | None = None  # what `waiting` found, until something is done
        self._consist_of(processes.channels, processes)
        self._fine = _fine_table(self.switches.elections, self.protocol.environment.never)

    def _consist_of(self, channels: Channels, processes: Processes) -> None:
        """Make the run consist of `channels` and `processes`.

        The simulator keeps references to their lists, dicts and sets, for speed. So none of these may ever be replaced
        by another object: a restriction that nothing but this sentence enforces.
        """
        self.channels = channels
        self.following = channels.following  # by process id
        self.connections = channels.connections  # by (follower, leader)
        self.obstacles = channels.obstacles
        self.cuts = self.obstacles.cuts  # (sender, receiver)
        self.holds = self.obstacles.holds  # by (sender, receiver)
        self.paused = self.obstacles.paused
        self.processes = processes
        # By process id; entry 0 is not used.
        self.incarnations = processes.incarnations
        self.disks = processes.disks
        self.states = processes.states  # None: down
        self.halted = processes.halted

    def execute(self, choice: Choice) -> int:
        """Execute `choice` as far as it is enabled, and return the number of steps. May raise StepRaised."""
        fine = self._fine.get(type(choice))
        if fine is not None:
            if self.stable or (self.paused and self.obstacles.stops(choice)):
                return 0
            raised = None
            self._waiting = None
            try:
                if not fine(self, choice):
                    return 0
            except StepRaised as error:
                raised = error
            self._waiting = None
            self.steps += 1
            if self.remember:
                self.executed.append(choice)
            if self.on_step is not None:
                self.on_step(choice)
            if raised is not None:
                raise raised
            return 1
        before = self.steps
        if isinstance(choice, choices.Stabilise):
            self._stabilise(choice)
        elif isinstance(choice, choices.Quiesce):
            self._quiesce(choice)
        elif self.switches.elections == "fle" and isinstance(choice, choices.Lead | choices.Elect):
            self._execute_all(voting.fine(choice, self))
        else:
            self._execute_all(coarse.fine(choice, self))
        return self.steps - before

    # What can be asked.

    def waiting(self) -> list[tuple[int, int, int]]:
        """Return (process, sender, number of messages) for each link from which a message can be handled now."""
        if self._waiting is None:
            self._waiting = self.channels.waiting()
        return self._waiting

    def hearing(self) -> list[tuple[int, int, int]]:
        """Return (process, sender, number of messages) for each link of an election from which one can be heard."""
        found = self.channels.ballots.waiting()
        return found and [each for each in found if self.states[each[0]] is not None]

    def unsynced(self) -> list[int]:
        """Return the processes that have something to sync and are not paused, in ascending order.

        What a process syncs itself (`Buffer`) is among it, although no choice does so.
        """
        return [process for process in self.ids if self.disks[process].unsynced and process not in self.paused]

    def threads(self) -> list[tuple[int, str]]:
        """Return (process, thread) for each thread that has something to do, of the processes that are not paused."""
        if not self.processes.threads:
            return []
        turns, paused = self.processes.turns, self.paused
        return [turn for process in self.ids if process not in paused for turn in turns(process)]

    def closed(self) -> list[tuple[int, int]]:
        """Return (process, peer) where `process` has yet to notice that `peer` closed their connection."""
        return self.channels.closed()

    def obstructed(self) -> list[tuple[int, int]]:
        """Return (sender, receiver) of each link that is cut, stalled or held, sorted."""
        return self.obstacles.links()

    def is_up(self, process: int) -> bool:
        return self.states[process] is not None

    def may_broadcast(self, process: int) -> bool:
        """Whether `process` is up and takes a client's request."""
        state = self.states[process]
        return state is not None and self.protocol.can_broadcast(state)

    def highest_epoch(self, process: int) -> int:
        """Return the highest epoch that `process` has promised or proposed; 0 if it is down, or nobody knows.

        StepRaised if the protocol's code raised, or gives no number.
        """
        state, highest_epoch = self.states[process], self.protocol.highest_epoch
        if state is None or highest_epoch is None:
            return 0
        try:
            return operator.index(highest_epoch(state))
        except Exception as error:
            raise StepRaised(process, process, Elected(self.following[process]), error) from error

    @property
    def messages(self) -> int:
        """The number of messages sent so far."""
        return self.channels.messages

    @property
    def disturbed(self) -> bool:
        """Whether something may stand in the way of a message or a process; False only if nothing does."""
        return self.obstacles.disturbed

    def fork(self, show: Callable[[Event], None]) -> "Simulator":
        """Return an independent copy that goes on from here. O(processes + messages under way + steps)."""
        twin = copy(self)
        twin.executed = self.executed.copy()
        twin.show = show
        if self.application is not None:
            twin.application = self.application.fork(show)
            twin.show = twin.application.observe
        channels = self.channels.copy(twin._show_lost)
        twin._consist_of(channels, self.processes.copy(twin.show, channels, twin.application))
        return twin

    # Fine choices: each returns whether it was enabled.

    def _elect(self, choice: choices.Elect) -> bool:
        process = choice.process
        if self.states[process] is None:
            return False
        if self.network:
            self.show(Elect(process, self.incarnations[process], choice.leader))
        return self.processes.handle(process, process, Elected(choice.leader))

    def _receive(self, choice: choices.Receive) -> bool:
        return self._handle(choice.process, choice.sender, self.channels.take(choice.process, choice.sender))

    def _hear(self, choice: choices.Hear) -> bool:
        up, ballots = self.is_up(choice.process), self.channels.ballots
        return up and self._handle(choice.process, choice.sender, ballots.take(choice.process, choice.sender))

    def _handle(self, process: int, sender: int, parcel: Parcel | None) -> bool:
        if parcel is None:
            return False
        message, number = parcel
        if self.network:
            self.show(Receive(process, self.incarnations[process], sender, number))
        self.processes.handle(process, sender, message)
        return True

    def _sync(self, choice: choices.Sync) -> bool:
        process = choice.process
        if not self.disks[process].unsynced:
            return False
        for write in self.disks[process].sync():
            self.processes.perform(process, write.withheld)
        return True

    def _run(self, choice: choices.Run) -> bool:
        if (choice.process, choice.thread) not in self.processes.turns(choice.process):
            return False
        self.processes.handle(choice.process, choice.process, RunStimulus(choice.thread))
        return True

    def _request(self, choice: choices.Request) -> bool:
        if not self.may_broadcast(choice.process):
            return False
        value = choice.value
        if value is None:
            self.requests += 1
            value = f"v{self.requests}"
            if self.application is not None:
                value = self.application.change(choice.process, self.requests)
        return self.processes.handle(choice.process, choice.process, RequestStimulus(value))

    def _timeout(self, choice: choices.Timeout) -> bool:
        return self.states[choice.process] is not None and self.processes.handle(
            choice.process, choice.process, TimedOut()
        )

    def _notice(self, choice: choices.Notice) -> bool:
        if not self.channels.notice(choice.process, choice.peer):
            return False
        self.processes.handle(choice.process, choice.peer, Lost(choice.peer))
        return True

    def _crash(self, choice: choices.Crash) -> bool:
        process = choice.process
        if self.states[process] is None:
            return False
        self.processes.crash(process, choice.keep)
        self.paused.discard(process)
        return True

    def _corrupt(self, choice: choices.Corrupt) -> bool:
        process = choice.process
        altered = self.disks[process].alter(choice.record)
        if altered is None:
            return False
        if self.network:
            self.show(Corrupt(process, self.incarnations[process], *altered))
        return True

    def _recover(self, choice: choices.Recover) -> bool:
        process = choice.process
        if self.states[process] is not None or self.halted[process]:
            return False
        self.processes.recover(process)
        return True

    def _snapshot(self, choice: choices.Snapshot) -> bool:
        process = choice.process
        if self.states[process] is None or not self.processes.handle(process, process, TakeSnapshot(choice.cut)):
            return False
        if self.application is not None:
            self.application.snapshot(process, self.disks[process].written("snapshot"))
        return True

    def _disturb(self, choice: _Disturbance) -> bool:
        """Change what stands in the way of messages or of a process; no process takes a step."""
        obstacles = self.obstacles
        event: Event
        match choice:
            case choices.Cut(sender, receiver):
                done, event = obstacles.cut(sender, receiver), Cut(sender, receiver)
            case choices.Mend(sender, receiver):
                done, event = obstacles.mend(sender, receiver), Mend(sender, receiver)
            case choices.Stall(sender, receiver):
                done, event = obstacles.stall(sender, receiver), Stall(sender, receiver)
            case choices.Hold(sender, receiver, kind):
                types = tuple(each for each, name in self.protocol.kinds.items() if name == kind)
                done, event = obstacles.hold(sender, receiver, types), Hold(sender, receiver, kind)
            case choices.Overtake(sender, receiver):
                done = not self.protocol.environment.fifo and self.channels.overtake(sender, receiver)
                event = Overtake(sender, receiver)
            case choices.Heal():
                done, event = obstacles.heal(), Heal()
            case choices.Pause(process):
                done = self.states[process] is not None and obstacles.pause(process)
                event = Pause(process, self.incarnations[process])
            case choices.Wake(process):
                done, event = obstacles.wake(process), Wake(process, self.incarnations[process])
        if done and self.network:
            self.show(event)
        return done

    def _reset(self, choice: choices.Reset) -> bool:
        return self.channels.reset(choice.process, choice.peer)

    def _lead_at_once(self, choice: choices.Lead) -> bool:
        """Execute an election as one step: the processes that are not paused choose the leader, which does so first."""
        chosen = [choice.leader, *(p for p in choice.followers if p != choice.leader)]
        elected = [self._elect(choices.Elect(p, choice.leader)) for p in chosen if p not in self.paused]
        return any(elected)

    def _lead_by_vote(self, choice: choices.Lead) -> bool:
        """Execute an election among the leader and its followers as one step; who is in an iteration leaves it first.

        It is named only if they are a quorum, and its vote (`Protocol.vote`) is the greatest of those that may lead.
        """
        chosen = [p for p in dict.fromkeys((choice.leader, *choice.followers)) if p not in self.paused]
        left = [self._timeout(choices.Timeout(p)) for p in chosen]
        votes = {p: self.protocol.vote(self.states[p]) for p in chosen if self.protocol.vote and self.is_up(p)}
        greatest = max(filter(self.quorums.may_lead, votes), key=votes.__getitem__, default=None)
        if greatest != choice.leader or not self.quorums.contains(votes):
            return any(left)
        for process in votes:
            self._elect(choices.Elect(process, choice.leader))
        return True

    def _join(self, choice: choices.Elect) -> bool:
        """Let a process that follows nobody join the leader that a quorum, with that leader, has."""
        leader, following = choice.leader, self.following
        led = [process for process in self.ids if following[process] == leader]
        if following[choice.process] or leader not in led or not self.quorums.contains(led):
            return False
        return self._elect(choice)

    def _stabilise(self, choice: choices.Stabilise) -> None:
        leader, quorum = choice.leader, sorted(set(choice.quorum))
        if "stabilise" in self.protocol.environment.never:
            return
        if self.stable or not stabilise.is_least(self.quorums, leader, quorum) or any(self.halted[p] for p in quorum):
            return
        remember, self.remember = self.remember, False
        try:
            self._execute_all(stabilise.calm(quorum))
            if all(self.is_up(process) for process in quorum):
                self.show(Stabilised(leader, self.incarnations[leader], tuple(quorum)))
                self._execute_all(stabilise.lead_and_deliver(leader, quorum, self.switches, self))
        finally:
            self.stable = True
            self.remember = remember
            if remember:
                self.executed.append(choice)

    def _quiesce(self, choice: choices.Quiesce) -> None:
        if self.stable or "quiesce" in self.protocol.environment.never:
            return
        remember, self.remember = self.remember, False
        try:
            self._execute_all(quiesce.until_quiet(self))
        finally:
            self.remember = remember
            if remember:
                self.executed.append(choice)
        if quiesce.is_quiet(self):
            self.rests += 1
            for process in self.ids:
                if self.states[process] is not None:
                    self.show(self._at_rest(process))
            self.steps += 1
            if self.on_step is not None:
                self.on_step(choice)

    def _at_rest(self, process: int) -> Quiescent:
        """Return what the environment sees of a process that is up."""
        primary = self.may_broadcast(process)
        connection = self.channels.connection_of(process)
        leader = self.following[process] or None
        return Quiescent(process, self.incarnations[process], self.rests, leader, connection, primary)

    def _execute_all(self, choices: Iterable[Choice]) -> None:
        for choice in choices:
            self.execute(choice)

    def _show_lost(self, parcels: list[Parcel]) -> None:
        if self.network:
            for _, number in parcels:
                self.show(Drop(number))


@cache
def _fine_table(elections: str, never: tuple[str, ...]) -> dict[type[Choice], Callable[[Simulator, Any], bool]]:
    """Return what executes each kind of fine choice, and tells whether it was enabled.

    `elections` is the value of that switch; the choices whose kinds are in `never` are not enabled.
    """
    table: dict[type[Choice], Callable[[Simulator, Any], bool]] = {choices.Elect: Simulator._elect}
    if elections == "together":  # each oracle by itself is never enabled
        table = {choices.Elect: _not_enabled, choices.Lead: Simulator._lead_at_once}
    if elections == "oracle":
        table = {choices.Elect: Simulator._join, choices.Lead: Simulator._lead_by_vote}
    if elections == "fle":  # what leads to a leader are messages, also where a choice names one
        table = {}
    table |= {
        choices.Receive: Simulator._receive,
        choices.Hear: Simulator._hear,
        choices.Sync: Simulator._sync,
        choices.Run: Simulator._run,
        choices.Request: Simulator._request,
        choices.Timeout: Simulator._timeout,
        choices.Notice: Simulator._notice,
        choices.Crash: Simulator._crash,
        choices.Corrupt: Simulator._corrupt,
        choices.Recover: Simulator._recover,
        choices.Snapshot: Simulator._snapshot,
        choices.Reset: Simulator._reset,
        **dict.fromkeys(get_args(_Disturbance), Simulator._disturb),
    }
    return {kind: _not_enabled if kind.__struct_config__.tag in never else do for kind, do in table.items()}

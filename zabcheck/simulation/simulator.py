"""The simulator: processes, channels and disks, moved by choices and by nothing else.

Deterministic: the same choices on the same protocol give the same events, on every machine. No clock is read, no
random source, and no set is iterated.

A step is one fine choice that was enabled. A choice that is not enabled does nothing and counts nothing.
"""

from collections.abc import Callable, Iterable
from copy import copy
from itertools import islice
from typing import Any

from invariants import Accept, AckEpoch, Adopt, Event, Halt, Promise, Stabilised, Truncate
from invariants import Corrupt as CorruptEvent
from invariants import Crash as CrashEvent
from invariants import Cut as CutEvent
from invariants import Drop as DropEvent
from invariants import Elect as ElectEvent
from invariants import Heal as HealEvent
from invariants import Hold as HoldEvent
from invariants import Mend as MendEvent
from invariants import Pause as PauseEvent
from invariants import Receive as ReceiveEvent
from invariants import Recover as RecoverEvent
from invariants import Send as SendEvent
from invariants import Stall as StallEvent
from invariants import Wake as WakeEvent
from zabcheck.protocols.base import (
    Connect,
    Effect,
    Elected,
    GiveUp,
    Lost,
    Message,
    Persist,
    Protocol,
    Send,
    Started,
    Stimulus,
    TakeSnapshot,
    TimedOut,
)
from zabcheck.protocols.base import Request as RequestStimulus
from zabcheck.protocols.quorums import Quorums
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.simulation import stabilise
from zabcheck.simulation.application import Application
from zabcheck.simulation.disk import Disk, Write
from zabcheck.simulation.network import Connection, End, Parcel
from zabcheck.simulation.schedule import (
    Bridge,
    Choice,
    Corrupt,
    Crash,
    Cut,
    Drain,
    Elect,
    Flap,
    Heal,
    Hold,
    Lead,
    Mend,
    Mute,
    Notice,
    Pause,
    PowerLoss,
    Receive,
    Recover,
    Request,
    Reset,
    Ring,
    Settle,
    Sever,
    Snapshot,
    Split,
    Stabilise,
    Stall,
    Sync,
    Timeout,
    Wake,
)

NOBODY = 0
_DURABLE_EVENTS = (Promise, Adopt, Accept, Truncate)
_ANSWERS = (Send, AckEpoch)
"""What is not done any more once its connection is closed: messages, and the event that tells of one."""
_OPEN, _CLOSED = End.OPEN, End.CLOSED
_OWN_ACTS = frozenset((Elect, Receive, Sync, Request, Timeout, Notice, Snapshot))
"""What a process does itself: none of it is enabled while it is paused."""


class Simulator:
    """One run of `protocol` with processes 1 to `processes`, all up at first.

    `show` is called with each event. With `network` True it is also shown what is for drawing only: messages, cuts,
    the oracle's answers. `executed` holds the fine choices that were enabled, in order; with `remember` False it stays
    empty, and the memory needed does not grow with the steps. `on_step` is called after each step with its fine choice.
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
        self.protocol = protocol
        self.application = Application(show) if switches.application == "key-value" else None
        self.show = show if self.application is None else self.application.observe
        self.on_step = on_step
        self.network = network
        self.remember = remember
        self.ids = range(1, processes + 1)
        self.quorums = Quorums(processes) if quorums is None else quorums
        self.switches = switches
        self.steps = 0
        self.stable = False  # the environment promised not to disturb any more
        self.executed: list[Choice] = []
        self.messages = 0
        self.requests = 0
        self.connections: dict[tuple[int, int], Connection] = {}  # by (follower, leader)
        self.cuts: set[tuple[int, int]] = set()  # (sender, receiver)
        self.holds: dict[tuple[int, int], tuple[type[Message], ...]] = {}  # by (sender, receiver)
        self.paused: set[int] = set()
        self.disturbed = False  # never False while something is cut, held or stalled, or somebody paused
        # By process id; entry 0 is not used.
        self.incarnations = [0] * (processes + 1)
        self.following = [NOBODY] * (processes + 1)
        self.disks = [Disk() for _ in range(processes + 1)]
        self.states: list[Any] = [None] * (processes + 1)  # None: down
        self.halted = [False] * (processes + 1)
        self._steps = dict(protocol.steps)
        self._fine = self._fine_table()
        self._coarse = self._coarse_table()
        for process in self.ids:
            if self.application is not None:
                self.application.start(process)
            self._start(process)

    def _fine_table(self) -> dict[type[Choice], Callable[[Any], bool]]:
        together = self.switches.elections == "together"
        return {
            Lead if together else Elect: self._lead_at_once if together else self._elect,
            Receive: self._receive,
            Sync: self._sync,
            Request: self._request,
            Timeout: self._timeout,
            Notice: self._notice,
            Crash: self._crash,
            Corrupt: self._corrupt,
            Recover: self._recover,
            Snapshot: self._snapshot,
            Cut: self._cut,
            Mend: self._mend,
            Stall: self._stall,
            Hold: self._hold,
            Heal: self._heal,
            Reset: self._reset,
            Pause: self._pause,
            Wake: self._wake,
        }

    def _coarse_table(self) -> dict[type[Choice], Callable[[Any], None]]:
        return {
            Elect: lambda _: None,  # where elections are one choice
            Lead: self._lead,
            Drain: self._drain,
            Settle: self._settle,
            Split: self._split,
            Sever: self._sever,
            Mute: self._mute,
            Bridge: self._bridge,
            Ring: self._ring,
            Flap: self._flap,
            PowerLoss: self._power_loss,
            Stabilise: self._stabilise,
        }

    def execute(self, choice: Choice) -> int:
        """Do what `choice` says, as far as it is enabled; the number of steps that it took."""
        fine = self._fine.get(type(choice))
        if fine is not None:
            if self.stable or (self.paused and self._sleeps_through(choice)):
                return 0
            if not fine(choice):
                return 0
            self.steps += 1
            if self.remember:
                self.executed.append(choice)
            if self.on_step is not None:
                self.on_step(choice)
            return 1
        before = self.steps
        self._coarse[type(choice)](choice)
        return self.steps - before

    # What can be asked.

    def waiting(self) -> list[tuple[int, int, int]]:
        """(process, sender, number of messages) for each link from which a message can be handled now."""
        found = []
        following = self.following
        for (follower, leader), connection in self.connections.items():
            queue = connection.to_follower
            if queue and following[follower] == leader:
                found.append((follower, leader, len(queue)))
            queue = connection.to_leader
            if queue and following[leader] == leader and connection.leader_end is not _CLOSED:
                found.append((leader, follower, len(queue)))
        return self._passing(found) if self.disturbed else found

    def closed(self) -> list[tuple[int, int]]:
        """(process, peer) where `process` has yet to notice that their connection is closed at the other end."""
        found = []
        for (follower, leader), c in self.connections.items():
            if c.follower_end is _OPEN and (c.leader_end is _CLOSED or c.broken):
                found.append((follower, leader))
            if c.supersedes or (c.leader_end is _OPEN and (c.follower_end is _CLOSED or c.broken)):
                found.append((leader, follower))
        return [each for each in found if each[0] not in self.paused] if self.paused else found

    def obstructed(self) -> list[tuple[int, int]]:
        """(sender, receiver) of each link that is cut, stalled or held, sorted."""
        if not self.disturbed:
            return []
        stalled = [
            (sender, receiver)
            for pair, connection in self.connections.items()
            for sender, receiver in (pair, pair[::-1])
            if connection.is_stalled(sender)
        ]
        return sorted({*self.cuts, *self.holds, *stalled})

    def is_up(self, process: int) -> bool:
        return self.states[process] is not None

    def fork(self, show: Callable[[Event], None]) -> "Simulator":
        """An independent copy that goes on from here. O(processes + messages under way + steps)."""
        twin = object.__new__(Simulator)
        for name, value in vars(self).items():
            setattr(twin, name, value.copy() if isinstance(value, list | set) else value)
        twin.show = show
        if self.application is not None:
            twin.application = self.application.fork(show)
            twin.show = twin.application.observe
        twin.holds = self.holds.copy()
        twin.connections = {key: connection.copy() for key, connection in self.connections.items()}
        twin.disks = [disk.copy() for disk in self.disks]
        twin.states = [copy(state) for state in self.states]
        twin._fine = twin._fine_table()
        twin._coarse = twin._coarse_table()
        return twin

    # Fine choices: each returns whether it was enabled.

    def _elect(self, choice: Elect) -> bool:
        process = choice.process
        if self.states[process] is None:
            return False
        if self.network:
            self.show(ElectEvent(process, self.incarnations[process], choice.leader))
        return self._handle(process, process, Elected(choice.leader))

    def _receive(self, choice: Receive) -> bool:
        process, sender = choice.process, choice.sender
        following = self.following[process]
        if following == sender:
            connection = self.connections.get((process, sender))
            if connection is None:
                return False
            queue = connection.to_follower
        elif following == process:
            connection = self.connections.get((sender, process))
            if connection is None or connection.leader_end is _CLOSED:
                return False
            queue = connection.to_leader
        else:
            return False
        if not queue or (self.disturbed and not self._let_through(connection, sender, process, 1)):
            return False
        if following == sender:
            self._outdate(sender, process)
        message, number = queue.popleft()
        if following == process:
            connection.leader_end = _OPEN
            connection.supersedes = False
        if self.network:
            self.show(ReceiveEvent(process, self.incarnations[process], sender, number))
        self._handle(process, sender, message)
        return True

    def _sync(self, choice: Sync) -> bool:
        process = choice.process
        if not self.disks[process].unsynced:
            return False
        for write in self.disks[process].sync():
            self._perform(process, write.withheld)
        return True

    def _request(self, choice: Request) -> bool:
        state = self.states[choice.process]
        if state is None or not self.protocol.can_broadcast(state):
            return False
        value = choice.value
        if value is None:
            self.requests += 1
            value = f"v{self.requests}"
            if self.application is not None:
                value = self.application.change(choice.process, self.requests)
        return self._handle(choice.process, choice.process, RequestStimulus(value))

    def _timeout(self, choice: Timeout) -> bool:
        return self.states[choice.process] is not None and self._handle(choice.process, choice.process, TimedOut())

    def _notice(self, choice: Notice) -> bool:
        process, peer = choice.process, choice.peer
        following = self.following[process]
        if following == peer:
            connection = self.connections.get((process, peer))
            if connection is None or connection.follower_end is not _OPEN:
                return False
            if connection.leader_end is not _CLOSED and not connection.broken:
                return False
            self._close_follower_end(connection)
        elif following == process:
            connection = self.connections.get((peer, process))
            if connection is None:
                return False
            if connection.supersedes:
                connection.supersedes = False
                self._forget(connection)
            elif connection.leader_end is _OPEN and (connection.follower_end is _CLOSED or connection.broken):
                self._close_leader_end(connection)
            else:
                return False
        else:
            return False
        self._handle(process, peer, Lost(peer))
        return True

    def _crash(self, choice: Crash) -> bool:
        process = choice.process
        if self.states[process] is None:
            return False
        disk = self.disks[process]
        for write in disk.unsynced[: choice.keep]:
            # It did reach the disk, although nobody will hear of it before the process is up again.
            for effect in write.withheld:
                if isinstance(effect, _DURABLE_EVENTS):
                    self.show(effect)
        lost = disk.crash(choice.keep)
        self.show(CrashEvent(process, self.incarnations[process], lost))
        self._stop(process)
        return True

    def _corrupt(self, choice: Corrupt) -> bool:
        process = choice.process
        place = self.disks[process].alter(choice.record)
        if place is None:
            return False
        if self.network:
            self.show(CorruptEvent(process, self.incarnations[process], place.zxid))
        return True

    def _recover(self, choice: Recover) -> bool:
        process = choice.process
        if self.states[process] is not None or self.halted[process]:
            return False
        self.incarnations[process] += 1
        self.show(RecoverEvent(process, self.incarnations[process]))
        self._start(process)
        return True

    def _snapshot(self, choice: Snapshot) -> bool:
        process = choice.process
        if self.states[process] is None or not self._handle(process, process, TakeSnapshot(choice.cut)):
            return False
        if self.application is not None:
            self.application.snapshot(process)
        return True

    def _cut(self, choice: Cut) -> bool:
        link = choice.sender, choice.receiver
        if link in self.cuts or choice.sender == choice.receiver:
            return False
        self.cuts.add(link)
        self.disturbed = True
        if self.network:
            self.show(CutEvent(*link))
        return True

    def _mend(self, choice: Mend) -> bool:
        link = choice.sender, choice.receiver
        connections = self._between(link)
        stalled = any(connection.is_stalled(choice.sender) for connection in connections)
        if link not in self.cuts and link not in self.holds and not stalled:
            return False
        self.cuts.discard(link)
        self.holds.pop(link, None)
        for connection in connections:
            connection.stall(choice.sender, False)
        self.disturbed = self._is_disturbed()
        if self.network:
            self.show(MendEvent(*link))
        return True

    def _stall(self, choice: Stall) -> bool:
        link = choice.sender, choice.receiver
        sender = choice.sender
        found = [c for c in self._between(link) if c.reaches_from(sender) and not c.is_stalled(sender)]
        if not found:
            return False
        for connection in found:
            connection.stall(sender, True)
        self.disturbed = True
        if self.network:
            self.show(StallEvent(*link))
        return True

    def _hold(self, choice: Hold) -> bool:
        link = choice.sender, choice.receiver
        kinds = tuple(kind for kind, name in self.protocol.kinds.items() if name == choice.kind)
        held = self.holds.get(link, ())
        if choice.sender == choice.receiver or all(kind in held for kind in kinds):
            return False
        self.holds[link] = held + kinds
        self.disturbed = True
        if self.network:
            self.show(HoldEvent(*link, choice.kind))
        return True

    def _heal(self, choice: Heal) -> bool:
        if not self.obstructed():
            return False
        self.cuts.clear()
        self.holds.clear()
        for connection in self.connections.values():
            connection.stall(connection.follower, False)
            connection.stall(connection.leader, False)
        self.disturbed = self._is_disturbed()
        if self.network:
            self.show(HealEvent())
        return True

    def _pause(self, choice: Pause) -> bool:
        process = choice.process
        if self.states[process] is None or process in self.paused:
            return False
        self.paused.add(process)
        self.disturbed = True
        if self.network:
            self.show(PauseEvent(process, self.incarnations[process]))
        return True

    def _wake(self, choice: Wake) -> bool:
        process = choice.process
        if process not in self.paused:
            return False
        self.paused.remove(process)
        self.disturbed = self._is_disturbed()
        if self.network:
            self.show(WakeEvent(process, self.incarnations[process]))
        return True

    def _reset(self, choice: Reset) -> bool:
        for pair in ((choice.process, choice.peer), (choice.peer, choice.process)):
            connection = self.connections.get(pair)
            if connection is not None and not connection.broken:
                self._drop(connection.lose())
                return True
        return False

    def _lead_at_once(self, choice: Lead) -> bool:
        """An election as one choice."""
        chosen = [choice.leader, *(p for p in choice.followers if p != choice.leader)]
        elected = [self._elect(Elect(p, choice.leader)) for p in chosen if p not in self.paused]
        return any(elected)

    # Coarse choices: they execute fine ones.

    def _lead(self, choice: Lead) -> None:
        self.execute(Elect(choice.leader, choice.leader))
        for process in choice.followers:
            if process != choice.leader:
                self.execute(Elect(process, choice.leader))

    def _drain(self, choice: Drain) -> None:
        for process, sender, count in self.waiting():
            if (process, sender) == (choice.process, choice.sender):
                for _ in range(count):
                    self.execute(Receive(process, sender))

    def _settle(self, choice: Settle) -> None:
        for _ in range(choice.rounds):
            before = self.steps
            for process, sender, count in sorted(self.waiting()):
                for _ in range(count):
                    self.execute(Receive(process, sender))
            if choice.sync:
                for process in self.ids:
                    self.execute(Sync(process))
            if self.steps == before:
                return

    def _split(self, choice: Split) -> None:
        others = [process for process in self.ids if process not in choice.side]
        for process in choice.side:
            for other in others:
                self.execute(Cut(process, other))
                self.execute(Cut(other, process))

    def _sever(self, choice: Sever) -> None:
        self.execute(Cut(choice.process, choice.peer))
        self.execute(Cut(choice.peer, choice.process))

    def _mute(self, choice: Mute) -> None:
        others = [process for process in self.ids if process not in choice.side]
        for process in choice.side:
            for other in others:
                self.execute(Cut(process, other))

    def _bridge(self, choice: Bridge) -> None:
        side = [process for process in choice.side if process != choice.process]
        others = [process for process in self.ids if process not in choice.side and process != choice.process]
        for process in side:
            for other in others:
                self.execute(Sever(process, other))

    def _ring(self, choice: Ring) -> None:
        for process in self.ids:
            for other in range(process + 1, len(self.ids) + 1):
                if other - process not in (1, len(self.ids) - 1):
                    self.execute(Sever(process, other))

    def _flap(self, choice: Flap) -> None:
        for _ in range(choice.times):
            self.execute(Sever(choice.process, choice.peer))
            self.execute(Settle(1))
            self.execute(Mend(choice.process, choice.peer))
            self.execute(Mend(choice.peer, choice.process))
            self.execute(Settle(1))

    def _power_loss(self, choice: PowerLoss) -> None:
        for process in self.ids:
            self.execute(Crash(process, choice.keep))

    def _stabilise(self, choice: Stabilise) -> None:
        leader, quorum = choice.leader, sorted(set(choice.quorum))
        if self.stable or not stabilise.is_least(self.quorums, leader, quorum) or any(self.halted[p] for p in quorum):
            return
        remember, self.remember = self.remember, False
        self._execute_all(stabilise.calm(quorum))
        if all(self.is_up(process) for process in quorum):
            self.show(Stabilised(leader, self.incarnations[leader], tuple(quorum)))
            self._execute_all(stabilise.choose(leader, quorum, self.switches.elections == "together"))
            for _ in range(stabilise.ROUNDS_TO_LEAD):
                self._execute_all(stabilise.a_round(quorum, self.waiting()))
            self._execute_all(stabilise.ask(leader, self.switches.counter_limit))
            for _ in range(stabilise.ROUNDS_TO_DELIVER):
                self._execute_all(stabilise.a_round(quorum, self.waiting()))
        self.stable = True
        self.remember = remember
        if remember:
            self.executed.append(choice)

    def _execute_all(self, choices: Iterable[Choice]) -> None:
        for choice in choices:
            self.execute(choice)

    # What stands in the way of messages, and of a process.

    def _passing(self, found: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        """Of what waits, (process, sender, number), what can be handled."""
        passing = []
        cuts, paused, holds, connections = self.cuts, self.paused, self.holds, self.connections
        for each in found:
            process, sender, number = each
            if (sender, process) in cuts or process in paused:
                continue
            connection = connections[(process, sender) if self.following[process] == sender else (sender, process)]
            if not (holds or connection.stalled_to_leader or connection.stalled_to_follower):
                passing.append(each)
            elif free := self._let_through(connection, sender, process, number):
                passing.append((process, sender, free))
        return passing

    def _let_through(self, connection: Connection, sender: int, receiver: int, number: int) -> int:
        """How many of the first `number` messages of the queue get through."""
        link = sender, receiver
        if link in self.cuts or connection.is_stalled(sender):
            return 0
        held = self.holds.get(link)
        if held is None:
            return number
        queue = connection.to_leader if sender == connection.follower else connection.to_follower
        return next((i for i, (message, _) in enumerate(islice(queue, number)) if type(message) in held), number)

    def _sleeps_through(self, choice: Any) -> bool:
        return type(choice) in _OWN_ACTS and choice.process in self.paused

    def _between(self, link: tuple[int, int]) -> list[Connection]:
        """The connections between two processes: each may have opened one to the other."""
        found = (self.connections.get(link), self.connections.get(link[::-1]))
        return [connection for connection in found if connection is not None]

    def _is_disturbed(self) -> bool:
        if self.paused or self.cuts or self.holds:
            return True
        return any(c.is_stalled(c.follower) or c.is_stalled(c.leader) for c in self.connections.values())

    # What a process wants done.

    def _start(self, process: int) -> None:
        durable, intact = self.disks[process].read()
        self.states[process] = self.protocol.start(
            process, self.incarnations[process], self.quorums, durable, self.switches
        )
        self._handle(process, process, Started(intact))

    def _handle(self, process: int, sender: int, stimulus: Message | Stimulus) -> bool:
        """Let the process take its step; whether that had any effect."""
        step = self._steps.get(type(stimulus))
        if step is None:
            return False
        effects = step(self.states[process], sender, stimulus)
        if not effects:
            return False
        self._perform(process, effects)
        return True

    def _perform(self, process: int, effects: list[Effect]) -> None:
        """Do what a step returned; what the process sends to itself it handles after that, as its next step.

        Else its own answer could overtake, on the way to another, what the step sent there.
        """
        own: list[Message] = []
        for index, effect in enumerate(effects):
            if isinstance(effect, Send):
                if effect.to == process:
                    own.append(effect.message)
                else:
                    self._send(process, effect.to, effect.message)
            elif isinstance(effect, Persist):
                if self.switches.sync == "atomic":
                    self.disks[process].write(effect.fields)
                    continue
                # What follows waits for the disk.
                self.disks[process].unsynced.append(Write(effect.fields, effects[index + 1 :]))
                break
            elif isinstance(effect, Connect):
                self._connect(process, effect.to)
            elif isinstance(effect, GiveUp):
                self.protocol.abandon(self.states[process])
                self._close(process)
            elif isinstance(effect, Halt):
                self.show(effect)
                self.disks[process].crash(0)
                self._stop(process)
                self.halted[process] = True
                return
            else:
                self.show(effect)
        for message in own:
            self._handle(process, process, message)

    def _send(self, process: int, to: int, message: Message) -> None:
        following = self.following[process]
        if following == to:
            connection = self.connections.get((process, to))
            if connection is None or connection.broken or connection.leader_end is _CLOSED:
                return
            queue = connection.to_leader
        elif following == process:
            connection = self.connections.get((to, process))
            if connection is None or connection.broken or connection.leader_end is not _OPEN:
                return
            if connection.follower_end is not _OPEN:
                return
            queue = connection.to_follower
        else:
            return
        self.messages += 1
        queue.append((message, self.messages))
        if self.network:
            kind, text = self.protocol.show(message)
            self.show(SendEvent(process, self.incarnations[process], to, self.messages, kind, text))

    def _connect(self, process: int, to: int) -> None:
        self._close(process)
        self.following[process] = to
        if to != process:
            old = self.connections.pop((process, to), None)
            new = self.connections[process, to] = Connection(process, to)
            if old is not None:
                new.supersedes = old.supersedes or old.leader_end is _OPEN
                self._drop(old.lose())

    def _stop(self, process: int) -> None:
        """The process is no more; its disk is."""
        self._close(process)
        for connection in list(self.connections.values()):
            if connection.leader == process and connection.leader_end is End.WAITING:
                self._close_leader_end(connection)  # nobody is there to accept it any more
        self.states[process] = None
        self.paused.discard(process)

    def _close(self, process: int) -> None:
        """Close every end that `process` holds, and forget what it meant to send once its disk is synced."""
        for write in self.disks[process].unsynced:
            write.withheld = [effect for effect in write.withheld if type(effect) not in _ANSWERS]
        if self.application is not None:
            self.application.lose_leadership(process)
        if self.following[process] == NOBODY:
            return
        self.following[process] = NOBODY
        for connection in list(self.connections.values()):
            if connection.follower == process:
                self._close_follower_end(connection)
            elif connection.leader == process:
                connection.supersedes = False
                if connection.leader_end is _OPEN:
                    self._close_leader_end(connection)
                else:
                    self._forget(connection)

    def _close_follower_end(self, connection: Connection) -> None:
        connection.follower_end = _CLOSED
        self._drop(list(connection.to_follower))
        connection.to_follower.clear()
        self._forget(connection)

    def _close_leader_end(self, connection: Connection) -> None:
        connection.leader_end = _CLOSED
        self._drop(list(connection.to_leader))
        connection.to_leader.clear()
        self._forget(connection)

    def _outdate(self, sender: int, process: int) -> None:
        """`process` hears from an iteration of `sender` that leads: one in which it followed is over, unread."""
        old = self.connections.get((sender, process))
        if old is not None and old.leader_end is End.WAITING:
            self._drop(old.lose())
            self._forget(old)

    def _forget(self, connection: Connection) -> None:
        """A connection that is closed at both ends, or that nobody will accept any more, is gone."""
        over = connection.leader_end is _CLOSED or (connection.leader_end is End.WAITING and not connection.to_leader)
        if connection.follower_end is _CLOSED and over and not connection.supersedes:
            self._drop(connection.lose())
            del self.connections[connection.follower, connection.leader]

    def _drop(self, parcels: list[Parcel]) -> None:
        if self.network:
            for _, number in parcels:
                self.show(DropEvent(number))

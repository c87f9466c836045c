"""The processes of a run: how each starts, takes steps of the protocol, and stops.

A step is a function of the protocol that returns effects: messages, writes and events. This module performs them.
The effects that follow a write wait until the write is synced, unless writing and syncing are one choice. A process
that stops keeps its disk and nothing else.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any

import zabcheck.invariants as invariants
from zabcheck.invariants import (
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    Crash,
    Event,
    Halt,
    Promise,
    Ready,
    Recover,
    Truncate,
)
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols import step_limit
from zabcheck.protocols.base import (
    Buffer,
    Cast,
    Changed,
    Connect,
    Effect,
    Flush,
    GiveUp,
    Message,
    Notify,
    OutsideSilent,
    Persist,
    Protocol,
    ResetTimer,
    Send,
    Started,
    StepRaised,
    Stimulus,
    Write,
)
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.application import Application
from zabcheck.simulation.channels import Channels
from zabcheck.simulation.disk import Disk
from zabcheck.simulation.disk import Write as Unsynced

_calls = step_limit.calls
_DURABLE_EVENTS = (Promise, Adopt, Accept, Truncate)
_DURABLE_WITH_A_BUFFER = (*_DURABLE_EVENTS, Broadcast)
"""Behind a `Persist` a broadcast only waits for an earlier write; a `Buffer` shows one that its own write keeps."""
_MOST_OWN_MESSAGES = 2000
"""A process that sends itself more messages than this within one choice is assumed never to stop."""
_OF_AN_ITERATION = (Send, AckEpoch, Ready, GiveUp)
"""The withheld effects that are dropped when the iteration ends: messages, the event that shows one, and that end."""


def takes_requests(protocol: Protocol, state: Any, disk: Disk) -> bool:
    """Return True if a process takes a client's request: it is up (not None), and no `ready` waits for its disk."""
    return state is not None and protocol.can_broadcast(state) and not disk.withholds(Ready)


class Processes:
    """The processes of a run, none of them started.

    Their messages go through `channels`, and `show` is called with their events; with `network` True also with an
    event for each message sent.
    """

    __slots__ = (
        "_atomic",
        "_busy",
        "_own",
        "_steps",
        "_turns",
        "application",
        "channels",
        "copies",
        "disks",
        "halted",
        "incarnations",
        "network",
        "protocol",
        "quorums",
        "show",
        "states",
        "switches",
        "threads",
    )

    def __init__(
        self,
        protocol: Protocol,
        quorums: Quorums,
        switches: Switches,
        show: Callable[[Event], None],
        channels: Channels,
        application: Application | None,
        *,
        network: bool,
    ) -> None:
        self.protocol = protocol
        self.quorums = quorums
        self.switches = switches
        self.show = show
        self.channels = channels
        self.application = application
        self.network = network
        # By process id; entry 0 is not used.
        self.incarnations = [0] * (quorums.size + 1)
        self.disks = [Disk() for _ in self.incarnations]
        self.copies: dict[int, Disk] = {}  # the last copy of each disk that was copied; nothing changes it
        self.states: list[Any] = [None] * (quorums.size + 1)  # None: down
        self.halted = [False] * (quorums.size + 1)
        # A process's messages to itself and notifications, and True while it handles them; empty and False between
        # two choices.
        self._own: list[deque[Message | Stimulus]] = [deque() for _ in self.incarnations]
        self._busy = [False] * (quorums.size + 1)
        self._steps = dict(protocol.below(protocol.steps, switches))
        self._atomic = switches.sync == "atomic"
        self.threads = protocol.threads(switches)
        # By process id: the result of `turns`; None once the process may have changed since.
        self._turns: list[list[tuple[int, str]] | None] = [None] * (quorums.size + 1)
        step_limit.watch()

    def copy(self, show: Callable[[Event], None], channels: Channels, application: Application | None) -> "Processes":
        """Return an independent copy that uses the given channels and application. O(processes)."""
        twin = copy(self)
        twin.show, twin.channels, twin.application = show, channels, application
        twin.incarnations = self.incarnations.copy()
        twin.disks = [disk.copy() for disk in self.disks]
        twin.copies = self.copies.copy()
        twin.states = [copy(state) for state in self.states]
        twin.halted = self.halted.copy()
        twin._own = [deque() for _ in self._own]
        twin._busy = self._busy.copy()
        twin._turns = self._turns.copy()
        return twin

    def put_in(self, process: int, state: Any, disk: Disk, halted: bool, show: Callable[[Event], None]) -> None:
        """Set this process as given, in its first incarnation, and `show` its events. It was not up, or taken out."""
        step_limit.watch()
        self.show = show
        self.states[process], self.disks[process], self.halted[process] = state, disk, halted

    def take_out(self, process: int) -> None:
        """Reset this process to its state before it started, even in the middle of a step."""
        self.states[process], self.disks[process], self.halted[process] = None, Disk(), False
        self.incarnations[process], self._busy[process], self._turns[process] = 0, False, None
        self._own[process].clear()

    def turns(self, process: int) -> list[tuple[int, str]]:
        """Return (process, thread) for each of its threads that has something to do. O(1) until its next step."""
        found = self._turns[process]
        if found is None:
            state = self.states[process]
            busy = [] if state is None else [name for name, is_busy in self.threads.items() if is_busy(state)]
            found = self._turns[process] = [(process, name) for name in busy]
        return found

    # From start to end.

    def start(self, process: int) -> None:
        """Start the process from its disk."""
        durable, intact = self.disks[process].read()
        self.states[process] = self._variables(process, durable)
        self.handle(process, process, Started(intact))

    def as_it_would_start(self, process: int) -> Any:
        """Return the variables with which the process would start now; nothing is changed."""
        durable, _ = self.disks[process].copy().read()
        return self._variables(process, durable)

    def _variables(self, process: int, durable: Mapping[str, Any]) -> Any:
        return self.protocol.start(process, self.incarnations[process], self.quorums, durable, self.switches)

    def recover(self, process: int) -> None:
        """Start the process again, as its next incarnation."""
        self.incarnations[process] += 1
        self.show(Recover(process, self.incarnations[process]))
        self.channels.lost(self.channels.casts.miss(process))
        self.channels.rejoin(process)
        self.start(process)

    def crash(self, process: int, keep: int) -> None:
        """Stop the process; of its writes that are not synced the first `keep` survive."""
        disk = self.disks[process]
        for write in disk.unsynced[:keep]:
            # It did reach the disk, although nothing shows that before the process is up again.
            durable = _DURABLE_WITH_A_BUFFER if write.is_buffered else _DURABLE_EVENTS
            for effect in write.withheld_by_it():
                if isinstance(effect, durable):
                    self.show(effect)
        lost = disk.crash(keep)
        self.show(Crash(process, self.incarnations[process], lost))
        self._stop(process)

    def _halt(self, process: int) -> None:
        """Stop the process for good."""
        self.disks[process].crash(0)
        self._stop(process)
        self.halted[process] = True

    def _stop(self, process: int) -> None:
        """Close the connections of the process and drop its state; its disk stays."""
        self._disconnect(process)
        self._own[process].clear()
        self.channels.refuse(process)
        self.channels.lost(self.channels.casts.miss(process))
        self.states[process] = self._turns[process] = None

    # A step.

    def handle(self, process: int, sender: int, stimulus: Message | Stimulus) -> bool:
        """Let the process take its step for `stimulus`. Return True if it had an effect.

        StepRaised if the protocol's code raised, or has not returned after the protocol's `step_seconds`. A
        KeyboardInterrupt in the middle of the step gets a note that names the step.
        """
        step = self._steps.get(type(stimulus))
        if step is None:
            return False
        self._turns[process] = None
        _calls.begun += 1
        _calls.seconds = self.protocol.step_seconds
        try:
            effects = step(self.states[process], sender, stimulus)
        except Exception as error:
            silent = isinstance(error, OutsideSilent)
            raise StepRaised(process, sender, stimulus, error, stopped=silent) from error
        except step_limit.Stopped as stopped:
            said = f"the step has not returned after {self.protocol.step_seconds:g} s of CPU time"
            too_long = TimeoutError(said).with_traceback(stopped.__traceback__)
            raise StepRaised(process, sender, stimulus, too_long, stopped=True) from None
        except KeyboardInterrupt as interrupt:
            interrupt.add_note(f"the step of p{process} for {stimulus!r} had not returned")
            raise
        finally:
            _calls.over += 1
        if not effects:
            return False
        self.perform(process, effects)
        return True

    def perform(self, process: int, effects: list[Effect]) -> None:
        """Perform the effects of a step, then the steps for the process's messages to itself, in order.

        Handling a message to itself at once would let its answer overtake, on the way to another process, later
        messages of the step.
        """
        for index, effect in enumerate(effects):
            # Most effects are events. Looking up the exact type is much faster than `isinstance`; none has a subclass.
            perform = _PERFORMED_BY.get(type(effect))
            if perform is not None:
                perform(self, process, effect)
            elif not isinstance(effect, Persist):
                self.show(effect)  # type: ignore[arg-type]  # the other effects are events
                if type(effect) is Halt:
                    self._halt(process)
                    return
            elif self._atomic:
                self.disks[process].write(effect.fields)
            else:  # later effects wait for the disk
                self.disks[process].persist(effect, effects[index + 1 :])
                break
        own = self._own[process]
        if own and not self._busy[process]:
            self._busy[process] = True
            handled = 0
            while own:
                if handled == _MOST_OWN_MESSAGES:
                    error = RuntimeError(f"sends itself messages without end, {handled} of them so far")
                    raise StepRaised(process, process, own[0], error)
                self.handle(process, process, own.popleft())
                handled += 1
            self._busy[process] = False

    # Each kind of effect.

    def _send(self, process: int, effect: Send) -> None:
        if effect.to == process:
            self._own[process].append(effect.message)
            return
        number = self.channels.send(process, effect.to, effect.message)
        if number and self.network:
            self._show_sent(process, effect, number)

    def _cast(self, process: int, effect: Cast) -> None:
        number = self.channels.cast(process, effect.to, effect.message)
        if number and self.network:
            self._show_sent(process, effect, number)

    def _write(self, process: int, effect: Write) -> None:
        disk = self.disks[process]
        assert not (disk.unsynced and disk.is_behind(effect.fields)), "what is buffered has to be flushed first"
        disk.write(effect.fields)

    def _buffer(self, process: int, effect: Buffer) -> None:
        if self._atomic:
            self.disks[process].write(effect.fields)
            self._show_all(effect.shows)
        else:
            self.disks[process].unsynced.append(Unsynced(effect.fields, list(effect.shows), is_buffered=True))

    def _flush(self, process: int, effect: Flush) -> None:
        for write in self.disks[process].sync():
            self._show_all(write.withheld)

    def _connect(self, process: int, effect: Connect) -> None:
        assert effect.closes or effect.to != process, "a leader keeps no connection that it has opened"
        self._disconnect(process, keep_followed=not effect.closes)
        self.channels.open(process, effect.to)

    def _give_up(self, process: int, effect: GiveUp) -> None:
        self.protocol.abandon(self.states[process])
        self._turns[process] = None
        self._disconnect(process)

    def _notify(self, process: int, effect: Notify) -> None:
        if self.states[process] is not None:
            self._own[process].append(effect.stimulus)

    def _pass_over(self, process: int, effect: Changed | ResetTimer) -> None:
        """Do nothing: the effect only means that the step was enabled."""

    def _disconnect(self, process: int, *, keep_followed: bool = False) -> None:
        """Close the connections of the process, and drop the messages that wait for its disk.

        With `keep_followed` the connections that it opened itself stay open.
        """
        for write in self.disks[process].unsynced:
            write.withheld = [effect for effect in write.withheld if type(effect) not in _OF_AN_ITERATION]
        if self.application is not None:
            self.application.lose_leadership(process)
        own = self._own[process]
        notified = [each for each in own if isinstance(each, Stimulus)]
        own.clear()
        own.extend(notified)
        self.channels.close(process, keep_followed=keep_followed)

    def _show_all(self, events: Iterable[Any]) -> None:
        for event in events:
            self.show(event)

    def _show_sent(self, process: int, effect: Send | Cast, number: int) -> None:
        kind, text = self.protocol.show(effect.message)
        self.show(invariants.Send(process, self.incarnations[process], effect.to, number, kind, text))


_PERFORMED_BY: Mapping[type, Callable[[Processes, int, Any], None]] = {
    Send: Processes._send,
    Cast: Processes._cast,
    Write: Processes._write,
    Buffer: Processes._buffer,
    Flush: Processes._flush,
    Connect: Processes._connect,
    GiveUp: Processes._give_up,
    Notify: Processes._notify,
    Changed: Processes._pass_over,
    ResetTimer: Processes._pass_over,
}
"""The method that performs each kind of effect; `perform` itself deals with a Persist, a Halt and all other events."""


def in_the_middle_of(interrupt: BaseException | None) -> str:
    """Return the step that had not returned when Ctrl-C came, as the end of a sentence: "" if it came between steps."""
    while interrupt is not None:
        for note in getattr(interrupt, "__notes__", ()):
            return f"; {note}"
        interrupt = interrupt.__context__  # Hypothesis goes on to the end of its run, where Ctrl-C is raised again
    return ""


step_limit.calls_steps(
    Processes.handle,
    seconds=lambda frame: frame.f_locals["self"].protocol.step_seconds,
    besides=(Processes.perform,),
)

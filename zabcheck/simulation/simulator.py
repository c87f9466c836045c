"""The simulator: processes, channels and disks, moved by choices and by nothing else.

Deterministic: the same choices on the same protocol give the same events, on every machine. No clock is read, no
random source, and no set is iterated.

A step is one fine choice that was enabled. A choice that is not enabled does nothing, and is no step.

A choice changes a world by itself (`choices`, `world`): `processes` takes the steps of the protocol,
`disk` keeps their writes, `channels` carries messages, `obstacles` holds them back.
"""

from collections.abc import Callable
from copy import copy
from functools import cache
from typing import Any

from zabcheck.invariants import Event
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import Protocol, StepRaised
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.simulation.application import Application
from zabcheck.simulation.channels import Channels, Mesh
from zabcheck.simulation.choices import KINDS, Choice
from zabcheck.simulation.processes import Processes
from zabcheck.simulation.world import World, show_lost


class Simulator(World):
    """One run of `protocol` with processes 1 to `processes`, all up at first.

    `show` is called with each event; with `network` True also with the events that are for drawing only: messages,
    cuts, the oracle's answers. `executed` lists the fine choices that were enabled, in order; with `remember` False it
    stays empty, and memory does not grow with the number of steps. `on_step` is called after each step with its fine
    choice.

    If a step of the protocol raises, the constructor or `execute` raises StepRaised; the choice that led to it counts
    as a step like any other, and the run is over.
    """

    on_step: Callable[[Choice], None] | None

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
        quorums = Quorums(processes) if quorums is None else quorums
        application = Application(show, in_words=network) if switches.application == "key-value" else None
        show = show if application is None else application.observe
        kind = Mesh if protocol.environment.mesh else Channels
        channels = kind(processes, show_lost(show, network), abrupt=switches.closing == "abrupt")
        self._begin(Processes(protocol, quorums, switches, show, channels, application, network=network))
        self.remember, self.on_step = remember, on_step
        for process in self.ids:
            if self.application is not None:
                self.application.start(process)
            self.processes.start(process)

    @classmethod
    def of(cls, processes: Processes, requests: int = 0) -> "Simulator":
        """Return a run that begins with these processes and their channels as they are, after `requests` requests."""
        run = cls.__new__(cls)
        run._begin(processes, requests)
        return run

    def _begin(self, processes: Processes, requests: int = 0) -> None:
        World.__init__(self, processes, requests)
        self.remember = False
        self.on_step = None
        self.executed: list[Choice] = []
        never = (*self.protocol.environment.never, *self.switches.never)
        self._applied_by = _applied_by(self.switches.elections, never)

    def execute(self, choice: Choice) -> int:
        """Execute `choice` as far as it is enabled, and return the number of steps. May raise StepRaised."""
        apply = self._applied_by.get(type(choice))
        if apply is None:
            return self._execute_coarse(choice)
        if self.stable or (self.paused and self.obstacles.stops(choice)):
            return 0
        raised = None
        self._waiting = None
        try:
            if not apply(choice, self):
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

    def fork(self, show: Callable[[Event], None]) -> "Simulator":
        """Return an independent copy that goes on from here. O(processes + messages in transit + steps)."""
        twin = copy(self)
        twin.executed = self.executed.copy()
        twin.show = show
        if self.application is not None:
            twin.application = self.application.fork(show)
            twin.show = twin.application.observe
        channels = self.channels.copy(show_lost(twin.show, twin.network))
        twin._consist_of(channels, self.processes.copy(twin.show, channels, twin.application))
        return twin

    def draw_nothing(self) -> None:
        """Show no event any more that is for drawing only."""
        self.network = self.processes.network = False

    def _execute_coarse(self, choice: Choice) -> int:
        before = self.steps
        if choice.is_whole:
            self._execute_whole(choice)
        else:
            for each in choice.fine(self):
                self.execute(each)
        return self.steps - before

    def _execute_whole(self, choice: Choice) -> None:
        """Execute a choice that cannot be taken apart: a schedule has it, and none of its steps."""
        if (
            self.stable
            or choice.__struct_config__.tag in self.protocol.environment.never
            or not choice.is_enabled(self)
        ):
            return
        remember, self.remember = self.remember, False
        try:
            for each in choice.fine(self):
                self.execute(each)
        finally:
            self.remember = remember
            if remember:
                self.executed.append(choice)
        if choice.end(self):
            self.steps += 1
            if self.on_step is not None:
                self.on_step(choice)


def _not_enabled(choice: Choice, world: World) -> bool:
    return False


@cache
def _applied_by(elections: str, never: tuple[str, ...]) -> dict[type[Choice], Callable[[Any, World], bool]]:
    """Return the function that applies each kind of choice that is one step.

    `elections` is the value of that switch; the choices whose kinds are in `never` are not enabled.
    """
    steps = [kind for kind in KINDS if elections in kind.step_where]
    return {kind: _not_enabled if kind.__struct_config__.tag in never else kind.apply for kind in steps}

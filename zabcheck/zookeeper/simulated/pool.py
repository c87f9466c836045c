"""The simulators of one build, which stay warm while a command executes schedules, and the orders that they draw."""

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event, Lock

from msgspec.structs import replace

from zabcheck.zookeeper.run.distribution import Distribution, with_properties
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, ThreadOrder, encode
from zabcheck.zookeeper.simulated.execute import SimulatedRun, execute
from zabcheck.zookeeper.simulated.simulator import Simulator, SimulatorDied

PLAIN = ThreadOrder()
"""The order of threads for schedules that say themselves which are held: seldom another than the first goes on."""
STRATEGIES = (
    PLAIN,
    ThreadOrder(strategy="uniform", first=100),
    ThreadOrder(strategy="uniform", first=100, second=300),
    ThreadOrder(strategy="uniform", first=30, second=1000),
    ThreadOrder(strategy="priorities", first=2000),
    ThreadOrder(strategy="priorities", first=500, second=1000),
)
"""The strategies of drawn runs; each run has one of them."""


class Simulators:
    """Simulators of a build, as many as are used at a time. See `run.distribution.Simulation`."""

    def __init__(self, distribution: Distribution) -> None:
        self.distribution = distribution._replace(simulation=self)
        self._lock = Lock()
        self._free: dict[tuple[str, ...], list[Simulator]] = defaultdict(list)
        """By the options of their JVM, which are those of all servers in it."""
        self._executed: Counter[bytes] = Counter()
        self._ended = 0.0

    def execute(self, schedule: EnsembleSchedule, folder: Path, stop: Event | None, exact: bool) -> EnsembleSchedule:
        order = schedule.simulated or self._drawn(schedule)
        try:
            ended = self._execute(schedule, folder, order, stop, exact)
        except SimulatorDied:  # once more: the machine may have been short of memory, say
            shutil.rmtree(folder)
            folder.mkdir()
            ended = self._execute(schedule, folder, order, stop, exact)
        done = replace(order, decisions=ended.decisions, places=tuple(ended.places), java=ended.java)
        return replace(schedule, simulated=done)

    def _execute(
        self, schedule: EnsembleSchedule, folder: Path, order: ThreadOrder, stop: Event | None, exact: bool
    ) -> SimulatedRun:
        simulator = self._taken(schedule)
        try:
            return execute(schedule, simulator, folder, order, stop, exact)
        finally:
            self._give_back(simulator)

    def draw_anew(self) -> None:
        """Forget what was executed: each schedule has the order again that it draws the first time."""
        with self._lock:
            self._executed.clear()

    def cpu(self) -> float:
        """Return the CPU seconds of all simulators so far that are not in use."""
        with self._lock:
            return self._ended + sum(each.cpu() for free in self._free.values() for each in free)

    def _drawn(self, schedule: EnsembleSchedule) -> ThreadOrder:
        """Draw an order of threads: another one each time that a schedule is executed.

        A drawn schedule, which is to find something, gets one of the strategies; one written by hand the plain one.
        """
        key = encode(schedule)
        with self._lock:
            self._executed[key] += 1
            number = self._executed[key]
        if schedule.seed is None:
            return replace(PLAIN, seed=number)
        draw = Random(f"{schedule.seed} {number}")
        return replace(draw.choice(STRATEGIES), seed=draw.getrandbits(48))

    def _taken(self, schedule: EnsembleSchedule) -> Simulator:
        distribution = with_properties(self.distribution, schedule)
        with self._lock:
            if free := self._free[distribution.options]:
                return free.pop()
        return Simulator(distribution)

    def _give_back(self, simulator: Simulator) -> None:
        if simulator.alive:
            with self._lock:
                self._free[simulator.distribution.options].append(simulator)
        else:
            simulator.close()
            with self._lock:
                self._ended += simulator.cpu()

    def close(self) -> None:
        """End all of them."""
        for free in self._free.values():
            while free:
                free.pop().close()


@contextmanager
def simulated(distribution: Distribution) -> Iterator[Distribution]:
    """Yield the same build, whose servers are simulated. EnsembleError if that cannot be."""
    simulators = Simulators(distribution)
    try:
        yield simulators.distribution
    finally:
        simulators.close()

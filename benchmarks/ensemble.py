"""A real ZooKeeper ensemble of three servers: how soon it serves, runs an hour, the cost of watching and judging it.

Java and zabcheck are counted apart: "JVMs" is the CPU time of the servers (and of the reaper, some hundredths of a
second), and "zabcheck" that of this process: proxies, clients, recording, judging. All share the cores of one machine,
so only ratios count, and the forms that are compared take turns.
"""

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from threading import Semaphore, Thread
from time import monotonic, process_time
from typing import NamedTuple, TypeVar

from zabcheck.invariants import check
from zabcheck.zookeeper.debugger.class_path import ClassPath
from zabcheck.zookeeper.debugger.points import located
from zabcheck.zookeeper.recording.folder import Recorder
from zabcheck.zookeeper.recording.records import Acknowledged, Record, Unanswered
from zabcheck.zookeeper.rules.packets import judge_recording
from zabcheck.zookeeper.run.choices.choice import ROLES, Choice
from zabcheck.zookeeper.run.choices.links import KillAt
from zabcheck.zookeeper.run.choices.servers import Kill, KillAll
from zabcheck.zookeeper.run.choices.writes import Settle, Write
from zabcheck.zookeeper.run.class_archive import class_archive
from zabcheck.zookeeper.run.clients import Client
from zabcheck.zookeeper.run.debugged_process import opened, with_agent
from zabcheck.zookeeper.run.distribution import Distribution, NoZooKeeper, find
from zabcheck.zookeeper.run.draw import draw
from zabcheck.zookeeper.run.execute import SESSION, UP_AT_FIRST, execute
from zabcheck.zookeeper.run.forces import WATCHED
from zabcheck.zookeeper.run.processes import ProcessEnsemble
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.run.stops import Stops
from zabcheck.zookeeper.trace.incarnations import read_sorted
from zabcheck.zookeeper.trace.observe import observe_sorted
from zabcheck.zookeeper.verdict.findings import findings
from zabcheck.zookeeper.verdict.judge import RecordingVerdict, judge

T = TypeVar("T")

SERVERS = 3
WRITE = 100
"""The size of a node, in bytes."""
AT_ONCE = 1000
"""The most writes of one choice."""
WARM_UP = 300
"""The number of writes before the first measurement: at first Java has not compiled much."""


class Sizes(NamedTuple):
    """The amount of everything that is measured."""

    starts: int = 5
    runs: int = 20
    rounds: int = 5
    one_by_one: int = 300
    """Writes with 1 outstanding."""
    many: int = 3000
    """Writes with 100 outstanding."""
    healthy: int = 5
    judged: int = 10_000
    """Writes of the recording that is judged."""


ALL = Sizes()


class Form(NamedTuple):
    """A way in which servers meet and log, and the points at which the debug agent watches (None: no agent)."""

    name: str
    proxied: bool
    deliveries: bool
    watched: tuple[str, ...] | None = None


FORMS = (
    Form("connected directly, plain logs", False, False),
    Form("proxies, plain logs", True, False),
    Form("proxies, deliveries in the logs", True, True),
    Form("the same, debug agent", True, True, ()),
    Form("the same, every force watched", True, True, WATCHED),
)


class Load(NamedTuple):
    """The number of clients, and of writes that each client has under way."""

    clients: int
    outstanding: int

    def __str__(self) -> str:
        return f"{self.clients} × {self.outstanding}"


LOADS = (Load(1, 1), Load(1, 100), Load(3, 100))


class Spent(NamedTuple):
    """The seconds by the clock, and the CPU seconds."""

    wall: float
    jvms: float
    zabcheck: float


def main(sizes: Sizes = ALL) -> None:
    try:
        distribution = find()
    except NoZooKeeper as error:
        print(error, file=sys.stderr)
        return
    print(f"ZooKeeper {distribution.version}, {java(distribution)}, {SERVERS} servers")
    with TemporaryDirectory() as name, class_archive(distribution) as quick:
        distribution = quick
        folders = numbered(Path(name))
        starts(distribution, folders, sizes.starts)
        seeded = runs(distribution, folders, sizes.runs)
        throughput(distribution, folders, sizes)
        covered(distribution, folders, seeded, sizes.healthy)
        judging(distribution, next(folders), sizes.judged)


def java(distribution: Distribution) -> str:
    """Return the version that Java reports."""
    done = subprocess.run([str(distribution.java), "-version"], capture_output=True, text=True, check=True)
    return done.stderr.splitlines()[0]


def numbered(folder: Path) -> Iterator[Path]:
    """Yield a new folder each time."""
    number = 0
    while True:
        path = folder / str(number)
        path.mkdir()
        yield path
        number += 1


def spent(action: Callable[[], object]) -> Spent:
    """Measure what a block takes. The JVMs count once they have ended."""
    wall, own, children = monotonic(), process_time(), of_children()
    action()
    return Spent(monotonic() - wall, of_children() - children, process_time() - own)


def of_children() -> float:
    """Return the CPU seconds of this process's children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def starts(distribution: Distribution, folders: Iterator[Path], count: int) -> None:
    """Measure the time from the start of the JVMs until all servers serve."""
    walls: list[float] = []

    def start() -> None:
        with ProcessEnsemble(SERVERS, distribution, next(folders), lambda _: None) as ensemble:
            walls.append(until_served(ensemble))

    cpu = [spent(start) for _ in range(count)]
    print(
        f"start until all serve, median of {count}: {median(walls):.2f} s; "
        f"CPU seconds: JVMs {median(each.jvms for each in cpu):.2f}, "
        f"zabcheck {median(each.zabcheck for each in cpu):.2f}",
        flush=True,
    )


def until_served(ensemble: ProcessEnsemble, stops: Stops | None = None) -> float:
    """Start an ensemble, with the debug agent if there are stops, and return the seconds until every server serves."""
    start = monotonic()
    for number in ensemble.servers:
        ensemble.start(number)
        if stops is not None:
            stops.attach(number)
    up = ensemble.await_all(UP_AT_FIRST, lambda: all(map(ensemble.served, ensemble.servers)))
    assert up, f"no leader in {UP_AT_FIRST:g} s"
    return monotonic() - start


def runs(distribution: Distribution, folders: Iterator[Path], count: int) -> list[RecordingVerdict]:
    """Measure seeded runs, without judging and with; then, the runs in turn, such with thread orders drawn.

    Return those without.
    """
    executed: dict[bool, list[Spent]] = {False: [], True: []}
    both: dict[bool, list[Spent]] = {False: [], True: []}
    results: list[RecordingVerdict] = []
    for seed in range(count):
        for threads in (False, True):
            folder, schedule = next(folders), draw(seed, SERVERS, threads)
            run = spent(lambda: execute(schedule, distribution, folder))  # noqa: B023  # called at once
            cost = spent(lambda: results.append(judge(folder)))  # noqa: B023  # called at once
            executed[threads].append(run)
            both[threads].append(Spent(*(a + b for a, b in zip(run, cost, strict=True))))
            if threads:
                results.pop()
    print(f"a run, mean of the seeds 0 to {count - 1}:")
    print(f"  {'':36}{'seconds':>9}{'an hour':>9}{'JVMs CPU s':>12}{'zabcheck CPU s':>16}")
    for threads in (False, True):
        for name, measured in (("executed", executed[threads]), ("executed and judged", both[threads])):
            each = Spent(*(mean(column) for column in zip(*measured, strict=True)))
            name += ", thread orders" * threads
            print(f"  {name:36}{each.wall:>9.2f}{3600 / each.wall:>9,.0f}{each.jvms:>12.2f}{each.zabcheck:>16.2f}")
    sys.stdout.flush()
    return results


def throughput(distribution: Distribution, folders: Iterator[Path], sizes: Sizes) -> None:
    """Measure writes a second, and their cost for zabcheck, in each form of ensemble; the forms take turns."""
    measured: dict[tuple[Form, Load], list[Spent]] = {(form, load): [] for form in FORMS for load in LOADS}
    counts = {load: sizes.many if load.outstanding > 1 else sizes.one_by_one for load in LOADS}
    for number in range(sizes.rounds):
        first = number % len(FORMS)
        for form in (*FORMS[first:], *FORMS[:first]):
            with writing(distribution, next(folders), form) as writers:
                writers.write(Load(SERVERS, 100), WARM_UP)
                for load in LOADS:
                    measured[form, load].append(spent(lambda: writers.write(load, counts[load])))  # noqa: B023  # called at once
    print(
        f"writes of {WRITE} bytes a second, clients × writes outstanding of each, median of {sizes.rounds} rounds; "
        "the median ratio to the first form in the same round; CPU µs a write of zabcheck:"
    )
    print(f"  {'':32}{''.join(f'{load!s:>26}' for load in LOADS)}")
    for form in FORMS:
        cells = []
        for load in LOADS:
            walls = [each.wall for each in measured[form, load]]
            ratio = median(a.wall / b for a, b in zip(measured[FORMS[0], load], walls, strict=True))
            cpu = median(each.zabcheck for each in measured[form, load]) / counts[load]
            cells.append(f"{counts[load] / median(walls):>10,.0f}{ratio:>7.2f}{1e6 * cpu:>9,.0f}")
        print(f"  {form.name:32}{''.join(cells)}", flush=True)


class Writers:
    """The clients of an ensemble, the first one at the leader, which write as fast as the answers allow."""

    def __init__(self, ensemble: ProcessEnsemble, record: Callable[[Record], None]) -> None:
        self._record = record
        self._room = {number: Semaphore(0) for number in ensemble.servers}
        servers = sorted(ensemble.servers.values(), key=lambda server: server.number != ensemble.leader())
        self.clients = [Client(server.number, server.client_port, self._take, SESSION) for server in servers]
        connected = ensemble.await_all(UP_AT_FIRST, lambda: all(client.connected for client in self.clients))
        assert connected, f"a client is not connected in {UP_AT_FIRST:g} s"

    def _take(self, record: Record) -> None:
        self._record(record)
        assert not isinstance(record, Unanswered), record
        if isinstance(record, Acknowledged):
            self._room[record.client].release()

    def write(self, load: Load, count: int) -> None:
        """Make a number of writes, and wait until the last one is answered."""
        clients = self.clients[: load.clients]
        threads = [Thread(target=self._write, args=(each, load.outstanding, count // len(clients))) for each in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _write(self, client: Client, outstanding: int, count: int) -> None:
        answered = self._room[client.number]
        for number in range(count):
            if number >= outstanding:
                answered.acquire()
            client.write(WRITE)
        for _ in range(min(outstanding, count)):
            answered.acquire()


@contextmanager
def writing(distribution: Distribution, folder: Path, form: Form) -> Iterator[Writers]:
    """Provide a running ensemble of a form, and its clients. What happens is recorded, as in a run."""
    recorder = Recorder(folder)
    classes = ClassPath(distribution.classpath)
    places = {name: located(name, classes).places for name in form.watched or ()}
    if form.watched is not None:
        distribution = with_agent(distribution)
    with ProcessEnsemble(SERVERS, distribution, folder, recorder.record, form.proxied, form.deliveries) as ensemble:
        stops = None
        if form.watched is not None:
            watched = all(point in places for point in WATCHED)
            stops = Stops(ensemble, recorder.record, partial(opened, ensemble, places), watched)
        until_served(ensemble, stops)
        writers = Writers(ensemble, recorder.record)
        try:
            yield writers
        finally:
            for client in writers.clients:
                client.close()
    if stops is not None:
        stops.close()
    recorder.close()


def covered(
    distribution: Distribution, folders: Iterator[Path], seeded: Sequence[RecordingVerdict], count: int
) -> None:
    """Return the share of the transaction logs' content that the traces have."""
    healthy = []
    for _ in range(count):
        folder = next(folders)
        execute(writes(AT_ONCE), distribution, folder)
        healthy.append(judge(folder))
    killed = [each for each in seeded if any(map(kills, choices_of(each)))]
    print("deliveries that the transaction logs show, and the share of them in the trace:")
    for name, judged in ((f"{count} runs without a fault", healthy), (f"{len(killed)} seeded runs with kills", killed)):
        logged = sum(each.logged for run in judged for each in run.coverage)
        delivered = sum(each.delivered for run in judged for each in run.coverage)
        share = f"{100 * delivered / logged:.3f} %" if logged else "none"
        print(f"  {name:32}{logged:>9,}{share:>12}", flush=True)


def choices_of(judged: RecordingVerdict) -> Sequence[Choice]:
    """Return the choices of a run."""
    assert judged.schedule is not None
    return draw(judged.schedule["seed"], SERVERS).choices


def kills(choice: Choice) -> bool:
    return isinstance(choice, Kill | KillAll | KillAt)


def writes(count: int) -> EnsembleSchedule:
    """Return choices that are only writes, at all servers in turn."""
    roles = ROLES[:SERVERS]
    choices: list[Choice] = []
    for number, start in enumerate(range(0, count, AT_ONCE)):
        choices.append(Write(roles[number % SERVERS], min(AT_ONCE, count - start), WRITE))
    return EnsembleSchedule(1, "zookeeper", SERVERS, (*choices, Settle(30.0)))


def judging(distribution: Distribution, folder: Path, count: int) -> None:
    """Measure the cost of judging a long recording, part by part."""
    execution = spent(lambda: execute(writes(count), distribution, folder))
    reading, recording = cpu(lambda: read_sorted(folder))
    observing, observation = cpu(lambda: observe_sorted(recording))
    checking, _ = cpu(lambda: check(observation.trace()))
    finding, _ = cpu(lambda: findings(recording, observation))
    stepping, steps = cpu(lambda: judge_recording(folder))
    everything, _ = cpu(lambda: judge(folder))
    print(
        f"a recording of {count:,} writes ({execution.wall:.1f} s; CPU seconds: JVMs {execution.jvms:.1f}, "
        f"zabcheck {execution.zabcheck:.1f}), judged:"
    )
    print(f"  {'':36}{'CPU seconds':>12}{'a CPU second':>14}")
    lines = len(recording.records) + sum(
        len(incarnation.log.lines) for server in recording.by_server.values() for incarnation in server
    )
    for name, number, what, seconds in (
        ("read", lines, "records and lines", reading),
        ("observe", len(observation.events), "events", observing),
        ("properties, all", len(observation.events), "events", checking),
        ("findings", len(observation.events), "events", finding),
        ("steps", steps.packets, "packets", stepping),
        ("all of it, as a run is judged", count, "writes", everything),
    ):
        print(f"  {name:36}{seconds:>12.2f}{number / seconds:>14,.0f} {what}", flush=True)


def cpu(action: Callable[[], T]) -> tuple[float, T]:
    """Call a function; return its CPU seconds, and its result."""
    start = process_time()
    result = action()
    return process_time() - start, result

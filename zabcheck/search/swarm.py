"""The swarm: seeded random schedules without Hypothesis' overhead, for many runs.

A run's seed, one number of 64 bits, decides everything in it, on every machine: first its draws (which
processes, quorums, switches and faults, how often each; swarm testing, Groce et al. 2012), then each move. Runs differ
far more from each other than the moves of one run do, and that finds bugs that no single mixture would.

Three things decide how a run goes on:

- The moves of `moves`, by weight, as in the search by Hypothesis.
- A *cycle* of moves that leads to likely faults of replication: a leader, the steps to establish it, requests, a few
  steps towards their commit, a fault or two, and the next leader. A run follows it often, seldom or not at all.
- The order of messages. In some runs it comes from the moves (rounds, links, single messages), in others from
  *priorities*: each link and each disk has one, drawn when it first has something to do; of all that could happen the
  one with the highest does, and now and then the one that just did falls behind all others (PCT, Burckhardt et al.
  2010, with links and disks for threads, as both are FIFO). So a link or a disk may be late for long, and then not.

If a protocol has `Environment.rejoins`, some runs are made by `rejoining` instead.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from secrets import randbits
from typing import Any, Literal

import msgspec
from msgspec import Struct

from zabcheck.invariants import Event, Invariant, select
from zabcheck.invariants.quorums import Quorums, Weighted
from zabcheck.invariants.state import SameState
from zabcheck.protocols.base import StepRaised
from zabcheck.protocols.switches import Switches
from zabcheck.search.moves import MOVES, Moves, draw_switches, first_configuration, weights_for
from zabcheck.search.rejoining import Rejoining
from zabcheck.search.run import Observer, PropertyBroken, ProtocolRaised, Run, Search
from zabcheck.search.settings import SETTINGS
from zabcheck.simulation import choices
from zabcheck.simulation.simulator import Simulator

_PICKS = 2**30
_PROGRESS = ("settle", "drain", "receive", "sync")


class Draws(Struct, frozen=True):
    """A run's draws before its beginning. `weights`: how often each move is tried, relative to the others."""

    seed: int
    quorums: Quorums
    switches: Switches
    weights: Mapping[str, int]
    order: Literal["moves", "priorities", "rejoining"]
    demoted: float
    cycle: float


def run_seed(seed: int, index: int) -> int:
    """Return the seed of run number `index` of a search, 64 bits; run 0 has the search's own. (As SplitMix64 does.)"""
    return (seed + index * 0x9E3779B97F4A7C15) % 2**64


def find(search: Search) -> PropertyBroken | None:
    """Make the runs of `search`, one after the other; return the first that broke a property, or None.

    ProtocolRaised if the protocol's code raised.
    """
    kinds = select(search.properties)
    first = randbits(64) if search.rng is None else search.rng
    for index in range(search.runs):
        run = drive(search, kinds, run_seed(first, index))
        broken = run.broken or next((v.property for v in run.judge.finish() if v.status == "violated"), None)
        search.on_run(run)
        if broken is not None:
            return PropertyBroken(broken, run, run_seed(first, index))
    return None


def drive(
    search: Search,
    kinds: Sequence[type[Invariant]],
    seed: int,
    watchers: Callable[[Draws], Sequence[Mapping[type[Event], Observer]]] = lambda _: (),
) -> Run:
    """Make the run of this seed: until it breaks a property, or has had its steps and come to its end.

    `watchers` is called with the run's draws, and returns the watchers of its events. ProtocolRaised if the
    protocol's code raised.
    """
    random = Random(seed).random
    drawn = draw(search, seed, random)
    quorums, switches = drawn.quorums, drawn.switches
    run = None
    try:
        run = Run(search.protocol, quorums.size, kinds, quorums=quorums, switches=switches, watchers=watchers(drawn))
        (_rejoin if drawn.order == "rejoining" else _go)(run, drawn, random, search.most_steps)
    except StepRaised as raised:
        executed = () if run is None else run.simulator.executed
        raise ProtocolRaised(raised, search.protocol, executed, switches, quorums, seed) from raised
    return run


def go_on(run: Run, seed: int, steps: int) -> None:
    """Go on with a run that has begun, by the moves of this seed: until it breaks a property, or has had `steps` more.

    StepRaised if the protocol's code raised.
    """
    random = Random(seed).random
    simulator = run.simulator
    quorums = simulator.quorums
    search = Search(simulator.protocol, quorums.size, quorums=quorums, properties=(), rng=seed)
    _go(run, draw(search, seed, random), random, simulator.steps + steps)


def _go(run: Run, drawn: Draws, random: Callable[[], float], steps: int) -> None:
    """Make the moves of a run, to its end. A move that takes no step gives way to the next one that does."""
    simulator, broken = run.simulator, run.judge.broken
    execute, moves = simulator.execute, Moves(simulator)
    names = [name for name, weight in drawn.weights.items() for _ in range(weight)]
    place = {name: index for index, name in enumerate(drawn.weights)}
    ring = [(name, MOVES[name]) for name in drawn.weights] * 2
    cycle = (name for name in _cycle(drawn.weights, random) if name in place)
    in_order = Priorities(simulator, random, drawn.demoted) if drawn.order == "priorities" else None
    for _ in range(steps):  # there may be moves that take no step
        if simulator.steps >= steps:
            break
        name = next(cycle) if random() < drawn.cycle else names[int(random() * len(names))]
        pick = int(random() * _PICKS)
        for each, move in ring[place[name] :]:
            if in_order is not None and (each in _PROGRESS or each == "run"):
                if in_order.go(1 + pick % SETTINGS.most_in_order):
                    break
            else:
                choice = move(moves, pick)
                if choice is not None and execute(choice):
                    break
        else:
            if all(simulator.halted[1:]):
                break
        if broken and run.broken is not None:
            return
    for last in moves.end(int(random() * _PICKS)):
        execute(last)


def _rejoin(run: Run, drawn: Draws, random: Callable[[], float], steps: int) -> None:
    """Make the choices of `rejoining`, to the end of the run."""
    simulator, broken = run.simulator, run.judge.broken
    moves = Moves(simulator)
    for choice in islice(Rejoining(moves, random).choices(), SETTINGS.choices_a_step * steps):
        simulator.execute(choice)
        if broken and run.broken is not None:
            return
        if simulator.steps >= steps:
            break
    for last in moves.end(int(random() * _PICKS)):
        simulator.execute(last)


def draw(search: Search, seed: int, random: Callable[[], float]) -> Draws:
    """Draw what the run of this seed begins with."""
    environment = search.protocol.environment
    sizes = SETTINGS.sizes_rejoining if environment.rejoins else SETTINGS.sizes
    size = search.processes or _one(SETTINGS.sizes_changing if environment.configurations else sizes, random)
    quorums = Quorums(size)
    if random() < SETTINGS.weighted:
        weights = [int(random() * (SETTINGS.most_weight + 1)) for _ in range(size)]
        quorums = Weighted(size, tuple(weights)) if any(weights) else quorums
    if environment.configurations:
        quorums = first_configuration(size, int(random() * _PICKS))
    left_out = [name for name in SETTINGS.optional if random() < 0.5]
    seldom = [_one(SETTINGS.seldom, random) for _ in range(2)]
    left_out += [name for name in SETTINGS.seldom if name not in seldom]
    switches = _switches(random, search)
    return Draws(
        seed,
        quorums if search.quorums is None else search.quorums,
        switches,
        {
            name: weight * (_one(SETTINGS.rates, random) if name in SETTINGS.optional else 1)
            for name, weight in weights_for(search.protocol, switches).items()
            if name not in left_out
        },
        _order(random, search),
        _one(SETTINGS.demoted, random),
        _one(SETTINGS.cycles, random),
    )


def _order(random: Callable[[], float], search: Search) -> Literal["moves", "priorities", "rejoining"]:
    """Draw the source of the order of messages; no second number is drawn for a protocol that never rejoins."""
    order: Literal["moves", "priorities"] = "priorities" if random() < SETTINGS.priorities else "moves"
    rejoins = search.protocol.environment.rejoins
    return "rejoining" if rejoins and random() * 100 < rejoins else order


def _switches(random: Callable[[], float], search: Search) -> Switches:
    """Draw the switches that are not fixed; but no application if no property looks at it, as that only costs time."""
    drawn = draw_switches(lambda: int(random() * 100), search.protocol)
    if SameState not in select(search.properties):
        drawn.pop("application", None)
    return msgspec.convert({**drawn, **search.fixed}, search.protocol.switches)


def _one(items: Sequence[Any], random: Callable[[], float]) -> Any:
    return items[int(random() * len(items))]


def _cycle(weights: Mapping[str, int], random: Callable[[], float]) -> Iterator[str]:
    """Yield the moves of the cycle. Where no oracle names a leader, a time-out makes one."""
    progress = (*_PROGRESS, "run") if weights.get("run") else _PROGRESS
    faults = [name for name in (*SETTINGS.optional, *SETTINGS.seldom, "follow") if name in weights]
    while True:
        yield "lead" if "lead" in weights else "timeout"
        if weights.get("run") and random() < SETTINGS.catching_up:
            yield from _catching_up(random, weights)
            continue
        for _ in range(2 + int(random() * 2)):
            yield "settle"
        for _ in range(1 + int(random() * 3)):
            yield "request"
            if random() < 0.5:
                yield _one(progress, random)
        if "reconfigure" in weights:
            yield "reconfigure"
        for _ in range(int(random() * 3)):
            yield _one(progress, random)
        for _ in range(int(random() * 3)):
            yield _one(faults or ["timeout"], random)
        if random() < 0.5:
            yield "recover"


def _catching_up(random: Callable[[], float], weights: Mapping[str, int]) -> Iterator[str]:
    """Yield the moves after an election that leave a follower behind, elect again, and stop in the midst of that."""
    away = [name for name in ("split", "sever", "mute", "crash", "reset") if name in weights]
    ends = [name for name in ("crash", "crash", "power_loss", "timeout", "reset", "follow") if name in weights]
    for _ in range(3 + int(random() * 3)):
        yield "settle"
    if random() < 0.7:
        yield from ("request", "settle", "settle")
    if away and random() < 0.8:
        yield _one(away, random)
    for _ in range(1 + int(random() * 2)):
        yield "request"
    yield _one(("settle", "settle", *_PROGRESS, "run"), random)
    yield from ("heal", "recover", "lead")
    for _ in range(1 + int(random() * 2)):
        yield "settle"
    for _ in range(int(random() * 4)):
        yield "run"
    yield _one(ends or ["settle"], random)
    if random() < 0.8:
        yield "recover"


class Priorities:
    """Executes messages and syncs in the order of priorities."""

    def __init__(self, simulator: Simulator, random: Callable[[], float], demoted: float) -> None:
        self.simulator = simulator
        self.random = random
        self.demoted = demoted
        # By (process, sender), (process, -sender) for an election, (process, process) for its disk, or
        # (process, thread).
        self.priorities: dict[tuple[int, int | str], float] = {}
        self.lowest = 0.0

    def go(self, steps: int) -> bool:
        """Take up to `steps` steps, while there is something to do. Return True if there was."""
        simulator, priorities, random = self.simulator, self.priorities, self.random
        for number in range(steps):
            chains: list[tuple[int, int | str]] = [(process, sender) for process, sender, _ in simulator.waiting()]
            chains += [(process, -sender) for process, sender, _ in simulator.hearing()]
            chains += [(process, process) for process in simulator.unsynced()]
            chains += simulator.threads()
            if not chains:
                return number > 0
            for chain in chains:
                if chain not in priorities:
                    priorities[chain] = random()
            highest = max(chains, key=priorities.__getitem__)
            process, sender = highest
            if isinstance(sender, str):
                simulator.execute(choices.Run(process, sender))
            elif sender < 0:
                simulator.execute(choices.Hear(process, -sender))
            else:
                simulator.execute(choices.Sync(process) if process == sender else choices.Receive(process, sender))
            if random() < self.demoted:
                self.lowest -= 1
                priorities[highest] = self.lowest
        return True

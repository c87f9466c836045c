"""Measures how long a step, and going back, takes on the page of `zabcheck play`: 200 steps, five processes.

What the server does is measured: it executes the choice, judges it, tries what can be chosen next, and draws. Then the
memory that a session of 10,000 steps with 50 branches takes, in a process of its own, as the command would be.
"""

import resource
from multiprocessing import get_context
from random import Random
from time import perf_counter, process_time

import msgspec

from zabcheck.mutants.catalogue import mutated
from zabcheck.play.desk import Desk, Do
from zabcheck.play.regions import regions
from zabcheck.play.session import Session
from zabcheck.search.run import collect_garbage_less_often
from zabcheck.simulation import choices

STEPS = 200
AFTER = (200, 2000)
"""The lengths of the runs in which steps are measured, in steps."""
LONG = 10_000
BRANCHES = 50
DRAWN_EVERY = 50
"""The choices of the long run after each of which the page is drawn."""
KEEPS_GOING = (choices.Receive, choices.Sync, choices.Request)


def main() -> None:
    """Print the 95th percentile and the median, in milliseconds; and the peak of the memory in use, in MB."""
    rng = Random(1)
    for length in AFTER:
        _steps(length, rng)
    process = get_context("spawn").Process(target=_long)
    process.start()
    process.join()


def _steps(length: int, rng: Random) -> None:
    session = Session(mutated("zab"), 5)
    session.do(choices.Lead(1, (2, 3, 4, 5)))
    while sum(len(each.steps) for each in session.here.path) < length - STEPS // 2:
        session.do(_drawn(rng, session))
    desk = Desk(session)
    there = [_milliseconds(desk, msgspec.json.encode(Do(_drawn(rng, session)))) for _ in range(STEPS // 2)]
    back = [_milliseconds(desk, b'{"act":"undo"}') for _ in range(STEPS // 2)]
    for name, times in (("a step", there), ("undo", back)):
        clock, cpu = ([each[place] for each in times] for place in (0, 1))
        print(
            f"{name} around step {length}: p95 {_share(clock, 0.95):.0f} ms (CPU {_share(cpu, 0.95):.0f} ms), "
            f"median {_share(clock, 0.5):.0f} ms"
        )


def _long() -> None:
    collect_garbage_less_often()  # as the command does
    rng, session = Random(1), Session(mutated("zab"), 3)
    desk = Desk(session)
    session.do(choices.Lead(1, (2, 3)))
    while session.here.depth < LONG:
        simulator = session.simulator
        own: list[choices.AnyChoice] = [choices.Receive(to, sender) for to, sender, _ in simulator.waiting()]
        own += [choices.Sync(process) for process in simulator.to_sync()]
        session.do(rng.choice([*own, choices.Request(1)] if simulator.may_broadcast(1) else own))
        if session.here.depth % DRAWN_EVERY == 0:
            regions(desk)
    for _ in range(BRANCHES):
        session.go(rng.randrange(LONG // 2, LONG))
        session.do(choices.Crash(2))
        regions(desk)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{LONG:,} steps with {len(session.branches())} branches: at most {peak:.0f} MB in use")


def _drawn(rng: Random, session: Session) -> choices.AnyChoice:
    possible = [option.choice for option in session.options()]
    own = [choice for choice in possible if isinstance(choice, KEEPS_GOING)]
    choice: choices.AnyChoice = rng.choice(own or possible)  # type: ignore[assignment]  # it is one of them
    return choice


def _milliseconds(desk: Desk, act: bytes) -> tuple[float, float]:
    """Return the time by the clock, and of the CPU, that an act takes until the page is drawn."""
    clock, cpu = perf_counter(), process_time()
    desk.act(act)
    msgspec.json.encode(regions(desk))
    return 1000 * (perf_counter() - clock), 1000 * (process_time() - cpu)


def _share(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]

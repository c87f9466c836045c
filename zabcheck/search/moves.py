"""What may be chosen next in a run: each move gives a choice of its kind, or None where that is not possible now.

A move decides by `pick`, any number from 0 on, of which it takes the remainders by the number of things to choose from.
So an engine draws one number for each move: Hypothesis one below 100, the swarm one of 30 bits.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from zabcheck.protocols.base import Protocol
from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice, least
from zabcheck.simulation.simulator import Simulator

T = TypeVar("T")

WEIGHTS: Mapping[str, int] = {
    "follow": 9,
    "lead": 5,
    "overtake": 0,
    "drain": 8,
    "receive": 7,
    "sync": 4,
    "run": 0,
    "notice": 2,
    "recover": 5,
    "wake": 1,
    "heal": 2,
    "mend": 1,
    "elect": 1,
    "timeout": 1,
    "crash": 2,
    "power_loss": 1,
    "cut": 1,
    "sever": 1,
    "split": 2,
    "mute": 1,
    "stall": 1,
    "hold": 1,
    "flap": 1,
    "pause": 1,
    "reset": 1,
    "snapshot": 2,
    "corrupt": 1,
    "bridge": 1,
    "ring": 1,
    "request": 20,
    "settle": 20,
}
"""How often each move is tried, relative to the others; of those that a run has, the sum is below 100. A move that is
not possible gives way to the next one that is: so a request, where nobody may broadcast, to `settle`, and that, where
nothing waits, to a change of leader. What repairs stands together: whatever is wrong, if only one thing is, its repair
is likely."""

WITHOUT_ORDER = {"overtake": 7, "drain": 4, "receive": 4}
"""The weights that are others where channels do not keep the order of messages; the sum stays as it is."""

OPTIONAL = ("notice", "timeout", "crash", "corrupt", "power_loss", "cut", "sever", "split", "reset")
"""The moves that a run may do without: each run draws which of them it has (swarm testing, Groce et al. 2012)."""

SELDOM = ("mute", "stall", "hold", "flap", "pause", "bridge", "ring")
"""The moves of which a run has one or two. With half of them something would always be in the way of messages, and
what a crash and a cut are enough for would be found later."""

SWITCHES: Mapping[str, Sequence[tuple[int, object]]] = {
    "histories": ((40, "missing"),),
    "sync": ((15, "atomic"),),
    "elections": ((15, "together"),),
    "application": ((40, "key-value"),),
    "counter_limit": ((3, 1), (3, 2), (4, 3)),
    "closing": (),
}
"""How many runs of a hundred have a switch set to something else than the letter of the paper says.

None closes abruptly: what happens in such a run can happen in another, too, if what is under way is never received.
"""


def draw_switches(number: Callable[[], int], protocol: Protocol | None = None) -> dict[str, object]:
    """What a run sets, by numbers from 0 to 99: one for each switch, so that none moves the draw of another."""
    drawn = {}
    for switch, shares in {**SWITCHES, **(protocol.environment.switches if protocol else {})}.items():
        left = number() if shares else 0
        for share, value in shares:
            if 0 <= left < share:
                drawn[switch] = value
            left -= share
    return drawn


_ROUNDS = (1, 2, 3, 4, 4, 4)
"""How long to settle: never long enough to take a leader that was just named through two phases."""
_KEPT = (0, 0, 0, 1, 2, 3, 5)
"""How many of its unsynced writes a crash leaves; there is seldom more than one."""
_ENDS = ("quiesce", "stabilise", "stabilise")
"""How a run ends: each as often as it stands here."""
_ONE_END = 33
"""How many numbers below 100 lead to each of these: so that who leads then is still drawn, from those that are left."""
_PLAIN_BITS = 5
_SPREAD = 2654435761
"""Spreads the few bits of a draw over many processes (Knuth's multiplicative hashing)."""


class Moves:
    """The moves that there are in the run of `simulator`, as it is at the moment."""

    __slots__ = ("by_vote", "ids", "simulator", "together")

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.ids = simulator.ids
        self.together = simulator.switches.elections == "together"  # an election is one choice
        by_vote = simulator.switches.elections in ("oracle", "fle")
        self.by_vote = by_vote and simulator.protocol.vote is not None

    # The protocol goes on.

    def settle(self, pick: int) -> Choice | None:
        simulator = self.simulator
        if not (simulator.waiting() or simulator.hearing() or simulator.unsynced() or simulator.threads()):
            return None
        return choices.Settle(_one(_ROUNDS, pick), sync=pick // len(_ROUNDS) % 3 != 0)

    def request(self, pick: int) -> Choice | None:
        primaries = self.primaries()
        return choices.Request(_one(primaries, pick)) if primaries else None

    def drain(self, pick: int) -> Choice | None:
        waiting = self.simulator.waiting()
        return choices.Drain(*_one(waiting, pick)[:2]) if waiting else None

    def receive(self, pick: int) -> Choice | None:
        waiting, hearing = self.simulator.waiting(), self.simulator.hearing()
        if not waiting and not hearing:
            return None
        kind, (process, sender, _) = _one(
            [(choices.Receive, each) for each in waiting] + [(choices.Hear, each) for each in hearing], pick
        )
        return kind(process, sender)

    def overtake(self, pick: int) -> Choice | None:
        queues = [] if self.simulator.protocol.environment.fifo else self.queues()
        return choices.Overtake(*_one(queues, pick)) if queues else None

    def sync(self, pick: int) -> Choice | None:
        unsynced = self.simulator.unsynced()
        return choices.Sync(_one(unsynced, pick)) if unsynced else None

    def run(self, pick: int) -> Choice | None:
        threads = self.simulator.threads()
        return choices.Run(*_one(threads, pick)) if threads else None

    def snapshot(self, pick: int) -> Choice | None:
        # A log that was cut at a leader makes others need its snapshot.
        candidates = (pick % 2 and self.leaders()) or self.ids
        return choices.Snapshot(_one(candidates, pick // 2), cut=pick // 2 // len(candidates) % 3 != 0)

    # The oracle.

    def follow(self, pick: int) -> Choice | None:
        """An oracle changes its mind: to another leader than before, if there is one."""
        leaders, following = self.leaders(), self.simulator.following
        if self.together or not leaders or len(leaders) == len(self.ids):
            return None
        follower = _one([process for process in self.ids if process not in leaders], pick)
        others = [leader for leader in leaders if leader != following[follower]]
        return choices.Elect(follower, _one(others or leaders, pick // len(self.ids)))

    def lead(self, pick: int) -> Choice | None:
        if self.by_vote:
            return self.elected(pick)
        leader = _one(self.ids, pick)
        return choices.Lead(leader, self.some_but(leader, pick // len(self.ids)))

    def elected(self, pick: int) -> Choice | None:
        """An election by vote among some processes that are a quorum; the leader is who has the greatest vote now."""
        awake, simulator = self.awake(), self.simulator
        vote, quorums = simulator.protocol.vote, simulator.quorums
        if vote is None or not quorums.contains(awake):
            return None
        first = _one(awake, pick)
        some = (first, *self.some_but(first, pick // len(awake)))
        chosen = [process for process in awake if process in some]
        for process in awake:
            if not quorums.contains(chosen) and process not in chosen:
                chosen.append(process)
        leader = max(filter(quorums.may_lead, chosen), key=lambda process: vote(simulator.states[process]))
        return choices.Lead(leader, tuple(sorted(process for process in chosen if process != leader)))

    def elect(self, pick: int) -> Choice | None:
        return None if self.together else choices.Elect(*self.two(pick))

    # Faults.

    def timeout(self, pick: int) -> Choice | None:
        return choices.Timeout(_one(self.ids, pick))

    def crash(self, pick: int) -> Choice | None:
        # Half of the crashes hit a process that has something to lose, if there is one.
        candidates = (pick % 2 and self.unfinished()) or self.ids
        return choices.Crash(_one(candidates, pick // 2), _one(_KEPT, pick // 2 // len(candidates)))

    def power_loss(self, pick: int) -> Choice | None:
        return choices.PowerLoss(_one(_KEPT, pick))

    def corrupt(self, pick: int) -> Choice | None:
        written = self.written()
        if not written:
            return None
        process, records = _one(written, pick)
        return choices.Corrupt(process, pick // len(written) % records)

    def cut(self, pick: int) -> Choice | None:
        return choices.Cut(*self.two(pick))

    def sever(self, pick: int) -> Choice | None:
        return choices.Sever(*self.two(pick))

    def split(self, pick: int) -> Choice | None:
        return choices.Split(self.some_but(len(self.ids), pick))

    def mute(self, pick: int) -> Choice | None:
        return choices.Mute(self.some_but(0, pick))

    def bridge(self, pick: int) -> Choice | None:
        """Leave one process as the only bridge between two groups; with three processes that is `sever`."""
        if len(self.ids) <= 3:
            return None
        process = _one(self.ids, pick)
        return choices.Bridge(process, self.some_but(process, pick // len(self.ids)))

    def ring(self, pick: int) -> Choice | None:
        """Cut all links but those of a ring; three processes are one already."""
        return choices.Ring() if len(self.ids) > 3 else None

    def stall(self, pick: int) -> Choice | None:
        links = self.links()
        return choices.Stall(*_one(links, pick)) if links else None

    def hold(self, pick: int) -> Choice | None:
        links, kinds = self.links(), tuple(self.simulator.protocol.kinds.values())
        return choices.Hold(*_one(links, pick), _one(kinds, pick * _SPREAD >> 16)) if links and kinds else None

    def flap(self, pick: int) -> Choice | None:
        return choices.Flap(*self.two(pick), 1 + pick % 2)

    def pause(self, pick: int) -> Choice | None:
        awake = self.awake()
        return choices.Pause(_one(awake, pick)) if awake else None

    def reset(self, pick: int) -> Choice | None:
        return choices.Reset(*self.two(pick))

    # Repairs.

    def notice(self, pick: int) -> Choice | None:
        closed = self.simulator.closed()
        return choices.Notice(*_one(closed, pick)) if closed else None

    def recover(self, pick: int) -> Choice | None:
        down = self.down()
        return choices.Recover(_one(down, pick)) if down else None

    def wake(self, pick: int) -> Choice | None:
        paused = self.simulator.paused
        return choices.Wake(_one([process for process in self.ids if process in paused], pick)) if paused else None

    def heal(self, pick: int) -> Choice | None:
        return choices.Heal() if self.simulator.obstructed() else None

    def mend(self, pick: int) -> Choice | None:
        obstructed = self.simulator.obstructed()
        return choices.Mend(*_one(obstructed, pick)) if obstructed else None

    # The end.

    def end(self, pick: int) -> Iterator[Choice]:
        """End the run with calm, most often with a new leader, else with the one that there is.

        Each choice is asked for when the one before it is done.
        """
        never = self.simulator.protocol.environment.never
        if pick // _ONE_END % len(_ENDS) != _ENDS.index("quiesce") or "quiesce" in never:
            last = self.stabilise(pick)
            if last is not None:
                yield last
            return
        yield choices.Quiesce()
        for primary in self.primaries():
            yield choices.Request(primary)
        yield choices.Quiesce()

    def stabilise(self, pick: int) -> Choice | None:
        """End the run with calm: from whatever state it has reached, the protocol has to get going again."""
        simulator = self.simulator
        if "stabilise" in simulator.protocol.environment.never:
            return None
        able = [process for process in self.ids if not simulator.halted[process]]
        if not able:
            return None
        leader = _one(able, pick)
        first = pick // len(able) % len(able)
        quorum = least(simulator.quorums, leader, able[first:] + able[:first])
        return None if quorum is None else choices.Stabilise(leader, quorum)

    # What there is to choose from.

    def leaders(self) -> list[int]:
        """Return the processes that lead, as far as they know."""
        following = self.simulator.following
        return [process for process in self.ids if following[process] == process]

    def primaries(self) -> list[int]:
        """Return the processes that can broadcast."""
        states, can_broadcast = self.simulator.states, self.simulator.protocol.can_broadcast
        return [process for process in self.awake() if can_broadcast(states[process])]

    def down(self) -> list[int]:
        simulator = self.simulator
        return [process for process in self.ids if not simulator.is_up(process) and not simulator.halted[process]]

    def awake(self) -> list[int]:
        """Return the processes that are up and not paused."""
        states, paused = self.simulator.states, self.simulator.paused
        return [process for process in self.ids if states[process] is not None and process not in paused]

    def unfinished(self) -> list[int]:
        """Return the processes that have something to lose by a crash: a write, or what a thread has yet to do."""
        busy = dict.fromkeys(process for process, _ in self.simulator.threads())
        return sorted({**dict.fromkeys(self.simulator.unsynced()), **busy})

    def links(self) -> list[tuple[int, int]]:
        """Return both directions of each connection."""
        return [link for pair in self.simulator.connections for link in (pair, pair[::-1])]

    def queues(self) -> list[tuple[int, int]]:
        """Return (sender, receiver) of each link on which several messages wait."""
        return [(sender, process) for process, sender, number in self.simulator.waiting() if number > 1]

    def written(self) -> list[tuple[int, int]]:
        """Return the processes with a record on their disks, and how many records each has."""
        found = [(process, self.simulator.disks[process].records) for process in self.ids]
        return [(process, records) for process, records in found if records > 0]

    def two(self, pick: int) -> tuple[int, int]:
        return _one(self.ids, pick), _one(self.ids, pick // len(self.ids))

    def some_but(self, one: int, pick: int) -> tuple[int, ...]:
        """Return a subset, which may be empty, of the processes without `one`."""
        others = [process for process in self.ids if process != one]
        if len(others) > _PLAIN_BITS:
            pick *= _SPREAD
        return tuple(process for index, process in enumerate(others) if pick >> index & 1)


def _one(items: Sequence[T], pick: int) -> T:
    return items[pick % len(items)]


def weights_for(protocol: Protocol) -> Mapping[str, int]:
    """Return how often each move is tried with this protocol; without the moves that the protocol does not have."""
    usual = WEIGHTS if protocol.environment.fifo else {**WEIGHTS, **WITHOUT_ORDER}
    own = protocol.environment.moves
    left_out = [name for name, weight in own.items() if not weight]
    return {name: own.get(name, weight) for name, weight in usual.items() if name not in left_out}


MOVES: Mapping[str, Callable[[Moves, int], Choice | None]] = {name: getattr(Moves, name) for name in WEIGHTS}
"""The move of each name that has a weight."""

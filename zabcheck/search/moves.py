"""The possible next choices of a run: each move gives a choice of its kind, or None if it is not possible now.

A move decides by `pick`, any number from 0 on, of which it takes the remainders by the number of options.
So an engine draws one number for each move: Hypothesis one below 100, the swarm one of 30 bits.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import structs

from zabcheck.invariants.quorums import Configuration
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.search.settings import SETTINGS
from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice, least
from zabcheck.simulation.simulator import Simulator

T = TypeVar("T")


def draw_switches(number: Callable[[], int], protocol: Protocol | None = None) -> dict[str, object]:
    """Draw the switches of a run by numbers from 0 to 99: one a switch, so that none moves the draw of another."""
    drawn = {}
    for switch, shares in {**SETTINGS.switches, **(protocol.environment.switches if protocol else {})}.items():
        left = number() if shares else 0
        for share, value in shares:
            if 0 <= left < share:
                drawn[switch] = value
            left -= share
    return drawn


_ONE_END = 100 // len(SETTINGS.ends)
"""The number of picks below 100 that lead to each end. The same pick also draws the leader."""
_PLAIN_BITS = 5
_SPREAD = 2654435761
"""Spreads the few bits of a draw over many processes (Knuth's multiplicative hashing)."""


class Moves:
    """The moves that are possible in the run of `simulator` at the moment."""

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
        return choices.Settle(_one(SETTINGS.rounds, pick), sync=pick // len(SETTINGS.rounds) % 3 != 0)

    def request(self, pick: int) -> Choice | None:
        primaries = self.primaries()
        return choices.Request(_one(primaries, pick)) if primaries else None

    def reconfigure(self, pick: int) -> Choice | None:
        """Return a request for a configuration of some of the processes; of the primary alone, if that is none."""
        primaries = self.primaries()
        if not primaries:
            return None
        primary, pick = _one(primaries, pick), pick // len(primaries)
        members = self.some_but(0, pick) or (primary,)
        return choices.Request(primary, Configuration(len(self.ids), members).name)

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

    def duplicate(self, pick: int) -> Choice | None:
        waiting = self.simulator.waiting() if self.simulator.protocol.environment.duplicates else []
        if not waiting:
            return None
        process, sender, _ = _one(waiting, pick)
        return choices.Duplicate(sender, process)

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
        """Return a choice by which an oracle changes its mind: to another leader than before, if there is one."""
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
        pick //= len(self.ids)
        on_its_own = self.on_its_own(leader, pick // 2) if pick % 2 else None
        return on_its_own or choices.Lead(leader, self.some_but(leader, pick))

    def on_its_own(self, leader: int, pick: int) -> Choice | None:
        """Return the choice of a leader by a least quorum of its configuration; None where there are none."""
        state, active = self.simulator.states[leader], self.simulator.protocol.active
        if active is None or state is None:
            return None
        first = pick % len(self.ids)
        quorum = least(active(state), leader, (*self.ids[first:], *self.ids[:first]))
        return None if quorum is None else choices.Lead(leader, tuple(each for each in quorum if each != leader))

    def elected(self, pick: int) -> Choice | None:
        """Return an election by vote among some processes that are a quorum; the one with the greatest vote leads."""
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
        return choices.Crash(_one(candidates, pick // 2), _one(SETTINGS.kept, pick // 2 // len(candidates)))

    def power_loss(self, pick: int) -> Choice | None:
        return choices.PowerLoss(_one(SETTINGS.kept, pick))

    def corrupt(self, pick: int) -> Choice | None:
        written = self.written()
        if not written:
            return None
        process, records = _one(written, pick)
        return choices.Corrupt(process, pick // len(written) % records)

    def wipe(self, pick: int) -> Choice | None:
        down = self.down()
        return choices.Wipe(_one(down, pick)) if down else None

    def backup(self, pick: int) -> Choice | None:
        return choices.BackUp(_one(self.ids, pick))

    def restore(self, pick: int) -> Choice | None:
        copied = [process for process in self.down() if process in self.simulator.copies]
        return choices.Restore(_one(copied, pick)) if copied else None

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
        if SETTINGS.ends[pick // _ONE_END % len(SETTINGS.ends)] != "quiesce" or "quiesce" in never:
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
        quorum = least(simulator.governing(leader), leader, able[first:] + able[:first])
        return None if quorum is None else choices.Stabilise(leader, quorum)

    # The options.

    def leaders(self) -> list[int]:
        """Return the processes that lead, as far as they know."""
        following = self.simulator.following
        return [process for process in self.ids if following[process] == process]

    def primaries(self) -> list[int]:
        """Return the processes that take requests."""
        return [process for process in self.awake() if self.simulator.may_broadcast(process)]

    def down(self) -> list[int]:
        simulator = self.simulator
        return [process for process in self.ids if not simulator.is_up(process) and not simulator.halted[process]]

    def awake(self) -> list[int]:
        """Return the processes that are up and not paused."""
        states, paused = self.simulator.states, self.simulator.paused
        return [process for process in self.ids if states[process] is not None and process not in paused]

    def unfinished(self) -> list[int]:
        """Return the processes that have something to lose by a crash: a write, or a thread's work."""
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


def first_configuration(size: int, pick: int) -> Configuration:
    """Return the configuration with which a run of `size` processes begins, one or more of them: about two in three."""
    members = tuple(process for process in range(1, size + 1) if pick // 3**process % 3)
    return Configuration(size, members or (1,))


def _one(items: Sequence[T], pick: int) -> T:
    return items[pick % len(items)]


def drawing_disks(protocol: Protocol) -> Protocol:
    """Return the same protocol, with runs in which disks are wiped, and replaced by older copies, too.

    ValueError if its processes do not come back from their disks.
    """
    usual = weights_for(protocol)
    if not usual.get("recover"):
        raise ValueError(f"expected a protocol whose processes come back from their disks, found {protocol.name}")
    asked = {name: max(1, usual.get(name, 0) + more) for name, more in SETTINGS.weights_with_disks.items()}
    environment = structs.replace(protocol.environment, moves={**protocol.environment.moves, **asked})
    return structs.replace(protocol, environment=environment)


def weights_for(protocol: Protocol, switches: Switches = LETTER) -> Mapping[str, int]:
    """Return how often each move is tried with this protocol, without the moves that the protocol does not have."""
    usual = SETTINGS.weights
    if not protocol.environment.fifo:
        usual = {**usual, **SETTINGS.weights_without_order}
    if protocol.environment.duplicates:
        usual = {**usual, **SETTINGS.weights_with_duplicates}
    own = {**(SETTINGS.weights_over_lossy_links if switches.lossy else {}), **protocol.environment.moves}
    left_out = [name for name, weight in own.items() if not weight]
    return {name: weight for name, weight in {**usual, **own}.items() if name not in left_out}


MOVES: Mapping[str, Callable[[Moves, int], Choice | None]] = {
    name: getattr(Moves, name)
    for name in (*SETTINGS.weights, *SETTINGS.weights_with_duplicates, *SETTINGS.weights_with_disks, "reconfigure")
}
"""The move of each name that has a weight."""

"""Runs in which a process falls behind, comes back, and is interrupted while the others bring it up to date.

Bugs there take a sequence that moves by weight seldom make: a transaction that one process lacks, an election or a new
connection that brings it back, a crash between two of its next steps, and an election without the process that had
everything. Here a run is a sequence of *rounds*, each of which may have all of these. The participants, the interrupted
process and the place, and the links and threads that are slow, and for how long, are drawn.

For protocols whose processes vote and have threads (`Environment.rejoins`). Of their threads one called "main" reads
the messages.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

from zabcheck.search.moves import Moves
from zabcheck.search.settings import SETTINGS
from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice


class Rejoining:
    """Yields the choices of such a run; each is asked for when the one before it is executed.

    `slow_links` (sender, receiver) and `slow_threads` (process, thread) have no turn at the moment.
    """

    def __init__(self, moves: Moves, random: Callable[[], float]) -> None:
        self.moves = moves
        self.simulator = moves.simulator
        self.random = random
        self.names = [
            each
            for each in moves.simulator.protocol.threads(moves.simulator.switches)
            if each not in ("main", "election")
        ]
        self.slow_links: list[tuple[int, int]] = []
        self.slow_threads: list[tuple[int, str]] = []
        self.left_out = 0
        self.habits = self._one(SETTINGS.habits)

    def choices(self) -> Iterator[Choice]:
        """Yield choices for as long as any process can go on; some may not be enabled."""
        while not all(self.simulator.halted[1:]):
            yield from self._round()

    # The parts of a round.

    def _round(self) -> Iterator[Choice]:
        """Yield an election, requests, a process that comes back, a crash; each may be left out, or interrupted."""
        left_out = self.left_out
        for process in self.moves.down():
            if process != left_out or self._often(0.5):
                yield choices.Recover(process)
        self._nothing_is_slow()
        voters = [process for process in self.moves.awake() if process != left_out]
        if not self.simulator.quorums.contains(voters):
            voters = self.moves.awake()
        vote = self.simulator.protocol.vote
        assert vote is not None
        if not voters:
            return
        # If none of them may lead, no process is elected, and the run goes on, or it would never end.
        candidates = [process for process in voters if self.simulator.quorums.may_lead(process)] or voters
        leader = max(candidates, key=lambda process: vote(self.simulator.states[process]))
        followers = [process for process in voters if process != leader]
        yield choices.Lead(leader, tuple(followers))
        self.left_out = leader if self._often(0.5) else self._one((0, *self.simulator.ids))
        if followers and self._often(0.35 * self.habits.interrupted):
            behind = min(followers, key=lambda process: vote(self.simulator.states[process]))
            yield from self._interrupted(leader, behind if self._often(0.7) else self._one(followers))
            if self._often(0.5):
                return
        self._nothing_is_slow()
        yield from self._progress()
        if not self._serves(leader):
            return
        is_idle = self._often(self.habits.idle)
        if not is_idle:
            is_alone = yield from self._requests(leader)
            if is_alone and self._often(self.habits.abandoned):
                return
        yield from self._end_of_round(leader, left_out, is_idle)

    def _end_of_round(self, leader: int, left_out: int, is_idle: bool) -> Iterator[Choice]:
        """Have a process come back, most often `left_out`, or one crash, or neither."""
        if self._often(0.7):
            others = [process for process in self.simulator.ids if process != leader]
            back = left_out if left_out in others and self._often(0.8) else self._one(others or [leader])
            if back != leader:
                yield from self._come_back(leader, back, is_idle)
        elif self._often(self.habits.leader_crashes):
            yield from self._crash(leader)
            self.left_out = self._one((0, *self.simulator.ids))
        elif self._often(0.5):
            yield from self._crash(self._one(self.simulator.ids))

    def _requests(self, leader: int) -> Generator[Choice, None, bool]:
        """Yield requests that some processes do not hear of for a while, and that some threads leave undone.

        Return True if there is one that only the leader has heard of.
        """
        others = [process for process in self.simulator.ids if process != leader]
        is_alone = False
        for number in range(1 + int(self.random() * 3)):
            if not self._serves(leader):
                return is_alone
            if number == 0 or self._often(0.4):
                heard = self._one((0.0, 0.7, 0.7, 1.0))
                if not heard:  # the leader has something of its own: others elect one of themselves
                    self.left_out, is_alone = leader, True
                self.slow_links = [(leader, process) for process in others if not self._often(heard)]
                self.slow_threads = []
                if self.names and self._often(max(0.6, self.habits.lags)):
                    slow = leader if self._often(0.7) else self._one(others or [leader])
                    self.slow_threads = [(slow, self._one(self.names))]
            yield choices.Request(leader)
            yield from self._progress()
        if self._often(0.25):
            yield choices.Snapshot(self._one((leader, *self.simulator.ids)), cut=self._often(0.7))
        return is_alone

    def _come_back(self, leader: int, process: int, is_idle: bool) -> Iterator[Choice]:
        """Let a process connect to the leader again, and be stuck or interrupted; then it may take part, and crash."""
        yield from self._join(leader, process)
        self.slow_links = []
        if self._often(0.33):
            yield from self._stuck(leader, process)
            self.left_out = leader
            return
        if self._often(self.habits.interrupted):
            yield from self._interrupted(leader, process, 0.4)
        if not self._often(0.85):
            return
        self.slow_links = []
        if self.names and self._often(self.habits.lags):
            self.slow_threads = [*self.slow_threads, (process, self._one(self.names))]
        else:
            self.slow_threads = []
        yield from self._progress()
        if self.simulator.following[process] != leader:
            yield from self._join(leader, process)
        yield from self._progress()
        if not is_idle:
            yield choices.Request(leader)
            yield from self._progress()
        if self._often(0.7):
            crashes, stays = (leader, process) if self._often(self.habits.leader_crashes) else (process, leader)
            yield from self._crash(crashes)
            self.left_out = stays

    def _join(self, leader: int, process: int) -> Iterator[Choice]:
        if not self.simulator.is_up(process):
            yield choices.Recover(process)
        yield choices.Timeout(process)
        yield choices.Elect(process, leader)

    def _interrupted(self, leader: int, follower: int, timeouts: float = 0.0) -> Iterator[Choice]:
        """Let the leader bring the follower up to date, and interrupt that.

        `timeouts` is the share of interruptions that are a time-out of the follower, drawn before any other.
        """
        if self._often(0.5):
            others = [each for each in self.simulator.ids if each not in (leader, follower)]
            self.slow_links = [link for each in others for link in ((leader, each), (each, leader))]
        if not self.slow_threads and self._often(0.3) and self.names:
            self.slow_threads = [(follower, self._one(self.names))]
        yield from self._progress((follower, 2 + int(self.random() * 8)))
        match 3 if timeouts and self._often(timeouts) else int(self.random() * 6):
            case 0 | 1:
                yield from self._crash(follower)
            case 2:
                yield from self._crash(leader)
            case 3 | 4:
                yield choices.Timeout(follower)
            case _:
                pass

    def _stuck(self, leader: int, follower: int) -> Iterator[Choice]:
        """Let the follower stand still while the leader brings it up to date, and all others go on."""
        yield from self._progress((follower, 2 + int(self.random() * 8)))
        self.slow_links = [(leader, follower), (follower, leader)]
        self.slow_threads = [(follower, name) for name in ("main", *self.names)]
        yield from self._progress()

    def _crash(self, process: int) -> Iterator[Choice]:
        yield choices.Crash(process, self._one(SETTINGS.kept_rejoining))
        if self._often(0.8):
            yield choices.Recover(process)

    def _progress(self, until: tuple[int, int] = (0, 0)) -> Iterator[Choice]:
        """Yield messages and turns of threads, in any order, except for slow ones.

        With `until` (process, number) only till this process has taken that number of steps.
        """
        simulator = self.simulator
        process, left = until
        for _ in range(SETTINGS.most_progress):
            links, threads = simulator.waiting(), simulator.threads()
            if self.slow_links:
                links = [each for each in links if (each[1], each[0]) not in self.slow_links]
            if self.slow_threads:
                threads = [each for each in threads if each not in self.slow_threads]
            heard = simulator.hearing()
            able: list[tuple[Any, ...]] = [*links, *heard, *threads]
            if not able:
                return
            place = int(self.random() * len(able))
            mover, which = able[place][:2]
            is_link = place < len(links)
            if is_link:
                yield choices.Receive(mover, which)
            elif place < len(links) + len(heard):
                yield choices.Hear(mover, which)
            else:
                yield choices.Run(mover, which)
            if mover == process and (is_link or which == "main"):
                left -= 1
                if not left:
                    return

    def _nothing_is_slow(self) -> None:
        self.slow_links, self.slow_threads = [], []

    # Draws.

    def _serves(self, process: int) -> bool:
        return process in self.moves.primaries()

    def _often(self, share: float) -> bool:
        return self.random() < share

    def _one(self, items: Sequence[Any]) -> Any:
        return items[int(self.random() * len(items))]

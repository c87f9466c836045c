"""Search for an attempt that explains everything that a recording shows of one server.

The states that are still possible form a queue: the attempt that explains most goes on first, and among those that
explain the same the one whose way was shortest. So unseen threads act as late as some observation needs it; if that
turns out to be too late, an earlier attempt goes on otherwise. States that are equal are kept once. If the queue is
empty there is no run of the model. If too many states were tried, the search is undecided.
"""

from heapq import heappop, heappush

from msgspec import Struct

from zabcheck.zookeeper.conformance.attempt import Attempt
from zabcheck.zookeeper.conformance.costs import NEAR
from zabcheck.zookeeper.conformance.moves import Move, Moves
from zabcheck.zookeeper.conformance.observations import Observation
from zabcheck.zookeeper.conformance.refusals import RuledOut, WaitsForTree

MOST_STATES = 20_000
"""The number of states of one server after which the search gives up."""
MOST_GUARDS = 8
"""The number of different guards that are kept for each observation."""


class Stuck(Struct, frozen=True):
    """The end of every attempt: the observation to explain, a state that got there, and the refusals.

    `guards` are the reasons why moves from there are ruled out, a sentence each, or if there was none, what the server
    would wait for; `earlier` are those from the states one observation before.
    """

    goal: Observation
    attempt: Attempt
    guards: tuple[str, ...]
    earlier: tuple[str, ...]


class ServerSearch:
    """The search for one server. `found` is the attempt that explains everything, once there is one."""

    def __init__(self, moves: Moves, most_states: int = MOST_STATES) -> None:
        self.moves = moves
        self.states = 0
        self.most_states = most_states
        self.found: Attempt | None = None
        self.waits_for: int | None = None
        self._waiting: list[Attempt] = []
        self._queue: list[tuple[int, int, int, Attempt, Move | None]] = []
        self._seen: dict[tuple[object, ...], list[Attempt]] = {}
        self._added = 0
        self._furthest: Attempt | None = None
        self._guards: dict[int, dict[str, None]] = {}  # by the number of observations that are explained
        self.refused_start = ""
        try:
            self._add(moves.first(), 0)
        except RuledOut as refused:
            self.refused_start = str(refused)

    @property
    def gave_up(self) -> bool:
        """True if too many states were tried."""
        return self.found is None and self.states >= self.most_states

    @property
    def best(self) -> Attempt | None:
        """The attempt that explains everything, or one that explains as much as any."""
        return self.found if self.found is not None else self._furthest

    def run(self) -> None:
        """Go on until everything is explained, nothing is left to be tried, or a tree is missing (`waits_for`)."""
        self.waits_for = None
        for attempt in self._waiting:
            self._push(attempt, attempt.cost)
        self._waiting = []
        observations = self.moves.record.observations
        while self._queue and self.states < self.most_states:
            _, cost, _, attempt, move = heappop(self._queue)
            if attempt.at == len(observations):
                self.found = attempt
                return
            try:
                if move is None:
                    self.states += 1
                    self._go_on(attempt, observations[attempt.at])
                else:
                    self._take(attempt, move, cost)
            except WaitsForTree as waits:
                self.waits_for = waits.packet
                self._waiting.append(attempt)
                return

    def _go_on(self, attempt: Attempt, goal: Observation) -> None:
        """Take the moves that lead straight on, and put the others off until those have got nowhere."""
        if self._furthest is None or attempt.at > self._furthest.at:
            self._furthest = attempt
        for cost, move in self.moves.all(attempt, goal):
            if cost <= NEAR:
                self._take(attempt, move, attempt.cost + cost)
            else:
                self._push(attempt, attempt.cost + cost, move)

    def _take(self, attempt: Attempt, move: Move, cost: int) -> None:
        try:
            self._add(move(), cost)
        except RuledOut as refused:
            guards = self._guards.setdefault(attempt.at, {})
            if len(guards) < MOST_GUARDS:
                guards[str(refused)] = None

    def _add(self, attempt: Attempt, cost: int) -> None:
        observations = self.moves.record.observations
        at = attempt.at
        while attempt.at < len(observations) and self.moves.explains(attempt, observations[attempt.at]):
            pass
        before = attempt.before.at if attempt.before is not None else -1
        attempt.cost = cost if before == attempt.at and at == before else 0
        bucket = self._seen.setdefault(attempt.bucket(), [])
        if any(attempt.same(other) for other in bucket):
            return
        bucket.append(attempt)
        self._push(attempt, attempt.cost)

    def _push(self, attempt: Attempt, cost: int, move: Move | None = None) -> None:
        self._added += 1
        heappush(self._queue, (-attempt.at, cost, -self._added, attempt, move))

    def stuck(self) -> Stuck:
        """Return where every attempt ended. Only if `found` is None, and at least one state was tried."""
        attempt = self._furthest
        assert attempt is not None, "a state was tried"
        goal = self.moves.record.observations[attempt.at]
        guards, earlier = (tuple(self._guards.get(at, ())) for at in (attempt.at, attempt.at - 1))
        return Stuck(goal, attempt, guards or tuple(self.moves.not_yet(attempt, goal)), earlier)

"""The search by Hypothesis: a `RuleBasedStateMachine` whose rules choose, and the simulator does the rest.

No rule runs the protocol on its own: a rule picks one choice of the schedule's vocabulary, fine or coarse. How
Hypothesis is used here has reasons:

- A seed has to mean the same run, whether CI is set or not, and whatever other modules are loaded. So `derandomize`
  and `database` are set here, whatever profile is active. And Hypothesis mixes constants of the user's modules into
  integers that it draws, but none below 100: every draw here is below that, and the choice of a rule is drawn here
  too, because Hypothesis' own draws from a wider range.
- Reducing a failing run is left to `minimise`: dropping choices from a schedule gives a schedule, which the byte
  sequence behind an example knows nothing of. So Hypothesis' own shrinking, which may take five minutes, is off.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from msgspec import Struct

from invariants import Invariant, select
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.quorums import Quorums
from zabcheck.protocols.switches import Switches
from zabcheck.search.run import Run
from zabcheck.simulation.schedule import (
    Bridge,
    Choice,
    Corrupt,
    Crash,
    Cut,
    Drain,
    Elect,
    Flap,
    Heal,
    Hold,
    Lead,
    Mend,
    Mute,
    Notice,
    Pause,
    PowerLoss,
    Receive,
    Recover,
    Request,
    Reset,
    Ring,
    Settle,
    Sever,
    Snapshot,
    Split,
    Stabilise,
    Stall,
    Sync,
    Timeout,
    Wake,
)
from zabcheck.simulation.stabilise import least

T = TypeVar("T")

STEPS_A_CHOICE = 4
"""How many steps a choice takes on average, coarse ones included: it relates the length of a run to its choices."""

WEIGHTS = {
    "follow": 9,
    "lead": 5,
    "drain": 8,
    "receive": 7,
    "sync": 4,
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
"""How often each rule is tried, relative to the others; of those that a run has, the sum is below 100. A rule that is
not possible gives way to the next one that is: so a request, where nobody may broadcast, to `settle`, and that, where
nothing waits, to a change of leader. What repairs stands together: whatever is wrong, if only one thing is, its repair
is likely."""

OPTIONAL = ("notice", "timeout", "crash", "corrupt", "power_loss", "cut", "sever", "split", "reset")
"""The rules that a run may do without: each run draws which of them it has (swarm testing, Groce et al. 2012)."""

SELDOM = ("mute", "stall", "hold", "flap", "pause", "bridge", "ring")
"""The rules of which a run has one or two. With half of them something would always be in the way of messages, and
what a crash and a cut are enough for would be found later."""


class PropertyBroken(Exception):
    """A run broke a property; `choices` are the fine choices that it executed, `switches` those that it had."""

    def __init__(self, property_: str, run: Run) -> None:
        super().__init__(property_)
        self.property = property_
        self.choices = tuple(run.simulator.executed)
        self.switches = run.simulator.switches


class Search(Struct, frozen=True):
    """What to search, and how far.

    `runs` runs of up to `steps` steps each. `on_run` is called with each run when it ends. `rng` is the seed; None
    leaves it to Hypothesis, that is to `pytest --hypothesis-seed`, or to chance. Each run draws its switches, but for
    those in `fixed`.
    """

    protocol: Protocol
    processes: int = 3
    properties: tuple[str, ...] | None = None
    runs: int = 5000
    steps: int = 200
    rng: int | None = None
    on_run: Callable[[Run], None] = lambda _: None
    quorums: Quorums | None = None
    fixed: Mapping[str, Any] = {}


class Machine(RuleBasedStateMachine):
    """A run that Hypothesis drives. `machine_class` makes the class for one `Search`."""

    search: Search
    kinds: Sequence[type[Invariant]]

    def __init__(self) -> None:
        super().__init__()
        # In Hypothesis the strategy for rules is private; see the docstring of the module for why it is replaced, and
        # tests/search/test_machine.py for the test that notices if that stops working.
        assert hasattr(self, "_rules_strategy"), "this version of Hypothesis chooses rules in another way"
        self._rules_strategy: Any = _choose_rule(self)
        self.run: Run
        self.enabled: list[Any] | None = None  # each rule as often as it weighs
        self.rest: Any = None
        self.last: Any = None
        self.left = choices_a_run(self.search)

    def begin(self, switches: Switches) -> None:
        search = self.search
        self.run = Run(search.protocol, search.processes, self.kinds, quorums=search.quorums, switches=switches)
        self.ids = self.run.simulator.ids

    def choose(self, choice: Choice) -> None:
        """Execute `choice`; the end of the run if it broke a property."""
        self.run.execute(choice)
        if self.run.broken is not None:
            self.search.on_run(self.run)
            raise PropertyBroken(self.run.broken, self.run)

    def teardown(self) -> None:
        if self.run.broken is not None or self.left:
            return  # counted already, or cut off by Hypothesis
        self.search.on_run(self.run)
        # Integrity and convergence are settled only by the end of the run.
        for verdict in self.run.judge.finish():
            if verdict.status == "violated":
                raise PropertyBroken(verdict.property, self.run)

    @property
    def over(self) -> bool:
        return self.run.simulator.steps >= self.search.steps


@st.composite
def _choose_rule(draw: Callable[[st.SearchStrategy[Any]], Any], machine: Machine) -> tuple[Any, dict[str, Any]]:
    """A rule by weight, and its arguments; instead of one whose precondition fails, the next one that is possible.

    Whatever the state, the same number of integers is drawn from the same ranges. So an example that Hypothesis
    varies, by copying a part of it elsewhere, stays meaningful from there on.
    """
    if machine.enabled is None:
        machine.begin(_draw_switches(draw, machine.search.fixed))
        left_out = [name for name in OPTIONAL if draw(st.booleans())]
        drawn = draw(_SELDOM), draw(_SELDOM)
        left_out += [name for name in SELDOM if name not in drawn]
        rules = {each.function.__name__: each for each in machine.rules}
        machine.rest, machine.last = rules["rest"], rules["stabilise"]
        left = {name: weight for name, weight in WEIGHTS.items() if name not in left_out}
        machine.enabled = [rules[name] for name, weight in left.items() for _ in range(weight)]
    machine.left -= 1
    number = draw(_NUMBER) % len(machine.enabled)
    arguments = {"pick": draw(_PICK)}
    if not machine.left:
        return machine.last, arguments
    if machine.over:
        return machine.rest, arguments
    for chosen in machine.enabled[number:] + machine.enabled[:number]:
        if all(condition(machine) for condition in chosen.preconditions):
            return chosen, arguments
    raise AssertionError("some rules have no precondition")


SWITCHES: Mapping[str, Sequence[tuple[int, Any]]] = {
    "histories": ((40, "missing"),),
    "sync": ((15, "atomic"),),
    "elections": ((15, "together"),),
    "application": ((40, "key-value"),),
    "counter_limit": ((3, 1), (3, 2), (4, 3)),
}
"""How many runs of a hundred have a switch set to something else than the letter of the paper says."""


def _draw_switches(draw: Callable[[st.SearchStrategy[Any]], Any], fixed: Mapping[str, Any]) -> Switches:
    """One draw a switch, fixed or not, so that fixing one leaves the others as they are."""
    drawn: dict[str, Any] = {}
    for switch, shares in SWITCHES.items():
        number = draw(_PICK)
        for share, value in shares:
            if 0 <= number < share:
                drawn[switch] = value
            number -= share
    return msgspec.convert({**drawn, **fixed}, Switches)


_SELDOM = st.sampled_from(SELDOM)  # of integers Hypothesis likes the ends best
_MOST = sum(WEIGHTS.values()) - sum(sorted(WEIGHTS[name] for name in SELDOM)[:-2])
"""The highest sum of the weights that a run can have."""
assert _MOST < 100
_NUMBER = st.integers(0, _MOST - 1)
_PICK = st.integers(0, 99)
_ROUNDS = (1, 2, 3, 4, 4, 4)
"""How long to settle: never long enough to take a leader that was just named through two phases."""
_KEPT = (0, 0, 0, 1, 2, 3, 5)
"""How many of its unsynced writes a crash leaves; there is seldom more than one."""
_any = rule(pick=_PICK)
"""Every rule takes one draw, and finds all that it needs in it: a draw costs more than the step that it decides."""


class Rules(Machine):
    """The rules. Each executes one choice."""

    @precondition(lambda self: self.run.simulator.waiting() or self.unsynced())
    @_any
    def settle(self, pick: int) -> None:
        self.choose(Settle(_one(_ROUNDS, pick), sync=pick // len(_ROUNDS) % 3 != 0))

    @precondition(lambda self: self.primaries())
    @_any
    def request(self, pick: int) -> None:
        self.choose(Request(_one(self.primaries(), pick)))

    @precondition(lambda self: not self.together and self.leaders() and len(self.leaders()) < len(self.ids))
    @_any
    def follow(self, pick: int) -> None:
        """An oracle changes its mind: to another leader than before, if there is one."""
        leaders, following = self.leaders(), self.run.simulator.following
        follower = _one([process for process in self.ids if process not in leaders], pick)
        others = [leader for leader in leaders if leader != following[follower]]
        self.choose(Elect(follower, _one(others or leaders, pick // len(self.ids))))

    @_any
    def lead(self, pick: int) -> None:
        leader = _one(self.ids, pick)
        self.choose(Lead(leader, self.some_but(leader, pick // len(self.ids))))

    @precondition(lambda self: self.run.simulator.waiting())
    @_any
    def drain(self, pick: int) -> None:
        process, sender, _ = _one(self.run.simulator.waiting(), pick)
        self.choose(Drain(process, sender))

    @precondition(lambda self: self.run.simulator.waiting())
    @_any
    def receive(self, pick: int) -> None:
        process, sender, _ = _one(self.run.simulator.waiting(), pick)
        self.choose(Receive(process, sender))

    @precondition(lambda self: self.unsynced())
    @_any
    def sync(self, pick: int) -> None:
        self.choose(Sync(_one(self.unsynced(), pick)))

    @precondition(lambda self: self.run.simulator.closed())
    @_any
    def notice(self, pick: int) -> None:
        self.choose(Notice(*_one(self.run.simulator.closed(), pick)))

    @precondition(lambda self: self.down())
    @_any
    def recover(self, pick: int) -> None:
        self.choose(Recover(_one(self.down(), pick)))

    @precondition(lambda self: self.run.simulator.paused)
    @_any
    def wake(self, pick: int) -> None:
        paused = self.run.simulator.paused
        self.choose(Wake(_one([process for process in self.ids if process in paused], pick)))

    @precondition(lambda self: self.run.simulator.obstructed())
    @_any
    def heal(self, pick: int) -> None:
        self.choose(Heal())

    @precondition(lambda self: self.run.simulator.obstructed())
    @_any
    def mend(self, pick: int) -> None:
        self.choose(Mend(*_one(self.run.simulator.obstructed(), pick)))

    @precondition(lambda self: not self.together)
    @_any
    def elect(self, pick: int) -> None:
        self.choose(Elect(*self.two(pick)))

    @_any
    def timeout(self, pick: int) -> None:
        self.choose(Timeout(_one(self.ids, pick)))

    @_any
    def crash(self, pick: int) -> None:
        # Half of the crashes hit a process that has something to lose, if there is one.
        candidates = (pick % 2 and self.unsynced()) or self.ids
        self.choose(Crash(_one(candidates, pick // 2), _one(_KEPT, pick // 2 // len(candidates))))

    @precondition(lambda self: self.written())
    @_any
    def corrupt(self, pick: int) -> None:
        process, records = _one(self.written(), pick)
        self.choose(Corrupt(process, pick // len(self.written()) % records))

    @_any
    def power_loss(self, pick: int) -> None:
        self.choose(PowerLoss(_one(_KEPT, pick)))

    @_any
    def cut(self, pick: int) -> None:
        self.choose(Cut(*self.two(pick)))

    @_any
    def sever(self, pick: int) -> None:
        self.choose(Sever(*self.two(pick)))

    @_any
    def split(self, pick: int) -> None:
        self.choose(Split(self.some_but(len(self.ids), pick)))

    @_any
    def mute(self, pick: int) -> None:
        self.choose(Mute(self.some_but(0, pick)))

    @precondition(lambda self: self.run.simulator.connections)
    @_any
    def stall(self, pick: int) -> None:
        self.choose(Stall(*_one(self.links(), pick)))

    @precondition(lambda self: self.run.simulator.connections and self.search.protocol.kinds)
    @_any
    def hold(self, pick: int) -> None:
        kinds = tuple(self.search.protocol.kinds.values())
        self.choose(Hold(*_one(self.links(), pick), _one(kinds, pick * _SPREAD >> 16)))

    @_any
    def flap(self, pick: int) -> None:
        self.choose(Flap(*self.two(pick), 1 + pick % 2))

    @precondition(lambda self: self.awake())
    @_any
    def pause(self, pick: int) -> None:
        self.choose(Pause(_one(self.awake(), pick)))

    @precondition(lambda self: len(self.ids) > 3)
    @_any
    def bridge(self, pick: int) -> None:
        """With three processes it is `sever`."""
        process = _one(self.ids, pick)
        self.choose(Bridge(process, self.some_but(process, pick // len(self.ids))))

    @precondition(lambda self: len(self.ids) > 3)
    @_any
    def ring(self, pick: int) -> None:
        """Three processes are one already."""
        self.choose(Ring())

    @_any
    def reset(self, pick: int) -> None:
        self.choose(Reset(*self.two(pick)))

    @_any
    def snapshot(self, pick: int) -> None:
        # A log that was cut at a leader makes others need its snapshot.
        candidates = (pick % 2 and self.leaders()) or self.ids
        self.choose(Snapshot(_one(candidates, pick // 2), cut=pick // 2 // len(candidates) % 3 != 0))

    @_any
    def stabilise(self, pick: int) -> None:
        """Every run ends with it: from whatever state it has reached, the protocol has to get going again."""
        simulator = self.run.simulator
        able = [process for process in self.ids if not simulator.halted[process]]
        if able:
            leader = _one(able, pick)
            first = pick // len(able) % len(able)
            quorum = least(simulator.quorums, leader, able[first:] + able[:first])
            if quorum is not None:
                self.choose(Stabilise(leader, quorum))

    @_any
    def rest(self, pick: int) -> None:
        """The run has had its steps."""

    # What the rules choose from.

    @property
    def together(self) -> bool:
        """Whether an election is one choice."""
        return self.run.simulator.switches.elections == "together"

    def leaders(self) -> list[int]:
        """The processes that lead, as far as they know."""
        following = self.run.simulator.following
        return [process for process in self.ids if following[process] == process]

    def primaries(self) -> list[int]:
        """The processes that can broadcast."""
        states, can_broadcast = self.run.simulator.states, self.search.protocol.can_broadcast
        return [process for process in self.awake() if can_broadcast(states[process])]

    def down(self) -> list[int]:
        simulator = self.run.simulator
        return [process for process in self.ids if not simulator.is_up(process) and not simulator.halted[process]]

    def awake(self) -> list[int]:
        """The processes that are up and not paused."""
        states, paused = self.run.simulator.states, self.run.simulator.paused
        return [process for process in self.ids if states[process] is not None and process not in paused]

    def unsynced(self) -> list[int]:
        disks, paused = self.run.simulator.disks, self.run.simulator.paused
        return [process for process in self.ids if disks[process].unsynced and process not in paused]

    def links(self) -> list[tuple[int, int]]:
        """Both directions of each connection."""
        return [link for pair in self.run.simulator.connections for link in (pair, pair[::-1])]

    def written(self) -> list[tuple[int, int]]:
        """The processes with a record on their disks, and how many they have."""
        found = [(process, self.run.simulator.disks[process].records) for process in self.ids]
        return [(process, records) for process, records in found if records > 0]

    def two(self, pick: int) -> tuple[int, int]:
        return _one(self.ids, pick), _one(self.ids, pick // len(self.ids))

    def some_but(self, one: int, pick: int) -> tuple[int, ...]:
        """A subset of the processes without `one`, which may be empty."""
        others = [process for process in self.ids if process != one]
        if len(others) > _PLAIN_BITS:
            pick *= _SPREAD
        return tuple(process for index, process in enumerate(others) if pick >> index & 1)


_PLAIN_BITS = 5
_SPREAD = 2654435761
"""Spreads the few bits of a draw over many processes (Knuth's multiplicative hashing)."""


def _one(items: Sequence[T], pick: int) -> T:
    return items[pick % len(items)]


def machine_class(search: Search) -> type[Machine]:
    """The machine for this search."""

    class Bound(Rules):
        pass

    Bound.search = search
    Bound.kinds = select(search.properties)
    return seed(search.rng)(Bound) if search.rng is not None else Bound


def choices_a_run(search: Search) -> int:
    """How many choices Hypothesis makes in a run."""
    return max(1, search.steps // STEPS_A_CHOICE)


def hypothesis_settings(search: Search) -> settings:
    """The same on every machine: nothing of the profile that is active is left to chance."""
    return settings(
        max_examples=search.runs,
        stateful_step_count=choices_a_run(search),
        derandomize=False,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        backend="hypothesis",
    )


def find(search: Search) -> PropertyBroken | None:
    """Let Hypothesis search; the first run that broke a property, or None."""
    return find_with(machine_class(search), hypothesis_settings(search))


def find_with(machine: type[Machine], chosen: settings) -> PropertyBroken | None:
    """`find` with settings of one's own."""
    try:
        # Without a least number of steps, the variations that Hypothesis makes of earlier examples end half of the runs
        # after a few choices.
        run_state_machine_as_test(machine, settings=chosen, _min_steps=chosen.stateful_step_count)
    except PropertyBroken as broken:
        return broken
    return None

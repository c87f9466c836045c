"""The search by Hypothesis: a `RuleBasedStateMachine` whose rules choose, and the simulator does the rest.

No rule runs the protocol on its own: a rule picks one choice of the schedule's vocabulary, fine or coarse. The use
of Hypothesis has reasons:

- A seed has to mean the same run, with CI set or not, and whatever other modules are loaded. So `derandomize`
  and `database` are set here, whatever profile is active. And Hypothesis mixes constants of the user's modules into
  integers that it draws, but none below 100: every draw here is below that, and the choice of a rule is drawn here
  too, because Hypothesis' own draws from a wider range.
- If a protocol has `Environment.rejoins`, most runs are those of `rejoining`: a rule makes the next few
  choices of such a run, and their draws come from a seed that Hypothesis draws.
- Reducing a failing run is left to `minimise`: dropping choices from a schedule gives a schedule, which the byte
  sequence behind an example cannot express. So Hypothesis' own shrinking, which may take five minutes, is off.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from random import Random
from secrets import randbelow
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, Verbosity, core, seed, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.errors import FlakyFailure
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from zabcheck.invariants import Invariant, select
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import StepRaised
from zabcheck.protocols.switches import Switches
from zabcheck.search.moves import MOVES, Moves, draw_switches, first_configuration, weights_for
from zabcheck.search.rejoining import Rejoining
from zabcheck.search.run import DEFAULT_PROCESSES, PropertyBroken, ProtocolRaised, Run, RunFailed, Search
from zabcheck.search.settings import SETTINGS
from zabcheck.simulation.choices import Choice


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
        self.moves: Moves
        self.ring: list[Any] = []  # the rules that the run has, and the same again
        self.table: list[int] = []  # the place of each in it, repeated by its weight
        self.rest: Any = None
        self.last: Any = None
        self.rejoining: Rejoining | None = None  # the source of the run's choices, if that is not the rules of moves
        self.rejoin: Any = None
        self.choices: Iterator[Choice] = iter(())  # of `rejoining`
        self.left = choices_a_run(self.search)
        self.raised = False

    def begin(self, switches: Switches, drawn: Quorums | None = None) -> None:
        search = self.search
        quorums = search.quorums or drawn or Quorums(search.processes or DEFAULT_PROCESSES)
        try:
            self.run = Run(search.protocol, quorums.size, self.kinds, quorums=quorums, switches=switches)
        except StepRaised as raised:
            self.raised = True
            raise ProtocolRaised(raised, search.protocol, (), switches, quorums) from raised
        self.moves = Moves(self.run.simulator)

    def choose(self, choice: Choice) -> None:
        """Execute `choice`. PropertyBroken or ProtocolRaised end the run if a property breaks or a step raises."""
        try:
            self.run.execute(choice)
        except StepRaised as raised:
            self.raised = True
            simulator = self.run.simulator
            raise ProtocolRaised(
                raised, simulator.protocol, simulator.executed, simulator.switches, simulator.quorums
            ) from raised
        if self.run.broken is not None:
            self.search.on_run(self.run)
            raise PropertyBroken(self.run.broken, self.run)

    def teardown(self) -> None:
        if self.raised or self.run.broken is not None or self.left:
            return  # counted already, or cut off by the protocol or by Hypothesis
        self.search.on_run(self.run)
        # Only the end of the run settles integrity and convergence.
        for verdict in self.run.judge.finish():
            if verdict.status == "violated":
                raise PropertyBroken(verdict.property, self.run)

    @property
    def over(self) -> bool:
        return self.run.simulator.steps >= self.search.most_steps


@st.composite
def _choose_rule(draw: Callable[[st.SearchStrategy[Any]], Any], machine: Machine) -> tuple[Any, dict[str, Any]]:
    """Draw a rule by weight, and its arguments; if the rule is not possible now, take the next one that is.

    Whatever the state, the same number of integers is drawn from the same ranges. So an example that Hypothesis
    varies, by copying a part of it elsewhere, stays meaningful from there on.
    """
    if not machine.ring:
        drawn = draw_switches(lambda: draw(_PICK), machine.search.protocol)
        configuration = None
        if machine.search.protocol.environment.configurations:
            configuration = first_configuration(machine.search.processes or DEFAULT_PROCESSES, draw(_CONFIGURATIONS))
        switches = msgspec.convert({**drawn, **machine.search.fixed}, machine.search.protocol.switches)
        machine.begin(switches, configuration)
        if rejoins := machine.search.protocol.environment.rejoins:
            share, habits = draw(_PICK), draw(_PICK)
            if share < rejoins:
                machine.rejoining = Rejoining(machine.moves, Random(habits).random)
                machine.choices = machine.rejoining.choices()
        left_out = [name for name in SETTINGS.optional if draw(st.booleans())]
        seldom = draw(_SELDOM), draw(_SELDOM)
        left_out += [name for name in SETTINGS.seldom if name not in seldom]
        rules = {each.function.__name__: each for each in machine.rules}
        machine.rest, machine.last, machine.rejoin = rules["rest"], rules["end"], rules["rejoin"]
        weights = weights_for(machine.search.protocol, switches)
        left = {name: weight for name, weight in weights.items() if name not in left_out}
        machine.ring = [rules[name] for name in left] * 2
        machine.table = [place for place, weight in enumerate(left.values()) for _ in range(weight)]
    machine.left -= 1
    number = draw(_NUMBER)
    arguments = {"pick": draw(_PICK)}
    if not machine.left:
        return machine.last, arguments
    if machine.over:
        return machine.rest, arguments
    if machine.rejoining is not None:
        return machine.rejoin, {"pick": number * 100 + arguments["pick"]}
    for chosen in machine.ring[machine.table[number % len(machine.table)] :]:
        if MOVES[chosen.function.__name__](machine.moves, arguments["pick"]) is not None:
            return chosen, arguments
    raise AssertionError("some moves are always possible")


_WEIGHTS, _OTHERS = SETTINGS.weights, SETTINGS.weights_without_order
_SELDOM = st.sampled_from(SETTINGS.seldom)  # of integers Hypothesis likes the ends best
_MOST = sum(_WEIGHTS.values()) - sum(sorted(_WEIGHTS[name] for name in SETTINGS.seldom)[:-2])
"""The highest sum of the weights that a run can have."""
assert _MOST < 100
assert sum(_OTHERS.values()) == sum(_WEIGHTS[name] for name in _OTHERS)
_NUMBER = st.integers(0, _MOST - 1)
_PICK = st.integers(0, 99)
_CONFIGURATIONS = st.integers(0, 3**8 - 1)


class Rules(Machine):
    """The rules: one for each move, one for the rest of a run that has had its steps, and one for its end."""

    @rule(pick=_PICK)
    def rest(self, pick: int) -> None:
        """Do nothing."""

    @rule(pick=_PICK)
    def rejoin(self, pick: int) -> None:
        """Make the next choices of a run in which processes fall behind and come back; some may not be enabled."""
        if self.rejoining is not None:  # otherwise there are no such choices
            self.rejoining.random = Random(pick).random
        for choice in islice(self.choices, SETTINGS.steps_a_choice):
            self.choose(choice)

    @rule(pick=_PICK)
    def end(self, pick: int) -> None:
        """End the run with calm."""
        for choice in self.moves.end(pick):
            self.choose(choice)


def _rule(name: str) -> Any:
    """Make the rule that executes the move of this name, if it is possible."""

    def move(self: Rules, pick: int) -> None:
        choice = getattr(self.moves, name)(pick)
        if choice is not None:
            self.choose(choice)

    move.__name__ = name
    return rule(pick=_PICK)(move)


for _name in MOVES:
    setattr(Rules, _name, _rule(_name))


def machine_class(search: Search) -> type[Machine]:
    """Make the class of the machine for this search."""

    class Bound(Rules):
        pass

    Bound.search = search
    Bound.kinds = select(search.properties)
    return seed(search.rng)(Bound) if search.rng is not None else Bound


def choices_a_run(search: Search) -> int:
    """Return how many choices Hypothesis makes in a run."""
    return max(1, search.most_steps // SETTINGS.steps_a_choice)


def hypothesis_settings(search: Search) -> settings:
    """Return settings that are the same on every computer, whatever profile of Hypothesis is active."""
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
    """Let Hypothesis search; return the first run that broke a property, or None.

    ProtocolRaised if the protocol's code raised. Nothing is written: Hypothesis would leave a folder `.hypothesis`.
    """
    set_hypothesis_home_dir(os.devnull)
    try:
        return find_with(machine_class(search), hypothesis_settings(search))
    finally:
        set_hypothesis_home_dir(None)


def find_with(machine: type[Machine], chosen: settings) -> PropertyBroken | None:
    """Search as `find` does, with other settings.

    If Hypothesis runs under `--hypothesis-seed` that is the seed, unless the search has one of its own.
    """
    try:
        # Without a least number of steps, the variations that Hypothesis makes of earlier examples end half of the runs
        # after a few choices.
        run_state_machine_as_test(machine, settings=chosen, _min_steps=chosen.stateful_step_count)
    except PropertyBroken as broken:
        return broken
    except FlakyFailure as flaky:
        # Hypothesis executes a failing run once more, and that had another outcome. Executing the schedule of the first
        # run shows which part of the protocol is not deterministic.
        [failed, *_] = [each for each in flaky.exceptions if isinstance(each, RunFailed)]
        if isinstance(failed, PropertyBroken):
            return failed
        raise failed from None
    return None


# A test suite's memory of earlier runs.


class Memory:
    """The failing schedules of one test, in Hypothesis' database: that of the active profile, which may have none.

    It is not used under `--hypothesis-seed`, as in other tests: such a run searches by that seed alone.
    """

    def __init__(self, search: Search) -> None:
        known = (search.protocol.name, search.protocol.mutant, search.processes, search.properties, search.fixed)
        quorums = None if search.quorums is None else search.quorums.name
        self.key = b"zabcheck " + sha256(msgspec.json.encode((known, quorums))).digest()
        self.database = settings().database if core.global_force_seed is None else None

    def schedules(self) -> list[tuple[int, bytes]]:
        """Return the kept schedules in their JSON form, each with the seed that found it."""
        found = sorted(self.database.fetch(self.key)) if self.database is not None else []
        split = [(data, *data.partition(b"\n")) for data in found]
        for data, number, _, _ in split:
            if not number.isdigit():
                self._forget(data)
        return [(int(number), schedule) for _, number, _, schedule in split if number.isdigit()]

    def keep(self, number: int | str, schedule: bytes) -> bool:
        """Keep a schedule, and the seed that found it. Return True if there is a database for it."""
        if self.database is None:
            return False
        self.database.save(self.key, f"{number}\n".encode() + schedule)
        return True

    def forget(self, number: int, schedule: bytes) -> None:
        self._forget(b"%d\n%b" % (number, schedule))

    def _forget(self, data: bytes) -> None:
        if self.database is not None:
            self.database.delete(self.key, data)


def seeded(machine: type[Machine]) -> int | str:
    """Have `machine` search with the seed of `--hypothesis-seed`, or with a new one; return the seed."""
    if core.global_force_seed is not None:
        return core.global_force_seed
    drawn = randbelow(2**32)
    seed(drawn)(machine)
    return drawn

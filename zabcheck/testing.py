"""Check Zab, or a protocol of your own, in a test suite.

    import zabcheck

    TestZab = zabcheck.machine_for("zab").TestCase
    TestMine = zabcheck.machine_for(MyProcess).TestCase    # a subclass of zabcheck.Process

    def test_a_bug_that_there_was() -> None:
        zabcheck.assert_schedule(Path("bug.schedule.json"))

`pytest --hypothesis-seed=N` searches the same runs again. When a property breaks, the test fails with zabcheck's own
report; the schedule is saved, and `zabcheck replay` executes it again. When the protocol's own code raises, that is an
error of the test, reported in the same way. `zabcheck.pytest_plugin` decides what pytest shows of it.

A schedule that failed is kept in Hypothesis' database, as its users are used to, and tried before the next search,
until it fails no more. (Hypothesis keeps what it drew; a schedule means the same run also when the rules change.) No
database is used with `--hypothesis-seed`, nor where the profile has none, as that of Hypothesis for CI.
"""

import json
import unittest
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from shlex import quote
from types import EllipsisType
from typing import Any, ClassVar, NoReturn, TypeVar

from msgspec.structs import replace

from zabcheck.counterexample.explain import explain_replay
from zabcheck.counterexample.forms.terminal import to_text
from zabcheck.counterexample.making import counterexample
from zabcheck.counterexample.saving import save
from zabcheck.counterexample.story import Story
from zabcheck.counterexamples import NotExercised as NotExercised
from zabcheck.counterexamples import protocol_of, question_of, raise_unexercised
from zabcheck.invariants.quorums import MAJORITY
from zabcheck.mutants.catalogue import mutated, planted
from zabcheck.protocols.adapter import find
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.own import Process
from zabcheck.search.machine import Machine, Memory, find_with, hypothesis_settings, machine_class, seeded
from zabcheck.search.run import PropertyBroken, ProtocolRaised, Replay, Search, replay_on
from zabcheck.search.tally import Tally
from zabcheck.simulation import schedule as schedules
from zabcheck.text.nodes import untrusted

_T = TypeVar("_T")

REPORT_WIDTH = 100
DEFAULT_OUT = Path("reports")


class Found(Exception):
    """Base of the exceptions of a failing test: with the report, and the files that were written.

    `schedule` is the file of the schedule, if it is in one; `again` are lines that say how to run the test again.
    """

    def __init__(
        self, story: Story, schedule: Path | None, files: Sequence[Path] = (), again: Sequence[str] = ()
    ) -> None:
        report = to_text(story, REPORT_WIDTH, file="" if schedule is None else quote(str(schedule)))
        report += "".join(f"{line}\n" for line in again)
        super().__init__("\n".join([report, *(f"wrote {file}" for file in files)]))
        self.zabcheck_report = str(self)
        self.zabcheck_files = [str(file) for file in files]


class NotDeterministic(Exception):
    """The protocol does something else each time: an error of the test. No run can be shown."""

    def __init__(self, report: str) -> None:
        super().__init__(report)
        self.zabcheck_report = report


class Broken(Found, AssertionError):
    """A property is violated, or the code that is modelled has an error: a failure of the test."""


class Raised(Found):
    """The protocol's own code raised: an error of the test."""


def machine_for(
    protocol: str | type[Process] | Protocol | None = None,
    *,
    exec: str | None = None,
    mutant: str | None = None,
    processes: int = 3,
    properties: str | Sequence[str] | None = None,
    runs: int = 500,
    steps: int = 200,
    quorums: str = MAJORITY,
    switches: Mapping[str, object] | None = None,
    out: str | Path | None = None,
) -> type[Machine]:
    """Return a Hypothesis `RuleBasedStateMachine` that searches `protocol`; its `TestCase` is for unittest and pytest.

    `protocol` is the name of one, as `zabcheck list` tells them or "module:Class", a subclass of `zabcheck.Process`, or
    a `zabcheck.protocols.base.Protocol`. In its place `exec` is the command that starts a node of it, written in any
    language: docs/any-language.md.
    At least `runs` runs of up to about `steps` steps, judged by `properties`: names of properties or of groups of them,
    a single one or several. None: all, or what holds for any such protocol if it is one of your own, that is the groups
    `core` and `causality`, and zxid uniqueness.
    `quorums` names the quorum system: "majority", "weights 3,1,1", "sets 1+2,2+3,1+3" or "config 1,2,3".
    `switches` fixes some of those that each run would draw, as in `{"sync": "atomic", "counter_limit": 3}`.
    A counterexample is written to `out`; None: to what `pytest --zabcheck-out` says, or to `reports`.
    The test fails also if a property was exercised by no run: that is no pass.
    ValueError for a protocol, mutant, property, quorum system or switch that does not exist, a class that is no
    protocol, or a value that is not possible.
    """
    search, tally = question_of(
        protocol_of(protocol, exec), mutant, processes, properties, runs, steps, None, quorums, switches
    )
    machine = machine_class(search)

    class TestCase(_SearchTest):
        settings = hypothesis_settings(search)
        zabcheck_out = out
        question = search
        sums = tally
        searched = machine
        keep = ("quorums", *(switches or ()))

    TestCase.__name__ = f"{search.protocol.name}.TestCase"
    TestCase.__qualname__ = TestCase.__name__
    machine.TestCase = TestCase  # type: ignore[assignment]  # in Hypothesis it is a property that makes such a class
    return machine


class _SearchTest(unittest.TestCase):
    """A test that fails with the counterexample of a search; `machine_for` makes a subclass for each search."""

    settings: ClassVar[Any]
    """A `hypothesis.settings`, which a test suite may replace."""
    zabcheck_out: ClassVar[str | Path | None]
    zabcheck_node: ClassVar[str] = ""  # how pytest is told to run this test; the plugin sets it
    question: ClassVar[Search]
    sums: ClassVar[Tally]
    searched: ClassVar[type[Machine]]
    keep: ClassVar[Sequence[str]]
    """The switches that minimising leaves as they are."""

    def runTest(self) -> None:  # noqa: N802  # the name that unittest calls
        __tracebackhide__ = True
        memory = Memory(self.question)
        self._try_kept(memory)
        drawn = seeded(self.searched)
        found: PropertyBroken | ProtocolRaised | None
        try:
            found = find_with(self.searched, self.settings)
        except ProtocolRaised as raised:
            found = raised
        if found is None:
            raise_unexercised(self.sums)
            return
        replayed, story = _deterministic(partial(counterexample, found, keep=self.keep))
        kept = memory.keep(drawn, schedules.dump(replayed.schedule))
        self._fail(replayed, story, drawn, "in Hypothesis' database; the next run tries it first" if kept else "")

    def _try_kept(self, memory: Memory) -> None:
        """Fail if a schedule that an earlier run kept still fails; forget those that do not."""
        __tracebackhide__ = True
        for number, data in memory.schedules():
            replayed = _still_fails(self.question, data)
            if replayed is None:
                memory.forget(number, data)
                continue
            story = _deterministic(partial(explain_replay, replayed, decisive=True))
            again = "in Hypothesis' database by an earlier run, and tried first; nothing else was tried"
            self._fail(replayed, story, number, again)

    def _fail(self, replayed: Replay, story: Story, number: int | str, kept: str) -> NoReturn:
        __tracebackhide__ = True
        out, again, files = Path(self.zabcheck_out or DEFAULT_OUT), list[str](), list[Path]()
        try:
            files = save(out, replayed, story)
        except OSError as error:
            again.append(f"not saved: {out}: {error.strerror}")
        if self.zabcheck_node:
            again.append(f"again:  pytest --hypothesis-seed={number} {quote(self.zabcheck_node)}")
        if kept:
            again.append(f"kept:   {kept}")
        raise _kind(replayed)(story, files[0] if files else None, files, again)

    runTest.is_hypothesis_test = True  # type: ignore[attr-defined]  # so that --hypothesis-seed is known to apply


def _still_fails(search: Search, data: bytes) -> Replay | None:
    """Execute a schedule that an earlier run kept; None if it fails no more, or means nothing to the protocol."""
    protocol = search.protocol
    try:
        kept = replace(schedules.load(data, "kept"), protocol=protocol.name, mutant=protocol.mutant)
        schedules.check_kinds(kept, tuple(protocol.kinds.values()), data, "kept")
    except ValueError:
        return None
    replayed = replay_on(protocol, kept, search.properties)
    violated = any(verdict.violation is not None for verdict in replayed.verdicts)
    return replayed if violated or replayed.raised is not None else None


def _deterministic(explain: Callable[[], _T]) -> _T:
    """Return what `explain` returns. NotDeterministic if it cannot, because the run does not happen again."""
    __tracebackhide__ = True
    try:
        return explain()
    except ValueError as error:
        raise NotDeterministic(str(error)) from None


def assert_schedule(
    schedule: str | bytes | Path | Mapping[str, Any],
    *,
    protocol: str | type[Process] | Protocol | None = None,
    exec: str | None = None,
    mutant: str | EllipsisType | None = ...,
    properties: str | Sequence[str] | None = None,
) -> None:
    """Execute a schedule, and fail if it breaks a property: a counterexample as a regression test.

    `schedule` is the JSON of one (docs/output.md), as a text, bytes or a dictionary, or a Path to a file of it.
    `protocol` takes the place of the one that the schedule names, or `exec`, a command that starts a node: a class or a
    command has to be named so, the schedule alone imports and starts nothing. `mutant` takes the place of its mutant;
    None stands for the protocol as it is. `properties` are names of properties or of groups. None:
    the one that the schedule says it violates; if it says nothing, what `machine_for` would judge the protocol by.
    (): none, so that all that can fail is the protocol's own code.

    A choice that is not possible when its turn comes is skipped. So the test also passes if the protocol has changed so
    much that the schedule leads it nowhere near the old bug. It says that this run is all right, and no more; whether
    the bug is gone is for a search to say.

    Broken (an AssertionError) with zabcheck's report if a property is violated, or the code that is modelled has an
    error; Raised if the protocol's code raises.
    No file is written. ValueError, in one line, for what is no schedule, and for a protocol, mutant, property or kind
    of message that does not exist; OSError if the file cannot be read. As long as the run takes, in O(events).
    """
    __tracebackhide__ = True
    file = schedule if isinstance(schedule, Path) else None
    data = file.read_bytes() if file is not None else _as_json(schedule)
    where = "schedule" if file is None else str(file)
    # The protocol comes first: it may have switches that only it knows.
    named = None if protocol is None and exec is None else protocol_of(protocol, exec)
    if named is None and untrusted(schedules.protocol_in(data)):
        named = find(schedules.protocol_in(data))
    loaded = schedules.load(data, where)
    named = named or mutated(loaded.protocol)
    judged = planted(named, loaded.mutant if mutant is ... else mutant)
    loaded = replace(loaded, protocol=judged.name, mutant=judged.mutant)
    schedules.check_kinds(loaded, tuple(judged.kinds.values()), data, where)
    if properties is None:
        properties = judged.properties if loaded.violates is None else loaded.violates
    chosen = (properties,) if isinstance(properties, str) else properties
    replayed = replay_on(judged, loaded, chosen)
    if replayed.raised is not None or any(verdict.violation is not None for verdict in replayed.verdicts):
        raise _kind(replayed)(explain_replay(replayed), file)


def _kind(replayed: Replay) -> type[Found]:
    """Return what a run that fails is to a test: an error if it shows a mistake in the protocol's own code."""
    return Raised if replayed.raised is not None and not replayed.raised.is_modelled else Broken


def _as_json(schedule: object) -> bytes:
    if isinstance(schedule, bytes):
        return schedule
    text = schedule if isinstance(schedule, str) else json.dumps(schedule)
    return text.encode(errors="surrogatepass")

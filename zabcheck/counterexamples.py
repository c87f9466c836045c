"""Search for a counterexample from Python, and hold it as an object.

    import zabcheck

    found = zabcheck.search("zab", mutant="no-truncation")
    print(found)                           # the report of `zabcheck run`; rich.print and a notebook show it, too
    found.graph()                          # the PO-causality graph of the witness, a networkx.DiGraph
    found.write("bug.html")                # any form of `zabcheck explain --write`
    found.save("reports")                  # schedule, trace, text and page

The search is the one of `zabcheck run`; the same seed gives the same counterexample. `zabcheck.testing` is the same for
a test suite, driven by Hypothesis.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from zabcheck.counterexample.forms import exports, page, terminal
from zabcheck.counterexample.making import counterexample
from zabcheck.counterexample.saving import save
from zabcheck.counterexample.story import RaisedException, Story
from zabcheck.invariants import Event, Violation, select
from zabcheck.invariants.quorums import MAJORITY, quorums_of
from zabcheck.mutants.catalogue import planted
from zabcheck.protocols.adapter import imported, register
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.external.protocol import external
from zabcheck.protocols.own import Process
from zabcheck.protocols.switch_settings import checked_for
from zabcheck.search.engines import DEFAULT, Engine, find
from zabcheck.search.report.summary import undelivered
from zabcheck.search.run import DEFAULT_PROCESSES, MAX_STEPS, ProtocolRaised, Replay, Search
from zabcheck.search.tally import Tally
from zabcheck.simulation.schedule import Schedule
from zabcheck.text.files import write

if TYPE_CHECKING:
    import networkx as nx
    from rich.console import RenderableType


class NotExercised(AssertionError):
    """A property was exercised by no run, or no follower delivered anything: a failure, but no run is to blame."""

    def __init__(self, report: str) -> None:
        super().__init__(report)
        self.zabcheck_report = report


class Counterexample:
    """A run that breaks a property, as short as it could be made, and its explanation.

    It is shown by `print`, by `rich.print` and in a notebook.
    """

    def __init__(self, replay: Replay, story: Story) -> None:
        self._replay = replay
        self.violation: Violation | None = story.violation
        """The violation with its witness; None if the code that the protocol models has an error."""
        self.property: str | None = None if story.violation is None else story.violation.property
        """The name of the violated property; None if the code that the protocol models has an error."""
        self.raised: RaisedException | None = story.raised
        """The error of the code that the protocol models; None if a property is violated."""
        self.explanation: tuple[str, ...] = story.explanation
        """Sentences that say why the property does not hold."""
        self.schedule: Schedule = replay.schedule
        """The choices that make the run; `zabcheck.assert_schedule` executes them again."""
        self.events: tuple[Event, ...] = tuple(replay.events)
        """The trace, its header and its end included."""
        self.steps: int = replay.steps
        """The length of the run, in steps of the simulator."""
        self.story: Story = story
        """The run as data: each step, each message, who delivered what."""

    def graph(self) -> "nx.DiGraph":
        """Return the PO-causality graph of the witness (DSN 2011, III-B).

        `zabcheck.counterexample.witness_graph` lists the attributes of its nodes and edges.
        ValueError if no property is violated. O(events) for each event of the witness.
        """
        from zabcheck.counterexample.witness_graph import graph_of  # networkx is slow to load

        return graph_of(self.story)

    def html(self) -> str:
        """Return a page that stands alone, to step through the run."""
        return page.page(self.story)

    def write(self, file: str | Path) -> Path:
        """Write one form of the counterexample; the suffix of `file` says which, as for `zabcheck explain --write`.

        ValueError for an unknown suffix or a form that this run does not have, ImportError if a library for the form is
        not installed, OSError if the file cannot be written.
        """
        path = Path(file)
        if path.suffix not in exports.FORMS:
            raise ValueError(f"{path}: expected a file that ends in one of: {', '.join(exports.FORMS)}")
        return write(path, exports.FORMS[path.suffix].make(self.story, "FILE"))

    def save(self, out: str | Path = "reports") -> list[Path]:
        """Write schedule, trace, text and page into the folder `out`; return their paths.

        OSError if the folder cannot be written.
        """
        return save(Path(out), self._replay, self.story)

    def __str__(self) -> str:
        return terminal.to_text(self.story)

    def __repr__(self) -> str:
        broken = "an error of the code" if self.property is None else f"{self.property!r} violated"
        return f"<Counterexample: {broken} by {self.story.protocol} in {self.steps} steps>"

    def __rich__(self) -> "RenderableType":
        return terminal.render(self.story)

    def _repr_html_(self) -> str:
        return page.framed(self.story)


def search(
    protocol: str | type[Process] | Protocol | None = None,
    *,
    exec: str | None = None,
    mutant: str | None = None,
    engine: str = DEFAULT,
    processes: int | None = None,
    properties: str | Sequence[str] | None = None,
    runs: int = 5000,
    steps: int = 200,
    seed: int = 1,
    quorums: str | None = None,
    switches: Mapping[str, object] | None = None,
) -> Counterexample | None:
    """Search for a run that breaks a property, as `zabcheck run` does; None if none was found.

    `protocol` is the name of one (`zabcheck list protocols`, or "module:Class"), a subclass of `zabcheck.Process`, or
    a `zabcheck.protocols.base.Protocol`; zab by default. In its place `exec` is the command that starts a node of it.
    `mutant` names a known bug to plant. `engine` is "swarm" or "hypothesis".
    The search makes at least `runs` runs of up to about `steps` steps, judged by `properties`: names of properties or
    of groups of them; by default all, or for a protocol of your own the groups `core` and `causality` and zxid
    uniqueness. `processes` is their number and `quorums` the quorum system: "majority", "weights 3,1,1" or
    "sets 1+2,2+3,1+3"; each run of the swarm draws one where it is None. `switches` fixes some of those that each run
    would draw, as in `{"sync": "atomic"}`.

    NotExercised if nothing was violated, but a property was exercised by no run. ValueError for a protocol, mutant,
    property, quorum system or switch that does not exist, for a value that is not possible, and if the protocol is not
    deterministic. `zabcheck.search.run.ProtocolRaised` if the protocol's own code raises.
    """
    named = protocol if protocol is not None or exec is not None else "zab"
    if Engine(engine) is Engine.hypothesis or quorums is not None:
        processes, quorums = processes or DEFAULT_PROCESSES, quorums or MAJORITY
    question, tally = question_of(
        protocol_of(named, exec), mutant, processes, properties, runs, steps, seed, quorums, switches
    )
    try:
        found: Any = find(Engine(engine), question)
    except ProtocolRaised as raised:
        if not raised.raised.is_modelled:
            raise
        found = raised
    if found is None:
        raise_unexercised(tally)
        return None
    keep = (*question.fixed, *(["quorums"] if quorums is not None else []))
    return Counterexample(*counterexample(found, keep=keep))


class Question(NamedTuple):
    """A search to make, and the tally that its runs add up in."""

    search: Search
    tally: Tally


def question_of(
    protocol: Protocol,
    mutant: str | None,
    processes: int | None,
    properties: str | Sequence[str] | None,
    runs: int,
    steps: int,
    seed: int | None,
    quorums: str | None,
    switches: Mapping[str, object] | None,
) -> Question:
    """Check the arguments of a search and put it together. ValueError, in one line, for what is not possible."""
    for name, number in (("processes", processes), ("runs", runs), ("steps", steps)):
        if number is not None and number < 1:
            raise ValueError(f"`{name}`: expected 1 or more, found {number}")
    if steps > MAX_STEPS:
        raise ValueError(f"`steps`: expected {MAX_STEPS} or less, found {steps}")
    chosen = (properties,) if isinstance(properties, str) else None if properties is None else tuple(properties)
    if chosen == ():
        raise ValueError("`properties`: expected one or more, or None for all")
    searched = planted(protocol, mutant)
    chosen = chosen or searched.properties
    tally = Tally(select(chosen), followers=properties is None)

    family = None if processes is None or quorums is None else quorums_of(quorums, processes)
    fixed = checked_for(switches or {}, searched)
    return Question(Search(searched, processes, chosen, runs, steps, seed, tally.add, family, fixed), tally)


def raise_unexercised(tally: Tally) -> None:
    """Raise NotExercised if the runs of a search left a property without anything to judge, or nothing delivered."""
    unexercised = [name for name, runs in tally.exercised.items() if not runs]
    if unexercised:
        raise NotExercised(f"exercised by none of {tally.runs} runs: {', '.join(unexercised)}; more `runs` may help")
    if tally.undelivered is not None:
        raise NotExercised(f'{undelivered(tally.undelivered)}; `properties="liveness"` judges that')


def protocol_of(protocol: str | type[Process] | Protocol | None, command: str | None) -> Protocol:
    """Return the protocol that a user of Python means. ValueError for none, or for two."""
    if (protocol is None) == (command is None):
        raise ValueError("expected either a protocol or `exec`, a command that starts a node")
    if command is not None:
        return external(command)
    assert protocol is not None
    return imported(protocol) if isinstance(protocol, str) else register(protocol)

"""A real ensemble's first departure from Zab: the first packet, line of a log or disk that shows it.

As long as each event of a run is an instance of steps of the abstraction that is proved, no property of Zab can break
(docs/proof.md). So the first event that is no instance is where the run goes wrong, often long before a property
breaks. It need not be harmful: ZooKeeper may differ from Zab and lose nothing.
"""

from typing import NamedTuple

from zabcheck.invariants import Broadcast, Event, Violation
from zabcheck.proof.counterexample import show
from zabcheck.proof.monitors import FalseConjunct, Fault, Proof, Refinement, fault_in
from zabcheck.text.words import counted, sentence
from zabcheck.zookeeper.trace.observe import ObservedRun
from zabcheck.zookeeper.verdict.judge import RecordingVerdict

KIND = "no step of Zab"
"""The name in a report."""
MOST_BROADCASTS = 500
"""The number of broadcasts up to which it is computed: with more, its quadratic cost exceeds all other judging."""
FIRST_LINE = 2
"""The line of a trace with its first event; line 1 is the header."""


class Departure(NamedTuple):
    """The first departure of a run from Zab: `fault`, and the number of its event, counted from 0."""

    place: int
    fault: Fault


def first_departure(judged: RecordingVerdict) -> Departure | None:
    """Return the first departure from Zab; None if there is none.

    Also None for a trace with holes or with more than `MOST_BROADCASTS`, and if the user asked for some properties
    only. O(events · transactions).
    """
    observation = judged.observation
    if observation.holes or not judged.clients:
        return None
    if sum(isinstance(event, Broadcast) for event in observation.events) > MOST_BROADCASTS:
        return None
    refined = fault_in(list(observation.trace()), Refinement)
    return None if refined is None else Departure(_place_of(refined.event, observation), refined)


def departure(judged: RecordingVerdict) -> str:
    """Return a text on the first departure from Zab, and how long before a broken property it is; "" if there is none.

    O(events · transactions).
    """
    departed, observation = first_departure(judged), judged.observation
    if departed is None:
        return ""
    first = departed.place
    said = [f"{departed.fault.words()}{_where(first, observation)}"]
    proof = fault_in(list(observation.trace()), Proof)
    if isinstance(proof, FalseConjunct):
        then = _place_of(proof.event, observation)
        later = f"{sentence(proof.event)}{_where(then, observation)}: {_untrue(proof)}"
        said.append(f"so {_untrue(proof)}" if then == first else later)
    broken = {each.property: _place(each.violation, observation) for each in judged.verdicts if each.violation}
    if broken:
        name = min(broken, key=lambda each: broken[each])
        after = broken[name] - first
        when = "before" if after < 0 else f"{counted(after, 'event', 'events')} later" if after else "with it"
        said.append(f"the first property that breaks, {name}, does so {when}")
    return "; ".join(said)


def _untrue(fault: FalseConjunct) -> str:
    """Return as text which sentence of the proof is false, and of what; its quorums are left out."""
    things = [show(it) for it in fault.things.values() if not isinstance(it, frozenset)]
    text = fault.conjunct.text[:1].lower() + fault.conjunct.text[1:].rstrip(".")
    return f"`{fault.conjunct.name}` is false for {', '.join(dict.fromkeys(things))}: {text}"


def _place(violation: Violation, observation: ObservedRun) -> int:
    """Return the number of the event with which a property is broken: the last of all if only the end shows it."""
    if violation.property in (Refinement.name, Proof.name):
        return _place_of(violation.witness[0], observation)
    return len(observation.events) if violation.detected is None else violation.detected


def _place_of(event: Event, observation: ObservedRun) -> int:
    return next(number for number, each in enumerate(observation.events) if each is event)


def _where(place: int, observation: ObservedRun) -> str:
    return f" (line {place + FIRST_LINE}, {observation.sources[place].words()})"

"""A violation explained by what happened in this very run: in a few sentences, each of which states facts of it.

They say who did what, when and in which role; what the property demands of that, and where the paper says so; and what
it means for the processes of this run. They add what a violation's summary leaves out: whether what is missing came
later, how a process lost it, what others did.

Where only the order of each process's own events is known (merged logs), nothing is said of what was earlier at one
process than at another.
"""

from collections.abc import Iterable, Iterator

from zabcheck.counterexample.explanation import configurations, deliveries, end, primaries, protocol
from zabcheck.counterexample.explanation.explained import Explanation
from zabcheck.counterexample.explanation.facts import Facts
from zabcheck.invariants import Event, Violation
from zabcheck.invariants.quorums import MAJORITY
from zabcheck.text.words import cut, sentence

LONGEST_SENTENCE = 240
"""The length in characters at which a sentence of a user's own property is cut."""

EXPLAINED: dict[str, Explanation] = {
    each.property.name: each
    for module in (deliveries, protocol, configurations, primaries, end)
    for each in vars(module).values()
    if isinstance(each, Explanation)
}
"""The explanations that these modules declare with `explains`, by property."""


def explanation(
    violation: Violation,
    events: Iterable[tuple[int, Event]],
    unit: str = "step",
    ordered: bool = True,
    quorums: str = MAJORITY,
) -> tuple[str, ...]:
    """Explain `violation`, which these `events` show, in two to five sentences.

    Each event comes with its place, the number of its step or line (`unit` says which), in order; `ordered` says
    whether that is the order of time, `quorums` is the name of the quorum system. A property that is not in `EXPLAINED`
    gets its own words, and the places of its witness. O(events), a few times over. Texts of users are in it as they
    are: clean it when it is drawn.
    """
    facts = Facts(events, unit, ordered, quorums)
    explained = EXPLAINED.get(violation.property)
    said = (_general if explained is None else explained.sentences)(violation, facts)
    return tuple(f"{each}." for each in _with_lives(facts, said))


def _general(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a property that has no entry: by its own words, and the places of its witness."""
    yield cut(v.summary, LONGEST_SENTENCE).rstrip(".")
    yield cut(f"{v.property} ({v.source}) says: {v.statement}", LONGEST_SENTENCE).rstrip(".")
    where = [f"{cut(sentence(event), 50)}{f.at(event)}" for event in v.witness[:3] if f.find(event) is not None]
    if where:
        yield f"The events that show it: {'; '.join(where)}"


def _with_lives(f: Facts, said: Iterable[str]) -> Iterator[str]:
    """Add to the first mention of each incarnation when it was up."""
    untold = f.by_full_name()
    for each in said:
        for name in [name for name in untold if name in each]:
            life = f.life(*untold.pop(name))
            each = each.replace(name, f"{name[:-1]}, {life})", 1) if life else each
        yield each

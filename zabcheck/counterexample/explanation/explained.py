"""An explanation of a broken property: its sentences, and the edges of the graph that break it."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from zabcheck.counterexample.explanation.edges import Marks
from zabcheck.counterexample.explanation.facts import Facts
from zabcheck.invariants import Invariant, Violation

Explains = Callable[[Violation, Facts], Iterator[str]]


class Explanation(NamedTuple):
    """The explanation of a violation of `property`.

    `sentences` takes the violation and the facts of the trace, and yields one sentence after the other, each without
    its full stop; `edges` yields the marks of its graph.
    """

    property: type[Invariant]
    sentences: Explains
    edges: Marks


def explains(property_: type[Invariant], *, edges: Marks) -> Callable[[Explains], Explanation]:
    """Declare that the decorated function explains violations of `property_`, and which `edges` break it."""
    return lambda sentences: Explanation(property_, sentences, edges)

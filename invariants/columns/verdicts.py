"""The properties that can be judged by counting, in a trace that is in order; see `invariants.columns.in_order`.

A property is either counted there, or looks at kinds of event of its own (`Invariant.looks_at`) and is not exercised
in a trace without them. If a trace has an event of a kind that one of the chosen properties looks at, it needs a
`Judge`; zxid uniqueness and zxid assignment, which are counted, look at `Accept` and at `Ready` besides.
"""

from collections.abc import Iterable, Mapping

from zabcheck.invariants.base import Invariant, Status, Verdict

COUNTED = frozenset(
    (
        "integrity",
        "total order",
        "agreement",
        "local primary order",
        "global primary order",
        "primary integrity",
        "po causal order",
        "strict causality",
        "clock",
        "prefix",
        "causal order",
        "redelivery",
        "zxid uniqueness",
        "zxid assignment",
    )
)
"""The properties that `invariants.columns.in_order` counts."""

BESIDE = frozenset(
    (
        "invariant 1",
        "invariant 2",
        "invariant 3",
        "invariant 4",
        "invariant 5",
        "chosen",
        "epoch uniqueness",
        "convergence",
        "reliable delivery",
        "epoch progress",
        "state",
        "durability",
        "final agreement",
    )
)
"""The properties that `invariants.columns.beside` judges; zxid uniqueness and zxid assignment, too, as far as they look
at other events."""


class Selection:
    """The properties that a trace is judged by, in the order of their verdicts."""

    def __init__(self, properties: Iterable[type[Invariant]]) -> None:
        self.properties = list(properties)
        self.names = [kind.name for kind in self.properties]
        self.countable = all(map(_is_countable, self.properties))
        """True if a trace in order that has no event of `left_to_a_judge` can be judged by counting."""
        self.left_to_a_judge = tuple(dict.fromkeys(event for kind in self.properties for event in kind.looks_at or ()))
        judged = [kind for kind in self.properties if kind.name in COUNTED | BESIDE]
        self.beside = frozenset(event for kind in judged for event in kind.looks_at or ())
        """The kinds of event that `invariants.columns.beside` judges."""
        others = [kind for kind in self.properties if kind.name not in COUNTED | BESIDE]
        self.beyond = frozenset(event for kind in others for event in kind.looks_at or ())
        """The kinds of event that only a judge can tell about."""
        self.redelivery = "redelivery" in self.names
        self.causality = "strict causality" in self.names


def _is_countable(kind: type[Invariant]) -> bool:
    """Return True if the property needs no judge for a trace in order without the events that it looks at."""
    return kind.looks_at is not None and (bool(kind.looks_at) or kind.name in COUNTED)


def status(judged: int, complete: bool) -> Status:
    """Return the verdict on a property that is not violated in a trace."""
    if not complete:
        return "inconclusive"
    return "holds" if judged else "not exercised"


def verdicts(names: Iterable[str], counts: Mapping[str, int], complete: bool) -> list[Verdict]:
    """Return the verdicts on a trace in order. `counts` has how often each property was exercised; else it was not."""
    return [Verdict(name, status(counts.get(name, 0), complete), counts.get(name, 0)) for name in names]

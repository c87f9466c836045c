"""The result of an exhaustive search in words: what is proved, within which bounds, and what these switched off."""

from collections.abc import Iterator
from typing import NamedTuple

from rich.console import RenderableType
from rich.table import Table

from zabcheck.explore.bounds import SMALL, Bounds
from zabcheck.explore.results import Exploration
from zabcheck.search.report.summary import cannot_be_seen
from zabcheck.simulation.choices import MOST_ROUNDS
from zabcheck.text.pen import DIM, Drawing, Pen
from zabcheck.text.words import counted

CHAIN_BITS = 63
"""The bits of the hash that distinguishes two histories."""
MOST_WIDER = 4
"""The most wider searches that are named."""


class Wider(NamedTuple):
    """A search with one `option` more, which has `least` to `most` times as many states, as far as was measured."""

    option: str
    value: str | int
    least: int
    most: int


_GROWTH = {
    "timeouts": (9, 13),
    "cuts": (8, 12),
    "snapshots": (7, 25),
    "crashes": (5, 9),
    "txns": (4, 6),
    "epochs": (1, 3),
    "sync=separate": (7, 32),
    "closing=graceful": (2, 3),
}
"""By the setting, or the bound at its default: the least and the greatest growth of zab, ladis and paxos."""
_GROWTH_AFTER = 3, 5
"""The same for each of these bounds once it is greater than its default."""


_TRAPS = {
    "trap": "from some state a leader that nobody disturbs does not get on, and nothing is left to be done",
    "lasso": "from some state a leader that nobody disturbs does not get on, and that goes on for ever",
    "rest": "left alone in some state, the ensemble comes to rest, and what its epoch owes is not done",
    "raised": "from some state the protocol's code raises, although nobody disturbs it",
}
"""By the kind of trap (`zabcheck.explore.liveness.undisturbed`)."""


_ERRORS = "errors raised"
"""The setting with which an error of the modelled code ends a run."""


def render(found: Exploration) -> RenderableType:
    """Return a table of what was searched and how sure it is; the result itself is the verdict of the command."""
    return Drawing(lambda pen: [_table(pen, found)])


def _table(pen: Pen, found: Exploration) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for label, fact in facts(found):
        table.add_row(pen.write(label, DIM), pen.write(fact))
    return table


def facts(found: Exploration) -> Iterator[tuple[str, str]]:
    """Yield the rows of the table: what was searched, at what cost, and what its bounds left out."""
    yield "searched", f"{_what(found)}, within {', '.join([found.bounds, *found.settings])}"
    yield (
        "states",
        f"{found.states:,}{' up to the names of processes' if found.symmetry else ''}, "
        f"{counted(found.transitions, 'transition', 'transitions')}, {counted(found.depth, 'level', 'levels')}, "
        f"{_components(found)}",
    )
    rate = f", {found.transitions / found.seconds:,.0f} transitions a CPU second" if found.seconds else ""
    if found.epochs_of_events_only:
        yield "epochs", without_highest_epoch(found.protocol)
    yield "time", f"{found.seconds:.1f} CPU seconds{rate}"
    pairs = counted(found.followed, "pair", "pairs")
    if found.followed and found.trap is None:
        yield "liveness", f"from every state each leader with each least quorum was followed, undisturbed: {pairs}"
    elif found.followed:
        yield "liveness", f"it is the first of the states in which a leader does not get on; {pairs} tried"
    if found.unfinished:
        several = counted(found.unfinished, "continuation has", "continuations have")
        yield (
            "undecided",
            f"{several} no end within {MOST_ROUNDS} rounds: convergence and reliable delivery are not proved",
        )
    if found.whole:
        yield from _of_the_whole(found)


def without_highest_epoch(protocol: str) -> str:
    """Return what follows if the class of a protocol has no `highest_epoch`, and what to do."""
    return (
        f"{protocol} has no `highest_epoch`, so --epochs bounds only the epochs of ready, broadcast and show, and the "
        "search may never end if a process can raise its epoch before; define it (docs/your-own-protocol.md, "
        "Every state)"
    )


def _of_the_whole(found: Exploration) -> Iterator[tuple[str, str]]:
    """Yield what can be said once every state was expanded: what its bounds left out, and how sure it is."""
    yield "bounds", _bounds_that_matter(found)
    yield from _costs(found)
    yield (
        "certainty",
        f"two states are taken for one only if two histories of them have one hash of {CHAIN_BITS} bits: with "
        f"{_components(found)} that has a chance of less than {_chance(found.components):.0e}",
    )
    missing = [goal for goal in found.unreached if goal not in found.unseen]
    if missing and not found.certified:
        yield "goals", f"not seen in any run: {', '.join(missing)}"
    if found.unseen and not found.certified:
        yield "" if missing else "goals", cannot_be_seen(found.unseen)
    if found.exits is not None:
        states, why = counted(found.exits.states, "state", "states"), found.exits.reason
        yield "ended", f"a process has ended by itself in {states}, for instance: {why}"
    if found.interrupted:
        yield "liveness", "the undisturbed leaders were not followed to their end, and nothing is proved of them"


def _components(found: Exploration) -> str:
    return counted(found.components, "component", "components")


def _what(found: Exploration) -> str:
    return found.protocol + (f" with mutant {found.mutant}" if found.mutant else "")


def result(found: Exploration) -> str:
    """Return the result in one sentence."""
    what = _what(found)
    fewer = f"every run of up to {counted(found.tried, 'step', 'steps')} was tried"
    if found.certified and found.raised:
        return f"{what} has an error in {found.steps} steps instead of {found.certified}, and {_least(found)}"
    if found.certified and found.broken is not None:
        return f"{found.broken} is violated in {found.steps} steps instead of {found.certified}, and {_least(found)}"
    if found.certified:
        does = "has an error" if _ERRORS in found.settings else "violates it"
        if found.tried == found.certified - 1:
            return f"certified: no run of fewer than {found.certified} steps {does}; {fewer}"
        return f"not finished: whether a run of fewer than {found.certified} steps {does} is not known; {fewer}"
    if found.trap is not None:
        return f"{found.broken} is violated: {_TRAPS[found.trap]}"
    if found.broken is not None:
        return f"{found.broken} is violated, and {_least(found)}"
    if found.raised:
        return f"{what} has an error, and {_least(found)}"
    if found.interrupted:
        return "interrupted: nothing was found in what was done so far, and nothing is proved of the rest"
    if not found.whole:
        return "not finished: nothing was found in what was explored, and nothing is proved of the rest"
    if not found.unexercised:
        [*proved] = found.exercised
        violates = f"violates none of {len(proved)} properties" if len(proved) > 1 else f"does not violate {proved[0]}"
        ended = "" if found.exits is None else f"; in {found.exits.states:,} of them a process has ended for good"
        return f"proved: {what} {violates} in any state within the bounds{ended}" + _without(found)
    idle = ", ".join(found.unexercised)
    if not found.exercised:
        return f"nothing is proved: no state of {what} within the bounds exercised {idle}"
    judged = len(found.exercised) + len(found.unexercised)
    return (
        f"proved for {len(found.exercised)} of {judged} properties, which {what} violates in no state within the "
        f"bounds; not exercised, and so not proved: {idle}"
    )


_BOUNDS = {
    "timeouts": "time-outs",
    "cuts": "connections that break",
    "crashes": "crashes",
    "snapshots": "snapshots by choice",
    "epochs": "epochs",
    "txns": "transactions",
}
"""The bounds but that on processes, each with what it counts."""


def _without(found: Exploration) -> str:
    """Return what happens in no state within the bounds, although it could."""
    none = [what for name, what in _BOUNDS.items() if found.limits.get(name) == 0]
    without = [*none, *found.left_out]
    return f"; left out: {', '.join(without)}" if without else ""


def _bounds_that_matter(found: Exploration) -> str:
    """Return which bounds kept something from happening, and which ones one would raise for nothing."""
    if not found.limits:
        return "left out nothing but more processes: wider ones add no state"
    idle = [f"--{name}" for name in _BOUNDS if name not in found.limits]
    none = f"; a greater {' or '.join(idle)} alone adds no state" if idle else ""
    return f"left out more {', '.join(_BOUNDS[name] for name in found.limits)}{none}"


FINER = {"sync=atomic": "sync=separate", "closing=abrupt": "closing=graceful"}
"""By the setting of a search: the one that lets happen what it keeps out."""


def wider(found: Exploration) -> list[Wider]:
    """Return searches, each of which lets happen what happens in no state yet; those that find most bugs come first."""
    finer = [FINER[each] for each in FINER if any(f"({each})" in left for left in found.left_out)]
    lossy = [Wider("switch", each, *_GROWTH[each]) for each in finer if "sync" in each]
    others = [Wider("switch", each, *_GROWTH[each]) for each in finer if "sync" not in each]
    raised = [_raised(name, found.limits[name]) for name in _BOUNDS if found.limits.get(name, -1) >= 0]
    return [*lossy, *raised, *others][:MOST_WIDER]


def _costs(found: Exploration) -> Iterator[tuple[str, str]]:
    """Yield the cost of wider searches, if nothing is broken, and there are any."""
    by = [f"--{each.option} {each.value} by {each.least} to {each.most}" for each in wider(found)]
    if found.broken is None and by:
        yield "wider", f"one option more multiplies the states, as measured for zab, ladis and paxos: {', '.join(by)}"


def _raised(bound: str, limit: int) -> Wider:
    return Wider(bound, limit + 1, *(_GROWTH[bound] if limit <= getattr(SMALL, bound) else _GROWTH_AFTER))


def enough(bounds: Bounds) -> dict[str, int]:
    """Return the bounds, by name, with which the protocols of zabcheck exercise every property, if these are less.

    Two transactions have an order, two epochs an earlier leader, and repeated deliveries take a crash. If these are
    enough, one more of each.
    """
    least = {"processes": 2, "txns": 2, "epochs": 2, "crashes": 1}
    raised = {name: number for name, number in least.items() if 0 <= getattr(bounds, name) < number}
    more = {name: getattr(bounds, name) + 1 for name in ("txns", "epochs", "timeouts", "crashes")}
    return raised or {name: number for name, number in more.items() if number > 0}


def _least(found: Exploration) -> str:
    has = "has an error, or violates" if found.raised else "violates"
    if found.tried == found.steps - 1:
        return f"no shorter run within the bounds {has} any property that was judged"
    return (
        f"whether a run of fewer than {found.steps} steps {has} any is not known: "
        f"every run of up to {counted(found.tried, 'step', 'steps')} was tried"
    )


def _chance(components: int) -> float:
    """Return a bound of the chance that two of n histories have one hash, n²/2ᵇ⁺¹ for b bits: the birthday bound."""
    return components * components / (1 << (CHAIN_BITS + 1))

"""What an exhaustive search has shown, in words: what was proved, within which bounds, and what they switched off."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from rich.console import RenderableType
from rich.text import Text

from zabcheck.report.pen import BOLD, Drawing, Pen
from zabcheck.report.words import counted

CHAIN_BITS = 63
"""Of the hash by which two histories are told apart."""


class Exploration(Struct, frozen=True):
    """An exhaustive search as data. `seconds` is CPU time.

    `whole`: every state was gone on from. `switched_off`: how often each bound forbade a move that was possible.
    `exercised`: the properties that had something to judge in some state; `unexercised`: the others.
    `symmetry`: whether states that differ in the names of processes alone were taken for one.
    """

    protocol: str
    mutant: str | None
    bounds: str
    settings: tuple[str, ...]
    symmetry: bool
    states: int
    transitions: int
    depth: int
    parts: int
    whole: bool
    broken: str | None
    exercised: tuple[str, ...]
    unexercised: tuple[str, ...]
    switched_off: Mapping[str, int]
    seconds: float


def render(found: Exploration) -> RenderableType:
    """A few sentences."""
    return Drawing(lambda pen: _lines(pen, found), None)


def _lines(pen: Pen, found: Exploration) -> Sequence[Text]:
    return [pen.write(line, BOLD if not number else "") for number, line in enumerate(sentences(found))]


def sentences(found: Exploration) -> list[str]:
    """What was shown first, then how."""
    what = found.protocol + (f" with mutant {found.mutant}" if found.mutant else "")
    within = ", ".join([found.bounds, *found.settings])
    rate = f"{found.transitions / found.seconds:,.0f} transitions a CPU second" if found.seconds else ""
    size = (
        f"{counted(found.states, 'state', 'states')}"
        + (" (up to the names of processes)" if found.symmetry else "")
        + f", {counted(found.transitions, 'transition', 'transitions')}, {found.depth} steps deep, made of "
        f"{found.parts:,} different parts; {found.seconds:.1f} CPU seconds{', ' if rate else ''}{rate}"
    )
    said = []
    if found.broken is not None:
        said.append(f"{found.broken} is violated, and no shorter run violates any property that was judged")
        said.append(f"{what}, within {within}: every run of fewer steps was tried")
    elif not found.whole:
        said.append("not finished: nothing was found in what was explored, and nothing is proved of the rest")
        said.append(f"{what}, within {within}: all runs of fewer than {found.depth} steps, and some of that many")
    else:
        said.append(f"proved: {what} violates none of {len(found.exercised)} properties in any state within the bounds")
        said.append(f"the bounds: {within}")
    said.append(size)
    if found.whole:
        said.append(
            f"switched off by the bounds: {', '.join(f'{name} {n:,} times' for name, n in found.switched_off.items())}"
            if found.switched_off
            else "the bounds switched nothing off but what they count"
        )
        said.append(
            f"two states are taken for one only if two histories of them have one hash of {CHAIN_BITS} bits: with "
            f"{found.parts:,} parts that has a chance of less than {_chance(found.parts):.0e}"
        )
    if found.unexercised and found.broken is None:
        said.append(f"no state exercised: {', '.join(found.unexercised)}; of these nothing is proved")
    return said


def _chance(parts: int) -> float:
    """That two of so many histories have one hash: the birthday bound."""
    return parts * parts / (1 << (CHAIN_BITS + 1))

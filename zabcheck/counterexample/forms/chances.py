"""Draws the chances that a property breaks from each position of a run, as a picture and in words, for a page."""

from itertools import pairwise

from zabcheck.counterexample.story import Chances
from zabcheck.text.html import text

BAR = 22
"""The width of a bar with its margin, in pixels."""
TALL = 60
"""The height of the bar that stands for all continuations, in pixels."""
BELOW = 16
"""The height of the line with the numbers of steps, in pixels."""


def draw_chances(chances: Chances | None, about: str = "") -> str:
    """Return a section with a bar for each position of the run, and a sentence that says where the number jumps.

    `about` comes before: which run that is if it is another one, or why there are no chances.
    """
    before = f"<p>{text(about, len(about))}</p>\n" if about else ""
    return (
        '<section aria-labelledby="chances">\n<h2 id="chances">How likely from here</h2>\n'
        f"{before}{_curve(chances) if chances is not None else ''}</section>\n"
    )


def _curve(chances: Chances) -> str:
    said = _said(chances)
    bars = "".join(
        f'<rect x="{place * BAR + 3}" y="{TALL - height}" width="{BAR - 6}" height="{height}" fill="var(--bad)">'
        f"<title>after step {step}: {broken}</title></rect>"
        f'<text x="{place * BAR + BAR // 2}" y="{TALL + BELOW - 4}" text-anchor="middle" fill="var(--soft)">'
        f"{step}</text>"
        for place, (step, broken) in enumerate(zip(chances.steps, chances.broken, strict=True))
        for height in [max(1, round(TALL * broken / chances.tries))]
    )
    size = f'width="{len(chances.steps) * BAR}" height="{TALL + BELOW}"'
    return (
        f"<p>{text(said)}</p>\n"
        '<figure role="group" aria-labelledby="chances" tabindex="0">'
        f'<svg {size} role="img" aria-label="{text(said)}" font-size="11">{bars}</svg></figure>\n'
    )


def jump_of(chances: Chances) -> int | None:
    """Return the place in `steps` at which the number rises most, the first of several; None if it never rises."""
    rises = [after - before for before, after in pairwise(chances.broken)]
    return 1 + rises.index(max(rises)) if rises and max(rises) > 0 else None


def _said(chances: Chances) -> str:
    first, jump = chances.broken[0], jump_of(chances)
    from_start = f"Of {chances.tries} random continuations from the start {first} break {chances.property}."
    if jump is None:
        return from_start
    before, after = chances.broken[jump - 1], chances.broken[jump]
    return f"{from_start} Most is decided at step {chances.steps[jump]}: of those before it {before}, after it {after}."

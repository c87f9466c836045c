"""The space-time diagram of a run as an SVG file: a title, a legend, and beside each row who acts and what it does.

It is never wider than the text of a README, so that a viewer which fits it to that width leaves its letters as large as
they are.
"""

from collections.abc import Iterator

from zabcheck.counterexample.forms.decided import decided
from zabcheck.counterexample.forms.diagram import draw, escaped, heads, lanes_of
from zabcheck.counterexample.forms.diagram_style import DARK, LIGHT, THREADS, style
from zabcheck.counterexample.forms.lanes import NUMBERS, ROW
from zabcheck.counterexample.forms.lettering import SIZE
from zabcheck.counterexample.forms.room import breadth
from zabcheck.counterexample.forms.rows import said_of
from zabcheck.counterexample.pieces import Labels
from zabcheck.counterexample.story import Moment, Story
from zabcheck.text.words import clean, name

WIDEST = 860
"""The width of the text of a README on GitHub, in pixels."""
LEAST_TEXT = 220
"""The least width of the texts beside the lanes, in pixels."""
MARGIN = 12
LINE = 11
"""The height of a line within a row, which has two."""
TITLE = 19
LEGEND = "▲ broadcasts   ■ delivers   ◆ ready   ✕ crash   ○ recovery   dashed: lost or never handled"
"""The meanings of the signs."""
MARKS = "red ring, W1, W2, …: the witness   D, red row and arrow: where the violation was decided"
_STYLE = f"""
.paper {{ fill: PAPER; }} .said {{ font-size: {SIZE}px; fill: SOFT; }} .who, .title {{ font-weight: 600; fill: INK; }}
.said.deciding {{ font-weight: 600; fill: INK; }}
.legend {{ font-size: {SIZE}px; fill: SOFT; }}
"""


def to_svg(story: Story, labels: Labels, *, dark: bool = True) -> str:
    """Return the diagram as an SVG file, each step with its text. With `dark`, it is dark if the reader's system is."""
    lanes, decision = lanes_of(story), decided(story)
    width, height = size(story, labels)
    titles = _titles(story, width)
    top = _top(titles)
    left = NUMBERS + lanes.across + MARGIN
    step = decision.step if decision is not None else None
    rows = "".join(_row(m, labels, lanes.y(m.step), left, width - left - MARGIN, m.step == step) for m in story.moments)
    marked = ""
    if decision is not None:
        y = lanes.y(decision.step) - ROW / 2
        marked = f'<rect class="verdict" x="0" y="{y:g}" width="{width}" height="{ROW}"/>\n'
    heading = "".join(
        f'<text class="title" x="{MARGIN}" y="{MARGIN + 8 + TITLE * line}">{escaped(text)}</text>\n'
        for line, text in enumerate(titles)
    )
    legend = "".join(
        f'<text class="legend" x="{MARGIN}" y="{height - 8 - 16 * line}" xml:space="preserve">{escaped(text)}</text>\n'
        for line, text in enumerate(reversed(_legend(story, width)))
    )
    more = _STYLE + (THREADS if story.threads else "")
    schemes = style(LIGHT, more) + (f"@media (prefers-color-scheme: dark) {{ {style(DARK, more)} }}" if dark else "")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="DejaVu Sans, system-ui, sans-serif" font-size="13">\n'
        f"<title>{escaped(title_of(story))}</title>\n<style>{schemes}</style>\n"
        f'<rect class="paper" width="{width}" height="{height}"/>\n{heading}'
        f'<g transform="translate(0 {top})">\n{marked}{rows}'
        f'<g transform="translate({NUMBERS} 0)">\n{heads(lanes)}\n{draw(story, labels, {})}\n</g>\n</g>\n'
        f"{legend}</svg>\n"
    )


def title_of(story: Story) -> str:
    """Return what the picture shows: what is violated, and how, or the protocol of a run in which nothing is."""
    if story.violation is None:
        return f"a run of {story.protocol}"
    return f"{story.violation.property} is violated: {story.violation.summary}"


def size(story: Story, labels: Labels) -> tuple[int, int]:
    """Return the width and the height of what `to_svg` draws, in pixels."""
    lanes = lanes_of(story)
    beside = NUMBERS + lanes.across + 2 * MARGIN
    longest = max((breadth(_whole(moment, labels), bold=True) for moment in story.moments), default=0)
    width = round(min(max(WIDEST, beside + LEAST_TEXT), max(beside + longest, beside + LEAST_TEXT, 520)))
    return width, _top(_titles(story, width)) + lanes.height + 16 * len(_legend(story, width)) + MARGIN


def _top(titles: list[str]) -> int:
    return MARGIN + TITLE * len(titles)


def _titles(story: Story, width: int) -> list[str]:
    """Return the title in one or two lines."""
    most = round((width - 2 * MARGIN) / 13 * SIZE * 0.98)
    return _wrapped(clean(title_of(story)), most, bold=True)


def _legend(story: Story, width: int) -> list[str]:
    lines = [LEGEND, MARKS]
    signs = lines if breadth("   ".join(lines)) > width - 2 * MARGIN else ["   ".join(lines)]
    return [*signs, *(clean(f"{each.label}: {each.head}") for each in story.threads)]


def _row(moment: Moment, labels: Labels, y: float, left: int, width: int, is_decided: bool) -> str:
    """Draw the number of a step, who acts, and what it does, in one line or two."""
    who, said = _who(moment), _said(moment, labels)
    lines = _wrapped(f"{who} {said}".strip(), width, bold=is_decided)
    first = y + 4 if len(lines) == 1 else y - 2
    drawn = [f'<text class="number" x="{NUMBERS - 8}" y="{y + 4:g}">{moment.step}</text>']
    kind = "said deciding" if is_decided else "said"
    for number, line in enumerate(lines):
        text = escaped(line)
        if number == 0 and who:
            text = f'<tspan class="who">{who}</tspan>{text.removeprefix(who)}'
        drawn.append(
            f'<text class="{kind}" xml:space="preserve" x="{left}" y="{first + LINE * number:g}">{text}</text>'
        )
    return "".join(drawn) + "\n"


def _who(moment: Moment) -> str:
    return name(moment.process) if moment.process is not None else ""


def _said(moment: Moment, labels: Labels) -> str:
    return clean("  ".join(_texts(moment, labels)))


def _whole(moment: Moment, labels: Labels) -> str:
    return f"{_who(moment)} {_said(moment, labels)}"


def _texts(moment: Moment, labels: Labels) -> Iterator[str]:
    for process, piece in said_of(moment, labels):
        text = piece.text if piece.label is None else f"{piece.text} ◀{piece.label}"
        yield text if process is None else f"{name(process)}: {text}"


def _wrapped(text: str, width: float, bold: bool = False) -> list[str]:
    """Return a text as one line, or as two that are broken between words; a longer one loses its end."""
    if breadth(text, bold) <= width:
        return [text]
    cut = _fitting(text, width, bold)
    space = next((at for at in range(cut, 0, -1) if text[at] == " " and text[at - 1] not in "→←×"), 0)
    cut = space if space > cut // 2 else cut
    first, rest = text[:cut].rstrip(), text[cut:].strip()
    if breadth(rest, bold) > width:
        rest = rest[: _fitting(rest, width - breadth("…", bold), bold)].rstrip() + "…"
    return [first, rest]


def _fitting(text: str, width: float, bold: bool) -> int:
    """Return how many of the first characters fit."""
    taken = 0.0
    for number, character in enumerate(text):
        taken += breadth(character, bold)
        if taken > width:
            return number
    return len(text)

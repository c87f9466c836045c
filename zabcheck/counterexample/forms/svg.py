"""The space-time diagram of a run as an SVG file, with the text of each step beside it."""

from unicodedata import east_asian_width

from zabcheck.counterexample.forms.diagram import NUMBERS, Lanes, draw, escaped, heads
from zabcheck.counterexample.forms.diagram_style import DARK, LIGHT, style
from zabcheck.counterexample.pieces import Labels, entries_of
from zabcheck.counterexample.story import Moment, Story
from zabcheck.text.words import clean, name

LONGEST_TEXT = 110
"""The longest text of a step, in characters."""


def to_svg(story: Story, labels: Labels, *, dark: bool = True) -> str:
    """Return the diagram as an SVG file, each step with its text. With `dark`, it is dark if the reader's system is."""
    lanes = Lanes.of(story)
    texts = [(moment, _row_text(moment, labels)) for moment in story.moments]
    width, height = size(story, labels)
    title = story.violation.property + " is violated" if story.violation is not None else story.protocol
    schemes = style(LIGHT) + (
        f"@media (prefers-color-scheme: dark) {{ {style(DARK)} .paper {{ fill: #14171a; }} }}" if dark else ""
    )
    rows = "".join(
        f'<text class="number" x="{NUMBERS - 8}" y="{lanes.y(moment.step) + 4:g}">{moment.step}</text>'
        f'<text class="said" xml:space="preserve" x="{NUMBERS + lanes.across + 20}" y="{lanes.y(moment.step) + 4:g}">'
        f"{escaped(text)}</text>\n"
        for moment, text in texts
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="DejaVu Sans, system-ui, sans-serif" font-size="13">\n'
        f"<title>{escaped(title)}</title>\n"
        f"<style>.paper {{ fill: #ffffff; }} .said {{ font-size: 12px; fill: #57606a; }}\n{schemes}</style>\n"
        f'<rect class="paper" width="{width}" height="{height}"/>\n{rows}'
        f'<g transform="translate({NUMBERS} 0)">\n{heads(lanes)}\n{draw(story, labels, {})}\n</g>\n</svg>\n'
    )


def size(story: Story, labels: Labels) -> tuple[int, int]:
    """Return the width and the height of what `to_svg` draws, in pixels."""
    lanes = Lanes.of(story)
    longest = max((_breadth(_row_text(moment, labels)) for moment in story.moments), default=0)
    return NUMBERS + lanes.across + 24 + longest + 12, lanes.height + 24


def _breadth(text: str) -> int:
    """Return about how many pixels a text takes, rather too many: only the font knows the exact width."""
    return sum(12 if east_asian_width(each) in "WF" else 9 if each.isupper() else 7 for each in text)


def _row_text(moment: Moment, labels: Labels) -> str:
    """Return all that there is to say about a step, in one line."""
    said = []
    for entry in entries_of(moment, labels):
        texts = [piece.text if piece.label is None else f"{piece.text} ◀{piece.label}" for piece in entry.pieces]
        if entry.process is not None and (entry.process != moment.process):
            texts = [f"{name(entry.process)}: {text}" for text in texts]
        said += texts
    return clean("  ".join(said), longest=LONGEST_TEXT)

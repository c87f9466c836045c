"""The text around the report of a scenario: what it is about, and what else came of it than what had to."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from zabcheck.text.pen import BOLD, DIM, RED, Drawing, Pen


def render_about(
    name: str, title: str, source: str, shows: str, outcome: Sequence[str], ascii_only: bool | None = None
) -> RenderableType:
    """Render what a scenario is about, and the outcome that it must have."""

    def draw(pen: Pen) -> Iterator[RenderableType]:
        yield pen.write(f"{name}: {title}", BOLD)
        yield pen.write(source, DIM)
        yield Text()
        yield pen.write(shows)
        yield Text()
        yield pen.write("What has to come of it", BOLD)
        yield from (pen.write(f"- {each}") for each in outcome)

    return Drawing(draw, ascii_only)


def render_unmet(unmet: Sequence[str], ascii_only: bool | None = None) -> RenderableType:
    """Render what happened instead of what has to come of a scenario."""

    def draw(pen: Pen) -> Iterator[RenderableType]:
        yield pen.write("Something else came of it:", RED)
        yield from (pen.write(f"- {each}") for each in unmet)

    return Drawing(draw, ascii_only)

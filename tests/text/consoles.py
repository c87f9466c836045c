"""Consoles that tests draw on."""

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult


@dataclass
class InAscii:
    """A drawing as on a console that can encode nothing but ASCII."""

    drawn: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        only = options.copy()
        only.encoding = "ascii"
        yield from console.render(self.drawn, only)

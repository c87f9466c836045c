"""The pen that writes every text in a terminal: it cleans text, breaks it into lines, and sets it in columns."""

from collections.abc import Callable, Collection, Iterable, Sequence
from io import StringIO

from msgspec import Struct
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from zabcheck.text.words import LONGEST, clean

RED, BOLD, DIM = "bold red", "bold", "dim"
WITNESS = "bold reverse red"


class Pen(Struct, frozen=True):
    """Writes clean text for a console that is `width` cells wide."""

    console: Console
    width: int
    ascii_only: bool

    def write(self, text: str, style: str = "", longest: int = LONGEST) -> Text:
        return Text(clean(text, self.ascii_only, longest), style)

    def mark(self, label: str) -> Text:
        """Return the mark of an event of the witness."""
        return self.write(f"◀{label}", WITNESS)

    def fold(self, text: Text, width: int) -> list[Text]:
        """Break `text` into lines of at most `width` cells."""
        lines = text.wrap(self.console, max(1, width))
        for line in lines:
            line.rstrip()
        return list(lines)

    def flow(self, pieces: Iterable[Text], width: int) -> list[Text]:
        """Fill lines of at most `width` cells; a piece is broken only if it does not fit in a line of its own."""
        lines: list[Text] = []
        for piece in pieces:
            if lines and lines[-1].cell_len + 2 + piece.cell_len <= width:
                lines[-1] = Text("  ").join([lines[-1], piece])
            else:
                lines += self.fold(piece, width)
        return lines

    def row(self, cells: Sequence[list[Text]], width: int) -> Text:
        """Put cells side by side, each a list of lines, `width` wide."""
        bar = Text.assemble(self.write(" │ ", DIM))
        lines = []
        for index in range(max(map(len, cells))):
            parts = [cell[index].copy() if index < len(cell) else Text() for cell in cells]
            for part in parts:
                part.truncate(width, pad=True)
            lines.append(bar.join(parts))
        return Text("\n").join(lines)


class Drawing:
    """A renderable that draws itself once the width and the encoding of its console are known."""

    def __init__(self, draw: Callable[[Pen], Iterable[RenderableType]]) -> None:
        self.draw = draw

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self.draw(Pen(console, options.max_width, options.ascii_only))


class _Tame(RenderHook):
    """Ends each line that is printed where its text ends, and breaks what GitHub would take for a command."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_TameLines(each) for each in renderables]


class _TameLines(Struct, frozen=True):
    renderable: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line, ended in Segment.split_lines_terminator(console.render(self.renderable, options)):
            while line and not line[-1].control and not line[-1].text.strip(" "):
                line.pop()
            if line and not line[-1].control:
                line[-1] = line[-1]._replace(text=line[-1].text.rstrip(" "))
            if "".join(each.text for each in line).lstrip().startswith("::"):
                first = next(index for index, each in enumerate(line) if each.text.strip())
                line[first] = line[first]._replace(text=line[first].text.replace(":", r"\x3a", 1))
            yield from line
            if ended:
                yield Segment.line()


def tame(console: Console) -> Console:
    """Make a console print no blanks at the end of a line, and no line that begins like a command to GitHub."""
    console.push_render_hook(_Tame())
    return console


def text_of(renderable: RenderableType, width: int = 100, color: bool = False) -> str:
    """Render anything as text, without trailing blanks."""
    console = tame(
        Console(
            file=StringIO(),
            width=width,
            height=25,  # given both, rich does not ask the environment for either
            force_terminal=color,
            color_system="standard" if color else None,
            no_color=False,
            legacy_windows=False,
            highlight=False,
        )
    )
    with console.capture() as captured:
        console.print(renderable, crop=False)
    return captured.get().rstrip("\n") + "\n"


def titled(title: str, *columns: str, figures: Collection[str] = ()) -> Table:
    """Return a table without lines, whose title is on the left; columns of `figures` are set flush right."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in figures else "left")
    return table


def unbroken(text: Text) -> Text:
    """Keep `text`, a path or a command to be copied, on one line of any width; `print` it with `crop=False`."""
    text.no_wrap, text.overflow = True, "ignore"
    return text


def padded(text: Text, width: int) -> Text:
    """Pad `text` in place to at least `width` cells, and return it."""
    text.pad_right(max(0, width - text.cell_len))
    return text

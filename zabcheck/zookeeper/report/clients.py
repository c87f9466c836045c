"""Draws broken promises to clients in a terminal, and as an HTML page that needs no other file."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from rich.console import RenderableType
from rich.text import Text

from zabcheck.text import pen
from zabcheck.text.html import document, text
from zabcheck.text.pen import BOLD, DIM, WITNESS, Pen
from zabcheck.text.words import counted
from zabcheck.zookeeper.clients.minimise import MOST_LINES, SECONDS, Least
from zabcheck.zookeeper.clients.picture import Line, Picture, Row, Sign

SIGNS: Mapping[Sign, tuple[str, str]] = {
    "write": ("●", "a write"),
    "read": ("○", "a read"),
    "refused": ("⊘", "a write that was refused"),
    "unknown": ("◌", "a write that may have been done or not"),
    "event": ("◆", "an event"),
    "node": ("□", "a node at the start"),
    "connection": ("▮", ""),
}
"""The sign of each kind of row, and its meaning; that of a connection needs none."""
LINES = {
    "connection": ("━", ""),
    "watch": ("═", "a watch, until its event"),
    "shows": ("─", "a read, from the change that it shows"),
    "unknown": ("╌", "from then on it may be done"),
    "time": ("─", "from request to answer"),
}
"""The line of each kind, and its meaning."""
AXES = {"zxid": "By zxid", "time": "In real time", "operation": "By operation"}
MOST_BESIDE = 12
"""The most records beside the witness that are listed; the file with the least history has all of them."""
LEAST_TEXT, MOST_TEXT, BETWEEN = 24, 56, 9
"""The least and the greatest width of the texts, and the greatest distance of two places of an axis, in cells."""


class BreachReport(Struct, frozen=True):
    """The report on a breach: heading, sentence, the promises that it breaks, the witness with its marks, and pictures.

    `beside` has the records of `least`, the least history that shows the breach, that are not in the witness.
    """

    heading: str
    summary: str
    promises: tuple[tuple[str, str], ...]
    """The statement of each, and its source."""
    witness: tuple[tuple[str, str, str], ...]
    """The mark of each record, its line in the history as text, and the record in words."""
    pictures: tuple[Picture, ...]
    least: Least | None = None
    beside: tuple[tuple[str, str], ...] = ()
    """The line of each record as text, and the record in words."""


def told_of_least(shown: BreachReport) -> str:
    """Return a sentence on the length of the least history."""
    if shown.least is None:
        return f"No part of the history of at most {MOST_LINES:,} lines was found that shows this."
    length = counted(len(shown.least.lines), "line", "lines")
    if not shown.least.is_minimal:
        return f"The shortest history that was found in {SECONDS:.0f} CPU seconds and shows this has {length}."
    return f"The least history that shows this has {length}" + (": the witness, and" if shown.beside else ".")


def legend(picture: Picture) -> Iterator[str]:
    """Yield the meanings of the signs and lines that a picture has."""
    rows = [row for lane in picture.lanes for row in lane.rows]
    for sign, (drawn, meaning) in SIGNS.items():
        if meaning and any(row.sign == sign and row.at is not None for row in rows):
            yield f"{drawn} {meaning}"
    for kind, (drawn, meaning) in LINES.items():
        if meaning and any(row.line is not None and row.line.kind == kind for row in rows):
            yield f"{drawn * 2} {meaning}"


def listed(shown: BreachReport) -> Iterator[tuple[str, str]]:
    """Yield the first of the records beside the witness, and how many more there are."""
    yield from shown.beside[:MOST_BESIDE]
    if len(shown.beside) > MOST_BESIDE:
        yield "", f"and {len(shown.beside) - MOST_BESIDE:,} more"


# In a terminal.


def render(shown: BreachReport) -> RenderableType:
    """Render the pictures of a broken promise."""
    return pen.Drawing(lambda by: [*(line for picture in shown.pictures for line in _lanes(by, picture)), Text()])


def _lanes(by: Pen, picture: Picture) -> Iterator[Text]:
    rows = [row for lane in picture.lanes for row in lane.rows]
    beside = max([len(row.text) + 4 for row in rows] + [len(AXES[picture.axis])])
    beside = min(beside, MOST_TEXT, max(LEAST_TEXT, by.width - 6 * len(picture.ticks) - 12))
    names = [*picture.ticks.values()]
    step = max(2, min(BETWEEN, (by.width - beside - 12) // len(names)))
    at = {place: step // 2 + step * number for number, place in enumerate(picture.ticks)}
    heads = _heads(names, step)
    yield Text()
    for number, head in enumerate(heads):
        title = AXES[picture.axis] if number == len(heads) - 1 else ""
        yield Text.assemble(by.write(f"{title:<{beside}} ", BOLD), by.write(head, DIM))
    for lane in picture.lanes:
        yield by.write(lane.title, BOLD)
        for row in lane.rows:
            yield _row(by, row, at, beside, step * len(names))
    signs = [by.write(each, DIM) for each in legend(picture)]
    yield from by.flow(signs, by.width)


def _heads(names: Sequence[str], step: int) -> list[str]:
    """Return the names of the places, in as few lines as they fit into."""
    lines: list[str] = []
    for number, name in enumerate(names):
        start = max(0, step // 2 + step * number - len(name) // 2)
        free = next((i for i, line in enumerate(lines) if len(line) < start or not line), len(lines))
        if free == len(lines):
            lines.append("")
        lines[free] = f"{lines[free]:<{start}}{name}"
    return lines[::-1]


def _row(by: Pen, row: Row, at: Mapping[int, int], beside: int, width: int) -> Text:
    track = [" "] * width
    for place in at.values():
        track[place] = "·"
    if row.line is not None:
        begin, end = at[row.line.since], width - 1 if row.line.until is None else at[row.line.until]
        track[min(begin, end) : max(begin, end) + 1] = LINES[row.line.kind][0] * (abs(end - begin) + 1)
    if row.at is not None:
        track[at[row.at]] = SIGNS[row.sign][0]
    said = Text.assemble("  ", by.write(row.text, BOLD if row.mark else "", beside - 3))
    mark = f" ◀{row.mark}{' wrong' if row.is_wrong else ''}" if row.mark else ""
    drawn = by.write("".join(track), BOLD if row.mark else "")
    return Text.assemble(pen.padded(said, beside), " ", drawn, by.write(mark, WITNESS if row.is_wrong else BOLD))


# As a page.

STYLE = """
body { max-width: 76rem; } section + section { border-top: 1px solid var(--line); margin-top: 2rem; }
.witness-list a { color: inherit; text-decoration: none; } .witness-list a:hover { text-decoration: underline; }
.place { color: var(--soft); font-size: 0.875rem; margin-right: 0.5rem; white-space: nowrap; }
.beside { list-style: none; margin: 0; padding-left: 2.2rem; font-size: 0.875rem; }
figure.lanes { border: 1px solid var(--line); border-radius: 0.4rem; padding: 0.4rem 0.7rem 0.6rem; }
.lanes ol { list-style: none; margin: 0; padding: 0; }
section > h3 { margin-top: 0.9rem; }
.lanes h4 { margin: 0.6rem 0 0.1rem; font-size: 0.9rem; }
.row { display: grid; grid-template-columns: minmax(0, 22rem) minmax(var(--least), 1fr); gap: 0 1rem;
  align-items: center; font-size: 0.875rem; font-weight: 400; min-height: 1.7rem; border-radius: 0.3rem;
  padding: 0 0.3rem; }
.row { scroll-margin: 0.5rem; } .row:target { outline: 2px solid var(--one); }
.row.wrong { background: color-mix(in srgb, var(--bad) 14%, transparent); }
.row.connection .said { color: var(--soft); } .row.marked .said { font-weight: 600; }
.track { position: relative; height: 1.7rem; background: linear-gradient(to right, transparent calc(50% - 0.5px),
  var(--line) 0, var(--line) calc(50% + 0.5px), transparent 0) 0 0 / calc(100% / var(--n)) 100%; }
.heads { padding: 0 0.3rem; position: static; width: auto; } .heads .track { background: none; height: 1.4rem; }
.heads .track span { position: absolute; transform: translateX(-50%); color: var(--soft); font-size: 0.8125rem;
  white-space: nowrap; font-variant-numeric: tabular-nums; }
.track i { position: absolute; top: 50%; height: 0; border-top: 2px solid var(--soft); transform: translateY(-50%); }
.track .connection { border-top: 8px solid var(--faint); border-radius: 4px; min-width: 8px; margin-left: -4px; }
.track .watch { border-top: 4px double var(--one); } .track .unknown { border-top: 2px dashed var(--warning); }
.track .shows { border-top: 1px solid var(--ink); } .track .time { border-top: 3px solid var(--one); }
.track b { position: absolute; top: 50%; transform: translate(-50%, -50%); width: 1.15rem;
  font: 400 1.05rem/1.15rem system-ui, sans-serif; text-align: center; background: var(--paper); border-radius: 50%; }
.row.wrong b { background: color-mix(in srgb, var(--bad) 14%, var(--paper)); color: var(--bad); }
.row.marked b { outline: 2px solid var(--one); outline-offset: 1px; } .row.wrong b { outline-color: var(--bad); }
.away { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (max-width: 40rem) { .row { grid-template-columns: minmax(var(--least), 1fr); padding-bottom: 0.2rem; }
  .row .said { position: sticky; left: 0; width: min(100%, 19rem); } }
@media print { .row.wrong, .track, .track i { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""


def page(name: str, broken: Sequence[BreachReport]) -> str:
    """Return the page of the promises that a history breaks."""
    from zabcheck.counterexample.forms.page import resource  # takes longer to import than most histories take

    title = broken[0].heading if len(broken) == 1 else f"{name}: {counted(len(broken), 'finding', 'findings')}"
    links = "".join(f'<li><a href="#b{n}">{text(each.heading)}</a></li>\n' for n, each in enumerate(broken, 1))
    listed = f'<nav aria-label="What is broken">\n<ul>\n{links}</ul>\n</nav>\n' if len(broken) > 1 else ""
    sections = "".join(_section(number, each, len(broken) > 1) for number, each in enumerate(broken, 1))
    header = f"<header>\n<h1>{text(title)}</h1>\n{listed}</header>\n"
    body = f"{header}<main>\n{sections}</main>\n<footer>{text(name)}</footer>\n"
    return document(title, resource("page.css") + STYLE, body)


def _section(number: int, shown: BreachReport, is_titled: bool) -> str:
    title = text(shown.heading if is_titled else "What happened")
    rows = {row.mark for picture in shown.pictures for lane in picture.lanes for row in lane.rows if row.mark}
    witness = "".join(_record(number, *each, each[0] in rows) for each in shown.witness)
    beside = "".join(
        f'<li><span class="place">{text(place)}</span>{text(said)}</li>\n' for place, said in listed(shown)
    )
    beside = f'<ol class="beside" aria-label="Beside the witness">\n{beside}</ol>\n' if beside else ""
    facts = "".join(f"<dt>{text(source)}</dt><dd>{text(said)}</dd>\n" for said, source in shown.promises)
    figures = "".join(_figure(number, at, each) for at, each in enumerate(shown.pictures))
    return (
        f'<section aria-labelledby="b{number}">\n<h2 id="b{number}">{title}</h2>\n'
        f'<p class="summary">{text(shown.summary)}.</p>\n'
        f'<ol class="witness-list" aria-label="Witness">\n{witness}</ol>\n'
        f"<p>{text(told_of_least(shown))}</p>\n"
        f"{beside}{figures}"
        f'<h3>What was promised</h3>\n<dl class="facts">\n{facts}</dl>\n</section>\n'
    )


def _record(number: int, mark: str, place: str, words: str, is_drawn: bool) -> str:
    label = f'<span class="mark">{mark}</span>'
    if is_drawn:
        label = f'<a href="#b{number}p0{mark}">{label}</a>'
    return f'<li>{label} <span class="place">{text(place)}</span>{text(words)}</li>\n'


def _figure(number: int, at: int, picture: Picture) -> str:
    ticks, label = [*picture.ticks], f"b{number}p{at}"
    places = {place: f"{100 * (index + 0.5) / len(ticks):.4g}%" for index, place in enumerate(ticks)}
    heads = "".join(f'<span style="left:{places[each]}">{text(picture.ticks[each])}</span>' for each in ticks)
    lanes = ""
    for lane in picture.lanes:
        rows = "".join(_html_row(label, row, picture, places) for row in lane.rows)
        lanes += f"<h4>{text(lane.title)}</h4>\n<ol>\n{rows}</ol>\n"
    return (
        f'<h3 id="{label}">{AXES[picture.axis]}</h3>\n'
        f'<figure class="lanes" role="group" aria-labelledby="{label}" tabindex="0" '
        f'style="--n:{len(ticks)};--least:{4.2 * len(ticks):.4g}rem">\n'
        f'<div class="row heads" aria-hidden="true"><span></span><span class="track">{heads}</span></div>\n'
        f'{lanes}</figure>\n<p class="signs">{text("; ".join(legend(picture)))}; ringed: the witness</p>\n'
    )


def _html_row(label: str, row: Row, picture: Picture, places: Mapping[int, str]) -> str:
    track = _drawn_line(row.line, places) if row.line is not None else ""
    told = ""
    if row.at is not None:
        track += f'<b style="left:{places[row.at]}">{SIGNS[row.sign][0]}</b>'
        told = f", {'as of' if picture.axis == 'zxid' else 'at'} {picture.ticks[row.at]}"
    marked = f' id="{label}{row.mark}"' if row.mark else ""
    kinds = ["row", row.sign, *["marked"] * bool(row.mark), *["wrong"] * row.is_wrong]
    mark = f'<span class="mark">{row.mark}{" wrong:" if row.is_wrong else ""}</span> ' if row.mark else ""
    return (
        f'<li class="{" ".join(kinds)}"{marked}><span class="said">{mark}{text(row.text)}'
        f'<span class="away">{text(told)}</span></span><span class="track" aria-hidden="true">{track}</span></li>\n'
    )


def _drawn_line(line: Line, places: Mapping[int, str]) -> str:
    begin = float(places[line.since][:-1])
    end = 100.0 if line.until is None else float(places[line.until][:-1])
    return f'<i class="{line.kind}" style="left:{min(begin, end):.4g}%;width:{abs(end - begin):.4g}%"></i>'

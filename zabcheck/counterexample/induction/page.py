"""Counterexamples to induction as one HTML page that stands alone, in the style of the pages of runs."""

from collections.abc import Sequence

from zabcheck.counterexample.forms.page import resource
from zabcheck.counterexample.induction.lanes import MISSING, MOVES, REMOVED, Drawing, Item, Lanes, drawing
from zabcheck.proof.counterexample import Counterexample
from zabcheck.text.html import document, text
from zabcheck.text.words import counted

STYLE = """
body { max-width: 76rem; } h3 { margin-top: 0.9rem; }
section + section { border-top: 1px solid var(--line); margin-top: 2rem; }
.lanes { width: 100%; table-layout: fixed; margin: 0.6rem 0 1.1rem; border: 1px solid var(--line); }
.lanes th:first-child, .lanes td:first-child { width: 12rem; padding-left: 0.6rem; }
.lanes thead td { color: var(--soft); border-bottom: 1px solid var(--faint); } .lanes thead th { font-size: 1rem; }
.lanes tbody td { border-left: 1px solid var(--line); padding-left: 0.6rem; }
.lanes thead th { border-left: 1px solid var(--line); padding-left: 0.6rem; }
.lanes .moves td:not(:empty) { background: color-mix(in srgb, var(--one) 18%, transparent); font-weight: 600; }
.lanes td > span { display: inline-block; margin-right: 0.9rem; } .lanes .mark { min-width: 0; }
.lanes ins, .lanes del { color: var(--warning); }
@media (max-width: 40rem) { .lanes { min-width: 36rem; } }
@media print { .lanes .moves td { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""
ABOUT = (
    "Each state below satisfies the invariant. Induction asks of every such state whether a step keeps the "
    "invariant, so a run need not reach the state: if none does, the invariant is too weak, not the protocol wrong."
)


def page(found: Sequence[Counterexample]) -> str:
    """Return the page of one or more counterexamples, with a list of them if there are several."""
    shown = [drawing(each) for each in found]
    title = shown[0].title if len(shown) == 1 else f"{counted(len(shown), 'obligation', 'obligations')} refused"
    links = "".join(f'<li><a href="#c{n}">{text(each.title)}</a></li>\n' for n, each in enumerate(shown, 1))
    listed = f'<nav aria-label="What is refused">\n<ul>\n{links}</ul>\n</nav>\n' if len(shown) > 1 else ""
    sections = "".join(_section(n, each, len(shown) > 1) for n, each in enumerate(shown, 1))
    body = f"<header>\n<h1>{text(title)}</h1>\n<p>{text(ABOUT)}</p>\n{listed}</header>\n<main>\n{sections}</main>\n"
    return document(title, resource("page.css") + STYLE, body)


def _section(number: int, shown: Drawing, is_titled: bool) -> str:
    title = shown.title if is_titled else shown.summary
    summary = f'<p class="summary">{text(shown.summary)}</p>\n' if is_titled else ""
    facts = "".join(
        f"<dt>{text(label)}</dt><dd>{text(named)}<br/>{text(says)}</dd>\n" for label, named, says in shown.particulars
    )
    witness = "".join(f'<li><span class="mark">{each.label}</span> {text(each.words)}</li>\n' for each in shown.witness)
    signs = f'<p class="signs">{text("; ".join(shown.legend))}</p>\n' if shown.legend else ""
    return (
        f'<section aria-labelledby="c{number}">\n<h2 id="c{number}">{text(title)}</h2>\n{summary}'
        f'<dl class="facts">\n{facts}</dl>\n<h3>Why it is false</h3>\n<ol class="witness-list">\n{witness}</ol>\n'
        f"<h3>{text(shown.heading)}</h3>\n{signs}" + "".join(map(_lanes, shown.lanes)) + "</section>\n"
    )


def _lanes(lanes: Lanes) -> str:
    heads = "".join(f'<th scope="col">{text(head)}</th>' for head in lanes.heads)
    rows = "".join(
        f"<tr{_class(any(item.sign == MOVES for cell in row.cells for item in cell), 'moves')}>"
        f'<th scope="row">{text(row.name)}</th>'
        + "".join(
            f"<td{_class(any(item.is_changed for item in cell), 'changed')}>{' '.join(map(_item, cell))}</td>"
            for cell in row.cells
        )
        + "</tr>\n"
        for row in lanes.rows
    )
    return (
        f'<div class="scroll" role="group" aria-label="By {text(lanes.title)}" tabindex="0">'
        f'<table class="lanes"><thead><tr><td>{text(lanes.title)}</td>{heads}</tr></thead>\n'
        f"<tbody>\n{rows}</tbody></table></div>\n"
    )


def _class(is_so: bool, name: str) -> str:
    return f' class="{name}"' if is_so else ""


def _item(item: Item) -> str:
    words = text(item.sign + item.text)
    if item.is_changed:
        kind = "del" if item.sign == REMOVED else "ins"
        words = f"<{kind}>{words}</{kind}>"
    if item.was:
        words = f'<span class="was">{text(item.was)}</span> → {words}'
    marks = "".join(f' <span class="mark">◀{label}</span>' for label in item.labels)
    return f"<span{_class(item.sign == MISSING, 'bad')}>{words}{marks}</span>"

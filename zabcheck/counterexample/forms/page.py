"""A counterexample as one HTML page that stands alone: what went wrong, and the run to step through.

The page loads nothing. Its markup has everything; the script (page.js) only moves through it, so the page can be read,
also by a screen reader, without the script. The page is well-formed XML, follows the reader's choice of light or dark,
and fits a phone. Every text is cleaned and escaped. The same story gives the same bytes.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import NamedTuple

from zabcheck.counterexample.forms import diagram
from zabcheck.counterexample.forms.chances import draw_chances
from zabcheck.counterexample.forms.decided import MARK, decided
from zabcheck.counterexample.forms.deliveries import table_of
from zabcheck.counterexample.forms.diagram_style import LIGHT, THREADS, style
from zabcheck.counterexample.forms.lanes import HEAD, NUMBERS, ROW, Lanes
from zabcheck.counterexample.forms.page_data import data, states_of
from zabcheck.counterexample.forms.regression import regression_test
from zabcheck.counterexample.forms.rows import said_of
from zabcheck.counterexample.forms.terminal import LONGEST_DONE, PAPERS
from zabcheck.counterexample.pieces import (
    LONGEST_PIECE,
    Labels,
    also_broken,
    in_a_line,
    labels_by_step,
    labels_of,
    meanings,
    servers_part,
    stands_still,
)
from zabcheck.counterexample.story import Chances, HeldThread, Moment, Story
from zabcheck.text.html import document, text
from zabcheck.text.nodes import command_of, option_of
from zabcheck.text.words import LONGEST, clean, counted, cut, name, sentence

MOST_COLUMNS = 6
"""The most variables of which each has a column in the table of the states."""
PHONE_LANES = 132
"""The width that the lanes take on a phone, in pixels, where they are squeezed to leave room for the texts."""
STANDS_STILL = (
    "Nothing: in this run no process delivered anything wrong, and nothing that was delivered went missing. What it "
    "costs is progress. The processes are left in peace, no fault stands in their way, and yet they never finish what "
    "was begun."
)
COLOURS = {word: f"var(--{word.lower()})" for word in LIGHT}


class Loss(NamedTuple):
    """A run in which a user loses something by the same bug, and the file with its page."""

    file: str
    story: Story


CLOSE = "#why + .facts { margin: 0.1rem 0; line-height: 1.25; }\n"
"""The style of the known bugs above the witness, which leave room for the diagram on the first screen."""


def page(
    story: Story, file: str = "FILE", chances: Chances | None = None, loss: Loss | None = None, about: str = ""
) -> str:
    """Return the whole page; `file` is the name of the schedule's file.

    `about` says of which run the chances are, if it is not this one, or why there are none.
    """
    labels = labels_by_step(story)
    title = heading(story)
    is_wrong = story.violation is not None or story.raised is not None or story.worst or story.mismatch is not None
    fine = "" if is_wrong else ' class="fine"'
    body = "".join(
        (
            f"<header>\n<h1{fine}>{text(title)}</h1>\n{_summary(story)}</header>\n<main>\n",
            _what_happened(story),
            _run(story, labels) if story.moments else "",
            _lost(loss) if loss is not None else _nothing_lost(story),
            draw_chances(chances, about) if chances is not None or about else "",
            _threads(story),
            _done(story),
            _particulars(story),
            _causality(story),
            _delivered(story),
            _again(story, file),
            "</main>\n",
            f'<script type="application/json" id="data">{data(story, labels)}</script>\n' if story.moments else "",
        )
    )
    styles = (
        _measures(diagram.lanes_of(story))
        + resource("page.css")
        + style(COLOURS, THREADS if story.threads else "")
        + (CLOSE if story.known else "")
        + _filters(story)
    )
    return document(title, styles, body, resource("page.js") if story.moments or story.schedule else "")


def framed(story: Story) -> str:
    """Return the page in a frame, as a notebook shows it: its styles and scripts touch nothing else there."""
    return f'<iframe srcdoc="{escape(page(story))}" style="width: 100%; height: 40em; border: 0"></iframe>'


def heading(story: Story) -> str:
    """Return what the story is about, in a few words."""
    if story.argument is not None:
        return story.argument.title
    return verdict(story)


def verdict(story: Story) -> str:
    """Return what went wrong, in a few words, or that nothing did."""
    if story.mismatch is not None:
        return story.mismatch.title
    if story.raised is not None:
        return story.raised.title
    if story.violation is not None:
        return f"{story.violation.property} is violated"
    return story.worst or "no property is violated"


@cache
def resource(file: str) -> str:
    """Return the text of a file beside this module, such as the style sheet of all pages of counterexamples."""
    return files("zabcheck.counterexample.forms").joinpath(file).read_text(encoding="utf-8")


# What went wrong.


def _summary(story: Story) -> str:
    said = story.violation.summary + "." if story.violation is not None else ""
    if story.raised is not None:
        said = story.raised.error
    if story.mismatch is not None:
        said = f"{story.mismatch.summary}."
    summary = f'<p class="summary">{text(_brief(said), LONGEST)}</p>\n' if said else ""
    if story.argument is None:
        return summary
    shows = f"<p>{text(story.argument.shows, LONGEST)} ({text(story.argument.source)})</p>\n"
    return f"{shows}<p>{text(verdict(story).capitalize())}{':' if said else '.'}</p>\n{summary}"


def _what_happened(story: Story) -> str:
    """Draw the known bug, the witness and the explanation, which are read before the diagram, at every width.

    Where there is room, the explanation stands beside the witness, so that the diagram is on the first screen. A phone
    has no such room. There it stays above the diagram: its sentences can be read at once, and the diagram, squeezed as
    it is, says little to somebody who has not read them. A run that breaks no property has neither, but something may
    be wrong with it; "" if nothing is.
    """
    facts = _listed([*_known(story), *(_noticed(story) if story.violation is None else ())])
    witness = _witness(story)
    explanation = f"<p>{text(' '.join(story.explanation))}</p>\n" if story.explanation else ""
    why = f'<div class="why">\n<div>{witness}</div>\n{explanation}</div>\n' if witness or explanation else ""
    if not facts and not why:
        return ""
    return f'<section aria-labelledby="why">\n<h2 id="why">What happened</h2>\n{facts}{why}</section>\n'


def _known(story: Story) -> Iterator[str]:
    if story.known:
        yield _fact("looks like", *story.known)


def _noticed(story: Story) -> Iterator[str]:
    for kind, lines in story.mismatch.facts if story.mismatch is not None else ():
        yield _fact(kind, *lines)
    for kind, what in story.noticed:
        yield _fact(kind, what, *servers_part(story.servers.get(kind)))


def _lost(loss: Loss) -> str:
    violation = loss.story.violation
    assert violation is not None
    steps = counted(len(loss.story.moments), "step", "steps")
    return (
        '<section aria-labelledby="loss">\n<h2 id="loss">What a user loses</h2>\n'
        f'<p>By the same bug <a href="{text(loss.file)}">{text(violation.property)} is violated</a> after {steps}: '
        f"{text(_brief(violation.summary), LONGEST)}.</p>\n</section>\n"
    )


def _nothing_lost(story: Story) -> str:
    """Draw the section of a run in which nothing but progress is lost; "" for any other."""
    if not stands_still(story):
        return ""
    return (
        f'<section aria-labelledby="loss">\n<h2 id="loss">What a user loses</h2>\n<p>{STANDS_STILL}</p>\n</section>\n'
    )


def _listed(facts: Sequence[str]) -> str:
    return f'<dl class="facts">\n{"".join(facts)}</dl>\n' if facts else ""


def _particulars(story: Story) -> str:
    """Draw what is known of the property, the bug and the run."""
    return (
        '<section aria-labelledby="particulars">\n<h2 id="particulars">Particulars</h2>\n'
        f"{_listed(list(_facts(story)))}</section>\n"
    )


def _witness(story: Story) -> str:
    items = []
    for event, label in labels_of(story.violation).items():
        step = story.step_of(event)
        where = (
            ""
            if step is None
            else f'<a href="#s{step}" data-step="{step}">{text(story.unit)} {story.place_of(event)}</a>: '
        )
        items.append(f'<li><span class="mark">{label}</span> {where}{text(_brief(sentence(event)))}</li>\n')
    witness = f'<ol class="witness-list" aria-label="Witness">\n{"".join(items)}</ol>\n' if items else ""
    return witness + _decided(story)


def _decided(story: Story) -> str:
    """Return the mark of the step that decided, with a link to it."""
    decision = decided(story)
    if decision is None or story.mismatch is not None:  # the summary says it
        return ""
    where = f'<a href="#s{decision.step}" data-step="{decision.step}">{text(story.unit)} {decision.step}</a>'
    what = text(_brief(decision.what), LONGEST)
    return f'<p class="witness-list"><span class="mark">{MARK}</span> {where} decides: {what}</p>\n'


def _brief(words: str) -> str:
    """Cut the middle out of long words: values that a user broadcasts may have any length."""
    return " ".join(cut(word, LONGEST_PIECE) for word in words.split(" "))


def _facts(story: Story) -> Iterator[str]:
    if story.violation is not None:
        paper = story.violation.source.startswith(PAPERS)
        yield _fact("the paper" if paper else "the rule", f"{story.violation.statement} ({story.violation.source})")
    if others := also_broken(story):
        yield _fact("also broken", *map(in_a_line, others))
    if story.decisive is not None:
        yield _fact("decisive", story.decisive.sentence)
    if story.shortened:
        yield _fact("shortened", story.shortened)
    if story.wrong is not None:
        yield _fact("planted", f"{story.mutant}: {story.wrong}")
    elif story.mutant is not None:
        yield _fact("planted", story.mutant)
    if story.violation is not None:
        yield from _noticed(story)
    if story.raised is not None:
        yield _fact("handling", f"{name(story.raised.process)}, {story.raised.stimulus}")
        if story.raised.traceback:
            yield _fact("traceback" if command_of(story.protocol) is None else "the node", *story.raised.traceback)
    size = [counted(story.processes, "process", "processes"), *story.settings]
    if story.unit == "step":  # a row of a trace may be several lines, and not all are shown
        size.append(counted(len(story.moments), "step", "steps"))
    yield _fact("run", ", ".join([story.protocol, *size]))


def _fact(term: str, *lines: str) -> str:
    return f"<dt>{text(term)}</dt><dd>{'<br/>'.join(map(text, lines))}</dd>\n"


def _threads(story: Story) -> str:
    """Draw the section on the threads that were held; "" if none was."""
    if not story.threads:
        return ""
    lines = "".join(
        f"<dt>{text(each.label)}</dt><dd>{text(each.head)}, {_stay(story, each)}. "
        f"{text(' '.join(f'{said[0].upper()}{said[1:]}.' for said in each.told), LONGEST_DONE)}</dd>\n"
        for each in story.threads
    )
    return (
        '<section aria-labelledby="threads">\n<h2 id="threads">Threads that were held</h2>\n'
        f'<dl class="facts">\n{lines}</dl>\n</section>\n'
    )


def _stay(story: Story, thread: HeldThread) -> str:
    """Name the steps from which to which a thread was held, with links."""
    since = "from the start" if thread.since is None else f"after {_link(story, thread.since)}"
    return since if thread.until is None else f"{since}, until {_link(story, thread.until)}"


def _link(story: Story, step: int) -> str:
    return f'<a href="#s{step}" data-step="{step}">{text(story.unit)} {step}</a>'


def _done(story: Story) -> str:
    """Draw the section on what was done to a real ensemble; "" for any other run."""
    if not story.done:
        return ""
    lines = "".join(f"<dt>{text(when)}</dt><dd>{text(what, LONGEST_DONE)}</dd>\n" for when, what in story.done)
    return (
        '<section aria-labelledby="done">\n<h2 id="done">What was done to the '
        f"{story.ensemble}</h2>\n<details><summary>{counted(len(story.done), 'thing', 'things')}, with the "
        f'seconds since the start</summary>\n<dl class="facts">\n{lines}</dl></details>\n</section>\n'
    )


# The run.


def _kinds(story: Story) -> Mapping[str, str]:
    """Return a class for each kind of message, in the order in which the kinds first occur."""
    return {kind: f"k{number}" for number, kind in enumerate(dict.fromkeys(flight.kind for flight in story.flights))}


def _filters(story: Story) -> str:
    return "".join(f".no-{each} .{each} {{ display: none; }}\n" for each in _kinds(story).values())


def _run(story: Story, labels: Labels) -> str:
    lanes, decision = diagram.lanes_of(story), decided(story)
    opened = decision.step if decision is not None else None
    boxes = "".join(
        f'<label><input type="checkbox" data-kind="{each}" checked="checked"/> {text(kind)}</label>\n'
        for kind, each in _kinds(story).items()
    )
    messages = f'<details class="filter"><summary>Messages shown</summary>\n{boxes}</details>\n' if boxes else ""
    to_witness = '<button type="button" id="witness">next of the witness</button>' if labels else ""
    drawn = diagram.draw(story, labels, _kinds(story))
    steps = "".join(step_row(moment, labels, moment.step == opened) for moment in story.moments)
    return f"""<section aria-labelledby="run">
<h2 id="run">The run</h2>
<div class="bar" role="group" aria-label="Move through the run">
<button type="button" id="first" aria-label="first {text(story.unit)}">|◀</button>
<button type="button" id="back" aria-label="back">◀</button>
<output id="where" aria-live="polite"></output>
<button type="button" id="next" aria-label="next">▶</button>
<button type="button" id="last" aria-label="last {text(story.unit)}">▶|</button>
{to_witness}
<span class="keys">keys: ← →, Home, End, w: witness, c: causal past, Esc: show all</span>
{messages}</div>
{signs(story)}<div class="run">
<div class="diagram" id="diagram" tabindex="0" role="region" aria-label="Space-time diagram">
<div class="heads">
{heads_of(lanes)}</div>
<svg class="lanes" xmlns="http://www.w3.org/2000/svg" width="{lanes.across}" height="{lanes.height}"
  viewBox="0 0 {lanes.across} {lanes.height}" preserveAspectRatio="none" aria-hidden="true">
{drawn}
</svg>
<ol class="steps">
{steps}</ol>
</div>
<div class="panel" role="region" aria-label="What the {text(story.unit)} did" tabindex="0">
<h3>This {text(story.unit)}</h3>
<div class="said" id="what" aria-live="polite"></div>
<p><button type="button" id="trace">Show its causal past</button>
<button type="button" id="forget" hidden="hidden">Show all</button> <span id="past" aria-live="polite"></span></p>
<h3 id="after">State after it</h3>
{_state(story)}
</div>
</div>
<details><summary>How to read it</summary>
<p>{_time(story)} Each process has a lane, dashed while it is down; a coloured band is an epoch (e1, e2, …) that it
takes part in. An arrow is a message, from where it was sent to where it was handled. A click on a point shows what
happened before it.{_legend(story)}</p></details>
</section>
"""


def heads_of(lanes: Lanes) -> str:
    """Draw the names of the processes, which stay above the diagram."""
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{lanes.across}" height="{HEAD}"
  viewBox="0 0 {lanes.across} {HEAD}" preserveAspectRatio="none" aria-hidden="true">
{diagram.heads(lanes)}
</svg>
"""


def _time(story: Story) -> str:
    """Return what it means that one row is below another."""
    if story.is_ordered:
        return "Time runs down."
    return "Down a lane time runs; of two processes nothing but their messages and deliveries tells which was earlier."


def _legend(story: Story) -> str:
    return f" Variables: {text('; '.join(meanings(story)))}." if story.legend else ""


def signs(story: Story) -> str:
    """Draw the legend: what the signs and marks mean."""
    decision = f", {MARK} in red: where that was decided" if decided(story) is not None else ""
    witness = f"; ringed: the witness{decision}" if story.violation is not None else ""
    witness += f"; {MARK} in red: what the model does not do" if story.mismatch is not None else ""
    threads = "; a line beside a lane (T1, …): a thread of the process that is held" if story.threads else ""
    return (
        '<p class="signs">▲ broadcasts, ■ delivers, ◆ ready, ✕ crash or loss, ○ recovery; '
        f"dashed: lost or never handled{threads}{witness}</p>\n"
    )


def _measures(lanes: Lanes) -> str:
    said = " ".join(f"--{name}: {value};" for name, value in measures(lanes).items())
    return f".run {{ {said} }}\n"


def measures(lanes: Lanes) -> dict[str, str]:
    """Return the measures of the diagram, by the names that the style sheet has for them."""
    wide = lanes.x(lanes.processes) + 16
    return {
        "columns": f"{lanes.processes}",
        "row": f"{ROW}px",
        "numbers": f"{NUMBERS}px",
        "across": f"{lanes.across}px",
        "squeeze": f"{min(1.0, PHONE_LANES / wide):.3f}",
        "phone-lanes": f"{min(PHONE_LANES, round(wide))}px",
        "tall": f"{lanes.height}px",
        "head": f"{HEAD}px",
    }


def step_row(moment: Moment, labels: Labels, is_decided: bool, more: str = "", beside: str = "") -> str:
    """Draw the row of a step, which is a button; `more` are further attributes of it.

    `beside` begins its text, as HTML.
    """
    said = []
    for process, piece in said_of(moment, labels):
        who = "" if process is None else f'<span class="phase">{name(process)}:</span>'
        mark = f" ◀{piece.label}" if piece.label else ""
        said.append(f'{who}<span class="{piece.tone}">{text(piece.text, LONGEST)}{mark}</span>')
    who = "" if moment.process is None else f'<span class="event">{name(moment.process)}</span>'
    marked = ' class="decided"' if is_decided else ""
    return (
        f'<li id="s{moment.step}"{marked}><button type="button" tabindex="-1"{more}>'
        f'<span class="n">{moment.step}</span>'
        f'<span class="said">{beside}{who}{" ".join(said)}</span></button></li>\n'
    )


def _state(story: Story) -> str:
    """Draw an empty table of the states; the script fills it in."""
    variables = list(dict.fromkeys(variable for state in states_of(story).values() for variable in state))

    def cell(process: int, variable: str) -> str:
        return f'<td data-of="{process} {text(clean(variable))}"></td>'

    table = state_table([*story.initial], variables, cell, ' id="state"')
    return f'<div class="scroll" role="group" aria-labelledby="after" tabindex="0">{table}</div>'


def state_table(
    processes: Sequence[int], variables: Sequence[str], cell: Callable[[int, str], str], more: str = ""
) -> str:
    """Draw a table of states: of few variables with a row for each process, of many with a row for each variable.

    `cell` draws a cell, and `more` are further attributes of the table.
    """
    names = [(each, text(each) or "does") for each in variables]
    ids = [(each, name(each)) for each in processes]
    is_turned = len(variables) <= MOST_COLUMNS
    columns: Sequence[tuple[int | str, str]] = names if is_turned else ids
    heads = "".join(f'<th scope="col">{head}</th>' for _, head in columns)
    if is_turned:
        rows = [(head, [cell(process, variable) for variable in variables]) for process, head in ids]
    else:
        rows = [(head, [cell(process, variable) for process in processes]) for variable, head in names]
    body = "".join(f'<tr><th scope="row">{head}</th>{"".join(cells)}</tr>\n' for head, cells in rows)
    turned = ' class="turned"' if is_turned else ""
    return f"<table{more}{turned}><thead><tr><td></td>{heads}</tr></thead>\n<tbody>\n{body}</tbody></table>"


# What comes before what, what was delivered, and how to do it again.


def _causality(story: Story) -> str:
    """Draw the graph of the witness, and the same in words."""
    if story.violation is None:
        return ""
    # networkx takes longer to import than most commands take.
    from zabcheck.counterexample.forms.graph_drawing import draw_graph, in_words
    from zabcheck.counterexample.witness_graph import graph_of

    graph = graph_of(story)
    words = "".join(f"<li>{text(line)}</li>\n" for line in in_words(graph, story))
    return (
        '<section aria-labelledby="causality">\n<h2 id="causality">What had to come before what</h2>\n'
        "<p>An arrow says that the one event PO-precedes the other (DSN 2011, III-B); a red one breaks the property, a "
        "dashed red one is missing.</p>\n"
        f'<figure role="group" aria-labelledby="causality" tabindex="0">\n{draw_graph(graph, story)}</figure>\n'
        f"<details><summary>In words</summary>\n<ul>\n{words}</ul></details>\n</section>\n"
    )


def _delivered(story: Story) -> str:
    """Draw the table of deliveries: a column for each incarnation, a row for each position."""
    table = table_of(story.delivered, story.violation)
    if not table.rows:
        return ""
    heads = "".join(f'<th scope="col">{name(*actor)}</th>' for actor in table.actors)
    rows = "".join(
        f'<tr><th scope="row"{_bad(row.is_wrong)}>{text(row.head)}</th>'
        + "".join(f"<td{_bad(cell.is_wrong)}>{text(cell.text)}{_mark(cell.label)}</td>" for cell in row.cells)
        + "</tr>\n"
        for row in table.rows
    )
    return (
        f'<section aria-labelledby="delivered">\n<h2 id="delivered">{text(table.title)}</h2>\n'
        '<div class="scroll" role="group" aria-labelledby="delivered" tabindex="0">'
        f"<table><thead><tr><td></td>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n</section>\n"
    )


def _bad(is_wrong: bool) -> str:
    return ' class="bad"' if is_wrong else ""


def _mark(label: str | None) -> str:
    return "" if label is None else f' <span class="mark">◀{label}</span>'


def _again(story: Story, file: str) -> str:
    parts = []
    if story.schedule:
        command = f"zabcheck replay {file}{option_of(story.protocol)}"
        parts.append(
            f"<p>Saved as <code>{text(file)}</code>; <code>{text(command)}</code> executes it again.</p>\n"
            + _to_copy("schedule", "Schedule", story.schedule.decode())
            + _to_copy("regression", "Regression test for pytest", regression_test(story))
        )
    if story.done and file:
        parts.append(f"<p>Saved as <code>{text(file)}</code>; {_done_again(story, file)}</p>\n")
    content = "".join(parts)
    again = (
        f'<section aria-labelledby="again">\n<h2 id="again">Run it again</h2>\n{content}</section>\n' if content else ""
    )
    return f"{again}<footer>trace SHA-256 {text(story.sha256)}</footer>\n"


def _done_again(story: Story, file: str) -> str:
    """Tell how to do the same to another real ensemble."""
    command = f"<code>zabcheck replay {text(file)}"
    clocks = "Servers have clocks and threads of their own, so it may take several times to show again."
    if story.simulated:
        return (
            f"{command}</code> does exactly the same again, and {command} --processes</code> does it to servers that "
            f"are processes. {clocks}"
        )
    return f"{command}</code> does it to another ensemble. {clocks}"


def _to_copy(name: str, title: str, content: str) -> str:
    """Draw `content` with a button that copies it; if it has to be cleaned to be shown, the exact text goes along."""
    shown = "\n".join(line if line.isprintable() else clean(line, longest=len(line)) for line in content.split("\n"))
    exact = f' data-exact="{escape(json.dumps(content))}"' if shown != content or shown[:1] == "\n" else ""
    return (
        f'<details><summary>{title}</summary>\n<p><button type="button" data-copy="{name}">Copy</button></p>\n'
        f'<pre id="{name}" tabindex="0"{exact}>{escape(shown)}</pre></details>\n'
    )

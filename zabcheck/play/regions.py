"""The regions of the page of `zabcheck play`, as HTML: what changes with each act. The page itself is in `page/`.

Every button has the act that it stands for, as JSON; the script of the page sends it on. A button of a choice that
cannot be made says why, and is announced as disabled; it keeps its place among those that are reached by the keyboard.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby, pairwise
from types import MappingProxyType

import msgspec

from zabcheck.counterexample.forms import diagram
from zabcheck.counterexample.forms.decided import decided
from zabcheck.counterexample.forms.lanes import Lanes
from zabcheck.counterexample.forms.page import measures, signs, state_table, step_row, verdict
from zabcheck.counterexample.pieces import DELIVERED, also_broken, in_a_line, labels_by_step, meanings
from zabcheck.counterexample.story import Story, states_after
from zabcheck.invariants import Deliver, Verdict, Violation
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.play.ahead import Here, Offer, look
from zabcheck.play.chances import STEPS, TRIES_TO_BREAK
from zabcheck.play.desk import (
    SERVED,
    Act,
    Answer,
    Ask,
    Beside,
    Compare,
    Continue,
    Curve,
    Desk,
    Do,
    Exercise,
    Go,
    Redo,
    Said,
    Undo,
    parting,
)
from zabcheck.play.holdings import delivered_at, on_disk
from zabcheck.play.naming import ROUND, named_at, typed
from zabcheck.play.session import Position, Session
from zabcheck.search.recording import variables_of
from zabcheck.simulation.choices import Choice, Lead, Settle
from zabcheck.text.html import text
from zabcheck.text.words import counted, cut, name

LONGEST_VALUE = 60
"""The longest value of a variable that is shown whole, in characters."""
MOST_ENTRIES = 8
"""The most entries of a history that are shown."""
FEW = 3
"""The most violated properties that are named beside a run."""
MOST_COMPARED = 40
"""The most choices that are shown of each of two runs after they part."""

MOST_ALIKE = 4
"""The most choices of one kind that a menu shows unfolded."""


def regions(desk: Desk) -> dict[str, str]:
    """Return the content of each region of the page, by its id. Some 50 ms with five processes."""
    session = desk.session
    here = look(session)
    story = here.story
    link, sha256 = desk.link()
    return {
        "title": text(desk.heading),
        "exercise": "" if desk.exercise is None else _exercise(desk.exercise, session.here),
        "verdict": _verdict(session, story),
        "branches": _branches(desk),
        "bar": _bar(session),
        "picture": _picture(here, desk),
        "servers": _layer(desk),
        "menus": _menus(here, desk.exercise),
        "whole": "".join(_button(offer) for offer in here.ahead.whole),
        "state": state(story, on_disk(session, session.here), delivered_at(session, session.here)),
        "properties": properties(story.verdicts, session.here.breaks),
        "compared": "" if desk.compared is None else _beside(session, desk.compared),
        "ask": _questions(session) + _asks_servers(desk, link),
        "answer": _answer(session, desk.answer),
        "link": f"<code>{text(link, len(link))}</code>",
        "hash": f"trace SHA-256 <code>{sha256}</code>",
        "again": text(desk.command(link), len(link) + 999),
    }


def act_of(act: Act) -> str:
    """Return the attribute of a button that stands for an act."""
    return f' data-act="{escape(msgspec.json.encode(act).decode())}"'


def _button(offer: Offer, more: str = "") -> str:
    if offer.why_not:
        return (
            f'<button type="button" aria-disabled="true"{more}>{text(offer.words)} '
            f"<small>{text(offer.why_not)}</small></button>\n"
        )
    title = f' title="{text(offer.more)}"' if offer.more else ""
    return f'<button type="button"{act_of(Do(offer.choice))}{title}{more}>{text(offer.words)}</button>\n'


def _exercise(exercise: Exercise, here: Position) -> str:
    done = "" if not exercise.task else f"<p>Still to do: {text('; '.join(exercise.left(here)))}.</p>"
    if exercise.is_done(here):
        button = f'<button type="button" id="next-lesson"{act_of(Continue())}>Next lesson</button>'
        after = text(exercise.after) if exercise.following is None else button
        done = f"<p><strong>Done.</strong> {text(exercise.why)} {after}</p>"
    way = "".join(_way(choice, number) for number, choice in enumerate(exercise.hint))
    hint = f'<details id="way"><summary>A way to do it</summary><ol>{way}</ol></details>' if way else ""
    return f"""<section aria-labelledby="exercise-title" class="exercise">
<h2 id="exercise-title" tabindex="-1">{text(exercise.title)}</h2>
{_paragraph("<small>", exercise.source, "</small>")}{_paragraph("", exercise.teaches)}
{_paragraph("Predict: ", exercise.question)}{_paragraph("<strong>Then do: ", exercise.task, "</strong>")}
{hint}
<div role="status" aria-label="The step">{_paragraph("Step ", exercise.said_at(here))}</div>
<div role="status" aria-label="The task">{done}</div></section>"""


def _way(choice: Choice, number: int) -> str:
    offer = Offer(choice, typed(choice), more=ROUND if isinstance(choice, Settle) else "")
    id = f' id="way-{number}"'
    return f"<li>{_button(offer, id)}</li>"


def _paragraph(before: str, words: str, after: str = "") -> str:
    return f"<p>{before}{text(words, len(words))}{after}</p>" if words else ""


# What happened.


def _verdict(session: Session, story: Story) -> str:
    here = session.here
    if here.raised is not None:
        return (
            f'<p class="summary bad">{text(verdict(story))}</p><p>{text(str(here.raised))}. '
            "No property is judged in such a run. Going back takes it up before that step.</p>"
        )
    if story.violation is None:
        return '<p class="summary fine">no property is violated</p>'
    new = story.violation.property in here.breaks
    since = "" if new else " since an earlier step"
    said = f"<p>{text(' '.join(story.explanation))}</p>" if story.explanation else ""
    paper = f"<p><small>{text(story.violation.statement)} ({text(story.violation.source)})</small></p>"
    more = also(also_broken(story))
    summary = f"{verdict(story)}{since}: {story.violation.summary}."
    return f'<p class="summary bad">{text(summary)}</p>{said}{more}{paper}'


def also(others: Sequence[Violation]) -> str:
    """Draw further violations: their properties, and opened a line for each; "" if there are none."""
    if not others:
        return ""
    lines = "".join(f"<li>{text(in_a_line(each))}</li>" for each in others)
    names = ", ".join(each.property for each in others)
    return f'<details id="also"><summary>Violated, too: {text(names)}</summary><ul>{lines}</ul></details>'


def _bar(session: Session) -> str:
    here = session.here
    steps = sum(len(each.steps) for each in here.path)
    where = f"after {counted(steps, 'step', 'steps')}: {named_at(here)}"
    return bar(where, here.before is not None, here.latest is not None, "◀ undo", "redo ▶")


def bar(where: str, is_after: bool, is_before: bool, back: str, onward: str) -> str:
    """Draw the buttons that move through a run. `is_after`: some of it is before here; `is_before`: some is after."""
    moves: tuple[tuple[str, str, Act, bool], ...] = (
        ("first", "|◀", Go(0), is_after),
        ("back", back, Undo(), is_after),
        ("next", onward, Redo(), is_before),
        ("last", "▶|", Go(), is_before),
    )
    labels = {"first": "to the beginning", "last": "to the end of this run"}
    buttons = "".join(
        f'<button type="button" id="{name}" aria-disabled="{"false" if possible else "true"}"{act_of(act)}'
        f'{f""" aria-label="{labels[name]}" """ if name in labels else ""}>{sign}</button>\n'
        for name, sign, act, possible in moves
    )
    return f'{buttons}<span id="where">{text(where)}</span>'


def _layer(desk: Desk) -> str:
    """Draw what servers did beside the last choice, and below that what came of it all; "" without a layer."""
    layer = desk.layer_at(desk.session.here)
    if layer is None:
        return ""
    unknown = (
        "they have not done this: they can be asked below" if desk.servers is not None else "nothing is known here"
    )
    lines = layer.said_at(desk.session.here) or [unknown]
    items = "".join(f"<li>{text(line)}</li>" for line in lines)
    ends = "".join(f"<li>{text(line, len(line))}</li>" for line in layer.result())
    return f"""<h3>Meanwhile: {text(layer.title)}</h3><ul>{items}</ul>
<details><summary>What came of it</summary><ul>{ends}</ul></details>"""


def _picture(here: Here, desk: Desk) -> str:
    story, ahead = here.story, here.ahead
    labels = labels_by_step(story)
    nexts = [each for each, _ in ahead.nexts]
    lanes = diagram.lanes_of(story, nexts)
    offers = "".join(_next_row(offer, number) for number, (_, offer) in enumerate(ahead.nexts))
    if not ahead.nexts:
        nothing = "no process has anything to do: elections and faults are above the lanes"
        offers = f'<li class="next"><span class="n"></span><span class="said">{nothing}</span></li>'
    drawn = diagram.draw(story, labels, {}, nexts)
    numbers = {step: position.number for step, position in here.positions.items()}
    layers = {step: desk.layer_at(at) for step, at in here.positions.items()}
    beside = {step: _mark(layer.mark(here.positions[step])) for step, layer in layers.items() if layer is not None}
    below = f'<ol class="steps nexts" aria-label="Steps that may come next">\n{offers}</ol>\n'
    below += _further(ahead.waiting)
    earlier = story.moments[0].step - 1 if story.moments else 0
    return picture(story, lanes, drawn, numbers, _heads(lanes), earlier, below, beside)


def _further(offers: Sequence[Offer]) -> str:
    """Draw the number of messages that wait and have no row; it opens a list of them."""
    if not offers:
        return ""
    items = "".join(f"<li>{text(offer.words)} <small>{text(offer.why_not)}</small></li>" for offer in offers)
    messages = counted(len(offers), "further message", "further messages")
    return (
        f'<details class="further"><summary>{messages} under way, not to be handled yet</summary>'
        f"<ul>{items}</ul></details>\n"
    )


def _mark(sign: str) -> str:
    kind = "txn" if sign == "=" else "lost"
    return f'<span class="{kind}">{sign} servers</span> ' if sign else ""


def picture(
    story: Story,
    lanes: Lanes,
    drawn: str,
    numbers: Mapping[int, int],
    heads: str,
    earlier: int = 0,
    below: str = "",
    beside: Mapping[int, str] = MappingProxyType({}),
) -> str:
    """Draw the diagram `drawn` beside the rows of its steps, each a button that goes to the position of its number.

    `earlier` rows come before those of the story. `below` comes after the rows, and `beside` begins the text of a
    step's, both as HTML.
    """
    labels, decision = labels_by_step(story), decided(story)
    rows = "".join(
        step_row(
            moment,
            labels,
            decision is not None and moment.step == decision.step,
            act_of(Go(numbers[moment.step])),
            beside.get(moment.step, ""),
        )
        for moment in story.moments
    )
    style = " ".join(f"--{name}: {value};" for name, value in measures(lanes).items())
    before = f'<p class="signs">Not drawn: {counted(earlier, "earlier row", "earlier rows")}</p>\n' if earlier else ""
    return f"""{before}<div class="inner" style="{style}">
<div class="heads">{heads}</div>
<div class="drawn">
<svg class="lanes" xmlns="http://www.w3.org/2000/svg" width="{lanes.across}" height="{lanes.height}"
  viewBox="0 0 {lanes.across} {lanes.height}" preserveAspectRatio="none" aria-hidden="true">
{drawn}
</svg>
<ol class="steps" aria-label="Steps">
{rows}</ol>
{below}</div>
</div>
{signs(story)}"""


def _next_row(offer: Offer, number: int) -> str:
    why = f' <span class="phase">{text(offer.why_not)}</span>' if offer.why_not else ""
    act = ' aria-disabled="true"' if offer.why_not else act_of(Do(offer.choice))
    return (
        f'<li class="next{" impossible" if offer.why_not else ""}"><button type="button" id="next-{number}"{act}>'
        f'<span class="n">{"" if offer.why_not else "▸"}</span><span class="said">{text(offer.words)}{why}</span>'
        "</button></li>\n"
    )


def _heads(lanes: Lanes) -> str:
    """Draw the buttons above the lanes, and between them: each opens a menu."""
    menus = [
        f'<button type="button" class="lane-menu" popovertarget="at-{process}" style="--x: {lanes.x(process):g}px" '
        f'aria-label="p{process}: elections and faults">p{process} ▾</button>'
        for process in range(1, lanes.processes + 1)
    ]
    links = [
        f'<button type="button" class="link-menu" popovertarget="between-{process}" '
        f'style="--x: {(lanes.x(process) + lanes.x(process + 1)) / 2:g}px" title="cut links" '
        f'aria-label="links between p{process} and p{process + 1}">⇄</button>'
        for process in range(1, lanes.processes)
    ]
    return "".join((*menus, *links))


def _menus(here: Here, exercise: Exercise | None) -> str:
    menus = {f"at-{process}": (name(process), offers) for process, offers in here.ahead.at.items()}
    for process, offers in here.ahead.between.items():
        menus[f"between-{process}"] = (f"links between p{process} and p{process + 1}", offers)
    return "".join(_menu(id, title, offers, exercise) for id, (title, offers) in menus.items())


def _menu(id: str, title: str, offers: Sequence[Offer], exercise: Exercise | None) -> str:
    """Draw a menu; in a lesson, what it does not need is behind one line."""
    first = [offer for offer in offers if exercise is None or exercise.is_needed(offer.choice)]
    items = _grouped(first)
    if rest := [offer for offer in offers if offer not in first]:
        items += f"<li><details><summary>all choices</summary><ul>{_grouped(rest)}</ul></details></li>"
    items = items or "<li>nothing</li>"
    return f'<div popover="auto" id="{id}" class="menu"><h3>{text(title)}</h3><ul>{items}</ul></div>\n'


def _grouped(offers: Sequence[Offer]) -> str:
    groups = [list(group) for _, group in groupby(offers, lambda offer: type(offer.choice))]
    return "".join(_offered(group) + _followers(group[0]) for group in groups)


def _followers(offer: Offer) -> str:
    """Draw the choice of those who follow a leader; "" unless it is an election that others can be left out of."""
    if not isinstance(offer.choice, Lead) or offer.why_not or not offer.choice.followers:
        return ""
    leader = offer.choice.leader
    boxes = "".join(
        f'<label><input type="checkbox" value="{each}"/> {name(each)}</label>\n' for each in offer.choice.followers
    )
    return (
        f"<li><fieldset><legend>or only some follow p{leader}</legend>{boxes}"
        f'<button type="button" data-lead="{leader}">p{leader} leads these</button></fieldset></li>'
    )


def _offered(offers: Sequence[Offer]) -> str:
    """Draw choices of one kind; if they are many, the first of them with their number, which opens them all."""
    items = "".join(f"<li>{_button(offer)}</li>" for offer in offers)
    if len(offers) <= MOST_ALIKE:
        return items
    first, last = text(offers[0].words), text(offers[-1].words)
    return f"<li><details><summary>{len(offers)} × {first} … {last}</summary><ul>{items}</ul></details></li>"


def state(
    story: Story,
    kept: Mapping[int, Mapping[str, str | tuple[str, ...]]] = MappingProxyType({}),
    deliveries: Mapping[int, tuple[str, ...]] = MappingProxyType({}),
) -> str:
    """Draw the table of the variables of each process; what the last step changed is marked.

    `kept` has the values on the disk where they are others, and `deliveries` what each process has delivered.
    """
    last = len(story.moments) - 1
    states = states_after(story, last)
    changed = {
        (process, change.variable)
        for process, changes in (story.moments[last].changes.items() if story.moments else ())
        for change in changes
    }
    if story.moments:
        changed |= {(event.process, DELIVERED) for event in story.moments[last].shown if isinstance(event, Deliver)}
    states = {
        process: {**variables, **({DELIVERED: deliveries[process]} if process in deliveries else {})}
        for process, variables in states.items()
    }
    legend = f"<p><small>{text('; '.join(meanings(story)))}</small></p>" if story.legend else ""
    return _table(states, changed, kept) + legend


def _table(
    states: Mapping[int, Mapping[str, str | tuple[str, ...]]],
    marked: set[tuple[int, str]],
    kept: Mapping[int, Mapping[str, str | tuple[str, ...]]],
) -> str:
    variables = list(dict.fromkeys(variable for state in states.values() for variable in state))

    def cell(process: int, variable: str) -> str:
        on_disk = _disk(kept[process][variable]) if variable in kept.get(process, ()) else ""
        changed = _changed((process, variable) in marked)
        return f"<td{changed}>{_value(states[process].get(variable, ''))}{on_disk}</td>"

    return state_table([*states], variables, cell, f' style="--columns: {len(states)}"')


def _disk(value: str | tuple[str, ...]) -> str:
    """Draw the mark of a value that is not on the disk yet, with the value that is."""
    return f' <small class="unsynced">on disk: {_value(_plain(value))}</small>'


def _value(value: str | tuple[str, ...]) -> str:
    if isinstance(value, str):
        return text(cut(value, LONGEST_VALUE))
    if not value:
        return "empty"
    more = f"… {len(value) - MOST_ENTRIES} more " if len(value) > MOST_ENTRIES else ""
    return text(more + " ".join(cut(each, LONGEST_VALUE) for each in value[-MOST_ENTRIES:]))


_RANK = {"violated": 0, "holds": 1, "inconclusive": 2, "not exercised": 3}


def properties(verdicts: Iterable[Verdict], breaks: Sequence[str] = ()) -> str:
    """Draw a list of verdicts, the violated properties first. The last step `breaks` these."""
    items = []
    for each in sorted(verdicts, key=lambda verdict: _RANK.get(verdict.status, 2)):
        new = " in the last step" if each.property in breaks else ""
        items.append(
            f'<li class="{each.status.replace(" ", "-")}">{text(each.property)}: {text(each.status)}{new}</li>\n'
        )
    return f"<ul>{''.join(items)}</ul>"


# Other runs.


def _branches(desk: Desk) -> str:
    """Draw the tree of what was tried: a line for each run, by where it parts from one before it."""
    session = desk.session
    on_path, seen, items = {*map(id, session.here.path)}, set[int](), []
    for leaf in session.branches():
        path = leaf.path
        own = [position for position in path if id(position) not in seen]
        first = own[0] if own else leaf
        depth = 0 if first.before is None else 1 + sum(len(each.after) > 1 for each in first.path[:-2])
        title = f"parts after {named_at(first.before)}: {named_at(first)}" if first.before is not None else "first run"
        seen |= {id(position) for position in path}
        is_here = id(leaf) in on_path or (session.here in path and session.here.latest in path)
        here = ' aria-current="true"' if is_here or leaf is session.here else ""
        broken = f"{_few(leaf.broken)} violated" if leaf.broken else "nothing violated"
        said = "the code raised" if leaf.raised is not None else broken
        bad = ' class="bad"' if leaf.broken or leaf.raised is not None else ""
        steps = counted(sum(len(each.steps) for each in path), "step", "steps")
        compare = ""
        if len(session.positions) > 1 and session.here not in path:
            compare = (
                f'<button type="button"{act_of(Compare(leaf.number))} aria-label="compare with here: {text(title)}">'
            )
            compare += "compare</button>"
        items.append(
            f'<li style="--depth: {min(depth, 6)}"><button type="button"{here}{act_of(Go(leaf.number))}>{text(title)}'
            f"</button> <span{bad}>{steps}, {text(said)}</span> {compare}</li>\n"
        )
    return f"<ol>{''.join(items)}</ol>"


def _few(broken: Sequence[str]) -> str:
    """Return the first of these properties, and the number of the others if there are many."""
    more = len(broken) - FEW
    return ", ".join(broken[:FEW]) + (f" and {more} more" if more > 0 else "")


def _beside(session: Session, beside: Beside) -> str:
    """Lay two runs side by side: the choices from where they part, and the variables that differ at their ends."""
    one, other = beside.here.path, beside.other.path
    same = parting(one, other)
    left, right = one[same : same + MOST_COMPARED], other[same : same + MOST_COMPARED]
    rows = []
    for number in range(max(len(left), len(right))):
        cells = "".join(_compared(run[number] if number < len(run) else None, number == 0) for run in (left, right))
        rows.append(f'<tr><th scope="row">{same + number}</th>{cells}</tr>\n')
    further = [max(0, len(run) - same - MOST_COMPARED) for run in (one, other)]
    if any(further):
        cells = "".join(f"<td>{f'… {number} more' if number else ''}</td>" for number in further)
        rows.append(f"<tr><td></td>{cells}</tr>\n")
    choices = (
        f'<table><thead><tr><th scope="col">choice</th><th scope="col">here</th><th scope="col">{text(beside.title)}'
        f"</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
        if rows
        else "<p>Both have the same choices.</p>"
    )
    scroll = f'<div class="scroll" role="group" aria-label="Choices compared" tabindex="0">{choices}</div>'
    same_choices = counted(same - 1, "choice is", "choices are")
    return f"""<h3>Here, and {text(beside.title)}</h3>
<p>The first {same_choices} the same. Here {text(_ended(beside.here))}; there {text(_ended(beside.other))}.</p>
{scroll}
{_differing(session, beside)}
<p><button type="button"{act_of(Compare())}>close</button></p>"""


def _ended(position: Position) -> str:
    if position.raised is not None:
        return "the protocol's own code raised"
    return f"{', '.join(position.broken)} violated" if position.broken else "nothing is violated"


def _compared(position: Position | None, is_first: bool) -> str:
    """Draw a choice of one of two runs; where they part it is marked."""
    if position is None:
        return "<td>the run ends</td>" if is_first else "<td></td>"
    new = f" <strong>{text(', '.join(position.breaks))} violated</strong>" if position.breaks else ""
    return f"<td{_changed(is_first)}>{text(named_at(position))}{new}</td>"


def _changed(is_changed: bool) -> str:
    return ' class="changed"' if is_changed else ""


def _differing(session: Session, beside: Beside) -> str:
    """Draw the variables whose values differ: where those of two runs do first, and at their ends."""
    ends, first = (beside.here, beside.other), ""
    if beside.apart is not None and beside.apart != ends:
        here = beside.apart[0]
        first = _differ(session, beside, beside.apart, f"First, after choice {here.depth} ({text(named_at(here))}),")
    return f"{first}\n{_differ(session, beside, ends, 'At their ends' if first else 'In the end')}"


def _differ(session: Session, beside: Beside, at: tuple[Position, Position], when: str) -> str:
    """Draw the variables whose values differ between two positions, one of each run; `when` is HTML."""
    one, other = variables_of(session.simulator_at(at[0])), variables_of(beside.session.simulator_at(at[1]))
    title = beside.title
    rows = []
    for process in one:
        mine, theirs = (each[process] or {"": "down"} for each in (one, other))
        for variable in dict.fromkeys((*mine, *theirs)):
            values = [_value(_plain(each.get(variable, ""))) for each in (mine, theirs)]
            if values[0] != values[1]:
                cells = "".join(f'<td class="changed">{value}</td>' for value in values)
                rows.append(f'<tr><th scope="row">{name(process)} {text(variable) or "does"}</th>{cells}</tr>\n')
    if not rows:
        return f"<p>{when}: every process has the same variables in both.</p>"
    heads = f'<th scope="col">variable</th><th scope="col">here</th><th scope="col">{text(title)}</th>'
    return (
        f'<p>{when} these variables differ:</p>\n<div class="scroll" role="group" aria-label="{when}" tabindex="0">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _plain(value: str | tuple[str, ...]) -> str | tuple[str, ...]:
    return str(value) if isinstance(value, str) else value


# Questions.


def _questions(session: Session) -> str:
    protocol = session.protocol
    names = _options(session.properties, next(iter(session.here.broken), ""))
    if protocol.mutant is not None:
        twin = (
            f'<button type="button"{act_of(Ask("right step"))}>What if {text(protocol.mutant)} were not there?</button>'
        )
    else:
        bugs = [bug for bug, mutant in CATALOGUE.items() if mutant.protocol == protocol.name] or list(protocol.bugs)
        twin = _chosen("right step", "bug", "What if this bug were there?", _options(bugs, "")) if bugs else ""
    return f"""<p>{twin}</p>
<p><button type="button"{act_of(Ask("violation"))}>Is there a violation from here?</button>
<small>{TRIES_TO_BREAK:,} random continuations of some {STEPS} steps; the shortest becomes a branch</small></p>
<p><button type="button"{act_of(Ask("decided"))}>Which step decided?</button></p>
<p>{_chosen("chances", "property", "How likely from each step?", names)}</p>"""


def _asks_servers(desk: Desk, link: str) -> str:
    """Draw the question to servers; without any, the command that has some, if the run is one for them."""
    if desk.servers is not None:
        button = f'<button type="button"{act_of(Ask("servers"))}>What do {text(desk.servers.title)} do?</button>'
        return f"<p>{button} <small>they do the run up to here; what they did is then beside each step</small></p>"
    if desk.session.protocol.name != SERVED:
        return ""
    command = f"{desk.command(link)} --on-zookeeper --simulated"
    return (
        '<details id="of-servers"><summary>What would real servers do?</summary>\n<p>This command asks '
        "simulated servers, without its last option processes:</p>\n"
        f'<p class="link"><code>{text(command, len(command))}</code></p></details>'
    )


def _options(names: Iterable[str], chosen: str) -> str:
    return "".join(
        f'<option{" selected" if each == chosen else ""} value="{text(each)}">{text(each)}</option>' for each in names
    )


def _chosen(question: str, what: str, words: str, options: str) -> str:
    """Draw a question about something that is chosen from a list."""
    id = question.replace(" ", "-")
    return (
        f'<button type="button" data-ask="{question}" data-with="{id}">{words}</button> '
        f'<label for="{id}">{what}</label> <select id="{id}">{options}</select>'
    )


def _answer(session: Session, answer: Answer | None) -> str:
    match answer:
        case Said(words):
            return f"<p>{text(words)}</p>"
        case Curve():
            return _curve(answer)
        case Beside():
            return _beside(session, answer)
        case _:
            return ""


BAR = 12
"""The width of a bar of the curve, in pixels."""
HIGH = 100


def _curve(curve: Curve) -> str:
    """Draw a bar for each position, and the same as a list."""
    bars, jump = [], _jump(curve)
    for place, (position, number) in enumerate(curve.found):
        height = max(1.0, HIGH * number / curve.tries)
        kind = "bar jump" if position is jump else "bar"
        bars.append(
            f'<rect class="{kind}" x="{place * BAR + 1}" y="{HIGH - height:g}" width="{BAR - 2}" height="{height:g}"/>'
        )
    wide = len(curve.found) * BAR
    rows = "".join(
        f"<li>{number} of {curve.tries} after {text(named_at(position))}</li>" for position, number in curve.found
    )
    where = "" if jump is None else f" It jumps at <em>{text(named_at(jump))}</em>."
    said = f"How many of {curve.tries} random continuations from each position break {text(curve.property)}.{where}"
    return f"""<p>{said}</p>
<div class="scroll" role="group" aria-label="The curve" tabindex="0"><svg class="curve" width="{wide}" height="{HIGH}"
  viewBox="0 0 {wide} {HIGH}" aria-hidden="true">{"".join(bars)}</svg></div>
<details><summary>In numbers</summary><ol start="0">{rows}</ol></details>"""


def _jump(curve: Curve) -> Position | None:
    """Return where the number rises most; None if it nowhere rises by a tenth of the tries."""
    rises = [
        (number - before, -place, position)
        for place, ((_, before), (position, number)) in enumerate(pairwise(curve.found))
    ]
    most = max(rises, default=None, key=lambda each: each[:2])
    return most[2] if most is not None and most[0] * 10 >= curve.tries else None

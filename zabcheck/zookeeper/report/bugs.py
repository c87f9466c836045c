"""The report on executions of the catalogue's schedules: which bugs a version has, for a terminal and as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from zabcheck.text.words import as_text, clean
from zabcheck.zookeeper.bugs.catalogue import Bug, Count
from zabcheck.zookeeper.bugs.executed import Executions

NOT_EXECUTED = "–"


def affected(bug: Bug) -> str:
    """Return the versions that have a bug by ZooKeeper's sources, as text."""
    return spans(bug.known.affected)


def spans(affected: Sequence[tuple[str, str | None]]) -> str:
    """Return spans of versions as text: each from a first one to before the one in which the bug is fixed."""
    return "; ".join(f"{first} on" if cured is None else f"{first} to before {cured}" for first, cured in affected)


def title(bug: Bug) -> str:
    """Return the bug in a sentence, with the issue if the bug is not called by its number."""
    known = bug.known
    said = known.title
    issue = f" ({known.key})" if known.has_number and bug.name not in (known.name, *known.others) else ""
    return f"{said[0].upper()}{said[1:]}{issue}."


def render(executed: Sequence[Executions]) -> RenderableType:
    """Render a row for each bug with a column for each version, then advice for an operator on those that showed."""
    versions = dict.fromkeys(each.zookeeper for each in executed)
    bugs = {each.bug.name: each.bug for each in executed}
    cells = {(each.bug.name, each.zookeeper): each for each in executed}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("bug", *versions, "versions that have it, by the sources"):
        table.add_column(column)
    for name, bug in bugs.items():
        row = [cells.get((name, version)) for version in versions]
        table.add_row(name, *(Text(NOT_EXECUTED) if each is None else _cell(each) for each in row), affected(bug))
    notes = [note for each in executed for note in _notes(each)]
    shown = [bug for name, bug in bugs.items() if any(each.shown for each in executed if each.bug.name == name)]
    parts: list[RenderableType] = [table]
    if notes:
        parts += ["", *notes]
    for bug in shown:
        parts += _answers(bug)
    return Group(*parts)


def beside_expected(executed: Sequence[Executions], drawn: Mapping[str, str] | None = None) -> RenderableType:
    """Render a row for each bug, for one version: if it is known to have the bug, and how often it showed it.

    `drawn` says for a known issue how many drawn runs show it; None if that is not asked.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in (*_titles(executed), *([] if drawn is None else [DRAWN])):
        table.add_column(column)
    for each in executed:
        cell = _cell(each)
        cell.style = "bold red" if each.shown and not each.expected else ""
        table.add_row(each.bug.name, "yes" if each.expected else "no", cell, *_drawn(each, drawn))
    notes = [note for each in executed if each.cannot or each.undone for note in _notes(each)]
    if missing := not_shown(executed):
        notes.append(Text(missing, "yellow"))
    return Group(table, "", *notes) if notes else table


def not_shown(executed: Sequence[Executions]) -> str:
    """Say which bugs of this version are not shown, though the release always shows them; "" if there are none."""
    names = [each.bug.name for each in executed if each.is_missing]
    if not names:
        return ""
    them = "it" if len(names) == 1 else "them"
    return (
        f"not shown, though {executed[0].zookeeper} without a patch always shows {them}: {', '.join(names)}; the patch "
        f"repairs {them}, or servers do something else before"
    )


def markdown(executed: Sequence[Executions], drawn: Mapping[str, str] | None = None) -> str:
    """Render the same as Markdown, with a sentence on each bug: for a pull request."""
    first, *others = _titles(executed)
    columns = [first, "what is wrong", *others, *([] if drawn is None else [DRAWN])]
    lines = ["### Known bugs of ZooKeeper", "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for each in executed:
        cells = [each.bug.name, title(each.bug), "yes" if each.expected else "no", str(_cell(each))]
        lines.append(f"| {' | '.join([*cells, *_drawn(each, drawn)])} |")
    if missing := not_shown(executed):
        lines += ["", missing[0].upper() + missing[1:] + "."]
    return "\n".join(lines) + "\n"


DRAWN = "drawn runs that show it"


def _titles(executed: Sequence[Executions]) -> tuple[str, ...]:
    return "bug", *(f"{each.zookeeper} has it" for each in executed[:1]), "shown"


def _drawn(executed: Executions, drawn: Mapping[str, str] | None) -> list[str]:
    return [] if drawn is None else [drawn.get(executed.bug.known.name, NOT_EXECUTED)]


def _cell(executed: Executions) -> Text:
    if not executed.times:
        return Text(NOT_EXECUTED)
    return Text(f"{executed.shown} of {executed.times}", "bold red" if executed.shown else "")


def _notes(executed: Executions) -> list[Text]:
    """Return notes on an execution: the reason for a missing count, and other faults."""
    head = f"{executed.bug.name} with {executed.zookeeper}"
    said = []
    if executed.cannot:
        said.append(Text(f"{head} is not executed: {executed.cannot}", "yellow"))
    if executed.partial:
        said.append(Text(f"{head}: {executed.partial} not recorded to the end: {executed.error}", "yellow"))
    if executed.wrong:
        wrong = ", ".join(f"{name} in {runs}" for name, runs in executed.wrong.items())
        said.append(Text(f"{head}: where it was not shown, something else is wrong: {wrong}", "yellow"))
    for each in executed.undone:
        what = clean(f"choice {each.number}, {each.text}: {each.note}")
        said.append(Text(f"{head}: where it was not shown, {what}", "yellow"))
    return said


def listed(bugs: Sequence[Bug], version: str | None) -> RenderableType:
    """Render bugs with the answers to an operator's questions; the counts are those of releases near `version`."""
    return Group(*(part for bug in bugs for part in _answers(bug, version, known=True)), "")


def _answers(bug: Bug, version: str | None = None, known: bool = False) -> tuple[RenderableType, ...]:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_row("happens when", Text(bug.trigger))
    table.add_row("what is lost", Text(bug.lost))
    table.add_row("workaround", Text(bug.remedy.replace("`", "")))
    if bug.known.code:
        table.add_row("in the code", ", ".join(bug.known.code))
    if known:
        table.add_row("by the sources", affected(bug))
        table.add_row("executed", ", ".join(map(_count, _near(bug.counts, version))) or "not in this release line")
    return "", Text.assemble((bug.name, "bold"), f": {bug.known.title}"), table


def _near(counts: Sequence[Count], version: str | None) -> list[Count]:
    """Choose the counts of this version; without any those of its release line (3.8); all if no version is given."""
    line = ".".join((version or "").split(".")[:2])
    near = [each for each in counts if version is None or each.zookeeper.startswith(f"{line}.")]
    return [each for each in near if each.zookeeper == version] or near


def _count(count: Count) -> str:
    servers = ", simulated" if count.simulated else ""
    return f"{count.shown} of {count.times} ({count.zookeeper}{servers})"


def as_json(executed: Sequence[Executions]) -> dict[str, Any]:
    """Return the fields of the JSON form."""
    bugs = {each.bug.name: each.bug for each in executed}
    return {
        "bugs": [
            {**_fields(bug), "executed": [_counts(each) for each in executed if each.bug.name == name]}
            for name, bug in bugs.items()
        ]
    }


def listed_as_json(bugs: Sequence[Bug], version: str | None) -> list[dict[str, Any]]:
    """Return the JSON form of bugs of which nothing is executed; `counted` are all executions that were kept."""
    spans = [bug.known.span(version) if version is not None else None for bug in bugs]
    return [
        {
            **_fields(bug),
            "repaired": span[1] if span is not None else None,
            "counted": [each._asdict() for each in bug.counts],
        }
        for bug, span in zip(bugs, spans, strict=True)
    ]


def _fields(bug: Bug) -> dict[str, Any]:
    return {
        "bug": bug.name,
        "others": bug.others,
        "title": bug.known.title,
        "finds": bug.finds,
        "trigger": bug.trigger,
        "lost": bug.lost,
        "remedy": bug.remedy,
        "code": bug.known.code,
        "affected": [{"first": first, "cured": cured} for first, cured in bug.known.affected],
    }


def _counts(executed: Executions) -> dict[str, Any]:
    return {
        "zookeeper": executed.zookeeper,
        "expected": executed.expected,
        "times": executed.times,
        "shown": executed.shown,
        "partial": executed.partial,
        "wrong": dict(executed.wrong),
        "error": executed.error,
        "cannot": executed.cannot,
        "kept": executed.kept and as_text(executed.kept),
        "undone": [
            {"choice": each.number, "what": each.text, "why": each.note, "idle": each.idle} for each in executed.undone
        ],
    }

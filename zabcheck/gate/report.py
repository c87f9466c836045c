"""What a gate found, for those who have to decide: a table, Markdown, JUnit XML, and annotations of GitHub Actions."""

import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from zabcheck.gate.checks import GateReport, Outcome, Status
from zabcheck.search.report.matrix import markdown as matrix
from zabcheck.text.words import clean, counted

STYLES: dict[Status, str] = {"passed": "green", "failed": "bold red", "inconclusive": "yellow", "error": "bold red"}

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ROOM = 800_000
"""Bytes for all counterexamples in Markdown: GitHub shows no summary of more than a mebibyte."""


def verdict(report: GateReport) -> Status:
    """Of the whole gate: the worst."""
    order: tuple[Status, ...] = ("error", "failed", "inconclusive")
    return next((status for status in order if report.of(status)), "passed")


def render(report: GateReport) -> RenderableType:
    """For a terminal: a line a suite, and below it one for each that did not pass."""
    parts: list[RenderableType] = []
    for suite in dict.fromkeys(each.suite for each in report.outcomes):
        outcomes = [each for each in report.outcomes if each.suite == suite]
        passed = sum(each.status == "passed" for each in outcomes)
        style = STYLES["passed"] if passed == len(outcomes) else ""
        parts.append(Text.assemble((clean(suite), "bold"), ": ", (f"{passed} of {len(outcomes)} passed", style)))
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column()
        table.add_column(no_wrap=True)
        for each in outcomes:
            if each.status != "passed":
                said = Text.assemble((clean(each.name), "bold"), f": {clean(each.message)}")
                table.add_row("", Text(each.status, STYLES[each.status]), said)
        if table.row_count:
            parts.append(table)
    return Group(*parts, "", Text(totals(report), STYLES[verdict(report)]))


def totals(report: GateReport) -> str:
    """The last line."""
    passed, runs, steps = len(report.of("passed")), report.runs, report.steps
    done = f"{counted(runs, 'run', 'runs')}, {counted(steps, 'step', 'steps')}, {report.seconds:.1f} CPU seconds"
    return f"gate {verdict(report)}: {passed} of {len(report.outcomes)} passed, {done}"


def markdown(report: GateReport, properties: Sequence[str]) -> str:
    """For a pull request, or the summary of a job."""
    lines = [f"## zabcheck: {verdict(report)}", "", totals(report), ""]
    bad = report.of("failed", "error", "inconclusive")
    if bad:
        lines += ["| what | | verdict | |", "|---|---|---|---|"]
        lines += [
            f"| {_cell(each.suite)} | {_cell(each.name)} | {each.status} | {_cell(each.message)} |" for each in bad
        ]
        lines.append("")
    room = _ROOM
    for each in bad:
        if each.detail:
            detail = each.detail.replace("```", "'''").rstrip()
            room -= len(detail.encode(errors="replace"))
            shown = detail if room >= 0 else "left out: it is too long for a summary"
            lines += [f"<details><summary>{_cell(each.message)}</summary>", "", "```text", shown, "```", ""]
            lines += [*(f"`{_code(file)}`  " for file in each.files), "", "</details>", ""]
    if report.kills:
        lines += ["### Known bugs", "", matrix(report.kills, properties)]
    return "\n".join(lines).rstrip() + "\n"


def _cell(text: str) -> str:
    """Text in a cell of a table: no line ends in it, and nothing that Markdown or HTML would take for its own."""
    text = clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return " ".join(text.replace("|", "\\|").split())


def _code(text: str) -> str:
    """Text between backticks."""
    return clean(text).replace("`", "'")


def junit(report: GateReport) -> bytes:
    """JUnit XML, as CI systems read it. What is inconclusive is an error there: never a pass, and never skipped."""
    root = ElementTree.Element("testsuites", _counts(report.outcomes) | {"name": "zabcheck"})
    for suite in dict.fromkeys(each.suite for each in report.outcomes):
        outcomes = [each for each in report.outcomes if each.suite == suite]
        element = ElementTree.SubElement(root, "testsuite", _counts(outcomes) | {"name": _xml(suite)})
        for each in outcomes:
            case = {"classname": _xml(f"zabcheck.{suite}"), "name": _xml(each.name), "time": f"{each.seconds:.3f}"}
            test = ElementTree.SubElement(element, "testcase", case)
            if each.status != "passed":
                kind = "failure" if each.status == "failed" else "error"
                child = ElementTree.SubElement(test, kind, {"type": each.status, "message": _xml(each.message)})
                child.text = _xml("\n".join(part for part in (each.detail, *each.files) if part))
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _counts(outcomes: Sequence[Outcome]) -> dict[str, str]:
    return {
        "tests": str(len(outcomes)),
        "failures": str(sum(each.status == "failed" for each in outcomes)),
        "errors": str(sum(each.status in ("error", "inconclusive") for each in outcomes)),
        "time": f"{sum(each.seconds for each in outcomes):.3f}",
    }


def _xml(text: str) -> str:
    """Without what XML 1.0 cannot hold."""
    return _NOT_XML.sub("\ufffd", text)


def annotations(report: GateReport) -> Iterator[str]:
    """Commands to GitHub Actions, one a line, that show what did not pass beside the change."""
    for each in report.of("failed", "error", "inconclusive"):
        level = "warning" if each.status == "inconclusive" else "error"
        title = _escaped(f"zabcheck: {each.suite}, {each.name}").replace(":", "%3A").replace(",", "%2C")
        yield f"::{level} title={title}::{_escaped(each.message)}"


def _escaped(text: str) -> str:
    return clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

"""The result of a gate, in four forms: a table, Markdown, JUnit XML, and annotations for GitHub Actions."""

import re
from collections.abc import Iterator, Sequence
from html import escape
from xml.etree import ElementTree

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from zabcheck.gate.checks import GateReport, Outcome, Status
from zabcheck.search.report.matrix import markdown as matrix
from zabcheck.text.words import clean

STYLES: dict[Status, str] = {"passed": "green", "failed": "bold red", "inconclusive": "yellow", "error": "bold red"}

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ROOM = 800_000
"""The most bytes for all counterexamples in Markdown: GitHub shows no summary of more than a mebibyte."""


def verdict(report: GateReport) -> Status:
    """Return the worst status of all outcomes."""
    order: tuple[Status, ...] = ("error", "failed", "inconclusive")
    return next((status for status in order if report.of(status)), "passed")


def render(report: GateReport) -> RenderableType:
    """Render for a terminal: a line for each suite, and below it a line for each outcome that is not "passed"."""
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
                line = Text.assemble((clean(each.name), "bold"), f": {clean(each.message)}")
                table.add_row("", Text(each.status, STYLES[each.status]), line)
        if table.row_count:
            parts.append(table)
    return Group(*parts)


def totals(report: GateReport) -> str:
    """Return the result of the gate in one line."""
    return f"gate {verdict(report)}: {len(report.of('passed'))} of {len(report.outcomes)} passed, {report.done}"


def markdown(report: GateReport, properties: Sequence[str]) -> str:
    """Render as Markdown, for a pull request or the summary of a job."""
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
            summary = f"<summary><code>{escape(clean(each.message))}</code></summary>"
            lines += [f"<details>{summary}", "", "```text", shown, "```", ""]
            lines += [*(f"`{_code(file)}`  " for file in each.files), "", "</details>", ""]
    if report.kills:
        lines += ["### Known bugs", "", matrix(report.kills, properties)]
    return "\n".join(lines).rstrip() + "\n"


def _cell(text: str) -> str:
    """Return text for a table cell, as code: no link, no mention, no other Markdown, and not the end of the cell."""
    return f"`{_code(text)}`".replace("|", r"\x7c") if text else ""


def _code(text: str) -> str:
    """Return text to put between backticks."""
    return clean(text).replace("`", "'")


def junit(report: GateReport) -> bytes:
    """Render as JUnit XML for CI systems. Inconclusive outcomes are errors there, neither passed nor skipped."""
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
    """Replace the characters that XML 1.0 cannot hold."""
    return _NOT_XML.sub("\ufffd", text)


def annotations(report: GateReport) -> Iterator[str]:
    """Yield the commands to GitHub Actions, one a line, that show beside the change what did not pass."""
    for each in report.of("failed", "error", "inconclusive"):
        level = "warning" if each.status == "inconclusive" else "error"
        title = _escaped(f"zabcheck: {each.suite}, {each.name}").replace(":", "%3A").replace(",", "%2C")
        yield f"::{level} title={title}::{_escaped(each.message)}"


def _escaped(text: str) -> str:
    return clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

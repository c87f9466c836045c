"""The report of a gate, as CI systems read it: values in it come from users' code and may hold anything."""

import re
from io import StringIO
from xml.etree import ElementTree

import pytest
from rich.console import Console

from invariants import PROPERTIES
from zabcheck.gate import report
from zabcheck.gate.checks import GateReport, Outcome, Status
from zabcheck.gate.report import annotations, junit, markdown, render, totals, verdict
from zabcheck.search.hunt import MutantSummary, Spread

EVIL = "a]]>b<&>\"'|\n\r\x00\x1b[2J\u202e\ud800 ::error::%0A, `x` <details> [l](http://evil) @all \\| www.evil.org"
STATUSES: tuple[Status, ...] = ("passed", "failed", "inconclusive", "error")
ONE = Spread(1, 1, 1)
KILL = MutantSummary("no-truncation", 1, 1, {"total order": 1}, ONE, ONE, ONE, ONE, ONE)


def report_of(*outcomes: Outcome, kills: tuple[MutantSummary, ...] = ()) -> GateReport:
    return GateReport(outcomes, kills, 1200, 34_000, 5.678)


def of_status(*statuses: Status) -> GateReport:
    return report_of(*(Outcome("zab", f"{status} {i}", status, f"it is {status}") for i, status in enumerate(statuses)))


EVIL_REPORT = report_of(
    *(Outcome(f"mine:{EVIL}", EVIL, status, EVIL, EVIL * 3, 0.5, (EVIL,)) for status in STATUSES), kills=(KILL,)
)


def text(found: GateReport, width: int = 80) -> str:
    console = Console(file=StringIO(), width=width)
    console.print(render(found), crop=False)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("statuses", "worst"),
    [
        (("passed", "passed"), "passed"),
        (("passed", "inconclusive"), "inconclusive"),
        (("inconclusive", "failed", "passed"), "failed"),
        (("failed", "error", "inconclusive"), "error"),
    ],
)
def test_the_worst_counts(statuses: tuple[Status, ...], worst: Status) -> None:
    assert verdict(of_status(*statuses)) == worst


def test_the_last_line_tells_the_totals() -> None:
    assert totals(of_status("passed", "failed")) == (
        "gate failed: 1 of 2 passed, 1,200 runs, 34,000 steps, 5.7 CPU seconds"
    )


# A terminal.


def test_what_did_not_pass_has_a_line_and_what_did_is_counted() -> None:
    assert [line.rstrip() for line in text(of_status("passed", "inconclusive", "passed")).splitlines()] == [
        "zab: 2 of 3 passed",
        "  inconclusive  inconclusive 1: it is inconclusive",
    ]


def test_all_of_it_is_summed_up_in_a_line() -> None:
    said = totals(of_status("passed", "inconclusive", "passed"))
    assert said == "gate inconclusive: 2 of 3 passed, 1,200 runs, 34,000 steps, 5.7 CPU seconds"


def test_on_a_terminal_nothing_moves_the_cursor_or_is_cut_off() -> None:
    out = text(EVIL_REPORT)
    assert not {"\x1b", "\r", "\x00", "\u202e", "\ud800", "…"} & {*out}
    assert max(map(len, out.splitlines())) <= 80
    long = text(report_of(Outcome("zab", "seed 1", "failed", f"{'word ' * 90}end")))
    assert max(map(len, long.splitlines())) <= 80
    assert (long.count("word"), long.count("end")) == (90, 1)


# JUnit XML.


def test_junit_counts_and_names_each_outcome() -> None:
    root = ElementTree.fromstring(junit(of_status(*STATUSES)))
    assert (root.tag, root.attrib["tests"], root.attrib["failures"], root.attrib["errors"]) == (
        "testsuites",
        "4",
        "1",
        "2",
    )
    [suite] = root
    cases = {case.attrib["name"]: [(child.tag, child.attrib["type"]) for child in case] for case in suite}
    assert cases == {
        "passed 0": [],
        "failed 1": [("failure", "failed")],
        "inconclusive 2": [("error", "inconclusive")],
        "error 3": [("error", "error")],
    }
    assert {case.attrib["classname"] for case in suite} == {"zabcheck.zab"}


def test_junit_is_well_formed_whatever_a_value_holds() -> None:
    root = ElementTree.fromstring(junit(EVIL_REPORT))
    [failure] = root.iter("failure")
    said = "a]]>b<&>\"'|\n"
    assert failure.attrib["message"].startswith(said)
    assert failure.text is not None
    assert failure.text.startswith(said)
    assert "\ufffd[2J\u202e\ufffd ::error::" in failure.text


def test_junit_holds_the_counterexample_and_its_files() -> None:
    outcome = Outcome("zab", "seed 1", "failed", "it broke", "line 1\nline 2\n", 1.5, ("a.json", "b.txt"))
    [case] = ElementTree.fromstring(junit(report_of(outcome))).iter("testcase")
    assert case.attrib["time"] == "1.500"
    assert case[0].text == "line 1\nline 2\n\na.json\nb.txt"


# Markdown.


def test_in_markdown_a_pass_is_one_line_of_totals() -> None:
    found = of_status("passed")
    assert markdown(found, [*PROPERTIES]) == f"## zabcheck: passed\n\n{totals(found)}\n"


def test_in_markdown_each_cell_stays_in_its_cell() -> None:
    lines = markdown(EVIL_REPORT, [*PROPERTIES]).splitlines()
    start = lines.index("|---|---|---|---|")
    rows = lines[start + 1 : start + 4]
    for row in rows:
        assert re.fullmatch(r"\| `[^`|]+` \| `[^`|]+` \| \w+ \| `[^`|]+` \|", row)  # in code nothing is a link
        assert "b<&>" in row
        assert row.isprintable()
    assert lines[start + 4] == ""


def test_in_markdown_a_counterexample_is_folded_and_cannot_end_its_block() -> None:
    outcome = Outcome("zab", "seed 1", "failed", "it <broke>", "one\n```\ntwo\n", files=("a.json",))
    out = markdown(report_of(outcome, kills=(KILL,)), [*PROPERTIES])
    folded = "```text\none\n'''\ntwo\n```\n\n`a.json`  \n\n</details>\n"
    assert f"<details><summary><code>it &lt;broke&gt;</code></summary>\n\n{folded}" in out
    assert "### Known bugs\n\n| mutant | found | total order |" in out


def test_in_markdown_a_file_cannot_end_its_code() -> None:
    outcome = Outcome("zab", "seed 1", "failed", "it broke", "text", files=("a`<b>`.json",))
    assert "\n`a'<b>'.json`  \n" in markdown(report_of(outcome), [])


def test_in_markdown_a_counterexample_is_not_longer_than_github_shows() -> None:
    outcome = Outcome("zab", "seed 1", "failed", "it broke", "⟨" * 100_000)
    out = markdown(report_of(*[outcome] * 30), [])
    assert 600_000 < len(out.encode()) < 2**20
    assert out.count("<details>") == out.count("</details>") == 30
    assert out.count("left out: it is too long for a summary") == 28


# Annotations.


def test_an_annotation_is_one_command_whatever_a_value_holds() -> None:
    lines = [*annotations(EVIL_REPORT)]
    assert [line.partition(" ")[0] for line in lines] == ["::error", "::warning", "::error"]
    for line in lines:
        assert line.isprintable()
        title = line.partition(" title=")[2].partition("::")[0]
        assert not {":", ","} & {*title}
        assert "%250A" in line
        assert line.isascii()


def test_a_pass_has_no_annotation() -> None:
    assert [*annotations(of_status("passed", "inconclusive"))] == [
        "::warning title=zabcheck%3A zab%2C inconclusive 1::it is inconclusive"
    ]


def test_each_status_has_a_style() -> None:
    assert {*report.STYLES} == {*STATUSES}

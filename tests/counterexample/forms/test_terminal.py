"""A counterexample in a terminal: its looks, and that nothing in it can do more than be read."""

import re
import subprocess
import sys
from io import BytesIO, TextIOWrapper

import pytest
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console

from invariants import Broadcast, Deliver, Restore, Txn, Violation, Zxid, check
from tests.counterexample.stories import WIDTHS, broken, golden_file, golden_story, scheduled
from tests.invariants.builders import A, B, broadcasts, deliveries, whole
from tests.text.consoles import InAscii
from tests.tiers import sweep
from zabcheck.cli.tables import render_catalogue, render_verdicts
from zabcheck.counterexample.explain import explain
from zabcheck.counterexample.forms.deliveries import Delivered, draw_delivered
from zabcheck.counterexample.forms.terminal import render, render_violation, to_text
from zabcheck.counterexample.story import Story
from zabcheck.protocols.switches import LETTER
from zabcheck.search.run import schedule_of
from zabcheck.simulation.choices import Crash, Elect, Lead, Recover, Request, Settle
from zabcheck.text.pen import Drawing, text_of

EVIL = "\x1b[31m\x07[red]v[/red]\r\n\u202e\u2028\x9b"


def lines(text: str) -> list[str]:
    return text.splitlines()


def steps_section(text: str) -> str:
    return text[text.index("\nSteps") : text.index("\nDelivered")]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_output_is_what_it_was(width: int) -> None:
    """If the change is intended: see tests/counterexample/stories.py."""
    assert to_text(golden_story(), width) == golden_file(width).read_text(encoding="utf-8")


def test_it_can_be_read_at_a_glance() -> None:
    """Beside the steps there are less than 40 lines, and a step takes little more than one."""
    text = to_text(golden_story(), 80)
    steps = len(lines(steps_section(text)))
    assert len(lines(text)) - steps < 40
    assert steps < 1.3 * len(golden_story().moments)


def test_it_says_what_went_wrong_and_how_to_see_it_again() -> None:
    story = golden_story()
    assert story.violation is not None
    text = " ".join(to_text(story, 100, file="a b.json").split())
    for part in (
        "primary integrity is violated",
        story.violation.summary,
        *story.explanation,
        "(DSN 2011, III-A)",
        "no-truncation: a follower keeps the transactions that the initial history does not have (step f.2.1)",
        "zabcheck replay a b.json",
        f"{len(story.moments)} steps",
        story.sha256[:16],
    ):
        assert part in text


@pytest.mark.parametrize("processes", sweep((3, 5, 7), normal=(7,)))
@pytest.mark.parametrize("width", sweep((60, 80, 100, 160, 250, 400), normal=(60, 250)))
@pytest.mark.parametrize("ascii_only", [False, True])
def test_no_line_is_wider_than_the_terminal(processes: int, width: int, ascii_only: bool) -> None:
    for value in ("x", EVIL, "漢字" * 50, "long" * 300):
        drawn = render(broken(processes, value))
        text = text_of(InAscii(drawn) if ascii_only else drawn, width)
        assert max(map(cell_len, lines(text))) <= width


@pytest.mark.parametrize("processes", [3, 5, 7])
@pytest.mark.parametrize("width", [60, 80, 160, 400])
def test_every_step_can_be_found_and_every_event_of_the_witness_is_marked(processes: int, width: int) -> None:
    story = broken(processes)
    assert story.violation is not None
    text = to_text(story, width)
    section = steps_section(text)
    numbers = {int(number) for number in re.findall(r"(?:^| ) *(\d+) ", section, re.MULTILINE)}
    assert numbers >= {moment.step for moment in story.moments}
    for number, _ in enumerate(story.violation.witness, 1):
        assert section.count(f"◀W{number}") == 1
    assert "\nWitness" not in text


def test_what_no_step_shows_of_the_witness_is_listed() -> None:
    story = broken(3)
    assert story.violation is not None
    snapshot = Deliver(3, 1, Txn(Zxid(1, 1), "v1"))
    told = replace(story, violation=replace(story.violation, witness=(*story.violation.witness, snapshot)))
    assert "\nWitness\n◀W4  p3 (incarnation 1) delivers v1⟨1,1⟩\n" in to_text(told, 100)


def test_time_flows_down_and_a_message_arrives_below_where_it_was_sent() -> None:
    story = golden_story()
    numbers = [
        int(number) for number in re.findall(r"^ *(\d+)  [p·]", steps_section(to_text(story, 160)), re.MULTILINE)
    ]
    assert numbers == sorted(numbers)
    at = {step: sum(number <= step for number in numbers) for step in range(1, len(story.moments) + 1)}
    for flight in story.flights:
        assert flight.sent is not None
        if flight.received is not None:
            assert at[flight.received] > at[flight.sent]


def test_there_is_a_lane_for_each_process_where_there_is_room() -> None:
    assert re.search(r"^ 2  ·  p2 ·   oracle: follow p1 ", to_text(golden_story(), 80), re.MULTILINE)
    assert re.search(r"^  2  p2  oracle: follow p1 ", to_text(broken(7), 60), re.MULTILINE)


def test_steps_of_a_process_in_a_row_share_a_line_if_they_fit() -> None:
    assert re.search(r"^ 3  p1 .* 4 disk: sync$", to_text(golden_story(), 160), re.MULTILINE)
    assert not re.search(r"^ 3  p1 .* 4 disk", to_text(golden_story(), 60), re.MULTILINE)


def test_a_step_of_several_processes_takes_one_line() -> None:
    story = explain(schedule_of("zab", None, 3, (Lead(1, (2,)),), switches=replace(LETTER, elections="together")))
    line = "1  p1 p2  oracles: p1 leads p2  → p1 CEPOCH(0) from p2  [discovery]\n"
    assert f"\n{line}" in to_text(story, 100)


def test_only_signs_and_variables_that_occur_are_explained() -> None:
    text = to_text(explain(schedule_of("zab", None, 3, (Elect(1, 1),))), 200)
    [legend] = re.findall(r"^Steps.*$", text, re.MULTILINE)
    assert "[phase]" in legend
    assert not re.search("received|sent|lost|added|f.p|h_f", legend)


def test_only_what_changed_is_shown() -> None:
    text = to_text(golden_story(), 160)
    assert text.count("h_f +v1⟨1,1⟩") == 1
    assert text.count("f.p ⊥→1") == 2  # p1 and p2


def test_faults_are_shown() -> None:
    text = to_text(broken(3), 80)
    for part in (
        "cut p1 → p2",
        "every link healed",
        "crash",
        "recover  [election]",
        "connection with p2 reset",
    ):
        assert part in text
    assert "× p1→p2 PROPOSE(v1⟨1,1⟩)" in to_text(golden_story(), 80)


def test_a_crash_shows_what_it_cost_when_the_process_is_back() -> None:
    choices = (Lead(1, (1, 2, 3)), Settle(6), Request(1, "x"), Crash(1), Recover(1))
    text = to_text(explain(schedule_of("zab", None, 3, choices)), 100)
    assert "crash  loses 1 unsynced write" in text
    assert "recover  [election]  h_f −x⟨1,1⟩" in text


# Values are the users'.


@pytest.mark.parametrize("width", WIDTHS)
def test_a_value_is_text_and_nothing_else(width: int) -> None:
    text = to_text(broken(3, EVIL), width)
    assert all(character.isprintable() or character == "\n" for character in text)
    joined = "".join(text.split())
    assert r"\x1b[31m\x07[red]v[/red]\r\n\u202e\u2028\x9b⟨1,1⟩" in joined


def test_markup_in_a_value_is_neither_obeyed_nor_dropped() -> None:
    violation = Violation("[bold]p[/]", "[red]s", "[link=x]y", "[green]z[/nothing]", (Deliver(1, 0, txn("[/]")),))
    text = text_of(render_violation(violation), 100) + deliveries_of([(1, 0, (txn("[/]"),))], violation)
    for part in ("[bold]p[/]", "[red]s", "[link=x]y", "[green]z[/nothing]", "delivers [/]⟨1,1⟩"):
        assert part in text
    verdicts = check(whole([Deliver(1, 0, txn("[red]\x1b"))]))
    assert r"p1 delivered [red]\x1b⟨1,1⟩, which nobody broadcast" in text_of(render_verdicts(verdicts), 160)
    assert "[red]x" in text_of(render_catalogue({"[red]x": {"[/]": ("[b]", ":smile:")}}), 80)


def txn(value: str) -> Txn:
    return Txn(Zxid(1, 1), value)


def test_a_long_value_does_not_fill_the_screen() -> None:
    assert len(to_text(broken(3, "v" * 100_000), 80)) < 2 * len(to_text(broken(3), 80))


# Colour and characters.


def test_without_colour_there_is_no_escape_and_with_colour_the_same_text() -> None:
    plain, coloured = to_text(golden_story(), 100), to_text(golden_story(), 100, color=True)
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    stripped = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert [line.rstrip() for line in lines(stripped)] == lines(plain)


@pytest.mark.parametrize(
    ("variable", "value"), [("NO_COLOR", "1"), ("FORCE_COLOR", "1"), ("TERM", "dumb"), ("COLUMNS", "40")]
)
def test_the_environment_has_no_say_in_a_text(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [to_text(golden_story(), 90, color) for color in (False, True)]
    monkeypatch.setenv(variable, value)
    assert [to_text(golden_story(), 90, color) for color in (False, True)] == before


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_fallback_is_pure_ascii(width: int) -> None:
    assert text_of(InAscii(render(golden_story())), width).isascii()
    text = text_of(InAscii(render(broken(5, "é漢😀"))), width)
    assert text.isascii()
    assert "_|_->1" in text
    assert r"\xe9\u6f22\U0001f600" in "".join(text.split())
    assert "<<W1" in text


def test_a_console_that_cannot_encode_the_notation_falls_back_by_itself() -> None:
    out = BytesIO()
    console = Console(file=TextIOWrapper(out, encoding="ascii"), width=100)
    console.print(render(golden_story()))
    console.print(render_verdicts(golden_story().verdicts))
    console.file.flush()
    assert out.getvalue().decode("ascii").startswith("primary integrity is violated")


# Who delivered what.


def deliveries_of(delivered: Delivered, violation: Violation) -> str:
    return text_of(Drawing(lambda pen: draw_delivered(pen, delivered, violation)), 80)


def delivered_section(text: str) -> list[str]:
    return lines(text[text.index("Delivered") :])


def test_the_first_difference_and_what_is_missing_are_marked() -> None:
    [agreement] = check(whole([*broadcasts(1, 1, A, B), *deliveries(1, A), *deliveries(2, B)]), ["agreement"])
    assert agreement.violation is not None
    text = deliveries_of([(1, 0, (A,)), (2, 0, (B,))], agreement.violation)
    assert delivered_section(text) == [
        "Delivered  p1         │ p2",
        "≠ 1        a⟨1,1⟩ ◀W1 │ b⟨1,2⟩ ◀W2",
        "never      b⟨1,2⟩     │ a⟨1,1⟩",
    ]


def test_a_snapshot_of_what_nobody_delivered_is_no_delivery() -> None:
    text = to_text(scheduled("redeliver-with-gap.integrity"))
    assert text.startswith("integrity is violated\n")
    assert "\nDelivered" not in text


def test_long_sequences_are_shown_where_they_matter() -> None:
    txns = tuple(Txn(Zxid(1, counter), "v") for counter in range(1, 1001))
    other = Txn(Zxid(1, 500), "other")
    violation = Violation("total order", "s", "DSN", "z", (Deliver(2, 0, other),))
    text = deliveries_of([(1, 0, txns), (2, 0, (*txns[:499], other))], violation)
    section = delivered_section(text)
    assert len(section) < 20
    assert any(re.match(r"≠ 500 +v⟨1,500⟩ +│ other⟨1,500⟩ ◀W1$", line) for line in section)


def test_more_incarnations_than_fit_are_shown_below_each_other() -> None:
    delivered = [(process, incarnation, (A, B)) for process in range(1, 8) for incarnation in range(3)]
    text = deliveries_of(delivered, Violation("p", "s", "d", "z", ()))
    assert max(map(cell_len, lines(text))) <= 80
    for process in range(1, 8):
        assert f"p{process} (incarnation 2)" in text


# Without a schedule.


def test_a_violation_of_a_trace_is_shown_without_steps() -> None:
    [verdict] = check(whole([Deliver(2, 3, A)]), ["integrity"])
    assert verdict.violation is not None
    text = text_of(render_violation(verdict.violation), 80)
    assert "integrity is violated\np2 delivered a⟨1,1⟩, which nobody broadcast.\n" in text
    assert "◀W1  p2 (incarnation 3) delivers a⟨1,1⟩\n" in text
    assert "step" not in text
    assert "Delivered" not in text


def test_any_event_can_be_a_witness() -> None:
    events = (Broadcast(1, 0, 1, A), Restore(2, 1, Zxid(1, 1), 1, 7))
    text = text_of(render_violation(Violation("p", "s", "d", "z", events)), 80)
    assert "◀W1  p1 broadcasts a⟨1,1⟩ in epoch 1\n" in text
    assert "◀W2  p2 (incarnation 1) takes over a snapshot up to ⟨1,1⟩\n" in text


def test_a_run_that_broke_nothing_can_be_drawn_too() -> None:
    story = Story("zab", None, 3, 0, b"{}", None, "0" * 64, (), None, (), ())
    assert to_text(story).startswith("no property is violated\n")


def test_the_verdicts_are_a_line_each() -> None:
    verdicts = check(whole([*broadcasts(1, 1, A), *deliveries(1, A, B)]), ["integrity", "agreement"])
    assert lines(text_of(render_verdicts(verdicts), 100)) == [
        "property   verdict        judged  what broke it",
        "integrity  violated            2  p1 delivered b⟨1,2⟩, which nobody broadcast",
        "agreement  not exercised       0",
    ]


def test_a_report_needs_neither_the_simulator_nor_a_protocol() -> None:
    program = """
import sys
import zabcheck.counterexample.forms.terminal
found = [m for m in sys.modules if m.startswith(("zabcheck.s", "zabcheck.p", "zabcheck.m", "hypothesis"))]
assert not found, found
"""
    subprocess.run([sys.executable, "-c", program], check=True)

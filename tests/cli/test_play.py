"""`zabcheck play`: a run that one goes on with in the terminal."""

import re
from pathlib import Path

import pytest
from msgspec import structs

from tests.cli.command import BROKEN_SCHEDULE, ROOT
from tests.cli.conftest import Command
from tests.tiers import sweep
from zabcheck.cli.play import NAMES, choice_of
from zabcheck.papers.lessons import LESSONS
from zabcheck.play.link import link_of
from zabcheck.play.reading import Reading
from zabcheck.play.regions import regions
from zabcheck.play.server import Server
from zabcheck.search.run import replay
from zabcheck.simulation import choices
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import Choice

BUG = ("play", "--mutant", "commit-on-own-ack", "--processes", "3")


def test_a_bug_is_found_by_hand_and_undone(zabcheck: Command) -> None:
    lines = b"lead 1 2 3\nsettle 9\nrequest\nrequest 1\nsync 1\nr\nb\nt\n"
    result = zabcheck(*BUG, stdin=lines)
    assert result.code == 0
    said = result.out
    assert "expected request PROCESS [VALUE]; ? request says more" in said
    assert "p1 delivered v1⟨1,1⟩, which only p1 had accepted in epoch 1: no quorum" in said
    assert "without commit-on-own-ack:" in said
    assert "it breaks nothing" in said
    tree = said[said.index("  0 the beginning") :].splitlines()[:5]
    assert tree == [
        "  0 the beginning",
        "  1 lead 1 2 3",
        "  2 settle 9",
        "→ 3 request 1",
        "  4 sync 1: chosen is violated",
    ]
    assert said.splitlines()[-1].startswith("PASS: nothing is violated")


def test_the_options_are_numbered_and_a_number_chooses_one(zabcheck: Command) -> None:
    said = zabcheck(*BUG, stdin=b"1\n1\n").out
    assert "    1 oracles: p1 leads p2 p3" in said
    assert "    1 p1 ← p2 CEPOCH(0)" in said
    assert "step 4 of 4: p1\n← p2 CEPOCH(0)" in said


def test_a_choice_that_sends_and_handles_a_message_is_told_before_it_is_made(zabcheck: Command) -> None:
    result = zabcheck(*BUG, stdin=b"elect 1 1\nelect 2 1\nquiesce\n")
    assert "    19 leave it alone until nothing is left to be done\n" in result.out
    assert result.out.splitlines()[-1].startswith("PASS: ")


def test_enter_goes_through_a_saved_run_and_another_way_parts_from_it(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(BROKEN_SCHEDULE)
    steps = len(schedules.load(BROKEN_SCHEDULE, "run").choices)
    through = zabcheck("play", "run.json", stdin=b"\n" * steps)
    assert through.code == 1
    assert "primary integrity is violated" in through.out
    assert through.out.splitlines()[-1].startswith("FAIL: ")
    other = zabcheck("play", "run.json", stdin=b"\n\ncrash 1\nt\ng 1\nf\n\n\n")
    assert f"→   {steps + 1} crash 1" in other.out
    assert "step 3 of 3" in other.out


def test_the_run_of_a_scenario_can_go_another_way(zabcheck: Command) -> None:
    said = zabcheck("play", "--scenario", "zab-joining", stdin=b"\n\ncrash 2\nt\n").out
    assert "PROPOSE(a⟨1,1⟩)" not in said
    assert "crash 2" in said[said.index("  0 the beginning") :]


def test_a_run_is_saved_and_played_again(zabcheck: Command, tmp_path: Path) -> None:
    result = zabcheck(*BUG, stdin=b"lead 1 2 3\nsettle 9\nrequest 1\nsync 1\ns mine.json\nq\ncrash 1\n")
    assert "wrote mine.json" in result.out
    assert result.code == 1
    schedule = schedules.load((tmp_path / "mine.json").read_bytes(), "mine.json")
    assert schedule.violates == "chosen"
    assert "chosen" in [v.property for v in replay(schedule).verdicts if v.status == "violated"]
    assert zabcheck("replay", "mine.json").code == 1


@pytest.mark.slow
def test_a_run_goes_on_from_a_link_with_the_same_trace(zabcheck: Command) -> None:
    link, told = zabcheck(*BUG, stdin=b"lead 1 2 3\nsettle 9\nrequest 1\nsync 1\nl\nq\n").out.splitlines()[-4:-2]
    for written in (link, f"http://127.0.0.1:1/#{link}"):
        result = zabcheck("play", written, stdin=b"\n" * 23 + b"l\n")
        assert [link, told] == result.out.splitlines()[-4:-2]
        assert result.out.splitlines()[-1].startswith("FAIL: chosen is violated")


def test_a_link_whose_run_shows_another_trace_here_is_refused(zabcheck: Command) -> None:
    replayed = replay(schedules.load(BROKEN_SCHEDULE, "run"))
    link = link_of(structs.replace(replayed, events=replayed.events[:-1]))
    result = zabcheck("play", link, stdin=b"")
    assert (result.code, result.out) == (2, "")
    assert "the link: it was made by a zabcheck whose zab took other steps" in result.err


def test_a_link_starts_no_program_and_imports_no_class(zabcheck: Command) -> None:
    replayed = replay(schedules.load(BROKEN_SCHEDULE, "run"))
    for protocol, option in (
        ("exec:touch ran", "--exec 'touch ran'"),
        ("mine:Mine", "--protocol mine:Mine"),
        ("zabb", "did you mean `zab`?"),
    ):
        link = link_of(structs.replace(replayed, schedule=structs.replace(replayed.schedule, protocol=protocol)))
        result = zabcheck("play", link, stdin=b"")
        assert result.code == 2
        assert result.err.startswith("zabcheck: the link")
        assert option in result.err
        assert not Path("ran").exists()


def test_a_trace_is_read_step_by_step(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(BROKEN_SCHEDULE)
    zabcheck("replay", "run.json", "--trace", "run.jsonl")
    result = zabcheck("play", "run.jsonl", stdin=b"\nb\ncrash 1\nq\n")
    assert result.code == 1
    assert "step 2 of " in result.out
    assert "what can happen next" not in result.out


@pytest.mark.slow
def test_a_violation_is_found_from_here_and_the_chances_jump_where_it_happened(zabcheck: Command) -> None:
    said = zabcheck(*BUG, stdin=b"lead 1 2 3\nsettle 9\nv\np\np agreement\nt\n").out
    rows = said[said.index("how many of 200 random continuations from each position break chosen:") :].splitlines()
    assert rows[5] == f"  200 {'█' * 20} 4 sync 1"
    assert rows[6].endswith("from each position break agreement:")
    assert "→ 4 sync 1: chosen is violated" in said


def test_a_page_is_served_and_the_run_is_judged_when_the_server_ends(
    zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def serve(server: Server) -> None:
        assert "primary integrity" in server.desk.session.here.broken, "it begins at the end of the run"
        raise KeyboardInterrupt

    monkeypatch.setattr(Server, "serve", serve)
    monkeypatch.delenv("DISPLAY", raising=False)
    (tmp_path / "run.json").write_bytes(BROKEN_SCHEDULE)
    result = zabcheck("play", "run.json", "--page", stdin=b"")
    assert result.code == 1
    assert re.match(r"http://127\.0\.0\.1:\d+/#token=[\w-]{22}\n", result.out)
    assert result.out.splitlines()[-1].startswith("FAIL: ")


def test_a_lesson_is_taken_on_a_page_too(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def serve(server: Server) -> None:
        seen.append(regions(server.desk)["exercise"])
        server.desk.session.follow(LESSONS["quorum"].solution.choices)
        seen.append(regions(server.desk)["exercise"])

    monkeypatch.setattr(Server, "serve", serve)
    monkeypatch.delenv("DISPLAY", raising=False)
    zabcheck("play", "--lesson", "quorum", "--page", stdin=b"")
    assert ["Done." in each for each in seen] == [False, True]


def test_without_its_extra_a_page_is_refused_with_what_installs_it(
    zabcheck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zabcheck.cli.play.find_spec", lambda _: None)
    result = zabcheck(*BUG, "--page", stdin=b"")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("zabcheck: --page: needs a web server: pip install ")
    assert "\n?: help\n" in zabcheck(*BUG, stdin=b"q\n").out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("g 9", "expected a position from 0 to 0"),
        ("99", "expected a number from 1 to 16"),
        ("crush 1", "no choice `crush`; did you mean `crash`?; ?: help"),
        ("isolate 1", "no choice `isolate`; did you mean split?"),
        ("mutiny", "no choice `mutiny`; ? lists the choices"),
        ("p", "expected p and a property, as in: p integrity"),
        ("p chosem", "no property `chosem`"),
        ("crash x", "expected crash PROCESS [KEEP]; ? crash says more"),
        ("heal 1", "expected heal alone"),
        ("cut 1 2 3", "expected cut SENDER RECEIVER"),
        ("receive 1 2", "not possible: no message from p2 to p1 is under way"),
        ("recover 1", "not possible: p1 is up"),
        ("crash 4", "not possible: there is no p4"),
        ("s no/such/folder.json", "s no/such/folder.json: "),
        ("\x1b[2J", "no choice `\\x1b[2J`"),
    ],
)
def test_a_line_that_cannot_be_done_is_told_and_changes_nothing(zabcheck: Command, line: str, said: str) -> None:
    out = zabcheck(*BUG, stdin=f"{line}\nt\n".encode()).out
    assert any(each.startswith(said) for each in out.splitlines()), out
    assert "→ 0 the beginning" in out


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["run.json", "--mutant", "no-truncation"], "--mutant: only for a run that begins anew, run.json says it"),
        (["-"], "expected the name of a file: standard input has the answers"),
        (["--protocol", "zub"], "no protocol `zub`; "),
        (["--switch", "sync=never"], "--switch: "),
        (["--quorums", "grid", "--processes", "3"], "--quorums: "),
        (["none.json"], "none.json: "),
        (["run=1.eJx"], "the link: it was cut or altered; copy it once more, whole"),
        (["run=2.eJx.eJx"], "the link: it is of version '2', expected '1'"),
        (["--scenario", "dsn-figure-9"], "no scenario `dsn-figure-9`; "),
        (["--scenario", "dsn-figure-3"], "--scenario dsn-figure-3: expected one that is executed"),
        (
            ["--scenario", "zab-joining", "run.json"],
            "--scenario: expected nothing beside it to begin with, found run.json",
        ),
        (["--scenario", "zab-joining", "--protocol", "zab"], "--protocol: only for a run that begins anew"),
    ],
)
def test_bad_input(zabcheck: Command, tmp_path: Path, options: list[str], why: str) -> None:
    (tmp_path / "run.json").write_bytes(BROKEN_SCHEDULE)
    result = zabcheck("play", *options, stdin=b"")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"zabcheck: {why}")


@pytest.mark.parametrize(
    ("line", "choice"),
    [
        ("crash 2", choices.Crash(2)),
        ("crash 2 1", choices.Crash(2, 1)),
        ("lead 1 2 3", choices.Lead(1, (2, 3))),
        ("snapshot 1 true", choices.Snapshot(1, True)),
        ("request 1 config 1,2", choices.Request(1, "config 1,2")),
        ("hold 1 2 COMMIT", choices.Hold(1, 2, "COMMIT")),
        ("heal", choices.Heal()),
        ("split 1 2", choices.Split((1, 2))),
        ("stabilise 1 1 2", choices.Stabilise(1, (1, 2))),
    ],
)
def test_any_choice_of_a_schedule_can_be_typed(line: str, choice: Choice) -> None:
    assert choice_of(line.split()) == choice


@pytest.mark.parametrize("name", sweep(LESSONS, normal=("discovery", "quorum", "invariant-4")))
def test_a_lesson_is_done_by_what_it_hints_at(zabcheck: Command, name: str) -> None:
    """h tells the choices of a way; typed, they do the task, which is noticed once."""
    said = zabcheck("play", "--lesson", name, stdin=b"h\n")
    assert said.code == 3
    assert said.out.splitlines()[-1] == f"INCONCLUSIVE: the task of {name} is not done"
    assert LESSONS[name].question in " ".join(said.out.split())
    hint = said.out.splitlines()[-3]
    assert hint.split()[0] in NAMES
    done = zabcheck("play", "--lesson", name, stdin=hint.replace(", ", "\n").encode() + b"\nb\nf\nb\nb\n")
    assert done.code == 0
    assert done.out.splitlines()[-1] == f"PASS: the task of {name} is done"
    assert done.out.count("Done. ") in (2, 3), "and again, when one goes back and forward"
    assert "\nStill to do: " in done.out[done.out.rindex("Done. ") :]


def test_what_is_sent_and_handled_while_the_run_is_left_alone_is_not_on_its_way_yet(zabcheck: Command) -> None:
    """No message is under way, and the choice to leave the run alone sends and handles one."""
    said = zabcheck("play", stdin=b"lead 1 2\nreceive 1 2\nsync 1\nreceive 2 1\n")
    assert "leave it alone until nothing is left to be done" in said.out.splitlines()[-3]


def test_a_newcomer_does_three_lessons_and_breaks_a_promise_by_hand(zabcheck: Command) -> None:
    """A trial as somebody made it who had never seen the tool: the first choice listed, or the one that the text names.

    At 200 words and twelve choices a minute, the lessons take less than ten minutes.
    """
    typed = {
        "discovery": "lead 1\nb\nlead 1 2\n" + "1\n" * 4,
        "synchronization": "1\n" * 5,
        "broadcast": "cut 1 3\nrequest 1 a\nsettle 9\nmend 1 3\nsettle 9\n",
    }
    words = choices_made = 0
    for lesson, lines in typed.items():
        said = zabcheck("play", "--lesson", lesson, stdin=lines.encode())
        assert said.out.splitlines()[-1] == f"PASS: the task of {lesson} is done"
        assert re.search(r"o lists \d+ more$", said.out, re.MULTILINE), "faults that the lesson does not need"
        # The lists of choices look the same each time, and are not read again.
        words += sum(len(line.split()) for line in said.out.splitlines() if not line.startswith("    "))
        choices_made += lines.count("\n")
    assert words / 200 + choices_made / 12 < 10
    said = zabcheck(*BUG, stdin=b"? sync\nisolate 1\nlead 1 2 3\nsettle 9\nrequest 1 a\nsync 1\n").out
    assert said.startswith("commit-on-own-ack: the leader commits without a quorum of ACKs")
    assert "\nsync PROCESS: Let everything that `process` has written reach its disk" in said
    assert re.search(r"^ *4 p1 ← p2 CEPOCH\(0\)$", said, re.MULTILINE), "the steps of a coarse choice are told"
    assert said.splitlines()[-1].startswith("FAIL: chosen is violated")


def test_to_break_an_invariant_and_more_at_once_is_not_the_task(zabcheck: Command) -> None:
    """All that a coarse choice broke is told, not only what broke first."""
    said = zabcheck("play", "--lesson", "invariant-4", stdin=b"settle 9\n")
    assert said.code == 3
    assert "invariant 4, primary integrity, chosen, total order and 1 more are violated" in said.out


def test_a_process_may_be_written_as_it_is_shown() -> None:
    assert choice_of(["lead", "p1", "p2", "3"]) == choices.Lead(1, (2, 3))
    assert choice_of(["cut", "p1", "p3"]) == choices.Cut(1, 3)


def test_a_lesson_is_one_of_those_that_there_are(zabcheck: Command) -> None:
    assert "no lesson `quorun`; did you mean `quorum`?" in zabcheck("play", "--lesson", "quorun").err
    refused = zabcheck("play", "--lesson", "quorum", "--protocol", "zab")
    assert refused.code == 2
    assert "--protocol: only for a run that begins anew, quorum says it" in refused.err
    assert zabcheck("play", "--lesson", "8").out.splitlines()[-1] == "INCONCLUSIVE: the task of quorum is not done"
    beside = zabcheck("play", "--lesson", "quorum", "--scenario", "zab-joining")
    assert "--lesson: expected nothing beside it to begin with, found zab-joining" in beside.err
    assert "h: only in a lesson" in zabcheck("play", stdin=b"h\n").out


def test_a_trace_is_served_read_only(zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Reading] = []

    def serve(server: Server) -> None:
        assert isinstance(server.desk, Reading)
        served.append(server.desk)
        raise KeyboardInterrupt

    monkeypatch.setattr(Server, "serve", serve)
    monkeypatch.delenv("DISPLAY", raising=False)
    (tmp_path / "run.json").write_bytes(BROKEN_SCHEDULE)
    zabcheck("replay", "run.json", "--trace", "run.jsonl")
    result = zabcheck("play", "run.jsonl", "--page", "--protocol", "zab", stdin=b"")
    assert result.code == 1
    assert "#token=" in result.out
    [reading] = served
    assert reading.command == "zabcheck play run.jsonl --page --protocol zab"


def test_many_choices_of_one_kind_are_listed_as_one_until_they_are_asked_for(zabcheck: Command) -> None:
    said = zabcheck("play", "--processes", "4", "--terminal", stdin=b"o\n").out
    folded, _, listed = said.partition("what can happen next:")[2].partition("what can happen next:")
    assert "cut p1 → p2 … cut p4 → p3 (o lists them)" in folded
    assert "cut p2 → p3" not in folded
    assert "cut p2 → p3" in listed
    assert "lists them" not in listed


def test_what_waits_is_counted_and_listed_and_the_disk_and_the_deliveries_are_shown(zabcheck: Command) -> None:
    said = zabcheck(*BUG, stdin=b"lead 1 2 3\nsettle 9\nrequest 1\nrequest 1\nw\nsync 1\n").out
    before, _, after = said.partition("  2 messages under way cannot be handled yet (w lists them)\n")
    assert "cannot be handled yet" not in before
    assert after.startswith("  p2 ← p1 PROPOSE(v2⟨1,2⟩): what was sent before it comes first\n  p3 ← p1 PROPOSE")
    assert [line.split() for line in before.splitlines()[-30:] if "on disk" in line] == [["on", "disk:", "empty"]]
    assert "delivered" not in before.rpartition("step ")[2]
    assert ["delivered", "+v1⟨1,1⟩", "+v2⟨1,2⟩", "empty", "empty"] in [line.split() for line in after.splitlines()]
    assert "no message waits" in zabcheck(*BUG, stdin=b"w\n").out


def test_a_lesson_of_ones_own_is_saved_edited_and_taken(zabcheck: Command, tmp_path: Path) -> None:
    zabcheck(*BUG, stdin=b"lead 1 2 3\nsettle 9\nrequest 1\ns my.lesson.json\n")
    saved = (tmp_path / "my.lesson.json").read_text(encoding="utf-8")
    edited = saved.replace('"text":"request 1"', '"text":"Nobody has synced it."')
    task = edited.replace('"task":""', '"task":"Let p1 deliver it."').replace('"breaks":null', '"breaks":"chosen"')
    (tmp_path / "my.lesson.json").write_text(edited, encoding="utf-8")
    (tmp_path / "task.lesson.json").write_text(task, encoding="utf-8")
    read = zabcheck("play", "--lesson", "my.lesson.json", stdin=b"\n\n\n")
    assert "Step 3 of 3: Nobody has synced it." in read.out
    assert read.code == 0
    left = zabcheck("play", "--lesson", "my.lesson.json", stdin=b"\n")
    assert left.code == 3
    assert left.out.splitlines()[-1] == "INCONCLUSIVE: my.lesson.json was left after step 1 of 3"
    done = zabcheck("play", "--lesson", "task.lesson.json", stdin=b"\n\n\nsync 1\n")
    assert done.out.splitlines()[-1] == "PASS: the task of task.lesson.json is done"
    (tmp_path / "my.lesson.json").write_text(edited.replace('"title"', '"name"'), encoding="utf-8")
    refused = zabcheck("play", "--lesson", "my.lesson.json")
    assert refused.code == 2
    assert "zabcheck: my.lesson.json, line 1, field `name`: no such field; expected one of: lesson, " in refused.err
    assert zabcheck("play", "--lesson", "none.json").err == "zabcheck: none.json: No such file or directory\n"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"process":1', '"process":2', "my.json, line 5, field `steps[2].choice`: not possible when its turn comes"),
        ("commit-on-own-ack", "commit-on-my-ack", "my.json, line 2, field `mutant`: "),
        ('"settle","rounds":9,"sync":true', '"hold","sender":1,"receiver":2,"kind":"ACKS"', "my.json, line 4, field "),
        (
            '"zab","mutant":"commit-on-own-ack"',
            '"mine:Mine"',
            "my.json: its protocol is a class, which is imported, so",
        ),
    ],
)
def test_what_is_wrong_in_a_lesson_names_the_file_once_with_its_line(
    zabcheck: Command, tmp_path: Path, old: str, new: str, why: str
) -> None:
    wrong = (ROOT / "docs/examples/too-early.lesson.json").read_text(encoding="utf-8").replace(old, new)
    (tmp_path / "my.json").write_text(wrong, encoding="utf-8")
    refused = zabcheck("play", "--lesson", "my.json", stdin=b"")
    assert refused.err.startswith(f"zabcheck: {why}")
    assert (refused.code, refused.err.count("my.json")) == (2, 1)


def test_a_lesson_is_on_a_protocol_that_is_named_instead_of_its_own(zabcheck: Command) -> None:
    lesson = ROOT / "docs/examples/too-early.lesson.json"
    said = zabcheck("play", "--lesson", lesson, "--protocol", "ladis", stdin=b"\n\n\nsync 1\n")
    assert "Step 3 of 3" in said.out
    assert said.out.splitlines()[-1] == f"INCONCLUSIVE: the task of {lesson} is not done"

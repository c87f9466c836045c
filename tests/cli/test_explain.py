"""`zabcheck explain`: whatever was saved is told, walked through, and written in every form."""

import re
from pathlib import Path

import msgspec
import pytest

from invariants import Broadcast, Deliver, Event, Header, Zxid, trace
from invariants.events import Txn
from tests.cli.command import BROKEN_SCHEDULE, CALM_SCHEDULE, DELIVERED, ROOT, SENT, A, B, process, trace_of
from tests.cli.conftest import Command
from tests.invariants.broken import BREAKS, Ensemble
from zabcheck.cli import check, explain
from zabcheck.cli.explain import FOLDED_FROM
from zabcheck.counterexample.forms.exports import FORMS
from zabcheck.search.run import Replay, replay, schedule_of
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import Lead, Request, Settle

BROKEN_TRACE = replay(schedules.load(BROKEN_SCHEDULE, "schedule")).trace
SWAPPED: list[Event] = [*SENT, Deliver(1, 0, A), Deliver(1, 0, B), Deliver(2, 0, B), Deliver(2, 0, A)]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a schedule, its trace, the same trace of an unknown protocol, and a trace of few events."""
    (tmp_path / "broken.json").write_bytes(BROKEN_SCHEDULE)
    (tmp_path / "calm.json").write_bytes(CALM_SCHEDULE)
    (tmp_path / "broken.jsonl").write_bytes(BROKEN_TRACE)
    first, _, rest = BROKEN_TRACE.partition(b"\n")
    header = msgspec.structs.replace(msgspec.json.decode(first, type=Header), schedule=None, protocol="elsewhere")
    (tmp_path / "elsewhere.jsonl").write_bytes(b"".join(trace.dump([header])) + rest)
    (tmp_path / "few.jsonl").write_bytes(trace_of(SWAPPED))
    return tmp_path


def test_a_schedule_is_executed_again_and_told(files: Path, zabcheck: Command) -> None:
    result = zabcheck("explain", "broken.json")
    assert result.code == 1
    assert result.out.startswith("total order is violated\n")
    assert "\nSteps" in result.out
    assert "\nreplay: zabcheck replay broken.json\n\nFAIL: " in result.out


def test_a_trace_that_its_schedule_gives_is_told_like_the_schedule(files: Path, zabcheck: Command) -> None:
    told = zabcheck("explain", "broken.json").out
    assert zabcheck("explain", "broken.jsonl").out == told.replace("broken.json", "broken.jsonl")


def test_a_trace_from_elsewhere_is_told_by_its_lines(files: Path, zabcheck: Command) -> None:
    result = zabcheck("explain", "elsewhere.jsonl")
    assert result.code == 1
    assert "elsewhere, 3 processes, trace SHA-256" in result.out
    for number, line in enumerate(BROKEN_TRACE.splitlines(), 1):
        if b'"event":"elect"' in line:
            assert re.search(rf"^ *{number}  .*oracle: ", result.out, re.MULTILINE)
    assert "replay:" not in result.out


def test_a_trace_of_few_events_is_enough(files: Path, zabcheck: Command) -> None:
    out = zabcheck("explain", "few.jsonl").out
    assert "p2 delivered b⟨1,2⟩ before a⟨1,1⟩" in out.replace("\n", " ")
    assert "delivers b⟨1,2⟩ ◀W" in out


def test_logs_of_several_machines_are_one_trace(tmp_path: Path, zabcheck: Command) -> None:
    for process_ in (1, 2):
        own = [event for event in SWAPPED if event.process == process_]  # type: ignore[attr-defined]  # all are Local
        (tmp_path / f"p{process_}.jsonl").write_bytes(trace_of(own, "per-process"))
    result = zabcheck("explain", "--merge", "p1.jsonl", "p2.jsonl")
    assert result.code == 1
    assert "each process's own order only" in result.out
    assert zabcheck("explain", "p1.jsonl", "p2.jsonl").err == (
        "zabcheck: p2.jsonl: expected one file, or --merge, if they are one trace\n"
    )


def test_standard_input_can_be_either(zabcheck: Command) -> None:
    for data in (BROKEN_SCHEDULE, BROKEN_TRACE):
        result = zabcheck("explain", "-", stdin=data)
        assert (result.code, result.err) == (1, "")
        assert result.out.startswith("total order is violated\n")
        assert "\nreplay: zabcheck replay FILE\n\nFAIL: " in result.out


def test_what_breaks_nothing_is_told_with_its_verdicts(files: Path, zabcheck: Command) -> None:
    result = zabcheck("explain", "calm.json")
    assert result.code == 0
    assert result.out.startswith("no property is violated\n")
    assert "\nagreement            holds" in result.out


def test_the_property_can_be_chosen(files: Path, zabcheck: Command) -> None:
    assert zabcheck("explain", "broken.json", "--property", "primary integrity").out.startswith("primary integrity")
    assert zabcheck("explain", "broken.json", "--property", "none").code == 2


def test_as_json_it_is_one_document(files: Path, zabcheck: Command) -> None:
    told = zabcheck("explain", "broken.json", "--format", "json").json
    assert (told["command"], told["files"], told["unit"]) == ("explain", ["broken.json"], "step")
    assert told["schedule"] == msgspec.json.decode(BROKEN_SCHEDULE)
    assert told["violation"]["property"] == "total order"
    assert len(told["steps"]) == len(told["schedule"]["choices"])
    assert told["explanation"]


# Step by step.


def test_a_walk_goes_where_it_is_told(files: Path, zabcheck: Command) -> None:
    steps = len(schedules.load(BROKEN_SCHEDULE, "schedule").choices)
    answers = b"\n3\nb\nw\nnonsense\n999\n%d\n\n" % steps
    result = zabcheck("explain", "broken.json", "--step", stdin=answers)
    shown = [int(line.split()[1]) for line in result.out.splitlines() if line.startswith("step ")]
    witness = shown[4]
    assert shown == [1, 2, 3, 2, witness, witness, witness, steps]
    assert "◀W" in result.out.split(f"step {witness} of")[1]
    assert result.code == 1


def test_a_walk_shows_the_state_and_what_changed_in_it(files: Path, zabcheck: Command) -> None:
    out = zabcheck("explain", "calm.json", "--step", stdin=b"\n" * 99).out
    last = out[out.rindex("\nstep ") :]
    assert "broadcast" in last
    assert "a⟨1,1⟩ b⟨1,2⟩" in last
    assert "⊥ → 1" in out
    assert "on disk: empty" in out
    assert "\ndelivered  " in last
    assert "; zabcheck play goes another way\n" in out
    zabcheck("replay", "calm.json", "--trace", "calm.jsonl")
    again = zabcheck("explain", "calm.jsonl", "--step", stdin=b"\n" * 99).out
    assert again[again.index("Enter: next") :] == out[out.index("Enter: next") :].replace("calm.json", "calm.jsonl")


def test_a_walk_ends_with_its_answers_or_with_q(files: Path, zabcheck: Command) -> None:
    for answers in (b"", b"q\n"):
        result = zabcheck("explain", "broken.json", "--step", stdin=answers)
        assert result.out.count("\nstep ") == 1


# Files.


def test_every_form_can_be_written(files: Path, zabcheck: Command) -> None:
    needs = {"elsewhere.jsonl": {".py"}, "few.jsonl": {".py"}, "calm.json": {".dot", ".graphml"}}
    for source in ("broken.json", "elsewhere.jsonl", "few.jsonl", "calm.json"):
        forms = [suffix for suffix in FORMS if suffix not in needs.get(source, ())]
        options = [option for suffix in forms for option in ("--write", f"out{suffix}")]
        result = zabcheck("explain", source, *options)
        assert result.err == ""
        for suffix in forms:
            assert f"wrote out{suffix}\n" in result.out
            assert (files / f"out{suffix}").stat().st_size > 0


@pytest.mark.slow
def test_the_same_bytes_are_written_each_time(files: Path) -> None:
    written = []
    for hash_seed in ("0", "77"):
        options = [option for each in FORMS for option in ("--write", f"out{each}")]
        process("explain", "broken.json", *options, cwd=files, variables={"PYTHONHASHSEED": hash_seed})
        written.append({suffix: (files / f"out{suffix}").read_bytes() for suffix in FORMS})
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("few.jsonl", "--write", "out.doc"), "--write out.doc: expected a name that ends in one of: .html (a page"),
        (("few.jsonl", "--write", "none/out.html"), "--write none/out.html: there is no folder none"),
        (("few.jsonl", "--run", "1"), "few.jsonl: expected a Parquet file, as --run 1 names one of its runs"),
        (("few.jsonl", "--write", "out.py"), "--write out.py: a regression test needs a schedule: "),
        (("calm.json", "--write", "out.dot"), "--write out.dot: no property is violated, so there is no witness"),
        (("--merge", "few.jsonl", "few.jsonl"), "few.jsonl: named more than once, expected at most once"),
        (("none.json",), "none.json: No such file or directory"),
        (("empty",), "empty, line 1: expected a schedule, the file is empty"),
        (("cut.jsonl",), "cut.jsonl, line 2: "),
        (("few.jsonl", "--write", "folder.html"), "--write folder.html: expected the name of a file"),
        (("broken.json", "--write", "link.html"), "--write link.html: expected another file than what is read"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    arguments: tuple[str, ...], said: str, files: Path, zabcheck: Command
) -> None:
    (files / "empty").touch()
    (files / "cut.jsonl").write_bytes(trace_of(SWAPPED).splitlines(keepends=True)[0] + b'{"event":')
    (files / "folder.html").mkdir()
    (files / "link.html").symlink_to("broken.json")
    before = {path: path.lstat().st_mtime_ns for path in files.iterdir()}
    result = zabcheck("explain", *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"zabcheck: {said}")
    assert result.err.count("\n") == 1
    assert {path: path.lstat().st_mtime_ns for path in files.iterdir()} == before


@pytest.mark.parametrize(("count", "folded"), [(FOLDED_FROM // 3 - 1, False), (FOLDED_FROM // 3, True)])
def test_in_a_long_trace_what_happens_to_many_transactions_is_told_at_once(
    count: int, folded: bool, tmp_path: Path, zabcheck: Command
) -> None:
    txns = [Txn(Zxid(1, number), "v") for number in range(1, count + 1)]
    events = [event for txn in txns for event in (Broadcast(1, 0, 1, txn), Deliver(1, 0, txn), Deliver(2, 0, txn))]
    (tmp_path / "long.jsonl").write_bytes(trace_of(events))
    told = zabcheck("explain", "long.jsonl").out
    assert (f"broadcasts {count} transactions, ⟨1,1⟩ to ⟨1,{count}⟩" in told) == folded
    assert len(told.splitlines()) < 60 if folded else len(told.splitlines()) > count


@pytest.mark.slow
@pytest.mark.parametrize("name", ["deliveries swapped", "restore", "ready epoch"])
def test_a_large_trace_is_told_as_a_small_one(
    name: str, tmp_path: Path, zabcheck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is judged before it is kept, so as to need less memory."""
    (tmp_path / "trace.jsonl").write_bytes(trace_of(BREAKS[name](list(Ensemble(400, 4).events()))))
    small = zabcheck("explain", "trace.jsonl")
    monkeypatch.setattr(check, "LARGE", 0)
    assert zabcheck("explain", "trace.jsonl") == small
    assert small.code == 1


def test_a_trace_that_is_too_long_is_refused_before_it_is_judged(
    tmp_path: Path, zabcheck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trace.jsonl").write_bytes(trace_of(SWAPPED))
    monkeypatch.setattr(explain, "MOST_EVENTS", 3)
    small = zabcheck("explain", "trace.jsonl")
    assert (small.code, small.out) == (2, "")
    assert "expected at most 3 lines" in small.err
    monkeypatch.setattr(check, "LARGE", 0)
    monkeypatch.setattr(explain, "verdicts_of", None)
    assert zabcheck("explain", "trace.jsonl") == small


def test_a_value_can_do_nothing(tmp_path: Path, zabcheck: Command) -> None:
    evil = Txn(Zxid(1, 1), "\x1b[2J<script>alert(1)</script>\r\n")
    (tmp_path / "evil.jsonl").write_bytes(trace_of([Broadcast(1, 0, 1, A), Deliver(1, 0, evil), *DELIVERED]))
    result = zabcheck("explain", "evil.jsonl", "--write", "evil.html", "--write", "evil.svg")
    assert "\x1b" not in result.out
    for name in ("evil.html", "evil.svg"):
        written = (tmp_path / name).read_text(encoding="utf-8")
        assert "<script>alert" not in written
        assert "&lt;script&gt;alert" in written
        assert "\x1b" not in written


def test_the_processes_of_a_trace_are_not_without_number(tmp_path: Path, zabcheck: Command) -> None:
    (tmp_path / "many.jsonl").write_bytes(trace_of(SWAPPED).replace(b'"processes":3', b'"processes":5000000', 1))
    result = zabcheck("explain", "many.jsonl")
    assert result == (
        2,
        "",
        "zabcheck: many.jsonl, line 1, field `processes`: expected at most 999, found 5000000\n",
    )


def test_what_raised_is_written_too(tmp_path: Path, zabcheck: Command) -> None:
    choices = (Lead(1, (1, 2)), Settle(6), *[Request(1)] * 3, Settle(6))
    schedule = schedule_of("tests.protocols.own.raising:Raising", None, 2, choices)
    (tmp_path / "raising.json").write_bytes(schedules.dump(schedule))
    result = zabcheck(
        "explain", "raising.json", "--protocol", schedule.protocol, "--write", "bad.html", "--write", "bad_test.py"
    )
    assert (result.code, result.out) == (2, "")
    assert "KeyError: 3" in result.err
    assert "\nwrote bad.html\nwrote bad_test.py\n" in result.err
    assert "KeyError: 3" in (tmp_path / "bad.html").read_text(encoding="utf-8")


def test_in_a_trace_without_messages_a_broadcast_comes_before_its_deliveries(files: Path, zabcheck: Command) -> None:
    """The page can then tell what happened before a delivery."""
    zabcheck("explain", "few.jsonl", "--write", "few.html")
    page = (files / "few.html").read_text(encoding="utf-8")
    [data] = re.findall(r'id="data">(?:<!\[CDATA\[)?(\{.*?\})(?:\]\]>)?</script>', page)
    flights = msgspec.json.decode(data)["flights"]
    assert [1, 1, 2, 4] in flights
    assert [1, 2, 3, 6] in flights


def test_the_loss_by_a_bug_is_explained_in_place_of_the_run(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    first, lost = (ROOT / f"reports/gallery/promise-not-durable.{each}schedule.json" for each in ("", "loss."))
    asked = []

    def find_loss(replayed: Replay) -> Replay:
        asked.append(replayed.schedule)
        return replay(schedules.load(lost.read_bytes(), "lost"))

    monkeypatch.setattr(explain, "find_loss", find_loss)
    result = zabcheck("explain", str(first), "--loss")
    assert asked == [schedules.load(first.read_bytes(), "first")]
    assert result.code == 1
    told = zabcheck("explain", str(lost)).out
    assert result.out.partition("\nreplay: ")[0] == told.partition("\nreplay: ")[0]
    assert "replay: zabcheck replay FILE\n" in result.out
    assert "--loss --write run.html" in result.out


def test_the_loss_is_asked_for_of_a_schedule(files: Path, zabcheck: Command) -> None:
    assert "expected a schedule, few.jsonl is a trace" in zabcheck("explain", "few.jsonl", "--loss").err
    assert "--loss: does not go with" in zabcheck("explain", "broken.json", "--loss", "--property", "agreement").err


def test_nothing_that_is_lost_is_inconclusive(files: Path, zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "find_loss", lambda _: None)
    result = zabcheck("explain", "broken.json", "--loss")
    assert (result.code, result.out) == (3, "")
    assert result.err == "INCONCLUSIVE: no run was found in which a user loses something by this bug\n"

"""`zabcheck clients`."""

import json
import re
import signal
import sys
from io import BytesIO
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from docs.generators.output import DOCS
from tests.cli.conftest import Command
from tests.cli.documented import assert_documented
from tests.zookeeper.clients.faults import FAULTS
from tests.zookeeper.clients.histories import History
from tests.zookeeper.clients.served import Served
from tests.zookeeper.clients.test_violations import RIGHT, VIOLATIONS
from tests.zookeeper.real import UNHURRIED, debian
from zabcheck.zookeeper import clients as zabcheck_clients
from zabcheck.zookeeper.clients import parquet, recorder
from zabcheck.zookeeper.clients.exchange import read
from zabcheck.zookeeper.clients.history import (
    Answer,
    Connect,
    HistoryEnd,
    HistoryFile,
    HistoryLine,
    dump,
    load,
)
from zabcheck.zookeeper.clients.judge import judge
from zabcheck.zookeeper.run import disturbed, server


def saved(history: History, path: Path, is_whole: bool = True) -> Path:
    lines = [*history.lines, HistoryEnd(len(history.lines) - 1)] if is_whole else history.lines
    path.write_bytes(b"".join(dump(lines)))
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    return saved(VIOLATIONS["half_of_a_multi_is_seen"][1](), tmp_path / "broken.jsonl")


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    return saved(RIGHT["numbers_have_gaps_where_plain_nodes_were_created"](), tmp_path / "sound.jsonl")


def test_a_broken_promise_is_exit_code_1_with_its_witness(zabcheck: Command, broken: Path) -> None:
    result = zabcheck("clients", "check", broken, "--promise", "multi")
    assert result.code == 1
    assert "multi is broken: /a was changed at ⟨0,5⟩ (request 1 (multi) of client 1)" in result.out
    assert "W2 line 10    client 2 sends 2: getData /a" in result.out
    assert "  2 getData /a: `old`       ──────────────────○     ◀W2 wrong\n" in result.out
    part, page = sorted(Path("reports").iterdir())
    assert f"\nwrote {part}\nwrote {page}\n" in result.out
    again = zabcheck("clients", "check", part, "--promise", "multi")
    assert "multi is broken: /a was changed at ⟨0,5⟩ (request 1 (multi) of client 1)" in again.out
    assert f"\nwrote {page}\n" in result.out
    assert (
        "  The least history that shows this has 8 lines: the witness, and\n     line 2     client 1 connects "
        in result.out
    )
    assert "<h1>multi is broken</h1>" in page.read_text(encoding="utf-8")
    assert result.out.endswith("\nFAIL: multi is broken\n")


def test_one_breach_of_several_promises_is_told_once(zabcheck: Command, broken: Path) -> None:
    result = zabcheck("clients", "check", broken)
    assert result.out.count("/a was changed at ⟨0,5⟩") == 1
    assert "reads as of one zxid, reliability, multi are broken: /a was changed" in result.out


def test_what_servers_were_recorded_to_do_is_told(zabcheck: Command) -> None:
    """A client with watches on children loses half of a watch for good (4471); a moved session misses an answer."""
    for file, promise in (("4471-on-3.8.0", "persistent watches"), ("moved-on-3.9.5", "answer order")):
        result = zabcheck("clients", "check", DOCS / f"examples/zookeeper-{file}.jsonl")
        assert (result.code, result.out.splitlines()[-1]) == (1, f"FAIL: {promise} is broken")


def test_a_sound_history_is_exit_code_0(zabcheck: Command, sound: Path) -> None:
    result = zabcheck("clients", "check", sound)
    assert result.code == 0
    assert result.out.splitlines()[-1].startswith("PASS: the history breaks none of ")
    assert not Path("reports").exists()


def test_the_worst_of_several_decides(zabcheck: Command, sound: Path, broken: Path) -> None:
    result = zabcheck("clients", "check", sound, broken)
    assert result.code == 1
    assert result.out.splitlines()[-1].startswith("FAIL: 1 of 2 histories, the first of them ")


def test_a_bound_has_reads_judged_that_are_old(zabcheck: Command, tmp_path: Path) -> None:
    late = saved(RIGHT["a_write_is_missed_for_as_long_as_the_bound"](), tmp_path / "late.jsonl")
    allowed, missed = zabcheck("clients", "check", late), zabcheck("clients", "check", late, "--bound", "0.009")
    assert (allowed.code, missed.code) == (0, 1)
    assert "\nthe greatest age of a read: 0.010 s\n" in allowed.out
    assert missed.out.endswith("\nFAIL: timeliness is broken\n")
    [least] = Path("reports").glob("*.jsonl")
    assert zabcheck("clients", "check", least).out.endswith("\nFAIL: timeliness is broken\n")


def test_a_history_without_an_end_is_inconclusive(zabcheck: Command, tmp_path: Path) -> None:
    cut = saved(RIGHT["an_answer_to_auth_overtakes"](), tmp_path / "cut.jsonl", is_whole=False)
    result = zabcheck("clients", "check", cut)
    assert (result.code, result.out.splitlines()[-1]) == (3, "INCONCLUSIVE: the history does not end with `end`")


def test_a_promise_that_is_undecided_says_why(zabcheck: Command, tmp_path: Path) -> None:
    history = VIOLATIONS["an_event_comes_after_the_read"][1]()
    restricts = history.client(9)
    restricts.answer(restricts.ask("setACL", "/a", restricted=True), 20)
    result = zabcheck("clients", "check", saved(history, tmp_path / "closed.jsonl"), "--promise", "watch fires")
    assert (result.code, result.out.splitlines()[-1]) == (
        3,
        "INCONCLUSIVE: watch fires is undecided: events are missing, about nodes that not everybody is allowed to read",
    )


def test_as_json_it_has_the_records_of_the_witness(zabcheck: Command, broken: Path) -> None:
    result = zabcheck("clients", "check", broken, "--promise", "multi", "--format", "json")
    assert_documented(json.loads(result.out))
    [history] = json.loads(result.out)["histories"]
    [promise] = history["promises"]
    assert (promise["status"], promise["breach"]["zxid"]) == ("violated", 5)
    assert [record["line"] for record in promise["breach"]["witness"]] == [6, 7, 10, 11]
    [file] = Path("reports").glob("*.jsonl")
    least = {"file": str(file), "count": 8, "lines": [2, 3, 4, 5, 6, 7, 10, 11], "minimal": True}
    assert promise["breach"]["least"] == least


def test_it_is_read_from_standard_input(zabcheck: Command, broken: Path) -> None:
    assert zabcheck("clients", "check", "-", stdin=broken.read_bytes()).code == 1


WRONG = FAULTS["19: children miscounted"].service


@pytest.mark.parametrize(("service", "code", "verdict"), [(Served, 0, "PASS: "), (WRONG, 1, "FAIL: ")])
def test_a_service_is_recorded_and_judged(
    zabcheck: Command, tmp_path: Path, service: type[Served], code: int, verdict: str
) -> None:
    served, out = service(), tmp_path / "history.jsonl"
    result = zabcheck("clients", "record", "--connect", served.addresses, "--requests", "600", "--out", out)
    served.close()
    assert (result.code, result.out.splitlines()[-1][:6]) == (code, verdict)
    again = zabcheck("clients", "check", out, "--out", out.parent)
    assert again.out == result.out
    assert len([*tmp_path.glob("history-*.html")]) == code


@pytest.mark.slow
def test_servers_may_be_disturbed_by_a_command(zabcheck: Command, tmp_path: Path) -> None:
    served = Served()
    arguments = ["--connect", served.addresses, "--requests", "1000000", "--out", tmp_path / "history.jsonl"]
    disturbed = zabcheck("clients", "record", *arguments, "--seconds", "2.5", "--disturb", "false")
    disturbing = ["--disturb", "true", "--format", "json"]
    as_json = zabcheck("clients", "record", *arguments, "--seconds", "1.2", *disturbing)
    served.close()
    assert (disturbed.code, as_json.code) == (0, 0)
    assert re.fullmatch(r"`false` ran (1 time|2 times), and failed \d", disturbed.out.splitlines()[0])
    assert json.loads(as_json.out)["disturbed"] == {"command": "true", "times": 1, "failed": 0}


@pytest.mark.usefixtures("ctrl_c_in_run")  # for the handler
def test_a_history_may_be_parquet_and_is_whole_after_ctrl_c(
    zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served, out = WRONG(), tmp_path / "history.parquet"
    write, answers = HistoryFile.write, count()

    def interrupted(self: HistoryFile, line: HistoryLine) -> None:
        if isinstance(line, Answer) and next(answers) == 700:
            signal.raise_signal(signal.SIGINT)  # an answer that is taken, and not written yet
        write(self, line)

    monkeypatch.setattr(HistoryFile, "write", interrupted)
    assert zabcheck("clients", "record", "--connect", served.addresses, "--requests", 1_000_000, "--out", out).code == 1
    served.close()
    lines = [*parquet.load(out.open("rb"), "history")]
    same = tmp_path / "history.jsonl"
    same.write_bytes(b"".join(dump(lines)))
    told = [json.loads(zabcheck("clients", "check", each, "--format", "json").out)["histories"] for each in (out, same)]
    assert [each.pop("history") for [each] in told] == [str(out), str(same)]
    assert all(Path(each.pop("page")).is_file() for [each] in told)
    breaches = [promise["breach"] for [each] in told for promise in each["promises"] if promise["breach"] is not None]
    assert all(Path(each["least"].pop("file")).is_file() for each in breaches)
    assert told[0] == told[1]
    assert {each["promise"] for each in told[0][0]["promises"] if each["status"] == "violated"} == {"Stat"}
    assert pq.read_table(out, columns=["mzxid"]).column(0).null_count < len(lines)


def test_a_history_of_jepsen_is_judged(zabcheck: Command, tmp_path: Path) -> None:
    register = tmp_path / "history.edn"
    asked = "{:type :invoke, :f :write, :value 1, :process 0}\n{:type :ok, :f :write, :value 1, :process 0}\n"
    read = "{:type :invoke, :f :read, :value nil, :process 0}\n{:type :ok, :f :read, :value 2, :process 0}\n"
    register.write_text(asked + read)
    result = zabcheck("clients", "check", register)
    assert (result.code, result.out.splitlines()[-1]) == (1, "FAIL: one order is broken")
    assert "sends 0: setData /register, data `1`" in result.out
    assert "\n  W2 client 0 gets answer 2: done, data `2`\n" in result.out
    register.write_text(asked + read.replace("2", "1"))
    said = zabcheck("clients", "check", register).out
    assert "\nreads are linearizable, too\n" in said
    assert said.endswith("\nPASS: the history keeps the only promise that it exercises\n")
    register.write_text(asked.replace("write", "put"))
    assert "history.edn, operation 0, field `:f`: expected :read" in zabcheck("clients", "check", register).err
    assert zabcheck("clients", "check", register, "--map", "put=write").code == 0
    assert "--map: expected F=OP, with an OP of read" in zabcheck("clients", "check", register, "--map", "put=set").err


def test_the_lists_of_jepsen_are_judged(zabcheck: Command, tmp_path: Path) -> None:
    lists = tmp_path / "history.edn"
    lists.write_text(
        "{:type :invoke, :f :txn, :value [[:append 3 1]], :process 0}\n"
        "{:type :ok, :f :txn, :value [[:append 3 1]], :process 0}\n"
        "{:type :invoke, :f :txn, :value [[:r 3 nil]], :process 0}\n"
        "{:type :ok, :f :txn, :value [[:r 3 []]], :process 0}\n"
    )
    result = zabcheck("clients", "check", lists)
    assert (result.code, result.out.splitlines()[-1]) == (1, "FAIL: one order is broken")
    assert "client 0 sends 0: txn: append /3 `1`\n" in result.out
    assert "client 0 gets answer 2: done (done [])\n" in result.out


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("xid", None, ", line 4: Object missing required field `xid`"),
        ("rest", '{"nothing":1}', ", line 4, field `nothing`: no such field"),
        ("time", 1 << 62, f", line 4, field `time`: Expected `int` <= {(1 << 62) - 1}"),
        ("seq", 0, ": expected the columns of a history, `op` is not there"),
    ],
)
def test_a_parquet_file_that_is_no_history_is_told(
    zabcheck: Command, sound: Path, column: str, value: object, message: str
) -> None:
    out = sound.with_suffix(".parquet")
    parquet.dump(load(sound.open("rb"), "sound"), out.open("wb"))
    table = pq.read_table(out)
    values = table.column(column).to_pylist()
    values[3] = value
    table = table.set_column(table.schema.get_field_index(column), table.schema.field(column), pa.array(values))
    pq.write_table(table.drop(["op"]) if column == "seq" else table, out)
    result = zabcheck("clients", "check", out)
    assert (result.code, result.out) == (2, "")
    assert f"{out}{message}" in result.err


def test_a_parquet_file_whose_footer_is_damaged_is_told(zabcheck: Command, sound: Path) -> None:
    out = BytesIO()
    parquet.dump(load(sound.open("rb"), "sound"), out)
    data = bytearray(out.getvalue())
    data[-8 - int.from_bytes(data[-8:-4], "little")] = 0xFF
    sound.write_bytes(data)
    result = zabcheck("clients", "check", sound)
    assert (result.code, result.out) == (2, "")
    assert f"{sound}: a Parquet file that cannot be read: Couldn't deserialize thrift: " in result.err


def test_nothing_is_recorded_as_parquet_without_pyarrow(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(zabcheck_clients, "parquet")
    monkeypatch.setitem(sys.modules, parquet.__name__, None)
    result = zabcheck("clients", "record", "--connect", "127.0.0.1:1", "--out", "history.parquet")
    assert result.code == 2
    assert "history.parquet: for Parquet files, pip install" in result.err
    assert not Path("history.parquet").exists()


def test_a_history_is_recorded_without_faults_and_told_as_json(zabcheck: Command, tmp_path: Path) -> None:
    served, out = Served(), tmp_path / "history.jsonl"
    arguments = ["--connect", served.addresses, "--requests", "300", "--no-faults", "--out", out]
    result = zabcheck("clients", "record", *arguments, "--format", "json")
    served.close()
    assert_documented(json.loads(result.out))
    promises = {each["promise"]: each["status"] for each in json.loads(result.out)["histories"][0]["promises"]}
    assert promises["own writes"] == "holds"
    assert not any(isinstance(line, Connect) and line.session != "0x0" for line in load(out.open("rb"), "history"))


@pytest.mark.zookeeper
def test_3_8_0_keeps_all_but_what_is_known_of_it(
    zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZOOKEEPER-4466, a watch of one kind ends one of another; syncs at the leader, which may be stale; and what
    follows on a refused write of a session that has moved is answered, and that is not.

    So it is until servers are disturbed, which begins after a third of the requests: what is lost in an election then
    depends on its moment. Servers start again from snapshots. Costs 7 CPU s, for the four starts of a server.
    """
    out = tmp_path / "history.jsonl"
    calm: list[HistoryLine] = []
    write = HistoryFile.write

    class LaterDisturbances(disturbed.ServerDisturbances):
        def go_on(self, multis: int) -> None:
            if len(calm) == 6000 or self._is_last:
                super().go_on(multis)

    def counted(file: HistoryFile, line: HistoryLine) -> None:
        if len(calm) < 6000:
            calm.append(line)
        write(file, line)

    monkeypatch.setattr(disturbed, "ServerDisturbances", LaterDisturbances)
    monkeypatch.setattr(HistoryFile, "write", counted)
    monkeypatch.setattr(server, "LIMITS", UNHURRIED)
    monkeypatch.setattr(recorder, "PATIENCE", 60.0)
    arguments = ["--classpath", debian().classpath, "--requests", 8000, "--seconds", 1200, "--out", out]
    result = zabcheck("clients", "record", *arguments)
    assert re.match(
        r"a server was held back, two were stopped, and the leader was killed [1-9]\d* times? "
        r"\(with multis open: \d+\)\n",
        result.out,
    )
    lines = [*load(out.open("rb"), "history")]
    assert any(isinstance(each, Connect) and each.seen for each in lines)
    judged = judge(read([*calm, HistoryEnd(len(calm) - 1)], "calm"))
    found = {each.promise.name for each in judged if each.breach is not None}
    assert found <= {"persistent watches", "watch fires", "sync", "answer order"}
    assert re.search(r"^persistent watches +violated ", result.out, re.MULTILINE)
    unexercised = {*re.findall(r"^(\w+(?: \w+)*) +not exercised ", result.out, re.MULTILINE)}
    assert unexercised <= {"event order", "one order", "timeliness"}  # its events tell no zxids


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["record", "--connect", "localhost:²"], "--connect: expected HOST:PORT, found `localhost:²`"),
        (["record", "--connect", "localhost"], "--connect: expected HOST:PORT, found `localhost`"),
        (["record", "--connect", "127.0.0.1:1"], "--connect: no session at 127.0.0.1:1"),
        (["record"], "expected either --connect, the servers of a service, or --classpath"),
        (
            ["record", "--classpath", "no.jar", "--connect", "a:1"],
            "expected either --connect, the servers of a service, or",
        ),
        (["record", "--classpath", "no.jar"], "no.jar: expected a jar or a folder of the class path, found nothing"),
        (
            ["record", "--classpath", "no.jar", "--disturb", "true"],
            "--disturb: not with --classpath, whose servers are",
        ),
        (["record", "--connect", "127.0.0.1:1", "--out", "no/file"], "--out no/file: expected the name of a file"),
        (
            ["record", "--connect", "127.0.0.1:1", "--disturb", "no-such x"],
            "--disturb: expected a command, found no pro",
        ),
        (["record", "--connect", "127.0.0.1:1", "--disturb", "'"], "--disturb: No closing quotation"),
        (["record", "--connect", "127.0.0.1:1", "--disturb", ""], "--disturb: expected a command, found no program ``"),
        (["proxy", "--listen", "192.0.2.1:1", "--to", "c:3"], "--listen 192.0.2.1:1: "),
        (["proxy", "--listen", "a:1,b:2", "--to", "c:3"], "--listen: expected an address for each of --to, 1 of them"),
    ],
)
def test_what_cannot_be_recorded_leaves_no_file(
    zabcheck: Command, tmp_path: Path, arguments: list[str], message: str
) -> None:
    before = [*tmp_path.iterdir()]
    result = zabcheck("clients", *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert [*tmp_path.iterdir()] == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-", "--promise", "muti"], "--promise: no promise `muti`; did you mean `multi`?"),
        (["-", "-"], "-: named more than once, expected at most once"),
        (["nothing.jsonl"], "nothing.jsonl: No such file or directory"),
        (["-"], "standard input, line 1: expected a header, the file is empty"),
    ],
)
def test_bad_input(zabcheck: Command, arguments: list[str], message: str) -> None:
    result = zabcheck("clients", "check", *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err

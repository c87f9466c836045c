"""The output of each command on fixed inputs: printed and written."""

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from invariants import Broadcast, Deliver, End, Event, Header, Txn, Zxid, trace
from invariants.columns import PARQUET, SCHEMA, Rows
from tests.campaign import plans
from tests.frozen.command import called, folder, json
from tests.frozen.hashing import ROOT
from zabcheck.campaign.schema import RUNS
from zabcheck.proof.mutants import MUTANTS, RELEASES
from zabcheck.proof.obligations import Theory, obligations

Parts = Mapping[str, Any]

OUT = ("--out", "found")
SMALL = ("--processes", "2", "--epochs", "1")
PASSES = 'protocols = ["zab"]\nruns = 20\ngoals = ["three epochs"]\nkills = ["commit-on-own-ack"]\n'
BROKEN = "no-truncation.total-order.json"


def each(**lines: str) -> Callable[[], Parts]:
    """Return what makes one part of each command line; its result is read as JSON."""
    return lambda: {name: alone(json, *line.split()) for name, line in lines.items()}


def alone(call: Callable[..., dict[str, Any]], *arguments: str) -> dict[str, Any]:
    """Return what a command does in an empty folder."""
    with folder():
        return call(*arguments)


def lists() -> Parts:
    """Return the tables of `zabcheck list`, and the schemas."""
    kinds = ("protocols", "mutants", "properties", "groups", "goals", "scenarios", "switches", "clients")
    schemas = {f"schema {name}": alone(called, "schema", name) for name in ("trace", "schedule", "node")}
    return {**{kind: alone(json, "list", kind) for kind in kinds}, **schemas}


def scenarios() -> Parts:
    """Return the outcome and the files of each scenario."""
    with folder():
        names = [found["name"] for found in json("list", "scenarios")["json"]["scenarios"]]
    return {name: alone(json, "scenario", name, *OUT) for name in names}


def searches() -> Parts:
    """Return searches by both engines: without bugs, with planted ones, and with what the usage forbids."""
    lines = {
        "zab": "--runs 60 --seed 1",
        "zab, hypothesis": "--runs 10 --steps 60 --seed 1 --engine hypothesis",
        "commit-on-own-ack": "--mutant commit-on-own-ack --seed 1 --out found",
        "commit-on-own-ack, hypothesis": "--mutant commit-on-own-ack --seed 1 --engine hypothesis --out found",
        "ladis-2008": "--protocol ladis-2008 --seed 2 --runs 30",
        "db19": "--protocol db19 --seed 1 --processes 3 --out found",
        "zookeeper": "--protocol zookeeper --seed 1 --runs 4 --switch version=3.9.5 --switch defects=none",
        "no mutant": "--mutant commit-on-own-ackk",
        "no property": "--property agreementt",
        "no switch": "--switch sync=sometimes",
    }
    found = {name: alone(json, "run", *line.split()) for name, line in lines.items()}
    return {**found, "text": alone(called, "run", "--mutant", "commit-on-own-ack", "--seed", "1", *OUT)}


def explorations() -> Parts:
    """Return the states within small bounds, the shortest counterexamples there, and their certificates."""
    lines = {
        "zab": "--processes 2 --epochs 2",
        "zab 1": "--processes 1",
        "zab, time-outs": "--processes 2 --epochs 2 --timeouts 2 --cuts 1 --crashes unlimited",
        "zookeeper, snapshots": "--protocol zookeeper --processes 2 --epochs 1 --txns 1 --snapshots 1",
        "zab, no symmetry": "--processes 2 --epochs 2 --no-symmetry",
        "zab, no reduction": "--processes 2 --epochs 2 --no-por",
        "zab, refines": "--processes 2 --epochs 2 --property refinement",
        "zab, 3": "--processes 3 --epochs 1 --txns 1",
        "ladis": "--protocol ladis --processes 2 --epochs 2",
        "ladis-2008": "--protocol ladis-2008 --processes 3 --epochs 1 --txns 1",
        "paxos": "--protocol paxos --processes 2 --epochs 2",
        "paxos-unordered": "--protocol paxos-unordered --processes 2 --epochs 2",
        "paxos-barrier": "--protocol paxos-barrier --processes 2 --epochs 1",
        "zookeeper": "--protocol zookeeper --processes 2 --epochs 2 --txns 1",
        "zookeeper, weights": "--protocol zookeeper --processes 2 --epochs 1 --txns 1 --switch version=3.4.10",
        "db19": "--protocol db19 --processes 2",
    }
    found = {name: alone(json, "explore", *line.split()) for name, line in lines.items()}
    mutants = ("commit-on-own-ack", "quorum-off-by-one", "duplicate-proposal")
    broken = {name: alone(json, "explore", "--mutant", name, *OUT) for name in mutants}
    return {**found, **broken, "certified": _certified(), "text": alone(called, "explore", *SMALL)}


def _certified() -> dict[str, Any]:
    with folder() as here:
        json("explore", "--mutant", "commit-on-own-ack", *OUT)
        [schedule] = here.rglob("*.schedule.json")
        return json("explore", "--certify", str(schedule.relative_to(here)))


def two_orders() -> list[Event]:
    """Return events in which two processes deliver the same in two orders, without header and end."""
    a, b = Txn(Zxid(1, 1), "a"), Txn(Zxid(1, 2), "b")
    sent: list[Event] = [Broadcast(1, 0, 1, a), Broadcast(1, 0, 1, b)]
    return [*sent, Deliver(2, 0, a), Deliver(2, 0, b), Deliver(1, 0, b), Deliver(1, 0, a)]


def _header(**changed: Any) -> Event:
    return Header(1, 3, "mine", **changed)


def write_traces(here: Path) -> None:
    """Write traces that hold, are broken, are cut short, and are none; the first two also as columns."""
    events = two_orders()
    good: list[Event] = [_header(), *events[:4], End(4)]
    bad: list[Event] = [_header(), *events, End(len(events))]
    files = {"good": good, "bad": bad, "open": good[:-1], "apart": [_header(order="per-process"), *bad[1:]]}
    for name, lines in files.items():
        (here / f"{name}.jsonl").write_bytes(b"".join(trace.dump(lines)))
    (here / "none.jsonl").write_bytes((here / "good.jsonl").read_bytes() + b'{"event":"delivr"}\n')
    (here / "empty.jsonl").write_bytes(b"")
    for process in (1, 2):
        mine = [event for event in events if getattr(event, "process", 0) == process]
        (here / f"p{process}.jsonl").write_bytes(
            b"".join(trace.dump([_header(order="per-process"), *mine, End(len(mine))]))
        )
    rows = Rows()
    for run, lines in enumerate((good, bad, good)):
        rows.add(run, lines)
    pq.write_table(pa.Table.from_batches([rows.take()], SCHEMA), here / "runs.parquet", **PARQUET)


def checks() -> Parts:
    """Return the verdicts on traces, and the explanations of those that can be explained."""
    with folder() as here:
        write_traces(here)
        (here / BROKEN).write_bytes(next(ROOT.glob(f"tests/schedules/{BROKEN}")).read_bytes())
        json("replay", BROKEN, "--trace", "replayed.jsonl")
        names = ("good", "bad", "open", "apart", "none", "empty", "replayed")
        lines = {
            **{f"check {name}": f"check {name}.jsonl" for name in names},
            "check both": "check good.jsonl bad.jsonl",
            "check merged": "check --merge p1.jsonl p2.jsonl",
            "check columns": "check runs.parquet",
            "check a run of columns": "check runs.parquet --run 1",
            "check by one property": "check bad.jsonl --property agreement",
            "check nothing": "check nothing.jsonl",
            "explain bad": "explain bad.jsonl",
            "explain columns": "explain runs.parquet --run 1",
            "explain replayed": "explain replayed.jsonl",
            "explain schedule": f"explain {BROKEN}",
        }
        found = {name: json(*line.split()) for name, line in lines.items()}
        written = {
            f"explain as {form}": called("explain", BROKEN, "--write", f"page.{form}")
            for form in ("html", "txt", "svg", "mmd", "log", "dot", "graphml", "json", "py")
        }
        return {**found, **written, "text": called("check", "bad.jsonl"), "columns": _read(here / "runs.parquet")}


def _read(file: Path) -> dict[str, Any]:
    table = pq.read_table(file)
    return {"schema": str(table.schema.remove_metadata()), "rows": str(table.to_pylist())}


def external() -> Parts:
    """Return a search and an exploration of nodes in a language of their own, by the lines between them and us."""
    node = ("--exec", f"{sys.executable} {ROOT / 'kits/python/zab.py'}")
    return {
        "run": alone(json, "run", *node, "--runs", "3", "--seed", "1", "--processes", "3", "--steps", "60"),
        "explore": alone(json, "explore", *node, *SMALL, "--txns", "1"),
    }


def gates() -> Parts:
    """Return the outcomes of a gate that passes and of some that do not."""
    tables = {
        "passes": PASSES,
        "not exercised": 'protocols = ["zab"]\nruns = 1\nsteps = 1\ngoals = ["truncation"]\n',
        "survives": 'protocols = ["zab"]\nruns = 3\nproperties = ["integrity"]\nkills = ["counter-wraps"]\n',
        "violated": 'protocols = ["ladis-2008"]\nruns = 300\nseeds = [1]\nproperties = ["epoch uniqueness"]\n',
        "no such key": 'protocols = ["zab"]\nsteeps = 1\n',
    }
    found = {}
    for name, table in tables.items():
        with folder() as here:
            (here / "pyproject.toml").write_text(f"[tool.zabcheck]\n{table}")
            found[name] = json("gate", "--junit", "gate.xml", "--summary", "gate.md", *OUT)
            for report in found[name].get("files", {}):
                if report.startswith("gate."):
                    found[name]["files"][report] = {"pages": found[name]["files"][report].popitem()[1]}
    return found


def proofs() -> Parts:
    """Return the SMT-LIB text of all obligations, of Zab, some known bugs, the releases; and a small certificate."""
    some = dict(list(MUTANTS.items())[::4])
    theories = {"zab": Theory(), **{name: made.theory() for name, made in {**some, **RELEASES}.items()}}
    found = {name: _scripts(theory) for name, theory in theories.items()}
    with folder():
        certificate = json("prove", "--step", "f.1.2", "--conjunct", "one-promise", "--certificate", "proof")
        verified = json("verify", "proof")
    return {**found, "certificate": certificate, "verified": verified}


def _scripts(theory: Theory) -> dict[str, str]:
    return {one.name: one.script() for one in obligations(theory)}


def campaign() -> Parts:
    """Return the rows of a small campaign that is made here, and its report without Spark."""
    with folder() as here:
        plan = plans.plan_of(60, None, "no-truncation", "commit-ld-zxid", keep="violations", processes=None)
        store = plans.made(here / "made", plan)
        rows = plans.rows(store)
        report = json("campaign", "report", "made")
        parts = sorted(str(path.relative_to(here)) for path in here.rglob("*.parquet") if "tables" not in path.parts)
        events = [_read(here / part) for part in parts if "events" in part]
        plan_file = sorted(path.name for path in (here / "made").iterdir())
    return {"rows": str(rows), "schema": str(RUNS), "events": events, "report": report, "files": [parts, plan_file]}


def mutants(names: Iterable[str], seeds: int = 1) -> Callable[[], Parts]:
    """Return what searches for each of these known bugs."""
    return lambda: {
        name: alone(json, "mutants", "--mutant", name, "--seeds", str(seeds), "--seconds", "600", *OUT)
        for name in names
    }


ITEMS: dict[str, Callable[[], Parts]] = {
    "list": lists,
    "scenario": scenarios,
    "run": searches,
    "explore": explorations,
    "check": checks,
    "exec": external,
    "gate": gates,
    "prove": proofs,
    "campaign": campaign,
    "mutants": mutants(("commit-on-own-ack", "accept-equal-epoch", "quorum-off-by-one")),
    "db19": each(
        small="db19 --seed 1 --nodes 3 --rounds 1000 --proposals 5 --dump dump --trace trace.jsonl",
        messages="db19 --seed 2 --nodes 4 --rounds 300 --proposals 5 --trace trace.jsonl --messages",
        partition="db19 --seed 7 --nodes 5 --rounds 600 --proposals 9 --partition 0,1,1,0 --dump dump",
    ),
    "evaluate": each(small="evaluate --servers 3 --disk cache --operations 100 --history 100 --out figures"),
}

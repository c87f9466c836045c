"""Schedules and configurations of the gate, drawn field by field."""

import tomllib
from pathlib import Path
from random import Random
from typing import Any, get_args

import msgspec
from msgspec import inspect

from invariants import GROUPS, PROPERTIES
from tests.cli.command import BROKEN_SCHEDULE, CALM_SCHEDULE
from tests.cli.fuzzing.calling import answers
from tests.cli.fuzzing.changes import NAMED, VALUES, change_bytes, change_lines, change_start, cut_off
from tests.cli.fuzzing.files import formats
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.simulation.choices import AnyChoice
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches

CHOICES = [inspect.type_info(kind) for kind in get_args(AnyChoice)]
SWITCHES = inspect.type_info(ZooKeeperSwitches)


def number(rng: Random) -> str:
    return str(rng.choice([0, 1, 1, 1, 2, 2, 3, 3, 4, 999, 10**9, 10**30, -1]))


def quorums(rng: Random) -> str:
    """The name of a quorum system, or almost."""
    name = rng.choice(["majority", "weights", "weights ", "weights ", "sets ", "sets ", "Sets ", ""])
    if name.endswith(" "):
        length = rng.choice([1, 2, 3, 3, 3, 5, 9, rng.choice([1000, 20_000])])
        between = "," if name == "weights " else rng.choice([",", "+", "+", "++"])
        parts = [between.join(number(rng) for _ in range(rng.choice([1, 2, 2, 3]))) for _ in range(length)]
        if rng.random() < 0.5:
            parts = [rng.choice(["1", "2", "1+2", "2+3", "1+3"]) for _ in range(length)]
        name += ",".join(parts)
    if rng.random() < 0.2:
        at = rng.randrange(len(name) + 1)
        name = name[:at] + rng.choice(["", " ", ",", "+", "é", "\n", "1", "٣", "\x00"]) + name[at + rng.randrange(2) :]
    return name


def json_value(rng: Random, kind: inspect.Type, processes: int) -> Any:
    """Return a possible value of a field of a choice or a switch; numbers are often those of processes."""
    match kind:
        case inspect.IntType():
            top = kind.le or 2**31 - 1
            return rng.choice([rng.randint(1, max(1, processes))] * 9 + [0, 1, 7, 1000, top, top + 1])
        case inspect.VarTupleType():
            return [json_value(rng, kind.item_type, processes) for _ in range(rng.choice([0, 1, 2, 3, 3]))]
        case inspect.LiteralType():
            return rng.choice([*kind.values, *kind.values, "x"])
        case inspect.StructType():
            tagged = {} if kind.tag_field is None else {kind.tag_field: kind.tag}
            kept = [field for field in kind.fields if field.required or rng.random() < 0.5]
            return tagged | {field.encode_name: json_value(rng, field.type, processes) for field in kept}
        case _:
            return rng.choice([None, "x", "y"])


def configured_schedule(rng: Random) -> dict[str, Any]:
    """A schedule of random choices and switches, under names of which most are known."""
    processes = rng.choice([1, 2, 3, 3, 3, 3, 4, 5, rng.choice([0, 99, 1000, 1001])])
    calm = msgspec.json.decode(CALM_SCHEDULE)["choices"] if processes >= 3 else []
    choices = [json_value(rng, rng.choice(CHOICES), processes) for _ in range(rng.choice([0, 0, 1, 3, 10]))]
    broken = msgspec.json.decode(BROKEN_SCHEDULE)
    document: dict[str, Any] = {
        "version": 1,
        "protocol": rng.choice(["zab"] * 15 + NAMED + ["ladis", "ladis-2008", "raft", ""]),
        "processes": processes,
        "choices": rng.choice([calm, choices, calm + choices, broken["choices"]]),
    }
    if document["choices"] is broken["choices"]:
        document |= {name: broken[name] for name in ("processes", "mutant", "switches")}
    if rng.random() < 0.4:
        document["mutant"] = rng.choice([*CATALOGUE, *CATALOGUE, None, "x"])
    if rng.random() < 0.5:
        document["quorums"] = quorums(rng)
    if rng.random() < 0.5:
        document["switches"] = json_value(rng, SWITCHES, processes)
    if rng.random() < 0.5:
        document["violates"] = rng.choice([*PROPERTIES, *PROPERTIES, *GROUPS, None, "x", ""])
    return document


def replay_configured(rng: Random, folder: Path) -> int:
    """A schedule that is well formed, and says things that few would."""
    (folder / "file").write_bytes(msgspec.json.encode(configured_schedule(rng)))
    return answers(["replay", "file", *formats(rng)], ["file"])


LIKELY: dict[str, list[Any]] = {
    "time-limit": [0.02, 0.05, 0.1, 1, 0, -1],
    "protocols": [["zab"], ["zab"], ["tests.protocols.own.echo:Echo"], ["zab", "raft"], [""], ["x:Y"], [], "zab"],
    "engine": ["swarm", "swarm", "hypothesis", "Swarm"],
    "seeds": [[1], [1, 2], [0], [2**64], [10**25], [-1], [], 1],
    "runs": [1, 2, 5, 0, 2000, 2**31],
    "steps": [1, 9, 50, 0, 5000, 5001],
    "processes": [1, 2, 3, 9, 0, 100],
    "properties": [["core"], ["integrity"], ["Total-Order", "clock"], ["convergence"], ["x"], []],
    "goals": [["all"], ["three epochs"], [], ["x"]],
    "kills": [["commit-on-own-ack"], ["promise-not-durable"], ["counter-wraps"], [], ["x"]],
    "out": ["out", "out/a/b", ".", "pyproject.toml", ""],
}
ALWAYS = ("time-limit", "protocols", "runs", "steps")
"""First, so that they are the last to be cut off."""


def toml(value: Any) -> str:
    """A value, or something that is none."""
    match value:
        case None:
            return "null"
        case list():
            return f"[{', '.join(map(toml, value))}]"
        case dict():
            return f"{{{', '.join(f'{toml(key)} = {toml(inner)}' for key, inner in value.items())}}}"
        case str():
            return msgspec.json.encode(value).decode()
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def gate_table(rng: Random) -> bytes:
    """A pyproject.toml with a table for the gate; right in most of its parts."""
    table = {key: rng.choice(LIKELY[key][:3]) for key in ALWAYS}
    for key in rng.sample([*LIKELY], rng.choice([0, 1, 2, 4])):
        table[key] = rng.choice(LIKELY[key][:2] if rng.random() < 0.7 else LIKELY[key])
    if rng.random() < 0.2:
        table[rng.choice([*LIKELY, "x", "time_limit", "é\n", ""])] = rng.choice(VALUES)
    head = rng.choice(["[tool.zabcheck]"] * 30 + ["[tool.other]", "[[tool.zabcheck]]", "tool.zabcheck = 1"])
    lines = [head, *(f"{key if key.replace('-', '').isalpha() else toml(key)} = {toml(table[key])}" for key in table)]
    data = "".join(f"{line}\n" for line in lines).encode()
    if rng.random() < 0.2:
        for _ in range(rng.choice([1, 1, 2])):
            data = rng.choice([change_lines, change_bytes, cut_off, change_start])(rng, data)
    return data


def takes_long(data: bytes) -> bool:
    """A configuration that is right and large: such a gate takes as long as it was told to."""
    try:
        table = tomllib.loads(data.decode())["tool"]["zabcheck"]
        runs, steps, limit = table.get("runs", 2000), table.get("steps", 200), table.get("time-limit", 600)
        return bool(limit > 0.1 and (runs > 5 or steps > 50))
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return False


def gate_configured(rng: Random, folder: Path) -> int:
    """Run a gate with a drawn configuration."""
    data = gate_table(rng)
    while takes_long(data):
        data = gate_table(rng)
    (folder / "pyproject.toml").write_bytes(data)
    files = rng.choice([[], [], ["--junit", "j.xml"], ["--summary", "s.md"]])
    return answers(["gate", *files, *formats(rng)], ["pyproject.toml"], writable=[Path()], named=True)

"""Items that are made only if they are named, or with --all: long searches, Spark, and the generated documentation."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.frozen.command import folder, json
from tests.frozen.commands import OUT, alone, mutants, write_traces
from tests.frozen.hashing import ROOT

Parts = Mapping[str, Any]

SHOWN = re.compile(r"```text\n\$ .*?```", re.DOTALL)
"""A block of a page that shows a command and what it prints."""


def explorations() -> Parts:
    """Return the states within the default bounds and others that take seconds, and the shortest way to each bug."""
    lines = {
        "zab": "",
        "zab, two crashes": "--epochs 1 --crashes 2",
        "zab, time-outs": "--epochs 1 --timeouts 1 --cuts 1",
        "zab, refines": "--property refinement --epochs 1",
        "zab, no symmetry": "--epochs 1 --no-symmetry",
        "ladis": "--protocol ladis",
        "ladis-2008": "--protocol ladis-2008",
        "paxos": "--protocol paxos",
        "paxos-one-outstanding": "--protocol paxos-one-outstanding",
        "paxos-batches": "--protocol paxos-batches --epochs 1",
        "zookeeper": "--protocol zookeeper",
        "zookeeper 3.4.10": "--protocol zookeeper --switch version=3.4.10",
        "zookeeper 3.8.0, threads": "--protocol zookeeper --switch version=3.8.0 --switch grain=G2 --epochs 1 --txns 1",
    }
    found = {name: alone(json, "explore", *line.split(), *OUT) for name, line in lines.items()}
    return {
        **found,
        **{f"mutant {name}": alone(json, "explore", "--mutant", name, *OUT) for name in names_of_mutants()},
    }


def names_of_mutants() -> list[str]:
    """Return the names of all known bugs, as the command lists them."""
    return [each["name"] for each in alone(json, "list", "mutants")["json"]["mutants"]]


def hunts() -> Parts:
    """Return what one search for each known bug finds, and how soon."""
    return mutants(names_of_mutants())()


def proof() -> Parts:
    """Return how each obligation of the whole proof is decided, and the certificate."""
    return {"": alone(json, "prove", "--certificate", "proof")}


def on_spark() -> Parts:
    """Return what Spark, in local mode, says of the same traces as the judge in this process."""
    with folder() as here:
        write_traces(here)
        lines = {
            "good": "good.jsonl",
            "bad": "bad.jsonl",
            "open": "open.jsonl",
            "merged": "--merge p1.jsonl p2.jsonl",
            "columns": "runs.parquet",
            "a run of columns": "runs.parquet --run 1",
        }
        return {name: json("check", *line.split(), "--engine", "spark") for name, line in lines.items()}


def campaign() -> Parts:
    """Return the report of a small campaign that Spark makes."""
    arguments = ("--runs", "60", "--seed", "1", "--mutant", "none", "--mutant", "no-truncation", "--steps", "100")
    return {"": alone(json, "campaign", *arguments, "--out", "made")}


def pages() -> Parts:
    """Return what the generators of the documentation write: of Markdown what commands print, else all of it."""
    from docs.generators.__main__ import QUICK  # it loads most of the project

    made = {path: text for make in QUICK.values() for path, text in make().items()}
    return {str(path.relative_to(ROOT)): _shown(path, text) for path, text in sorted(made.items())}


def _shown(path: Path, text: str) -> Any:
    return SHOWN.findall(text) if path.suffix == ".md" else text


ITEMS: dict[str, Callable[[], Parts]] = {
    "more/explore": explorations,
    "more/mutants": hunts,
    "more/prove": proof,
    "spark/check": on_spark,
    "spark/campaign": campaign,
    "docs": pages,
}

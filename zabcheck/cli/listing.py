"""`zabcheck list` and `zabcheck schema`."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from zabcheck.cli.commands import Format, Formats, command
from zabcheck.cli.output import make_console, print_json
from zabcheck.cli.tables import render_catalogue
from zabcheck.cli.verdict import OK
from zabcheck.invariants import FURTHER, GROUPS, PROPERTIES
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.mutants.mutant import Mutant
from zabcheck.papers.lessons import LESSONS
from zabcheck.papers.scenarios import SCENARIOS
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.switch_settings import values_and_meanings
from zabcheck.search.goals import GOALS
from zabcheck.search.run import DEFAULT_PROCESSES
from zabcheck.search.settings import described


class Schemas(StrEnum):
    """The formats that have a JSON Schema."""

    trace = "trace"
    schedule = "schedule"
    node = "node"
    history = "history"


class Kinds(StrEnum):
    """The kinds of thing that can be listed."""

    protocols = "protocols"
    mutants = "mutants"
    properties = "properties"
    groups = "groups"
    goals = "goals"
    scenarios = "scenarios"
    lessons = "lessons"
    switches = "switches"
    clients = "clients"
    search = "search"


@command
def list_(
    kind: Annotated[Kinds | None, typer.Argument(metavar="[KIND]", help=f"Only these: {', '.join(Kinds)}.")] = None,
    format: Formats = Format.text,
) -> int:
    """List protocols, mutants, properties, goals, scenarios, lessons, switches, promises to clients and more."""
    catalogue = {each.value: _entries(each) for each in (Kinds if kind is None else (kind,))}
    if format is Format.json:
        print_json(
            "list",
            **{
                kind: [{"name": name, "summary": text, "source": source} for name, (text, source) in entries.items()]
                for kind, entries in catalogue.items()
            },
        )
    else:
        make_console().print(render_catalogue(catalogue))
    return OK


def _entries(kind: Kinds) -> dict[str, tuple[str, str]]:
    """Return the summary and the source of each thing of this kind, by name; load nothing else."""
    match kind:
        case Kinds.protocols:
            return {each.name: (each.summary, each.source) for each in PROTOCOLS.values()}
        case Kinds.mutants:
            return {each.name: (summary_of(each), each.source) for each in CATALOGUE.values()}
        case Kinds.properties:
            return {k.name: (k.statement, k.source) for k in (*PROPERTIES.values(), *FURTHER.values())}
        case Kinds.groups:
            return {name: (", ".join(members), "zabcheck") for name, members in GROUPS.items()}
        case Kinds.goals:
            return {name: (meaning, "zabcheck") for name, meaning in GOALS.items()}
        case Kinds.scenarios:
            return {each.name: (each.title, each.source) for each in SCENARIOS.values()}
        case Kinds.lessons:
            return {each.name: (each.title, each.source) for each in LESSONS.values()}
        case Kinds.switches:
            told = values_and_meanings().items()
            return {name: (f"{meaning}; {values}", "docs/output.md") for name, (values, meaning) in told}
        case Kinds.clients:
            from zabcheck.zookeeper.verdict.clients import CLIENT_PROPERTIES

            return {each.name: (each.statement, each.source) for each in CLIENT_PROPERTIES.values()}
        case Kinds.search:
            return {name: (text, "zabcheck") for name, text in described().items()}


def summary_of(mutant: Mutant) -> str:
    """Describe the bug and what it breaks in one line."""
    processes = "" if mutant.processes == DEFAULT_PROCESSES else f"; takes {mutant.processes} processes"
    return f"{mutant.wrong}; breaks {', '.join(mutant.breaks)}{processes}"


@command
def schema(what: Annotated[Schemas, typer.Argument(metavar="trace|schedule|node|history", help="The format.")]) -> int:
    """Print the JSON Schema of a schedule, or of a line of a trace, of a node (--exec) or of a history of clients."""
    from zabcheck import schema as schemas

    sys.stdout.flush()
    sys.stdout.buffer.write(schemas.as_file(what))
    return OK

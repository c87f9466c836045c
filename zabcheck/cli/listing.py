"""`zabcheck list` and `zabcheck schema`: what there is."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from invariants import FURTHER, GROUPS, PROPERTIES
from zabcheck import schema as schemas
from zabcheck.cli.commands import Format, Formats, command
from zabcheck.cli.output import make_console, print_json
from zabcheck.cli.tables import render_catalogue
from zabcheck.cli.verdict import OK
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.mutants.mutant import Mutant
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.switches import MEANINGS, values_in_words
from zabcheck.scenarios import SCENARIOS
from zabcheck.search.goals import GOALS
from zabcheck.search.run import DEFAULT_PROCESSES


class Schemas(StrEnum):
    """What has a JSON Schema."""

    trace = "trace"
    schedule = "schedule"
    node = "node"


class Kinds(StrEnum):
    """The kinds of thing that can be listed."""

    protocols = "protocols"
    mutants = "mutants"
    properties = "properties"
    groups = "groups"
    goals = "goals"
    scenarios = "scenarios"
    switches = "switches"
    clients = "clients"


@command
def list_(
    kind: Annotated[Kinds | None, typer.Argument(metavar="[KIND]", help=f"Only these: {', '.join(Kinds)}.")] = None,
    format: Formats = Format.text,
) -> int:
    """List protocols, mutants, properties, groups of them, goals, scenarios, switches, and what clients rely on."""
    catalogue = {
        "protocols": {p.name: (p.summary, p.source) for p in PROTOCOLS.values()},
        "mutants": {m.name: (summary_of(m), m.source) for m in CATALOGUE.values()},
        "properties": {k.name: (k.statement, k.source) for k in (*PROPERTIES.values(), *FURTHER.values())},
        "groups": {name: (", ".join(members), "zabcheck") for name, members in GROUPS.items()},
        "goals": {name: (meaning, "zabcheck") for name, meaning in GOALS.items()},
        "scenarios": {s.name: (s.title, s.source) for s in SCENARIOS.values()},
        "switches": {
            name: (f"{meaning}; {values_in_words(name)}", "docs/output.md") for name, meaning in MEANINGS.items()
        },
    }
    if kind in (None, Kinds.clients):  # loaded for no other list
        from zabcheck.ensemble.verdict.clients import CLIENT_PROPERTIES

        catalogue["clients"] = {each.name: (each.statement, each.source) for each in CLIENT_PROPERTIES.values()}
    if kind is not None:
        catalogue = {kind.value: catalogue[kind]}
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


def summary_of(mutant: Mutant) -> str:
    """Say in one line what is wrong, and what it breaks."""
    processes = "" if mutant.processes == DEFAULT_PROCESSES else f"; takes {mutant.processes} processes"
    return f"{mutant.wrong}; breaks {', '.join(mutant.breaks)}{processes}"


@command
def schema(what: Annotated[Schemas, typer.Argument(metavar="trace|schedule|node", help="Of what.")]) -> int:
    """Print the JSON Schema of a line of a trace, of a schedule, or of a line between zabcheck and a node (--exec)."""
    sys.stdout.flush()
    sys.stdout.buffer.write(schemas.as_file(what))
    return OK

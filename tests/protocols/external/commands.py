"""The commands that start nodes, and runs of them."""

import sys
from pathlib import Path
from shlex import join

from invariants.events import ENVIRONMENT_EVENTS, Event
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.external.protocol import external
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.search.run import Replay, replay_on, schedule_of
from zabcheck.simulation.choices import AnyChoice

ROOT = Path(__file__).parents[3]
PYTHON = join([sys.executable, "-I", "-S"])
"""An interpreter that starts in half the time."""
KIT = f"{join([sys.executable, '-S'])} {join([str(ROOT / 'kits/python/zab.py')])}"


def wrong(what: str) -> str:
    """The command of a node in which this is wrong."""
    return f"{PYTHON} {join([str(Path(__file__).parent / 'wrong.py'), what])}"


def replayed(
    protocol: Protocol | str,
    *choices: AnyChoice,
    processes: int = 3,
    switches: Switches = LETTER,
    property: str = "core",
) -> Replay:
    """Execute these choices on a protocol, or on the nodes of a command."""
    found = external(protocol) if isinstance(protocol, str) else protocol
    schedule = schedule_of(found.name, found.mutant, processes, choices, switches=switches)
    return replay_on(found, schedule, (property,))


def shown(run: Replay) -> list[Event]:
    """Return what the processes of a run showed."""
    return [event for event in run.events[1:-1] if not isinstance(event, ENVIRONMENT_EVENTS)]

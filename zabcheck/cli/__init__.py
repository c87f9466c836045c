"""The command `zabcheck`; each of its commands is a module here.

Exit codes: 0 nothing is broken, 1 a property is violated, 2 the usage or an input is wrong, 3 inconclusive: something
was not exercised, a trace has no end, or the search was interrupted. Results go to standard output, progress and
errors to standard error.
"""

import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from zabcheck.cli import (
    check,
    db19,
    evaluate,
    explain,
    explore,
    gate,
    listing,
    mutants,
    replay,
    run,
    scenario,
)
from zabcheck.cli.campaign import command as campaign
from zabcheck.cli.commands import app, guarded
from zabcheck.cli.zookeeper import command as zookeeper
from zabcheck.cli.zookeeper import judge as zookeeper_judge
from zabcheck.cli.zookeeper import logs as zookeeper_logs
from zabcheck.cli.zookeeper import points as zookeeper_points
from zabcheck.search.run import collect_garbage_less_often

__all__ = [
    "app",
    "campaign",
    "check",
    "db19",
    "evaluate",
    "explain",
    "explore",
    "gate",
    "guarded",
    "listing",
    "main",
    "mutants",
    "replay",
    "run",
    "scenario",
    "zookeeper",
    "zookeeper_judge",
    "zookeeper_logs",
    "zookeeper_points",
]


def show_version(value: bool) -> None:
    """Before anything else is looked at, so that it needs no command."""
    if value:
        print(f"zabcheck {version('zabcheck')}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A property-based model checker for Zab and other primary order atomic broadcast protocols."""


def main() -> None:
    """The entry point."""
    collect_garbage_less_often()
    if "" not in sys.path:
        sys.path.insert(0, "")  # a protocol of one's own may be in the current directory, like a test for pytest
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # whoever started this process closed it
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  # for as long as the process lives
    sys.exit(guarded(lambda: app(sys.argv[1:] or ["--help"], prog_name="zabcheck", standalone_mode=False)))

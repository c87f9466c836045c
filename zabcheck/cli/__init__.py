"""The command `zabcheck`; each of its commands is a module here.

Exit codes: 0 nothing is broken, 1 a property is violated, or the code that is modelled has an error, 2 the usage or an
input is wrong, or zabcheck itself has an error, 3 inconclusive: something was not exercised, a trace has no end, or the
search was interrupted. Results go to standard output, progress and errors to standard error.
"""

import atexit
import gc
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer

from zabcheck.cli.commands import EXAMPLES, app, guarded
from zabcheck.cli.output import end_as_by_ctrl_c
from zabcheck.search.run import collect_garbage_less_often

__all__ = ["all_commands", "guarded", "main"]

_MODULES = {
    "list": ("listing",),
    "schema": ("listing",),
    "campaign": ("campaign.command",),
    "zookeeper": (
        "zookeeper.command",
        "zookeeper.catalogue",
        "zookeeper.judge",
        "zookeeper.conform",
        "zookeeper.gate",
        "zookeeper.logs",
        "zookeeper.serverlog",
        "zookeeper.scale",
        "zookeeper.points",
    ),
}
"""The modules here that register a command and those under it, where it is not one module with the command's name."""


def _register(command: str) -> None:
    for module in _MODULES.get(command, (command,)):
        import_module(f"zabcheck.cli.{module}")


def all_commands() -> typer.Typer:
    """Return the application with every command registered."""
    for name in EXAMPLES:
        if " " not in name:
            _register(name)
    return app


@cache
def _application(name: str | None) -> Callable[..., Any]:
    """Return the application with the command of this name registered, or with every command for None."""
    if name is None:
        all_commands()
    else:
        _register(name)
    return typer.main.get_command(app)


def show_version(value: bool) -> None:
    """Print the version and exit, before anything else is looked at: it needs no command."""
    from importlib.metadata import version

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
    """Run the command."""
    collect_garbage_less_often()
    atexit.register(gc.freeze)  # a process that ends need not look through all that it has for cycles
    end_as_by_ctrl_c()
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # whoever started this process closed it
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  # for as long as the process lives
    arguments = sys.argv[1:] or ["--help"]
    # Importing all commands takes longer than many a command.
    first = arguments[0] if arguments[0] in EXAMPLES else None
    sys.exit(guarded(lambda: _application(first)(arguments, prog_name="zabcheck", standalone_mode=False)))

"""docs/commands.md shows what its examples print; the site has the help of every command besides."""

import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from docs.generators.output import DOCS, read, run, with_output
from zabcheck.cli import all_commands

PAGE = DOCS / "commands.md"


def made() -> dict[Path, str]:
    """Return the page with the output of its examples."""
    return {PAGE: with_output(read(PAGE))}


def reference() -> str:
    """Return a page with the help of every command, which this module prints as a process of its own (see below)."""
    return f"# Every option of every command\n{run([sys.executable, '-m', __name__])}"


def commands(group: typer.core.TyperGroup | None = None, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command, in the order of the help: ("campaign",), ("campaign", "report"), …"""
    group = group or typer.main.get_group(all_commands())
    for name in group.list_commands(typer.Context(group)):
        command = group.commands[name]
        yield (*above, name)
        if isinstance(command, typer.core.TyperGroup):
            yield from commands(command, (*above, name))


def print_help() -> None:
    """Print a section for each command. Typer reads the environment when it is imported: hence the process."""
    for words in commands():
        line = " ".join(["zabcheck", *words])
        print(f"\n## {line}\n\n```text\n$ {line} --help", flush=True)
        all_commands()([*words, "--help"], prog_name="zabcheck", standalone_mode=False)
        print("```", flush=True)


if __name__ == "__main__":
    print_help()

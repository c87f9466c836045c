"""docs/commands.md has the help of every command."""

import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from docs.generators.output import DOCS, read, run
from zabcheck.cli import all_commands

PAGE = DOCS / "commands.md"
BEGIN, END = "<!-- help of every command -->\n", "<!-- end -->\n"


def made() -> dict[Path, str]:
    """Return the page with every command's help, which this module prints as a process of its own (see below)."""
    before, begin, rest = read(PAGE).partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin
    assert end
    return {PAGE: f"{before}{begin}{run([sys.executable, '-m', __name__])}{end}{after}"}


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
        print(f"\n### {line}\n\n```text\n$ {line} --help", flush=True)
        all_commands()([*words, "--help"], prog_name="zabcheck", standalone_mode=False)
        print("```", flush=True)
    print()


if __name__ == "__main__":
    print_help()

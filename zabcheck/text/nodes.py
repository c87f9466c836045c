"""The name of a protocol that is a command, which starts nodes in any language: read and made here alone."""

from shlex import quote
from typing import NamedTuple

_PREFIX = "exec:"
_OF_MAELSTROM = "maelstrom:"


class NodeCommand(NamedTuple):
    """A command that starts nodes, as the user gave it: "go run .", or "maelstrom:go run ." for nodes of Maelstrom."""

    text: str

    @classmethod
    def for_maelstrom(cls, program: str) -> "NodeCommand":
        """Return the command that starts the nodes of this program, which were written for Maelstrom."""
        return cls(f"{_OF_MAELSTROM}{program}")

    @property
    def protocol(self) -> str:
        """The name of the protocol of these nodes, as schedules have it: "exec:go run ."."""
        return f"{_PREFIX}{self.text}"

    @property
    def is_of_maelstrom(self) -> bool:
        """True if the nodes were written for Maelstrom."""
        return self.text.startswith(_OF_MAELSTROM)

    @property
    def program(self) -> str:
        """The command itself: "go run ."."""
        return self.text.removeprefix(_OF_MAELSTROM)


def command_of(protocol: str) -> NodeCommand | None:
    """Return the command that a protocol's name consists of; None if the protocol is not an external one."""
    return NodeCommand(protocol.removeprefix(_PREFIX)) if protocol.startswith(_PREFIX) else None


def option_of(protocol: str) -> str:
    """Return the option that a command line needs beside a schedule: " --exec 'go run .'"; "" if it needs none."""
    command = command_of(protocol)
    return "" if command is None else f" --exec {quote(command.text)}"

"""The name of a protocol that is code of the user's: read and made here alone.

It is a command, which starts nodes in any language, or "module:Class". No file is trusted with such a name: what it
names is run only if a command line, a configuration or a program in Python names it, too.
"""

from shlex import quote
from typing import NamedTuple

_PREFIX = "exec:"
_OF_MAELSTROM = "maelstrom:"


class NodeCommand(NamedTuple):
    """A command that starts nodes, as the user gave it: "go run .", or "maelstrom:go run ." for nodes of Maelstrom."""

    text: str

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


def is_class(protocol: str) -> bool:
    """Return True for the name of a class, "module:Class", which is found by importing the module."""
    return command_of(protocol) is None and ":" in protocol


def option_of(protocol: str) -> str:
    """Return the option that a command line needs beside a schedule: " --exec 'go run .'"; "" if it needs none."""
    command = command_of(protocol)
    if command is not None:
        return f" --exec {quote(command.text)}"
    return f" --protocol {quote(protocol)}" if is_class(protocol) else ""


def untrusted(protocol: str) -> str:
    """Return why a file that names this protocol is not enough, and the option to add; "" if the file is enough."""
    if command_of(protocol) is not None:
        return f"its nodes are started by a command, so add{option_of(protocol)}"
    return f"its protocol is a class, which is imported, so add{option_of(protocol)}" if is_class(protocol) else ""

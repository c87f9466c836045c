"""What a schedule calls the protocol of a command (`--exec`), and what a command line then needs besides it."""

from shlex import quote

PREFIX = "exec:"
"""The name of the protocol of a command is the command, after this."""
OF_MAELSTROM = "maelstrom:"
"""A command that begins so starts nodes that were written for Maelstrom."""


def option_of(protocol: str) -> str:
    """Return what a command line needs besides a schedule of this protocol: " --exec 'go run .'", or nothing."""
    return f" --exec {quote(protocol.removeprefix(PREFIX))}" if protocol.startswith(PREFIX) else ""

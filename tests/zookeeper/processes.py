"""The processes of an ensemble, and the ports that they may listen to."""

import re
import socket
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic, sleep

PATIENCE = 300.0
"""Seconds that a test waits for what has to come."""


def groups_of(*marks: str) -> set[int]:
    """The process groups in which there is a process whose command line has all of these in it."""
    return {group for group, arguments in _processes() if all(mark in arguments for mark in marks)}


def are_gone(groups: Iterable[int]) -> bool:
    """Return True if no process is left in any of these groups."""
    left = {group for group, _ in _processes()}
    return not left.intersection(groups)


def _processes() -> list[tuple[int, str]]:
    """The group and the command line of each process that has not ended."""
    command = ["ps", "-A", "-ww", "-o", "pgid=,stat=,args="]
    listed = subprocess.run(command, capture_output=True, text=True, errors="replace", check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return [(int(row[0]), row[2]) for row in rows if len(row) == 3 and not row[1].startswith("Z")]


def ports_of(folder: Path) -> list[int]:
    """The ports that the servers of a run use."""
    ports = []
    for number, file in enumerate(sorted(folder.glob("server-*/zoo.cfg")), start=1):
        text = file.read_text()
        own = re.findall(rf"^(?:clientPort|server\.{number})=(\S+)$", text, re.MULTILINE)
        ports += [
            int(port) for each in own for port in each.removeprefix("127.0.0.1:").removesuffix(":observer").split(":")
        ]
    return ports


def is_left(port: int) -> bool:
    """Return True if somebody listens to it, other than an ensemble of another process that has reserved it since."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reservation, socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            reservation.bind(("127.0.0.1", port))
        except OSError:
            return False
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def until(condition: Callable[[], bool]) -> None:
    """Wait until it is so."""
    end = monotonic() + PATIENCE
    while not condition():
        assert monotonic() < end
        sleep(0.02)

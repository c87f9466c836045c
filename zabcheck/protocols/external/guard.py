"""Ends the nodes that zabcheck has started when zabcheck ends, also if it is killed.

A node should end when its standard input is closed, but one that hangs does not look there. So a small process of its
own has the numbers of all nodes, line by line ("+12", "-12"), on its standard input; when that is closed, it kills the
process groups of those that are left.
"""

import contextlib
import os
import signal
import subprocess
import sys
from inspect import getsource


def _watch() -> None:
    pids: dict[int, None] = {}
    for line in sys.stdin:
        if line.startswith("+"):
            pids[int(line)] = None
        else:
            pids.pop(-int(line), None)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended by itself
            os.killpg(pid, signal.SIGKILL)


_CODE = f"import contextlib, os, signal, sys\n{getsource(_watch)}\n_watch()"
"""The guard's program, as text: in a task of a cluster this module is in a zip file, where no interpreter finds it."""

_guards: dict[str, "subprocess.Popen[bytes]"] = {}  # at most one


def add(pid: int) -> None:
    """Have this process, which leads a group, killed when zabcheck ends."""
    if not _guards:
        _guards[""] = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _CODE],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    _tell(f"+{pid}\n")


def remove(pid: int) -> None:
    """Forget a process that has ended, for its number may belong to another one."""
    _tell(f"-{pid}\n")


def _tell(line: str) -> None:
    for each in _guards.values():
        assert each.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # somebody has killed the guard: nothing can be done
            each.stdin.write(line.encode())
            each.stdin.flush()


def _forget() -> None:
    """Leave the guard to the process that has forked this one."""
    for each in _guards.values():
        each.returncode = 0
        assert each.stdin is not None
        os.close(each.stdin.fileno())
    _guards.clear()


os.register_at_fork(after_in_child=_forget)

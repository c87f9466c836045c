"""The acts of a command besides its answer, by Python's audit hooks: what it writes, imports, executes, starts.

Code in C opens files without telling a hook (Arrow, DuckDB), so what is new in the current folder is looked at, too.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any

from tests.cli.command import ROOT

PLANTED = "planted_beside"
"""A module and a program that only files name; the module lies in the folder of the case."""
HOMES = tuple(map(os.path.realpath, (ROOT, sys.prefix, sys.base_prefix)))
"""The places from which code may come: zabcheck and its tests, what is installed, Python."""
OURS = (os.path.realpath(ROOT / "zabcheck"), os.path.realpath(ROOT / "invariants"))
COMPILED = "proof/compiled.py"
"""It compiles formulas that zabcheck itself states."""
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
NULL = ("/dev/null", "/dev/tty")
"""Paths at which nothing is kept: Hypothesis is told to store what it wants to keep below the first."""


class Watch:
    """The permissions of one command.

    It may write below the paths `writable`, start the programs that its `words` name, and import the planted module if
    that is `named`.
    """

    def __init__(self, writable: Collection[Path], words: Collection[str], named: bool) -> None:
        self.writable = [os.path.realpath(path) for path in writable]
        self.words = {sys.executable, *words}
        self.named = named
        self.complaints: list[str] = []

    def is_writable(self, path: str) -> bool:
        """True if the path may be written: it is one of them, below one, or the temporary file beside one.

        Python and matplotlib keep what they have compiled.
        """
        above, name = os.path.split(os.path.abspath(path))
        real = os.path.join(os.path.realpath(above), name)
        for each in self.writable:
            beside, base = os.path.split(each)
            if real == each or real.startswith((f"{each}/", f"{beside}/.{base}.")):
                return True
        return real.startswith(NULL) or "/__pycache__" in real or "matplotlib" in real.split("/")[-2:]

    def changes(self, *paths: Any) -> None:
        """Note a path that is written, and may not be."""
        for path in paths:
            if isinstance(path, str | bytes | os.PathLike) and not self.is_writable(os.fsdecode(path)):
                self.complaints.append(f"writes {os.fsdecode(path)!r}")

    def makes(self, path: Any, *_: Any) -> None:
        """Note a folder that is made, unless something below it may be written."""
        below = f"{os.path.realpath(os.fsdecode(path))}/"
        if not any(each.startswith(below) for each in self.writable):
            self.changes(path)

    def opens(self, path: Any, mode: str | None, flags: int) -> None:
        """Note a file that is opened for writing."""
        if flags & WRITES:
            self.changes(path)

    def imports(self, module: str, *_: Any) -> None:
        """Note an attempt to import what only a file names."""
        if module.partition(".")[0] == PLANTED and not self.named:
            self.complaints.append(f"imports {module}")

    def executes(self, code: Any) -> None:
        """Note code from elsewhere, and code that zabcheck makes of text."""
        if not isinstance(code, CodeType):
            return
        if not code.co_filename.startswith("<"):
            if not os.path.realpath(code.co_filename).startswith(HOMES) and not self.named:
                self.complaints.append(f"executes {code.co_filename}")
        elif code.co_filename != "<frozen importlib._bootstrap>":
            caller = os.path.realpath(sys._getframe(2).f_code.co_filename)
            if caller.startswith(OURS) and not caller.endswith(COMPILED):
                self.complaints.append(f"executes text in {caller}")

    def starts(self, program: Any, *_: Any) -> None:
        """Note a process that is neither this Python nor a Java, and is not named."""
        named = map(os.path.abspath, self.words)
        if os.path.abspath(os.fsdecode(program)) not in named and os.path.basename(os.fsdecode(program)) != "java":
            self.complaints.append(f"starts {program!r}")

    def connects(self, _: Any, address: Any) -> None:
        """Note an address of another machine."""
        if isinstance(address, tuple) and address[0] != "127.0.0.1":
            self.complaints.append(f"connects to {address!r}")


_watched: list[Watch | None] = []
_EVENTS: dict[str, Callable[..., None]] = {
    "open": Watch.opens,
    "import": Watch.imports,
    "exec": Watch.executes,
    "subprocess.Popen": Watch.starts,
    "os.system": Watch.starts,
    "os.exec": Watch.starts,
    "os.posix_spawn": Watch.starts,
    "socket.connect": Watch.connects,
    "socket.bind": Watch.connects,
    "os.mkdir": Watch.makes,
    "os.remove": lambda watch, path, *_: watch.changes(path),
    "os.rmdir": lambda watch, path, *_: watch.changes(path),
    "os.chmod": lambda watch, path, *_: watch.changes(path),
    "os.truncate": lambda watch, path, *_: watch.changes(path),
    "os.utime": lambda watch, path, *_: watch.changes(path),
    "shutil.rmtree": lambda watch, path, *_: watch.changes(path),
    "os.rename": lambda watch, before, after, *_: watch.changes(before, after),
    "os.link": lambda watch, *paths: watch.changes(paths[1]),
    "os.symlink": lambda watch, *paths: watch.changes(paths[1]),
}


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watched or event not in _EVENTS:
        return
    watch = _watched.pop()  # what the judgement itself does is not judged
    try:
        if watch is not None:
            _EVENTS[event](watch, *arguments)
    finally:
        _watched.append(watch)


_installed: list[bool] = []


@contextmanager
def watched(writable: Collection[Path], words: Collection[str] = (), named: bool = False) -> Iterator[None]:
    """Assert that the block does no more than a command may do (`Watch`), besides writing to its temporary folder."""
    if not _installed:
        sys.addaudithook(_hook)  # for good: it cannot be taken away
        _installed.append(True)
    before, modules, temporary = set(os.listdir()), set(sys.modules), tempfile.tempdir
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        watch = Watch([*writable, Path(folder)], words, named)
        _watched.append(watch)
        try:
            yield
        finally:
            _watched.pop()
            tempfile.tempdir = temporary
    for each in sorted(set(os.listdir()) - before):
        watch.makes(each)
    for name in set(sys.modules) - modules:
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and not os.path.realpath(file).startswith(HOMES) and not named:
            watch.complaints.append(f"has imported {file}")
    assert not watch.complaints, [*dict.fromkeys(watch.complaints)][:9]

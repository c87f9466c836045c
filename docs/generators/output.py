"""Runs the commands that the documentation shows, and puts what they print into the page."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SHOWN = re.compile(r"```text\n\$ (.*)\n(?:.*\n)*?```\n")
"""A block of Markdown that begins with the command whose output it shows."""
CHANGES_OUTPUT = ("NO_COLOR", "FORCE_COLOR", "CI", "PYTHONHASHSEED")


def environment() -> dict[str, str]:
    """Return the environment of commands whose output is shown: 100 columns, no colours, nothing of a CI service."""
    kept = {k: v for k, v in os.environ.items() if k not in CHANGES_OUTPUT and not k.startswith("GITHUB_")}
    return {**kept, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8", "PYTHONPATH": str(ROOT)}


def run(command: Sequence[str], folder: Path = ROOT, codes: Sequence[int] = (0, 1, 3)) -> str:
    """Run a command in `folder` and return what it prints, without spaces at the ends of lines.

    Raises AssertionError if it writes to standard error, or ends with an exit code that is not among `codes`.
    """
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, encoding="utf-8", check=False)
    assert done.stderr == "", f"{command}: {done.stderr}"
    assert done.returncode in codes, f"{command}: exit code {done.returncode}\n{done.stdout}"
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def zabcheck(*arguments: str | Path, folder: Path = ROOT, codes: Sequence[int] = (0, 1, 3)) -> str:
    """Run `zabcheck` of this repository and return what it prints. Raises as `run` does."""
    return run([sys.executable, "-m", "zabcheck", *map(str, arguments)], folder, codes)


def shell(line: str, folder: Path = ROOT) -> str:
    """Run a line of shell in which `zabcheck` is the command of this repository, and return what it prints."""
    return run(["sh", "-c", line.replace("zabcheck ", f"{sys.executable} -m zabcheck ")], folder)


def with_output(text: str, folder: Path = ROOT) -> str:
    """Return a page in which each block that begins with `$ command` shows what the command prints now.

    A block of which only CPU seconds would change stays as it is.
    """
    return SHOWN.sub(lambda found: newest(found[0], f"```text\n$ {found[1]}\n{shell(found[1], folder)}```\n"), text)


def newest(shown: str, now: str, varies: str = r"[\d.]+\s+CPU\s+seconds") -> str:
    """Return what is printed now, or what was shown if they differ only in what varies from run to run."""
    same = re.sub(varies, "", shown) == re.sub(varies, "", now)
    return shown if same else now


def read(page: Path) -> str:
    """Return a page as it is committed."""
    return page.read_text(encoding="utf-8")

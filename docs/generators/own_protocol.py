"""docs/your-own-protocol.md shows what pytest prints of the code in it."""

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.generators.output import DOCS, read, run

PAGE = DOCS / "your-own-protocol.md"
CODE = re.compile(r"`(\w+\.py)`:\n\n```python\n(.*?)```", re.DOTALL)
"""A file of the page: its name, its content."""
OUTPUT = re.compile(r"(^    pytest (\S+) (\w+\.py)\n\n```text\n)(.*?)(?=\n```)", re.DOTALL | re.MULTILINE)
"""An example: its head, the option of pytest, the file, what is shown."""
PLUGIN = ("-p", "no:zabcheck", "-p", "zabcheck.pytest_plugin")
"""The plugin by its module, whether or not the package that is installed announces it."""


def made() -> dict[Path, str]:
    """Return the page with the output of its tests."""
    with TemporaryDirectory() as folder:
        write_code(Path(folder))
        return {PAGE: OUTPUT.sub(lambda each: each[1] + printed(Path(folder), each[2], each[3]), read(PAGE))}


def write_code(folder: Path) -> None:
    """Write each file of the page into `folder`."""
    for name, code in CODE.findall(read(PAGE)):
        (folder / name).write_text(code, encoding="utf-8")


def printed(folder: Path, option: str, file: str) -> str:
    """Return what pytest prints of the failing test in `file`, without its own header and summary."""
    pytest = [sys.executable, "-m", "pytest", *PLUGIN, "-p", "no:cacheprovider", "--rootdir=.", option, file]
    [report] = re.findall(r"^_+ \w+\.runTest _+\n(.*?)^=+ zabcheck =+$", run(pytest, folder, (1,)), re.DOTALL | re.M)
    return str(report).rstrip()

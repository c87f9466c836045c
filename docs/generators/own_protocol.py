"""docs/your-own-protocol.md and docs/view-changes.md show what pytest prints of the code in them."""

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.generators.output import DOCS, read, run

PAGE = DOCS / "your-own-protocol.md"
VIEW_CHANGES = DOCS / "view-changes.md"
CODE = re.compile(r"`(\w+\.py)`:\n\n```python\n(.*?)```", re.DOTALL)
"""A file of the page: its name, its content."""
OUTPUT = re.compile(r"(^    pytest (\S+) (\w+\.py)\n\n```text\n)(.*?)(?=```)", re.DOTALL | re.MULTILINE)
"""An example: its head, the option of pytest, the file, what is shown."""
STEPS = re.compile(r"^Steps  .*?(?=^Delivered )", re.DOTALL | re.MULTILINE)
"""The steps of a run, which the first of the two pages shows."""
PLUGIN = ("-p", "no:zabcheck", "-p", "zabcheck.pytest_plugin")
"""The plugin by its module, whether or not the package that is installed announces it."""


def made() -> dict[Path, str]:
    """Return the pages with the output of their tests."""
    return {page: _with_output(page) for page in (PAGE, VIEW_CHANGES)}


def _with_output(page: Path) -> str:
    with TemporaryDirectory() as folder:
        write_code(Path(folder), page)
        shown = OUTPUT.sub(lambda each: f"{each[1]}{printed(Path(folder), each[2], each[3])}\n", read(page))
    return STEPS.sub("", shown) if page == VIEW_CHANGES else shown


def write_code(folder: Path, page: Path = PAGE) -> None:
    """Write each file of the page into `folder`."""
    for name, code in CODE.findall(read(page)):
        (folder / name).write_text(code, encoding="utf-8")


def printed(folder: Path, option: str, file: str) -> str:
    """Return what pytest prints of the failing test in `file`, without its own header and summary."""
    pytest = [sys.executable, "-m", "pytest", *PLUGIN, "-p", "no:cacheprovider", "--rootdir=.", option, file]
    [report] = re.findall(r"^_+ \w+\.runTest _+\n(.*?)^=+ zabcheck =+$", run(pytest, folder, (1,)), re.DOTALL | re.M)
    return str(report).rstrip()

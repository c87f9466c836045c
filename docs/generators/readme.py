"""README.md shows what pytest prints of the protocol in it, and what `zabcheck gate` prints of the configuration.

(What it shows of ZooKeeper is made with docs/zookeeper-findings.md.)
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.generators.output import ROOT, newest, read, zabcheck
from docs.generators.own_protocol import printed

PAGE = ROOT / "README.md"
TEST = re.compile(r"(```python\n(.*?)```\n\n`pytest (\S+)`.*?```text\n)(.*?)(?=```)", re.DOTALL)
"""The example for pytest: its head, the code, the option, what is shown."""
GATE = re.compile(r"(```toml\n(.*?)```\n\n```text\n)(.*?)(?=```)", re.DOTALL)
"""The example for CI: its head, the configuration, what is shown."""


def made() -> dict[Path, str]:
    """Return the page with what its examples print."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        text = TEST.sub(lambda each: each[1] + summary(folder, each[2], each[3]), read(PAGE))
        return {PAGE: GATE.sub(lambda each: each[1] + newest(each[3], gate(folder, each[2])), text)}


def summary(folder: Path, code: str, option: str) -> str:
    """Return the first paragraph of what pytest prints of the test: what is violated."""
    (folder / "test_mine.py").write_text(code, encoding="utf-8")
    return printed(folder, option, "test_mine.py").partition("\n\n")[0] + "\n"


def gate(folder: Path, table: str) -> str:
    """Return the last line that the gate prints of a configuration that passes."""
    (folder / "pyproject.toml").write_text(table, encoding="utf-8")
    return zabcheck("gate", folder=folder, codes=(0,)).splitlines()[-1] + "\n"

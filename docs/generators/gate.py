"""docs/gate.md shows what `zabcheck gate` prints of the configurations in it."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.generators.output import DOCS, newest, read, zabcheck

PAGE = DOCS / "gate.md"
EXAMPLE = re.compile(r"(```toml\n(.*?)```\n\n    zabcheck gate\n\n```text\n)(.*?)(?=```)", re.DOTALL)
"""An example: its head, the configuration, what is shown."""
MINE = re.compile(r"`mine\.py` .*?```python\n(.*?)```", re.DOTALL)
"""The protocol that the second configuration names."""
WORK = r"[\d.]+ CPU seconds"
"""The time taken, which is another with each run; the numbers of runs and steps are those of the seeds."""


def made() -> dict[Path, str]:
    """Return the page with the output of its gates; an example of which only the time differs stays."""
    return {PAGE: EXAMPLE.sub(lambda each: each[1] + newest(each[3], printed(each[2]), WORK), read(PAGE))}


def printed(table: str) -> str:
    """Return what the gate prints of a configuration."""
    [code] = MINE.findall(read(PAGE))
    with TemporaryDirectory() as folder:
        Path(folder, "mine.py").write_text(code, encoding="utf-8")
        Path(folder, "pyproject.toml").write_text(table, encoding="utf-8")
        return zabcheck("gate", folder=Path(folder))

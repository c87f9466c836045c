"""docs/clients.md shows how a broken promise is drawn; docs/examples has its history, and its page.

docs/examples/clients has the least history that breaks each promise, and some that only look wrong.
"""

import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.generators.output import DOCS, read, with_output
from tests.zookeeper.clients.test_violations import RIGHT, VIOLATIONS
from zabcheck.zookeeper.clients.history import HistoryEnd, dump

PAGE = DOCS / "clients.md"
HISTORY = DOCS / "examples/half-of-a-multi.jsonl"
EXAMPLES = DOCS / "examples/clients"


def examples() -> dict[Path, str]:
    """Return the histories that the page names."""
    written = {name: write for name, (_, write) in VIOLATIONS.items()} | RIGHT
    made = {}
    for file in re.findall(r"\(examples/clients/(.*)\.jsonl\)", read(PAGE)):
        lines = written[file.replace("-", "_")]().lines
        made[EXAMPLES / f"{file}.jsonl"] = b"".join(dump([*lines, HistoryEnd(len(lines) - 1)])).decode()
    return made


def made() -> dict[Path, str]:
    """Return the page with what its command prints, and the page that the command writes."""
    with TemporaryDirectory() as folder:
        for history in (HISTORY, *DOCS.glob("examples/zookeeper-*-on-*.jsonl")):
            shutil.copy(history, folder)
        text = with_output(read(PAGE), Path(folder))
        [drawn] = Path(folder, "reports").glob("*.html")
        return {PAGE: text, HISTORY.with_suffix(".html"): read(drawn)} | examples()

"""docs/clients.md shows how a broken promise is drawn; docs/examples has its history, and its page."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.generators.output import DOCS, read, with_output

PAGE = DOCS / "clients.md"
HISTORY = DOCS / "examples/half-of-a-multi.jsonl"


def made() -> dict[Path, str]:
    """Return the page with what its command prints, and the page that the command writes."""
    with TemporaryDirectory() as folder:
        shutil.copy(HISTORY, folder)
        text = with_output(read(PAGE), Path(folder))
        [drawn] = Path(folder, "reports").iterdir()
        return {PAGE: text, HISTORY.with_suffix(".html"): read(drawn)}

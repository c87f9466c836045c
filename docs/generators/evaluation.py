"""docs/evaluation.md shows what `zabcheck evaluate` prints, with the plots that it writes."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.generators.output import DOCS, read, zabcheck

PAGE = DOCS / "evaluation.md"
SHOWN = re.compile(r"(\$ zabcheck evaluate --out docs/evaluation\n)(.*?)(?=```)", re.DOTALL)
PLOTS = ("throughput.svg", "outstanding.svg", "latency.svg", "broadcast.svg", "relays.svg", "recovery.svg")


def made() -> dict[Path, str]:
    """Return the page and its plots. Takes most of a minute."""
    with TemporaryDirectory() as folder:
        output = printed(Path(folder), "--out", "docs/evaluation")
        plots = {DOCS / "evaluation" / name: read(Path(folder, "docs/evaluation", name)) for name in PLOTS}
    return {PAGE: SHOWN.sub(lambda each: each[1] + output, read(PAGE)), **plots}


def printed(folder: Path, *options: str) -> str:
    """Return what the command prints, without the time that it took."""
    return re.sub(r", [\d.]+ CPU seconds", "", zabcheck("evaluate", *options, folder=folder, codes=(0,)))

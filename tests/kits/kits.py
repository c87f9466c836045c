"""The kits: which commands start their nodes, and which bug each has."""

import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build/kits"


class Kit(NamedTuple):
    """The command of a kit's Zab, the bug that can be planted in it, and a property that this bug breaks."""

    command: str
    bug: str
    breaks: str


KITS = {
    "python": Kit(f"{sys.executable} -S {ROOT}/kits/python/zab.py", "ack-before-disk", "chosen"),
    "go": Kit(f"{BUILT}/zab-go", "commit-on-own-ack", "chosen"),
    "java": Kit(f"java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx64m -cp {BUILT}/java Zab", "no-truncation", "core"),
    "javascript": Kit(f"node {ROOT}/kits/javascript/zab.js", "accept-stale-epoch", "epoch uniqueness"),
    "cpp": Kit(f"{BUILT}/zab-cpp", "history-by-zxid-only", "primary integrity"),
    "rust": Kit(f"{BUILT}/zab-rust", "propose-to-acked-only", "core"),
}
OTHERS = [name for name in KITS if name != "python"]
"""The kits whose tests need more than Python."""
SAVES = ("python", "go", "javascript", "cpp")
"""The kits whose nodes save and restore their state."""

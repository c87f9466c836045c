"""docs/any-language.md shows what a node is sent and answers, and what is found in it."""

import re
from pathlib import Path
from unittest.mock import patch

import msgspec

from docs.generators.output import DOCS, ROOT, read, with_output
from zabcheck.protocols.external import running
from zabcheck.protocols.external.pool import FIRST
from zabcheck.protocols.external.protocol import external
from zabcheck.search.run import replay_on, schedule_of
from zabcheck.simulation.choices import Lead, Sync

PAGE = DOCS / "any-language.md"
TRANSCRIPT = re.compile(r"(?<=<!-- transcript -->\n).*?(?=<!-- end -->)", re.DOTALL)
COMMAND = f"python3 {ROOT / 'kits/python/zab.py'}"
CHOICES = (Lead(1, ()), Sync(1))


def made() -> dict[Path, str]:
    """Return the page with a transcript and the output of its commands."""
    return {PAGE: with_output(with_transcript(read(PAGE)))}


def with_transcript(text: str) -> str:
    """Return the page with the transcript as it is now."""
    lines = "".join(f"{line}\n" for line in transcript())
    return TRANSCRIPT.sub(lambda _: f"```text\n{lines}```\n", text)


def transcript() -> list[str]:
    """Return what a node of the kit in Python is sent in a run, and what it answers."""
    lines: list[str] = []
    ask = running.Running.ask

    def noted(self: running.Running, line: bytes, seconds: float) -> list[tuple[bytes, running.Line]]:
        answer = ask(self, line, seconds)
        lines.append(f"→ {_spaced(line)}")
        lines.extend(f"← {_spaced(written)}" for written, _ in answer)
        return answer

    protocol = external(COMMAND)
    for _ in FIRST:  # these have twins; the lines of the next are shown
        replay_on(protocol, schedule_of(protocol.name, None, 1, CHOICES))
    with patch.object(running.Running, "ask", noted):
        replay_on(protocol, schedule_of(protocol.name, None, 1, CHOICES))
    return [line for line in lines if '"reset"}' not in line and '"reset_ok"' not in line]


def _spaced(line: bytes) -> str:
    """Return a line as every language may write it, with spaces to be read."""
    return msgspec.json.format(line, indent=0).decode().replace("\n", "").strip()

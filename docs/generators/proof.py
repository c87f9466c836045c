"""docs/proof.md shows what is refused of a known bug."""

from pathlib import Path

from docs.generators.output import DOCS, SHOWN, newest, read, shell

PAGE = DOCS / "proof.md"
SECONDS = r"\s+[\d.]+\s+(?:not choosable|commits are told|acknowledged stays) [\d.]+ s"
"""The texts that vary from run to run."""


def made() -> dict[Path, str]:
    """Return the page with the output of its command, which stays as it is if only seconds would change."""
    return {
        PAGE: SHOWN.sub(
            lambda found: newest(found[0], f"```text\n$ {found[1]}\n{shell(found[1])}```\n", SECONDS), read(PAGE)
        )
    }

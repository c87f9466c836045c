"""docs/trace.schema.json and docs/schedule.schema.json are what `zabcheck schema` prints."""

from pathlib import Path

from docs.generators.output import DOCS, zabcheck
from zabcheck.schema import SCHEMAS


def made() -> dict[Path, str]:
    """Return the JSON Schemas."""
    return {DOCS / f"{name}.schema.json": zabcheck("schema", name, codes=(0,)) for name in SCHEMAS}

"""The results of small Spark queries, collected."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MILLION = 1_000_000
"""Detections are counted in so many steps."""


def by_key(table: "DataFrame", keys: int = 1) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Collect a small table as a dictionary: the first `keys` columns give the key, the others the value."""
    return {tuple(row[:keys]): tuple(row[keys:]) for row in table.collect()}

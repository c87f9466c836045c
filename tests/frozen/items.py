"""All items, by name."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tests.frozen import commands, kept, on_demand, runs
from tests.rewording.diagnoses import diagnosed

Make = Callable[[], Mapping[str, Any]]

NAMED_ONLY = ("more/", "docs", "spark/")
"""The items that are made only if they are named, or with --all."""

ITEMS: dict[str, Make] = {
    **{f"swarm/{name}": partial(runs.swarm, name) for name in runs.VARIANTS},
    **{f"hypothesis/{name}": partial(runs.hypothesis, name) for name in runs.VARIANTS},
    **commands.ITEMS,
    **dict(kept.all_items()),
    "diagnoses": diagnosed,
    **on_demand.ITEMS,
}


def chosen(prefixes: list[str], everything: bool) -> dict[str, Make]:
    """Return the items that have parts with these prefixes; without any, those that are made by default, or all."""
    if prefixes:
        return {
            name: make
            for name, make in ITEMS.items()
            if any(name.startswith(prefix) or prefix.startswith(f"{name}/") for prefix in prefixes)
        }
    return {name: make for name, make in ITEMS.items() if everything or not name.startswith(NAMED_ONLY)}

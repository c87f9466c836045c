"""`python -m tests.frozen`: see the docstring of the package."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from time import process_time
from typing import Any

import msgspec

from tests import frozen
from tests.frozen.hashing import hash_of, parts_of
from tests.frozen.items import ITEMS, Make, chosen

HASHES = Path(__file__).with_name("hashes.json")


class Chosen:
    """The items that are asked for, and the prefixes that name parts of them."""

    def __init__(self, prefixes: list[str], everything: bool = False) -> None:
        self.prefixes = tuple(prefixes)
        self.items = chosen(prefixes, everything)

    def only(self, parts: Mapping[str, str]) -> dict[str, str]:
        """Return the parts among these that are asked for."""
        return {
            name: value
            for name, value in parts.items()
            if is_of(name, self.items) and (not self.prefixes or name.startswith(self.prefixes))
        }


def is_of(part: str, items: Mapping[str, Make]) -> bool:
    """Return True if a part belongs to one of these items."""
    return any(part == item or part.startswith(f"{item}/") for item in items)


def known() -> dict[str, str]:
    """Return the committed hashes."""
    return dict(msgspec.json.decode(HASHES.read_bytes())) if HASHES.exists() else {}


def made(items: Mapping[str, Make], show: Path | None = None, times: bool = False) -> dict[str, str]:
    """Return the hashes of all parts of these items.

    With `show`, write to that folder what is hashed; with `times`, tell the CPU seconds of each item.
    """
    found: dict[str, str] = {}
    for item, make in items.items():
        start = process_time()
        for name, data in parts_of(item, make()):
            found[name] = hash_of(data)
            if show is not None:
                _write(show / f"{name.replace('/', '.')}.json", data)
        if times:
            print(f"{process_time() - start:7.2f} CPU s  {item}", file=sys.stderr)
    return found


def differences(wanted: Chosen, now: Mapping[str, str]) -> list[str]:
    """Return a line for each part that is not as it is committed."""
    before, after = wanted.only(known()), wanted.only(now)
    changed = [f"changed  {name}" for name in before if name in after and after[name] != before[name]]
    gone = [f"gone     {name}" for name in before if name not in after]
    return [*changed, *gone, *(f"new      {name}" for name in after if name not in before)]


def write(wanted: Chosen, now: Mapping[str, str]) -> None:
    """Write the hashes that are asked for, keep the others, and forget those of items that there are no more."""
    before = known()
    replaced = wanted.only(before)
    kept = {name: value for name, value in before.items() if name not in replaced and is_of(name, ITEMS)}
    _write(HASHES, {**kept, **wanted.only(now)})


def _write(file: Path, data: Any) -> None:
    file.write_bytes(msgspec.json.format(msgspec.json.encode(data, order="sorted"), indent=1) + b"\n")


def main() -> int:
    """Compare or write; return the exit code."""
    parser = argparse.ArgumentParser(
        "python -m tests.frozen", description=frozen.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("items", nargs="*", metavar="ITEM", help="only items whose names begin so")
    parser.add_argument("--write", action="store_true", help="write the hashes anew")
    parser.add_argument("--all", action="store_true", help="also what is not made by default")
    parser.add_argument("--show", type=Path, metavar="DIR", help="write what is hashed to this folder, to compare two")
    parser.add_argument("--times", action="store_true", help="tell the CPU seconds of each item")
    options = parser.parse_args()
    wanted = Chosen(options.items, options.all)
    if not wanted.items:
        parser.error(f"no item begins with {', '.join(options.items)}")
    if options.show is not None:
        options.show.mkdir(parents=True, exist_ok=True)
    now = made(wanted.items, options.show, options.times)
    if options.write:
        write(wanted, now)
        return 0
    found = differences(wanted, now)
    print("\n".join(found) if found else f"{len(wanted.only(now))} hashes are as they were")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Turns what was printed or written into a hash: without what varies, data apart from words."""

import re
import sys
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).parents[2]
VARIES = frozenset(("seconds", "median_seconds", "worst_seconds", "rate_without", "minimising", "zabcheck"))
"""The keys of what differs from run to run, CPU seconds and what is computed from them, or from release to release."""
WORDS = frozenset(
    (
        "action",
        "added",
        "bounds",
        "description",
        "detail",
        "err",
        "explanation",
        "how",
        "known",
        "legend",
        "looks_like",
        "meaning",
        "message",
        "missing",
        "note",
        "notes",
        "out",
        "pages",
        "reason",
        "removed",
        "saved_by",
        "sentence",
        "shows",
        "source",
        "statement",
        "summary",
        "text",
        "title",
        "undecided",
        "what",
        "why",
        "witness",
        "wrong",
    )
)
"""The keys of sentences for readers."""
_CPU_TIME = re.compile(
    r"[\d.,]+(?=\s+(?:CPU )?seconds?\b|\s+CPU s\b|\s+transitions\s+a\s+CPU\s+second)"  # in sentences
    r'|(?<=time=")[\d.]+'  # in JUnit XML
    r"|(?<=\| )\d+\.\d+(?= \|)"  # in a table
)

_MODULE = re.compile(r"\bzabcheck(\.\w+){2,}|\b(zabcheck|tests)(/\w+)+\.py\b")


def parts_of(item: str, parts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and the data of each part, then the words of all parts, if there are any.

    The name of a part is that of the item, if that part's own is empty.
    """
    words: list[Any] = []
    for part, value in parts.items():
        yield f"{item}/{part}" if part else item, _data(msgspec.to_builtins(value, str_keys=True), words)
    if words:
        yield f"{item}/words", words


def hash_of(value: Any) -> str:
    """Return the hash of data, which does not depend on the order of keys."""
    return sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:16]


def plain(text: str, folder: Path) -> str:
    """Return the text without the names of folders of this machine, of our modules, and without CPU seconds."""
    text = text.replace(sys.executable, "PYTHON")  # first, for it may lie in the folder of the checkout
    for name in (str(folder.resolve()), str(folder), str(ROOT)):
        text = text.replace(name, "FOLDER")
    return _MODULE.sub("MODULE", "\n\n".join(map(_without_cpu_time, text.split("\n\n"))))


def _without_cpu_time(paragraph: str) -> str:
    """Return a paragraph without CPU seconds; without its line ends, too, if it has some: they depend on the digits."""
    left = _CPU_TIME.sub("N", paragraph)
    return left if left == paragraph else " ".join(left.split())


def _data(value: Any, words: list[Any]) -> Any:
    """Return the value without what varies; its words go to `words`, and "…" stands where they were."""
    if isinstance(value, dict):
        return {key: _field(key, each, words) for key, each in value.items() if key not in VARIES}
    if isinstance(value, list):
        return [_data(each, words) for each in value if not (isinstance(each, dict) and each.get("figure") in VARIES)]
    return value


def _field(key: str, value: Any, words: list[Any]) -> Any:
    if key not in WORDS or not _are_words(value):
        return _data(value, words)
    words.append(value)
    return "…" if value else ""


def _are_words(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_are_words, value.values()))
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))

"""The words of a report: events in the paper's words, and any text made safe for a terminal.

Values come from users and from trace files. Whatever is printed goes through `clean`, or through `as_document` if it is
JSON, so no value can move the cursor, change the reading direction, fill the screen, or give a CI system a command.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from zabcheck.invariants import (
    Accept,
    AckEpoch,
    Activate,
    Adopt,
    Broadcast,
    ClientAck,
    CommitEpoch,
    Crash,
    Deliver,
    Establish,
    Event,
    FinalRead,
    Halt,
    Local,
    Promise,
    Quiescent,
    Ready,
    Recover,
    Restore,
    Stabilised,
    State,
    Truncate,
)

LONGEST = 600
"""The longest text that is shown whole, in characters; no sentence that zabcheck makes is longer."""
LONGEST_PATH = 4096
"""The longest path, or line with paths in it, that is shown whole."""

_ASCII = {
    "⟨": "<",
    "⟩": ">",
    "→": "->",
    "←": "<-",
    "⊥": "_|_",
    "−": "-",
    "×": "x",
    "◀": "<<",
    "●": "*",
    "○": "o",
    "◌": "?",
    "◆": "#",
    "⊘": "0",
    "□": "=",
    "━": "=",
    "═": "=",
    "╌": "~",
    "·": ".",
    "│": "|",
    "─": "-",
    "┼": "+",
    "…": "...",
    "≠": "!=",
    "≤": "<=",
    "≥": ">=",
    "▶": ">",
    "≺": "<",
    "∘": "o",
    "ρ": "rho",
    "β": "beta",
    "Δ": "Delta",
    "“": '"',
    "”": '"',
}

_COMMAND = re.compile(r"##(?=\[|vso\[|teamcity\[)")
"""Texts that GitHub, Azure or TeamCity take for the beginning of a command, wherever in a line they are."""


def clean(text: str, ascii_only: bool = False, longest: int = LONGEST) -> str:
    """Return `text` without anything that a terminal or CI would obey: it becomes an escape, as `\\x1b`.

    A text longer than `longest` loses its middle. With `ascii_only`, the paper's notation is transliterated too.

    >>> clean("a\\x1b[31m\\n")
    'a\\\\x1b[31m\\\\n'
    >>> clean("f.p ⊥→1, zxid ⟨1,2⟩", ascii_only=True)
    'f.p _|_->1, zxid <1,2>'
    """
    text = _COMMAND.sub(r"#\\x23", cut(text, longest))
    if text.isprintable() and (text.isascii() or not ascii_only):
        return text
    return "".join(_character(character, ascii_only) for character in text)


def as_document(content: Any) -> bytes:
    """Return JSON in UTF-8 that is meant to be read; what `clean` would escape is escaped as JSON has it: `\\u009b`."""
    text = msgspec.json.format(msgspec.json.encode(content), indent=2).decode()
    unseen = sorted(each for each in {*text} if not each.isprintable() and each != "\n")
    text = text.translate({ord(each): json.dumps(each)[1:-1] for each in unseen})
    return _COMMAND.sub(r"#\\u0023", text).encode() + b"\n"


def as_text(path: str | Path) -> str:
    """Return a file's name as text for JSON; bytes that are not UTF-8 become escapes."""
    return str(path).encode(errors="backslashreplace").decode()


def cut(text: str, longest: int) -> str:
    """Return `text`, without its middle if it is longer than `longest`."""
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"


def cut_between_words(text: str, longest: int) -> str:
    """Return `text`, without words of its middle if it is longer than `longest`; a long word loses its own middle.

    >>> cut_between_words("Append([Entry(1, v1⟨1,1⟩) Entry(1, v2⟨1,2⟩) Entry(2, v3⟨2,3⟩)])", 48)
    'Append([Entry(1, v1⟨1,1⟩) … v3⟨2,3⟩)])'
    """
    if len(text) <= longest:
        return text
    tail = longest // 3
    head = text[: longest - tail - 2].rpartition(" ")[0]
    rest = text[-tail:].partition(" ")[2]
    return f"{head} … {rest}" if head and rest else cut(text, longest)


def _character(character: str, ascii_only: bool) -> str:
    if ascii_only and character in _ASCII:
        return _ASCII[character]
    if character.isprintable() and (character.isascii() or not ascii_only):
        return character
    return character.encode("unicode_escape").decode()


def counted(number: int, one: str, several: str) -> str:
    """Return a number with its noun: "1 step", "2 steps"."""
    return f"{number:,} {one if number == 1 else several}"


def name(process: int, incarnation: int = 0) -> str:
    """Return the name of a process, with the incarnation if it is not the first: "p1 (incarnation 2)"."""
    return f"p{process}" + (f" (incarnation {incarnation})" if incarnation else "")


def names(processes: Iterable[int]) -> str:
    """Return the names of several processes, as in "p1 p3"."""
    return " ".join(map(name, processes))


def name_of(event: Event) -> str:
    """Return the name of an event's kind: "corrupt"."""
    return type(event).__name__.lower()


def phrase(event: Event) -> str:
    """Return an event in the paper's words, without its process: "broadcasts x⟨1,1⟩"."""
    match event:
        case Broadcast():
            return f"broadcasts {event.txn}"
        case Deliver():
            return f"delivers {event.txn}"
        case Ready():
            return f"ready({event.epoch})"
        case Restore():
            return f"takes over a snapshot up to {event.zxid}"
        case Halt():
            return f"halts: {event.reason}"
        case Crash():
            return f"loses {event.lost} unsynced write" + ("" if event.lost == 1 else "s") if event.lost else "crashes"
        case Recover():
            return "recovers"
        case State():
            return f"has {event.text or f'state {event.digest:x}'} after {event.zxid}"
        case ClientAck():
            return f"tells a client that {event.txn} is done"
        case FinalRead():
            return f"reads {len(event.txns)} transaction{'' if len(event.txns) == 1 else 's'} at the end"
        case Promise():
            return f"promises epoch {event.epoch}"
        case AckEpoch():
            return f"provides its history up to {event.zxid} for epoch {event.epoch}"
        case Adopt():
            return f"accepts the initial history of epoch {event.epoch}, up to {event.zxid}"
        case Accept():
            return f"accepts {event.txn} in epoch {event.epoch}"
        case Truncate():
            return f"truncates its history after {event.zxid}"
        case Establish():
            return f"is established as leader of epoch {event.epoch}"
        case CommitEpoch():
            return f"learns that epoch {event.epoch} is committed"
        case Activate():
            return f"activates {event.txn}"
        case Stabilised():
            if not event.quorum:
                return "has not come to an end of what it had to do undisturbed: nothing follows from that"
            return f"leads {names(event.quorum)} undisturbed from here on"
        case Quiescent():
            return f"is at rest, {_role(event)}"
        case _:
            return name_of(event)


def _role(event: Quiescent) -> str:
    if event.leader is None:
        return "following nobody"
    if event.leader == event.process:
        return "leading" if event.primary else "leading, but not yet established"
    how = {"waiting": ", which has not accepted it", "closed": ", which has closed their connection"}
    return f"following p{event.leader}{how.get(event.connection, '')}"


def sentence(event: Event) -> str:
    """Return an event in the paper's words, with its process: "p1 broadcasts x⟨1,1⟩ in epoch 1"."""
    who = f"{name(event.process, event.incarnation)} " if isinstance(event, Local) else ""
    epoch = f" in epoch {event.epoch}" if isinstance(event, Broadcast) else ""
    return f"{who}{phrase(event)}{epoch}"

"""A checkpoint: the position of a search, in one file, so that it can go on after its process was killed.

No table is in it. Its journal has the order in which the tables were filled, and that is done again, with the
protocol's own step functions. For each state it has the row, and the state before it. So it takes 27 bytes a state (of
three processes), and going on from it takes a small part of the time that it took to get there.

The file is one line of JSON, the header, then the journal, then the states, a portion at a time (`compact.Portion`),
then the SHA-256 of all that. It is written beside and renamed when it is on the disk, so there is always a whole one.

The SHA-256 tells damage, and not who wrote the file: whoever can write it can write another search's states. So a
search believes nothing of a small one, and of a large one not the first and the last states (`space.RECHECKED`).
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from sys import byteorder
from time import monotonic
from typing import Annotated, Any, BinaryIO

import msgspec
from msgspec import Meta, Struct

from zabcheck.explore.bounds import Bounds
from zabcheck.explore.states.compact import HOW, PORTION, Portion
from zabcheck.explore.tables.journal import Journal
from zabcheck.invariants import Invariant
from zabcheck.invariants.diagnosis import NOT_DECODED
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.switches import Switches
from zabcheck.text.files import whole

FORMAT = 8
EVERY = 30.0
"""Seconds that pass at least between two checkpoints."""

_SHARE = 20
"""Writing checkpoints takes at most one second in this many."""
_CHUNK = 1 << 20
_DIGEST = hashlib.sha256().digest_size


class CheckpointError(ValueError):
    """A file is no checkpoint that the search can go on from; the message names it, and what was expected."""


class Position(Struct, frozen=True):
    """The position of a search.

    Of its states, in the order of discovery, those before `expanded` were expanded; those from `level` on were found
    from the current level, which is `depth` steps deep. `over`: the search has gone on to a level that has no states.
    """

    expanded: int = 0
    level: int = 1
    depth: int = 0
    transitions: int = 0
    over: bool = False


_Count = Annotated[int, Meta(ge=0)]


class FollowUpPosition(Struct, frozen=True):
    """The position of what follows a search whose states are all expanded.

    From `led` states undisturbed leaders were followed, in `alone` the ensemble was left alone. `checked` and
    `unfinished` are those of `UndisturbedResult`, `exercised` that of `RestResult`, until there.
    """

    led: _Count = 0
    checked: _Count = 0
    unfinished: _Count = 0
    alone: _Count = 0
    exercised: bool = False


class Checkpoint(Struct):
    """Everything that a search needs to go on.

    `states` is their number. They are in `portions`, PORTION at a time, with rows of `width` bytes each; it can be
    iterated once. `sizes` has the numbers of entries of the tables.
    """

    position: Position
    journal: Journal
    states: int
    width: int
    portions: Iterable[Portion]
    sizes: dict[str, int]
    followed: FollowUpPosition


class _Header(Struct):
    format: int
    zabcheck: str
    byteorder: str
    settings: dict[str, str]
    position: Position
    followed: FollowUpPosition
    sizes: dict[str, int]
    states: _Count
    width: _Count
    journal: _Count
    """The length of the journal, in bytes."""


class CheckpointFile:
    """The file with the checkpoint of one search, at `path`.

    `settings` must be the same, by name, when the search goes on. `failed`: why the last one could not be written.
    """

    def __init__(self, path: Path, settings: Mapping[str, str], every: float = EVERY) -> None:
        self.path = path
        self.settings = dict(settings)
        self.every = every
        self.failed: OSError | None = None
        self._due = monotonic() + every

    @property
    def is_due(self) -> bool:
        """True if it is time to write a checkpoint."""
        return monotonic() >= self._due

    def write(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint, whole or not at all: then it has `failed`. O(states), a second for some millions."""
        start, self.failed = monotonic(), None
        try:
            self._write(checkpoint)
        except OSError as error:
            self.failed = error
        end = monotonic()
        self._due = end + max(self.every, (end - start) * _SHARE)

    def _write(self, checkpoint: Checkpoint) -> None:
        digest = hashlib.sha256()
        with whole(self.path) as file:
            for piece in self._pieces(checkpoint):
                digest.update(piece)
                file.write(piece)
            file.write(digest.digest())
            file.flush()
            os.fsync(file.fileno())

    def _pieces(self, checkpoint: Checkpoint) -> Iterator[bytes]:
        journal = msgspec.msgpack.encode(checkpoint.journal)
        header = _Header(
            FORMAT,
            version("zabcheck"),
            byteorder,
            self.settings,
            checkpoint.position,
            checkpoint.followed,
            checkpoint.sizes,
            checkpoint.states,
            checkpoint.width,
            len(journal),
        )
        yield msgspec.json.encode(header) + b"\n"
        yield journal
        for portion in checkpoint.portions:
            yield from portion

    def read(self) -> Checkpoint:
        """Read the checkpoint.

        CheckpointError if there is none, it is damaged, or it was made by another version or with other settings.
        """
        try:
            with self.path.open("rb") as file:
                line = file.readline(_CHUNK)
                header = self._header(line)
                begin = len(line) + header.journal
                self._refuse_if_damaged(file, begin + header.states * (sum(HOW) + header.width))
                file.seek(len(line))
                journal = msgspec.msgpack.decode(file.read(header.journal), type=Journal)
        except OSError as error:
            raise CheckpointError(f"{self.path}: expected a checkpoint: {error.strerror}") from None
        except NOT_DECODED:
            raise self.refuse() from None
        portions = _portions(self.path, begin, header.states, header.width)
        return Checkpoint(
            header.position, journal, header.states, header.width, portions, header.sizes, header.followed
        )

    def _refuse_if_damaged(self, file: BinaryIO, size: int) -> None:
        """Raise CheckpointError if the digest after `size` bytes, at the end, is not that of the rest."""
        left = size if file.seek(0, os.SEEK_END) == size + _DIGEST else -1
        digest = hashlib.sha256()
        file.seek(0)
        while left > 0 and (content := file.read(min(left, _CHUNK))):
            digest.update(content)
            left -= len(content)
        if left or file.read() != digest.digest():
            raise CheckpointError(f"{self.path}: expected a whole checkpoint, found one that is damaged or cut short")

    def _header(self, line: bytes) -> _Header:
        try:
            format_ = msgspec.json.decode(line, type=dict[str, Any])["format"]
            found = msgspec.json.decode(line, type=_Header) if format_ == FORMAT else None
        except (*NOT_DECODED, KeyError):
            raise CheckpointError(f"{self.path}: expected a checkpoint, found another file") from None
        if found is None:
            raise CheckpointError(f"{self.path}: expected a checkpoint of format {FORMAT}, found format {format_}")
        expected = {"zabcheck": version("zabcheck"), "byteorder": byteorder, **self.settings}
        was = {"zabcheck": found.zabcheck, "byteorder": found.byteorder, **found.settings}
        for name in expected | was:
            if expected.get(name) != was.get(name):
                raise CheckpointError(
                    f"{self.path}: expected a checkpoint with {name} `{expected.get(name)}`, found `{was.get(name)}`"
                )
        return found

    def refuse(self) -> CheckpointError:
        """Return the error for a checkpoint whose content does not fit together, or not with the code."""
        return CheckpointError(f"{self.path}: expected a checkpoint that this version of the code made")


def _portions(path: Path, begin: int, states: int, width: int) -> Iterator[Portion]:
    """Read the states, which begin at this byte of the file."""
    with path.open("rb") as file:
        file.seek(begin)
        for start in range(0, states, PORTION):
            number = min(PORTION, states - start)
            before, by, names = (file.read(number * size) for size in HOW)
            yield Portion(before, by, names, file.read(number * width))


def settings_of(
    protocol: Protocol,
    quorums: Quorums,
    switches: Switches,
    bounds: Bounds,
    properties: Iterable[type[Invariant]],
    **how: bool,
) -> dict[str, str]:
    """Return by name all that a search depends on: a search with other settings cannot go on from its checkpoint."""
    return {
        "protocol": protocol.name,
        "steps": steps_of(protocol),
        "mutant": str(protocol.mutant),
        "bounds": bounds.in_words(),
        "quorums": quorums.name,
        "switches": msgspec.json.encode(switches).decode(),
        "properties": ", ".join(kind.name for kind in properties),
        **{name: str(value).lower() for name, value in how.items()},
    }


def steps_of(protocol: Protocol) -> str:
    """Return a short digest of the functions' names of a protocol, and of its environment.

    A mutant has other functions, or another environment.
    """
    fields = {name: getattr(protocol, name) for name in protocol.__struct_fields__}
    names = [f"{name} {_name(value)}" for name, value in fields.items() if callable(value)]
    names += [f"{name} {value}" for name, value in fields.items() if isinstance(value, bool)]
    names += [f"environment {protocol.environment}"]
    names += [f"{kind.__qualname__} {_name(step)}" for kind, step in protocol.steps.items()]
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()[:12]


def _name(function: Any) -> str:
    if isinstance(function, partial):
        arguments = [f"{name}={_name(value)}" for name, value in sorted(function.keywords.items())]
        return f"{_name(function.func)}({', '.join([*map(_name, function.args), *arguments])})"
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"

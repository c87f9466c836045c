"""A run as a link: the schedule in the fragment of an address, `#run=1.…`, with the hash of the trace that it shows.

A fragment is not sent to any server. It has the version of this format, then the schedule and the hash as JSON,
compressed, in base64url; then a check over both, so that a link that was cut or altered is refused and not executed.
"""

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from hashlib import sha256
from typing import NamedTuple

import msgspec
from msgspec import Struct

from zabcheck.invariants.diagnosis import NOT_DECODED
from zabcheck.search.run import Replay

BEGINNING = "run="
LINK_VERSION = "1"
MAX_LINK = 64 * 1024
"""The longest link that is read, in characters."""
MAX_BYTES = 1024 * 1024
"""The longest content of a link that is read, in bytes."""
_CHECK = 9
"""The bytes of the check: a link that was altered by accident passes it in one of 2^72 cases."""

CUT = "it was cut or altered; copy it once more, whole"


class LinkError(ValueError):
    """A link that has no run. The message says why, and what to do."""


class LinkContent(NamedTuple):
    """The content of a link: the schedule as it stands in a file, and the SHA-256 of the trace that it shows."""

    schedule: bytes
    sha256: str


class _Content(Struct, frozen=True):
    schedule: msgspec.Raw
    sha256: str


def is_link(text: str) -> bool:
    """Return True for the fragment of an address that has a run, and for an address with one."""
    return _fragment(text).startswith(BEGINNING)


def link_of(replayed: Replay) -> str:
    """Return the run as a fragment, without its `#`: `run=1.…`. Some 500 characters for a run of 60 steps."""
    content = msgspec.json.encode(_Content(msgspec.Raw(msgspec.json.encode(replayed.schedule)), replayed.sha256))
    packed = zlib.compress(content, 9)
    return f"{BEGINNING}{LINK_VERSION}.{_as_text(packed)}.{_as_text(_check(packed))}"


def linked(text: str) -> LinkContent:
    """Return what a link, or its fragment, has. Nothing in it is looked up or executed. LinkError if it is no link."""
    version, point, rest = _fragment(text).removeprefix(BEGINNING).partition(".")
    if not is_link(text) or len(text) > MAX_LINK or not point:
        raise LinkError(CUT)
    if version != LINK_VERSION:
        raise LinkError(f"it is of version {version[:9]!r}, expected {LINK_VERSION!r}; open it with a newer zabcheck")
    packed, _, check = rest.partition(".")
    try:
        content = urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
        if check != _as_text(_check(content)) or packed != _as_text(content):
            raise LinkError(CUT)
        unpacked = zlib.decompressobj().decompress(content, MAX_BYTES)
        found = msgspec.json.decode(unpacked, type=_Content)
        return LinkContent(bytes(found.schedule), found.sha256)
    except (Error, ValueError, zlib.error, *NOT_DECODED):
        raise LinkError(CUT) from None


def _fragment(text: str) -> str:
    text = text.strip()
    return text if text.startswith(BEGINNING) else text.partition("#")[2]


def _as_text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _check(packed: bytes) -> bytes:
    return sha256(LINK_VERSION.encode() + packed).digest()[:_CHECK]

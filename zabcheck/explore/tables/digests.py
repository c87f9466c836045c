"""Digests of the objects that a search distinguishes, which depend on nothing but their content.

A component gets its number when it is first made, which depends on the order in which a search asks for things. So
where one of several has to be chosen, it is the one with the least digest: the same in any order. Nothing relies
on different objects having different digests; if two have the same, a search may have a few states more.
"""

from collections.abc import Hashable, Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from msgspec import Struct

from zabcheck.explore.tables.components import NO_CONNECTION, Components, key_of_link
from zabcheck.invariants import Chain
from zabcheck.simulation.content import is_hashable, of_value

BITS = 60
_MASK = (1 << BITS) - 1
_NONE, _EMPTY, _NUMBER, _FLOAT, _STRING, _BYTES = range(6)
"""Tags that distinguish values of different types with one hash."""


def digest(value: Hashable) -> int:
    """Return a number of 60 bits for a value, the same in every process and on every machine of 64 bits.

    It is the same for values of one type that are equal, and for True and 1. For an object that is not made of data
    only its kind counts. O(size of the value).
    """
    return _hash(value) & _MASK


def _hash(value: Any) -> int:
    """Return the hash of a tuple of numbers, which Python computes without a seed, unlike those of strings."""
    kind = type(value)
    if kind is tuple:
        return hash(tuple(map(_hash, value)))
    if kind is int or kind is bool:
        return hash((_NUMBER, value))
    if isinstance(value, frozenset):
        return hash(frozenset(map(_hash, value)))
    return _hash_of_object(value)


@lru_cache(1 << 16, typed=True)
def _hash_of_object(value: Any) -> int:
    match value:
        case None:
            return _NONE
        case Enum():
            return hash((_hash(type(value).__name__), _hash(value.name)))
        case str():
            return hash((_STRING, _hash_of_bytes(value.encode(errors="surrogatepass"))))
        case bytes():
            return hash((_BYTES, _hash_of_bytes(value)))
        case float():
            return hash((_FLOAT, value))
        case Chain():
            return hash((_hash(value.previous), _hash(value.txn))) if value.length else _EMPTY
        case tuple():
            return _hash_of_fields(value, value)
        case Struct():
            return _hash_of_fields(value, (getattr(value, name) for name in value.__struct_fields__))
        case _ if is_dataclass(value) and not isinstance(value, type):
            return _hash_of_fields(value, (getattr(value, field.name) for field in fields(value)))
        case _:
            return _hash(type(value).__name__)


def _hash_of_bytes(value: bytes) -> int:
    return int.from_bytes(blake2b(value, digest_size=7).digest())


def _hash_of_fields(value: Any, each: Iterable[Any]) -> int:
    hashable = (field if is_hashable(field) else of_value(field) for field in each)
    return hash((_hash(type(value).__name__), *map(_hash, hashable)))


class Digests:
    """The digests of the components of one search, and of its local states, by their numbers. Each is computed once."""

    def __init__(self, components: Components) -> None:
        self._components = components
        self._processes: dict[int, int] = {}
        self._links = {NO_CONNECTION: 0}

    def of(self, local_state: tuple[int, ...]) -> int:
        """Return the digest of a process and the connections that it has opened (`LocalStates.made_of`)."""
        process, *links = local_state
        return hash((self._of_process(process), *map(self._of_link, links))) & _MASK

    def _of_process(self, number: int) -> int:
        found = self._processes.get(number)
        if found is None:
            components = self._components
            found = self._processes[number] = digest(components.key_of(components.processes[number]))
        return found

    def _of_link(self, number: int) -> int:
        found = self._links.get(number)
        if found is None:
            link = self._components.links[number]
            assert link is not None
            found = self._links[number] = digest(key_of_link(link))
        return found

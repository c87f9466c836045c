"""The switches of all protocols, and the settings in which a user gives those of one."""

from collections.abc import Iterable, Mapping
from typing import Any

from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.switches import Switches, checked, parsed, settings_of, values_in_words

BY_VOTE = ("oracle", "fle")
"""The values of the switch `elections` that take a protocol whose processes vote."""


def kinds() -> list[type[Switches]]:
    """Return the kinds of switches that there are, the common one first. Imports every protocol."""
    return list(dict.fromkeys((Switches, *(protocol.switches for protocol in PROTOCOLS.values()))))


def switches_of(settings: Iterable[str], protocol: Protocol, others: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the values of switches by name, from settings such as "histories=missing".

    `others` are the values of switches that are not set. ValueError, with the expected names or values, for an unknown
    one, for a switch that only another protocol has, and for values with which the protocol cannot run as it is meant.
    """
    wanted = list(settings)
    _refuse_others([setting.partition("=")[0] for setting in wanted], protocol)
    values = parsed(wanted, protocol.switches)
    _refuse_contradictions({**(others or {}), **values}, protocol)
    return values


def checked_for(values: Mapping[str, Any], protocol: Protocol) -> dict[str, Any]:
    """Check these values of switches, as `switches_of` does, and return them."""
    _refuse_others(values, protocol)
    found = checked(values, protocol.switches)
    _refuse_contradictions(found, protocol)
    return found


def refuse_elections(elections: str, protocol: Protocol) -> None:
    """Raise ValueError for elections by vote in a protocol whose processes do not vote."""
    if elections in BY_VOTE and protocol.vote is None:
        raise ValueError(
            f"elections={elections}: expected `apart` or `together`, the processes of `{protocol.name}` do not vote"
        )


def _refuse_others(names: Iterable[str], protocol: Protocol) -> None:
    for name in names:
        if name not in protocol.switches.__struct_fields__:
            others = [each.name for each in PROTOCOLS.values() if name in each.switches.__struct_fields__]
            if others:
                raise ValueError(f"{name}: no switch of `{protocol.name}`, only of `{'`, `'.join(others)}`")


def _refuse_contradictions(values: Mapping[str, Any], protocol: Protocol) -> None:
    refuse_elections(values.get("elections", ""), protocol)
    if why := protocol.contradiction(values):
        raise ValueError(why)


def values_and_meanings() -> dict[str, tuple[str, str]]:
    """Return for each switch that a protocol has, by name, its values with the default, and its meaning."""
    return {
        name: (values_in_words(kind, name), kind.meanings[name]) for kind in kinds() for name in kind.__struct_fields__
    }


def all_settings() -> list[str]:
    """Return the settings of all protocols that can be written; that of a number without its value."""
    return list(dict.fromkeys(setting for kind in kinds() for setting in settings_of(kind)))

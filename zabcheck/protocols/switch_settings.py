"""The switches of all protocols, and the settings in which a user gives those of one."""

from collections.abc import Iterable, Mapping
from typing import Any

from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.switches import Switches, checked, parsed, settings_of, values_in_words


def kinds() -> list[type[Switches]]:
    """Return the kinds of switches that there are, the common one first. Imports every protocol."""
    return list(dict.fromkeys((Switches, *(protocol.switches for protocol in PROTOCOLS.values()))))


def switches_of(settings: Iterable[str], protocol: str, kind: type[Switches]) -> dict[str, Any]:
    """Return the values of switches by name, from settings such as "histories=missing".

    `kind` is the kind of switches that `protocol` has. ValueError, with the expected names or values, for an unknown
    one, and for a switch that only another protocol has.
    """
    wanted = list(settings)
    _refuse_others([setting.partition("=")[0] for setting in wanted], protocol, kind)
    return parsed(wanted, kind)


def checked_for(values: Mapping[str, Any], protocol: str, kind: type[Switches]) -> dict[str, Any]:
    """Check these values of switches, as `switches_of` does, and return them."""
    _refuse_others(values, protocol, kind)
    return checked(values, kind)


def _refuse_others(names: Iterable[str], protocol: str, kind: type[Switches]) -> None:
    for name in names:
        if name not in kind.__struct_fields__:
            others = [each.name for each in PROTOCOLS.values() if name in each.switches.__struct_fields__]
            if others:
                raise ValueError(f"{name}: no switch of `{protocol}`, only of `{'`, `'.join(others)}`")


def values_and_meanings() -> dict[str, tuple[str, str]]:
    """Return for each switch that a protocol has, by name, its values with the default, and its meaning."""
    return {
        name: (values_in_words(kind, name), kind.meanings[name]) for kind in kinds() for name in kind.__struct_fields__
    }


def all_settings() -> list[str]:
    """Return the settings of all protocols that can be written; that of a number without its value."""
    return list(dict.fromkeys(setting for kind in kinds() for setting in settings_of(kind)))

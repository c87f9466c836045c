"""The switches of a run: how finely it is modelled, and what runs besides the broadcast itself.

The switches belong to the schedule. A search draws them anew for each run, as some bugs show only in a fine model and
others are found sooner in a coarse one.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct

from invariants.diagnosis import like

COUNTER_LIMIT = 2**32 - 1
"""The highest counter of an epoch: ZooKeeper packs it into 32 bits."""

Release = Literal[
    "3.3.1",
    "3.4.0-rc0",
    "3.4.2",
    "3.4.10",
    "3.5.5",
    "3.6.3",
    "3.8.0",
    "3.8.4",
    "3.9.2",
    "3.9.3",
    "3.9.5",
    "master",
    "pr-1130",
    "pr-2172",
    "pr-2268",
    "pr-2459",
]
"""What the protocol `zookeeper` can be: releases, master as of July 2026, and 3.9.5 with a pull request."""

Defects = Literal[
    "all",
    "none",
    "335",
    "790",
    "962",
    "1154",
    "1264",
    "1282",
    "1319",
    "1343",
    "1489",
    "1653",
    "2355",
    "2832",
    "2845",
    "2846",
    "2872",
    "3023",
    "3104",
    "3598",
    "3642",
    "3911",
    "4394",
    "4409",
    "4643",
    "4646",
    "4685",
    "4712",
    "4712c",
    "4837",
    "4882",
    "4925",
    "5094",
    "n1",
    "n2",
    "n3",
    "n4",
]
"""Which of its known defects a version has: all, none, or one alone, by the number of its ZOOKEEPER issue."""

Grain = Literal["G0", "G1", "G2", "G3", "G4", "G5"]
"""How fine the protocol `zookeeper` is: which queues of a server are emptied by choices of their own."""

_NUMBERS = ("counter_limit", "window")
_LONGEST_NUMBER = 20


class Switches(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a run is modelled, as MEANINGS says. The defaults are the letter of DSN 2011, IV."""

    histories: Literal["full", "missing"] = "full"
    sync: Literal["separate", "atomic"] = "separate"
    elections: Literal["apart", "together", "oracle", "fle"] = "apart"
    application: Literal["none", "key-value"] = "none"
    counter_limit: Annotated[int, Meta(ge=1, le=COUNTER_LIMIT)] = COUNTER_LIMIT
    closing: Literal["graceful", "abrupt"] = "graceful"
    version: Release = "3.9.5"
    defects: Defects = "all"
    window: Annotated[int, Meta(ge=1, le=COUNTER_LIMIT)] = 500
    grain: Grain = "G0"
    errors: Literal["handled", "raised"] = "handled"


MEANINGS = {
    "histories": "ACK-E and NEWLEADER carry whole histories (full), or what the receiver lacks (missing: the "
    "optimisation at the end of IV)",
    "sync": "writing and syncing are separate choices, or one (atomic)",
    "elections": "each oracle changes its mind by itself (apart), or an election is one choice that tells a leader and "
    "its followers (together), or that names the one with the greatest vote of a quorum (oracle: where they vote), "
    "or processes elect by messages (fle: the protocol zookeeper)",
    "application": "none, or a replicated key-value state whose digest every process shows (key-value)",
    "counter_limit": "the highest counter of an epoch",
    "closing": "what a process has sent arrives although it closes the connection (graceful), or is lost (abrupt)",
    "version": "only of the protocol zookeeper: the release",
    "defects": "only of the protocol zookeeper: which of the release's known defects it has",
    "window": "only of the protocol zookeeper: how many transactions a server keeps in memory for synchronising others "
    "(committedLog)",
    "grain": "only of the protocol zookeeper: which threads are choices of their own: none (G0), the main thread's "
    "writes (G1), also the logging (G2), the applying (G3), and those that outlive an iteration (G4); with what only "
    "recordings of real servers need (G5)",
    "errors": "only of the protocol zookeeper: a server goes on with what its code has for an error, as it is written "
    "(handled), or that ends the run, as a step that raises (raised)",
}
"""What each switch decides."""

LETTER = Switches()
"""The letter of the paper."""


def switches_of(settings: Iterable[str]) -> dict[str, Any]:
    """Return the values of switches by name, from settings such as "histories=missing".

    ValueError, saying what is expected, for an unknown name or value.
    """
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(f"expected NAME=VALUE, found `{setting}`")
        if name in values:
            raise ValueError(f"{name}: named more than once")
        value = (
            int(text)
            if name in _NUMBERS and text.isascii() and text.isdigit() and len(text) < _LONGEST_NUMBER
            else text
        )
        values |= checked({name: value})
    return values


def checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Check these values of switches and return them. ValueError, saying what is expected, for an unknown one."""
    for name, value in values.items():
        if name not in Switches.__struct_fields__:
            raise ValueError(f"no switch `{name}`; {like(name, Switches.__struct_fields__)}")
        try:
            msgspec.convert({name: value}, Switches)
        except msgspec.ValidationError:
            raise ValueError(f"{name}: {_refused(name, str(value))}") from None
    return dict(values)


def _refused(name: str, value: str) -> str:
    """Return what is wrong with a value of the switch `name`: what was probably meant, or else what is expected."""
    values = _VALUES.get(name, ())
    said = like(value, values)
    if values and said.startswith("did you mean"):
        return f"no `{value}`; {said}"
    return f"expected {' or '.join(values) or f'a number from 1 to {COUNTER_LIMIT}'}, found `{value}`"


_VALUES = {name: values for name, hint in get_type_hints(Switches).items() if (values := get_args(hint))}
"""The values of each switch that has only a few."""
SETTINGS = (*(f"{name}={value}" for name, values in _VALUES.items() for value in values), "counter_limit=", "window=")
"""The settings of switches that can be written, as `switches_of` takes them."""


def values_in_words(name: str) -> str:
    """Return which values a switch has, and its default: "atomic or separate; default: separate"."""
    values = " or ".join(_VALUES[name]) if name in _VALUES else f"a number from 1 to {COUNTER_LIMIT}"
    return f"{values}; default: {getattr(LETTER, name)}"

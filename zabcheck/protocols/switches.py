"""The switches of a run: how finely it is modelled, and what runs besides the broadcast itself.

The switches belong to the schedule. A search draws them anew for each run, as some bugs show only in a fine model and
others are found sooner in a coarse one. A protocol may have more of them than all have (`Protocol.switches`); in JSON
and on the command line they stand side by side. The value of each is one of a few words, or a number.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct

from zabcheck.invariants.diagnosis import like, nearest

COUNTER_LIMIT = 2**32 - 1
"""The highest counter of an epoch: ZooKeeper packs it into 32 bits."""
_LONGEST_NUMBER = 20


class Switches(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The settings of the simulation; `zabcheck list switches` describes each. By default as DSN 2011, IV, says."""

    histories: Literal["full", "missing"] = "full"
    sync: Literal["separate", "atomic"] = "separate"
    elections: Literal["apart", "together", "oracle", "fle"] = "apart"
    application: Literal["none", "key-value"] = "none"
    counter_limit: Annotated[int, Meta(ge=1, le=COUNTER_LIMIT)] = COUNTER_LIMIT
    closing: Literal["graceful", "abrupt"] = "graceful"

    meanings: ClassVar[Mapping[str, str]] = {
        "histories": "ACK-E and NEWLEADER carry whole histories (full), or what the receiver lacks (missing: the "
        "optimisation at the end of IV)",
        "sync": "writing and syncing are separate choices, or one (atomic)",
        "elections": "each oracle changes its mind by itself (apart), or an election is one choice that tells a leader "
        "and its followers (together), or that names the one with the greatest vote of a quorum (oracle: where they "
        "vote), or processes elect by messages (fle: the protocol zookeeper)",
        "application": "none, or a replicated key-value state whose digest every process shows (key-value)",
        "counter_limit": "the highest counter of an epoch",
        "closing": "what a process has sent arrives although it closes the connection (graceful), or is lost (abrupt)",
    }
    """By name: the decision that the switch makes."""
    keeps_out: ClassVar[Mapping[tuple[str, str], str]] = {
        ("sync", "atomic"): "crashes that lose a write",
        ("closing", "abrupt"): "messages that outlive their connection",
        ("elections", "oracle"): "elections by messages",
    }
    """By switch and value: what happens in no run with it."""
    set_back: ClassVar[tuple[str, ...]] = ("histories", "application", "counter_limit", "closing")
    """The switches whose default is easier to read, so that a minimal schedule has it wherever that is possible."""

    @property
    def never(self) -> tuple[str, ...]:
        """The kinds of choices, as in a schedule, that no run with these switches makes."""
        return ()

    @property
    def sends_outside(self) -> bool:
        """True if processes send messages outside of the connections to their leaders (`base.Cast`)."""
        return self.elections == "fle"

    @property
    def lossy(self) -> bool:
        """True if links lose, repeat and reorder what they carry, and the protocol has channels over them."""
        return False

    @property
    def changes_roles(self) -> bool:
        """True if a process may leave its leader and follow it again at once, in another role."""
        return False

    @property
    def ends_at_errors(self) -> bool:
        """True if the protocol models errors as steps that raise, which end the run."""
        return False


def kept_out(switches: Mapping[str, Any], never: Collection[str]) -> tuple[str, ...]:
    """Return what no run with these values of switches has, with the setting; `never` are choices that there are not.

    >>> kept_out({"sync": "atomic", "histories": "full"}, never=())
    ('crashes that lose a write (sync=atomic)',)
    """
    return tuple(
        f"{lost} ({name}={value})"
        for (name, value), lost in Switches.keeps_out.items()
        if switches.get(name) == value and name not in never
    )


LETTER = Switches()
"""The letter of the paper."""


class LadisSwitches(Switches, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The switches of Zab as LADIS 2008 describes it: the common ones, and its own."""

    outstanding: Annotated[int, Meta(ge=1, le=COUNTER_LIMIT)] = COUNTER_LIMIT
    commits: Literal["leader", "acks"] = "leader"

    meanings: ClassVar[Mapping[str, str]] = {
        **Switches.meanings,
        "outstanding": "only of zab and ladis: how many proposals of a leader may be outstanding; requests beyond that "
        "wait at the leader (LADIS 2008, 4.2, has 1,000; the default is that none waits)",
        "commits": "only of zab and ladis: the leader counts ACKs and sends COMMITs (leader), or followers send "
        "their ACKs to all, and each process counts for itself (acks: LADIS 2008, 4.1)",
    }
    set_back: ClassVar[tuple[str, ...]] = (*Switches.set_back, "outstanding", "commits")

    @property
    def sends_outside(self) -> bool:
        return self.counts_everywhere or super().sends_outside

    @property
    def counts_everywhere(self) -> bool:
        """True if each process counts ACKs, and the leader sends COMMITs only to those that cannot have all of them."""
        return self.commits == "acks"

    @property
    def is_bounded(self) -> bool:
        """True if a leader may have to let requests wait."""
        return self.outstanding < COUNTER_LIMIT

    def described(self, waiting: tuple[str, ...]) -> dict[str, str | tuple[str, ...]]:
        """Return the variable with the requests that wait, which is there only where some may have to."""
        return {"waiting": " ".join(waiting) or "⊥"} if self.is_bounded else {}


class ZabSwitches(LadisSwitches, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The switches of Zab as DSN 2011 describes it: those of LADIS 2008, and its own."""

    dissemination: Literal["star", "chain", "tree"] = "star"
    links: Literal["reliable", "lossy"] = "reliable"

    meanings: ClassVar[Mapping[str, str]] = {
        **LadisSwitches.meanings,
        "dissemination": "only of zab: the leader sends PROPOSE and COMMIT to each follower (star), or followers pass "
        "them on, one to the next (chain) or each to two (tree: DSN 2011, VII)",
        "links": "only of zab: connections are channels as Zab asks for (reliable), or lose, repeat and reorder what "
        "they carry, and channels are built over them (lossy: DSN 2011, II)",
    }
    set_back: ClassVar[tuple[str, ...]] = (*LadisSwitches.set_back, "dissemination", "links")

    @property
    def sends_outside(self) -> bool:
        return self.relays or super().sends_outside

    @property
    def lossy(self) -> bool:
        return self.links == "lossy"

    @property
    def relays(self) -> bool:
        """True if followers pass on what the leader sends."""
        return self.dissemination != "star"


Own = TypeVar("Own", bound=Switches)


def completed(switches: Switches, kind: type[Own]) -> Own:
    """Return the switches of a protocol that has this kind: a switch that only it has, and that is not given, has its
    default.
    """
    return switches if isinstance(switches, kind) else kind(**msgspec.structs.asdict(switches))


def parsed(settings: Iterable[str], kind: type[Switches]) -> dict[str, Any]:
    """Return the values of switches by name, from settings such as "histories=missing".

    ValueError, with the expected values, for an unknown name or value.
    """
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(f"expected NAME=VALUE, found `{setting}`")
        if name in values:
            raise ValueError(f"{name}: named more than once")
        is_number = text.isascii() and text.isdigit() and len(text) < _LONGEST_NUMBER
        values |= checked({name: int(text) if is_number and name not in words_of(kind) else text}, kind)
    return values


def checked(values: Mapping[str, Any], kind: type[Switches]) -> dict[str, Any]:
    """Check these values of switches and return them. ValueError, with the expected values, for an unknown one."""
    for name, value in values.items():
        if name not in kind.__struct_fields__:
            raise ValueError(f"no switch `{name}`; {like(name, kind.__struct_fields__)}")
        try:
            msgspec.convert({name: value}, kind)
        except msgspec.ValidationError:
            raise ValueError(f"{name}: {_refused(kind, name, str(value))}") from None
    return dict(values)


def _refused(kind: type[Switches], name: str, value: str) -> str:
    """Explain why a value of the switch `name` is refused: the value that was probably meant, or else all."""
    values = words_of(kind).get(name, ())
    if nearest(value, values) is not None:
        return f"no `{value}`; {like(value, values)}"
    return f"expected {' or '.join(values) or f'a number from 1 to {COUNTER_LIMIT}'}, found `{value}`"


@cache
def words_of(kind: type[Switches]) -> dict[str, tuple[str, ...]]:
    """Return the values of each switch that has only a few, by name."""
    hints = get_type_hints(kind)
    return {name: values for name in kind.__struct_fields__ if (values := get_args(hints[name]))}


def settings_of(kind: type[Switches]) -> list[str]:
    """Return the settings that can be written, as `parsed` takes them; that of a number without its value."""
    words = words_of(kind)
    return [f"{name}={value}" for name in kind.__struct_fields__ for value in words.get(name, ("",))]


def values_in_words(kind: type[Switches], name: str) -> str:
    """Return the values of a switch, and its default: "atomic or separate; default: separate"."""
    words = words_of(kind)
    values = " or ".join(words[name]) if name in words else f"a number from 1 to {COUNTER_LIMIT}"
    return f"{values}; default: {getattr(kind(), name)}"

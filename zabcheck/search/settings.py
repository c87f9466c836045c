"""The settings of a search: the numbers that decide how a run is drawn, in one place.

They are tuned by how soon the known bugs are found (`python -m benchmarks defaults`). A seed means a run only with the
same settings. `zabcheck list search` prints them.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, get_type_hints

from msgspec import Meta, Struct


class Habits(NamedTuple):
    """The shares, 0 to 1, of the rounds of one run in which something happens (`zabcheck.search.rejoining`).

    `interrupted`: a process that comes back is cut short. `abandoned`: a leader with a transaction that nobody has
    heard of is left at once, before another process comes back to it. `idle`: nobody requests anything.
    `leader_crashes`: the crash at the end, if there is one, is the leader's, and a process that has come back misses
    the next election. `lags`: a thread of the process that has come back stays slow until the round ends, beside the
    one that was slow before.
    """

    interrupted: float
    abandoned: float = 0.0
    idle: float = 0.0
    leader_crashes: float = 0.0
    lags: float = 0.0


class Settings(Struct, frozen=True, kw_only=True):
    """All settings. A tuple from which a run draws names each value as often as it is drawn."""

    # The moves of both engines (`moves`).

    weights: Annotated[
        Mapping[str, int],
        Meta(description="the weight of each move, relative to the others; the sum of those of a run is below 100"),
    ]
    weights_without_order: Annotated[
        Mapping[str, int],
        Meta(description="the weights that differ where channels do not keep the order of messages; same sum"),
    ]
    weights_with_duplicates: Annotated[
        Mapping[str, int],
        Meta(description="the weights that differ where a message may come twice; same sum"),
    ]
    weights_over_lossy_links: Annotated[
        Mapping[str, int], Meta(description="the weights that differ where links are lossy; same sum")
    ]
    weights_with_disks: Annotated[
        Mapping[str, int],
        Meta(description="what is added to the weights where disks are wiped and replaced by older copies"),
    ]
    optional: Annotated[
        tuple[str, ...],
        Meta(
            description="the moves that each run has or has not, with equal chances (swarm testing, Groce et al. 2012)"
        ),
    ]
    seldom: Annotated[tuple[str, ...], Meta(description="the moves of which each run has one or two")]
    switches: Annotated[
        Mapping[str, Sequence[tuple[int, object]]],
        Meta(description="the values of switches that runs have instead of the paper's letter"),
    ]
    rounds: Annotated[tuple[int, ...], Meta(description="the rounds of a `settle`")]
    kept: Annotated[tuple[int, ...], Meta(description="the unsynced writes that a crash leaves, at most")]
    ends: Annotated[tuple[str, ...], Meta(description="the ways in which a run ends")]

    # The swarm.

    sizes: Annotated[tuple[int, ...], Meta(description="swarm: the number of processes")]
    sizes_rejoining: Annotated[
        tuple[int, ...], Meta(description="swarm: the same where runs are about a process that comes back")
    ]
    sizes_changing: Annotated[
        tuple[int, ...], Meta(description="swarm: the same where the configuration changes, to other processes")
    ]
    weighted: Annotated[float, Meta(description="swarm: the share of runs with quorums by weights")]
    most_weight: Annotated[int, Meta(description="swarm: the highest weight of a process")]
    rates: Annotated[tuple[int, ...], Meta(description="swarm: the factor of the weight of an optional move")]
    priorities: Annotated[
        float, Meta(description="swarm: the share of runs in which priorities decide the order of messages")
    ]
    demoted: Annotated[
        tuple[float, ...],
        Meta(description="swarm: the chance that what just happened falls behind all others in such a run"),
    ]
    most_in_order: Annotated[int, Meta(description="swarm: the most steps of one move in such a run")]
    cycles: Annotated[tuple[float, ...], Meta(description="swarm: the chance that a move is the next one of the cycle")]
    catching_up: Annotated[
        float, Meta(description="swarm: the chance that a cycle leaves a follower behind, and ends while it catches up")
    ]

    # Runs about a process that comes back (`rejoining`).

    choices_a_step: Annotated[
        int, Meta(description="rejoining: the most choices, enabled or not, for each step that a run may have")
    ]
    most_progress: Annotated[
        int, Meta(description="rejoining: the most steps of the ensemble before something else happens")
    ]
    kept_rejoining: Annotated[
        tuple[int, ...], Meta(description="rejoining: the unsynced writes that a crash leaves, at most")
    ]
    habits: Annotated[tuple[Habits, ...], Meta(description="rejoining: the habits of a run")]

    # The search by Hypothesis.

    steps_a_choice: Annotated[
        int, Meta(description="Hypothesis: the steps of a choice on average, coarse ones included")
    ]


SETTINGS = Settings(
    # In this order: a move that is not possible gives way to the next one that is. So a request, where nobody may
    # broadcast, gives way to `settle`, and that, where nothing waits, to a change of leader. Repairs stand together: if
    # only one thing is wrong, its repair is likely.
    weights={
        "follow": 9,
        "lead": 5,
        "overtake": 0,
        "drain": 8,
        "receive": 7,
        "sync": 4,
        "run": 0,
        "notice": 2,
        "recover": 5,
        "wake": 1,
        "heal": 2,
        "mend": 1,
        "elect": 1,
        "timeout": 1,
        "crash": 2,
        "power_loss": 1,
        "cut": 1,
        "sever": 1,
        "split": 2,
        "mute": 1,
        "stall": 1,
        "hold": 1,
        "flap": 1,
        "pause": 1,
        "reset": 1,
        "snapshot": 2,
        "corrupt": 1,
        "bridge": 1,
        "ring": 1,
        "request": 20,
        "settle": 20,
    },
    weights_without_order={"overtake": 7, "drain": 4, "receive": 4},
    weights_with_duplicates={"duplicate": 6, "settle": 14},
    weights_over_lossy_links={"run": 6, "settle": 14},
    weights_with_disks={"wipe": 1, "backup": 3, "restore": 2, "request": -3, "settle": -3},
    optional=("notice", "timeout", "crash", "corrupt", "power_loss", "cut", "sever", "split", "reset"),
    # With half of these something would always be in the way of messages, and a bug that a crash and a cut are enough
    # for would be found later.
    seldom=("mute", "stall", "hold", "flap", "pause", "bridge", "ring"),
    # None closes abruptly: all that can happen in such a run can happen in another one in which the messages under way
    # are never received.
    switches={
        "histories": ((40, "missing"),),
        "sync": ((15, "atomic"),),
        "elections": ((15, "together"),),
        "application": ((40, "key-value"),),
        "counter_limit": ((3, 1), (3, 2), (4, 3)),
        "closing": (),
    },
    # Never long enough to take a leader that was just named through two phases.
    rounds=(1, 2, 3, 4, 4, 4),
    # There is seldom more than one unsynced write.
    kept=(0, 0, 0, 1, 2, 3, 5),
    ends=("quiesce", "stabilise", "stabilise"),
    sizes=(3, 3, 3, 3, 3, 5, 5, 2, 4, 7),
    # A process that comes back takes a leader, and another one that makes a quorum without it.
    sizes_rejoining=(*[3] * 14, 2, 2, 4, 5, 5, 7),
    # A bug of two configurations takes a process that only one of them has.
    sizes_changing=(3, 4, 4, 5, 5),
    weighted=0.1,
    most_weight=4,
    rates=(1, 1, 2, 4),
    priorities=0.3,
    demoted=(0.02, 0.05, 0.15),
    most_in_order=12,
    cycles=(0.0, 0.5, 0.9),
    catching_up=0.3,
    choices_a_step=4,
    most_progress=80,
    kept_rejoining=(0, 0, 0, 1, 2),
    habits=(
        *[Habits(interrupted=1.0, abandoned=0.7)] * 5,
        *[Habits(interrupted=0.3, abandoned=1.0, idle=0.7, leader_crashes=1.0)] * 3,
        *[Habits(interrupted=0.3, abandoned=1.0, lags=1.0)] * 4,
    ),
    steps_a_choice=4,
)
"""The settings of every search."""


def described(settings: Settings = SETTINGS) -> dict[str, str]:
    """Return the value of each setting and its meaning, as one text."""
    hints = get_type_hints(Settings, include_extras=True)
    meanings = {name: hints[name].__metadata__[0].description for name in settings.__struct_fields__}
    return {name: f"{meaning}: {_written(getattr(settings, name))}" for name, meaning in meanings.items()}


def _written(value: Any) -> str:
    """Return a value in the form in which it is read most easily: of equal values one, with their number."""
    match value:
        case Habits():
            return " ".join(f"{name} {share:g}" for name, share in value._asdict().items() if share)
        case Mapping():
            return ", ".join(
                f"{name} {each}" if isinstance(each, int) else f"{name} ({', '.join(map(_share, each)) or 'never'})"
                for name, each in value.items()
            )
        case tuple():
            counted = {each: value.count(each) for each in value}
            return ", ".join(_written(each) + (f" ({n} times)" if n > 1 else "") for each, n in counted.items())
    return str(value)


def _share(share: tuple[int, object]) -> str:
    return f"{share[1]}: {share[0]} %"

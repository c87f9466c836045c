"""The choices that a schedule is made of: one class for each thing that the environment can do.

An event often has the name of the choice that leads to it. So the classes of this module are always written
qualified, `choices.Cut(1, 2)`: a bare `Cut` is the event of `invariants`.

A *fine* choice is one step: one message, one sync, one fault. A *coarse* one is a shorthand for several fine ones;
`simulation/coarse.py` says which.
"""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

_Id = Annotated[int, Meta(ge=1, le=2**31 - 1)]
_Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
_Times = Annotated[int, Meta(ge=0, le=1000)]


class Choice(Struct, frozen=True, gc=False, tag_field="choice", tag=str.lower, forbid_unknown_fields=True):
    """Base of all choices; `choice` is the name of the kind in the JSON form."""


# Fine choices.


class Elect(Choice, frozen=True):
    """The leader oracle of `process` names `leader`."""

    process: _Id
    leader: _Id


class Receive(Choice, frozen=True):
    """`process` handles the next message from `sender`."""

    process: _Id
    sender: _Id


class Hear(Choice, frozen=True):
    """`process` handles the next message of an election from `sender`."""

    process: _Id
    sender: _Id


class Sync(Choice, frozen=True):
    """Everything that `process` has written reaches its disk; what waited for that goes out."""

    process: _Id


class Run(Choice, frozen=True):
    """The thread `thread` of `process` does the next thing that it has to do."""

    process: _Id
    thread: str


class Request(Choice, frozen=True):
    """A client asks `process` to broadcast `value` (None: a fresh one)."""

    process: _Id
    value: str | None = None


class Timeout(Choice, frozen=True):
    """`process` misses its heartbeats."""

    process: _Id


class Notice(Choice, frozen=True):
    """`process` notices that `peer` has closed their connection."""

    process: _Id
    peer: _Id


class Crash(Choice, frozen=True):
    """`process` stops. Of its writes since the last sync the first `keep` survive."""

    process: _Id
    keep: _Count = 0


class Corrupt(Choice, frozen=True):
    """On the disk of `process`, the transaction `record` records before the last one of its log is altered.

    Behind those of the log come the records of its other durable variables, by name.
    """

    process: _Id
    record: _Count = 0


class Recover(Choice, frozen=True):
    """`process` starts again from its disk."""

    process: _Id


class Snapshot(Choice, frozen=True):
    """The application at `process` writes a snapshot; with `cut`, the log is cut below it."""

    process: _Id
    cut: bool = False


class Cut(Choice, frozen=True):
    """The link from `sender` to `receiver` holds its messages back."""

    sender: _Id
    receiver: _Id


class Mend(Choice, frozen=True):
    """The link from `sender` to `receiver` works again: it is not cut, and nothing on it is stalled or held."""

    sender: _Id
    receiver: _Id


class Stall(Choice, frozen=True):
    """The connection between the two brings no more messages from `sender` to `receiver`; a new one would."""

    sender: _Id
    receiver: _Id


class Hold(Choice, frozen=True):
    """The link from `sender` to `receiver` stops at the next message of this kind, and all behind it waits."""

    sender: _Id
    receiver: _Id
    kind: str


class Overtake(Choice, frozen=True):
    """The last message that waits on the link from `sender` to `receiver` goes to the front.

    Only where the channels of the protocol do not keep the order of messages.
    """

    sender: _Id
    receiver: _Id


class Heal(Choice, frozen=True):
    """No link is cut any more, and nothing is stalled or held."""


class Stabilise(Choice, frozen=True):
    """From here on the environment keeps the conditions of claim 7 (DSN 2011, VI-D), and nothing else happens.

    Every link works, the processes of `quorum` are up and all choose `leader`, one of them; each handles what waits
    for it and syncs, round by round; if the leader may not broadcast then, all choose it again, within a bound; clients
    ask it to broadcast. `quorum` is one of which no follower can be
    left out: of a larger one, a follower that has promised a later epoch than the one that the others agree on could
    be refused for ever.

    It is one choice, that cannot be taken apart, but each thing that happens in it is a step.
    """

    leader: _Id
    quorum: tuple[_Id, ...]


class Quiesce(Choice, frozen=True):
    """The ensemble is left alone until nothing is left to be done: no election, no time-out, no request.

    Every link works, and paused processes wake; a process that is down stays down. Whatever was sent is handled, what
    was written is synced, and closed connections are noticed, round by round. Then the environment looks at each
    process, once. If there is something left to do after `MOST_ROUNDS` rounds (see `zabcheck.simulation.quiesce`), the
    environment does not look.

    It is one choice, that cannot be taken apart, but each thing that happens in it is a step; so is the look.
    """


class Reset(Choice, frozen=True):
    """The connection between two processes breaks; what is under way is lost. Each end has yet to notice."""

    process: _Id
    peer: _Id


class Pause(Choice, frozen=True):
    """`process` stands still: it does nothing until it wakes or crashes, and keeps its state and its connections."""

    process: _Id


class Wake(Choice, frozen=True):
    """`process` goes on after a pause."""

    process: _Id


# Coarse choices.


class Lead(Choice, frozen=True):
    """The oracles of `leader` and of each of `followers` name `leader`."""

    leader: _Id
    followers: tuple[_Id, ...]


class Drain(Choice, frozen=True):
    """`process` handles every message that waits from `sender`."""

    process: _Id
    sender: _Id


class Settle(Choice, frozen=True):
    """`rounds` times: each process handles what waits for it at the start of the round, then, with `sync`, syncs.

    With `sync` its threads do all that they have to do, too.
    """

    rounds: _Count
    sync: bool = True


class Split(Choice, frozen=True):
    """Cut every link between the processes of `side` and the others, both ways. One of them alone is isolated."""

    side: tuple[_Id, ...]


class Sever(Choice, frozen=True):
    """Cut the links between two processes, both ways."""

    process: _Id
    peer: _Id


class Mute(Choice, frozen=True):
    """Cut every link from the processes of `side` to the others, that way only."""

    side: tuple[_Id, ...]


class Bridge(Choice, frozen=True):
    """Cut every link between the processes of `side` and the others, both ways, but none of those of `process`."""

    process: _Id
    side: tuple[_Id, ...]


class Ring(Choice, frozen=True):
    """Cut every link but those to the next process and to the one before; the last one is next to the first."""


class Flap(Choice, frozen=True):
    """`times` times: the links between two processes are cut, everybody settles for a round; mended, a round."""

    process: _Id
    peer: _Id
    times: _Times


class PowerLoss(Choice, frozen=True):
    """Every process stops; of each one's writes since its last sync the first `keep` survive."""

    keep: _Count = 0


FineChoice = (
    Elect
    | Receive
    | Hear
    | Sync
    | Run
    | Request
    | Timeout
    | Notice
    | Crash
    | Corrupt
    | Recover
    | Snapshot
    | Cut
    | Mend
    | Stall
    | Hold
    | Overtake
    | Heal
    | Reset
    | Pause
    | Wake
)
AnyChoice = (
    FineChoice | Stabilise | Quiesce | Lead | Drain | Settle | Split | Sever | Mute | Bridge | Ring | Flap | PowerLoss
)
NO_PROCESS = ("keep", "record", "rounds", "sync", "value", "cut", "kind", "times", "thread")
"""The fields of a choice that name no process."""


def renamed(choice: Choice, names: Mapping[int, int]) -> Choice | None:
    """Return `choice` with other names for its processes; None if it names one that is not in `names`."""
    fields = {}
    for field in choice.__struct_fields__:
        value = getattr(choice, field)
        if field not in NO_PROCESS:
            if isinstance(value, tuple):
                value = tuple(names[each] for each in value if each in names)
            elif value in names:
                value = names[value]
            else:
                return None
        fields[field] = value
    return type(choice)(**fields)

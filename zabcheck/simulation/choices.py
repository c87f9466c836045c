"""The choices that a schedule is made of: one class for each act of the environment.

A class has the fields of the choice in JSON, its effect on a run (`apply`, or for a coarse choice `fine`), its text and
its event (`words`, `event`), and its place among the faults, if it is one. Everything else is derived from the classes:
the decoding of JSON, the dispatch of the simulator, the counts of a search.

An event often has the name of the choice that leads to it. So the classes of this module are always written
qualified, `choices.Cut(1, 2)`: a bare `Cut` is the event of `invariants`.

A *fine* choice is one step: one message, one sync, one fault. A *coarse* one is a shorthand for several fine ones. Each
of these is executed before the next is asked for, so later ones may depend on what earlier ones did.
"""

from collections.abc import Collection, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Protocol, get_type_hints

from msgspec import Meta, Struct, structs

from zabcheck.invariants import NO_ZXID, Event, Quiescent, Stabilised, events
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import Lost, TakeSnapshot
from zabcheck.protocols.base import Request as RequestStimulus
from zabcheck.protocols.base import Run as RunStimulus
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.disk import Disk
from zabcheck.simulation.world import World

_Id = Annotated[int, Meta(ge=1, le=2**31 - 1)]
_Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
_Times = Annotated[int, Meta(ge=0, le=1000)]


class Fault(NamedTuple):
    """The place of a fault among those that a report lists, and its name in the plural."""

    place: int
    name: str


class Choice(Struct, frozen=True, gc=False, tag_field="choice", tag=str.lower, forbid_unknown_fields=True):
    """Base of all choices; `choice` is the name of the kind in the JSON form."""

    fault: ClassVar[Fault | None] = None
    """The fault that the choice is, if it is one. None for a coarse choice, which stands for faults."""
    is_own: ClassVar[bool] = False
    """True if `process` acts itself: then the choice is not enabled while that process is paused."""
    is_whole: ClassVar[bool] = False
    """True if a schedule keeps the choice, and not the steps that it consists of."""
    step_where: ClassVar[tuple[str, ...]] = ()
    """The values of the switch `elections` with which the choice is one step; with the others it is coarse."""
    told: ClassVar[str] = ""
    """The text of the choice, with the names of its fields in braces."""

    def apply(self, world: World) -> bool:
        """Execute the choice as one step. Return True if it was enabled. StepRaised if the protocol's code raised."""
        raise NotImplementedError

    def fine(self, world: World) -> Iterator["Choice"]:
        """Yield the choices that this coarse one stands for; each is executed before the next is asked for."""
        raise NotImplementedError

    def is_enabled(self, world: World) -> bool:
        """Return True if a choice that `is_whole` has an effect."""
        return True

    def end(self, world: World) -> bool:
        """End a choice that `is_whole`, whose steps are done. Return True if the end is a step, too."""
        return False

    def words(self, shown: Sequence[Event], message: str) -> str:
        """Return a few words for the step, from the view of the process that moves.

        `shown` has the events of the step, `message` names the message that it handled.
        """
        assert self.told, f"not a fine choice: {self!r}"
        return self.told.format(**structs.asdict(self))

    def plainer(self) -> Sequence["Choice"]:
        """Return choices of the same kind that are plainer."""
        return ()


class FineChoice(Choice, frozen=True):
    """Base of the choices that are one step."""

    step_where: ClassVar[tuple[str, ...]] = ("apart", "together", "oracle", "fle")


class CoarseChoice(Choice, frozen=True):
    """Base of the choices that stand for several steps."""


class _Disturbance(FineChoice, frozen=True):
    """Base of the choices that only change which messages and processes get through; no process takes a step."""

    def apply(self, world: World) -> bool:
        done = self.change(world)
        if done and world.network:
            world.show(self.event(world))
        return done

    def change(self, world: World) -> bool:
        """Change an obstacle to messages or to a process. Return True if that changed anything."""
        raise NotImplementedError

    def event(self, world: World) -> Event:
        """Return the event that shows it: of the same name, with the same fields."""
        kind: type[Event] = getattr(events, type(self).__name__)
        return kind(*structs.astuple(self))


# Fine choices.


class Elect(FineChoice, frozen=True):
    """The leader oracle of `process` names `leader`."""

    process: _Id
    leader: _Id
    is_own: ClassVar[bool] = True
    step_where: ClassVar[tuple[str, ...]] = ("apart", "together", "oracle")

    def apply(self, world: World) -> bool:
        elections = world.switches.elections
        if elections == "oracle":
            may_join = self._joins(world) or world.promised == self.leader
            return may_join and world.elect(self.process, self.leader)
        return elections != "together" and world.elect(self.process, self.leader)

    def _joins(self, world: World) -> bool:
        """Return True if the process follows no other, and `leader` has a quorum that it can join."""
        leader, following = self.leader, world.following
        led = [process for process in world.ids if following[process] == leader]
        return not following[self.process] and leader in led and world.quorums.contains(led)

    def fine(self, world: World) -> Iterator[Choice]:
        """Let a process that looks for a leader vote, and hear the answers of the others (elections by messages).

        The choice only wishes for a leader; the messages decide who leads.
        """
        process = self.process
        if world.following[process]:
            return
        yield Timeout(process)
        yield Run(process, _ELECTION)
        for _ in range(_MOST_ROUNDS_OF_VOTES):
            said = [each for each in world.hearing() if process in each[:2]]
            if not said:
                return
            yield from _heard(said, world.ids)

    def words(self, shown: Sequence[Event], message: str) -> str:
        return "oracle: lead" if self.leader == self.process else f"oracle: follow p{self.leader}"


class Receive(FineChoice, frozen=True):
    """`process` handles the next message from `sender`."""

    process: _Id
    sender: _Id
    is_own: ClassVar[bool] = True

    def apply(self, world: World) -> bool:
        process, sender = self.process, self.sender
        return world.hand_over(process, sender, world.channels.take(process, sender))

    def words(self, shown: Sequence[Event], message: str) -> str:
        return f"← p{self.sender} {message}"


class Hear(FineChoice, frozen=True):
    """`process` handles the next message that `sender` has sent outside of connections."""

    process: _Id
    sender: _Id
    is_own: ClassVar[bool] = True

    def apply(self, world: World) -> bool:
        process, sender, casts = self.process, self.sender, world.channels.casts
        return world.is_up(process) and world.hand_over(process, sender, casts.take(process, sender))

    def words(self, shown: Sequence[Event], message: str) -> str:
        return f"← p{self.sender} {message}"


class Sync(FineChoice, frozen=True):
    """Let everything that `process` has written reach its disk; what waited for that goes out."""

    process: _Id
    is_own: ClassVar[bool] = True
    told: ClassVar[str] = "disk: sync"

    def apply(self, world: World) -> bool:
        process = self.process
        if not world.disks[process].unsynced:
            return False
        for write in world.disks[process].sync():
            world.processes.perform(process, write.withheld)
        return True


class Run(FineChoice, frozen=True):
    """The thread `thread` of `process` does the next thing that it has to do."""

    process: _Id
    thread: str
    is_own: ClassVar[bool] = True
    told: ClassVar[str] = "thread {thread}"

    def apply(self, world: World) -> bool:
        process = self.process
        if (process, self.thread) not in world.processes.turns(process):
            return False
        world.processes.handle(process, process, RunStimulus(self.thread))
        return True


class Request(FineChoice, frozen=True):
    """A client asks `process` to broadcast `value` (None: a fresh one)."""

    process: _Id
    value: str | None = None
    is_own: ClassVar[bool] = True
    told: ClassVar[str] = "client: request"

    def apply(self, world: World) -> bool:
        process, value = self.process, self.value
        if not world.may_broadcast(process):
            return False
        if value is None:
            world.requests += 1
            value = f"v{world.requests}"
            if world.application is not None:
                value = world.application.change(process, world.requests)
        return world.processes.handle(process, process, RequestStimulus(value))

    def plainer(self) -> Sequence[Choice]:
        return () if self.value is None else (Request(self.process),)


class Timeout(FineChoice, frozen=True):
    """`process` misses its heartbeats."""

    process: _Id
    is_own: ClassVar[bool] = True
    fault: ClassVar[Fault | None] = Fault(2, "time-outs")
    told: ClassVar[str] = "time-out"

    def apply(self, world: World) -> bool:
        return world.time_out(self.process)


class Notice(FineChoice, frozen=True):
    """`process` notices that `peer` has closed their connection."""

    process: _Id
    peer: _Id
    is_own: ClassVar[bool] = True
    told: ClassVar[str] = "notices: p{peer} closed"

    def apply(self, world: World) -> bool:
        if not world.channels.notice(self.process, self.peer):
            return False
        world.processes.handle(self.process, self.peer, Lost(self.peer))
        return True


class Crash(FineChoice, frozen=True):
    """`process` stops. Of its writes since the last sync the first `keep` survive."""

    process: _Id
    keep: _Count = 0
    fault: ClassVar[Fault | None] = Fault(1, "crashes")

    def apply(self, world: World) -> bool:
        process = self.process
        if world.states[process] is None:
            return False
        world.processes.crash(process, self.keep)
        world.paused.discard(process)
        return True

    def words(self, shown: Sequence[Event], message: str) -> str:
        return "crash" + (f", first {self.keep} unsynced kept" if self.keep else "")

    def plainer(self) -> Sequence[Choice]:
        return (Crash(self.process),) if self.keep else ()


class Corrupt(FineChoice, frozen=True):
    """On the disk of `process`, the transaction `record` records before the last one of its log is altered.

    Behind those of the log come the records of its other durable variables, by name.
    """

    process: _Id
    record: _Count = 0
    fault: ClassVar[Fault | None] = Fault(8, "altered records")

    def apply(self, world: World) -> bool:
        process = self.process
        altered = world.disks[process].alter(self.record)
        if altered is None:
            return False
        if world.network:
            world.show(events.Corrupt(process, world.incarnations[process], *altered))
        return True

    def words(self, shown: Sequence[Event], message: str) -> str:
        [event] = [event for event in shown if isinstance(event, events.Corrupt)]
        which = event.variable if event.zxid == NO_ZXID else str(event.zxid)
        return f"disk: the record of {which} is altered"

    def plainer(self) -> Sequence[Choice]:
        return (Corrupt(self.process),) if self.record else ()


class Recover(FineChoice, frozen=True):
    """`process` starts again from its disk."""

    process: _Id
    told: ClassVar[str] = "recover"

    def apply(self, world: World) -> bool:
        process = self.process
        if world.states[process] is not None or world.halted[process]:
            return False
        world.processes.recover(process)
        return True


class Wipe(FineChoice, frozen=True):
    """The disk of `process`, which is down, is empty from now on, as if another one were put in its place."""

    process: _Id
    fault: ClassVar[Fault | None] = Fault(11, "wiped disks")
    told: ClassVar[str] = "disk: wiped"

    def apply(self, world: World) -> bool:
        process = self.process
        if world.states[process] is not None or world.halted[process] or not world.disks[process].durable:
            return False
        world.disks[process] = Disk()
        return True


class BackUp(FineChoice, frozen=True):
    """The disk of `process` is copied, with all that was written to it; a later copy replaces the one before."""

    process: _Id
    told: ClassVar[str] = "disk: copied"

    def apply(self, world: World) -> bool:
        process = self.process
        copied = world.disks[process].copy()
        copied.sync()
        if not copied.durable:
            return False
        world.copies[process] = copied
        return True


class Restore(FineChoice, frozen=True):
    """The disk of `process`, which is down, is what its last copy has, as if the copy were put in its place."""

    process: _Id
    fault: ClassVar[Fault | None] = Fault(12, "restored disks")
    told: ClassVar[str] = "disk: an older copy"

    def apply(self, world: World) -> bool:
        process = self.process
        if world.states[process] is not None or world.halted[process] or process not in world.copies:
            return False
        world.disks[process] = world.copies[process].copy()
        return True


class Snapshot(FineChoice, frozen=True):
    """The application at `process` writes a snapshot; with `cut`, the log is cut below it."""

    process: _Id
    cut: bool = False
    is_own: ClassVar[bool] = True

    def apply(self, world: World) -> bool:
        process = self.process
        if world.states[process] is None or not world.processes.handle(process, process, TakeSnapshot(self.cut)):
            return False
        if world.application is not None:
            world.application.snapshot(process, world.disks[process].written("snapshot"))
        return True

    def words(self, shown: Sequence[Event], message: str) -> str:
        return "snapshot" + (", log cut below it" if self.cut else "")

    def plainer(self) -> Sequence[Choice]:
        return (Snapshot(self.process),) if self.cut else ()


class Cut(_Disturbance, frozen=True):
    """The link from `sender` to `receiver` holds its messages back."""

    sender: _Id
    receiver: _Id
    fault: ClassVar[Fault | None] = Fault(3, "cut links")
    told: ClassVar[str] = "cut p{sender} → p{receiver}"

    def change(self, world: World) -> bool:
        return world.obstacles.cut(self.sender, self.receiver)


class Mend(_Disturbance, frozen=True):
    """The link from `sender` to `receiver` works again: it is not cut, and nothing on it is stalled or held."""

    sender: _Id
    receiver: _Id
    told: ClassVar[str] = "mend p{sender} → p{receiver}"

    def change(self, world: World) -> bool:
        return world.obstacles.mend(self.sender, self.receiver)


class Stall(_Disturbance, frozen=True):
    """The connection between the two brings no more messages from `sender` to `receiver`; a new one would."""

    sender: _Id
    receiver: _Id
    fault: ClassVar[Fault | None] = Fault(5, "stalled connections")
    told: ClassVar[str] = "link p{sender} → p{receiver} stalls"

    def change(self, world: World) -> bool:
        return world.obstacles.stall(self.sender, self.receiver)


class Hold(_Disturbance, frozen=True):
    """The link from `sender` to `receiver` stops at the next message of this kind, and all behind it waits."""

    sender: _Id
    receiver: _Id
    kind: str
    fault: ClassVar[Fault | None] = Fault(6, "held messages")
    told: ClassVar[str] = "holds {kind} p{sender} → p{receiver}"

    def change(self, world: World) -> bool:
        types = tuple(each for each, name in world.protocol.kinds.items() if name == self.kind)
        return world.obstacles.hold(self.sender, self.receiver, types)


class Overtake(_Disturbance, frozen=True):
    """The last message that waits on the link from `sender` to `receiver` goes to the front.

    Only where the channels of the protocol do not keep the order of messages.
    """

    sender: _Id
    receiver: _Id
    fault: ClassVar[Fault | None] = Fault(9, "overtaken messages")
    told: ClassVar[str] = "p{sender} → p{receiver}: the last message overtakes"

    def change(self, world: World) -> bool:
        if world.protocol.environment.fifo:
            return False
        under_way = world.channels.under_way(self.sender, self.receiver)
        if len(under_way) < 2:
            return False
        under_way.rotate(1)
        return True


class Duplicate(FineChoice, frozen=True):
    """A copy of the next message that waits on the link from `sender` to `receiver` goes behind the last one.

    Only where the channels of the protocol duplicate messages.
    """

    sender: _Id
    receiver: _Id
    fault: ClassVar[Fault | None] = Fault(10, "duplicated messages")
    told: ClassVar[str] = "p{sender} → p{receiver}: the next message comes twice"

    def apply(self, world: World) -> bool:
        under_way = world.channels.under_way(self.sender, self.receiver)
        if not (under_way and world.protocol.environment.duplicates):
            return False
        under_way.append(under_way[0])
        return True


class Heal(_Disturbance, frozen=True):
    """Mend every link, and let what is stalled or held go on."""

    told: ClassVar[str] = "every link healed"

    def change(self, world: World) -> bool:
        return world.obstacles.heal()


class Reset(FineChoice, frozen=True):
    """The connection between two processes breaks; what is under way is lost. Each end has yet to notice."""

    process: _Id
    peer: _Id
    fault: ClassVar[Fault | None] = Fault(4, "resets")
    told: ClassVar[str] = "connection with p{peer} reset"

    def apply(self, world: World) -> bool:
        return world.channels.reset(self.process, self.peer)


class Pause(_Disturbance, frozen=True):
    """`process` stands still: it does nothing until it wakes or crashes, and keeps its state and its connections."""

    process: _Id
    fault: ClassVar[Fault | None] = Fault(7, "pauses")
    told: ClassVar[str] = "pause"

    def change(self, world: World) -> bool:
        return world.is_up(self.process) and world.obstacles.pause(self.process)

    def event(self, world: World) -> Event:
        return events.Pause(self.process, world.incarnations[self.process])


class Wake(_Disturbance, frozen=True):
    """`process` goes on after a pause."""

    process: _Id
    told: ClassVar[str] = "wakes"

    def change(self, world: World) -> bool:
        return world.obstacles.wake(self.process)

    def event(self, world: World) -> Event:
        return events.Wake(self.process, world.incarnations[self.process])


# Claim 7 (DSN 2011, VI-D) made executable: an environment that stops disturbing.

# The claim: if a quorum is up and chooses one leader, and messages between them are timely, then the leader's
# proposals are committed. Here "timely" is counted in rounds: in a round each member handles what waited for it, then
# syncs its disk. Rounds pass until nothing is left to be done, or the quorum is in a state in which it was before, so
# that the same would come again for ever. If `MOST_ROUNDS` pass before that, the environment takes its promise back:
# what has not come by then may still come, and decides nothing.
#
# The claim begins "if l proposes a transaction", without a bound on how soon it does. A leader whose first try fails
# may propose in a later one: one that takes the epoch after its own, say, and has to come up with what others have
# promised. So while the leader may not broadcast, all choose it again: `tries` is how often.

MOST_ROUNDS = 100
"""The most rounds in which an ensemble may come to an end of what it has to do."""
_USUAL_ROUNDS = 9
"""The number of rounds after which states are compared: Zab takes six to establish a leader, and three to deliver."""
REQUESTS = 2
MOST_TRIES = 10
"""The most often that a leader is chosen: epochs that are no small numbers may be far apart."""

Waiting = list[tuple[int, int, int]]
"""By process and sender: the number of messages that wait."""


class Ensemble(Protocol):
    """The environment's view of a run that it leaves undisturbed."""

    def waiting(self) -> Waiting:
        """Return (process, sender, number of messages) for each link from which a message can be handled."""

    def hearing_but_votes(self) -> Waiting:
        """Return it for the links outside of connections; nothing where processes elect by messages."""

    def may_broadcast(self, process: int) -> bool:
        """Return True if `process` is up and takes a client's request."""

    def highest_epoch(self, process: int) -> int:
        """Return the highest epoch that `process` has promised or proposed, if the protocol knows it; else 0."""

    def follows(self, process: int) -> int:
        """Return the process that `process` follows, itself if it leads, NOBODY if it looks for a leader."""

    def to_sync(self) -> list[int]:
        """Return the processes that a choice can have sync something."""

    def situation(self, members: Collection[int]) -> Hashable:
        """Return all that the next steps of these processes may depend on, as long as nobody else sends them anything.

        Equal if nothing differs but the incarnations.
        """


class Stabilise(CoarseChoice, frozen=True):
    """Make the environment keep the conditions of claim 7 from here on (DSN 2011, VI-D), and do nothing else.

    Every link works, the processes of `quorum` are up and all choose `leader`, one of them; each handles what waits
    for it and syncs, round by round; if the leader may not broadcast then, all choose it again, within a bound; clients
    ask it to broadcast. If there is no end to what they have to do within `MOST_ROUNDS` rounds, and the same does not
    come again and again, the environment has not kept what it promised. `quorum` is one of which no follower can be
    left out: of a larger one, a follower that has promised a later epoch than the one that the others agree on could
    be refused for ever.

    Where processes vote, all leave their iterations first, and choose the one with the greatest vote, of equal ones
    `leader`; instead of a number of rounds they have those of a `Quiesce`. It is not enabled where they elect by
    messages.

    It is one choice, that cannot be taken apart, but each thing that happens in it is a step.
    """

    leader: _Id
    quorum: tuple[_Id, ...]
    is_whole: ClassVar[bool] = True

    def is_enabled(self, world: World) -> bool:
        members = sorted(set(self.quorum))
        votes = world.protocol.vote is not None
        if votes and world.switches.elections == "fle":
            return False
        is_quorum = is_least(world.governing(self.leader), self.leader, members, alone=votes)
        return is_quorum and not any(world.halted[each] for each in members)

    def fine(self, world: World) -> Iterator[Choice]:
        members = sorted(set(self.quorum))
        yield from calm(members)
        vote = world.protocol.vote
        if vote is not None:
            yield from leave(members)
        if not all(world.is_up(process) for process in members):
            return
        if vote is None:
            leader = self.leader
            world.show(Stabilised(leader, world.incarnations[leader], tuple(members)))
            yield from choose(leader, members, world.switches.elections == "together")
            ended = yield from undisturbed(leader, members, world.switches, world)
        else:
            leader = winner({each: vote(world.states[each]) for each in members}, world.quorums, self.leader)
            world.promised = leader
            world.show(Stabilised(leader, world.incarnations[leader], tuple(members)))
            yield from vote_for(leader, members, world)
            ended = yield from undisturbed_by_vote(leader, members, world.switches, world)
        if not ended:
            world.show(Stabilised(leader, world.incarnations[leader], ()))

    def end(self, world: World) -> bool:
        world.stable = True
        return False


def is_least(quorums: Quorums, leader: int, members: Collection[int], *, alone: bool = False) -> bool:
    """Return True if `members` are a quorum that includes `leader` and stops being one without any other member.

    With `alone` it stops being one without the leader, too.
    """
    return (
        leader in members
        and quorums.contains(members)
        and not any(
            quorums.contains([each for each in members if each != left_out])
            for left_out in members
            if alone or left_out != leader
        )
    )


def least(quorums: Quorums, leader: int, members: Collection[int]) -> tuple[int, ...] | None:
    """Return `members` less those that a quorum with `leader` does not need, or None if `members` are no such quorum.

    Members are left out greedily, from the first on.
    """
    if leader not in members or not quorums.contains(members):
        return None
    left = list(members)
    for each in members:
        fewer = [member for member in left if member != each]
        if each != leader and quorums.contains(fewer):
            left = fewer
    return tuple(sorted(left))


def calm(members: Collection[int]) -> Iterator[Choice]:
    """Repair everything: mend the links, wake the paused processes, recover those that are down."""
    yield Heal()
    for process in members:
        yield Wake(process)
        yield Recover(process)


def undisturbed(
    leader: int, members: Collection[int], switches: Switches, ensemble: Ensemble
) -> Generator[Choice, None, bool]:
    """Give `leader`, which all have chosen, rounds to become established; then requests, and rounds to deliver.

    If it may not broadcast after these rounds, all choose it again, within the bound. Return False if what they have to
    do came to no end, so that nobody knows what comes of it.
    """
    for left in reversed(range(tries(leader, members, ensemble))):
        yield from _rounds(members, ensemble)
        if not left or ensemble.may_broadcast(leader):
            break
        yield from choose(leader, members, switches.elections == "together")
    yield from ask(leader, switches.counter_limit)
    return (yield from _rounds(members, ensemble))


def _rounds(members: Collection[int], ensemble: Ensemble) -> Generator[Choice, None, bool]:
    """Let rounds pass until nothing is left to be done, or all comes again. Return False if MOST_ROUNDS pass first."""
    known: set[Hashable] = set()
    for number in range(MOST_ROUNDS):
        if is_done(members, ensemble):
            return True
        if number >= _USUAL_ROUNDS:
            situation = ensemble.situation(members)
            if situation in known:
                return True
            known.add(situation)
        yield from a_round(members, ensemble.waiting(), ensemble.hearing_but_votes())
    return is_done(members, ensemble)


def is_done(members: Collection[int], ensemble: Ensemble) -> bool:
    """Return True if no message waits between these processes, and none of them has anything to sync."""
    waiting = [*ensemble.waiting(), *ensemble.hearing_but_votes()]
    return not any(process in members and sender in members for process, sender, _ in waiting) and not any(
        process in members for process in ensemble.to_sync()
    )


def tries(leader: int, members: Collection[int], ensemble: Ensemble) -> int:
    """Return how often all choose `leader`: twice, and once more for each epoch by which it is behind the members."""
    epochs = [ensemble.highest_epoch(member) for member in members]
    return min(2 + max(epochs) - ensemble.highest_epoch(leader), MOST_TRIES)


def choose(leader: int, members: Collection[int], together: bool) -> Iterator[Choice]:
    """Have all members choose `leader`: a new iteration, which begins at the leader."""
    followers = [process for process in members if process != leader]
    if together:
        yield Lead(leader, tuple(followers))
        return
    yield Elect(leader, leader)
    for follower in followers:
        yield Elect(follower, leader)


def leave(members: Collection[int]) -> Iterator[Choice]:
    """Have all members leave their iterations."""
    return map(Timeout, members)


def winner(votes: Mapping[int, tuple[Any, ...]], quorums: Quorums, preferred: int) -> int:
    """Return the process with the greatest of these votes; `preferred` if only the ids of the two decide."""
    able = [process for process in votes if quorums.may_lead(process)]
    greatest = max(able, key=votes.__getitem__)
    return preferred if preferred in able and votes[preferred][:-1] == votes[greatest][:-1] else greatest


def vote_for(leader: int, members: Collection[int], ensemble: Ensemble) -> Iterator[Choice]:
    """Have all members elect `leader` in one election; if another id would win that, by an answer of each."""
    followers = tuple(process for process in members if process != leader)
    yield Lead(leader, followers)
    for process in (leader, *followers):
        if ensemble.follows(process) != leader:
            yield Elect(process, leader)


def undisturbed_by_vote(
    leader: int, members: Collection[int], switches: Switches, ensemble: "LeftAlone"
) -> Generator[Choice, None, bool]:
    """Give `leader`, which all have elected, the rounds to become established; then requests, and rounds to deliver.

    If it may not broadcast when nothing is left to be done, or has lost a member, all elect it again, within the bound.
    Return False if something is left to be done at the end.
    """
    for left in reversed(range(tries(leader, members, ensemble))):
        yield Rounds(tuple(members))
        is_led = all(ensemble.follows(member) == leader for member in members)
        if not left or (is_led and ensemble.may_broadcast(leader)):
            break
        yield from leave(members)
        yield from vote_for(leader, members, ensemble)
    yield from ask(leader, switches.counter_limit)
    yield Rounds(tuple(members))
    return next(next_round(ensemble, members), None) is None


def a_round(members: Collection[int], waiting: Waiting, hearing: Waiting) -> Iterator[Choice]:
    """Let each member handle its waiting messages from the others, `hearing` outside of connections, then sync."""
    yield from _received(waiting, members)
    yield from _heard(hearing, members)
    for process in members:
        yield Sync(process)


def _received(waiting: Waiting, members: Collection[int]) -> Iterator[Choice]:
    """Let each of `members` handle its waiting messages from the others."""
    for process, sender, count in sorted(waiting):
        if process in members and sender in members:
            for _ in range(count):
                yield Receive(process, sender)


def ask(leader: int, counter_limit: int) -> Iterator[Choice]:
    """Have clients ask `leader` to broadcast, but not more often than the epoch has counters."""
    for _ in range(min(REQUESTS, counter_limit)):
        yield Request(leader)


# An ensemble that is left alone. No process is elected, no time-out comes, no client asks: the running epoch alone
# decides how the ensemble ends. In Zab it comes to rest: each message of a round is an answer to one of the
# round before, and a process that gives up sends nothing more until it is elected.


class LeftAlone(Ensemble, Protocol):
    """The view of an ensemble that is left alone."""

    @property
    def ids(self) -> Sequence[int]:
        """The processes, in ascending order."""

    def to_run(self) -> list[tuple[int, str]]:
        """Return (process, thread) for each thread that has something to do, and is no whim of a link."""

    def closed(self) -> list[tuple[int, int]]:
        """Return (process, peer) where `process` has yet to notice that `peer` closed their connection."""

    def is_overdue(self, process: int) -> bool:
        """Return True if `process` times out if nothing comes any more (`Protocol.overdue`)."""


class Quiesce(CoarseChoice, frozen=True):
    """The ensemble is left alone until nothing is left to be done: no election, no request, no fault.

    Every link works, and paused processes wake; a process that is down stays down. Whatever was sent is handled, what
    was written is synced, and closed connections are noticed, round by round. A process that then waits for a message,
    and not for ever (`Protocol.overdue`), times out, and the rounds go on. Then the environment looks at each
    process, once. If there is something left to do after `MOST_ROUNDS` rounds (see `zabcheck.simulation.choices`), the
    environment does not look.

    It is one choice, that cannot be taken apart, but each thing that happens in it is a step; so is the look.
    """

    is_whole: ClassVar[bool] = True
    told: ClassVar[str] = "left alone: nothing is left to be done"

    def fine(self, world: World) -> Iterator[Choice]:
        return until_quiet(world)

    def end(self, world: World) -> bool:
        """Look at each process that is up, if nothing is left to be done."""
        if not is_at_rest(world):
            return False
        world.rests += 1
        for process in world.ids:
            if world.is_up(process):
                leader, primary = world.following[process] or None, world.may_broadcast(process)
                connection, incarnation = world.channels.connection_of(process), world.incarnations[process]
                world.show(Quiescent(process, incarnation, world.rests, leader, connection, primary))
        return True


class Rounds(Choice, frozen=True):
    """The rounds of `members` among themselves until one would do nothing, or `MOST_ROUNDS` have passed.

    It is a part of choices that cannot be taken apart: no schedule has it.
    """

    members: tuple[int, ...]

    def fine(self, world: World) -> Iterator[Choice]:
        for _ in range(MOST_ROUNDS):
            is_over = True
            for choice in next_round(world, self.members):
                is_over = False
                yield choice
            if is_over:
                return


def until_quiet(ensemble: LeftAlone) -> Iterator[Choice]:
    """Take every obstacle away, then let rounds pass until one would do nothing, or `MOST_ROUNDS` have."""
    yield Heal()
    for process in ensemble.ids:
        yield Wake(process)
    yield Rounds(tuple(ensemble.ids))


def next_round(ensemble: LeftAlone, members: Collection[int]) -> Iterator[Choice]:
    """Yield the next round of the members; where nothing is left to be done, the time-outs of those that wait."""
    is_quiet = True
    for choice in _handled(ensemble, members):
        is_quiet = False
        yield choice
    if is_quiet:
        yield from leave([process for process in members if ensemble.is_overdue(process)])


def _handled(ensemble: LeftAlone, members: Collection[int]) -> Iterator[Choice]:
    """Let each member handle, write and notice everything that the others have left it to."""
    yield from _received(ensemble.waiting(), members)
    yield from _heard(ensemble.hearing_but_votes(), members)
    for process in ensemble.to_sync():
        if process in members:
            yield Sync(process)
    for process, thread in ensemble.to_run():
        if process in members:
            yield Run(process, thread)
    for process, peer in sorted(ensemble.closed()):
        if process in members and peer in members:
            yield Notice(process, peer)


def is_at_rest(ensemble: LeftAlone) -> bool:
    """Return True if nothing is left to be done."""
    return next(next_round(ensemble, ensemble.ids), None) is None


# Coarse choices.

_MOST_TURNS = 100
"""The number of turns that each thread has at most in one round."""
_MOST_ROUNDS_OF_VOTES = 50
_ELECTION = "election"
"""The thread of a process that looks for a leader by messages."""


class Lead(CoarseChoice, frozen=True):
    """The oracles of `leader` and of each of `followers` name `leader`."""

    leader: _Id
    followers: tuple[_Id, ...]
    step_where: ClassVar[tuple[str, ...]] = ("together", "oracle")

    def apply(self, world: World) -> bool:
        return self._at_once(world) if world.switches.elections == "together" else self._by_vote(world)

    def _at_once(self, world: World) -> bool:
        """Execute an election as one step: the processes that are not paused choose the leader, which does so first."""
        chosen = [self.leader, *(p for p in self.followers if p != self.leader)]
        elected = [world.elect(p, self.leader) for p in chosen if p not in world.paused]
        return any(elected)

    def _by_vote(self, world: World) -> bool:
        """Execute an election among the leader and its followers as one step; each first leaves its iteration.

        It is named only if they are a quorum, and its vote (`Protocol.vote`) is the greatest of those that may lead.
        """
        vote, quorums = world.protocol.vote, world.quorums
        chosen = [p for p in dict.fromkeys((self.leader, *self.followers)) if p not in world.paused]
        left = [world.time_out(p) for p in chosen]
        votes = {p: vote(world.states[p]) for p in chosen if vote and world.is_up(p)}
        greatest = max(filter(quorums.may_lead, votes), key=votes.__getitem__, default=None)
        if greatest != self.leader or not quorums.contains(votes):
            return any(left)
        for process in votes:
            world.elect(process, self.leader)
        return True

    def fine(self, world: World) -> Iterator[Choice]:
        if world.switches.elections == "fle":
            yield from self._by_messages(list(dict.fromkeys((self.leader, *self.followers))), world)
        else:
            yield Elect(self.leader, self.leader)
            for process in self.followers:
                if process != self.leader:
                    yield Elect(process, self.leader)

    def _by_messages(self, chosen: Sequence[int], world: World) -> Iterator[Choice]:
        """Have all participants leave their iterations, vote, hear each other to the end, and end the election.

        The choice only wishes for a leader; the messages decide who leads.
        """
        for process in chosen:
            yield Timeout(process)
        for process in chosen:
            yield Run(process, _ELECTION)
        for _ in range(_MOST_ROUNDS_OF_VOTES):
            said = [each for each in world.hearing() if each[0] in chosen and each[1] in chosen]
            if not said:
                break
            yield from _heard(said, world.ids)
        for process in chosen:
            yield Run(process, _ELECTION)

    def words(self, shown: Sequence[Event], message: str) -> str:
        followers = " ".join(f"p{follower}" for follower in self.followers)
        return f"oracles: p{self.leader} leads {followers}".rstrip()

    def plainer(self) -> Sequence[Choice]:
        """Return the elections with one follower fewer."""
        return [
            Lead(self.leader, tuple(each for each in self.followers if each != left_out)) for left_out in self.followers
        ]


class Drain(CoarseChoice, frozen=True):
    """`process` handles every message that waits from `sender`."""

    process: _Id
    sender: _Id

    def fine(self, world: World) -> Iterator[Choice]:
        for process, sender, count in world.waiting():
            if (process, sender) == (self.process, self.sender):
                for _ in range(count):
                    yield Receive(process, sender)


class Settle(CoarseChoice, frozen=True):
    """At most `rounds` rounds, until nothing is left to be done.

    In a round each process handles the messages that wait for it when the round begins; then, with `sync`, each syncs
    its disk, and its threads do all that they have to do. What is sent meanwhile waits for the next round.
    """

    rounds: _Count
    sync: bool = True

    def fine(self, world: World) -> Iterator[Choice]:
        for _ in range(self.rounds):
            before = world.steps
            yield from _settled(world, self.sync)
            if world.steps == before:
                return


class Split(CoarseChoice, frozen=True):
    """Cut every link between the processes of `side` and the others, both ways. One of them alone is isolated."""

    side: tuple[_Id, ...]

    def fine(self, world: World) -> Iterator[Choice]:
        return _apart(self.side, [process for process in world.ids if process not in self.side])


class Sever(CoarseChoice, frozen=True):
    """Cut the links between two processes, both ways."""

    process: _Id
    peer: _Id

    def fine(self, world: World) -> Iterator[Choice]:
        return _apart([self.process], [self.peer])


class Mute(CoarseChoice, frozen=True):
    """Cut every link from the processes of `side` to the others, that way only."""

    side: tuple[_Id, ...]

    def fine(self, world: World) -> Iterator[Choice]:
        others = [process for process in world.ids if process not in self.side]
        for process in self.side:
            for other in others:
                yield Cut(process, other)


class Bridge(CoarseChoice, frozen=True):
    """Cut every link between the processes of `side` and the others, both ways, but none of those of `process`."""

    process: _Id
    side: tuple[_Id, ...]

    def fine(self, world: World) -> Iterator[Choice]:
        side = [process for process in self.side if process != self.process]
        others = [process for process in world.ids if process not in self.side and process != self.process]
        return _apart(side, others)


class Ring(CoarseChoice, frozen=True):
    """Cut every link but those to the next process and to the one before; the last one is next to the first."""

    def fine(self, world: World) -> Iterator[Choice]:
        last = len(world.ids)
        for process in world.ids:
            not_next = [other for other in range(process + 1, last + 1) if other - process not in (1, last - 1)]
            yield from _apart([process], not_next)


class Flap(CoarseChoice, frozen=True):
    """`times` times: the links between two processes are cut, everybody settles for a round; mended, a round."""

    process: _Id
    peer: _Id
    times: _Times

    def fine(self, world: World) -> Iterator[Choice]:
        for _ in range(self.times):
            yield from _apart([self.process], [self.peer])
            yield from _settled(world)
            yield Mend(self.process, self.peer)
            yield Mend(self.peer, self.process)
            yield from _settled(world)


class PowerLoss(CoarseChoice, frozen=True):
    """Every process stops; of each one's writes since its last sync the first `keep` survive."""

    keep: _Count = 0

    def fine(self, world: World) -> Iterator[Choice]:
        for process in world.ids:
            yield Crash(process, self.keep)


def _settled(world: World, sync: bool = True) -> Iterator[Choice]:
    """Let each process handle its waiting messages, then, with `sync`, sync, and give each thread all its turns."""
    for process, sender, count in sorted(world.waiting()):
        for _ in range(count):
            yield Receive(process, sender)
    yield from _heard(world.hearing(), world.ids)
    if sync:
        for process in world.unsynced():
            yield Sync(process)
        for _ in range(_MOST_TURNS):
            for process, thread in (busy := world.to_run()):
                yield Run(process, thread)
            if not busy:
                return


def _heard(said: Waiting, members: Collection[int]) -> Iterator[Choice]:
    """Let each of `members` hear the messages outside of connections that are in transit to it from the others."""
    for process, sender, count in said:
        if process in members and sender in members:
            for _ in range(count):
                yield Hear(process, sender)


def _apart(side: Iterable[int], others: Iterable[int]) -> Iterator[Choice]:
    """Cut every link between `side` and `others`, both ways."""
    for process in side:
        for other in others:
            yield Cut(process, other)
            yield Cut(other, process)


# All kinds.

_DEFINED = [
    each for each in globals().values() if isinstance(each, type) and issubclass(each, Choice) and each is not Rounds
]
FINE: tuple[type[FineChoice], ...] = tuple(
    each for each in _DEFINED if issubclass(each, FineChoice) and not each.__subclasses__()
)
"""The kinds of fine choices, in the order of this module."""
COARSE: tuple[type[CoarseChoice], ...] = tuple(
    each for each in _DEFINED if issubclass(each, CoarseChoice) and not each.__subclasses__()
)
"""The kinds of coarse choices, likewise."""
KINDS: tuple[type[Choice], ...] = FINE + COARSE
"""All kinds of choices."""
FAULTS: Mapping[type[Choice], str] = {
    kind: fault.name for fault, kind in sorted((kind.fault, kind) for kind in KINDS if kind.fault is not None)
}
"""The kinds that are faults, each with its name in the plural, in the order in which reports list them."""

if TYPE_CHECKING:
    AnyChoice = Choice
else:
    AnyChoice = reduce(or_, KINDS)
    """A choice of any kind, as JSON decodes it."""


@cache
def process_fields(kind: type[Choice]) -> tuple[str, ...]:
    """Return the fields of a kind of choice that name one process or several."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(field for field in kind.__struct_fields__ if hints[field] in (_Id, tuple[_Id, ...]))


def renamed(choice: Choice, names: Mapping[int, int]) -> Choice | None:
    """Return `choice` with other names for its processes; None if it names one that is not in `names`."""
    fields = {field: getattr(choice, field) for field in choice.__struct_fields__}
    for field in process_fields(type(choice)):
        value = fields[field]
        if isinstance(value, tuple):
            fields[field] = tuple(names[each] for each in value if each in names)
        elif value in names:
            fields[field] = names[value]
        else:
            return None
    return type(choice)(**fields)

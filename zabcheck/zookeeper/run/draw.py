"""Random schedules, by seed, of the kind that breaks an ensemble.

An agreement of a quorum is in danger when the next quorum shares only one server with it, and that server, or the one
that it has just brought up to date, fails in the middle of the synchronisation. So a schedule is a series of stages
(`draw_stages`), in each of which another quorum is up. With `threads` most schedules consist of rounds (`draw_rounds`),
in which single threads of the servers are held; the others have such threads in their stages. A schedule of a seed with
`threads` has nothing to do with that of the same seed without.

With `sessions` the schedule is the same, and between its choices sessions change, delete and read nodes, end and move.
With `observers` something happens to those in between, and with `disks` to disks. All constants are in one struct
(`tuning`).
"""

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Literal

from zabcheck.zookeeper.run.choices.choice import ROLES, Choice, Role
from zabcheck.zookeeper.run.choices.links import Heal, Isolate, KillAt, Reset
from zabcheck.zookeeper.run.choices.points import Fail, PowerLoss
from zabcheck.zookeeper.run.choices.servers import BackUp, Elected, Kill, KillAll, Restore, Start, Wipe
from zabcheck.zookeeper.run.choices.sessions import (
    WAYS,
    Delete,
    EndSession,
    Ephemeral,
    Get,
    Move,
    Multi,
    SetData,
    Watch,
)
from zabcheck.zookeeper.run.choices.writes import Wait, Write
from zabcheck.zookeeper.run.draw_rounds import RoundDrawing
from zabcheck.zookeeper.run.draw_stages import StageDrawing
from zabcheck.zookeeper.run.drawing import Drawing
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.run.tuning import TUNING, DiskShares, SessionShares, Tuning


def draw(
    seed: int,
    servers: int,
    threads: bool = False,
    sessions: bool = False,
    observers: int = 0,
    disks: bool = False,
    tuning: Tuning = TUNING,
) -> EnsembleSchedule:
    """Draw the schedule of this seed, the same everywhere.

    `servers`: 3 or 5 that vote. Its version is 1 if it has no threads, sessions, observers or disks.
    """
    random = Random(seed)
    everyone = ROLES[:servers]
    in_rounds = threads and random.random() < tuning.in_rounds
    choices = (
        RoundDrawing(random, everyone, tuning.rounds).choices()
        if in_rounds
        else StageDrawing(random, everyone, threads, tuning).choices()
    )
    if sessions:
        choices = SessionDrawing(Random(f"{seed}, sessions"), everyone, tuning.sessions).among(choices)
        choices = WatchDrawing(Random(f"{seed}, watches"), everyone, tuning.sessions).among(choices)
        choices = ChildrenDrawing(Random(f"{seed}, children"), everyone, tuning.sessions).among(choices)
    if observers:
        watching = ROLES[servers : servers + observers]
        choices = ObserverDrawing(Random(f"{seed}, observers"), everyone, watching, tuning).among(choices)
    if disks:
        choices = DiskDrawing(Random(f"{seed}, disks"), everyone, tuning.disks).among(choices)
        choices = RenameDrawing(Random(f"{seed}, renames"), everyone, tuning.disks).among(choices)
    version: Literal[1, 2] = 2 if threads or sessions or observers or disks else 1
    return EnsembleSchedule(
        version,
        "zookeeper",
        servers,  # type: ignore[arg-type]  # 3 or 5
        tuple(choices),
        seed,
        patient=in_rounds or not (threads or disks),
        observers=observers,
    )


class SessionDrawing(Drawing):
    """The acts of sessions between the choices of a schedule, while it is drawn."""

    def __init__(self, random: Random, everyone: Sequence[Role], tuning: SessionShares) -> None:
        super().__init__(random)
        self.everyone = everyone
        self.tuning = tuning

    def among(self, choices: Iterable[Choice]) -> Iterator[Choice]:
        """Put what they do between these choices: mostly after writes, and right before a server ends."""
        for choice in choices:
            if isinstance(choice, Kill | KillAt | KillAll | Isolate) and self.often(self.tuning.before_end):
                yield from self.act()
            yield choice
            if isinstance(choice, Write | Elected | Heal) and self.often(self.tuning.after_write):
                for _ in range(self.random.randint(*self.tuning.number)):
                    yield from self.act()

    def act(self) -> Iterator[Choice]:
        """Draw what one session does; often it then reads the node that it has set."""
        server, other = self.random.sample(self.everyone, 2)
        count = self.one(self.tuning.counts)
        kind = self.random.random()
        if kind < self.tuning.sets:
            yield from self.set(server, other, count)
        elif kind < self.tuning.multis:
            yield Multi(server, count)
        elif kind < self.tuning.deletes:
            yield Delete(server, count)
        elif kind < self.tuning.ephemerals:
            yield Ephemeral(server, count)
            if self.often(self.tuning.ends_after):
                yield self.end(server)
        elif kind < self.tuning.gets:
            yield Get(server, count, other if self.often(self.tuning.of_another) else None)
        elif kind < self.tuning.moves:
            yield Move(server, other)
        else:
            yield self.end(server)

    def set(self, server: Role, other: Role, count: int) -> Iterator[Choice]:
        """Have a session set a node, and perhaps read it."""
        of = other if self.often(self.tuning.of_another) else None
        yield SetData(server, count, self.one(self.tuning.sizes), of, self.often(self.tuning.versioned))
        if self.often(self.tuning.reads_back):
            if self.often(self.tuning.moves_between):
                yield Move(server, other)
            yield Get(server, 1, of)

    def end(self, server: Role) -> EndSession:
        """End a session in one of the two ways."""
        return EndSession(server, "close" if self.often(self.tuning.closed) else "expire")


class DiskDrawing(Drawing):
    """The fate of disks between the choices of a schedule, while it is drawn: what operators do, and what fails.

    The disk of one server only is ever another one than it left: as soon as a quorum's are, nothing is promised.
    """

    def __init__(self, random: Random, everyone: Sequence[Role], tuning: DiskShares) -> None:
        super().__init__(random)
        self.everyone = everyone
        self.tuning = tuning
        self.changed = self.one(everyone)

    def among(self, choices: Iterable[Choice]) -> Iterator[Choice]:
        """Put between these choices that a disk is copied, wiped and restored, and that writes of epochs fail."""
        for choice in choices:
            kills = isinstance(choice, Kill | KillAll)
            if kills and self.often(self.tuning.fails):
                yield from [Fail(self.one(self.everyone), self.one(self.tuning.epochs))] * self.one(self.tuning.times)
            yield choice
            if kills and choice in (Kill(self.changed), KillAll()) and self.often(self.tuning.changed):
                yield Restore(self.changed) if self.often(self.tuning.restored) else Wipe(self.changed)
            elif isinstance(choice, Write | Elected) and self.often(self.tuning.copied):
                yield BackUp(self.changed)


class RenameDrawing(Drawing):
    """The power losses that undo renames, between the choices of a schedule, while it is drawn."""

    def __init__(self, random: Random, everyone: Sequence[Role], tuning: DiskShares) -> None:
        super().__init__(random)
        self.everyone = everyone
        self.tuning = tuning

    def among(self, choices: Iterable[Choice]) -> Iterator[Choice]:
        """Put power losses before elections, and starts of these servers after them."""
        without_power: list[Role] = []
        for choice in choices:
            if isinstance(choice, Kill | KillAll) and self.often(self.tuning.loses_names):
                without_power.append(self.one(self.everyone))
                records, count = self.one(self.tuning.kept)
                point = self.one(self.tuning.named)
                yield PowerLoss(without_power[-1], point, 1, records, count, renames="undone")
            yield choice
            if isinstance(choice, Elected | Wait):
                yield from map(Start, dict.fromkeys(without_power))
                without_power = []


class WatchDrawing(SessionDrawing):
    """The watches of sessions on nodes that are about to be set."""

    def among(self, choices: Iterable[Choice]) -> Iterator[Choice]:
        """Put watches before sets, and often a read of the session that watches after it.

        A session watches in one way: before 3.9.0 a watch of one kind ends one of the other (ZOOKEEPER-4466).
        """
        ways = {server: self.one(WAYS) for server in self.everyone}
        for choice in choices:
            if isinstance(choice, SetData) and self.often(self.tuning.watches):
                server, node = self.one(self.everyone), choice.of or choice.server
                of = node if node != server else None
                yield Watch(server, of, ways[server])
                yield choice
                if self.often(self.tuning.reads_back):
                    yield Get(server, 1, of)
            else:
                yield choice


class ChildrenDrawing(SessionDrawing):
    """The watches of sessions on the children of the root, one of which is about to be created."""

    def among(self, choices: Iterable[Choice]) -> Iterator[Choice]:
        """Put watches before the creation of nodes, and often a read of the session that watches after it."""
        for choice in choices:
            if isinstance(choice, Multi | Ephemeral) and self.often(self.tuning.watches):
                server = self.one(self.everyone)
                yield Watch(server, how="children")
                yield choice
                if self.often(self.tuning.reads_back):
                    yield Get(server)
            else:
                yield choice


class ObserverDrawing(Drawing):
    """The fate of observers between the choices of a schedule, while it is drawn."""

    def __init__(self, random: Random, voting: Sequence[Role], watching: Sequence[Role], tuning: Tuning) -> None:
        super().__init__(random)
        self.voting = voting
        self.watching = watching
        self.tuning = tuning

    def among(self, choices: Iterable[Choice]) -> Iterator[Choice]:
        """Put between these choices that observers write, end, come back, and lose their leader."""
        for choice in choices:
            yield choice
            if self.often(self.tuning.observers.happens):
                yield self.happens(self.one(self.watching), self.one(self.voting))

    def happens(self, observer: Role, server: Role) -> Choice:
        """Draw what happens to an observer."""
        match self.one(self.tuning.observers.kinds):
            case "write":
                return Write(observer, self.one(self.tuning.stages.counts), self.one(self.tuning.stages.sizes))
            case "kill":
                return Kill(observer)
            case "start":
                return Start(observer)
            case _:
                return Reset(observer, server)

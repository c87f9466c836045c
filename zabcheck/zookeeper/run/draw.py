"""Random schedules, by seed, of the kind that breaks an ensemble.

What a quorum has agreed on is in danger when the next quorum shares only one server with it, and that server, or the
one that it has just brought up to date, fails in the middle of the synchronisation. So a schedule is a series of
*stages*: in each some quorum is up, mostly as small as possible and not the one before; a server that joins is
synchronised, while traps wait for a packet of that synchronisation, and while writes are outstanding.

With `threads` most schedules consist of rounds (`draw_rounds`), in which single threads of the servers are held. In the
others such stages have threads that are held at points, too, until the stage ends or longer: mostly in a
synchronisation, in servers that leave their leader, and where logs are slow. A server whose thread is held may be taken
for dead there, as a slow one may. Now and then a write of a log, a snapshot or an epoch fails, or the power of one
server, with what it has not forced to its disk. A schedule of a seed with `threads` has nothing to do with that of the
same seed without.

With `sessions` the schedule is the same, and between its choices sessions change, delete and read nodes, end and move.
With `observers` something happens to those in between.
"""

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Literal

from zabcheck.zookeeper.run.choices.choice import ROLES, Choice, Role
from zabcheck.zookeeper.run.choices.links import Await, Cut, Delay, Heal, Hold, Isolate, KillAt, Kind, Release, Reset
from zabcheck.zookeeper.run.choices.points import AwaitStop, Fail, Go, KillAtPoint, PowerLoss, Stop
from zabcheck.zookeeper.run.choices.servers import Elected, Kill, KillAll, Pause, Resume, Start, StartAll
from zabcheck.zookeeper.run.choices.sessions import Delete, EndSession, Ephemeral, Get, Move, Multi, SetData
from zabcheck.zookeeper.run.choices.writes import Settle, Wait, Write
from zabcheck.zookeeper.run.draw_rounds import Rounds
from zabcheck.zookeeper.run.schedule import EnsembleSchedule

STAGES = (2, 5)
FROM_FOLLOWER: tuple[Kind, ...] = ("ACK-LD", "ACK-LD", "ACK-LD", "ACK", "ACKEPOCH", "FOLLOWERINFO")
"""What the follower sends that is synchronised; by the ACK of NEWLEADER it promises most."""
FROM_LEADER: tuple[Kind, ...] = (
    "UPTODATE",
    "UPTODATE",
    "NEWLEADER",
    "NEWLEADER",
    "PROPOSAL",
    "COMMIT",
    "DIFF",
    "TRUNC",
    "SNAP",
    "LEADERINFO",
)
"""What the leader sends it. Before UPTODATE the follower has promised, and does not act on that yet."""
COUNTS = (1, 3, 20, 100, 300)
SIZES = (10, 10, 1000, 10_000)
"""Bytes. Large writes take a server longer to log: what is sent before the log is written shows then."""

JOINING = (
    "learner-promised",
    "learner-sync-packet",
    "learner-truncated",
    "learner-epoch",
    "learner-epoch-written",
    "learner-epoch-written",
    "learner-ack-newleader",
    "learner-ack-newleader",
    "learner-ack-newleader",
    "learner-ack-uptodate",
    "learner-serve",
    "learner-commit",
    "sync-append",
    "sync-force",
    "sync-forced",
)
"""Where a thread is held in a server that is synchronised. All of these are in each version from 3.6.3 to 3.9.5."""
BRINGING = ("handler-sync", "handler-forward", "handler-newleader-ack", "handler-ack", "leader-commit", "sync-force")
"""Where, in the server that may lead it."""
LEAVING = ("learner-leave", "server-shutdown", "commit-shutdown", "server-fast-forward", "commit-apply", "sync-append")
"""Where, in a server whose leader may be killed."""
LOGGING = ("follower-log", "sync-append", "sync-force", "sync-forced", "ack-send", "leader-try-commit", "commit-apply")
"""Where, while transactions are broadcast."""
FAILING = (
    "log-append",
    "log-append",
    "log-record",
    "log-create",
    "log-flush",
    "log-force",
    "log-truncate",
    "log-save-tree",
    "accepted-epoch-write",
    "current-epoch-write",
)
"""Which write fails."""
LOSING = ("log-force", "log-force", "sync-append", "log-forced", "ack-send", "learner-ack-newleader")
"""Where the power of a server fails: before and after it has forced what it is about to acknowledge."""
IN_ROUNDS = 0.75
"""With threads, which share of the schedules consists of rounds."""
DISKS = 0.08
"""In which share of the stages the disk of a server fails, or its power."""


def draw(
    seed: int, servers: int, threads: bool = False, sessions: bool = False, observers: int = 0
) -> EnsembleSchedule:
    """Draw the schedule of this seed, the same everywhere; only without the last three its version is 1."""
    random = Random(seed)
    everyone = ROLES[:servers]
    in_rounds = threads and random.random() < IN_ROUNDS
    choices = Rounds(random, everyone).choices() if in_rounds else _Drawing(random, everyone, threads).choices()
    if sessions:
        choices = _with_sessions(choices, Random(f"{seed}, sessions"), everyone)
    if observers:
        watching = ROLES[servers : servers + observers]
        choices = _with_observers(choices, Random(f"{seed}, observers"), everyone, watching)
    version: Literal[1, 2] = 2 if threads or sessions or observers else 1
    return EnsembleSchedule(
        version,
        "zookeeper",
        servers,  # type: ignore[arg-type]  # 3 or 5
        tuple(choices),
        seed,
        patient=in_rounds or not threads,
        observers=observers,
    )


def _with_observers(
    choices: Iterable[Choice], random: Random, voting: Sequence[Role], watching: Sequence[Role]
) -> Iterator[Choice]:
    """Put between the choices what happens to observers: they write, end and come back, and lose their leader."""
    for choice in choices:
        yield choice
        if random.random() < 0.3:
            observer, server = random.choice(watching), random.choice(voting)
            match random.randrange(5):
                case 0 | 1:
                    yield Write(observer, random.choice(COUNTS), random.choice(SIZES))
                case 2:
                    yield Kill(observer)
                case 3:
                    yield Start(observer)
                case _:
                    yield Reset(observer, server)


def _with_sessions(choices: Iterable[Choice], random: Random, everyone: Sequence[Role]) -> Iterator[Choice]:
    """Put between the choices what sessions do: mostly where something is written, and right before a server ends."""
    for choice in choices:
        if isinstance(choice, Kill | KillAt | KillAll | Isolate) and random.random() < 0.5:
            yield from _of_a_session(random, everyone)
        yield choice
        if isinstance(choice, Write | Elected | Heal) and random.random() < 0.8:
            for _ in range(random.randint(1, 3)):
                yield from _of_a_session(random, everyone)


def _of_a_session(random: Random, everyone: Sequence[Role]) -> Iterator[Choice]:
    """Draw what one session does; often it then reads what it has set, and ends after it has made ephemeral nodes."""
    server, other = random.sample(everyone, 2)
    count = random.choice((1, 3, 10))
    kind = random.random()
    if kind < 0.4:
        of = other if random.random() < 0.3 else None
        yield SetData(server, count, random.choice((10, 1000)), of, random.random() < 0.5)
        if random.random() < 0.5:
            if random.random() < 0.3:
                yield Move(server, other)
            yield Get(server, 1, of)
    elif kind < 0.55:
        yield Multi(server, count)
    elif kind < 0.65:
        yield Delete(server, count)
    elif kind < 0.8:
        yield Ephemeral(server, count)
        if random.random() < 0.4:
            yield EndSession(server, "close" if random.random() < 0.7 else "expire")
    elif kind < 0.88:
        yield Get(server, count, other if random.random() < 0.3 else None)
    elif kind < 0.95:
        yield Move(server, other)
    else:
        yield EndSession(server, "close" if random.random() < 0.7 else "expire")


class _Drawing:
    """A schedule while it is drawn: who is up, as far as the choices so far say."""

    def __init__(self, random: Random, everyone: tuple[Role, ...], threads: bool) -> None:
        self.random = random
        self.threads = threads
        self.held: list[tuple[Role, str]] = []
        self.everyone = everyone
        self.up: set[Role] = set(self.everyone)
        self.joined: set[Role] = set()
        self.trapped: set[Role] = set()
        """Servers that may have died in a trap; to start one that did not die does nothing."""

    def choices(self) -> Iterator[Choice]:
        yield from self.writes()
        for _ in range(self.random.randint(*STAGES)):
            kind = self.random.random()
            if self.threads and self.random.random() < DISKS:
                yield self.disk_fails(self.one_of(self.up))
            if self.threads and self.random.random() < 0.3:
                yield from self.slow_logs()
            elif kind < 0.75:
                yield from self.another_quorum()
            elif kind < 0.9:
                yield from self.leader_cut_off()
            else:
                yield from self.disturbance()
            yield from self.writes()
            yield from self.let_go(0.8)

    def writes(self) -> Iterator[Choice]:
        """Write in a burst, now and then not at all, at one of the servers that are up."""
        if self.random.random() < 0.9:
            server = self.one_of(self.up)
            yield Write(server, self.random.choice(COUNTS), self.random.choice(SIZES))
            if self.random.random() < 0.6:
                yield Settle(1.0)

    def another_quorum(self) -> Iterator[Choice]:
        """Have another quorum up than before; servers that join are synchronised, and may fall into a trap."""
        members = self.next_quorum()
        joining = sorted(members - self.up)
        leaving = sorted(self.up - members)
        if self.random.random() < 0.1:
            yield KillAll()
            joining, leaving = sorted(members), []
        self.random.shuffle(leaving)
        self.random.shuffle(joining)
        starting = [*joining, *sorted(self.trapped & members - set(joining))]
        self.trapped = set()
        if joining and self.random.random() < 0.85:
            yield from self.trap(joining[0], members)
        if self.threads and self.random.random() < 0.4:
            yield from self.hold(self.one_of(self.up), LEAVING)
        if self.random.random() < 0.6:
            yield from (Kill(server) for server in leaving)
            yield from (Start(server) for server in starting)
        else:
            yield from (Start(server) for server in starting)
            if self.random.random() < 0.5:
                yield Write(self.one_of(members), self.random.choice(COUNTS), self.random.choice(SIZES))
            yield from (Kill(server) for server in leaving)
        self.up = members
        self.joined = set(joining)
        yield Elected(2.0) if self.random.random() < 0.7 else Wait(round(self.random.uniform(0.3, 1.5), 1))
        for server, point in self.held:  # a server takes a second or two to start, and may come late to its point
            if server in self.joined and self.random.random() < 0.8:
                yield AwaitStop(server, point, 4.0)

    def next_quorum(self) -> set[Role]:
        """Choose the next quorum: mostly a smallest one, of a server that joined last and servers that were down."""
        smallest = len(self.everyone) // 2 + 1
        if self.random.random() < 0.15:
            return set(self.random.sample(self.everyone, self.random.randint(smallest, len(self.everyone))))
        down = sorted(set(self.everyone) - self.up)
        first = sorted(self.joined) if self.random.random() < 0.7 else []
        self.random.shuffle(down)
        self.random.shuffle(first)
        rest = self.random.sample(self.everyone, len(self.everyone))
        return set(list(dict.fromkeys([*first[:1], *down, *rest]))[:smallest])

    def trap(self, newcomer: Role, members: set[Role]) -> Iterator[Choice]:
        """Hold a packet of the synchronisation of `newcomer` with another member, or kill one of the two at it.

        Or do so with a thread.
        """
        other = self.one_of(members - {newcomer})
        if self.threads and self.random.random() < 0.7:
            server, points = (newcomer, JOINING) if self.random.random() < 0.7 else (other, BRINGING)
            if self.random.random() < 0.4:
                self.trapped.add(server)
                yield KillAtPoint(server, self.random.choice(points))
            else:
                yield from self.hold(server, points)
            return
        sender, receiver, kinds = (newcomer, other, FROM_FOLLOWER)
        if self.random.random() < 0.5:
            sender, receiver, kinds = (other, newcomer, FROM_LEADER)
        kind = self.random.choice(kinds)
        if self.random.random() < 0.6:
            victim = self.random.choice((newcomer, other))
            self.trapped.add(victim)
            yield KillAt(victim, sender, receiver, kind)
        else:
            yield Hold(sender, receiver, kind)

    def hold(self, server: Role, points: tuple[str, ...]) -> Iterator[Choice]:
        """Hold a thread at one of these points, unless one is held there: mostly the next that comes."""
        point = self.random.choice(points)
        nth = self.random.choice((1, 1, 1, 2, 4))
        if (server, point) not in self.held:
            self.held.append((server, point))
            yield Stop(server, point, nth)

    def let_go(self, share: float) -> Iterator[Choice]:
        """Let about this share of the threads go on, in any order."""
        going = [each for each in self.held if self.random.random() < share]
        self.random.shuffle(going)
        for server, point in going:
            self.held.remove((server, point))
            yield Go(server, point)

    def disk_fails(self, server: Role) -> Choice:
        """Let a write of a server fail, or its power, with a part of what it has not forced."""
        if self.random.random() < 0.5:
            return Fail(server, self.random.choice(FAILING))
        self.trapped.add(server)
        records, count = self.random.choice(((0, None), (0, None), (0, 20), (1, None), (1, 20)))
        return PowerLoss(server, self.random.choice(LOSING), self.random.choice((1, 1, 2)), records, count)

    def slow_logs(self) -> Iterator[Choice]:
        """Have some servers log slowly, while a connection is made anew."""
        for server in sorted(self.up):
            if self.random.random() < 0.6:
                yield from self.hold(server, LOGGING)
        yield Write(self.one_of(self.up), self.random.choice((1, 3, 20)))
        yield Wait(0.1)
        one, other = self.random.sample(self.everyone, 2)
        yield from self.hold(one, LOGGING)
        yield Reset(one, other)
        yield Wait(round(self.random.uniform(0.1, 0.5), 1))
        yield from self.let_go(0.5)
        if self.random.random() < 0.4:
            yield Kill(self.one_of(self.up))
            yield StartAll()

    def leader_cut_off(self) -> Iterator[Choice]:
        """Let the leader go on alone for a while, with writes of its clients that cannot be committed."""
        yield Isolate("leader") if self.random.random() < 0.7 else Pause("leader")
        yield Write(self.one_of(self.up), self.random.choice(COUNTS), self.random.choice(SIZES))
        yield Elected(3.0)
        yield from self.writes()
        if self.random.random() < 0.5:
            yield from self.trap(self.one_of(self.up), set(self.everyone))
        yield Heal()
        yield from (Resume(server) for server in sorted(self.up))
        yield Wait(round(self.random.uniform(0.0, 1.0), 1))

    def disturbance(self) -> Iterator[Choice]:
        """Disturb the network, while every server stays up."""
        one, other = self.random.sample(self.everyone, 2)
        match self.random.randrange(4):
            case 0:
                yield Reset(one, other)
            case 1:
                yield Delay(one, other, self.random.choice((5, 50, 300)))
            case 2:
                yield Cut(one, other)
                yield from self.writes()
                yield Wait(round(self.random.uniform(0.5, 2.5), 1))
                yield Heal()
            case _:
                yield Hold(one, other, self.random.choice(("PROPOSAL", "COMMIT", "ACK")))
                yield from self.writes()
                yield Await(one, other, 0.5)
                yield Start(self.one_of(set(self.everyone)))
                yield Wait(round(self.random.uniform(0.1, 1.0), 1))
                yield Release(one, other)

    def one_of(self, servers: set[Role]) -> Role:
        return self.random.choice(sorted(servers))

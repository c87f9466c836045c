"""Random schedules of stages, in each of which some quorum is up.

A quorum is mostly as small as possible and not the one before; a server that joins is synchronised, while traps wait
for a packet of that synchronisation, and while writes are outstanding.

With threads there are stages that have threads held at points, too, until the stage ends or longer: mostly in a
synchronisation, in servers that leave their leader, and where logs are slow. A server whose thread is held may be taken
for dead there, as a slow one may. Now and then a write of a log, a snapshot or an epoch fails, or the power of one
server, with the data that it has not forced to its disk.
"""

from collections.abc import Iterator
from random import Random

from zabcheck.zookeeper.run.choices.choice import Choice, Role
from zabcheck.zookeeper.run.choices.links import Await, Cut, Delay, Heal, Hold, Isolate, KillAt, Release, Reset
from zabcheck.zookeeper.run.choices.points import AwaitStop, Fail, Go, KillAtPoint, PowerLoss, Stop
from zabcheck.zookeeper.run.choices.servers import Elected, Kill, KillAll, Pause, Resume, Start, StartAll
from zabcheck.zookeeper.run.choices.writes import Settle, Wait, Write
from zabcheck.zookeeper.run.drawing import Drawing
from zabcheck.zookeeper.run.tuning import TUNING, Span, Tuning


class StageDrawing(Drawing):
    """A schedule of stages while it is drawn: who is up, as far as the choices so far say."""

    def __init__(self, random: Random, everyone: tuple[Role, ...], threads: bool, tuning: Tuning = TUNING) -> None:
        super().__init__(random)
        self.threads = threads
        self.of_stages, self.of_threads = tuning.stages, tuning.threads
        self.held: list[tuple[Role, str]] = []
        self.everyone = everyone
        self.up: set[Role] = set(self.everyone)
        self.joined: set[Role] = set()
        self.trapped: set[Role] = set()
        """Servers that may have died in a trap; to start one that did not die does nothing."""

    def choices(self) -> Iterator[Choice]:
        """Yield the choices of all stages."""
        yield from self.writes()
        for _ in range(self.random.randint(*self.of_stages.number)):
            kind = self.random.random()
            if self.threads and self.often(self.of_threads.disks):
                yield self.disk_fails(self.one_of(self.up))
            if self.threads and self.often(self.of_threads.slow_logs):
                yield from self.slow_logs()
            elif kind < self.of_stages.another_quorum:
                yield from self.another_quorum()
            elif kind < self.of_stages.leader_cut_off:
                yield from self.leader_cut_off()
            else:
                yield from self.disturbance()
            yield from self.writes()
            yield from self.let_go(self.of_threads.let_go)

    def writes(self) -> Iterator[Choice]:
        """Write in a burst, now and then not at all, at one of the servers that are up."""
        if self.often(self.of_stages.writes):
            yield self.write(self.one_of(self.up))
            if self.often(self.of_stages.settles):
                yield Settle(self.of_stages.settle_seconds)

    def write(self, server: Role) -> Write:
        """Write at a server, of a drawn count and size."""
        return Write(server, self.one(self.of_stages.counts), self.one(self.of_stages.sizes))

    def another_quorum(self) -> Iterator[Choice]:
        """Have another quorum up than before; servers that join are synchronised, and may fall into a trap."""
        members = self.next_quorum()
        joining = sorted(members - self.up)
        leaving = sorted(self.up - members)
        if self.often(self.of_stages.kills_all):
            yield KillAll()
            joining, leaving = sorted(members), []
        self.random.shuffle(leaving)
        self.random.shuffle(joining)
        starting = [*joining, *sorted(self.trapped & members - set(joining))]
        self.trapped = set()
        if joining and self.often(self.of_stages.traps):
            yield from self.trap(joining[0], members)
        if self.threads and self.often(self.of_threads.holds_who_leaves):
            yield from self.hold(self.one_of(self.up), self.of_threads.leaving)
        if self.often(self.of_stages.kills_first):
            yield from (Kill(server) for server in leaving)
            yield from (Start(server) for server in starting)
        else:
            yield from (Start(server) for server in starting)
            if self.often(self.of_stages.writes_between):
                yield self.write(self.one_of(members))
            yield from (Kill(server) for server in leaving)
        self.up = members
        self.joined = set(joining)
        if self.often(self.of_stages.awaits_leader):
            yield Elected(self.of_stages.elected_seconds)
        else:
            yield self.wait(self.of_stages.passes)
        for server, point in self.held:
            if server in self.joined and self.often(self.of_threads.awaited):
                yield AwaitStop(server, point, self.of_threads.awaited_seconds)

    def next_quorum(self) -> set[Role]:
        """Choose the next quorum: mostly a smallest one, of a server that joined last and servers that were down."""
        smallest = len(self.everyone) // 2 + 1
        if self.often(self.of_stages.any_quorum):
            return set(self.random.sample(self.everyone, self.random.randint(smallest, len(self.everyone))))
        down = sorted(set(self.everyone) - self.up)
        first = sorted(self.joined) if self.often(self.of_stages.joined_again) else []
        self.random.shuffle(down)
        self.random.shuffle(first)
        rest = self.random.sample(self.everyone, len(self.everyone))
        return set(list(dict.fromkeys([*first[:1], *down, *rest]))[:smallest])

    def trap(self, newcomer: Role, members: set[Role]) -> Iterator[Choice]:
        """Hold a packet of the synchronisation of `newcomer` with another member, or kill one of the two at it.

        Or do so with a thread.
        """
        other = self.one_of(members - {newcomer})
        if self.threads and self.often(self.of_threads.traps):
            yield from self.trap_thread(newcomer, other)
            return
        sender, receiver, kinds = newcomer, other, self.of_stages.of_follower
        if self.often(self.of_stages.from_leader):
            sender, receiver, kinds = other, newcomer, self.of_stages.of_leader
        kind = self.one(kinds)
        if self.often(self.of_stages.kills_at):
            victim = self.one((newcomer, other))
            self.trapped.add(victim)
            yield KillAt(victim, sender, receiver, kind)
        else:
            yield Hold(sender, receiver, kind)

    def trap_thread(self, newcomer: Role, other: Role) -> Iterator[Choice]:
        """Hold a thread of the synchronisation of `newcomer` with `other`, or kill its server at the point."""
        server, points = newcomer, self.of_threads.joining
        if not self.often(self.of_threads.newcomer):
            server, points = other, self.of_threads.bringing
        if self.often(self.of_threads.kills):
            self.trapped.add(server)
            yield KillAtPoint(server, self.one(points))
        else:
            yield from self.hold(server, points)

    def hold(self, server: Role, points: tuple[str, ...]) -> Iterator[Choice]:
        """Hold a thread at one of these points, unless one is held there: mostly the next that comes."""
        point = self.one(points)
        nth = self.one(self.of_threads.nth)
        if (server, point) not in self.held:
            self.held.append((server, point))
            yield Stop(server, point, nth)

    def let_go(self, share: float) -> Iterator[Choice]:
        """Let about this share of the threads go on, in any order."""
        going = [each for each in self.held if self.often(share)]
        self.random.shuffle(going)
        for server, point in going:
            self.held.remove((server, point))
            yield Go(server, point)

    def disk_fails(self, server: Role) -> Choice:
        """Let a write of a server fail, or its power, with a part of what it has not forced."""
        if self.often(self.of_threads.write_fails):
            return Fail(server, self.one(self.of_threads.failing))
        self.trapped.add(server)
        records, count = self.one(self.of_threads.kept)
        return PowerLoss(server, self.one(self.of_threads.losing), self.one(self.of_threads.losing_nth), records, count)

    def slow_logs(self) -> Iterator[Choice]:
        """Have some servers log slowly, while a connection is made anew."""
        for server in sorted(self.up):
            if self.often(self.of_threads.slow):
                yield from self.hold(server, self.of_threads.logging)
        yield Write(self.one_of(self.up), self.one(self.of_threads.slow_counts))
        yield Wait(self.of_threads.slow_wait)
        one, other = self.random.sample(self.everyone, 2)
        yield from self.hold(one, self.of_threads.logging)
        yield Reset(one, other)
        yield self.wait(self.of_threads.slow_for)
        yield from self.let_go(self.of_threads.slow_let_go)
        if self.often(self.of_threads.slow_kills):
            yield Kill(self.one_of(self.up))
            yield StartAll()

    def leader_cut_off(self) -> Iterator[Choice]:
        """Let the leader go on alone for a while, with writes of its clients that cannot be committed."""
        yield Isolate("leader") if self.often(self.of_stages.isolates) else Pause("leader")
        yield self.write(self.one_of(self.up))
        yield Elected(self.of_stages.next_leader_seconds)
        yield from self.writes()
        if self.often(self.of_stages.traps_the_next):
            yield from self.trap(self.one_of(self.up), set(self.everyone))
        yield Heal()
        yield from (Resume(server) for server in sorted(self.up))
        yield self.wait(self.of_stages.heals_for)

    def disturbance(self) -> Iterator[Choice]:
        """Disturb the network, while every server stays up."""
        one, other = self.random.sample(self.everyone, 2)
        match self.random.randrange(4):
            case 0:
                yield Reset(one, other)
            case 1:
                yield Delay(one, other, self.one(self.of_stages.delays))
            case 2:
                yield Cut(one, other)
                yield from self.writes()
                yield self.wait(self.of_stages.cut_for)
                yield Heal()
            case _:
                yield Hold(one, other, self.one(self.of_stages.held))
                yield from self.writes()
                yield Await(one, other, self.of_stages.held_seconds)
                yield Start(self.one_of(set(self.everyone)))
                yield self.wait(self.of_stages.held_for)
                yield Release(one, other)

    def one_of(self, servers: set[Role]) -> Role:
        """Draw one of these servers."""
        return self.one(sorted(servers))

    def wait(self, span: Span) -> Wait:
        """Wait for some time between these bounds, in seconds."""
        return Wait(round(self.random.uniform(*span), 1))

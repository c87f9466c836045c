"""Random schedules in which a server falls behind, comes back, and is interrupted while it is brought up to date.

What loses a write takes a sequence: a transaction that one server lacks, a new connection or an election that brings
that server back, an interruption between two of the things that it then does, and an election without the server that
had everything. A schedule here is a series of *rounds*, each of which may have all of these, as the search of the model
has them (`zabcheck.search.rejoining`). Which threads are slow, who comes back, where it is interrupted, and who is left
out of the next quorum is drawn.

Who leads is not known when a schedule is drawn. It is taken to be the server that would be elected if all went as
drawn; a choice that does not apply then is passed over.
"""

from collections.abc import Iterator, Sequence
from random import Random
from typing import TypeVar

from zabcheck.zookeeper.run.choices.choice import Choice, Role
from zabcheck.zookeeper.run.choices.links import Reset
from zabcheck.zookeeper.run.choices.points import AwaitStop, Go, KillAtPoint, Stop
from zabcheck.zookeeper.run.choices.servers import Elected, Kill, KillAll, Start
from zabcheck.zookeeper.run.choices.writes import Settle, Write

ROUNDS = (1, 3)
_REACHES, _STARTS, _ELECTS = 4.0, 7.0, 7.0
"""Seconds at most for a thread to come to a point, also after its server was started, and for an election."""
UNHEARD = "follower-log"
"""Where a follower is held that is not to log what it is sent, nor anything after it."""
SLOW_FOLLOWER = ("sync-append", "sync-append", "sync-append", "sync-force", "sync-force", "ack-send", "final-apply")
"""Where the thread of a follower is slow: mostly before the write is forced there, or acknowledged."""
SLOW_LEADER = ("sync-force", "sync-force", "sync-append", "sync-append", "commit-apply", "final-apply")
"""Where one of its leader's: the leader has then not logged, or not applied, what others have."""
COMING_BACK = (
    "sync-append",
    "sync-append",
    "sync-append",
    "learner-epoch-written",
    "learner-epoch-written",
    "learner-ack-newleader",
    "learner-ack-newleader",
    "learner-ack-uptodate",
    "learner-serve",
    "learner-sync-packet",
    "learner-epoch",
    "sync-force",
)
"""Where a server is interrupted that is brought up to date: mostly between what it promises and what it has logged."""
AGAIN = (
    "sync-append",
    "sync-append",
    "sync-append",
    "learner-ack-newleader",
    "learner-ack-newleader",
    "learner-ack-uptodate",
    "learner-serve",
    "learner-sync-packet",
)
"""Where one is that connects again to the leader that it had: its epoch is written already."""
BEGINNING = ("leader-epoch", "leader-started", "handler-sync", "handler-newleader-ack", "lead")
"""Where a server is interrupted that is about to lead."""


_Item = TypeVar("_Item")


class Rounds:
    """A schedule while it is drawn: who is up, and what each server has, if all goes as drawn.

    `votes` has the epoch and the number of transactions of each server; the greatest vote is elected, and of equal ones
    the first server.
    """

    def __init__(self, random: Random, everyone: Sequence[Role]) -> None:
        self.random = random
        self.everyone = everyone
        self.up = [*everyone]
        self.votes = dict.fromkeys(everyone, (1, 0))
        self.leader = everyone[0]
        self.held: list[tuple[Role, str]] = []
        self.led_alone = False
        """Whether the leader was lost with a write of its own, and leads again with what others have brought it."""

    def choices(self) -> Iterator[Choice]:
        """Yield the choices of all rounds."""
        yield Write(self.leader)
        yield Settle(2.0)
        self._agree(self.everyone)
        for _ in range(self.random.randint(*ROUNDS)):
            yield from self._round()
        yield from self._elect(None)

    # What a round consists of.

    def _round(self) -> Iterator[Choice]:
        """A write that not every server has; one that comes back; a crash, and an election; each may be left out."""
        if self._often(0.6 if self.led_alone else 0.3):
            yield from self._alone()
            return
        self.led_alone = False
        yield from self._start([each for each in self.everyone if each not in self.up])
        behind = self._one(self._followers())
        yield from self._lack(behind)
        if self._often(0.8):
            yield from self._come_back(behind)
        yield from self._crash()

    def _alone(self) -> Iterator[Choice]:
        """The leader logs a write that nobody else hears of, and is lost with it; the others go on without it."""
        leader = self.leader
        for follower in self._followers():
            yield self._stop(follower, UNHEARD)
        yield self._stop(leader, "sync-forced")
        yield Write(leader)
        yield AwaitStop(leader, "sync-forced", _REACHES)
        yield from self._kill_all()
        self._has(leader, 1)
        if self._often(0.1):  # it is elected with that, and lost before anybody follows
            point = self._one(BEGINNING)
            yield KillAtPoint(leader, point)
            yield from self._start([leader, self._one(self._all_but(leader))])
            yield AwaitStop(leader, point, _STARTS)
            yield from self._kill_all()
        yield from self._elect(leader, 0.1)
        if self._often(0.25 if self.led_alone else 0.9):  # else the one that comes back is told to cut its write off
            yield from self._write()
        self.led_alone = leader not in self.up and self._often(0.85)
        if self.led_alone:
            yield self._stop(leader, "learner-serve")
            yield from self._start([leader])
            yield AwaitStop(leader, "learner-serve", _STARTS)
            yield from self._let_go(leader, 1.0)
            self._agree(self.up)
            yield Kill(self.leader)  # who was left out may lead next
            self.up.remove(self.leader)
            self.leader = leader
            self._lead()
            yield Elected(_ELECTS)

    def _lack(self, behind: Role) -> Iterator[Choice]:
        """A write that one follower does not have, because it is down or slow; the leader may be slow as well."""
        if self._often(0.25):
            yield Kill(behind)
            self.up.remove(behind)
        else:
            yield self._stop(behind, self._one(SLOW_FOLLOWER))
        if self._often(0.75):
            yield self._stop(self.leader, self._one(SLOW_LEADER))
        yield Write(self.leader, self._one((1, 1, 3)))
        yield Settle(0.5)
        for each in (*self._others(behind), self.leader):
            self._has(each, 1)

    def _come_back(self, behind: Role) -> Iterator[Choice]:
        """A server connects to the leader again, and is interrupted; what was slow goes on meanwhile.

        That is the one that was down; else mostly another than the one whose thread is slow, without which the leader
        goes on.
        """
        server = behind if behind not in self.up or self._often(0.15) else self._one(self._others(behind))
        point = self._one(AGAIN if server in self.up else COMING_BACK)
        killed = self._often(0.25)
        if killed:
            yield KillAtPoint(server, point)
        else:
            yield self._stop(server, point)
        if server in self.up:
            yield Reset(self.leader, server)
            yield AwaitStop(server, point, _REACHES)
        else:
            yield from self._start([server])
            yield AwaitStop(server, point, _STARTS)
        if self._often(0.15):
            yield Reset(self.leader, server)  # broken off, and once more
        yield from self._let_go(self.leader, 0.8)
        yield Settle(0.7)
        if killed:
            self.up.remove(server)
        elif self._often(0.25):
            yield from self._let_go(server, 1.0)
            yield Write(self.leader)
            yield Settle(0.7)
            self._agree([self.leader, server])

    def _crash(self) -> Iterator[Choice]:
        """Some are killed, mostly all, and the next quorum is mostly one without the leader.

        A server that is not killed logs what its threads still have, once they go on.
        """
        leader = self.leader
        if self._often(0.7):
            yield from self._kill_all()
        else:
            others = self._followers() if self._often(0.5) else []
            for each in [leader, *others[:1]]:
                yield Kill(each)
                self.up.remove(each)
        yield from self._elect(leader if self._often(0.9) else None)
        yield from self._write()

    def _kill_all(self) -> Iterator[Choice]:
        yield KillAll()
        self.up = []
        self.held = []

    def _elect(self, without: Role | None, interrupted: float = 0.3) -> Iterator[Choice]:
        """Start all that are down, `without` one, let all threads go on, and wait for a leader.

        In the share `interrupted` one that follows is held or killed while it is brought up to date, and its leader is
        lost: once more then.
        """
        voters = [each for each in self.everyone if each != without]
        leader = max(voters, key=lambda each: (self.votes[each], -self.everyone.index(each)))
        follower, point = self._one([each for each in voters if each != leader]), self._one(COMING_BACK)
        is_interrupted, killed = self._often(interrupted), self._often(0.4)
        going = [go for each in self.everyone for go in self._let_go(each, 1.0)]
        first = self._often(0.5)
        yield from going if first else ()
        if is_interrupted:
            yield KillAtPoint(follower, point) if killed else self._stop(follower, point)
        yield from self._start([each for each in voters if each not in self.up])
        yield from () if first else going
        self.up = voters
        self.leader = leader
        self._lead()
        if is_interrupted:
            yield AwaitStop(follower, point, _STARTS)
            if not killed and self._often(0.5):
                yield Kill(follower)
                killed = True
            yield Kill(leader)
            self.up = [each for each in voters if each != leader and (each != follower or not killed)]
            yield from self._elect(leader)
        else:
            yield Elected(_ELECTS)

    def _start(self, servers: list[Role]) -> Iterator[Choice]:
        self.random.shuffle(servers)
        yield from (Start(each) for each in servers)
        self.up += servers

    def _write(self) -> Iterator[Choice]:
        yield Write("leader")
        yield Settle(1.0)
        self._agree(self.up)

    # What it is taken to come to.

    def _lead(self) -> None:
        """The leader has a new epoch, and brings those that are up what it has."""
        epoch = 1 + max(epoch for epoch, _ in self.votes.values())
        self.votes[self.leader] = epoch, self.votes[self.leader][1]
        for each in self.up:
            self.votes[each] = self.votes[self.leader]

    def _has(self, server: Role, more: int) -> None:
        epoch, length = self.votes[server]
        self.votes[server] = epoch, length + more

    def _agree(self, servers: Sequence[Role]) -> None:
        """All of these have what the leader has, and one write more."""
        self._has(self.leader, 1)
        for each in servers:
            self.votes[each] = self.votes[self.leader]

    # Threads, and what is drawn from.

    def _stop(self, server: Role, point: str) -> Stop:
        self.held.append((server, point))
        return Stop(server, point)

    def _let_go(self, server: Role, share: float) -> Iterator[Choice]:
        """Let about this share of a server's threads go on."""
        for each in [each for each in self.held if each[0] == server]:
            if self._often(share):
                self.held.remove(each)
                yield Go(*each)

    def _followers(self) -> list[Role]:
        return [each for each in self.up if each != self.leader]

    def _others(self, follower: Role) -> list[Role]:
        """Return the followers but this one, or this one if there is no other."""
        return [each for each in self._followers() if each != follower] or [follower]

    def _all_but(self, server: Role) -> list[Role]:
        return [each for each in self.everyone if each != server]

    def _often(self, share: float) -> bool:
        return self.random.random() < share

    def _one(self, items: Sequence[_Item]) -> _Item:
        return self.random.choice(items)

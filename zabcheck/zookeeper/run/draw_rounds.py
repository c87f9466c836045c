"""Random schedules in which a server falls behind, comes back, and is interrupted while it is brought up to date.

To lose a write takes a sequence: a transaction that one server lacks, a new connection or an election that brings that
server back, an interruption between two of the things that it then does, and an election without the server that had
everything. A schedule here is a series of *rounds*, each of which may have all of these, as the search of the model has
them (`zabcheck.search.rejoining`). The slow threads, the server that comes back, the point at which it is interrupted,
and the server that is left out of the next quorum are drawn.

The leader is not known when a schedule is drawn. It is taken to be the server that would be elected if all went as
drawn; a choice that does not apply then is passed over.
"""

from collections.abc import Iterator, Sequence
from random import Random

from zabcheck.zookeeper.run.choices.choice import Choice, Role
from zabcheck.zookeeper.run.choices.links import Reset
from zabcheck.zookeeper.run.choices.points import AwaitStop, Go, KillAtPoint, Stop
from zabcheck.zookeeper.run.choices.servers import Elected, Kill, KillAll, Start
from zabcheck.zookeeper.run.choices.writes import Settle, Write
from zabcheck.zookeeper.run.drawing import Drawing
from zabcheck.zookeeper.run.tuning import RoundShares


class RoundDrawing(Drawing):
    """A schedule while it is drawn: who is up, and what each server has, if all goes as drawn.

    `votes` has the epoch and the number of transactions of each server; the greatest vote is elected, and of equal ones
    the first server.
    """

    def __init__(self, random: Random, everyone: Sequence[Role], tuning: RoundShares) -> None:
        super().__init__(random)
        self.tuning = tuning
        self.everyone = everyone
        self.up = [*everyone]
        self.votes = dict.fromkeys(everyone, (1, 0))
        self.leader = everyone[0]
        self.held: list[tuple[Role, str]] = []
        self.led_alone = False
        """True if the leader was lost with a write of its own, and leads again with what others have brought it."""

    def choices(self) -> Iterator[Choice]:
        """Yield the choices of all rounds."""
        yield Write(self.leader)
        yield Settle(self.tuning.first_settle)
        self._agree(self.everyone)
        for _ in range(self.random.randint(*self.tuning.number)):
            yield from self._round()
        yield from self._elect(None)

    # The parts of a round.

    def _round(self) -> Iterator[Choice]:
        """Have a write that not every server has; a server that comes back; a crash, and an election."""
        if self.tuning.slow_quorum and self.often(self.tuning.slow_quorum):
            yield from self._slow_quorum()
            return
        if self.often(self.tuning.alone_again if self.led_alone else self.tuning.alone):
            yield from self._alone()
            return
        self.led_alone = False
        yield from self._start_all()
        behind = self.one(self._followers())
        yield from self._lack(behind)
        if self.often(self.tuning.comes_back):
            yield from self._come_back(behind)
        yield from self._crash()

    def _slow_quorum(self) -> Iterator[Choice]:
        """Write while a leader and a follower cannot log, and have these two make the next quorum."""
        yield from self._start_all()
        behind = self.one(self._followers())
        logged = self._others(behind)
        for each in (self.leader, behind):
            yield self._stop(each, self.tuning.not_logged)
        yield Write(self.leader, self.one(self.tuning.lacks))
        yield Settle(self.tuning.lack_settle)
        for each in logged:
            self._has(each, 1)
        yield from self._kill_all()
        yield from self._elect(self.one(logged))
        yield from self._write()

    def _alone(self) -> Iterator[Choice]:
        """Lose the leader with a write that nobody else hears of; the others go on without it."""
        leader = self.leader
        for follower in self._followers():
            yield self._stop(follower, self.tuning.unheard)
        yield self._stop(leader, "sync-forced")
        yield Write(leader)
        yield AwaitStop(leader, "sync-forced", self.tuning.reaches)
        yield from self._kill_all()
        self._has(leader, 1)
        if self.often(self.tuning.follows_nobody):  # it is elected with that, and lost before anybody follows
            point = self.one(self.tuning.beginning)
            yield KillAtPoint(leader, point)
            yield from self._start([leader, self.one(self._all_but(leader))])
            yield AwaitStop(leader, point, self.tuning.starts)
            yield from self._kill_all()
        yield from self._elect(leader, self.tuning.interrupted_alone)
        if self.often(self.tuning.others_write_again if self.led_alone else self.tuning.others_write):
            yield from self._write()
        self.led_alone = leader not in self.up and self.often(self.tuning.leads_again)
        if self.led_alone:
            yield from self._lead_again(leader)

    def _lead_again(self, leader: Role) -> Iterator[Choice]:
        """Start a leader that was lost, which takes over what the others have, and have it elected."""
        yield self._stop(leader, "learner-serve")
        yield from self._start([leader])
        yield AwaitStop(leader, "learner-serve", self.tuning.starts)
        yield from self._let_go(leader, 1.0)
        self._agree(self.up)
        yield Kill(self.leader)  # who was left out may lead next
        self.up.remove(self.leader)
        self.leader = leader
        self._lead()
        yield Elected(self.tuning.elects)

    def _lack(self, behind: Role) -> Iterator[Choice]:
        """Write something that one follower does not get, as it is down or slow; the leader may be slow as well."""
        if self.often(self.tuning.down):
            yield Kill(behind)
            self.up.remove(behind)
        else:
            yield self._stop(behind, self.one(self.tuning.slow_follower))
        if self.often(self.tuning.leader_slow):
            yield self._stop(self.leader, self.one(self.tuning.slow_leader))
        yield Write(self.leader, self.one(self.tuning.lacks))
        yield Settle(self.tuning.lack_settle)
        for each in (*self._others(behind), self.leader):
            self._has(each, 1)

    def _come_back(self, behind: Role) -> Iterator[Choice]:
        """Have a server connect to the leader again, and interrupt it; slow threads go on meanwhile.

        The server is the one that was down; else mostly another than the one whose thread is slow, without which the
        leader goes on.
        """
        server = (
            behind
            if behind not in self.up or self.often(self.tuning.slow_comes_back)
            else self.one(self._others(behind))
        )
        point = self.one(self.tuning.again if server in self.up else self.tuning.coming_back)
        killed = self.often(self.tuning.killed)
        if killed:
            yield KillAtPoint(server, point)
        else:
            yield self._stop(server, point)
        if server in self.up:
            yield Reset(self.leader, server)
            yield AwaitStop(server, point, self.tuning.reaches)
        else:
            yield from self._start([server])
            yield AwaitStop(server, point, self.tuning.starts)
        if self.often(self.tuning.broken_off):
            yield Reset(self.leader, server)  # broken off, and once more
        yield from self._let_go(self.leader, self.tuning.leader_goes_on)
        yield Settle(self.tuning.back_settle)
        if killed:
            self.up.remove(server)
        elif self.often(self.tuning.caught_up):
            yield from self._let_go(server, 1.0)
            yield Write(self.leader)
            yield Settle(self.tuning.back_settle)
            self._agree([self.leader, server])

    def _crash(self) -> Iterator[Choice]:
        """Kill some, mostly all, and have a next quorum, mostly one without the leader.

        A server that is not killed logs what its threads still have, once they go on.
        """
        leader = self.leader
        if self.often(self.tuning.kills_all):
            yield from self._kill_all()
        else:
            others = self._followers() if self.often(self.tuning.kills_two) else []
            for each in [leader, *others[:1]]:
                yield Kill(each)
                self.up.remove(each)
        yield from self._elect(leader if self.often(self.tuning.without_leader) else None)
        yield from self._write()

    def _kill_all(self) -> Iterator[Choice]:
        yield KillAll()
        self.up = []
        self.held = []

    def _elect(self, without: Role | None, interrupted: float | None = None) -> Iterator[Choice]:
        """Start all that are down, `without` one, let all threads go on, and wait for a leader.

        In the share `interrupted` (None: the usual one) a follower is held or killed while it is brought up to date,
        and its leader is lost: once more then.
        """
        voters = [each for each in self.everyone if each != without]
        leader = max(voters, key=lambda each: (self.votes[each], -self.everyone.index(each)))
        follower, point = (
            self.one([each for each in voters if each != leader]),
            self.one(self.tuning.coming_back),
        )
        is_interrupted = self.often(self.tuning.interrupted if interrupted is None else interrupted)
        killed = self.often(self.tuning.kills_follower)
        going = [go for each in self.everyone for go in self._let_go(each, 1.0)]
        first = self.often(self.tuning.going_first)
        yield from going if first else ()
        if is_interrupted:
            yield KillAtPoint(follower, point) if killed else self._stop(follower, point)
        yield from self._start([each for each in voters if each not in self.up])
        yield from () if first else going
        self.up = voters
        self.leader = leader
        self._lead()
        if is_interrupted:
            yield AwaitStop(follower, point, self.tuning.starts)
            if not killed and self.often(self.tuning.kills_held):
                yield Kill(follower)
                killed = True
            yield Kill(leader)
            self.up = [each for each in voters if each != leader and (each != follower or not killed)]
            yield from self._elect(leader)
        else:
            yield Elected(self.tuning.elects)

    def _start_all(self) -> Iterator[Choice]:
        yield from self._start([each for each in self.everyone if each not in self.up])

    def _start(self, servers: list[Role]) -> Iterator[Choice]:
        self.random.shuffle(servers)
        yield from (Start(each) for each in servers)
        self.up += servers

    def _write(self) -> Iterator[Choice]:
        yield Write("leader")
        yield Settle(self.tuning.write_settle)
        self._agree(self.up)

    # The outcome, if all goes as drawn.

    def _lead(self) -> None:
        """Give the leader a new epoch, and the servers that are up what it has."""
        epoch = 1 + max(epoch for epoch, _ in self.votes.values())
        self.votes[self.leader] = epoch, self.votes[self.leader][1]
        for each in self.up:
            self.votes[each] = self.votes[self.leader]

    def _has(self, server: Role, more: int) -> None:
        epoch, length = self.votes[server]
        self.votes[server] = epoch, length + more

    def _agree(self, servers: Sequence[Role]) -> None:
        """Give the leader one write more, and these servers what it has."""
        self._has(self.leader, 1)
        for each in servers:
            self.votes[each] = self.votes[self.leader]

    # Threads and servers.

    def _stop(self, server: Role, point: str) -> Stop:
        self.held.append((server, point))
        return Stop(server, point)

    def _let_go(self, server: Role, share: float) -> Iterator[Choice]:
        """Let about this share of a server's threads go on."""
        for each in [each for each in self.held if each[0] == server]:
            if self.often(share):
                self.held.remove(each)
                yield Go(*each)

    def _followers(self) -> list[Role]:
        return [each for each in self.up if each != self.leader]

    def _others(self, follower: Role) -> list[Role]:
        """Return the followers but this one, or this one if there is no other."""
        return [each for each in self._followers() if each != follower] or [follower]

    def _all_but(self, server: Role) -> list[Role]:
        return [each for each in self.everyone if each != server]

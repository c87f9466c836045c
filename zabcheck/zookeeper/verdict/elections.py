"""Faults of elections: a vote for a leader that lacks what the voter has, and an ensemble in which nobody leads.

A server votes for itself first, and then for ever higher ranks: epoch, zxid, server (FastLeaderElection). Its own votes
come to it in the order in which it cast them, and its log has them. So a vote below its vote for itself is the
election's mistake, whatever else happened. Where configurations change nothing is said of votes: an election begins
anew with another one.

That nobody leads is judged at the end of a run, once all is healed and every server is up, and only where the time is
virtual: on a machine that is slow enough any time may be too short.
"""

from collections.abc import Iterator
from typing import NamedTuple

from zabcheck.invariants import Zxid
from zabcheck.zookeeper.recording.records import (
    Exited,
    Fault,
    Killed,
    Paused,
    PowerLost,
    Reached,
    Resumed,
    Started,
    Stopped,
    Wiped,
    changes_members,
)
from zabcheck.zookeeper.trace.incarnations import Incarnation, SortedRecording
from zabcheck.zookeeper.trace.server_log import Failure, State, Supporters, Vote
from zabcheck.zookeeper.trace.sources import LogPlace, LogWhole
from zabcheck.zookeeper.verdict.findings import Fact, Finding, error_logged

LONG = 30_000_000
"""The microseconds after which it is a finding that nobody leads.

A leader whom no quorum follows gives up after 5 seconds, or after 2 minutes where threads are held (`run.server`).
"""
FAILED_LEADERS = 3
"""The least number of servers that led in vain within that time, if one leads in the end: else it is a matter of
time-outs, which are long where threads are held."""

_DISTURBANCES = (Started, Killed, Exited, Paused, Resumed, PowerLost, Wiped, Fault, Reached)


class LowerVote(Fact, frozen=True):
    """The vote `for_other` of a server, and its vote for itself before that, which is of a higher rank."""

    for_itself: Vote
    for_other: Vote

    def words(self) -> str:
        before, other = self.for_itself, self.for_other
        return (
            f"votes for server {other.leader} ({_ends(other)}) in round {other.round}, though its own history is more "
            f"recent ({_ends(before)})"
        )


class LedInVain(NamedTuple):
    """A server began to lead and stopped again before a quorum was with it, for this `reason` in its own words."""

    server: int
    time: int
    reason: str


class Leaderless(Fact, frozen=True):
    """Nobody led for `lasted` microseconds, though for `calm` microseconds all servers were up and connected.

    `elections` is the number of rounds that the server with the most of them took part in, `votes` has the last vote of
    each server, and `in_vain` those who led in vain.
    """

    lasted: int
    calm: int
    elections: int
    votes: tuple[Vote, ...]
    in_vain: tuple[LedInVain, ...] = ()

    def words(self) -> str:
        seconds = f"nobody led for {self.lasted / 1e6:.1f} of the last {self.calm / 1e6:.1f} s"
        said = [f"{seconds}, although all servers were up and connected; elections: {self.elections}"]
        if self.in_vain:
            last = self.in_vain[-1]
            why = f", because of {last.reason}" if last.reason else ""
            gave_up = f"leaders that gave up without a quorum: {len(self.in_vain)}"
            said.append(f"{gave_up}, the last of them server {last.server}{why}")
        said += [
            f"server {each.voter} votes for server {each.leader} ({_ends(each)}) in round {each.round}"
            for each in self.votes
        ]
        return "; ".join(said)


def _ends(vote: Vote) -> str:
    return f"epoch {vote.epoch}, {Zxid.unpack(vote.zxid)}"


def election_findings(recording: SortedRecording) -> list[Finding]:
    """Find the faults of elections. O(records + lines of the logs)."""
    found: list[Finding] = []
    if not any(map(changes_members, recording.records)):
        for server in recording.by_server.values():
            for incarnation in server:
                found += _lower_votes(incarnation)
    if recording.run.simulated and recording.complete:
        found += _nobody_leads(recording)
    return found


def _lower_votes(incarnation: Incarnation) -> Iterator[Finding]:
    """Yield the first vote of a server for a leader of a lower rank than its own, with the number of such votes."""
    own: Vote | None = None
    lower: list[LowerVote] = []
    for vote in incarnation.log.votes:
        if vote.voter != incarnation.server:
            continue
        if vote.leader == vote.voter:
            own = vote
        elif own is not None and vote.rank < own.rank:
            lower.append(LowerVote(own, vote))
    if lower:
        source = LogPlace(incarnation.log.file, lower[0].for_other.number)
        yield Finding("lower vote", incarnation.server, incarnation.number, "election", lower[0], source, len(lower))


def _nobody_leads(recording: SortedRecording) -> Iterator[Finding]:
    """Find that nobody led for long at the end of a run, when nothing disturbed the servers any more."""
    over = next((each.time for each in recording.records if isinstance(each, Stopped)), 0)
    begin = max((each.time for each in recording.records if isinstance(each, _DISTURBANCES)), default=0)
    last = [server[-1] for server in recording.by_server.values() if server]
    if over - begin < LONG or not all(isinstance(each.ended, Stopped) for each in last):
        return
    led = _led(last, begin, over)
    lasted = over - begin - sum(until - since for since, until in led)
    in_vain = [each for incarnation in last for each in _led_in_vain(incarnation) if each.time >= begin]
    leads = any(until == over for _, until in led)
    if lasted < LONG or (leads and len(in_vain) < FAILED_LEADERS):
        return
    votes = {each.server: [vote for vote in each.log.votes if vote.voter == each.server] for each in last}
    rounds = [len({vote.round for vote in cast if vote.time >= begin}) for cast in votes.values()]
    fact = Leaderless(
        lasted,
        over - begin,
        max(rounds),
        tuple(cast[-1] for cast in votes.values() if cast),
        tuple(sorted(in_vain, key=lambda each: each.time)),
    )
    shown = next((each for each in last if in_vain and each.server == fact.in_vain[-1].server), last[0])
    yield Finding("nobody leads", shown.server, shown.number, "election", fact, LogWhole(shown.log.file))


def _led(last: list[Incarnation], begin: int, over: int) -> list[tuple[int, int]]:
    """Return when a quorum was with a leader, from `begin` on, in order; no two of these overlap."""
    found: list[tuple[int, int]] = []
    for incarnation in last:
        since: int | None = None
        for line in incarnation.log.lines:
            if isinstance(line, Supporters):
                since = line.time
            elif isinstance(line, State) and since is not None:
                found.append((since, line.time))
                since = None
        if since is not None:
            found.append((since, over))
    led: list[tuple[int, int]] = []
    for since, until in sorted(found):
        after = max(since, led[-1][1] if led else begin)
        if until > after:
            led.append((after, until))
    return led


def _led_in_vain(incarnation: Incarnation) -> Iterator[LedInVain]:
    """Yield when this server began to lead, and went back to elections before a quorum was with it."""
    since: int | None = None
    reason = ""
    for line in incarnation.log.lines:
        if isinstance(line, State):
            if since is not None:
                yield LedInVain(incarnation.server, since, reason)
            since, reason = (line.time, "") if line.role == "leading" else (None, "")
        elif isinstance(line, Supporters):
            since = None
        elif isinstance(line, Failure):
            reason = error_logged(line).exception or reason

"""The bugs of ZooKeeper for which a schedule is kept, with answers to an operator's questions about each.

The fault and the versions that have it are in the entry of the known issue (`verdict/known_issues.py`); a schedule in
the folder `schedules` beside this module shows it. An entry here adds its conditions, the loss, and the remedy.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from zabcheck.invariants.diagnosis import like
from zabcheck.zookeeper.run import schedule as schedules
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.verdict.known_issues import KnownIssue, issue_named

SCHEDULES = Path(__file__).parent / "schedules"
"""The folder of the schedules, files NAME.schedule.json; docs/examples has the same."""
PREFIX = "ZOOKEEPER-"
"""The beginning of an issue's name, which may be left out."""
UPGRADE = "a version that has the repair"


_EXECUTIONS = Path(__file__).parent / "executions.json"


class UnknownBug(ValueError):
    """No schedule is kept for a bug of this name. The message is one line, with the nearest name or the reason."""


class Count(NamedTuple):
    """A number of executions of a bug's schedule with a version, which were counted once and kept: `shown` of `times`.

    `simulated`: on simulated servers, not on processes.
    """

    zookeeper: str
    simulated: bool
    shown: int
    times: int


class Bug(NamedTuple):
    """A bug: its conditions, the loss, and an operator's remedy.

    `name` is that of the known issue, unless `issue` is; `others` are issues about the same. `file` names the schedule.
    `also` names further findings that show the bug beside the one that the schedule was saved for: it may look
    otherwise in another version.
    """

    name: str
    file: str
    trigger: str
    lost: str
    remedy: str
    others: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    issue: str = ""

    @property
    def known(self) -> KnownIssue:
        """The known issue, which has the title, the versions that are affected, and a signature."""
        return issue_named(self.issue or self.name)

    @property
    def path(self) -> Path:
        """The file with the schedule."""
        return SCHEDULES / f"{self.file}.schedule.json"

    @property
    def counts(self) -> tuple[Count, ...]:
        """The executions that were counted, those on processes first, by version."""
        return tuple(
            Count(version, servers == "simulated", *shown)
            for servers, of in _executions().items()
            for version, shown in of[self.name].items()
        )

    def is_always_shown(self, zookeeper: str) -> bool:
        """Return True if each execution with this version that was counted showed the bug, and some were counted."""
        counts = [each for each in self.counts if each.zookeeper == zookeeper]
        return bool(counts) and all(each.shown == each.times for each in counts)

    def schedule(self) -> EnsembleSchedule:
        """Read the schedule that shows it."""
        return schedules.decode(self.path.read_bytes(), self.path.name)

    @property
    def finds(self) -> tuple[str, ...]:
        """The names of findings that show it: properties, kinds of findings, rules for packets, or the known issue."""
        return self.schedule().finds, *self.also


@cache
def _executions() -> dict[str, dict[str, dict[str, tuple[int, int]]]]:
    """Read, for processes and for simulated servers, for each bug and version: shown, and times."""
    return msgspec.json.decode(_EXECUTIONS.read_bytes(), type=dict[str, dict[str, dict[str, tuple[int, int]]]])


def named(name: str) -> Bug:
    """Find the bug of this name: "ZOOKEEPER-4643", "4643" or "ack-before-trunc". UnknownBug if there is none."""
    asked = name.strip().lower()
    by_name = {each.lower(): bug for bug in BUGS for each in (bug.name, *bug.others)}
    for full in (asked, PREFIX.lower() + asked):
        if full in by_name:
            return by_name[full]
        if full.upper() in NOT_SHOWN:
            raise UnknownBug(f"no schedule shows {full.upper()}: {NOT_SHOWN[full.upper()]}")
    short = [bug.name.removeprefix(PREFIX) for bug in BUGS]
    meant = like(asked.removeprefix(PREFIX.lower()), short, f"expected one of: {', '.join(short)}")
    raise UnknownBug(f"no bug `{name}`; {meant}")


BUGS = (
    Bug(
        "ZOOKEEPER-1653",
        "zookeeper-1653",
        "a server takes over a snapshot of a later epoch, and is lost before it has written that epoch",
        "nothing; the server does not start any more",
        "empty its data directory while the others serve: it then takes over a snapshot (not tried)",
    ),
    Bug(
        "ZOOKEEPER-1675",
        "zookeeper-1675",
        "a leader that others have replaced stands still before it gives up, and a client of its own asks it for a "
        "sync, and then reads",
        "nothing; the client reads what is older than what others were told before",
        "write something in place of the sync: a write needs a quorum",
        ("ZOOKEEPER-2136",),
    ),
    Bug(
        "ZOOKEEPER-2307",
        "zookeeper-2307",
        "a follower's disk fails while it writes the epoch that it promises, and works again when it joins that leader "
        "once more; later the follower is started again",
        "nothing; the server does not start any more",
        UPGRADE,
    ),
    Bug(
        "ZOOKEEPER-2332",
        "zookeeper-2332",
        "a server is lost right after it has made a new log file",
        "nothing; the server does not start any more",
        "remove the empty file (not tried)",
    ),
    Bug(
        "ZOOKEEPER-2832",
        "zookeeper-2832",
        "a server with a write that nobody else has takes over a snapshot, twice, the second time from a leader that "
        "knows less than the first; it leaves that leader before it has applied the next write, and leads",
        "agreement: servers have different data for good; a write that was given up is back at some of them",
        "none is known; a server that differs can be emptied, it then takes a snapshot",
    ),
    Bug(
        "ZOOKEEPER-2846",
        "zookeeper-stale-log",
        "a server takes over a snapshot, and later leads while a server comes back that was down in between",
        "acknowledged writes, at every server",
        "`-Dzookeeper.snapshotSizeFactor=-1`: a leader then never reads its log for others (with 3.9.5 nothing was "
        "lost in 4 executions)",
    ),
    Bug(
        "ZOOKEEPER-3598",
        "zookeeper-applied-again",
        "a leader is lost while a follower has yet to apply what it has logged, and that follower leads next",
        "acknowledged writes, at every server",
        "3.9.4 or later lose no write by it; what they still do is late-set",
    ),
    Bug(
        "late-set",
        "zookeeper-late-set",
        "a follower's connection breaks while its thread that applies is late with a write to a node, and it joins "
        "again; that node is written once more before the thread goes on, which shutdown waits for no more than 5 "
        "seconds",
        "the newer data of that node, at this server: its clients read the older data, until the server is started "
        "again",
        "start the server again, if it has taken no snapshot since (nothing was wrong then in 2 executions); it logs "
        "`Digests are not matching` with the next write",
        issue="ZOOKEEPER-3598",
    ),
    Bug(
        "ZOOKEEPER-4306",
        "zookeeper-4306",
        "a session ends whose ephemeral nodes have so many names that together they are longer than `jute.maxbuffer`",
        "nothing that was acknowledged; no follower reads what its leader sends, so that nobody serves, and a server "
        "that has logged it does not start any more",
        "a larger `jute.maxbuffer` at all servers",
    ),
    Bug(
        "ZOOKEEPER-4311",
        "zookeeper-4311",
        "a follower's disk fails while it writes the epoch that it promises and the one that it adopts, which it does "
        "not notice; it is started again, and in the next quorum without the leader of that epoch",
        "agreement: two leaders have the same epoch, and give the same zxid to two writes; if only the first "
        "of the two fails, nothing, but that server does not start any more",
        UPGRADE,
    ),
    Bug(
        "ZOOKEEPER-4394",
        "zookeeper-4394",
        "a server joins a leader while a write is outstanding, which is committed before the server is up to date",
        "nothing; the server leaves its leader with a NullPointerException, and has to join once more",
        UPGRADE,
    ),
    Bug(
        "ZOOKEEPER-4409",
        "zookeeper-4409",
        "a follower's connection breaks while it has yet to acknowledge a write, and to log a later one that is "
        "committed",
        "that server lacks an acknowledged write once it is started again, and has later ones",
        UPGRADE,
    ),
    Bug(
        "ZOOKEEPER-4466",
        "zookeeper-4466",
        "a client that watches a node for good (`addWatch`) reads it with a watch, or asks whether it exists with one",
        "nothing; after the next change the client is told of none, and acts on what is old",
        "watch a node in one way only, or in two ways with a client each",
    ),
    Bug(
        "ZOOKEEPER-4541",
        "zookeeper-4541",
        "a follower's connection breaks while it has yet to acknowledge a write, and to log the end of a session; "
        "later the follower is started again",
        "agreement: at that server the ephemeral nodes of the ended session are there for good",
        UPGRADE,
        issue="ZOOKEEPER-4409",
    ),
    Bug(
        "ZOOKEEPER-4643",
        "zookeeper-4643",
        "a follower is killed in a synchronisation, and another quorum forms with it",
        "acknowledged writes",
        UPGRADE,
    ),
    Bug(
        "ZOOKEEPER-4646",
        "zookeeper-4646",
        "a follower with a slow disk is killed right after a synchronisation, and another quorum forms with it",
        "acknowledged writes, at every server",
        UPGRADE,
        ("ZOOKEEPER-4785",),
    ),
    Bug(
        "ZOOKEEPER-4685",
        "zookeeper-4685",
        "a follower's disk is fast, and its main thread slow, when it is synchronised",
        "nothing; the leader does not count the follower, and gives up after initLimit if it needs it",
        UPGRADE,
    ),
    Bug(
        "ZOOKEEPER-4712",
        "zookeeper-lost-write",
        "a leader is lost when a follower has acknowledged NEWLEADER, and has no UPTODATE yet",
        "acknowledged writes, at every server",
        UPGRADE,
    ),
    Bug(
        "promoted-observer",
        "zookeeper-promoted-observer",
        "an observer whose disk is slow is made a voter by a reconfiguration, and is later started again before its "
        "log has what it was told as an observer",
        "that server lacks acknowledged writes for good, and has later ones; it votes, and may lead",
        UPGRADE,
        issue="ZOOKEEPER-4712",
    ),
    Bug(
        "ZOOKEEPER-4837",
        "zookeeper-4837",
        "a server with a write that nobody else has is elected, and lost before anybody follows; others lead, and it "
        "comes back",
        "agreement: one server has a write for good that was never acknowledged",
        "none is known; while the server is down, remove its snapshots that are newer than the last common write (not "
        "tried)",
    ),
    Bug(
        "ZOOKEEPER-4882",
        "zookeeper-4882",
        "a follower's disk fails while it logs a write that others have committed, and works again; later the follower "
        "is started again",
        "that server lacks an acknowledged write for good, and has later ones; from 3.9.4 on it does not start",
        "none is known; such a server can be emptied, it then takes a snapshot",
        also=("could not start",),
    ),
    Bug(
        "ZOOKEEPER-4925",
        "zookeeper-4925",
        "a server catches up with a write that only its leader had, and leads next",
        "agreement: a server that joins then lacks that write for good",
        UPGRADE,
    ),
    Bug(
        "ZOOKEEPER-5094",
        "zookeeper-5094",
        "a follower's connection breaks while a write is committed and its leader has not applied it, and breaks again "
        "in the synchronisation that follows; later the follower is started again",
        "that server lacks an acknowledged write for good, and has later ones; from 3.9.4 on it does not start",
        "none is known; a server that is emptied takes over a snapshot (not tried)",
        also=("could not start",),
    ),
    Bug(
        "ack-before-trunc",
        "zookeeper-ack-before-trunc",
        "a leader's disk is slower than a follower's, the follower's connection breaks and is made again, and the "
        "leader is lost before the follower has logged again",
        "acknowledged writes, at every server",
        "none is known",
    ),
    Bug(
        "trunc-keeps-one",
        "zookeeper-trunc-keeps-one",
        "a server takes over a snapshot, leads next, and is lost with a write that nobody else has",
        "agreement: one server has a write for good that was never acknowledged",
        "none is known",
    ),
    Bug(
        "half-record",
        "zookeeper-half-record",
        "a follower's disk is full, or fails, in the middle of a record, and works again; later the follower is "
        "started again, and is in a quorum without those that have what it logged since",
        "acknowledged writes, at every server",
        "none is known; a server that says `Severe unrecoverable error, from thread : SyncThread` can be stopped at "
        "once and emptied, it then takes a snapshot",
    ),
    Bug(
        "unforced-snapshot",
        "zookeeper-unforced-snapshot",
        "a follower joins again after its connection broke, is told to cut off what its leader has committed and not "
        "applied, gets it anew, and soon loses power",
        "that server lacks an acknowledged write for good, and has later ones; from 3.9.4 on it does not start",
        "none is known; such a server can be emptied, it then takes a snapshot",
        also=("could not start",),
    ),
    Bug(
        "numbered-not-applied",
        "zookeeper-numbered-not-applied",
        "a session expires while a leader begins, and that leader loses its quorum at once and is elected again",
        "agreement: the end of that session is in the leader's log, and in nobody's memory; ephemeral nodes may "
        "outlive it, and servers differ",
        "none is known",
    ),
    Bug(
        "late-proposal",
        "zookeeper-late-proposal",
        "the thread that numbers requests stands still while its leader loses its quorum and is elected again at once",
        "agreement: servers have a write of the ended epoch, the leader has not; followers end themselves with "
        "`Committing zxid … but next pending txn …`",
        "none is known; empty the servers that have ended, they then take the leader's history (not tried)",
    ),
    Bug(
        "snapshot-digest",
        "zookeeper-snapshot-digest",
        "a follower is brought up to date with a snapshot while clients write",
        "nothing: the digest is compared too early, and `digest_mismatches_count` rises though the data are right",
        "none is needed; do not take a mismatch that a follower logs between `Getting a snapshot from leader` and "
        "`Learner received UPTODATE` for damage",
    ),
    Bug(
        "unlogged-voter",
        "zookeeper-unlogged-voter",
        "an observer with `zookeeper.observer.syncEnabled=false` is made a voter by a reconfiguration, and is later "
        "started again",
        "that server lacks acknowledged writes for good, and has later ones; it votes, and may lead",
        "start an observer with `syncEnabled=true` again, with an empty data directory, before it is made a voter (not "
        "tried)",
    ),
    Bug(
        "missed-activation",
        "zookeeper-missed-activation",
        "a server joins, and a write and then the configuration that it is part of are committed before it is up to "
        "date; later it is started again",
        "nothing; that server does not start any more, as the configuration that it has stored lacks it",
        "while the server is down, let zoo.cfg name a list of all servers (not tried)",
    ),
    Bug(
        "pending-config",
        "zookeeper-pending-config",
        "a server joins, or comes back, while a configuration is proposed and not committed, and then the network "
        "parts: the two sides are a quorum of the old and of the new configuration",
        "agreement: two leaders of one epoch, each with clients whose writes are acknowledged, and both go on when the "
        "network is whole again",
        "none is known; reconfigure only while every server, old and new, is connected and up to date",
    ),
    Bug(
        "skipped-config",
        "zookeeper-skipped-config",
        "servers come back while a configuration without them becomes active, and before they are up to date one with "
        "them is asked for; then the leader is lost, and the network parts",
        "agreement: two leaders of one epoch, each with clients whose writes are acknowledged, and both go on when the "
        "network is whole again",
        "none is known; reconfigure only while every server, old and new, is connected and up to date",
    ),
    Bug(
        "old-config-epoch",
        "zookeeper-old-config-epoch",
        "the leader is lost while a configuration is active at one server only; the others cannot elect with a quorum "
        "of it, try again and again, and are later brought together with those who could",
        "acknowledged writes, at every server",
        "none is known; reconfigure only while every server, old and new, is connected and up to date",
    ),
    Bug(
        "observer-counted",
        "zookeeper-observer-counted",
        "the leader is lost while a configuration is proposed that makes observers voters; one of them counts for the "
        "next leader, and is cut off from it before it has come back as a voter; then two voters are lost",
        "acknowledged writes: they are cut off, or one server keeps them in memory; servers differ",
        "none is known; make observers voters one at a time, and only while every server is connected and up to date",
    ),
    Bug(
        "nobody-designated",
        "zookeeper-nobody-designated",
        "a reconfiguration removes all servers but the leader, and gives that one another port for its followers",
        "agreement: later writes are committed without the configuration that they come after; followers end, and once "
        "all are started again nobody leads any more",
        "change the port of a server while another one leads; once nobody leads, remove `zoo.cfg.dynamic.next`, and "
        "let zoo.cfg name the list of before, at each server",
    ),
    Bug(
        "unwritten-config",
        "zookeeper-unwritten-config",
        "servers cannot write to the folder of their configuration (it is read-only, or full), and are started again "
        "after a reconfiguration that they are no part of",
        "agreement: those servers are a quorum of the configuration before, which they elect a leader in, beside the "
        "leader of the present one; both acknowledge writes",
        "watch the logs for `Error writing next dynamic config file to disk` and `Error closing file`; before the "
        "server is started again, let zoo.cfg name the list of the other servers (not tried)",
    ),
    Bug(
        "two-lists",
        "zookeeper-two-lists",
        "an ensemble of three grows to five by a rolling restart with a longer list, the new servers first, and the "
        "network parts while two servers still have the list of three",
        "acknowledged writes, at every server",
        "start the last new server when all others have the longer list: `zabcheck zookeeper scale` judges a plan",
    ),
    Bug(
        "stale-sync",
        "zookeeper-stale-sync",
        "a client of the leader asks for a sync, and then reads, when a follower has answered a write that the leader "
        "has committed and not applied yet",
        "nothing; the client reads what is older than what others were told before",
        "let clients that need a sync connect to followers, or write something in place of the sync",
    ),
    Bug(
        "eager-refusal",
        "zookeeper-eager-refusal",
        "with `zookeeper.enableEagerACLCheck=true` a client asks for a write that the permissions of a node forbid "
        "while an earlier request of its own waits",
        "nothing; a client that counts on the order takes the refusal for the answer to the earlier request; Java's "
        "reports ConnectionLoss for that and closes the connection (by its source, not tried)",
        "leave `enableEagerACLCheck` off, as it is by default",
    ),
)
"""The bugs, in the order of the known issues."""

NOT_SHOWN = {
    "ZOOKEEPER-3642": "it is repaired in 3.6.3, and for older versions no schedule was written",
    "ZOOKEEPER-3911": "it is repaired in 3.6.3; with 3.6.2 the schedule of ZOOKEEPER-4646 shows it, 10 of 10 times on "
    "simulated servers",
    "ZOOKEEPER-5088": "its text was not at hand, and neither ZooKeeper's sources up to the middle of 2026 nor its pull "
    "requests name it",
}
"""Bugs that a reader might look for here, each with the reason why no schedule shows it."""

"""Zab as Apache ZooKeeper implements it (3.3.1 to 3.9.5): each step is a function that names its Java method.

ZooKeeper does not run DSN 2011 to the letter. A leader keeps its own history, as an election has picked the server with
the greatest (currentEpoch, zxid, id). It synchronises followers by DIFF, TRUNC or SNAP, from a window of applied
transactions or from its log. The epochs, the log and the snapshots are files of their own. The database in memory
outlives a leader. `versions` has the differences between releases.

Granularity: a packet is one step, in the coarsest grain together with everything that the server's threads do because
of it. In finer grains the threads take turns of their own, which a schedule chooses (`threads`), and a crash falls
between any two. `docs/zookeeper-model.md` lists the parts of ZooKeeper that no grain models.

Harmless differences from the paper are no findings: a leader is not the follower whose history was chosen; an answer to
LEADERINFO with -1 does not count; a follower applies transactions that it has not yet logged; the whole log, including
uncommitted records, is applied at load, but nothing of that is delivered before UPTODATE. The group `application` does
not apply, as snapshots are of trees here. Invariant 4 does not apply either: it takes a history to be what was adopted
and accepted since, while a TRUNC cuts a log some steps before NEWLEADER, so a server that leaves in between answers the
next LEADERINFO with less.
"""

from zabcheck.protocols.base import (
    Activity,
    Elected,
    Lost,
    Message,
    Protocol,
    Request,
    Run,
    Started,
    Step,
    Stimulus,
    TakeSnapshot,
    TimedOut,
)
from zabcheck.protocols.environment import Environment
from zabcheck.zookeeper.model import election, leader, learner, messages, server, snapshots, threads, versions, votes
from zabcheck.zookeeper.model.identity import identity, rename
from zabcheck.zookeeper.model.server import Server
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches

KINDS: dict[type[Message], str] = {
    messages.FollowerInfo: "FOLLOWERINFO",
    messages.LeaderInfo: "LEADERINFO",
    messages.AckEpoch: "ACKEPOCH",
    messages.Diff: "DIFF",
    messages.Trunc: "TRUNC",
    messages.Snap: "SNAP",
    messages.Proposal: "PROPOSAL",
    messages.Commit: "COMMIT",
    messages.NewLeader: "NEWLEADER",
    messages.Ack: "ACK",
    messages.UpToDate: "UPTODATE",
}


def show(message: Message) -> tuple[str, str]:
    """Return the name of a packet and its contents."""
    match message:
        case messages.FollowerInfo():
            carries = f"{message.accepted_epoch}"
        case messages.LeaderInfo() | messages.NewLeader():
            carries = f"{message.epoch}"
        case messages.AckEpoch():
            carries = f"{-1 if message.current_epoch is None else message.current_epoch}, {message.zxid}"
        case messages.Proposal():
            carries = f"{message.txn}"
        case messages.Diff() | messages.Trunc() | messages.Snap() | messages.Commit() | messages.Ack():
            carries = f"{message.zxid}"
        case messages.UpToDate():
            carries = ""
        case votes.Notification():
            return "NOTIFICATION", f"{message.vote}, round {message.round}, {message.state}"
        case _:
            raise TypeError(f"not a packet of ZooKeeper: {message!r}")
    return KINDS[type(message)], carries


def describe(f: Server) -> dict[str, str | tuple[str, ...]]:
    """Return the variables of a server that a report shows."""
    role = "leads" if f.leads else f"follows p{f.leader}"
    return {
        "": Activity(f.phase.value) if f.leader is None else Activity(role, f.phase.value),
        **_voting(f),
        "accepted": str(f.accepted_epoch),
        "current": str(f.current_epoch),
        "log": tuple(map(str, f.log)),
        "snapshots": tuple(str(each.label) for each in f.snapshots),
        "tree": tuple(map(str, f.database.tree)),
        "lpz": str(f.database.lpz),
        "cache": tuple(str(txn.zxid) for txn in f.database.cache),
        **{name: each for name, each in _waiting(f).items() if each},
    }


def _voting(f: Server) -> dict[str, str]:
    """Return the variables of an election by messages, if there is one."""
    e = f.election
    return {} if e.vote is None else {"round": str(e.round), "votes for": f"{e.vote}{', a quorum too' * e.agreed}"}


def _waiting(f: Server) -> dict[str, tuple[str, ...]]:
    """Return the work that each thread has yet to do, handlers included."""
    queues = ((follower, map(show, begun.packets)) for follower, begun in f.unsent.items())
    return {
        "queued": tuple(f"p{follower} {name}({carries})" for follower, each in queues for name, carries in each),
        "main": tuple(map(str, f.todo)),
        "to log": tuple(map(str, f.to_log)),
        "to force": tuple(map(str, f.to_flush)),
        "to apply": tuple(map(str, f.to_apply)),
        "late to log": tuple(map(str, f.left_to_log)),
        "late to apply": () if f.left_to_apply is None else (str(f.left_to_apply),),
    }


STEPS: dict[type[Message] | type[Stimulus], Step] = {
    Started: server.on_started,
    TakeSnapshot: snapshots.on_take_snapshot,
    TimedOut: election.on_timed_out,
    Elected: leader.on_elected,
    Lost: leader.on_lost,
    Request: leader.on_request,
    Run: threads.on_run,
    messages.FollowerInfo: leader.on_follower_info,
    messages.LeaderInfo: learner.on_leader_info,
    messages.AckEpoch: leader.on_ack_epoch,
    messages.Diff: threads.reading(learner.on_diff),
    messages.Trunc: threads.reading(learner.on_trunc),
    messages.Snap: threads.reading(learner.on_snap),
    messages.Proposal: threads.reading(learner.on_proposal),
    messages.Commit: threads.reading(learner.on_commit),
    messages.NewLeader: threads.reading(learner.on_new_leader),
    messages.Ack: leader.on_ack,
    messages.UpToDate: threads.reading(learner.on_up_to_date),
    votes.Notification: election.on_notification,
}

ZOOKEEPER = Protocol(
    name="zookeeper",
    summary="Zab as Apache ZooKeeper implements it; the switch `version` says which release",
    source="ZooKeeper 3.3.1 to 3.9.5",
    steps={kind: threads.with_threads(step) for kind, step in STEPS.items()},
    start=server.start,
    abandon=server.abandon,
    can_broadcast=leader.can_broadcast,
    describe=describe,
    show=show,
    legend=(
        ("", "accepted, current: the two epoch files"),
        ("", "log: records as appended"),
        ("snapshots", "by label"),
        ("", "tree: what is applied, in memory"),
        ("", "lpz: lastProcessedZxid"),
        ("", "cache: committedLog"),
        ("", "⟨epoch,counter⟩"),
    ),
    kinds=KINDS,
    properties=(
        "core",
        "causality",
        "ladis",
        "liveness",
        "invariant 1",
        "invariant 2",
        "invariant 3",
        "invariant 5",
        "chosen",
        "epoch uniqueness",
        "zxid uniqueness",
    ),
    identity=identity,
    rename=rename,
    highest_epoch=server.highest_epoch,
    commutes=True,
    overdue=server.is_overdue,
    environment=Environment(
        never=("sync", "corrupt"),
        moves={"sync": 0, "run": 11, "settle": 14, "request": 15, "corrupt": 0, "elect": 0, "lead": 7, "timeout": 2},
        switches={
            "histories": (),
            "sync": (),
            "elections": ((100, "oracle"),),
            "application": (),
            "closing": (),
            "window": ((25, 1), (25, 2)),
            "grain": ((15, "G1"), (20, "G2"), (10, "G3"), (15, "G4")),
        },
        rejoins=92,
    ),
    threads=threads.separate,
    vote=server.vote,
    switches=ZooKeeperSwitches,
    contradiction=versions.contradiction,
)

PROTOCOLS = (ZOOKEEPER,)

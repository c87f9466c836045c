"""The constants by which schedules for an ensemble are drawn, in one struct: `print(TUNING)` shows them all.

A share is a probability. Of a tuple one item is drawn, each as likely as the others: one that is there twice is twice
as likely. A `Span` has the bounds of a uniform distribution.
"""

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.zookeeper.run.choices.links import Kind

Span = tuple[float, float]


class Stages(Struct, frozen=True):
    """Constants of stages, in each of which some quorum is up, or the ensemble is disturbed."""

    number: tuple[int, int] = (2, 5)
    """The least and the greatest number of stages."""
    another_quorum: float = 0.75
    """Share of the stages in which another quorum is up than before."""
    leader_cut_off: float = 0.9
    """Share of the stages that are of this kind or the one before; in the others the network is disturbed."""
    # Writes.
    writes: float = 0.9
    """Share of the places for writes at which some are made."""
    settles: float = 0.6
    """Share of the writes whose answers are waited for, `settle_seconds` at most."""
    settle_seconds: float = 1.0
    counts: tuple[int, ...] = (1, 3, 20, 100, 300)
    sizes: tuple[int, ...] = (10, 10, 1000, 10_000)
    """Bytes. Large writes take a server longer to log: packets that are sent before that show then."""
    # Another quorum.
    any_quorum: float = 0.15
    """Share of the quorums that are drawn from all; the others are smallest ones of servers that were down."""
    joined_again: float = 0.7
    """Share of the smallest quorums that have a server which joined last."""
    kills_all: float = 0.1
    """Share of the changes in which all servers are killed first."""
    traps: float = 0.85
    """Share of the changes in which the first server that joins falls into a trap."""
    kills_first: float = 0.6
    """Share of the changes in which servers are killed before others are started."""
    writes_between: float = 0.5
    """Share of the other changes in which something is written between the two."""
    awaits_leader: float = 0.7
    """Share of the changes after which a leader is waited for, `elected_seconds` at most; else some time passes."""
    elected_seconds: float = 2.0
    passes: Span = (0.3, 1.5)
    """Seconds."""
    # Traps at packets.
    from_leader: float = 0.5
    """Share of the traps that wait for a packet of the leader; the others wait for one of the follower."""
    kills_at: float = 0.6
    """Share of the traps that kill a server at the packet; the others hold the packet."""
    of_follower: tuple[Kind, ...] = ("ACK-LD", "ACK-LD", "ACK-LD", "ACK", "ACKEPOCH", "FOLLOWERINFO")
    """Packets of the follower that is synchronised; by the ACK of NEWLEADER it promises most."""
    of_leader: tuple[Kind, ...] = (
        *("UPTODATE", "UPTODATE", "NEWLEADER", "NEWLEADER"),
        *("PROPOSAL", "COMMIT", "DIFF", "TRUNC", "SNAP", "LEADERINFO"),
    )
    """Packets of its leader. Before UPTODATE the follower has promised, and does not act on that yet."""
    # A leader that is cut off.
    isolates: float = 0.7
    """Share of the leaders whose links are cut; the others stand still."""
    next_leader_seconds: float = 3.0
    """Seconds for which another leader is waited for at most."""
    traps_the_next: float = 0.5
    """Share of these stages in which a server falls into a trap then."""
    heals_for: Span = (0.0, 1.0)
    """Seconds that pass at the end."""
    # Disturbances of the network.
    delays: tuple[int, ...] = (5, 50, 300)
    """Milliseconds."""
    cut_for: Span = (0.5, 2.5)
    """Seconds."""
    held: tuple[Kind, ...] = ("PROPOSAL", "COMMIT", "ACK")
    held_seconds: float = 0.5
    """Seconds for which a packet to be held is waited for at most."""
    held_for: Span = (0.1, 1.0)
    """Seconds."""


class Threads(Struct, frozen=True):
    """Constants of stages in which single threads are held, and disks fail."""

    disks: float = 0.08
    """Share of the stages in which the disk of a server fails, or its power."""
    slow_logs: float = 0.3
    """Share of the stages in which logs are slow."""
    holds_who_leaves: float = 0.4
    """Share of the changes of quorum in which a thread of a server is held that may leave its leader."""
    traps: float = 0.7
    """Share of the traps that wait for a thread; the others wait for a packet."""
    newcomer: float = 0.7
    """Share of these that wait in the server that is synchronised; the others in the one that may lead it."""
    kills: float = 0.4
    """Share of these that kill the server; the others hold the thread."""
    awaited: float = 0.8
    """Share of the stops in servers that join which are waited for, `awaited_seconds` at most."""
    awaited_seconds: float = 4.0
    """A server takes a second or two to start, and may come late to its point."""
    let_go: float = 0.8
    """Share of the held threads that go on at the end of a stage."""
    nth: tuple[int, ...] = (1, 1, 1, 2, 4)
    # Slow logs.
    slow: float = 0.6
    """Share of the servers that log slowly."""
    slow_counts: tuple[int, ...] = (1, 3, 20)
    slow_wait: float = 0.1
    """Seconds between the writes and the new connection."""
    slow_for: Span = (0.1, 0.5)
    """Seconds."""
    slow_let_go: float = 0.5
    """Share of the held threads that go on then."""
    slow_kills: float = 0.4
    """Share of these stages in which a server is killed then."""
    # Points. All of these are in each version from 3.6.3 to 3.9.5.
    joining: tuple[str, ...] = (
        *("learner-promised", "learner-sync-packet", "learner-truncated", "learner-epoch"),
        *("learner-epoch-written", "learner-epoch-written"),
        *("learner-ack-newleader", "learner-ack-newleader", "learner-ack-newleader"),
        *("learner-ack-uptodate", "learner-serve", "learner-commit", "sync-append", "sync-force", "sync-forced"),
    )
    """Points in a server that is synchronised."""
    bringing: tuple[str, ...] = (
        *("handler-sync", "handler-forward", "handler-newleader-ack", "handler-ack", "leader-commit", "sync-force"),
    )
    """Points in the server that may lead it."""
    leaving: tuple[str, ...] = (
        *("learner-leave", "server-shutdown", "commit-shutdown", "server-fast-forward", "commit-apply", "sync-append"),
    )
    """Points in a server whose leader may be killed."""
    logging: tuple[str, ...] = (
        *("follower-log", "sync-append", "sync-force", "sync-forced", "ack-send", "leader-try-commit", "commit-apply"),
    )
    """Points while transactions are broadcast."""
    # Disks.
    write_fails: float = 0.5
    """Share of the failures of a disk in which one write fails; in the others the power fails."""
    failing: tuple[str, ...] = (
        *("log-append", "log-append", "log-record", "log-create", "log-flush", "log-force", "log-truncate"),
        *("log-save-tree", "accepted-epoch-write", "current-epoch-write"),
    )
    """Points at which a write fails."""
    losing: tuple[str, ...] = (
        *("log-force", "log-force", "sync-append", "log-forced", "ack-send", "learner-ack-newleader"),
    )
    """Points at which the power fails: before and after the server has forced the record that it acknowledges."""
    losing_nth: tuple[int, ...] = (1, 1, 2)
    kept: tuple[tuple[int, int | None], ...] = ((0, None), (0, None), (0, 20), (1, None), (1, 20))
    """Records that were not forced and are kept all the same, and bytes of the next one."""


class RoundShares(Struct, frozen=True):
    """Constants of rounds, in which a server falls behind, comes back, and is interrupted (`draw_rounds`)."""

    number: tuple[int, int] = (1, 3)
    """The least and the greatest number of rounds."""
    reaches: float = 4.0
    """Seconds at most for a thread to come to a point."""
    starts: float = 7.0
    """Seconds at most for a thread to come to a point after its server was started."""
    elects: float = 7.0
    """Seconds at most for an election."""
    first_settle: float = 2.0
    """Seconds at most for the answer to the first write."""
    write_settle: float = 1.0
    """Seconds at most for the answer to a write after an election."""
    # A leader alone with a write.
    alone: float = 0.3
    """Share of the rounds in which the leader logs a write that nobody else hears of."""
    alone_again: float = 0.6
    """The same after a round in which it was lost with one, and led again."""
    follows_nobody: float = 0.1
    """Share of these in which it is elected with that write, and lost before anybody follows."""
    interrupted_alone: float = 0.1
    """Share of the elections without it that are interrupted."""
    others_write: float = 0.9
    """Share of these in which the others write something without it."""
    others_write_again: float = 0.25
    """The same the second time: without, it is told to cut its write off when it comes back."""
    leads_again: float = 0.85
    """Share of these after which it comes back, takes over what the others have, and leads."""
    unheard: str = "follower-log"
    """The point at which a follower is held that is not to log any more."""
    # A quorum that has not logged what is written; off by default, and nothing is drawn for it then.
    slow_quorum: float = 0.0
    """Share of the rounds in which neither the leader nor the follower that elects it next can log a write."""
    not_logged: str = "sync-append"
    """The point at which their threads are held."""
    # A server that falls behind.
    down: float = 0.25
    """Share of these servers that are down; the others are slow."""
    slow_follower: tuple[str, ...] = (
        *("sync-append", "sync-append", "sync-append", "sync-force", "sync-force", "ack-send", "final-apply"),
    )
    """Points at which its thread is slow: mostly before the write is forced there, or acknowledged."""
    leader_slow: float = 0.75
    """Share of the rounds in which the leader is slow as well."""
    slow_leader: tuple[str, ...] = (
        *("sync-force", "sync-force", "sync-append", "sync-append", "commit-apply", "final-apply"),
    )
    """Points for its thread: the leader has then not logged, or not applied, what others have."""
    lacks: tuple[int, ...] = (1, 1, 3)
    """The number of writes that the server lacks."""
    lack_settle: float = 0.5
    """Seconds at most for the answers."""
    # A server that comes back.
    comes_back: float = 0.8
    """Share of the rounds in which a server connects again."""
    slow_comes_back: float = 0.15
    """Share of the rounds with a slow server in which it is that one; in the others it is another one."""
    coming_back: tuple[str, ...] = (
        *("sync-append", "sync-append", "sync-append", "learner-epoch-written", "learner-epoch-written"),
        *("learner-ack-newleader", "learner-ack-newleader", "learner-ack-uptodate", "learner-serve"),
        *("learner-sync-packet", "learner-epoch", "sync-force"),
    )
    """Points at which it is interrupted: mostly between what it promises and what it has logged."""
    again: tuple[str, ...] = (
        *("sync-append", "sync-append", "sync-append", "learner-ack-newleader", "learner-ack-newleader"),
        *("learner-ack-uptodate", "learner-serve", "learner-sync-packet"),
    )
    """The same for one that connects again to the leader that it had: its epoch is written already."""
    killed: float = 0.25
    """Share of those that are killed at the point; the others are held."""
    broken_off: float = 0.15
    """Share of those whose connection is broken off once more."""
    leader_goes_on: float = 0.8
    """Share of the leader's held threads that go on meanwhile."""
    back_settle: float = 0.7
    """Seconds at most for answers then."""
    caught_up: float = 0.25
    """Share of those that are held which go on, and get one write more."""
    # A crash, and an election.
    kills_all: float = 0.7
    """Share of the crashes of all servers."""
    kills_two: float = 0.5
    """Share of the other crashes in which a follower is killed with the leader."""
    without_leader: float = 0.9
    """Share of the elections without the leader that was killed."""
    interrupted: float = 0.3
    """Share of the elections that are interrupted: a follower is held or killed, and its leader is lost."""
    kills_follower: float = 0.4
    """Share of these in which the follower is killed at the point; in the others it is held."""
    kills_held: float = 0.5
    """Share of the followers that are held which are killed then."""
    going_first: float = 0.5
    """Share of the elections in which held threads go on before servers are started."""
    beginning: tuple[str, ...] = ("leader-epoch", "leader-started", "handler-sync", "handler-newleader-ack", "lead")
    """Points at which a server is interrupted that is about to lead."""


class SessionShares(Struct, frozen=True):
    """Constants of what sessions do between the choices of a schedule."""

    before_end: float = 0.5
    """Share of the choices that end or isolate a server before which a session acts."""
    after_write: float = 0.8
    """Share of the writes, elections and heals after which sessions act."""
    number: tuple[int, int] = (1, 3)
    """The least and the greatest number of times that they do."""
    counts: tuple[int, ...] = (1, 3, 10)
    sizes: tuple[int, ...] = (10, 1000)
    """Bytes."""
    # Each of these shares is that of the kind and of those before it.
    sets: float = 0.4
    multis: float = 0.55
    deletes: float = 0.65
    ephemerals: float = 0.8
    gets: float = 0.88
    moves: float = 0.95
    """The share of this kind and of those before it; in the rest a session ends."""
    of_another: float = 0.3
    """Share of the nodes that are set or read which belong to another session."""
    versioned: float = 0.5
    """Share of the sets that expect a version."""
    watches: float = 0.3
    """Share of the sets before which some session begins to watch the node, and of the creations of nodes likewise."""
    reads_back: float = 0.5
    """Share of the sets whose node is read afterwards."""
    moves_between: float = 0.3
    """Share of these before which the session moves."""
    ends_after: float = 0.4
    """Share of the sessions that end after they have created ephemeral nodes."""
    closed: float = 0.7
    """Share of the ends that are a close; the others expire."""


class ObserverShares(Struct, frozen=True):
    """Constants of what happens to observers between the choices of a schedule."""

    happens: float = 0.3
    """Share of the choices after which something happens to an observer."""
    kinds: tuple[str, ...] = ("write", "write", "kill", "start", "reset")


class DiskShares(Struct, frozen=True):
    """Constants of what happens to disks between the choices of a schedule."""

    copied: float = 0.4
    """Share of the writes and elections after which the disk of a server is copied."""
    changed: float = 0.4
    """Share of the kills of the first server that is chosen after which its disk is another one."""
    restored: float = 0.6
    """Share of these in which it is the copy; in the others it is empty."""
    fails: float = 0.25
    """Share of the kills before which writes of a server's epochs are to fail."""
    epochs: tuple[str, ...] = ("accepted-epoch-write", "current-epoch-write", "file-sync", "file-sync", "file-rename")
    """Points at which they fail."""
    times: tuple[int, ...] = (1, 1, 2)
    """The number of them, one after the other."""
    loses_names: float = 0.25
    """Share of the kills before which the power of a server is to fail once it has renamed files."""
    named: tuple[str, ...] = (
        *("learner-promised", "current-epoch-write", "current-epoch-write", "learner-epoch-written"),
        *("learner-ack-newleader", "handler-newleader-ack"),
    )
    """Points at which it fails, each soon after a file of an epoch has got its name."""
    kept: tuple[tuple[int, int | None], ...] = ((0, None), (0, 20), (1, None))
    """Records that were not forced and are kept all the same, and bytes of the next one."""


class Tuning(Struct, frozen=True):
    """All of them."""

    in_rounds: float = 0.75
    """The share of the schedules with threads that consist of rounds."""
    stages: Stages = Stages()
    threads: Threads = Threads()
    rounds: RoundShares = RoundShares()
    sessions: SessionShares = SessionShares()
    observers: ObserverShares = ObserverShares()
    disks: DiskShares = DiskShares()


TUNING = Tuning()

FOR_A_PATCH = replace(
    TUNING,
    in_rounds=0.5,
    threads=replace(TUNING.threads, disks=0.3, write_fails=0.3),
    rounds=replace(TUNING.rounds, slow_quorum=0.15),
)
"""The settings of a gate for a patch: disks lose power more often, as nothing else shows an ACK before its force.

So is what was acknowledged before it was logged.
"""

BY_SNAPSHOT = replace(
    FOR_A_PATCH,
    in_rounds=0.8,
    rounds=replace(
        FOR_A_PATCH.rounds,
        slow_quorum=0.0,
        down=0.7,
        coming_back=(
            *("learner-snapshot", "learner-snapshot", "learner-snapped", "log-save-tree", "snapshot-write"),
            *("learner-epoch", "learner-epoch-written", "learner-ack-newleader", "learner-ack-uptodate"),
        ),
        killed=0.5,
        interrupted=0.5,
        kills_follower=0.7,
    ),
)
"""The same where leaders bring everybody up to date with a snapshot: servers are interrupted as they take it over.
"""

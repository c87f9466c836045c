"""The threads of a server: each one's next piece of work, and how finely they interleave (the switch `grain`).

A step of another module leaves work to a thread by putting it into the thread's queue. A thread is separate if a
schedule chooses when it takes its next turn. Any other one does all its work within the step that gave it some. So
each run of a coarse grain is one of every finer grain, in which the threads take their turns at once.
"""

from collections.abc import Callable, Mapping
from functools import cache, wraps

from zabcheck.invariants import Halt
from zabcheck.protocols.base import Changed, Effect, Flush, ProcessId, Run, Send, Step, Threads
from zabcheck.protocols.switches import Switches, completed
from zabcheck.zookeeper.model import election, leader, messages
from zabcheck.zookeeper.model.database import Exit
from zabcheck.zookeeper.model.server import (
    Server,
    ServerError,
    Todo,
    accept,
    apply,
    do_next,
    finish,
    give_up,
    raises,
)
from zabcheck.zookeeper.model.snapshots import write_snapshots
from zabcheck.zookeeper.model.switches import Grain, ZooKeeperSwitches
from zabcheck.zookeeper.model.versions import handlers_take_turns, version_of


def log_next(f: Server) -> list[Effect]:
    """`SyncRequestProcessor.run`: append the next record; if there is none, force the log and acknowledge (f.3.2).

    The acknowledgements go out in order: a follower's to its leader, a leader's to itself (`AckRequestProcessor`).
    """
    if f.to_log:
        first, f.to_log = f.to_log[0], f.to_log[1:]
        f.to_flush = (*f.to_flush, first)
        return accept(f, first)
    return force(f)


def force(f: Server) -> list[Effect]:
    """`SyncRequestProcessor.flush`. It may also come while there is more to append.

    The main thread hands over the records that NEWLEADER or UPTODATE has left to log one by one, here all at once. So
    the logging thread may have found its queue empty in the middle of that.
    """
    effects: list[Effect] = [Flush()]
    flushed, f.to_flush = f.to_flush, ()
    for txn in flushed:
        if f.leads:
            effects += leader.process_ack(f, f.id, txn.zxid)
        elif f.leader is not None and not f.observes:  # the leader's own ACK before may have ended its iteration
            effects.append(Send(f.leader, messages.Ack(txn.zxid)))
    return effects


def apply_next(f: Server) -> list[Effect]:
    """`CommitProcessor.run`, which calls `FinalRequestProcessor`: apply the next committed transaction (f.3.3)."""
    first, f.to_apply = f.to_apply[0], f.to_apply[1:]
    return apply(f, first)


def log_late(f: Server) -> list[Effect]:
    """`SyncRequestProcessor.run` of an iteration that is over: log the next record, acknowledge to nobody (4712)."""
    first, f.left_to_log = f.left_to_log[0], f.left_to_log[1:]
    f.dies_after = None
    return [*accept(f, first), Flush()]


def die_late(f: Server) -> list[Effect]:
    """`SendAckRequestProcessor.processRequest` in that thread: a NullPointerException, as the socket is gone (4409).

    It was forcing the log. No thread logs the records that waited behind that, although memory may have them: a
    committed transaction is applied without waiting for one's own disk.
    """
    if raises(f):
        raise ServerError("SendAckRequestProcessor: a NullPointerException, as the socket is closed")
    last, f.left_to_log, f.dies_after = f.left_to_log[: f.dies_after], (), None
    return [*(effect for txn in last for effect in accept(f, txn)), Flush()]


def fail_to_log(f: Server) -> list[Effect]:
    """`ZooKeeperCriticalThread.handleException`, called by `SyncRequestProcessor.run`: a write to the log fails (4882).

    The thread ends, and sets the server's state to ERROR, by which the main thread leaves the iteration. No thread logs
    the records that waited; committed ones among them may be in memory, with which the server votes and joins. A disk
    that fails is no fault of DSN 2011, nor one that bounds count, so there is such a turn only where 4882 is asked for.
    Left out: a record that fails in its midst, or behind others that are not forced; a leader's disk.
    """
    effects = finish(f)
    f.to_log = ()
    return [*effects, *give_up(f, "a write to the log has failed")]


def apply_late(f: Server) -> list[Effect]:
    """`CommitProcessor.run` of an iteration that is over: apply the transaction in hand (3598).

    If the log had it, it is applied already (3598). A logging thread that was left behind may still have it (4712):
    then memory has it now, and the log has not. If a synchronisation has cut it off since, it is dropped, as a thread
    that waits for so long is not modelled.
    """
    txn, f.left_to_apply = f.left_to_apply, None
    assert txn is not None
    is_ahead = txn in f.left_to_log and f.database.lpz < txn.zxid
    return apply(f, txn) if is_ahead or txn in f.database.tree.after(0) else []


def write_back(f: Server) -> list[Effect]:
    """Put the last snapshot on the disk: the system writes it some time after `FileSnap.serialize` has (N3).

    This is no thread of the server. Until then a power loss takes the file, and leaves what was forced after it.
    """
    return write_snapshots(f)


def find_log_too_long(l: Server) -> list[Effect]:
    """`ZKDatabase.getProposalsFromTxnLog`: the next follower that is behind committedLog gets a SNAP.

    This is no thread, but stands for the sizes of files, which the model does not have: the log is not used if its
    files are longer than a third of the newest snapshot (snapshotSizeFactor), and a file is at least as long as the
    space allocated ahead.
    """
    l.log_too_long = True
    return [Changed()]


def start_late(l: Server) -> list[Effect]:
    """`LearnerHandler.run`: the followers' handlers sleep when the server starts to serve, and notice it later."""
    l.starts_late = True
    return [Changed()]


def notice_start(l: Server) -> list[Effect]:
    """`LearnerHandler.run`: the next handler notices that the server serves, and sends its follower UPTODATE."""
    first, l.due = l.due[0], l.due[1:]
    return [Send(first, l.up_to_date())]


def sleep_on(l: Server) -> list[Effect]:
    """`LearnerHandler.run`: the next handler is the last one to notice that."""
    l.due = (*l.due[1:], l.due[0])
    return [Changed()]


def start_early(l: Server) -> list[Effect]:
    """`Leader.startZkServer`: the leader takes requests before its main thread assigns lastProcessedZxid.

    A client's request by then, or the end of a session, counts as applied when it is only numbered.
    """
    l.todo = (Todo(leader.count_numbered), *l.todo[1:])
    return leader.serve(l)


def _is_about_to_serve(l: Server) -> bool:
    return bool(l.todo) and l.todo[0].step is leader.start_server


THREADS: Mapping[str, tuple[Callable[[Server], bool], Callable[[Server], list[Effect]]]] = {
    "main": (lambda f: bool(f.todo), do_next),
    "sync": (lambda f: bool(f.to_log or f.to_flush), log_next),
    "commit": (lambda f: bool(f.to_apply), apply_next),
    "late sync": (lambda f: bool(f.left_to_log), log_late),
    "late commit": (lambda f: f.left_to_apply is not None, apply_late),
}
"""The functions of each thread: one that returns True if it has work, and one that does the next piece of it."""

DYING: Mapping[str, tuple[Callable[[Server], bool], Callable[[Server], list[Effect]]]] = {
    "late sync dies": (lambda f: f.dies_after is not None, die_late),
}
"""The same for a thread that is left behind in the midst of its work: its end in some versions."""

FAILING: Mapping[str, tuple[Callable[[Server], bool], Callable[[Server], list[Effect]]]] = {
    "sync fails": (lambda f: bool(f.to_log) and f.running and not f.leads and not f.to_flush, fail_to_log),
}
"""The same for a thread whose disk fails."""

WRITING: Mapping[str, tuple[Callable[[Server], bool], Callable[[Server], list[Effect]]]] = {
    "write back": (lambda f: f.unwritten, write_back),
}
"""The same for the system, which writes data that is not forced."""

HANDLING: Mapping[str, tuple[Callable[[Server], bool], Callable[[Server], list[Effect]]]] = {
    "handler": (lambda l: bool(l.unsent), leader.send_late),
}
"""The same for a follower's handler that, in some versions, synchronises the follower in two steps (962, 3104)."""

RECORDED: Mapping[str, tuple[Callable[[Server], bool], Callable[[Server], list[Effect]]]] = {
    "force": (lambda f: bool(f.to_log and f.to_flush), force),
    "log too long": (lambda l: l.leads and not l.log_too_long, find_log_too_long),
    "start late": (lambda l: _is_about_to_serve(l) and not l.starts_late, start_late),
    "start early": (lambda l: _is_about_to_serve(l) and l.version.counts_numbered, start_early),
    "handlers": (lambda l: bool(l.due), notice_start),
    "handlers sleep": (lambda l: len(l.due) > 1, sleep_on),
}
"""The same for turns that only recordings of real servers need: no coarser grain takes them."""

SEPARATE: Mapping[Grain, tuple[str, ...]] = {
    "G0": (),
    "G1": ("main",),
    "G2": ("main", "sync"),
    "G3": ("main", "sync", "commit"),
    "G4": tuple(THREADS),
    "G5": (*THREADS, *RECORDED),
}
"""The threads that are separate, by grain."""

ELECTION: Mapping[str, tuple[Callable[[Server], bool], Callable[[Server], list[Effect]]]] = {
    "election": (election.is_due, election.go_on),
}
"""The same for the main thread while it looks for a leader, where the switch `elections` makes it do so by messages."""

_TOGETHER = {
    grain: [
        pair
        for name, pair in {**DYING, **THREADS}.items()
        if name not in names and (name in THREADS or "late sync" not in names)
    ]
    for grain, names in SEPARATE.items()
}
_ALL = {**THREADS, **HANDLING, **RECORDED, **DYING, **FAILING, **WRITING, **ELECTION}


@cache
def separate(switches: Switches) -> Threads:
    """Return the threads that take turns of their own, as in `THREADS`."""
    own = completed(switches, ZooKeeperSwitches)
    names = SEPARATE[own.grain]
    version = version_of(own.version, own.defects)
    if "late sync" in names and version.sync_dies:
        names = (*names, *DYING)
    if "sync" in names and version.outlives_disk_error and own.defects == "4882":
        names = (*names, *FAILING)
    if handlers_take_turns(version, own.defects):
        names = (*names, *HANDLING)
    if not version.forces_cut_snapshot and own.defects == "n3":
        names = (*names, *WRITING)
    if own.elections == "fle":
        names = (*names, *ELECTION)
    return {name: _ALL[name][0] for name in names}


def on_run(f: Server, sender: ProcessId, m: Run) -> list[Effect]:
    """Give a thread its turn."""
    return _ALL[m.thread][1](f)


def with_threads(step: Step) -> Step:
    """Return the step as the process takes it: together with the work that its threads do at once because of it.

    An end of the process stops it for good; all that was done before stays done.
    """

    @wraps(step)
    def taken(f: Server, sender: ProcessId, m: object) -> list[Effect]:
        effects: list[Effect] = []
        try:
            effects = step(f, sender, m)
            while f.todo or f.to_log or f.to_flush or f.to_apply or f.left_to_log or f.left_to_apply:
                for busy, take_turn in _TOGETHER[f.switches.grain]:
                    if busy(f):
                        effects += take_turn(f)
                        break
                else:
                    break
        except Exit as reason:
            if raises(f):
                raise
            effects.append(Halt(f.id, f.incarnation, str(reason)))
        return effects

    return taken


def reading(step: Step) -> Step:
    """Return a step of a follower's main thread, which finishes what it has begun before it reads a packet."""

    @wraps(step)
    def taken(f: Server, sender: ProcessId, m: object) -> list[Effect]:
        effects: list[Effect] = []
        while f.todo and not f.leads:
            effects += do_next(f)
        return effects + step(f, sender, m)

    return taken

"""Each step of the model `zookeeper` as steps of the proof of implemented Zab, one after the other, or none.

A run of which every step is so is a run of the abstraction: all that is proved of these is true of it. After each step
the servers of the model show their disks and memories, and its effects what they have said. From what the abstraction
has not yet follows which of its steps come next, with which server, epoch and transaction; it has to allow them.

A step counts as late as it may: a leader counts an acknowledgement when that is sent, a power loss comes when the
server starts again.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.explore.bounds import Bounds
from zabcheck.explore.space import Space
from zabcheck.explore.tables.local_states import STOPS_READING
from zabcheck.invariants import Adopt, Broadcast, CommitEpoch, Deliver, Establish, Halt, Promise, Txn
from zabcheck.invariants.quorums import Quorums
from zabcheck.proof.compiled import Tuples, World, of, take, world_of
from zabcheck.proof.finite import Thing
from zabcheck.proof.implemented import steps
from zabcheck.proof.implemented.servers import Servers
from zabcheck.proof.steps import Step
from zabcheck.protocols.base import Effect, Elected, GiveUp, Message, ModelledError, Protocol, Send, Started
from zabcheck.simulation.simulator import Simulator
from zabcheck.zookeeper.model import ZOOKEEPER, messages
from zabcheck.zookeeper.model.database import loaded
from zabcheck.zookeeper.model.learner import snapshot_of_leader
from zabcheck.zookeeper.model.server import Mode, Server
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches

AbstractTxn = tuple[int, int, str]
ALL: AbstractTxn = (1 << 30, 0, "")
"""Later than every transaction."""
Taken = tuple[Step, tuple[Thing, ...]]


def name_of(process: int) -> str:
    return f"p{process}"


def abstract(txn: Txn) -> AbstractTxn:
    return txn.zxid.epoch, txn.zxid.counter, txn.value


class Shown(Struct, frozen=True):
    """The part of a server of the model that the proof has relations for: disk, memory, connection, files of epochs."""

    accepted_epoch: int
    current_epoch: int
    log: frozenset[AbstractTxn]
    forced: frozenset[AbstractTxn]
    tree: frozenset[AbstractTxn]
    joined: bool
    unsaved: bool
    serving: bool


def shown(p: Server) -> Shown:
    log, forced = _disk(p)
    has_joined = p.leader is not None and (p.mode is not Mode.NONE or p.acknowledged or p.running or p.finished)
    unsaved = p.mode in (Mode.SNAP, Mode.TRUNC) or any(each.step is snapshot_of_leader for each in p.todo)
    tree = frozenset(map(abstract, p.database.tree))
    return Shown(p.accepted_epoch, p.current_epoch, log, forced, tree, has_joined, unsaved, p.running)


def _disk(p: Server) -> tuple[frozenset[AbstractTxn], frozenset[AbstractTxn]]:
    """Return what a server would load of its log, queue and snapshots; and of the forced part."""
    waiting = p.log[: len(p.log) - len(p.to_flush)] if p.to_flush else p.log
    snapshots = p.snapshots[:-1] if p.unforced or p.unwritten else p.snapshots
    try:
        logged = loaded(p.snapshots, (*p.log, *p.to_log), p.version, p.window).tree
        forced = loaded(snapshots, waiting, p.version, p.window).tree
    except ModelledError:  # holes are refused: then nothing can be read
        return frozenset(), frozenset()
    return frozenset(map(abstract, logged)), frozenset(map(abstract, forced))


class Refused(Exception):
    """The abstraction does not allow the step `by`, which the model needs; or no step makes what a server shows.

    Then `by` has the fields of `Shown` that differ.
    """

    def __init__(self, by: str, things: object) -> None:
        super().__init__(f"{by}: {things}")
        self.by = by


class Refinement:
    """A run of the abstraction that goes along with one of the model."""

    def __init__(self, quorums: Quorums) -> None:
        self.quorums = quorums
        self.processes = range(1, quorums.size + 1)
        nodes = tuple(map(name_of, self.processes))
        sets = [members for size in self.processes for members in combinations(self.processes, size)]
        every = tuple(frozenset(map(name_of, each)) for each in sets if quorums.contains(each))
        of_zero = frozenset((n, 0) for n in nodes)
        start = {"reached": of_zero, "current": of_zero, "adopted": of_zero, "opened": frozenset({(0,)})}
        self.world: World = world_of((nodes, every, (0,), ()), start, Servers)
        self.taken: list[Taken] = []

    # The world.

    def of(self, relation: str) -> Tuples:
        return of(self.world, relation, Servers)

    def about(self, relation: str, *first: Thing) -> set[AbstractTxn]:
        """Return the last things of the tuples that begin with `first`."""
        return {each[-1] for each in self.of(relation) if each[:-1] == first}

    def current_epoch(self, n: str) -> int:
        return max(e for m, e in self.of("current") if m == n)

    def do(self, step: Step, *things: Thing) -> None:
        self.one_of(step, [things])

    def one_of(self, step: Step, ways: Iterable[tuple[Thing, ...]]) -> None:
        """Take a step in the first of these ways that is possible."""
        tried: tuple[Thing, ...] = ()
        for tried in ways:
            after = take(step, self.world, tried)
            if after is not None:
                self.world = after
                self.taken.append((step, tried))
                return
        raise Refused(step.name, tried)

    def name(self, p: Server, effects: Iterable[Effect]) -> None:
        """Let the world know the epochs and transactions of a step."""
        _, _, epochs, txns, *_ = self.world
        new = {*map(abstract, (*p.log, *p.to_log, *p.database.tree, *p.kept))}
        new |= {abstract(each.txn) for each in effects if isinstance(each, Broadcast | Deliver)}
        new -= set(txns)
        late = {p.accepted_epoch, p.current_epoch, *(txn[0] for txn in new)} - set(epochs)
        if not new and not late:
            return
        assert not late or min(late) > max(epochs), "a server takes an epoch greater than all that are known"
        lacked = {(d, t) for t in new for (e,) in self.of("opened") for d in epochs if d < e}
        relations = {each: self.of(each) for each in Servers.relations}
        relations["lacked"] |= lacked
        things = self.world[0], self.world[1], (*epochs, *sorted(late)), tuple(sorted({*txns, *new}))
        self.world = world_of(things, relations, Servers)

    # One step of the model.

    def follow(self, before: Server, p: Server, m: Message, effects: Sequence[Effect]) -> None:
        """Take the steps that a step of the model is: `before` and `p` are its server before and after it."""
        if isinstance(m, messages.Trunc) and any(isinstance(each, Halt) for each in effects):
            return  # its disk does not go back as far: it ends, and has written nothing
        self.name(p, effects)
        n, goal = name_of(p.id), shown(p)
        ends = any(isinstance(each, GiveUp) for each in effects) or (
            isinstance(m, Elected) and before.leader is not None
        )
        if isinstance(m, Started):
            self.restart(n, goal)
        if not ends:
            self.discover(n, p, effects)
        self.forget(p, effects)
        self.synchronise(n, p, goal, m)
        self.write(n, before, p, goal, effects, ends)
        self.acknowledge(n, p, effects)
        self.establish(n, effects)
        if not ends:
            self.commit(n, before, p)
            self.apply(n, p, goal)
        self.serve(n, effects)
        if ends and (n,) in self.of("joined"):
            self.do(steps.leave, n)
        if ends:
            self.discover(n, p, effects)
        self.compare(n, goal, effects)

    def restart(self, n: str, goal: Shown) -> None:
        """A power loss takes what is not forced from some transaction on."""
        log, forced = self.about("log", n), self.about("forced", n)
        for z in (ALL, *sorted(log)):
            if {t for t in log if t in forced or t < z} == goal.log:
                self.do(steps.crash, n, z)
                break
        else:
            raise Refused("crash", (n, sorted(goal.log ^ log)))
        self.do(steps.force, n, ALL)
        if goal.current_epoch > self.current_epoch(n):
            last = max(self.about("log", n), default=ALL)
            if last[0] == goal.current_epoch:
                self.do(steps.load, n, last)
            else:
                self.do(steps.load_snapshot, n, goal.current_epoch)

    def discover(self, n: str, p: Server, effects: Iterable[Effect]) -> None:
        for each in effects:
            if isinstance(each, Promise):
                self.do(steps.promise, n, each.epoch, name_of(each.leader or p.id))
        if p.leads and p.finished and (p.epoch,) not in self.of("opened"):
            tree = self.about("tree", n)
            if tree:
                self.one_of(steps.choose, ((p.epoch, n, q, self.current_epoch(n), max(tree)) for q in self.world[1]))
            else:
                self.one_of(steps.choose_empty, ((p.epoch, n, q, self.current_epoch(n)) for q in self.world[1]))

    def synchronise(self, n: str, p: Server, goal: Shown, m: Message) -> None:
        if (n,) not in self.of("joined") and goal.joined and not p.leads:
            e = p.accepted_epoch
            match m:
                case messages.Diff():
                    self.do(steps.diff, n, e, max(self.about("tree", n), default=ALL))
                case messages.Trunc():
                    self.do(steps.truncate, n, e, (m.zxid.epoch, m.zxid.counter + 1, ""))
                case messages.Snap():
                    last = max(map(abstract, m.tree), default=(0, 0, ""))
                    self.do(steps.snap, n, e, (last[0], last[1] + 1, ""))

    def write(self, n: str, before: Server, p: Server, goal: Shown, effects: Sequence[Effect], ends: bool) -> None:
        """Take the steps that write to the disk, or put records into the queue of the thread that logs."""
        e = before.accepted_epoch if ends else p.accepted_epoch
        for each in effects:
            if isinstance(each, Broadcast):
                self.do(steps.broadcast, each.epoch, n, abstract(each.txn))
        if (n,) in self.of("unsaved"):
            if not ends:
                for t in sorted(goal.tree - self.about("tree", n)):
                    self.do(steps.apply_unsaved, n, e, t)
            written = any(each.step is snapshot_of_leader for each in before.todo) if ends else not goal.unsaved
            if written:
                self.do(steps.write_snapshot, n, e)
        for t in sorted(goal.log - self.about("log", n)):
            self.do(steps.append, n, e, t)
        new = (self.about("log", n) & goal.forced) - self.about("forced", n)
        if new:
            self.do(steps.force, n, max(new))
        if goal.current_epoch > self.current_epoch(n):
            self.do(steps.write_epoch, n, goal.current_epoch)

    def acknowledge(self, n: str, p: Server, effects: Iterable[Effect]) -> None:
        for each in effects:
            if isinstance(each, Adopt):
                self.do(steps.acknowledge, n, each.epoch)
            if isinstance(each, Send) and isinstance(each.message, messages.Ack) and each.message.zxid.counter:
                zxid = each.message.zxid.epoch, each.message.zxid.counter
                e = p.accepted_epoch
                self.one_of(steps.ack, ((n, e, t) for t in self.world[3] if t[:2] == zxid))

    def establish(self, n: str, effects: Iterable[Effect]) -> None:
        for each in effects:
            if isinstance(each, Establish):
                self.one_of(steps.establish, ((each.epoch, n, q) for q in self.world[1]))

    def forget(self, p: Server, effects: Iterable[Effect]) -> None:
        """Forget acknowledgements of a follower, as its leader does before it synchronises it."""
        for each in effects:
            if isinstance(each, Send) and isinstance(each.message, messages.Diff | messages.Trunc | messages.Snap):
                self.do(steps.forget, name_of(each.to), p.epoch)

    def commit(self, n: str, before: Server, p: Server) -> None:
        """Count and commit as a leader, whose own acknowledgement counts when a transaction is forced."""
        if not p.leads:
            return
        e = p.epoch
        own = [
            t for t in self.about("forced", n) if (e, t) in self.of("proposed") and (n, e, t) not in self.of("acked")
        ]
        for t in sorted(own):
            self.do(steps.ack, n, e, t)
        left = {each.txn for each in p.outstanding}
        for each in before.outstanding:
            if each.txn not in left:
                self.one_of(steps.commit, ((e, n, abstract(each.txn), q) for q in self.world[1]))

    def apply(self, n: str, p: Server, goal: Shown) -> None:
        e = p.accepted_epoch
        if (n,) not in self.of("unsaved"):
            for t in sorted(goal.tree - self.about("tree", n)):
                self.do(steps.apply, n, e, t)

    def serve(self, n: str, effects: Iterable[Effect]) -> None:
        for each in effects:
            if isinstance(each, CommitEpoch):
                e = each.epoch
                self.one_of(steps.serve, ((n, e, leader) for d, leader in self.of("led") if d == e))

    def compare(self, n: str, goal: Shown, effects: Iterable[Effect]) -> None:
        now = Shown(
            max(e for m, e in self.of("reached") if m == n),
            self.current_epoch(n),
            frozenset(self.about("log", n)),
            goal.forced,
            frozenset(self.about("tree", n)),
            (n,) in self.of("joined"),
            (n,) in self.of("unsaved"),
            (n,) in self.of("serving"),
        )
        if now != goal or not self.about("forced", n) <= goal.forced:
            different = [each for each in Shown.__struct_fields__ if getattr(now, each) != getattr(goal, each)]
            raise Refused(" ".join(different) or "forced", n)
        delivered = self.about("delivered", n)
        for each in effects:
            if isinstance(each, Deliver) and abstract(each.txn) not in delivered:
                raise Refused(steps.apply.name, (n, each.txn))


class Companion:
    """Wraps the steps of the model, and has a refinement follow each of them up to the first that it refuses."""

    def __init__(self, quorums: Quorums) -> None:
        self.refinement = Refinement(quorums)
        self.refused: Refused | None = None
        self.followed = 0

    @property
    def protocol(self) -> Protocol:
        return replace(ZOOKEEPER, steps={kind: self.followed_by(step) for kind, step in ZOOKEEPER.steps.items()})

    def followed_by(self, step: Callable[..., list[Effect]]) -> Callable[..., list[Effect]]:
        def taken(p: Server, sender: int, m: Message) -> list[Effect]:
            before = replace(p)
            effects = step(p, sender, m)
            if self.refused is None:
                try:
                    self.refinement.follow(before, p, m, effects)
                    self.followed += 1
                except Refused as refused:
                    self.refused = refused
            return effects

        return taken


def transitions(bounds: Bounds, switches: ZooKeeperSwitches, *, reduction: bool) -> Iterator[Companion]:
    """Yield the companion after each transition of the model within bounds, up to the first that it refuses.

    Each state is reached by one run, and its world is that of this run. Some 0.1 ms a transition.
    """
    one = Companion(Quorums(bounds.processes))
    quorums, refinement = one.refinement.quorums, one.refinement
    space = Space(ZOOKEEPER, quorums, switches, bounds, (), symmetry=False, reduction=reduction, moments=not reduction)
    space.explore()
    rows = list(space.rows())
    found_from = defaultdict[int, dict[tuple[int, ...], int]](dict)
    for state in range(1, len(rows)):
        found_from[space.states.how(state).before][tuple(rows[state])] = state
    start = Simulator(one.protocol, bounds.processes, _unseen, quorums=quorums, switches=switches, remember=False)
    left = [(0, start, refinement.world)]
    while left:
        state, run, world = left.pop()
        found = found_from.pop(state, {})
        for successor in space.successors.of(rows[state]):
            after = run.fork(_unseen)
            refinement.world, refinement.taken = world, []
            for number in successor.choices():
                if number != STOPS_READING:
                    assert after.execute(space.local_states.choices[number])
            yield one
            if one.refused is not None:
                return
            new = found.pop(tuple(successor.row), None)
            if new is not None:
                left.append((new, after, refinement.world))
        assert not found, "each state has been reached"


def _unseen(event: object) -> None:
    """Show an event to nobody."""

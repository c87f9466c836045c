"""A second judge of plans with lists of the servers' own: whole histories, any leaders, any quorums, no reduction.

It forks on every order in which servers elect, join and acknowledge a write, and the plan goes on.
"""

from itertools import combinations
from typing import NamedTuple

from zabcheck.zookeeper.scaling.plan import Restart, ScalePlan, Start, Stop

MOST_ELECTIONS, MOST_WRITES = 4, 1


class Leader(NamedTuple):
    server: int
    epoch: int
    followers: frozenset[int]


class World(NamedTuple):
    """The histories and epochs are those of the servers in their order; a history is a tuple of (epoch, leader)."""

    at: int
    up: frozenset[int]
    lists: tuple[tuple[int, ...], ...]
    histories: tuple[tuple[tuple[int, int], ...], ...]
    epochs: tuple[int, ...]
    leaders: frozenset[Leader]
    acknowledged: frozenset[tuple[int, int]]
    elections: int


def loses_a_write(plan: ScalePlan) -> bool:
    """Return True if some run within the bounds elects a leader whose history lacks an acknowledged write."""
    servers = plan.servers
    acts: list[tuple[str, int, tuple[int, ...] | None]] = []
    for step in plan.steps:
        assert isinstance(step, Restart | Start | Stop)
        if not isinstance(step, Start):
            acts.append(("down", step.server, None))
        if not isinstance(step, Stop):
            acts.append(("up", step.server, step.voters))
            if step.wait:
                acts.append(("wait", step.server, None))
    size = len(servers)
    empty: tuple[tuple[int, int], ...] = ()
    start = World(
        0, frozenset(plan.voters), (plan.voters,) * size, (empty,) * size, (0,) * size, frozenset(), frozenset(), 0
    )
    seen, waiting = {start}, [start]
    while waiting:
        world = waiting.pop()
        for after in successors(world, servers, acts):
            if after is None:
                return True
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return False


def most(some: frozenset[int], voters: tuple[int, ...]) -> bool:
    return 2 * len(some & {*voters}) > len(voters)


def subsets(servers: frozenset[int]) -> list[frozenset[int]]:
    return [frozenset(some) for size in range(1, len(servers) + 1) for some in combinations(sorted(servers), size)]


def put(values, index, value):
    return (*values[:index], value, *values[index + 1 :])


def successors(world: World, servers: tuple[int, ...], acts):
    """Yield the worlds that may come next; None if a write is lost."""
    index = {server: number for number, server in enumerate(servers)}
    own = {server: world.lists[index[server]] for server in servers}

    def rank(server):
        history = world.histories[index[server]]
        return world.epochs[index[server]], len(history)

    if world.elections < MOST_ELECTIONS:
        for voting in subsets(world.up):
            for leader in voting:
                if leader not in own[leader] or any(rank(other) > rank(leader) for other in voting):
                    continue
                able = frozenset(each for each in voting if leader in own[each] and most(voting, own[each]))
                counted = able & {*own[leader]}
                if leader not in counted:
                    continue
                for quorum in subsets(counted):
                    if leader in quorum and most(quorum, own[leader]):
                        yield elected(world, index, leader, quorum)
    for term in world.leaders:
        for acked in subsets(term.followers):
            if len(world.acknowledged) < MOST_WRITES and most(acked, own[term.server]):
                yield written(world, index, term, acked)
    if world.at == len(acts):
        return
    what, server, voters = acts[world.at]
    number = index[server]
    later = world._replace(at=world.at + 1)
    if what == "wait":
        if any(server in term.followers for term in world.leaders):
            yield later
        for term in world.leaders:  # one without a vote, or one more follower
            can_see = term.server in own[server] and most(world.up, own[server])
            if can_see and world.epochs[number] <= term.epoch and server not in term.followers:
                history = world.histories[index[term.server]]
                yield later._replace(
                    histories=put(world.histories, number, history), epochs=put(world.epochs, number, term.epoch)
                )
    elif what == "down":
        yield later._replace(up=world.up - {server}, leaders=without(world, frozenset({server}), index))
    else:
        lists = world.lists if voters is None else put(world.lists, number, voters)
        yield later._replace(up=world.up | {server}, lists=lists)


def without(world: World, gone: frozenset[int], index) -> frozenset[Leader]:
    """Return the leaders that are left, each with a quorum, once these servers follow them no more."""
    left = [term._replace(followers=term.followers - gone) for term in world.leaders if term.server not in gone]
    return frozenset(term for term in left if most(term.followers, world.lists[index[term.server]]))


def elected(world: World, index, leader: int, quorum: frozenset[int]):
    history = world.histories[index[leader]]
    if not world.acknowledged <= {*history}:
        return None
    epoch = max(world.epochs[index[each]] for each in quorum) + 1
    histories, epochs = world.histories, world.epochs
    for each in quorum:
        histories, epochs = put(histories, index[each], history), put(epochs, index[each], epoch)
    leaders = without(world, quorum, index) | {Leader(leader, epoch, quorum)}
    return world._replace(histories=histories, epochs=epochs, leaders=leaders, elections=world.elections + 1)


def written(world: World, index, term: Leader, acked: frozenset[int]):
    write = term.epoch, term.server
    others = [other for other in world.leaders if other != term and other.epoch >= term.epoch]
    if others:
        return None  # a leader that is established already lacks the write
    histories = world.histories
    for each in acked | {term.server}:
        histories = put(histories, index[each], (*histories[index[each]], write))
    return world._replace(histories=histories, acknowledged=world.acknowledged | {write})

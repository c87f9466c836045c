"""Judges a plan: every way in which servers may lead, acknowledge a write and lead without it, at each of its steps.

One write is followed. Anybody may be cut off from anybody at any time, and a leader acknowledges it with the least
quorum that its own list allows. The write is lost once servers of which none has it can elect a leader. Up to that
moment every leader that there has been since has the write, so it is enough to know who has it.

Election is by vote (FastLeaderElection): a server votes for who is in its own list, and follows if more than half of
its list can vote so; a leader counts the followers in its own list. Where lists have versions, whoever looks for a
leader takes over the latest list among those that it is connected with. From the request of a reconfiguration to its
answer one server that joins or comes back may have the new list active already, before it is committed: no release up
to 3.9.5 prevents that (pending-config in the catalogue).
"""

from collections import deque
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import combinations
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from zabcheck.zookeeper.scaling.plan import Reconfigure, Restart, ScalePlan, Start, Stop, changed

Kind = Literal[
    "lost write",
    "stuck",
    "refused",
    "standalone",
    "too few voters",
    "overruled",
    "commits nothing",
    "unlogged voter",
]
Happening = Literal[
    "stops", "starts", "joins", "asks", "learns", "commits", "forgets", "leads", "acknowledges", "loses"
]
ISSUES: dict[Kind, str] = {
    "overruled": "ZOOKEEPER-2819",
    "commits nothing": "ZOOKEEPER-3829",
    "unlogged voter": "unlogged-voter",
}
"""The issue of ZooKeeper, or the bug of the catalogue, that a finding is an instance of."""
_STATIC_LISTS_FORGOTTEN = (("3.5.3", "3.5.9"), ("3.6.0", "3.6.2"))
"""The releases that have 3829, each span from a first one to before the one in which it is fixed."""


class Moment(Struct, frozen=True):
    """An event of a run: at or after a step of the plan, numbered from 1, and before the next; 0: before all.

    stops, starts, joins: `server` does, as the plan says. asks: `server`, the leader, proposes the configuration
    `voters`. learns: `server` joins the leader, or comes back to it, and takes `voters` for active. commits: `servers`
    have acknowledged `voters`, which all that run then have. forgets: `server` is started again with the `voters` of
    before, as it could not write the later ones. leads: `server`, with `servers`, which are more than half of the
    `voters` of its list. acknowledges: `servers` have the write, more than half of `voters`. loses: `server` leads with
    `servers`, and none of them has the write.
    """

    kind: Happening
    step: int
    server: int
    servers: tuple[int, ...] = ()
    voters: tuple[int, ...] = ()


class Finding(Struct, frozen=True):
    """A fault of a plan at a step, numbered from 1, and the server that it is about, if it is about one.

    `run` is that which loses a write, a shortest one. `bug` is in the catalogue: the run needs that bug.
    """

    kind: Kind
    step: int
    server: int | None = None
    run: tuple[Moment, ...] = ()
    bug: str = ""

    @property
    def issue(self) -> str:
        """The issue or the bug of the catalogue, or ""."""
        return self.bug or ISSUES.get(self.kind, "")


class Judgement(Struct, frozen=True):
    """Everything that is wrong with a plan, and the steps at some moment of which no server can lead."""

    findings: tuple[Finding, ...]
    outages: tuple[int, ...] = ()
    states: int = 0


class _List(NamedTuple):
    """A list of servers as sets of bits. Version 0: the server's own, of its configuration file."""

    version: int
    voters: int
    observers: int


class _Act(NamedTuple):
    """A part of a step: a server stops, starts or joins, or a configuration is asked for or committed."""

    kind: Literal["stops", "starts", "joins", "asks", "commits"]
    step: int
    server: int = 0
    list: _List | None = None


class _Place(NamedTuple):
    """The ensemble before a part of a step: the servers that are up, and the list of each, without any accident."""

    act: _Act | None
    up: int
    lists: tuple[_List | None, ...]
    active: _List


class _State(NamedTuple):
    """A state of the search. `holders` have the write (None: it is not written yet).

    `leader` has asked for the configuration that is pending, `learner` takes it for active, 0 if there is none;
    `behind` are servers that have the list of the beginning again.
    """

    place: int
    holders: int | None = None
    leader: int = 0
    learner: int = 0
    behind: int = 0


class _Group(NamedTuple):
    """Servers that are connected and look for a leader: the list that each goes by, by the bit of the server."""

    members: int
    lists: dict[int, _List]


def judge(plan: ScalePlan) -> Judgement:
    """Judge a plan. Seven servers take about a second of CPU time, five some hundredths."""
    search = _Search(plan)
    said = sorted([*_by_rules(plan), *search.findings()], key=lambda finding: finding.step)
    return Judgement(tuple(said), search.outages(), search.states)


def _by_rules(plan: ScalePlan) -> Iterator[Finding]:
    """Yield what is wrong by the release and the settings, without any search."""
    active = {*plan.voters}, {*plan.observers}
    for number, step in enumerate(plan.steps, 1):
        match step:
            case Reconfigure():
                voters, observers = changed(step, *active)
                if not plan.reconfigures:
                    yield Finding("refused", number)
                    return
                if plan.standalone_enabled and len(active[0]) == 1:
                    yield Finding("standalone", number)
                    return
                if not voters or (plan.standalone_enabled and len(voters) < 2):
                    yield Finding("too few voters", number)
                    return
                promoted = {*step.add} & active[1]
                if promoted and not plan.sync_enabled and not plan.is_of("0", "3.5.3"):
                    yield Finding("unlogged voter", number, min(promoted))
                active = voters, observers
            case Restart(voters=tuple() as voters, server=server) if plan.numbers_lists:
                if {*voters} != active[0]:
                    yield Finding("overruled", number, server)
            case Restart(voters=tuple() as voters, server=server):
                if not {*voters} <= {*plan.voters} and _forgets_static_lists(plan):
                    yield Finding("commits nothing", number, server)
                    return


def _forgets_static_lists(plan: ScalePlan) -> bool:
    return not plan.reconfigures and any(plan.is_of(first, cured) for first, cured in _STATIC_LISTS_FORGOTTEN)


_Came = dict[_State, tuple[_State, tuple[Moment, ...]] | None]
"""For each state the one before, and what happened between them; None for the first one."""


class _Search:
    """The search of one plan. A server is a bit, in the order of the numbers; sets of servers are sets of bits."""

    def __init__(self, plan: ScalePlan) -> None:
        self.plan = plan
        self.servers = plan.servers
        self.bit = {server: 1 << index for index, server in enumerate(self.servers)}
        self.begins = _List(int(plan.numbers_lists), self.mask(plan.voters), self.mask(plan.observers))
        self.unwritten = self.mask(plan.readonly)
        self.places = [*self._places()]
        self.able: dict[tuple[_State, int], list[tuple[_Group, int, int]]] = {}
        self.states = 0

    def mask(self, servers: Iterable[int]) -> int:
        return sum(self.bit[server] for server in {*servers})

    def numbers(self, mask: int) -> tuple[int, ...]:
        return tuple(server for server in self.servers if self.bit[server] & mask)

    @cached_property
    def is_standalone(self) -> bool:
        """Return True if a server with one voter in its list serves alone, and nobody can join it."""
        return self.plan.standalone_enabled or self.plan.is_of("0", "3.5.0")

    def _places(self) -> Iterator[_Place]:
        """Yield the ensemble before each part of a step, and at the end."""
        up, active = self.begins.voters | self.begins.observers, self.begins
        lists = {server: active if self.bit[server] & up else None for server in self.servers}
        for act in self._acts():
            yield _Place(act, up, tuple(lists.values()), active)
            if act.kind == "stops":
                up &= ~self.bit[act.server]
            elif act.kind == "starts":
                up |= self.bit[act.server]
                if act.list is not None:
                    lists[act.server] = act.list
            elif act.kind == "joins" and active.version:
                lists[act.server] = active
            elif act.kind == "commits":
                assert act.list is not None
                active = act.list
                lists |= {server: active for server in self.servers if self.bit[server] & up}
        yield _Place(None, up, tuple(lists.values()), active)

    def _acts(self) -> Iterator[_Act]:
        """Yield the parts of the steps that are carried out: none after a reconfiguration that is refused."""
        active = self.begins
        for number, step in enumerate(self.plan.steps, 1):
            if isinstance(step, Restart | Stop):
                yield _Act("stops", number, step.server)
            if isinstance(step, Start | Restart):
                own = None
                if step.voters is not None:
                    own = _List(0, self.mask(step.voters), self.mask(step.observers))
                yield _Act("starts", number, step.server, own)
                if step.wait:
                    yield _Act("joins", number, step.server)
            if isinstance(step, Reconfigure):
                if not self._accepts(active, step):
                    return
                voters, observers = changed(step, self.numbers(active.voters), self.numbers(active.observers))
                active = _List(active.version + 1, self.mask(voters), self.mask(observers))
                yield _Act("asks", number, list=active)
                yield _Act("commits", number, list=active)

    def _accepts(self, active: _List, step: Reconfigure) -> bool:
        voters, _ = changed(step, self.numbers(active.voters), self.numbers(active.observers))
        few = 2 if self.plan.standalone_enabled else 1
        alone = self.plan.standalone_enabled and active.voters.bit_count() == 1
        return self.plan.reconfigures and len(voters) >= few and not alone

    # Who can lead.

    def groups(self, state: _State, without: int = 0) -> Iterator[_Group]:
        """Yield the groups that may look for a leader together, of the servers that are up and not in `without`."""
        place = self.places[state.place]
        lists: dict[int, _List] = {}
        for server, known in zip(self.servers, place.lists, strict=True):
            bit = self.bit[server]
            if known is not None and bit & place.up & ~without:
                lists[bit] = self.begins if bit & state.behind else known
        if state.learner and state.learner in lists:
            assert place.act is not None
            assert place.act.list is not None
            lists[state.learner] = place.act.list
        for latest in sorted(set(lists.values())):
            if latest.version == 0:
                own = {bit: each for bit, each in lists.items() if each.version == 0}
                if latest == min(own.values()):  # once
                    yield _Group(sum(own), own)
                continue
            pending = state.learner in lists and latest.version == lists[state.learner].version
            numbered = {bit: each for bit, each in lists.items() if 0 < each.version <= latest.version}
            if state.leader and not pending:
                numbered.pop(state.leader, None)  # it asks for a quorum of both lists
            there = sum(numbered)
            joining = {bit: each for bit, each in lists.items() if not each.version and each.voters & there}
            members = numbered.keys() | joining.keys()
            yield _Group(sum(members), dict.fromkeys(sorted(members), latest))

    def followers(self, group: _Group, leader: int) -> int:
        """Return who may follow this leader if all of the group can vote, the leader included; 0 if it cannot lead."""
        own = group.lists[leader]
        if not own.voters & leader:
            return 0
        if own.voters == leader and self.is_standalone:
            return leader
        found = leader if self._can_settle(group, own, leader) else 0
        for bit, each in group.lists.items():
            if bit != leader and bit & own.voters and self._can_settle(group, each, leader):
                found |= bit
        return found if found & leader else 0

    def _can_settle(self, group: _Group, own: _List, leader: int) -> bool:
        """Return True if a server with this list can see more than half of it vote for the leader."""
        if own.voters.bit_count() == 1 and self.is_standalone:
            return False
        return bool(own.voters & leader) and is_quorum(own.voters & group.members, own.voters)

    def leaders(self, group: _Group, first: int = 0) -> Iterator[tuple[int, int]]:
        """Yield each server that can lead, with its possible followers: `first`, which has logged more, then by number.

        Of equals FastLeaderElection takes the one with the highest number.
        """
        for leader in sorted(group.lists, key=lambda bit: (bit == first, bit), reverse=True):
            if is_quorum(followers := self.followers(group, leader), group.lists[leader].voters):
                yield leader, followers

    def led(self, state: _State, without: int = 0) -> list[tuple[_Group, int, int]]:
        """Return the groups of all servers but `without`, each with who can lead it and the possible followers."""
        key = state._replace(holders=None), without & self.places[state.place].up
        if key not in self.able:
            self.able[key] = [
                (group, leader, followers)
                for group in self.groups(*key)
                for leader, followers in self.leaders(group, state.leader)
            ]
        return self.able[key]

    def quorums(self, leader: int, followers: int, voters: int) -> Iterator[int]:
        """Yield the smallest quorums of a leader."""
        others = [bit for bit in self.bit.values() if bit & followers & ~leader]
        for some in combinations(others, voters.bit_count() // 2):
            yield leader | sum(some)

    # What can happen next.

    def lost(self, state: _State) -> Moment | None:
        """Return who can lead without the write, if anybody can."""
        if state.holders is None:
            return None
        for group, leader, followers in self.led(state, without=state.holders):
            voters = group.lists[leader].voters
            return self.moment("loses", state, leader, next(self.quorums(leader, followers, voters)), voters)
        return None

    def moment(self, kind: Happening, state: _State, server: int, servers: int = 0, voters: int = 0) -> Moment:
        planned = self.places[state.place].act
        if planned is None or kind != planned.kind:
            planned = self.places[state.place - 1].act if state.place else None
        step = 0 if planned is None else planned.step
        return Moment(kind, step, self.numbers(server)[0], self.numbers(servers), self.numbers(voters))

    def successors(self, state: _State) -> Iterator[tuple[tuple[Moment, ...], _State]]:
        """Yield what can happen next, and the state that it leads to."""
        if state.holders is None:
            for group, leader, followers in self.led(state):
                voters = group.lists[leader].voters
                for quorum in self.quorums(leader, followers, voters):
                    led = self.moment("leads", state, leader, quorum, voters)
                    said = led, msgspec.structs.replace(led, kind="acknowledges")
                    yield said, state._replace(holders=quorum)
        place = self.places[state.place]
        for bit in self.bit.values():
            known = place.lists[self.servers.index(self.numbers(bit)[0])]
            if bit & self.unwritten & place.up & ~state.behind and known is not None and known.version > 1:
                behind = state._replace(behind=state.behind | bit)
                yield (self.moment("forgets", state, bit, voters=self.begins.voters),), behind
            if state.leader and not state.learner and bit & place.up & ~state.leader:
                assert place.act is not None
                assert place.act.list is not None
                learnt = state._replace(learner=bit, holders=self._shared(state, bit))
                yield (self.moment("learns", state, bit, voters=place.act.list.voters),), learnt
        if place.act is not None:
            yield from self._carried_out(state, place, place.act)

    def _shared(self, state: _State, bits: int) -> int | None:
        """Return who has the write once these have what the asking leader has."""
        has = state.holders is not None and state.holders & state.leader
        return (state.holders or 0) | bits if has else state.holders

    def _carried_out(self, state: _State, place: _Place, act: _Act) -> Iterator[tuple[tuple[Moment, ...], _State]]:
        after = state._replace(place=state.place + 1)
        match act.kind:
            case "stops" | "starts":
                behind = state.behind & ~(self.bit[act.server] if act.list is not None else 0)
                said = self.moment(act.kind, state, self.bit[act.server], voters=act.list.voters if act.list else 0)
                yield (said,), after._replace(behind=behind)
            case "joins":
                bit = self.bit[act.server]
                for _, quorum, voters in self._led(state, bit):
                    said = self.moment("joins", state, bit, quorum, voters)
                    holders = None if state.holders is None else state.holders | quorum | bit
                    yield (said,), after._replace(holders=holders, behind=state.behind & ~bit)
            case "asks":
                assert act.list is not None
                for leader, quorum, voters in self._led(state, 0):
                    if voters == place.active.voters and is_quorum(act.list.voters & place.up, act.list.voters):
                        holders = None if state.holders is None else state.holders | quorum
                        said = self.moment("asks", state, leader, quorum, act.list.voters)
                        yield (said,), after._replace(holders=holders, leader=leader)
            case "commits":
                assert act.list is not None
                yield from self._committed(state, place, act.list, after)

    def _led(self, state: _State, joiner: int) -> Iterator[tuple[int, int, int]]:
        """Yield the leaders that a joiner (0: none) may be brought up to date by: leader, quorum, voters of its list.

        None of them lacks the write.
        """
        for group, leader, followers in self.led(state):
            voters = group.lists[leader].voters
            if state.holders is not None and not leader & state.holders:
                continue
            if joiner not in (0, leader) and not self._can_join(group, joiner, leader):
                continue
            for quorum in self.quorums(leader, followers, voters):
                yield leader, quorum, voters

    def _can_join(self, group: _Group, joiner: int, leader: int) -> bool:
        alone = self.is_standalone and group.lists[leader].voters == leader
        return joiner in group.lists and not alone and self._can_settle(group, group.lists[joiner], leader)

    def _committed(
        self, state: _State, place: _Place, new: _List, after: _State
    ) -> Iterator[tuple[tuple[Moment, ...], _State]]:
        if state.holders is not None and not state.holders & state.leader:
            return  # another one leads by now: the request fails
        there = [bit for bit in self.bit.values() if bit & place.up & (place.active.voters | new.voters)]
        done = after._replace(leader=0, learner=0)
        least: list[int] = []
        for acked in _subsets(there):
            if any(acked & other == other for other in least):
                continue
            both = is_quorum(acked & place.active.voters, place.active.voters) and is_quorum(
                acked & new.voters, new.voters
            )
            if both and acked & state.leader:
                said = self.moment("commits", state, state.leader, acked, new.voters)
                yield (said,), done._replace(holders=self._shared(state, acked))
                least.append(acked)

    # The search.

    def findings(self) -> Iterator[Finding]:
        """Yield the shortest run that loses a write, and the first part of a step that cannot be carried out."""
        came: _Came = {_State(0): None}
        waiting, lost = deque(came), None
        while waiting and lost is None:
            state = waiting.popleft()
            if (lost := self.lost(state)) is not None:
                yield self._told(state, lost, came)
            for said, after in self.successors(state):
                if after not in came:
                    came[after] = state, said
                    waiting.append(after)
        self.states = len(came)
        act = self.places[self._reach()].act
        if act is not None:
            yield Finding("stuck", act.step, act.server or None)

    def _reach(self) -> int:
        """Return how far the plan gets if nothing else happens."""
        place, at = 0, _State(0)
        while True:
            found = next((after for _, after in self.successors(at) if after.place > place), None)
            if found is None:
                return place
            place, at = found.place, found

    def _told(self, state: _State, lost: Moment, came: _Came) -> Finding:
        run = [lost]
        while (before := came[state]) is not None:
            state, happened = before
            run[:0] = happened
        kinds = {moment.kind for moment in run}
        bug = "unwritten-config" if "forgets" in kinds else "pending-config" if "learns" in kinds else ""
        return Finding("lost write", lost.step, lost.server, tuple(run), bug)

    def outages(self) -> tuple[int, ...]:
        """Return the steps at some moment of which no server can lead."""
        begun, steps = 0, set()
        for number, place in enumerate(self.places):
            if not any(self._led(_State(number), 0)):
                steps.add(begun)
            begun = place.act.step if place.act is not None else begun
        return tuple(sorted(steps - {0}))


def is_quorum(servers: int, voters: int) -> bool:
    """Return True if these servers, as bits, are more than half of the voters."""
    return (servers & voters).bit_count() * 2 > voters.bit_count()


def _subsets(bits: list[int]) -> Iterator[int]:
    """Yield all sets of these bits, the smallest first."""
    for size in range(len(bits) + 1):
        for some in combinations(bits, size):
            yield sum(some)

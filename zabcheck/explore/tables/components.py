"""The components of states, as numbers, and the outcomes of choices.

A choice moves one process. It depends on that process and its connections alone, and changes nothing else, so states
are stored as in SPIN's collapse compression (Holzmann 1997): each distinct process, connection and sequence of events
once, and for the rest by its number. `simulation.next_state` computes the outcome of a choice. It is called once for
each process with the links to the one process that the choice names. The acts of the process on its other links are
the same whatever these are; their outcome is computed once for each pair of links.

Two components have one number if no continuation can distinguish them. Variables that a protocol no longer needs may be
left out (`Protocol.identity`). The numbers of messages, and incarnations, always are: monitors count incarnations.

A follower may have decided to read nothing more from a connection (`Link.is_unread`), so that the messages in transit
to it there are gone. That is no choice of the simulator, which would just never choose that `Receive` again; see
`reduction`.
"""

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from zabcheck.explore.tables.journal import Journal
from zabcheck.explore.tables.renaming import Names, Twins, renamed_event
from zabcheck.invariants import Accept, AckEpoch, Adopt, Broadcast, CommitEpoch, Establish, Event, Local, Promise, Ready
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import Connect, Effect, Message, Protocol, Send
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.channels import NOBODY
from zabcheck.simulation.choices import AnyChoice, Elect, Hear, Notice, Receive, Reset
from zabcheck.simulation.content import is_hashable, of_connection, of_disk, of_value
from zabcheck.simulation.network import Connection, End
from zabcheck.simulation.next_state import (
    EVERYBODY,
    Act,
    CastMessages,
    Connections,
    LocalProcess,
    Model,
    NextState,
    after_acts,
    next_state,
)

NO_CONNECTION = 0
NOTHING = 0
"""The number of an empty sequence of events."""

TO_FOLLOWER, TO_LEADER, CLOSED, ACCEPTED = 1, 2, 4, 8
"""Bits: something is in transit to the follower of a link, or to its leader; an end has to notice that it is closed;
the leader has accepted it.
"""

_OF_AN_EPOCH = (Accept, AckEpoch, Adopt, Broadcast, CommitEpoch, Establish, Promise, Ready)
"""The events that name an epoch."""

Pair = tuple[int, int]
"""The link that a process has opened to another one, and that which the other one has opened to it, by number."""


class EpochUnknown(ValueError):
    """A protocol does not know the highest epoch of a process: `Protocol.highest_epoch` raises, or gives no number."""


class Link(NamedTuple):
    """A connection, and whether its follower has stopped reading from it; and messages outside of it (`CastMessages`).

    `cast` are those from the process that has opened the connection to the other one. If there are some, and there is
    no connection, one that is closed at both ends takes its place.
    """

    connection: Connection
    is_unread: bool = False
    cast: tuple[Message, ...] = ()

    @property
    def is_there(self) -> bool:
        """True if there is a connection."""
        return not (self.connection.follower_end is End.CLOSED and self.connection.leader_end is End.CLOSED)

    @property
    def is_closed(self) -> bool:
        """True if an end has yet to be closed because the other is, or because the connection broke."""
        c = self.connection
        return c.broken or c.supersedes or c.follower_end is End.CLOSED or c.leader_end is End.CLOSED


class LeftIteration(Local, frozen=True):
    """The process has left its iteration. No trace has this event; it is for properties that need fewer facts then."""


class Outcome(NamedTuple):
    """The outcome of a choice: a process and its connections after it, and its events, all by number.

    `opened` has the link that the process has opened to each process, none to itself. `links_to` has those that others
    have opened to it, as far as they change: by the place of the opener, counted from 0, the new link. `epoch` is
    the highest that the process knows of. If the protocol's code `raised`, the run ends there.
    """

    process: int
    opened: tuple[int, ...]
    links_to: tuple[tuple[int, int], ...]
    events: int
    epoch: int
    raised: bool


class PairOutcome(NamedTuple):
    """The outcome of a choice for a process and its links to the one that it names, all by number as in `Outcome`.

    `acts` has other processes, each with the number of the acts on the links to that one.
    """

    process: int
    links: Pair
    acts: tuple[tuple[int, int], ...]
    events: int
    epoch: int
    raised: bool


_NO_ACTS = 0
_NO_PAIR = (NO_CONNECTION, NO_CONNECTION)


class Components:
    """The tables of components of one search: `processes`, `links` and `events`, each by number.

    With `tells_of_leaving` an event `LeftIteration` is added to those of a choice by which a process leaves its
    iteration. StepRaised if a process cannot start; CannotTellApart, also later, if a protocol keeps values that have
    no equality; EpochUnknown from `execute` if it does not tell epochs.
    """

    def __init__(
        self,
        protocol: Protocol,
        quorums: Quorums,
        switches: Switches,
        *,
        tells_of_leaving: bool = False,
        journal: Journal | None = None,
    ) -> None:
        self.journal: Journal = [] if journal is None else journal
        self._tells_of_leaving = tells_of_leaving
        self.protocol = protocol
        self.quorums = quorums
        self.switches = switches
        self.ids = range(1, quorums.size + 1)
        self.threads = protocol.threads(switches)
        self.processes: list[LocalProcess] = []
        self.links: list[Link | None] = [None]
        self.link_bits = [0]
        """By link: what of `TO_FOLLOWER`, `TO_LEADER`, `CLOSED` and `ACCEPTED` applies."""
        self.events: list[tuple[Event, ...]] = [()]
        self._process_ids: dict[Hashable, int] = {}
        self._link_ids: dict[Hashable, int] = {None: NO_CONNECTION}
        self._event_ids: dict[tuple[Event, ...], int] = {(): NOTHING}
        self._process_twins, self._link_twins = Twins(self._rename_process), Twins(self._rename_link)
        self._renamed_events: dict[tuple[int, Names], int] = {}
        self.known_executed: dict[tuple[int, AnyChoice, int, Pair], PairOutcome | None] = {}
        """By process, choice, and the two links to whom that names; None if the choice is not enabled."""
        self.acts: list[tuple[LocalProcess, int, tuple[Act, ...]]] = []
        """By number, from 1 on: a process, another one, and what the first does with their links."""
        self._act_ids: dict[Hashable, int] = {}
        self.known_acts: dict[tuple[int, int, int], Pair] = {}
        """By the number of acts, and the two links before: the two links after."""
        # An election by vote looks at several processes, so the search composes it of a choice for each.
        told = replace(switches, elections="apart") if switches.elections == "oracle" else switches
        self._model = Model(protocol, quorums, told)
        self.start = tuple(map(self._intern_process, self._model.start()))

    def execute(
        self, number: int, opened: Sequence[int], links_to: Sequence[int], choice: AnyChoice, requests: int
    ) -> Outcome | None:
        """Return the outcome of `choice` for a process with these links, all by number as in `Outcome`.

        None if the choice is not enabled. `requests` were made so far. O(processes), and O(1) simulated steps the first
        time that a process makes the choice with these links to the process that it names.
        """
        named = named_by(choice)
        executed = self.executed(number, choice, requests, between(named, opened, links_to))
        return None if executed is None else self.outcome(executed, named, opened, links_to)

    def executed(self, number: int, choice: AnyChoice, requests: int, before: Pair) -> PairOutcome | None:
        """Return the outcome of `choice` for a process and its links to the one it names; None if it is not enabled."""
        key = (number, choice, requests, before)
        try:
            return self.known_executed[key]
        except KeyError:
            found = self.known_executed[key] = self._execute(number, choice, requests, named_by(choice), before)
            return found

    def outcome(self, executed: PairOutcome, named: int, opened: Sequence[int], links_to: Sequence[int]) -> Outcome:
        """Return the outcome for a process with these links, by a choice that names this process, or NOBODY."""
        after, changed = list(opened), []
        if named:
            after[named - 1], link = executed.links
            if link != links_to[named - 1]:
                changed.append((named - 1, link))
        for other, acts in executed.acts:
            key = (acts, after[other - 1], links_to[other - 1])
            after[other - 1], link = self.known_acts.get(key) or self.after_acts(*key)
            if link != links_to[other - 1]:
                changed.append((other - 1, link))
        return Outcome(executed.process, tuple(after), tuple(changed), executed.events, executed.epoch, executed.raised)

    def after_acts(self, acts: int, opened: int, link_to: int) -> Pair:
        """Return two links after these acts, by number. O(acts), and O(1) if it was computed before."""
        key = (acts, opened, link_to)
        found = self.known_acts.get(key)
        if found is None:
            self.journal.append(("acts", key))
            found = self.known_acts[key] = self._after(acts, (opened, link_to))
        return found

    def _execute(self, number: int, choice: Any, requests: int, named: int, before: Pair) -> PairOutcome | None:
        """Execute `choice` for a process and its links to the one it names; None if it is not enabled."""
        process = self.processes[number]
        connections, cast = self._connections(process.id, named, before)
        found = next_state(self._model, process, connections, choice, requests, cast)
        if found is None:
            return None
        epoch = highest_epoch(self.protocol, found.process.state, found.events)
        after = self._intern_process(found.process)
        links = self._links(process.id, named, before, found.connections, found.cast, found.replaced)
        acts = self._acts_on_all(process, named, found.acts) if found.acts else ()
        events = self._intern_events(self._with_leaving(process, choice, found))
        return PairOutcome(after, links, acts, events, epoch, found.raised)

    def epoch_after(self, number: int, choice: AnyChoice, before: Pair) -> int | None:
        """Return the highest epoch of a process after this choice, which is not taken; None if it is not enabled."""
        process = self.processes[number]
        connections, cast = self._connections(process.id, named_by(choice), before)
        found = next_state(self._model, process, connections, choice, 0, cast)
        return None if found is None else highest_epoch(self.protocol, found.process.state, found.events)

    @property
    def writes(self) -> bool:
        """True if some process has written to its disk."""
        return any(process.disk.durable or process.disk.unsynced for process in self.processes)

    def _with_leaving(self, process: LocalProcess, choice: AnyChoice, found: NextState) -> tuple[Event, ...]:
        """Return the events of a choice; with `tells_of_leaving`, also that the process has left its iteration.

        A later event of an iteration that it has left, shown once its disk has it, is followed by another
        `LeftIteration`.
        """
        left, was_in_one = LeftIteration(process.id, 0), process.following != NOBODY
        if self._tells_of_leaving and was_in_one and isinstance(choice, Elect):
            return (left, *found.events)  # it leaves before it does anything else
        is_told = self._tells_of_leaving and (was_in_one or found.events)
        return (*found.events, left) if is_told and found.process.following == NOBODY else found.events

    def _acts_on_all(self, process: LocalProcess, named: int, acts: Sequence[Act]) -> tuple[tuple[int, int], ...]:
        """Return the numbers of the acts of a process on its links to each process but itself and the one named."""
        on_others = [(p, self._acts_on(process, p, acts)) for p in self.ids if p not in (named, process.id)]
        return tuple([each for each in on_others if each[1] != _NO_ACTS])

    def _acts_on(self, process: LocalProcess, other: int, acts: Sequence[Act]) -> int:
        """Return the number of the acts of a process on its links to another one."""
        some = tuple(act for act in acts if act.to in (EVERYBODY, other))
        if not some:
            return _NO_ACTS
        key = (process.id, process.following, other, some)
        known = is_hashable(key)
        number = self._act_ids.get(key) if known else None
        if number is None:
            self.acts.append((process, other, some))
            number = len(self.acts)
            if known:
                self._act_ids[key] = number
        return number

    def _after(self, acts: int, before: Pair) -> Pair:
        """Return two links after these acts."""
        process, other, some = self.acts[acts - 1]
        connections, cast = self._connections(process.id, other, before)
        return self._links(process.id, other, before, *after_acts(self._model, process, some, connections, cast))

    def _connections(self, process: int, other: int, pair: Pair) -> tuple[Connections, CastMessages]:
        """Return the connections of these links between two processes, and their messages outside of them."""
        connections, cast = {}, {}
        for ends, number in zip(((process, other), (other, process)), pair, strict=True):
            link = self.links[number]
            if link is not None:
                if link.cast:
                    cast[ends] = link.cast
                if not link.cast or link.is_there:
                    connections[ends] = link.connection
        return connections, cast

    def _links(
        self,
        process: int,
        other: int,
        before: Pair,
        connections: Connections,
        cast: CastMessages,
        replaced: Collection[tuple[int, int]],
    ) -> Pair:
        """Return two links with these connections and messages."""
        after: list[int] = []
        for ends, number in zip(((process, other), (other, process)), before, strict=True):
            connection, under_way, was = connections.get(ends), cast.get(ends, ()), self.links[number]
            if connection is None and not under_way:
                after.append(NO_CONNECTION)
            else:
                is_unread = was is not None and was.is_unread and ends not in replaced
                after.append(self._intern_link(Link(connection or _closed(*ends), is_unread, under_way)))
        opened, link_to = after
        return opened, link_to

    def unread(self, number: int) -> int:
        """Return the same link when its follower has stopped reading from it."""
        link = self.links[number]
        assert link is not None
        return self._intern_link(Link(link.connection.copy(), is_unread=True))

    def popped(self, number: int) -> int:
        """Return the same link without the next message to its leader."""
        link = self.links[number]
        assert link is not None
        twin = Link(link.connection.copy(), link.is_unread)
        twin.connection.to_leader.popleft()
        return self._intern_link(twin)

    # Renaming.

    def renamed_process(self, number: int, names: Names) -> int:
        """Return the same process under its new name. O(1) if it was computed before with these names."""
        return self._process_twins.of(number, names)

    def _rename_process(self, number: int, names: Sequence[int]) -> int:
        process = self.processes[number]
        assert self.protocol.rename is not None
        disk = process.disk.copy()
        for write in disk.unsynced:
            write.withheld = [self._renamed_effect(effect, names) for effect in write.withheld]
        state = None if process.state is None else self.protocol.rename(process.state, names)
        return self._intern_process(
            LocalProcess(names[process.id], state, disk, process.halted, names[process.following])
        )

    def renamed_link(self, number: int, names: Names) -> int:
        """Return the link between the same two processes under their new names. O(1) as `renamed_process`."""
        return self._link_twins.of(number, names)

    def _rename_link(self, number: int, names: Sequence[int]) -> int:
        link = self.links[number]
        if link is None:
            return NO_CONNECTION
        assert self.protocol.rename is not None
        twin = link.connection.copy()
        twin.follower, twin.leader = names[twin.follower], names[twin.leader]
        for queue in (twin.to_leader, twin.to_follower):
            parcels = [(self.protocol.rename(message, names), place) for message, place in queue]
            queue.clear()
            queue.extend(parcels)
        return self._intern_link(Link(twin, link.is_unread))

    def renamed_events(self, number: int, names: Names) -> int:
        """Return the events of the same step under the new names."""
        found = self._renamed_events.get((number, names))
        if found is None:
            events = tuple(renamed_event(event, names) for event in self.events[number])
            found = self._renamed_events[number, names] = self._intern_events(events)
        return found

    def _renamed_effect(self, effect: Effect, names: Sequence[int]) -> Effect:
        if isinstance(effect, Send):
            assert self.protocol.rename is not None
            return Send(names[effect.to], self.protocol.rename(effect.message, names))
        if isinstance(effect, Connect):
            return Connect(names[effect.to], effect.closes)
        return renamed_event(effect, names) if isinstance(effect, Event) else effect

    # Numbers. Objects that are handed over are kept, so they have to be new: nothing else may refer to them.

    def _intern_process(self, process: LocalProcess) -> int:
        key = self.key_of(process)
        number = self._process_ids.get(key)
        if number is None:
            number = self._process_ids[key] = len(self.processes)
            if hasattr(process.state, "incarnation"):
                process.state.incarnation = 0  # the monitors count them
            self.processes.append(process)
        return number

    def key_of(self, process: LocalProcess) -> Hashable:
        """Return a key that distinguishes a process from others."""
        return process.id, self.variables(process), of_disk(process.disk), process.halted, process.following

    def variables(self, process: LocalProcess) -> Hashable:
        """Return all variables of a process that its steps may depend on; None if it is down."""
        return None if process.state is None else (self.protocol.identity or of_value)(process.state)

    def _intern_link(self, link: Link) -> int:
        connection = link.connection
        if link.is_unread:
            if connection.follower_end is End.OPEN:
                connection.to_follower.clear()
            else:
                link = link._replace(is_unread=False)
        key = key_of_link(link)
        number = self._link_ids.get(key)
        if number is None:
            number = self._link_ids[key] = len(self.links)
            self.links.append(link)
            bits = TO_FOLLOWER * bool(connection.to_follower) | TO_LEADER * bool(connection.to_leader)
            self.link_bits.append(bits | CLOSED * link.is_closed | ACCEPTED * (connection.leader_end is End.OPEN))
        return number

    def _intern_events(self, shown: tuple[Event, ...]) -> int:
        number = self._event_ids.get(shown)
        if number is None:
            number = self._event_ids[shown] = len(self.events)
            self.events.append(shown)
        return number


def _closed(opener: int, leader: int) -> Connection:
    """Return a connection that is closed at both ends, for a link without one that has messages outside of it."""
    connection = Connection(opener, leader)
    connection.follower_end = connection.leader_end = End.CLOSED
    return connection


def named_by(choice: Any) -> int:
    """Return the process whose links with the one that moves a choice concerns; NOBODY if it concerns none."""
    kind = type(choice)
    if kind is Receive or kind is Hear:
        return int(choice.sender)
    if kind is Notice or kind is Reset:
        return int(choice.peer)
    return NOBODY


def between(named: int, opened: Sequence[int], links_to: Sequence[int]) -> Pair:
    """Return the links between a process with these and the one that is named; none if that is NOBODY."""
    return (opened[named - 1], links_to[named - 1]) if named else _NO_PAIR


def highest_epoch(protocol: Protocol, state: Any, shown: Iterable[Event]) -> int:
    """Return the highest epoch that a process in this state has promised or proposed, or that an event names.

    EpochUnknown if the protocol does not know it. No step fails then, so no run shows it.
    """
    highest = 0
    if protocol.highest_epoch is not None and state is not None:
        try:
            highest = protocol.highest_epoch(state)
        except Exception as error:
            raise EpochUnknown(f"highest_epoch: {' '.join(f'{type(error).__name__}: {error}'.split())}") from error
        if not isinstance(highest, int):
            raise EpochUnknown(f"highest_epoch: expected a whole number, found {highest!r:.60}")
    for event in shown:
        if isinstance(event, _OF_AN_EPOCH):
            highest = max(highest, event.epoch)
    return int(highest)  # it may be of a subclass


def key_of_link(link: Link) -> Hashable:
    """Return a key that distinguishes a link from others."""
    return link.is_unread, *of_connection(link.connection), *link.cast

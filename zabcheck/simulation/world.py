"""A run at one moment: its processes, channels and disks, questions about them, and the steps that choices share.

`choices` has the effect of each choice on a world, `simulator` executes choices one after the other.
"""

import operator
from collections.abc import Callable, Collection, Hashable
from functools import partial
from typing import Any

from zabcheck.invariants import Drop, Elect, Event, Receive
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import CannotTellApart, Elected, StepRaised, TimedOut
from zabcheck.simulation.channels import NOBODY, Channels, Lost
from zabcheck.simulation.content import of_connection, of_disk, of_value
from zabcheck.simulation.network import Parcel
from zabcheck.simulation.processes import Processes, takes_requests


class World:
    """The processes 1 to n of a run, with their channels and disks. `requests` were made before.

    `show` is called with each event; with `network` True also with the events that are for drawing only.
    """

    def __init__(self, processes: Processes, requests: int = 0) -> None:
        self.protocol = processes.protocol
        self.quorums = processes.quorums
        self.switches = processes.switches
        self.application = processes.application
        self.show = processes.show
        self.network = processes.network
        self.ids = range(1, self.quorums.size + 1)
        self.steps = 0
        self.requests = requests
        self.stable = False  # the environment promised not to disturb any more
        self.promised = NOBODY  # whom the environment promised to have elected, where processes vote
        self.rests = 0  # how often the environment has looked at an ensemble at rest
        self._waiting: list[tuple[int, int, int]] | None = None  # the result of `waiting`, until something is done
        self._consist_of(processes.channels, processes)

    def _consist_of(self, channels: Channels, processes: Processes) -> None:
        """Make the run consist of `channels` and `processes`.

        The world keeps references to their lists, dicts and sets, for speed. So none of these may ever be replaced by
        another object: a restriction that nothing but this sentence enforces.
        """
        self.channels = channels
        self.following = channels.following  # by process id
        self.connections = channels.connections  # by (follower, leader)
        self.obstacles = channels.obstacles
        self.cuts = self.obstacles.cuts  # (sender, receiver)
        self.holds = self.obstacles.holds  # by (sender, receiver)
        self.paused = self.obstacles.paused
        self.processes = processes
        # By process id; entry 0 is not used.
        self.incarnations = processes.incarnations
        self.disks = processes.disks
        self.copies = processes.copies  # only of disks that were copied
        self.states: list[Any] = processes.states  # None: down
        self.halted = processes.halted

    # Questions.

    def waiting(self) -> list[tuple[int, int, int]]:
        """Return (process, sender, number of messages) for each link from which a message can be handled now."""
        if self._waiting is None:
            self._waiting = self.channels.waiting()
        return self._waiting

    def hearing(self) -> list[tuple[int, int, int]]:
        """Return (process, sender, number of messages) for each link outside of connections that has one to hear."""
        found = self.channels.casts.waiting()
        return found and [each for each in found if self.states[each[0]] is not None]

    def hearing_but_votes(self) -> list[tuple[int, int, int]]:
        """Return `hearing`, but nothing where processes elect by messages."""
        return [] if self.switches.elections == "fle" else self.hearing()

    def unsynced(self) -> list[int]:
        """Return the processes that have something to sync and are not paused, in ascending order.

        Writes that a process syncs by itself (`Buffer`) count, although no choice syncs them.
        """
        return [process for process in self.ids if self.disks[process].unsynced and process not in self.paused]

    def to_sync(self) -> list[int]:
        """Return the processes that a choice can have sync something, in ascending order."""
        return [] if "sync" in self.protocol.environment.never else self.unsynced()

    def threads(self) -> list[tuple[int, str]]:
        """Return (process, thread) for each thread that has something to do, of the processes that are not paused."""
        if not self.processes.threads:
            return []
        turns, paused = self.processes.turns, self.paused
        return [turn for process in self.ids if process not in paused for turn in turns(process)]

    def to_run(self) -> list[tuple[int, str]]:
        """Return `threads` without those that are whims of a link."""
        whims = self.protocol.environment.whims
        return [turn for turn in self.threads() if turn[1] not in whims]

    def closed(self) -> list[tuple[int, int]]:
        """Return (process, peer) where `process` has yet to notice that `peer` closed their connection."""
        return self.channels.closed()

    def obstructed(self) -> list[tuple[int, int]]:
        """Return (sender, receiver) of each link that is cut, stalled or held, sorted."""
        return self.obstacles.links()

    def is_up(self, process: int) -> bool:
        return self.states[process] is not None

    def follows(self, process: int) -> int:
        """Return the process that `process` follows, itself if it leads, NOBODY if it looks for a leader or is down."""
        return self.following[process]

    def is_overdue(self, process: int) -> bool:
        """Return True if `process` times out if nothing comes any more (`Protocol.overdue`)."""
        state, overdue = self.states[process], self.protocol.overdue
        return state is not None and overdue is not None and overdue(state)

    def may_broadcast(self, process: int) -> bool:
        """Return True if `process` is up and takes a client's request."""
        return takes_requests(self.protocol, self.states[process], self.disks[process])

    def governing(self, leader: int) -> Quorums:
        """Return the quorums that can go on by themselves with this leader, by what all processes know or have kept."""
        protocol = self.protocol
        if protocol.governing is None:
            return self.quorums
        known = [self.states[p] if self.is_up(p) else self.processes.as_it_would_start(p) for p in self.ids]
        return protocol.governing(known, leader)

    def highest_epoch(self, process: int) -> int:
        """Return the highest epoch that `process` has promised or proposed; 0 if it is down, or the epoch is unknown.

        StepRaised if the protocol's code raised, or gives no number.
        """
        state, highest_epoch = self.states[process], self.protocol.highest_epoch
        if state is None or highest_epoch is None:
            return 0
        try:
            return operator.index(highest_epoch(state))
        except Exception as error:
            raise StepRaised(process, process, Elected(self.following[process]), error) from error

    def situation(self, members: Collection[int]) -> Hashable:
        """Return `Ensemble.situation`; equal to no other if a process has variables that cannot be compared."""
        identity = self.protocol.identity or of_value
        inside = [self.connections[ends] for ends in sorted(self.connections) if set(ends) <= set(members)]
        try:
            return (
                tuple((identity(self.states[p]), of_disk(self.disks[p]), self.following[p]) for p in members),
                tuple(map(of_connection, inside)),
            )
        except CannotTellApart:
            return object()

    @property
    def messages(self) -> int:
        """The number of messages sent so far."""
        return self.channels.messages

    @property
    def disturbed(self) -> bool:
        """False only if nothing stands in the way of a message or a process."""
        return self.obstacles.disturbed

    # Steps that several choices take. Each returns True if it was enabled.

    def elect(self, process: int, leader: int) -> bool:
        """Let the oracle of `process` name `leader`."""
        if self.states[process] is None:
            return False
        if self.network:
            self.show(Elect(process, self.incarnations[process], leader))
        return self.processes.handle(process, process, Elected(leader))

    def time_out(self, process: int) -> bool:
        """Let `process` miss its heartbeats."""
        return self.states[process] is not None and self.processes.handle(process, process, TimedOut())

    def hand_over(self, process: int, sender: int, parcel: Parcel | None) -> bool:
        """Let `process` handle a message from `sender`; None: there is none."""
        if parcel is None:
            return False
        message, number = parcel
        if self.network:
            self.show(Receive(process, self.incarnations[process], sender, number))
        self.processes.handle(process, sender, message)
        return True


def show_lost(show: Callable[[Event], None], network: bool) -> Lost:
    """Return what channels call with the messages that are lost. It does not refer to the world, which refers to them.

    So a world is freed as soon as nobody uses it: a search makes thousands.
    """
    return partial(_show_each, show) if network else _show_none


def _show_each(show: Callable[[Event], None], parcels: list[Parcel]) -> None:
    for _, number in parcels:
        show(Drop(number))


def _show_none(parcels: list[Parcel]) -> None:
    pass

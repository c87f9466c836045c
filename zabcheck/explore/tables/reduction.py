"""Partial-order reduction: of the moves that commute, only one order is tried.

Where all that a process can do next commutes with all that others can do before it (a *persistent* set: Godefroid,
"Partial-Order Methods for the Verification of Concurrent Systems", 1996, chapter 4), it is enough to go on with that
process alone: its moves are *eager*. Channels are FIFO and a choice reaches no further than its process and its
connections, so that holds in these stances:

- A process that is down can only recover, and nobody can tell when it does.
- A follower whose leader closed the connection may read what is left, or notice. To time out or to crash now comes to
  the same as to notice first.
- A follower that has something to read either reads it or never reads again from that connection. Never means that it
  times out, crashes, or notices some time that the leader has gone. Until then it *stops reading*, a move that no run
  shows. Time-outs that are counted cannot come at once instead: that the leader goes first is free.
- If there may be any number of time-outs, a follower that never reads again may as well time out now, if nothing that
  others do before depends on it. Something does where a connection that is closed loses all that is under way (the
  switch `closing`), and the leader has not read all that the follower sent: an ACK may still commit a transaction, and
  the follower leave without the next one. There it stops reading, and times out when the leader has read everything.
- A leader that reads a message which changes nothing but the queue: in Zab an acknowledgement of what is committed, or
  one that comes too late. It changes nothing later either, so it is read now.
- A leader that notices that a follower has left, and goes on leading: what it would send there is lost anyway. (Not as
  long as it counts the followers that are still there: `Protocol.notices_at_once`.)
- A process in no iteration, of which nothing is under way, is told a leader, or crashes. (If something is, a new
  connection to the same leader would lose it.) That is so only where elections are not put off:

Where a connection that is closed loses all that is under way, nobody hears of a follower before the leader reads its
first message, the CEPOCH, nor of a leader before it reads that of its first follower. Until then each of them may leave
its iteration, and nobody ever knows that there was one. So a process is told a leader right before that leader hears of
it, and to lead right before it hears of its first follower: a *join* (`successors`). What a process in no iteration
does besides is to crash, or to sync. (Not where a leader goes on alone as soon as it leads, as where one process is a
quorum.)

Some moves come to the same as two others and are not tried: to be told another leader in the middle of an iteration is
to time out first; so is to crash there, if there may be any number of time-outs.

Once no time-out, crash or cut can come any more, some followers never leave, so there is nothing that to stop reading
could stand for; they only read. A process is *settled* (`Protocol.settled`) if nothing else makes it leave: a follower
leaves only when it is cut off from its leader, a leader only when it has lost too many followers. Where a leader and
followers that make a quorum with it are settled, none of them can be the first to leave, so they are *held*
(`LocalStates.is_held`). Whatever others do while one of these does not read, they may do while it reads, too: what it
sends then need not be received. So the run in which it reads shows all that the other one does, and more.

More may be less: what several processes have at one moment is not kept by that. Liveness asks what comes if all that go
on are told a leader just then, and one of them has not read; and a property that asks how many have accepted something
by now is violated only before they have. So followers are held only where properties are judged that no follower can
repair by what it shows later (`are_lasting`), and no liveness.

All this is of Zab, LADIS 2008 and Paxos (`Protocol.commutes`): there a process that hears that its leader is lost gives
up, and does nothing else. What is preserved is what processes do and show, so verdicts and delivered sequences; not how
many steps it takes, nor what holds at the same moment in two places.

Of a protocol whose processes vote (`Protocol.vote`) less is true, as others look at whom a process follows: a server
joins the leader that a quorum follows, and one that has noticed that its leader is gone may vote. These moves commute
with all that others do, and are eager, each alone:

- A process that is down recovers. Nobody can tell when it does; that it is up makes more elections possible, and none
  impossible.
- A leader reads a message that changes nothing but the queue, or notices that a follower has left and leads on, both as
  above. If one of them leaves first, the message is lost, which comes to the same. (Where a connection that is closed
  is still read, to notice loses what is under way, so there it is not eager.)
- Where no time-out, crash or cut can come any more, a follower with a connection to its leader reads, and its threads
  take their turns, unless that ends its iteration. What the leader sends meanwhile comes behind what is there already,
  and what the follower sends behind what the leader has yet to read. The follower can neither vote nor be named leader,
  as it would have to time out first, and whom it follows stays as it is. Only a leader that left now would keep it from
  reading the rest. A leader that has accepted a follower leaves without a fault only by an error in a step of its own,
  and it does that whether the follower has read or not. So if no state that is visited shows it, there is no such
  state; if one does, all is searched again without reduction (`DoesNotCommute`).

A snapshot by choice is a move like the others of its process: it commutes with what others do, which never looks at
another's disk. But it is no reason to go on with that process alone. How many there are is limited for all together,
and what the process has yet to be sent may be read before it. So a process whose only moves are snapshots is not eager.
(Only protocols whose processes vote are reduced where there are such snapshots.)

That a follower reads at once lets what it shows come earlier than in other runs, so like holding it is only used for
properties that no follower can repair (`are_lasting`), and without liveness. No move is put off for ever: an eager one
takes something out of a queue, does what a thread has to do, uses what the bounds allow, or has a process recover that
no eager move makes crash.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from zabcheck.explore.tables.components import Link
from zabcheck.invariants import (
    Agreement,
    Clock,
    EpochUniqueness,
    GlobalPrimaryOrder,
    Integrity,
    Invariant,
    LocalPrimaryOrder,
    Prefix,
    PrimaryIntegrity,
    TotalOrder,
)
from zabcheck.simulation import choices
from zabcheck.simulation.channels import NOBODY
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.network import End
from zabcheck.simulation.next_state import LocalProcess

_LASTING = (
    Agreement,
    Clock,
    EpochUniqueness,
    GlobalPrimaryOrder,
    Integrity,
    LocalPrimaryOrder,
    Prefix,
    PrimaryIntegrity,
    TotalOrder,
)


def are_lasting(properties: Collection[type[Invariant]]) -> bool:
    """Return True if no later event of a follower repairs a violation of these properties.

    That is so of those that compare deliveries with each other, or with broadcasts. A later delivery can repair
    agreement, but then the two processes have two orders, so agreement is lasting together with total order.
    """
    repaired = Agreement in properties and TotalOrder not in properties
    return not repaired and all(kind in _LASTING for kind in properties)


class DoesNotCommute(Exception):
    """A process does what reduction assumes to be impossible, so nothing is known of what it left out."""


class Stance(NamedTuple):
    """The moves of a process that have to be tried.

    `eager`: no move of another process has to be tried before these. `may_stop_reading`: besides these, the
    follower may stop reading, which stands for all its other moves. `at_once`: only finitely many such moves can follow
    each other, so no state has to be kept in between.
    """

    eager: bool
    kinds: tuple[type[Choice], ...]
    may_stop_reading: bool = False
    at_once: bool = False


ALL = Stance(False, (Choice,))
"""The stance of a process without reduction."""

_ANY = Stance(
    False,
    (choices.Receive, choices.Notice, choices.Sync, choices.Request, choices.Timeout, choices.Crash, choices.Reset),
)
_ANY_BUT_CRASH = Stance(
    False, (choices.Receive, choices.Notice, choices.Sync, choices.Request, choices.Timeout, choices.Reset)
)
_DOWN = Stance(True, (choices.Recover,), at_once=True)
_LEFT = Stance(True, (choices.Receive, choices.Notice, choices.Sync), at_once=True)
_READING = Stance(True, (choices.Receive, choices.Sync), may_stop_reading=True, at_once=True)
_READING_OR_GONE = Stance(True, (choices.Receive, choices.Sync, choices.Timeout), at_once=True)
"""A stance that a follower also has once it reads no more and its leader has read everything."""
_ELECTING = Stance(True, (choices.Elect, choices.Crash, choices.Sync))
_ELECTING_LATER = Stance(False, (choices.Elect, choices.Crash, choices.Sync))
_JOINING = Stance(False, (choices.Crash, choices.Sync))


def stance_of_voter(process: LocalProcess) -> Stance:
    """Return the stance of a process of a protocol with votes, as far as it does not depend on its moves."""
    return ALL if process.is_up else _DOWN


def may_read_at_once(process: LocalProcess, opened: Sequence[Link | None]) -> bool:
    """Return True if a process is a follower that reads at once when no fault can come any more, and stays.

    `opened` has its links by the leader (the first entry is not used).
    """
    if process.leads or process.following == NOBODY or not process.is_up:
        return False
    link = opened[process.following]
    return link is not None and not link.is_closed and link.connection.leader_end is End.OPEN


def stance(
    process: LocalProcess, opened: Sequence[Link | None], unlimited: bool, is_abrupt: bool, is_lazy: bool
) -> Stance:
    """Return the stance of a process with the links that it has opened, by the leader (the first entry is not used).

    `unlimited`: there may be any number of time-outs. `is_abrupt`: a connection that is closed loses all messages in
    transit. `is_lazy`: elections are put off.
    """
    if not process.is_up:
        return _DOWN
    any_ = _ANY_BUT_CRASH if unlimited else _ANY
    if process.leads:
        return any_
    if process.following == NOBODY:
        if is_lazy:
            return _JOINING
        under_way = any(link is not None and link.connection.to_leader for link in opened)
        return _ELECTING_LATER if under_way else _ELECTING
    link = opened[process.following]
    if link is None:
        raise DoesNotCommute("a follower goes on without a connection to its leader")
    connection = link.connection
    if connection.leader_end is End.CLOSED or connection.broken:
        return _LEFT
    may_leave_now = unlimited and not (is_abrupt and connection.to_leader)
    if connection.to_follower:
        return _READING_OR_GONE if may_leave_now else _READING
    return _READING_OR_GONE if link.is_unread and may_leave_now else any_

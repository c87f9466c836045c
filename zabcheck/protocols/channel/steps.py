"""The steps of a channel over a fair-lossy link (DSN 2011, II): numbers, acknowledgements and iterations.

A frame that comes from the connection goes to the link of its receiver. The threads of a process are the link's whims:
the first frame arrives, or it arrives and stays to arrive again, or the last one overtakes all others. A frame that
never arrives is a lost one; a connection that breaks loses frames, too.

Both ends count their own iterations, on disk, so that no number is used twice. A message carries the pair, as DSN 2011
has a sequence of messages for each iteration of the sender and each of the receiver.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import structs

from zabcheck.invariants import Broadcast, Deliver, Txn, Zxid
from zabcheck.protocols.base import (
    Changed,
    Connect,
    Effect,
    Elected,
    GiveUp,
    Lost,
    ProcessId,
    Request,
    Run,
    Send,
    Started,
    TimedOut,
    Write,
)
from zabcheck.protocols.channel.messages import NOT_KNOWN, Ack, Data, Frame, Open
from zabcheck.protocols.channel.process import SENDER, Outgoing, Process, Receiver, Sender, UnderWay, abandon

# The link.

ARRIVES, REPEATS, OVERTAKES = "arrives", "repeats", "overtakes"
THREADS: Mapping[str, Callable[[Any], bool]] = {
    ARRIVES: lambda p: bool(p.link),
    REPEATS: lambda p: bool(p.link) and not p.link[0].repeated,
    OVERTAKES: lambda p: len(p.link) > 1,
}
"""The events of the link to a process, each with a function that is True if it can happen now."""


def on_frame(p: Process, sender: ProcessId, m: Frame) -> list[Effect]:
    """A frame is under way."""
    p.link = (*p.link, UnderWay(sender, m))
    return [Write(link=p.link)]


def taken(link: tuple[UnderWay, ...], thread: str) -> tuple[UnderWay, tuple[UnderWay, ...]]:
    """Return the frame that arrives by an event of the link, and the frames that are on the link then."""
    if thread == OVERTAKES:
        return link[-1], link[:-1]
    first = link[0]
    again = (UnderWay(first.sender, first.frame, repeated=True),) if thread == REPEATS else ()
    return first, (*again, *link[1:])


Handler = Callable[[Process, ProcessId, Any], list[Effect]]


def on_run(p: Process, sender: ProcessId, m: Run, data: Handler | None = None) -> list[Effect]:
    """A frame of the link arrives, and the end of its channel handles it; a message by `data`, if that is given."""
    if not THREADS[m.thread](p):
        return []
    chosen, p.link = taken(p.link, m.thread)
    moved: list[Effect] = [Write(link=p.link)]
    match chosen.frame:
        case Open():
            return moved + on_open(p, chosen.sender, chosen.frame)
        case Ack():
            return moved + on_ack(p, chosen.sender, chosen.frame)
    assert isinstance(chosen.frame, Data)
    return moved + (data or on_data)(p, chosen.sender, chosen.frame)


# The beginning and the end of iterations.


def on_started(p: Process, sender: ProcessId, m: Started) -> list[Effect]:
    """A process that comes up has no channel; it waits until it is told to begin an iteration."""
    return []


def on_elected(p: Process, sender: ProcessId, m: Elected) -> list[Effect]:
    """A new iteration begins: the receiver opens a connection, and says so. The sender accepts connections."""
    if m.leader != SENDER:
        return []
    abandon(p)
    p.leader = SENDER
    if p.sends:
        return [Connect(SENDER)]
    p.iteration += 1
    return [Write(iteration=p.iteration), Connect(SENDER), Send(SENDER, Open(p.iteration))]


def on_open(p: Process, sender: ProcessId, m: Open) -> list[Effect]:
    """The sender begins an iteration of its own, with nothing sent, unless that of the receiver is an old one."""
    if not p.sends or (sender in p.channels and m.iteration <= p.channels[sender].of):
        return []
    p.iteration += 1
    p.channels = {**p.channels, sender: Outgoing(p.iteration, m.iteration)}
    return [Write(iteration=p.iteration)]


def on_lost(p: Process, sender: ProcessId, m: Lost) -> list[Effect]:
    """The connection is closed at the other end, and so is the channel; what was queued is discarded."""
    if not p.sends:
        return [GiveUp("the connection is lost")]
    p.channels = {receiver: channel for receiver, channel in p.channels.items() if receiver != m.peer}
    return [Changed()]


# Messages.


def can_send(p: Process) -> bool:
    """Return True if there is a channel."""
    return bool(p.channels)


def on_request(p: Process, sender: ProcessId, m: Request) -> list[Effect]:
    """The sender sends a value on each of its channels.

    Sending is shown as a broadcast in the epoch that is its iteration, receiving as a delivery: a message's zxid has
    the iteration and its number.
    """
    effects: list[Effect] = []
    for receiver, channel in p.channels.items():
        number = len(channel.sent) + 1
        if number > p.switches.counter_limit:
            return [GiveUp("the numbers would overflow")]
        txn = Txn(Zxid(channel.iteration, number), m.value)
        effects.append(Broadcast(p.id, p.incarnation, channel.iteration, txn))
        effects.append(Send(receiver, Data(channel.iteration, channel.of, number, m.value)))
    p.channels = {
        receiver: structs.replace(channel, sent=(*channel.sent, m.value)) for receiver, channel in p.channels.items()
    }
    return effects


def unacknowledged(channel: Sender) -> list[tuple[int, Any]]:
    """Return the number and the value of each message to send again."""
    return list(enumerate(channel.sent, 1))[channel.acknowledged :]


def on_timed_out(p: Process, sender: ProcessId, m: TimedOut) -> list[Effect]:
    """Send again what is not acknowledged: messages, or that the iteration has begun."""
    if p.sends:
        return [
            Send(receiver, Data(channel.iteration, channel.of, number, value))
            for receiver, channel in p.channels.items()
            for number, value in unacknowledged(channel)
        ]
    return [Send(SENDER, Open(p.iteration))] if p.leader == SENDER and not p.theirs else []


def is_of_the_iteration(end: Receiver, m: Data) -> bool:
    """Return True if a message is of the current iteration of both ends; the first one tells that of the sender."""
    is_first = not end.theirs and m.number == 1
    return m.of in (end.iteration, NOT_KNOWN) if m.iteration == end.theirs else is_first and m.of == end.iteration


def is_next(end: Receiver, m: Data) -> bool:
    """Return True if a message is the next one of the current iteration."""
    return is_of_the_iteration(end, m) and m.number == end.received + 1


def on_data(p: Process, sender: ProcessId, m: Data, takes: Callable[[Process, Data], bool] = is_next) -> list[Effect]:
    """Receive the next message of the iteration, and acknowledge all up to it; no other message is received.

    A message that came before is acknowledged again, as the first acknowledgement may be lost.
    """
    if p.leader != sender:
        return []
    effects: list[Effect] = []
    if takes(p, m):
        p.theirs, p.received = m.iteration, m.number
        effects.append(Deliver(p.id, p.incarnation, Txn(Zxid(m.iteration, m.number), m.value)))
    elif not (is_of_the_iteration(p, m) and p.theirs):
        return []
    return [*effects, Send(sender, Ack(p.theirs, p.received))]


def on_ack(p: Process, sender: ProcessId, m: Ack) -> list[Effect]:
    """Stop sending again what the receiver has."""
    channel = p.channels.get(sender)
    if channel is None or m.iteration != channel.iteration or m.number <= channel.acknowledged:
        return []
    p.channels = {**p.channels, sender: structs.replace(channel, acknowledged=m.number)}
    return []

"""The steps that the known bugs of the channel take instead of the right ones."""

from collections.abc import Hashable, Mapping, Sequence

from msgspec import structs

from zabcheck.invariants import Deliver, Txn, Zxid
from zabcheck.protocols.base import AddedState, Effect, ProcessId, Send, TimedOut
from zabcheck.protocols.channel.messages import Ack, Data
from zabcheck.protocols.channel.process import Process, Receiver
from zabcheck.protocols.channel.steps import is_of_the_iteration, on_timed_out, unacknowledged


def send_again_as_new(p: Process, sender: ProcessId, m: TimedOut) -> list[Effect]:
    """Send the oldest message that is not acknowledged once more, under the number that comes next."""
    if not p.sends:
        return on_timed_out(p, sender, m)
    effects: list[Effect] = []
    channels = dict(p.channels)
    for receiver, channel in p.channels.items():
        for _, value in unacknowledged(channel)[:1]:
            number = len(channel.sent) + 1
            channels[receiver] = structs.replace(channel, sent=(*channel.sent, value))
            effects.append(Send(receiver, Data(channel.iteration, channel.of, number, value)))
    p.channels = channels
    return effects


def whatever_comes_later(end: Receiver, m: Data) -> bool:
    """Return True if a message of the current iteration has a higher number than the last one."""
    return is_of_the_iteration(end, m) and m.number > end.received


def next_of_any_iteration(end: Receiver, m: Data) -> bool:
    """Return True if a message has the number that comes next, in whichever iteration it was sent."""
    return m.number == end.received + 1


class Counts(AddedState, frozen=True):
    """The number of values received in each iteration of the sender. It outlives the receiver's own iterations."""

    received: Mapping[int, int] = {}

    def abandoned(self) -> "Counts":
        return self

    def identity(self, process: Process) -> Hashable:
        return tuple(sorted(self.received.items()))

    def renamed(self, names: Sequence[ProcessId]) -> "Counts":
        return self

    def described(self) -> dict[str, str | tuple[str, ...]]:
        return {"of each": tuple(f"⟨{iteration},{number}⟩" for iteration, number in sorted(self.received.items()))}


def receive_next_of_any_iteration(p: Process, sender: ProcessId, m: Data) -> list[Effect]:
    """Receive the next message of the iteration in which it was sent, although another may have begun."""
    assert isinstance(p.added, Counts)
    counts = p.added.received
    if p.leader != sender or m.number != counts.get(m.iteration, 0) + 1:
        return []
    p.added = Counts({**counts, m.iteration: m.number})
    p.theirs, p.received = m.iteration, m.number
    txn = Txn(Zxid(m.iteration, m.number), m.value)
    return [Deliver(p.id, p.incarnation, txn), Send(sender, Ack(m.iteration, m.number))]

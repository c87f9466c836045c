"""Channels below a protocol: its steps stay as they are, and what they send goes over lossy links (DSN 2011, II).

Each two processes that have a connection have a channel each way, with the numbers, acknowledgements and iterations of
`steps`, and with the same rules for what is received. A message of the protocol is the value of a frame. It has to be
sent where the protocol's own `Send` is performed, so that nothing is numbered, or sent again, that waits for the disk:
the process hands it to itself as `Sending`.

A frame of a connection arrives at once, as long as nothing is done to it. By the thread `delays` the next one does not:
it stays on the link to the process, and arrives by the threads of `steps`, in any later iteration, or never. So a run
in which the link does nothing has the steps that it has without channels.

A follower begins an iteration when it opens its connection. Its first message has number 1 and tells the leader; the
leader begins one of its own then. It does so once for each iteration of the follower, as it remembers the last one.

To spare frames, a message is acknowledged only when it comes again, or one beyond it. The first time-out in an
iteration that nothing has come in since sends again what is not acknowledged; the next one is the protocol's own.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from zabcheck.protocols.base import (
    Changed,
    Connect,
    Effect,
    Lost,
    Message,
    Notify,
    ProcessId,
    Run,
    Send,
    Step,
    Steps,
    Stimulus,
    Threads,
    TimedOut,
    Write,
    renamed,
)
from zabcheck.protocols.channel import steps
from zabcheck.protocols.channel.messages import NOT_KNOWN, Ack, Data, Frame
from zabcheck.protocols.channel.process import Receiver, UnderWay

DELAYS = "delays"


class End(Struct, frozen=True):
    """The end of the channels between a process and another one, in one iteration."""

    iteration: int
    """The iteration of the process itself."""
    theirs: int = NOT_KNOWN
    """The iteration of the other one."""
    sent: tuple[Message, ...] = ()
    """The messages sent; their numbers count from 1."""
    acknowledged: int = 0
    received: int = 0
    again: bool = False
    """True if everything was sent again since something came last."""


class Line(Struct, frozen=True):
    """The iterations of a process with each other one, which outlive a crash, and what is on the link to it."""

    iterations: Mapping[ProcessId, int] = {}
    """The last iteration of the process itself."""
    seen: Mapping[ProcessId, int] = {}
    """The last iteration of the other one that this process has accepted as a leader."""
    link: tuple[UnderWay, ...] = ()
    """The frames that may still arrive, in the order of sending."""


NO_LINE = Line()


class Sending(Stimulus, frozen=True):
    """The process sends a message now, if the iteration in which it wanted to is still going on."""

    to: ProcessId
    iteration: int
    message: Message


THREADS: Threads = {DELAYS: lambda p: bool(p.ends) and not p.late, **steps.THREADS}


def identity(p: Any) -> tuple[Hashable, ...]:
    """Return all of the channels that the further steps of a process may depend on."""
    line = p.line
    last = frozenset(line.iterations.items()), frozenset(line.seen.items())
    return (*last, line.link, frozenset(p.ends.items()), p.late)


def line_renamed(line: Line, names: Sequence[ProcessId]) -> Line:
    """Return a line with process i called `names[i]`."""
    link = tuple(UnderWay(names[each.sender], each.frame, each.repeated) for each in line.link)
    return Line(renamed(line.iterations, names), renamed(line.seen, names), link)


def is_overdue(p: Any) -> bool:
    """Return True if a time-out has the process send something again."""
    return any(_is_to_send_again(end) for end in p.ends.values())


def _is_to_send_again(end: End) -> bool:
    return not end.again and end.acknowledged < len(end.sent)


def over_lossy_links(
    protocol: Steps,
    takes: Callable[[Receiver, Data], bool] = steps.is_next,
) -> Steps:
    """Return the steps of a protocol with channels below them.

    (A bug of the channel `takes` other messages.)
    """

    def above(p: Any, sender: ProcessId, m: Message | Stimulus) -> list[Effect]:
        """Take the protocol's own step, and send by the channels."""
        step = protocol.get(type(m))
        return [] if step is None else [each for effect in step(p, sender, m) for each in by_channel(p, effect)]

    def on_frame(p: Any, sender: ProcessId, m: Frame) -> list[Effect]:
        """A frame arrives, or the link delays it."""
        if not p.late:
            return arrived(p, sender, m)
        p.late = False
        return [put(p, link=(*p.line.link, UnderWay(sender, m)))]

    def on_run(p: Any, sender: ProcessId, m: Run) -> list[Effect]:
        """The link delays the next frame, or a frame that it has delayed arrives."""
        if not THREADS[m.thread](p):
            return []
        if m.thread == DELAYS:
            p.late = True
            return [Changed()]
        chosen, link = steps.taken(p.line.link, m.thread)
        return [put(p, link=link), *arrived(p, chosen.sender, chosen.frame)]

    def arrived(p: Any, sender: ProcessId, m: Frame) -> list[Effect]:
        return on_data(p, sender, m) if isinstance(m, Data) else on_ack(p, sender, m)

    def on_data(p: Any, sender: ProcessId, m: Data) -> list[Effect]:
        """Receive the next message of the iteration, and no other; to one that is not the next, answer which is."""
        begun = accepted(p, sender, m)
        end = p.ends.get(sender)
        if end is None:
            return []
        if takes(end, m):
            p.ends = {**p.ends, sender: structs.replace(end, theirs=m.iteration, received=m.number, again=False)}
            return [*begun, Changed(), *above(p, sender, m.value)]
        return [Send(sender, Ack(m.iteration, end.received))] if steps.is_of_the_iteration(end, m) else []

    def on_timed_out(p: Any, sender: ProcessId, m: TimedOut) -> list[Effect]:
        """Send again what is not acknowledged. If it was sent again already, and nothing came, the iteration ends."""
        if not is_overdue(p):
            return above(p, sender, m)
        effects: list[Effect] = []
        for peer, end in p.ends.items():
            if _is_to_send_again(end):
                end = structs.replace(end, again=True)
                p.ends = {**p.ends, peer: end}
                effects += [Send(peer, framed(end, *each)) for each in steps.unacknowledged(end)]
        return effects

    over: dict[type[Message] | type[Stimulus], Step] = dict.fromkeys(protocol, above)
    over |= {Data: on_frame, Ack: on_frame, Run: on_run, TimedOut: on_timed_out}
    return {**over, Lost: on_lost(above), Sending: on_sending}


def by_channel(p: Any, effect: Effect) -> list[Effect]:
    """Return what is done instead of an effect of the protocol."""
    if isinstance(effect, Connect):
        if effect.to == p.id:
            return [effect]
        number, begun = begin(p, effect.to)
        p.ends = {effect.to: End(number)}
        return [begun, effect]
    if not isinstance(effect, Send) or effect.to == p.id:
        return [effect]
    end = p.ends.get(effect.to)
    return [] if end is None else [Notify(Sending(effect.to, end.iteration, effect.message))]


def on_sending(p: Any, sender: ProcessId, m: Sending) -> list[Effect]:
    """Send a message under the next number, and keep it until it is acknowledged."""
    end = p.ends.get(m.to)
    if end is None or end.iteration != m.iteration:
        return []
    end = structs.replace(end, sent=(*end.sent, m.message))
    p.ends = {**p.ends, m.to: end}
    return [Send(m.to, framed(end, len(end.sent), m.message))]


def on_ack(p: Any, sender: ProcessId, m: Any) -> list[Effect]:
    """Stop sending again what the receiver has."""
    end = p.ends.get(sender)
    if end is None or m.iteration != end.iteration or m.number < end.acknowledged:
        return []
    p.ends = {**p.ends, sender: structs.replace(end, acknowledged=m.number, again=False)}
    return [Changed()]


def on_lost(above: Step) -> Step:
    """Return the step by which a connection is lost: the protocol's own; and the channel is closed."""

    def step(p: Any, sender: ProcessId, m: Lost) -> list[Effect]:
        effects = above(p, sender, m)
        p.ends = {each: end for each, end in p.ends.items() if each != m.peer}
        return effects

    return step


def accepted(p: Any, sender: ProcessId, m: Data) -> list[Effect]:
    """Begin an iteration with a follower whose first message of a new one this is; a leader alone does so."""
    is_first = m.number == 1 and m.of == NOT_KNOWN
    if p.leader != p.id or not is_first or m.iteration <= p.line.seen.get(sender, 0):
        return []
    number, _ = begin(p, sender)
    p.ends = {**p.ends, sender: End(number, m.iteration)}
    return [put(p, seen={**p.line.seen, sender: m.iteration})]


def begin(p: Any, peer: ProcessId) -> tuple[int, Effect]:
    """Return the number of a new iteration with another process, and the effect that makes it durable."""
    number = p.line.iterations.get(peer, 0) + 1
    return number, put(p, iterations={**p.line.iterations, peer: number})


def put(p: Any, **fields: Any) -> Effect:
    """Change the line of a process, durably at once."""
    p.line = structs.replace(p.line, **fields)
    return Write(line=p.line)


def framed(end: End, number: int, message: Message) -> Data:
    """Return the frame of a message that was sent at this end."""
    return Data(end.iteration, end.theirs, number, message)

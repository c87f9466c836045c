"""The channels that Zab asks for, over links that lose, repeat and reorder (DSN 2011, II).

Zab asks three things of a channel: integrity (only what was sent is received), prefix (what was sent before is received
before), and single iteration (an input buffer has messages of one iteration at most). DSN 2011 says that fair-lossy
links are enough for that, and takes TCP. Here it is done by numbers, acknowledgements and iterations: see `steps`.

p1 sends, and every other process receives, on a channel of its own. A message is a transaction, an iteration of the
sender is an epoch, so that the properties of the broadcast say what DSN 2011 asks for: integrity; local primary order
for prefix; global primary order for single iteration, since a message of an iteration that is over comes after one of
the next. What was sent to one receiver is not sent to another, so nothing orders them together.

The same rules are those of the channels `below` Zab, where a user asks for lossy links. Otherwise the simulator's
channels have the three properties as they are, and an exhaustive search of Zab counts on it.
"""

from zabcheck.protocols.base import Activity, Elected, Lost, Message, Protocol, Request, Run, Started, Threads, TimedOut
from zabcheck.protocols.channel import process, steps
from zabcheck.protocols.channel.messages import Ack, Data, Frame, Open
from zabcheck.protocols.environment import Environment
from zabcheck.protocols.switches import Switches

KINDS: dict[type[Message], str] = {Open: "OPEN", Data: "DATA", Ack: "ACK"}


def show(message: Message) -> tuple[str, str]:
    """Return the name of a frame and what it carries."""
    match message:
        case Open():
            carries = f"iteration {message.iteration}"
        case Data():
            carries = f"{message.value}⟨{message.iteration},{message.number}⟩ for iteration {message.of}"
        case Ack():
            carries = f"⟨{message.iteration},{message.number}⟩"
        case _:
            raise TypeError(f"not a frame of a channel: {message!r}")
    return KINDS[type(message)], carries


def _in_brief(frame: Frame) -> str:
    """Return a frame as the variables show it: a message as it is received."""
    if isinstance(frame, Data):
        return f"{frame.value}⟨{frame.iteration},{frame.number}⟩"
    return " ".join(show(frame))


def describe(p: process.Process) -> dict[str, str | tuple[str, ...]]:
    """Return the variables of a process that a report shows."""
    activity = Activity("no channel")
    if p.leader is not None:
        activity = Activity("sends" if p.sends else "receives")
    return {
        "": activity,
        "iteration": str(p.iteration or "⊥"),
        "received": f"⟨{p.theirs},{p.received}⟩" if p.theirs else "⊥",
        "link": tuple(_in_brief(each.frame) for each in p.link),
        **{
            f"to p{receiver}": tuple(f"{value}⟨{channel.iteration},{i}⟩" for i, value in enumerate(channel.sent, 1))
            for receiver, channel in sorted(p.channels.items())
        },
        **p.added.described(),
    }


def threads(switches: Switches) -> Threads:
    """Return what may happen on the link to a process."""
    return steps.THREADS


CHANNEL = Protocol(
    name="channel",
    summary="Channels from p1 to the others, over links that lose, repeat and reorder",
    source="DSN 2011, II",
    steps={
        Started: steps.on_started,
        Elected: steps.on_elected,
        TimedOut: steps.on_timed_out,
        Lost: steps.on_lost,
        Request: steps.on_request,
        Run: steps.on_run,
        Open: steps.on_frame,
        Data: steps.on_frame,
        Ack: steps.on_frame,
    },
    start=process.start,
    abandon=process.abandon,
    can_broadcast=steps.can_send,
    describe=describe,
    show=show,
    legend=(
        ("iteration", "of the process itself"),
        ("received", "last message"),
        ("link", "frames that may still arrive"),
        ("", "⟨iteration of p1,number⟩"),
        ("⊥", "none"),
    ),
    kinds=KINDS,
    properties=("integrity", "local primary order", "global primary order"),
    identity=process.identity,
    highest_epoch=process.highest_iteration,
    environment=Environment(
        never=("sync", "corrupt", "quiesce"),
        moves={"sync": 0, "corrupt": 0, "snapshot": 0, "run": 20, "request": 12, "lead": 8, "settle": 4, "timeout": 12},
    ),
    threads=threads,
)

PROTOCOLS = (CHANNEL,)
"""The channel."""

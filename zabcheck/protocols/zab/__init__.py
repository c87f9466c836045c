"""Zab as DSN 2011 describes it: every step from f.1.1 to l.3.4 is a function with its number in the docstring.

Junqueira, Reed, Serafini: "Zab: High-performance broadcast for primary-backup systems", sections IV and V.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from zabcheck.protocols.base import (
    Activity,
    Elected,
    Lost,
    Message,
    ProcessId,
    Protocol,
    Request,
    Started,
    Steps,
    TakeSnapshot,
    Threads,
    TimedOut,
)
from zabcheck.protocols.channel import below
from zabcheck.protocols.channel import messages as frames
from zabcheck.protocols.environment import Environment
from zabcheck.protocols.switches import Switches, ZabSwitches
from zabcheck.protocols.zab import follower, leader, messages, process
from zabcheck.protocols.zab.histories import Carried, Missing

KINDS: dict[type[Message], str] = {
    messages.CEpoch: "CEPOCH",
    messages.NewEpoch: "NEWEPOCH",
    messages.AckE: "ACK-E",
    messages.NewLeader: "NEWLEADER",
    messages.AckLd: "ACK-LD",
    messages.CommitLd: "COMMIT-LD",
    messages.Propose: "PROPOSE",
    messages.Ack: "ACK",
    messages.Commit: "COMMIT",
}


def show(message: Message) -> tuple[str, str]:
    """Return the name of a message and what it carries, as the paper writes it; of a frame, that of its message."""
    match message:
        case frames.Data():
            kind, carries = show(message.value)
            return kind, f"{carries}, {_numbered(message)}"
        case frames.Ack():
            return "ACK-FRAME", f"{message.iteration}.{message.number}"
        case messages.CEpoch() | messages.NewEpoch():
            carries = f"{message.epoch}"
        case messages.AckE():
            carries = f"{message.current_epoch}, {_carried(message.history)}" + ("" if message.counts else ", rejoins")
        case messages.NewLeader():
            carries = f"{message.epoch}, {_carried(message.history)}"
        case messages.Propose():
            carries = f"{message.txn}{_route(message.route)}"
        case messages.Commit():
            carries = f"{message.zxid}{_route(message.route)}"
        case messages.AckLd() | messages.CommitLd() | messages.Ack():
            carries = f"{message.zxid}"
        case _:
            raise TypeError(f"not a message of Zab: {message!r}")
    return KINDS[type(message)], carries


def _numbered(frame: frames.Data) -> str:
    """Return the iteration of the sender and the number of a frame as text: "frame 2.1"."""
    return f"frame {frame.iteration}.{frame.number}"


def _route(route: Sequence[ProcessId]) -> str:
    """Return the followers to which a message is passed on as text, or nothing."""
    return f", for {' '.join(f'p{each}' for each in route)}" if route else ""


def _carried(history: Carried) -> str:
    """Return the last zxid of a history as text, and which part of it is not sent as transactions."""
    if isinstance(history, Missing):
        return f"{history.zxid} from {history.after} on"
    return f"{history.zxid}" + (f", snapshot up to {history.base.zxid}" if history.base else "")


def describe(f: process.Process) -> dict[str, str | tuple[str, ...]]:
    """Return the variables of a process that a report shows."""
    role = "leads" if f.leads else f"follows p{f.leader}"
    return {
        "": Activity(f.phase.value) if f.leader is None else Activity(role, f.phase.value),
        "f.p": str(f.accepted_epoch or "⊥"),
        "f.a": str(f.current_epoch or "⊥"),
        "h_f": tuple(map(str, f.history)),
        **f.switches.described(f.waiting),
        **(_on_the_path(f) if f.switches.relays else {}),
        **(_over_the_links(f) if f.switches.lossy else {}),
        **f.added.described(),
    }


def _over_the_links(f: process.Process) -> dict[str, str | tuple[str, ...]]:
    """Return the variables of a process with channels over lossy links."""
    return {
        "delayed": tuple(" ".join(show(each.frame)) for each in f.link),
        "received": " ".join(f"p{each}:{end.theirs}.{end.received}" for each, end in sorted(f.ends.items())) or "⊥",
    }


def _on_the_path(f: process.Process) -> dict[str, str | tuple[str, ...]]:
    """Return the variables of a process that passes on what its leader sends."""
    return {"path": " ".join(f"p{each}" for each in f.path) or "⊥", "aside": tuple(str(each.txn) for each in f.aside)}


def contradiction(values: Mapping[str, Any]) -> str:
    """Say that followers either pass on COMMITs or count ACKs, and that neither goes over lossy links."""
    way = values.get("dissemination", "star")
    if values.get("links", "reliable") == "lossy":
        others = [("dissemination", "star"), ("commits", "leader")]
        wrong = [f"{name}={usual}" for name, usual in others if values.get(name, usual) != usual]
        if wrong:
            return f"links=lossy: expected {' and '.join(wrong)}, only what a leader is sent or sends goes by channels"
    if way == "star" or values.get("commits", "leader") == "leader":
        return ""
    return f"dissemination={way}: expected commits=leader, followers that count ACKs themselves need no COMMITs"


def under(steps: Steps, switches: Switches, over: Callable[[Steps], Steps] = below.over_lossy_links) -> Steps:
    """Return the steps with channels below them, where links are lossy. (A bug of the channel puts others there.)"""
    return over(steps) if switches.lossy else steps


def threads(switches: Switches) -> Threads:
    """Return what may happen on the link to a process, where links are lossy."""
    return below.THREADS if switches.lossy else {}


ZAB = Protocol(
    name="zab",
    summary="Zab with its three phases: discovery, synchronization, broadcast",
    source="DSN 2011, IV and V",
    steps={
        Started: process.on_started,
        TakeSnapshot: process.on_take_snapshot,
        Elected: follower.on_elected,
        TimedOut: follower.on_timed_out,
        Lost: leader.on_lost,
        Request: leader.on_request,
        messages.CEpoch: leader.on_cepoch,
        messages.NewEpoch: follower.on_newepoch,
        messages.AckE: leader.on_ack_e,
        messages.NewLeader: follower.on_newleader,
        messages.AckLd: leader.on_ack_ld,
        messages.CommitLd: follower.on_commit_ld,
        messages.Propose: follower.on_propose,
        messages.Ack: leader.on_ack,
        messages.Commit: follower.on_commit,
    },
    start=process.start,
    abandon=process.abandon,
    can_broadcast=leader.can_broadcast,
    describe=describe,
    show=show,
    legend=(
        ("f.p", "accepted epoch"),
        ("f.a", "current epoch"),
        ("h_f", "history"),
        ("", "⟨epoch,counter⟩"),
        ("⊥", "none"),
        ("", "a leader is its own follower: what it sends to itself is not shown"),
    ),
    kinds=KINDS,
    identity=process.identity,
    rename=process.rename,
    highest_epoch=process.highest_epoch,
    commutes=True,
    settled=process.is_settled,
    overdue=below.is_overdue,
    environment=Environment(whims=(below.DELAYS,)),
    threads=threads,
    below=under,
    switches=ZabSwitches,
    contradiction=contradiction,
)

PROTOCOLS = (ZAB,)

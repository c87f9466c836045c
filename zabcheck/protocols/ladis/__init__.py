"""Zab as LADIS 2008 describes it (Reed, Junqueira: "A simple totally ordered broadcast protocol", section 4).

`ladis-2008` is the letter of the paper, `ladis` is repaired. Both have the broadcast mode of 4.1. Their recovery
differs in several steps at once, so the letter is a protocol of its own and not a mutant of `ladis`.
"""

from collections.abc import Mapping

from zabcheck.protocols.base import (
    Activity,
    Elected,
    Lost,
    Message,
    Protocol,
    Request,
    Started,
    Step,
    Stimulus,
    TakeSnapshot,
    TimedOut,
)
from zabcheck.protocols.ladis import broadcast, letter, messages, process, recovery
from zabcheck.protocols.switches import LadisSwitches

KINDS: dict[type[Message], str] = {
    messages.FollowerInfo: "FOLLOWERINFO",
    messages.NewEpoch: "NEWEPOCH",
    messages.AckEpoch: "ACKEPOCH",
    messages.Fetch: "FETCH",
    messages.Supply: "SUPPLY",
    messages.Trunc: "TRUNC",
    messages.Proposal: "PROPOSAL",
    messages.NewLeader: "NEWLEADER",
    messages.Ack: "ACK",
    messages.Commit: "COMMIT",
}
_REPAIRS = (messages.NewEpoch, messages.AckEpoch, messages.NewLeader)


def show(message: Message) -> tuple[str, str]:
    """Return the name of a message and what it carries."""
    match message:
        case messages.FollowerInfo():
            carries = process.shown(message.zxid) + (f", epoch {message.epoch}" if message.epoch else "")
        case messages.NewEpoch():
            carries = f"{message.epoch}"
        case messages.AckEpoch():
            carries = f"{message.epoch}" + ("" if message.counts else ", again")
        case messages.Fetch():
            carries = process.shown(message.lasts[0] if message.lasts else 0)
        case messages.Supply():
            carries = " ".join([f"after {process.shown(message.after)}", *map(str, message.txns)])
        case messages.Proposal():
            carries = f"{message.txn}"
        case messages.Trunc() | messages.NewLeader() | messages.Ack() | messages.Commit():
            carries = process.shown(message.zxid)
        case _:
            raise TypeError(f"not a message of LADIS 2008: {message!r}")
    return KINDS[type(message)], carries


def describe_letter(f: process.Server) -> dict[str, str | tuple[str, ...]]:
    """Return the variables of a server that a report shows."""
    role = "leads" if f.leads else f"follows p{f.leader}"
    activity = Activity(f.mode.value) if f.leader is None else Activity(role, f.mode.value)
    return {"": activity, "log": tuple(map(str, f.history)), **f.switches.described(f.waiting), **f.added.described()}


def describe(f: process.Server) -> dict[str, str | tuple[str, ...]]:
    """Return the variables that a report shows, including those that the repairs have added."""
    found = describe_letter(f)
    return {
        "": found[""],
        "epoch": str(f.recognised or "⊥"),
        "zxid": process.shown(f.zxid),
        "log": found["log"],
        **f.switches.described(f.waiting),
    }


def counts_what_only_it_hears(values: Mapping[str, object]) -> str:
    """Explain why the letter cannot do without COMMITs; "" if it need not."""
    if values.get("commits") != "acks":
        return ""
    return "commits=acks: a leader of `ladis-2008` counts FOLLOWERINFO, which no follower hears; `ladis` can do it"


_LEGEND = (
    ("", "⟨epoch,counter⟩: 32 bits each"),
    ("", "a leader is its own follower: what it sends to itself is not shown"),
)
_BOTH: dict[type[Message] | type[Stimulus], Step] = {
    Started: process.on_started,
    TakeSnapshot: process.on_take_snapshot,
    TimedOut: process.on_timed_out,
    Lost: process.on_lost,
    Request: broadcast.on_request,
}
_ALSO = ("epoch uniqueness", "zxid uniqueness", "zxid assignment")
_BY_BOTH = ("core", "causality", "ladis", *_ALSO, "liveness", "application")
_BY_REPAIRED = (*_BY_BOTH, "invariant 1", "invariant 2", "invariant 3", "chosen")
"""All properties except invariants 4 and 5, which are about steps that only DSN 2011 has: ACK-E and COMMIT-LD."""

LADIS = Protocol(
    name="ladis",
    summary="Zab as it was first published, with packed zxids and TRUNC; repaired",
    source="LADIS 2008, 4",
    steps={
        **_BOTH,
        Elected: recovery.on_elected,
        messages.FollowerInfo: recovery.on_follower_info,
        messages.NewEpoch: recovery.on_new_epoch,
        messages.AckEpoch: recovery.on_ack_epoch,
        messages.Fetch: recovery.on_fetch,
        messages.Supply: recovery.on_supply,
        messages.Trunc: recovery.on_trunc,
        messages.Proposal: broadcast.on_proposal,
        messages.NewLeader: recovery.on_new_leader,
        messages.Ack: broadcast.on_ack,
        messages.Commit: broadcast.on_commit,
    },
    start=process.start,
    abandon=process.abandon,
    can_broadcast=broadcast.can_broadcast,
    describe=describe,
    show=show,
    legend=(
        ("", "epoch: the last one recognised"),
        ("", "zxid: the highest, a new leader's record included"),
        *_LEGEND,
    ),
    kinds=KINDS,
    properties=_BY_REPAIRED,
    identity=process.identity,
    rename=process.rename,
    commutes=True,
    notices_at_once=process.has_taken_over,
    highest_epoch=process.highest_epoch,
    switches=LadisSwitches,
)

LADIS_2008 = Protocol(
    name="ladis-2008",
    summary="the same to the letter of the paper, which lets two leaders take one epoch (ZOOKEEPER-335)",
    source="LADIS 2008, 4",
    steps={
        **_BOTH,
        Elected: letter.on_elected,
        messages.FollowerInfo: letter.on_follower_info,
        messages.Fetch: recovery.on_fetch,
        messages.Supply: letter.on_supply,
        messages.Trunc: letter.on_trunc,
        messages.Proposal: broadcast.on_proposal,
        messages.Ack: broadcast.on_ack,
        messages.Commit: broadcast.on_commit,
    },
    start=process.start,
    abandon=process.abandon,
    can_broadcast=broadcast.can_broadcast,
    describe=describe_letter,
    show=show,
    legend=_LEGEND,
    kinds={kind: name for kind, name in KINDS.items() if kind not in _REPAIRS},
    properties=_BY_BOTH,
    identity=process.identity,
    rename=process.rename,
    commutes=True,
    notices_at_once=process.has_taken_over,
    highest_epoch=process.highest_epoch,
    switches=LadisSwitches,
    contradiction=counts_what_only_it_hears,
)

PROTOCOLS = (LADIS, LADIS_2008)

"""Zab with configurations that change: DSN 2011, with the protocol of USENIX ATC 2012 on top of it.

Shraer, Reed, Malkhi, Junqueira: "Dynamic Reconfiguration of Primary/Backup Clusters". The text of the paper was not at
hand, only its abstract and what its authors wrote elsewhere: the steps R.0 to R.12 of `steps` are what Zab needs for
its arguments to hold, one change at a time.
"""

from collections.abc import Mapping
from typing import Any

from zabcheck.invariants import OF_CHANGES
from zabcheck.protocols.base import WITHOUT_CLIENTS, Elected, Message, Protocol, Request, never
from zabcheck.protocols.environment import Environment
from zabcheck.protocols.reconfiguration import messages, process, steps
from zabcheck.protocols.zab import KINDS as KINDS_OF_ZAB
from zabcheck.protocols.zab import ZAB
from zabcheck.protocols.zab import describe as describe_zab
from zabcheck.protocols.zab import messages as zab
from zabcheck.protocols.zab import show as show_zab

_SAID_MORE: dict[type[Message], type[Message]] = {
    zab.CEpoch: messages.CEpoch,
    zab.NewEpoch: messages.NewEpoch,
    zab.CommitLd: messages.CommitLd,
    zab.Commit: messages.Commit,
}
"""By message of Zab: the one that says more in its place."""
_PLAIN = {more: plain for plain, more in _SAID_MORE.items()}
KINDS: dict[type[Message], str] = {_SAID_MORE.get(kind, kind): name for kind, name in KINDS_OF_ZAB.items()}


def show(message: Message) -> tuple[str, str]:
    """Return the name of a message and what it carries."""
    plain = _PLAIN.get(type(message), type(message))
    kind, carries = show_zab(plain(*[getattr(message, field) for field in plain.__struct_fields__]))
    match message:
        case messages.CEpoch() | messages.NewEpoch():
            carries += f", {message.active.configuration.name}"
        case messages.CommitLd() | messages.Commit() if message.designated is not None:
            carries += f", p{message.designated} leads on"
    return kind, carries


def describe(f: process.Member) -> dict[str, str | tuple[str, ...]]:
    """Return the variables of a process that a report shows."""
    return {**describe_zab(f), "active": f"{f.acting.txn}" if f.acting.zxid else f.acting.configuration.name}


def contradiction(values: Mapping[str, Any]) -> str:
    """Refuse an application: a configuration is no change of its state."""
    if values.get("application", "none") != "none":
        return "application: expected `none`, as a value that names a configuration is no change of a key-value state"
    return ""


RECONFIGURATION = Protocol(
    name="zab-reconfiguration",
    summary="Zab whose configuration changes: a transaction names the next one",
    source="USENIX ATC 2012 (Shraer et al.), on DSN 2011, IV and V",
    steps={
        **{kind: step for kind, step in ZAB.steps.items() if kind not in _SAID_MORE},
        Elected: steps.on_elected,
        messages.Designated: steps.on_designated,
        Request: steps.on_request,
        messages.CEpoch: steps.on_cepoch,
        messages.NewEpoch: steps.on_newepoch,
        zab.AckLd: steps.on_ack_ld,
        messages.CommitLd: steps.on_commit_ld,
        zab.Ack: steps.on_ack,
        messages.Commit: steps.on_commit,
    },
    start=process.starting(process.Member),
    abandon=process.abandon,
    can_broadcast=ZAB.can_broadcast,
    describe=describe,
    show=show,
    legend=(*ZAB.legend, ("active", "the configuration that decides")),
    kinds=KINDS,
    properties=(
        *(group for group in WITHOUT_CLIENTS if group != "application"),
        *(kind.name for kind in OF_CHANGES),
    ),
    identity=process.identity,
    rename=process.rename,
    highest_epoch=ZAB.highest_epoch,
    commutes=True,
    notices_at_once=never,  # R.1 and R.6 count who is there
    hands_over=process.hands_over,
    environment=Environment(configurations=True, moves={"reconfigure": 6}, switches={"application": ()}),
    governing=process.governing,
    active=lambda f: f.acting.configuration,
    contradiction=contradiction,
)

PROTOCOLS = (RECONFIGURATION,)

"""ZooKeeper with configurations that change (reconfiguration, 3.5.0 to 3.9.5), on top of the model of the rest.

Each step names its Java method, as there. Unlike in the protocol of USENIX ATC 2012, configurations are kept in files
beside the log, and are told in the election and by NEWLEADER. `docs/zookeeper-reconfiguration.md` has what is modelled,
and what is found.

Differences from ZooKeeper: no configuration names its observers, as all servers outside of it are some, or none; and
there are only majorities. What notifications of an election say of configurations, FOLLOWERINFO and LEADERINFO say
here: who follows and who leads have heard of each other's before. Any server may be told any leader; that its vote is
the greatest is not asked (`elections=apart`). The first leader does not give the first configuration a version of its
own (1783).
"""

from collections.abc import Mapping

from zabcheck.invariants import OF_CHANGES
from zabcheck.protocols.base import Elected, Message, Protocol, Request, Step, Stimulus, TimedOut, never
from zabcheck.protocols.environment import Environment
from zabcheck.zookeeper.model import KINDS as KINDS_OF_ZOOKEEPER
from zabcheck.zookeeper.model import STEPS as STEPS_OF_ZOOKEEPER
from zabcheck.zookeeper.model import ZOOKEEPER, threads
from zabcheck.zookeeper.model import describe as describe_server
from zabcheck.zookeeper.model import messages as plain
from zabcheck.zookeeper.model import show as show_plain
from zabcheck.zookeeper.model.reconfiguration import member, messages, steps, switches, versions

_SAYS_MORE: Mapping[type[Message], type[Message]] = {
    messages.FollowerInfo: plain.FollowerInfo,
    messages.LeaderInfo: plain.LeaderInfo,
    messages.NewLeader: plain.NewLeader,
    messages.UpToDate: plain.UpToDate,
}
"""By packet: the one of ZooKeeper that it replaces."""
KINDS: dict[type[Message], str] = {
    **{kind: name for kind, name in KINDS_OF_ZOOKEEPER.items() if kind not in _SAYS_MORE.values()},
    **{more: KINDS_OF_ZOOKEEPER[kind] for more, kind in _SAYS_MORE.items()},
    messages.ObserverInfo: "OBSERVERINFO",
    messages.CommitAndActivate: "COMMITANDACTIVATE",
    messages.Inform: "INFORM",
    messages.InformAndActivate: "INFORMANDACTIVATE",
}


def show(message: Message) -> tuple[str, str]:
    """Return the name of a packet and its contents."""
    match message:
        case messages.CommitAndActivate():
            return KINDS[type(message)], f"{message.zxid}, p{message.designated} leads on"
        case messages.InformAndActivate():
            return KINDS[type(message)], f"{message.txn}, p{message.designated} leads on"
        case messages.Inform():
            return KINDS[type(message)], str(message.txn)
        case messages.FollowerInfo():
            return KINDS[type(message)], f"{message.accepted_epoch}, {message.active}"
        case messages.LeaderInfo():
            return KINDS[type(message)], f"{message.epoch}, {message.active}"
        case messages.NewLeader():
            active = "" if message.active is None else f", active {message.active}"
            return KINDS[type(message)], f"{message.epoch}, {message.seen}{active}"
        case messages.UpToDate():
            return KINDS[type(message)], "" if message.active is None else str(message.active)
    return show_plain(message)


def describe(f: member.Member) -> dict[str, str | tuple[str, ...]]:
    """Return the variables of a server that a report shows."""
    return {**describe_server(f), "active": str(f.acting), "last seen": str(f.last_seen)}


_STEPS: Mapping[type[Message] | type[Stimulus], Step] = {
    **{kind: step for kind, step in STEPS_OF_ZOOKEEPER.items() if kind not in _SAYS_MORE.values()},
    Elected: steps.on_elected,
    member.Designated: steps.on_designated,
    TimedOut: steps.on_timed_out,
    Request: steps.on_request,
    messages.FollowerInfo: steps.on_follower_info,
    messages.ObserverInfo: steps.on_follower_info,
    messages.LeaderInfo: steps.on_leader_info,
    plain.Proposal: threads.reading(steps.on_proposal),
    messages.CommitAndActivate: threads.reading(steps.on_commit_and_activate),
    messages.Inform: threads.reading(steps.on_inform),
    messages.InformAndActivate: threads.reading(steps.on_inform_and_activate),
    messages.NewLeader: threads.reading(steps.on_new_leader),
    messages.UpToDate: threads.reading(steps.on_up_to_date),
}

RECONFIGURATION = Protocol(
    name="zookeeper-reconfiguration",
    summary="Zab as Apache ZooKeeper implements it, with configurations that change",
    source="ZooKeeper 3.5.0 to 3.9.5",
    steps={kind: threads.with_threads(step) for kind, step in _STEPS.items()},
    start=member.start,
    abandon=member.abandon,
    can_broadcast=ZOOKEEPER.can_broadcast,
    describe=describe,
    show=show,
    legend=(
        *ZOOKEEPER.legend,
        ("active", "the configuration that decides"),
        ("last seen", "the configuration that was proposed last"),
    ),
    kinds=KINDS,
    properties=(
        *(each for each in ZOOKEEPER.properties or () if each != "liveness"),
        *(kind.name for kind in OF_CHANGES),
    ),
    identity=member.identity,
    rename=member.rename,
    highest_epoch=ZOOKEEPER.highest_epoch,
    commutes=True,
    notices_at_once=never,  # a request for a change counts who is there
    hands_over=lambda f: f.designated is not None,
    environment=Environment(
        never=("sync", "corrupt", "stabilise", "quiesce"),
        moves={"reconfigure": 6, "sync": 0, "corrupt": 0},
        switches={
            "histories": (),
            "sync": (),
            "elections": ((100, "apart"),),
            "application": (),
            "closing": (),
            "window": ((25, 1), (25, 2)),
        },
        configurations=True,
    ),
    active=lambda f: f.acting.configuration,
    switches=switches.ReconfigurationSwitches,
    contradiction=versions.contradiction,
)

PROTOCOLS = (RECONFIGURATION,)

"""The variables of a server that an exhaustive search looks at: all that a step reads, and no others."""

from collections.abc import Sequence
from copy import copy
from typing import Any

import pytest
from msgspec.structs import replace

from invariants import Chain, Zxid
from tests.zookeeper.model.builders import A, B, D, following, leading, switches, syncing
from zabcheck.protocols.base import Elected, Lost, Request, Stimulus, TakeSnapshot, TimedOut
from zabcheck.zookeeper.model import ZOOKEEPER, messages
from zabcheck.zookeeper.model.identity import identity, rename
from zabcheck.zookeeper.model.server import Link, Mode, Outstanding, Phase, Server

STARTING = leading(A, phase=Phase.DISCOVERY, links={}, epoch=0, finished=False, new_leader_acks=())
"""A leader before it has chosen an epoch."""
DISCOVERING = leading(A, phase=Phase.DISCOVERY, links={2: Link.ASKED}, finished=False, new_leader_acks=())
FORMING = leading(A, phase=Phase.DISCOVERY, links={2: Link.SYNCING}, finished=True, new_leader_acks=())
SERVING = leading(A, links={2: Link.SYNCED, 3: Link.SYNCED}, finished=True)
TOLD = leading(A, phase=Phase.DISCOVERY, links={2: Link.DISCOVERED}, finished=False, new_leader_acks=())

VARIABLES: dict[str, tuple[Any, Any, Server, Server]] = {
    "connecting": ({1: 1}, {1: 1, 2: 1}, STARTING, DISCOVERING),
    "summary": ((1, A.zxid), (1, B.zxid), DISCOVERING, FORMING),
    "electing": ((1,), (1, 3), DISCOVERING, FORMING),
    "peers": ({2: A.zxid}, {2: B.zxid}, TOLD, FORMING),
    "new_leader_acks": ((1,), (1, 3), FORMING, SERVING),
    "queued": (A.zxid, B.zxid, syncing(Mode.DIFF, A), following(A)),
    "acknowledged": (False, True, syncing(Mode.DIFF, A), following(A)),
    "received": (Chain.of((A,)), Chain.of((A, B)), syncing(Mode.SNAP, A), following(A)),
}
"""Two values of each variable that is not always read, a server that still reads it, and one that does not."""

STIMULI: Sequence[tuple[int, messages.Message | Stimulus]] = (
    (2, messages.FollowerInfo(2)),
    (3, messages.FollowerInfo(1)),
    (2, messages.AckEpoch(1, B.zxid)),
    (2, messages.Ack(Zxid(2, 0))),
    (3, messages.Ack(Zxid(2, 1))),
    (1, messages.Diff(B.zxid)),
    (1, messages.Trunc(A.zxid)),
    (1, messages.Snap(B.zxid, Chain.of((A, B)))),
    (1, messages.Proposal(D)),
    (1, messages.Commit(D.zxid)),
    (1, messages.NewLeader(2)),
    (1, messages.UpToDate()),
    (2, Lost(2)),
    (1, Lost(1)),
    (1, Elected(1)),
    (1, Elected(3)),
    (1, TimedOut()),
    (1, Request("x")),
    (1, TakeSnapshot()),
)


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_tells_servers_apart_as_long_as_it_is_read(name: str) -> None:
    one, other, reads, reads_no_more = VARIABLES[name]
    assert identity(replace(reads, **{name: one})) != identity(replace(reads, **{name: other}))
    assert identity(replace(reads_no_more, **{name: one})) == identity(replace(reads_no_more, **{name: other}))


@pytest.mark.parametrize("name", VARIABLES)
def test_no_step_reads_what_does_not_tell_servers_apart(name: str) -> None:
    one, other, _, server = VARIABLES[name]
    for sender, stimulus in STIMULI:
        twins = [copy(replace(server, **{name: value})) for value in (one, other)]
        effects = [ZOOKEEPER.steps[type(stimulus)](twin, sender, stimulus) for twin in twins]
        assert effects[0] == effects[1], stimulus
        assert identity(twins[0]) == identity(twins[1]), stimulus


def test_what_a_leader_has_heard_has_no_order() -> None:
    links = {2: Link.SYNCED, 3: Link.SYNCING}
    turned = dict(reversed(links.items()))
    acked = [(Outstanding(D, acks),) for acks in ((2, 1), (1, 2), (1,))]
    assert identity(replace(SERVING, links=links)) == identity(replace(SERVING, links=turned))
    assert identity(replace(SERVING, links=links)) != identity(replace(SERVING, links={2: Link.SYNCED}))
    same, too, less = (identity(replace(SERVING, outstanding=each)) for each in acked)
    assert same == too != less


def test_handlers_wake_up_in_an_order() -> None:
    links = {2: Link.SYNCED, 3: Link.SYNCING}
    woken = replace(SERVING, links=links, switches=replace(switches(), grain="G5"))
    assert identity(woken) != identity(replace(woken, links=dict(reversed(links.items()))))


def test_a_server_is_renamed_with_all_whom_it_knows() -> None:
    names = (0, 3, 1, 2)
    known = replace(SERVING, outstanding=(Outstanding(D, (1, 2)),), peers={2: A.zxid}, links={2: Link.DISCOVERED})
    renamed = rename(known, names)
    assert (renamed.id, renamed.leader, renamed.links) == (3, 3, {1: Link.DISCOVERED})
    assert (renamed.peers, renamed.outstanding[0].acks) == ({1: A.zxid}, (3, 1))
    assert rename(rename(renamed, names), names) == known
    assert rename(messages.NewLeader(2), names) == messages.NewLeader(2)

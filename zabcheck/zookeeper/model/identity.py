"""The variables of a server that still matter: an exhaustive search identifies two servers if only others differ.

A variable of an iteration keeps its last value when nothing will read it any more, and a leader keeps the reports of
its followers in the order of their arrival, which nothing asks for. Without this, a search would have a state for each
of these values and orders, although they have the same successors.
"""

from collections.abc import Hashable, Sequence
from typing import Any

from msgspec.structs import replace

from zabcheck.protocols.base import ProcessId, renamed
from zabcheck.zookeeper.model.server import Link, Server


def identity(f: Server) -> tuple[Hashable, ...]:
    """Return all variables that a server's further steps depend on. O(size of the server).

    Left out are variables that never change in a run, and those that nothing reads any more:

    - `connecting`, once the epoch is chosen (`getEpochToPropose` no longer looks at it then);
    - `summary` and `electing`, once the initial history is settled (`waitForEpochAck` compares no one after that);
    - `peers` of a follower whose synchronisation has been queued: its queue is made only once;
    - `new_leader_acks`, once the leader serves (`waitForNewLeaderAck` does not count after that);
    - `queued`, `acknowledged` and `received` of a follower that serves: they are of its synchronisation, and
      the end of an iteration looks at them only where the server did not serve.

    Acknowledgements, connecting servers and links have no order: a leader asks if they are a quorum, and its messages
    to all of them go to different connections. In the grain G5 the order of the links is that in which handlers wake
    up, and stays.
    """
    read = {name: getattr(f, name) for name in _CHANGING}
    read["unsent"] = tuple(f.unsent.items())
    if f.leads:
        read["connecting"] = None if f.epoch else frozenset(f.connecting.items())
        if f.finished:
            read["summary"] = read["electing"] = None
        else:
            read["electing"] = frozenset(f.electing)
        read["peers"] = frozenset((p, zxid) for p, zxid in f.peers.items() if f.links.get(p) is Link.DISCOVERED)
        read["new_leader_acks"] = None if f.running else frozenset(f.new_leader_acks)
        read["outstanding"] = tuple((each.txn, frozenset(each.acks)) for each in f.outstanding)
        read["links"] = tuple(f.links.items()) if f.switches.grain == "G5" else frozenset(f.links.items())
    else:
        for name in ("connecting", "links", "peers"):
            read[name] = tuple(read[name].items())
        if f.running:
            read["queued"] = read["acknowledged"] = read["received"] = None
    return tuple(read.values())


_CHANGING = tuple(
    name
    for name in Server.__struct_fields__
    if name not in ("id", "incarnation", "quorums", "switches", "version", "window")
)


def rename(value: Any, names: Sequence[ProcessId]) -> Any:
    """Return a server or a packet with process i called `names[i]`; no packet of a connection names a process.

    Only elections treat servers differently: an id breaks a tie of two votes. `election` is not renamed.
    """
    if not isinstance(value, Server):
        return value

    def named(processes: tuple[ProcessId, ...]) -> tuple[ProcessId, ...]:
        return tuple(names[process] for process in processes)

    return replace(
        value,
        id=names[value.id],
        leader=None if value.leader is None else names[value.leader],
        connecting=renamed(value.connecting, names),
        electing=named(value.electing),
        links=renamed(value.links, names),
        peers=renamed(value.peers, names),
        unsent=renamed(value.unsent, names),
        new_leader_acks=named(value.new_leader_acks),
        due=named(value.due),
        outstanding=tuple(replace(each, acks=named(each.acks)) for each in value.outstanding),
    )

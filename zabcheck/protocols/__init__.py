"""The protocols that can be checked, by name; a protocol's module is imported when it is asked for."""

from collections.abc import Iterator, Mapping
from importlib import import_module

from zabcheck.protocols.base import Protocol

_MODULES = {
    "zab": "zabcheck.protocols.zab",
    "zab-reconfiguration": "zabcheck.protocols.reconfiguration",
    "ladis": "zabcheck.protocols.ladis",
    "ladis-2008": "zabcheck.protocols.ladis",
    "paxos": "zabcheck.protocols.paxos",
    "paxos-unordered": "zabcheck.protocols.paxos",
    "paxos-one-outstanding": "zabcheck.protocols.paxos",
    "paxos-batches": "zabcheck.protocols.paxos",
    "paxos-barrier": "zabcheck.protocols.paxos",
    "paxos-one-proposer": "zabcheck.protocols.paxos",
    "causal": "zabcheck.protocols.causal",
    "channel": "zabcheck.protocols.channel",
    "db19": "zabcheck.protocols.db19",
    "db19-fifo": "zabcheck.protocols.db19",
    "zookeeper": "zabcheck.zookeeper.model",
    "zookeeper-reconfiguration": "zabcheck.zookeeper.model.reconfiguration",
}
"""The module that defines each protocol, in its `PROTOCOLS`."""


class _Registry(Mapping[str, Protocol]):
    """All protocols of `_MODULES`."""

    def __getitem__(self, name: str) -> Protocol:
        """Import the protocol's module and return the protocol. KeyError if there is none of that name."""
        protocols: tuple[Protocol, ...] = import_module(_MODULES[name]).PROTOCOLS
        return next(protocol for protocol in protocols if protocol.name == name)

    def __contains__(self, name: object) -> bool:
        return name in _MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


PROTOCOLS: Mapping[str, Protocol] = _Registry()

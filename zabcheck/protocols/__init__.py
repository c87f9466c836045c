"""The protocols that can be checked, by name."""

from zabcheck.protocols.base import Protocol
from zabcheck.protocols.paxos import VARIANTS
from zabcheck.protocols.zab import ZAB

PROTOCOLS: dict[str, Protocol] = {protocol.name: protocol for protocol in (ZAB, *VARIANTS)}

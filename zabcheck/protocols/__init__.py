"""The protocols that can be checked, by name."""

from zabcheck.protocols.base import Protocol
from zabcheck.protocols.db19 import DB19, DB19_FIFO
from zabcheck.protocols.ladis import LADIS, LADIS_2008
from zabcheck.protocols.paxos import VARIANTS
from zabcheck.protocols.zab import ZAB
from zabcheck.protocols.zookeeper import ZOOKEEPER

PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol for protocol in (ZAB, LADIS, LADIS_2008, *VARIANTS, DB19, DB19_FIFO, ZOOKEEPER)
}

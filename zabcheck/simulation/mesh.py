"""Channels in which every process can send to every other from the start, without opening a connection.

Each link from one process to another is a `Connection` of which only the queue to its "leader" is used. So cuts, holds,
stalls and overtaking work as they do elsewhere. No link ever closes. A reset loses what is under way between two
processes, and their links go on: so a partition that heals can lose what was sent while it lasted.

Not yet good: `Mesh` extends `Channels` and uses half of each connection, so it inherits `open`, `close` and `notice`,
which no run of a protocol on a mesh may call. Both could instead share the queue of one direction.
"""

from zabcheck.protocols.base import Message
from zabcheck.simulation.channels import Channels, Lost
from zabcheck.simulation.network import Connection


class Mesh(Channels):
    """The links between processes 1 to `processes`; every process hears from all the others."""

    __slots__ = ()

    def __init__(self, processes: int, lost: Lost, *, abrupt: bool = False) -> None:
        super().__init__(processes, lost, abrupt=abrupt)
        self.following = list(range(processes + 1))
        for process in range(1, processes + 1):
            for to in range(1, processes + 1):
                if process != to:
                    self.connections[process, to] = Connection(process, to)

    def send(self, process: int, to: int, message: Message) -> int:
        """Send `message` and return its number among all messages."""
        self.messages += 1
        self.connections[process, to].to_leader.append((message, self.messages))
        return self.messages

    def reset(self, process: int, peer: int) -> bool:
        """Lose what is under way between the two processes; return whether there was something."""
        links = [self.connections[pair] for pair in ((process, peer), (peer, process)) if pair in self.connections]
        parcels = [parcel for link in links for parcel in link.to_leader]
        for link in links:
            link.to_leader.clear()
        self.lost(parcels)
        return bool(parcels)

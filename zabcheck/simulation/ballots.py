"""The messages of an election (`base.Cast`): from any process to any other, outside of the connections to leaders.

Each process has a link of its own with every other one for them, in both directions. A link keeps the order, and
nothing that is in it is lost while the receiver is up. A cut delays them; no connection that breaks or stalls does.
What is said once more while it still is under way is not sent again. A process that was down finds the last one of each
sender only.
"""

from collections import deque

from zabcheck.protocols.base import Message
from zabcheck.simulation.network import Parcel
from zabcheck.simulation.obstacles import Obstacles


class Ballots:
    """The messages of elections that are under way, none at first; `queues` by (sender, receiver), none empty."""

    __slots__ = ("obstacles", "queues")

    def __init__(self, obstacles: Obstacles) -> None:
        self.obstacles = obstacles
        self.queues: dict[tuple[int, int], deque[Parcel]] = {}

    def copy(self, obstacles: Obstacles) -> "Ballots":
        """Return an independent copy. O(messages under way)."""
        twin = Ballots(obstacles)
        twin.queues = {link: queue.copy() for link, queue in self.queues.items()}
        return twin

    def cast(self, sender: int, receiver: int, message: Message, number: int) -> bool:
        """Send a message; False if the last one under way says the same."""
        queue = self.queues.setdefault((sender, receiver), deque())
        if queue and queue[-1][0] == message:
            return False
        queue.append((message, number))
        return True

    def waiting(self) -> list[tuple[int, int, int]]:
        """Return (process, sender, number of messages) for each link from which a message can be heard now."""
        if not self.queues:
            return []
        cuts, paused = self.obstacles.cuts, self.obstacles.paused
        return sorted(
            (receiver, sender, len(queue))
            for (sender, receiver), queue in self.queues.items()
            if (sender, receiver) not in cuts and receiver not in paused
        )

    def take(self, process: int, sender: int) -> Parcel | None:
        """Remove and return the next message from `sender`, for `process` to hear; None if none gets through."""
        link = sender, process
        if link not in self.queues or link in self.obstacles.cuts:
            return None
        queue = self.queues[link]
        parcel = queue.popleft()
        if not queue:
            del self.queues[link]
        return parcel

    def miss(self, process: int) -> list[Parcel]:
        """Forget what is on its way to a process that is down, but for the last message of each sender."""
        queues = [queue for (_, receiver), queue in self.queues.items() if receiver == process]
        return [queue.popleft() for queue in queues for _ in range(len(queue) - 1)]

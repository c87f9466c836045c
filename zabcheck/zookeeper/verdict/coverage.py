"""The share of the servers' deliveries that the trace has, by their transaction logs."""

from msgspec import Struct

from zabcheck.invariants.events import Deliver, Restore, Txn, Zxid
from zabcheck.zookeeper.recording.records import Disk
from zabcheck.zookeeper.trace.incarnations import SortedRecording
from zabcheck.zookeeper.trace.observe import ObservedRun


class Coverage(Struct, frozen=True):
    """The number of transactions in a server's log up to the last one delivered, and the number delivered."""

    server: int
    logged: int
    delivered: int
    missing: tuple[Txn, ...] = ()

    @property
    def share(self) -> float:
        """The share that was delivered, from 0 to 1."""
        return self.delivered / self.logged if self.logged else 1.0


def coverage(recording: SortedRecording, observation: ObservedRun) -> list[Coverage]:
    """Compare, for each server, the transaction log at the end with the deliveries in the trace.

    Transactions in a snapshot count as delivered. O(events + records of the logs).
    """
    delivered: dict[int, dict[Txn, None]] = {}
    restored: dict[int, Zxid] = {}
    for event in observation.events:
        if isinstance(event, Deliver):
            delivered.setdefault(event.process, {})[event.txn] = None
        elif isinstance(event, Restore):
            restored[event.process] = max(event.zxid, restored.get(event.process, event.zxid))
    found = []
    for number, server in recording.by_server.items():
        disk: Disk | None = next(
            (incarnation.after for incarnation in reversed(server) if incarnation.after is not None), None
        )
        own = delivered.get(number, {})
        if disk is None or not own:
            continue
        last, brought = max(txn.zxid for txn in own), restored.get(number)
        logged = dict.fromkeys(txn for txn in map(recording.names.txn, disk.log) if txn.zxid <= last)
        missing = [txn for txn in logged if txn not in own and (brought is None or txn.zxid > brought)]
        found.append(Coverage(number, len(logged), len(logged) - len(missing), tuple(missing)))
    return found

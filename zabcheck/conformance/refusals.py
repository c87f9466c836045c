"""Why a move is not taken: the recording rules it out, or a tree is missing."""

from invariants import Chain, Txn, Zxid
from zabcheck.conformance.attempt import Attempt
from zabcheck.conformance.observations import Reads
from zabcheck.protocols.zookeeper.database import Snapshot
from zabcheck.protocols.zookeeper.server import Phase, Server
from zabcheck.simulation import choices


class Refused(Exception):
    """The recording rules this move out; the message says why, as a sentence."""


class Halted(Refused):
    """The server would end itself, which is another matter only when it is started."""


class WaitsForTree(Exception):
    """A SNAP is to be read whose tree is not known yet: that of packet `packet`."""

    def __init__(self, packet: int) -> None:
        super().__init__(packet)
        self.packet = packet


def other_log(log: tuple[Txn, ...], synced: int, disk: tuple[Txn, ...]) -> str:
    """Say how the log of the model differs from that on the disk."""
    same = next((i for i, (a, b) in enumerate(zip(log, disk, strict=False)) if a != b), min(len(log), len(disk)))
    if same < len(log) and same < len(disk):
        return f"record {same + 1} of its log would be {log[same]}, and its disk has {disk[same]}"
    if same < len(disk):
        return f"its log would end before {disk[same]}, which its disk has"
    return f"its log would have {log[len(disk)]} on the disk, which its disk has not ({synced} records are forced)"


def on_disk(server: Server, disk: tuple[Zxid, ...]) -> tuple[Snapshot, ...]:
    """Return those of the snapshots of the model that its disk has, by their labels. Refused if it has others.

    What a leader writes before it does anything else may be missing: the server says first that it leads.
    """
    beginning = server.leads and server.phase is Phase.DISCOVERY
    certain = server.snapshots[:-1] if beginning else server.snapshots
    missing = [each.label for each in certain if each.label not in disk]
    if missing:
        raise Refused(f"its disk would have the snapshot {missing[0]}, and does not have it")
    labels = [each.label for each in server.snapshots]
    others = [label for label in disk if label not in labels]
    if others:
        raise Refused(f"its disk would not have the snapshot {others[0]}, and has it")
    return tuple(each for each in server.snapshots if each.label in disk)


def other_tree(tree: Chain, read: Reads) -> str:
    """Say how the tree of the model differs from what was read; "" if it does not. O(length of the tree)."""
    had = frozenset(tree)
    if read.there - had:
        return f"its tree would not have {min(read.there - had)}, which was read"
    return f"its tree would have {min(read.absent & had)}, which was not read" if read.absent & had else ""


def condition(attempt: Attempt) -> str:
    """Say on what condition the server would do something, as the beginning of a sentence: the move that led here."""
    if attempt.read:
        return f"if it read packet {attempt.read}, "
    match attempt.choice:
        case choices.Run(thread=thread):
            return f"if its thread {thread} went on, "
        case choices.Request():
            return "if it took a request, "
    return ""

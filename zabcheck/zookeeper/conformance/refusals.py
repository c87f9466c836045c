"""The reasons why a move is not taken: the recording rules it out, or a tree is missing."""

from zabcheck.invariants import Chain, Txn, Zxid
from zabcheck.simulation import choices
from zabcheck.zookeeper.conformance.attempt import Attempt
from zabcheck.zookeeper.conformance.observations import Ends, Reads
from zabcheck.zookeeper.model.database import Snapshot
from zabcheck.zookeeper.model.server import Phase, Server


class RuledOut(Exception):
    """The recording rules this move out; the message is the reason, as a sentence."""


class Halted(RuledOut):
    """The server would end itself, which is another matter only when it is started."""


class WaitsForTree(Exception):
    """A SNAP is to be read whose tree is not known yet: that of packet `packet`."""

    def __init__(self, packet: int) -> None:
        super().__init__(packet)
        self.packet = packet


def other_log(log: tuple[Txn, ...], synced: int, disk: tuple[Txn, ...]) -> str:
    """Return the difference of the log of the model from that on the disk, as text."""
    same = next((i for i, (a, b) in enumerate(zip(log, disk, strict=False)) if a != b), min(len(log), len(disk)))
    if same < len(log) and same < len(disk):
        return f"record {same + 1} of its log would be {log[same]}, and its disk has {disk[same]}"
    if same < len(disk):
        return f"its log would end before {disk[same]}, which its disk has"
    return f"its log would have {log[len(disk)]} on the disk, which its disk has not ({synced} records are forced)"


def compare_log(attempt: Attempt, disk: tuple[Txn, ...], appended: int) -> None:
    """Refuse a log that cannot become that of the disk, now that `appended` records more are in it.

    A record that was there already may be there once. Records after a TRUNC begin a new file, which has the
    name of its first record (`FileTxnLog.append`). If TRUNC has kept that record (N2), and a file began with it, that
    file is overwritten.
    """
    log = attempt.server.log
    if appended == 1 and log[-2:-1] == log[-1:] and log[: len(disk)] != disk[: len(log)]:
        log = attempt.server.log = log[:-1]
    first = len(log) - 1 if appended == 1 else 0
    if log[first : len(disk)] != disk[first : len(log)]:
        raise RuledOut(f"{condition(attempt)}{other_log(log, len(log), disk)}")


def compare_disk(server: Server, synced: int, disk: Ends) -> None:
    """Refuse a disk with other epochs or another log than the server ends with; `synced` records of that are forced."""
    if disk.log is None:
        return
    if (disk.accepted_epoch, disk.current_epoch) != (server.accepted_epoch, server.current_epoch):
        raise RuledOut(
            f"acceptedEpoch and currentEpoch would be {server.accepted_epoch} and {server.current_epoch}, "
            f"and its disk has {disk.accepted_epoch} and {disk.current_epoch}"
        )
    if not synced <= len(disk.log) <= len(server.log) or server.log[: len(disk.log)] != disk.log:
        raise RuledOut(other_log(server.log, synced, disk.log))


def on_disk(server: Server, disk: tuple[Zxid, ...]) -> tuple[Snapshot, ...]:
    """Return the snapshots of the model that its disk has, by their labels. Refused if it has others.

    Snapshots that a leader writes before anything else may be missing: the server first logs that it leads.
    """
    beginning = server.leads and server.phase is Phase.DISCOVERY
    certain = server.snapshots[:-1] if beginning else server.snapshots
    missing = [each.label for each in certain if each.label not in disk]
    if missing:
        raise RuledOut(f"its disk would have the snapshot {missing[0]}, and does not have it")
    labels = [each.label for each in server.snapshots]
    others = [label for label in disk if label not in labels]
    if others:
        raise RuledOut(f"its disk would not have the snapshot {others[0]}, and has it")
    return tuple(each for each in server.snapshots if each.label in disk)


def other_tree(tree: Chain, read: Reads) -> str:
    """Return the difference of the model's tree from the final read as text, or "". O(length of the tree)."""
    had = frozenset(tree)
    if read.there - had:
        return f"its tree would not have {min(read.there - had)}, which was read"
    return f"its tree would have {min(read.absent & had)}, which was not read" if read.absent & had else ""


def condition(attempt: Attempt) -> str:
    """Return the condition on which the server would act, as the beginning of a sentence: the move that led here."""
    if attempt.read:
        return f"if it read packet {attempt.read}, "
    match attempt.choice:
        case choices.Run(thread=thread):
            return f"if its thread {thread} went on, "
        case choices.Request():
            return "if it took a request, "
    return ""

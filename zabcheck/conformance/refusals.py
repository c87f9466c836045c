"""Why a move is not taken: the recording rules it out, or a tree is missing."""

from invariants import Txn


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

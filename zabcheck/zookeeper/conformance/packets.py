"""Packets of a recording as messages of the model, and both as keys that are equal for equal contents."""

from zabcheck.invariants import Chain, Txn, Zxid
from zabcheck.protocols.base import Message
from zabcheck.zookeeper.model import KINDS, messages
from zabcheck.zookeeper.recording.records import Sent
from zabcheck.zookeeper.trace.names import Names
from zabcheck.zookeeper.wire.zxids import epoch_of

Key = tuple[str, ...] | tuple[str, int] | tuple[str, Zxid] | tuple[str, Txn] | tuple[str, int | None, Zxid]
"""The name of a packet, and all its contents; for SNAP, which is recorded without the tree, its zxid only."""

MODELLED = frozenset(KINDS.values())
"""The names of the packets that the model has."""
BESIDE = frozenset(("REQUEST", "PING", "REVALIDATE", "SYNC"))
"""The names of the packets that are no part of Zab: requests on their way to the leader, sessions, reads."""

_UNSIGNED = 0xFFFF_FFFF_FFFF_FFFF


def key_of_packet(packet: Sent, names: Names) -> Key:
    """Return the key of a recorded packet. ValueError if a PROPOSAL's transaction could not be decoded."""
    zxid = Zxid.unpack(packet.zxid & _UNSIGNED)
    match packet.kind:
        case "FOLLOWERINFO" | "LEADERINFO" | "NEWLEADER":
            return packet.kind, zxid.epoch
        case "ACKEPOCH":
            return packet.kind, packet.epoch if packet.epoch is not None and packet.epoch >= 0 else None, zxid
        case "PROPOSAL":
            if packet.txn is None:
                raise ValueError(f"packet {packet.packet}: the transaction of a PROPOSAL could not be decoded")
            return packet.kind, names.txn(packet.txn)
        case "UPTODATE":
            return (packet.kind,)
    return packet.kind, zxid


def key_of_message(message: Message) -> Key:
    """Return the key of a message of the model."""
    kind = KINDS[type(message)]
    match message:
        case messages.FollowerInfo():
            return kind, message.accepted_epoch
        case messages.LeaderInfo() | messages.NewLeader():
            return kind, message.epoch
        case messages.AckEpoch():
            return kind, message.current_epoch, message.zxid
        case messages.Proposal():
            return kind, message.txn
        case messages.UpToDate():
            return (kind,)
        case messages.Diff() | messages.Trunc() | messages.Snap() | messages.Commit() | messages.Ack():
            return kind, message.zxid
    raise TypeError(f"not a packet of ZooKeeper: {message!r}")


def message_of(packet: Sent, names: Names, tree: Chain | None) -> Message:
    """Return the message of the model for a recorded packet; `tree` is the one that comes with a SNAP."""
    zxid = Zxid.unpack(packet.zxid & _UNSIGNED)
    match packet.kind:
        case "FOLLOWERINFO":
            return messages.FollowerInfo(epoch_of(packet.zxid))
        case "LEADERINFO":
            return messages.LeaderInfo(zxid.epoch)
        case "ACKEPOCH":
            return messages.AckEpoch(packet.epoch if packet.epoch is not None and packet.epoch >= 0 else None, zxid)
        case "DIFF":
            return messages.Diff(zxid)
        case "TRUNC":
            return messages.Trunc(zxid)
        case "SNAP":
            assert tree is not None, "a SNAP is read with its tree"
            return messages.Snap(zxid, tree)
        case "PROPOSAL":
            assert packet.txn is not None, "its key was made"
            return messages.Proposal(names.txn(packet.txn))
        case "COMMIT":
            return messages.Commit(zxid)
        case "NEWLEADER":
            return messages.NewLeader(zxid.epoch)
        case "ACK":
            return messages.Ack(zxid)
        case "UPTODATE":
            return messages.UpToDate()
    raise ValueError(f"not a packet of the model: {packet.kind}")


def in_parts(key: Key) -> tuple[str, str]:
    """Return the name of a packet and its contents as text: "1, ⟨1,7⟩"."""
    kind, *carries = key
    return kind, ", ".join("-1" if each is None else str(each) for each in carries)


def in_words(key: Key) -> str:
    """Return a packet as text: "ACKEPOCH(1, ⟨1,7⟩)"."""
    kind, carries = in_parts(key)
    return f"{kind}({carries})" if carries else kind

"""The steps of a follower (DSN 2011, IV), as rules for the packets that ZooKeeper's follower sends.

    f.1.2  ACKEPOCH (f.a or -1, last zxid)     ACK-E
    f.2.1  the first ACK ⟨e,0⟩                 ACK-LD
    f.3.2  ACK of a transaction                ACK

Read in Learner.registerWithLeader and syncWithLeader, Follower.processPacket and SendAckRequestProcessor of
3.6.3, 3.8.0, 3.9.3 and 3.9.5. The rules here are those that real servers break while they do what the model of their
version does, and one that known issues are recognised by. Whatever else the paper demands of a follower, the comparison
with the model demands too (`conformance`).
"""

from zabcheck.zookeeper.recording.iteration import NOT_AGAIN, EpochAck
from zabcheck.zookeeper.recording.records import Sent
from zabcheck.zookeeper.rules.knowledge import Claim, JudgedConnection
from zabcheck.zookeeper.rules.rule import Rule, Wrong, rule
from zabcheck.zookeeper.wire.zxids import epoch_of, is_txn, shown


@rule("f.1.2", "a follower never forgets a transaction that it acknowledged")
def ack_e_keeps_the_history(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Step f.1.2, ACKEPOCH: h_f holds what was acknowledged in steps f.2.1 and f.3.2, or said here before.

    Exempt is what a leader had it give up, by a TRUNC or SNAP that was passed on, and a server whose disk was wiped. A
    TRUNC by the leader of the same epoch exempts nothing: that leader's history has all of its epoch, and it counts the
    ACK. What a leader shows by a COMMIT that needed its own vote counts as acknowledged, as its log has to be durable
    for that. The last zxid can only go back where the history is cut, so it is compared by itself, without f.a.
    """
    claim = at.acknowledged
    if packet.zxid < claim.zxid:
        return Wrong(
            f"a history up to {shown(claim.zxid)}, of which its {claim.said} told (packet {claim.packet})",
            f"one up to {shown(packet.zxid)}",
            claim,
        )
    return None


@rule("f.1.2", "a follower promises an epoch to one leader only")
def ack_e_promises_an_epoch_once(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Step f.1.2, ACKEPOCH: f.p is on the disk, and e' has to be later. (An answer that does not count is no promise.)

    A server that leads an epoch has promised it, too, but that is not on the wire.
    """
    epoch = at.leader.newepoch
    other = None if epoch is None or packet.epoch == NOT_AGAIN else at.follower_server.promised.get(epoch)
    if other is None or other == at.leader_server.number:
        return None
    return Wrong(
        f"epoch {epoch} promised to server {other} only", f"epoch {epoch} promised to server {at.leader_server.number}"
    )


@rule("f.2.1", "a follower adopts an epoch and its initial history together")
def ack_e_has_the_initial_history(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Step f.2.1, seen at ACKEPOCH: f.a and h_f are set in one atomic write.

    It is asked of a server that says f.a = e, never acknowledged NEWLEADER of e, and was sent it: then it has what came
    before. (If it did acknowledge NEWLEADER, that it keeps the history is another rule.)
    """
    adoption = at.adoption
    if adoption is None or packet.epoch != adoption.epoch or at.adopted >= adoption.epoch:
        return None
    if packet.zxid < adoption.zxid:
        return Wrong(
            f"with f.a = {adoption.epoch} the history of that epoch, up to {shown(adoption.zxid)}",
            f"one up to {shown(packet.zxid)}",
        )
    return None


@rule("f.2.1", "a follower that adopted a history has nothing else")
def ack_e_has_nothing_else(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Steps f.2.1 and f.3.2, seen at ACKEPOCH: h_f becomes the initial history, and only proposals are added to it.

    It is asked of a server that acknowledged NEWLEADER and has not led since: what a leader logs for itself is not on
    the wire. Whatever any leader has sent it since counts as taken over.
    """
    claim = at.at_most
    if claim is not None and is_txn(packet.zxid) and packet.zxid > claim.zxid:
        return Wrong(
            f"nothing later than {shown(claim.zxid)}, as no leader has sent it more since its {claim.said} "
            f"(packet {claim.packet})",
            f"a history up to {shown(packet.zxid)}",
            claim,
        )
    return None


@rule("f.2.1", "a follower acknowledges the initial history before any later proposal")
def ack_ld_comes_first(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Steps f.2.1 and f.3.2, ACK: phase 2 is over before a proposal is accepted.

    ZooKeeper's leader takes the first ACK of a connection for that of NEWLEADER, whatever its zxid is (LearnerHandler).
    """
    if is_txn(packet.zxid) and not at.follower.ack_ld:
        return Wrong("ACK of NEWLEADER first", f"ACK {shown(packet.zxid)}")
    return None


RULES: dict[str, tuple[Rule, ...]] = {
    "ACKEPOCH": (
        ack_e_keeps_the_history,
        ack_e_promises_an_epoch_once,
        ack_e_has_the_initial_history,
        ack_e_has_nothing_else,
    ),
    "ACK": (ack_ld_comes_first,),
}
"""The rules for each kind of packet, in the order in which they are checked."""


def sent(at: JudgedConnection, packet: Sent) -> None:
    """Note what the follower has sent."""
    match packet.kind:
        case "ACKEPOCH" if at.follower.ack_e is None:
            _promises(at, packet)
        case "ACK" if is_txn(packet.zxid):
            at.follower_server.has_acknowledged(packet.zxid, "ACK", packet.packet)
        case "ACK" if not at.follower.ack_ld:
            _adopts(at, packet)
    at.follower.sends(packet)


def _promises(at: JudgedConnection, packet: Sent) -> None:
    """Note that f.p is e' now, and that the history named in ACKEPOCH has to be kept: a leader chooses by it."""
    ack_e = EpochAck.of(packet)
    if ack_e.current_epoch != NOT_AGAIN:
        at.follower_server.has_adopted(ack_e.current_epoch)
        if at.leader.newepoch is not None:
            at.follower_server.promised[at.leader.newepoch] = at.leader_server.number
    at.follower_server.has_acknowledged(packet.zxid, "ACKEPOCH", packet.packet, at.follower_server.broken_off)


def _adopts(at: JudgedConnection, packet: Sent) -> None:
    """Note that f.a is e' now, and h_f the initial history, if the packet answers NEWLEADER."""
    side, epoch = at.follower, at.leader.newepoch
    if epoch is None or not side.newleader:
        return
    follower, said = at.follower_server, "ACK of NEWLEADER"
    sync = at.leader.sync.kind if at.leader.sync is not None else ""
    follower.has_adopted(epoch)
    follower.has_acknowledged(side.covered, said, packet.packet, sync)
    follower.at_most = Claim(side.handed, said, packet.packet, follower.incarnation, sync)
    follower.broken_off = ""


def received(at: JudgedConnection, packet: Sent) -> None:
    """Note what was passed on to the follower."""
    at.follower.receives(packet)
    match packet.kind:
        case "DIFF":
            at.follower_server.broken_off = "DIFF"
        case "TRUNC" | "SNAP":
            at.follower_server.broken_off = packet.kind
            at.follower_server.is_cut_to(packet.zxid, at.leader.newepoch if packet.kind == "TRUNC" else None)
            at.follower_server.is_handed(packet.zxid)
        case "PROPOSAL":
            at.follower_server.is_handed(packet.zxid)
        case "NEWLEADER":
            at.follower_server.is_told_to_adopt(epoch_of(packet.zxid), at.follower.covered)

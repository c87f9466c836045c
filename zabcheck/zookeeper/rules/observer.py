"""The packets from a leader to an observer, as rules: an INFORM is a PROPOSAL and its COMMIT in one (Leader.inform).

An observer has no part in a quorum, and acknowledges nothing but NEWLEADER and UPTODATE. It is brought up to date like
a follower. The comparison with the model (`conformance`) knows no observers, so the rules here say of an observer all
that the comparison says of a follower.
"""

from zabcheck.zookeeper.recording.records import Sent
from zabcheck.zookeeper.rules.knowledge import JudgedConnection
from zabcheck.zookeeper.rules.leader import proposals_have_no_gap, uptodate_needs_a_quorum
from zabcheck.zookeeper.rules.rule import Rule, Wrong, followers, rule
from zabcheck.zookeeper.wire.zxids import epoch_of, follows, is_txn, shown


@rule("l.2.1", "a leader proposes its history to a follower that told its own, once")
def history_answers(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Steps l.2.1 and l.3.3, DIFF, TRUNC or SNAP: only as the answer to ACKEPOCH."""
    if not at.leader.ack_e:
        return Wrong(f"{packet.kind} as the answer to ACKEPOCH", f"{packet.kind} before any ACKEPOCH was received")
    if at.leader.sync is not None:
        return Wrong("one DIFF, TRUNC or SNAP on a connection", f"{packet.kind} after {at.leader.sync.kind}")
    return None


@rule("l.2.1", "a leader cuts a history that is longer than its own, and adds to one that is not")
def history_fits(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Step l.2.1, DIFF and TRUNC: h_f becomes the leader's history.

    DIFF goes on from the follower's last zxid, so it ends there or later; TRUNC cuts it, so it ends before. ⟨e,0⟩ is no
    transaction: such a follower has nothing to be cut.
    """
    if at.follower.ack_e is None or not is_txn(at.follower.ack_e.zxid):
        return None
    if packet.kind == "DIFF" and packet.zxid < at.follower.ack_e.zxid:
        return Wrong(
            f"TRUNC to {shown(packet.zxid)}, as the follower has {shown(at.follower.ack_e.zxid)}",
            f"DIFF {shown(packet.zxid)}",
        )
    if packet.kind == "TRUNC" and packet.zxid >= at.follower.ack_e.zxid:
        return Wrong(f"TRUNC to before {shown(at.follower.ack_e.zxid)}", f"TRUNC {shown(packet.zxid)}")
    return None


@rule("l.2.1", "a leader proposes NEWLEADER with the history that it belongs to, once")
def newleader_ends_the_history(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Steps l.2.1 and l.3.3, NEWLEADER: of the epoch that was promised, after DIFF, TRUNC or SNAP."""
    if at.leader.sync is None:
        return Wrong("DIFF, TRUNC or SNAP first", "NEWLEADER")
    if at.leader.newleader:
        return Wrong("one NEWLEADER on a connection", "a second one")
    if at.leader.newepoch is not None and epoch_of(packet.zxid) != at.leader.newepoch:
        return Wrong(f"NEWLEADER of epoch {at.leader.newepoch}", f"NEWLEADER {shown(packet.zxid)}")
    return None


@rule("l.2.1", "a leader proposes its whole history before NEWLEADER")
def newleader_is_complete(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Step l.2.1, NEWLEADER: what DIFF named as the end was sent, from the follower's last zxid on."""
    if (
        at.leader.sync is not None
        and at.leader.sync.kind == "DIFF"
        and is_txn(at.leader.sync.zxid)
        and at.leader.last < at.leader.sync.zxid
    ):
        return Wrong(
            f"proposals up to {shown(at.leader.sync.zxid)}, which DIFF named",
            f"up to {shown(at.leader.last)}",
        )
    return None


@rule("l.3.1", "a leader proposes transactions of its own epoch only")
def proposals_are_of_its_epoch(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Step l.3.1, PROPOSAL: epoch(z) = e' behind NEWLEADER; before it, in the history, at most e'."""
    epoch = epoch_of(packet.zxid)
    if at.leader.newepoch is not None and (
        epoch > at.leader.newepoch or (at.leader.newleader and epoch != at.leader.newepoch)
    ):
        return Wrong(f"a proposal of epoch {at.leader.newepoch}", f"PROPOSAL {shown(packet.zxid)}")
    return None


@rule("l.3.2", "a leader commits what it proposed to the follower, in order")
def commits_follow_proposals(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Steps l.2.1 and l.3.2, COMMIT: of the oldest PROPOSAL on this connection that is not committed."""
    if not at.leader.uncommitted:
        return Wrong(
            "COMMIT of a proposal on this connection", f"COMMIT {shown(packet.zxid)} with none to be committed"
        )
    if packet.zxid != at.leader.uncommitted[0]:
        return Wrong(f"COMMIT {shown(at.leader.uncommitted[0])}", f"COMMIT {shown(packet.zxid)}")
    return None


@rule("l.3.2", "a leader informs observers of what a quorum has acknowledged", counts_a_quorum=True)
def informs_need_a_quorum(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Step l.3.2, INFORM of e': after ACKs of a quorum, in which no observer counts."""
    leadership = at.leader_server.leaderships.get(epoch_of(packet.zxid))
    if leadership is None:
        return None
    having = leadership.having(packet.zxid)
    if not leadership.is_quorum(having):
        return Wrong(
            f"INFORM {shown(packet.zxid)} after ACKs of {followers(at.quorum - 1)}",
            f"INFORM after {having} of them",
        )
    return None


@rule("l.3.1", "a leader informs observers in order, without a gap")
def informs_have_no_gap(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Step l.3.1, INFORM: each goes on from the one before. A gap that a schedule has made on purpose is none."""
    last = at.informed
    if not last or follows(packet.zxid, last) or at.jumps.get(packet.zxid, packet.zxid) <= last < packet.zxid:
        return None
    return Wrong(f"the INFORM that follows {shown(last)}", f"INFORM {shown(packet.zxid)}")


_HISTORY = (history_answers, history_fits)

RULES: dict[str, tuple[Rule, ...]] = {
    "DIFF": _HISTORY,
    "TRUNC": _HISTORY,
    "SNAP": _HISTORY,
    "NEWLEADER": (newleader_ends_the_history, newleader_is_complete),
    "UPTODATE": (uptodate_needs_a_quorum,),
    "PROPOSAL": (proposals_have_no_gap, proposals_are_of_its_epoch),
    "COMMIT": (commits_follow_proposals,),
    "INFORM": (informs_need_a_quorum, informs_have_no_gap),
}
"""The rules for each kind of packet to an observer, in the order in which they are checked."""

NOTED = frozenset([*RULES, "OBSERVERINFO", "LEADERINFO", "ACKEPOCH", "ACK"])
"""The kinds of packets that are noted on the connection of an observer: they say how it is brought up to date."""


def sent(at: JudgedConnection, packet: Sent) -> None:
    """Note what one end has sent. Nothing is noted of the two servers: no quorum depends on it."""
    if packet.sender == at.follower_server.number:
        at.follower.sends(packet)
    else:
        at.leader.sends(packet)
        if packet.plain_kind == "INFORM":
            at.informed = packet.zxid


def received(at: JudgedConnection, packet: Sent) -> None:
    """Note what was passed on to the other end."""
    if packet.sender == at.follower_server.number:
        at.leader.receives(packet)
    else:
        at.follower.receives(packet)

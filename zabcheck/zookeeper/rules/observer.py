"""What a leader tells an observer, as rules: an INFORM is a PROPOSAL and its COMMIT in one (Leader.inform).

An observer has no part in a quorum, and acknowledges nothing but NEWLEADER and UPTODATE. It is brought up to date like
a follower, so those rules of a leader hold that do not depend on who acknowledged what on this connection.
"""

from zabcheck.zookeeper.recording.records import Sent
from zabcheck.zookeeper.rules.knowledge import JudgedConnection
from zabcheck.zookeeper.rules.leader import (
    commits_follow_proposals,
    history_answers,
    history_fits,
    newleader_ends_the_history,
    newleader_is_complete,
    proposals_are_of_its_epoch,
    proposals_have_no_gap,
    uptodate_needs_a_quorum,
)
from zabcheck.zookeeper.rules.rule import Rule, Wrong, followers, rule
from zabcheck.zookeeper.wire.zxids import epoch_of, follows, shown


@rule("l.3.2", "a leader informs observers of what a quorum has acknowledged")
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
        if packet.kind == "INFORM":
            at.informed = packet.zxid


def received(at: JudgedConnection, packet: Sent) -> None:
    """Note what was passed on to the other end."""
    if packet.sender == at.follower_server.number:
        at.leader.receives(packet)
    else:
        at.follower.receives(packet)

"""What a leader tells an observer, as rules: an INFORM is a PROPOSAL and its COMMIT in one (Leader.inform).

An observer has no part in a quorum, and acknowledges nothing but NEWLEADER and UPTODATE. How it is brought up to date
is not judged: that needs what `knowledge` notes of followers only.
"""

from zabcheck.ensemble.recording.records import Sent
from zabcheck.ensemble.rules.knowledge import JudgedConnection
from zabcheck.ensemble.rules.rule import Rule, Wrong, followers, rule
from zabcheck.ensemble.wire.zxids import epoch_of, follows, shown


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


RULES: dict[str, tuple[Rule, ...]] = {"INFORM": (informs_need_a_quorum, informs_have_no_gap)}
"""The rules for each kind of packet, in the order in which they are checked."""


def sent(at: JudgedConnection, packet: Sent) -> None:
    """Note what the leader has sent."""
    at.informed = packet.zxid

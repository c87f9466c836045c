"""The steps of a leader (DSN 2011, IV), as rules for the packets that ZooKeeper's leader sends to a follower.

    l.1.2, l.2.1  DIFF, TRUNC or SNAP, then PROPOSAL and COMMIT   the initial history of NEWLEADER
    l.2.1, l.3.3  NEWLEADER ⟨e',0⟩                                the rest of NEWLEADER
    l.2.2, l.3.4  UPTODATE                                        COMMIT-LD
    l.3.1         PROPOSAL                                        PROPOSE
    l.3.2         COMMIT                                          COMMIT

The rules here are those that real servers break while they do what the model of their version does. Whatever else the
paper demands of a leader, the comparison with the model demands too (`conformance`).

Read in Leader and LearnerHandler of 3.6.3, 3.8.0, 3.9.3 and 3.9.5, which do not differ in this. Everything for one
follower goes through one queue. While it is filled under the locks of LearnerHandler.syncFollower and
Leader.startForwarding, nothing can come between what is committed, what is outstanding and what is proposed later: so
the proposals on a connection have no gap, and each COMMIT there is for the oldest proposal that is not committed yet.
"""

from zabcheck.zookeeper.recording.iteration import NOT_AGAIN, EpochAck
from zabcheck.zookeeper.recording.records import Sent
from zabcheck.zookeeper.rules.knowledge import JudgedConnection, Leadership, PrecedingTxn
from zabcheck.zookeeper.rules.rule import Gap, Rule, Wrong, followers, rule
from zabcheck.zookeeper.wire.zxids import epoch_of, follows, is_first, is_txn, shown

NO_ZXID = -1
"""The zxid of an ACKEPOCH without a history; the leader does not count it."""


@rule("l.1.2", "the initial history is the best of a quorum", counts_a_quorum=True)
def newleader_has_the_best_history(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Step l.1.2, NEWLEADER: with the leader, a quorum has named no (f.a, zxid) that is later than the proposed.

    ZooKeeper's leader takes its own history, and refuses a follower that is ahead of it. Its own f.a is not on the
    wire: a follower counts as ahead only if its f.a is at least what the leader's could be at most.
    """
    leadership = at.leadership
    if leadership is None or leadership.adopted_at_most is None:
        return None
    last = max(at.leader.last, at.leader.sync.zxid if at.leader.sync is not None else 0)
    ahead = {number: ack_e for number, ack_e in leadership.ack_e.items() if _is_ahead(ack_e, leadership, last)}
    if not ahead or leadership.is_quorum(len(leadership.ack_e) - len(ahead)):
        return None
    number, ack_e = next(iter(ahead.items()))
    return Wrong(
        f"a history up to {shown(ack_e.zxid)}, which server {number} told with f.a = {ack_e.current_epoch}",
        f"one up to {shown(last)}",
    )


def _is_ahead(ack_e: EpochAck, leadership: Leadership, last: int) -> bool:
    assert leadership.adopted_at_most is not None
    return is_txn(ack_e.zxid) and ack_e.zxid > last and ack_e.current_epoch >= leadership.adopted_at_most


@rule("l.1.2", "a leader proposes what it acknowledged itself")
def newleader_keeps_what_the_leader_acknowledged(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Steps f.2.1 and f.3.2, seen at NEWLEADER: the leader was a follower before, and must not forget what it promised.

    How far a leader's own history goes is not on the wire; it shows in what the leader brings others. Exempt is what it
    had to give up by a TRUNC or SNAP, and what was on a disk that was wiped.
    """
    leadership = at.leadership
    if leadership is None:
        return None
    claim = leadership.acknowledged
    last = max(at.leader.last, at.leader.sync.zxid if at.leader.sync is not None else 0)
    if last < claim.zxid:
        return Wrong(
            f"a history up to {shown(claim.zxid)}, of which the leader's {claim.said} told (packet {claim.packet})",
            f"one up to {shown(last)}",
            claim,
        )
    return None


@rule("l.2.2", "a leader commits the epoch once a quorum has acknowledged NEWLEADER", counts_a_quorum=True)
def uptodate_needs_a_quorum(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Steps l.2.2 and l.3.4, UPTODATE: after ACK-LDs of a quorum, and to a follower that sent one, once."""
    if not at.leader.ack_ld:
        return Wrong("UPTODATE to a follower that acknowledged NEWLEADER", "UPTODATE before its ACK was received")
    if at.leader.uptodate:
        return Wrong("one UPTODATE on a connection", "a second one")
    leadership = at.leadership
    if leadership is not None and not leadership.established():
        return Wrong(
            f"UPTODATE after ACKs of NEWLEADER from {followers(at.quorum - 1)}",
            f"UPTODATE after {len(leadership.ack_ld)} of them",
        )
    return None


@rule("l.3.1", "a leader proposes its history and its transactions in order, without a gap")
def proposals_have_no_gap(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Steps l.2.1, l.3.1 and l.3.3, PROPOSAL: each goes on from what the follower has by then.

    That is its last zxid (DIFF), where it was cut (TRUNC), or the snapshot's (SNAP). Counters of an epoch start at 1
    and skip none. What the leader has queued while it was writing the snapshot may be in the snapshot already, so the
    first proposal behind SNAP may be an earlier one. A gap that a schedule has made on purpose is none.
    """
    if at.leader.sync is None:
        return Wrong("DIFF, TRUNC or SNAP first", f"PROPOSAL {shown(packet.zxid)}")
    if follows(packet.zxid, at.leader.last) or at.jumps.get(packet.zxid, packet.zxid) <= at.leader.last < packet.zxid:
        return None
    if at.leader.sync.kind == "SNAP" and not at.leader.proposed and packet.zxid <= at.leader.last:
        return None
    gap = Gap(at.leader.last, packet.zxid, packet.zxid > at.leader.last)
    return Wrong(f"the proposal that follows {shown(at.leader.last)}", f"PROPOSAL {shown(packet.zxid)}", gap=gap)


@rule("l.2.1", "the transactions of an epoch continue one initial history")
def proposals_continue_one_history(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Steps l.2.1, l.3.1 and l.3.3, PROPOSAL of the first transaction of an epoch: it follows the last one of I_e'.

    There is one I_e', so whoever is sent ⟨e,1⟩, by whatever leader, has the same transaction before it. Otherwise the
    end of an earlier epoch is left out. ⟨e,0⟩ as a follower's last zxid does not tell what it has before.
    """
    before = at.beginnings.get(packet.zxid)
    if before is None or before.zxid == at.leader.last or not _is_known(at, packet):
        return None
    return Wrong(
        f"{shown(before.zxid)} before {shown(packet.zxid)}, as packet {before.packet} showed",
        f"{shown(at.leader.last)} before it",
        gap=Gap(at.leader.last, packet.zxid, before.zxid > at.leader.last),
    )


def _is_known(at: JudgedConnection, packet: Sent) -> bool:
    """Return True for the first transaction of an epoch, if the end of the follower's history before it is known."""
    return is_first(packet.zxid) and packet.zxid > at.leader.last and (is_txn(at.leader.last) or at.leader.last == 0)


@rule("l.3.2", "a leader commits only what a quorum has at that moment", counts_a_quorum=True)
def commits_are_kept_by_a_quorum(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Step l.3.2, COMMIT of e': after ACKs of a quorum that nobody of it was told since to take back, by a TRUNC.

    In the paper an ACK stays true: the leader's history has all of e', so it has nobody cut a transaction of e' off.
    ZooKeeper's leader compares a follower that comes back with what it has applied, and forgets no ACK. Between the
    TRUNC and the next ACK that follower does not have the transaction. An ACK of NEWLEADER does not change that in
    3.6.3, 3.8.0, 3.9.3 and 3.9.5: it covers what is committed. (3.8.5, 3.8.6 and 3.9.2 log the rest before it, too;
    there this errs to the leader's disadvantage.) A SNAP cuts nothing off the log.
    """
    leadership, zxid = at.leadership, packet.zxid
    if leadership is None or epoch_of(zxid) != leadership.epoch or zxid <= leadership.committed:
        return None
    if not leadership.is_quorum(leadership.having(zxid)) or leadership.is_quorum(leadership.keeping(zxid)):
        return None
    gone = {
        number: cut for number, cut in leadership.cut_off.items() if cut.acknowledged >= zxid > leadership.kept[number]
    }
    number, cut = next(iter(gone.items()))
    return Wrong(
        f"COMMIT {shown(zxid)} when {followers(at.quorum - 1)} {'has' if at.quorum == 2 else 'have'} it",
        f"COMMIT after the ACK of server {number}, which was told since to cut it off "
        f"(TRUNC {shown(cut.zxid)}, packet {cut.packet})",
    )


RULES: dict[str, tuple[Rule, ...]] = {
    "NEWLEADER": (newleader_has_the_best_history, newleader_keeps_what_the_leader_acknowledged),
    "UPTODATE": (uptodate_needs_a_quorum,),
    "PROPOSAL": (proposals_have_no_gap, proposals_continue_one_history),
    "COMMIT": (commits_are_kept_by_a_quorum,),
}
"""The rules for each kind of packet, in the order in which they are checked."""


def sent(at: JudgedConnection, packet: Sent) -> None:
    """Note what the leader has sent."""
    side = at.leader
    match packet.plain_kind:
        case "LEADERINFO" if side.newepoch is None:
            _promises(at, epoch_of(packet.zxid))
        case "UPTODATE" if side.newepoch is not None:
            at.leader_server.has_adopted(side.newepoch)
        case "PROPOSAL" if side.sync is not None and _is_known(at, packet):
            at.beginnings.setdefault(packet.zxid, PrecedingTxn(side.last, packet.packet))
        case "TRUNC" if at.leadership is not None:
            at.leadership.cuts_off(at.follower_server.number, packet.zxid, packet.packet)
        case "COMMIT":
            _commits(at, packet)
    side.sends(packet)


def _promises(at: JudgedConnection, epoch: int) -> None:
    """Note that the leadership of e' begins, unless it has begun already."""
    leader = at.leader_server
    leader.at_most = None
    if epoch not in leader.leaderships:
        leader.leaderships[epoch] = Leadership(leader, epoch, at.quorum)


def _commits(at: JudgedConnection, packet: Sent) -> None:
    """Note what is committed. If the leader's own ACK was needed for that, its log has to have the transaction."""
    zxid, leadership = packet.zxid, at.leadership
    if leadership is None or epoch_of(zxid) != leadership.epoch or zxid <= leadership.committed:
        return
    leadership.committed = zxid
    if leadership.having(zxid) + 1 == leadership.quorum:
        at.leader_server.has_acknowledged(zxid, "COMMIT", packet.packet)


def received(at: JudgedConnection, packet: Sent) -> None:
    """Note what was passed on to the leader."""
    at.leader.receives(packet)
    leadership = at.leadership
    match packet.kind:
        case "ACKEPOCH":
            ack_e = at.follower.ack_e
            if leadership is not None and ack_e is not None and _counts(ack_e):
                leadership.ack_e[at.follower_server.number] = ack_e
                if leadership.is_quorum(len(leadership.ack_e)):
                    at.leader_server.may_adopt(leadership.epoch)
        case "ACK" if is_txn(packet.zxid):
            if leadership is not None:
                leadership.is_acknowledged(at.follower_server.number, packet.zxid)
        case "ACK":
            if leadership is not None and epoch_of(packet.zxid) == leadership.epoch:
                leadership.ack_ld[at.follower_server.number] = True


def _counts(ack_e: EpochAck) -> bool:
    """Return True if the leader counts this ACKEPOCH towards a quorum."""
    return ack_e.current_epoch != NOT_AGAIN and ack_e.zxid != NO_ZXID

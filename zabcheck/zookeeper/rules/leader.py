"""The steps of a leader (DSN 2011, IV), as rules for the packets that ZooKeeper's leader sends to a follower.

    l.1.1, l.3.3  LEADERINFO ⟨e',0⟩                               NEWEPOCH
    l.1.2, l.2.1  DIFF, TRUNC or SNAP, then PROPOSAL and COMMIT   the initial history of NEWLEADER
    l.2.1, l.3.3  NEWLEADER ⟨e',0⟩                                the rest of NEWLEADER
    l.2.2, l.3.4  UPTODATE                                        COMMIT-LD
    l.3.1         PROPOSAL                                        PROPOSE
    l.3.2         COMMIT                                          COMMIT

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
"""What an ACKEPOCH without a history would say; the leader does not count it."""


@rule("l.1.1", "a leader proposes an epoch to a follower that told its promise, once")
def newepoch_answers(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Steps l.1.1 and l.3.3, LEADERINFO: only as the answer to FOLLOWERINFO."""
    if not at.leader.cepoch:
        return Wrong("LEADERINFO as the answer to FOLLOWERINFO", "LEADERINFO before any FOLLOWERINFO was received")
    if at.leader.newepoch is not None:
        return Wrong("one LEADERINFO on a connection", "a second one")
    return None


@rule("l.1.1", "a leader proposes an epoch later than every promise of a quorum")
def newepoch_is_later(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Step l.1.1, LEADERINFO: e' is greater than any e in the CEPOCHs of a quorum, the leader's own promise included.

    A FOLLOWERINFO counts even if its connection is closed by now, as in ZooKeeper (`connectingFollowers`), and even if
    the leader gave up before that: when it did is not on the wire. One that comes after e' was chosen may tell of a
    later promise; then that follower will not answer.
    """
    epoch = epoch_of(packet.zxid)
    if epoch in at.leader_server.leaderships:
        return None
    if epoch <= at.leader_promised:
        return Wrong(f"an epoch later than {at.leader_promised}, which it promised itself", f"epoch {epoch}")
    promises = {
        each.follower_server.number: each.follower.cepoch
        for each in at.leader_server.asking
        if (each.follower.cepoch or 0) < epoch
    }
    if len(promises) + 1 < at.quorum:
        return Wrong(
            f"the promises of {followers(at.quorum - 1)}, all before epoch {epoch}",
            f"{len(promises)} of them" if promises else "none",
        )
    return None


@rule("l.1.1", "a leader proposes one epoch to all")
def newepoch_is_one(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Step l.1.1, LEADERINFO: followers that were waiting when e' was chosen are proposed e'.

    A leader that gives up closes its connections, so this one still belongs to the leadership of e'.
    """
    if at.bound is not None and epoch_of(packet.zxid) != at.bound:
        return Wrong(f"epoch {at.bound}, which it proposed to others", f"epoch {epoch_of(packet.zxid)}")
    return None


@rule("l.2.1", "a leader proposes its history to a follower that told its own, once")
def history_answers(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Steps l.2.1 and l.3.3, DIFF, TRUNC or SNAP: only as the answer to ACKEPOCH."""
    if not at.leader.ack_e:
        return Wrong(f"{packet.kind} as the answer to ACKEPOCH", f"{packet.kind} before any ACKEPOCH was received")
    if at.leader.sync is not None:
        return Wrong("one DIFF, TRUNC or SNAP on a connection", f"{packet.kind} after {at.leader.sync.kind}")
    return None


@rule("l.1.2", "a leader chooses the initial history once a quorum has promised the epoch")
def history_needs_a_quorum(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Step l.1.2, DIFF, TRUNC or SNAP: after ACK-Es of a quorum. An ACKEPOCH with -1 does not count."""
    leadership = at.leadership
    if leadership is not None and not leadership.is_quorum(len(leadership.ack_e)):
        return Wrong(
            f"{packet.kind} after ACKEPOCHs of {followers(at.quorum - 1)} that count",
            f"{packet.kind} after {len(leadership.ack_e)} of them",
        )
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


@rule("l.1.2", "the initial history is the best of a quorum")
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


@rule("l.2.2", "a leader commits the epoch once a quorum has acknowledged NEWLEADER")
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
    """Whether the packet proposes the first transaction of an epoch, and what the follower has before it is known."""
    return is_first(packet.zxid) and packet.zxid > at.leader.last and (is_txn(at.leader.last) or at.leader.last == 0)


@rule("l.3.1", "a leader proposes transactions of its own epoch only")
def proposals_are_of_its_epoch(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Step l.3.1, PROPOSAL: epoch(z) = e' behind NEWLEADER; before it, in the history, at most e'."""
    epoch = epoch_of(packet.zxid)
    if at.leader.newepoch is not None and (
        epoch > at.leader.newepoch or (at.leader.newleader and epoch != at.leader.newepoch)
    ):
        return Wrong(f"a proposal of epoch {at.leader.newepoch}", f"PROPOSAL {shown(packet.zxid)}")
    return None


@rule("l.3.1", "a leader broadcasts only once it is established")
def proposals_need_an_established_leader(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Steps l.2.2 and l.3.1, PROPOSAL of e': after ACK-LDs of a quorum (`startZkServer`)."""
    leadership = at.leadership
    if leadership is not None and epoch_of(packet.zxid) == leadership.epoch and not leadership.established():
        return Wrong(
            f"no proposal of epoch {leadership.epoch} before {followers(at.quorum - 1)} have acknowledged NEWLEADER",
            f"PROPOSAL {shown(packet.zxid)} after {len(leadership.ack_ld)} of them",
        )
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


@rule("l.3.2", "a leader commits what a quorum has acknowledged")
def commits_need_a_quorum(at: JudgedConnection, packet: Sent) -> Wrong | None:
    """Step l.3.2, COMMIT of e': after ACKs of a quorum, of this transaction or a later one.

    The leader's own ACK is not on the wire: it is counted as given. A COMMIT of an earlier epoch belongs to the initial
    history, which needs none.
    """
    leadership = at.leadership
    if leadership is None or epoch_of(packet.zxid) != leadership.epoch or packet.zxid <= leadership.committed:
        return None
    having = leadership.having(packet.zxid)
    if not leadership.is_quorum(having):
        return Wrong(
            f"COMMIT {shown(packet.zxid)} after ACKs of {followers(at.quorum - 1)}",
            f"COMMIT after {having} of them",
        )
    return None


@rule("l.3.2", "a leader commits only what a quorum has at that moment")
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


_HISTORY = (history_answers, history_needs_a_quorum, history_fits)

RULES: dict[str, tuple[Rule, ...]] = {
    "LEADERINFO": (newepoch_answers, newepoch_is_one, newepoch_is_later),
    "DIFF": _HISTORY,
    "TRUNC": _HISTORY,
    "SNAP": _HISTORY,
    "NEWLEADER": (
        newleader_ends_the_history,
        newleader_is_complete,
        newleader_has_the_best_history,
        newleader_keeps_what_the_leader_acknowledged,
    ),
    "UPTODATE": (uptodate_needs_a_quorum,),
    "PROPOSAL": (
        proposals_have_no_gap,
        proposals_continue_one_history,
        proposals_are_of_its_epoch,
        proposals_need_an_established_leader,
    ),
    "COMMIT": (commits_follow_proposals, commits_need_a_quorum, commits_are_kept_by_a_quorum),
}
"""The rules for each kind of packet, in the order in which they are checked."""


def sent(at: JudgedConnection, packet: Sent) -> None:
    """Note what the leader has sent."""
    side = at.leader
    match packet.kind:
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
    """Note that the leader has promised e', and that all followers that wait for an epoch belong to this leadership."""
    leader = at.leader_server
    leader.promised = max(leader.promised, epoch)
    leader.at_most = None
    if epoch not in leader.leaderships:
        leader.leaderships[epoch] = Leadership(leader, epoch, at.quorum)
        for asking in leader.asking:
            asking.bound = epoch
        leader.asking = []
    elif at in leader.asking:
        leader.asking.remove(at)


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
        case "FOLLOWERINFO":
            at.leader_server.asking.append(at)
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
    """Whether the leader counts this ACKEPOCH towards a quorum."""
    return ack_e.current_epoch != NOT_AGAIN and ack_e.zxid != NO_ZXID

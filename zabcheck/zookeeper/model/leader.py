"""The steps of a leader (`Leader`, `LearnerHandler`), with the steps of DSN 2011 that they stand for."""

from collections.abc import Collection

from msgspec.structs import replace

from zabcheck.invariants import Broadcast, CommitEpoch, Establish, Ready, Txn, Zxid
from zabcheck.protocols.base import Connect, Effect, Elected, Lost, Message, ProcessId, Request, Send
from zabcheck.zookeeper.model import learner, messages
from zabcheck.zookeeper.model.database import at
from zabcheck.zookeeper.model.server import (
    Leader,
    Link,
    Outstanding,
    Phase,
    ServerError,
    Todo,
    Unsent,
    adopt,
    deliver_tree,
    finish,
    give_up,
    last_epoch,
    leave,
    raises,
    set_current_epoch,
)
from zabcheck.zookeeper.model.snapshots import take_snapshot
from zabcheck.zookeeper.model.synchronisation import forwarded, queued
from zabcheck.zookeeper.model.versions import handlers_take_turns
from zabcheck.zookeeper.model.votes import in_epoch

# Discovery.


def on_elected(l: Leader, sender: ProcessId, m: Elected) -> list[Effect]:
    """`QuorumPeer.run`, LEADING or FOLLOWING: become the role that the election has chosen."""
    if m.leader != l.id:
        return learner.on_elected(l, sender, m)
    effects = finish(l)
    if l.phase is not Phase.LOOKING:
        effects += leave(l)
    return effects + lead(l)


def lead(l: Leader) -> list[Effect]:
    """`Leader.lead`: write a snapshot, whatever it holds (4837), accept followers, and ask oneself for an epoch."""
    l.leader = l.id
    l.phase = Phase.DISCOVERY
    effects: list[Effect] = [Connect(l.id)]
    if l.version.snapshot_on_lead:
        effects += take_snapshot(l)
    l.summary = last_epoch(l), l.database.lpz
    l.connecting = {l.id: l.accepted_epoch}
    return effects + choose_epoch(l)


def on_follower_info(l: Leader, sender: ProcessId, m: messages.FollowerInfo) -> list[Effect]:
    """`LearnerHandler.run`, FOLLOWERINFO: the follower's connection is new, whatever came before (l.1.1, l.3.3)."""
    if not l.leads:
        return []
    handler_ends(l, sender)
    l.links = {**l.links, sender: Link.ASKED}
    if l.epoch:
        return [Send(sender, l.leader_info())]
    l.connecting = {**l.connecting, sender: m.accepted_epoch}
    return choose_epoch(l)


def choose_epoch(l: Leader) -> list[Effect]:
    """`Leader.getEpochToPropose`: with a quorum, accept e' greater than any accepted epoch, and propose it (l.1.1).

    Until 3.4.2 an acceptedEpoch equal to e' as known by then did not raise e' (1343). The leader's own, for one, may
    come last; here the worst order is taken. In 3.3 a leader asks nobody (335), and counts as established at once
    (790).
    """
    if not l.version.promises_epochs:
        l.epoch = last_epoch(l) + 1
        if not l.version.waits_for_quorum:
            l.database = at(l.database, Zxid(l.epoch, 0))
    elif not l.settles_epoch(l.connecting):
        return []
    else:
        highest = max(l.connecting.values())
        repeats = not l.version.counts_every_epoch and highest - 1 in l.connecting.values()
        l.epoch = highest if repeats else highest + 1
    effects = learner.accept_epoch(l, l.epoch)
    effects += [Send(follower, l.leader_info()) for follower in l.links]
    l.electing = (l.id,)
    return effects + finish_election(l)


def on_ack_epoch(l: Leader, sender: ProcessId, m: messages.AckEpoch) -> list[Effect]:
    """`Leader.waitForEpochAck`: a quorum that is not newer than the leader settles the initial history (l.1.2).

    A follower that is newer is refused. Later ones are not compared any more.
    """
    if not l.leads or l.links.get(sender) is not Link.ASKED or not l.epoch:
        return []
    if not l.finished and m.current_epoch is not None:
        if (m.current_epoch, m.zxid) > l.summary:
            l.links = {**l.links, sender: Link.REFUSED}
            return []
        l.electing = (*(each for each in l.electing if each != sender), sender)
    l.links = {**l.links, sender: Link.DISCOVERED}
    l.peers = {**l.peers, sender: m.zxid}
    return synchronise_with(l, sender) if l.finished else finish_election(l)


def finish_election(l: Leader) -> list[Effect]:
    """`Leader.waitForEpochAck` returns to everything that waits in it: the followers' handlers, and the main thread."""
    if l.finished or not l.settles_epoch(l.electing):
        return []
    l.finished = True
    l.todo = (*l.todo, Todo(adopt_own_epoch))
    effects: list[Effect] = []
    for follower, link in l.links.items():
        if link is Link.DISCOVERED:
            effects += synchronise_with(l, follower)
    return effects


def adopt_own_epoch(l: Leader, _: None) -> list[Effect]:
    """`Leader.lead` after `waitForEpochAck`: write currentEpoch, and be the first that has its own history (f.2.1)."""
    l.new_leader_acks = (*l.new_leader_acks, l.id)
    return [*set_current_epoch(l, l.epoch), adopt(l, l.epoch), *form_quorum(l)]


# Synchronisation.


def synchronise_with(l: Leader, follower: ProcessId) -> list[Effect]:
    """`LearnerHandler.run`: queue what the follower lacks, the outstanding proposals, then NEWLEADER (l.2.1, l.3.3).

    Outstanding proposals may be cut off at the follower, and are sent anew. Earlier acknowledgements of them count all
    the same, although they are lost if the follower crashes before it logs them again (N1).
    """
    if l.version.compares_committed:
        l.outstanding = tuple(
            replace(each, acks=tuple(ack for ack in each.acks if ack != follower)) for each in l.outstanding
        )
    queue = queued(l, l.peers[follower])
    first = queue.packets[0]
    if isinstance(first, messages.Snap):
        begun = Unsent(start_forwarding(l, follower, queue.zxid), first.zxid)
        pauses = not l.version.copies_first
    else:
        begun = Unsent(tuple(queue.packets), queue.zxid)
        pauses = not l.version.forwards_at_once
    if pauses and handlers_take_turns(l.version, l.switches.defects):
        l.unsent = {**l.unsent, follower: begun}
        return []
    return send_rest(l, follower, begun)


def start_forwarding(l: Leader, follower: ProcessId, zxid: Zxid) -> tuple[Message, ...]:
    """`Leader.startForwarding`, with NEWLEADER behind it: the messages to a follower that will be at `zxid`."""
    l.links = {**l.links, follower: Link.SYNCING}
    return (*forwarded(l, follower, zxid), l.new_leader())


def send_rest(l: Leader, follower: ProcessId, begun: Unsent) -> list[Effect]:
    """`LearnerHandler.run`: start to forward, and send the queue; or write a SNAP, then send the queue.

    Some time may have passed. In 3.3 forwarding starts after a DIFF was put together, and a transaction applied in
    between is in neither (962). Up to 3.5.4 a SNAP has the tree as it is when it is written, under the earlier zxid
    (3104).
    """
    if l.links[follower] is Link.SYNCING:
        packets = (messages.Snap(begun.zxid, l.database.tree), *begun.packets)
    else:
        packets = (*begun.packets, *start_forwarding(l, follower, begun.zxid))
    return [Send(follower, message) for message in packets]


def send_late(l: Leader) -> list[Effect]:
    """`LearnerHandler.run`: the handler that has begun first goes on, where that takes a turn of its own."""
    (follower, begun), *others = l.unsent.items()
    l.unsent = dict(others)
    return send_rest(l, follower, begun)


def forward(l: Leader, message: Message) -> list[Effect]:
    """`Leader.sendPacket`: send to all forwarding followers; behind a SNAP that is yet to be written it waits."""
    followers = forwarding(l)
    l.unsent = {
        each: replace(begun, packets=(*begun.packets, message)) if each in followers else begun
        for each, begun in l.unsent.items()
    }
    told = {each: l.said_to(each, message) for each in followers if each not in l.unsent}
    return [Send(each, said) for each, said in told.items() if said is not None]


def on_ack(l: Leader, sender: ProcessId, m: messages.Ack) -> list[Effect]:
    """`LearnerHandler.run`: the first ACK is taken for that of NEWLEADER (l.2.2, l.3.4), others go to `processAck`."""
    if not l.leads:
        return []
    link = l.links.get(sender)
    if link is Link.SYNCING:
        l.links = {**l.links, sender: Link.SYNCED}
        if l.running:
            return [Send(sender, l.up_to_date())]
        if m.zxid == Zxid(l.epoch, 0):
            l.new_leader_acks = (*(each for each in l.new_leader_acks if each != sender), sender)
        elif raises(l):
            raise ServerError(f"Leader.waitForNewLeaderAck: p{sender} answers NEWLEADER with an ACK of {m.zxid}")
        return form_quorum(l)
    return process_ack(l, sender, m.zxid) if link is Link.SYNCED else []


def form_quorum(l: Leader) -> list[Effect]:
    """`Leader.waitForNewLeaderAck`: with a quorum that includes itself the main thread goes on."""
    start = Todo(start_server)
    if l.id in l.new_leader_acks and l.is_adopted_by(l.new_leader_acks) and not l.running and start not in l.todo:
        l.todo = (*l.todo, start)
    return []


def start_server(l: Leader, _: None) -> list[Effect]:
    """`Leader.startZkServer`: the leader is established, and serves (l.2.2); then lastProcessedZxid is assigned."""
    return serve(l) + count_numbered(l, None)


def serve(l: Leader) -> list[Effect]:
    """`ZooKeeperServer.startup`: the leader takes requests, which it numbers from ⟨e',1⟩ on.

    Each follower's handler checks every 20 ms if the server serves, and then sends UPTODATE: a proposal may leave
    before it (`starts_late`).
    """
    effects = l.starting_up()
    l.phase = Phase.BROADCAST
    l.election = in_epoch(l.election, l.epoch)
    effects += [Establish(l.id, l.incarnation, l.epoch), CommitEpoch(l.id, l.incarnation, l.epoch)]
    effects += deliver_tree(l)
    effects.append(Ready(l.id, l.incarnation, l.epoch))
    synced = tuple(each for each, link in l.links.items() if link is Link.SYNCED)
    if l.starts_late:
        l.due = synced
        return effects
    return effects + [Send(each, l.up_to_date()) for each in synced]


def count_numbered(l: Leader, _: None) -> list[Effect]:
    """`ZKDatabase.setlastProcessedZxid`: ⟨e',0⟩, a zxid that no transaction has.

    It is the zxid that was given out last. If there was a request by then, that counts as applied, and is not.
    """
    l.database = at(l.database, Zxid(l.epoch, l.counter))
    return []


# Broadcast.


def can_broadcast(l: Leader) -> bool:
    """Return True if the server leads, and is running."""
    return l.leads and l.running


def forwarding(l: Leader) -> Collection[ProcessId]:
    """`Leader.forwardingFollowers`: the followers that get PROPOSAL and COMMIT."""
    return [follower for follower, link in l.links.items() if link is Link.SYNCING or link is Link.SYNCED]


def on_request(l: Leader, sender: ProcessId, m: Request) -> list[Effect]:
    """`PrepRequestProcessor`, `Leader.propose`: number the transaction, send it, and have it logged here too (l.3.1).

    It leaves before the leader has logged it, and the leader acknowledges for itself once it has (it is not always one
    of the quorum). A counter that would overflow ends the iteration (1277).
    """
    if not can_broadcast(l):
        return []
    if l.counter >= l.switches.counter_limit:
        return give_up(l, "the counter would overflow")
    l.counter += 1
    txn = Txn(Zxid(l.epoch, l.counter), m.value)
    l.outstanding = (*l.outstanding, Outstanding(txn))
    effects: list[Effect] = [Broadcast(l.id, l.incarnation, l.epoch, txn)]
    effects += forward(l, messages.Proposal(txn))
    l.to_log = (*l.to_log, txn)
    return effects


def process_ack(l: Leader, sender: ProcessId, zxid: Zxid) -> list[Effect]:
    """`Leader.processAck`: count it if the proposal is outstanding. An ACK with counter 0 is ignored."""
    for index, each in enumerate(l.outstanding):
        if each.txn.zxid == zxid:
            acks = each.acks if sender in each.acks else (*each.acks, sender)
            proposal = replace(each, acks=acks)
            l.outstanding = (*l.outstanding[:index], proposal, *l.outstanding[index + 1 :])
            return try_to_commit(l, proposal)
    return []


def try_to_commit(l: Leader, proposal: Outstanding) -> list[Effect]:
    """`Leader.tryToCommit`: with a quorum, and since 3.5 with none before it outstanding, COMMIT (l.3.2)."""
    if not l.is_acknowledged(proposal):
        return []
    if l.version.commits_in_order and l.outstanding[0] is not proposal:
        return []
    before, commit = l.committing(proposal)
    l.outstanding = tuple(each for each in l.outstanding if each is not proposal)
    if commit is None:
        return before
    l.to_apply = (*l.to_apply, proposal.txn)
    return [*before, *forward(l, commit)]


# The end of a connection.


def on_lost(l: Leader, sender: ProcessId, m: Lost) -> list[Effect]:
    """`LearnerHandler.shutdown`: send nothing to the follower any more. The leader goes on until a time-out.

    The time-out stands for a tick that finds no quorum.
    """
    if not l.leads:
        return learner.on_lost_leader(l, m)
    handler_ends(l, m.peer)
    return []


def handler_ends(l: Leader, follower: ProcessId) -> None:
    """`Leader.removeLearnerHandler`: the follower's acknowledgements still count (N1), and it may be cut off."""
    l.links = {each: link for each, link in l.links.items() if each != follower}
    l.peers = {each: zxid for each, zxid in l.peers.items() if each != follower}
    l.unsent = {each: begun for each, begun in l.unsent.items() if each != follower}
    l.due = tuple(each for each in l.due if each != follower)

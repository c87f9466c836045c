"""Defects of a protocol trace: each function puts one into a run, and returns whether it could."""

from collections.abc import Callable, Sequence

from invariants import (
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    CommitEpoch,
    Deliver,
    Establish,
    Event,
    Halt,
    Promise,
    Stabilised,
    State,
    Txn,
    Zxid,
)
from tests.invariants.builders import told
from tests.invariants.protocol_runs import Node, Run


def accept_of_another_epoch(run: Run) -> bool:
    if not run.followers() or not run.log:
        return False
    node = run.rng.choice(run.followers())
    run.events.append(Accept(*node.actor, run.epoch + run.rng.choice((-1, 1)), run.rng.choice(run.log)))
    return True


def accept_before_adopting(run: Run) -> bool:
    node = run.rng.choice(run.nodes)
    epoch = max(node.current, node.promised) + 1
    run.events.append(Accept(*node.actor, epoch, Txn(Zxid(epoch, 1), "early")))
    return True


def accept_again(run: Run) -> bool:
    """Something that is in the history already, or behind a gap."""
    node = run.rng.choice(run.nodes)
    if not node.current or not run.log:
        return False
    run.events.append(Accept(*node.actor, node.current, run.rng.choice(run.log)))
    return True


def swapped_deliveries(run: Run) -> bool:
    node = with_two_to_deliver(run)
    if node is None:
        return False
    first, second, *_ = run.missing(node)
    run.delivers(node, second)
    run.delivers(node, first)
    return True


def skipped_delivery(run: Run) -> bool:
    node = with_two_to_deliver(run)
    if node is None:
        return False
    run.delivers(node, run.missing(node)[-1])
    return True


def with_two_to_deliver(run: Run) -> Node | None:
    if run.leader is None:
        return None
    for _ in range(2):
        run.broadcast()
    for node in run.followers():
        while run.accept(node):
            pass
    nodes = [node for node in run.followers() if len(run.missing(node)) > 1]
    return run.rng.choice(nodes) if nodes else None


def delivered_again(run: Run) -> bool:
    while run.leader is not None and run.deliver():
        pass
    nodes = [node for node in run.nodes if node.delivered]
    if not nodes:
        return False
    node = run.rng.choice(nodes)
    run.delivers(node, run.rng.choice(node.delivered[-2:]))
    return True


def ack_epoch_without_a_promise(run: Run) -> bool:
    node = run.rng.choice(run.nodes)
    epoch = node.promised + run.rng.choice((1, 2))
    run.events.append(AckEpoch(*node.actor, epoch, node.current, *told(node.history)))
    return True


def broken_promise(run: Run) -> bool:
    node = run.rng.choice(run.nodes)
    if not node.current:
        return False
    run.events.append(Promise(*node.actor, node.promised + 1))
    node.promised += 1
    if run.log and run.rng.random() < 0.6:
        run.events.append(Accept(*node.actor, node.current, run.new_txn()))
    else:
        run.events.append(Adopt(*node.actor, node.current, *told(node.history)))
    return True


def altered_ack_epoch(run: Run) -> bool:
    node = run.rng.choice(run.nodes)
    epoch_to_promise(run, node)
    run.events.append(AckEpoch(*node.actor, node.promised, node.current, *altered(run, node.history)))
    return True


def epoch_to_promise(run: Run, node: Node) -> None:
    node.follows = False
    if node is run.leader:
        run.abandon()
    node.promised = max(node.promised, run.epoch) + 1
    run.events.append(Promise(*node.actor, node.promised))


def altered(run: Run, txns: list[Txn]) -> tuple[Zxid, int, int]:
    zxid, length, value = told(txns)
    ghost = Txn(Zxid(zxid.epoch, zxid.counter + 1), "ghost")
    wrong = (
        told(txns[:-1]),
        told(txns[1:]),
        told(txns[::-1]),
        told([*txns, ghost]),
        (zxid, length, value ^ 1),
        (zxid, length + 1, value),
        (Zxid(9, 9), length, value),
    )
    return run.rng.choice([each for each in wrong if each != told(txns)])


def altered_initial_history(run: Run) -> bool:
    node = run.rng.choice(run.nodes)
    if run.leader is None or node.promised > run.epoch:
        return False
    run.promise(node)
    node.current, node.history = run.epoch, list(run.log)
    run.events.append(Adopt(*node.actor, run.epoch, *altered(run, run.log)))
    if run.rng.random() < 0.5:
        run.commit_epoch(node)
    return True


def history_of_nobody(run: Run) -> bool:
    """An epoch for which nobody provided anything."""
    node = run.rng.choice(run.nodes)
    epoch_to_promise(run, node)
    node.current = node.promised
    run.events.append(Adopt(*node.actor, node.current, *told(node.history)))
    return True


def second_leader(run: Run) -> bool:
    if run.leader is None:
        return False
    node = run.rng.choice(run.nodes)
    run.events.append(Establish(*node.actor, run.epoch))
    return node is not run.leader


def led_again(run: Run) -> bool:
    """A leader that crashed is established for its epoch again."""
    if run.leader is None:
        return False
    leader = run.leader
    run.crash(leader)
    run.events.append(Establish(*leader.actor, run.epoch))
    return True


def two_values(run: Run) -> bool:
    if not run.log:
        return False
    twin = Txn(run.rng.choice(run.log).zxid, "twin")
    node = run.rng.choice(run.nodes)
    show: Sequence[Event] = (
        Broadcast(*node.actor, run.epoch, twin),
        Deliver(*node.actor, twin),
        Accept(*node.actor, run.epoch, twin),
    )
    run.events += run.rng.sample(show, run.rng.randint(1, 2))
    return True


def two_broadcasters(run: Run) -> bool:
    others = [node for node in run.nodes if node is not run.leader]
    if not run.epoch or not others:
        return False
    txn = run.rng.choice(run.log) if run.log and run.rng.random() < 0.5 else run.new_txn()
    epoch = run.epoch + run.rng.choice((0, 0, 1))
    run.events.append(Broadcast(*run.rng.choice(others).actor, epoch, txn))
    return True


def broadcast_again(run: Run) -> bool:
    own = [e for e in run.events if run.leader is not None and isinstance(e, Broadcast) and e.epoch == run.epoch]
    if not own or run.leader is None:
        return False
    run.events.append(Broadcast(*run.leader.actor, run.epoch, run.rng.choice(own).txn))
    return True


def descending_zxids(run: Run) -> bool:
    if run.leader is None or not run.log:
        return False
    txn = run.new_txn()
    run.broadcasts(run.leader, Txn(Zxid(run.epoch, txn.zxid.counter + 1), "v"))
    run.broadcasts(run.leader, txn)
    return True


def done_before_broadcast(run: Run) -> bool:
    """The order of the file is not the order in time."""
    followers = [node for node in run.followers() if node.history == run.log]
    if run.leader is None or not followers:
        return False
    txn = run.new_txn()
    for node in followers:
        run.accepts(node, txn)
        run.delivers(node, txn)
    run.log.append(txn)
    run.committed = len(run.log)
    if run.rng.random() < 0.8:
        run.events.append(Broadcast(*run.leader.actor, run.epoch, txn))
    return True


def delivered_alone(run: Run) -> bool:
    if run.leader is None or len(run.nodes) == 1:
        return False
    run.broadcast()
    while run.accept(run.leader):
        pass
    run.delivers(run.leader, run.leader.history[-1])
    return True


def accepted_by_few_in_each_epoch(run: Run) -> bool:
    """Every process accepts it, but no quorum does in one epoch."""
    if run.leader is None:
        return False
    txn = run.new_txn()
    last = run.epoch + run.rng.choice((0, 0, 1, 2))
    for node in run.rng.sample(run.nodes, run.rng.randint(0, len(run.nodes))):
        run.events.append(Accept(*node.actor, run.rng.randint(run.epoch, last), txn))
    for node in run.rng.sample(run.nodes, run.rng.randint(1, len(run.nodes))):
        run.events.append(Deliver(*node.actor, txn))
    return True


def accept_not_shown(run: Run) -> bool:
    """Nobody knows the content of the histories that go on from there."""
    followers = [node for node in run.followers() if node.history == run.log[: len(node.history)]]
    if run.leader is None or not followers:
        return False
    run.broadcast()
    node = run.rng.choice(followers)
    shown = run.events.copy()
    while run.accept(node):
        pass
    run.events = shown
    return True


def phase_begun_again(run: Run) -> bool:
    node = run.rng.choice(run.nodes)
    run.events.append(CommitEpoch(*node.actor, max(1, run.epoch + run.rng.choice((0, 0, 1)))))
    return True


def restore_in_between(run: Run) -> bool:
    node, other = run.rng.choice(run.nodes), run.rng.choice(run.nodes)
    taken = other.delivered[: run.rng.randint(0, len(other.delivered))]
    run.restore(node, [*taken, Txn(Zxid(9, 9), "never")] if run.rng.random() < 0.3 else taken)
    return True


def stabilised_too_early(run: Run) -> bool:
    """Nobody sees to it that what follows gets anywhere."""
    node = run.leader or run.rng.choice(run.nodes)
    quorum = run.rng.sample(run.nodes, len(run.nodes) // 2 + 1)
    run.events.append(Stabilised(*node.actor, tuple(each.process for each in quorum)))
    return True


def restarted_after_all(run: Run) -> bool:
    """A process loses what it had, or stops."""
    node = run.rng.choice(run.nodes)
    if run.rng.random() < 0.3:
        run.events.append(Halt(*node.actor, "enough"))
        return True
    run.crash(node)
    return True


def diverging_state(run: Run) -> bool:
    node = run.rng.choice(run.nodes)
    zxid, length, digest = told(node.delivered)
    run.events.append(State(*node.actor, zxid, length, digest))
    run.events.append(State(*run.rng.choice(run.nodes).actor, zxid, length, digest ^ run.rng.choice((1, 2))))
    return True


DEFECTS: dict[str, Callable[[Run], bool]] = {
    defect.__name__: defect
    for defect in (
        accept_of_another_epoch,
        accept_before_adopting,
        accept_again,
        swapped_deliveries,
        skipped_delivery,
        delivered_again,
        ack_epoch_without_a_promise,
        broken_promise,
        altered_ack_epoch,
        altered_initial_history,
        history_of_nobody,
        second_leader,
        led_again,
        two_values,
        two_broadcasters,
        broadcast_again,
        descending_zxids,
        done_before_broadcast,
        delivered_alone,
        accepted_by_few_in_each_epoch,
        accept_not_shown,
        phase_begun_again,
        restore_in_between,
        stabilised_too_early,
        restarted_after_all,
        diverging_state,
    )
}

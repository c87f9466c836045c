"""Followers that pass on what the leader sends: a chain or a tree in place of the star (DSN 2011, VII).

The paper names "a broadcast tree or chain replication" as the way to relieve the leader of n-1 copies, and says no more
("we have not explored these alternatives"). So steps T.1 to T.6 are our decisions. ACKs go straight to the leader.

A link to a relay's follower is FIFO, as all are, so along one path messages keep their order. Across two paths they do
not: what comes on a rebuilt path may overtake what is still in transit on the one before, or what was lost with a relay
may be missing. So each PROPOSE names the zxid that it comes after.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from zabcheck.protocols.base import Cast, Changed, Effect, ProcessId, Send
from zabcheck.protocols.switches import ZabSwitches
from zabcheck.protocols.zab.messages import Commit, Propose
from zabcheck.protocols.zab.process import Follower, Leader

Route = tuple[ProcessId, ...]


def branches(below: Route, switches: ZabSwitches) -> list[tuple[ProcessId, Route]]:
    """Return who gets a message next, each with those that it passes it on to; `below` are all that are to get it.

    >>> branches((2, 3, 4, 5), ZabSwitches(dissemination="chain"))
    [(2, (3, 4, 5))]
    >>> branches((2, 3, 4, 5), ZabSwitches(dissemination="tree"))
    [(2, (3,)), (4, (5,))]
    """
    middle = (len(below) + 1) // 2 if switches.dissemination == "tree" else len(below)
    return [(part[0], part[1:]) for part in (below[:middle], below[middle:]) if part]


def given_a_place(l: Leader, follower: ProcessId) -> Route:
    """Step T.1: a follower that has acknowledged NEWLEADER comes to the end of the chain, or of the tree.

    Until then the leader sends to it directly: a PROPOSE of another path could overtake NEWLEADER.
    """
    return l.path if follower == l.id or not l.switches.relays else (*l.path, follower)


def disseminate(l: Leader, message: Propose | Commit, directly: Sequence[ProcessId]) -> list[Effect]:
    """Step T.2: send a PROPOSE or a COMMIT `directly` to these, and to the first follower of each branch for it and
    those below it. The message names them all, so that no relay has to know the tree.
    """
    effects: list[Effect] = [Send(each, message) for each in directly if each not in l.path]
    routes = branches(l.path, l.switches)
    return [*effects, *(Send(first, replace(message, route=rest)) for first, rest in routes)]


def pass_on(f: Follower, message: Propose | Commit) -> list[Effect]:
    """Step T.3: pass a message on to those that its route names, also one that this follower had before.

    It need not wait for the disk: only an ACK says what is durable, and that comes from each follower itself.
    """
    routes = branches(message.route, f.switches)
    return [Cast(first, replace(message, route=rest)) for first, rest in routes]


def is_of_this_iteration(f: Follower, message: Propose | Commit) -> bool:
    """Return True if the follower has accepted the NEWLEADER of this iteration, and the message is of its epoch.

    What a relay sends may be left over from an iteration before. A PROPOSE that comes before NEWLEADER would be
    truncated by it, although it was acknowledged.
    """
    return f.known is not None and message.epoch == f.current_epoch


def in_order(f: Follower, m: Propose) -> list[Propose]:
    """Step T.4: return the proposals that continue h_f, in order, now that this one has come.

    One that would leave a hole is not accepted, but kept aside until the hole is filled: an ACK says that everything
    up to its zxid is accepted. What fills it is in transit on another path, or comes from the leader (T.6).
    """
    aside = {each.after: each for each in (*f.aside, replace(m, route=())) if each.txn.zxid > f.history.zxid}
    accepted, last = [], f.history.zxid
    while last in aside:
        accepted.append(aside.pop(last))
        last = accepted[-1].txn.zxid
    f.aside = tuple(sorted(aside.values(), key=lambda each: each.txn.zxid))
    return accepted


def keep_commit(f: Follower, m: Commit) -> list[Effect]:
    """Step T.5: keep the highest zxid that is known to be committed: a COMMIT may overtake what it commits.

    It may overtake COMMIT-LD as well.
    """
    assert f.known is not None
    f.known = max(f.known, m.zxid)
    return [Changed()]


def rebuild(l: Leader, lost: ProcessId) -> list[Effect]:
    """Step T.6: without the follower that is lost, close the ranks, and send everything that may be lost with it again.

    The leader notices by the connection, which it has to every follower, relay or not. It sends to each of the others,
    directly, what that has not acknowledged, and the last COMMIT. Each may have been below the lost one when a message
    was sent, as the ranks change with every follower that comes or goes. The leader keeps what is not acknowledged.
    """
    if lost not in l.path:
        return []
    assert l.proposed is not None
    l.path = tuple(each for each in l.path if each != lost)
    effects: list[Effect] = []
    for each in l.path:
        known = l.proposed.up_to(l.acks[each])
        last = known.zxid
        for txn in l.proposed.after(known.length):
            effects.append(Send(each, Propose(l.new_epoch, txn, last)))
            last = txn.zxid
        effects.append(Send(each, Commit(l.new_epoch, l.committed)))
    return effects

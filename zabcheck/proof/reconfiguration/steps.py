"""The steps in which Zab with configurations that change differs from Zab: whose quorums a step needs (R.1 to R.12).

A set of processes that is a quorum of several configurations stands for a quorum of each.
"""

from msgspec import structs

from zabcheck.proof import steps
from zabcheck.proof.logic import (
    FIRST,
    ZERO,
    Config,
    Epoch,
    Formula,
    Node,
    Quorum,
    Transaction,
    every,
    makes,
    member,
    of,
    same,
    some,
    under,
)
from zabcheck.proof.reconfiguration.relations import Configured
from zabcheck.proof.steps import Addition, Change, Step, add, add_all, step

AMONG = Configured.relations


def as_in_zab(of_zab: Step) -> Step:
    """Return a step of Zab as one of these relations."""
    return structs.replace(of_zab, about=Configured)


adopt = as_in_zab(steps.adopt)
adopt_late = as_in_zab(steps.adopt_late)
accept = as_in_zab(steps.accept)
deliver = as_in_zab(steps.deliver)


@step("l.1.1", Configured)
def ask(s: Configured, e: Epoch, l: Node, c: Config) -> Change:
    """A leader l asks for promises of e, with NEWEPOCH, while c is active at it: nobody has promised e to it yet.

    It chooses and is established by quorums of c, whatever it is told later.
    """
    none = every(lambda n: ~s.promised(n, e, l), Node)
    return Change(when=(ZERO < e) & s.active(l, c) & none, adds=(add("asked", e, l, c),))


@step("f.1.2", Configured)
def promise(s: Configured, n: Node, e: Epoch, l: Node) -> Change:
    """A follower n promises e to l if f.p < e: so it leaves all earlier epochs."""
    return Change(
        when=(ZERO < e) & steps.fresh(s, n, e) & ~s.adopted(n, e),
        adds=(add("promised", n, e, l), add_all("left", lambda m, d: same(m, n) & (d < e))),
    )


@step("l.1.2", Configured)
def choose(
    s: Configured,
    e: Epoch,
    l: Node,
    q: Quorum,
    b: Node,
    a: Epoch,
    z: Transaction,
    c: Config,
    m: Transaction,
    k: Config,
) -> Change:
    """With ACK-Es of q, l takes the history of b, the highest in q, as I_e: l asked in c, and q is a quorum of c.

    It is a quorum of each later configuration, too, whose change that history has (R.10). Of what was committed before
    e, m is the first transaction that the history lacks, if it lacks any, and k the last configuration.
    """
    return Change(
        when=steps.promised_by_all(s, e, l, q)
        & steps.has_latest_epoch(s, e, q, b, a)
        & steps.has_last_zxid(s, q, b, a, z)
        & is_base(s, e, l, c, q)
        & asks_pending(s, c, q, b, a)
        & is_first_missing(s, e, b, a, m)
        & is_last_known(s, e, k),
        adds=take_history(s, e, l, b, a, c),
    )


@step("l.1.2", Configured)
def choose_empty(
    s: Configured, e: Epoch, l: Node, q: Quorum, b: Node, a: Epoch, c: Config, m: Transaction, k: Config
) -> Change:
    """The same step where the histories of the latest f.a are empty: I_e is empty."""
    nothing = every(lambda n, t: member(n, q) >> ~s.accepted(n, a, t), Node, Transaction)
    return Change(
        when=steps.promised_by_all(s, e, l, q)
        & steps.has_latest_epoch(s, e, q, b, a)
        & nothing
        & is_base(s, e, l, c, q)
        & is_first_missing(s, e, b, a, m)
        & is_last_known(s, e, k),
        adds=take_history(s, e, l, b, a, c),
    )


def is_base(s: Configured, e: Epoch, l: Node, c: Config, q: Quorum) -> Formula:
    """Return the formula that q is a quorum of c, in which l asked for promises of e."""
    return s.asked(e, l, c) & of(q, c)


def asks_pending(s: Configured, c: Config, q: Quorum, b: Node, a: Epoch) -> Formula:
    """Return the formula that q is a quorum of each configuration after c whose change b's history has (R.10)."""
    return every(lambda u, d: (makes(u, d) & s.accepted(b, a, u) & (c < d)) >> of(q, d), Transaction, Config)


def is_first_missing(s: Configured, e: Epoch, b: Node, a: Epoch, m: Transaction) -> Formula:
    """Return the formula that m is the first of what was committed before e that b's history lacks, if it lacks any."""

    def missing(d: Epoch, t: Transaction) -> Formula:
        return s.committed(d, t) & (d < e) & ~s.accepted(b, a, t)

    none = every(lambda d, t: ~missing(d, t), Epoch, Transaction)
    first = some(lambda d: missing(d, m), Epoch) & every(lambda d, t: missing(d, t) >> (m <= t), Epoch, Transaction)
    return none | first


def is_last_known(s: Configured, e: Epoch, k: Config) -> Formula:
    """Return the formula that k is the last configuration of those that were committed before e, or the first one."""
    return s.known(e, k) & every(lambda d: s.known(e, d) >> (d <= k), Config)


def take_history(s: Configured, e: Epoch, l: Node, b: Node, a: Epoch, c: Config) -> tuple[Addition, ...]:
    """Return the additions by which l leads e in c, with b's history as the initial one."""
    return (*steps.take_history(s, e, l, b, a), add("base", e, c))


@step("l.2.2", Configured)
def establish(s: Configured, e: Epoch, l: Node, q: Quorum, c: Config) -> Change:
    """With ACK-LDs of q, l is established: q is a quorum of c and of what is pending in I_e (R.9).

    What I_e has behind the change to c is committed in e; what comes before was committed earlier.
    """
    return Change(
        when=s.led(e, l)
        & s.base(e, c)
        & s.may_establish(e, c, q)
        & every(lambda n: member(n, q) >> s.adopted(n, e), Node),
        adds=(
            add("established", e, l),
            add_all("committed", lambda f, t: same(f, e) & s.initial(e, t) & (c <= under(t)), AMONG),
        ),
    )


@step("l.3.1", Configured)
def broadcast(s: Configured, e: Epoch, l: Node, t: Transaction) -> Change:
    """The established leader l, which has delivered I_e, broadcasts t of e, under the last configuration of H(e)."""
    return Change(
        when=s.established(e, l)
        & every(lambda u: s.initial(e, u) >> s.delivered(l, u), Transaction)
        & steps.is_next(s, e, t)
        & is_governed(s, e, t),
        adds=steps.propose(s, e, l, t),
    )


def is_governed(s: Configured, e: Epoch, t: Transaction) -> Formula:
    """Return the formula that H(e) has the change to under(t), which may be the first, and no later change."""
    has = same(under(t), FIRST) | some(lambda u: makes(u, under(t)) & s.history(e, u), Transaction)
    return has & every(lambda u, d: (makes(u, d) & s.history(e, u)) >> (d <= under(t)), Transaction, Config)


@step("l.3.2", Configured)
def commit(s: Configured, e: Epoch, l: Node, t: Transaction, q: Quorum, c: Config) -> Change:
    """With ACKs of t from a quorum of under(t), the leader commits t, if the change to under(t) is (R.3, R.8).

    If t is a change, they are a quorum of the configuration that it makes, too (R.4).
    """
    return Change(
        when=s.established(e, l)
        & s.proposed(e, t)
        & s.base(e, c)
        & every(lambda n: member(n, q) >> s.accepted(n, e, t), Node)
        & of(q, under(t))
        & every(lambda d: makes(t, d) >> of(q, d), Config)
        & (same(under(t), c) | some(lambda u: makes(u, under(t)) & s.committed(e, u), Transaction)),
        adds=(commit_up_to(s, e, t, c),),
    )


def commit_up_to(s: Configured, e: Epoch, t: Transaction, c: Config) -> Addition:
    """Return the addition that commits the history of e up to t, from the change to c on."""
    return add_all("committed", lambda f, u: same(f, e) & s.history(e, u) & (u <= t) & (c <= under(u)), AMONG)


@step("R.5", Configured)
def activate(s: Configured, n: Node, e: Epoch, u: Transaction, c: Config) -> Change:
    """A process activates c with COMMIT of its change."""
    return Change(when=s.committed(e, u) & makes(u, c), adds=(add("active", n, c),))


@step("R.12", Configured)
def tell(s: Configured, n: Node, k: Node, c: Config) -> Change:
    """A process is told by k that c is active."""
    return Change(when=s.active(k, c), adds=(add("active", n, c),))


STEPS = (
    ask,
    promise,
    choose,
    choose_empty,
    adopt,
    adopt_late,
    establish,
    broadcast,
    accept,
    commit,
    deliver,
    activate,
    tell,
)
"""All steps, in the order of the paper's phases."""


def start(s: Configured) -> Formula:
    """Return the formula of the start: that of Zab, and the first configuration is active."""
    return (
        steps.start(s)
        & every(lambda e, l, c: ~s.asked(e, l, c), Epoch, Node, Config)
        & every(lambda n, c: s.active(n, c) >> same(c, FIRST), Node, Config)
        & every(lambda n, c: same(c, FIRST) >> s.active(n, c), Node, Config)
        & every(lambda e, c: s.base(e, c) >> (same(e, ZERO) & same(c, FIRST)), Epoch, Config)
        & s.base(ZERO, FIRST)
    )

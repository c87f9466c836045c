"""Known bugs of configurations that change: each as steps that ask other quorums, or trust other configurations."""

from zabcheck.proof import steps as of_zab
from zabcheck.proof.logic import (
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
from zabcheck.proof.obligations import Theory
from zabcheck.proof.reconfiguration import steps
from zabcheck.proof.reconfiguration.relations import Configured
from zabcheck.proof.reconfiguration.theory import theory
from zabcheck.proof.steps import Change, Step, add, add_all, step


def _is_change(t: Transaction) -> Formula:
    return some(lambda d: makes(t, d), Config)


def _makes_for(t: Transaction, q: Quorum) -> Formula:
    """Return the formula that q is a quorum of the configuration that t makes, if it makes one."""
    return every(lambda d: makes(t, d) >> of(q, d), Config)


def _commit(s: Configured, e: Epoch, l: Node, t: Transaction, q: Quorum, c: Config, asked: Formula) -> Change:
    """Return the step that commits t, in which q satisfies `asked`."""
    accepted = every(lambda n: member(n, q) >> s.accepted(n, e, t), Node)
    when = s.established(e, l) & s.proposed(e, t) & s.base(e, c) & accepted & asked
    return Change(when, (steps.commit_up_to(s, e, t, c),))


def _is_made_first(s: Configured, e: Epoch, t: Transaction, c: Config) -> Formula:
    return same(under(t), c) | some(lambda u: makes(u, under(t)) & s.committed(e, u), Transaction)


@step("l.3.2", Configured)
def commit_by_new(s: Configured, e: Epoch, l: Node, t: Transaction, q: Quorum, c: Config) -> Change:
    """A change is committed by a quorum of its own configuration alone."""
    asked = (_is_change(t) | of(q, under(t))) & _makes_for(t, q) & _is_made_first(s, e, t, c)
    return _commit(s, e, l, t, q, c, asked)


@step("l.3.2", Configured)
def commit_by_old(s: Configured, e: Epoch, l: Node, t: Transaction, q: Quorum, c: Config) -> Change:
    """A change is committed by a quorum of the configuration before it alone."""
    return _commit(s, e, l, t, q, c, of(q, under(t)) & _is_made_first(s, e, t, c))


@step("l.3.2", Configured)
def commit_all_by_base(s: Configured, e: Epoch, l: Node, t: Transaction, q: Quorum, c: Config) -> Change:
    """A transaction behind a change is committed by a quorum of the configuration that the epoch began in."""
    return _commit(s, e, l, t, q, c, of(q, c) & _makes_for(t, q) & _is_made_first(s, e, t, c))


@step("l.3.2", Configured)
def commit_second_early(s: Configured, e: Epoch, l: Node, t: Transaction, q: Quorum, c: Config) -> Change:
    """A second change, behind one that is pending, needs a quorum of what is active, and of its own configuration."""
    first = of(q, under(t)) & _makes_for(t, q) & _is_made_first(s, e, t, c)
    return _commit(s, e, l, t, q, c, first | (_is_change(t) & of(q, c) & _makes_for(t, q)))


@step("l.1.2", Configured)
def choose_by_base(s: Configured, e: Epoch, l: Node, q: Quorum, b: Node, a: Epoch, z: Transaction, c: Config) -> Change:
    """An initial history is chosen with ACK-Es of the active configuration alone, whatever change it has."""
    highest = of_zab.has_latest_epoch(s, e, q, b, a) & of_zab.has_last_zxid(s, q, b, a, z)
    when = of_zab.promised_by_all(s, e, l, q) & highest & steps.is_base(s, e, l, c, q)
    return Change(when, steps.take_history(s, e, l, b, a, c))


@step("l.1.2", Configured)
def choose_by_pending(
    s: Configured, e: Epoch, l: Node, q: Quorum, b: Node, a: Epoch, z: Transaction, c: Config
) -> Change:
    """A leader begins in a configuration whose change it has accepted, and which is not active."""
    highest = of_zab.has_latest_epoch(s, e, q, b, a) & of_zab.has_last_zxid(s, q, b, a, z)
    believed = some(lambda u, d: makes(u, c) & s.accepted(l, d, u) & (d < e), Transaction, Epoch) & of(q, c)
    when = of_zab.promised_by_all(s, e, l, q) & highest & believed & steps.asks_pending(s, c, q, b, a)
    return Change(when, steps.take_history(s, e, l, b, a, c))


@step("R.7", Configured)
def choose_unpromised(s: Configured, e: Epoch, l: Node, b: Node, a: Epoch, c: Config) -> Change:
    """The leader that was named begins its epoch with its own history, and asks nobody."""
    own = same(l, b) & s.adopted(b, a) & (a < e) & ~s.led(e, l) & s.active(l, c) & s.known(e, c)
    latest = every(lambda d: (s.adopted(b, d) & (d < e)) >> (d <= a), Epoch)
    return Change(own & latest, steps.take_history(s, e, l, b, a, c))


@step("l.2.2", Configured)
def establish_by_base(s: Configured, e: Epoch, l: Node, q: Quorum, c: Config) -> Change:
    """A leader is established by a quorum of the active configuration alone, whatever change I_e has."""
    adopted = every(lambda n: member(n, q) >> s.adopted(n, e), Node)
    return Change(
        s.led(e, l) & s.base(e, c) & of(q, c) & adopted,
        (
            add("established", e, l),
            add_all("committed", lambda f, t: same(f, e) & s.initial(e, t) & (c <= under(t)), Configured.relations),
        ),
    )


@step("R.5", Configured)
def activate_accepted(s: Configured, n: Node, e: Epoch, u: Transaction, c: Config) -> Change:
    """A process activates a configuration when it acknowledges the change."""
    return Change(s.accepted(n, e, u) & makes(u, c), (add("active", n, c),))


@step("R.0", Configured)
def accept_early(s: Configured, n: Node, e: Epoch, t: Transaction) -> Change:
    """A process that joins acknowledges a change before it has the history in front of it."""
    return Change(s.adopted(n, e) & ~s.left(n, e) & s.proposed(e, t) & _is_change(t), (add("accepted", n, e, t),))


def _with(**replaced: Step) -> Theory:
    """Return the theory with some steps replaced, by their names; a new name is one step more."""
    known = {each.name.replace(" ", "_"): each for each in steps.STEPS}
    return theory(tuple({**known, **replaced}.values()))


MUTANTS = {
    "change-by-new-only": _with(commit=commit_by_new),
    "change-by-old-only": _with(commit=commit_by_old),
    "after-change-by-old": _with(commit=commit_all_by_base),
    "ignore-pending-change": _with(choose=choose_by_base, establish=establish_by_base, commit=commit_all_by_base),
    "complete-with-old-only": _with(choose=choose_by_base, establish=establish_by_base),
    "discover-in-old-only": _with(choose=choose_by_base),
    "second-change-early": _with(commit=commit_second_early),
    "activate-on-ack": _with(activate=activate_accepted),
    "joiner-acks-early": _with(accept_early=accept_early),
    "elect-in-old-only": _with(choose=choose_by_base, establish=establish_by_base),
    "elect-in-new-only": _with(choose=choose_by_pending),
    "lead-on-unpromised": _with(choose_unpromised=choose_unpromised),
}
"""The mutants of `zab-reconfiguration` that the abstraction can express."""
OUTSIDE = {
    "lead-on-in-same-epoch": "two that broadcast in one epoch: the abstraction does not say who broadcasts",
    "keep-cut-off-change": "it breaks liveness alone",
}
"""The planted bugs that the abstraction cannot express, each with the reason."""

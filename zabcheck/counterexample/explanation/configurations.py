"""Explanations of what is broken in a chain of configurations (USENIX ATC 2012)."""

from collections.abc import Iterator

from zabcheck.counterexample.explanation.edges import Case, Mark
from zabcheck.counterexample.explanation.explained import explains
from zabcheck.counterexample.explanation.facts import Facts
from zabcheck.counterexample.explanation.phrases import demands, shown, took, why_lacking
from zabcheck.counterexample.explanation.protocol import accepted_by_no_quorum, no_quorum
from zabcheck.invariants import Activate, Activation, Deliver, OneChain, Violation


@explains(Activation, edges=no_quorum)
def activation(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a configuration that decides although no quorum had accepted it."""
    *accepted, activate = v.witness
    assert isinstance(activate, Activate)

    it = shown(activate.txn)
    yield f"{f.who(activate)} activated {it}{f.at(activate)}"
    yield from accepted_by_no_quorum(f, accepted)
    yield demands(
        v,
        f"a quorum of the configuration before it, and one of its own, have accepted {it} before: then whoever is "
        "elected in either of them finds it",
    )
    yield f"So {f.who(activate)} decides by {it} already, while the others may elect a leader that never hears of it"


def _two_at_once(case: Case) -> Iterator[Mark]:
    """Mark two configurations with one zxid, or the delivery that passed one by."""
    if isinstance(case.witness[1], Activate):
        yield Mark(case.at(0), case.at(1), "broken", "two configurations have one zxid")
    else:
        lacking = case.undelivered(case.witness[1], case.witness[0].txn)
        yield Mark(lacking, case.at(1), "missing", "it delivered a later one without that configuration")


@explains(OneChain, edges=_two_at_once)
def one_chain(v: Violation, f: Facts) -> Iterator[str]:
    """Explain two configurations that go on beside each other."""
    active, other = v.witness
    assert isinstance(active, Activate)

    first = f"{f.who(active)} activated {shown(active.txn)}{f.at(active)}"
    if isinstance(other, Activate):
        yield f"{first}, and {f.who(other)} activated {shown(other.txn)}{f.at(other)}"
        yield demands(v, "a zxid names one configuration, for each goes on from the one before it")
        yield f"So two ensembles may both commit: that of {f.who(active)}, and that of {f.who(other)}"
        return
    assert isinstance(other, Deliver)
    yield first
    yield f"{f.who(other)} {took(f, other)}, a higher zxid, and had not delivered {shown(active.txn)} before"
    yield from why_lacking(v, f, other, active.txn)
    yield demands(v, "all that is delivered after a configuration is delivered after it everywhere")
    yield f"So {f.who(other)} goes on in a configuration that {f.who(active)} has left"

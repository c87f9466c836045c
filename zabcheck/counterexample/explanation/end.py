"""Explains violations of the properties of an undisturbed ensemble, and of equal states.

A function for each property, declared with its edges by `explains`: it takes the violation and the facts of the trace,
and yields sentences without their full stop.
"""

from collections.abc import Iterator

from zabcheck.counterexample.explanation.edges import Case, Mark, actor_of, in_order
from zabcheck.counterexample.explanation.explained import explains
from zabcheck.counterexample.explanation.facts import Facts
from zabcheck.counterexample.explanation.phrases import (
    LONGEST_VALUE,
    both_sent,
    broadcasts,
    by_whom,
    demands,
    listed,
    processes,
    same_actor,
    sent,
    shown,
    taken_from,
    txns,
    why_lacking,
)
from zabcheck.invariants import (
    Accept,
    Broadcast,
    ClientAck,
    Convergence,
    Crash,
    Deliver,
    Durability,
    EpochProgress,
    FinalAgreement,
    FinalRead,
    Judge,
    Local,
    Promise,
    Quiescent,
    Ready,
    ReliableDelivery,
    SameState,
    Stabilised,
    State,
    Txn,
    Violation,
)
from zabcheck.invariants.stabilised import Liveness
from zabcheck.text.words import counted, cut, name


def _lagging(case: Case, property_: type[Liveness], stabilised: Stabilised, txn: Txn) -> str:
    """Return the node of the delivery that the least member of the quorum lacks."""
    judge = Judge([property_], "per-process")
    for event in case.causality.events:
        judge.observe(event)
    [invariant] = judge.invariants
    assert isinstance(invariant, Liveness)
    member = invariant.lacking(stabilised, txn)
    incarnation = max(0, judge.record.incarnation(member))
    return case.no(Deliver(member, incarnation, txn))


def _no_progress(case: Case) -> Iterator[Mark]:
    """Mark the delivery that a member of the quorum lacks, or the broadcast that never came."""
    stabilised, *broadcast = case.witness
    if broadcast:
        never = _lagging(case, Convergence, stabilised, broadcast[0].txn)
        yield Mark(case.at(1), never, "missing", "it has to follow")
    else:
        never = case.nothing(f"{name(*actor_of(stabilised))} broadcasts something", "broadcast", stabilised.process)
        yield Mark(case.at(0), never, "missing", "it has to follow")


@explains(Convergence, edges=_no_progress)
def convergence(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a leader that did not get established although its quorum was undisturbed."""
    stabilised, *rest = v.witness
    assert isinstance(stabilised, Stabilised)
    leader = f"p{stabilised.process}"
    calm = "all chose it, every link worked, and clients asked it to broadcast"
    yield f"{_undisturbed(f, stabilised)}: {calm}"
    if not rest:
        yield f"{leader} broadcast nothing from there to the end of the run"
        yield _why_idle(f, stabilised)
        yield demands(v, "under these conditions what the leader is asked to broadcast comes to be committed")
        yield "So the ensemble did not get on, although nothing stood in its way"
        return
    [broadcast] = broadcasts(rest)
    lacking = listed([f.who(member) for member in _members_without(f, stabilised, broadcast.txn)])
    yield f"{sent(f, broadcast)}, and {lacking} never delivered it"
    accepted = [event for event in f.all(Accept) if event.txn == broadcast.txn]
    delivered = [event for event in f.all(Deliver) if event.txn == broadcast.txn]
    came = f"delivered {by_whom(f, delivered)}" if delivered else "delivered by nobody"
    if f.shows_histories:  # else the trace says nothing of who accepted what
        by = by_whom(f, accepted) if accepted else "by nobody"
        came = f"accepted {by}, {'and' if bool(accepted) == bool(delivered) else 'but'} {came}"
    yield f"It was {came}"
    yield demands(v, "under these conditions all that the leader broadcasts is delivered by the whole quorum")
    if delivered:
        yield f"So {lacking} fell behind, although nothing stood in the way"
    else:
        yield "So the ensemble did not get on, although nothing stood in its way"


def _undisturbed(f: Facts, event: Stabilised) -> str:
    others = [member for member in event.quorum if member != event.process]
    led = f"p{event.process} led {processes(others)}" if others else f"p{event.process}, a quorum by itself, led"
    place = f.find(event)
    since = "At the end" if place is None else f"From {f.unit} {place.number} to the end"
    return f"{since} {led} undisturbed"


def _members_without(f: Facts, event: Stabilised, txn: Txn) -> list[Stabilised]:
    """Return the members of the quorum that did not deliver `txn` in their last incarnation, each as if it led."""
    members = [Stabilised(member, f.last_incarnation(member), event.quorum) for member in event.quorum]
    return [member for member in members if txn not in f.delivered(member.process, member.incarnation)]


def _why_idle(f: Facts, stabilised: Stabilised) -> str:
    """Describe how far a leader came that broadcast nothing."""
    start = f.find(stabilised)
    after = [place for place in f.of(stabilised.process, Local) if start is None or place.rank > start.rank]
    for place in after:
        if isinstance(place.event, Ready):
            epoch = place.event.epoch
            used = [event for event in f.all(Broadcast) if event.epoch == epoch]
            if used:
                last = f"in which p{used[-1].process} broadcast {shown(used[-1].txn)}{f.at(used[-1])}"
                return f"It became ready to broadcast{f.at_place(place)}, but in epoch {epoch}, {last}"
            return f"It became ready to broadcast in epoch {epoch}{f.at_place(place)}, and yet never did"
    promised = [place.event.epoch for place in after if isinstance(place.event, Promise)]
    if promised:
        return f"It promised epoch {promised[-1]} after that, but never became ready to broadcast in it"
    return "It never became ready to broadcast in any epoch after that"


def _not_delivered_by_all(case: Case) -> Iterator[Mark]:
    """Mark the delivery that a member of the quorum lacks."""
    delivery, stabilised = case.witness
    yield Mark(case.at(0), _lagging(case, ReliableDelivery, stabilised, delivery.txn), "missing", "it has to follow")


@explains(ReliableDelivery, edges=_not_delivered_by_all)
def reliable_delivery(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a transaction that a member of an undisturbed quorum never delivered."""
    deliver, stabilised = v.witness
    assert isinstance(deliver, Deliver)
    assert isinstance(stabilised, Stabilised)
    it = shown(deliver.txn)
    yield taken_from(f, deliver)
    without = _members_without(f, stabilised, deliver.txn)
    lacking = listed([f.who(member) for member in without])
    yield f"{_undisturbed(f, stabilised)}; when the run ended {lacking} had not delivered {it}"
    for member in without[:1]:
        yield from why_lacking(v, f, member, deliver.txn, at_end=True)
    yield demands(v, "what one server delivers is in the end delivered by all that are up and connected")
    yield f"So {lacking} ended in a state without {it}, which {f.who(deliver)} had applied"


def _not_done_at_rest(case: Case) -> Iterator[Mark]:
    """Mark the delivery that was left out, or the search for a leader that never began."""
    *about, last = case.witness
    if about:
        never = case.no(Deliver(*actor_of(last), about[0].txn))
    else:
        never = case.nothing(f"{name(*actor_of(last))} looks for another leader", "elect", last.process)
    yield Mark(case.at(0), never, "missing", "it has to follow")


@explains(EpochProgress, edges=_not_done_at_rest)
def epoch_progress(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a running epoch that stands still although no message and no sync is outstanding."""
    *about, last = v.witness
    assert isinstance(last, Quiescent)
    p, leader = f.who(last), f"p{last.leader}"
    rest = f"At {f.unit} {place.number}" if (place := f.find(last)) is not None else "In the end"
    rest += ", left alone with every link healed, the ensemble had nothing left to do"
    if not about:
        yield f"{rest}, and {p} still followed {leader}, which had closed their connection"
        for crash in [crash for crash in f.all(Crash) if crash.process == last.leader][-1:]:
            yield f"{f.who(crash)} had crashed{f.at(crash)}"
        yield demands(v, "a process that has lost its leader gives up, so that it can look for another")
        yield f"So {p} waits for a leader that it has lost"
        return
    what = about[0]
    assert isinstance(what, Broadcast | Deliver)
    it = shown(what.txn)
    if isinstance(what, Deliver):
        yield taken_from(f, what)
        yield f"{rest}, and {p}, which was connected to {leader}, had not delivered {it}"
        yield from why_lacking(v, f, last, what.txn)
        yield demands(v, "whoever is connected to an established leader ends up with all that the leader has delivered")
        yield f"So {p} follows {leader} without {it}, and nothing that is under way would bring it"
        return
    yield sent(f, what)
    accepted = [event for event in f.all(Accept) if event.txn == what.txn]
    yield f"{rest}; a quorum was connected to {leader}, and {leader} itself had not delivered {it}"
    if f.shows_histories:
        yield f"It was accepted {by_whom(f, accepted) if accepted else 'by nobody'}"
    yield demands(v, "what a leader broadcasts is committed if a quorum is connected to it")
    yield f"So {leader} leads on, and what it is asked to broadcast is never done"


@explains(SameState, edges=in_order("not the same state"))
def state(v: Violation, f: Facts) -> Iterator[str]:
    """Explain two states that differ after equally many transactions, by what led to them."""
    one, other = v.witness
    assert isinstance(one, State)
    assert isinstance(other, State)
    p, q = f.who(one), f.who(other)
    count = counted(one.length, "transaction", "transactions")
    yield f"After {count} {p} was in state {_content(one)}{f.at(one)}, and {q} in {_content(other)}{f.at(other)}"
    own, others = f.applied(one), f.applied(other)
    parted = next((index for index, (a, b) in enumerate(zip(own, others, strict=False)) if a != b), None)
    if parted is not None:
        a, b = own[parted], others[parted]
        which = "first transaction" if parted == 0 else f"transaction number {parted + 1}"
        yield f"As its {which} {p} had applied {shown(a)}, and {q} {shown(b)}"
        sent_a, sent_b = f.broadcast(a), f.broadcast(b)
        if sent_a is not None and sent_b is not None:
            yield both_sent(f, sent_a, sent_b)
    elif own and own == others:
        yield f"Both had delivered the same, {txns(own)}, so it is the application that went two ways"
    yield demands(v, "processes that applied equally many transactions are in the same state")
    if same_actor(one, other):
        yield f"So {p} was in two different states after the same {count}"
    else:
        yield f"So {p} and {q} have diverged: whoever reads at both after {count} sees two different states"


@explains(Durability, edges=in_order("it has to be there"))
def durability(v: Violation, f: Facts) -> Iterator[str]:
    """Explain what a client was told and no final read has."""
    told, read = v.witness
    assert isinstance(told, ClientAck)
    assert isinstance(read, FinalRead)
    it = shown(told.txn)
    yield f"{f.who(told)} told a client that {it} is done{f.at(told)}"
    broadcast = f.broadcast(told.txn)
    delivered = [event for event in f.all(Deliver) if event.txn == told.txn]
    came = f"delivered {by_whom(f, delivered) if delivered else 'by nobody'}"
    yield f"It was {came}" if broadcast is None else f"{sent(f, broadcast)}, and it was {came}"
    readers = listed([f.who(event) for event in f.all(FinalRead)])
    yield f"What was read at the end at {readers} does not hold it"
    yield demands(v, "what a client was told is done is there in the end")
    yield "So the client relies on something that nobody has"


@explains(FinalAgreement, edges=in_order("not the same"))
def final_agreement(v: Violation, f: Facts) -> Iterator[str]:
    """Explain two final reads that differ."""
    one, other = v.witness
    assert isinstance(one, FinalRead)
    assert isinstance(other, FinalRead)
    more = [txn for txn in one.txns if txn not in other.txns]
    less = [txn for txn in other.txns if txn not in one.txns]
    p, q = f.who(one), f.who(other)
    yield f"What was read at the end at {p}{f.at(one)} has {txns(more)}, and what was read at {q}{f.at(other)} has not"
    if less:
        yield f"In return {q} has {txns(less)}, and {p} has not"
    acked = next((event for event in f.all(ClientAck) if event.txn in more), None)
    if acked is not None:
        yield f"A client had been told that {shown(acked.txn)} is done{f.at(acked)}"
    yield demands(v, "what is read at the end is the same everywhere")
    yield f"So {p} and {q} have diverged: what a client sees depends on whom it asks"


def _content(event: State) -> str:
    return cut(event.text, 2 * LONGEST_VALUE) or f"{event.digest:x}"

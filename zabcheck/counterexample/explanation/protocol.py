"""Explains violations of the invariants about followers' histories (DSN 2011, VI).

A function for each property, declared with its edges by `explains`: it takes the violation and the facts of the trace,
and yields sentences without their full stop.
"""

from collections.abc import Iterator, Sequence

from zabcheck.counterexample.explanation.deliveries import built_on
from zabcheck.counterexample.explanation.edges import Case, Mark, actor_of, in_order
from zabcheck.counterexample.explanation.explained import explains
from zabcheck.counterexample.explanation.facts import Facts, Place
from zabcheck.counterexample.explanation.phrases import (
    altered,
    both_sent,
    by_whom,
    demands,
    listed,
    same_actor,
    same_primary,
    sent,
    shown,
    taken_from,
    txns,
    why_lacking,
)
from zabcheck.invariants import (
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    Chain,
    Chosen,
    CommitEpoch,
    Deliver,
    Establish,
    Event,
    Invariant1,
    Invariant2,
    Invariant3,
    Invariant4,
    Invariant5,
    Promise,
    Restore,
    Txn,
    Violation,
)
from zabcheck.text.words import counted, name

MOST_PROVIDED = 3
"""The number of histories provided for an epoch that are named."""

# Invariants 1 to 5.


def _of_another_epoch_than_fa(case: Case) -> Iterator[Mark]:
    """Mark the epoch that the follower is in, or that it is in none."""
    *adopt, accept = case.witness
    if adopt:
        yield Mark(case.at(0), case.at(1), "broken", f"f.a is {adopt[0].epoch}, not {accept.epoch}")
    else:
        label = f"{name(*actor_of(accept))} accepts the initial history of epoch {accept.epoch}"
        yield Mark(case.nothing(label, "adopt", accept.process), case.at(0), "missing", "f.a is ⊥")


@explains(Invariant1, edges=_of_another_epoch_than_fa)
def invariant_1(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a proposal that was accepted in an epoch that the follower is not in."""
    *adopted, accept = v.witness
    assert isinstance(accept, Accept)
    txn, epoch = shown(accept.txn), accept.epoch
    yield f"{f.who(accept)} accepted {txn}, a proposal of epoch {epoch},{f.at(accept)}"
    if adopted and isinstance(adopted[0], Adopt):
        current = adopted[0].epoch
        yield f"Its current epoch f.a was {current}, whose initial history it had adopted{f.at(adopted[0])}"
    else:
        yield "It had no current epoch (f.a = ⊥), for it had adopted no initial history by then"
    later = next((found for found in f.of(accept.process, Adopt) if found.event.epoch == epoch), None)
    others = [event for event in f.all(Adopt) if event.epoch == epoch and event.process != accept.process]
    if later is not None:
        yield f"It adopted the initial history of epoch {epoch} only{f.at_place(later)}"
    elif others:
        adopted_by = by_whom(f, others[:3])
        yield f"The initial history of epoch {epoch} was adopted {adopted_by}, but never by p{accept.process}"
    yield demands(v, f"a follower accepts a proposal of epoch {epoch} only while f.a = {epoch}")
    leader = next((event for event in f.all(Establish) if event.epoch == epoch), None)
    whose = f"the leader of epoch {epoch}" if leader is None else f"p{leader.process}, the leader of epoch {epoch}"
    yield f"So nothing ensures that the history of p{accept.process} up to {txn} is that of {whose}"


@explains(Invariant2, edges=in_order("the zxid is not higher"))
def invariant_2(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a zxid that does not ascend in a history."""
    before, event = v.witness
    assert isinstance(event, Accept | Deliver)
    assert isinstance(before, Adopt | Restore | Accept | Deliver)
    did, does = ("accepted", "accepts") if isinstance(event, Accept) else ("delivered", "delivers")
    txn = shown(event.txn)
    zxid = before.txn.zxid if isinstance(before, Accept | Deliver) else before.zxid
    yield f"{f.who(before)} {_went_on_from(f, before, did)}{f.at(before)}"
    order = f"is {zxid} again" if event.txn.zxid == zxid else f"is lower than {zxid}"
    yield f"The next that it {did}{f.at_place(_after(f, before, event))} was {txn}, whose zxid {order}"
    broadcast = f.broadcast(event.txn)
    if broadcast is not None:
        yield sent(f, broadcast)
    yield demands(v, f"within an epoch a follower {does} in the order of zxids")
    so = f"So the history of p{event.process} holds" if isinstance(event, Accept) else f"So {f.who(event)} applied"
    if _has(f, before, event.txn):
        yield f"{so} {txn} twice"
    elif event.txn.zxid == zxid:
        yield f"{so} two transactions that share the zxid {zxid}"
    else:
        yield f"{so} {txn} on top of a later zxid, {zxid}"


def _went_on_from(f: Facts, before: Adopt | Restore | Accept | Deliver, did: str) -> str:
    if isinstance(before, Accept | Deliver):
        return f"{did} {shown(before.txn)}"
    known = f.resolved(before)
    count = counted(before.length, "transaction", "transactions")
    holds = f"{count} up to {before.zxid}" if known is None else txns(known)
    if isinstance(before, Adopt):
        return f"adopted the initial history of epoch {before.epoch}, which holds {holds},"
    return f"took over a snapshot that holds {holds}"


def _has(f: Facts, before: Adopt | Restore | Accept | Deliver, txn: Txn) -> bool:
    if isinstance(before, Accept | Deliver):
        return before.txn == txn
    return txn in (f.resolved(before) or ())


def _after(f: Facts, before: Event, event: Event) -> Place[Event] | None:
    """Return the first place of `event` after `before`."""
    start = f.find(before)
    after = [place for place in f.places if place.event == event and start is not None and place.rank > start.rank]
    return after[0] if after else f.find(event)


def _of_another_epoch_than_promised(case: Case) -> Iterator[Mark]:
    """Mark the epoch that was promised last, or that none was."""
    *promise, event = case.witness
    if promise:
        yield Mark(case.at(0), case.at(1), "broken", f"epoch {promise[0].epoch} was promised, not {event.epoch}")
    else:
        yield Mark(case.no(Promise(*actor_of(event), event.epoch)), case.at(0), "missing", "not promised")


@explains(Invariant3, edges=_of_another_epoch_than_promised)
def invariant_3(v: Violation, f: Facts) -> Iterator[str]:
    """Explain an act of a follower in spite of its promise, or without one."""
    *promised, event = v.witness
    if isinstance(event, AckEpoch):
        yield from _unpromised(v, f, event)
        return
    [promise] = promised
    assert isinstance(event, Accept | Adopt)
    assert isinstance(promise, Promise)
    epoch, late = event.epoch, promise.epoch
    what = shown(event.txn) if isinstance(event, Accept) else "the initial history"
    q = f.who(event)
    then = "it" if same_actor(promise, event) else q
    accepted = f"{then} accepted {what} of epoch {epoch}{f.at(event)}"
    yield f"{f.who(promise)} promised epoch {late}{f.at(promise)}, and {accepted}"
    acks = [ack for ack in f.all(AckEpoch) if ack.process == event.process and ack.epoch == late]
    given = f.resolved(acks[0]) if acks else None
    if given is not None:
        yield f"The history that it provided for epoch {late}{f.at(acks[0])} was {txns(given, 'empty')}"
    yield demands(v, f"after its promise it accepts nothing of an epoch before {late}")
    if given is not None and isinstance(event, Accept) and event.txn not in set(given):
        yield f"So {q} helps to commit {what} in epoch {epoch}, while the history that it gave epoch {late} lacks it"
    else:
        yield f"So {q} still serves epoch {epoch}, although epoch {late} counts on it"


def _unpromised(v: Violation, f: Facts, ack: AckEpoch) -> Iterator[str]:
    epoch, place, given = ack.epoch, f.find(ack), f.resolved(ack)
    history = "" if given is None else f", {txns(given, 'an empty one')},"
    yield f"{f.who(ack)} provided its history{history} for epoch {epoch}{f.at(ack)}"
    promises = f.of(ack.process, Promise)
    before = [found for found in promises if place is not None and found.rank < place.rank]
    if before:
        highest = max(before, key=lambda found: found.event.epoch)
        yield f"The highest epoch that it had promised until then was {highest.event.epoch}{f.at_place(highest)}"
    else:
        yield "Until then it had made no durable promise"
    later = [found for found in promises if found.event.epoch >= epoch and found not in before]
    if later:
        yield f"It promised epoch {later[0].event.epoch} only{f.at_place(later[0])}"
    yield demands(v, f"a follower promises epoch {epoch} before that, and with it to accept nothing of an earlier one")
    yield f"So nothing durable keeps p{ack.process} from serving another leader, of epoch {epoch} or of an earlier one"


def _history_from_nowhere(case: Case) -> Iterator[Mark]:
    """Mark that nobody provided the history, or that its follower has another one."""
    [event] = case.witness
    if isinstance(event, AckEpoch):
        label = f"{name(*actor_of(event))} has this history, up to {event.zxid}"
        yield Mark(case.nothing(label, "accept", event.process), case.at(0), "missing", "it has another one")
    else:
        label = f"a follower provides this history, up to {event.zxid}"
        yield Mark(case.nothing(label, "ack_epoch"), case.at(0), "missing", "nobody provided it")


@explains(Invariant4, edges=_history_from_nowhere)
def invariant_4(v: Violation, f: Facts) -> Iterator[str]:
    """Explain an initial history that nobody had provided, or a history that is not the one on record."""
    [event] = v.witness
    if isinstance(event, AckEpoch):
        yield from _wrongly_provided(v, f, event)
        return
    assert isinstance(event, Adopt)
    epoch, told = event.epoch, f.resolved(event)
    yield f"{f.who(event)} adopted {_told(event, told)} as the initial history of epoch {epoch}{f.at(event)}"
    acks = [ack for ack in f.all(AckEpoch) if ack.epoch == epoch]
    telling = [ack for ack in acks if ack.length] or acks
    given = [f"{f.who(ack)} provided {_told(ack, f.resolved(ack))}{f.at(ack)}" for ack in telling[:MOST_PROVIDED]]
    yield f"For epoch {epoch}, {listed(given)}" if given else f"Nobody provided a history for epoch {epoch}"
    broadcast = [each for each in f.all(Broadcast) if each.epoch == epoch]
    if broadcast:
        yield f"Epoch {epoch} broadcast {txns([each.txn for each in broadcast])}"
    yield demands(v, "an initial history is what some follower provided, then what its primary broadcast, without gaps")
    wrong = "that nobody provided like this" if told is None else _as_nobody_provided(f, list(told), acks, broadcast)
    yield f"So p{event.process} enters epoch {epoch} with a history {wrong}"


def _as_nobody_provided(f: Facts, told: list[Txn], acks: list[AckEpoch], broadcast: list[Broadcast]) -> str:
    """Describe what is wrong with an initial history, in the plainest words that are true."""
    twice = [txn for index, txn in enumerate(told) if txn in told[:index]]
    if twice:
        return f"that holds {txns(list(dict.fromkeys(twice)))} twice"
    provided = [(ack, list(history)) for ack in acks if (history := f.resolved(ack)) is not None]
    known = {txn for _, each in provided for txn in each} | {event.txn for event in broadcast}
    foreign = [txn for txn in told if txn not in known]
    if foreign:
        return f"that holds {txns(foreign)}, which nobody provided for it or broadcast in it"
    if provided:
        ack, longest = max(provided, key=lambda pair: len(pair[1]))
        missing = [txn for txn in longest if txn not in told]
        if missing:
            return f"that lacks {txns(missing)}, which {f.who(ack)} had provided"
    for primary in dict.fromkeys((event.process, event.incarnation) for event in broadcast):
        sequence = [event.txn for event in broadcast if (event.process, event.incarnation) == primary]
        taken = [place for place, txn in enumerate(sequence) if txn in told]
        gaps = [txn for txn in sequence[: max(taken, default=0)] if txn not in told]
        if gaps:
            return f"that lacks {txns(gaps)}, broadcast before {shown(sequence[max(taken)])}"
    return "that is put together from those of several processes"


def _wrongly_provided(v: Violation, f: Facts, ack: AckEpoch) -> Iterator[str]:
    place, told = f.find(ack), f.resolved(ack)
    durable = f.history(ack.process, None if place is None else place.rank)
    as_its = " as its history" if ack.length else ""
    yield f"{f.who(ack)} provided {_told(ack, told)}{as_its} for epoch {ack.epoch}{f.at(ack)}"
    if durable is not None:
        yield f"By what it had adopted and accepted, its durable history was {txns(durable, 'empty')}"
    yield from altered(f, ack)
    yield demands(v, "a follower provides the history that it has: nothing altered, reordered, or lost")
    wrong = _difference(durable, told, f"p{ack.process}")
    yield f"So epoch {ack.epoch} may begin with a history that {wrong}"


def _told(event: AckEpoch | Adopt, known: Chain | None) -> str:
    if known is None:
        return f"a history of {counted(event.length, 'transaction', 'transactions')} up to {event.zxid}"
    return txns(known, "an empty history")


def _difference(right: Chain | None, told: Chain | None, whose: str) -> str:
    """Name the transactions that a history has beside those of the right one, which is `whose`, or lacks of them."""
    if right is None or told is None:
        return f"is not that of {whose}"
    besides = [txn for txn in told if txn not in set(right)]
    missing = [txn for txn in right if txn not in set(told)]
    if besides and missing:
        return f"has {txns(besides)} in the place of {txns(missing)}"
    if besides:
        return f"holds {txns(besides)}, which was not in the durable history of {whose}"
    if missing:
        return f"lacks {txns(missing)}, which was in the durable history of {whose}"
    return "holds its transactions in another order, or more than once"


@explains(Invariant5, edges=in_order("not what was broadcast next"))
def invariant_5(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a delivery in the broadcast phase that is not what its primary broadcast next."""
    begin, wrong = v.witness
    assert isinstance(begin, CommitEpoch)
    assert isinstance(wrong, Deliver)
    epoch, p, txn = begin.epoch, f.who(wrong), shown(wrong.txn)
    broke = _after(f, begin, wrong)
    since = f.at(begin).replace(" at", " since", 1)
    yield f"{p}, in the broadcast phase of epoch {epoch}{since}, delivered {txn}{f.at_place(broke)}"
    expected, broadcast = _expected(f, begin, wrong, broke), f.broadcast(wrong.txn)
    if expected is not None and broadcast is not None:
        yield f"{both_sent(f, expected, broadcast)}, so {shown(expected.txn)} was to come first"
        yield from why_lacking(v, f, wrong, expected.txn, broke)
    else:
        yield from _of_another_epoch(f, begin, broadcast)
    yield demands(v, f"what a follower delivers in that phase is what the primary of epoch {epoch} broadcast, in order")
    if expected is not None:
        yield built_on(f, expected, wrong)
    elif broadcast is not None and broadcast.epoch == epoch:
        first = _skipped(f, begin, broadcast)
        if first is None:
            yield f"So what {p} delivered in that phase is no beginning of what epoch {epoch} broadcast"
        else:
            yield f"So that phase began at {p} behind {shown(first.txn)}, the first that epoch {epoch} broadcast"
    else:
        yield f"So {p} applied {txn} as if it were of epoch {epoch}"


def _of_another_epoch(f: Facts, begin: CommitEpoch, broadcast: Broadcast | None) -> Iterator[str]:
    """Explain where a transaction is from that was delivered in the broadcast phase, and not broadcast in its epoch."""
    if broadcast is None:
        yield "No process broadcast it in this run"
        return
    if broadcast.epoch == begin.epoch:
        first = _skipped(f, begin, broadcast)
        own = None if first is None else f.delivery(begin.process, begin.incarnation, first.txn)
        if first is None or own is None:
            yield sent(f, broadcast)
        else:
            it = shown(first.txn)
            yield f"{both_sent(f, first, broadcast)}; {it} was delivered{f.at_place(own)}, before that phase"
        return
    yield f"{sent(f, broadcast)}, not in epoch {begin.epoch}"
    adopts = [found for found in f.of(begin.process, Adopt) if found.event.epoch == begin.epoch]
    if adopts:
        adopt = adopts[-1]
        known = f.resolved(adopt.event)
        initial = f"The initial history of epoch {begin.epoch}, which p{begin.process} adopted{f.at_place(adopt)},"
        holds = "" if known is None else f" holds {txns(known)} and"
        if adopt.event.length:
            yield f"{initial}{holds} ends with {adopt.event.zxid}, so a higher zxid is none of it"
        else:
            yield f"{initial} was empty"


def _expected(f: Facts, begin: CommitEpoch, wrong: Deliver, broke: Place[Event] | None) -> Broadcast | None:
    """Return what the primary broadcast before the wrong delivery, and the follower has not delivered."""
    done = set(f.delivered(begin.process, begin.incarnation, None if broke is None else broke.rank))
    of_epoch = [event for event in f.all(Broadcast) if event.epoch == begin.epoch]
    by = next((event for event in of_epoch if event.txn == wrong.txn), None)
    if by is None:
        return None
    before = of_epoch[: of_epoch.index(by)]
    return next((event for event in before if same_actor(event, by) and event.txn not in done), None)


def _skipped(f: Facts, begin: CommitEpoch, broadcast: Broadcast) -> Broadcast | None:
    """Return what the primary broadcast first, if the follower delivered that before its broadcast phase began."""
    first = next(event for event in f.all(Broadcast) if same_primary(event, broadcast))
    start, own = f.find(begin), f.delivery(begin.process, begin.incarnation, first.txn)
    before = start is not None and own is not None and own.rank < start.rank
    return first if before and first != broadcast else None


# What else is of the protocol.


def no_quorum(case: Case) -> Iterator[Mark]:
    """Mark the quorum of acceptances that is lacking."""
    last = len(case.witness) - 1
    quorum = case.nothing(f"a quorum accepts {case.witness[last].txn}", "accept")
    yield Mark(quorum, case.at(last), "missing", "no quorum accepted it")


@explains(Chosen, edges=no_quorum)
def chosen(v: Violation, f: Facts) -> Iterator[str]:
    """Explain a delivery of what no quorum had accepted."""
    *accepted, deliver = v.witness
    assert isinstance(deliver, Deliver)

    it = shown(deliver.txn)
    yield taken_from(f, deliver)
    yield from accepted_by_no_quorum(f, accepted)
    if not accepted:
        yield from altered(f, deliver)
    yield demands(v, f"a quorum has accepted {it} before, for only what a quorum has is sure to outlive its leader")
    yield f"So {f.who(deliver)} applied what was not yet safe{_what_became_of_it(f, deliver)}"


def accepted_by_no_quorum(f: Facts, accepted: Sequence[Event]) -> Iterator[str]:
    """Say who had accepted a transaction of which a witness has these acceptances."""
    until = "By then" if f.ordered else "In the whole trace"
    acceptances = [event for event in accepted if isinstance(event, Accept | Adopt)]
    if acceptances:
        accepted_by = by_whom(f, acceptances)
        epoch, weighed = acceptances[0].epoch, f.weighed([event.process for event in acceptances])
        yield f"{until} it had been accepted only {accepted_by}, in epoch {epoch}: by no quorum{weighed}"
    else:
        yield f"{until} no process had accepted it"


def _what_became_of_it(f: Facts, deliver: Deliver) -> str:
    """Describe how the transaction that was delivered too early ended: lost in this run, or accepted after all."""
    if not f.ordered:
        return ""
    for process in sorted(f.own):
        dropped = f.truncation(process, deliver.txn)
        if dropped is not None and f.earlier(deliver, dropped.event):
            behind = dropped.event.zxid
            return f", and p{process} did lose it: it truncated its history behind {behind}{f.at_place(dropped)}"
    accepts = [f.acceptance(process, deliver.txn) for process in sorted(f.own)]
    later = [found.event for found in accepts if found is not None and f.earlier(deliver, found.event)]
    if not later:
        return "; nobody accepted it after that in this run"
    return f"; it was accepted {by_whom(f, later)} only after that"

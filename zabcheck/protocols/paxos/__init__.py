"""Paxos with several outstanding proposals, as a primary-backup system would use it (DSN 2011, I, Figure 1).

It is the protocol of Lamport, "Paxos Made Simple" (2001), 2 and 3: a sequence of instances of the consensus algorithm,
one phase 1 for all of them, then phase 2 for each value. Every process is an acceptor and a learner; a process that its
oracle names is a proposer too. Paxos does not guarantee what a primary needs: that is why there is Zab.

The words of the properties mean here:

- A *primary* is a proposer in one ballot, and the ballot is its epoch. The order of primaries is that of ballots.
- *abcast(⟨v,z⟩)* is the step in which a primary takes a value of its own from a client. z is ⟨ballot, counter⟩: the
  ballot in which the value was first proposed, and its place among those of that primary, from 1 on.
- A proposer of a later ballot that finds the value in phase 1 has to propose it again. It is still the same
  transaction with its original z, which the value carries: proposing it again is no broadcast. So in Figure 1, B is a
  transaction of the first primary, whichever proposer has it chosen, and C is one of the second, although C and A were
  proposed for the same instance.
- *abdeliver* is what a learner does with a chosen value, in the order of instances, without a gap. The instance in
  which a transaction is chosen is no part of its identity. A no-op, which fills a gap, belongs to no primary and is not
  delivered.
- *ready(e)* comes when everything that phase 1 of ballot e found is chosen, and delivered by the primary. Paxos does
  not ask for that. It is granted here, as are channels that keep the order of messages, so that what breaks is broken
  in spite of them.

An acceptor shows no event `Accept`: that event adds to a history, from which only truncation removes, while an acceptor
may later accept another value in the same instance.

Integrity, total order and agreement hold. The primary orders do not: an instance is decided by itself, so a proposer
can recover B without the A that it was made after. The cures and what they cost, and some other forms, are variants.
"""

from functools import partial

from msgspec import structs

from zabcheck.protocols.base import Activity, Elected, Lost, Message, Protocol, Request, Started, TimedOut
from zabcheck.protocols.environment import NOBODY_LOOKS_AROUND
from zabcheck.protocols.paxos import acceptor, messages, process, proposer
from zabcheck.protocols.paxos.messages import Value
from zabcheck.protocols.paxos.process import Variant

KINDS: dict[type[Message], str] = {
    messages.Join: "JOIN",
    messages.Phase1a: "1A",
    messages.Phase1b: "1B",
    messages.Phase2a: "2A",
    messages.Phase2b: "2B",
    messages.Chosen: "CHOSEN",
}


def show(message: Message) -> tuple[str, str]:
    """Return the name of a message and what it carries: the ballot, then `instance: value`."""
    match message:
        case messages.Join():
            carries = f"{message.promised}"
        case messages.Phase1a():
            carries = f"{message.ballot}, from {message.first} on"
        case messages.Phase1b():
            found = (f"{i}: {value_in_words(each.value)} of {each.ballot}" for i, each in message.accepted)
            carries = ", ".join((f"{message.ballot}", *found))
        case messages.Phase2a():
            carries = f"{message.ballot}, {message.instance}: {value_in_words(message.value)}"
        case messages.Phase2b():
            carries = f"{message.ballot}, {message.instance}"
        case messages.Chosen():
            carries = f"{message.instance}: {value_in_words(message.value)}"
        case _:
            raise TypeError(f"not a message of Paxos: {message!r}")
    return KINDS[type(message)], carries


def value_in_words(value: Value) -> str:
    """Return the transactions of a value, or that it is a no-op."""
    return " + ".join(map(str, value)) if value else "no-op"


def describe(p: process.Process) -> dict[str, str | tuple[str, ...]]:
    """Return the variables of a process that a report shows."""
    activity = Activity("no proposer" if p.leader is None else f"follows p{p.leader}")
    if p.leads:
        activity = Activity("proposes", "phase 2" if p.established else "phase 1")
    return {
        "": activity,
        "promised": str(p.promised or "⊥"),
        **{f"accepted {i}": f"{value_in_words(each.value)} of {each.ballot}" for i, each in sorted(p.accepted.items())},
        "chosen": tuple(f"{i}: {value_in_words(value)}" for i, value in sorted(p.chosen.items())),
    }


PAXOS = Protocol(
    name="paxos",
    summary="Paxos with several outstanding proposals, and channels that keep the order of messages",
    source="DSN 2011, I, Figure 1; Paxos Made Simple, 2 and 3",
    steps={
        Started: process.on_started,
        Elected: acceptor.on_elected,
        TimedOut: acceptor.on_timed_out,
        Lost: proposer.on_lost,
        Request: proposer.on_request,
        messages.Join: proposer.on_join,
        messages.Phase1a: acceptor.on_phase_1a,
        messages.Phase1b: proposer.on_phase_1b,
        messages.Phase2a: acceptor.on_phase_2a,
        messages.Phase2b: proposer.on_phase_2b,
        messages.Chosen: proposer.on_chosen,
    },
    start=process.start,
    abandon=process.abandon,
    can_broadcast=proposer.can_broadcast,
    describe=describe,
    show=show,
    legend=(
        ("promised", "highest ballot"),
        ("accepted", "value of ballot"),
        ("chosen", "instance: value"),
        ("", "⟨ballot,counter⟩ as it was first broadcast"),
        ("⊥", "none"),
        ("", "a proposer is its own acceptor: what it sends to itself is not shown"),
    ),
    kinds=KINDS,
    # A ballot belongs to one process, so that no other can take it: nothing could exercise epoch uniqueness.
    properties=("core", "causality", "ladis", "zxid uniqueness", "zxid assignment"),
    identity=process.identity,
    # Without `rename`: which ballots a process takes depends on its number, so processes cannot change their names.
    highest_epoch=process.highest_ballot,
    commutes=True,
    notices_at_once=process.has_a_ballot,
    environment=NOBODY_LOOKS_AROUND,
)


def _variant(name: str, summary: str, source: str, fifo: bool = True, **what: object) -> Protocol:
    """Return a variant of Paxos; `what` has the fields of `Variant` that differ."""
    start = partial(process.start, variant=Variant(**what))  # type: ignore[arg-type]  # the fields of Variant, below
    told = {"name": name, "summary": summary, "source": source}
    environment = structs.replace(PAXOS.environment, fifo=fifo)
    return structs.replace(PAXOS, **told, environment=environment, commutes=fifo, start=start)


PROTOCOLS: tuple[Protocol, ...] = (
    PAXOS,
    _variant(
        "paxos-unordered",
        "Paxos with several outstanding proposals, and channels that do not keep the order of messages",
        "Paxos Made Simple, 2.1 and 3",
        fifo=False,
    ),
    _variant(
        "paxos-one-outstanding",
        "Paxos with at most one outstanding proposal, of one transaction",
        "DSN 2011, I",
        outstanding="one",
    ),
    _variant(
        "paxos-batches",
        "Paxos with at most one outstanding proposal, of all transactions that were broadcast in the meantime",
        "DSN 2011, I",
        outstanding="one",
        batches=True,
    ),
    _variant(
        "paxos-barrier",
        "Paxos with batches, in which a new proposer has a no-op chosen before it broadcasts",
        "zabcheck",
        outstanding="one",
        batches=True,
        barrier=True,
    ),
    _variant(
        "paxos-one-proposer",
        "Paxos with several outstanding proposals, in which the first process alone may propose, in all incarnations",
        "Paxos Made Simple, 2.4: a distinguished proposer",
        proposers="first",
    ),
)
"""Paxos and its variants."""

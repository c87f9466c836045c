"""A causal atomic broadcast that is no PO atomic broadcast (DSN 2011, III-B), to compare the two.

It is what DSN 2011, VIII says of COReL, made of the parts that are here: instances of consensus put the broadcasts of
all processes in one order (`zabcheck.protocols.paxos`), and causal order holds across changes of primary. As with Zab,
only the primary of an epoch broadcasts, after ready(e), so that the same properties judge both. The difference is the
fate of what a primary had broadcast when it was replaced. In Zab it may be lost, and then what the same process
broadcasts later is delivered without it (figure 3). Here it is never lost: the process hands it to whoever proposes
next, and so it may be delivered although a later primary has broadcast without it (figure 4).

So integrity, total order, agreement, local primary order and causal order (definition III.1) hold. Global primary
order, primary integrity and strict causality do not.
"""

from msgspec import structs

from zabcheck.protocols.base import Elected, Message, Request
from zabcheck.protocols.causal import process, steps
from zabcheck.protocols.causal.messages import HandOver
from zabcheck.protocols.paxos import KINDS, PAXOS, messages, value_in_words
from zabcheck.protocols.paxos import describe as describe_paxos
from zabcheck.protocols.paxos import show as show_paxos


def show(message: Message) -> tuple[str, str]:
    """Return the name of a message and what it carries."""
    if isinstance(message, HandOver):
        return "HAND-OVER", value_in_words(message.value)
    return show_paxos(message)


def describe(p: process.Process) -> dict[str, str | tuple[str, ...]]:
    """Return the variables of a process that a report shows."""
    return {**describe_paxos(p), "broadcast": tuple(map(str, p.broadcast)), **p.added.described()}


CAUSAL = structs.replace(
    PAXOS,
    name="causal",
    summary="Causal atomic broadcast: primaries that lose no broadcast when they are replaced",
    source="DSN 2011, III-B, figures 3 and 4",
    steps={
        **PAXOS.steps,
        Elected: steps.on_elected,
        Request: steps.on_request,
        HandOver: steps.on_hand_over,
        messages.Phase1b: steps.on_phase_1b,
        messages.Chosen: steps.on_chosen,
    },
    start=process.start,
    abandon=process.abandon,
    describe=describe,
    show=show,
    legend=(*PAXOS.legend, ("broadcast", "what the process has broadcast, in any epoch")),
    kinds={**KINDS, HandOver: "HAND-OVER"},
    properties=(
        "integrity",
        "total order",
        "agreement",
        "local primary order",
        "po causal order",
        "full causal order",
        "prefix",
        "redelivery",
        "zxid uniqueness",
        "zxid assignment",
        "convergence",
        "reliable delivery",
    ),
    identity=process.identity,
)

PROTOCOLS = (CAUSAL,)
"""The causal atomic broadcast."""

"""DSN 2011, III-B: primary order and causal order compared. Neither implies the other.

The figures are drawn after their captions and what the section says of them. Then Zab and a causal broadcast make the
choices of figure 3. After them come a step of section IV, the leader's quorum (V), and a chain in place of the star
(VII).
"""

from zabcheck.invariants import Broadcast, Deliver, Event, Txn, Zxid
from zabcheck.papers.scenarios.base import HandWrittenTrace, Outcome, Scenario, scheduled
from zabcheck.protocols.switches import ZabSwitches
from zabcheck.simulation import choices
from zabcheck.simulation.choices import AnyChoice

Z, Z1, Z2 = Txn(Zxid(1, 1), "v"), Txn(Zxid(2, 1), "v'"), Txn(Zxid(3, 1), "v''")
"""⟨v,z⟩, ⟨v',z'⟩ and ⟨v'',z''⟩: epoch(z) < epoch(z') < epoch(z'')."""


_PLAYED: tuple[AnyChoice, ...] = (
    choices.Lead(1, (3,)),
    choices.Settle(9),
    choices.Cut(1, 3),
    choices.Request(1, "v"),
    choices.Sync(1),
    choices.Lead(2, (3,)),
    choices.Settle(9),
    choices.Request(2, "v'"),
    choices.Settle(9),
    choices.Heal(),
    choices.Elect(1, 2),
    choices.Settle(9),
    choices.Lead(1, (2, 3)),
    choices.Settle(9),
    choices.Request(1, "v''"),
    choices.Settle(9),
)
"""Figure 3 with a third process: v reaches nobody, p2 leads with p3, p1 joins it, and then p1 leads again."""
_LOSSY: tuple[AnyChoice, ...] = (
    choices.Lead(1, (2,)),
    choices.Settle(1),
    choices.Request(1, "a"),
    choices.Request(1, "b"),
    choices.Drain(2, 1),
    choices.Run(2, "overtakes"),  # b, which is dropped
    choices.Run(2, "repeats"),  # a
    choices.Run(2, "arrives"),  # a again
    choices.Timeout(1),
    choices.Drain(2, 1),
    choices.Run(2, "overtakes"),  # b, sent again; what was sent again of a is late
    choices.Request(1, "c"),
    choices.Drain(2, 1),
    choices.Elect(2, 1),
    choices.Drain(1, 2),
    choices.Run(1, "arrives"),
    choices.Request(1, "d"),
    choices.Drain(2, 1),
    choices.Run(2, "overtakes"),  # d
    choices.Run(2, "arrives"),  # a
    choices.Run(2, "arrives"),  # c
)
"""p1 sends a, b and c in an iteration and d in the next one; the link reorders, loses and repeats."""
_UNPROMISED: tuple[AnyChoice, ...] = (
    choices.Lead(1, (2,)),
    choices.Settle(9),
    choices.Request(1, "v"),
    choices.Settle(9),
    choices.Elect(3, 1),
    choices.Receive(1, 3),  # CEPOCH, which the leader answers with NEWEPOCH and NEWLEADER
    choices.Overtake(1, 3),
    choices.Receive(3, 1),  # NEWLEADER
    choices.Elect(3, 1),
    choices.Settle(9),
)
"""p3 joins late over a link that is not FIFO."""
_NO_QUORUM: tuple[AnyChoice, ...] = (
    choices.Lead(1, (2,)),
    choices.Settle(9),
    choices.Crash(2),
    choices.Request(1, "v"),
    choices.Sync(1),
    choices.Notice(1, 2),
    choices.Lead(1, (3,)),
    choices.Settle(9),
    choices.Request(1, "v'"),
    choices.Settle(9),
)
"""The only follower of p1 fails, and p3 takes its place."""
_CHAIN = ZabSwitches(dissemination="chain")
_RELAY_FAILS: tuple[AnyChoice, ...] = (
    choices.Lead(1, (2, 3, 4)),
    choices.Settle(9),
    choices.Request(1, "v"),
    choices.Sync(1),
    choices.Crash(2),
    choices.Notice(1, 2),
    choices.Settle(9),
)
"""p2, the first of the chain p2, p3, p4, fails with the only copy of v that is not at the leader."""
_OVERTAKEN: tuple[AnyChoice, ...] = (
    choices.Lead(1, (2,)),
    choices.Settle(9),
    choices.Elect(3, 1),
    choices.Receive(1, 3),  # CEPOCH
    choices.Request(1, "v"),
    choices.Sync(1),
    choices.Receive(3, 1),  # NEWEPOCH
    choices.Sync(3),
    choices.Receive(3, 1),  # NEWLEADER
    choices.Sync(3),
    choices.Drain(1, 3),
    choices.Request(1, "v'"),
    choices.Sync(1),
    choices.Drain(2, 1),
    choices.Sync(2),
    choices.Hear(3, 2),  # PROPOSE(v'); PROPOSE(v) is in transit from the leader
    choices.Settle(9),
)
"""p3 joins late. v comes to it from the leader, v', for which p3 has its place behind p2, from p2, and sooner."""
_OVER_LOSSY_LINKS = ZabSwitches(links="lossy")
_DELAYED: tuple[AnyChoice, ...] = (
    choices.Lead(1, (2, 3)),
    choices.Settle(9),
    choices.Run(3, "delays"),
    choices.Request(1, "v"),
    choices.Request(1, "v'"),
    choices.Drain(3, 1),  # the frame of v stays on the link, that of v' arrives
    choices.Settle(1),
    choices.Timeout(1),
    choices.Settle(9),
)
"""The link to p3 delays v, and p1 sends it again."""
_UNHEARD: tuple[AnyChoice, ...] = (
    choices.Lead(1, (2, 3)),
    choices.Settle(9),
    choices.Split((1,)),
    choices.Timeout(2),
    choices.Timeout(3),
    choices.Lead(2, (3,)),
    choices.Settle(9),
    choices.Request(1, "v"),
    choices.Request(2, "v'"),
    choices.Settle(9),
    choices.Timeout(1),
    choices.Heal(),
    choices.Elect(1, 2),
    choices.Settle(9),
)
"""p1 is cut off from the others; no connection is closed."""
_PROMISED: tuple[AnyChoice, ...] = (
    choices.Lead(1, (2,)),
    choices.Drain(1, 2),
    choices.Drain(2, 1),
    choices.Sync(2),
    choices.Crash(1),
    choices.Notice(2, 1),
    choices.Lead(3, (2,)),
    choices.Settle(9),
    choices.Request(3, "v"),
    choices.Settle(9),
)
"""p2 has promised epoch 1 to p1, which fails before it is established; p3 leads next."""
_COMPARED = ("total order", "causality", "full causal order")


def _delivered(process: int, *txns: Txn) -> list[Event]:
    return [Deliver(process, 0, txn) for txn in txns]


SCENARIOS = (
    Scenario(
        "dsn-channel",
        "a channel over a link that loses, repeats and reorders",
        "DSN 2011, II",
        "b arrives before a and is dropped, so that p1 has to send it again. a arrives twice and is received once. c "
        "arrives when the iteration is over, after d of the next one, and is not received.",
        scheduled("channel", 2, *_LOSSY),
        Outcome(
            holds=("integrity", "local primary order", "global primary order"),
            judged_by=("integrity", "local primary order", "global primary order"),
            delivered={2: "a⟨1,1⟩ b⟨1,2⟩ d⟨2,1⟩"},
        ),
    ),
    Scenario(
        "dsn-figure-3",
        "PO causal order without causal order",
        "DSN 2011, III-B, figure 3",
        "p1 broadcasts ⟨v,z⟩ in epoch 1 and is replaced before anybody has accepted it. It delivers ⟨v',z'⟩ of epoch "
        "2, and is primary again in epoch 3, where it broadcasts ⟨v'',z''⟩. Causal order (definition III.1) would have "
        "z delivered before z'', as the same process broadcast both. Primary order does not: z is of another primary, "
        "whose change was lost with it, and z'' was made without it.",
        HandWrittenTrace(
            2,
            (
                Broadcast(1, 0, 1, Z),
                Broadcast(2, 0, 2, Z1),
                *_delivered(1, Z1),
                *_delivered(2, Z1),
                Broadcast(1, 0, 3, Z2),
                *_delivered(1, Z2),
                *_delivered(2, Z2),
            ),
        ),
        Outcome(
            holds=("integrity", "total order", "global primary order", "po causal order", "strict causality"),
            delivered={1: "v'⟨2,1⟩ v''⟨3,1⟩", 2: "v'⟨2,1⟩ v''⟨3,1⟩"},
        ),
    ),
    Scenario(
        "dsn-figure-4",
        "causal order, and PO causal order, without strict causality",
        "DSN 2011, III-B, figure 4",
        "⟨v,z⟩ and ⟨v',z'⟩ are causally independent: the primary of epoch 2 had not delivered z when it broadcast z'. "
        "Both are delivered all the same, and ⟨v'',z''⟩ after both. Causal order allows that. Primary order does not: "
        "z' is a change of a state that does not have z.",
        HandWrittenTrace(
            3,
            (
                Broadcast(1, 0, 1, Z),
                Broadcast(2, 0, 2, Z1),
                *_delivered(3, Z, Z1),
                Broadcast(3, 0, 3, Z2),
                *_delivered(1, Z, Z1, Z2),
                *_delivered(2, Z, Z1, Z2),
                *_delivered(3, Z2),
            ),
        ),
        Outcome(
            violated="strict causality",
            witness="p1 delivered v⟨1,1⟩ and v'⟨2,1⟩, of which neither precedes the other: p1 broadcast the one in "
            "epoch 1, p2 the other in epoch 2",
            holds=("total order", "agreement", "po causal order"),
            judged_by=("total order", "agreement", "po causal order", "strict causality"),
            delivered=dict.fromkeys((1, 2, 3), "v⟨1,1⟩ v'⟨2,1⟩ v''⟨3,1⟩"),
        ),
        (Broadcast(1, 0, 1, Z), Broadcast(2, 0, 2, Z1), *_delivered(1, Z, Z1)),
    ),
    Scenario(
        "dsn-figure-3-zab",
        "a change that Zab loses with its primary",
        "DSN 2011, III-B, figure 3",
        "Zab takes the steps of figure 3. What p1 has broadcast in epoch 1 is truncated when it joins epoch 2. So it "
        "broadcasts ⟨v'',z''⟩ in a state without ⟨v,z⟩, and causal order (definition III.1) is broken.",
        scheduled("zab", 3, *_PLAYED),
        Outcome(
            violated="full causal order",
            holds=("total order", "po causal order", "strict causality"),
            judged_by=_COMPARED,
            delivered=dict.fromkeys((1, 2, 3), "v'⟨2,1⟩ v''⟨3,1⟩"),
            goals=("truncation",),
        ),
    ),
    Scenario(
        "dsn-figure-3-causal",
        "the same choices with a causal broadcast, which loses nothing",
        "DSN 2011, III-B, figures 3 and 4",
        "p1 hands ⟨v,z⟩ to p2, which has it delivered after its own ⟨v',z'⟩, and before ⟨v'',z''⟩. Causal order holds. "
        "But z' is a change of a state that does not have z, as in figure 4: strict causality is broken.",
        scheduled("causal", 3, *_PLAYED),
        Outcome(
            violated="strict causality",
            holds=("total order", "po causal order", "full causal order"),
            judged_by=_COMPARED,
            delivered=dict.fromkeys((1, 2, 3), "v'⟨2,1⟩ v⟨1,1⟩ v''⟨4,1⟩"),
        ),
    ),
    Scenario(
        "dsn-newleader-unpromised",
        "a follower is sent NEWLEADER of an epoch that it has not promised",
        "DSN 2011, IV, step f.2.1",
        "On a FIFO channel NEWEPOCH always comes first. Here NEWLEADER overtakes it, so f.p ≠ e': p3 takes nothing of "
        "the initial history, and begins a new iteration. In that one it promises e', and delivers v.",
        scheduled("zab", 3, *_UNPROMISED, mutant="non-fifo-link"),
        Outcome(
            holds=("agreement", "invariant 3"),
            judged_by=("core", "invariant 3"),
            delivered=dict.fromkeys((1, 2, 3), "v⟨1,1⟩"),
        ),
    ),
    Scenario(
        "dsn-no-quorum",
        "a leader that no quorum follows gives leadership up",
        "DSN 2011, V-B and V-D",
        "p2 fails, and nobody else follows p1. So v is not delivered, and p1 goes back to ELECTION. Once p3 follows "
        "it, p1 leads a new epoch, in which v, that p1 had accepted, is part of the initial history.",
        scheduled("zab", 3, *_NO_QUORUM),
        Outcome(
            holds=("total order", "primary integrity"),
            judged_by=("core",),
            delivered=dict.fromkeys((1, 3), "v⟨1,1⟩ v'⟨2,1⟩"),
        ),
    ),
    Scenario(
        "dsn-lossy-links",
        "Zab on channels over links that lose, repeat and reorder",
        "DSN 2011, II",
        "The link to p3 delays the frame of v, so that of v' arrives before it and is dropped, as it is not the next. "
        "p1 hears nothing of either and sends both again. When the delayed frame arrives in the end, p3 has it.",
        scheduled("zab", 3, *_DELAYED, switches=_OVER_LOSSY_LINKS),
        Outcome(
            holds=("total order", "chosen"),
            judged_by=("core", "chosen"),
            delivered=dict.fromkeys((1, 2, 3), "v⟨1,1⟩ v'⟨1,2⟩"),
        ),
    ),
    Scenario(
        "dsn-lossy-links-gap",
        "the same, if the channel leaves a gap",
        "DSN 2011, II",
        "The schedule of dsn-lossy-links, but the channel takes v' although the message before it has not come. Zab "
        "relies on that: p3 acknowledges v', which stands for all before it, and delivers v' without v.",
        scheduled("zab", 3, *_DELAYED, mutant="lossy-past-a-gap", switches=_OVER_LOSSY_LINKS),
        Outcome(
            violated="total order",
            judged_by=("total order",),
            delivered={1: "v⟨1,1⟩ v'⟨1,2⟩", 2: "v⟨1,1⟩ v'⟨1,2⟩", 3: "v'⟨1,2⟩"},
        ),
    ),
    Scenario(
        "dsn-heartbeats",
        "a leader that is cut off hears so by heartbeats alone",
        "DSN 2011, V-B and V-C",
        "p1 is cut off, and no connection closes. p2 and p3 hear no heartbeats and begin the next epoch. p1 hears none "
        "either, but later: until then there are two primaries. What p1 broadcasts meanwhile goes with its epoch.",
        scheduled("zab", 3, *_UNHEARD),
        Outcome(
            holds=("agreement",),
            judged_by=("core",),
            delivered=dict.fromkeys((1, 2, 3), "v'⟨2,1⟩"),
        ),
    ),
    Scenario(
        "dsn-cepoch",
        "a follower has promised an epoch that was never established",
        "DSN 2011, IV, step f.1.1, and V-C",
        "p2 has promised epoch 1, and is in no epoch yet: f.p is 1, f.a is ⊥. V-C has f.a in CEPOCH; p3 would propose "
        "epoch 1 then, which p2 cannot promise again. It tells f.p, as IV says, and p3 proposes epoch 2.",
        scheduled("zab", 3, *_PROMISED),
        Outcome(
            holds=("agreement",),
            judged_by=("core",),
            delivered=dict.fromkeys((2, 3), "v⟨2,1⟩"),
        ),
    ),
    Scenario(
        "dsn-chain-relay-fails",
        "a relay that fails with a proposal that others wait for",
        "DSN 2011, VII; steps T.1 to T.6 are ours",
        "Followers pass proposals on along a chain, p2 to p3 to p4. p2 fails before it passes v on. The leader notices "
        "it by its own connection to p2, closes the ranks, and sends to p3 and p4 what they have not acknowledged.",
        scheduled("zab", 4, *_RELAY_FAILS, switches=_CHAIN),
        Outcome(
            holds=("agreement",),
            judged_by=("core",),
            delivered=dict.fromkeys((1, 3, 4), "v⟨1,1⟩"),
        ),
    ),
    Scenario(
        "dsn-chain-overtaken",
        "a proposal that overtakes the one before it, on another path",
        "DSN 2011, VII; step T.4 is ours",
        "Along one path messages keep their order, across two they do not. p3 joins late: v comes to it from the "
        "leader, and v' from p2, sooner. p3 keeps v' aside, as to acknowledge it would say that it has v, too.",
        scheduled("zab", 3, *_OVERTAKEN, switches=_CHAIN),
        Outcome(
            holds=("total order",),
            judged_by=("core",),
            delivered=dict.fromkeys((1, 2, 3), "v⟨1,1⟩ v'⟨1,2⟩"),
        ),
    ),
    Scenario(
        "dsn-chain-overtaken-accepted",
        "the same, if it is accepted",
        "DSN 2011, VII; step T.4 is ours",
        "The schedule of dsn-chain-overtaken, but p3 accepts v' as it comes. Its history has a hole for ever, as v is "
        "older than its end then. It delivers v' without v.",
        scheduled("zab", 3, *_OVERTAKEN, mutant="accept-past-a-hole", switches=_CHAIN),
        Outcome(
            violated="total order",
            judged_by=("total order",),
            delivered={1: "v⟨1,1⟩ v'⟨1,2⟩", 2: "v⟨1,1⟩ v'⟨1,2⟩", 3: "v'⟨1,2⟩"},
        ),
    ),
)

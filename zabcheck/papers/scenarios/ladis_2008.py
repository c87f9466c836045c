"""LADIS 2008: what must not be forgotten, what must be skipped, and what a causal violation would do."""

from zabcheck.invariants import Establish
from zabcheck.papers.scenarios.base import Outcome, Scenario, scheduled
from zabcheck.protocols.switches import Switches, ZabSwitches
from zabcheck.simulation import choices
from zabcheck.simulation.choices import AnyChoice

_LADIS = ("core", "ladis", "epoch uniqueness", "zxid uniqueness")

_UNDER_WAY: tuple[AnyChoice, ...] = (
    choices.Lead(1, (2, 3)),
    choices.Settle(9),
    choices.Request(1, "m1"),
    choices.Settle(9),
    choices.Request(1, "m2"),
    choices.Sync(1),
    choices.Receive(2, 1),
    choices.Sync(2),
)
"""Server 1 leads; message 1 is delivered everywhere; message 2 is on the disks of servers 1 and 2."""

_ONLY_THE_LEADER: tuple[AnyChoice, ...] = (
    choices.Cut(1, 2),
    choices.Cut(1, 3),
    choices.Receive(1, 2),
    choices.Request(1, "m3"),
    choices.Sync(1),
    choices.Crash(1),
    choices.Heal(),
)
"""Server 1 delivers message 2 and writes message 3; no other server hears of either. Then it fails."""

FIGURE_3 = (*_UNDER_WAY, choices.Receive(3, 1), choices.Sync(3), *_ONLY_THE_LEADER)
"""All servers have message 2, and server 1 alone has seen its COMMIT, and message 3."""
FIGURE_4 = (
    *FIGURE_3,
    choices.Lead(2, (3,)),
    choices.Settle(9),
    choices.Request(2, "m4"),
    choices.Request(2, "m5"),
    choices.Settle(9),
    choices.Recover(1),
    choices.Elect(1, 2),
    choices.Settle(9),
)
_AND_MORE = "m1⟨1,1⟩ m2⟨1,2⟩ v1⟨2,1⟩ v2⟨2,2⟩"
"""The final deliveries, with the requests of clients (v1, v2) to an undisturbed leader."""
SERVER_3_HAS_LESS = (
    *_UNDER_WAY,
    *_ONLY_THE_LEADER,
    choices.Lead(3, (2,)),
    choices.Settle(9),
    choices.Request(3, "m4"),
    choices.Settle(9),
)
"""Message 2 has not reached server 3, and the oracle names server 3 as leader."""

W1, W2, W3 = "/a=1@1", "/a=2@2", "/a=3@2"
"""Path, value and resulting version: ("/a", "1", 1) in the paper."""
_CAUSAL: tuple[AnyChoice, ...] = (
    choices.Lead(1, (2, 3)),
    choices.Settle(9),
    choices.Request(1, W1),
    choices.Settle(9),
    choices.Cut(1, 2),
    choices.Cut(1, 3),
    choices.Request(1, W2),
    choices.Sync(1),
    choices.Crash(1),
    choices.Heal(),
    choices.Lead(2, (3,)),
    choices.Settle(9),
    choices.Request(2, W3),
    choices.Settle(9),
    choices.Recover(1),
    choices.Lead(1, (3,)),
    choices.Settle(9),
)
_THREE_LEADERS: tuple[AnyChoice, ...] = (
    choices.Lead(1, (2, 3)),
    choices.Settle(9),
    choices.Request(1, "m1"),
    choices.Settle(9),
    choices.Cut(1, 2),
    choices.Cut(1, 3),
    choices.Request(1, "m2"),
    choices.Sync(1),
    choices.Crash(1),
    choices.Heal(),
    choices.Lead(2, (3,)),
    choices.Settle(9),
    choices.Cut(2, 3),
    choices.Request(2, "m3"),
    choices.Sync(2),
    choices.Crash(2),
    choices.Heal(),
    choices.Recover(1),
    choices.Lead(1, (3,)),
    choices.Settle(9),
    choices.Crash(1),
    choices.Recover(2),
    choices.Lead(2, (3,)),
    choices.Settle(9),
)
"""Server 1 leads and leaves message 2 behind, server 2 leads and leaves message 3 behind; then each leads again."""
_OF_TWO_EPOCHS: tuple[AnyChoice, ...] = (
    choices.Lead(1, (2,)),
    choices.Settle(9),
    choices.Request(1, "m1"),
    choices.Receive(2, 1),
    choices.Crash(1),
    choices.Recover(1),
    choices.Sync(2),
    choices.Lead(1, (3,)),
    choices.Receive(1, 3),
    choices.Sync(1),
    choices.Receive(3, 1),
    choices.Sync(3),
    choices.Receive(1, 3),
    choices.Sync(1),
    choices.Hear(2, 1),
    choices.Drain(3, 1),
    choices.Sync(3),
    choices.Receive(1, 3),
    choices.Request(1, "m2"),
    choices.Settle(9),
)
"""Server 2 alone has message 1 on its disk when it hears the first ACK of epoch 2, which it has not recognised."""
KEY_VALUE = Switches(application="key-value")
WITHOUT_COMMITS = ZabSwitches(commits="acks")

SCENARIOS = (
    Scenario(
        "ladis-figure-3",
        "a message that cannot be forgotten",
        "LADIS 2008, 4.2, figure 3",
        "Server 1 leads, and fails; it was the only one to see the COMMIT of message 2. A client may have seen the "
        "result, so message 2 has to be delivered everywhere. The new leader has it in its log, and before it proposes "
        "anything it makes sure that a quorum has, and commits it.",
        scheduled("ladis", 3, *FIGURE_3, choices.Stabilise(2, (2, 3))),
        Outcome(
            holds=("reliable delivery", "total order", "agreement"),
            judged_by=(*_LADIS, "liveness"),
            delivered={1: "m1⟨1,1⟩ m2⟨1,2⟩", 2: _AND_MORE, 3: _AND_MORE},
            histories={1: "m1⟨1,1⟩ m2⟨1,2⟩ m3⟨1,3⟩", 2: _AND_MORE, 3: _AND_MORE},
        ),
    ),
    Scenario(
        "ladis-figure-3-fetched",
        "a leader that lacks the message that cannot be forgotten",
        "LADIS 2008, 4.2, with figure 3",
        "As in ladis-figure-3, but message 2 has not reached server 3, and the oracle names server 3. The paper has "
        "the election guarantee that the new leader has the highest zxid of a quorum, and calls that an optimization: "
        "else the leader finds out who has, and fetches what it lacks. So it does here.",
        scheduled("ladis", 3, *SERVER_3_HAS_LESS),
        Outcome(
            holds=("total order", "agreement", "primary integrity"),
            judged_by=_LADIS,
            delivered=dict.fromkeys((2, 3), "m1⟨1,1⟩ m2⟨1,2⟩ m4⟨2,1⟩"),
            histories=dict.fromkeys((2, 3), "m1⟨1,1⟩ m2⟨1,2⟩ m4⟨2,1⟩"),
            goals=("partial replication",),
        ),
    ),
    Scenario(
        "ladis-figure-3-forgotten",
        "the same, if the leader does not fetch what it lacks",
        "LADIS 2008, 4.2, with figure 3",
        "The schedule of ladis-figure-3-fetched, but the leader keeps its own log. Message 2, which server 1 has "
        "delivered, is truncated at server 2 and forgotten. Another message is delivered after message 1.",
        scheduled("ladis", 3, *SERVER_3_HAS_LESS, mutant="keep-own-log"),
        Outcome(
            violated="agreement",
            judged_by=("agreement",),
            delivered=dict.fromkeys((2, 3), "m1⟨1,1⟩ m4⟨2,1⟩"),
        ),
    ),
    Scenario(
        "ladis-figure-4",
        "a message that must be skipped",
        "LADIS 2008, 4.2, figure 4",
        "It goes on where ladis-figure-3 ends. Servers 2 and 3 deliver two messages of epoch 2, then server 1 comes "
        "back, with message 3 in its log, which nobody else has seen. The leader has of epoch 1 only what ends in "
        "message 2, and tells server 1 to truncate its log to that.",
        scheduled("ladis", 3, *FIGURE_4),
        Outcome(
            holds=("total order", "agreement", "primary integrity", "global primary order"),
            judged_by=_LADIS,
            delivered=dict.fromkeys((1, 2, 3), "m1⟨1,1⟩ m2⟨1,2⟩ m4⟨2,1⟩ m5⟨2,2⟩"),
            histories=dict.fromkeys((1, 2, 3), "m1⟨1,1⟩ m2⟨1,2⟩ m4⟨2,1⟩ m5⟨2,2⟩"),
            goals=("truncation",),
        ),
    ),
    Scenario(
        "ladis-figure-4-kept",
        "the same, if nothing is truncated",
        "LADIS 2008, 4.2, with figure 4",
        "The schedule of ladis-figure-4, but server 1 keeps message 3 when it is told to forget it. It delivers it, "
        "and after it what epoch 2 delivered. A skipped message did not remain skipped.",
        scheduled("ladis", 3, *FIGURE_4, mutant="keep-skipped"),
        Outcome(
            violated="total order",
            judged_by=("total order",),
            delivered={1: "m1⟨1,1⟩ m2⟨1,2⟩ m3⟨1,3⟩ m4⟨2,1⟩ m5⟨2,2⟩", 2: "m1⟨1,1⟩ m2⟨1,2⟩ m4⟨2,1⟩ m5⟨2,2⟩"},
        ),
    ),
    Scenario(
        "ladis-causal-order",
        "a change that is lost with its leader, and skipped when that leads again",
        "LADIS 2008, 2, causal violation example",
        "w1 sets /a to 1, which is version 1; w2 sets it to 2, but L1 issues that to itself only, and fails. L2 takes "
        "over; w3 sets /a to 3 if it is at version 1. L1 recovers and regains leadership: it must not deliver w2, "
        "which was made for a state that is no more.",
        scheduled("ladis", 3, *_CAUSAL, switches=KEY_VALUE),
        Outcome(
            holds=("total order", "causal order", "state"),
            judged_by=(*_LADIS, "state"),
            delivered=dict.fromkeys((1, 3), "/a=1@1⟨1,1⟩ /a=3@2⟨2,1⟩"),
            histories=dict.fromkeys((1, 3), "/a=1@1⟨1,1⟩ /a=3@2⟨2,1⟩"),
            goals=("truncation", "three epochs"),
        ),
    ),
    Scenario(
        "ladis-causal-violation",
        "the same, if the leader of old delivers what it still has",
        "LADIS 2008, 2, causal violation example",
        "The schedule of ladis-causal-order, but L1 keeps its own log when it regains leadership, and delivers w2. "
        "Server 3 has delivered w3 by then. Of two changes that both make version 2 of /a, it applies the older one "
        "last.",
        scheduled("ladis", 3, *_CAUSAL, mutant="keep-own-log", switches=KEY_VALUE),
        Outcome(
            violated="causal order",
            judged_by=("causal order",),
            delivered={1: "/a=1@1⟨1,1⟩ /a=2@2⟨1,2⟩", 2: "/a=1@1⟨1,1⟩ /a=3@2⟨2,1⟩"},
        ),
    ),
    Scenario(
        "ladis-record",
        "a leader that has taken over makes the logs of its followers the highest",
        "LADIS 2008, 4.2, on the zxid with the new epoch and counter zero",
        "Server 1 fails with message 2 in its log, server 2 takes over and fails with message 3 in its log; nobody "
        "else has either. Server 3 has the record with which server 2 began epoch 2, so its log is higher than that "
        "of server 1, and then the record of epoch 3, so it is higher than that of server 2. Both messages are "
        "skipped.",
        scheduled("ladis", 3, *_THREE_LEADERS),
        Outcome(
            holds=("primary integrity", "agreement", "zxid uniqueness"),
            judged_by=_LADIS,
            delivered={2: "m1⟨1,1⟩", 3: "m1⟨1,1⟩"},
            histories={2: "m1⟨1,1⟩", 3: "m1⟨1,1⟩"},
            goals=("three epochs", "truncation"),
        ),
    ),
    Scenario(
        "ladis-record-missing",
        "the same, if a leader begins its epoch without a record",
        "LADIS 2008, 4.2, on the zxid with the new epoch and counter zero",
        "The schedule of ladis-record. Now message 2 makes the log of server 1 higher than that of server 3, and it is "
        "delivered in epoch 3. Then message 3 makes the log of server 2 higher than that of server 3, which has to "
        "forget message 2, and delivers message 3 in its place. What a quorum acknowledged was lost.",
        scheduled("ladis", 3, *_THREE_LEADERS, mutant="no-leader-record"),
        Outcome(
            violated="total order",
            judged_by=("total order",),
            delivered={1: "m1⟨1,1⟩ m2⟨1,2⟩", 2: "m1⟨1,1⟩ m3⟨2,1⟩"},
        ),
    ),
    Scenario(
        "ladis-epoch-twice",
        "two leaders take one epoch, to the letter of the paper",
        "LADIS 2008, 4.2; Apache ZooKeeper, ZOOKEEPER-335",
        "A new leader takes the epoch of the highest zxid in its log plus one. The first leader broadcasts to itself "
        "only, so nobody else has a zxid of that epoch, and the next leader takes the same one. Two messages have one "
        "zxid, and one of them is delivered at each side.",
        scheduled(
            "ladis-2008",
            3,
            choices.Lead(1, (2,)),
            choices.Settle(9),
            choices.Cut(1, 2),
            choices.Request(1, "m1"),
            choices.Sync(1),
            choices.Lead(3, (2,)),
            choices.Settle(9),
            choices.Request(3, "m2"),
            choices.Settle(9),
            choices.Heal(),
            choices.Lead(1, (3,)),
            choices.Settle(9),
        ),
        Outcome(
            violated="epoch uniqueness",
            witness="p1 was established as leader of epoch 1, and p3 as well",
            judged_by=("epoch uniqueness",),
            delivered={1: "m1⟨1,1⟩", 2: "m2⟨1,1⟩", 3: "m2⟨1,1⟩"},
            histories={1: "m1⟨1,1⟩", 2: "m2⟨1,1⟩", 3: "m2⟨1,1⟩"},
        ),
        (Establish(1, 0, 1), Establish(3, 0, 1)),
    ),
    Scenario(
        "ladis-slow-follower",
        "a slow follower holds nobody up",
        "LADIS 2008, 5",
        "Server 3 stands still. Servers 1 and 2 are a quorum, so both messages are delivered without it. When server 3 "
        "goes on, they wait on its channel, and it delivers them in their order.",
        scheduled(
            "ladis",
            3,
            choices.Lead(1, (2, 3)),
            choices.Settle(9),
            choices.Pause(3),
            choices.Request(1, "m1"),
            choices.Request(1, "m2"),
            choices.Settle(9),
            choices.Wake(3),
            choices.Settle(9),
        ),
        Outcome(
            holds=("total order", "agreement"),
            judged_by=_LADIS,
            delivered=dict.fromkeys((1, 2, 3), "m1⟨1,1⟩ m2⟨1,2⟩"),
        ),
    ),
    Scenario(
        "ladis-follower-fails",
        "a follower fails, and the service goes on",
        "LADIS 2008, 2, smooth failure handling",
        "Server 3 follows, and crashes. Servers 1 and 2 are a quorum, so server 1 remains the leader: message 2 is "
        "delivered with no election between. Server 3 comes back, is sent what it has missed, and delivers all again.",
        scheduled(
            "ladis",
            3,
            choices.Lead(1, (2, 3)),
            choices.Settle(9),
            choices.Request(1, "m1"),
            choices.Settle(9),
            choices.Crash(3),
            choices.Request(1, "m2"),
            choices.Settle(9),
            choices.Recover(3),
            choices.Elect(3, 1),
            choices.Settle(9),
        ),
        Outcome(
            holds=("total order", "agreement"),
            judged_by=_LADIS,
            delivered=dict.fromkeys((1, 2, 3), "m1⟨1,1⟩ m2⟨1,2⟩"),
            histories=dict.fromkeys((1, 2, 3), "m1⟨1,1⟩ m2⟨1,2⟩"),
        ),
    ),
    Scenario(
        "ladis-power-outage",
        "all servers fail at once, and nothing that was delivered is lost",
        "LADIS 2008, 2, failure model",
        "The power fails everywhere. A message is delivered only when a quorum has it on the disk, so whoever leads "
        "afterwards finds message 1 there. Message 2 was in memory alone: nobody had delivered it, and nobody does.",
        scheduled(
            "ladis",
            3,
            choices.Lead(1, (2, 3)),
            choices.Settle(9),
            choices.Request(1, "m1"),
            choices.Settle(9),
            choices.Request(1, "m2"),
            choices.Receive(2, 1),
            *(choices.Crash(server) for server in (1, 2, 3)),
            *(choices.Recover(server) for server in (1, 2, 3)),
            choices.Lead(2, (1, 3)),
            choices.Settle(9),
            choices.Request(2, "m3"),
            choices.Settle(9),
        ),
        Outcome(
            holds=("total order", "agreement", "primary integrity"),
            judged_by=_LADIS,
            delivered=dict.fromkeys((1, 2, 3), "m1⟨1,1⟩ m3⟨2,1⟩"),
            histories=dict.fromkeys((1, 2, 3), "m1⟨1,1⟩ m3⟨2,1⟩"),
        ),
    ),
    Scenario(
        "ladis-outstanding",
        "requests wait while two proposals are outstanding, and end with their leader",
        "LADIS 2008, 4.2",
        "Two proposals may be outstanding here, 1,000 in the paper. Server 1 is asked for five messages before anybody "
        "answers: it proposes two, and the others wait. With the ACKs of message 1 there is room for message 3. Then "
        "server 1 is deposed: messages 2 and 3 were proposed, and the next leader has to see to them. Messages 4 and 5 "
        "were not, and nobody ever hears of them, although server 1 leads once more in the end.",
        scheduled(
            "ladis",
            3,
            choices.Lead(1, (2, 3)),
            choices.Settle(9),
            *(choices.Request(1, f"m{number}") for number in range(1, 6)),
            choices.Sync(1),
            choices.Receive(2, 1),
            choices.Sync(2),
            choices.Receive(1, 2),
            *(choices.Drain(2, 1), choices.Sync(2), choices.Drain(3, 1), choices.Sync(3)),
            choices.Lead(2, (1, 3)),
            choices.Settle(9),
            choices.Lead(1, (2, 3)),
            choices.Settle(9),
            choices.Request(1, "m6"),
            choices.Settle(9),
            switches=ZabSwitches(outstanding=2),
        ),
        Outcome(
            holds=("total order", "agreement", "primary integrity"),
            judged_by=_LADIS,
            delivered=dict.fromkeys((1, 2, 3), "m1⟨1,1⟩ m2⟨1,2⟩ m3⟨1,3⟩ m6⟨3,1⟩"),
            histories=dict.fromkeys((1, 2, 3), "m1⟨1,1⟩ m2⟨1,2⟩ m3⟨1,3⟩ m6⟨3,1⟩"),
        ),
    ),
    Scenario(
        "ladis-acks",
        "a message without COMMITs: servers deliver when they have heard the ACKs of a quorum",
        "LADIS 2008, 4.1",
        "Each server sends its ACKs to all others, and counts for itself. Server 2 delivers message 1 with the ACK of "
        "the leader and its own, while its own is on the way to the leader: a step sooner than a COMMIT. Server 3 "
        "hears both ACKs before the PROPOSAL, which comes on another link, and delivers as soon as it has the message.",
        scheduled(
            "ladis",
            3,
            choices.Lead(1, (2, 3)),
            choices.Settle(9),
            choices.Request(1, "m1"),
            choices.Sync(1),
            choices.Receive(2, 1),
            choices.Sync(2),
            choices.Hear(2, 1),
            choices.Hear(3, 2),
            choices.Hear(3, 1),
            choices.Receive(3, 1),
            choices.Sync(3),
            choices.Settle(9),
            switches=WITHOUT_COMMITS,
        ),
        Outcome(
            holds=("chosen",),
            judged_by=(*_LADIS, "chosen"),
            delivered=dict.fromkeys((1, 2, 3), "m1⟨1,1⟩"),
            histories=dict.fromkeys((1, 2, 3), "m1⟨1,1⟩"),
        ),
    ),
    Scenario(
        "ladis-acks-of-two-epochs",
        "an ACK of another epoch does not count",
        "LADIS 2008, 4.1 and 4.2",
        "Server 1 fails before message 1 is on its disk; only server 2 has it there. Server 1 takes over again, with "
        "server 3. Server 2 hears an ACK of epoch 2, of a higher zxid, but still is in epoch 1: that server 1 has "
        "message 1 does not follow. Epoch 2 goes on without message 1.",
        scheduled("ladis", 3, *_OF_TWO_EPOCHS, switches=WITHOUT_COMMITS),
        Outcome(
            holds=("chosen",),
            judged_by=(*_LADIS, "chosen"),
            delivered=dict.fromkeys((1, 3), "m2⟨2,1⟩"),
            histories={1: "m2⟨2,1⟩", 2: "m1⟨1,1⟩", 3: "m2⟨2,1⟩"},
        ),
    ),
    Scenario(
        "ladis-acks-of-two-epochs-counted",
        "the same, if it counts",
        "LADIS 2008, 4.1 and 4.2",
        "The schedule of ladis-acks-of-two-epochs, but server 2 counts every ACK that it hears. It takes that of epoch "
        "2 for one of message 1, and delivers what no quorum has. The others deliver message 2 in its place.",
        scheduled("ladis", 3, *_OF_TWO_EPOCHS, mutant="count-acks-of-any-epoch", switches=WITHOUT_COMMITS),
        Outcome(
            violated="agreement",
            judged_by=("agreement",),
            delivered={1: "m2⟨2,1⟩", 2: "m1⟨1,1⟩", 3: "m2⟨2,1⟩"},
        ),
    ),
)

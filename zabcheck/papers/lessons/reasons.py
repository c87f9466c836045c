"""The reasons for the steps of Zab: each lesson has a protocol with one step done wrong, and a task to show it."""

from zabcheck.invariants import Deliver, Ready
from zabcheck.papers.lessons.base import Lesson, Task, Way
from zabcheck.papers.scenarios.base import scheduled
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.choices import (
    Crash,
    Elect,
    Heal,
    Lead,
    Receive,
    Recover,
    Request,
    Settle,
    Split,
    Sync,
)

_ATOMIC = Switches(sync="atomic")
"""A write is on the disk at once, where the disk is not what the lesson is about."""
_TWO_HISTORIES = (
    Lead(1, (2,)),
    Settle(9),
    Split((1,)),
    Request(1, "a"),
    Lead(2, (3,)),
    Settle(9),
    Request(2, "b"),
    Settle(9),
    Heal(),
)
"""p1 has a⟨1,1⟩, which nobody else has; p2 and p3 have delivered b⟨2,1⟩."""

_OF_III_A = (
    "integrity",
    "total order",
    "agreement",
    "local primary order",
    "global primary order",
    "primary integrity",
)

LESSONS = (
    Lesson(
        "accepted-epoch",
        "f.p: an epoch has one leader",
        "DSN 2011, IV, step f.1.2",
        "A follower promises an epoch to one leader. So it refuses NEWEPOCH(e') unless e' is above f.p, or it comes "
        "back to the leader that has its promise. Here p2 accepts e' = f.p from anyone.",
        scheduled(
            "zab",
            3,
            Elect(3, 3),
            Elect(2, 3),
            Receive(3, 2),
            Lead(1, (2,)),
            Settle(9),
            mutant="accept-equal-epoch",
            switches=_ATOMIC,
        ),
        "p3 heard CEPOCH(0) of p2 long ago and chose epoch 1. Since then p2 has promised epoch 1 to p1, which leads. "
        "What happens if p2 comes back to p3?",
        Task("Have p1 and p3 both lead epoch 1.", breaks="epoch uniqueness"),
        (
            Way(
                "p2 comes back to p3",
                (Elect(2, 3), Settle(9)),
                "p3 asks for epoch 1, and p2 promises it a second time. Two established leaders now number their "
                "transactions ⟨1,1⟩, ⟨1,2⟩, …: one zxid will mean two transactions.",
                True,
            ),
            Way(
                "p2 stays with p1, which begins anew",
                (Lead(1, (2,)), Settle(9)),
                "p1 hears CEPOCH(1) and takes epoch 2. p3 is still waiting for a promise of epoch 1.",
            ),
        ),
    ),
    Lesson(
        "acknowledge-epoch",
        "ACK-E: a leader that has missed everything",
        "DSN 2011, IV, steps f.1.2 and l.1.2",
        "With ACK-E a follower hands the new leader its history. Every quorum has a process with all that was ever "
        "delivered. So a leader that takes the best history of a quorum lacks nothing, whatever its own log has.",
        scheduled("zab", 3, Lead(1, (2,)), Settle(9), Request(1, "a"), Settle(9), switches=_ATOMIC),
        "p1 and p2 have delivered a. p3 has an empty log. Can p3 lead without losing a?",
        Task("Have p3 lead, and deliver a.", ((Ready, 3), (Deliver, 3))),
        (
            Way(
                "p3 leads alone",
                (Lead(3, ()),),
                "Alone it does not lead at all: it has no quorum to ask, and stays in discovery.",
            ),
            Way(
                "p2 follows p3",
                (Lead(3, (2,)), Settle(9)),
                "Yes. The ACK-E of p2 brings a. It becomes the initial history of epoch 2, and p3 delivers it when it "
                "is established.",
                True,
            ),
        ),
    ),
    Lesson(
        "current-epoch",
        "f.a: the last leader's history wins",
        "DSN 2011, IV, step l.1.2",
        "The best history is that of the follower with the highest f.a, the last epoch in which it adopted a history; "
        "the last zxid decides only between equals. Here the leader goes by the last zxid alone.",
        scheduled(
            "zab",
            3,
            Lead(1, (2,)),
            Settle(9),
            Lead(3, (2,)),
            Receive(3, 2),
            Receive(2, 3),
            Receive(3, 2),
            Receive(2, 3),
            Request(1, "a"),
            Settle(9),
            Request(3, "b"),
            mutant="history-by-zxid-only",
            switches=_ATOMIC,
        ),
        "p1 alone has a, from epoch 1. p2 has an empty history, but adopted it in epoch 2: its f.a is 2. p3 broadcast "
        "b knowing that nothing before it counts. Whose history should the next leader take?",
        Task("Have a delivered after all.", breaks="primary integrity"),
        (
            Way(
                "p1 leads p2",
                (Lead(1, (2,)), Settle(9)),
                "p1 takes its own history, for ⟨1,1⟩ is more than nothing. So a is delivered after all, though p3 "
                "computed b from a state without it. With f.a the empty history of p2 wins, for a quorum agreed to it "
                "in epoch 2.",
                True,
            ),
            Way(
                "p3 leads p2",
                (Lead(3, (2,)), Settle(9)),
                "Its own history ends in b⟨2,1⟩, and f.a is 2 at both. The zxid decides, and rightly: b is delivered, "
                "and a is lost with nobody having seen it.",
            ),
        ),
    ),
    Lesson(
        "disk",
        "The disk first, then the answer",
        "DSN 2011, IV, step f.3.2",
        "An ACK says that the transaction will survive a crash. So it must not leave before the disk has been synced "
        "(the paper says: forced). Here it leaves at once.",
        scheduled("zab", 3, Lead(1, (2,)), Settle(9), Request(1, "a"), Receive(2, 1), mutant="ack-before-sync"),
        "p2 has sent ACK(⟨1,1⟩), and its disk has not been synced yet. Which crash loses a?",
        Task("Have p1 deliver a, and then a new primary broadcast without it.", breaks="primary integrity"),
        (
            Way(
                "p1 delivers a, and p2 crashes before its disk is synced",
                (
                    Receive(1, 2),
                    Crash(1),
                    Crash(2),
                    Recover(2),
                    Lead(2, (3,)),
                    Settle(9),
                    Request(2, "b"),
                    Settle(9),
                ),
                "p1 counted two ACKs, and no disk had a. p2 comes back without it and leads p3, which never had it.",
                True,
            ),
            Way(
                "The disks are synced, and then p2 crashes",
                (
                    Sync(1),
                    Sync(2),
                    Receive(1, 2),
                    Crash(1),
                    Crash(2),
                    Recover(2),
                    Lead(2, (3,)),
                    Settle(9),
                    Request(2, "b"),
                    Settle(9),
                ),
                "p2 reads a from its disk, and hands it to p3 with NEWLEADER. Nothing is lost.",
            ),
        ),
    ),
    Lesson(
        "quorum",
        "A quorum of ACKs, or it was never safe",
        "DSN 2011, IV, step l.3.2",
        "A leader delivers a transaction once a quorum of processes has it on disk. Here it delivers what its own disk "
        "has.",
        scheduled("zab", 3, Lead(1, (2, 3)), Settle(9), Request(1, "a"), mutant="commit-on-own-ack"),
        "p1 has proposed a. Its own disk is about to have it. What will p1 do, and what can be lost then?",
        Task("Have p1 deliver a, and the others deliver b instead.", breaks="agreement"),
        (
            Way(
                "p1 syncs its disk, and crashes; p2 leads",
                (Sync(1), Crash(1), Lead(2, (3,)), Settle(9), Request(2, "b"), Settle(9)),
                "p1 delivers a when only its own disk has it. A client may have its answer. p2 and p3 form a quorum "
                "that never heard of a, and go on without it.",
                True,
            ),
            Way(
                "p1 waits for the others",
                (Settle(9), Crash(1), Lead(2, (3,)), Settle(9), Request(2, "b"), Settle(9)),
                "All three have a when p1 crashes, so b follows it everywhere. The bug did no harm here, and shows all "
                "the same: p1 delivered before the first ACK came, and the property chosen (a quorum has what is "
                "delivered) notices that.",
            ),
        ),
    ),
    Lesson(
        "truncation",
        "What was not chosen has to go",
        "DSN 2011, IV, step f.2.1",
        "A follower replaces its history by the initial history of the epoch. What it has beyond that was never "
        "delivered, and must go. Here it keeps it.",
        scheduled("zab", 3, *_TWO_HISTORIES, mutant="no-truncation", switches=_ATOMIC),
        "p1 was cut off with a, which nobody else has. Meanwhile p2 and p3 have delivered b. What is in the history "
        "of p1 when it comes back?",
        Task("Have p1 deliver a before b.", breaks="total order"),
        (
            Way(
                "p1 follows p2",
                (Elect(1, 2), Settle(9)),
                "a is kept, b is appended, and p1 delivers a, b where the others have delivered b alone. Zab would "
                "truncate a: no quorum had it, so nobody may have seen it.",
                True,
            ),
            Way(
                "p1 stays away",
                (Request(2, "c"), Settle(9)),
                "Nothing happens to p1, nor to anybody else. An old transaction does harm only when it comes back.",
            ),
        ),
    ),
    Lesson(
        "joining",
        "A follower that joins while the leader broadcasts",
        "DSN 2011, IV, steps l.3.1, l.3.3 and l.3.4",
        "A late follower gets the history up to now with NEWLEADER. What is proposed after that has to reach it as "
        "well, though it has not acknowledged anything yet. Here the leader proposes only to those that have "
        "acknowledged NEWLEADER.",
        scheduled("zab", 3, Lead(1, (2,)), Settle(9), Elect(3, 1), Receive(1, 3), mutant="propose-to-acked-only"),
        "NEWLEADER is on its way to p3. A request comes now. Does p3 ever get it?",
        Task("Have p3 miss a transaction, and deliver the next.", breaks="local primary order"),
        (
            Way(
                "A request now, and another when p3 has joined",
                (Request(1, "a"), Settle(9), Request(1, "b"), Settle(9)),
                "a falls into the gap: too late for NEWLEADER, too early for PROPOSE. p3 delivers b without it.",
                True,
            ),
            Way(
                "Both requests when p3 has joined",
                (Settle(9), Request(1, "a"), Settle(9), Request(1, "b"), Settle(9)),
                "p3 gets both. The gap is open only between NEWLEADER and ACK-LD.",
            ),
        ),
    ),
    Lesson(
        "figure-1",
        "Why not Paxos: figure 1",
        "DSN 2011, II, figure 1",
        "Paxos chooses the value of each instance, a place in the log, by itself. A primary whose second change builds "
        "on its first needs more: both or none, in this order. Zab keeps the order of a primary, because it chooses "
        "histories.",
        scheduled(
            "paxos",
            3,
            Lead(1, (2, 3)),
            Settle(9),
            Split((1,)),
            Request(1, "A"),
            Request(1, "B"),
            Lead(2, (3,)),
            Settle(9),
            Request(2, "C"),
            Receive(3, 2),
            Heal(),
            switches=_ATOMIC,
        ),
        "p1 has A and B in instances 1 and 2, and B builds on A. p2 and p3 have C in instance 1, with a higher ballot. "
        "None of these is chosen. What does the next proposer put where?",
        Task("Have B delivered without A.", breaks="local primary order"),
        (
            Way(
                "p3 proposes, and hears p1",
                (Lead(3, (1,)), Settle(9)),
                "In instance 1 the highest ballot has C, in instance 2 only B was ever proposed. So C, B are chosen: "
                "B is applied to a state that A never changed.",
                True,
            ),
            Way(
                "p3 proposes, and hears p2",
                (Lead(3, (2,)), Settle(9)),
                "Neither knows of B. C is chosen, A and B are lost together, and all is well: it depends on luck.",
            ),
        ),
    ),
    Lesson(
        "invariant-4",
        "Why invariant 4: the proof notices first",
        "DSN 2011, VI-B, invariant 4",
        "The proof of Zab argues about what each step keeps true, and not about deliveries. Invariant 4: the "
        "initial history of an epoch is the history of some follower, unaltered. The steps are as in the lesson on "
        "truncation, the follower keeps what it should not.",
        scheduled(
            "zab",
            3,
            *_TWO_HISTORIES,
            Lead(1, (2,)),
            Receive(1, 2),
            Receive(2, 1),
            mutant="no-truncation",
            switches=_ATOMIC,
        ),
        "p1 has a, and leads. p2 has sent its history, b, with ACK-E. Of which history will the new epoch begin? And "
        "has any client been told anything wrong when it does?",
        Task("Break invariant 4 before anything wrong is delivered.", breaks="invariant 4", unless=_OF_III_A),
        (
            Way(
                "p1 receives the ACK-E",
                (Receive(1, 2),),
                "p1 adopts a, b, which no follower has ever had. Nothing was delivered yet, and no client could tell. "
                "Two messages later p1 delivers a, and total order breaks. A check of invariants finds bugs earlier, "
                "and in more runs, than one of deliveries.",
                True,
            ),
            Way(
                "p1 crashes, and p2 leads p3",
                (Crash(1), Lead(2, (3,)), Settle(9)),
                "The initial history of the next epoch is b, as p2 and p3 have it. Invariant 4 holds, with the same "
                "bug in every process: nobody had anything to truncate.",
            ),
        ),
    ),
)

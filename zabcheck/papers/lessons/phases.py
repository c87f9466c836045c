"""The three phases of Zab, a lesson each (DSN 2011, IV)."""

from zabcheck.invariants import Deliver, Promise, Ready
from zabcheck.papers.lessons.base import Lesson, Task, Way
from zabcheck.papers.scenarios.base import scheduled
from zabcheck.simulation.choices import Crash, Cut, Lead, Receive, Request, Settle, Sync

_DISCOVERY = (Lead(1, (2,)), Receive(1, 2), Sync(1), Receive(2, 1), Sync(2))
"""p1 leads p2, and both promise epoch 1 on the disk."""

LESSONS = (
    Lesson(
        "discovery",
        "Two processes elect",
        "DSN 2011, IV, phase 1, steps f.1.1 to f.1.2",
        "Each process has an oracle, which names a leader; here you decide what it says. A follower sends that leader "
        "CEPOCH with f.p, the last epoch that it has promised. When a quorum has, the leader, which is a follower of "
        "its own, takes an epoch above all of these and asks for it with NEWEPOCH. A follower writes the promise to "
        "its disk; only then it has promised, and answers with ACK-E. The program says [synchronization] as soon as a "
        "process knows the epoch; in the paper discovery ends with ACK-E.",
        scheduled("zab", 3),
        "The oracle of p1 names p1. How many of the two others have to follow it before it takes an epoch?",
        Task("Have p1 and p2 promise epoch 1, on the disks of both.", ((Promise, 1), (Promise, 2))),
        (
            Way(
                "Only p1 believes that it leads",
                (Lead(1, ()),),
                "Nobody is too few. p1 stays in discovery, for it alone is no quorum of three. Any two quorums share a "
                "process, and no process promises an epoch twice: so an epoch has at most one leader.",
            ),
            Way(
                "p2 follows p1",
                _DISCOVERY,
                "One is enough: the leader and one follower are two of three. The leader takes epoch 1. A process has "
                "promised it as soon as its disk has f.p = 1, and a follower's ACK-E leaves after that.",
                True,
            ),
        ),
    ),
    Lesson(
        "synchronization",
        "One history before anything new",
        "DSN 2011, IV, phase 2, steps l.2.1 to f.2.2",
        "Each ACK-E carries the history of its follower: the transactions that it has accepted. A run prints only the "
        "number of the last one, its zxid, and ⟨0,0⟩ if there is none. The leader takes the best of these as the "
        "initial history of its epoch, and sends it with NEWLEADER. A follower replaces its own history by it, sets "
        "f.a to the epoch, syncs its disk and answers with ACK-LD. A leader that may broadcast is established.",
        scheduled("zab", 3, *_DISCOVERY),
        "The history of p2 is on its way to p1. May p1 broadcast as soon as it has sent NEWLEADER?",
        Task("Have p1 established as the leader of epoch 1.", ((Ready, 1),)),
        (
            Way(
                "p2 crashes before its disk has the history",
                (Receive(1, 2), Sync(1), Receive(2, 1), Crash(2)),
                "No. p1 waits in synchronization: were it to broadcast now, the next leader might come from a quorum "
                "that never had this history, and choose another one.",
            ),
            Way(
                "p2 has it on the disk",
                (Receive(1, 2), Sync(1), Receive(2, 1), Sync(2), Receive(1, 2)),
                "Not yet, but with the ACK-LD of p2. A quorum now has the initial history and f.a = 1 on its disks, so "
                "whoever leads next will hear of it. p1 is established, and tells p2 with COMMIT-LD.",
                True,
            ),
        ),
    ),
    Lesson(
        "broadcast",
        "A request is delivered",
        "DSN 2011, IV, phase 3, steps l.3.1 to f.3.3",
        "The leader gives each request a zxid, ⟨epoch, counter⟩, and sends it in PROPOSE. A follower appends it to its "
        "history, syncs its disk and answers with ACK. When a quorum has, the leader delivers the transaction and "
        "sends COMMIT. That is a two-phase commit in which nobody can say no, and in which a quorum is enough.",
        scheduled("zab", 3, Lead(1, (2, 3)), Settle(9)),
        "Cut the link from p1 to p3 first (`cut 1 3`), then make a request (`request 1 a`). Who delivers it?",
        Task(
            "Have all three deliver a transaction. A link that is cut is mended by `mend 1 3`.",
            ((Deliver, 1), (Deliver, 2), (Deliver, 3)),
        ),
        (
            Way(
                "The link to p3 is cut first",
                (Cut(1, 3), Request(1, "a"), Settle(9)),
                "p1 and p2: two of three have it on the disk. p3 gets it when the link is mended: a cut "
                "delays what was sent. Only a new election, which closes the connection, drops it.",
            ),
            Way(
                "All links work",
                (Request(1, "a"), Settle(9)),
                "All three. Look at the order: the disk of a process is synced before its ACK leaves, and p1 delivers "
                "with the second ACK, which may be its own. With the link to p3 cut, p1 and p2 deliver, and p3 does "
                "once it is mended.",
                True,
            ),
        ),
    ),
)

"""docs/sources.md has what each paper says, section by section, with the command that shows it and its result."""

import io
import re
import shlex
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from docs.generators import evaluation
from docs.generators.output import DOCS, ROOT, read
from docs.generators.properties import table
from zabcheck import cli
from zabcheck.cli.verdict import OK, VIOLATED
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.papers.scenarios import SCENARIOS
from zabcheck.simulation.schedule import Schedule

PAGE = DOCS / "sources.md"
HEAD = ("section", "says", "shown by", "result")


class Bug(NamedTuple):
    """The run in which a planted bug shows why a source asks for something: one of the gallery."""

    mutant: str

    def shown(self) -> tuple[str, str]:
        """Return the command, which has to end in a violation, and its result."""
        command = f"zabcheck replay reports/gallery/{self.mutant}.schedule.json"
        assert executed(command)[0] == VIOLATED, command
        return command, f"otherwise *{CATALOGUE[self.mutant].breaks[0]}* breaks"


class Played(NamedTuple):
    """A scenario."""

    scenario: str

    def shown(self) -> tuple[str, str]:
        """Return the command, which has to find the expected outcome, and what that is."""
        command = f"zabcheck scenario {self.scenario}"
        assert executed(command)[0] == OK, command
        scenario = SCENARIOS[self.scenario]
        broken = scenario.outcome.violated
        otherwise = "otherwise " if isinstance(scenario.run, Schedule) and scenario.run.mutant else ""
        return command, f"{otherwise}*{broken}* breaks" if broken else "nothing breaks"


class Checked(NamedTuple):
    """A command that has to pass, or that has to find that a property `breaks`."""

    arguments: str
    breaks: str = ""

    def shown(self) -> tuple[str, str]:
        """Return the command, and its result."""
        command = f"zabcheck {self.arguments}"
        known = shown_elsewhere(command)
        code = executed(command)[0] if known is None else known
        assert code == (VIOLATED if self.breaks else OK), command
        return command, f"*{self.breaks}* breaks" if self.breaks else "nothing breaks"


class Figure(NamedTuple):
    """A figure of `zabcheck evaluate`: in the first row of a `table` that begins with `first`, in a column.

    `table` is the beginning of its title. Columns are numbered from 0, not counting the first one; `place` tells the
    figures of a cell apart.
    """

    table: str
    first: int
    column: int
    place: int = 0

    def text(self, printed: str) -> str:
        """Return the figure, as the command has printed it."""
        _, found, rest = printed.partition(f"\n{self.table}")
        assert found, self.table
        rows = (re.split(" {2,}", line.strip()) for line in rest.partition("\n\n")[0].splitlines())
        cell = next(row for row in rows if row[0] == f"{self.first:,}")[self.column + 1]
        return re.split("[;,] ", cell)[self.place]


class Evaluated(NamedTuple):
    """An evaluation with these options; without any, that which was executed to write docs/evaluation.md.

    `says` has a place for each figure.
    """

    says: str
    figures: tuple[Figure, ...]
    options: str = ""

    def shown(self) -> tuple[str, str]:
        """Return the command, and its figures."""
        command = f"zabcheck evaluate {self.options}".rstrip()
        printed = executed(command)[1] if self.options else read(evaluation.PAGE)
        return command, self.says.format(*(figure.text(printed) for figure in self.figures))


class Tested(NamedTuple):
    """A target of the Makefile whose tests need compilers, so that it is not executed here; `tests` is their file."""

    target: str
    tests: str

    def shown(self) -> tuple[str, str]:
        """Return the command, and its result."""
        assert f"\n{self.target}: " in read(ROOT / "Makefile")
        assert (ROOT / self.tests).exists()
        return f"make {self.target}", f"passes (`{self.tests}`)"


class Claim(NamedTuple):
    """A statement of a source: its section, the statement in our words, and what shows it; None: nothing does yet."""

    section: str
    says: str
    by: Bug | Played | Checked | Evaluated | Tested | None = None


LOAD, BOUNDS, SINGLE = "Throughput under load", "Load on 3 servers", "Latency of a single operation"
COMMITS, PATHS, RECOVERY = "A single operation with and without COMMITs", "PROPOSE and COMMIT to all", "Recovery after"
"""The tables of the evaluation."""


DSN_2011 = (
    Claim(
        "I", "A prefix of a primary's changes is delivered, with several of them outstanding", Bug("commit-only-named")
    ),
    Claim(
        "I",
        "An instance value is that of one process at most, and a process may have several",
        Bug("reuse-highest-epoch"),
    ),
    Claim(
        "I",
        "A process that joins or leaves changes no epoch, as long as a quorum supports the primary",
        Played("zab-joining"),
    ),
    Claim(
        "I",
        "Changes are idempotent: applied again in their order they lead to one state",
        Played("redelivery-idempotent"),
    ),
    Claim("I", "… so that it is enough to deliver at least once", Played("redelivery")),
    Claim("I", "… and otherwise replicas diverge", Played("redelivery-not-idempotent")),
    Claim("I", "A new primary fetches what it lacks from who has accepted the highest zxid", Bug("keep-own-log")),
    Claim("I, figure 1", "Paxos delivers a primary's second change without its first", Played("paxos-figure-1")),
    Claim("I", "Batches in one proposal at a time prevent that", Played("paxos-figure-1-batches")),
    Claim("I", "… and one proposal at a time alone does not: an old value comes back", Played("paxos-one-outstanding")),
    Claim(
        "I",
        "… and costs throughput or latency",
        Evaluated(
            "3 servers with write cache, one at a time: {} operations a second, 1,000: {}",
            (Figure(BOUNDS, 1, 1), Figure(BOUNDS, 1000, 1)),
        ),
    ),
    Claim(
        "I, efficient recovery",
        "A new primary copies what it lacks, which the last zxid of each process tells",
        Evaluated(
            "discovery among 3 servers with 100,000 transactions: {} ms, with whole histories {}",
            (Figure(RECOVERY, 100_000, 2), Figure(RECOVERY, 100_000, 1)),
        ),
    ),
    Claim(
        "I, efficient recovery",
        "In Paxos a last sequence number is not enough: what was accepted before it is asked for, number by number",
        Played("paxos-gap"),
    ),
    Claim("II", "Processes crash and recover with their disk", Bug("ack-before-sync")),
    Claim("II", "… and once a quorum is up for long enough, there is progress", Played("ladis-power-outage")),
    Claim("II, definition II.1", "Any two quorums share a process", Bug("quorum-off-by-one")),
    Claim(
        "II, definition II.1",
        "… and any such system of quorums will do",
        Checked("run --quorums 'weights 3,2,0' --runs 40 --seed 1"),
    ),
    Claim("II, channels", "A process receives in the order of sending", Bug("non-fifo-link")),
    Claim("II, channels", "Who loses a connection notices it", Bug("ignore-closed-connection")),
    Claim(
        "II, single iteration", "Nothing is received that was sent in another iteration", Bug("stale-proposal-accepted")
    ),
    Claim(
        "II, channels",
        "Fair-lossy links and connections give such channels",
        Checked("explore --protocol channel --processes 2 --epochs 2 --txns 2 --timeouts 1 --crashes 1"),
    ),
    Claim("II, channels", "… though frames get lost, come twice, and overtake each other", Played("dsn-channel")),
    Claim("II, channels", "… integrity: what was not sent is not received", Bug("send-again-as-new")),
    Claim("II, channels", "… prefix: what was sent before is received before", Bug("receive-past-a-gap")),
    Claim(
        "II, channels",
        "… single iteration: an iteration that is over brings no more messages",
        Bug("receive-of-old-iteration"),
    ),
    Claim(
        "II, channels",
        "… and Zab runs on such channels as on the others",
        Checked("run --switch links=lossy --runs 100 --seed 1"),
    ),
    Claim("II, channels", "… though the link delays a proposal, which is sent again", Played("dsn-lossy-links")),
    Claim("II, channels", "… for which Zab needs prefix", Bug("lossy-past-a-gap")),
    Claim(
        "II, channels",
        "… in 14 steps, of which there is no shorter run",
        Checked(
            "explore --mutant lossy-past-a-gap --switch links=lossy --processes 2 --epochs 1 --txns 2 "
            "--timeouts 0 --crashes 0 --property chosen",
            "chosen",
        ),
    ),
    Claim("II, channels", "… and single iteration", Bug("lossy-old-iteration")),
    Claim("III", "A primary broadcasts after ready(e), with zxids of epoch e", Bug("broadcast-before-established")),
    Claim(
        "III",
        "One primary at most is active: not so by the clock, but nothing comes of what an earlier one broadcasts",
        Played("dsn-heartbeats"),
    ),
    Claim("III", "No zxid has two values", Bug("counter-wraps")),
    Claim(
        "III-A, integrity to primary integrity",
        "Zab has the six properties of a PO atomic broadcast",
        Checked("run --property core --runs 40 --seed 1"),
    ),
    Claim(
        "III", "What a primary broadcasts need not be delivered, if it crashes or is replaced", Played("dsn-figure-3")
    ),
    Claim(
        "III-A, integrity", "What is delivered was broadcast", Checked("run --property integrity --runs 40 --seed 1")
    ),
    Claim("III-A, total order", "Who delivers both delivers them in one order", Played("ladis-figure-4-kept")),
    Claim(
        "III-A, agreement",
        "Two processes do not deliver disjoint sequences",
        Played("zab-joining-committed-commit-ld-zxid"),
    ),
    Claim(
        "III-A, agreement",
        "… which is safety; that everybody delivers is a property of its own",
        Bug("commit-ld-initial"),
    ),
    Claim(
        "III-A, local primary order",
        "No change of a primary is delivered without those before it",
        Played("zab-joining-propose-to-acked-only"),
    ),
    Claim(
        "III-A, global primary order",
        "The changes of an earlier primary are delivered before those of a later one",
        Checked("run --property 'global primary order' --runs 40 --seed 1"),
    ),
    Claim("III-A, global primary order", "… which rules out the run of figure 1", Played("paxos-figure-1-zab")),
    Claim(
        "III-A, primary integrity",
        "A primary delivers what is delivered of earlier epochs before it broadcasts",
        Bug("deliver-initial-history-last"),
    ),
    Claim(
        "III-B",
        "With the core properties PO causal order and strict causality hold, too",
        Checked("run --property 'po causal order' --property 'strict causality' --runs 40 --seed 1"),
    ),
    Claim("III-B, figure 3", "PO causal order holds where causal order does not", Played("dsn-figure-3-zab")),
    Claim(
        "III-B, figure 3",
        "… so Zab is no causal atomic broadcast",
        Checked("run --property 'full causal order' --runs 40 --seed 1", "full causal order"),
    ),
    Claim("III-B, figure 4", "Causal order holds where strict causality does not", Played("dsn-figure-4")),
    Claim(
        "III-B, definition III.1",
        "A causal atomic broadcast keeps causal order, whoever is primary",
        Checked("run --protocol causal --runs 40 --seed 1"),
    ),
    Claim("III-B, definition III.1", "… for which earlier broadcasts must not be lost", Bug("hand-over-newest-alone")),
    Claim(
        "III-B, definition III.1",
        "… in 18 steps of two processes, of which there is no shorter run",
        Checked(
            "explore --protocol causal --mutant hand-over-newest-alone --processes 2 --quorums 'weights 1,2' "
            "--epochs 3 --txns 3 --timeouts 3 --crashes 0 --property 'local primary order'",
            "local primary order",
        ),
    ),
    Claim(
        "III-B",
        "… and it is no PO atomic broadcast",
        Checked("run --protocol causal --property 'global primary order' --runs 100 --seed 1", "global primary order"),
    ),
    Claim(
        "III-B, figure 4", "… since a primary may broadcast without what is delivered", Played("dsn-figure-3-causal")
    ),
    Claim(
        "IV",
        "A process may drop its iteration at any time, and begin a new one",
        Checked("explore --processes 2 --timeouts unlimited --crashes unlimited --property core"),
    ),
    Claim(
        "IV",
        "A leader executes the steps of a follower as well",
        Checked("run --processes 1 --property convergence --runs 40 --seed 1"),
    ),
    Claim("IV", "To be named by an oracle is not enough to lead", Bug("broadcast-before-established")),
    Claim(
        "IV, table 1",
        "A process needs no more than f.p, f.a and h_f after a crash",
        Checked("explore --processes 2 --switch sync=separate --property agreement"),
    ),
    Claim("IV, f.1.1", "A follower leaves its last leader, and tells the new one f.p", Bug("stale-proposal-accepted")),
    Claim("IV, l.1.1", "The new epoch is above all that a quorum has promised", Bug("reuse-highest-epoch")),
    Claim("IV, f.1.2", "A follower promises an epoch once", Bug("accept-equal-epoch")),
    Claim("IV, f.1.2", "… and the promise survives a crash", Bug("promise-not-durable")),
    Claim("IV, l.1.2", "The initial history has the highest f.a, then the highest zxid", Bug("history-by-zxid-only")),
    Claim(
        "IV, definition IV.2",
        "The initial history is what the prospective leader has when phase 1 ends",
        Checked("prove --step l.1.2"),
    ),
    Claim("IV, l.1.2", "… of a quorum, not of the leader", Bug("keep-own-history")),
    Claim("IV, l.2.1", "NEWLEADER brings the initial history to each follower of Q", Checked("prove --step f.2.1")),
    Claim("IV, f.2.1", "A follower replaces its history by the initial one", Bug("no-truncation")),
    Claim("IV, f.2.1", "… also if its own is longer", Bug("keep-longer-history")),
    Claim(
        "IV, f.2.1",
        "… or begins a new iteration, if it has not promised that epoch",
        Played("dsn-newleader-unpromised"),
    ),
    Claim("IV, l.2.2", "NEWLEADER is committed with the ACKs of a quorum", Checked("prove --step l.2.2")),
    Claim(
        "IV, f.2.2",
        "The initial history is delivered when NEWLEADER is committed, before anything new",
        Bug("deliver-initial-history-last"),
    ),
    Claim(
        "IV, l.3.1",
        "Proposals have zxids of their epoch, each above those before it",
        Checked("run --property 'zxid assignment' --runs 40 --seed 1"),
    ),
    Claim("IV, l.3.1", "… and go to every follower of Q, which grows", Bug("propose-to-acked-only")),
    Claim("IV, l.3.2", "A proposal is committed with the ACKs of a quorum", Bug("commit-on-own-ack")),
    Claim("IV, l.3.2", "… which counts processes, not messages", Bug("count-acks-not-senders")),
    Claim("IV, f.3.2", "A follower accepts proposals of its leader only", Bug("stale-proposal-accepted")),
    Claim("IV, f.3.1", "The leader is ready(e') once its epoch is committed", Bug("broadcast-before-established")),
    Claim("IV, f.3.3", "A COMMIT delivers all before its transaction, too", Bug("commit-only-named")),
    Claim("IV, l.3.3 and l.3.4", "A follower may join late", Played("zab-joining")),
    Claim("IV, l.3.3", "… and is answered", Bug("late-cepoch-unanswered")),
    Claim("IV, l.3.4", "… and is told what is committed, no more and no less", Bug("commit-ld-initial")),
    Claim(
        "IV, end",
        "ACK-E and NEWLEADER may leave out what the receiver has",
        Checked("run --switch histories=missing --runs 40 --seed 1"),
    ),
    Claim("IV, end", "… and the ACKs and COMMITs of phase 3 name a zxid and no value", Played("zab-joining")),
    Claim("V", "A follower acknowledges a proposal once it is on its own disk", Bug("ack-before-sync")),
    Claim(
        "V",
        "A leader that is also a follower counts itself",
        Checked("run --processes 1 --property convergence --runs 40 --seed 1"),
    ),
    Claim(
        "V",
        "Leader and primary are one process, so that a call to broadcast is local",
        Evaluated(
            "a client of the leader waits {} ms, one of a follower {}", (Figure(SINGLE, 3, 0), Figure(SINGLE, 3, 0, 1))
        ),
    ),
    Claim(
        "V-A",
        "Any election serves that is likely to name a process which is up",
        Checked(
            "run --protocol zookeeper --switch elections=fle --switch defects=none --property core --runs 50 --seed 1"
        ),
    ),
    Claim(
        "V-A, definition V.1",
        "An established leader is the only one of its epoch",
        Checked("run --property 'epoch uniqueness' --runs 40 --seed 1"),
    ),
    Claim(
        "V-A",
        "Once phase 1 is over, a quorum accepts nothing of earlier epochs any more",
        Bug("stale-proposal-accepted"),
    ),
    Claim(
        "V-A",
        "A last zxid tells whether to copy from a follower, and what",
        Checked("run --switch histories=missing --runs 40 --seed 1"),
    ),
    Claim(
        "V-A",
        "An election that names the highest epoch and zxid of a quorum spares the copying",
        Checked("run --protocol zookeeper --switch elections=oracle --switch defects=none --runs 40 --seed 1"),
    ),
    Claim(
        "V-B",
        "A connection that is closed loses the proposals that are queued on it",
        Checked("run --switch closing=abrupt --runs 40 --seed 1"),
    ),
    Claim("V-B", "What the leader sends arrives in its order", Bug("non-fifo-link")),
    Claim(
        "V-B",
        "A crash is noticed too late by connections that close, so there are heartbeats",
        Played("dsn-heartbeats"),
    ),
    Claim("V-B", "A leader that hears from no quorum goes back to ELECTION", Played("dsn-no-quorum")),
    Claim("V-C", "A follower follows one leader, and leaves it when it hears nothing", Bug("ignore-closed-connection")),
    Claim("V-C", "A follower tells f.a in CEPOCH: not so, f.p is meant (IV, f.1.1)", Played("dsn-cepoch")),
    Claim(
        "V-C",
        "ACKs of NEWLEADER are ignored once it is committed: not so, l.3.4 answers them",
        Bug("late-ack-ld-unanswered"),
    ),
    Claim("V-D", "A leader needs a quorum that is up and has chosen it", Played("dsn-no-quorum")),
    Claim(
        "V-D", "… and then all that it proposes is committed", Checked("run --property convergence --runs 40 --seed 1")
    ),
    Claim("VI-A, definition VI.1", "What is delivered was chosen: a quorum had accepted it", Bug("commit-ld-zxid")),
    Claim(
        "VI-A, definitions VI.2, VI.3",
        "The chosen transactions of an epoch are a sequence, C_e, and those of its broadcast phase, CB_e",
        Checked("run --property chosen --runs 40 --seed 1"),
    ),
    Claim("VI-A, definition VI.4", "A transaction that is delivered again counts once", Played("redelivery")),
    Claim(
        "VI-A, definitions VI.5, VI.6",
        "What a follower delivers in the broadcast phase is of the last epoch that it knows to be committed",
        Checked("run --property 'invariant 5' --runs 40 --seed 1"),
    ),
    Claim(
        "VI-B, invariant 1",
        "A follower accepts proposals of its current epoch only",
        Checked("run --property 'invariant 1' --runs 40 --seed 1"),
    ),
    Claim("VI-B, invariant 2", "… in the order of zxids", Bug("duplicate-proposal")),
    Claim(
        "VI-B, invariant 3",
        "Who has provided its history accepts nothing of an earlier epoch",
        Bug("stale-proposal-accepted"),
    ),
    Claim("VI-B, invariant 4", "An initial history is that of some follower, unaltered", Bug("no-truncation")),
    Claim(
        "VI-B, invariant 5",
        "What is delivered in an epoch is what its primary broadcast",
        Checked("run --property 'invariant 5' --runs 40 --seed 1"),
    ),
    Claim("VI-C", "Each step keeps the invariants, for any number of processes", Checked("prove --step f.3.2")),
    Claim("VI-C", "… which imply the six properties", Checked("prove --property 'primary integrity'")),
    Claim(
        "VI-D, claim 7",
        "With a quorum that is left alone, what is proposed is committed",
        Checked("run --property convergence --runs 40 --seed 1"),
    ),
    Claim("VI-D, claim 7", "… and delivered by all of it, for any number of processes", Checked("prove --liveness")),
    Claim(
        "VII, figure 6",
        "The leader's network card is a cap on throughput, and more servers lower it",
        Evaluated(
            "3 servers: {} of at most {} operations a second; 13: {} of {}",
            tuple(Figure(LOAD, servers, column) for servers in (3, 13) for column in (1, 0)),
        ),
    ),
    Claim(
        "VII, figure 6",
        "With a write cache it is almost as fast as without a disk",
        Evaluated("3 servers: {} and {} operations a second", (Figure(LOAD, 3, 2), Figure(LOAD, 3, 1))),
    ),
    Claim(
        "VII, figure 6",
        "Without a write cache it is constant up to seven servers, and then falls",
        Evaluated(
            "3 servers: {}, 7: {}, 13: {} operations a second",
            tuple(Figure(LOAD, servers, 3) for servers in (3, 7, 13)),
        ),
    ),
    Claim(
        "VII, figure 7",
        "A ping takes 0.1 ms; without a write cache latency is much higher",
        Evaluated(
            "3 servers: {} ms, with a cache {}, without {}", tuple(Figure(SINGLE, 3, column) for column in range(3))
        ),
    ),
    Claim(
        "VII",
        "The load is operations of 1,024 bytes, 1,000 of them outstanding, on up to 13 servers",
        Evaluated("3 servers, 1,000 outstanding: {} operations a second", (Figure(BOUNDS, 1000, 0),)),
    ),
    Claim("VII", "A write cache acknowledges what a power failure loses", Bug("ack-before-sync")),
    Claim(
        "VII",
        "A sync would take 20 ms, but for the metadata that the kernel writes (8.333 ms are assumed)",
        Evaluated(
            "without that a single operation takes {} ms",
            (Figure(SINGLE, 3, 0),),
            "--servers 3 --disk no-cache --history none --operations 100 --setting uncached-sync=20000",
        ),
    ),
    Claim(
        "VII",
        "A tree or a chain relieves the leader's network card",
        Evaluated(
            "13 servers: {} operations a second, with a tree {}, with a chain {}",
            tuple(Figure(PATHS, 13, column) for column in range(3)),
        ),
    ),
    Claim(
        "VII",
        "… as followers pass PROPOSE and COMMIT on (steps T.1 to T.3, our decisions)",
        Checked("run --switch dissemination=tree --runs 40 --seed 1"),
    ),
    Claim("VII", "… none accepts what another path has brought too soon (T.4, T.5)", Bug("accept-past-a-hole")),
    Claim("VII", "… and the tree is built anew when a relay fails (T.6)", Played("dsn-chain-relay-fails")),
    Claim("VII", "… with what may be lost sent again (T.6)", Bug("rebuild-without-resending")),
    Claim(
        "VIII, Paxos",
        "In Paxos a new leader selects the value of each sequence number independently",
        Played("paxos-figure-1"),
    ),
    Claim(
        "VIII, Paxos",
        "… and Zab's synchronization, before anything new is proposed, prevents causal conflicts",
        Played("paxos-figure-1-zab"),
    ),
    Claim(
        "VIII, Paxos",
        "… as the history with the highest zxid of the latest epoch is the one that is replicated",
        Bug("history-by-zxid-only"),
    ),
    Claim(
        "VIII, abstract Paxos",
        "A zxid has the one value that its leader has proposed for it, or none",
        Checked("run --property 'zxid uniqueness' --runs 40 --seed 1"),
    ),
    Claim(
        "VIII, abstract Paxos",
        "… and as a ballot, an epoch is that of one process",
        Checked("run --property 'epoch uniqueness' --runs 40 --seed 1"),
    ),
    Claim("VIII, abstract Paxos", "… while a proposer of Paxos fills a gap with a no-op", Played("paxos-gap")),
    Claim(
        "VIII, passive replication",
        "In Paxos, also Vertical Paxos, an instance may have several values over time",
        Played("paxos-figure-1-crashes"),
    ),
    Claim(
        "VIII, crash-recovery protocols",
        "Messages may be delivered twice, if in the order agreed upon",
        Played("redelivery"),
    ),
    Claim(
        "VIII, group communication",
        "If a process fails that does not lead, the epoch goes on",
        Played("ladis-follower-fails"),
    ),
    Claim(
        "VIII, group communication",
        "As with reliable total order, a prefix of what a primary broadcasts is delivered",
        Checked("run --property prefix --runs 40 --seed 1"),
    ),
    Claim(
        "VIII, COReL",
        "Causality that holds across configurations makes figure 3 impossible",
        Played("dsn-figure-3-causal"),
    ),
    Claim(
        "IX", "Whatever is or will be chosen of earlier epochs is in the initial history", Bug("history-by-zxid-only")
    ),
)
LADIS_2008 = (
    Claim("1", "To tolerate f failures takes 2f + 1 servers", Bug("quorum-off-by-one")),
    Claim(
        "1",
        "The throughput of writes does not grow with the servers",
        Evaluated("3 servers: {} operations a second, 13: {}", tuple(Figure(LOAD, servers, 1) for servers in (3, 13))),
    ),
    Claim("1, figure 1", "Requests become transactions that are idempotent", Played("redelivery-idempotent")),
    Claim("1", "… as requests are not: a version is counted up", Played("redelivery-not-idempotent")),
    Claim(
        "2",
        "There is a single leader at a time",
        Checked("run --protocol ladis --property 'epoch uniqueness' --runs 40 --seed 1"),
    ),
    Claim(
        "2, reliable delivery",
        "What one server delivers all correct servers deliver",
        Checked("run --protocol ladis --property 'reliable delivery' --runs 40 --seed 1"),
    ),
    Claim("2, total order", "Messages are delivered in one order", Played("ladis-figure-4-kept")),
    Claim(
        "2, causal order",
        "A message is delivered after those that precede it causally",
        Played("ladis-causal-violation"),
    ),
    Claim(
        "2, causal violation", "… so w2, which its leader alone had, is skipped for good", Played("ladis-causal-order")
    ),
    Claim(
        "2, prefix property",
        "Whatever a leader proposed before a delivered message is delivered",
        Checked("run --protocol ladis --property prefix --runs 40 --seed 1"),
    ),
    Claim(
        "2, prefix property",
        "… where a process that is elected twice counts as two leaders",
        Played("ladis-causal-order"),
    ),
    Claim(
        "2, low latency",
        "A client waits for a ping and a sync",
        Evaluated("3 servers: {} ms, of which 0.1 for each", (Figure(SINGLE, 3, 1),)),
    ),
    Claim(
        "2",
        "Replicas write many transactions to the disk at once: group commit, not message packing",
        Evaluated("3 servers without write cache: {} in a sync", (Figure("Busy at the leader", 3, 2, 2),)),
    ),
    Claim("2, recovery", "After a failure messages are redelivered in their order", Played("redelivery")),
    Claim(
        "2, recovery",
        "… from a snapshot and the log behind it",
        Checked("run --protocol ladis --property redelivery --runs 40 --seed 1"),
    ),
    Claim(
        "2, bursty high throughput",
        "Many operations are outstanding at any time",
        Evaluated(
            "3 servers: {} operations a second with 10 outstanding, {} with 1",
            (Figure(BOUNDS, 10, 0), Figure(BOUNDS, 1, 0)),
        ),
    ),
    Claim("2, smooth failure handling", "A follower that fails interrupts nothing", Played("ladis-follower-fails")),
    Claim(
        "2, failure model",
        "If the power fails everywhere, nothing that was delivered is lost",
        Played("ladis-power-outage"),
    ),
    Claim("2, failure model", "… as a quorum has it on its disks before that", Bug("ack-before-sync")),
    Claim("2, corruption", "A digest tells a record that was altered", Bug("ignore-digest")),
    Claim(
        "2, failure model",
        "What a process kept on its disk may lack the newest transactions, or have some that were never delivered",
        Played("ladis-figure-4"),
    ),
    Claim(
        "3",
        "There is one message for a proposal number, so no ballots are needed",
        Checked("run --protocol ladis --property 'zxid uniqueness' --runs 40 --seed 1"),
    ),
    Claim(
        "3",
        "Channels that are FIFO keep the order of one proposer, with several messages outstanding",
        Bug("non-fifo-link"),
    ),
    Claim("3", "… which Paxos does not ask for", Played("paxos-figure-1")),
    Claim(
        "3",
        "With a ring throughput does not fall as servers are added, and latency grows (shown by a chain)",
        Evaluated(
            "3 servers: {} operations a second; {} ms, 13: {}; {}",
            tuple(Figure(PATHS, servers, 2, place) for servers in (3, 13) for place in (0, 1)),
        ),
    ),
    Claim(
        "3",
        "Protocols in which everybody answers everybody have quadratic cost",
        Evaluated("3 servers: {} messages, 13: {}", tuple(Figure(COMMITS, servers, 1) for servers in (3, 13))),
    ),
    Claim("3", "A leader takes over when a quorum has left the one before", Bug("stale-proposal-accepted")),
    Claim("3", "A server that fails and does not lead changes no view", Played("ladis-follower-fails")),
    Claim(
        "4",
        "A server that does not lead forwards what it has to broadcast",
        Evaluated("3 servers: {} ms in place of {}", (Figure(SINGLE, 3, 0, 1), Figure(SINGLE, 3, 0))),
    ),
    Claim("4", "A server that comes online synchronizes with the leader, which goes on", Played("zab-joining")),
    Claim("4", "Any quorum of followers is enough, not the same one all the time", Played("ladis-slow-follower")),
    Claim(
        "4.1",
        "A two-phase commit without aborts, over FIFO channels, is enough while a leader lasts",
        Checked("run --protocol ladis --runs 40 --seed 1"),
    ),
    Claim("4.1", "A follower acknowledges what is on the disk", Bug("ack-before-sync")),
    Claim("4.1", "Ids grow, and none is given twice", Bug("counter-wraps")),
    Claim(
        "4.1",
        "The leader need not send COMMITs, if the followers broadcast the ACKs to each other",
        Checked("run --protocol ladis --switch commits=acks --runs 40 --seed 1"),
    ),
    Claim("4.1", "… which saves a step, though ACKs may come before their PROPOSAL", Played("ladis-acks")),
    Claim(
        "4.1",
        "… and increases the traffic",
        Evaluated(
            "3 servers: {} messages in place of {}, 13: {} in place of {}",
            tuple(Figure(COMMITS, servers, column) for servers in (3, 13) for column in (1, 0)),
        ),
    ),
    Claim("4.1", "… of which each counts those of its epoch alone (our decision)", Bug("count-acks-of-any-epoch")),
    Claim("4.1", "… once it has the log of its leader (our decision)", Bug("deliver-own-log-at-acks")),
    Claim(
        "4.1",
        "… while a late joiner is told what it has missed (our decision)",
        Checked(
            "explore --mutant commit-ld-initial --switch commits=acks --processes 2 --epochs 1 --txns 1 --timeouts 1 "
            "--crashes 0",
            "epoch progress",
        ),
    ),
    Claim("4.1", "… and does not count from nothing (our decision)", Bug("count-from-nothing")),
    Claim("4.2, figure 3", "A message that one process has delivered cannot be forgotten", Played("ladis-figure-3")),
    Claim("4.2, figure 3", "… which the new leader has to fetch", Played("ladis-figure-3-forgotten")),
    Claim("4.2, figure 3", "… unless it has the highest zxid, an optimization", Played("ladis-figure-3-fetched")),
    Claim("4.2, figure 4", "A message that was skipped must remain skipped", Played("ladis-figure-4")),
    Claim("4.2, figure 4", "… so a follower is told to truncate its log", Bug("keep-skipped")),
    Claim(
        "4.2",
        "A leader has what is in its log committed before it proposes anything new",
        Bug("broadcast-before-established"),
    ),
    Claim(
        "4.2",
        "An election that ends wrongly costs time alone: servers time out, and elect again",
        Played("dsn-no-quorum"),
    ),
    Claim("4.2", "The first zxid of an epoch makes the new leader's log the highest", Played("ladis-record-missing")),
    Claim("4.2", "Two leaders do not take one epoch: not so by the letter", Played("ladis-epoch-twice")),
    Claim("4.2", "The number of outstanding proposals is bounded; further requests wait", Played("ladis-outstanding")),
    Claim("4.2", "… and a leader that is deposed drops those (our decision)", Bug("keep-waiting-requests")),
    Claim(
        "4.2",
        "… in 17 steps, of which there is no shorter run",
        Checked(
            "explore --protocol ladis --mutant keep-waiting-requests --processes 2 --switch outstanding=1 --epochs 2 "
            "--txns 2 --timeouts 2 --crashes 0",
            "primary integrity",
        ),
    ),
    Claim(
        "5",
        "A latency is four times that of a packet, with any number of servers",
        Evaluated(
            "a packet takes 0.05 ms, a client of a follower waits {} with 3 servers, {} with 13",
            (Figure(SINGLE, 3, 0, 1), Figure(SINGLE, 13, 0, 1)),
        ),
    ),
    Claim("5", "A slow server does not affect the others", Played("ladis-slow-follower")),
    Claim("5", "… nor does a follower that fails, as long as there is a quorum", Played("ladis-follower-fails")),
    Claim("5", "With reads from each server it is tens to hundreds of thousands of operations a second", None),
)
ATC_2012 = (
    Claim(
        "3",
        "A configuration is a transaction, committed by quorums of both configurations",
        Checked("run --protocol zab-reconfiguration --runs 40 --seed 1"),
    ),
    Claim("3", "… of both, not of its own alone", Played("atc-both-quorums-change-by-new-only")),
    Claim("3", "What comes behind it is committed by the new configuration", Played("atc-behind-a-change")),
    Claim("3", "A leader that finds a change in its history completes it", Played("atc-change-completed")),
    Claim("3", "A leader that is not of the new configuration hands over", Played("atc-hand-over")),
)
REVIEW = (
    Claim(
        "Paxos",
        "With one distinguished proposer at a time Paxos seems to do what Zab does: not so once that fails",
        Played("paxos-figure-1-crashes"),
    ),
    Claim("Paxos", "… even if the same process is the proposer for ever", Played("paxos-one-proposer")),
    Claim("Paxos", "… as the gap that it has left is filled with a no-op", Played("paxos-gap")),
    Claim("Paxos", "Batches, one at a time, are the known way out", Played("paxos-figure-1-batches")),
    Claim(
        "Primary order", "Of two primaries the message of the first may be left out altogether", Played("dsn-figure-3")
    ),
    Claim(
        "Iterations",
        "Connections are made anew, so that nothing of an older iteration is delivered",
        Bug("lossy-old-iteration"),
    ),
    Claim(
        "Discovery",
        "A last zxid is enough in place of a history",
        Checked("run --switch histories=missing --runs 40 --seed 1"),
    ),
    Claim(
        "Synchronization",
        "A quorum has the initial history before anything new is broadcast",
        Bug("broadcast-before-established"),
    ),
    Claim("Broadcast", "Heartbeats tell who is gone", Played("dsn-heartbeats")),
    Claim(
        "Broadcast",
        "Is there a way to catch up between NEWLEADER and its COMMIT? The leader goes on, and proposes to the new one",
        Played("zab-joining"),
    ),
    Claim("Broadcast", "… and does not wait until it has acknowledged NEWLEADER", Bug("propose-to-acked-only")),
)
DB_19 = (
    Claim(
        "Why does it matter?",
        "A partition can be replayed",
        Checked("db19 --seed 7 --nodes 3 --rounds 1000 --proposals 10 --partition 0,1,1,0,0,2,2,0"),
    ),
    Claim(
        "Discovery",
        "The new leader's epoch is fresh: not so, fresh for itself",
        Checked(
            "db19 --seed 5 --nodes 5 --rounds 12 --proposals 0 --partition 4,3 --property 'epoch uniqueness'",
            "epoch uniqueness",
        ),
    ),
    Claim(
        "Broadcast",
        "A quorum of Acks commits: not so, it commits a gap before it, too",
        Checked("db19 --seed 22 --nodes 2 --rounds 14 --proposals 2 --property chosen", "chosen"),
    ),
    Claim(
        "Broadcast",
        "propose() calls try_commit(), so that a single node commits",
        Checked("db19 --seed 1 --nodes 1 --rounds 100 --proposals 3"),
    ),
    Claim(
        "Cross-language invariants",
        "If a constant drifts, the digests or the dumps tell",
        Tested("test-kits", "tests/kits/test_db19.py"),
    ),
    Claim(
        "Primary-order property",
        "Of two proposals of one primary each follower delivers the first one first: not so while it is elected",
        Checked("db19 --seed 1 --nodes 3 --rounds 1000 --proposals 5", "local primary order"),
    ),
    Claim(
        "Synchronization",
        "The history with the highest epoch and zxid of a quorum survives: not so, the leader sends its own",
        Checked("db19 --seed 13 --nodes 3 --rounds 17 --proposals 3 --property agreement", "agreement"),
    ),
    Claim(
        "Files",
        "Three programs in Rust, Go and C++ with one digest for any configuration",
        Tested("test-kits", "tests/kits/test_db19.py"),
    ),
)
SOURCES = {
    "DSN 2011": DSN_2011,
    "A review of DSN 2011": REVIEW,
    "LADIS 2008": LADIS_2008,
    "USENIX ATC 2012": ATC_2012,
    "The db-19 lab": DB_19,
}


def made() -> dict[Path, str]:
    """Return the page, with the tables between its comments."""
    text = read(PAGE)
    for name, claims in SOURCES.items():
        before, begin, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->\n")
        assert begin, name
        assert end, name
        rows = [(claim.section, claim.says, *shown(claim)) for claim in claims]
        text = f"{before}{begin}\n{table(HEAD, rows)}\n{end}{after}"
    return {PAGE: text}


def shown(claim: Claim) -> tuple[str, str]:
    """Return the command that shows a claim, and its result; or that there is none."""
    if claim.by is None:
        return "", "not in zabcheck"
    command, result = claim.by.shown()
    return f"`{command}`", result


def shown_elsewhere(command: str) -> int | None:
    """Return the exit code of a command whose last line another page shows, which writing that page executes."""
    shown = re.compile(rf"^\$ {re.escape(command)} \| tail -1\n(PASS|FAIL): ", re.MULTILINE)
    found = {verdict for page in sorted(DOCS.glob("*.md")) for verdict in shown.findall(read(page))}
    return {frozenset({"PASS"}): OK, frozenset({"FAIL"}): VIOLATED}.get(frozenset(found))


@cache
def executed(command: str) -> tuple[int, str]:
    """Run a command within this process, which is quicker, and return its exit code and what it prints."""
    printed = io.StringIO()
    with (
        chdir(ROOT),
        mock.patch.object(sys, "argv", shlex.split(command)),
        redirect_stdout(printed),
        redirect_stderr(printed),
    ):
        try:
            cli.main()
        except SystemExit as ended:
            code = ended.code
    return int(code or OK), printed.getvalue()

"""docs/sources.md has what each paper says, section by section, with the command that shows it and its result."""

import io
import shlex
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest import mock

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
        assert executed(command) == VIOLATED, command
        return command, f"otherwise *{CATALOGUE[self.mutant].breaks[0]}* breaks"


class Played(NamedTuple):
    """A scenario."""

    scenario: str

    def shown(self) -> tuple[str, str]:
        """Return the command, which has to find the expected outcome, and what that is."""
        command = f"zabcheck scenario {self.scenario}"
        assert executed(command) == OK, command
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
        assert executed(command) == (VIOLATED if self.breaks else OK), command
        return command, f"*{self.breaks}* breaks" if self.breaks else "nothing breaks"


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
    by: Bug | Played | Checked | Tested | None = None


DSN_2011 = (
    Claim(
        "I", "A prefix of a primary's changes is delivered, with several of them outstanding", Bug("commit-only-named")
    ),
    Claim(
        "I",
        "Changes are idempotent: applied again in their order they lead to one state",
        Played("redelivery-idempotent"),
    ),
    Claim("I", "… and otherwise replicas diverge", Played("redelivery-not-idempotent")),
    Claim("I", "A new primary fetches what it lacks from who has accepted the highest zxid", Bug("keep-own-log")),
    Claim("I, figure 1", "Paxos delivers a primary's second change without its first", Played("paxos-figure-1")),
    Claim("I", "Batches in one proposal at a time prevent that", Played("paxos-figure-1-batches")),
    Claim("I", "… and one proposal at a time alone does not: an old value comes back", Played("paxos-one-outstanding")),
    Claim("II", "Processes crash and recover with their disk", Bug("ack-before-sync")),
    Claim("II, definition II.1", "Any two quorums share a process", Bug("quorum-off-by-one")),
    Claim(
        "II, definition II.1",
        "… and any such system of quorums will do",
        Checked("run --quorums 'weights 3,2,0' --runs 300 --seed 1"),
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
    Claim("III", "A primary broadcasts after ready(e), with zxids of epoch e", Bug("broadcast-before-established")),
    Claim("III", "No zxid has two values", Bug("counter-wraps")),
    Claim(
        "III-A, integrity to primary integrity",
        "Zab has the six properties of a PO atomic broadcast",
        Checked("run --property core --runs 300 --seed 1"),
    ),
    Claim(
        "III", "What a primary broadcasts need not be delivered, if it crashes or is replaced", Played("dsn-figure-3")
    ),
    Claim(
        "III-A, integrity", "What is delivered was broadcast", Checked("run --property integrity --runs 300 --seed 1")
    ),
    Claim("III-A, total order", "Who delivers both delivers them in one order", Played("ladis-figure-4-kept")),
    Claim(
        "III-A, agreement",
        "Two processes do not deliver disjoint sequences",
        Played("zab-joining-committed-commit-ld-zxid"),
    ),
    Claim(
        "III-A, local primary order",
        "No change of a primary is delivered without those before it",
        Played("zab-joining-propose-to-acked-only"),
    ),
    Claim(
        "III-A, global primary order",
        "The changes of an earlier primary are delivered before those of a later one",
        Checked("run --property 'global primary order' --runs 300 --seed 1"),
    ),
    Claim(
        "III-A, primary integrity",
        "A primary delivers what is delivered of earlier epochs before it broadcasts",
        Bug("deliver-initial-history-last"),
    ),
    Claim("III-B, figure 3", "PO causal order holds where causal order does not", Played("dsn-figure-3-zab")),
    Claim(
        "III-B, figure 3",
        "… so Zab is no causal atomic broadcast",
        Checked("run --property 'full causal order' --runs 300 --seed 1", "full causal order"),
    ),
    Claim("III-B, figure 4", "Causal order holds where strict causality does not", Played("dsn-figure-4")),
    Claim(
        "III-B, definition III.1",
        "A causal atomic broadcast keeps causal order, whoever is primary",
        Checked("run --protocol causal --runs 300 --seed 1"),
    ),
    Claim("III-B, definition III.1", "… for which earlier broadcasts must not be lost", Bug("hand-over-newest-alone")),
    Claim(
        "III-B",
        "… and it is no PO atomic broadcast",
        Checked("run --protocol causal --property core --runs 300 --seed 1", "global primary order"),
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
        Checked("run --processes 1 --property convergence --runs 100 --seed 1"),
    ),
    Claim("IV, l.1.1", "The new epoch is above all that a quorum has promised", Bug("reuse-highest-epoch")),
    Claim("IV, f.1.2", "A follower promises an epoch once", Bug("accept-equal-epoch")),
    Claim("IV, f.1.2", "… and the promise survives a crash", Bug("promise-not-durable")),
    Claim("IV, l.1.2", "The initial history has the highest f.a, then the highest zxid", Bug("history-by-zxid-only")),
    Claim("IV, l.1.2", "… of a quorum, not of the leader", Bug("keep-own-history")),
    Claim("IV, f.2.1", "A follower replaces its history by the initial one", Bug("no-truncation")),
    Claim(
        "IV, f.2.2",
        "The initial history is delivered when NEWLEADER is committed, before anything new",
        Bug("deliver-initial-history-last"),
    ),
    Claim(
        "IV, l.3.1",
        "Proposals have zxids of their epoch, each above those before it",
        Checked("run --property 'zxid assignment' --runs 300 --seed 1"),
    ),
    Claim("IV, l.3.2", "A proposal is committed with the ACKs of a quorum", Bug("commit-on-own-ack")),
    Claim("IV, l.3.2", "… which counts processes, not messages", Bug("count-acks-not-senders")),
    Claim("IV, f.3.2", "A follower accepts proposals of its leader only", Bug("stale-proposal-accepted")),
    Claim("IV, l.3.3 and l.3.4", "A follower may join late", Played("zab-joining")),
    Claim("IV, l.3.3", "… and is answered", Bug("late-cepoch-unanswered")),
    Claim("IV, l.3.4", "… and is told what is committed, no more and no less", Bug("commit-ld-initial")),
    Claim(
        "IV, end",
        "ACK-E and NEWLEADER may leave out what the receiver has",
        Checked("run --switch histories=missing --runs 300 --seed 1"),
    ),
    Claim("V", "A follower acknowledges a proposal once it is on its own disk", Bug("ack-before-sync")),
    Claim(
        "V-A, definition V.1",
        "An established leader is the only one of its epoch",
        Checked("run --property 'epoch uniqueness' --runs 300 --seed 1"),
    ),
    Claim(
        "V-A",
        "An election that names the highest epoch and zxid of a quorum spares the copying",
        Checked("run --protocol zookeeper --switch elections=oracle --switch defects=none --runs 100 --seed 1"),
    ),
    Claim(
        "V-B",
        "A connection that is closed loses the proposals that are queued on it",
        Checked("run --switch closing=abrupt --runs 300 --seed 1"),
    ),
    Claim("V-C", "A follower follows one leader, and leaves it when it hears nothing", Bug("ignore-closed-connection")),
    Claim("VI-A, definition VI.1", "What is delivered was chosen: a quorum had accepted it", Bug("commit-ld-zxid")),
    Claim("VI-A, definition VI.4", "A transaction that is delivered again counts once", Played("redelivery")),
    Claim(
        "VI-B, invariant 1",
        "A follower accepts proposals of its current epoch only",
        Checked("run --property 'invariant 1' --runs 300 --seed 1"),
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
        Checked("run --property 'invariant 5' --runs 300 --seed 1"),
    ),
    Claim(
        "VI-C", "The invariants imply the six properties, for any number of processes", Checked("prove --step f.3.2")
    ),
    Claim(
        "VI-D, claim 7",
        "With a quorum that is left alone, what is proposed is committed",
        Checked("run --property convergence --runs 300 --seed 1"),
    ),
    Claim("VI-D, claim 7", "… and delivered by all of it, for any number of processes", Checked("prove --liveness")),
    Claim(
        "VII, figures 6 and 7",
        "Throughput and latency, by servers and disk",
        Checked("evaluate --servers 3 --disk none --history none"),
    ),
    Claim(
        "VII",
        "A tree or a chain relieves the leader's network card",
        Checked("evaluate --servers 3,7 --disk none --history none --operations 500"),
    ),
    Claim(
        "VII",
        "… as followers pass PROPOSE and COMMIT on (steps T.1 to T.3, our decisions)",
        Checked("run --switch dissemination=tree --runs 300 --seed 1"),
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
        "VIII, COReL",
        "Causality that holds across configurations makes figure 3 impossible",
        Played("dsn-figure-3-causal"),
    ),
)
LADIS_2008 = (
    Claim(
        "2, reliable delivery",
        "What one server delivers all correct servers deliver",
        Checked("run --protocol ladis --property 'reliable delivery' --runs 300 --seed 1"),
    ),
    Claim("2, total order", "Messages are delivered in one order", Played("ladis-figure-4-kept")),
    Claim(
        "2, causal order",
        "A message is delivered after those that precede it causally",
        Played("ladis-causal-violation"),
    ),
    Claim(
        "2, prefix property",
        "Whatever a leader proposed before a delivered message is delivered",
        Checked("run --protocol ladis --property prefix --runs 300 --seed 1"),
    ),
    Claim(
        "2, low latency",
        "A client waits for a ping and a sync",
        Checked("evaluate --servers 3 --disk cache --history none --operations 100"),
    ),
    Claim(
        "2",
        "Replicas write many transactions to the disk at once: group commit, not message packing",
        Checked("evaluate --servers 3 --disk no-cache --history none --operations 500"),
    ),
    Claim("2, recovery", "After a failure messages are redelivered in their order", Played("redelivery")),
    Claim(
        "2, bursty high throughput",
        "Many operations are outstanding at any time",
        Checked("evaluate --servers 3 --disk none --history none --outstanding 1000"),
    ),
    Claim("2, smooth failure handling", "A follower that fails interrupts nothing", Played("ladis-follower-fails")),
    Claim(
        "2, failure model",
        "If the power fails everywhere, nothing that was delivered is lost",
        Played("ladis-power-outage"),
    ),
    Claim("2, corruption", "A digest tells a record that was altered", Bug("ignore-digest")),
    Claim(
        "3",
        "There is one message for a proposal number, so no ballots are needed",
        Checked("run --protocol ladis --property 'zxid uniqueness' --runs 300 --seed 1"),
    ),
    Claim(
        "4.1",
        "A two-phase commit without aborts, over FIFO channels, is enough while a leader lasts",
        Checked("run --protocol ladis --runs 300 --seed 1"),
    ),
    Claim(
        "4.1",
        "The leader need not send COMMITs, if the followers broadcast the ACKs to each other",
        Checked("run --protocol ladis --switch commits=acks --runs 300 --seed 1"),
    ),
    Claim("4.1", "… which saves a step, though ACKs may come before their PROPOSAL", Played("ladis-acks")),
    Claim("4.1", "… of which each counts those of its epoch alone (our decision)", Bug("count-acks-of-any-epoch")),
    Claim("4.1", "… once it has the log of its leader (our decision)", Bug("deliver-own-log-at-acks")),
    Claim("4.2, figure 3", "A message that one process has delivered cannot be forgotten", Played("ladis-figure-3")),
    Claim("4.2, figure 3", "… which the new leader has to fetch", Played("ladis-figure-3-forgotten")),
    Claim("4.2, figure 4", "A message that was skipped must remain skipped", Played("ladis-figure-4")),
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
)
ATC_2012 = (
    Claim(
        "3",
        "A configuration is a transaction, committed by quorums of both configurations",
        Checked("run --protocol zab-reconfiguration --runs 300 --seed 1"),
    ),
)
DB_19 = (
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
SOURCES = {"DSN 2011": DSN_2011, "LADIS 2008": LADIS_2008, "USENIX ATC 2012": ATC_2012, "The db-19 lab": DB_19}


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


def executed(command: str) -> int:
    """Run a command within this process, which is quicker, and return its exit code."""
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
    return int(code or OK)

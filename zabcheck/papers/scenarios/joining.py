"""A follower joins while the leader broadcasts (steps l.3.1 to l.3.4), which DSN 2011 leaves partly open.

Apache ZooKeeper's zookeeper-specifications/protocol-spec/issues.md raises three questions about it. Each is played with
our decision, and with the other reading as a mutant.
"""

from msgspec import Struct

from zabcheck.papers.scenarios.base import Outcome, Scenario, scheduled
from zabcheck.simulation import choices
from zabcheck.simulation.choices import AnyChoice

ISSUES = "Apache ZooKeeper, protocol-spec/issues.md"


class _Issue(Struct, frozen=True):
    """One question with both answers: our decision, and the other reading. The same choices show both."""

    name: str
    question: str
    source: str
    decision: str
    other: str
    mutant: str
    processes: int
    choices: tuple[AnyChoice, ...]
    right: Outcome
    wrong: Outcome

    def scenarios(self) -> tuple[Scenario, Scenario]:
        def run(mutant: str | None) -> Scenario:
            return Scenario(
                self.name if mutant is None else f"{self.name}-{mutant}",
                self.question if mutant is None else f"{self.question} The other reading",
                self.source,
                self.decision if mutant is None else self.other,
                scheduled("zab", self.processes, *self.choices, mutant=mutant),
                self.right if mutant is None else self.wrong,
            )

        return run(None), run(self.mutant)


_AB = "a⟨1,1⟩ b⟨1,2⟩"

_ISSUES = (
    _Issue(
        "zab-joining",
        "What happens to proposals made while a late joiner synchronises?",
        f"DSN 2011, IV, steps l.3.1 and l.3.3; {ISSUES}, issue 1",
        "Step l.3.1 sends PROPOSE to all followers in Q, and step l.3.4 adds a late joiner to Q with its ACK-LD. What "
        "is proposed after NEWLEADER was sent and before that would never reach it. Here PROPOSE goes to every "
        "follower that was sent NEWLEADER: the leader need not wait, and the joiner gets each transaction once.",
        "PROPOSE goes only to followers that have acknowledged NEWLEADER. The transaction a is proposed while p3 "
        "synchronises and never reaches it. p3 delivers b without a.",
        "propose-to-acked-only",
        3,
        (
            choices.Lead(1, (2,)),
            choices.Settle(9),
            choices.Elect(3, 1),
            choices.Receive(1, 3),
            choices.Request(1, "a"),
            choices.Settle(9),
            choices.Request(1, "b"),
            choices.Settle(9),
        ),
        Outcome(
            holds=("local primary order", "agreement", "chosen"),
            delivered=dict.fromkeys((1, 2, 3), _AB),
            histories=dict.fromkeys((1, 2, 3), _AB),
        ),
        Outcome(
            violated="local primary order",
            judged_by=("local primary order",),
            delivered={1: _AB, 2: _AB, 3: "b⟨1,2⟩"},
        ),
    ),
    _Issue(
        "zab-joining-outstanding",
        "Is what is outstanding sent within NEWLEADER, or as PROPOSE?",
        f"DSN 2011, IV, steps l.3.3 and f.3.2; {ISSUES}, issue 2",
        "Step l.3.3 sends the late joiner NEWLEADER with the initial history and what was broadcast since. Here that "
        "is all that the leader has proposed, committed or not. So the joiner needs no PROPOSE of it, and would drop "
        "a duplicate.",
        "What is not committed is within NEWLEADER, and comes once more as PROPOSE. The joiner appends it twice, and "
        "its history is none that a leader ever had.",
        "duplicate-proposal",
        3,
        (
            choices.Lead(1, (2,)),
            choices.Settle(9),
            choices.Request(1, "a"),
            choices.Elect(3, 1),
            choices.Receive(1, 3),
            choices.Settle(9),
        ),
        Outcome(
            holds=("integrity", "invariant 2", "chosen"),
            delivered=dict.fromkeys((1, 2, 3), "a⟨1,1⟩"),
            histories=dict.fromkeys((1, 2, 3), "a⟨1,1⟩"),
            goals=("loaded late joiner",),
        ),
        Outcome(
            violated="invariant 2",
            judged_by=("invariant 2",),
            histories={1: "a⟨1,1⟩", 2: "a⟨1,1⟩", 3: "a⟨1,1⟩ a⟨1,1⟩"},
        ),
    ),
    _Issue(
        "zab-joining-committed",
        "How far does the commit that answers a late ACK-LD go?",
        f"DSN 2011, IV, step l.3.4; {ISSUES}, issue 3",
        "NEWLEADER has brought p4 the transaction a, which p1 has proposed and no quorum has. Step l.3.4 answers its "
        "ACK-LD with a commit, and does not say of what. Here it carries the last zxid that the leader has committed, "
        "so p4 does not deliver a. The next leader never hears of it.",
        "The commit carries the zxid of the ACK-LD. So p4 delivers a, which two of five processes have accepted. The "
        "next leader never hears of it, and the others deliver b first.",
        "commit-ld-zxid",
        5,
        (
            choices.Lead(1, (2, 3)),
            choices.Settle(9),
            choices.Split((1, 4)),
            choices.Request(1, "a"),
            choices.Sync(1),
            choices.Elect(4, 1),
            choices.Settle(9),
            choices.Lead(5, (2, 3)),
            choices.Settle(9),
            choices.Request(5, "b"),
            choices.Settle(9),
        ),
        Outcome(
            holds=("agreement", "invariant 4", "chosen"),
            delivered={4: "", 5: "b⟨2,1⟩"},
            histories={4: "a⟨1,1⟩", 5: "b⟨2,1⟩"},
            goals=("loaded late joiner",),
        ),
        Outcome(
            violated="agreement",
            judged_by=("agreement",),
            delivered={4: "a⟨1,1⟩", 5: "b⟨2,1⟩"},
        ),
    ),
)

SCENARIOS = tuple(scenario for issue in _ISSUES for scenario in issue.scenarios())

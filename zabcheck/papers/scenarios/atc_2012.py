"""The arguments for configurations that change, each as a run (USENIX ATC 2012, put on the steps of DSN 2011).

The text of the paper was not at hand: the steps R.0 to R.12 are those of `zabcheck.protocols.reconfiguration.steps`. C
is the configuration of p1, p2 and p3, V the next one, Q(C) a quorum of C. Where a known bug shows what a step is for,
the same choices are played with it, too.
"""

from msgspec import Struct

from zabcheck.papers.scenarios.base import Outcome, Scenario, scheduled
from zabcheck.simulation import choices
from zabcheck.simulation.choices import AnyChoice

_FIRST = "config 1,2,3"


class _Argument(Struct, frozen=True):
    """An argument for one step: the run that shows it, and the same choices with a bug that leaves the step out."""

    name: str
    title: str
    step: str
    shows: str
    processes: int
    choices: tuple[AnyChoice, ...]
    right: Outcome
    mutant: str | None = None
    without: str = ""
    wrong: Outcome = Outcome()

    def scenarios(self) -> tuple[Scenario, ...]:
        def run(mutant: str | None) -> Scenario:
            return Scenario(
                self.name if mutant is None else f"{self.name}-{mutant}",
                self.title if mutant is None else f"{self.title}: the same without it",
                f"USENIX ATC 2012, {self.step} in docs/reconfiguration.md",
                self.shows if mutant is None else self.without,
                scheduled("zab-reconfiguration", self.processes, *self.choices, mutant=mutant, quorums=_FIRST),
                self.right if mutant is None else self.wrong,
            )

        return (run(None),) if self.mutant is None else (run(None), run(self.mutant))


def _led(*followers: int) -> tuple[AnyChoice, ...]:
    """Return the choices by which p1 leads epoch 1."""
    return (choices.Lead(1, followers), choices.Settle(9))


def _asked(process: int, value: str) -> tuple[AnyChoice, ...]:
    """Return the choices by which a client asks for a value, and everything comes that can."""
    return (choices.Request(process, value), choices.Settle(9))


_ARGUMENTS = (
    _Argument(
        "atc-joiner",
        "A process that joins counts once it has the history",
        "R.0",
        "p4 joins p1, which has committed x, and the change to a V with p4 is proposed before p4 has answered. It gets "
        "the history first, the change behind it, and has both when it acknowledges.",
        4,
        (
            *_led(2, 3),
            *_asked(1, "x"),
            choices.Elect(4, 1),
            choices.Receive(1, 4),
            choices.Receive(4, 1),
            choices.Request(1, "config 1,2,4"),
            choices.Settle(9),
        ),
        Outcome(
            holds=("agreement", "invariant 1", "activation", "one chain"),
            delivered=dict.fromkeys((1, 2, 4), "x⟨1,1⟩ config 1,2,4⟨1,2⟩"),
        ),
        "joiner-acks-early",
        "The change is proposed to p4 before it has the history. It accepts the change, and nothing before it.",
        Outcome(violated="invariant 1", judged_by=("invariant 1",)),
    ),
    _Argument(
        "atc-activation",
        "A configuration is active once its change is delivered",
        "R.5",
        "V has p1, p2 and p4, and the change reaches nobody but p1, its leader. It is committed nowhere, so V is "
        "active nowhere: p4, which p1 might tell of it, and p2 and p3 go on in C.",
        4,
        (
            *_led(2, 4),
            choices.Hold(1, 2, "PROPOSE"),
            choices.Hold(1, 4, "PROPOSE"),
            *_asked(1, "config 1,2,4"),
            choices.Lead(2, (3,)),
            choices.Settle(9),
            *_asked(2, "y"),
        ),
        Outcome(holds=("agreement",), delivered={1: "", 2: "y⟨2,1⟩", 3: "y⟨2,1⟩", 4: ""}),
        "activate-on-ack",
        "p1 activates V as soon as it has accepted the change itself. Nobody else has.",
        Outcome(violated="activation", judged_by=("activation",)),
    ),
    _Argument(
        "atc-both-quorums",
        "A change takes a quorum of each configuration",
        "R.4",
        "V has p1, p2 and p4, and the change reaches p4 alone: a Q(V) has it, and no Q(C). So it is not committed, and "
        "p2 and p3, who are a Q(C) and know nothing of it, go on without it.",
        4,
        (
            *_led(2, 4),
            choices.Hold(1, 2, "PROPOSE"),
            *_asked(1, "config 1,2,4"),
            *_asked(1, "x"),
            choices.Lead(2, (3,)),
            choices.Settle(9),
            *_asked(2, "y"),
        ),
        Outcome(holds=("agreement", "chosen"), delivered={1: "", 2: "y⟨2,1⟩", 3: "y⟨2,1⟩", 4: ""}),
        "change-by-new-only",
        "A Q(V) commits the change alone. V is active at p1 and p4, which deliver x. Then p2 and p3 elect in C, as "
        "they have not heard of V, and deliver y.",
        Outcome(violated="agreement", judged_by=("agreement",), delivered={2: "y⟨2,1⟩", 3: "y⟨2,1⟩"}),
    ),
    _Argument(
        "atc-behind-a-change",
        "What comes behind a change takes a quorum of the new configuration",
        "R.8",
        "V has p1, p4 and p5, and is active. The next transaction reaches p2 and p3, who are in C alone: they decide "
        "nothing any more. So p4 may lead without it.",
        5,
        (
            *_led(2, 3, 4, 5),
            *_asked(1, "config 1,4,5"),
            choices.Hold(1, 4, "PROPOSE"),
            choices.Hold(1, 5, "PROPOSE"),
            *_asked(1, "x"),
            choices.Lead(4, (5,)),
            choices.Settle(9),
            *_asked(4, "y"),
        ),
        Outcome(
            holds=("agreement", "chosen", "activation", "one chain"),
            delivered={4: "config 1,4,5⟨1,1⟩ y⟨2,1⟩", 5: "config 1,4,5⟨1,1⟩ y⟨2,1⟩", 2: "config 1,4,5⟨1,1⟩"},
        ),
        "after-change-by-old",
        "A Q(C) commits x, although V is active. p4 and p5 are a Q(V), and go on without x.",
        Outcome(violated="chosen", judged_by=("chosen",), delivered={2: "config 1,4,5⟨1,1⟩ x⟨1,2⟩"}),
    ),
    _Argument(
        "atc-change-completed",
        "A leader that finds a change completes it with both quorums",
        "R.9",
        "p1 dies with its change at p2 alone. p2 leads, and finds it: V has p2 and p4. p4 has answered in "
        "discovery, and is not synchronised. So V is not active yet: a Q(V) has to have the change first.",
        4,
        (
            *_led(2, 3, 4),
            *(choices.Hold(1, process, "PROPOSE") for process in (3, 4)),
            choices.Request(1, "config 2,4"),
            *(choices.Sever(1, process) for process in (3, 4)),
            choices.Settle(1),
            choices.Crash(1),
            choices.Heal(),
            choices.Hold(2, 4, "NEWLEADER"),
            choices.Lead(2, (3, 4)),
            choices.Settle(9),
        ),
        Outcome(holds=("invariant 1",), delivered={2: "", 3: "", 4: ""}),
        "complete-with-old-only",
        "The leader synchronises a Q(C), which commits the change and activates V. Of V only p2 has the change, "
        "and p4 lacks it.",
        Outcome(violated="chosen", judged_by=("chosen",), delivered={2: "config 2,4⟨1,1⟩", 4: ""}),
    ),
    _Argument(
        "atc-discovery",
        "A leader that finds a change asks both quorums for its epoch",
        "R.10",
        "p1 dies with its change at p2 alone. p2 has p3, a Q(C); as it finds the change, that is not enough: V may be "
        "active, and have a leader of the same epoch. When p4 joins there is a Q(V), too, and the change is completed.",
        4,
        (
            *_led(2, 3, 4),
            *(choices.Hold(1, process, "PROPOSE") for process in (3, 4)),
            choices.Request(1, "config 2,4"),
            *(choices.Sever(1, process) for process in (3, 4)),
            choices.Settle(1),
            choices.Crash(1),
            choices.Heal(),
            choices.Lead(2, (3,)),
            choices.Settle(9),
            choices.Elect(4, 2),
            choices.Settle(9),
            *_asked(2, "x"),
        ),
        Outcome(
            holds=("agreement", "chosen", "activation"),
            delivered=dict.fromkeys((2, 3, 4), "config 2,4⟨1,1⟩ x⟨2,1⟩"),
        ),
    ),
    _Argument(
        "atc-hand-over",
        "A leader outside the new configuration names the one that leads on",
        "R.6 and R.7",
        "p1 is not in V. It commits the change, names p2, and commits no more. p2 begins an epoch of its own in V, "
        "without an election, and leads on.",
        4,
        (*_led(2, 3, 4), *_asked(1, "config 2,3,4"), *_asked(2, "x")),
        Outcome(
            holds=("agreement", "chosen", "activation"),
            delivered=dict.fromkeys((2, 3, 4), "config 2,3,4⟨1,1⟩ x⟨2,1⟩"),
        ),
        "lead-on-in-same-epoch",
        "The process that is named goes on in the epoch of the one before. Then one epoch has two primaries.",
        Outcome(violated="epoch uniqueness", judged_by=("epoch uniqueness",)),
    ),
    _Argument(
        "atc-change-not-found",
        "A change that is not found was not committed",
        "R.11",
        "p1 has proposed a change, and is cut off with it. p2 and p3 find none, as no Q(C) has it: so V is active "
        "nowhere, and C goes on. p1 drops its change when it follows.",
        4,
        (
            *_led(2, 3, 4),
            *(choices.Sever(1, process) for process in (2, 3, 4)),
            choices.Request(1, "config 1,4"),
            choices.Settle(1),
            choices.Heal(),
            choices.Lead(2, (3,)),
            choices.Settle(9),
            *_asked(2, "x"),
            choices.Lead(2, (1, 3)),
            choices.Settle(9),
        ),
        Outcome(
            holds=("agreement", "chosen"),
            delivered=dict.fromkeys((1, 2, 3), "x⟨2,1⟩"),
            histories=dict.fromkeys((1, 2, 3), "x⟨2,1⟩"),
            goals=("truncation",),
        ),
    ),
    _Argument(
        "atc-late-ones",
        "Who is told that the new configuration is active goes on with it",
        "R.12",
        "V has p1, p2 and p4, and is active there; p3 has heard nothing, and is elected in C. p2 follows, and says "
        "that V is active: p3 is not in it, and gives up. p4 leads, and p3 follows it and gets everything.",
        4,
        (
            *_led(2, 4),
            *_asked(1, "config 1,2,4"),
            choices.Lead(3, (2,)),
            choices.Settle(9),
            choices.Lead(4, (2, 3)),
            choices.Settle(9),
            *_asked(4, "x"),
        ),
        Outcome(
            holds=("agreement", "chosen", "activation", "one chain"),
            delivered=dict.fromkeys((2, 3, 4), "config 1,2,4⟨1,1⟩ x⟨2,1⟩"),
        ),
    ),
)

SCENARIOS = tuple(scenario for argument in _ARGUMENTS for scenario in argument.scenarios())

"""Figure 1 of DSN 2011: Paxos with several outstanding proposals, its cures, and the objection to it.

The runs are schedules in this folder; docs/paxos.md draws them.
"""

from pathlib import Path

from zabcheck.papers.scenarios.base import Outcome, Scenario
from zabcheck.simulation.schedule import Schedule, load

_FIGURE = "DSN 2011, II, figure 1"
_BEFORE = " ".join(f"v{number}⟨1,{number}⟩" for number in range(1, 27))
"""The deliveries before the figure, which begins with instance 27."""
_AS_IN_THE_FIGURE = f"{_BEFORE} C⟨2,1⟩ B⟨1,28⟩ D⟨3,1⟩"
_WITHOUT_BOTH = f"{_BEFORE} C⟨2,1⟩ D⟨3,1⟩"
_ORDER = "local primary order"
_AGREE = ("integrity", "total order", "agreement")


def _run(name: str) -> Schedule:
    file = Path(__file__).parent / f"{name}.schedule.json"
    return load(file.read_bytes(), file.name)


SCENARIOS = (
    Scenario(
        "paxos-figure-1",
        "Paxos with several outstanding proposals",
        _FIGURE,
        "The first proposer has A and B under way, the second one C, and none of these is chosen when the third takes "
        "over. It takes the value of the highest ballot of each instance by itself: C in instance 27, and B in 28. So "
        "B is delivered, and A never, which its primary had broadcast before.",
        _run("figure-1"),
        Outcome(violated=_ORDER, delivered={1: _AS_IN_THE_FIGURE, 3: _AS_IN_THE_FIGURE}),
    ),
    Scenario(
        "paxos-figure-1-zab",
        "The choices of figure 1 with Zab",
        _FIGURE,
        "The same processes lead, the same links are cut, and the same requests come. A and B are truncated together "
        "before D is broadcast.",
        _run("figure-1-zab"),
        Outcome(holds=(_ORDER, *_AGREE), delivered={1: _WITHOUT_BOTH, 3: _WITHOUT_BOTH}),
    ),
    Scenario(
        "paxos-figure-1-batches",
        "The choices of figure 1 with batches",
        f"{_FIGURE}, and III-B",
        "What comes while a proposal is under way goes into the next one. A and B are in one proposal, and both are "
        "lost.",
        _run("figure-1-batches"),
        Outcome(holds=(_ORDER, *_AGREE), delivered={1: _WITHOUT_BOTH, 3: _WITHOUT_BOTH}),
    ),
    Scenario(
        "paxos-figure-1-crashes",
        "Figure 1 with one proposer at a time",
        f"{_FIGURE}; Paxos Made Simple, 2.4",
        "Each proposer has crashed before the next one is named. The same is delivered as in figure 1.",
        _run("figure-1-crashes"),
        Outcome(violated=_ORDER, holds=_AGREE, delivered={1: _AS_IN_THE_FIGURE, 3: _AS_IN_THE_FIGURE}),
    ),
    Scenario(
        "paxos-one-proposer",
        "Figure 1 with one proposer for ever",
        f"{_FIGURE}; Paxos Made Simple, 2.4",
        "Process 1 alone ever proposes. It crashes, recovers, and takes another quorum. A proposer that comes back is "
        "another primary, and what it broadcast before comes back without what preceded it.",
        _run("one-proposer"),
        Outcome(violated=_ORDER, delivered={1: "v3⟨4,1⟩ v2⟨1,2⟩"}),
    ),
    Scenario(
        "paxos-gap",
        "A no-op in a gap",
        f"{_FIGURE}; Paxos Made Simple, 3",
        "Messages may overtake each other. A is overtaken by B and lost. The next proposer fills the instance of A "
        "with a no-op, and has B chosen behind it.",
        _run("gap"),
        Outcome(violated=_ORDER, delivered={2: "B⟨1,2⟩", 3: "B⟨1,2⟩"}),
    ),
    Scenario(
        "paxos-one-outstanding",
        "One proposal at a time, and an old value that comes back",
        f"{_FIGURE}; DSN 2011, III-A",
        "One proposal at a time keeps the order of each primary. A value that one acceptor alone has is not dead: it "
        "is chosen in a third ballot, after a later primary has broadcast without it.",
        _run("one-outstanding"),
        Outcome(violated="primary integrity", holds=("integrity",), delivered={1: "v1⟨1,1⟩"}),
    ),
)

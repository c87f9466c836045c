"""The theory of servers, from which its obligations follow."""

from collections.abc import Sequence

from zabcheck.proof.implemented.conjuncts import CONJUNCTS
from zabcheck.proof.implemented.example import EXAMPLE
from zabcheck.proof.implemented.properties import PROPERTIES
from zabcheck.proof.implemented.servers import Servers
from zabcheck.proof.implemented.steps import STEPS, start
from zabcheck.proof.obligations import Theory
from zabcheck.proof.steps import Step

_OF_EPOCHS = (
    "epochs rise",
    "one promise",
    "current is accepted",
    "leaders have promises",
    "opened by leaders",
    "initial is earlier",
    "proposed in its epoch",
    "established lead",
    "primaries are established",
)
_OF_MEMORY = ("accepted before logged", "loaded from disk", "logs match", "memory matches", "histories match")
LIKELY = {
    "initial is earlier": (*_OF_EPOCHS, *_OF_MEMORY),
    "histories match": (*_OF_EPOCHS, *_OF_MEMORY),
}
"""The conjuncts from which some claims are likely to follow."""


def theory(steps: Sequence[Step] = STEPS) -> Theory:
    """Return the theory of servers, with these steps."""
    return Theory(steps, CONJUNCTS, PROPERTIES, about=Servers, start=start, likely=LIKELY, example=EXAMPLE)

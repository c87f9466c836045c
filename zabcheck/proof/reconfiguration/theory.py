"""The theory of Zab with configurations that change, from which its obligations follow."""

from collections.abc import Sequence

from zabcheck.proof.obligations import LIKELY as LIKELY_OF_ZAB
from zabcheck.proof.obligations import Theory
from zabcheck.proof.reconfiguration.assumptions import ASSUMPTIONS
from zabcheck.proof.reconfiguration.conjuncts import CONJUNCTS
from zabcheck.proof.reconfiguration.consequences import CONSEQUENCES
from zabcheck.proof.reconfiguration.example import EXAMPLE, UNIVERSE
from zabcheck.proof.reconfiguration.lemmas import LEMMAS
from zabcheck.proof.reconfiguration.properties import PROPERTIES
from zabcheck.proof.reconfiguration.relations import Configured
from zabcheck.proof.reconfiguration.steps import STEPS, start
from zabcheck.proof.steps import Step

_OF_EPOCHS = (
    "accepted in the epoch",
    "initial is earlier",
    "proposed in its epoch",
    "adopted are open",
    "bases are known",
    "opened by leaders",
    "committed by a quorum",
    "committed in the history",
    "no second leader",
)
_OF_THE_BASE = (*_OF_EPOCHS, "base is found", "logs match", "last change governs", "accepted is a prefix")
_OF_ACCEPTED = (
    "committed by a quorum",
    "adopted are open",
    "accepted in the epoch",
    "initial history accepted",
    "accepted is a prefix",
    "committed survives",
)
_OF_LEMMAS = {
    "base is known": ("asked in what is known",),
    "base is found": _OF_ACCEPTED,
    "its configuration is found": (
        "committed in the history",
        "committed behind its change",
        "change comes before",
        "bases are known",
        "base is found",
    ),
    "its configuration is earlier": (*_OF_ACCEPTED, "its configuration is found"),
    "both are in one history": (
        "committed in the history",
        "committed survives",
        "base is found",
        "its configuration is earlier",
    ),
    "nothing is missing": (
        "logs match",
        "last change governs",
        "base is found",
        "its configuration is earlier",
        "both are in one history",
        "accepted is a prefix",
        "accepted in the epoch",
    ),
    "no second leader": (
        "leaders have promises",
        "opened by leaders",
        "opened have a base",
        "bases are known",
        "one promise",
        "base is found",
        "nothing is missing",
        "committed survives",
    ),
    "asks what is found": ("base is found",),
    "later configurations are not choosable": (
        *_OF_EPOCHS,
        "asks what is found",
        "initial history accepted",
        "accepted is a prefix",
        "not choosable",
        "promises leave",
        "change comes before",
    ),
    "base was committed later": (*_OF_THE_BASE, "committed survives"),
    "base is without it": (*_OF_THE_BASE, "initial was broadcast", "base was committed later"),
    "base has earlier changes": ("base is found", "logs match", "accepted in the epoch", "committed in the history"),
    "base is of a later epoch": ("base was committed later", "initial is earlier", "proposed in its epoch"),
    "base has its configuration": ("base has earlier changes", "base is of a later epoch", "proposed in its epoch"),
    "earlier configurations are not choosable": (
        "committed in the history",
        "base was committed later",
        "base is without it",
        "base has its configuration",
        "not choosable",
    ),
    "what it lacks is not choosable": (
        "later configurations are not choosable",
        "earlier configurations are not choosable",
    ),
    "what is lost is left": (
        "what is lost is behind",
        "unopened is dead",
        "no second leader",
        "accepted in the epoch",
        "initial is earlier",
        "proposed in its epoch",
    ),
    "what is lost is behind": (*_OF_THE_BASE, "nothing is missing", "committed survives"),
    "base was committed before": _OF_EPOCHS,
    "quorums of skipped meet": (
        *_OF_EPOCHS,
        "nothing is missing",
        "base is found",
        "base was committed before",
        "asks what is found",
        "committed survives",
        "one base",
    ),
    "skipped are later": (
        "accepted in the epoch",
        "initial is earlier",
        "proposed in its epoch",
        "not skipped",
        "adopted are open",
    ),
    "none is skipped": ("skipped are later", "quorums of skipped meet", "promises leave"),
    "last known is in both": ("nothing is missing", "committed survives", "committed in the history"),
    "later ones left": (
        "last known is in both",
        "unopened is dead",
        "no second leader",
        "committed in the history",
        "initial is earlier",
        "proposed in its epoch",
    ),
    "asks what governs": ("change comes before", "initial is earlier", "proposed in its epoch"),
    "all accepted it": ("initial history accepted",),
    "base is in both": ("bases are known", "committed survives"),
    "lost is behind": (
        "base is in both",
        "logs match",
        "last change governs",
        "initial is earlier",
        "proposed in its epoch",
    ),
    "lost has no configuration": ("asks what governs", "all accepted it", "not choosable", "lost is behind"),
    "nothing is lost": (
        "one missing is the first",
        "lost has no configuration",
        "change comes before",
        "initial is earlier",
        "proposed in its epoch",
    ),
    "earlier are committed": (
        "committed is a prefix",
        "change comes before",
        "last change governs",
        "one base",
        "proposed in its epoch",
    ),
    "no change between": ("last change governs", "change comes before"),
    "all accepted those before": ("accepted is a prefix",),
}
_OF_THE_FIRST = (
    "base was committed later",
    "base is without it",
    "base is of a later epoch",
    "base has earlier changes",
    "base has its configuration",
    "base was committed before",
)
"""The lemmas that are about nothing where the history is empty: then its epoch begins in the first configuration."""
_OF_CHOICES: dict[str, tuple[str, ...]] = {
    "leaders have promises": ("asks what is found", "one base"),
    "one leader": (),
    "one base": (),
    "opened have a base": (),
    "initial history accepted": (),
    "accepted is a prefix": (),
    "change comes before": ("accepted is a prefix",),
    "last change governs": ("accepted is a prefix",),
    "established lead": (),
    "logs match": ("accepted is a prefix",),
    "committed by a quorum": (),
    "committed is a prefix": (),
    "committed survives": ("nothing is missing",),
    "not choosable": ("what it lacks is not choosable", "what is lost is left", "accepted in the epoch"),
    "not skipped": ("none is skipped", "later ones left", "last known is in both", "asks what is found"),
    "delivered is a prefix": ("delivered was committed", "initial was broadcast"),
    "primary is up to date": (),
    "knew what comes before": (),
    "knew its initial history": (),
}
_OF_DELIVERIES = (
    "proposed in its epoch",
    "logs match",
    "committed in the history",
    "committed survives",
    "delivered was committed",
    "delivered is a prefix",
)
_OF_PROPERTIES = {
    "one leader": (
        "opened by leaders",
        "opened have a base",
        "one base",
        "leaders have promises",
        "one promise",
    ),
    "initial was broadcast": ("initial is earlier", "logs match"),
    "committed in the history": (
        "committed by a quorum",
        "accepted in the epoch",
        "initial is earlier",
        "proposed in its epoch",
    ),
    "committed now or before": (
        "opened have a base",
        "one base",
        "bases are known",
        "committed in the history",
        "committed is a prefix",
        "last change governs",
        "logs match",
    ),
    "earlier were committed": ("one commitment is the first", "committed now or before"),
    "committed behind its change": ("change comes before", "committed in the history", "earlier were committed"),
    "lost has an earlier one": (
        "committed behind its change",
        "committed by a quorum",
        "committed in the history",
        "accepted in the epoch",
        "not choosable",
    ),
    "committed survives": ("one lost is the first", "lost has an earlier one"),
    "first behind unopened left": (
        "opened have a base",
        "opened by leaders",
        "leaders have promises",
        "promises leave",
        "bases are known",
        "committed survives",
        "committed in the history",
        "logs match",
        "proposed in its epoch",
        "initial is earlier",
    ),
    "unopened is dead": ("one epoch is the first", "first behind unopened left"),
    "primary integrity": (
        "one base",
        "opened have a base",
        "proposed in its epoch",
        "established lead",
        "primaries are established",
        "one leader",
        "committed in the history",
        "committed survives",
        "not skipped",
        "delivered was committed",
        "primary is up to date",
    ),
    **dict.fromkeys(
        ("total order", "agreement", "in the order of zxids", "global primary order", "one chain"), _OF_DELIVERIES
    ),
    "po causal order": (*_OF_DELIVERIES, "knew what was committed", "knew what comes before"),
    "strict causality": (
        "one missing is the first",
        "initial is earlier",
        "proposed in its epoch",
        "logs match",
        "committed in the history",
        "committed survives",
        "delivered was committed",
        "knew its initial history",
        "primaries are established",
        "not skipped",
        "established lead",
    ),
    "chosen": ("delivered was committed", "committed by a quorum"),
    "superseded decide nothing": ("committed in the history", "committed survives", "last change governs"),
    "not proposed again": ("leaders have promises", "one base"),
}
LIKELY = {
    **{name: those for name, those in LIKELY_OF_ZAB.items() if name.startswith("knew")},
    **{name: ("base is known", *those) for name, those in _OF_LEMMAS.items()},
    **_OF_PROPERTIES,
    **{
        f"{step} keeps {name}": (*_OF_EPOCHS, *those)
        for step in ("choose", "choose empty")
        for name, those in _OF_CHOICES.items()
    },
    **{f"choose empty implies {name}": ("base is known", "base is found") for name in _OF_THE_FIRST},
    "ask keeps asked in what is known": (
        "active is chosen",
        "committed by a quorum",
        "accepted in the epoch",
        "promises leave",
    ),
    "establish keeps committed by a quorum": ("asks what governs", "all accepted it", "one base"),
    "establish keeps committed survives": ("one base", "nothing is lost"),
    "commit keeps committed by a quorum": (
        "earlier are committed",
        "no change between",
        "all accepted those before",
        "one base",
    ),
    "broadcast keeps knew what comes before": (
        "committed in the history",
        "committed survives",
        "delivered was committed",
        "logs match",
        "initial is earlier",
        "proposed in its epoch",
        "knew what was committed",
    ),
}
"""The conjuncts and lemmas from which claims are likely to follow."""


def theory(steps: Sequence[Step] = STEPS) -> Theory:
    """Return the theory of Zab with configurations that change, with these steps."""
    return Theory(
        steps,
        CONJUNCTS,
        PROPERTIES,
        ASSUMPTIONS,
        Configured,
        start,
        LIKELY,
        lemmas=LEMMAS,
        consequences=CONSEQUENCES,
        universe=UNIVERSE,
        example=EXAMPLE,
    )

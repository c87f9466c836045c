"""The subject of a proof: Zab, also with reconfiguration or as ZooKeeper has it, or a known bug in it; its liveness."""

from typing import Literal

from msgspec import Struct

from zabcheck.proof import mutants
from zabcheck.proof.implemented.defects import DEFECTS
from zabcheck.proof.implemented.defects import OUTSIDE as NO_STEP
from zabcheck.proof.implemented.repairs import ACCEPTED, REFUSED
from zabcheck.proof.implemented.theory import theory as implemented
from zabcheck.proof.liveness import mutants as liveness
from zabcheck.proof.liveness.theory import theory
from zabcheck.proof.obligations import Theory, leave_out
from zabcheck.proof.reconfiguration import mutants as reconfiguration
from zabcheck.proof.reconfiguration.theory import theory as reconfigured

CHANGES = {**DEFECTS, **ACCEPTED, **REFUSED}
"""The changes of implemented Zab: known defects, and what repairs them or looks as if it did."""
Kind = Literal["safety", "liveness", "implemented", "reconfiguration"]
NAMES: dict[Kind, str] = {"implemented": "implemented Zab", "reconfiguration": "Zab with reconfiguration"}
"""The names of the protocols that are proved besides Zab."""


class Subject(Struct, frozen=True):
    """The subject of a proof: Zab, or a mutant or release of it, with all conjuncts or without one of them."""

    mutant: str | None = None
    without: str | None = None
    kind: Kind = "safety"

    @property
    def name(self) -> str:
        """The subject in words: "Zab with quorum-off-by-one"."""
        with_mutant = f" with {self.mutant}" if self.mutant else ""
        protocol = NAMES.get(self.kind, "Zab")
        whole = f"{protocol}{with_mutant}" + (f" without the conjunct {self.without}" if self.without else "")
        return f"liveness of {whole}" if self.kind == "liveness" else whole

    def proved(self, number: int, of: int) -> str:
        """Return in words how many of the subject's obligations are proved: "Zab: all 262 obligations proved"."""
        return f"{self.name}: {f'all {of}' if number == of else f'{number} of {of}'} obligations proved"

    def theory(self) -> Theory:
        """Return the theory to prove."""
        if self.kind == "liveness":
            found = liveness.MUTANTS[self.mutant].theory() if self.mutant else theory()
        elif self.kind == "implemented":
            found = CHANGES[self.mutant].theory() if self.mutant else implemented()
        elif self.kind == "reconfiguration":
            found = reconfiguration.MUTANTS[self.mutant] if self.mutant else reconfigured()
        else:
            found = mutants.KNOWN[self.mutant].theory() if self.mutant else Theory()
        return leave_out(found, self.without) if self.without else found


KNOWN = {
    "safety": tuple(mutants.KNOWN),
    "liveness": tuple(liveness.MUTANTS),
    "implemented": tuple(CHANGES),
    "reconfiguration": tuple(reconfiguration.MUTANTS),
}
"""The names of the mutants and releases of which each kind of proof may be."""
NOT_EXPRESSED: dict[Kind, dict[str, str]] = {
    "safety": mutants.OUTSIDE,
    "liveness": {},
    "implemented": NO_STEP,
    "reconfiguration": reconfiguration.OUTSIDE,
}
"""The known bugs that each kind of proof cannot express, with the reason."""

"""zabcheck: a property-based model checker for Zab and other primary order atomic broadcast protocols.

`zabcheck.machine_for("zab")` gives a Hypothesis state machine for a test suite; `zabcheck.invariants` are the
properties, usable alone. The command is in `zabcheck.cli`.
"""

from typing import TYPE_CHECKING, Any

from zabcheck import invariants as invariants

if TYPE_CHECKING:
    from zabcheck.testing import machine_for as machine_for

__all__ = ["invariants", "machine_for"]


def __getattr__(name: str) -> Any:
    # Hypothesis takes a second to load, and only those who use the machine need it.
    if name == "machine_for":
        from zabcheck.testing import machine_for

        return machine_for
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

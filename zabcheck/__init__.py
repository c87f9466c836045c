"""zabcheck: a property-based model checker for Zab and other primary order atomic broadcast protocols.

`zabcheck.search("zab", mutant="no-truncation")` searches for a counterexample and returns it as an object.
`zabcheck.machine_for("zab")` gives a Hypothesis state machine for a test suite, and `zabcheck.assert_schedule` executes
a counterexample again. A protocol of one's own is a subclass of `zabcheck.Process`, with messages that extend
`zabcheck.Message`, and transactions such as `Txn(Zxid(1, 1), "v")`; `zabcheck.protocols.own` tells all of it.
`zabcheck.invariants` are the properties, usable alone. The command is in `zabcheck.cli`. docs/python.md shows all this.
"""

from importlib import import_module

# Nothing is imported here that does not come with the interpreter itself: `python -m zabcheck` would look for it in the
# current folder, until `__main__` ends that.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from zabcheck import invariants as invariants
    from zabcheck.counterexamples import Counterexample as Counterexample
    from zabcheck.counterexamples import search as search
    from zabcheck.invariants import Txn as Txn
    from zabcheck.invariants import Zxid as Zxid
    from zabcheck.protocols.base import Message as Message
    from zabcheck.protocols.own import Process as Process
    from zabcheck.testing import assert_schedule as assert_schedule
    from zabcheck.testing import machine_for as machine_for

__all__ = [
    "Counterexample",
    "Message",
    "Process",
    "Txn",
    "Zxid",
    "assert_schedule",
    "invariants",
    "machine_for",
    "search",
]

_WHERE = {
    "Counterexample": "zabcheck.counterexamples",
    "Message": "zabcheck.protocols.base",
    "Process": "zabcheck.protocols.own",
    "Txn": "zabcheck.invariants",
    "Zxid": "zabcheck.invariants",
    "assert_schedule": "zabcheck.testing",
    "machine_for": "zabcheck.testing",
}


def __getattr__(name: str) -> "Any":
    # Every run of pytest loads this package for its plugin, and Hypothesis alone takes a second.
    if name in ("invariants", "search"):  # `search` is the package of that name, which can be called
        return import_module(f"zabcheck.{name}")
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

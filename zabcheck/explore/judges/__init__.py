"""The part of a property that an exhaustive search needs besides its verdict on a trace.

A search distinguishes states by the facts about earlier events that the properties still need. A property of
`invariants` sees events and nothing else. `monitored` returns a subclass of it that names these facts: written here for
each property of zabcheck (`sequences`, `local`, `primaries`, `clients`, `abstraction`), and made for any other one,
which is judged just the same, with more states. A `MonitorJudge` judges by these, and `identity` distinguishes two of
them if some continuation could.
"""

from zabcheck.explore.judges.judge import MonitorJudge
from zabcheck.explore.judges.lookup import monitored
from zabcheck.explore.judges.monitored import MonitoredInvariant, WentOn, judged_in_every_state, monitors

__all__ = ["MonitorJudge", "MonitoredInvariant", "WentOn", "judged_in_every_state", "monitored", "monitors"]

"""What an exhaustive search needs of a property besides what it says of a trace.

A search tells states apart by what the properties still need to know of the runs that lead there. A property of
`invariants` sees events, and knows nothing of that. `monitored` gives a subclass of it that does: written here for each
property of zabcheck (`sequences`, `local`, `primaries`, `clients`, `abstraction`), and made for any other one, which
then is judged just the same, with more states. A `MonitorJudge` judges by these, and `identity` tells two of them apart
if some continuation could.
"""

from zabcheck.explore.judges.judge import MonitorJudge
from zabcheck.explore.judges.monitored import Monitored, WentOn, judged_in_every_state, monitored, monitors

__all__ = ["MonitorJudge", "Monitored", "WentOn", "judged_in_every_state", "monitored", "monitors"]

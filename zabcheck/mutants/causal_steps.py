"""The steps that the known bugs of the causal atomic broadcast take instead of the right ones."""

from zabcheck.protocols.causal.process import Process
from zabcheck.protocols.paxos.messages import Value


def nothing_before(p: Process) -> Value:
    """Return none of the earlier broadcasts, whether they are delivered or not."""
    return ()

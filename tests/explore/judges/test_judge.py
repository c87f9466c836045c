"""A judge of a search says what any judge says, as long as it is told of nobody who leaves."""

from itertools import product

import pytest

from invariants import Judge, Local, select
from invariants.quorums import Quorums
from tests.invariants.protocol_traces import random_protocol_trace
from tests.invariants.traces import random_trace
from zabcheck.explore.judges import MonitorJudge


@pytest.mark.slow
def test_it_says_the_same_and_keeps_no_record_that_nobody_reads() -> None:
    kinds, sparing = select(None), set[str]()
    for seed, make in product(range(20), (random_trace, random_protocol_trace)):
        events = [event for event in make(seed).events if isinstance(event, Local)]
        for kind in kinds:
            judge, monitoring = Judge([kind], quorums=Quorums(3)), MonitorJudge([kind], Quorums(3))
            for event in events:
                judge, monitoring = judge.fork(), monitoring.fork()
                judge.observe(event)
                monitoring.observe(event)
            assert judge.finish() == monitoring.finish()
            if not monitoring.record.sent and judge.record.sent:
                sparing.add(kind.name)
    assert {"invariant 1", "invariant 2", "invariant 3"} <= sparing

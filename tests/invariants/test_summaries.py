"""A sentence that names two incarnations of a process says which is which, and the violation to read comes first."""

import re
from collections import Counter

from invariants import Broadcast, Deliver, Recover, Txn, check, explaining_first
from tests.invariants.builders import A, B, D, broadcasts, deliveries
from tests.invariants.traces import random_trace


def test_two_incarnations_of_a_process_are_told_apart() -> None:
    told: Counter[str] = Counter()
    for seed in range(200):
        for violation in [each.violation for each in check(random_trace(seed).events) if each.violation is not None]:
            actors = dict.fromkeys((event.process, event.incarnation) for event in violation.witness)
            for process, number in Counter(process for process, _ in actors).items():
                named = re.findall(rf"\bp{process}\b( \(incarnation)?", violation.summary)
                if number > 1 and len(named) > 1:
                    assert all(named), violation.summary
                    told[violation.property] += 1
    assert {"agreement", "total order", "po causal order", "primary integrity", "zxid uniqueness"} <= told.keys()


def test_a_primary_that_delivers_too_late_is_told_from_another_that_delivers() -> None:
    late = [*broadcasts(1, 1, A), *broadcasts(1, 2, D), *deliveries(1, A), *deliveries(1, D)]
    again = [*broadcasts(1, 1, A), *deliveries(1, A), Recover(1, 1), Broadcast(1, 1, 2, D), Deliver(1, 1, D)]
    said = [check(events, ["primary integrity"])[0].violation for events in (late, again)]
    assert [violation and violation.summary.partition("which ")[2] for violation in said] == [
        "it delivers later",
        "p1 (incarnation 0) delivers",
    ]


def test_a_zxid_with_two_values_is_read_before_a_wrong_value() -> None:
    wrong = Txn(A.zxid, "wrong")
    events = [*broadcasts(1, 1, A, B), *deliveries(1, A, B), *deliveries(2, wrong, B)]
    violated = [each.property for each in explaining_first(check(events)) if each.status == "violated"]
    assert violated[:2] == ["zxid uniqueness", "agreement"]
    assert violated[-1] == "integrity"  # a broadcast of it might come until the trace ends

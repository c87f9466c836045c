"""At least once is enough: what a recovery delivers again changes nothing, if transactions are idempotent.

LADIS 2008, 2: "multiple delivery of a transaction is fine as long as on restart order is preserved"; DSN 2011, I.
"""

from zabcheck.invariants import Broadcast, Chain, Crash, Deliver, Event, Recover, Restore, State, Txn, Zxid
from zabcheck.papers.scenarios.base import HandWrittenTrace, Outcome, Scenario, scheduled
from zabcheck.protocols.switches import Switches
from zabcheck.simulation import choices
from zabcheck.simulation.application import NOTHING, Values


def _state(process: int, incarnation: int, length: int, state: Values) -> State:
    return State(process, incarnation, state.zxid, length, state.digest, str(state))


def on_its_disk(*values: str) -> HandWrittenTrace:
    """Return a trace in which p1 broadcasts these values, p1 and p2 apply them, and p2 crashes and recovers.

    The database of p2 is on its disk, with all values in it. But p2 only knows that its snapshot has the first one, so
    the others are delivered again and applied to what is there.
    """
    txns = [Txn(Zxid(1, counter), value) for counter, value in enumerate(values, 1)]
    events: list[Event] = [Broadcast(1, 0, 1, txn) for txn in txns]
    state = NOTHING
    for length, txn in enumerate(txns, 1):
        state = state.apply(txn)
        for process in (1, 2):
            events += [Deliver(process, 0, txn), _state(process, 0, length, state)]
    first = Chain.of(txns[:1])
    events += [Crash(2, 0), Recover(2, 1), Restore(2, 1, first.zxid, first.length, first.hash)]
    for txn in txns[1:]:
        state = state.apply(txn)
        events.append(Deliver(2, 1, txn))
    events.append(_state(2, 1, len(txns), state))
    return HandWrittenTrace(2, tuple(events))


SCENARIOS = (
    Scenario(
        "redelivery",
        "a process that recovers is delivered again what it had delivered",
        "LADIS 2008, 2",
        "Server 3 takes a snapshot after the first change, delivers two more, and crashes. It recovers from its "
        "snapshot, and the other two are delivered to it again, in the same order. Its state is that of the others.",
        scheduled(
            "ladis",
            3,
            choices.Lead(1, (2, 3)),
            choices.Settle(9),
            choices.Request(1, "/a=1@1"),
            choices.Settle(9),
            choices.Snapshot(3),
            choices.Settle(1),
            choices.Request(1, "/a=2@2"),
            choices.Request(1, "/b=1@1"),
            choices.Settle(9),
            choices.Crash(3),
            choices.Recover(3),
            choices.Elect(3, 1),
            choices.Settle(9),
            switches=Switches(application="key-value"),
        ),
        Outcome(
            holds=("state", "redelivery", "total order"),
            judged_by=("core", "ladis", "state"),
            delivered=dict.fromkeys((1, 2, 3), "/a=1@1⟨1,1⟩ /a=2@2⟨1,2⟩ /b=1@1⟨1,3⟩"),
            goals=("repeated delivery", "restored snapshot"),
        ),
    ),
    Scenario(
        "redelivery-idempotent",
        "changes are applied twice to one state, and it is the same",
        "LADIS 2008, 1 and 2; DSN 2011, I",
        "The database of p2 is on its disk when it stops, with all three changes in it. It only knows that its "
        "snapshot has the first, so the other two are applied to it again. Each says what comes of it, path, value "
        "and version, so the state is that of p1.",
        on_its_disk("/a=1@1", "/a=2@2", "/b=1@1"),
        Outcome(holds=("state", "redelivery"), delivered=dict.fromkeys((1, 2), "/a=1@1⟨1,1⟩ /a=2@2⟨1,2⟩ /b=1@1⟨1,3⟩")),
    ),
    Scenario(
        "redelivery-not-idempotent",
        "the same with changes that are not idempotent: replicas diverge",
        "LADIS 2008, 1 and 2; DSN 2011, I",
        "As in redelivery-idempotent, but a transaction is the client's request: one more of a counter, whatever it "
        "is. In order and complete as the deliveries are, p2 counts two of them twice.",
        on_its_disk("hits", "hits", "hits"),
        Outcome(
            violated="state",
            holds=("redelivery", "total order", "agreement"),
            judged_by=("total order", "agreement", "redelivery", "state"),
        ),
    ),
)

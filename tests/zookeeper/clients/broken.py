"""Broken promises as they are shown, for the tests of pages."""

from tests.zookeeper.clients.test_violations import VIOLATIONS
from zabcheck.zookeeper.clients.judge import judge
from zabcheck.zookeeper.clients.picture import marks_of, pictures
from zabcheck.zookeeper.clients.words import words
from zabcheck.zookeeper.report.clients import BreachReport

PROMISES_BROKEN = (
    "half_of_a_multi_is_seen",
    "the_view_falls_after_a_reconnect",
    "a_write_that_was_given_up_comes_late",
    "a_sync_does_nothing",
    "a_session_expires_while_its_client_talks",
    "an_event_comes_after_the_read",
    "a_refused_multi_fires_a_watch",
)


def broken(*names: str) -> list[BreachReport]:
    """The first breach of each of these violations."""
    return [_shown(name) for name in names]


def _shown(name: str) -> BreachReport:
    promise, written = VIOLATIONS[name]
    history = written()
    [judged] = judge(history.exchange(), [promise])
    assert judged.breach is not None
    witness = judged.breach.witness
    places = (f"line {history.lines.index(record) + 1}" for record in witness)
    return BreachReport(
        f"{promise} is broken",
        judged.breach.summary,
        ((judged.promise.statement, judged.promise.source),),
        tuple(zip(marks_of(witness), places, map(words, witness), strict=True)),
        tuple(pictures(history.lines, judged.breach, [promise])),
    )

"""Explanations of runs in sentences: what they say, that it is true, and that it is short."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from invariants import (
    GROUPS,
    OF_CHANGES,
    OF_OTHERS,
    PROPERTIES,
    Accept,
    AckEpoch,
    Activate,
    Adopt,
    Broadcast,
    CommitEpoch,
    Corrupt,
    Crash,
    Deliver,
    Establish,
    Event,
    Local,
    Promise,
    Quiescent,
    Ready,
    Recover,
    Restore,
    Stabilised,
    State,
    Truncate,
    Txn,
    Violation,
    Zxid,
    check,
)
from tests.counterexample.explanation.explanations import GOLDEN, golden_text, judged, names, numbered, story
from tests.invariants.builders import A, B, C, D, Order, broadcasts, deliveries, restore, whole
from tests.invariants.protocol_traces import random_protocol_trace
from tests.invariants.traces import RandomTrace, random_trace
from tests.search.builders import RECORDED
from tests.tiers import sweep
from zabcheck.counterexample.explanation.facts import Facts
from zabcheck.counterexample.explanation.sentences import EXPLAINED, explanation
from zabcheck.counterexample.story import Story

LONGEST_TEXT = 700
LONGEST_SENTENCE = 250


def test_the_texts_are_the_golden_ones() -> None:
    assert golden_text() == GOLDEN.read_text(encoding="utf-8")


def test_each_property_has_an_explanation_of_its_own_and_a_golden_text() -> None:
    known = {*PROPERTIES, *(kind.name for kind in (*OF_CHANGES, *OF_OTHERS))}
    assert set(EXPLAINED) == known
    assert {RECORDED[name].violates for name in names()} | {"clock", *GROUPS["clients"]} == known


each_recorded = pytest.mark.parametrize("name", sweep(RECORDED, normal=list(RECORDED)[::6]))


@each_recorded
def test_a_text_is_short_made_of_sentences_and_says_what_the_paper_demands_and_what_that_means(name: str) -> None:
    told = story(name)
    sentences = told.explanation
    assert 2 <= len(sentences) <= 5
    assert len(set(sentences)) == len(sentences)
    assert all(re.fullmatch(r"[A-Zpv/].*[^.]\.", sentence) for sentence in sentences)
    assert all(len(sentence) <= LONGEST_SENTENCE for sentence in sentences)
    assert len(" ".join(sentences)) <= LONGEST_TEXT
    assert told.violation is not None
    *_, demand, meaning = told.explanation
    source = re.sub(r" \(([^)]*)\)", r", \1", told.violation.source)  # no brackets within brackets
    assert demand.lower().startswith(f"{told.violation.property} ({source.lower()}) requires that ")
    assert meaning.startswith("So ")


@each_recorded
def test_whatever_is_said_of_a_step_happened_in_it_and_what_is_never_delivered_is_not(name: str) -> None:
    told = story(name)
    claims = list(claimed(told.explanation))
    assert claims
    for kinds, process, txn, step in claims:
        events = [event for event in told.moments[step - 1].shown if isinstance(event, kinds)]
        assert any(
            isinstance(event, Local) and event.process == process and _is_of(event, txn, kinds) for event in events
        ), f"{kinds} of p{process} with {txn} at step {step}"
    text = " ".join(told.explanation)
    for who, incarnation, txn in re.findall(rf"{ACTOR}[^.;]*? never (?:delivered )?({TXN})", text):
        assert (int(who), int(incarnation or 0), txn) not in delivered(told)


@pytest.mark.parametrize("name", [name for name in RECORDED if name.endswith(".primary-integrity")])
def test_a_primary_had_not_delivered_what_it_is_said_not_to(name: str) -> None:
    told = story(name)
    found = re.match(rf"{ACTOR}, primary of epoch \d+, broadcast {TXN} at step (\d+)\.", told.explanation[0])
    assert found is not None
    missing = re.match(rf"At that time it had not delivered ({TXN}),", told.explanation[1])
    assert missing is not None
    who, incarnation, step = int(found[1]), int(found[2] or 0), int(found[3])
    early = told.moments[: step - 1]
    events = [event for moment in early for event in moment.shown if isinstance(event, Deliver)]
    assert not [e for e in events if (e.process, e.incarnation, str(e.txn)) == (who, incarnation, missing[1])]


@each_recorded
def test_what_is_said_of_a_history_is_what_the_process_had(name: str) -> None:
    """Compared with the variable of the process, of which the explanation knows nothing."""
    told = story(name)
    after = histories(told)
    for before, sentence in pairwise(("", *told.explanation)):
        initial = re.match(
            r"The initial history of epoch \d+, which p(\d+) adopted at step (\d+), was ([^;]+)", sentence
        )
        if initial is not None:
            history = after[int(initial[2])][int(initial[1])]
            held, _, missing = initial[3].rstrip(".").partition(", without ")
            assert list(history) == re.findall(TXN, held)
            assert missing not in history
        late = re.search(rf"(?:^|; )p(\d+) accepted ({TXN}) only at step (\d+)", sentence)
        if late is not None:
            process, step = int(late[1]), int(late[3])
            [too_soon, *_] = re.findall(r"step (\d+)", sentence if initial is not None else before)
            # The variable changes when it is written; the event comes when the write is on the disk, a step later.
            assert all(late[2] not in after[each][process] for each in range(int(too_soon), step - 1))
            assert late[2] in after[step][process]
        never = re.match(rf"p(\d+) never accepted ({TXN})", sentence)
        if never is not None:
            assert not [step for step in after if never[2] in step[int(never[1])]]
        held_since = re.match(rf"The history of p(\d+) held ({TXN}), a\D+(?:epoch \d+ at )?step (\d+)", sentence)
        if held_since is not None:
            assert any(held_since[2] in step[int(held_since[1])] for step in after[int(held_since[3]) :])
        then = re.match(r"The history of p(\d+) was then (.*)\.", sentence)
        if then is not None:
            step = int(re.findall(r"step (\d+)", before)[-1])
            assert list(after[step][int(then[1])]) == re.findall(TXN, then[2])
        lost = re.match(rf"p(\d+) had not synced ({TXN}) when it crashed at step (\d+)", sentence)
        if lost is not None:
            assert lost[2] in after[int(lost[3]) - 1][int(lost[1])]
            assert lost[2] not in after[-1][int(lost[1])]


def histories(told: Story) -> list[dict[int, tuple[str, ...]]]:
    """After each step, from 0 on, the history of each process: the only sequence of transactions that they have."""
    now: dict[int, tuple[str, ...]] = dict.fromkeys(range(1, told.processes + 1), ())
    after = [dict(now)]
    for moment in told.moments:
        for process, changes in moment.changes.items():
            for change in changes:
                if change.is_sequence and change.variable not in ("aside", "delayed"):
                    now[process] = now[process][: len(now[process]) - len(change.removed)] + change.added
        after.append(dict(now))
    return after


# How claims are read back from the text.

TXN = r"(?:config [\d,]+|[^\s,;]+)⟨\d+,\d+⟩"
ACTOR = r"p(\d+)(?: \(incarnation (\d+)[^)]*\))?"
LIVES: dict[str, tuple[type[Event], ...]] = {"up": (Recover,), "down": (Crash,)}
VERBS: dict[str, tuple[type[Event], ...]] = {
    "broadcast phase": (CommitEpoch,),
    "activated": (Activate,),
    "crashed": (Crash,),
    "altered at": (Corrupt,),
    "truncated": (Truncate,),
    "adopted": (Adopt,),
    "accepted": (Accept, Adopt),
    "came only after": (Deliver,),
    "promised": (Promise,),
    "provided": (AckEpoch,),
    "established": (Establish,),
    "ready to broadcast": (Ready,),
    "snapshot": (Restore,),
    "in state": (State,),
    "delivered": (Deliver,),
    "broadcast": (Broadcast,),
    "From": (Stabilised,),
    "At": (Quiescent,),
}


def claimed(sentences: tuple[str, ...]) -> Iterator[tuple[tuple[type[Event], ...], int, str | None, int]]:
    """(kinds, process, transaction, step) for each step that is named, by what stands before it.

    A process and a transaction are those named last; "it" at the start of a sentence is who was named first of all.
    """
    first = int(re.findall(ACTOR, " ".join(sentences))[0][0])
    for sentence in sentences:
        for process, life, step in re.findall(r"p(\d+) \(incarnation \d+, (\w+) \w+ (?:step|line) (\d+)", sentence):
            yield LIVES[life], int(process), None, int(step)
        sentence = re.sub(r"(\(incarnation \d+), [^)]*\)", r"\1)", sentence)
        for found in re.finditer(r"\b(?:step|line) (\d+)", sentence):
            before = sentence[: found.start()]
            places = [(before.rfind(verb) + len(verb), len(verb), verb) for verb in VERBS if verb in before]
            assert places, sentence
            kinds = VERBS[max(places)[2]]
            who = [int(process) for process, _ in re.findall(ACTOR, before)]
            txns = re.findall(TXN, before)
            if kinds in ((Stabilised,), (Quiescent,)):
                who = [int(re.findall(r"p(\d+)", sentence)[0])]
            yield kinds, who[-1] if who else first, txns[-1] if txns else None, int(found[1])
            both = re.search(rf"({TXN}) [^.]*?({TXN}), both at $", before)
            if both is not None and who:
                yield kinds, who[-1], both[1], int(found[1])


def _is_of(event: Local, txn: str | None, kinds: tuple[type[Event], ...]) -> bool:
    if not isinstance(event, Deliver | Broadcast | Accept | Activate):
        return True
    return txn is None or str(event.txn) == txn


def delivered(told: Story) -> set[tuple[int, int, str]]:
    return {(process, incarnation, str(txn)) for process, incarnation, txns in told.delivered for txn in txns}


# What no run of the simulator shows.


@pytest.mark.parametrize("make", [random_trace, random_protocol_trace])
@pytest.mark.parametrize("order", ["global", "per-process"])
def test_whatever_a_random_trace_breaks_is_explained(make: Callable[[int], RandomTrace], order: Order) -> None:
    explained = 0
    for seed in range(60):
        events = make(seed).events
        for verdict in check(whole(events, order)):
            if verdict.violation is None:
                continue
            explained += 1
            sentences = explanation(verdict.violation, enumerate(events, 1), "line", ordered=order == "global")
            assert 2 <= len(sentences) <= 5
            assert all(len(sentence) <= LONGEST_SENTENCE for sentence in sentences)
            assert len(" ".join(sentences)) <= LONGEST_TEXT
            for kinds, process, txn, line in claimed(sentences):
                event = events[line - 1]
                assert isinstance(event, kinds), sentences
                assert isinstance(event, Local)
                assert event.process == process
                assert _is_of(event, txn, kinds)
    assert explained > 100


def test_in_merged_logs_nothing_is_said_of_time_across_processes() -> None:
    events = [Broadcast(2, 0, 2, D), Broadcast(1, 0, 1, A), Deliver(1, 0, A)]
    violation, _ = judged("primary integrity", *events, order="per-process")
    assert explanation(violation, numbered(events), "line", ordered=False)[:2] == (
        "p2, primary of epoch 2, broadcast d⟨2,1⟩ at line 1.",
        "At that time it had not delivered a⟨1,1⟩, which p1, primary of epoch 1, broadcast at line 2 and delivered at "
        "line 3.",
    )
    in_time = [Broadcast(1, 0, 1, A), Deliver(1, 0, A), Broadcast(2, 0, 2, D)]
    text = " ".join(explanation(violation, numbered(in_time), "line", ordered=False))
    assert "had broadcast" not in text
    assert "later" not in text


def test_in_the_order_of_time_it_is_said_what_was_later() -> None:
    events = [Broadcast(2, 0, 2, D), Broadcast(1, 0, 1, A), Deliver(1, 0, A), Deliver(2, 0, A)]
    violation, _ = judged("primary integrity", *events)
    text = explanation(violation, numbered(events))
    assert text[-1] == "So p2 computed d⟨2,1⟩ from a state without a⟨1,1⟩; it delivered a⟨1,1⟩ only at step 4."


def test_what_came_with_a_snapshot_is_said_to() -> None:
    deliveries = [Deliver(1, 0, A), Deliver(1, 0, B), Deliver(2, 0, B)]
    broadcasts = [Broadcast(1, 0, 1, A), Broadcast(1, 0, 1, B)]
    events = [*broadcasts, deliveries[0], restore(3, A), Deliver(3, 0, B), Deliver(2, 0, B)]
    violation, _ = judged("total order", *events)
    assert explanation(violation, numbered(events))[:2] == (
        "p3 took over a⟨1,1⟩ with a snapshot at step 4 and delivered b⟨1,2⟩ at step 5.",
        "p2 delivered b⟨1,2⟩ at step 6, and never delivered a⟨1,1⟩.",
    )


def test_a_delivery_that_came_too_late_is_no_missing_one() -> None:
    events = [Broadcast(1, 0, 1, A), Broadcast(1, 0, 1, B), Deliver(2, 0, B), Deliver(2, 0, A)]
    violation, _ = judged("local primary order", *events)
    assert (
        explanation(violation, numbered(events))[1] == "p2 delivered b⟨1,2⟩ at step 3 and only then a⟨1,1⟩ at step 4."
    )


def test_a_snapshot_whose_content_nobody_knows_is_told_by_its_length() -> None:
    events: list[Event] = [Broadcast(1, 0, 1, A), Deliver(1, 0, A), Restore(2, 0, Zxid(7, 7), 5, 12345)]
    violation, _ = judged("integrity", *events)
    assert explanation(violation, numbered(events))[0] == (
        "p2 took over a snapshot at step 3 that holds 5 transactions, up to ⟨7,7⟩."
    )


def test_a_property_of_the_user_is_explained_in_its_own_words() -> None:
    violation = Violation("mine", "All is well.", "my book, 3", "p1 did wrong", (Deliver(1, 0, A), Deliver(1, 0, B)))
    assert explanation(violation, numbered([Deliver(1, 0, A), Deliver(1, 0, C)])) == (
        "p1 did wrong.",
        "mine (my book, 3) says: All is well.",
        "The events that show it: p1 delivers a⟨1,1⟩ at step 1.",
    )


@pytest.mark.parametrize("name", ["total order", "agreement", "state", "mine"])
def test_values_may_be_long(name: str) -> None:
    long = "\x1b<script>" * 100_000
    a, b = Txn(Zxid(1, 1), long), Txn(Zxid(2, 1), long + "y")
    events: list[Event] = [
        Broadcast(1, 0, 1, a),
        Broadcast(2, 0, 2, b),
        Deliver(1, 0, a),
        State(1, 0, a.zxid, 1, 7, long),
        Deliver(1, 0, b),
        Deliver(2, 0, b),
        State(2, 0, b.zxid, 1, 8, long),
        Deliver(2, 0, a),
    ]
    if name == "mine":
        violation = Violation(name, long, long, long, tuple(events))
    else:
        shown = events if name != "agreement" else [event for event in events if event not in (events[4], events[7])]
        violation, events = judged(name, *shown)
    sentences = explanation(violation, numbered(events))
    assert 2 <= len(sentences) <= 5
    assert all(len(sentence) <= LONGEST_SENTENCE for sentence in sentences)


def test_an_event_that_the_trace_lacks_is_told_without_its_place() -> None:
    violation, _ = judged("agreement", Deliver(1, 0, A), Deliver(2, 0, B))
    assert (
        explanation(violation, [])[0] == "p1 delivered a⟨1,1⟩ and never b⟨1,2⟩; p2 delivered b⟨1,2⟩ and never a⟨1,1⟩."
    )


def test_acceptances_are_not_mentioned_if_the_trace_has_none() -> None:
    told = Stabilised(1, 0, (1, 2))
    events = [told, *broadcasts(1, 1, A), *deliveries(1, A)]
    violation, _ = judged("convergence", *events)
    assert "It was delivered by p1 at step 3." in explanation(violation, numbered(events))
    accepts = [told, *broadcasts(1, 1, A, B), Accept(2, 0, 1, B), *deliveries(1, A)]
    violation, _ = judged("convergence", *accepts)
    assert "It was accepted by nobody, but delivered by p1 at step 5." in explanation(violation, numbered(accepts))


# What it costs.


def test_the_numbers_of_incarnations_may_have_gaps_of_any_size() -> None:
    """None is looked for between them."""
    late = 10**15
    events = [*broadcasts(1, 1, A), *deliveries(1, A), Deliver(1, 7, A), Restore(1, late, B.zxid, 2, 12345)]
    facts = Facts(numbered(events))
    found = facts.earlier_delivery(events[-1], A, None)
    assert found is not None
    assert found.number == 3
    violation, _ = judged("integrity", *events)
    assert f"What p1 itself had delivered, as incarnation 7, was {A}." in explanation(violation, numbered(events))


def test_only_named_incarnations_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    lives = [event for number in range(500) for event in (Crash(1, number), Recover(1, number + 1))]
    events = [*deliveries(1, A), *lives, Deliver(1, 500, Txn(A.zxid, "other"))]
    violation, _ = judged("zxid uniqueness", *events)
    asked = []
    life = Facts.life

    def counting(facts: Facts, process: int, incarnation: int) -> str:
        asked.append(incarnation)
        return life(facts, process, incarnation)

    monkeypatch.setattr(Facts, "life", counting)
    [first, second, *_] = explanation(violation, numbered(events))
    assert "p1 (incarnation 0, down from step 2 on)" in first
    assert "p1 (incarnation 500, up since step 1001)" in first
    assert second == f"Both carry the zxid {A.zxid}.", "who delivered which has been said"
    assert sorted(asked) == [0, 500]


def test_a_process_that_delivered_in_the_right_order_is_found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deliveries of an incarnation are gone through only if it took over a snapshot."""
    lives = [event for number in range(9) for event in deliveries(3, A, incarnation=number)]
    events = [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(2, D, A), *lives, *deliveries(1, A, D)]
    violation, _ = judged("global primary order", *events)
    monkeypatch.setattr(Facts, "delivered", lambda *_: pytest.fail("it took over no snapshot"))
    text = explanation(violation, numbered(events))
    assert text[-1].endswith(f"; p1 delivered {A} first, so the two have diverged.")
    monkeypatch.undo()
    events[-2:] = [restore(1, A), *deliveries(1, D)]
    assert explanation(violation, numbered(events))[-1] == text[-1]


def test_an_altered_record_is_told_where_it_made_a_process_forget_its_promise() -> None:
    """The recorded run: a follower or leader provides its history twice, as the disk lost the first promise."""
    text = story("ignore-digest.epoch-uniqueness").explanation
    assert any(
        re.fullmatch(r"On the disk of p[0-9]+ the record of accepted_epoch had been altered at .*\.", e) for e in text
    )

"""Two judges with one identity say the same of whatever comes."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from random import Random

import pytest
from msgspec.structs import replace

from invariants import (
    Accept,
    Adopt,
    Agreement,
    ClientAck,
    CommitEpoch,
    Crash,
    Deliver,
    Establish,
    Event,
    FinalRead,
    Invariant,
    Judge,
    Local,
    LocalPrimaryOrder,
    Promise,
    Recover,
    Stabilised,
    State,
    TotalOrder,
    Txn,
    select,
)
from invariants.quorums import Quorums
from tests.explore.judges.continuations import (
    MIXES,
    MUTANTS,
    Cut,
    Events,
    Known,
    alike,
    broken,
    coming,
    cut,
    lives_of,
    of_few,
    run_of,
    verdict,
)
from tests.invariants.builders import A, B, C, D, broadcasts, deliveries, restore, told
from tests.invariants.protocol_traces import random_protocol_trace
from tests.invariants.traces import random_trace
from tests.tiers import sweep
from zabcheck.explore.judges import MonitorJudge
from zabcheck.explore.judges.identity import identity, named

KINDS = tuple(kind for kind in select(None) if kind.group != "liveness")
LIVENESS = tuple(kind for kind in select(None) if kind.group == "liveness")
OF_SEQUENCES = tuple(kind for kind in KINDS if kind.group in ("core", "causality", "ladis"))
GROUPS = {
    **{kind.name: (kind,) for kind in KINDS},
    "core": tuple(select("core")),
    "order and strict causality": tuple(select(["total order", "agreement", "strict causality"])),
    "order and primaries": tuple(select(["total order", "agreement", "global primary order", "primary integrity"])),
    "order and causal order": tuple(select(["total order", "agreement", "causal order"])),
    "of sequences": OF_SEQUENCES,
    "all": KINDS,
    "core, the last one first": tuple(select("core"))[::-1],
    "of sequences, shuffled": tuple(Random(1).sample(OF_SEQUENCES, len(OF_SEQUENCES))),
}
"""Judged alone, a property still says something after a fork; together, the orders say so first."""
QUORUMS = Quorums(3)


def known(events: Sequence[Event], kinds: Sequence[type[Invariant]] = KINDS) -> Hashable:
    judge = MonitorJudge(kinds, QUORUMS)
    for event in events:
        judge.observe(event)
    assert not broken(judge)
    return identity(judge, lives_of([event for event in events if isinstance(event, Local)]))


# They say the same of any continuation.


@cache
def cuts() -> list[Cut]:
    """Return random traces with all kinds of defects, runs of Zab and of mutants, and short traces, each cut in two."""
    sources: list[Callable[[int], Sequence[Event]]] = [
        lambda seed: random_trace(seed).events[:14],
        lambda seed: random_protocol_trace(seed).events,
        lambda seed: run_of(MUTANTS[seed // 3 % len(MUTANTS)], seed),
    ]
    found = [cut(sources[seed % 3](seed), Random(seed), 25) for seed in range(240)]
    return [*found, *(of_few(Random(seed), 200, MIXES[seed % 6]) for seed in range(12))]


SELDOM = {"zxid uniqueness": 1, "global primary order": 2}
"""The properties that take more traces, of which every so many is taken; every fourth for the others."""
RARELY_BROKEN = ("redelivery", "state", "durability", "final agreement", "clients")


@pytest.mark.parametrize(
    ("name", "step"),
    sweep([("core", 20), *((name, SELDOM.get(name, 4)) for name in GROUPS)], normal=[("core", 20)]),
)
def test_judges_with_equal_identities_give_equal_verdicts_on_any_continuation(name: str, step: int) -> None:
    compared: Counter[bool] = Counter()
    """Cases in which what comes breaks something, and in which it does not."""
    for each in cuts()[::step]:
        for group in alike(GROUPS[name], each.before, QUORUMS):
            for after in each.after:
                rest = coming(after, group)
                said = {verdict(judge, rest) for judge in group}
                assert len(said) == 1, (group, rest)
                compared[said != {None}] += len(group) - 1
    assert compared.total() > 1500 // step
    if name not in RARELY_BROKEN:  # by these traces; see below
        assert compared[True] > 20 // step


@pytest.mark.parametrize("step", sweep((10, 1), normal=(10,)))
def test_after_whatever_comes_they_still_know_the_same(step: int) -> None:
    """A search then tells as many apart whichever of two it met first. A snapshot may take some back."""
    compared: Counter[bool] = Counter()
    """Cases in which one of them was taken back, and in which none was."""
    taken_back = [of_few(Random(seed), 2000 // (1 + step // 5), "bbddddrr") for seed in range(2)]
    for each in (*cuts()[::step], *taken_back):
        for group in alike(OF_SEQUENCES, each.before, QUORUMS):
            was_taken_back = any(known.judge.record.rewound for known in group)
            for after in each.after:
                rest = coming(after, group)
                then = {then_known(known, rest) for known in group}
                if None not in then:
                    assert len(then) == 1, (group, rest)
                    compared[was_taken_back] += 1
    assert compared[True] > 50
    assert compared[False] > 1000 // step


def then_known(known: Known, rest: Events) -> Hashable:
    """Return the identity after the rest; None if something is broken then, or a prefix of nobody was restored."""
    judge, lives = known.judge.fork(), list(known.lives)
    for event in rest:
        life = known.lives[event.process] + event.incarnation
        judge.observe(replace(event, incarnation=life))
        lives[event.process] = max(lives[event.process], life + isinstance(event, Crash))
    is_odd = judge.record.resumed or judge.record.unmatched()
    return None if broken(judge) or is_odd else identity(judge, lives)


@pytest.mark.parametrize("step", sweep((20, 3), normal=(20,)))
def test_in_another_order_of_the_properties_the_same_are_told_apart(step: int) -> None:
    """However a selection is ordered, a search has the same states, and the same property is named."""
    reverse, mixed = OF_SEQUENCES[::-1], GROUPS["of sequences, shuffled"]
    for each in cuts()[::step]:
        partitions = []
        for kinds in (OF_SEQUENCES, reverse, mixed):
            groups = alike(kinds, each.before, QUORUMS)
            partitions.append(sorted(sorted(map(str, (one.shown for one in group))) for group in groups))
        assert partitions[0] == partitions[1] == partitions[2]


def test_where_sequences_fork_a_property_is_named_that_both_agree_on() -> None:
    """Who broadcast what was delivered is left out, so whether a fork breaks local primary order is not known."""
    same = [*broadcasts(1, 1, A, B), *deliveries(3, A), Crash(1, 0), Crash(2, 0)]
    other = [*broadcasts(2, 1, A), *broadcasts(1, 1, B), *deliveries(3, A), Crash(1, 0), Crash(2, 0)]
    for kinds in (GROUPS["core"], GROUPS["core, the last one first"]):
        assert known(same, kinds) == known(other, kinds)
        judges = [MonitorJudge(kinds, QUORUMS) for _ in range(2)]
        for judge, before in zip(judges, (same, other), strict=True):
            for event in [*before, *deliveries(2, B, incarnation=1)]:
                judge.observe(event)
        assert [broken(judge) == ["agreement"] for judge in judges] == [False, True]
        assert {named(judge, broken(judge)) for judge in judges} == {"agreement"}


def test_a_property_that_says_nothing_of_its_needs_is_told_the_whole_record() -> None:
    class Mine(LocalPrimaryOrder):
        pass

    traces = [[*broadcasts(p, 1, A), *deliveries(3, A), Recover(1, 1), Recover(2, 1)] for p in (1, 2)]
    one, other = (known(events, [TotalOrder, Agreement, LocalPrimaryOrder]) for events in traces)
    assert one == other
    one, other = (known(events, [TotalOrder, Agreement, Mine]) for events in traces)
    assert one != other


@pytest.mark.parametrize("step", sweep((10, 1), normal=(10,)))
def test_judges_with_equal_identities_give_equal_verdicts_on_what_a_quorum_has_in_the_end(step: int) -> None:
    """Somewhere in what comes the environment promises not to disturb any more; a judge of what comes is told that."""
    compared: Counter[bool] = Counter()
    """Cases in which that breaks something in the end, and in which it does not."""
    for seed, each in enumerate(cuts()[::step]):
        rng = Random(seed)
        for group in alike(OF_SEQUENCES, each.before, QUORUMS):
            for after in (*each.after, ()):
                at, quorum = rng.randint(0, len(after)), tuple(sorted(rng.sample((1, 2, 3), 2)))
                leader = rng.choice(quorum)
                life = lives_of(after[:at])[leader]
                begun = (Recover(member, 0) for member in quorum)  # so it is known in which incarnation each is
                rest = coming((*begun, *after[:at], Stabilised(leader, life, quorum), *after[at:]), group)
                said = {in_the_end(known, rest) for known in group}
                assert len(said) == 1, (group, rest)
                compared[said != {()}] += len(group) - 1
    assert compared[True] > 200 // step
    assert compared[False] > 40 // step


def in_the_end(known: Known, rest: Events) -> tuple[str, ...]:
    judge = known.judge.of_what_comes(Judge(LIVENESS, quorums=QUORUMS))
    for event in rest:
        judge.observe(replace(event, incarnation=known.lives[event.process] + event.incarnation))
    return tuple(broken(judge))


def test_a_judge_of_what_comes_says_what_one_of_the_whole_says() -> None:
    compared: Counter[bool] = Counter()
    for each in cuts():
        before, after = each.before[0], each.after[0]
        lives = lives_of(before)
        whole, first = Judge(LIVENESS, quorums=QUORUMS), MonitorJudge(OF_SEQUENCES, QUORUMS)
        for event in before:
            whole.observe(event)
            first.observe(event)
        known_before = broken(first)
        later = first.of_what_comes(Judge(LIVENESS, quorums=first.record.quorums))
        for event in (*(Recover(process, lives[process]) for process in (1, 2)), Stabilised(1, lives[1], (1, 2))):
            whole.observe(event)
            later.observe(event)
        for event in after:
            for judge in (whole, later):
                judge.observe(replace(event, incarnation=lives[event.process] + event.incarnation))
        assert broken(whole) == broken(later)
        assert broken(first) == known_before
        compared[bool(broken(whole))] += 1
    assert min(compared[True], compared[False]) > 50


def test_what_breaks_redelivery_and_state_does_so_after_both() -> None:
    sent = broadcasts(1, 1, A, B, C)
    once = [*sent, *deliveries(1, A, B), Crash(1, 0), Recover(1, 1)]
    twice = [*once, *deliveries(1, A, incarnation=1), Crash(1, 1), Recover(1, 2)]
    assert known(once) == known(twice)
    for before in (once, twice):
        judge = Judge(select("redelivery"), "global")
        recovered = before[-1]
        assert isinstance(recovered, Recover)
        life = recovered.incarnation
        for event in [*before, Deliver(1, life, A), Deliver(1, life, C)]:
            judge.observe(event)
        assert broken(judge) == ["redelivery"]
    first, other = (State(1, 0, A.zxid, 1, digest) for digest in (7, 8))
    assert known([first]) == known([first, State(2, 0, A.zxid, 1, 7)]) != known([other])


# Traces that are told apart, and traces that are not.


def test_how_often_something_was_judged_makes_no_difference() -> None:
    once = [*broadcasts(1, 1, A), *deliveries(1, A), *deliveries(2, A)]
    assert known(once) == known([*once, *deliveries(2, A)]) == known([once[0], once[2], once[1]])


def test_broadcasts_deliveries_and_primaries_make_different_identities() -> None:
    sent = broadcasts(1, 1, A, B)
    assert known(sent) != known(broadcasts(1, 1, A))
    assert known([*sent, *deliveries(1, A)]) != known([*sent, *deliveries(2, A)])
    assert known(broadcasts(1, 1, A)) != known(broadcasts(2, 1, A))


def accepts(epoch: int, txn: Txn, *processes: int) -> list[Event]:
    return [Accept(process, 0, epoch, txn) for process in processes]


def adopts(epoch: int, history: Sequence[Txn], *processes: int) -> list[Event]:
    return [Adopt(process, 0, epoch, *told(history)) for process in processes]


APART: dict[str, tuple[tuple[str, ...], list[Event], list[Event], list[Event]]] = {
    "which process broadcast, in whatever incarnation": (
        ("total order", "agreement", "causal order"),
        [*broadcasts(1, 1, A), *broadcasts(1, 1, B, incarnation=1), Crash(1, 1)],
        [*broadcasts(1, 1, A), *broadcasts(2, 1, B), Crash(1, 0), Crash(2, 0)],
        [Recover(1, 0), Recover(2, 0), *deliveries(3, B, A)],
    ),
    "what a client was told": (
        ("durability",),
        [*broadcasts(1, 1, A), ClientAck(1, 0, A)],
        broadcasts(1, 1, A),
        [FinalRead(2, 0, ())],
    ),
    "what was read": (
        ("final agreement",),
        [*broadcasts(1, 1, A), FinalRead(1, 0, (A,))],
        [*broadcasts(1, 1, A), FinalRead(1, 0, ())],
        [FinalRead(2, 0, ())],
    ),
    "what is delivered": (
        ("total order", "agreement"),
        [*broadcasts(1, 1, A, B), *deliveries(1, A)],
        [*broadcasts(1, 1, A, B), *deliveries(1, B)],
        deliveries(2, A),
    ),
    "an epoch that the zxid does not tell": (
        ("total order", "agreement", "global primary order"),
        [*broadcasts(1, 3, A), *deliveries(1, A)],
        [*broadcasts(1, 1, A), *deliveries(1, A)],
        [*broadcasts(2, 2, D), *deliveries(1, D)],
    ),
    "what a process delivered in another life": (
        ("total order", "agreement", "strict causality"),
        [*broadcasts(1, 1, A), *deliveries(3, A), *deliveries(2, A), Crash(2, 0)],
        [*broadcasts(1, 1, A), *deliveries(3, A), Crash(2, 0)],
        [*broadcasts(2, 2, D), *deliveries(3, D)],
    ),
    "where a life ended": (
        ("agreement",),
        [*broadcasts(1, 1, A, B, C), *deliveries(1, A, B), Crash(1, 0), *deliveries(2, A, B, C)],
        [*broadcasts(1, 1, A, B, C), *deliveries(2, A, B, C), Crash(1, 0)],
        deliveries(3, A, C),
    ),
    "the last of the current life": (
        ("redelivery",),
        [*deliveries(1, A, B), Crash(1, 0), *deliveries(1, A, incarnation=1)],
        [*deliveries(1, A, B), Crash(1, 0), Recover(1, 1)],
        deliveries(1, C),
    ),
    "what came after what": (
        ("redelivery",),
        [*deliveries(1, A, B), Crash(1, 0)],
        [*deliveries(1, A), Crash(1, 0)],
        deliveries(1, A, C),
    ),
    "where a phase begins": (
        ("invariant 5",),
        [*broadcasts(1, 1, A, B), *adopts(1, [A], 2), CommitEpoch(2, 0, 1)],
        [*broadcasts(1, 1, A, B), *adopts(1, [], 2), CommitEpoch(2, 0, 1)],
        deliveries(2, B),
    ),
    "where the next phase begins": (
        ("invariant 5",),
        [*broadcasts(1, 1, A, B), *adopts(1, [A], 2)],
        [*broadcasts(1, 1, A, B), *adopts(1, [], 2)],
        [CommitEpoch(2, 0, 1), *deliveries(2, B)],
    ),
    "how far a phase is": (
        ("invariant 5",),
        [*broadcasts(1, 1, A, B), *adopts(1, [], 2), CommitEpoch(2, 0, 1), *deliveries(2, A)],
        [*broadcasts(1, 1, A, B), *adopts(1, [], 2), CommitEpoch(2, 0, 1)],
        deliveries(2, B),
    ),
    "the epoch of an acceptance": (
        ("chosen",),
        [*adopts(1, [], 1), *accepts(1, A, 1, 2)],
        [*adopts(1, [], 1), *accepts(1, A, 1), *accepts(2, A, 2)],
        deliveries(3, A),
    ),
    "who may have accepted anything": (
        ("chosen",),
        [*accepts(1, C, 3), *adopts(1, [A, B], 1, 2)],
        [*accepts(1, C, 3), *adopts(1, [A, B], 1), *adopts(2, [A, B], 2)],
        deliveries(3, B),
    ),
    "what may be the history of an epoch": (
        ("chosen",),
        [*accepts(1, C, 3), *broadcasts(1, 2, D), *adopts(2, [], 1)],
        [*accepts(1, C, 3), *broadcasts(1, 2, D), *adopts(1, [], 1)],
        [*adopts(2, [D], 2, 3), *deliveries(3, A)],
    ),
    "what may be behind it": (
        ("chosen",),
        [*accepts(1, C, 3), *broadcasts(1, 2, D), *adopts(2, [], 1)],
        [*accepts(1, C, 3), *adopts(2, [], 1)],
        [*adopts(2, [D], 2, 3), *deliveries(3, A)],
    ),
    "which histories are known": (
        ("chosen",),
        [*accepts(1, A, 3), *adopts(2, [], 3)],
        [*accepts(1, C, 3), *adopts(2, [], 3)],
        [*adopts(1, [A], 1, 2), *deliveries(3, B)],
    ),
}
"""Pairs that have to be told apart: the properties, two traces, and what comes, which breaks something once."""


@pytest.mark.parametrize("name", APART)
def test_what_a_continuation_can_make_matter_is_told_apart(name: str) -> None:
    names, *traces, rest = APART[name]
    kinds = select(names)
    judges = [MonitorJudge(kinds, QUORUMS) for _ in traces]
    told_apart, said = set(), set()
    for judge, trace in zip(judges, traces, strict=True):
        for event in trace:
            judge.observe(event)
        local = tuple(event for event in trace if isinstance(event, Local))
        assert not broken(judge)
        lives = lives_of(local)
        told_apart.add(identity(judge, lives))
        coming_then = tuple(replace(event, incarnation=0) for event in rest if isinstance(event, Local))
        said.add(verdict(Known(judge, local, lives), coming_then))
    assert len(said) == 2, "else there would be nothing to tell apart"
    assert None in said
    assert len(told_apart) == 2


def test_past_primaries_make_no_difference() -> None:
    runs = [[*broadcasts(p, 1, A), *deliveries(3, A), Recover(1, 1), Recover(2, 1)] for p in (1, 2)]
    assert known(runs[0]) == known(runs[1])
    assert known(runs[0][:-1]) != known(runs[1][:-1])
    assert known(runs[0], [OF_SEQUENCES[3]]) != known(runs[1], [OF_SEQUENCES[3]])


def test_what_is_delivered_matters_no_more_to_those_that_judge_sequences() -> None:
    """A fork tells of itself, whoever broadcast what, and whatever comes then comes after all of it."""
    one = [*broadcasts(1, 1, A), *deliveries(1, A), *deliveries(2, A)]
    other = [*broadcasts(2, 1, A), *deliveries(1, A), *deliveries(2, A)]
    assert known(one, OF_SEQUENCES) == known(other, OF_SEQUENCES)
    for kind in select(["local primary order", "causal order"]):
        assert known(one, [kind]) != known(other, [kind])


@pytest.mark.parametrize("name", GROUPS)
def test_with_crashes_identities_do_not_become_more(name: str) -> None:
    """Each life of process 2 is as the one before; but for the counter, nothing changes."""
    start: list[Event] = broadcasts(1, 1, A, B)
    for process in (1, 2):
        start += [Promise(process, 0, 1), Adopt(process, 0, 1, *told([])), Accept(process, 0, 1, A)]
    start += deliveries(1, A)
    seen = []
    for lives in range(1, 6):
        events = list(start)
        for life in range(1, lives):
            events += [Crash(2, life - 1), Recover(2, life), Promise(2, life, 1), Adopt(2, life, 1, *told([A]))]
            events += [CommitEpoch(2, life, 1), Deliver(2, life, A)]
        seen.append(known(events, GROUPS[name]))
    assert len(set(seen[2:])) == 1, "from the third life on there is nothing new"


def test_crashes_of_primaries_do_not_make_more_either() -> None:
    """A process that was established, and is gone, is another one than whoever comes."""
    lost: list[Event] = [*broadcasts(1, 1, A), Establish(1, 0, 1)]
    assert known([*lost, Recover(1, 1)]) == known([*lost, Recover(1, 1), Recover(1, 2)])
    assert known(lost) != known([*lost, Recover(1, 1)])


def test_a_snapshot_that_takes_a_process_back_makes_no_more_of_them() -> None:
    """Its deliveries before that are as those of an earlier life."""
    events = [*broadcasts(1, 1, A, B), *deliveries(1, A, B), *deliveries(2, A)]
    assert known([*events, restore(2, A)], OF_SEQUENCES) == known(events, OF_SEQUENCES)
    assert known([*events, restore(2)], OF_SEQUENCES) == known([*events, Crash(2, 0)], OF_SEQUENCES)


def test_where_sequences_are_no_path_all_is_told() -> None:
    """A snapshot of what nobody has delivered is rare: lives are counted there."""
    events = [*broadcasts(1, 1, A, B), *deliveries(1, A), restore(2, A, B), *deliveries(1, B)]
    judges = [MonitorJudge(OF_SEQUENCES) for _ in range(2)]
    for judge, more in zip(judges, ([Recover(2, 1)], [Recover(2, 2)]), strict=True):
        for event in [*events, *more, Deliver(2, more[0].incarnation, A)]:
            judge.observe(event)
        assert not broken(judge)
    first, second = (identity(judge, [0, 0, life, 0]) for judge, life in zip(judges, (1, 2), strict=True))
    assert first != second

"""Each portion of a level is expanded once, by whoever is free, and what comes of them is taken in order."""

import os
import signal
from collections.abc import Callable, Iterator
from fcntl import LOCK_EX, lockf
from itertools import chain
from tempfile import TemporaryFile

import pytest
from msgspec import Struct

from zabcheck.explore.sharing.dealing import Deck, dealt
from zabcheck.explore.sharing.workers import WorkerDied, forked


class Said(Struct):
    """What the tests' workers answer."""

    number: int


def test_each_draws_its_own_part_in_order_and_then_the_last_of_where_most_are_left() -> None:
    with TemporaryFile() as lock:
        deck = Deck(9, 3, lock)
        first, second, third = (deck.draws(part) for part in range(3))
        assert [next(first), next(third), next(first)] == [0, 6, 1]
        assert list(second) == [3, 4, 5, 8, 2, 7]
        assert not [*first, *second, *third]


@pytest.mark.parametrize("size", [0, 1, 2, 3, 100])
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_each_number_is_drawn_once_whoever_draws(size: int, parts: int) -> None:
    with TemporaryFile() as lock:
        draws = list(map(Deck(size, parts, lock).draws, range(parts)))
        drawn = [number for each in range(size + 1) for number in [next(draws[each * each % parts], None)]]
        assert sorted(number for number in chain(drawn, *draws) if number is not None) == list(range(size))


def test_processes_draw_each_number_once() -> None:
    with TemporaryFile() as lock:
        deck = Deck(1000, 3, lock)

        def drawing(part: int) -> Callable[[], Iterator[Said]]:
            return lambda: (Said(number) for number in deck.draws(part))

        with forked([drawing(part) for part in range(3)]) as workers:
            drawn = []
            while not all(worker.has_ended for worker in workers):
                drawn += [said.number for worker in workers for said in worker.answers(Said)]
        assert sorted(drawn) == list(range(1000))


def test_who_is_killed_while_it_draws_keeps_nobody_from_drawing() -> None:
    with TemporaryFile() as lock:
        deck = Deck(2, 2, lock)

        def killed() -> Iterator[Said]:
            lockf(lock, LOCK_EX)
            os.kill(os.getpid(), signal.SIGKILL)
            yield from ()

        with forked([killed]) as [worker], pytest.raises(WorkerDied):
            worker.answer(Said)
        assert list(deck.draws(0)) == [0, 1]


# What comes of the portions.


def answers(draws: Iterator[int]) -> Iterator[Said]:
    return map(Said, draws)


def taking() -> Callable[[Said], tuple[int, str]]:
    return lambda said: (said.number, f"{said.number} there")


@pytest.mark.parametrize("workers", [2, 4])
def test_what_comes_of_portions_is_taken_in_their_order(workers: int) -> None:
    expanded = dealt(50, workers, expand="{} here".format, answers=answers, kind=Said, taking=taking)
    assert [each.split()[0] for each in expanded if each] == list(map(str, range(50)))


@pytest.fixture
def others_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search itself draws nothing."""
    draws = Deck.draws
    monkeypatch.setattr(Deck, "draws", lambda deck, part: iter(()) if part == 0 else draws(deck, part))


@pytest.mark.usefixtures("others_alone")
def test_what_others_answer_is_waited_for() -> None:
    expanded = dealt(5, 3, expand="{} here".format, answers=answers, kind=Said, taking=taking)
    assert [each for each in expanded if each] == [f"{number} there" for number in range(5)]


@pytest.mark.usefixtures("others_alone")
def test_who_waits_looks_around() -> None:
    """Else Ctrl-C would not be heard while a worker takes its time."""

    def waiting(draws: Iterator[int]) -> Iterator[Said]:
        signal.pause()
        yield from answers(draws)

    expanded = dealt(5, 2, expand="{} here".format, answers=waiting, kind=Said, taking=taking)
    assert [next(expanded) for _ in range(3)] == [None] * 3
    expanded.close()


@pytest.mark.usefixtures("others_alone")
@pytest.mark.parametrize("dies", ["killed", "failing"])
def test_if_one_dies_the_search_ends(dies: str) -> None:
    def ending(draws: Iterator[int]) -> Iterator[Said]:
        yield Said(next(draws))
        if dies == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise MemoryError

    expanded = dealt(50, 2, expand=lambda number: str(number), answers=ending, kind=Said, taking=taking)
    how = "was ended by SIGKILL" if dies == "killed" else "failed with exit code 1"
    with pytest.raises(WorkerDied, match=how):
        list(expanded)

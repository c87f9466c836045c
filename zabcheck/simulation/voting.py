"""Elections by messages (the switch `elections=fle`), as coarse choices: the fine ones that each stands for.

Who is named leader in such a choice is a wish. Who leads is what comes of the messages.
"""

from collections.abc import Iterator, Sequence

from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.coarse import Running

_MOST_ROUNDS = 50


def fine(choice: choices.Lead | choices.Elect, running: Running) -> Iterator[Choice]:
    """Yield the fine choices that an election of `choice` stands for; none to join for who is in an iteration."""
    if isinstance(choice, choices.Lead):
        return _lead(list(dict.fromkeys((choice.leader, *choice.followers))), running)
    return iter(()) if running.following[choice.process] else _join(choice.process, running)


def _lead(chosen: Sequence[int], running: Running) -> Iterator[Choice]:
    """Those that take part leave their iterations, vote, hear each other until all is said, and end the election."""
    for process in chosen:
        yield choices.Timeout(process)
    for process in chosen:
        yield choices.Run(process, "election")
    for _ in range(_MOST_ROUNDS):
        said = [each for each in running.hearing() if each[0] in chosen and each[1] in chosen]
        if not said:
            break
        yield from _heard(said)
    for process in chosen:
        yield choices.Run(process, "election")


def _join(process: int, running: Running) -> Iterator[Choice]:
    """A process that looks for a leader votes, and hears what the others answer."""
    yield choices.Timeout(process)
    yield choices.Run(process, "election")
    for _ in range(_MOST_ROUNDS):
        said = [each for each in running.hearing() if process in each[:2]]
        if not said:
            return
        yield from _heard(said)


def _heard(said: Sequence[tuple[int, int, int]]) -> Iterator[Choice]:
    for process, sender, count in said:
        for _ in range(count):
            yield choices.Hear(process, sender)

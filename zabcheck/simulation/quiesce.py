"""An ensemble that is left alone: every message handled, every write synced, every closed connection noticed.

Nothing else happens: nobody is elected, no time-out comes, no client asks. So what the ensemble comes to is the doing
of the epoch that runs, and of it alone. In Zab it comes to rest: each message of a round is an answer to one of the
round before, and a process that gives up sends nothing more until it is elected.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice

MOST_ROUNDS = 100
"""An ensemble that has something to do after this many rounds is taken for one that is never at rest."""


class LeftAlone(Protocol):
    """What can be seen of an ensemble that is left alone, at any moment."""

    @property
    def ids(self) -> Sequence[int]:
        """The processes, in ascending order."""

    def waiting(self) -> list[tuple[int, int, int]]:
        """Return (process, sender, number of messages) for each link from which a message can be handled."""

    def unsynced(self) -> list[int]:
        """Return the processes that can sync something."""

    def threads(self) -> list[tuple[int, str]]:
        """Return (process, thread) for each thread that has something to do."""

    def closed(self) -> list[tuple[int, int]]:
        """Return (process, peer) where `process` has yet to notice that `peer` closed their connection."""


def until_quiet(ensemble: LeftAlone) -> Iterator[Choice]:
    """Take every obstacle away, then let rounds pass until one would do nothing, or `MOST_ROUNDS` have."""
    yield choices.Heal()
    for process in ensemble.ids:
        yield choices.Wake(process)
    for _ in range(MOST_ROUNDS):
        if is_quiet(ensemble):
            return
        yield from a_round(ensemble)


def a_round(ensemble: LeftAlone) -> Iterator[Choice]:
    """Let each process handle what waits for it, sync, give its threads a turn, then notice which of its connections
    are closed.
    """
    for process, sender, count in sorted(ensemble.waiting()):
        for _ in range(count):
            yield choices.Receive(process, sender)
    for process in ensemble.unsynced():
        yield choices.Sync(process)
    for process, thread in ensemble.threads():
        yield choices.Run(process, thread)
    for process, peer in sorted(ensemble.closed()):
        yield choices.Notice(process, peer)


def is_quiet(ensemble: LeftAlone) -> bool:
    """Whether nothing is left to be done."""
    return not (ensemble.waiting() or ensemble.unsynced() or ensemble.threads() or ensemble.closed())

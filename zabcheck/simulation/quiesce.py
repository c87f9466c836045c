"""An ensemble that is left alone: every message handled, every write synced, every closed connection noticed.

Nothing else happens: nobody is elected, no time-out comes, no client asks. So what the ensemble comes to is the doing
of the epoch that runs, and of it alone. In Zab it comes to rest: each message of a round is an answer to one of the
round before, and a process that gives up sends nothing more until it is elected.
"""

from collections.abc import Iterator

from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.coarse import Running

MOST_ROUNDS = 100
"""An ensemble that has something to do after this many rounds is taken for one that is never at rest."""


def until_quiet(running: Running) -> Iterator[Choice]:
    """Take every obstacle away, then let rounds pass until one would do nothing, or `MOST_ROUNDS` have."""
    yield choices.Heal()
    for process in running.ids:
        yield choices.Wake(process)
    for _ in range(MOST_ROUNDS):
        if is_quiet(running):
            return
        yield from a_round(running)


def a_round(running: Running) -> Iterator[Choice]:
    """Let each process handle what waits for it, sync, then notice which of its connections are closed."""
    for process, sender, count in sorted(running.waiting()):
        for _ in range(count):
            yield choices.Receive(process, sender)
    for process in running.unsynced():
        yield choices.Sync(process)
    for process, peer in sorted(running.closed()):
        yield choices.Notice(process, peer)


def is_quiet(running: Running) -> bool:
    """Whether nothing is left to be done."""
    return not running.waiting() and not running.unsynced() and not running.closed()

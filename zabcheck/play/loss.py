"""The loss to a user by a bug that a property of the proof shows first: a run in which a delivery is wrong.

An invariant of the proof breaks earlier than anything that a user sees, so the shortest run shows a process that
promised something wrong, and nobody who lost anything. The same run goes on, or the same bug is searched from the
start, until one of the six properties of atomic broadcast breaks, or one that clients rely on.
"""

from collections.abc import Sequence
from contextlib import suppress

from msgspec import structs

from zabcheck.counterexample.pieces import LOSSES
from zabcheck.play.chances import TRIES_TO_BREAK, break_from_here
from zabcheck.play.session import Session
from zabcheck.protocols.base import Protocol
from zabcheck.search.engines import DEFAULT, find
from zabcheck.search.minimise import SECONDS, shortest
from zabcheck.search.run import ProtocolRaised, Replay, Search, replay_on
from zabcheck.simulation.schedule import Schedule

RUNS = 5000
"""The random runs from the start."""
STEPS = 200
"""The most steps of a random run from the start, about."""


def lost_in(broken: Sequence[str]) -> bool:
    """Return True if a user notices one of these violated properties."""
    return any(name in LOSSES for name in broken)


def find_loss(
    replayed: Replay, tries: int = TRIES_TO_BREAK, runs: int = RUNS, seconds: float = SECONDS
) -> Replay | None:
    """Return the shortest run found in which a user loses something by the bug of this run; None if none was found.

    First `tries` random continuations of the run itself are tried. If none of them will do, as where too few processes
    take part, `runs` random runs of the protocol are made from the start, some three CPU ms each. The result is
    minimised, in at most `seconds` of CPU time; the same run gives the same result if that is enough.
    """
    session = Session.of(replayed.protocol, replayed.schedule, LOSSES)
    found = () if session.here.broken else break_from_here(session, LOSSES, tries)
    if found is not None:
        session.follow(found)
        property_ = session.here.broken[0]
        return _minimal(replayed.protocol, session.schedule(), property_, seconds)
    with suppress(ProtocolRaised):  # no property is judged in a run whose code raised
        broken = find(DEFAULT, Search(replayed.protocol, None, LOSSES, runs, STEPS, 1))
        if broken is not None:
            return _minimal(replayed.protocol, broken.schedule, broken.property, seconds)
    return None


def _minimal(protocol: Protocol, schedule: Schedule, property_: str, seconds: float) -> Replay:
    minimal = shortest(protocol, structs.replace(schedule, violates=property_), property_, seconds)
    return replay_on(protocol, minimal.schedule, [property_])

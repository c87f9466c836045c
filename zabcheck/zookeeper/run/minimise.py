"""The shortest schedule of a real ensemble that shows the same, though none may show it each time.

Servers have threads and clocks of their own: what a schedule shows may depend on a race. So a shorter schedule counts
only if it shows it several times, else each step would leave a schedule that shows it less often.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

import msgspec

from zabcheck.zookeeper.leaving_out import leave_out_parts
from zabcheck.zookeeper.recording.folder import read
from zabcheck.zookeeper.recording.records import AnyRecord, Cast, Chose, Reached, Run
from zabcheck.zookeeper.run.choices.choice import Choice
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, converted

ATTEMPTS = 3
"""Attempts that a shorter schedule gets at most."""
NEEDED = 2
"""Attempts among these that have to show the same as the long schedule; 1 if that itself shows it less often."""


def nothing() -> None:
    """Do nothing when a schedule is kept."""


def minimise(
    schedule: EnsembleSchedule,
    shows: Callable[[EnsembleSchedule], bool],
    seconds: float,
    idle: Callable[[], Sequence[int]] = tuple,
    keep: Callable[[], None] = nothing,
) -> EnsembleSchedule:
    """Find a short schedule that `shows` it in `NEEDED` of `ATTEMPTS` attempts; `schedule` itself if there is no other.

    Takes about `seconds`. Tries `schedule` itself first: if that does not show it so often, 1 is enough. Leaves out the
    choices that were `idle` in the last run that showed it, then others, ever smaller parts of them; then writes less,
    and has power failures lose what was not forced, and no more. A candidate whose first attempt fails gets others only
    when all have had their first: once a choice is left out elsewhere, many more attempts are needless. One that fails
    too often is given up, so the result need not be the shortest. `keep` is called when a candidate has just shown it
    often enough.
    """
    until = monotonic() + seconds
    minimising = Minimising(schedule, shows, idle, keep, lambda: monotonic() < until, ATTEMPTS)
    minimising.find_needed()
    for patient in (False, True):
        minimising.leave_out(patient)
        minimising.do_less(patient)
    return minimising.schedule


class _AttemptCounts:
    """Counts of the attempts of a candidate, and of those that have shown it."""

    def __init__(self) -> None:
        self.times = self.shown = 0

    def is_over(self, needed: int, attempts: int) -> bool:
        """Return True if it has shown it as often as is `needed`, or cannot any more."""
        return self.shown >= needed or self.shown + attempts - self.times < needed


class Minimising:
    """The shortest `schedule` so far, and how often each candidate was tried: `attempts` times at most.

    Nothing is tried once there is no `more` time.
    """

    def __init__(
        self,
        schedule: EnsembleSchedule,
        shows: Callable[[EnsembleSchedule], bool],
        idle: Callable[[], Sequence[int]],
        keep: Callable[[], None],
        more: Callable[[], bool],
        attempts: int,
    ) -> None:
        self.schedule = schedule
        self._shows = shows
        self._idle = idle
        self._keep = keep
        self._more = more
        self._attempts = attempts
        self._needed = min(NEEDED, attempts)
        self._tried: dict[bytes, _AttemptCounts] = {}

    def find_needed(self) -> None:
        """Try the whole schedule, to learn how often a shorter one has to show it."""
        itself = _AttemptCounts()
        while self._more() and not itself.is_over(NEEDED, ATTEMPTS):
            itself.times += 1
            itself.shown += self._shows(self.schedule)
        self._needed = NEEDED if itself.shown == NEEDED else 1

    def leave_out(self, patient: bool) -> None:
        """Leave out choices, ever smaller parts of them."""

        def shown(start: int, end: int) -> bool:
            if start == 0:
                self._leave_out_idle()
            choices = self.schedule.choices
            return self._shown([*choices[:start], *choices[end:]], patient)

        leave_out_parts(lambda: len(self.schedule.choices), shown, self._more)

    def do_less(self, patient: bool) -> None:
        """Put plainer choices in the place of others: of fewer writes, say, or smaller ones."""
        for position in range(len(self.schedule.choices)):
            while any(
                self._shown(self._with(position, plainer), patient)
                for plainer in self.schedule.choices[position].plainer()
            ):
                pass

    def _with(self, position: int, choice: Choice) -> list[Choice]:
        choices = [*self.schedule.choices]
        choices[position] = choice
        return choices

    def _leave_out_idle(self) -> None:
        while idle := {*self._idle()}:
            rest = [choice for number, choice in enumerate(self.schedule.choices) if number not in idle]
            if not self._shown(rest, patient=True):
                break

    def _shown(self, choices: Sequence[Choice], patient: bool) -> bool:
        """Try a candidate. Return True if it shows it often enough, and is kept.

        One whose first attempt fails is not tried again unless `patient`: all others come first.
        """
        candidate = msgspec.structs.replace(self.schedule, choices=tuple(choices))
        tried = self._tried.setdefault(msgspec.json.encode(candidate.choices), _AttemptCounts())
        while (
            self._more() and not tried.is_over(self._needed, self._attempts) and (patient or tried.shown == tried.times)
        ):
            tried.times += 1
            tried.shown += self._shows(candidate)
            if tried.shown == self._needed:
                self.schedule = candidate
                self._keep()
                return True
        return False


def idle_in(folder: Path) -> list[int]:
    """Find the choices, by number, that did nothing in a recorded run. RecordingError if it cannot be read.

    Either the recording says so, or they name a point of a server to which no thread came.
    """
    records = list(read(folder))
    idle = [each.number for each in records if isinstance(each, Chose) and each.idle]
    roles = next((each.roles for each in records if isinstance(each, Cast)), {})
    come = {(each.server, each.point): None for each in records if isinstance(each, Reached)}
    for run in records:
        for number, choice in enumerate(_choices_of(run)):
            if any(role in roles and (roles[role], point) not in come for role, point in choice.at_points):
                idle.append(number)
    return sorted({*idle})


def _choices_of(record: AnyRecord) -> tuple[Choice, ...]:
    """Return the choices of the schedule that the head of a recording names."""
    return converted(record.schedule).choices if isinstance(record, Run) and record.schedule is not None else ()

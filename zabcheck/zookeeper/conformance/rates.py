"""The rate of each fault in drawn runs of a release, without a patch: the measure of the runs of a patched one.

ZooKeeper has bugs of its own, and drawn runs come upon them. So a fault in one run says little of a patch; that faults
of a kind are more frequent than in the release does. `rates.json` beside this module has what was measured;
`benchmarks/rates_of_releases.py` measures it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from math import exp, lgamma
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from zabcheck.zookeeper.run.draw import draw
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, JvmProperty
from zabcheck.zookeeper.run.tuning import BY_SNAPSHOT, FOR_A_PATCH
from zabcheck.zookeeper.verdict.judge import RecordingVerdict
from zabcheck.zookeeper.verdict.known_issues import ISSUES

if TYPE_CHECKING:
    from zabcheck.zookeeper.run.search import Attempt

FILE = Path(__file__).with_name("rates.json")
SERVERS = 3
LOOKS_LIKE, LIKE_NONE = "looks like ", ", like no known bug"
"""The beginning of the mark of a known bug, and the end of that of a fault that none of them explains."""
UNLIKELY = 3e-5
"""The probability below which chance does not explain that the patched servers show a fault more often.

All looks at all marks of 1,800 runs together are misled so in about one gate of 300 (as if marks were independent).
"""
MORE = 2.0
"""A fault has to be this many times as frequent: a patch that only takes other times moves the rates a little."""
OF_NO_ISSUE = ("lower vote",)
"""The faults that no known issue explains, whatever else a run looks like: one of them is enough."""
SNAPSHOTS = (JvmProperty("zookeeper.forceSnapshotSync", "true"),)
FIRST_LOOK, BETWEEN_LOOKS = 24, 1.25
"""The number of runs after which rates are compared first; it grows by this factor from look to look."""


class Rates(Struct, frozen=True, omit_defaults=True):
    """The number of drawn `runs`, and of those that have each mark (see `marks_of`).

    `of` has the number of runs in which a fault was looked for, if that was not done in all of them.
    """

    runs: int
    marks: dict[str, int]
    of: dict[str, int] = {}

    def runs_for(self, mark: str) -> int:
        """Return the number of runs in which this mark was looked for."""
        return self.of.get(mark.removesuffix(LIKE_NONE), self.runs)


class RaisedRate(NamedTuple):
    """A mark that is more frequent than in the release: in `shown` of `runs`, and there in `before` of `of` runs.

    `name` is that of the fault, or all issues of the known bug.
    """

    mark: str
    name: str
    shown: int
    runs: int
    before: int
    of: int
    probability: float

    def sentence(self) -> str:
        """Return how often it was shown, as text."""
        if self.name in OF_NO_ISSUE:
            return f"in {self.shown:,} of {self.runs:,} runs; a server that is sound never does that"
        without = f"without a patch in {self.before:,} of {self.of:,}"
        return f"in {self.shown:,} of {self.runs:,} runs, {without} (by chance: {self.probability:.0e})"


def drawn(seed: int) -> EnsembleSchedule:
    """Draw the schedule of a seed as in the runs that were measured.

    Every second one has threads held. In one of four leaders bring everybody up to date with a snapshot.
    """
    if seed % 4 == 0:
        return replace(draw(seed, SERVERS, threads=True, tuning=BY_SNAPSHOT), properties=SNAPSHOTS)
    return draw(seed, SERVERS, threads=seed % 2 == 0, tuning=FOR_A_PATCH)


def marks_of(judged: RecordingVerdict) -> list[str]:
    """Return what is counted of a run: each fault, once more if it looks like no known bug, and the bugs it looks like.

    Does not depend on what is expected of a patch.
    """
    if not judged.wrong:
        return []
    known = [f"{LOOKS_LIKE}{match.issue.name}" for match in judged.known]
    return [*judged.wrong, *known, *([] if known else [f"{name}{LIKE_NONE}" for name in judged.wrong])]


@cache
def measured() -> Mapping[str, Rates]:
    """Return the rates that were measured, by version."""
    return msgspec.json.decode(FILE.read_bytes(), type=dict[str, Rates])


def raised(marks: Mapping[str, int], runs: int, before: Rates) -> Iterator[RaisedRate]:
    """Yield the marks that are more frequent in these runs than before, the least likely by chance first.

    One of `OF_NO_ISSUE` comes before all others.
    Of equal ones the first of `marks` comes first: faults are counted with the severest first.
    """
    names = {f"{fault}{LIKE_NONE}": fault for fault in marks} | {
        f"{LOOKS_LIKE}{each.name}": each.key for each in ISSUES
    }
    found = []
    for mark, shown in marks.items():
        known, of = before.marks.get(mark, 0), before.runs_for(mark)
        if shown * of > MORE * known * runs or mark in OF_NO_ISSUE:
            probability = by_chance(shown, runs, known, of)
            if probability < UNLIKELY or mark in OF_NO_ISSUE:
                found.append(RaisedRate(mark, names.get(mark, mark), shown, runs, known, of, probability))
    yield from sorted(found, key=lambda each: (each.mark not in OF_NO_ISSUE, each.probability))


class Sight(NamedTuple):
    """A known bug as drawn runs show it: one of `runs` looks like it in ZooKeeper `zookeeper`, which has it."""

    zookeeper: str
    runs: int

    def words(self) -> str:
        """Return it as text."""
        return f"1 in {self.runs:,} ({self.zookeeper})"


def sights() -> dict[str, Sight]:
    """Return the known bugs that drawn runs show, by name, each in the release that shows it most often.

    A pass is worth that much for a patch that brings such a bug back; other bugs of the release may hide it, or help.
    """
    best: dict[str, tuple[float, Sight]] = {}
    for zookeeper, rates in measured().items():
        for issue in ISSUES:
            shown = rates.marks.get(f"{LOOKS_LIKE}{issue.name}", 0)
            if shown:
                sight = shown / rates.runs, Sight(zookeeper, round(rates.runs / shown))
                best[issue.name] = max(best.get(issue.name, sight), sight)
    return {name: sight for name, (_, sight) in best.items()}


def by_chance(shown: int, runs: int, before: int, of: int) -> float:
    """Return the probability that `shown` or more of all that is shown fall into `runs` (Fisher's exact test)."""
    total = shown + before
    all_ways = _ways(runs + of, total)
    most = min(total, runs)
    return sum(
        exp(_ways(runs, each) + _ways(of, total - each) - all_ways)
        for each in range(shown, most + 1)
        if total - each <= of
    )


def _ways(of: int, number: int) -> float:
    """Return the logarithm of the number of ways to choose `number` of `of`."""
    return lgamma(of + 1) - lgamma(number + 1) - lgamma(of - number + 1)


class Tally:
    """The marks of drawn runs, added up, and looked at now and then: each look may be misled by chance.

    `shortest` has the shortest schedule that showed each mark, with its order of threads. In `failed` runs, the last
    `in_a_row` among them, the ensemble itself failed, because of `error`.
    """

    def __init__(self, before: Rates) -> None:
        self.before = before
        self.runs = self.failed = self.in_a_row = 0
        self.error = ""
        self.marks: Counter[str] = Counter()
        self.shortest: dict[str, EnsembleSchedule] = {}
        self._next_look = float(FIRST_LOOK)

    def add(self, tried: "Attempt") -> None:
        """Count a run."""
        self.runs += 1
        self.failed += bool(tried.error)
        self.in_a_row = self.in_a_row + 1 if tried.error else 0
        self.error = tried.error or self.error
        for mark in dict.fromkeys(marks_of(tried.judged)):
            self.marks[mark] += 1
            known = self.shortest.get(mark)
            if known is None or len(tried.schedule.choices) < len(known.choices):
                self.shortest[mark] = tried.schedule

    @property
    def least(self) -> float:
        """The least share of runs in which a fault that the release does not show would have been told; 1 if none."""
        for shown in range(1, self.runs + 1):
            if by_chance(shown, self.runs, 0, self.before.runs) < UNLIKELY:
                return shown / self.runs
        return 1.0

    def look(self, last: bool = False) -> RaisedRate | None:
        """Return what is the least likely by chance, if it is time to look, or this is the `last` time."""
        if self.runs < self._next_look and not last:
            return None
        while self._next_look <= self.runs:
            self._next_look *= BETWEEN_LOOKS
        return next(raised(self.marks, self.runs, self.before), None)

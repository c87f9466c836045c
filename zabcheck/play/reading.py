"""A reading: a run that is stepped through and does not go on, as of a trace nothing but its events is known.

It takes the acts of a desk (`zabcheck.play.desk`) that move through a run, and refuses the others.
"""

from bisect import bisect_right
from collections.abc import Iterator

from msgspec.structs import replace

from zabcheck.counterexample.forms import diagram
from zabcheck.counterexample.forms.page import heads_of, page, verdict
from zabcheck.counterexample.pieces import also_broken, labels_by_step
from zabcheck.counterexample.story import Flight, Story, states_after
from zabcheck.invariants import Verdict
from zabcheck.play.ahead import ROWS
from zabcheck.play.desk import ActRefused, Go, Redo, Undo, act_in
from zabcheck.play.regions import also, bar, picture, properties, state
from zabcheck.text.html import text
from zabcheck.text.words import counted

READ_ONLY = "this run is read only: nothing but its events is known"


class Reading:
    """A story, of which the first `here` rows are shown. `version` counts what was done.

    `command` opens it again. It begins where the witness is complete, or at the end.
    """

    def __init__(self, story: Story, command: str) -> None:
        self.story = story
        self.command = command
        self.version = 0
        self._steps = [moment.step for moment in story.moments]
        self.here = len(self._steps)
        self._since = {each.property: self._complete(each) for each in story.verdicts if each.violation is not None}
        if story.violation is not None:
            self.here = self._since[story.violation.property]

    def _complete(self, verdict: Verdict) -> int:
        """Return the number of rows after which a violation is seen: those up to the last event of its witness.

        A violation that only the end of the trace shows is seen at the end.
        """
        assert verdict.violation is not None
        places = [self.story.place_of(event) for event in verdict.violation.witness]
        if verdict.violation.detected is None or not places:
            return len(self._steps)
        return max(self._row_of(place) for place in places)

    def _row_of(self, place: int | None) -> int:
        return len(self._steps) if place is None else max(1, bisect_right(self._steps, place))

    def act(self, data: bytes) -> None:
        """Do what the JSON of an act says. Refused if it cannot be done; then nothing is changed."""
        end = len(self._steps)
        match act_in(data):
            case Undo():
                here = max(0, self.here - 1)
            case Redo():
                here = min(end, self.here + 1)
            case Go(None):
                here = end
            case Go(number) if number is not None and 0 <= number <= end:
                here = number
            case Go(number):
                raise ActRefused(f"expected a position from 0 to {end}, found {number}")
            case _:
                raise ActRefused(READ_ONLY)
        self.here = here
        self.version += 1

    def file(self, name: str) -> bytes:
        """Return the content of `run.html`, the page that stands alone. Refused if another one is asked for."""
        if name != "run.html":
            raise ActRefused(f"there is no file {name}")
        return page(self.story).encode()

    def seen(self) -> Story:
        """Return the story of the last rows up to here, some `ROWS`, with the violation once it is seen."""
        story, first = self.story, max(0, self.here - ROWS)
        moments = story.moments[first : self.here]
        is_seen = story.violation is not None and self._since[story.violation.property] <= self.here
        return replace(
            story,
            moments=moments,
            flights=tuple(_between(story.flights, moments[0].step, moments[-1].step)) if moments else (),
            initial=states_after(story, first - 1),
            violation=story.violation if is_seen else None,
            explanation=story.explanation if is_seen else (),
            decisive=story.decisive if is_seen else None,
        )

    def regions(self) -> dict[str, str]:
        """Return the content of each region of the page that changes, by its id. O(rows before here)."""
        story = self.seen()
        lanes = diagram.lanes_of(story)
        numbers = {step: number for number, step in enumerate(self._steps, 1)}
        drawn = diagram.draw(story, labels_by_step(story), {})
        rows, end = self.here, len(self._steps)
        where = f"row {rows} of {end}, {self.story.unit} {self._steps[rows - 1]}" if rows else "the beginning"
        return {
            "title": text(f"{story.protocol}, {counted(story.processes, 'process', 'processes')}, read only"),
            "verdict": self._verdict(story),
            "bar": bar(where, rows > 0, rows < end, "◀ back", "on ▶"),
            "picture": picture(story, lanes, drawn, numbers, heads_of(lanes), max(0, rows - ROWS)),
            "state": state(story),
            "properties": self._properties(),
            "again": text(self.command, len(self.command)),
        }

    def _verdict(self, story: Story) -> str:
        if story.violation is None and story.raised is None:
            later = self.story.violation is not None or self.here < len(self._steps)
            return f'<p class="summary fine">no property is violated{" up to here" if later else ""}</p>'
        if story.violation is None:
            return f'<p class="summary bad">{text(verdict(story))}</p>'
        said = f"<p>{text(' '.join(story.explanation))}</p>" if story.explanation else ""
        more = also([each for each in also_broken(story) if self._since[each.property] <= self.here])
        paper = f"<p><small>{text(story.violation.statement)} ({text(story.violation.source)})</small></p>"
        return f'<p class="summary bad">{text(f"{verdict(story)}: {story.violation.summary}.")}</p>{said}{more}{paper}'

    def _properties(self) -> str:
        end = len(self._steps)
        known = [each for each in self.story.verdicts if self._since.get(each.property, end) <= self.here]
        rest = "" if self.here == end else "<p>What is not listed is judged at the end.</p>"
        return f"{properties(known)}{rest}"


def _between(flights: tuple[Flight, ...], first: int, last: int) -> Iterator[Flight]:
    """Yield the messages that were under way between two steps, as they are known there."""
    for each in flights:
        end = each.received if each.lost is None else each.lost
        if (each.sent is not None and each.sent > last) or (end is not None and end < first):
            continue
        if end is not None and end > last:
            each = replace(each, received=None, lost=None)
        yield each if each.sent is None or each.sent >= first else replace(each, sent=None)

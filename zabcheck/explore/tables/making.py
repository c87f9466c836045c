"""What is otherwise made only as a part of an entry of the tables, made by itself.

That gives numbers, so it is in the journal. It is done where a search takes over what another process has filled in
(`merging`), and again where a search goes on from a checkpoint of that.
"""

from zabcheck.explore.tables.components import Components, Executed, Pair
from zabcheck.explore.tables.local_states import LocalStates
from zabcheck.explore.tables.monitors import Monitors
from zabcheck.explore.tables.renaming import Names


def executed(local_states: LocalStates, process: int, number: int, requests: int, before: Pair) -> Executed | None:
    """Return `Components.executed` of the choice with this number."""
    components, choice = local_states.components, local_states.choices[number]
    assert choice is not None, "no choice has the number 0"
    components.journal.append(("executed", (process, number, requests, before)))
    return components.executed(process, choice, requests, before)


def unread(components: Components, link: int) -> int:
    """Return `Components.unread`."""
    components.journal.append(("unread", (link,)))
    return components.unread(link)


def renamed_events(components: Components, events: int, names: Names) -> int:
    """Return `Components.renamed_events`."""
    components.journal.append(("events renamed", (events, names)))
    return components.renamed_events(events, names)


def judged(monitors: Monitors, place: int, number: int, events: int) -> int:
    """Return what the judge in this place knows after these events, if it knew before what has this number."""
    monitors.journal.append(("judged", (place, number, events)))
    judge = monitors.judges[place]
    return judge.after(number, judge.seen(events))

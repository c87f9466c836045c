"""The kinds of story that a page draws, from the plainest to what no page should choke on."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from msgspec.structs import replace

from invariants import Event, Header, Local, check
from tests.counterexample.stories import broken
from zabcheck.counterexample.explain import explain
from zabcheck.counterexample.story import Flight, HeldThread, Mismatch, Moment, RaisedException, Story
from zabcheck.counterexample.traced import story_of_trace
from zabcheck.papers.scenarios import SCENARIOS
from zabcheck.papers.scenarios.play import play
from zabcheck.protocols.adapter import imported
from zabcheck.search.run import replay, schedule_of
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import AnyChoice, Crash, Cut, Elect, Lead, Recover, Request, Settle
from zabcheck.simulation.schedule import Schedule

SCHEDULES = Path(__file__).parents[1] / "schedules"
USUAL = "no-truncation.primary-integrity"
"""A minimised counterexample of 20 choices."""
OTHERS = (
    "ack-before-sync.redelivery",
    "accept-equal-epoch.epoch-uniqueness",
    "keep-longer-history.chosen",
    "propose-to-acked-only.invariant-4",
    "stale-proposal-accepted.total-order",
    "count-acks-not-senders.invariant-5",
)
MARKUP = "<script>alert(1)</script>"
IMAGE = '<img src=x onerror="document.title=1">'
EVIL = "\x1b[2J\x00\r\n\u202e\ud800]]></script><!--'\"&amp;é" + MARKUP + IMAGE
ECHO = "tests.protocols.own.echo:Echo"


def saved(name: str) -> Schedule:
    """One of the minimised schedules."""
    return schedules.load((SCHEDULES / f"{name}.json").read_bytes(), name)


@cache
def minimised(name: str = USUAL) -> Story:
    return explain(saved(name))


@cache
def harmless(processes: int = 3) -> Story:
    """A run of the protocol as it is."""
    choices = (Lead(1, tuple(range(1, processes + 1))), Settle(6), Request(1, "x"), Settle(3), Crash(1), Recover(1))
    return explain(schedule_of("zab", None, processes, choices))


@cache
def own() -> Story:
    """A protocol of one's own that broadcasts, sends, keeps and is asked for markup; nothing of it is ever markup."""
    choices: Sequence[AnyChoice] = (
        Elect(1, 1),
        Elect(2, 1),
        Settle(3),
        Request(1, f"say {MARKUP}"),
        Request(1, f"keep {IMAGE}"),
        Settle(6),
        Cut(1, 2),
        Request(1, f"say {IMAGE}"),
        Crash(1),
        Recover(1),
        Request(2, f"deliver {MARKUP}{IMAGE}"),
    )
    return explain(schedule_of(imported(ECHO).name, None, 3, choices))


@cache
def hostile() -> Story:
    """Every text that can come from a user holds what no page may obey, and some are very long."""
    long = EVIL + "long" * 25_000

    def spoilt(moment: Moment) -> Moment:
        return replace(moment, sent=tuple((text + EVIL, to) for text, to in moment.sent), action=moment.action + long)

    story = broken(3, EVIL.replace("\ud800", ""))  # JSON holds no lone surrogate
    assert story.violation is not None
    return replace(
        story,
        protocol=f"mine:{EVIL}",
        mutant="mine",
        wrong=EVIL,
        violation=replace(story.violation, summary=long),
        moments=tuple(map(spoilt, story.moments)),
        flights=tuple(replace(flight, kind=flight.kind + EVIL, text=EVIL) for flight in story.flights),
        initial={
            process: {**state, f"a{EVIL}": long, "list": (EVIL, long)} for process, state in story.initial.items()
        },
        legend=((EVIL, ""),),
        settings=(EVIL,),
        explanation=(f"It went wrong: {EVIL}.", long),
        threads=(
            HeldThread("T1", 1, None, story.moments[4].step, "goes on", EVIL, (EVIL, long)),
            HeldThread("T2", 1, story.moments[1].step, None, "goes on", EVIL, ()),
            HeldThread("T3", 3, story.moments[2].step, story.moments[5].step, "killed", EVIL, (EVIL,)),
        ),
    )


@cache
def raised() -> Story:
    """The third transaction is too much."""
    choices = (Lead(1, (1, 2, 3)), Settle(4), *(Request(1, f"{value}{MARKUP}") for value in "abc"), Settle(9))
    story = explain(schedule_of(imported("tests.protocols.own.raising:Raising").name, None, 3, choices))
    assert story.raised is not None
    return story


def raised_badly() -> Story:
    return replace(raised(), raised=RaisedException(1, EVIL, EVIL, (EVIL, EVIL)))


def told(events: Sequence[Event], unit: str = "line", folded: bool = False) -> Story:
    """Return the story of a trace, its header first and its end last."""
    header = events[0]
    assert isinstance(header, Header)
    placed = list(enumerate(events, 1))[1:-1]
    return story_of_trace(header, placed, check(events), unit=unit, sha256="0" * 64, folded=folded)


@cache
def trace() -> Story:
    """The trace of the usual counterexample, without its schedule."""
    return told(replay(saved(USUAL)).events)


@cache
def merged() -> Story:
    """The same, one process behind the other, as logs hold it; what happened to the network no process tells."""
    header, *events, end = replay(saved(USUAL)).events
    assert isinstance(header, Header)
    local = sorted((event for event in events if isinstance(event, Local)), key=lambda event: event.process)
    return told([replace(header, order="per-process", schedule=None), *local, replace(end, count=len(local))], "event")


def long_schedule(requests: int) -> Schedule:
    """Return a run of so many requests, and then of a process that delivers one alone: about 12 steps a request."""
    everyone = (1, 2, 3)
    choices: list[AnyChoice] = [Lead(1, everyone), Settle(6)]
    for number in range(requests):
        choices += [Request(1, f"v{number}"), Settle(2)]
    choices += [Cut(1, 2), Cut(1, 3), Request(1, "lost"), Settle(1), Lead(2, (2, 3)), Settle(6), Request(2, "kept")]
    return schedule_of("zab", "commit-on-own-ack", 3, [*choices, Settle(4)])


@cache
def long() -> Story:
    """The story of a run of 2,000 steps, and a few more."""
    story = explain(long_schedule(197))
    assert 2000 <= len(story.moments) < 2020
    return story


@cache
def left_out() -> Story:
    """A trace so long that some of it is left out."""
    return told(replay(long_schedule(250)).events)


def empty() -> Story:
    """Nothing happened."""
    return explain(schedule_of("zab", None, 3, ()))


@cache
def differs() -> Story:
    """A real ensemble, all of whose texts are hostile, does what the run does not."""
    story = harmless()
    step = len(story.moments) + 1
    row = Moment(step, 2, None, f"→ p3 ACK({EVIL})", (), (), (), {}, {})
    sent = Flight(1 + max(each.number for each in story.flights), 2, 3, "ACK", EVIL, step)
    said = ("instead", (f"it would not {EVIL}", "nor" + EVIL))
    return replace(
        story,
        schedule=b"",
        moments=(*story.moments, row),
        flights=(*story.flights, sent),
        mismatch=Mismatch(2, "the servers differ", f"server 2 sent {EVIL}", f"not {EVIL}", (said, ("seen", (EVIL,)))),
    )


def argument() -> Story:
    """A run that a paper argues with, in which a property breaks."""
    return play(SCENARIOS["ladis-causal-violation"]).story


STORIES: Mapping[str, Callable[[], Story]] = {
    "usual": minimised,
    **{name: partial(minimised, name) for name in OTHERS},
    "own": own,
    "hostile": hostile,
    "raised": raised,
    "raised badly": raised_badly,
    "trace": trace,
    "merged": merged,
    "harmless": harmless,
    "one process": partial(harmless, 1),
    "seven processes": partial(broken, 7),
    "differs": differs,
    "argument": argument,
    "empty": empty,
    "left out": left_out,
    "long": long,
}
"""The stories, each by a name."""

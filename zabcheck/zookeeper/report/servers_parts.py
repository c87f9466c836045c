"""The part of an ensemble's servers in broken promises to its clients.

The clients see that a promise is broken; the recording of the servers may tell by which step. It is compared with the
model of their version (`zabcheck.zookeeper.conformance`) and with Zab, and with the signatures of known bugs.
"""

from collections.abc import Collection, Iterator

from zabcheck.counterexample.story import ServersPart, ServerStep
from zabcheck.search.run import replay_on
from zabcheck.zookeeper.conformance.conform import Conformance, conform
from zabcheck.zookeeper.model import ZOOKEEPER
from zabcheck.zookeeper.recording.records import Heard, Read, Replied, Requested
from zabcheck.zookeeper.report.departure import Departure, first_departure
from zabcheck.zookeeper.trace.observe import ObservedRun
from zabcheck.zookeeper.verdict.judge import RecordingVerdict


def servers_parts(judged: RecordingVerdict, but_for: Collection[str] = ()) -> dict[str, ServersPart]:
    """Return the part of the servers in each promise that is broken, but for some, by the property's name.

    A promise of which nothing is known is left out. Some tenths of a CPU second if a promise is broken.
    """
    broken = {
        each.property: each.violation for each in judged.clients if each.violation and each.property not in but_for
    }
    if not broken:
        return {}
    compared, departed = conform(judged.folder), first_departure(judged)
    breaks = tuple(_broken_by(compared))
    known = tuple(each.issue.name for each in judged.known)
    parts: dict[str, ServersPart] = {}
    for name, violation in broken.items():
        until = max((each.time for each in violation.witness if isinstance(each, _OF_CLIENTS)), default=None)
        steps = tuple(
            step for time, step in _steps(compared, departed, judged.observation) if not until or time <= until
        )
        if steps or known or compared.verdict == "conforms":
            parts[name] = ServersPart(steps, compared.verdict, breaks, known)
    return parts


_OF_CLIENTS = Requested | Replied | Heard | Read


def _broken_by(compared: Conformance) -> Iterator[str]:
    """Yield the properties that the run of the model breaks which explains a recording, if there is one."""
    if compared.schedule is not None:
        verdicts = replay_on(ZOOKEEPER, compared.schedule).verdicts
        yield from (each.property for each in verdicts if each.status == "violated")


def _steps(
    compared: Conformance, departed: Departure | None, observation: ObservedRun
) -> Iterator[tuple[int, ServerStep]]:
    """Yield the first steps that are none of the model, and none of Zab, with their times in microseconds."""
    for first in compared.differences[:1]:
        yield first.time, ServerStep("the model", first.server, first.what, first.source)
    if departed is not None:
        source = observation.sources[departed.place].words()
        step = ServerStep("Zab", departed.fault.event.process, departed.fault.words(), source)
        yield observation.times[departed.place], step

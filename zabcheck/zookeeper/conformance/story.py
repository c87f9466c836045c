"""The first difference of a real ensemble from the model, as the story of the model's run up to there.

The last row of the story is the ensemble's act instead. Servers are the story's processes.
"""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from zabcheck.counterexample.explain import explain_replay
from zabcheck.counterexample.story import Flight, Mismatch, Moment, Story
from zabcheck.protocols.switches import completed
from zabcheck.search.run import replay_on
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.schedule import Schedule
from zabcheck.text.words import counted, name
from zabcheck.zookeeper.conformance.conform import NOTHING, Conformance, SeenPacket, state_in_words
from zabcheck.zookeeper.model import ZOOKEEPER
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches


class Where(NamedTuple):
    """The first difference of servers from a run that they execute: after choice number `choice` (-1: at the start).

    `text` is that choice, `field` names the differing part of the server, and `model` and `seen` are its values.
    """

    choice: int
    text: str
    server: int
    field: str
    model: str
    seen: str


def of_recording(compared: Conformance) -> Story:
    """Make the story of a recording that is no run of the model, as far as the model explains it.

    O(choices × (servers + length of the histories)).
    """
    first, before = compared.differences[0], compared.before
    assert before is not None, "there is a difference"
    version = completed(before.switches, ZooKeeperSwitches).version
    observed = f"{first.explained} of {counted(first.observations, 'observation', 'observations')}"
    mismatch = Mismatch(
        first.server,
        "the recording is no run of the model",
        f"server {first.server}: nothing in the model of ZooKeeper {version} leads to {first.source}: {first.what}",
        "not in the model",
        _known(
            ("instead, in the model", first.guards or (() if first.earlier else (NOTHING,))),
            ("instead, one earlier", first.earlier),
            ("explained before", (f"{observed} of server {first.server}",)),
            (
                "differs, too",
                tuple(f"server {each.server}: {each.source}: {each.what}" for each in compared.differences[1:]),
            ),
            ("left open", compared.undecided),
            (f"server {first.server} then", (state_in_words(first),)),
        ),
    )
    sent = first.packet
    what = first.what if sent is None else f"→ {name(sent.to)} {sent.kind}({sent.text})".removesuffix("()")
    return _ending(before, mismatch, f"{what}, {first.source}", sent)


def of_execution(run: Schedule, executed: tuple[Choice, ...], where: Where, zookeeper: str) -> Story:
    """Make the story of servers of version `zookeeper` that execute a run of the model, up to where both first differ.

    `executed` are the choices of the run that the simulator executes. O(choices × length of the histories).
    """
    done = executed[: where.choice + 1]
    place = f"after choice {where.choice} of {len(executed)}, {where.text}" if done else "at the start"
    differs = f"{where.field}: the model has {where.model}, the server {where.seen}"
    mismatch = Mismatch(
        where.server,
        "the servers differ from the model",
        f"server {where.server} of ZooKeeper {zookeeper}, {place}: {differs}",
        where.field,
        _known(
            ("the choice", (f"{where.choice}, step {len(done)} below: {where.text}" if done else "",)),
            ("the model", (where.model,)),
            ("the server", (where.seen,)),
        ),
    )
    return _ending(replace(run, choices=done), mismatch, differs, None)


def _known(*facts: tuple[str, Iterable[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the facts that are not empty."""
    return tuple((kind, said) for kind, lines in facts if (said := tuple(filter(None, lines))))


def _ending(run: Schedule, mismatch: Mismatch, what: str, packet: SeenPacket | None) -> Story:
    """Make the story of a run of the model, with the server's own act as its last row; a packet is drawn as one sent.

    The parts of the servers may not fit together: choices that are not possible then are left out, and the facts say
    so.
    """
    replayed = replay_on(ZOOKEEPER, replace(run, violates=None), ())
    story = explain_replay(replayed)
    if replayed.skipped:
        said = f"{counted(replayed.skipped, 'choice', 'choices')}: the parts of the servers do not fit together"
        mismatch = replace(mismatch, facts=(*mismatch.facts, ("left out", (said,))))
    step = len(story.moments) + 1
    row = Moment(step, mismatch.process, None, what, (), (), (), {}, {})
    flights = story.flights
    if packet is not None:
        number = 1 + max((each.number for each in flights), default=0)
        flights += (Flight(number, mismatch.process, packet.to, packet.kind, packet.text, step),)
    return replace(story, moments=(*story.moments, row), flights=flights, schedule=b"", mismatch=mismatch)

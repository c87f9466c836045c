"""The choices that may be possible in a run at the moment, and why another is not."""

from collections.abc import Iterator

from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice, process_fields
from zabcheck.simulation.simulator import Simulator


def candidates(simulator: Simulator) -> Iterator[Choice]:
    """Yield the choices that may be possible now: those of the protocol first, then elections, then faults."""
    yield from _of_the_protocol(simulator)
    yield from _elections(simulator)
    for process in simulator.ids:
        yield from _faults(simulator, process)
    yield from _of_links(simulator)
    yield choices.Quiesce()


def _of_the_protocol(simulator: Simulator) -> Iterator[Choice]:
    for process, sender, _ in simulator.waiting():
        yield choices.Receive(process, sender)
    for process, sender, _ in simulator.hearing():
        yield choices.Hear(process, sender)
    for process in simulator.to_sync():
        yield choices.Sync(process)
    for process, thread in simulator.threads():
        yield choices.Run(process, thread)
    for process, peer in simulator.closed():
        yield choices.Notice(process, peer)
    for process in simulator.ids:
        if simulator.may_broadcast(process):
            yield choices.Request(process)


def _elections(simulator: Simulator) -> Iterator[Choice]:
    awake = [process for process in simulator.ids if simulator.is_up(process) and process not in simulator.paused]
    for leader in awake:
        yield choices.Lead(leader, tuple(process for process in awake if process != leader))


def _faults(simulator: Simulator, process: int) -> Iterator[Choice]:
    if not simulator.is_up(process):
        yield choices.Recover(process)
        yield choices.Wipe(process)
        return
    for keep in range(len(simulator.disks[process].unsynced) + 1):
        yield choices.Crash(process, keep)
    yield choices.Timeout(process)
    yield choices.Snapshot(process)
    yield choices.Wake(process) if process in simulator.paused else choices.Pause(process)


def _of_links(simulator: Simulator) -> Iterator[Choice]:
    obstructed = simulator.obstructed()
    for sender in simulator.ids:
        for receiver in simulator.ids:
            if sender != receiver:
                link = sender, receiver
                yield choices.Mend(*link) if link in obstructed else choices.Cut(*link)
    environment = simulator.protocol.environment
    for process, sender, _ in simulator.waiting():
        if not environment.fifo:
            yield choices.Overtake(sender, process)
        if environment.duplicates:
            yield choices.Duplicate(sender, process)
    yield choices.Heal()


def unknown(simulator: Simulator, choice: Choice) -> str:
    """Return which process `choice` names that the run has not, in a few words; "" if it has them all."""
    for field in process_fields(type(choice)):
        value = getattr(choice, field)
        for process in value if isinstance(value, tuple) else (value,):
            if process not in simulator.ids:
                return f"there is no p{process}"
    return ""


def obstacle(simulator: Simulator, choice: Choice) -> str:
    """Return why `choice`, which is not possible now and names processes of the run, is not."""
    kind = choice.__struct_config__.tag
    if simulator.stable:
        return "the environment has promised to leave the run alone"
    if kind in (*simulator.protocol.environment.never, *simulator.switches.never):
        return f"{simulator.protocol.name} has no choice `{kind}`"
    if isinstance(choice, choices.Receive | choices.Drain):
        return _why_none_comes(simulator, choice.process, choice.sender)
    process = getattr(choice, "leader" if isinstance(choice, choices.Lead) else "process", None)
    if process is None:
        return "it would change nothing"
    if isinstance(choice, choices.Recover | choices.Wipe):
        return f"p{process} is up" if simulator.is_up(process) else f"p{process} cannot"
    if not simulator.is_up(process):
        return f"p{process} is down"
    if process in simulator.paused:
        return f"p{process} is paused"
    if isinstance(choice, choices.Request):
        return f"p{process} takes no requests: it is not an established leader"
    return f"p{process} has nothing to do for it"


def why_it_waits(simulator: Simulator, process: int, sender: int) -> str:
    """Return why `process` cannot handle a message from `sender` that is under way yet."""
    return _why_nothing_comes(simulator, process, sender) or "what was sent before it comes first"


def _why_none_comes(simulator: Simulator, process: int, sender: int) -> str:
    none = f"no message from p{sender} to p{process} is under way"
    return _why_nothing_comes(simulator, process, sender) or none


def _why_nothing_comes(simulator: Simulator, process: int, sender: int) -> str:
    if not simulator.is_up(process):
        return f"p{process} is down"
    if process in simulator.paused:
        return f"p{process} is paused"
    if (sender, process) in simulator.obstructed():
        return f"the link from p{sender} to p{process} is obstructed"
    return ""

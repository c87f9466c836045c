"""Looks for a plan that is safe and comes to the same: another order of the steps, or one server at a time.

Each that it proposes has been judged like the plan itself.
"""

from collections.abc import Iterator
from itertools import permutations

import msgspec

from zabcheck.zookeeper.scaling.judge import Finding, judge
from zabcheck.zookeeper.scaling.plan import (
    AnyStep,
    Reconfigure,
    Restart,
    ScalePlan,
    Start,
    Step,
    Stop,
    changed,
    complaints,
)

MOST_REORDERED = 5
"""The most steps of which every order is judged."""
_REPAIRED = {"3.5": "3.5.9", "3.6": "3.6.2"}
"""By release line, the first release that keeps static lists (3829)."""


def safe_instead(plan: ScalePlan, found: tuple[Finding, ...]) -> ScalePlan | None:
    """Return the first plan that nothing is wrong with and that comes to the same; None if there is none of these.

    Settings change only if no order is safe with those of the plan.
    """
    for candidate in _candidates(plan, {finding.kind for finding in found}):
        if candidate.steps and not any(complaints(candidate)):
            judged = judge(candidate)
            if not judged.findings and not judged.outages:
                return candidate
    return None


def _candidates(plan: ScalePlan, kinds: set[str]) -> Iterator[ScalePlan]:
    voters, observers = aim(plan)
    repaired = [msgspec.structs.replace(plan, readonly=(), sync_enabled=True)]
    if "commits nothing" in kinds:
        release = _REPAIRED[plan.zookeeper[:3]]
        repaired = [msgspec.structs.replace(each, zookeeper=release) for each in repaired]
    for base in dict.fromkeys([plan, *repaired]):
        if len(base.steps) <= MOST_REORDERED:
            yield from (msgspec.structs.replace(base, steps=steps) for steps in permutations(base.steps))
        static = msgspec.structs.replace(base, steps=tuple(_one_by_one(base, voters, observers)))
        dynamic = msgspec.structs.replace(base, steps=tuple(_reconfigured(base, voters, observers)))
        yield from (dynamic, static) if base.reconfigures else (static, dynamic)
        if not base.reconfigures and not base.is_of("0", "3.5.0"):
            yield msgspec.structs.replace(dynamic, reconfig_enabled=True)


def aim(plan: ScalePlan) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the voters and the observers that the plan is to end with: those of its last list or reconfiguration.

    Where servers are reconfigured, a list of one that is started only says where it finds the others.
    """
    voters, observers = {*plan.voters}, {*plan.observers}
    is_reconfigured = any(isinstance(step, Reconfigure) for step in plan.steps)
    for step in plan.steps:
        if isinstance(step, Reconfigure):
            voters, observers = changed(step, voters, observers)
        elif (
            isinstance(step, Restart if plan.reconfigures else Restart | Start)
            and step.voters is not None
            and not is_reconfigured
        ):
            voters, observers = {*step.voters}, {*step.observers}
    return tuple(sorted(voters)), tuple(sorted(observers))


def _one_by_one(plan: ScalePlan, voters: tuple[int, ...], observers: tuple[int, ...]) -> Iterator[AnyStep]:
    """Yield the steps with lists in the configurations of the servers, each of one voter more or less."""
    now = [*plan.voters]
    there = {*plan.voters, *plan.observers}
    for new in (each for each in voters if each not in plan.voters):
        now.append(new)
        lists = tuple(sorted(now)), tuple(each for each in observers if each in there)
        if new not in there:
            yield Start(new, *lists)
            there.add(new)
        else:
            yield Restart(new, *lists)
        yield from (Restart(each, *lists) for each in sorted(there - {new}))
    for old in (each for each in plan.voters if each not in voters):
        now.remove(old)
        lists = tuple(sorted(now)), tuple(each for each in observers if each in there)
        yield from (Restart(each, *lists) for each in sorted(there - {old}))
        yield Stop(old)
        there.discard(old)
    for watcher in (each for each in observers if each not in there):
        yield Start(watcher, tuple(sorted(now)), observers)


def _reconfigured(plan: ScalePlan, voters: tuple[int, ...], observers: tuple[int, ...]) -> Iterator[Step]:
    """Yield the steps with a reconfiguration for each server; one that comes joins as an observer first."""
    now = {*plan.voters}
    for new in (each for each in (*voters, *observers) if each not in plan.voters):
        if new not in plan.observers:
            yield Start(new, tuple(sorted(now)), (new,))
        if new in voters:
            yield Reconfigure(add=(new,))
            now.add(new)
        elif new not in plan.observers:
            yield Reconfigure(observe=(new,))
    for old in (each for each in plan.voters if each not in voters):
        now.discard(old)
        if old in observers:
            yield Reconfigure(observe=(old,))
        else:
            yield Reconfigure(remove=(old,))
            yield Stop(old)

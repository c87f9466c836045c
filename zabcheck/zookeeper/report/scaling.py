"""The judgement of an operator's plan, for a terminal and as JSON: the steps, what is wrong, the run, a safe plan."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from rich.console import RenderableType

from zabcheck.campaign.report.sheets import Phrase, Sheet
from zabcheck.campaign.report.terminal import draw_sheets
from zabcheck.text.pen import Drawing
from zabcheck.text.words import counted
from zabcheck.zookeeper.scaling.judge import Finding, Judgement, Moment
from zabcheck.zookeeper.scaling.plan import AnyStep, Reconfigure, Restart, ScalePlan, Start


def as_json(plan: ScalePlan, judged: Judgement, instead: ScalePlan | None) -> dict[str, Any]:
    """Return the fields of the JSON result."""
    findings = [{**msgspec.to_builtins(each), "issue": each.issue} for each in judged.findings]
    return {
        "plan": plan,
        "safe": not judged.findings,
        "findings": findings,
        "outages": judged.outages,
        "states": judged.states,
        "instead": instead,
    }


def verdict(plan: ScalePlan, judged: Judgement) -> str:
    """Return the reason of the verdict."""
    if not judged.findings:
        return (
            f"no write is lost at any of {counted(len(plan.steps), 'step', 'steps')}, whoever is cut off or restarted"
        )
    first = next((each for each in judged.findings if each.kind == "lost write"), judged.findings[0])
    more = len(judged.findings) - 1
    return f"{_where(first.step)}: {_said(first)}" + (f"; and {more} more" if more else "")


def render(plan: ScalePlan, judged: Judgement, instead: ScalePlan | None) -> RenderableType:
    """Render the steps with what is wrong at each, the run that loses a write, and a plan that is safe."""
    sheets = [_steps(plan, judged)]
    sheets += [_run(each) for each in judged.findings if each.run]
    if instead is not None:
        sheets.append(_instead(plan, instead))
    return Drawing(lambda pen: draw_sheets(pen, sheets))


def _steps(plan: ScalePlan, judged: Judgement) -> Sheet:
    rows = []
    if early := [each for each in judged.findings if each.step == 0]:
        rows.append((Phrase("0"), Phrase("before the first step"), _finding(early[0])))
    for number, step in enumerate(plan.steps, 1):
        wrong = [_finding(each) for each in judged.findings if each.step == number]
        if number in judged.outages:
            wrong.append(Phrase("nobody can lead meanwhile", "warning"))
        first, *others = wrong or [Phrase("safe", "good")]
        if any(each.kind in _ENDS and each.step < number for each in judged.findings):
            first = Phrase("not reached")
        rows.append((Phrase(str(number)), Phrase(step_in_words(step)), first))
        rows += [(Phrase(""), Phrase(""), each) for each in others]
    start = f"ZooKeeper {plan.zookeeper}, voters {_list(plan.voters)}"
    start += f", observers {_list(plan.observers)}" if plan.observers else ""
    return Sheet("plan", "The plan", start, ("step", "what is done", "judged"), 3, rows)


_ENDS = ("lost write", "stuck", "refused", "standalone", "too few voters")
"""The findings behind which nothing is judged."""


def _finding(found: Finding) -> Phrase:
    return Phrase(_said(found), "bad")


def _run(found: Finding) -> Sheet:
    rows = [
        (Phrase(str(moment.step)), Phrase(moment_in_words(moment), "bad" if moment.kind == "loses" else ""))
        for moment in found.run
    ]
    note = "Whoever is not named is cut off, or slow."
    if found.bug:
        note += f" The run takes a bug of ZooKeeper: zabcheck zookeeper catalogue --bug {found.bug} --list"
    return Sheet("run", "A run that loses a write", note, ("after step", "what happens"), 2, rows)


def _instead(plan: ScalePlan, instead: ScalePlan) -> Sheet:
    rows = [(Phrase(str(number)), Phrase(step_in_words(step))) for number, step in enumerate(instead.steps, 1)]
    return Sheet("instead", "Safe instead", "; ".join(_settings(plan, instead)), ("step", "what is done"), 2, rows)


def _settings(plan: ScalePlan, instead: ScalePlan) -> Iterator[str]:
    """Yield what is to be changed before the first step."""
    if instead.zookeeper != plan.zookeeper:
        yield f"first upgrade to ZooKeeper {instead.zookeeper}"
    if instead.reconfigures and not plan.reconfigures:
        yield "with reconfigEnabled=true at all servers"
    if instead.sync_enabled != plan.sync_enabled:
        yield (
            "first restart the observers with zookeeper.observer.syncEnabled=true, one by one, each with an empty data "
            "directory"
        )
    if instead.readonly != plan.readonly:
        yield f"first make the configuration folder of {_list(plan.readonly)} writable"
    if not tuple(_changes(plan, instead)):
        yield (
            "the same steps in another order"
            if sorted(map(repr, plan.steps)) == sorted(map(repr, instead.steps))
            else "one server at a time"
        )


def _changes(plan: ScalePlan, instead: ScalePlan) -> Iterator[str]:
    for field in ("zookeeper", "reconfig_enabled", "sync_enabled", "readonly"):
        if getattr(plan, field) != getattr(instead, field):
            yield field


def step_in_words(step: AnyStep) -> str:
    """Return a step of a plan as an order."""
    match step:
        case Reconfigure(add=add, observe=observe, remove=remove):
            parts = [
                f"{said} {_list(servers)}"
                for said, servers in (("add", add), ("add as observers", observe), ("remove", remove))
                if servers
            ]
            return f"reconfigure: {', '.join(parts)}"
        case (
            Start(server=server, voters=voters, observers=observers)
            | Restart(server=server, voters=tuple() as voters, observers=observers)
        ):
            lists = f"with the list {_list(voters)}" + (f", observers {_list(observers)}" if observers else "")
            wait = "" if step.wait else ", without waiting for it"
            return f"{'start' if isinstance(step, Start) else 'restart'} {server} {lists}{wait}"
        case Restart(server=server):
            return f"restart {server}" + ("" if step.wait else ", without waiting for it")
        case _:
            return f"stop {step.server}"


def moment_in_words(moment: Moment) -> str:
    """Return a moment of a run as a sentence."""
    server, servers, voters = moment.server, _list(moment.servers), _list(moment.voters)
    of = f"{len(moment.servers)} of {len(moment.voters)} in its list {voters}"
    match moment.kind:
        case "stops":
            return f"server {server} stops"
        case "starts":
            return f"server {server} starts" + (f" with the list {voters}" if moment.voters else "")
        case "joins":
            return f"server {server} is brought up to date by a leader with {servers}"
        case "asks":
            return f"server {server}, which leads, is asked for the voters {voters}; it has logged that, nobody else"
        case "learns":
            return f"server {server} comes back to that leader, and takes the voters {voters} for active"
        case "commits":
            return f"{servers} have acknowledged the voters {voters}, which are active from now on"
        case "forgets":
            return f"server {server} is started again with the list {voters}, as it could not write the later one"
        case "leads":
            return f"server {server} leads with {servers}: {of}"
        case "acknowledges":
            return f"a write is acknowledged: {servers} have it, nobody else"
        case "loses":
            return f"server {server} is elected by {servers}: {of}; none of them has the write, which is lost"


def _said(found: Finding) -> str:
    """Return what is wrong, without a full stop."""
    issue = f" ({found.issue})" if found.issue else ""
    match found.kind:
        case "lost write":
            _, acknowledged = [each for each in found.run if each.kind in ("leads", "acknowledges")]
            lost = found.run[-1]
            return f"{_list(acknowledged.servers)} acknowledge a write, {_list(lost.servers)} elect without it{issue}"
        case "stuck" if found.server is None:
            return "no leader with quorums of both lists can be had, and the request is refused"
        case "stuck":
            return f"server {found.server} finds no leader that it can follow"
        case "refused":
            return "refused: reconfigurations are disabled (reconfigEnabled), or not in this release"
        case "standalone":
            return "refused: a server with one voter in its list is standalone (standaloneEnabled)"
        case "too few voters":
            return "refused: too few voters would be left (standaloneEnabled)"
        case "overruled":
            return f"server {found.server} takes over the list of the ensemble, the new one has no effect{issue}"
        case "commits nothing":
            return f"a leader that the old list lacks may lead from here on, and commit nothing{issue}"
        case "unlogged voter":
            return f"server {found.server} becomes a voter without its log, and lacks writes for good{issue}"


def _where(step: int) -> str:
    return f"step {step}" if step else "before step 1"


def _list(servers: Sequence[int]) -> str:
    return f"{{{','.join(map(str, servers))}}}"

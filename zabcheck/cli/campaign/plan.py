"""Makes the plan of a campaign from the options of `zabcheck campaign`."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from secrets import randbelow
from typing import TYPE_CHECKING, Any

from zabcheck.cli.campaign.report import needed
from zabcheck.cli.commands import STEPS, BadInput, named
from zabcheck.cli.files import bad_input_for
from zabcheck.invariants import select
from zabcheck.invariants.quorums import quorums_of
from zabcheck.mutants.catalogue import bugs_of, mutated
from zabcheck.protocols.switch_settings import switches_of
from zabcheck.text.nodes import untrusted

if TYPE_CHECKING:
    from zabcheck.campaign.plan import Plan
    from zabcheck.campaign.store import Store

RUNS = 10_000
MINIMISE = 100
UNPLANTED = "none"
"""Names the protocol as it is, among mutants."""
ALL = "all"


class KeptRuns(StrEnum):
    """The runs whose events are stored."""

    events = "events"
    violations = "violations"
    none = "none"


def new_plan(wishes: Mapping[str, Any]) -> "Plan":
    """Return the plan of a new campaign. BadInput for a name or value that does not exist."""
    with needed():
        from zabcheck.campaign.plan import VERSION, Plan, runs_a_part
    protocol = named(wishes.get("protocol"), wishes.get("exec"))
    runs = wishes.get("runs", RUNS)
    mutants = tuple(_mutants(protocol, wishes.get("mutant", [UNPLANTED])))
    with bad_input_for(ValueError):
        checked = [mutated(protocol, mutant) for mutant in mutants]
        kinds = select(wishes.get("property") or checked[0].properties)
    with bad_input_for(ValueError, "--switch: "):
        switches = switches_of(wishes.get("switch", ()), checked[0])
    processes, quorums = wishes.get("processes"), wishes.get("quorums")
    if quorums is not None:
        if processes is None:
            raise BadInput(f"--quorums {quorums}: expected --processes, too")
        with bad_input_for(ValueError, "--quorums: "):
            quorums_of(quorums, processes)
    seed = wishes.get("seed", randbelow(2**32))
    minimise = wishes.get("minimise", str(MINIMISE))
    if minimise != ALL and not (minimise.isascii() and minimise.isdigit()):
        raise BadInput(f"--minimise {minimise}: expected a number, or `{ALL}`")
    return Plan(
        VERSION,
        protocol,
        mutants,
        seed,
        runs,
        runs_a_part(runs),
        wishes.get("keep", KeptRuns.events.value),
        wishes.get("steps", STEPS),
        processes,
        quorums,
        tuple(kind.name for kind in kinds),
        switches,
        None if minimise == ALL else int(minimise),
    )


def _mutants(protocol: str, wanted: Sequence[str]) -> list[str | None]:
    """Return the mutant that each name stands for, None for "none". Unknown names are not noticed here."""
    if ALL not in wanted:
        return [None if name == UNPLANTED else name for name in dict.fromkeys(wanted)]
    with bad_input_for(ValueError):
        known = list(bugs_of(mutated(protocol)))
    if not known:
        raise BadInput(f"--mutant {ALL}: protocol `{protocol}` has no known bugs")
    names = [name for each in wanted for name in (known if each == ALL else [each])]
    return [None if name == UNPLANTED else name for name in dict.fromkeys(names)]


def resumed_plan(store: "Store", wishes: Mapping[str, Any]) -> "Plan":
    """Return the plan of the campaign in the folder. BadInput if an option asks for something else."""
    plan = store.plan()
    if plan is None:
        raise BadInput(f"--resume: {store.place} holds no campaign")
    known = {"protocol": plan.protocol, "processes": plan.processes}  # other options are checked against these
    if why := untrusted(plan.protocol):
        if "exec" not in wishes and "protocol" not in wishes:
            raise BadInput(f"--resume: {why}")
        known.pop("protocol")
    wanted = new_plan({**{name: wish for name, wish in known.items() if wish is not None}, **wishes})
    if wanted.protocol != plan.protocol and "exec" in wishes:
        had = f"the campaign in {store.place} is of {plan.protocol}"
        raise BadInput(f"--exec {wishes['exec']}: {had}; name another --out")
    for name, option in _OPTIONS.items():
        if option in wishes and getattr(wanted, name) != getattr(plan, name):
            wish = wishes[option]
            said = " ".join(wish) if isinstance(wish, list) else wish
            had = _as_said(getattr(plan, name))
            raise BadInput(
                f"--{option} {said}: the campaign in {store.place} has {had}; leave it out, or name another --out"
            )
    return plan


def _as_said(value: Any) -> str:
    """Return the value of a plan's field as a user would write it."""
    if value is None or value == {}:
        return "none"
    if isinstance(value, tuple):
        return ", ".join(_as_said(each) for each in value)
    return ", ".join(f"{name}={each}" for name, each in value.items()) if isinstance(value, dict) else str(value)


_OPTIONS = {
    "protocol": "protocol",
    "mutants": "mutant",
    "seed": "seed",
    "runs": "runs",
    "keep": "keep",
    "steps": "steps",
    "processes": "processes",
    "quorums": "quorums",
    "properties": "property",
    "switches": "switch",
    "minimise": "minimise",
}
"""The option that decides each field of a plan."""

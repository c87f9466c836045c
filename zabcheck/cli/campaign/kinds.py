"""The two kinds of campaigns, of the swarm and on simulated servers of ZooKeeper, as the command makes them."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from zabcheck.campaign.report.terminal import render_short
from zabcheck.cli.campaign import on_servers
from zabcheck.cli.campaign.plan import new_plan, resumed_plan
from zabcheck.cli.campaign.report import fields, make, outcome
from zabcheck.cli.commands import Format
from zabcheck.cli.next_step import another, source
from zabcheck.cli.output import make_console, print_json, print_path
from zabcheck.cli.verdict import conclude

if TYPE_CHECKING:
    from zabcheck.campaign.plan import Plan


class Kind(NamedTuple):
    """A kind of campaign, which has plans of its own: what the command has to do with one, each a function.

    `new` returns the plan that is wished for, `stored` that of a folder, or None, and `resumed` that of a folder with
    which the wishes agree. `runs` is the number of its runs, and `source` has the options without which its files are
    not read. `make` makes the missing parts; `report` prints what they show, and returns the exit code.
    """

    new: Callable[[Mapping[str, Any]], Any]
    stored: Callable[[Any], Any]
    resumed: Callable[[Any, Mapping[str, Any]], Any]
    runs: Callable[[Any], int]
    source: Callable[[Any], Mapping[str, str]]
    make: Callable[[Any, Any, Any, Any], object]
    report: Callable[[str, Format], int]


def _make(spark: Any, store: Any, plan: "Plan", show: Any) -> None:
    from zabcheck.campaign import driver

    driver.run(spark, store, plan, show)


def _report(place: str, format: Format) -> int:
    report, tables = make(place, None)
    code, why = outcome(report)
    if format is Format.json:
        print_json("campaign", **fields(report, tables))
        return code
    console = make_console()
    console.print(render_short(report), crop=False)
    console.print()
    print_path(console, f"wrote {place}")
    return conclude(console, code, why, another("campaign", "report", place))


OF_THE_SWARM = Kind(
    new_plan,
    lambda store: store.plan(),
    resumed_plan,
    lambda plan: plan.runs,
    lambda plan: source(plan.protocol),
    _make,
    _report,
)
ON_SERVERS = Kind(
    on_servers.new_plan,
    on_servers.stored_plan,
    on_servers.resumed_plan,
    lambda plan: plan.total,
    lambda _: {},
    on_servers.make,
    on_servers.report,
)

"""docs/scenarios.md has the catalogue of scenarios, what one of them prints, and what a search finds."""

from pathlib import Path

from docs.generators.output import DOCS, read, zabcheck
from zabcheck.counterexample.forms.exports import TEXT_WIDTH
from zabcheck.counterexample.forms.terminal import to_text
from zabcheck.counterexample.making import counterexample
from zabcheck.papers.scenarios import SCENARIOS
from zabcheck.papers.scenarios.base import HandWrittenTrace, Scenario
from zabcheck.protocols import PROTOCOLS
from zabcheck.search.run import Search
from zabcheck.search.swarm import find

PAGE = DOCS / "scenarios.md"
SHOWN = "dsn-figure-4"
LETTER, BROKEN = "ladis-2008", "zxid uniqueness"


def made() -> dict[Path, str]:
    """Return the page, with what is generated between its comments."""
    places = {
        "found": f"```text\n{found()}```",
        "printed": f"`zabcheck scenario {SHOWN}`, without the steps and verdicts:\n\n```text\n{printed()}```",
        "all": "\n".join((HEAD, *map(row, SCENARIOS.values()))),
    }
    text = read(PAGE)
    for place, content in places.items():
        before, begin, rest = text.partition(f"<!-- {place} -->\n")
        _, end, after = rest.partition("<!-- end -->\n")
        assert begin, place
        assert end, place
        text = f"{before}{begin}{content}\n{end}{after}"
    return {PAGE: text}


def printed() -> str:
    """Return what the scenario that is shown prints before its run, and its verdict."""
    whole = zabcheck("scenario", SHOWN, codes=(0,))
    return f"{whole.partition(f'{chr(10)}run ')[0]}\n{whole.splitlines()[-1]}\n"


HEAD = "| scenario | run | violated |\n|---|---|---|"


def row(scenario: Scenario) -> str:
    """Return the row about one scenario: its title, its run, and the property that must be violated."""
    run = scenario.run
    if isinstance(run, HandWrittenTrace):
        how = "a trace written by hand"
    else:
        how = f"`{run.protocol}`" + (f" with `{run.mutant}`" if run.mutant else "")
    cells = f"`{scenario.name}`: {scenario.title}", how, scenario.outcome.violated or ""
    return f"| {' | '.join(cells)} |"


def found() -> str:
    """Return the counterexample that a search finds in the letter of LADIS 2008."""
    broken = find(Search(PROTOCOLS[LETTER], 3, (BROKEN,), runs=100, rng=1))
    assert broken is not None
    _, story = counterexample(broken)
    return to_text(story, TEXT_WIDTH, file="")

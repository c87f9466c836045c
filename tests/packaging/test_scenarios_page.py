"""In docs/scenarios.md the catalogue of scenarios, what one of them prints, and what a search finds, are generated.

python -m tests.packaging.test_scenarios_page
"""

from pathlib import Path

from tests.cli.command import process
from zabcheck.counterexample.forms.exports import TEXT_WIDTH
from zabcheck.counterexample.forms.terminal import to_text
from zabcheck.counterexample.making import counterexample
from zabcheck.protocols import PROTOCOLS
from zabcheck.scenarios import SCENARIOS
from zabcheck.scenarios.base import Scenario, Written
from zabcheck.search.run import Search
from zabcheck.search.swarm import find

PAGE = Path(__file__).parents[2] / "docs/scenarios.md"
SHOWN = "ladis-figure-4-kept"
LETTER, BROKEN = "ladis-2008", "zxid uniqueness"


def entry(scenario: Scenario) -> str:
    run = scenario.run
    what = "A trace written by hand" if isinstance(run, Written) else f"Protocol `{run.protocol}`"
    bug = f", with the known bug `{run.mutant}`" if not isinstance(run, Written) and run.mutant else ""
    outcome = "".join(f"- {sentence}\n" for sentence in scenario.outcome.sentences())
    title = scenario.title if scenario.title.endswith("?") else f"{scenario.title}."
    return f"""### {scenario.name}

{title[0].upper()}{title[1:]} {scenario.source}. {what}{bug}.

{scenario.shows}

{outcome}"""


def found() -> str:
    """The counterexample of a search in the letter of LADIS 2008."""
    broken = find(Search(PROTOCOLS[LETTER], 3, (BROKEN,), runs=100, rng=1))
    assert broken is not None
    _, story = counterexample(broken)
    return to_text(story, TEXT_WIDTH, file="")


def printed(folder: Path) -> str:
    """What the command prints for one of them."""
    done = process("scenario", SHOWN, cwd=folder)
    assert done.code == 0, done.err
    return "".join(f"{line.rstrip()}\n" for line in done.out.splitlines())


def page(folder: Path) -> str:
    """The page, with what is generated in its places."""
    places = {
        "found": f"```text\n{found()}```",
        "printed": f"`zabcheck scenario {SHOWN}`:\n\n```text\n{printed(folder)}```",
        "all": "\n".join(map(entry, SCENARIOS.values())).rstrip(),
    }
    text = PAGE.read_text(encoding="utf-8")
    for place, content in places.items():
        before, begin, rest = text.partition(f"<!-- {place} -->\n")
        _, end, after = rest.partition("<!-- end -->\n")
        assert begin, place
        assert end, place
        text = f"{before}{begin}{content}\n{end}{after}"
    return text


def test_the_page_is_up_to_date(tmp_path: Path) -> None:
    assert PAGE.read_text(encoding="utf-8") == page(tmp_path)


if __name__ == "__main__":
    PAGE.write_text(page(Path.cwd()), encoding="utf-8")

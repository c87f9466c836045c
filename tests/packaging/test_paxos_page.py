"""What docs/paxos.md shows is what the commands print.

python -m tests.packaging.test_paxos_page
"""

import re

from tests.packaging.test_counterexamples_page import ROOT, printed
from zabcheck.protocols import PROTOCOLS

PAGE = ROOT / "docs/paxos.md"
COMMAND = re.compile(r"```text\n(\$ .*)\n(?:.*\n)*?```\n")


def page() -> str:
    """The page with what is printed now."""
    text = PAGE.read_text(encoding="utf-8")
    return COMMAND.sub(lambda found: f"```text\n{found[1]}\n{printed(found[1].removeprefix('$ '))}```\n", text)


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_kind_of_paxos_is_on_the_page() -> None:
    kinds = re.findall(r"^\| `(\w[\w-]*)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(kinds) == sorted(name for name in PROTOCOLS if name == "zab" or name.startswith("paxos"))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

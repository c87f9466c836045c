"""docs/paxos.md shows what its commands print."""

import re

from docs.generators.paxos import PAGE
from zabcheck.protocols import PROTOCOLS


def test_every_kind_of_paxos_is_on_the_page() -> None:
    kinds = re.findall(r"^\| `(\w[\w-]*)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(kinds) == sorted(name for name in PROTOCOLS if name == "zab" or name.startswith("paxos"))

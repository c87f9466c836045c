"""Lists of children are judged as one would who knows which changes there were."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.zookeeper.clients.histories import History, stat
from tests.zookeeper.clients.test_division import divided
from tests.zookeeper.clients.test_screen import ended, is_judged_alike
from zabcheck.zookeeper.clients.children import lists
from zabcheck.zookeeper.clients.history import Answer
from zabcheck.zookeeper.clients.judge import judge
from zabcheck.zookeeper.clients.promise import Findings
from zabcheck.zookeeper.clients.tree import Tree


class Family:
    """A random history of a node whose children come and go, and of lists of them, some of which are wrong."""

    def __init__(self, seed: int, is_known: bool) -> None:
        self.random = Random(seed)
        self.history = History() if is_known else History(complete=())
        self.client, self.other = self.history.client(1), self.history.client(2)
        self.client.create("/p", 2)
        self.zxid, self.below, self.cversion = 2, 2, 0
        self.names: set[str] = set()
        self.hidden = 0
        """The changes since the last list with a cversion that no answer tells of."""
        self.error: set[str] = set()
        """The names that were wrong in that list."""
        self.odd: set[str] = set()
        """The names that were created, or deleted, though by that list they were there already, or were not."""
        self.wrong: set[int] = set()
        """The lists that the history shows to be wrong, or that the one before was."""
        for _ in range(60):
            self.zxid += 1
            name, drawn = self.random.choice("abcd"), self.random.random()
            if drawn < 0.4:
                self._list(name, is_known)
            else:
                self._change(name, is_open=not is_known and drawn < 0.5)

    def _change(self, name: str, is_open: bool) -> None:
        op = "delete" if name in self.names else "create"
        if is_open:
            self.other.ask(op, f"/p/{name}")
            self.other.again()
        elif op == "create":
            self.client.create(f"/p/{name}", self.zxid)
        else:
            self.client.delete(f"/p/{name}", self.zxid)
        if not is_open or self.random.random() < 0.5:
            self.names ^= {name}
            self.odd ^= self.error & {name}
            self.below, self.cversion, self.hidden = self.zxid, self.cversion + 1, self.hidden + is_open

    def _list(self, name: str, is_known: bool) -> None:
        error = {name} if self.random.random() < 0.3 else set()
        shown = self.random.choice(("cversion", "stat", "names") if is_known else ("cversion", "stat"))
        fields: dict[str, Any] = {"cversion": self.cversion} if shown == "cversion" else {}
        of = None if shown == "names" else stat(2, 2, self.below, **fields)
        asked = self.other.ask("getChildren", "/p")
        self.other.answer(asked, self.zxid, children=tuple(sorted(self.names ^ error)), stat=of)
        if error if is_known else fields and not self.hidden and not self.odd and error != self.error:
            self.wrong.add(asked)
        if fields:
            self.hidden, self.error, self.odd = 0, error, set()


@pytest.mark.parametrize("is_known", [True, False])
def test_just_the_wrong_lists_that_the_known_changes_decide_are_told(is_known: bool, tmp_path: Path) -> None:
    told = 0
    for seed in range(8):
        family, found = Family(seed, is_known), Findings()
        exchange = family.history.exchange()
        lists(exchange, Tree(exchange), found)
        answers = [each.witness[-1] for each in found.breaches]
        assert {each.xid for each in answers if isinstance(each, Answer)} == family.wrong
        told += len(answers)
        if seed < 2:
            lines = ended(family.history.lines)
            assert is_judged_alike(lines) == (not family.wrong)
            assert divided(lines, tmp_path) == judge(exchange)
    assert told > 20

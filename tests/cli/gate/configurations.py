"""Tables of `[tool.zabcheck]` with a known outcome, a protocol of a user's own, and what to ask of a result."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.command import Result
from zabcheck.mutants.catalogue import CATALOGUE

OF_ZAB = [name for name, mutant in CATALOGUE.items() if mutant.protocol == "zab"]
PASSES = 'protocols = ["zab"]\nruns = 20\ngoals = ["three epochs"]\nkills = ["commit-on-own-ack"]\n'
NOT_EXERCISED = 'protocols = ["zab"]\nruns = 1\nsteps = 1\ngoals = ["truncation"]\n'
SURVIVES = 'protocols = ["zab"]\nruns = 3\nproperties = ["integrity"]\nkills = ["counter-wraps"]\n'
FOUND_TWICE = 'protocols = ["mine_here:Mine"]\nproperties = ["zxid uniqueness"]\nseeds = [1, 2]\n'
OWN = """
import zabcheck

class Mine(zabcheck.Process):
    messages = ()

    def on_elected(self, leader):
        if self.leads:
            self.ready(1)

    def on_request(self, value):
        txn = zabcheck.Txn(zabcheck.Zxid(1, 1), self.changed(value))
        self.broadcast(txn)
        self.deliver(txn)

    def changed(self, value):
        return value

class Evil(Mine):
    def changed(self, value):
        return value + "]]>|<b>&`\\n\\x00\\x1b[2J%0A::error::,"

class Raising(Mine):
    def changed(self, value):
        return {}[value]

class Inventive(Mine):
    def on_request(self, value):
        self.deliver(zabcheck.Txn(zabcheck.Zxid(1, 1), value))

class Stuck(Mine):
    def changed(self, value):
        while True:
            pass

class Moody(Mine):
    calls = 0

    def changed(self, value):
        Moody.calls += 1
        if Moody.calls == 1:
            raise KeyError("once")
        return value
"""

Gate = Callable[..., Result]
"""The command with a table as its configuration: the fixture `gate`."""


def outcomes(document: dict[str, Any], *statuses: str) -> list[str]:
    return [f"{each['suite']}: {each['name']}" for each in document["outcomes"] if each["status"] in statuses]


def names_of(folder: Path) -> list[str]:
    """The files, but for those that every test has."""
    ours = ("pyproject.toml", "mine_here.py", "__pycache__")
    return sorted(file.name for file in folder.iterdir() if file.name not in ours)

"""The switches that only the protocol `zookeeper` has: which release it is, with which defects, and how fine."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from zabcheck.protocols.switches import COUNTER_LIMIT, Switches

Release = Literal[
    "3.3.1",
    "3.4.0-rc0",
    "3.4.2",
    "3.4.10",
    "3.5.0",
    "3.5.2",
    "3.5.3",
    "3.5.5",
    "3.6.3",
    "3.8.0",
    "3.8.4",
    "3.9.2",
    "3.9.3",
    "3.9.5",
    "master",
    "pr-1130",
    "pr-2172",
    "pr-2268",
    "pr-2459",
]
"""The versions of ZooKeeper: releases, master as of July 2026, and 3.9.5 with a pull request.

3.5.0 to 3.5.3 are only of the protocol `zookeeper-reconfiguration`, which has none before these.
"""

Defects = Literal[
    "all",
    "none",
    "335",
    "790",
    "962",
    "1154",
    "1264",
    "1282",
    "1319",
    "1343",
    "1489",
    "1653",
    "1784",
    "2172",
    "2355",
    "2832",
    "2845",
    "2846",
    "2872",
    "2959",
    "3023",
    "3104",
    "3598",
    "3642",
    "3911",
    "4311",
    "4394",
    "4409",
    "4643",
    "4646",
    "4685",
    "4712",
    "4712c",
    "4837",
    "4882",
    "4925",
    "5094",
    "n1",
    "n2",
    "n3",
    "n4",
]
"""The known defects that a version has: all, none, or one alone, by the number of its ZOOKEEPER issue."""

Grain = Literal["G0", "G1", "G2", "G3", "G4", "G5"]
"""The granularity of the protocol `zookeeper`: which queues of a server are emptied by choices of their own."""


class ZooKeeperSwitches(Switches, frozen=True):
    """The switches of a run of ZooKeeper: the common ones, and its own."""

    version: Release = "3.9.5"
    defects: Defects = "all"
    window: Annotated[int, Meta(ge=1, le=COUNTER_LIMIT)] = 500
    grain: Grain = "G0"
    errors: Literal["handled", "raised"] = "handled"

    meanings: ClassVar[Mapping[str, str]] = {
        **Switches.meanings,
        "version": "only of zookeeper and zookeeper-reconfiguration: the release",
        "defects": "only of zookeeper and zookeeper-reconfiguration: which of the release's known defects it has",
        "window": "only of zookeeper and zookeeper-reconfiguration: how many transactions a server keeps in "
        "memory for synchronising others (committedLog)",
        "grain": "only of the protocol zookeeper: which threads are choices of their own: none (G0), the main thread's "
        "writes (G1), also the logging (G2), the applying (G3), and those that outlive an iteration (G4); with what "
        "only recordings of real servers need (G5)",
        "errors": "only of the protocol zookeeper: a server goes on with what its code has for an error, as it is "
        "written (handled), or that ends the run, as a step that raises (raised)",
    }
    set_back: ClassVar[tuple[str, ...]] = (*Switches.set_back, "window", "grain")

    @property
    def ends_at_errors(self) -> bool:
        return self.errors == "raised"


LETTER = ZooKeeperSwitches()
"""The letter of the paper, in the latest release."""

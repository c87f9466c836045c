"""Scenarios: runs that the papers argue with, each as data with the outcome that it must have.

Each module has the scenarios of one source. To add one, write a module with a tuple `SCENARIOS`, and name it below.
"""

from zabcheck.papers.scenarios import atc_2012, dsn_2011, joining, ladis_2008, paxos, redelivery
from zabcheck.papers.scenarios.base import Scenario

MODULES = (ladis_2008, redelivery, dsn_2011, joining, atc_2012, paxos)

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for module in MODULES for scenario in module.SCENARIOS}
"""By name, in the order of the sources."""

"""What holds for all tests: no run leaves anything that another finds, none is timed, and what is collected stays.

A test of any input (`@given`) tries few in the normal tier; the slow tier runs it again and tries many.

The garbage collector rests while pytest collects, and passes over all of that afterwards: thousands of tests and their
modules live until the end. Otherwise each worker goes through them again and again, which takes it some 3 CPU seconds.
Then it runs as seldom as in a search.

In the normal tier one worker runs all tests of a file. They share fixtures, imports and caches, which each worker would
make for itself otherwise. A file of the slow tier may take as long as half of that tier, so its tests are distributed.
"""

import gc
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

gc.disable()
# Hypothesis reads all modules of zabcheck for their constants: processes that tests start have that from here, too.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(Path(__file__).parents[1] / ".hypothesis"))

ALIKE = settings(database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("normal", ALIKE, max_examples=20)
settings.register_profile("thorough", ALIKE, max_examples=150)
settings.load_profile("normal")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(500_000)
    gc.enable()


@pytest.hookimpl(optionalhook=True)  # there may be no xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return what distributes the tests of the normal tier: by group, and the others by file."""
    if config.option.dist != "loadgroup" or "not slow" not in config.option.markexpr:
        return None
    from xdist.scheduler import LoadGroupScheduling

    class ByFile(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            group = str(super()._split_scope(nodeid))
            return nodeid.partition("::")[0] if group == nodeid else group

    return ByFile(config, log)

"""Rules for all tests: no run leaves anything that another finds, none is timed, and what is collected stays.

A test of any input (`@given`) tries few in the normal tier; the slow tier runs it again and tries many. They are the
same each time, so that what fails fails again.

The garbage collector rests while pytest collects, and all of that is old afterwards: thousands of tests and their
modules live until the end. What is old is gone through only if very much is made, and not five times at the end, as
pytest would have it: all tests together leave little that only the collector can free.

A worker tells the process that distributes the tests of one that passes only once: xdist would send six messages.

In the normal tier one worker runs all tests of a file. They share fixtures, imports and caches, which each worker would
make for itself otherwise. A file of the slow tier may take as long as half of that tier, so its tests are distributed.
"""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from zabcheck.protocols import adapter

gc.disable()
# Hypothesis reads all modules of zabcheck for their constants: processes that tests start have that from here, too.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(Path(__file__).parents[1] / ".hypothesis"))

REAL, SIMULATED = "zookeeper", "simulated"
"""The tier of real servers, and the group of those that are simulated."""
ALIKE = settings(database=None, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("normal", ALIKE, max_examples=20)
settings.register_profile("thorough", ALIKE, max_examples=150)
settings.load_profile("normal")


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    for plugin in session.config.pluginmanager.get_plugins():
        if hasattr(plugin, "sendevent"):  # that of a worker
            plugin.sendevent = _without_what_goes_without_saying(plugin.sendevent)


def _without_what_goes_without_saying(send: Callable[..., None]) -> Callable[..., None]:
    def send_rest(name: str, **told: Any) -> None:
        if name == "testreport":
            if told["data"]["when"] != "call" and told["data"]["outcome"] == "passed":
                return
        elif name in ("logstart", "logfinish"):
            return
        send(name, **told)

    return send_rest


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.unfreeze()  # as code that is tested may ask what is frozen, which takes long if much is
    gc.set_threshold(200_000, 10, 1000)
    gc.enable()


class Loaded:
    """The names of the modules at some moment. Most tests import nothing: then thousands are not gone through."""

    def __init__(self) -> None:
        self.names, self.seen = set(sys.modules), self._look()

    @staticmethod
    def _look() -> tuple[int, str]:
        return len(sys.modules), next(reversed(sys.modules))

    def is_up_to_date(self) -> bool:
        return self.seen == self._look()


LOADED = [Loaded()]


@pytest.fixture(autouse=True)
def _modules_of_a_test_are_forgotten(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Forget the modules that a test wrote, their protocols, where it found them, and who hears signals.

    Any other test may come next in the same process, and write another module of that name.
    """
    if not LOADED[0].is_up_to_date():
        LOADED[0] = Loaded()
    path, protocols = list(sys.path), set(adapter._OWN)
    handlers = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    yield
    sys.path[:] = path
    for number, handler in handlers:
        signal.signal(number, handler)
    if not LOADED[0].is_up_to_date():
        of_tests = str(tmp_path_factory.getbasetemp())
        for module in sys.modules.keys() - LOADED[0].names:
            if (getattr(sys.modules[module], "__file__", None) or "").startswith(of_tests):
                del sys.modules[module]
    for protocol in adapter._OWN.keys() - protocols:
        module = protocol.partition(":")[0]
        if module != "exec" and module not in sys.modules:
            del adapter._OWN[protocol]


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    gc.freeze()


@pytest.hookimpl(optionalhook=True)  # there may be no xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return what distributes the tests of two tiers.

    In the normal tier by group, and the others by file; in that of real servers these take turns beside simulated ones.
    """
    tier = config.option.markexpr
    if config.option.dist != "loadgroup" or not ("not slow" in tier or tier == REAL):
        return None
    from xdist.scheduler import LoadGroupScheduling

    class ByFile(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            group = str(super()._split_scope(nodeid))
            return nodeid.partition("::")[0] if group == nodeid else group

    class OneEnsemble(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return SIMULATED if nodeid.endswith(f"@{SIMULATED}") else REAL

    return (OneEnsemble if tier == REAL else ByFile)(config, log)

"""What holds for all tests: no run leaves anything that another finds, none is timed, and what is collected stays.

The garbage collector rests while pytest collects, and passes over all of that afterwards: thousands of tests and their
modules live until the end. Otherwise each worker goes through them again and again, which takes it some 3 CPU seconds.
"""

import gc

from hypothesis import HealthCheck, settings

gc.disable()

settings.register_profile(
    "without a database and a clock",
    settings(),
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("without a database and a clock")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()

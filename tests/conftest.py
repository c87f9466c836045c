"""What holds for all tests: no run leaves anything that another finds, none is timed, and what is collected stays.

A test of any input (`@given`) tries few in the normal tier; the slow tier runs it again and tries many.

The garbage collector rests while pytest collects, and passes over all of that afterwards: thousands of tests and their
modules live until the end. Otherwise each worker goes through them again and again, which takes it some 3 CPU seconds.
"""

import gc

from hypothesis import HealthCheck, settings

gc.disable()

ALIKE = settings(database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("normal", ALIKE, max_examples=20)
settings.register_profile("thorough", ALIKE, max_examples=150)
settings.load_profile("normal")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()

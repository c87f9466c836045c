"""`zabcheck.explore` under the name that it had until 0.2.0."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(import_module("zabcheck.explore"), name)

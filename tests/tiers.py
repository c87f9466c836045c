"""The cases of a sweep that `make test` runs. The slow tier runs the others, and CI runs both tiers."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def sweep(cases: Iterable[Any], normal: Collection[Any]) -> list[Any]:
    """Return the cases as parameters for pytest: those in `normal` as they are, all others marked slow.

    `normal` names cheap cases that stand for the rest. A tuple is a case of several parameters.
    """
    every = list(cases)
    assert all(case in every for case in normal), f"{normal} names a case that does not exist"
    return [case if case in normal else _slow(case) for case in every]


def _slow(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)

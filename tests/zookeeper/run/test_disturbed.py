"""Servers that are disturbed while clients are recorded at them."""

from typing import Any

import pytest

from zabcheck.zookeeper.run import disturbed
from zabcheck.zookeeper.run.disturbed import ServerDisturbances


class FakeEnsemble:
    """Three servers, of which the first leads, and what was done to them."""

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.servers = {number: FakeServer(number, self.done) for number in (1, 2, 3)}
        self.proxy = self

    def hold(self, *link: Any) -> None:
        self.done.append(("hold", *link))

    def release(self, *link: Any) -> None:
        self.done.append(("release", *link))

    def start(self, number: int) -> None:
        self.done.append(("start", number))

    def served(self, number: int) -> bool:
        return True

    def leader(self) -> int:
        return 1

    def slowness(self) -> float:
        return 1.0

    def await_patiently(self, seconds: float, condition: Any) -> bool:
        return bool(condition())


class FakeServer:
    def __init__(self, number: int, done: list[tuple[Any, ...]]) -> None:
        for what in ("pause", "resume", "kill"):
            setattr(self, what, lambda what=what: done.append((what, number)))


def test_the_leader_is_killed_while_multis_are_open_and_all_is_mended_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("_MOMENT", "_HELD", "_DEPOSED"):
        monkeypatch.setattr(disturbed, name, 0.0)
    ensemble: Any = FakeEnsemble()
    harm = ServerDisturbances(ensemble)
    mended = [("hold", 1, 3, "COMMIT"), ("release", 1, 3)]
    mended += [(what, number) for number in (3, 1) for what in ("pause", "resume")]
    for _ in range(20):
        harm.go_on(0)
    assert (ensemble.done, harm.times, harm.with_multis) == (mended, 0, 0)
    for _ in range(3):
        harm.go_on(1)
    mended += [("kill", 1), ("start", 1)]
    assert (ensemble.done[:8], harm.times, harm.with_multis) == (mended, 1, 1)
    harm.finish()
    assert ensemble.done in (mended, mended * 2)
    assert harm.with_multis == 1

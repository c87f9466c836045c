"""The place where servers that are kept in step with a run of the model first differ from it."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from zabcheck.zookeeper.recording.records import Differed, Record
from zabcheck.zookeeper.run.choices.in_step import Apart, Expect, InStepChoice, Leave, LetThrough, Meet, NoticeEnd
from zabcheck.zookeeper.run.running import Running

ROLES = {"A": 3, "B": 2, "C": 1}
ACK, COMMIT = ("ACK", 0x100000001), ("COMMIT", 0x100000001)


class Servers:
    """Servers that are but what is said of them, and what was asked of them."""

    def __init__(self, folder: Path) -> None:
        self.values: dict[str, int | None] = {"currentEpoch": 1, "lastProcessedZxid": 0x100000002}
        self.waiting = [ACK, COMMIT]
        self.asked: list[Any] = []
        self.records: list[Record] = []
        (folder / "version-2").mkdir()
        self.servers = {number: SimpleNamespace(up=True, data=folder) for number in ROLES.values()}
        self.proxy = SimpleNamespace(
            under_way=lambda sender, _, client: self.waiting if client == sender else [],
            let_through=lambda *link: not self.asked.append(("pass", *link)),  # type: ignore[func-returns-value]  # so it is true
            meet=lambda servers, around: self.asked.append(("meet", *servers, around)),
            close_ends=lambda *ends, ended: self.asked.append(("close", *ends, ended)),
        )

    def now(self) -> int:
        return 0

    def await_patiently(self, seconds: float, condition: Callable[[], bool]) -> bool:
        return condition()

    def fields(self, number: int, names: tuple[str, ...]) -> dict[str, int | None]:
        return {name: self.values[name] for name in names}

    def interrupt(self, number: int) -> None:
        self.asked.append(("interrupt", number))

    def take(self, choice: InStepChoice) -> None:
        running = Running(cast(Any, self), self.records.append, cast(Any, self), in_step=True)
        running.roles = dict(ROLES)
        choice.apply(running)


@pytest.fixture
def servers(tmp_path: Path) -> Servers:
    return Servers(tmp_path)


def test_what_is_asked_of_servers(servers: Servers) -> None:
    for choice in (
        Meet(("A", "C"), "A"),
        Meet(()),
        Leave("A"),
        Leave("B", "A"),
        NoticeEnd("A", "B"),
        LetThrough("B", "A", *ACK),
    ):
        servers.take(choice)
    assert servers.asked == [
        ("meet", 3, 1, 3),
        ("meet", None),
        ("interrupt", 3),
        ("close", 2, 3, False),
        ("close", 3, 2, True),
        ("pass", 2, 3, 2),
    ]
    assert servers.records == []


def test_equal_logs_are_no_difference(servers: Servers) -> None:
    fields = {"currentEpoch": 1, "lastProcessedZxid": 0x100000002}
    servers.take(Expect("A", 0, fields=fields, log=(), snapshots=(), under_way={"B": ()}))
    servers.servers[3].up = False
    servers.take(Expect("A", 0, up=False))
    assert servers.records == []


@pytest.mark.parametrize(
    ("choice", "difference"),
    [
        (Expect("A", 0, fields={"currentEpoch": 2}), ("currentEpoch", "2", "1")),
        (Expect("A", 0, fields={"lastProcessedZxid": 1 << 32}), ("lastProcessedZxid", "⟨1,0⟩", "⟨1,2⟩")),
        (Expect("A", 0, up=False), ("process", "down", "up")),
        (Expect("A", 0, log=(0x100000001,)), ("log", "⟨1,1⟩", "empty")),
        (Expect("A", 0, snapshots=(0,)), ("snapshots", "⟨0,0⟩", "empty")),
        (Expect("A", 0, under_way={"B": ("ACK",)}), ("under way to B", "ACK", "ACK, COMMIT")),
        (LetThrough("A", "B", "ACK", 7), ("the next packet of A to B", "ACK ⟨0,7⟩", "ACK ⟨1,1⟩")),
        (LetThrough("A", "B", "DIFF", 7), ("the next packet of A to B", "DIFF ⟨0,7⟩", "none")),
    ],
)
def test_the_first_difference_is_recorded_and_told(
    servers: Servers, choice: InStepChoice, difference: tuple[str, str, str]
) -> None:
    field, model, seen = difference
    with pytest.raises(Apart) as apart:
        servers.take(choice)
    assert (
        str(apart.value) == f"the servers leave the model's run: A: {field}: the model has {model}, the server {seen}"
    )
    [record] = servers.records
    assert isinstance(record, Differed)
    assert (record.server, record.field, record.model, record.seen) == (3, *difference)


def test_a_field_that_a_server_does_not_have_is_a_difference(servers: Servers) -> None:
    servers.values["currentEpoch"] = None
    with pytest.raises(Apart, match="currentEpoch: the model has 1, the server none"):
        servers.take(Expect("A", 0, fields={"currentEpoch": 1}))

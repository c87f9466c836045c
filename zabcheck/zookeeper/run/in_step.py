"""Keeps an ensemble in step with a run of the model, and finds where the two first differ."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from zabcheck.zookeeper.disk.contents import DiskError, scan
from zabcheck.zookeeper.recording.folder import now
from zabcheck.zookeeper.recording.records import Differed, Record
from zabcheck.zookeeper.run.choices.in_step import (
    PATIENCE,
    Expect,
    InStepChoice,
    Leave,
    LetThrough,
    Lose,
    Meet,
    NoticeEnd,
    OpenedGate,
)
from zabcheck.zookeeper.run.ensemble import Ensemble, EnsembleError
from zabcheck.zookeeper.run.stops import Stops
from zabcheck.zookeeper.wire.zxids import shown

_NUMBERS = frozenset(("state", "acceptedEpoch", "currentEpoch"))
"""The fields that are no zxids, and no lengths of queues either."""
_FROM_FOLLOWER = frozenset(("FOLLOWERINFO", "ACKEPOCH", "ACK"))
_UNSIGNED = 0xFFFF_FFFF_FFFF_FFFF


class Apart(EnsembleError):
    """The servers do something else than the model. The message is one line."""


class Deviation(NamedTuple):
    """One thing that the model and a server do not agree on."""

    field: str
    model: str
    server: str


class InStep:
    """Executes the choices that keep an ensemble in step."""

    def __init__(self, ensemble: Ensemble, stops: Stops, record: Callable[[Record], None]) -> None:
        self._ensemble = ensemble
        self._stops = stops
        self._record = record

    def apply(self, choice: InStepChoice, roles: dict[str, int]) -> None:
        """Execute a choice. Apart if the servers do not do what is expected of them, in `PATIENCE` seconds."""
        proxy = self._ensemble.proxy
        match choice:
            case OpenedGate():
                proxy.gate()
            case Meet(servers, around):
                proxy.meet([roles[each] for each in servers], roles[around] if around else None)
            case LetThrough():
                self._pass(choice, roles)
            case Leave(server, None):
                self._stops.interrupt(roles[server])
            case Leave(server, peer):
                assert peer is not None
                proxy.close_ends(roles[server], roles[peer], ended=False)
            case NoticeEnd(server, peer):
                proxy.close_ends(roles[server], roles[peer], ended=True)
            case Lose(server, peer):
                proxy.lose(roles[server], roles[peer])
            case Expect():
                self._compare(choice, roles)

    def end_waits(self, all_serve: Callable[[], bool]) -> None:
        """Interrupt the servers that do not serve in the end, unless `all_serve` soon.

        One that was elected by a server that then followed another would wait for minutes.
        """
        if not all_serve():
            for number, server in self._ensemble.servers.items():
                if server.up and self._ensemble.served(number) is None:
                    self._stops.interrupt(number)

    def _pass(self, choice: LetThrough, roles: dict[str, int]) -> None:
        sender, receiver = roles[choice.sender], roles[choice.receiver]
        client = sender if choice.kind in _FROM_FOLLOWER else receiver
        proxy = self._ensemble.proxy
        link = f"the next packet of {choice.sender} to {choice.receiver}"

        def is_there() -> bool:
            waiting = proxy.under_way(sender, receiver, client)
            if not waiting:
                return False
            kind, zxid = waiting[0]
            if kind != choice.kind or (choice.zxid is not None and zxid not in (None, choice.zxid)):
                self._differ(Deviation(link, _packet(choice.kind, choice.zxid), _packet(kind, zxid)), choice, roles)
            return proxy.let_through(sender, receiver, client)

        if not self._ensemble.await_all(PATIENCE, is_there):
            self._differ(Deviation(link, _packet(choice.kind, choice.zxid), "none"), choice, roles)

    def _compare(self, choice: Expect, roles: dict[str, int]) -> None:
        found: list[Deviation] = []

        def agree() -> bool:
            found[:] = self._differences(choice, roles)
            return not found

        if not self._ensemble.await_all(PATIENCE, agree):
            self._differ(found[0], choice, roles)

    def _differ(self, difference: Deviation, choice: LetThrough | Expect, roles: dict[str, int]) -> None:
        server = choice.server if isinstance(choice, Expect) else choice.sender
        self._record(Differed(now(), roles[server], *difference))
        field, model, seen = difference
        raise Apart(f"{server}: {field}: the model has {model}, the server {seen}")

    def _differences(self, choice: Expect, roles: dict[str, int]) -> list[Deviation]:
        number = roles[choice.server]
        server = self._ensemble.servers[number]
        if server.up != choice.up:
            said = {True: "up", False: "down"}
            return [Deviation("process", said[choice.up], said[server.up])]
        found = []
        values = self._stops.fields(number, tuple(choice.fields)) if choice.fields else {}
        for name, expected in choice.fields.items():
            value = None if values is None else values[name]
            if value != expected:
                found.append(Deviation(name, _value(name, expected), _value(name, value)))
        found += self._on_disk(choice, server.data)
        for role, kinds in choice.under_way.items():
            other = roles[role]
            client = number if kinds and kinds[0] in _FROM_FOLLOWER else other
            seen = tuple(kind for kind, _ in self._ensemble.proxy.under_way(number, other, client))
            if seen != kinds:
                found.append(Deviation(f"under way to {role}", ", ".join(kinds), ", ".join(seen) or "nothing"))
        return found

    def _on_disk(self, choice: Expect, folder: Path) -> list[Deviation]:
        if choice.log is None and choice.snapshots is None:
            return []
        zxids: list[int] = []
        try:
            disk = scan(folder, visit=lambda _, record: zxids.append(record.txn.zxid))
        except (DiskError, OSError) as error:  # it is being written
            return [Deviation("disk", "can be read", str(error))]
        labels = tuple(sorted(each.zxid for each in disk.snapshots if each.state == "whole"))
        found = []
        if choice.log is not None and tuple(zxids) != choice.log:
            found.append(Deviation("log", _zxids(choice.log), _zxids(zxids)))
        if choice.snapshots is not None and labels != choice.snapshots:
            found.append(Deviation("snapshots", _zxids(choice.snapshots), _zxids(labels)))
        return found


def _packet(kind: str, zxid: int | None) -> str:
    return kind if zxid is None else f"{kind} {shown(zxid)}"


def _value(name: str, value: int | None) -> str:
    if value is None:
        return "none"
    return shown(value) if name.endswith(("Zxid", "Log", "Proposed", "Committed")) else str(value)


def _zxids(zxids: "tuple[int, ...] | list[int]") -> str:
    return " ".join(map(shown, zxids)) or "empty"

"""Histories of clients, written step by step."""

from typing import Any

from zabcheck.zookeeper.clients.exchange import Exchange, read
from zabcheck.zookeeper.clients.history import (
    Answer,
    Connect,
    Connected,
    HistoryEnd,
    HistoryHeader,
    HistoryLine,
    Lost,
    Request,
    Result,
    Stat,
    WatchEvent,
)
from zabcheck.zookeeper.clients.judge import judge


def stat(created: int, changed: int | None = None, below: int | None = None, version: int = 0, **others: Any) -> Stat:
    """A Stat: czxid, mzxid, pzxid and version, and the other fields by name."""
    return Stat(created, changed or created, below or created, version, **others)


class History:
    """A history as it is written. All writers of all nodes are recorded, and the tree is empty at first."""

    def __init__(self, **header: Any) -> None:
        known = {"initial": "empty", "complete": ("/",), "clock": "one", "values": "unique"}
        self.lines: list[HistoryLine] = [HistoryHeader(1, **{**known, **header})]
        self.connections = 0
        self.time = 0

    def client(self, number: int, **fields: Any) -> "Session":
        """A client with a session of its own, which has its number."""
        return Session(self, number, **fields)

    def add(self, line: HistoryLine) -> None:
        self.lines.append(line)

    def now(self, step: int = 1_000_000) -> int:
        self.time += step
        return self.time

    def exchange(self) -> Exchange:
        return read([*self.lines, HistoryEnd(len(self.lines) - 1)], "history")

    def broken(self) -> set[str]:
        """The names of the promises that it breaks."""
        return {each.promise.name for each in judge(self.exchange()) if each.status == "violated"}

    def exercised(self) -> set[str]:
        """The names of the promises that it could have broken."""
        return {each.promise.name for each in judge(self.exchange()) if each.judged}


class Session:
    """A client with its session and its connection."""

    def __init__(self, history: History, number: int, timeout: int = 4000) -> None:
        self.history, self.number, self.timeout = history, number, timeout
        self.xid = 0
        self.session = f"0x{number:x}"
        self.connect("0x0")

    def connect(
        self, asked: str | None = None, seen: int = 0, given: str | None = None, is_answered: bool = True
    ) -> None:
        self.history.connections += 1
        self.connection = self.history.connections
        self.add(Connect, session=self.session if asked is None else asked, seen=seen, timeout=self.timeout)
        if is_answered:
            self.add(Connected, session=self.session if given is None else given, timeout=self.timeout)

    def add(self, kind: Any, **fields: Any) -> None:
        time = fields.pop("time", None) or self.history.now()
        self.history.add(kind(client=self.number, connection=self.connection, time=time, **fields))

    def ask(self, op: str, path: str | None = None, **fields: Any) -> int:
        """Send a request, and return its number."""
        self.xid += 1
        self.add(Request, xid=self.xid, op=op, path=path, **fields)
        return self.xid

    def answer(self, xid: int, zxid: int = 0, error: str = "", **fields: Any) -> None:
        self.add(Answer, xid=xid, zxid=zxid, error=error, **fields)

    def lose(self) -> None:
        self.add(Lost)

    def again(self, seen: int = 0, given: str | None = None) -> None:
        """Lose the connection, and go on with the session on another."""
        self.lose()
        self.connect(None, seen, given)

    def event(self, kind: str, path: str, zxid: int = -1) -> None:
        self.add(WatchEvent, type=f"Node{kind}", path=path, zxid=zxid)

    # Whole operations.

    def create(self, path: str, zxid: int, *mode: str, data: str = "", **fields: Any) -> None:
        asked = self.ask("create", path, data=data, mode=mode, **{k: v for k, v in fields.items() if k == "ttl"})
        owner = self.session if "ephemeral" in mode else "0x0"
        made = fields.get("made", path)
        self.answer(asked, zxid, path=made, stat=stat(zxid, ephemeral_owner=fields.get("owner", owner)))

    def set(self, path: str, zxid: int, data: str, of: Stat, expected: int = -1) -> None:
        self.answer(self.ask("setData", path, data=data, version=expected), zxid, stat=of)

    def delete(self, path: str, zxid: int) -> None:
        self.answer(self.ask("delete", path), zxid)

    def get(self, path: str, zxid: int, data: str | None = None, of: Stat | None = None, watch: str = "") -> None:
        self.answer(self.ask("getData", path, watch=watch), zxid, "" if of else "NoNode", data=data, stat=of)

    def exists(self, path: str, zxid: int, of: Stat | None = None, watch: str = "") -> None:
        self.answer(self.ask("exists", path, watch=watch), zxid, "" if of else "NoNode", stat=of)

    def children(self, path: str, zxid: int, names: tuple[str, ...], of: Stat, watch: str = "") -> None:
        self.answer(self.ask("getChildren", path, watch=watch), zxid, children=names, stat=of)

    def multi(self, zxid: int, parts: list[Any], results: list[Result]) -> None:
        self.answer(self.ask("multi", parts=tuple(parts)), zxid, results=tuple(results))

"""Verdicts on the clients of a run: a bad and a good history of each property."""

import pytest

from zabcheck.zookeeper.clients.exchange import read as read_lines
from zabcheck.zookeeper.clients.judge import judge
from zabcheck.zookeeper.recording.records import NodeState, Read, Record, Replied, Requested
from zabcheck.zookeeper.verdict.clients import ClientHistory, judge_clients, lines_of

S, T = 0x100, 0x200
"""Two sessions."""
LOST = "ConnectionLoss"

Request = tuple[Requested, Replied]


def made(
    number: int,
    what: str,
    path: str = "/r",
    zxid: int = 0,
    *,
    session: int = S,
    error: str = "",
    node: NodeState | None = None,
    version: int = -1,
    content: int = 7,
) -> Request:
    asked = Requested(number, session, session, number, what, (path,) if path else (), version, content)
    return asked, Replied(number, session, number, error, zxid, node)


def node(
    path: str = "/r", created: int = 1, changed: int = 1, version: int = 0, content: int = 7, owner: int = 0
) -> NodeState:
    return NodeState(path, created, changed, version, content, owner)


def read(server: int, *nodes: NodeState, reached: int = 9) -> Read:
    return Read(0, server, (), nodes, reached)


def history(*requests: Request, reads: tuple[Read, ...] = (), ended: dict[int, int] | None = None) -> ClientHistory:
    return ClientHistory([one for each in requests for one in each], reads, ended or {}, frozenset(ended or {}))


def got(number: int, *, zxid: int = 4, session: int = S, error: str = "", **of: int) -> Request:
    return made(number, "get", session=session, error=error, zxid=zxid, node=None if error else node(**of))


SET, LATER = made(1, "set", zxid=3), made(2, "set", zxid=4, content=9)
STALE, GONE, OTHER_DATA = got(3, changed=2, version=1), got(3, error="NoNode"), got(3, changed=3, content=8, version=1)
EPHEMERAL, CLOSE = made(1, "ephemeral", "/e", 2), made(2, "close", "", 4)
KEPT = node("/e", 2, 2, owner=S)
DELETE = made(2, "delete", zxid=5)
GUARDED = made(1, "set", zxid=3, version=4)
EARLIER = made(2, "set", zxid=2)
READ = "request 1 (getData /r) of client {0} at server {0} in the end"

BAD: list[tuple[str, ClientHistory, tuple[Record, ...], str]] = [
    (
        "session order",
        history(SET, STALE),
        (*SET, *STALE),
        "request 1 (setData /r) of client 256 was done at ⟨0,3⟩, but request 3 (getData /r) of client 256 finds /r as "
        "of ⟨0,2⟩",
    ),
    (
        "session order",
        history(SET, GONE),
        (*SET, *GONE),
        "request 3 (getData /r) of client 256 finds no /r as of ⟨0,4⟩, but it has been there since ⟨0,3⟩ (request 1 "
        "(setData /r) of client 256)",
    ),
    (
        "session order",
        history(SET, OTHER_DATA),
        (*SET, *OTHER_DATA),
        "the data of /r as of ⟨0,3⟩ differ between request 1 (setData /r) of client 256 and request 3 (getData /r) of "
        "client 256",
    ),
    (
        "session order",
        history(GUARDED, got(3, changed=3, version=6)),
        (*GUARDED, *got(3, changed=3, version=6)),
        "the versions of /r as of ⟨0,3⟩ differ between request 1 (setData /r) of client 256 and request 3 (getData /r) "
        "of client 256",
    ),
    (
        "session order",
        ClientHistory((SET[0], EARLIER[0], EARLIER[1], SET[1]), (), {}, frozenset()),
        (*SET, *EARLIER),
        "client 256 got the answer to request 2 before the one to request 1",
    ),
    (
        "linearizable writes",
        history(LATER, made(3, "set", zxid=4, session=T)),
        (*LATER, *made(3, "set", zxid=4, session=T)),
        "request 2 (setData /r) of client 256 and request 3 (setData /r) of client 512 were both done at ⟨0,4⟩",
    ),
    (
        "writes in the order sent",
        history(LATER, made(5, "set", zxid=3)),
        (*LATER, *made(5, "set", zxid=3)),
        "client 256 sent request 2 before request 5, but they were done at ⟨0,4⟩ and ⟨0,3⟩",
    ),
    (
        "ephemeral nodes",
        history(EPHEMERAL, CLOSE, reads=(read(1, reached=4), read(2, node("/a"), KEPT, reached=4)), ended={S: 4}),
        (*EPHEMERAL, *CLOSE, read(2, KEPT, reached=4)),
        "session 0x100 ended at ⟨0,4⟩, but its /e is there as of ⟨0,4⟩",
    ),
    (
        "changes last",
        history(SET, LATER, reads=(read(1, node(changed=3, version=1)),)),
        (*LATER, read(1, node(changed=3, version=1))),
        "/r was changed at ⟨0,4⟩ (request 2 (setData /r) of client 256), but " + READ.format(1) + ", as of ⟨0,9⟩, "
        "finds it as of ⟨0,3⟩",
    ),
    (
        "changes last",
        history(SET, LATER, reads=(read(1, node(changed=3, version=1), reached=3),)),
        (*LATER, read(1, node(changed=3, version=1), reached=3)),
        "/r was changed at ⟨0,4⟩ (request 2 (setData /r) of client 256), but " + READ.format(1) + ", as of ⟨0,4⟩, "
        "finds it as of ⟨0,3⟩",
    ),
    (
        "changes last",
        history(SET, reads=(read(1, node(changed=3, version=1)), read(2, node("/a")))),
        (*SET, read(2)),
        "request 2 (getData /r) of client 2 at server 2 in the end finds no /r as of ⟨0,9⟩, but it has been there "
        "since ⟨0,3⟩ (request 1 (setData /r) of client 256)",
    ),
    (
        "changes last",
        history(SET, DELETE, reads=(read(1, node(changed=3, version=1)),)),
        (*DELETE, read(1, node(changed=3, version=1))),
        "/r was deleted at ⟨0,5⟩ (request 2 (delete /r) of client 256), but " + READ.format(1) + ", as of ⟨0,9⟩, "
        "finds it as of ⟨0,3⟩",
    ),
    (
        "changes last",
        history(SET, reads=(read(1, node(changed=3, content=8, version=1)),)),
        (*SET, read(1, node(changed=3, content=8, version=1))),
        "the data of /r as of ⟨0,3⟩ differ between request 1 (setData /r) of client 256 and " + READ.format(1),
    ),
    (
        "data agreement",
        history(reads=(read(1, node("/a"), node()), read(2, node("/a"), node(content=8)))),
        (read(1, node()), read(2, node(content=8))),
        "the data of /r as of ⟨0,1⟩ differ between request 2 (getData /r) of client 1 at server 1 in the end and "
        "request 2 (getData /r) of client 2 at server 2 in the end",
    ),
    (
        "data agreement",
        history(reads=(read(1, node("/a")), read(2, node("/a"), node()))),
        (read(2, node()), read(1)),
        "request 2 (getData /r) of client 1 at server 1 in the end finds no /r as of ⟨0,9⟩, but it has been there "
        "since ⟨0,1⟩ (request 2 (getData /r) of client 2 at server 2 in the end)",
    ),
]

GOOD = [
    ("session order", history(SET, got(3, changed=3, version=1), got(4, zxid=5, changed=5, content=8, version=2))),
    ("session order", history(made(1, "set", zxid=0, error=LOST), got(3, zxid=3, changed=2, version=1))),
    ("session order", history(SET, got(3, session=T, zxid=2, changed=2, version=1))),
    ("session order", history(SET, made(2, "delete", zxid=0, error=LOST, session=T), GONE)),
    ("session order", history(made(1, "set", error=LOST), LATER)),
    ("conditions", history(SET, made(2, "set", zxid=4, version=7))),
    ("ephemeral nodes", history(EPHEMERAL, CLOSE, reads=(read(1, node("/e", 6, 6, owner=T)),), ended={S: 4})),
    (
        "changes last",
        history(
            SET,
            LATER,
            reads=(read(1, node(changed=4, content=9, version=2)), read(2, node(changed=5, content=8, version=3))),
        ),
    ),
    ("changes last", history(SET, DELETE, reads=(read(1), read(2, node(created=6, changed=6))))),
    ("changes last", history(SET, made(2, "delete", error=LOST), reads=(read(1), read(2, node(changed=3, version=1))))),
    ("changes last", history(EPHEMERAL, reads=(read(1),), ended={S: 9})),
    ("data agreement", history(reads=(read(1, node(changed=3, version=1)), read(2, node(), reached=2)))),
    ("data agreement", history(reads=(read(1, node("/a"), KEPT), read(2, node("/a"))), ended={S: 9})),
]


@pytest.mark.parametrize(("name", "of", "witness", "summary"), BAD)
def test_a_bad_history_has_this_witness(
    name: str, of: ClientHistory, witness: tuple[Record, ...], summary: str
) -> None:
    [verdict] = [each for each in judge_clients(of) if each.property == name]
    assert (verdict.status, verdict.violation) == ("violated", (summary, witness))
    [verdict] = [each for each in judge_clients(of, is_whole=False) if each.property == name]
    assert (verdict.status, verdict.violation) == ("inconclusive", None)


@pytest.mark.parametrize(("name", "of"), GOOD)
def test_a_good_history_breaks_nothing(name: str, of: ClientHistory) -> None:
    assert [each.violation for each in judge_clients(of) if each.property == name] == [None]


@pytest.mark.parametrize("of", [each[1] for each in (*BAD, *GOOD)])
def test_a_file_with_the_history_of_sessions_breaks_a_promise_if_the_run_does(of: ClientHistory) -> None:
    judged = judge(read_lines(lines_of(of), "history"))
    is_broken = any(each.violation is not None for each in judge_clients(of))
    assert any(each.breach is not None for each in judged) == is_broken


def test_what_gives_nothing_to_judge_is_not_exercised() -> None:
    assert {each.status for each in judge_clients(history())} == {"not exercised"}
    assert {each.property for each in judge_clients(history(SET, EPHEMERAL)) if each.judged} >= {"session order"}

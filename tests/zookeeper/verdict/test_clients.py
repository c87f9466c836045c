"""The properties of what clients see: a bad and a good history of each, and a brute-force reading on random ones."""

from collections.abc import Callable, Iterator
from itertools import combinations, permutations
from random import Random

import pytest
from msgspec.structs import replace

from zabcheck.zookeeper.recording.records import NodeState, Read, Record, Replied, Requested
from zabcheck.zookeeper.verdict.clients import CLIENT_PROPERTIES, ClientHistory, ClientRequest, judge_clients

S, T = 0x100, 0x200
"""Two sessions."""
LOST = "ConnectionLoss"


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
) -> ClientRequest:
    asked = Requested(number, session, session, number, what, (path,) if path else (), version, content)
    return ClientRequest(asked, Replied(number, session, number, error, zxid, node))


def node(
    path: str = "/r", created: int = 1, changed: int = 1, version: int = 0, content: int = 7, owner: int = 0
) -> NodeState:
    return NodeState(path, created, changed, version, content, owner)


def read(server: int, *nodes: NodeState, reached: int = 9) -> Read:
    return Read(0, server, (), nodes, reached)


def history(
    *requests: ClientRequest, reads: tuple[Read, ...] = (), ended: dict[int, int] | None = None
) -> ClientHistory:
    return ClientHistory(requests, requests, reads, ended or {}, frozenset(ended or {}))


def got(number: int, *, session: int = S, error: str = "", **of: int) -> ClientRequest:
    return made(number, "get", session=session, error=error, zxid=9, node=None if error else node(**of))


SET, LATER = made(1, "set", zxid=3), made(2, "set", zxid=4)
STALE, GONE, OTHER_DATA = got(3, changed=2), got(3, error="NoNode"), got(3, changed=3, content=8)
EPHEMERAL, CLOSE = made(1, "ephemeral", "/e", 2), made(2, "close", "", 4)
KEPT = node("/e", 2, 2, owner=S)
DELETE = made(2, "delete", zxid=5)
GUARDED = made(1, "set", zxid=3, version=4)

BAD: list[tuple[str, ClientHistory, tuple[Record, ...], str]] = [
    (
        "session order",
        history(made(1, "set", zxid=2), SET, STALE),
        (*SET.witness, *STALE.witness),
        "/r as of ⟨0,3⟩ is known from request 1 of client 256, and request 3 reads it as of ⟨0,2⟩",
    ),
    (
        "session order",
        history(SET, GONE),
        (*SET.witness, *GONE.witness),
        "/r as of ⟨0,3⟩ is known from request 1 of client 256, and request 3 finds no such node",
    ),
    (
        "session order",
        history(SET, OTHER_DATA),
        (*SET.witness, *OTHER_DATA.witness),
        "request 1 of client 256 wrote /r as ⟨0,3⟩, and other data is read of that",
    ),
    (
        "session order",
        history(GUARDED, got(3, changed=3, version=6)),
        (*GUARDED.witness, *got(3, changed=3, version=6).witness),
        "request 1 of client 256 made version 5 of /r, and 6 is read of ⟨0,3⟩",
    ),
    (
        "session order",
        ClientHistory((SET, LATER), (LATER, SET), (), {}, frozenset()),
        (*SET.witness, *LATER.witness),
        "request 2 of client 256 was answered before its request 1",
    ),
    (
        "ephemeral nodes",
        history(EPHEMERAL, CLOSE, reads=(read(1, reached=4), read(2, node("/a"), KEPT, reached=4)), ended={S: 4}),
        (*CLOSE.witness, read(2, KEPT, reached=4)),
        "server 2 has /e at the end, as of ⟨0,4⟩, and its session 0x100 ended with ⟨0,4⟩",
    ),
    (
        "changes last",
        history(SET, LATER, reads=(read(1, node("/a"), node(changed=3)),)),
        (*LATER.witness, read(1, node(changed=3))),
        "request 2 of client 256 was told that /r is changed with ⟨0,4⟩, and it is as of ⟨0,3⟩ at server 1 in the end",
    ),
    (
        "changes last",
        history(SET, reads=(read(1, node(changed=3)), read(2, node("/a")))),
        (*SET.witness, read(2)),
        "request 1 of client 256 was told that /r is changed with ⟨0,3⟩, and there is no /r at server 2 in the end",
    ),
    (
        "changes last",
        history(SET, DELETE, reads=(read(1, node(changed=3)),)),
        (*DELETE.witness, read(1, node(changed=3))),
        "request 2 of client 256 was told that /r is deleted with ⟨0,5⟩, and it is there as of ⟨0,1⟩ at server 1 in "
        "the end",
    ),
    (
        "changes last",
        history(SET, reads=(read(1, node(changed=3, content=8)),)),
        (*SET.witness, read(1, node(changed=3, content=8))),
        "request 1 of client 256 was told that /r is changed with ⟨0,3⟩: request 1 of client 256 wrote /r as ⟨0,3⟩, "
        "and other data is read of that at server 1 in the end",
    ),
    (
        "data agreement",
        history(reads=(read(1, node("/a"), node()), read(2, node("/a"), node(content=8)))),
        (read(1, node()), read(2, node(content=8))),
        "at the end server 1 has /r as of ⟨0,1⟩, version 0, data with the CRC-32 00000007, and server 2 has /r as of "
        "⟨0,1⟩, version 0, data with the CRC-32 00000008",
    ),
    (
        "data agreement",
        history(reads=(read(1, node("/a")), read(2, node("/a"), node()))),
        (read(2, node()), read(1)),
        "at the end server 2 has /r as of ⟨0,1⟩, version 0, data with the CRC-32 00000007, and server 1 has no such "
        "node",
    ),
]

GOOD = [
    ("session order", history(SET, got(3, changed=3), got(4, changed=5, content=8))),
    ("session order", history(made(1, "set", zxid=3, error=LOST), got(3, changed=2))),
    ("session order", history(SET, got(3, session=T, changed=2), got(4, session=T, changed=2))),
    ("session order", history(SET, made(2, "delete", zxid=0, error=LOST, session=T), GONE)),
    ("ephemeral nodes", history(EPHEMERAL, CLOSE, reads=(read(1, KEPT, reached=3),), ended={S: 4})),
    ("ephemeral nodes", history(EPHEMERAL, CLOSE, reads=(read(1, node("/e", 6, 6, owner=T)),), ended={S: 4})),
    ("changes last", history(SET, LATER, reads=(read(1, node(changed=4)), read(2, node(changed=5, content=8))))),
    ("changes last", history(SET, DELETE, reads=(read(1), read(2, node(created=6, changed=6))))),
    ("changes last", history(SET, made(2, "delete", error=LOST), reads=(read(1), read(2, node(changed=3))))),
    ("changes last", history(EPHEMERAL, reads=(read(1),), ended={S: 9})),
    ("data agreement", history(reads=(read(1, node(changed=3)), read(2, node(), reached=2)))),
    ("data agreement", history(reads=(read(1, node("/a"), KEPT), read(2, node("/a"))), ended={S: 9})),
]


@pytest.mark.parametrize(("name", "of", "witness", "summary"), BAD)
def test_a_bad_history_has_this_witness(
    name: str, of: ClientHistory, witness: tuple[Record, ...], summary: str
) -> None:
    _, violation = CLIENT_PROPERTIES[name].check(of)
    assert violation == (summary, witness)
    [verdict] = [each for each in judge_clients(of) if each.property == name]
    assert (verdict.status, verdict.violation) == ("violated", violation)
    [verdict] = [each for each in judge_clients(of, is_whole=False) if each.property == name]
    assert (verdict.status, verdict.violation) == ("inconclusive", None)


@pytest.mark.parametrize(("name", "of"), GOOD)
def test_a_good_history_breaks_nothing(name: str, of: ClientHistory) -> None:
    assert CLIENT_PROPERTIES[name].check(of)[1] is None


def test_what_gives_nothing_to_judge_is_not_exercised() -> None:
    assert {each.status for each in judge_clients(history())} == {"not exercised"}
    assert {each.judged for each in judge_clients(history(SET, EPHEMERAL, GONE))} == {0, 1}


# The properties word for word, over all tuples.


def _changed(of: ClientHistory, path: str) -> Iterator[ClientRequest]:
    """The changes of a node that clients were told of."""
    for each in of.requests:
        if path in each.asked.paths and each.asked.what != "get" and each.error == "":
            yield each


def _as_written(request: ClientRequest, found: NodeState) -> bool:
    """Whether a node is what a request has made of it, if it is the one that changed it last."""
    if request.asked.what in ("get", "delete") or request.error or found.changed != request.known:
        return True
    expected = request.asked.version
    return found.content == request.asked.content and expected in (-1, found.version - 1)


def is_out_of_order(of: ClientHistory) -> bool:
    answers = [each for each in of.answers if each.error not in (None, LOST)]
    for first, second in combinations(answers, 2):
        if first.asked.session == second.asked.session and first.asked.number > second.asked.number:
            return True
    vanishing = {each.asked.paths for each in of.requests if each.asked.what in ("delete", "ephemeral")}
    for before, after in combinations(of.requests, 2):
        same = (before.asked.session, before.asked.paths) == (after.asked.session, after.asked.paths)
        if not same or after.asked.what != "get" or before.error != "":
            continue
        if after.error == "NoNode" and before.asked.paths not in vanishing:
            return True
        found = after.reply.node if after.reply is not None and after.error == "" else None
        if found is not None and (found.changed < before.known or not _as_written(before, found)):
            return True
    return False


def has_an_orphan(of: ClientHistory) -> bool:
    return any(
        found.owner == session and end <= each.reached
        for each in of.reads
        for found in each.states
        for session, end in of.ended.items()
    )


def has_lost_a_change(of: ClientHistory) -> bool:
    for each in of.reads:
        for path in PATHS:
            found = next((one for one in each.states if one.path == path), None)
            gone = any(
                (one.asked.what == "delete" and one.error in (None, LOST))
                or (one.asked.what == "ephemeral" and one.asked.session in of.may_have_ended)
                for one in of.requests
                if path in one.asked.paths
            )
            for told in _changed(of, path):
                if told.asked.what == "delete":
                    kept = found is None or found.created > told.known
                elif found is None:
                    deleted = any(one.asked.what == "delete" and one.known > told.known for one in _changed(of, path))
                    kept = gone or deleted
                else:
                    kept = found.changed >= told.known and _as_written(told, found)
                if not kept:
                    return True
    return False


def differs(of: ClientHistory) -> bool:
    for one, other in permutations(of.reads, 2):
        for path in PATHS:
            here = next((each for each in one.states if each.path == path), None)
            there = next((each for each in other.states if each.path == path), None)
            unknown = any(
                path in each.asked.paths and each.asked.what == "delete" and each.error in (None, LOST)
                for each in of.requests
            )
            if here is None or here == there or unknown or here.owner in of.may_have_ended:
                continue
            is_newer = there is None or there.changed <= here.changed
            if is_newer and here.changed <= other.reached:
                return True
    return False


LITERAL: dict[str, Callable[[ClientHistory], bool]] = {
    "session order": is_out_of_order,
    "ephemeral nodes": has_an_orphan,
    "changes last": has_lost_a_change,
    "data agreement": differs,
}
PATHS = ("/d", "/e", "/r")


def drawn(random: Random) -> ClientHistory:
    """A history of a few requests, many of which are answered as if they were done in some order."""
    requests = []
    for number in range(1, random.randint(1, 7)):
        what = random.choice(("set", "get", "get", "delete", "ephemeral"))
        path = {"delete": "/d", "ephemeral": "/e"}.get(what) or random.choice(("/r", "/r", "/d", "/e"))
        error = random.choice(("", "", "", "", "NoNode", LOST))
        of = node(path, random.randint(1, 2), random.choice((number, random.randint(2, 8))), random.randint(0, 2))
        request = made(
            number,
            what,
            path,
            0 if error == LOST else number + 1,
            session=random.choice((S, T)),
            error=error,
            node=of if what == "get" and not error else None,
            version=random.choice((-1, -1, 1)) if what == "set" else -1,
            content=random.choice((7, 7, 7, 8)),
        )
        requests.append(request if random.random() < 0.9 else request._replace(reply=None))
    answers = [each for each in requests if each.reply is not None]
    if random.random() < 0.2:
        random.shuffle(answers)
    ended = {session: random.randint(2, 9) for session in (S, T) if random.random() < 0.4}
    base = [
        node(path, random.randint(1, 4), random.randint(4, 8), random.randint(0, 2), owner=S if path == "/e" else 0)
        for path in PATHS
        if random.random() < 0.8
    ]
    reads = []
    for server in range(1, random.randint(1, 4)):
        nodes = [each for each in base if random.random() < 0.95]
        if nodes and random.random() < 0.2:
            nodes[0] = replace(nodes[0], changed=random.randint(4, 8), content=random.choice((7, 8)))
        reads.append(read(server, *nodes, reached=random.randint(5, 9)))
    return ClientHistory(requests, answers, reads, ended, frozenset([*ended, *([S] if random.random() < 0.1 else [])]))


@pytest.mark.parametrize("name", CLIENT_PROPERTIES)
def test_it_agrees_with_a_brute_force_reading(name: str) -> None:
    broken = 0
    for seed in range(1500):
        of = drawn(Random(seed))
        judged, violation = CLIENT_PROPERTIES[name].check(of)
        expected = LITERAL[name](of)
        assert (violation is not None) == expected, (seed, violation)
        assert judged or not expected or name != "data agreement"
        broken += expected
    assert 50 < broken < 1400

"""The named fields of a server that a schedule can read, and where each is in the memory of its JVM.

Each is reached from the server's main thread, an object of the class QuorumPeer, over fields of ZooKeeper and Java.
They are the same in 3.6.3, 3.8.0, 3.9.3 and 3.9.5. Only held threads stand still while several fields are read: other
threads may change one after another was read.
"""

from collections.abc import Sequence
from typing import NamedTuple

from zabcheck.invariants.diagnosis import like
from zabcheck.zookeeper.debugger.jvm import Jvm
from zabcheck.zookeeper.wire.zxids import COUNTER, shown

PEER = "org/apache/zookeeper/server/quorum/QuorumPeer"
_COUNT = "count.value"
"""The length of a LinkedBlockingQueue."""
LAST_ZXID = ("leader", "zk", "hzxid", "value")
"""The zxid that a leader gave last."""


class FieldError(ValueError):
    """A field that does not exist. The message is one line, with the nearest name."""


class Field(NamedTuple):
    """A field: its meaning, a mark if it is a zxid, and the ways to it, of which a server has one at most."""

    name: str
    what: str
    ways: tuple[str, ...]
    zxid: bool = False
    deque: bool = False
    """True if the ways lead to an ArrayDeque, whose length is meant."""


_LEARNER_LOGS = "follower.zk.syncProcessor"
_LEADER_LOGS = "leader.zk.prepRequestProcessor.nextProcessor.syncProcessor"

STATES = "LOOKING", "FOLLOWING", "LEADING", "OBSERVING"
"""The values of `state`, as ZooKeeper calls them."""

FIELDS = {
    field.name: field
    for field in (
        Field(
            "state",
            "0: it takes part in an election, 1: it follows, 2: it leads, 3: it observes",
            ("state.ordinal", "state.value.ordinal"),
        ),
        Field("acceptedEpoch", "the epoch that it has promised (f.p)", ("acceptedEpoch",)),
        Field("currentEpoch", "the epoch that it has adopted (f.a)", ("currentEpoch",)),
        Field(
            "lastProcessedZxid",
            "the last transaction in memory: it votes with it, and a leader brings others up to it",
            ("zkDb.dataTree.lastProcessedZxid",),
            zxid=True,
        ),
        Field(
            "minCommittedLog",
            "the first transaction that it remembers as committed",
            ("zkDb.minCommittedLog",),
            zxid=True,
        ),
        Field(
            "maxCommittedLog",
            "the last transaction that it remembers as committed",
            ("zkDb.maxCommittedLog",),
            zxid=True,
        ),
        Field(
            "syncQueue",
            "how many requests wait for the logging thread",
            (f"{_LEARNER_LOGS}.queuedRequests.{_COUNT}", f"{_LEADER_LOGS}.queuedRequests.{_COUNT}"),
        ),
        Field(
            "toFlush",
            "how many transactions are appended to the log, and not forced to the disk",
            (f"{_LEARNER_LOGS}.toFlush", f"{_LEADER_LOGS}.toFlush"),
            deque=True,
        ),
        Field(
            "commitQueue",
            "how many committed transactions wait for the delivering thread",
            (
                f"follower.zk.commitProcessor.committedRequests.{_COUNT}",
                f"leader.zk.commitProcessor.committedRequests.{_COUNT}",
            ),
        ),
        Field(
            "pendingTxns",
            "of a follower: how many transactions were proposed to it, and not committed",
            (f"follower.fzk.pendingTxns.{_COUNT}",),
        ),
        Field(
            "outstandingProposals",
            "of a leader: how many transactions it has proposed, and not committed",
            ("leader.outstandingProposals.baseCount",),
        ),
        Field("lastProposed", "of a leader: the last transaction that it has proposed", ("leader.lastProposed",), True),
        Field(
            "lastCommitted", "of a leader: the last transaction that it has committed", ("leader.lastCommitted",), True
        ),
    )
}
"""All fields by name: the epochs, memory, the threads' queues, and those of only a follower or only a leader."""


def field_named(name: str) -> Field:
    """Return the field of this name. FieldError if there is none."""
    try:
        return FIELDS[name]
    except KeyError:
        raise FieldError(f"no field `{name}`; {like(name, FIELDS)}") from None


def read_fields(jvm: Jvm, names: Sequence[str]) -> dict[str, int | None]:
    """Read fields, by name; None for a field that the server does not have now. Raises AgentError or AgentGone.

    Costs some 10 commands a field, a few milliseconds.
    """
    peer = jvm.thread_of(PEER)
    return {name: None if peer is None else _read(jvm, peer, FIELDS[name]) for name in names}


def set_zxid(jvm: Jvm, left: int) -> tuple[int, int] | None:
    """Let the leader's counter go on with only `left` transactions until it rolls over; None if it does not lead.

    Returns the zxids of the last transaction before and after that, in packed form. The leader must not be about to
    broadcast one.
    """
    peer = jvm.thread_of(PEER)
    before = None if peer is None else jvm.value(peer, LAST_ZXID)
    if peer is None or before is None:
        return None
    after = rolled(int(before), left)
    jvm.set_long(peer, LAST_ZXID, after)
    return int(before), after


def rolled(zxid: int, left: int) -> int:
    """Return the zxid of the same epoch after which `left` transactions are left until the counter rolls over."""
    return (zxid | COUNTER) - left - 1


def _read(jvm: Jvm, peer: int, field: Field) -> int | None:
    for way in field.ways:
        value = jvm.value(peer, way.split("."))
        if value is not None:
            return _length(jvm, int(value)) if field.deque else int(value)
    return None


def _length(jvm: Jvm, deque: int) -> int:
    """Return the length of an ArrayDeque: its elements lie in an array from `head` to before `tail`, around the end."""
    head, tail, elements = (jvm.value(deque, [name]) for name in ("head", "tail", "elements"))
    return (int(tail or 0) - int(head or 0)) % jvm.length(int(elements or 0))


def in_words(values: dict[str, int | None]) -> str:
    """Return the names and values of fields as a text."""
    return ", ".join(f"{name} {_in_words(name, value)}" for name, value in values.items())


def _in_words(name: str, value: int | None) -> str:
    if value is None:
        return "not there"
    return shown(value) if FIELDS[name].zxid else str(value)

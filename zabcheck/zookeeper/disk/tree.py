"""The tree of nodes as transactions change it, as far as its digest needs that.

Since 3.6 (`digest.enabled`) a leader writes beside each transaction the digest that its tree has with it, and each
server that applies the transaction compares. The digest of a tree is the sum of its nodes' digests in 64 bits, so it
is kept up to date at O(1) a changed node (DataTree, DigestCalculator and AdHash in ZooKeeper's source).
"""

from msgspec.structs import replace

from zabcheck.zookeeper.disk.snapshot import Node, Stat, content_of
from zabcheck.zookeeper.disk.transaction_log import LogRecord
from zabcheck.zookeeper.wire.jute import Operation, Reader

_BODY = 32  # the offset of the body, after the TxnHeader
_CONTAINER_OWNER = -(1 << 63)
_TTL_OWNER = -(1 << 56)  # and the time to live in the lower bits
_31_BITS = 1 << 31
_64_BITS = (1 << 64) - 1


class Tree:
    """The nodes without their data. Memory is O(nodes), some 500 bytes each."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._owned: dict[int, dict[str, None]] = {}  # session -> its ephemeral nodes
        self.digest = 0

    def put(self, node: Node) -> None:
        """Put a node, which may take the place of one with the same path."""
        before = self._nodes.get(node.path)
        self._nodes[node.path] = node
        self.digest = self.digest + node.digest() - (before.digest() if before else 0) & _64_BITS
        if node.stat.owner:
            self._owned.setdefault(node.stat.owner, {})[node.path] = None

    def apply(self, record: LogRecord) -> None:
        """Apply a transaction. JuteError if its body makes no sense."""
        self._apply(record, record.txn.type, Reader(record.data, _BODY))

    def _apply(self, record: LogRecord, kind: int, body: Reader) -> None:
        match kind:
            case Operation.CREATE | Operation.CREATE2 | Operation.CREATE_CONTAINER | Operation.CREATE_TTL:
                self._create(record, kind, body)
            case Operation.DELETE | Operation.DELETE_CONTAINER:
                self._delete(body.string() or "", record.txn.zxid)
            case Operation.SET_DATA | Operation.RECONFIG:
                path, data, version = body.string() or "", body.buffer() or b"", body.int32()
                if (node := self._nodes.get(_name(path))) is not None:
                    stat = replace(node.stat, mzxid=record.txn.zxid, mtime=record.time, version=version)
                    self.put(Node(node.path, len(data), content_of(node.path, data), stat))
            case Operation.SET_ACL:
                path = body.string() or ""
                _skip_acl(body)
                version = body.int32()
                if (node := self._nodes.get(_name(path))) is not None:
                    self.put(replace(node, stat=replace(node.stat, aversion=version)))
            case Operation.CLOSE_SESSION:
                paths = [body.string() or "" for _ in range(body.length())] if body.left else []
                for path in [*paths, *self._owned.get(record.txn.session, {})]:
                    if path in self._nodes:
                        self._delete(path, record.txn.zxid)
            case Operation.MULTI:
                parts = [(body.int32(), body.buffer() or b"") for _ in range(body.length())]
                if all(part != Operation.ERROR for part, _ in parts):
                    for part, data in parts:
                        assert part != Operation.MULTI, "the log's reader has seen to that"
                        self._apply(record, part, Reader(data))

    def _create(self, record: LogRecord, kind: int, body: Reader) -> None:
        path, data = body.string() or "", body.buffer() or b""
        _skip_acl(body)
        ephemeral = kind in (Operation.CREATE, Operation.CREATE2) and body.bool()
        # Logs of before 3.4 have no number of the parent's changes: then it is the next one.
        cversion = body.int32() if body.left else -1
        owner = record.txn.session if ephemeral else 0
        if kind == Operation.CREATE_CONTAINER:
            owner = _CONTAINER_OWNER
        elif kind == Operation.CREATE_TTL:
            owner = _TTL_OWNER | body.int64()
        zxid, time = record.txn.zxid, record.time
        parent = self._nodes.get(path.rpartition("/")[0])
        if parent is None:
            return
        if path in self._nodes:
            # A snapshot may have the node already; of the parent it may have an older state.
            if kind == Operation.CREATE and cversion > parent.stat.cversion:
                self._child(parent, cversion, zxid)
            return
        if cversion == -1:
            cversion = (parent.stat.cversion + 1 + _31_BITS) % (2 * _31_BITS) - _31_BITS  # as an int of Java
        if cversion > parent.stat.cversion:
            self._child(parent, cversion, zxid)
        self.put(Node(path, len(data), content_of(path, data), Stat(zxid, zxid, time, time, 0, 0, 0, owner, zxid)))

    def _child(self, parent: Node, cversion: int, pzxid: int) -> None:
        """Record at `parent` that a child was created or deleted."""
        s = parent.stat
        stat = Stat(s.czxid, s.mzxid, s.ctime, s.mtime, s.version, cversion, s.aversion, s.owner, pzxid)
        self.put(Node(parent.path, parent.size, parent.content, stat))

    def _delete(self, path: str, zxid: int) -> None:
        parent = self._nodes.get(path.rpartition("/")[0])
        if parent is not None and zxid > parent.stat.pzxid:
            self._child(parent, parent.stat.cversion, zxid)
        node = self._nodes.pop(path, None) if parent is not None else None
        if node is not None:
            self.digest = self.digest - node.digest() & _64_BITS
            owned = self._owned.get(node.stat.owner, {})
            owned.pop(path, None)
            if not owned:
                self._owned.pop(node.stat.owner, None)


def _name(path: str) -> str:
    """Return the path as it is stored: that of the root is empty."""
    return "" if path == "/" else path


def _skip_acl(body: Reader) -> None:
    for _ in range(body.length("the permissions")):
        body.int32("permissions")
        body.buffer("a scheme")
        body.buffer("an id")

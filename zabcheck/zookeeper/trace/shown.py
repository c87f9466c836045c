"""The state of a server as its events have shown it so far: its durable state, and its deliveries.

Both are the trace's view. What the server has in memory, and which lines and packets lead to an event, is known to
`zabcheck.zookeeper.trace.observed_server`.
"""

from collections.abc import Callable

from zabcheck.invariants.chain import EMPTY, Chain
from zabcheck.invariants.events import Accept, Adopt, Deliver, Event, Promise, Restore, Truncate, Txn
from zabcheck.zookeeper.trace.sources import Source

Emit = Callable[[Event, Source], None]
"""Takes an event and its source."""


class Durable:
    """The durable state of one server: f.p, f.a, and the history that it has accepted."""

    def __init__(self, server: int, emit: Emit) -> None:
        self.server = server
        self.incarnation = 0
        self.history = EMPTY
        self.current_epoch = 0
        self.promised = 0
        self.is_unsettled = False
        """True if a synchronisation changed the disk, and may not have been completed."""
        self._emit = emit

    def promise(self, epoch: int, leader: int, source: Source) -> None:
        """Promise an epoch, unless it is promised already."""
        if epoch > self.promised:
            self.promised = epoch
            self._emit(Promise(self.server, self.incarnation, epoch, leader), source)

    def accept(self, txn: Txn, source: Source) -> None:
        """Accept a transaction in the current epoch."""
        self.history = self.history.append(txn)
        self._emit(Accept(self.server, self.incarnation, self.current_epoch, txn), source)

    def accept_up_to(self, history: Chain, source: Source) -> None:
        """Accept the transactions of the current epoch that have no event yet: there was no answer to them."""
        if not history.starts_with(self.history):
            return
        for txn in history.after(self.history.length):
            if txn.zxid.epoch != self.current_epoch:
                return
            self.accept(txn, source)

    def adopt(self, epoch: int, history: Chain, source: Source, is_known: bool) -> None:
        """Adopt the initial history of an epoch; what is not in it is truncated."""
        if not history.starts_with(self.history):
            common = history.common_prefix(self.history)
            self._emit(Truncate(self.server, self.incarnation, common.zxid, common.length), source)
        self.take(epoch, history, source, is_known)

    def take(self, epoch: int, history: Chain, source: Source, is_known: bool) -> None:
        """Take an epoch with this history; nothing shows that unless the history `is_known`."""
        self.current_epoch, self.history, self.is_unsettled = epoch, history, False
        if is_known:
            end = history.zxid, history.length, history.hash
            self._emit(Adopt(self.server, self.incarnation, epoch, *end), source)


class Deliveries:
    """The deliveries of one incarnation of a server."""

    def __init__(self, server: int, emit: Emit) -> None:
        self.server = server
        self._emit = emit
        self.start(0)

    def start(self, incarnation: int) -> None:
        """Begin an incarnation, which delivers what the disk has anew."""
        self.incarnation = incarnation
        self._delivered: dict[Txn, None] = {}
        self._inherited = EMPTY

    def inherit(self, snapshot: Chain) -> None:
        """Take over a snapshot: the transactions in it need no delivery."""
        self._inherited = snapshot

    def deliver(self, txn: Txn, source: Source) -> None:
        """Deliver one transaction."""
        self._delivered[txn] = None
        self._emit(Deliver(self.server, self.incarnation, txn), source)

    def deliver_initial(self, history: Chain, source: Source) -> None:
        """Deliver the transactions in `history` that were not delivered yet."""
        base = self._inherited
        if base and history.starts_with(base) and any(txn not in self._delivered for txn in base):
            self._emit(Restore(self.server, self.incarnation, base.zxid, base.length, base.hash), source)
            self._delivered.update(dict.fromkeys(base))
        for txn in history:
            if txn not in self._delivered:
                self.deliver(txn, source)

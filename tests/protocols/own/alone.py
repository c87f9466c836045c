"""A protocol of one's own that breaks no safety property, because only p1 ever leads and delivers; for the tests."""

import zabcheck
from zabcheck import Txn, Zxid


class Join(zabcheck.Message, frozen=True):
    pass


class Begin(zabcheck.Message, frozen=True):
    epoch: int


class Alone(zabcheck.Process):
    """Followers acknowledge their leader, and do nothing else."""

    messages = (Join, Begin)
    durable = ("epoch", "log")

    epoch = 0
    log: tuple[Txn, ...] = ()
    joined: tuple[int, ...] = ()

    def on_elected(self, leader: int) -> None:
        self.joined = ()
        self.send(leader, Join())

    def on_join(self, sender: int, m: Join) -> None:
        self.joined += (sender,)
        if self.id == 1 and self.primary is None and self.is_quorum(self.joined):
            self.persist(epoch=self.epoch + 1)
            self.send(self.id, Begin(self.epoch))

    def on_begin(self, sender: int, m: Begin) -> None:
        if self.leads and self.epoch == m.epoch:
            for txn in self.log:
                self.deliver(txn)
            self.ready(self.epoch)

    def on_request(self, value: str) -> None:
        txn = Txn(Zxid(self.epoch, len(self.log) + 1), value)
        self.broadcast(txn)
        self.persist(log=(*self.log, txn))
        self.deliver(txn)

"""The least protocol that there is: a leader that asks nobody before it delivers."""

import zabcheck


class Hasty(zabcheck.Process):
    def on_elected(self, leader: int) -> None:
        if self.leads:
            self.ready(1)

    def on_request(self, value: str) -> None:
        txn = zabcheck.Txn(zabcheck.Zxid(1, 1), value)
        self.broadcast(txn)
        self.deliver(txn)

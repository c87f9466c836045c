"""The whole of a small Zab, with the numbers of the steps in DSN 2011, IV and V.

    zabcheck run --exec "python3 kits/python/zab.py"

With `--bug ack-before-disk` a follower acknowledges a proposal that is not on its disk yet.
"""

import sys

from node import Node

OF_THE_PROCESS = ("bug", "promised", "epoch", "history", "delivered", "leader", "phase")
OF_AN_EPOCH = ("new", "promises", "answers", "proposed", "initial", "established", "committed", "ready")
NONE = [0, 0]  # the zxid of an empty history
BUGS = ("ack-before-disk",)


def last(history):
    return history[-1]["zxid"] if history else NONE


class Zab(Node):
    """Every node follows; one that is named leader leads as well, and is its own follower."""

    kinds = ("CEPOCH", "NEWEPOCH", "ACK-E", "NEWLEADER", "ACK-LD", "COMMIT-LD", "PROPOSE", "ACK", "COMMIT")
    properties = ("core", "causality", "protocol")
    mutants = BUGS
    variables = (*OF_THE_PROCESS, "links", "acks", *OF_AN_EPOCH)

    def on_init(self, disk, intact):
        self.bug = self.mutant or (sys.argv[2] if "--bug" in sys.argv else None)
        self.promised, self.epoch = disk.get("f.p", 0), disk.get("f.a", 0)
        self.history = disk.get("history", [])
        self.delivered = []
        self.begin(None, "election")
        if not intact:
            self.event("halt", reason="a record on its disk is not what was written")

    def begin(self, leader, phase):
        self.forget_syncs()
        self.leader, self.phase = leader, phase
        self.new, self.promises, self.answers, self.links = 0, {}, {}, {}  # of a leader: e', CEPOCHs, ACK-Es
        self.proposed, self.initial, self.acks, self.established = None, NONE, {}, False
        self.committed, self.ready = NONE, False
        self.tell()

    def tell(self):
        p, a, h = self.promised, self.epoch, self.history
        self.state(phase=self.phase, **{"f.p": p or None, "f.a": a or None, "h_f": h})

    def durable(self, then, events=(), **fields):
        """Write, and do `then` once it is synced, unless this iteration is over by that time."""
        self.write(events, **fields)
        self.sync(*then)
        self.tell()

    def answer(self, to, kind, fields):
        self.send(to, kind, **fields)

    def saved(self):
        """Leave out what no step reads again, so that more states are the same."""
        acks = {each: max(zxid, self.committed) for each, zxid in self.acks.items()}
        past = {"acks": acks}
        if self.new:
            past["promises"] = {}
        if self.proposed is not None:
            past["answers"] = {}
        if self.established:
            past["initial"] = NONE
        return {**super().saved(), **past}

    def highest_epoch(self):
        return max(self.promised, self.new)

    def abandon(self, reason):
        self.give_up(reason)
        self.begin(None, "election")

    # A follower.

    def on_elected(self, src, m):  # f.1.1
        self.begin(m["leader"], "discovery")
        self.send(self.leader, "CEPOCH", epoch=self.promised)

    def on_newepoch(self, src, m):  # f.1.2
        if src != self.leader or self.phase != "discovery":
            return
        if m["epoch"] < self.promised:
            return self.abandon("NEWEPOCH is older than f.p")
        self.phase, old = "synchronization", m["epoch"] == self.promised
        answer = {"current_epoch": self.epoch, "history": self.history, "counts": not old}
        if old:
            self.tell()
            return self.send(src, "ACK-E", **answer)
        self.promised = m["epoch"]
        events = [self.what("promise", epoch=m["epoch"], leader=src)]
        self.durable(["promise", src, answer], events, **{"f.p": m["epoch"]})

    def promise(self, src, answer):
        self.event("ack_epoch", epoch=self.promised, current_epoch=answer["current_epoch"], history=answer["history"])
        self.answer(src, "ACK-E", answer)

    def on_newleader(self, src, m):  # f.2.1
        if src != self.leader or self.phase != "synchronization":
            return
        if m["epoch"] != self.promised:
            return self.abandon("NEWLEADER is not of the epoch promised")
        old, self.history, self.epoch = self.history, m["history"], m["epoch"]
        events = [self.what("adopt", epoch=m["epoch"], history=self.history)]
        if old != self.history[: len(old)]:
            same = 0
            while same < min(len(old), len(self.history)) and old[same] == self.history[same]:
                same += 1
            events.insert(0, self.what("truncate", zxid=last(old[:same]), length=same))
        answer = {"epoch": m["epoch"], "zxid": last(self.history)}
        self.durable(["answer", src, "ACK-LD", answer], events, **{"f.a": self.epoch, "history": self.history})

    def on_commit_ld(self, src, m):  # f.2.2 and f.3.1
        if src != self.leader or self.phase != "synchronization" or self.epoch != m["epoch"]:
            return
        self.phase = "broadcast"
        self.event("commit_epoch", epoch=m["epoch"])
        if self.delivered != self.history[: len(self.delivered)]:
            self.delivered = []
        self.deliver_up_to(m["zxid"])
        if self.leader == self.id:
            self.ready = True
            self.event("ready", epoch=m["epoch"])
        self.tell()

    def on_propose(self, src, m):  # f.3.2
        if src != self.leader or m["txn"]["zxid"] <= last(self.history):
            return
        self.history = [*self.history, m["txn"]]
        accept = self.what("accept", epoch=m["epoch"], txn=m["txn"])
        answer = {"epoch": m["epoch"], "zxid": m["txn"]["zxid"]}
        if self.bug == "ack-before-disk":
            self.send(src, "ACK", **answer)
            return self.durable(["nothing"], [accept], history=self.history)
        self.durable(["answer", src, "ACK", answer], [accept], history=self.history)

    def on_commit(self, src, m):  # f.3.3
        if src == self.leader and self.phase == "broadcast":
            self.deliver_up_to(m["zxid"])

    def deliver_up_to(self, zxid):
        target = [txn for txn in self.history if txn["zxid"] <= zxid]
        if last(target) != zxid or len(target) <= len(self.delivered):
            return
        for txn in target[len(self.delivered) :]:
            self.event("deliver", txn=txn)
        self.delivered = target

    # A leader.

    def on_cepoch(self, src, m):  # l.1.1, and l.3.3 for who comes later
        if self.leader != self.id:
            return
        self.links[src] = "asked"
        if self.new:
            self.send(src, "NEWEPOCH", epoch=self.new)
            if self.proposed is not None:
                self.propose_history(src)
            return
        self.promises[src] = m["epoch"]
        if self.is_quorum(self.promises):
            self.new = max(self.promises.values()) + 1
            for each in self.promises:
                self.send(each, "NEWEPOCH", epoch=self.new)

    def on_ack_e(self, src, m):  # l.1.2 and l.2.1
        if self.leader != self.id or self.links.get(src) != "asked":
            return
        self.links[src] = "discovered"
        if self.proposed is not None:
            return self.propose_history(src)
        if m["counts"]:
            self.answers[src] = m
        elif src not in self.answers:
            return self.abandon("a promise of e' was made, and its answer lost")
        if not self.is_quorum(self.answers):
            return
        best = max((self.answers[each] for each in sorted(self.answers)), key=rank)
        self.proposed = best["history"]
        self.initial = last(self.proposed)
        for each in [each for each, link in self.links.items() if link == "discovered"]:
            self.propose_history(each)

    def propose_history(self, to):  # l.2.1
        self.links[to] = "proposed"
        self.send(to, "NEWLEADER", epoch=self.new, history=self.proposed)

    def on_ack_ld(self, src, m):  # l.2.2 and l.3.4
        if self.leader != self.id or self.links.get(src) != "proposed":
            return
        self.acks[src] = m["zxid"]
        if self.established:
            self.commit()
            self.links[src] = "synced"
            return self.send(src, "COMMIT-LD", epoch=self.new, zxid=self.committed)
        self.links[src] = "synced"
        if self.is_quorum(self.acks):
            self.established, self.committed = True, self.initial
            self.event("establish", epoch=self.new)
            self.to_all("synced", "COMMIT-LD", epoch=self.new, zxid=self.committed)

    def on_request(self, src, m):  # l.3.1
        if not self.ready:
            return
        epoch, counter = last(self.proposed)
        counter = counter + 1 if epoch == self.new else 1
        if counter > self.counter_limit:
            return self.abandon("the counter would overflow")
        txn = {"zxid": [self.new, counter], "value": m["value"]}
        self.proposed = [*self.proposed, txn]
        self.event("broadcast", epoch=self.new, txn=txn)
        self.to_all("proposed synced", "PROPOSE", epoch=self.new, txn=txn)

    def on_ack(self, src, m):  # l.3.2
        if self.leader == self.id and src in self.acks:
            self.acks[src] = m["zxid"]
            self.commit()

    def commit(self):
        for zxid in sorted(self.acks.values(), reverse=True):
            if zxid <= self.committed:
                return
            if self.is_quorum(each for each, acked in self.acks.items() if acked >= zxid):
                self.committed = zxid
                return self.to_all("synced", "COMMIT", epoch=self.new, zxid=zxid)

    def to_all(self, links, kind, **fields):
        for each, link in self.links.items():
            if link in links.split():
                self.send(each, kind, **fields)

    # The end of an iteration.

    def on_lost(self, src, m):
        if self.leader != self.id:
            if m["peer"] == self.leader:
                self.abandon("the leader closed the connection")
            return
        self.links.pop(m["peer"], None)
        if self.new and not self.is_quorum(self.links):
            self.abandon("no quorum of followers is left")

    def on_timed_out(self, src, m):
        if self.phase != "election":
            self.abandon("time-out")


def rank(answer):
    return answer["current_epoch"], last(answer["history"])


if __name__ == "__main__":
    Zab().run()

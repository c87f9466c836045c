"""A node that zabcheck single-steps: a subclass of `Node` has a method for each type of body that it is sent.

Python's standard library is all that is needed. docs/any-language.md says what each line means.
"""

import json
import sys


class Node:
    """Reads a line, calls the method `on_TYPE`, and writes what that asked for, all at once, with `done` behind it."""

    kinds = ()  # every type of message that the nodes send to each other
    properties = None  # what to judge it by; None: what holds for any primary order broadcast
    mutants = ()  # the known bugs that can be planted

    def run(self):
        while line := sys.stdin.buffer.readline():
            m = json.loads(line)
            self._out = []
            ends = self._handle(m["id"], m["src"], m["body"])
            self._tell("zabcheck", in_reply_to=m["id"], **ends)
            sys.stdout.write("".join(self._out))
            sys.stdout.flush()

    def _handle(self, number, src, body):
        kind = body["type"]
        if kind == "reset":
            self.__dict__.clear()
            self._out = []
            return {"type": "reset_ok"}
        if kind == "init":
            self._init(body)
            self.on_init(body["disk"], body["intact"])
            says = {"reset": True, "kinds": self.kinds, "properties": self.properties, "mutants": self.mutants}
            return {"type": "init_ok", **says}
        if kind == "synced":
            self._waiting.pop(body["in_reply_to"])()
        else:
            getattr(self, "on_" + kind.lower().replace("-", "_"))(src, body)
        return {"type": "done"}

    def _init(self, body):
        self.id, self.ids = body["node_id"], body["node_ids"]
        self.weights, self.mutant = body["weights"], body["mutant"]
        self.seed, self.counter_limit = body["seed"], body["counter_limit"]
        self._waiting = {}  # by the number of a sync: what is done when the disk has answered it
        self._syncs = 0

    def _tell(self, dest, **body):
        self._out.append(json.dumps({"src": self.__dict__.get("id", "node"), "dest": dest, "body": body}) + "\n")

    # What a method can do.

    def send(self, to, kind, **fields):
        """Send a message to a node, which may be this one."""
        self._tell(to, type=kind, **fields)

    def event(self, kind, **fields):
        """Tell zabcheck what happened: broadcast, deliver, ready, …"""
        self._tell("zabcheck", **self.what(kind, **fields))

    def what(self, kind, **fields):
        """Return an event, to be told with a write, once that is durable."""
        return {"type": "event", "event": kind, **fields}

    def write(self, events=(), **fields):
        """Write these fields to the disk, all or none; they are durable once a later sync is answered."""
        self._tell("disk", type="write", fields=fields, events=events)

    def sync(self, then):
        """Ask the disk to sync what was written, and call `then` once it has."""
        self._syncs += 1
        self._waiting[self._syncs] = then
        self._tell("disk", type="sync", msg_id=self._syncs)

    def give_up(self, reason):
        """Close every connection, and wait for the oracle."""
        self._tell("zabcheck", type="give_up", reason=reason)

    def state(self, **variables):
        """Tell what this node remembers, for reports."""
        self._tell("zabcheck", type="state", variables=variables)

    def is_quorum(self, members):
        """Whether these nodes are a quorum: more than half of the weight."""
        return 2 * sum(self.weights[member] for member in set(members)) > sum(self.weights.values())

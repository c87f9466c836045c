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
    variables = None  # the names of all that a step may change, for snapshots; None: there are none

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
            return {"type": "init_ok", "snapshot": self.variables is not None, **says}
        if kind == "snapshot":
            state = {**self.saved(), "waiting": self._waiting}
            return {"type": "snapshot_ok", "epoch": self.highest_epoch(), "state": state}
        if kind == "restore":
            out = self._out
            self.__dict__.clear()
            self._init(body)
            self._out, state = out, body["state"]
            self._waiting = {int(number): then for number, then in state.pop("waiting").items()}
            self.__dict__.update(state)
            return {"type": "restore_ok"}
        if kind == "synced":
            then, *arguments = self._waiting.pop(body["in_reply_to"])
            getattr(self, then)(*arguments)
        else:
            getattr(self, "on_" + kind.lower().replace("-", "_"))(src, body)
        return {"type": "done"}

    def _init(self, body):
        self.id, self.ids = body["node_id"], body["node_ids"]
        self.weights, self.mutant = body["weights"], body["mutant"]
        self.seed, self.counter_limit = body["seed"], body["counter_limit"]
        self._waiting = {}  # by the number of a sync: the method that is called when the disk has answered it

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

    def sync(self, then, *arguments):
        """Ask the disk to sync what was written, and call the method of the name `then` once it has."""
        number = max(self._waiting, default=0) + 1
        self._waiting[number] = [then, *arguments]
        self._tell("disk", type="sync", msg_id=number)

    def forget_syncs(self):
        """Do nothing once the disk has answered what it was asked so far."""
        self._waiting = {number: ["nothing"] for number in self._waiting}

    def nothing(self):
        """The call that is made then."""

    def give_up(self, reason):
        """Close every connection, and wait for the oracle."""
        self._tell("zabcheck", type="give_up", reason=reason)

    def state(self, **variables):
        """Tell what this node remembers, for reports."""
        self._tell("zabcheck", type="state", variables=variables)

    # For snapshots; a node without `variables` needs none of it.

    def saved(self):
        """Return all that this node remembers, by name: one value for all that nothing to come can tell apart."""
        return {name: getattr(self, name) for name in self.variables}

    def highest_epoch(self):
        """Return the highest epoch that this node has promised or proposed."""
        raise NotImplementedError  # only the node itself knows

    def is_quorum(self, members):
        """Return True if these nodes are a quorum: more than half of the weight."""
        return 2 * sum(self.weights[member] for member in set(members)) > sum(self.weights.values())

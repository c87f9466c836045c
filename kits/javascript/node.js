// A node that zabcheck single-steps: a subclass of Node has a method for each type of body that it is sent.
//
// Nothing but node.js is needed. docs/any-language.md says what each line means.
"use strict";
const fs = require("fs");

class Node {
  id = "node";
  #out = "";
  #waiting = {}; // by the number of a sync: the lines that are written when the disk has answered it

  // Reads lines and answers them until the standard input is closed; `start` makes a node as it is at first.
  static run(start) {
    const some = Buffer.alloc(1 << 16);
    let node = start();
    let rest = Buffer.alloc(0);
    for (;;) {
      let length;
      try {
        length = fs.readSync(0, some);
      } catch (error) {
        if (error.code === "EAGAIN") continue;
        if (error.code === "EOF") return;
        throw error;
      }
      if (length === 0) return;
      rest = Buffer.concat([rest, some.subarray(0, length)]);
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        const line = JSON.parse(rest.subarray(0, end));
        rest = rest.subarray(end + 1);
        if (["reset", "restore"].includes(line.body.type)) node = start();
        node.#answer(line);
      }
    }
  }

  #answer({ id, src, body }) {
    let end = { type: "done", in_reply_to: id };
    if (body.type === "reset") end.type = "reset_ok";
    else if (body.type === "init") {
      this.#init(body);
      this.onInit(body.disk, body.intact);
      end = { ...end, type: "init_ok", reset: true, snapshot: "saved" in this, ...this.knows };
    } else if (body.type === "snapshot") {
      const state = { saved: this.saved(), waiting: this.#waiting };
      end = { ...end, type: "snapshot_ok", epoch: this.highestEpoch(), state };
    } else if (body.type === "restore") {
      this.#init(body);
      this.#waiting = body.state.waiting;
      this.restore(body.state.saved);
      end.type = "restore_ok";
    } else if (body.type === "synced") {
      const then = this.#waiting[body.in_reply_to];
      delete this.#waiting[body.in_reply_to];
      for (const line of then) this.send(...line);
    } else this[`on ${body.type}`](src, body);
    const { type, ...fields } = end;
    this.send("zabcheck", type, fields);
    for (let text = Buffer.from(this.#out); text.length > 0; ) text = text.subarray(fs.writeSync(1, text));
    this.#out = "";
  }

  #init(body) {
    this.id = body.node_id;
    this.ids = body.node_ids;
    this.weights = body.weights;
    this.mutant = body.mutant;
    this.seed = body.seed;
    this.counterLimit = body.counter_limit;
  }

  // For snapshots, which a node may do without, a subclass has three methods: `saved` returns all that it remembers,
  // one value for all that nothing to come can tell apart; `restore` takes that back, in a node that was just started;
  // and `highestEpoch` returns the highest epoch that it has promised or proposed.

  // What a method can do.

  // Sends a message to a node, which may be this one.
  send(to, type, fields) {
    this.#out += JSON.stringify({ src: this.id, dest: to, body: { type, ...fields } }) + "\n";
  }

  // An event, to be told with a write, once that is durable.
  what(event, fields) {
    return { type: "event", event, ...fields };
  }

  // Tells zabcheck what happened: broadcast, deliver, ready, …
  event(event, fields) {
    this.send("zabcheck", "event", this.what(event, fields));
  }

  // Writes these fields, all or none, and asks for them to be synced; then each of `then` is sent, which are arguments
  // of `send`.
  write(fields, events, then) {
    const number = Math.max(0, ...Object.keys(this.#waiting)) + 1;
    this.#waiting[number] = then;
    this.send("disk", "write", { fields, events });
    this.send("disk", "sync", { msg_id: number });
  }

  // Sends nothing once the disk has answered what it was asked so far.
  forgetSyncs() {
    for (const number of Object.keys(this.#waiting)) this.#waiting[number] = [];
  }

  // Closes every connection, and waits for the oracle.
  giveUp(reason) {
    this.send("zabcheck", "give_up", { reason });
  }

  // Tells what this node remembers, for reports.
  state(variables) {
    this.send("zabcheck", "state", { variables });
  }

  // Whether these nodes have more than half of the weight.
  isQuorum(members) {
    const sum = (ids) => ids.reduce((total, id) => total + this.weights[id], 0);
    return 2 * sum([...members]) > sum(this.ids);
  }
}

module.exports = { Node };

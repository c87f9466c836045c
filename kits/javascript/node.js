// A node that zabcheck single-steps: a subclass of Node has a method for each type of body that it is sent.
//
// Nothing but node.js is needed. docs/any-language.md says what each line means.
"use strict";
const fs = require("fs");

class Node {
  id = "node";
  #out = "";
  #waiting = new Map(); // by the number of a sync: what is done when the disk has answered it
  #syncs = 0;

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
        if (line.body.type === "reset") node = start();
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
      end = { ...end, type: "init_ok", reset: true, ...this.knows };
    } else if (body.type === "synced") {
      const then = this.#waiting.get(body.in_reply_to);
      this.#waiting.delete(body.in_reply_to);
      then();
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

  // Writes these fields, all or none, and asks for them to be synced; `then` is called once they are.
  write(fields, events, then) {
    this.#syncs += 1;
    this.#waiting.set(this.#syncs, then);
    this.send("disk", "write", { fields, events });
    this.send("disk", "sync", { msg_id: this.#syncs });
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

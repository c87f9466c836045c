// The whole of a small Zab, with the numbers of the steps in DSN 2011, IV and V.
//
//     zabcheck run --exec "node kits/javascript/zab.js"
//
// With `--bug accept-stale-epoch` a follower promises an epoch that it has promised to somebody else.
"use strict";
const { Node } = require("./node.js");

const NONE = [0, 0];
const order = (a, b) => a[0] - b[0] || a[1] - b[1];
const last = (history) => (history.length > 0 ? history[history.length - 1].zxid : NONE);
const same = (a, b) => order(a.zxid, b.zxid) === 0 && a.value === b.value;

const VALUES = ["bug", "promised", "epoch", "history", "delivered", "leader", "phase", "new", "proposed", "initial"];
VALUES.push("established", "committed", "ready");
const MAPS = ["promises", "answers", "links", "acks"];

function common(a, b) {
  let length = 0;
  while (length < Math.min(a.length, b.length) && same(a[length], b[length])) length += 1;
  return length;
}

class Zab extends Node {
  knows = {
    kinds: ["CEPOCH", "NEWEPOCH", "ACK-E", "NEWLEADER", "ACK-LD", "COMMIT-LD", "PROPOSE", "ACK", "COMMIT"],
    properties: ["core", "causality", "protocol"],
    mutants: ["accept-stale-epoch"],
  };
  delivered = [];

  onInit(disk, intact) {
    this.bug = this.mutant ?? (process.argv[2] === "--bug" ? process.argv[3] : null);
    this.promised = disk["f.p"] ?? 0;
    this.epoch = disk["f.a"] ?? 0;
    this.history = disk.history ?? [];
    this.begin(null, "election");
    if (!intact) this.event("halt", { reason: "a record on its disk is not what was written" });
  }

  begin(leader, phase) {
    this.forgetSyncs();
    Object.assign(this, { leader, phase, new: 0, proposed: null, initial: NONE });
    Object.assign(this, { established: false, committed: NONE, ready: false });
    for (const each of MAPS) this[each] = new Map();
    this.tell();
  }

  // What no step reads again is left out, so that more states are the same.
  saved() {
    const saved = {};
    for (const each of VALUES) saved[each] = this[each];
    for (const each of MAPS) saved[each] = Object.fromEntries(this[each]);
    if (this.new > 0) saved.promises = {};
    if (this.proposed !== null) saved.answers = {};
    if (this.established) saved.initial = NONE;
    for (const [each, zxid] of this.acks) saved.acks[each] = order(zxid, this.committed) < 0 ? this.committed : zxid;
    return saved;
  }

  restore(saved) {
    Object.assign(this, saved);
    for (const each of MAPS) this[each] = new Map(Object.entries(saved[each]));
  }

  highestEpoch() {
    return Math.max(this.promised, this.new);
  }

  tell() {
    this.state({ phase: this.phase, "f.p": this.promised, "f.a": this.epoch, h_f: this.history });
  }

  // Writes, and sends `then` once that is synced, unless this iteration is over by that time.
  durable(fields, events, ...then) {
    this.write(fields, events, then);
    this.tell();
  }

  abandon(reason) {
    this.giveUp(reason);
    this.begin(null, "election");
  }

  get leads() {
    return this.leader === this.id;
  }

  // A follower.

  "on elected"(_src, m) { // f.1.1
    this.begin(m.leader, "discovery");
    this.send(this.leader, "CEPOCH", { epoch: this.promised });
  }

  "on NEWEPOCH"(src, m) { // f.1.2
    if (src !== this.leader || this.phase !== "discovery") return;
    if (m.epoch < this.promised) return this.abandon("NEWEPOCH is older than f.p");
    const counts = m.epoch > this.promised || this.bug === "accept-stale-epoch";
    const answer = { current_epoch: this.epoch, history: this.history, counts };
    this.phase = "synchronization";
    this.promised = m.epoch;
    if (!counts) {
      this.tell();
      return this.send(src, "ACK-E", answer);
    }
    const { current_epoch, history } = answer;
    const told = this.what("ack_epoch", { epoch: m.epoch, current_epoch, history });
    const promise = this.what("promise", { epoch: m.epoch, leader: src });
    this.durable({ "f.p": m.epoch }, [promise], ["zabcheck", "event", told], [src, "ACK-E", answer]);
  }

  "on NEWLEADER"(src, m) { // f.2.1
    if (src !== this.leader || this.phase !== "synchronization") return;
    if (m.epoch !== this.promised) return this.abandon("NEWLEADER is not of the epoch promised");
    const events = [this.what("adopt", { epoch: m.epoch, history: m.history })];
    const length = common(this.history, m.history);
    if (length < this.history.length) {
      events.unshift(this.what("truncate", { zxid: last(this.history.slice(0, length)), length }));
    }
    this.history = m.history;
    this.epoch = m.epoch;
    const answer = { epoch: m.epoch, zxid: last(m.history) };
    this.durable({ "f.a": m.epoch, history: m.history }, events, [src, "ACK-LD", answer]);
  }

  "on COMMIT-LD"(src, m) { // f.2.2 and f.3.1
    if (src !== this.leader || this.phase !== "synchronization" || this.epoch !== m.epoch) return;
    this.phase = "broadcast";
    this.event("commit_epoch", { epoch: m.epoch });
    if (common(this.delivered, this.history) < this.delivered.length) this.delivered = [];
    this.deliverUpTo(m.zxid);
    if (this.leads) {
      this.ready = true;
      this.event("ready", { epoch: m.epoch });
    }
    this.tell();
  }

  "on PROPOSE"(src, m) { // f.3.2
    if (src !== this.leader || order(m.txn.zxid, last(this.history)) <= 0) return;
    this.history = [...this.history, m.txn];
    const accept = this.what("accept", { epoch: m.epoch, txn: m.txn });
    const answer = { epoch: m.epoch, zxid: m.txn.zxid };
    this.durable({ history: this.history }, [accept], [src, "ACK", answer]);
  }

  "on COMMIT"(src, m) { // f.3.3
    if (src === this.leader && this.phase === "broadcast") this.deliverUpTo(m.zxid);
  }

  deliverUpTo(zxid) {
    const target = this.history.filter((txn) => order(txn.zxid, zxid) <= 0);
    if (order(last(target), zxid) !== 0 || target.length <= this.delivered.length) return;
    for (const txn of target.slice(this.delivered.length)) this.event("deliver", { txn });
    this.delivered = target;
  }

  // A leader.

  "on CEPOCH"(src, m) { // l.1.1, and l.3.3 for who comes later
    if (!this.leads) return;
    this.links.set(src, "asked");
    if (this.new > 0) {
      this.send(src, "NEWEPOCH", { epoch: this.new });
      if (this.proposed !== null) this.proposeHistory(src);
      return;
    }
    this.promises.set(src, m.epoch);
    if (!this.isQuorum(this.promises.keys())) return;
    this.new = Math.max(...this.promises.values()) + 1;
    for (const each of this.promises.keys()) this.send(each, "NEWEPOCH", { epoch: this.new });
  }

  "on ACK-E"(src, m) { // l.1.2 and l.2.1
    if (!this.leads || this.links.get(src) !== "asked") return;
    this.links.set(src, "discovered");
    if (this.proposed !== null) return this.proposeHistory(src);
    if (m.counts) this.answers.set(src, m);
    else if (!this.answers.has(src)) return this.abandon("a promise of e' was made, and its answer lost");
    if (!this.isQuorum(this.answers.keys())) return;
    const later = (a, b) => a.current_epoch - b.current_epoch || order(last(a.history), last(b.history));
    const answers = this.ids.filter((id) => this.answers.has(id)).map((id) => this.answers.get(id));
    this.proposed = answers.reduce((best, each) => (later(each, best) > 0 ? each : best)).history;
    this.initial = last(this.proposed);
    for (const [each, link] of this.links) if (link === "discovered") this.proposeHistory(each);
  }

  proposeHistory(to) { // l.2.1
    this.links.set(to, "proposed");
    this.send(to, "NEWLEADER", { epoch: this.new, history: this.proposed });
  }

  "on ACK-LD"(src, m) { // l.2.2 and l.3.4
    if (!this.leads || this.links.get(src) !== "proposed") return;
    this.acks.set(src, m.zxid);
    if (this.established) {
      this.commit();
      this.links.set(src, "synced");
      return this.send(src, "COMMIT-LD", { epoch: this.new, zxid: this.committed });
    }
    this.links.set(src, "synced");
    if (!this.isQuorum(this.acks.keys())) return;
    this.established = true;
    this.committed = this.initial;
    this.event("establish", { epoch: this.new });
    this.toAll(["synced"], "COMMIT-LD", { epoch: this.new, zxid: this.committed });
  }

  "on request"(_src, m) { // l.3.1
    if (!this.ready) return;
    const [epoch, counter] = last(this.proposed);
    const zxid = [this.new, epoch === this.new ? counter + 1 : 1];
    if (zxid[1] > this.counterLimit) return this.abandon("the counter would overflow");
    const txn = { zxid, value: m.value };
    this.proposed = [...this.proposed, txn];
    this.event("broadcast", { epoch: this.new, txn });
    this.toAll(["proposed", "synced"], "PROPOSE", { epoch: this.new, txn });
  }

  "on ACK"(src, m) { // l.3.2
    if (!this.leads || !this.acks.has(src)) return;
    this.acks.set(src, m.zxid);
    this.commit();
  }

  commit() {
    for (const zxid of [...this.acks.values()].sort(order).reverse()) {
      if (order(zxid, this.committed) <= 0) return;
      const acked = [...this.acks].filter(([, its]) => order(its, zxid) >= 0).map(([each]) => each);
      if (this.isQuorum(acked)) {
        this.committed = zxid;
        return this.toAll(["synced"], "COMMIT", { epoch: this.new, zxid });
      }
    }
  }

  toAll(links, type, fields) {
    for (const [each, link] of this.links) if (links.includes(link)) this.send(each, type, fields);
  }

  // The end of an iteration.

  "on lost"(_src, m) {
    if (!this.leads) {
      if (m.peer === this.leader) this.abandon("the leader closed the connection");
      return;
    }
    this.links.delete(m.peer);
    if (this.new > 0 && !this.isQuorum(this.links.keys())) this.abandon("no quorum of followers is left");
  }

  "on timed_out"() {
    if (this.phase !== "election") this.abandon("time-out");
  }
}

Node.run(() => new Zab());

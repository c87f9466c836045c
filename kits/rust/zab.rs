//! The whole of a small Zab, with the numbers of the steps in DSN 2011, IV and V.
//!
//!     rustc --edition 2021 -O -o zab zab.rs; zabcheck run --exec ./zab
//!
//! With `--bug propose-to-acked-only` a leader proposes only to followers that have acknowledged its history.

mod json;
mod node;

use std::collections::BTreeMap;

use json::{object, Json};
use node::{run, what, Handler, Knows, Node};

const KNOWS: Knows = Knows {
    kinds: &["CEPOCH", "NEWEPOCH", "ACK-E", "NEWLEADER", "ACK-LD", "COMMIT-LD", "PROPOSE", "ACK", "COMMIT"],
    properties: &["core", "causality", "protocol"],
    mutants: &["propose-to-acked-only"],
};

type Zxid = (i64, i64); // compared as the paper does: the epoch first
const NONE: Zxid = (0, 0);

#[derive(Clone, PartialEq)]
struct Txn {
    zxid: Zxid,
    value: String,
}

impl From<Zxid> for Json {
    fn from((epoch, counter): Zxid) -> Json {
        Json::List(vec![epoch.into(), counter.into()])
    }
}

impl From<Txn> for Json {
    fn from(txn: Txn) -> Json {
        object([("zxid", txn.zxid.into()), ("value", txn.value[..].into())])
    }
}

fn zxid_of(json: &Json) -> Zxid {
    (json.list()[0].number(), json.list()[1].number())
}

fn txn_of(json: &Json) -> Txn {
    Txn { zxid: zxid_of(json.get("zxid")), value: json.get("value").text().to_string() }
}

fn history_of(json: &Json) -> Vec<Txn> {
    json.list().iter().map(txn_of).collect()
}

fn last(history: &[Txn]) -> Zxid {
    history.last().map_or(NONE, |txn| txn.zxid)
}

fn common(a: &[Txn], b: &[Txn]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[derive(PartialEq)]
enum Phase {
    Election,
    Discovery,
    Synchronization,
    Broadcast,
}

#[derive(Clone, Copy, PartialEq)]
enum Link {
    Asked,
    Discovered,
    Proposed,
    Synced,
}

/// What a leader knows in an iteration.
#[derive(Default)]
struct Leader {
    new: i64,                                   // e', once it is chosen
    promises: BTreeMap<String, i64>,            // the CEPOCHs
    answers: BTreeMap<String, (i64, Vec<Txn>)>, // the ACK-Es that count
    links: BTreeMap<String, Link>,
    acks: BTreeMap<String, Zxid>,
    proposed: Option<Vec<Txn>>, // from the initial history on
    initial: Zxid,
    committed: Zxid,
    established: bool,
    ready: bool,
}

/// Every node follows; one that is named leader leads as well, and is its own follower.
struct Zab {
    node: Node<Zab>,
    bug: Option<String>,
    promised: i64, // f.p
    epoch: i64,    // f.a
    history: Vec<Txn>,
    delivered: Vec<Txn>,
    iteration: i64,
    leader: String,
    phase: Phase,
    l: Leader,
}

impl Handler for Zab {
    fn new(node: Node<Zab>) -> Zab {
        Zab {
            node,
            bug: None,
            promised: 0,
            epoch: 0,
            history: vec![],
            delivered: vec![],
            iteration: 0,
            leader: String::new(),
            phase: Phase::Election,
            l: Leader::default(),
        }
    }

    fn node(&mut self) -> &mut Node<Zab> {
        &mut self.node
    }

    fn init(&mut self, disk: &Json, intact: bool) {
        let argument = std::env::args().skip_while(|each| each != "--bug").nth(1);
        self.bug = self.node.mutant.clone().or(argument);
        for (name, kept) in disk.fields() {
            match &name[..] {
                "f.p" => self.promised = kept.number(),
                "f.a" => self.epoch = kept.number(),
                "history" => self.history = history_of(kept),
                _ => panic!("no such field: {name}"),
            }
        }
        self.begin("", Phase::Election);
        if !intact {
            self.node.event("halt", object([("reason", "a record on its disk is not what was written".into())]));
        }
    }

    fn handle(&mut self, src: &str, kind: &str, m: &Json) {
        let number = |name| m.get(name).number();
        match kind {
            "elected" => self.on_elected(m.get("leader").text()),
            "NEWEPOCH" => self.on_newepoch(src, number("epoch")),
            "NEWLEADER" => self.on_newleader(src, number("epoch"), history_of(m.get("history"))),
            "COMMIT-LD" => self.on_commit_ld(src, number("epoch"), zxid_of(m.get("zxid"))),
            "PROPOSE" => self.on_propose(src, number("epoch"), txn_of(m.get("txn"))),
            "COMMIT" => self.on_commit(src, zxid_of(m.get("zxid"))),
            "CEPOCH" => self.on_cepoch(src, number("epoch")),
            "ACK-E" => {
                let answer = (number("current_epoch"), history_of(m.get("history")));
                self.on_ack_e(src, answer, m.get("counts").truth());
            }
            "ACK-LD" => self.on_ack_ld(src, zxid_of(m.get("zxid"))),
            "request" => self.on_request(m.get("value").text()),
            "ACK" => self.on_ack(src, zxid_of(m.get("zxid"))),
            "lost" => self.on_lost(m.get("peer").text()),
            "timed_out" => self.on_timed_out(),
            _ => panic!("no such body: {kind}"),
        }
    }
}

impl Zab {
    fn begin(&mut self, leader: &str, phase: Phase) {
        self.iteration += 1;
        self.leader = leader.to_string();
        self.phase = phase;
        self.l = Leader::default();
        self.tell();
    }

    fn tell(&mut self) {
        let phase = match self.phase {
            Phase::Election => "election",
            Phase::Discovery => "discovery",
            Phase::Synchronization => "synchronization",
            Phase::Broadcast => "broadcast",
        };
        self.node.state(object([
            ("phase", phase.into()),
            ("f.p", self.promised.into()),
            ("f.a", self.epoch.into()),
            ("h_f", self.history[..].into()),
        ]));
    }

    /// Writes, and does `then` once that is synced, unless this iteration is over by that time.
    fn durable(&mut self, fields: Json, events: Vec<Json>, then: impl FnOnce(&mut Zab) + 'static) {
        let now = self.iteration;
        self.node.write(fields, events, move |f| {
            if now == f.iteration {
                then(f);
            }
        });
        self.tell();
    }

    fn abandon(&mut self, reason: &str) {
        self.node.give_up(reason);
        self.begin("", Phase::Election);
    }

    fn leads(&self) -> bool {
        self.leader == self.node.id
    }

    // A follower.

    /// f.1.1
    fn on_elected(&mut self, leader: &str) {
        self.begin(leader, Phase::Discovery);
        self.node.send(leader, "CEPOCH", object([("epoch", self.promised.into())]));
    }

    /// f.1.2
    fn on_newepoch(&mut self, src: &str, epoch: i64) {
        if src != self.leader || self.phase != Phase::Discovery {
            return;
        }
        if epoch < self.promised {
            return self.abandon("NEWEPOCH is older than f.p");
        }
        let counts = epoch > self.promised;
        let told = object([("current_epoch", self.epoch.into()), ("history", self.history[..].into())]);
        let answer = told.and(&object([("counts", counts.into())]));
        self.phase = Phase::Synchronization;
        self.promised = epoch;
        if !counts {
            self.tell();
            return self.node.send(src, "ACK-E", answer);
        }
        let promise = what("promise", object([("epoch", epoch.into()), ("leader", src.into())]));
        let leader = src.to_string();
        self.durable(object([("f.p", epoch.into())]), vec![promise], move |f| {
            f.node.event("ack_epoch", told.and(&object([("epoch", epoch.into())])));
            f.node.send(&leader, "ACK-E", answer);
        });
    }

    /// f.2.1
    fn on_newleader(&mut self, src: &str, epoch: i64, accepted: Vec<Txn>) {
        if src != self.leader || self.phase != Phase::Synchronization {
            return;
        }
        if epoch != self.promised {
            return self.abandon("NEWLEADER is not of the epoch promised");
        }
        let mut events = vec![];
        let same = common(&self.history, &accepted);
        if same < self.history.len() {
            let zxid = last(&self.history[..same]);
            events.push(what("truncate", object([("zxid", zxid.into()), ("length", (same as i64).into())])));
        }
        let history: Json = accepted[..].into();
        events.push(what("adopt", object([("epoch", epoch.into()), ("history", history.clone())])));
        self.history = accepted;
        self.epoch = epoch;
        let answer = object([("epoch", epoch.into()), ("zxid", last(&self.history).into())]);
        let leader = src.to_string();
        self.durable(object([("f.a", epoch.into()), ("history", history)]), events, move |f| {
            f.node.send(&leader, "ACK-LD", answer);
        });
    }

    /// f.2.2 and f.3.1
    fn on_commit_ld(&mut self, src: &str, epoch: i64, zxid: Zxid) {
        if src != self.leader || self.phase != Phase::Synchronization || self.epoch != epoch {
            return;
        }
        self.phase = Phase::Broadcast;
        self.node.event("commit_epoch", object([("epoch", epoch.into())]));
        if !self.history.starts_with(&self.delivered) {
            self.delivered.clear();
        }
        self.deliver_up_to(zxid);
        if self.leads() {
            self.l.ready = true;
            self.node.event("ready", object([("epoch", epoch.into())]));
        }
        self.tell();
    }

    /// f.3.2
    fn on_propose(&mut self, src: &str, epoch: i64, txn: Txn) {
        if src != self.leader || txn.zxid <= last(&self.history) {
            return;
        }
        let answer = object([("epoch", epoch.into()), ("zxid", txn.zxid.into())]);
        let accept = what("accept", object([("epoch", epoch.into()), ("txn", txn.clone().into())]));
        self.history.push(txn);
        let leader = src.to_string();
        self.durable(object([("history", self.history[..].into())]), vec![accept], move |f| {
            f.node.send(&leader, "ACK", answer);
        });
    }

    /// f.3.3
    fn on_commit(&mut self, src: &str, zxid: Zxid) {
        if src == self.leader && self.phase == Phase::Broadcast {
            self.deliver_up_to(zxid);
        }
    }

    fn deliver_up_to(&mut self, zxid: Zxid) {
        let target: Vec<Txn> = self.history.iter().take_while(|txn| txn.zxid <= zxid).cloned().collect();
        if last(&target) != zxid || target.len() <= self.delivered.len() {
            return;
        }
        for txn in &target[self.delivered.len()..] {
            self.node.event("deliver", object([("txn", txn.clone().into())]));
        }
        self.delivered = target;
    }

    // A leader.

    /// l.1.1, and l.3.3 for who comes later
    fn on_cepoch(&mut self, src: &str, epoch: i64) {
        if !self.leads() {
            return;
        }
        self.l.links.insert(src.to_string(), Link::Asked);
        if self.l.new > 0 {
            self.node.send(src, "NEWEPOCH", object([("epoch", self.l.new.into())]));
            if self.l.proposed.is_some() {
                self.propose_history(src);
            }
            return;
        }
        self.l.promises.insert(src.to_string(), epoch);
        if self.node.is_quorum(|each| self.l.promises.contains_key(each)) {
            self.l.new = self.l.promises.values().max().unwrap() + 1;
            for each in self.l.promises.keys() {
                self.node.send(each, "NEWEPOCH", object([("epoch", self.l.new.into())]));
            }
        }
    }

    /// l.1.2 and l.2.1
    fn on_ack_e(&mut self, src: &str, answer: (i64, Vec<Txn>), counts: bool) {
        if !self.leads() || self.l.links.get(src) != Some(&Link::Asked) {
            return;
        }
        self.l.links.insert(src.to_string(), Link::Discovered);
        if self.l.proposed.is_some() {
            return self.propose_history(src);
        }
        if counts {
            self.l.answers.insert(src.to_string(), answer);
        } else if !self.l.answers.contains_key(src) {
            return self.abandon("a promise of e' was made, and its answer lost");
        }
        if !self.node.is_quorum(|each| self.l.answers.contains_key(each)) {
            return;
        }
        // The last of those that are level is found, so the lowest comes last.
        let answers = self.node.ids.iter().rev().filter_map(|each| self.l.answers.get(each));
        let (_, best) = answers.max_by_key(|(epoch, history)| (epoch, last(history))).unwrap();
        self.l.initial = last(best);
        self.l.proposed = Some(best.clone());
        for each in self.linked(&[Link::Discovered]) {
            self.propose_history(&each);
        }
    }

    /// l.2.1
    fn propose_history(&mut self, to: &str) {
        self.l.links.insert(to.to_string(), Link::Proposed);
        let history = self.l.proposed.as_ref().unwrap();
        self.node.send(to, "NEWLEADER", object([("epoch", self.l.new.into()), ("history", history[..].into())]));
    }

    /// l.2.2 and l.3.4
    fn on_ack_ld(&mut self, src: &str, zxid: Zxid) {
        if !self.leads() || self.l.links.get(src) != Some(&Link::Proposed) {
            return;
        }
        self.l.acks.insert(src.to_string(), zxid);
        if self.l.established {
            self.commit();
            self.l.links.insert(src.to_string(), Link::Synced);
            let commit = object([("epoch", self.l.new.into()), ("zxid", self.l.committed.into())]);
            return self.node.send(src, "COMMIT-LD", commit);
        }
        self.l.links.insert(src.to_string(), Link::Synced);
        if self.node.is_quorum(|each| self.l.acks.contains_key(each)) {
            self.l.established = true;
            self.l.committed = self.l.initial;
            self.node.event("establish", object([("epoch", self.l.new.into())]));
            let commit = object([("epoch", self.l.new.into()), ("zxid", self.l.committed.into())]);
            self.to_all(&[Link::Synced], "COMMIT-LD", commit);
        }
    }

    /// l.3.1
    fn on_request(&mut self, value: &str) {
        if !self.l.ready {
            return;
        }
        let proposed = self.l.proposed.as_mut().unwrap();
        let (epoch, counter) = last(proposed);
        let zxid = (self.l.new, if epoch == self.l.new { counter + 1 } else { 1 });
        if zxid.1 > self.node.counter_limit {
            return self.abandon("the counter would overflow");
        }
        let txn = Txn { zxid, value: value.to_string() };
        proposed.push(txn.clone());
        let proposal = object([("epoch", self.l.new.into()), ("txn", txn.into())]);
        self.node.event("broadcast", proposal.clone());
        let is_planted = self.bug.as_deref() == Some("propose-to-acked-only");
        let links: &[Link] = if is_planted { &[Link::Synced] } else { &[Link::Proposed, Link::Synced] };
        self.to_all(links, "PROPOSE", proposal);
    }

    /// l.3.2
    fn on_ack(&mut self, src: &str, zxid: Zxid) {
        if self.leads() && self.l.acks.contains_key(src) {
            self.l.acks.insert(src.to_string(), zxid);
            self.commit();
        }
    }

    fn commit(&mut self) {
        let acks = &self.l.acks;
        let is_chosen = |zxid| self.node.is_quorum(|each| acks.get(each).map_or(false, |acked| acked >= zxid));
        let highest = acks.values().filter(|zxid| is_chosen(*zxid)).max().copied().unwrap_or(NONE);
        if highest > self.l.committed {
            self.l.committed = highest;
            let commit = object([("epoch", self.l.new.into()), ("zxid", highest.into())]);
            self.to_all(&[Link::Synced], "COMMIT", commit);
        }
    }

    fn linked(&self, links: &[Link]) -> Vec<String> {
        self.l.links.iter().filter(|(_, link)| links.contains(link)).map(|(each, _)| each.clone()).collect()
    }

    fn to_all(&mut self, links: &[Link], kind: &str, fields: Json) {
        for each in self.linked(links) {
            self.node.send(&each, kind, fields.clone());
        }
    }

    // The end of an iteration.

    fn on_lost(&mut self, peer: &str) {
        self.l.links.remove(peer);
        if !self.leads() && peer == self.leader {
            self.abandon("the leader closed the connection");
        } else if self.l.new > 0 && !self.node.is_quorum(|each| self.l.links.contains_key(each)) {
            self.abandon("no quorum of followers is left");
        }
    }

    fn on_timed_out(&mut self) {
        if self.phase != Phase::Election {
            self.abandon("time-out");
        }
    }
}

fn main() {
    run::<Zab>(&KNOWS);
}

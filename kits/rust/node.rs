//! A node that zabcheck single-steps: a `Handler` takes a step for each line that it is sent.
//!
//! Rust's standard library is all that is needed. docs/any-language.md says what each line means. Maps are `BTreeMap`s:
//! a `HashMap` has another order each time.

use std::collections::BTreeMap;
use std::io::{stdin, stdout, BufRead, Write};

use crate::json::{object, Json};

/// What takes the steps of a node. What it asks the node for is written when it returns, with `done` behind it.
pub trait Handler: Sized {
    fn new(node: Node<Self>) -> Self;
    fn node(&mut self) -> &mut Node<Self>;
    fn init(&mut self, disk: &Json, intact: bool);
    fn handle(&mut self, src: &str, kind: &str, body: &Json);
}

/// What a node says of itself: the types of its messages, what it is judged by, the bugs that can be planted.
pub struct Knows<'a> {
    pub kinds: &'a [&'a str],
    pub properties: &'a [&'a str],
    pub mutants: &'a [&'a str],
}

/// What a `Handler` knows of the run, and what it can do.
pub struct Node<H> {
    pub id: String,
    pub ids: Vec<String>,
    pub weights: BTreeMap<String, i64>,
    pub mutant: Option<String>,
    pub seed: i64,
    pub counter_limit: i64,
    out: String,
    waiting: BTreeMap<i64, Box<dyn FnOnce(&mut H)>>, // by the number of a sync: what is done once it is answered
    syncs: i64,
}

/// Reads lines and answers them until the standard input is closed.
pub fn run<H: Handler>(knows: &Knows) {
    let mut handler = H::new(Node::unnamed());
    for text in stdin().lock().lines() {
        let line = Json::parse(&text.expect("UTF-8"));
        let body = line.get("body");
        let mut end = object([("in_reply_to", line.get("id").clone())]);
        let kind = match body.get("type").text() {
            "reset" => {
                handler = H::new(Node::unnamed());
                "reset_ok"
            }
            "init" => {
                handler.node().init(body);
                handler.init(body.get("disk"), body.get("intact").truth());
                end = end.and(&object([
                    ("reset", true.into()),
                    ("kinds", knows.kinds.into()),
                    ("properties", knows.properties.into()),
                    ("mutants", knows.mutants.into()),
                ]));
                "init_ok"
            }
            "synced" => {
                let then = handler.node().waiting.remove(&body.get("in_reply_to").number());
                then.expect("a sync that was asked for")(&mut handler);
                "done"
            }
            kind => {
                handler.handle(line.get("src").text(), kind, body);
                "done"
            }
        };
        let node = handler.node();
        node.send("zabcheck", kind, end);
        stdout().write_all(node.out.as_bytes()).expect("an open standard output");
        stdout().flush().expect("an open standard output");
        node.out.clear();
    }
}

/// An event, to be told with a write, once that is durable.
pub fn what(event: &str, fields: Json) -> Json {
    object([("type", "event".into()), ("event", event.into())]).and(&fields)
}

impl<H> Node<H> {
    fn unnamed() -> Node<H> {
        Node {
            id: "node".to_string(),
            ids: vec![],
            weights: BTreeMap::new(),
            mutant: None,
            seed: 0,
            counter_limit: 0,
            out: String::new(),
            waiting: BTreeMap::new(),
            syncs: 0,
        }
    }

    fn init(&mut self, body: &Json) {
        self.id = body.get("node_id").text().to_string();
        self.ids = body.get("node_ids").list().iter().map(|each| each.text().to_string()).collect();
        let weights = body.get("weights").fields().iter();
        self.weights = weights.map(|(each, weight)| (each.clone(), weight.number())).collect();
        self.mutant = match body.get("mutant") {
            Json::Null => None,
            name => Some(name.text().to_string()),
        };
        self.seed = body.get("seed").number();
        self.counter_limit = body.get("counter_limit").number();
    }

    /// Sends a message to a node, which may be this one.
    pub fn send(&mut self, to: &str, kind: &str, fields: Json) {
        let body = object([("type", kind.into())]).and(&fields);
        object([("src", self.id[..].into()), ("dest", to.into()), ("body", body)]).write(&mut self.out);
        self.out.push('\n');
    }

    /// Tells zabcheck what happened: broadcast, deliver, ready, …
    pub fn event(&mut self, event: &str, fields: Json) {
        self.send("zabcheck", "event", what(event, fields));
    }

    /// Writes these fields, all or none, and asks for them to be synced; `then` is called once they are.
    pub fn write(&mut self, fields: Json, events: Vec<Json>, then: impl FnOnce(&mut H) + 'static) {
        self.syncs += 1;
        self.waiting.insert(self.syncs, Box::new(then));
        self.send("disk", "write", object([("fields", fields), ("events", Json::List(events))]));
        self.send("disk", "sync", object([("msg_id", self.syncs.into())]));
    }

    /// Closes every connection, and waits for the oracle.
    pub fn give_up(&mut self, reason: &str) {
        self.send("zabcheck", "give_up", object([("reason", reason.into())]));
    }

    /// Tells what this node remembers, for reports.
    pub fn state(&mut self, variables: Json) {
        self.send("zabcheck", "state", object([("variables", variables)]));
    }

    /// Tells whether the nodes of which `has` is true have more than half of the weight.
    pub fn is_quorum(&self, has: impl Fn(&str) -> bool) -> bool {
        let sum: i64 = self.weights.iter().filter(|(each, _)| has(each)).map(|(_, weight)| weight).sum();
        2 * sum > self.weights.values().sum()
    }
}

//! The cluster of the db-19 lab, to the letter of its text and of docs/db19.md: prints the SHA-256 of its dump,
//! which `--dump FILE` writes.
//!
//!     rustc --edition 2021 -O -o db19 db19.rs; ./db19 --seed 1 --nodes 3 --rounds 1000 --proposals 10

use std::collections::{BTreeMap, BTreeSet};

type Id = u32;
type Zxid = (u32, u32);

const HEARTBEAT: u64 = 50;
const ELECTION: u64 = 150;
const DELAYS: u64 = 3;

/// The lab's mixing function. Its first factor ends in E7B5; the usual one ends in E5B9.
fn splitmix64(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E3779B97F4A7C15);
    let z = (x ^ (x >> 30)).wrapping_mul(0xBF58476D1CE4E7B5);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D049BB133111EB);
    z ^ (z >> 31)
}

#[derive(Clone)]
struct Txn {
    zxid: Zxid,
    payload: String,
}

#[derive(Clone)]
enum Rpc {
    LookForLeader { last: Zxid },
    Vote { last: Zxid, leader: Id },
    NewEpoch(u32),
    AckEpoch,
    NewLeader(u32, Vec<Txn>),
    AckLeader(u32),
    Propose(Txn),
    Ack(Zxid),
    Commit(Zxid),
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Looking,
    Following,
    Leading,
}

#[derive(Clone)]
struct Node {
    current_epoch: u32,
    accepted_epoch: u32,
    history: Vec<Txn>,
    last_committed: Zxid,
    role: Role,
    leader: Option<Id>,
    vote_target: (Zxid, Id),
    vote_view: BTreeMap<Id, Id>,
    pending_new_epoch: u32,
    epoch_acks: BTreeSet<Id>,
    leader_acks: BTreeSet<Id>,
    synced: bool,
    next_counter: u32,
    ack_set: BTreeMap<Zxid, BTreeSet<Id>>,
    election_deadline: u64,
    last_heartbeat_sent: u64,
}

impl Node {
    fn last(&self) -> Zxid {
        self.history.last().map_or((0, 0), |txn| txn.zxid)
    }
}

struct Cluster {
    seed: u64,
    partition: BTreeSet<(Id, Id)>,
    nodes: Vec<Node>,
    heap: BTreeMap<(u64, Id, u64), (Id, Rpc)>,
    sent: u64,
    t: u64,
}

impl Cluster {
    fn new(seed: u64, nodes: u32, partition: BTreeSet<(Id, Id)>) -> Cluster {
        let fresh = Node {
            current_epoch: 0,
            accepted_epoch: 0,
            history: vec![],
            last_committed: (0, 0),
            role: Role::Looking,
            leader: None,
            vote_target: ((0, 0), 0),
            vote_view: BTreeMap::new(),
            pending_new_epoch: 0,
            epoch_acks: BTreeSet::new(),
            leader_acks: BTreeSet::new(),
            synced: false,
            next_counter: 0,
            ack_set: BTreeMap::new(),
            election_deadline: 0,
            last_heartbeat_sent: 0,
        };
        let nodes = vec![fresh; nodes as usize];
        let mut cluster = Cluster { seed, partition, nodes, heap: BTreeMap::new(), sent: 0, t: 0 };
        for i in cluster.ids() {
            cluster.reset_election_deadline(i);
            cluster.enter_looking(i);
        }
        cluster
    }

    fn ids(&self) -> std::ops::Range<Id> {
        0..self.nodes.len() as Id
    }

    fn quorum(&self) -> usize {
        self.nodes.len() / 2 + 1
    }

    fn node(&mut self, i: Id) -> &mut Node {
        &mut self.nodes[i as usize]
    }

    fn send(&mut self, from: Id, to: Id, rpc: Rpc) {
        if self.partition.contains(&(from, to)) {
            return;
        }
        let mixed = splitmix64(self.seed ^ u64::from(from) ^ u64::from(to) ^ self.t);
        let at = self.t.wrapping_add(1).wrapping_add(mixed % DELAYS);
        self.heap.insert((at, from, self.sent), (to, rpc));
        self.sent += 1;
    }

    fn broadcast(&mut self, from: Id, rpc: Rpc) {
        for to in self.ids().filter(|&to| to != from) {
            self.send(from, to, rpc.clone());
        }
    }

    fn reset_election_deadline(&mut self, i: Id) {
        let jitter = splitmix64(self.seed ^ u64::from(i) ^ self.t) % ELECTION;
        self.node(i).election_deadline = self.t.wrapping_add(ELECTION).wrapping_add(jitter);
    }

    // Phase 0.

    fn enter_looking(&mut self, i: Id) {
        let n = self.node(i);
        n.role = Role::Looking;
        n.leader = None;
        n.synced = false;
        let last = n.last();
        n.vote_target = (last, i);
        n.vote_view = BTreeMap::from([(i, i)]);
        self.broadcast(i, Rpc::LookForLeader { last });
        self.broadcast(i, Rpc::Vote { last, leader: i });
        self.check_election(i);
    }

    fn on_vote(&mut self, i: Id, voter: Id, last: Zxid, leader: Id) {
        let n = self.node(i);
        let own = n.last();
        if let (true, Some(leader)) = (n.role != Role::Looking, n.leader) {
            return self.send(i, voter, Rpc::Vote { last: own, leader });
        }
        let better = (last, voter) > n.vote_target;
        if better {
            n.vote_target = (last, voter);
            n.vote_view = BTreeMap::from([(i, voter)]);
        }
        n.vote_view.insert(voter, leader);
        if better {
            self.broadcast(i, Rpc::Vote { last: own, leader: voter });
        }
        self.check_election(i);
    }

    fn check_election(&mut self, i: Id) {
        let quorum = self.quorum();
        let n = self.node(i);
        let target = n.vote_target.1;
        if n.vote_view.values().filter(|&&each| each == target).count() < quorum {
            return;
        }
        if target == i {
            self.become_leading(i);
        } else {
            self.become_following(i, target);
        }
    }

    // Phases 1 and 2.

    fn become_following(&mut self, i: Id, leader: Id) {
        let n = self.node(i);
        n.role = Role::Following;
        n.leader = Some(leader);
        n.synced = false;
        self.reset_election_deadline(i);
    }

    fn become_leading(&mut self, i: Id) {
        let t = self.t;
        let n = self.node(i);
        n.role = Role::Leading;
        n.leader = Some(i);
        n.synced = false;
        n.last_heartbeat_sent = t;
        n.leader_acks.clear();
        n.ack_set.clear();
        n.pending_new_epoch = n.accepted_epoch.max(n.current_epoch).wrapping_add(1);
        n.accepted_epoch = n.pending_new_epoch;
        n.epoch_acks = BTreeSet::from([i]);
        let epoch = n.pending_new_epoch;
        self.broadcast(i, Rpc::NewEpoch(epoch));
        self.try_finish_discovery(i);
    }

    fn on_new_epoch(&mut self, i: Id, from: Id, epoch: u32) {
        let n = self.node(i);
        if epoch >= n.accepted_epoch {
            let follows = epoch > n.accepted_epoch && n.role != Role::Following;
            n.accepted_epoch = epoch;
            if follows {
                self.become_following(i, from);
            }
            self.send(i, from, Rpc::AckEpoch);
        }
        self.reset_election_deadline(i);
    }

    fn try_finish_discovery(&mut self, i: Id) {
        let quorum = self.quorum();
        let n = self.node(i);
        if n.epoch_acks.len() < quorum {
            return;
        }
        n.current_epoch = n.pending_new_epoch;
        n.next_counter = 0;
        n.leader_acks = BTreeSet::from([i]);
        let (epoch, history) = (n.current_epoch, n.history.clone());
        self.broadcast(i, Rpc::NewLeader(epoch, history));
        self.try_finish_sync(i);
    }

    fn on_new_leader(&mut self, i: Id, from: Id, epoch: u32, history: Vec<Txn>) {
        let n = self.node(i);
        if epoch < n.accepted_epoch {
            return;
        }
        n.accepted_epoch = epoch;
        n.current_epoch = epoch;
        n.history = history;
        if n.role != Role::Following {
            self.become_following(i, from);
        }
        self.reset_election_deadline(i);
        self.send(i, from, Rpc::AckLeader(epoch));
    }

    fn try_finish_sync(&mut self, i: Id) {
        let quorum = self.quorum();
        let n = self.node(i);
        if n.synced || n.leader_acks.len() < quorum {
            return;
        }
        n.synced = true;
        let last = n.last();
        if last > n.last_committed {
            n.last_committed = last;
            self.broadcast(i, Rpc::Commit(last));
        }
    }

    // Phase 3.

    fn propose(&mut self, i: Id, payload: String) {
        let n = self.node(i);
        n.next_counter = n.next_counter.wrapping_add(1);
        let zxid = (n.current_epoch, n.next_counter);
        let txn = Txn { zxid, payload };
        n.history.push(txn.clone());
        n.ack_set.insert(zxid, BTreeSet::from([i]));
        self.broadcast(i, Rpc::Propose(txn));
        self.try_commit(i, zxid);
    }

    fn on_propose(&mut self, i: Id, from: Id, txn: Txn) {
        let n = self.node(i);
        if n.role != Role::Following || n.leader != Some(from) || txn.zxid <= n.last() {
            return;
        }
        let zxid = txn.zxid;
        n.history.push(txn);
        self.reset_election_deadline(i);
        self.send(i, from, Rpc::Ack(zxid));
    }

    fn try_commit(&mut self, i: Id, zxid: Zxid) {
        let quorum = self.quorum();
        let n = self.node(i);
        if zxid <= n.last_committed || n.ack_set.get(&zxid).map_or(0, BTreeSet::len) < quorum {
            return;
        }
        n.last_committed = zxid;
        self.broadcast(i, Rpc::Commit(zxid));
    }

    fn on_commit(&mut self, i: Id, from: Id, zxid: Zxid) {
        if self.node(i).leader == Some(from) {
            self.reset_election_deadline(i);
        }
        let n = self.node(i);
        if n.last_committed < zxid && zxid <= n.last() {
            n.last_committed = zxid;
        }
    }

    // The clock.

    fn deliver(&mut self, i: Id, from: Id, rpc: Rpc) {
        let leads = self.node(i).role == Role::Leading;
        match rpc {
            Rpc::LookForLeader { last } => self.on_vote(i, from, last, from),
            Rpc::Vote { last, leader } => self.on_vote(i, from, last, leader),
            Rpc::NewEpoch(epoch) => self.on_new_epoch(i, from, epoch),
            Rpc::AckEpoch if leads => {
                self.node(i).epoch_acks.insert(from);
                self.try_finish_discovery(i);
            }
            Rpc::NewLeader(epoch, history) => self.on_new_leader(i, from, epoch, history),
            Rpc::AckLeader(epoch) if leads && epoch == self.node(i).current_epoch => {
                self.node(i).leader_acks.insert(from);
                self.try_finish_sync(i);
            }
            Rpc::Propose(txn) => self.on_propose(i, from, txn),
            Rpc::Ack(zxid) if leads => {
                self.node(i).ack_set.entry(zxid).or_default().insert(from);
                self.try_commit(i, zxid);
            }
            Rpc::Commit(zxid) => self.on_commit(i, from, zxid),
            Rpc::AckEpoch | Rpc::AckLeader(_) | Rpc::Ack(_) => {}
        }
    }

    fn on_tick(&mut self, i: Id) {
        let (t, quorum) = (self.t, self.quorum());
        let n = self.node(i);
        if n.role != Role::Leading {
            if t >= n.election_deadline {
                self.reset_election_deadline(i);
                self.enter_looking(i);
            }
            return;
        }
        if t.wrapping_sub(n.last_heartbeat_sent) < HEARTBEAT {
            return;
        }
        n.last_heartbeat_sent = t;
        if n.synced {
            let committed = n.last_committed;
            self.broadcast(i, Rpc::Commit(committed));
        } else if n.epoch_acks.len() >= quorum {
            let (epoch, history) = (n.current_epoch, n.history.clone());
            self.broadcast(i, Rpc::NewLeader(epoch, history));
        }
    }

    fn run(&mut self, rounds: u64, proposals: u64) {
        let tick_of = |i: u64| (i + 1).wrapping_mul(rounds) / (proposals + 1);
        let mut schedule: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for i in 0..proposals {
            schedule.entry(tick_of(i)).or_default().push(i);
        }
        let mut pending: Vec<u64> = vec![];
        for t in 0..rounds {
            self.t = t;
            pending.extend(schedule.remove(&t).unwrap_or_default());
            let leads = |i: &Id| self.nodes[*i as usize].role == Role::Leading && self.nodes[*i as usize].synced;
            if let Some(leader) = self.ids().find(leads) {
                for i in std::mem::take(&mut pending) {
                    self.propose(leader, format!("zab-{i}"));
                }
            }
            while let Some(first) = self.heap.keys().next().copied().filter(|first| first.0 <= t) {
                if let Some((to, rpc)) = self.heap.remove(&first) {
                    self.deliver(to, first.1, rpc);
                }
            }
            for i in self.ids() {
                self.on_tick(i);
            }
        }
    }

    fn dump(&self) -> Vec<u8> {
        let mut out = b"DSEZAB01".to_vec();
        let put = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
        out.extend(put(&[self.nodes.len() as u32]));
        for (i, n) in self.nodes.iter().enumerate() {
            let (last, committed) = (n.last(), n.last_committed);
            out.extend(put(&[i as u32]));
            out.push(n.role as u8);
            out.extend(put(&[n.current_epoch, n.accepted_epoch, last.0, last.1, committed.0, committed.1]));
            out.extend(put(&[n.history.len() as u32]));
            for txn in &n.history {
                out.extend(put(&[txn.zxid.0, txn.zxid.1, txn.payload.len() as u32]));
                out.extend(txn.payload.as_bytes());
            }
        }
        out
    }
}

/// SHA-256 (FIPS 180-4), in hexadecimal. Its constants are the fractions of the roots of the first primes.
fn sha256(data: &[u8]) -> String {
    let primes: Vec<u64> = (2..312).filter(|n| (2..*n).all(|d| n % d != 0)).collect();
    let fraction = |root: f64| ((root.fract()) * 4294967296.0) as u32;
    let k: Vec<u32> = primes.iter().take(64).map(|&p| fraction((p as f64).cbrt())).collect();
    let mut state: Vec<u32> = primes.iter().take(8).map(|&p| fraction((p as f64).sqrt())).collect();
    let mut padded = data.to_vec();
    padded.push(0x80);
    padded.resize(padded.len() + (120 - padded.len() % 64) % 64, 0);
    padded.extend((data.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks(64) {
        let mut w: Vec<u32> = block.chunks(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]])).collect();
        for i in 16..64 {
            let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
            let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
            w.push(w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1));
        }
        let mut v = state.clone();
        for i in 0..64 {
            let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let t1 = v[7].wrapping_add(s1).wrapping_add(choice).wrapping_add(k[i]).wrapping_add(w[i]);
            let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(t1);
            v[0] = t1.wrapping_add(s0).wrapping_add(majority);
        }
        for (each, more) in state.iter_mut().zip(v) {
            *each = each.wrapping_add(more);
        }
    }
    state.iter().map(|each| format!("{each:08x}")).collect()
}

const OPTIONS: [&str; 6] = ["--seed", "--nodes", "--rounds", "--proposals", "--partition", "--dump"];

fn fail(why: &str) -> ! {
    eprintln!("db19: {why}; expected --seed S --nodes N --rounds R --proposals K [--partition s,d,…] [--dump FILE]");
    std::process::exit(2)
}

fn number(option: &str, text: &str, least: u64, most: u64) -> u64 {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    match text.parse::<u64>() {
        Ok(value) if digits && (least..=most).contains(&value) => value,
        _ => fail(&format!("{option} {text}: expected a number from {least} to {most}")),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut given: BTreeMap<&str, &str> = BTreeMap::new();
    for pair in arguments.chunks(2) {
        match pair {
            [option, value] if OPTIONS.contains(&option.as_str()) => {
                given.insert(option, value);
            }
            _ => fail(&pair.join(" ")),
        }
    }
    let asked = |option: &str, least: u64, most: u64| match given.get(option) {
        Some(text) => number(option, text, least, most),
        None => fail(&format!("{option} is missing")),
    };
    let seed = asked("--seed", 0, u64::MAX);
    let nodes = asked("--nodes", 1, u64::from(u32::MAX));
    let rounds = asked("--rounds", 1, u64::MAX);
    let proposals = asked("--proposals", 0, u64::from(u32::MAX));
    let mut ids: Vec<Id> = vec![];
    if let Some(text) = given.get("--partition") {
        ids = text.split(',').map(|each| number("--partition", each, 0, nodes - 1) as Id).collect();
        if ids.len() % 2 == 1 {
            fail("--partition: an odd number of ids");
        }
    }
    let partition = ids.chunks(2).map(|pair| (pair[0], pair[1])).collect();
    let mut cluster = Cluster::new(seed, nodes as u32, partition);
    cluster.run(rounds, proposals);
    let dump = cluster.dump();
    if let Some(file) = given.get("--dump") {
        std::fs::write(file, &dump).unwrap_or_else(|why| fail(&format!("--dump {file}: {why}")));
    }
    print!("{}", sha256(&dump));
}

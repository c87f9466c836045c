// The cluster of the db-19 lab, to the letter of its text and of docs/db19.md: prints the SHA-256 of its dump,
// which --dump FILE writes.
//
//     g++ -std=c++17 -O2 -o db19 db19.cpp; ./db19 --seed 1 --nodes 3 --rounds 1000 --proposals 10
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using std::string;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;
using Id = uint32_t;
using Zxid = std::pair<uint32_t, uint32_t>;
using Ids = std::set<Id>;

const uint64_t HEARTBEAT = 50, ELECTION = 150, DELAYS = 3;

// The lab's mixing function. Its first factor ends in E7B5; the usual one ends in E5B9.
uint64_t splitmix64(uint64_t x) {
    x += 0x9E3779B97F4A7C15;
    uint64_t z = (x ^ (x >> 30)) * 0xBF58476D1CE4E7B5;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

struct Txn {
    Zxid zxid;
    string payload;
};

using History = std::vector<Txn>;

enum class Kind { LookForLeader, Vote, NewEpoch, AckEpoch, NewLeader, AckLeader, Propose, Ack, Commit };

struct Rpc { // with the fields of all messages
    Kind kind;
    Zxid zxid = {};
    Id leader = 0;
    uint32_t epoch = 0;
    History history = {}; // of Propose: its transaction
};

enum class Role : uint8_t { Looking, Following, Leading };

struct Node {
    uint32_t current_epoch = 0, accepted_epoch = 0;
    History history;
    Zxid last_committed = {};
    Role role = Role::Looking;
    Id leader = 0; // unless it is Looking
    Id vote_target = 0;
    Zxid vote_target_zxid = {};
    std::map<Id, Id> vote_view;
    uint32_t pending_new_epoch = 0;
    Ids epoch_acks, leader_acks;
    bool synced = false;
    uint32_t next_counter = 0;
    std::map<Zxid, Ids> ack_set;
    uint64_t election_deadline = 0, last_heartbeat_sent = 0;

    Zxid last() const { return history.empty() ? Zxid{} : history.back().zxid; }
};

class Cluster {
  public:
    Cluster(uint64_t seed, uint32_t nodes, std::set<std::pair<Id, Id>> partition)
        : seed(seed), partition(std::move(partition)), nodes(nodes) {
        for (Id i = 0; i < nodes; i++) {
            reset_election_deadline(i);
            enter_looking(i);
        }
    }

    void run(uint64_t rounds, uint64_t proposals) {
        std::multimap<uint64_t, uint64_t> schedule; // by tick; those of one tick in the order of their numbers
        for (uint64_t i = 0; i < proposals; i++) schedule.insert({(i + 1) * rounds / (proposals + 1), i});
        std::vector<uint64_t> pending;
        for (t = 0; t < rounds; t++) {
            auto due = schedule.equal_range(t);
            for (auto each = due.first; each != due.second; ++each) pending.push_back(each->second);
            auto leads = [](const Node &n) { return n.role == Role::Leading && n.synced; };
            auto leader = std::find_if(nodes.begin(), nodes.end(), leads);
            if (leader != nodes.end()) {
                for (uint64_t i : pending) propose(leader - nodes.begin(), "zab-" + std::to_string(i));
                pending.clear();
            }
            while (!heap.empty() && std::get<0>(heap.begin()->first) <= t) {
                auto first = heap.extract(heap.begin());
                deliver(first.mapped().first, std::get<1>(first.key()), first.mapped().second);
            }
            for (Id i = 0; i < nodes.size(); i++) on_tick(i);
        }
    }

    string dump() const {
        string out = "DSEZAB01";
        auto put = [&out](std::initializer_list<uint32_t> numbers) {
            for (uint32_t number : numbers)
                for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(number >> shift);
        };
        put({size()});
        for (Id i = 0; i < nodes.size(); i++) {
            const Node &n = nodes[i];
            put({i});
            out += static_cast<char>(n.role);
            put({n.current_epoch, n.accepted_epoch, n.last().first, n.last().second});
            put({n.last_committed.first, n.last_committed.second, static_cast<uint32_t>(n.history.size())});
            for (const Txn &txn : n.history) {
                put({txn.zxid.first, txn.zxid.second, static_cast<uint32_t>(txn.payload.size())});
                out += txn.payload;
            }
        }
        return out;
    }

  private:
    uint64_t seed;
    std::set<std::pair<Id, Id>> partition;
    std::vector<Node> nodes;
    std::map<std::tuple<uint64_t, Id, uint64_t>, std::pair<Id, Rpc>> heap;
    uint64_t sent = 0, t = 0;

    uint32_t size() const { return static_cast<uint32_t>(nodes.size()); }
    std::size_t quorum() const { return nodes.size() / 2 + 1; }

    void send(Id from, Id to, const Rpc &rpc) {
        if (partition.count({from, to})) return;
        heap[{t + 1 + splitmix64(seed ^ from ^ to ^ t) % DELAYS, from, sent++}] = {to, rpc};
    }

    void broadcast(Id from, const Rpc &rpc) {
        for (Id to = 0; to < nodes.size(); to++)
            if (to != from) send(from, to, rpc);
    }

    void reset_election_deadline(Id i) {
        nodes[i].election_deadline = t + ELECTION + splitmix64(seed ^ i ^ t) % ELECTION;
    }

    // Phase 0.

    void enter_looking(Id i) {
        Node &n = nodes[i];
        n.role = Role::Looking;
        n.synced = false;
        n.vote_target = i;
        n.vote_target_zxid = n.last();
        n.vote_view = {{i, i}};
        broadcast(i, {Kind::LookForLeader, n.last()});
        broadcast(i, {Kind::Vote, n.last(), i});
        check_election(i);
    }

    void on_vote(Id i, Id voter, Zxid last, Id leader) {
        Node &n = nodes[i];
        if (n.role != Role::Looking) return send(i, voter, {Kind::Vote, n.last(), n.leader});
        if (std::tie(last, voter) > std::tie(n.vote_target_zxid, n.vote_target)) {
            n.vote_target = voter;
            n.vote_target_zxid = last;
            n.vote_view = {{i, voter}};
            broadcast(i, {Kind::Vote, n.last(), voter});
        }
        n.vote_view[voter] = leader;
        check_election(i);
    }

    void check_election(Id i) {
        Node &n = nodes[i];
        auto agrees = [&n](const std::pair<const Id, Id> &vote) { return vote.second == n.vote_target; };
        std::size_t votes = std::count_if(n.vote_view.begin(), n.vote_view.end(), agrees);
        if (votes < quorum()) return;
        if (n.vote_target == i)
            become_leading(i);
        else
            become_following(i, n.vote_target);
    }

    // Phases 1 and 2.

    void become_following(Id i, Id leader) {
        nodes[i].role = Role::Following;
        nodes[i].leader = leader;
        nodes[i].synced = false;
        reset_election_deadline(i);
    }

    void become_leading(Id i) {
        Node &n = nodes[i];
        n.role = Role::Leading;
        n.leader = i;
        n.synced = false;
        n.last_heartbeat_sent = t;
        n.leader_acks.clear();
        n.ack_set.clear();
        n.pending_new_epoch = std::max(n.accepted_epoch, n.current_epoch) + 1;
        n.accepted_epoch = n.pending_new_epoch;
        n.epoch_acks = {i};
        broadcast(i, {Kind::NewEpoch, {}, 0, n.pending_new_epoch});
        try_finish_discovery(i);
    }

    void on_new_epoch(Id i, Id from, uint32_t epoch) {
        Node &n = nodes[i];
        if (epoch >= n.accepted_epoch) {
            bool follows = epoch > n.accepted_epoch && n.role != Role::Following;
            n.accepted_epoch = epoch;
            if (follows) become_following(i, from);
            send(i, from, {Kind::AckEpoch});
        }
        reset_election_deadline(i);
    }

    void try_finish_discovery(Id i) {
        Node &n = nodes[i];
        if (n.epoch_acks.size() < quorum()) return;
        n.current_epoch = n.pending_new_epoch;
        n.next_counter = 0;
        n.leader_acks = {i};
        broadcast(i, {Kind::NewLeader, {}, 0, n.current_epoch, n.history});
        try_finish_sync(i);
    }

    void on_new_leader(Id i, Id from, uint32_t epoch, const History &history) {
        Node &n = nodes[i];
        if (epoch < n.accepted_epoch) return;
        n.accepted_epoch = n.current_epoch = epoch;
        n.history = history;
        if (n.role != Role::Following) become_following(i, from);
        reset_election_deadline(i);
        send(i, from, {Kind::AckLeader, {}, 0, epoch});
    }

    void try_finish_sync(Id i) {
        Node &n = nodes[i];
        if (n.synced || n.leader_acks.size() < quorum()) return;
        n.synced = true;
        if (n.last() > n.last_committed) {
            n.last_committed = n.last();
            broadcast(i, {Kind::Commit, n.last_committed});
        }
    }

    // Phase 3.

    void propose(Id i, const string &payload) {
        Node &n = nodes[i];
        Txn txn{{n.current_epoch, ++n.next_counter}, payload};
        n.history.push_back(txn);
        n.ack_set[txn.zxid] = {i};
        broadcast(i, {Kind::Propose, {}, 0, 0, {txn}});
        try_commit(i, txn.zxid);
    }

    void on_propose(Id i, Id from, const Txn &txn) {
        Node &n = nodes[i];
        if (n.role != Role::Following || n.leader != from || txn.zxid <= n.last()) return;
        n.history.push_back(txn);
        reset_election_deadline(i);
        send(i, from, {Kind::Ack, txn.zxid});
    }

    void try_commit(Id i, Zxid zxid) {
        Node &n = nodes[i];
        if (zxid <= n.last_committed || n.ack_set[zxid].size() < quorum()) return;
        n.last_committed = zxid;
        broadcast(i, {Kind::Commit, zxid});
    }

    void on_commit(Id i, Id from, Zxid zxid) {
        Node &n = nodes[i];
        if (n.role != Role::Looking && n.leader == from) reset_election_deadline(i);
        if (n.last_committed < zxid && zxid <= n.last()) n.last_committed = zxid;
    }

    // The clock.

    void deliver(Id i, Id from, const Rpc &rpc) {
        Node &n = nodes[i];
        bool leads = n.role == Role::Leading;
        switch (rpc.kind) {
        case Kind::LookForLeader: return on_vote(i, from, rpc.zxid, from);
        case Kind::Vote: return on_vote(i, from, rpc.zxid, rpc.leader);
        case Kind::NewEpoch: return on_new_epoch(i, from, rpc.epoch);
        case Kind::NewLeader: return on_new_leader(i, from, rpc.epoch, rpc.history);
        case Kind::Propose: return on_propose(i, from, rpc.history.front());
        case Kind::Commit: return on_commit(i, from, rpc.zxid);
        case Kind::AckEpoch:
            if (!leads) return;
            n.epoch_acks.insert(from);
            return try_finish_discovery(i);
        case Kind::AckLeader:
            if (!leads || rpc.epoch != n.current_epoch) return;
            n.leader_acks.insert(from);
            return try_finish_sync(i);
        case Kind::Ack:
            if (!leads) return;
            n.ack_set[rpc.zxid].insert(from);
            return try_commit(i, rpc.zxid);
        }
    }

    void on_tick(Id i) {
        Node &n = nodes[i];
        if (n.role != Role::Leading) {
            if (t < n.election_deadline) return;
            reset_election_deadline(i);
            return enter_looking(i);
        }
        if (t - n.last_heartbeat_sent < HEARTBEAT) return;
        n.last_heartbeat_sent = t;
        if (n.synced)
            broadcast(i, {Kind::Commit, n.last_committed});
        else if (n.epoch_acks.size() >= quorum())
            broadcast(i, {Kind::NewLeader, {}, 0, n.current_epoch, n.history});
    }
};

uint32_t rotated(uint32_t x, int by) { return x >> by | x << (32 - by); }

// SHA-256 (FIPS 180-4), in hexadecimal. Its constants are the fractions of the roots of the first primes.
string sha256(string data) {
    std::vector<uint32_t> k, state;
    for (int n = 2; k.size() < 64; n++) {
        bool is_prime = true;
        for (int d = 2; d < n; d++) is_prime = is_prime && n % d;
        auto fraction = [](double root) { return static_cast<uint32_t>((root - std::floor(root)) * 4294967296.0); };
        if (is_prime) k.push_back(fraction(std::cbrt(n)));
        if (is_prime && state.size() < 8) state.push_back(fraction(std::sqrt(n)));
    }
    uint64_t bits = data.size() * 8;
    data += '\x80';
    data.append((120 - data.size() % 64) % 64, '\0');
    for (int shift = 56; shift >= 0; shift -= 8) data += static_cast<char>(bits >> shift);
    for (std::size_t at = 0; at < data.size(); at += 64) {
        std::array<uint32_t, 64> w{};
        for (int i = 0; i < 64; i++) w[i / 4 % 16] = w[i / 4 % 16] << 8 | static_cast<uint8_t>(data[at + i]);
        for (int i = 16; i < 64; i++) {
            uint32_t s0 = rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3;
            uint32_t s1 = rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        std::vector<uint32_t> v = state;
        for (int i = 0; i < 64; i++) {
            uint32_t s1 = rotated(v[4], 6) ^ rotated(v[4], 11) ^ rotated(v[4], 25);
            uint32_t t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
            uint32_t s0 = rotated(v[0], 2) ^ rotated(v[0], 13) ^ rotated(v[0], 22);
            uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            std::rotate(v.begin(), v.end() - 1, v.end());
            v[4] += t1;
            v[0] = t1 + t2;
        }
        for (int i = 0; i < 8; i++) state[i] += v[i];
    }
    string out;
    for (uint32_t each : state) {
        char text[9];
        std::snprintf(text, sizeof text, "%08x", each);
        out += text;
    }
    return out;
}

[[noreturn]] void fail(const string &why) {
    std::fprintf(stderr, "db19: %s; expected --seed S --nodes N --rounds R --proposals K [--partition s,d,…] [--dump FILE]\n",
                 why.c_str());
    std::exit(2);
}

uint64_t number(const string &option, const string &text, uint64_t least, uint64_t most) {
    string digits = text.substr(std::min(text.find_first_not_of('0'), text.size()));
    bool fits = !text.empty() && text.find_first_not_of("0123456789") == string::npos;
    fits = fits && (digits.size() < 20 || (digits.size() == 20 && digits <= std::to_string(UINT64_MAX)));
    uint64_t value = fits ? std::strtoull(text.c_str(), nullptr, 10) : 0;
    if (!fits || value < least || value > most)
        fail(option + " " + text + ": expected a number from " + std::to_string(least) + " to " + std::to_string(most));
    return value;
}

int main(int argc, char **argv) {
    std::map<string, string> given;
    const std::set<string> options{"--seed", "--nodes", "--rounds", "--proposals", "--partition", "--dump"};
    for (int i = 1; i < argc; i += 2) {
        if (!options.count(argv[i]) || i + 1 == argc) fail(argv[i]);
        given[argv[i]] = argv[i + 1];
    }
    uint64_t seed = number("--seed", given["--seed"], 0, UINT64_MAX);
    uint64_t nodes = number("--nodes", given["--nodes"], 1, UINT32_MAX);
    uint64_t rounds = number("--rounds", given["--rounds"], 1, UINT64_MAX);
    uint64_t proposals = number("--proposals", given["--proposals"], 0, UINT32_MAX);
    std::set<std::pair<Id, Id>> partition;
    if (given.count("--partition")) {
        std::vector<Id> ids;
        string rest = given["--partition"] + ",";
        for (std::size_t comma; (comma = rest.find(',')) != string::npos; rest.erase(0, comma + 1))
            ids.push_back(number("--partition", rest.substr(0, comma), 0, nodes - 1));
        if (ids.size() % 2) fail("--partition: an odd number of ids");
        for (std::size_t i = 0; i < ids.size(); i += 2) partition.insert({ids[i], ids[i + 1]});
    }
    Cluster cluster(seed, nodes, partition);
    cluster.run(rounds, proposals);
    string dump = cluster.dump();
    if (given.count("--dump")) {
        std::ofstream file(given["--dump"], std::ios::binary);
        file.write(dump.data(), std::streamsize(dump.size())).flush();
        if (!file) fail("--dump " + given["--dump"] + ": cannot be written");
    }
    std::printf("%s", sha256(dump).c_str());
}

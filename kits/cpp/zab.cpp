// The whole of a small Zab, with the numbers of the steps in DSN 2011, IV and V.
//
//     g++ -std=c++17 -O2 -o zab zab.cpp; zabcheck run --exec ./zab
//
// With `--bug history-by-zxid-only` a leader chooses the history with the highest zxid, whatever its epoch.
#include <algorithm>
#include <stdexcept>

#include "node.hpp"

using std::int64_t;
using std::string;
using Zxid = std::pair<int64_t, int64_t>; // compared as the paper does: the epoch first

struct Txn {
    Zxid zxid;
    string value;
    bool operator==(const Txn &other) const { return zxid == other.zxid && value == other.value; }
};

using History = std::vector<Txn>;

Json json(const std::map<string, string> &map) { return Fields(map.begin(), map.end()); }

struct Answer { // an ACK-E
    int64_t epoch;
    History history;
};

const Zxid NONE{0, 0};

Zxid last(const History &history) { return history.empty() ? NONE : history.back().zxid; }

History first(std::size_t length, const History &history) { return {history.begin(), history.begin() + length}; }

std::size_t common(const History &a, const History &b) {
    std::size_t length = 0;
    while (length < a.size() && length < b.size() && a[length] == b[length]) length++;
    return length;
}

Json json(const Zxid &zxid) { return List{zxid.first, zxid.second}; }
Json json(const Txn &txn) { return Fields{{"zxid", json(txn.zxid)}, {"value", txn.value}}; }

Json json(const History &history) {
    List found;
    for (const Txn &each : history) found.push_back(json(each));
    return found;
}

Zxid zxidOf(const Json &json) { return {json.list()[0].number(), json.list()[1].number()}; }
Txn txnOf(const Json &json) { return {zxidOf(json["zxid"]), json["value"].text()}; }

History historyOf(const Json &json) {
    History found;
    for (const Json &each : json.list()) found.push_back(txnOf(each));
    return found;
}

Answer answerOf(const Json &json) { return {json["current_epoch"].number(), historyOf(json["history"])}; }

// Every node follows; one that is named leader leads as well, and is its own follower.
class Zab : public Node {
    string bug, leader, phase;
    int64_t promised = 0, epoch = 0; // f.p and f.a
    History history, delivered;
    // Of a leader: e' once it is chosen, the CEPOCHs, the ACK-Es that count, its followers, what each has acknowledged.
    int64_t proposing;
    std::map<string, int64_t> promises;
    std::map<string, Answer> answers;
    std::map<string, string> links;
    std::map<string, Zxid> acks;
    History proposed;
    Zxid initial, committed;
    bool chosen, established, ready; // `chosen`: there is an initial history

public:
    explicit Zab(string bug) : bug(std::move(bug)) {}

    Fields knows() const override {
        List kinds{"CEPOCH", "NEWEPOCH", "ACK-E", "NEWLEADER", "ACK-LD", "COMMIT-LD", "PROPOSE", "ACK", "COMMIT"};
        List properties{"core", "causality", "protocol"};
        return {{"kinds", kinds}, {"properties", properties}, {"mutants", List{"history-by-zxid-only"}}};
    }

    void init(const Json &disk, bool intact) override {
        if (!mutant.empty()) bug = mutant;
        if (!disk["f.p"].isNull()) promised = disk["f.p"].number();
        if (!disk["f.a"].isNull()) epoch = disk["f.a"].number();
        if (!disk["history"].isNull()) history = historyOf(disk["history"]);
        begin("", "election");
        if (!intact) event("halt", {{"reason", "a record on its disk is not what was written"}});
    }

    // What no step reads again is left out, so that more states are the same.
    Json saved() const override {
        Fields asked, answered, acked;
        if (proposing == 0)
            for (const auto &[each, its] : promises) asked.emplace_back(each, its);
        if (!chosen)
            for (const auto &[each, its] : answers)
                answered.emplace_back(each, Fields{{"current_epoch", its.epoch}, {"history", json(its.history)}});
        for (const auto &[each, zxid] : acks) acked.emplace_back(each, json(std::max(zxid, committed)));
        return Fields{{"bug", bug}, {"leader", leader}, {"phase", phase}, {"promised", promised}, {"epoch", epoch},
                      {"history", json(history)}, {"delivered", json(delivered)}, {"proposing", proposing},
                      {"promises", asked}, {"answers", answered}, {"links", json(links)}, {"acks", acked},
                      {"proposed", json(proposed)}, {"initial", json(established ? NONE : initial)},
                      {"committed", json(committed)}, {"chosen", chosen}, {"established", established}, {"ready", ready}};
    }

    void restore(const Json &from) override {
        bug = from["bug"].text();
        leader = from["leader"].text();
        phase = from["phase"].text();
        promised = from["promised"].number();
        epoch = from["epoch"].number();
        history = historyOf(from["history"]);
        delivered = historyOf(from["delivered"]);
        proposing = from["proposing"].number();
        for (const auto &[each, its] : from["promises"].fields()) promises[each] = its.number();
        for (const auto &[each, its] : from["answers"].fields()) answers[each] = answerOf(its);
        for (const auto &[each, its] : from["links"].fields()) links[each] = its.text();
        for (const auto &[each, its] : from["acks"].fields()) acks[each] = zxidOf(its);
        proposed = historyOf(from["proposed"]);
        initial = zxidOf(from["initial"]);
        committed = zxidOf(from["committed"]);
        chosen = from["chosen"].truth();
        established = from["established"].truth();
        ready = from["ready"].truth();
    }

    int64_t highestEpoch() const override { return std::max(promised, proposing); }

    void handle(const string &src, const string &type, const Json &m) override {
        if (type == "elected") onElected(m["leader"].text());
        else if (type == "NEWEPOCH") onNewEpoch(src, m["epoch"].number());
        else if (type == "NEWLEADER") onNewLeader(src, m["epoch"].number(), historyOf(m["history"]));
        else if (type == "COMMIT-LD") onCommitLd(src, m["epoch"].number(), zxidOf(m["zxid"]));
        else if (type == "PROPOSE") onPropose(src, m["epoch"].number(), txnOf(m["txn"]));
        else if (type == "COMMIT") onCommit(src, zxidOf(m["zxid"]));
        else if (type == "CEPOCH") onCEpoch(src, m["epoch"].number());
        else if (type == "ACK-E") onAckE(src, answerOf(m), m["counts"].truth());
        else if (type == "ACK-LD") onAckLd(src, zxidOf(m["zxid"]));
        else if (type == "request") onRequest(m["value"].text());
        else if (type == "ACK") onAck(src, zxidOf(m["zxid"]));
        else if (type == "lost") onLost(m["peer"].text());
        else if (type == "timed_out") onTimedOut();
        else throw std::invalid_argument("no such body: " + type);
    }

private:
    void begin(const string &itsLeader, const string &itsPhase) {
        forgetSyncs();
        leader = itsLeader;
        phase = itsPhase;
        proposing = 0;
        promises.clear();
        answers.clear();
        links.clear();
        acks.clear();
        proposed.clear();
        initial = committed = NONE;
        chosen = established = ready = false;
        tell();
    }

    void tell() { state({{"phase", phase}, {"f.p", promised}, {"f.a", epoch}, {"h_f", json(history)}}); }

    // Writes, and says `then` once that is synced, unless this iteration is over by that time.
    void durable(const Fields &fields, const List &events, const List &then) {
        write(fields, events, then);
        tell();
    }

    void abandon(const string &reason) {
        giveUp(reason);
        begin("", "election");
    }

    bool leads() const { return leader == id; }

    // A follower.

    void onElected(const string &named) { // f.1.1
        begin(named, "discovery");
        send(leader, "CEPOCH", {{"epoch", promised}});
    }

    void onNewEpoch(const string &src, int64_t asked) { // f.1.2
        if (src != leader || phase != "discovery") return;
        if (asked < promised) return abandon("NEWEPOCH is older than f.p");
        bool counts = asked > promised;
        Fields told{{"current_epoch", epoch}, {"history", json(history)}};
        Fields answer = told;
        answer.emplace_back("counts", counts);
        phase = "synchronization";
        promised = asked;
        if (!counts) {
            tell();
            return send(src, "ACK-E", answer);
        }
        told.emplace_back("epoch", asked);
        durable({{"f.p", asked}}, {what("promise", {{"epoch", asked}, {"leader", src}})},
                {line("zabcheck", "event", what("ack_epoch", told).fields()), line(src, "ACK-E", answer)});
    }

    void onNewLeader(const string &src, int64_t asked, const History &accepted) { // f.2.1
        if (src != leader || phase != "synchronization") return;
        if (asked != promised) return abandon("NEWLEADER is not of the epoch promised");
        List events;
        if (auto same = common(history, accepted); same < history.size()) {
            Json zxid = json(last(first(same, history)));
            events.push_back(what("truncate", {{"zxid", zxid}, {"length", static_cast<int64_t>(same)}}));
        }
        events.push_back(what("adopt", {{"epoch", asked}, {"history", json(accepted)}}));
        history = accepted;
        epoch = asked;
        Fields answer{{"epoch", asked}, {"zxid", json(last(history))}};
        Fields kept{{"f.a", epoch}, {"history", json(history)}};
        durable(kept, events, {line(src, "ACK-LD", answer)});
    }

    void onCommitLd(const string &src, int64_t asked, const Zxid &zxid) { // f.2.2 and f.3.1
        if (src != leader || phase != "synchronization" || epoch != asked) return;
        phase = "broadcast";
        event("commit_epoch", {{"epoch", asked}});
        if (common(delivered, history) < delivered.size()) delivered.clear();
        deliverUpTo(zxid);
        if (leads()) {
            ready = true;
            event("ready", {{"epoch", asked}});
        }
        tell();
    }

    void onPropose(const string &src, int64_t asked, const Txn &txn) { // f.3.2
        if (src != leader || txn.zxid <= last(history)) return;
        history.push_back(txn);
        Json accept = what("accept", {{"epoch", asked}, {"txn", json(txn)}});
        Fields answer{{"epoch", asked}, {"zxid", json(txn.zxid)}};
        durable({{"history", json(history)}}, {accept}, {line(src, "ACK", answer)});
    }

    void onCommit(const string &src, const Zxid &zxid) { // f.3.3
        if (src == leader && phase == "broadcast") deliverUpTo(zxid);
    }

    void deliverUpTo(const Zxid &zxid) {
        std::size_t length = 0;
        while (length < history.size() && history[length].zxid <= zxid) length++;
        History target = first(length, history);
        if (last(target) != zxid || length <= delivered.size()) return;
        for (auto each = delivered.size(); each < length; each++) event("deliver", {{"txn", json(target[each])}});
        delivered = target;
    }

    // A leader.

    string link(const string &follower) const { // links[follower] would make one
        auto found = links.find(follower);
        return found == links.end() ? "" : found->second;
    }

    void onCEpoch(const string &src, int64_t asked) { // l.1.1, and l.3.3 for who comes later
        if (!leads()) return;
        links[src] = "asked";
        if (proposing > 0) {
            send(src, "NEWEPOCH", {{"epoch", proposing}});
            if (chosen) proposeHistory(src);
            return;
        }
        promises[src] = asked;
        if (!isQuorum(promises)) return;
        for (const auto &[each, its] : promises) proposing = std::max(proposing, its + 1);
        for (const auto &[each, its] : promises) send(each, "NEWEPOCH", {{"epoch", proposing}});
    }

    void onAckE(const string &src, const Answer &answer, bool counts) { // l.1.2 and l.2.1
        if (!leads() || link(src) != "asked") return;
        links[src] = "discovered";
        if (chosen) return proposeHistory(src);
        if (counts) answers[src] = answer;
        else if (!answers.count(src)) return abandon("a promise of e' was made, and its answer lost");
        if (!isQuorum(answers)) return;
        const Answer *best = nullptr;
        for (const string &each : ids) { // ties go to the lowest
            auto its = answers.find(each);
            if (its != answers.end() && (best == nullptr || rank(*best) < rank(its->second))) best = &its->second;
        }
        proposed = best->history;
        chosen = true;
        initial = last(proposed);
        for (const auto &[each, its] : links)
            if (its == "discovered") proposeHistory(each);
    }

    std::pair<int64_t, Zxid> rank(const Answer &answer) const {
        return {bug == "history-by-zxid-only" ? 0 : answer.epoch, last(answer.history)};
    }

    void proposeHistory(const string &to) { // l.2.1
        links[to] = "proposed";
        send(to, "NEWLEADER", {{"epoch", proposing}, {"history", json(proposed)}});
    }

    void onAckLd(const string &src, const Zxid &zxid) { // l.2.2 and l.3.4
        if (!leads() || link(src) != "proposed") return;
        acks[src] = zxid;
        if (established) {
            commit();
            links[src] = "synced";
            return send(src, "COMMIT-LD", {{"epoch", proposing}, {"zxid", json(committed)}});
        }
        links[src] = "synced";
        if (!isQuorum(acks)) return;
        established = true;
        committed = initial;
        event("establish", {{"epoch", proposing}});
        toAll({"synced"}, "COMMIT-LD", {{"epoch", proposing}, {"zxid", json(committed)}});
    }

    void onRequest(const string &value) { // l.3.1
        if (!ready) return;
        Zxid end = last(proposed);
        int64_t counter = end.first == proposing ? end.second + 1 : 1;
        if (counter > counterLimit) return abandon("the counter would overflow");
        proposed.push_back({{proposing, counter}, value});
        Fields proposal{{"epoch", proposing}, {"txn", json(proposed.back())}};
        event("broadcast", proposal);
        toAll({"proposed", "synced"}, "PROPOSE", proposal);
    }

    void onAck(const string &src, const Zxid &zxid) { // l.3.2
        if (!leads() || !acks.count(src)) return;
        acks[src] = zxid;
        commit();
    }

    void commit() {
        Zxid highest = committed;
        for (const auto &[one, zxid] : acks) {
            std::map<string, Zxid> acked;
            for (const auto &[each, its] : acks)
                if (its >= zxid) acked[each] = its;
            if (zxid > highest && isQuorum(acked)) highest = zxid;
        }
        if (highest == committed) return;
        committed = highest;
        toAll({"synced"}, "COMMIT", {{"epoch", proposing}, {"zxid", json(committed)}});
    }

    void toAll(const std::vector<string> &of, const string &type, const Fields &fields) {
        for (const auto &[each, link] : links)
            if (std::find(of.begin(), of.end(), link) != of.end()) send(each, type, fields);
    }

    // The end of an iteration.

    void onLost(const string &peer) {
        if (!leads()) {
            if (peer == leader) abandon("the leader closed the connection");
            return;
        }
        links.erase(peer);
        if (proposing > 0 && !isQuorum(links)) abandon("no quorum of followers is left");
    }

    void onTimedOut() {
        if (phase != "election") abandon("time-out");
    }
};

int main(int argc, char **argv) {
    string bug = argc > 2 && string(argv[1]) == "--bug" ? argv[2] : "";
    Node::run([&] { return std::make_unique<Zab>(bug); });
}

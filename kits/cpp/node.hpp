// A node that zabcheck single-steps: a subclass of Node takes a step for each line that it is sent.
//
// The standard library of C++17 is all that is needed. docs/any-language.md says what each line means.
#pragma once
#include <functional>
#include <iostream>
#include <map>
#include <memory>

#include "json.hpp"

class Node {
public:
    std::string id = "node";
    std::vector<std::string> ids;
    std::map<std::string, std::int64_t> weights;
    std::string mutant; // empty if there is none
    std::int64_t seed = 0, counterLimit = 0;

    virtual ~Node() = default;

    // What a node says of itself: the types of its messages, what it is judged by, the bugs that can be planted.
    virtual Fields knows() const = 0;
    virtual void init(const Json &disk, bool intact) = 0;
    virtual void handle(const std::string &src, const std::string &type, const Json &body) = 0;

    // For snapshots: all that a node remembers, which is one value for all that nothing to come can tell apart; how a node
    // that was just started gets it back; and the highest epoch that it has promised or proposed.
    virtual Json saved() const = 0;
    virtual void restore(const Json &saved) = 0;
    virtual std::int64_t highestEpoch() const = 0;

    // Reads lines and answers them until the standard input is closed; `start` makes a node as it is at first.
    static void run(const std::function<std::unique_ptr<Node>()> &start) {
        std::ios::sync_with_stdio(false);
        auto node = start();
        for (std::string text; std::getline(std::cin, text);) {
            const Json line = JsonReader(text).value();
            const std::string &type = line["body"]["type"].text();
            if (type == "reset" || type == "restore") node = start();
            node->answer(line["id"].number(), line["src"].text(), line["body"]);
            std::cout << node->out << std::flush;
            node->out.clear();
        }
    }

    // What a step can do.

    // Sends a message to a node, which may be this one.
    void send(const std::string &to, const std::string &type, const Fields &fields) {
        Fields body{{"type", type}};
        body.insert(body.end(), fields.begin(), fields.end());
        Json(Fields{{"src", id}, {"dest", to}, {"body", body}}).write(out);
        out += '\n';
    }

    // Returns an event, to be told with a write, once that is durable.
    static Json what(const std::string &event, const Fields &fields) {
        Fields all{{"type", "event"}, {"event", event}};
        all.insert(all.end(), fields.begin(), fields.end());
        return all;
    }

    // Returns a line to be written later, such as a message to a node.
    static Json line(const std::string &to, const std::string &type, const Fields &fields) {
        return Fields{{"to", to}, {"type", type}, {"fields", fields}};
    }

    // Tells zabcheck what happened: broadcast, deliver, ready, …
    void event(const std::string &event, const Fields &fields) {
        send("zabcheck", "event", what(event, fields).fields());
    }

    // Writes these fields, all or none, and asks for them to be synced; the lines `then` are written once they are.
    void write(const Fields &fields, const List &events, const List &then) {
        std::int64_t number = waiting.empty() ? 1 : waiting.rbegin()->first + 1;
        waiting[number] = then;
        send("disk", "write", {{"fields", fields}, {"events", events}});
        send("disk", "sync", {{"msg_id", number}});
    }

    // Writes nothing once the disk has answered what it was asked so far.
    void forgetSyncs() {
        for (auto &[number, then] : waiting) then.clear();
    }

    // Closes every connection, and waits for the oracle.
    void giveUp(const std::string &reason) { send("zabcheck", "give_up", {{"reason", reason}}); }

    // Tells what this node remembers, for reports.
    void state(const Fields &variables) { send("zabcheck", "state", {{"variables", variables}}); }

    // Tells whether the nodes that have an entry in this map have more than half of the weight.
    template <class Entry> bool isQuorum(const std::map<std::string, Entry> &members) const {
        std::int64_t sum = 0, all = 0;
        for (const auto &[each, weight] : weights) {
            all += weight;
            if (members.count(each)) sum += weight;
        }
        return 2 * sum > all;
    }

private:
    std::string out;
    std::map<std::int64_t, List> waiting; // by the number of a sync: the lines that are written once it is answered

    void answer(std::int64_t number, const std::string &src, const Json &body) {
        const std::string &type = body["type"].text();
        Fields end{{"in_reply_to", number}};
        if (type == "init") {
            start(body);
            init(body["disk"], body["intact"].truth());
            end.emplace_back("reset", true);
            end.emplace_back("snapshot", true);
            for (const auto &each : knows()) end.push_back(each);
        } else if (type == "snapshot") {
            List asked;
            for (const auto &[each, then] : waiting) asked.push_back(List{each, then});
            end.emplace_back("epoch", highestEpoch());
            end.emplace_back("state", Fields{{"saved", saved()}, {"waiting", asked}});
        } else if (type == "restore") {
            start(body);
            for (const Json &each : body["state"]["waiting"].list()) waiting[each.list()[0].number()] = each.list()[1].list();
            restore(body["state"]["saved"]);
        } else if (type == "synced") {
            auto then = waiting.extract(body["in_reply_to"].number());
            for (const Json &each : then.mapped())
                send(each["to"].text(), each["type"].text(), each["fields"].fields());
        } else if (type != "reset") handle(src, type, body);
        bool isOwn = type == "init" || type == "reset" || type == "snapshot" || type == "restore";
        send("zabcheck", isOwn ? type + "_ok" : "done", end);
    }

    void start(const Json &body) {
        id = body["node_id"].text();
        for (const Json &each : body["node_ids"].list()) ids.push_back(each.text());
        for (const auto &[each, weight] : body["weights"].fields()) weights[each] = weight.number();
        if (!body["mutant"].isNull()) mutant = body["mutant"].text();
        seed = body["seed"].number();
        counterLimit = body["counter_limit"].number();
    }
};

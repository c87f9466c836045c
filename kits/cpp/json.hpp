// JSON, which the standard library of C++ has not: objects in the order in which they are written, lists, strings,
// integers, booleans and null.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <variant>
#include <vector>

class Json;
using List = std::vector<Json>;
using Fields = std::vector<std::pair<std::string, Json>>;

class Json {
    std::variant<std::nullptr_t, bool, std::int64_t, std::string, List, Fields> value;
    static void write(std::string &out, const std::string &text);

public:
    Json() = default;
    Json(bool truth) : value(truth) {}
    Json(int number) : value(std::int64_t{number}) {}
    Json(std::int64_t number) : value(number) {}
    Json(const char *text) : value(std::string(text)) {}
    Json(std::string text) : value(std::move(text)) {}
    Json(List list) : value(std::move(list)) {}
    Json(Fields fields) : value(std::move(fields)) {}

    bool isNull() const { return value.index() == 0; }
    bool truth() const { return std::get<bool>(value); }
    std::int64_t number() const { return std::get<std::int64_t>(value); }
    const std::string &text() const { return std::get<std::string>(value); }
    const List &list() const { return std::get<List>(value); }
    const Fields &fields() const { return std::get<Fields>(value); }
    const Json &operator[](const std::string &name) const; // null if there is no such field
    void write(std::string &out) const;
};

inline const Json &Json::operator[](const std::string &name) const {
    static const Json null;
    for (const auto &[each, found] : fields())
        if (each == name) return found;
    return null;
}

inline void Json::write(std::string &out) const {
    const char *before = "";
    if (auto truth = std::get_if<bool>(&value)) out += *truth ? "true" : "false";
    else if (auto number = std::get_if<std::int64_t>(&value)) out += std::to_string(*number);
    else if (auto text = std::get_if<std::string>(&value)) write(out, *text);
    else if (auto list = std::get_if<List>(&value)) {
        out += '[';
        for (const Json &each : *list) out += std::exchange(before, ","), each.write(out);
        out += ']';
    } else if (auto fields = std::get_if<Fields>(&value)) {
        out += '{';
        for (const auto &[name, each] : *fields) {
            out += std::exchange(before, ",");
            write(out, name);
            out += ':';
            each.write(out);
        }
        out += '}';
    } else out += "null";
}

inline void Json::write(std::string &out, const std::string &text) {
    char code[7];
    out += '"';
    for (char c : text) {
        if (c == '"' || c == '\\') (out += '\\') += c;
        else if (c >= 0 && c < ' ') std::snprintf(code, sizeof code, "\\u%04x", c), out += code;
        else out += c;
    }
    out += '"';
}

// Reads one value; a text that ends too early, and a word that is no number, are exceptions.
class JsonReader {
    const std::string &text;
    std::size_t at = 0;

public:
    explicit JsonReader(const std::string &text) : text(text) {}

    Json value() {
        char c = next();
        if (c == '{') {
            Fields found;
            for (at++; next() != '}';) {
                if (text[at] == ',') at++, next();
                std::string name = string();
                next();
                at++; // the colon
                found.emplace_back(std::move(name), value());
            }
            at++;
            return found;
        }
        if (c == '[') {
            List found;
            for (at++; next() != ']';) {
                if (text[at] == ',') at++;
                found.push_back(value());
            }
            at++;
            return found;
        }
        if (c == '"') return string();
        std::size_t start = at;
        at = std::min(text.find_first_of(",]} \t\r\n", at), text.size());
        std::string word = text.substr(start, at - start);
        if (word == "null") return {};
        if (word == "true" || word == "false") return word == "true";
        return std::int64_t{std::stoll(word)};
    }

private:
    char next() {
        while (text.at(at) == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n') at++;
        return text[at];
    }

    std::string string() {
        std::string found;
        for (at++; text.at(at) != '"'; at++) {
            if (text[at] != '\\') {
                found += text[at];
                continue;
            }
            char c = text.at(++at);
            std::size_t known = std::string("nrtbf").find(c);
            if (c == 'u') utf8(found, codePoint());
            else found += known == std::string::npos ? c : "\n\r\t\b\f"[known];
        }
        at++;
        return found;
    }

    int hex() {
        at += 4;
        return std::stoi(text.substr(at - 3, 4), nullptr, 16);
    }

    // What is beyond 16 bits is written as two: \ud83d\ude00.
    int codePoint() {
        int code = hex();
        if (code < 0xd800 || code > 0xdbff) return code;
        at += 2;
        return 0x10000 + ((code - 0xd800) << 10) + (hex() - 0xdc00);
    }

    static void utf8(std::string &out, int code) {
        auto next = [&](int shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
        if (code < 0x80) out += static_cast<char>(code);
        else if (code < 0x800) out += static_cast<char>(0xc0 | code >> 6), next(0);
        else if (code < 0x10000) out += static_cast<char>(0xe0 | code >> 12), next(6), next(0);
        else out += static_cast<char>(0xf0 | code >> 18), next(12), next(6), next(0);
    }
};

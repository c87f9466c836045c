//! JSON, which Rust's standard library has not: objects in the order in which they are written, lists, strings,
//! integers, booleans and null.

use std::fmt::Write;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Truth(bool),
    Number(i64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

use Json::*;

/// An object with these fields: object([("epoch", 1.into()), ("zxid", zxid.into())]).
pub fn object<const N: usize>(fields: [(&str, Json); N]) -> Json {
    Object(fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}

impl From<bool> for Json {
    fn from(truth: bool) -> Json {
        Truth(truth)
    }
}

impl From<i64> for Json {
    fn from(number: i64) -> Json {
        Number(number)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Text(text.to_string())
    }
}

impl<T: Clone + Into<Json>> From<&[T]> for Json {
    fn from(list: &[T]) -> Json {
        List(list.iter().cloned().map(T::into).collect())
    }
}

impl Json {
    /// The field of this name; null if there is none.
    pub fn get(&self, name: &str) -> &Json {
        self.fields().iter().find(|(each, _)| each == name).map_or(&Null, |(_, value)| value)
    }

    /// This object with the fields of another behind its own.
    pub fn and(&self, other: &Json) -> Json {
        Object([self.fields(), other.fields()].concat())
    }

    pub fn truth(&self) -> bool {
        matches!(self, Truth(true))
    }

    pub fn number(&self) -> i64 {
        match self {
            Number(number) => *number,
            _ => panic!("no number: {self:?}"),
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Text(text) => text,
            _ => panic!("no text: {self:?}"),
        }
    }

    pub fn list(&self) -> &[Json] {
        match self {
            List(list) => list,
            _ => panic!("no list: {self:?}"),
        }
    }

    pub fn fields(&self) -> &[(String, Json)] {
        match self {
            Object(fields) => fields,
            _ => panic!("no object: {self:?}"),
        }
    }

    pub fn parse(text: &str) -> Json {
        Reader { text, at: 0 }.value()
    }

    pub fn write(&self, out: &mut String) {
        match self {
            Null => out.push_str("null"),
            Truth(truth) => write!(out, "{truth}").unwrap(),
            Number(number) => write!(out, "{number}").unwrap(),
            Text(text) => quote(text, out),
            List(list) => {
                out.push('[');
                for (i, each) in list.iter().enumerate() {
                    out.push_str(if i > 0 { "," } else { "" });
                    each.write(out);
                }
                out.push(']');
            }
            Object(fields) => {
                out.push('{');
                for (i, (name, each)) in fields.iter().enumerate() {
                    out.push_str(if i > 0 { "," } else { "" });
                    quote(name, out);
                    out.push(':');
                    each.write(out);
                }
                out.push('}');
            }
        }
    }
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => write!(out, "\\u{:04x}", c as u32).unwrap(),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Reads one value, or panics. `at` counts bytes, and all that has a meaning in JSON is one byte long.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> u8 {
        while self.text.as_bytes()[self.at].is_ascii_whitespace() {
            self.at += 1;
        }
        self.text.as_bytes()[self.at]
    }

    /// Whether there is another entry before this end; passes the comma, or the end.
    fn goes_on(&mut self, end: u8) -> bool {
        let c = self.next();
        if c == b',' || c == end {
            self.at += 1;
        }
        c != end
    }

    fn value(&mut self) -> Json {
        match self.next() {
            b'{' => {
                self.at += 1;
                let mut fields = vec![];
                while self.goes_on(b'}') {
                    let name = self.string();
                    self.next();
                    self.at += 1; // the colon
                    fields.push((name, self.value()));
                }
                Object(fields)
            }
            b'[' => {
                self.at += 1;
                let mut list = vec![];
                while self.goes_on(b']') {
                    list.push(self.value());
                }
                List(list)
            }
            b'"' => Text(self.string()),
            _ => {
                let rest = &self.text[self.at..];
                let word = &rest[..rest.find([',', ']', '}', ' ']).unwrap_or(rest.len())];
                self.at += word.len();
                match word {
                    "null" => Null,
                    "true" | "false" => Truth(word == "true"),
                    _ => Number(word.parse().expect("an integer")),
                }
            }
        }
    }

    fn string(&mut self) -> String {
        self.next();
        let mut found = String::new();
        loop {
            self.at += 1;
            let rest = &self.text[self.at..];
            let plain = rest.find(['"', '\\']).expect("the end of a string");
            found.push_str(&rest[..plain]);
            self.at += plain + 1;
            if rest.as_bytes()[plain] == b'"' {
                return found;
            }
            match self.text.as_bytes()[self.at] {
                b'u' => found.push_str(&self.utf16()),
                b'n' => found.push('\n'),
                b'r' => found.push('\r'),
                b't' => found.push('\t'),
                b'b' => found.push('\u{8}'),
                b'f' => found.push('\u{c}'),
                c => found.push(c as char),
            }
        }
    }

    /// What is beyond 16 bits is written as two: \ud83d\ude00.
    fn utf16(&mut self) -> String {
        let mut units = vec![];
        loop {
            units.push(u16::from_str_radix(&self.text[self.at + 1..self.at + 5], 16).expect("four digits"));
            self.at += 4;
            if !self.text[self.at + 1..].starts_with("\\u") {
                return String::from_utf16_lossy(&units);
            }
            self.at += 2;
        }
    }
}

//! JSON with a member a line. Only white space differs: every token stays as it was written.

/// Deeper than anybody reads. From there on it goes on one line: each level costs its indent.
const DEEPEST: usize = 32;

/// `raw` is one JSON value.
pub fn pretty(raw: &[u8]) -> String {
    let mut printer = Printer { out: Vec::with_capacity(raw.len() * 2), depth: 0, opened: false };
    let mut rest = raw.iter().copied();
    while let Some(byte) = rest.next() {
        match byte {
            b'"' => printer.string(&mut rest),
            b'{' | b'[' => printer.open(byte),
            b'}' | b']' => printer.close(byte),
            b',' => printer.comma(),
            b':' => printer.token(b": "),
            b' ' | b'\t' | b'\n' | b'\r' => {}
            other => printer.token(&[other]),
        }
    }
    String::from_utf8_lossy(&printer.out).into_owned()
}

struct Printer {
    out: Vec<u8>,
    depth: usize,
    /// The last token opened a container, which may turn out to be empty.
    opened: bool,
}

impl Printer {
    fn token(&mut self, bytes: &[u8]) {
        if std::mem::take(&mut self.opened) {
            self.new_line();
        }
        self.out.extend_from_slice(bytes);
    }

    fn open(&mut self, bracket: u8) {
        self.token(&[bracket]);
        self.depth += 1;
        self.opened = true;
    }

    fn close(&mut self, bracket: u8) {
        let empty = std::mem::take(&mut self.opened);
        let one_line = self.depth > DEEPEST;
        self.depth = self.depth.saturating_sub(1);
        if !empty && !one_line {
            self.new_line();
        }
        self.out.push(bracket);
    }

    fn comma(&mut self) {
        self.out.push(b',');
        if self.depth > DEEPEST {
            self.out.push(b' ');
        }
        self.new_line();
    }

    fn string(&mut self, rest: &mut impl Iterator<Item = u8>) {
        self.token(b"\"");
        while let Some(byte) = rest.next() {
            self.out.push(byte);
            match byte {
                b'"' => return,
                b'\\' => self.out.extend(rest.next()),
                _ => {}
            }
        }
    }

    fn new_line(&mut self) {
        if self.depth <= DEEPEST {
            self.out.push(b'\n');
            self.out.extend(std::iter::repeat_n(b' ', self.depth * 2));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tokens_stay_as_written() {
        let raw = br#" {"b" : 2.50,"a":[ 1e400, [], { } ,"\ud800 : \"{"],"a":-0} "#;
        let expected = "{\n  \"b\": 2.50,\n  \"a\": [\n    1e400,\n    [],\n    {},\n    \"\\ud800 : \\\"{\"\n  ],\n  \"a\": -0\n}";
        assert_eq!(pretty(raw), expected);
    }

    #[test]
    fn depth_costs_no_more_than_its_brackets() {
        let deep = format!("{}1,2{}", "[".repeat(100_000), "]".repeat(100_000));
        let text = pretty(deep.as_bytes());
        assert!(text.len() < 300_000, "{}", text.len());
        let tokens: String = text.split_whitespace().collect();
        assert!(tokens == deep);
    }

    proptest! {
        #[test]
        fn it_looks_as_usual(text in ".*", number: i64, flag: bool) {
            let value = serde_json::json!({ "t": [&text, number, {}], "f": { &text: flag } });
            let expected = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(pretty(value.to_string().as_bytes()), expected);
        }
    }
}

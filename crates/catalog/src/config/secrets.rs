//! The values of one server that must never be printed, and how text is cleaned of them.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use super::encodings::encodings;
use super::escape::shown;
use super::reading::Reading;
use super::suspect::{password_in_url, password_of_user};

/// Shorter values are not replaced: they would be found everywhere and hide nothing.
const SHORTEST: usize = 4;

/// A line of a longer value (a PEM key) counts by itself from this length on.
// A server that fails on a key prints the line it failed at, not the whole key.
const SHORTEST_LINE: usize = 8;

/// Shorter values are not looked for in lists of numbers.
const SHORTEST_IN_LIST: usize = 6;

/// How often escapes are undone: a log in JSON may quote JSON that quotes HTML.
const DEEPEST: usize = 3;

/// Words that are common in logs and no secret, even under the name `AUTH`.
const PLAIN_WORDS: [&str; 8] =
    ["true", "false", "none", "null", "basic", "bearer", "enabled", "disabled"];

/// Values without `Debug`: only their names can be shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    /// Longest first, so that a value inside another does not split it.
    entries: Vec<NamedSecret>,
    /// How the values start: text without a secret costs one look at this for each byte.
    starts: Starts,
    /// Of each start, the places in `entries`, in their order.
    by_start: HashMap<[u8; SHORTEST], Vec<usize>>,
}

#[derive(Clone, PartialEq, Eq)]
struct NamedSecret {
    name: String,
    value: String,
    /// How a program may encode it.
    is_encoded: bool,
}

impl Secrets {
    pub fn new() -> Secrets {
        Secrets::default()
    }

    /// Adds a value, how it reads when it is encoded, and the parts of it that are secret alone: the password of a
    /// URL or behind a user's name, the token behind `Bearer`, each line of a key file.
    pub fn add(&mut self, name: &str, value: &str) {
        self.add_encoded(name, value);
        if let Some(password) = password_in_url(value).or_else(|| password_of_user(value)) {
            self.add_encoded(name, password);
        }
        // `Bearer TOKEN`: programs print the token alone. Two words at most: a sentence is not cut
        // into its words.
        if let Some((_scheme, token)) = value.split_once(' ').filter(|(_, t)| !t.contains(' ')) {
            self.add_encoded(name, token);
        }
        if value.contains('\n') {
            let lines = value.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_LINE);
            lines.for_each(|line| self.add_one(name, line, false));
        }
        self.index();
    }

    /// What a program prints in base64 or as digits is the value all the same.
    fn add_encoded(&mut self, name: &str, value: &str) {
        if is_plain(value) {
            return;
        }
        self.add_one(name, value, false);
        for spelling in encodings(value) {
            self.add_one(name, &spelling, true);
        }
    }

    fn add_one(&mut self, name: &str, value: &str, is_encoded: bool) {
        let known = self.entries.iter().any(|entry| entry.value == value);
        if value.len() < SHORTEST || is_plain(value) || known {
            return;
        }
        // Kept in order while it is filled: values are added at the start, text is cleaned for as
        // long as the server runs.
        let at = self.entries.partition_point(|entry| entry.value.len() >= value.len());
        let (name, value) = (shown(name), value.to_owned());
        self.entries.insert(at, NamedSecret { name, value, is_encoded });
    }

    /// Values are few and added at the start: all are indexed anew.
    fn index(&mut self) {
        self.by_start.clear();
        for (place, entry) in self.entries.iter().enumerate() {
            let Some(start) = entry.value.as_bytes().first_chunk() else { continue };
            self.starts.add(*start);
            self.by_start.entry(*start).or_default().push(place);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The variables and env keys whose values are kept, longest value first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(|entry| !entry.is_encoded).map(|entry| entry.name.as_str())
    }

    /// `text` with every secret replaced by `[redacted NAME]`; borrowed where there is none.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let found = self.occurrences(text.as_bytes());
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut copied = 0;
        for Occurrence { place, name } in found {
            out.push_str(text.get(copied..place.start).unwrap_or_default());
            out.push_str("[redacted ");
            out.push_str(name);
            out.push(']');
            copied = place.end;
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Where secrets stand, however the text is read: in order, and none inside another.
    fn occurrences(&self, text: &[u8]) -> Vec<Occurrence<'_>> {
        if self.entries.is_empty() {
            return Vec::new();
        }
        let mut found = self.written(text);
        // Each reading is at most as long as the one before: the time grows with the text, not with its escapes.
        let mut readings: Vec<Reading> = Vec::new();
        while readings.len() < DEEPEST
            && let Some(reading) =
                Reading::unescaped(readings.last().map_or(text, |last| &last.bytes))
        {
            let here = self.written(&reading.bytes);
            readings.push(reading);
            found.extend(here.into_iter().map(|it| it.back_through(&readings)));
        }
        for list in Reading::lists(text) {
            // Four digits of a PIN stand in many lists by chance.
            let here = self.written(&list.bytes).into_iter();
            let here = here.filter(|it| it.place.len() >= SHORTEST_IN_LIST);
            found.extend(here.map(|it| it.back_through(std::slice::from_ref(&list))));
        }
        found.sort_by_key(|it| (it.place.start, Reverse(it.place.end)));
        found.dedup_by(|next, before| {
            let overlaps = next.place.start < before.place.end;
            if overlaps {
                before.place.end = before.place.end.max(next.place.end);
            }
            overlaps
        });
        found
    }

    /// Where these bytes hold secrets as they are.
    fn written(&self, bytes: &[u8]) -> Vec<Occurrence<'_>> {
        let next = |from| self.next(bytes, from);
        let all = std::iter::successors(next(0), |last| next(last.place.end));
        all.collect()
    }

    /// The next run of secrets from `from` on. A secret that starts inside another and reaches
    /// beyond it belongs to the same run, or its tail would be printed.
    fn next(&self, bytes: &[u8], from: usize) -> Option<Occurrence<'_>> {
        let (start, secret) = self.first(bytes, from)?;
        let mut end = start + secret.value.len();
        let mut inside = start + 1;
        // Looked at byte by byte: the run may grow while it is walked.
        while inside < end {
            if let Some(overlapping) = self.at(bytes, inside) {
                end = end.max(inside + overlapping.value.len());
            }
            inside += 1;
        }
        Some(Occurrence { place: start..end, name: &secret.name })
    }

    fn first(&self, bytes: &[u8], from: usize) -> Option<(usize, &NamedSecret)> {
        let starts = bytes.get(from..)?.windows(SHORTEST).enumerate();
        let mut likely = starts.filter(|(_, start)| self.starts.may_have(start));
        likely.find_map(|(at, _)| Some((from + at, self.at(bytes, from + at)?)))
    }

    /// The longest secret that starts at `at`.
    fn at(&self, bytes: &[u8], at: usize) -> Option<&NamedSecret> {
        let rest = bytes.get(at..)?;
        let places = self.by_start.get(rest.first_chunk()?)?.iter();
        let mut entries = places.filter_map(|place| self.entries.get(*place));
        entries.find(|entry| rest.starts_with(entry.value.as_bytes()))
    }
}

/// The first bytes of all values, as 16,384 bits: says yes too often, never no. Twenty secrets have some 300
/// spellings, so that one byte of fifty is looked at twice.
#[derive(Clone, PartialEq, Eq)]
struct Starts(Box<[u64; 256]>);

impl Default for Starts {
    fn default() -> Self {
        Self(Box::new([0; 256]))
    }
}

impl Starts {
    fn add(&mut self, start: [u8; SHORTEST]) {
        let (word, bit) = Starts::slot(start);
        if let Some(word) = self.0.get_mut(word) {
            *word |= 1 << bit;
        }
    }

    fn may_have(&self, start: &[u8]) -> bool {
        let Some(start) = start.first_chunk() else {
            return false;
        };
        let (word, bit) = Starts::slot(*start);
        self.0.get(word).is_some_and(|word| word >> bit & 1 == 1)
    }

    /// Multiplicative hashing: the upper bits depend on every byte.
    fn slot(start: [u8; SHORTEST]) -> (usize, u32) {
        let hash = u32::from_le_bytes(start).wrapping_mul(0x9e37_79b1) >> 18;
        ((hash >> 6) as usize, hash & 63)
    }
}

struct Occurrence<'s> {
    place: Range<usize>,
    name: &'s str,
}

impl Occurrence<'_> {
    /// Its place in the text of which the first of these readings was made, each of the others of the one before.
    fn back_through(mut self, readings: &[Reading]) -> Self {
        self.place = readings.iter().rev().fold(self.place, |place, it| it.place(&place));
        self
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

fn is_plain(value: &str) -> bool {
    PLAIN_WORDS.iter().any(|word| word.eq_ignore_ascii_case(value))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::Secrets;
    use proptest::collection::vec;
    use proptest::prelude::{prop_assert, proptest};

    fn secrets(list: &[(&str, &str)]) -> Secrets {
        let mut secrets = Secrets::new();
        list.iter().for_each(|(name, value)| secrets.add(name, value));
        secrets
    }

    #[track_caller]
    fn check(list: &[(&str, &str)], text: &str, expected: &str) {
        assert_eq!(secrets(list).redact(text), expected);
    }

    #[test]
    fn k12_a_value_is_known_in_a_json_log() {
        check(&[("A", r#"pa"ss\word"#)], r#"{"m":"pa\"ss\\word"}"#, r#"{"m":"[redacted A]"}"#);
        check(&[("A", "pässwörtchen")], r#""p\u00e4ssw\u00f6rtchen""#, r#""[redacted A]""#);
        check(&[("A", "key😀😀")], r#""key\ud83d\ude00\ud83d\ude00""#, r#""[redacted A]""#);
    }

    #[test]
    fn every_occurrence_is_replaced() {
        check(&[], "abcd", "abcd");
        check(&[("A", "abcd")], "", "");
        check(&[("A", "abcd")], "abcd", "[redacted A]");
        check(&[("A", "abcd")], "x abcd, abcdabcd é", "x [redacted A], [redacted A][redacted A] é");
        check(&[("A", "abc")], "abc", "abc");
        check(&[("A", "ключ")], "это ключ!", "это [redacted A]!");
        check(&[("A", "abcd"), ("B", "abcdef")], "abcdef abcd", "[redacted B] [redacted A]");
        check(&[("A", "abcd"), ("B", "abcd")], "abcd", "[redacted A]");
        check(&[("A", "True"), ("B", "")], "True", "True");
    }

    #[test]
    fn overlapping_secrets_leave_no_tail() {
        check(&[("A", "abcd"), ("B", "cdefgh")], "xabcdefghx", "x[redacted A]x");
        check(&[("A", "aaaa")], "aaaaaa", "[redacted A]");
    }

    #[test]
    fn parts_that_are_secret_alone_count_too() {
        let url = "postgres://me:pa55word@db/x";
        check(&[("URL", url)], "at postgres://me:pa55word@db/x", "at [redacted URL]");
        check(&[("URL", url)], "login pa55word", "login [redacted URL]");
        check(&[("H", "Bearer tok12345")], "got tok12345", "got [redacted H]");
        check(&[("U", "me:pa55word")], "me, pa55word", "me, [redacted U]");
        check(&[("U", "me:pa55word")], "cGE1NXdvcmQ=", "[redacted U]Q=");
        check(&[("U", "host:8080")], "port 8080", "port 8080");
        check(&[("U", "C:\\Users\\me"), ("V", "a:b c-d e-f-g")], "b c-d e-f-g", "b c-d e-f-g");
        let pem = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nab\n";
        check(&[("PEM", pem)], "key MIIEvQIBADANBgkq ab", "key [redacted PEM] ab");
    }

    #[test]
    fn a_line_without_a_match_is_borrowed_and_debug_shows_names_only() {
        let secrets = secrets(&[("A", "abcd"), ("B", "xyz12345")]);
        assert!(matches!(secrets.redact("abc abx xyz"), Cow::Borrowed(_)));
        assert_eq!(format!("{secrets:?}"), r#"{"B", "A"}"#);
    }

    #[test]
    fn an_encoded_secret_is_one() {
        for text in [
            "dXNlcjpodW50ZXIyLWFuZC1tb3Jl",     // user:hunter2-and-more
            "aHVudGVyMi1hbmQtbW9yZQ==",         // hunter2-and-more
            "68756e746572322d616e642d6d6f7265", // in hexadecimal digits
            "HUNTER2-AND-MORE",
        ] {
            let clean = secrets(&[("A", "hunter2-and-more")]).redact(text).into_owned();
            let is_hidden = clean.contains("[redacted A]") && clean.len() < text.len() + 8;
            assert!(is_hidden, "{text}: {clean}");
        }
    }

    #[test]
    fn an_escaped_secret_is_one() {
        let secret = [("A", "hunter2/and+möre")];
        for text in [
            r"hunter2\/and+m\u00f6re",
            r"hunter2\\/and+m\\u00f6re", // JSON inside JSON
            r"\u0068\u0075\u006e\u0074\u0065\u0072\u0032\u002F\u0061nd\u002bm\u00F6re",
            "hunter2&#x2F;and&#43;m&#246;re",
            "hunter2&sol;and&plus;m&#xf6;re",
            "hunter2&amp;#x2F;and&amp;#43;möre", // escaped twice
            "%68unter2/and%2bm%c3%b6re",
            r"b'hunter2/and+m\xc3\xb6re'",
            r"\x68\x75\x6e\x74\x65\x72\x32\x2f\x61\x6e\x64\x2b\x6d\xc3\xb6\x72\x65",
            r"\150\165\156\164\145\162\062\057\141\156\144\053\155\303\266\162\145",
            "68:75:6e:74:65:72:32:2f:61:6e:64:2b:6d:c3:b6:72:65",
            "68 75 6E 74 65 72 32 2F 61 6E 64 2B 6D C3 B6 72 65",
            "0x68, 0x75, 0x6e, 0x74, 0x65, 0x72, 0x32, 0x2f, 0x61, 0x6e, 0x64, 0x2b, 0x6d, 0xc3, 0xb6, 0x72, 0x65",
            "104, 117, 110, 116, 101, 114, 50, 47, 97, 110, 100, 43, 109, 195, 182, 114, 101",
            r"aHVudGVyMi9hbmQrbcO2c\u006dU=", // base64 in JSON
        ] {
            let line = format!("failed: <{text}> at line 7, 12:30:45 &c.");
            let clean = secrets(&secret).redact(&line).into_owned();
            let left: Vec<&str> = clean.split("[redacted A]").collect();
            let [before, after] = left.as_slice() else { panic!("{text}: {clean}") };
            assert!(["failed: <", "failed: <b'"].contains(before), "{text}: {clean}");
            assert!(
                after.ends_with("> at line 7, 12:30:45 &c.") && after.len() < 30,
                "{text}: {clean}"
            );
        }
    }

    #[test]
    fn ordinary_text_with_escapes_stays() {
        let secrets = secrets(&[("A", "hunter2/and+möre"), ("PIN", "1234"), ("B", "deadbeef")]);
        for text in [
            r#"{"path":"C:\\new\\table","url":"http:\/\/example.com\/a%20b","n":"\u00e9"}"#,
            "<p>Tom &amp; Jerry &lt;tj@example.com&gt; &#169;</p>",
            "2026-11-18 13:20:45 00:1a:2b:3c:4d:5e fe80::1 31 32 33 34 35 36",
            "<Buffer 68 75 6e 74 65> [104, 117, 110] 0x68 0x75",
        ] {
            assert!(
                matches!(secrets.redact(text), Cow::Borrowed(_)),
                "{text}: {}",
                secrets.redact(text)
            );
        }
    }

    fn in_base64(text: &str) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let bits: String = text.bytes().map(|byte| format!("{byte:08b}")).collect();
        let mut out = String::new();
        for chunk in bits.as_bytes().chunks(6) {
            let chunk = format!("{:0<6}", std::str::from_utf8(chunk).unwrap());
            out.push(char::from(LETTERS[usize::from_str_radix(&chunk, 2).unwrap()]));
        }
        out
    }

    proptest! {
        #[test]
        fn no_encoded_secret_survives(
            secret in "[ -~é]{8,40}", before in "[a-z:]{0,7}", after in "[a-z:]{0,7}",
        ) {
            let secrets = secrets(&[("A", &secret)]);
            let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
            let base64 = in_base64(&format!("{before}{secret}{after}"));
            let url = base64.replace('+', "-").replace('/', "_");
            for text in [secret.clone(), secret.to_ascii_uppercase(), hex.to_uppercase(), hex, base64, url] {
                let line = format!("{before} {text} {after}");
                let clean = secrets.redact(&line).into_owned();
                prop_assert!(clean.contains("[redacted A]"), "{line}: {clean}");
                // What is left of it is what stood around it, and a letter or two of base64 at each end.
                let left = clean.replace("[redacted A]", "").len();
                prop_assert!(left <= 3 * (before.len() + after.len()) + 8, "{line}: {clean}");
            }
        }

        #[test]
        fn no_mixture_of_escapes_hides_a_secret(secret in "[ -~é]{8,40}", ways in vec(0..6_usize, 40)) {
            let escaped: String = secret.chars().zip(ways.iter()).map(|(letter, way)| {
                let code = u32::from(letter);
                match way {
                    0 => format!("&#{code};"),
                    1 => format!("&#x{code:X};"),
                    2 => format!("\\u{code:04x}"),
                    3 => letter.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect(),
                    4 => letter.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
                    // These would be read as something else where they stand for themselves.
                    _ if "&%\\".contains(letter) => format!("&#{code};"),
                    _ => letter.to_string(),
                }
            }).collect();
            let clean = secrets(&[("A", &secret)]).redact(&escaped).into_owned();
            prop_assert!(clean.contains("[redacted A]") && clean.len() < 40, "{escaped}: {clean}");
        }

        #[test]
        fn no_secret_survives(text in "[abé]{0,40}", one in "[abé]{4,6}", two in "[abé]{4,6}") {
            let secrets = secrets(&[("1", &one), ("2", &two)]);
            let clean = secrets.redact(&text).replace("[redacted 1]", "|").replace("[redacted 2]", "|");
            prop_assert!(!clean.contains(&one) && !clean.contains(&two));
        }
    }
}

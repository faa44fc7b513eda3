//! The other ways to write a URI: what a policy forbids must not be had by spelling it differently.
//!
//! RFC 3986, 6.2.2: letters of scheme and host, escapes of letters and digits, and dot segments make no difference.
//! Servers are more lenient than that: they decode every escape, take `\` for `/` and many slashes for one, and the URL
//! parsers of browsers and of Python drop tabs, line ends and what is blank around it.

/// A URI as it might be understood, where that is not how it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriForm {
    pub text: String,
    /// It leads elsewhere than what is written says: what permits that does not permit this.
    pub is_elsewhere: bool,
}

/// How often a server may decode what it gets: an escape may be escaped itself.
const ROUNDS: usize = 4;

/// Those that differ from what is written; mostly none.
pub fn other_forms(uri: &str) -> Vec<UriForm> {
    let mut forms: Vec<UriForm> = Vec::new();
    let mut add = |parts: UriParts| {
        let text = parts.text();
        if text != uri && forms.iter().all(|known| known.text != text) {
            forms.push(UriForm { text, is_elsewhere: parts.moves });
        }
    };
    // One server cleans what it gets, the other takes it as it is.
    for text in [as_parsed(uri).as_str(), uri] {
        let parts = UriParts::of(text);
        let rounds = if text.contains('%') { ROUNDS } else { 1 };
        for round in 1..=rounds {
            for host in [HostCase::Lower, HostCase::Kept] {
                add(parts.lenient(round, host, uri));
            }
        }
    }
    add(UriParts::of(uri).normal(HostCase::Lower));
    forms
}

/// Host names are compared without regard to case; what custom schemes have there may be a name of something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostCase {
    Lower,
    Kept,
}

/// What a URL parser looks at (WHATWG URL, 4.4).
fn as_parsed(uri: &str) -> String {
    let is_blank = |it: char| it <= ' ';
    let text = uri.trim_matches(is_blank).replace(['\t', '\n', '\r'], "");
    let end = text.find(['?', '#']).unwrap_or(text.len());
    let (place, rest) = text.split_at(end);
    format!("{}{rest}", place.replace('\\', "/"))
}

#[derive(Clone, Debug)]
struct UriParts {
    /// With its colon; empty: there is none.
    scheme: String,
    /// Without its slashes; `None`: there is none.
    authority: Option<String>,
    path: String,
    /// Query and fragment, with their signs.
    rest: String,
    /// The path has other segments than the one it was made of.
    moves: bool,
}

impl UriParts {
    fn of(uri: &str) -> Self {
        let is_scheme = |text: &str| {
            text.starts_with(|first: char| first.is_ascii_alphabetic())
                && text.chars().all(|it| it.is_ascii_alphanumeric() || "+-.".contains(it))
        };
        let (scheme, behind) = match uri.split_once(':') {
            Some((scheme, behind)) if is_scheme(scheme) => (format!("{scheme}:"), behind),
            _ => (String::new(), uri),
        };
        let cut = |text: &str, ends: &[char]| text.find(ends).unwrap_or(text.len());
        let (authority, behind) = match behind.strip_prefix("//") {
            Some(behind) => {
                let (authority, path) = behind.split_at(cut(behind, &['/', '?', '#', '\\']));
                (Some(authority.to_owned()), path)
            }
            None => (None, behind),
        };
        let (path, rest) = behind.split_at(cut(behind, &['?', '#']));
        let (path, rest) = (path.to_owned(), rest.to_owned());
        Self { scheme, authority, path, rest, moves: false }
    }

    fn text(&self) -> String {
        let Self { scheme, authority, path, rest, .. } = self;
        match authority {
            Some(authority) => format!("{scheme}//{authority}{path}{rest}"),
            None => format!("{scheme}{path}{rest}"),
        }
    }

    /// As RFC 3986 has it; a file without a host, or of this machine, is written in one way (RFC 8089).
    fn normal(&self, case: HostCase) -> Self {
        let plain = |text: &str| decoded(text, is_unreserved);
        let parts = Self {
            authority: self.authority.as_deref().map(plain),
            path: plain(&self.path),
            rest: plain(&self.rest),
            ..self.clone()
        };
        parts.followed(case)
    }

    /// With its scheme and host in one case and its dots followed; escapes stay as they are.
    fn followed(&self, case: HostCase) -> Self {
        let scheme = self.scheme.to_ascii_lowercase();
        let host = |written: &str| match case {
            HostCase::Kept => written.to_owned(),
            HostCase::Lower => lower_host(written),
        };
        let mut authority = self.authority.as_deref().map(host);
        if scheme == "file:" && self.path.starts_with('/') {
            let is_local =
                |host: &String| host.is_empty() || host.eq_ignore_ascii_case("localhost");
            authority = authority.filter(|host| !is_local(host)).or(Some(String::new()));
        }
        let (path, moves) = without_dots(&self.path);
        Self { scheme, authority, path, rest: self.rest.clone(), moves }
    }

    /// As a server may take it that decodes everything so often and then follows the path as the system does: there,
    /// several slashes are one before the dots are looked at. `written`: what came, before a parser looked at it.
    fn lenient(&self, rounds: usize, case: HostCase, written: &str) -> Self {
        let all = |text: &str| {
            let mut text = text.to_owned();
            for _ in 0..rounds {
                text = decoded(&text, |_| true);
            }
            text
        };
        let slashes = |text: &str| text.matches('/').count();
        let signs = |host: &str| host.matches(['/', '@']).count();
        let mut single = String::with_capacity(self.path.len());
        for letter in all(&self.path).replace('\\', "/").chars() {
            if letter != '/' || !single.ends_with('/') {
                single.push(letter);
            }
        }
        let authority = self.authority.as_deref().map(all);
        let hosts = [&authority, &self.authority].map(|host| host.as_deref().map(signs));
        let is_parted = slashes(&single) != slashes(&self.path) || hosts[0] != hosts[1];
        let (path, has_dots) = without_dots(&single);
        // Neither an empty user nor an empty port says anything (RFC 3986, 6.2.3).
        let authority = authority.map(|host| {
            let host = host.strip_prefix('@').unwrap_or(&host);
            host.strip_suffix(':').unwrap_or(host).to_owned()
        });
        // What follows `#` never gets to a server over HTTP.
        let rest = all(self.rest.split('#').next().unwrap_or_default());
        let rest = if rest == "?" { String::new() } else { rest };
        let is_cleaned = self.text() != written;
        let parts = Self { authority, path, rest, ..self.clone() }.followed(case);
        Self { moves: parts.moves || has_dots || is_parted || is_cleaned, ..parts }
    }
}

/// Host names are compared without regard to case; what stands before an `@` is not one.
fn lower_host(authority: &str) -> String {
    match authority.rsplit_once('@') {
        Some((user, host)) => format!("{user}@{}", host.to_ascii_lowercase()),
        None => authority.to_ascii_lowercase(),
    }
}

/// RFC 3986, 2.3: these mean the same, escaped or not.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// With the escapes of these bytes decoded, and the others in capitals. Bytes that are no text stay escaped.
fn decoded(text: &str, wanted: impl Fn(u8) -> bool) -> String {
    let (mut made, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        match escape(rest) {
            Some((byte, behind)) if wanted(byte) => {
                made.push(byte);
                rest = behind;
            }
            Some((byte, behind)) => {
                made.extend(format!("%{byte:02X}").into_bytes());
                rest = behind;
            }
            None => {
                made.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&made).into_owned()
}

/// The byte of an escape, and what follows it.
fn escape(text: &[u8]) -> Option<(u8, &[u8])> {
    let (escape, behind) = text.split_at_checked(3)?;
    let [b'%', high, low] = escape else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let byte = u8::try_from(digit(high)? * 16 + digit(low)?).ok()?;
    Some((byte, behind))
}

/// RFC 3986, 5.2.4, of an absolute path; true: there were some.
fn without_dots(path: &str) -> (String, bool) {
    let is_dots = |segment: &str| matches!(segment, "." | "..");
    if !path.starts_with('/') || !path.split('/').any(is_dots) {
        return (path.to_owned(), false);
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        match segment {
            ".." => drop(kept.pop()),
            "." => {}
            other => kept.push(other),
        }
        // A path that ends in dots ends in a slash.
        if segments.peek().is_none() && is_dots(segment) {
            kept.push("");
        }
    }
    (format!("/{}", kept.join("/")), true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_plainly_has_no_other_form() {
        for uri in [
            "file:///etc/passwd",
            "docs://open",
            "http://h/a/b?x=1&y=%20",
            "urn:isbn:123",
            "file:///{+path}",
            "note:a.b",
            "",
            "plain",
            "%",
            "file:///a%zz",
        ] {
            let forms = other_forms(uri);
            assert!(forms.iter().all(|form| !form.is_elsewhere), "{uri}: {forms:?}");
            let escaped = uri.contains("%20");
            assert_eq!(forms.is_empty(), !escaped, "{uri}: {forms:?}");
        }
    }

    #[test]
    fn what_is_spelt_differently_is_found_out() {
        for (uri, other, is_elsewhere) in [
            ("FILE:///etc/passwd", "file:///etc/passwd", false),
            ("file:///%65tc/passwd", "file:///etc/passwd", false),
            ("file:///etc/../etc/passwd", "file:///etc/passwd", true),
            ("file:///srv/../etc/passwd", "file:///etc/passwd", true),
            ("file:///srv/%2e%2E/etc/passwd", "file:///etc/passwd", true),
            ("file:///srv/./x/..", "file:///srv/", true),
            ("file:///../../etc/passwd", "file:///etc/passwd", true),
            ("file:/etc/passwd", "file:///etc/passwd", false),
            ("file://LOCALHOST/etc/passwd", "file:///etc/passwd", false),
            ("file:////etc/passwd", "file:///etc/passwd", true),
            ("file:///srv//../etc/passwd", "file:///etc/passwd", true),
            ("file:///etc%2fpasswd", "file:///etc/passwd", true),
            ("file:///srv/..%2F..%2fetc/passwd", "file:///etc/passwd", true),
            ("file:///srv/..\\..\\etc/passwd", "file:///etc/passwd", true),
            ("file:///%2565tc/passwd", "file:///etc/passwd", false),
            ("file:///%2565tc/passwd", "file:///%65tc/passwd", false),
            ("file:///R%2525252e", "file:///R%2e", false),
            ("file:///%25252e%25252e/etc/passwd", "file:///etc/passwd", true),
            ("file:///etc/passwd#x", "file:///etc/passwd", false),
            ("http://u@EXAMPLE.com/A?q=%61", "http://u@example.com/A?q=a", false),
            ("note://MyNote", "note://mynote", false),
            ("docs://a/caf%c3%a9", "docs://a/caf\u{e9}", false),
            ("note://%73hut", "note://shut", false),
            ("note://%2573hut", "note://shut", false),
            ("note://%4dyNote", "note://MyNote", false),
            ("note://%4dyNote", "note://mynote", false),
            ("NOTE://caf%c3%a9", "note://caf\u{e9}", false),
            ("note://@shut", "note://shut", false),
            ("note://shut?", "note://shut", false),
            ("note://shut?#x", "note://shut", false),
            ("note://shut:/x", "note://shut/x", false),
            ("note://a%2fb", "note://a/b", true),
            ("mail:///a%40b", "mail:///a@b", false),
            ("note://x%40shut", "note://x@shut", true),
            ("file://%6cocalhost/etc/passwd", "file:///etc/passwd", false),
            ("file:///e\ttc/passwd", "file:///etc/passwd", true),
            ("file:///srv/.\n./etc/passwd\r", "file:///etc/passwd", true),
            ("fi\tle:/\t/\t/etc/passwd", "file:///etc/passwd", true),
            ("\u{1}file:///etc/passwd \n", "file:///etc/passwd", true),
            ("file:\\\\\\etc\\passwd", "file:///etc/passwd", true),
            ("http:\\\\h\\a?b\\c", "http://h/a?b\\c", true),
        ] {
            let found = other_forms(uri).into_iter().find(|form| form.text == other);
            assert_eq!(found.map(|form| form.is_elsewhere), Some(is_elsewhere), "{uri}");
        }
    }

    proptest! {
        #[test]
        fn no_uri_is_too_odd(uri in any::<String>()) {
            let _ = other_forms(&uri);
        }

        /// However `/etc/passwd` is spelt, one of the forms is that.
        #[test]
        fn every_spelling_of_a_path_is_found_out(
            scheme in "[fF][iI][lL][eE]",
            host in "(|localhost)",
            before in "(/|/\\./|/x/\\.\\./|/%2e/|//)",
            between in "(/|//|/\\./|%2F|/y/%2E%2e/)",
            escaped in any::<[bool; 9]>(),
        ) {
            let mut flags = escaped.into_iter();
            let mut spelt = |word: &str| -> String {
                let letter = |it: char| match flags.next() {
                    Some(true) => format!("%{:02x}", u32::from(it)),
                    _ => it.to_string(),
                };
                word.chars().map(letter).collect()
            };
            let (etc, passwd) = (spelt("etc"), spelt("passwd"));
            let uri = format!("{scheme}://{host}{before}{etc}{between}{passwd}");
            let forms = other_forms(&uri);
            let is_found = uri == "file:///etc/passwd"
                || forms.iter().any(|form| form.text == "file:///etc/passwd");
            prop_assert!(is_found, "{}: {:?}", uri, forms);
        }
    }
}

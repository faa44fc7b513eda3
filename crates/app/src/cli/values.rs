//! Parsers for single values of the command line.

use std::num::NonZeroUsize;
use std::time::Duration;

use trunkline_catalog::Exposure;
use trunkline_catalog::client::Client;
use trunkline_catalog::config::SandboxProfile;
use trunkline_gateway::MOST_THREADS;
use trunkline_http::{BadUrl, Url};

use crate::client::did_you_mean;

pub(super) fn client(text: &str) -> Result<Client, String> {
    text.parse().map_err(|unknown: trunkline_catalog::client::UnknownClient| {
        format!("{unknown}{}", did_you_mean(text, Client::ALL.map(Client::id)))
    })
}

/// The clients that have a file, with this word before the last.
pub(super) fn client_list(last: &str) -> String {
    let names: Vec<&str> = Client::with_config().map(|(client, _)| client.id()).collect();
    match names.split_last() {
        Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
        None => String::new(),
    }
}

/// A client whose file is to be changed. One that has none is known, and told so later; it is not offered.
pub(super) fn with_file(text: &str) -> Result<Client, String> {
    text.parse().map_err(|_unknown| {
        let names: Vec<&str> = Client::with_config().map(|(client, _)| client.id()).collect();
        let near = did_you_mean(text, names.iter().copied());
        format!("unknown client {text:?}; known: {}{near}", names.join(", "))
    })
}

/// A number without a fraction.
pub(super) fn whole<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let number = text.parse::<u64>().ok().and_then(|number| N::try_from(number).ok());
    number.ok_or_else(|| "must be a whole number, like 50".to_owned())
}

/// How many threads move messages.
pub(super) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse::<NonZeroUsize>().ok().filter(|number| number.get() <= MOST_THREADS);
    number.ok_or_else(|| format!("must be a whole number from 1 to {MOST_THREADS}"))
}

pub(super) fn exposure(text: &str) -> Result<Exposure, String> {
    match text {
        "full" => Ok(Exposure::Full),
        "search" => Ok(Exposure::Search),
        "auto" => Ok(Exposure::Auto),
        _ => Err("must be `full`, `search` or `auto`".to_owned()),
    }
}

pub(super) fn sandbox(text: &str) -> Result<SandboxProfile, String> {
    SandboxProfile::of_word(text).ok_or_else(|| "must be `off`, `standard` or `strict`".to_owned())
}

pub(super) fn variable(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains('=') {
        return Err("must be the name of a variable (or `*`)".to_owned());
    }
    Ok(text.to_owned())
}

pub(super) fn separator(text: &str) -> Result<String, String> {
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err("must be at least one printable character".to_owned());
    }
    Ok(text.to_owned())
}

/// A name that shells and clients can refer to.
pub(super) fn variable_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if text.is_empty() || !text.chars().all(fits) || text.starts_with(|c: char| c.is_ascii_digit())
    {
        return Err("must be the name of a variable: letters, digits and `_`".to_owned());
    }
    Ok(text.to_owned())
}

/// `sqlite:PATH` or `postgres://…`.
pub(super) fn store(text: &str) -> Result<trunkline_store::StoreUrl, String> {
    trunkline_store::StoreUrl::parse(text).map_err(|error| error.to_string())
}

/// `5`, `0.5`, `500ms`, `30s`, `2m`.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let factor = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("unknown unit (use ms, s, m or h)".to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(number * factor)
        .ok()
        .filter(|duration| *duration <= LONGEST_WAIT)
        .ok_or_else(|| "must lie between 0 and 1000 hours".to_owned())
}

/// A time that is not zero: the interval of something that is repeated.
pub(super) fn interval(text: &str) -> Result<Duration, String> {
    let interval = seconds(text)?;
    match interval >= SHORTEST_INTERVAL {
        true => Ok(interval),
        false => Err("must be at least 100ms".to_owned()),
    }
}

/// A time within which the store is looked at a few times.
pub(super) fn stale(text: &str) -> Result<Duration, String> {
    let longest = seconds(text)?;
    match longest >= SHORTEST_STALE {
        true => Ok(longest),
        false => Err("must be at least 5s".to_owned()),
    }
}

/// `90d`, `12h`, or as `seconds` has it.
pub(super) fn age(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.len() - usize::from(text.ends_with(['d', 'h'])));
    let hours = match unit {
        "d" => 24,
        "h" => 1,
        _ => return seconds(text),
    };
    let number: Option<u64> = number.parse().ok().filter(|number| (1..=100_000).contains(number));
    let number = number.ok_or_else(|| "not a time (such as 90d, 12h or 30m)".to_owned())?;
    Ok(Duration::from_secs(number * hours * 3600))
}

/// RFC 3339, as milliseconds since 1970.
pub(super) fn moment(text: &str) -> Result<i64, String> {
    trunkline_control::api::time::parse(text)
        .ok_or_else(|| "not a time; write it as 2027-01-31T12:00:00Z (RFC 3339)".to_owned())
}

const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);
/// The store is looked at every two seconds.
const SHORTEST_STALE: Duration = Duration::from_secs(5);
const LONGEST_WAIT: Duration = Duration::from_secs(3600 * 1000);

/// `1048576`, `512K`, `64M`, `1G`.
pub(super) fn bytes(text: &str) -> Result<usize, String> {
    size(text)?
        .filter(|bytes| (SMALLEST_MESSAGE..=LARGEST_MESSAGE).contains(bytes))
        .ok_or_else(|| "must lie between 1K and 2G".to_owned())
}

/// What may lie on a disk: nothing, or at least some records.
pub(super) fn disk_size(text: &str) -> Result<usize, String> {
    size(text)?
        .filter(|&bytes| bytes == 0 || (SMALLEST_SPOOL..=LARGEST_SPOOL).contains(&bytes))
        .ok_or_else(|| "must be 0 or lie between 1M and 1024G".to_owned())
}

const SMALLEST_SPOOL: usize = 1 << 20;
const LARGEST_SPOOL: usize = 1 << 40;

/// `None`: more than there can be.
fn size(text: &str) -> Result<Option<usize>, String> {
    let bare = text.trim_end_matches("iB").trim_end_matches('B');
    let (number, factor) = match bare.char_indices().last() {
        Some((at, 'k' | 'K')) => (bare.get(..at), 1 << 10),
        Some((at, 'm' | 'M')) => (bare.get(..at), 1 << 20),
        Some((at, 'g' | 'G')) => (bare.get(..at), 1 << 30),
        _ => (Some(bare), 1),
    };
    let number: Option<usize> = number.and_then(|number| number.parse().ok());
    let number =
        number.ok_or_else(|| "not a number of bytes (such as 1048576, 512K or 64M)".to_owned())?;
    Ok(number.checked_mul(factor))
}

const SMALLEST_MESSAGE: usize = 1 << 10;
const LARGEST_MESSAGE: usize = 2 << 30;

/// What a client shows to be let in: it travels in a header.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(String);

impl Token {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("must be printable ASCII without blanks, and not empty".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// A header to send: `Name: value`. `Debug` shows the name only.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl std::fmt::Debug for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Header").field("name", &self.name).finish_non_exhaustive()
    }
}

pub(super) fn header(text: &str) -> Result<Header, String> {
    let (name, value) =
        text.split_once(':').ok_or_else(|| "must be written as 'Name: value'".to_owned())?;
    let value = value.trim_matches([' ', '\t']);
    // RFC 9110, `token` and `field-value`.
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(in_name) {
        return Err("the name before `:` is not a header's name".to_owned());
    }
    if value.chars().any(char::is_control) {
        return Err("the value has a control character".to_owned());
    }
    Ok(Header { name: name.to_owned(), value: value.to_owned() })
}

pub(super) fn url(text: &str) -> Result<Url, BadUrl> {
    Url::parse(text)
}

/// A name clients may put into `Host`.
pub(super) fn host(text: &str) -> Result<String, String> {
    let fits =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':' | '[' | ']');
    if text.is_empty() || !text.chars().all(fits) {
        return Err("must be a host's name or address, without scheme and path".to_owned());
    }
    Ok(text.to_ascii_lowercase())
}

/// What a browser puts into `Origin`.
pub(super) fn origin(text: &str) -> Result<String, String> {
    let parts = text.split_once("://");
    let fits = |(scheme, rest): &(&str, &str)| {
        !scheme.is_empty()
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
            && !rest.is_empty()
            && !rest.contains(['/', '?', '#', '@', '*', ' '])
    };
    match parts.filter(fits) {
        Some(_) => Ok(text.to_ascii_lowercase()),
        None => Err("must be one origin, such as https://app.example.com".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, expected) in [
            ("5", Some(5000)),
            ("0.5", Some(500)),
            ("250ms", Some(250)),
            ("2m", Some(120_000)),
            ("0", Some(0)),
            ("-1", None),
            ("nan", None),
            ("inf", None),
            ("5x", None),
            ("", None),
        ] {
            let got = seconds(text).ok().map(|duration| duration.as_millis());
            assert_eq!(got, expected, "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("4096", Some(4096)),
            ("64M", Some(64 << 20)),
            ("1GiB", Some(1 << 30)),
            ("1023", None),
            ("3G", None),
            ("x", None),
            ("", None),
            ("99999999999999999999M", None),
        ] {
            assert_eq!(bytes(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn headers() {
        let parsed = |text| header(text).ok().map(|header| (header.name, header.value));
        let pair = |name: &str, value: &str| Some((name.to_owned(), value.to_owned()));
        for (text, expected) in [
            ("X-Key: a b", pair("X-Key", "a b")),
            ("X-Key:a:b ", pair("X-Key", "a:b")),
            ("X-Key:", pair("X-Key", "")),
            ("X Key: a", None),
            (": a", None),
            ("X-Key", None),
            ("X-Key: a\r\nEvil: b", None),
        ] {
            assert_eq!(parsed(text), expected, "{text}");
        }
        assert_eq!(format!("{:?}", header("A: secret").unwrap()), r#"Header { name: "A", .. }"#);
    }

    #[test]
    fn hosts_and_origins() {
        for (text, good) in [
            ("mcp.Example.com", true),
            ("[::1]:3006", true),
            ("http://a", false),
            ("a/b", false),
            ("", false),
        ] {
            assert_eq!(host(text).is_ok(), good, "{text}");
        }
        for (text, good) in [
            ("https://App.example.com", true),
            ("http://localhost:5173", true),
            ("vscode-webview://abc", true),
            ("*", false),
            ("null", false),
            ("https://a.example/", false),
            ("https://*.example", false),
            ("", false),
        ] {
            assert_eq!(origin(text).is_ok(), good, "{text}");
        }
    }

    #[test]
    fn tokens_are_never_shown() {
        let token = Token::parse("s3cret").unwrap();
        assert_eq!((token.reveal(), format!("{token:?}").as_str()), ("s3cret", "Token"));
        for text in ["", "a b", "ä", "a\n"] {
            assert!(Token::parse(text).is_err(), "{text:?}");
        }
    }
}

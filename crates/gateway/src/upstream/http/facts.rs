//! `Facts`: what is kept of a response's head while its body comes in.

use std::time::Duration;

use trunkline_http::Response;

use crate::limits::{KEEP_ALIVE, LONGEST_CHALLENGE, MOST_CHALLENGES};
use crate::upstream::http::exchange::Purpose;
use crate::upstream::http::verdict::{Dialect, Verdict, judge};

#[derive(Debug)]
pub(super) struct Facts {
    pub(super) purpose: Purpose,
    /// The session the request was sent in, counted.
    pub(super) session: u32,
    pub(super) verdict: Verdict,
    pub(super) status: u16,
    /// How long the connection can be used again afterwards.
    pub(super) keep: Option<Duration>,
    /// Only what a refusal is explained with; a success needs none of it.
    pub(super) content_type: Option<String>,
    pub(super) location: Option<String>,
    pub(super) retry_after: Option<String>,
    /// Of a refusal that asks who we are.
    pub(super) challenges: Vec<String>,
}

impl Facts {
    pub(super) fn new(
        purpose: Purpose,
        session: u32,
        dialect: Dialect,
        response: &Response<'_>,
    ) -> Self {
        let headers = &response.headers;
        let content_type = headers.get("content-type");
        let mut verdict = judge(purpose, dialect, response.status, content_type);
        let is_plain = |value: &[u8]| value.is_empty() || value.eq_ignore_ascii_case(b"identity");
        if matches!(verdict, Verdict::Message | Verdict::Events)
            && !headers.get("content-encoding").is_none_or(is_plain)
        {
            verdict = Verdict::Compressed;
        }
        let refused = !matches!(verdict, Verdict::Message | Verdict::Events | Verdict::Accepted);
        let text = |name| headers.text(name).filter(|_| refused).map(str::to_owned);
        Self {
            purpose,
            session,
            verdict,
            status: response.status,
            keep: response.keeps_alive().then(|| keep_alive(headers.text("keep-alive"))),
            content_type: text("content-type"),
            location: text("location"),
            retry_after: text("retry-after"),
            challenges: challenges(response),
        }
    }
}

fn challenges(response: &Response<'_>) -> Vec<String> {
    if !matches!(response.status, 401 | 403) {
        return Vec::new();
    }
    let values = response.headers.all("www-authenticate").take(MOST_CHALLENGES);
    let short = values.filter(|value| value.len() <= LONGEST_CHALLENGE);
    short.filter_map(|value| std::str::from_utf8(value).ok()).map(str::to_owned).collect()
}

/// `timeout=5, max=100`: a second less, for the way.
fn keep_alive(header: Option<&str>) -> Duration {
    let mut parameters = header.unwrap_or_default().split(',');
    let timeout = parameters.find_map(|parameter| {
        let (name, value) = parameter.trim().split_once('=')?;
        let value = value.trim().trim_matches('"');
        name.trim().eq_ignore_ascii_case("timeout").then(|| value.parse::<u32>().ok())?
    });
    let promised = timeout.map(|seconds| Duration::from_secs(u64::from(seconds.saturating_sub(1))));
    promised.unwrap_or(KEEP_ALIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_a_connection_is_kept() {
        for (header, expected) in [
            (None, 4),
            (Some("timeout=5"), 4),
            (Some("max=100, Timeout=60"), 59),
            (Some("timeout=\"9\""), 8),
            (Some("timeout=0"), 0),
            (Some("timeout=x"), 4),
            (Some("300"), 4),
        ] {
            assert_eq!(keep_alive(header).as_secs(), expected, "{header:?}");
        }
    }

    #[test]
    fn heads() {
        let read = |text: &str| {
            let (response, _) = trunkline_http::response(text.as_bytes()).unwrap().unwrap();
            Facts::new(Purpose::Call(1), 0, Dialect::Streamable, &response)
        };
        let usual =
            read("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n");
        assert_eq!((usual.verdict, usual.keep), (Verdict::Message, Some(KEEP_ALIVE)));
        assert_eq!(usual.content_type, None);
        let zipped = read("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n");
        assert_eq!(zipped.verdict, Verdict::Compressed);
        let last = read("HTTP/1.1 429 X\r\nRetry-After: 2\r\nConnection: close\r\n\r\n");
        assert_eq!((last.verdict, last.keep), (Verdict::Later, None));
        assert_eq!(last.retry_after.as_deref(), Some("2"));
    }
}

//! What a response means: by its head, and, where it is a refusal, by its body. Pure.

use std::time::Duration;

use trunkline_http::{Response, Url, is_type};
use trunkline_wire::{Kind, decode, member, scan, upstream_id};

use crate::limits::{
    KEEP_ALIVE, LONGEST_CHALLENGE, LONGEST_RETRY_AFTER, MOST_CHALLENGES, MOST_DELAYS,
    MOST_REDIRECTS,
};
use crate::upstream::http::slot::Purpose;
use crate::upstream::http::trouble::{is_upgrade, shown_url};
use crate::upstream::transport::UpstreamId;

/// The ways MCP is spoken over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// The stateless era: every exchange stands for itself, and there is nothing besides.
    Modern,
    /// Streamable HTTP: a request is answered in its own exchange.
    Streamable,
    /// The older HTTP+SSE: everything comes on one stream, which also says where to post to.
    Older,
}

/// What to do with the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is the answer.
    Message,
    /// It is a stream of events, the answer among them.
    Events,
    /// The message has arrived; there is nothing to read.
    Accepted,
    Redirect,
    /// Come later.
    Later,
    /// It cannot be read: nobody asked for compression.
    Compressed,
    /// A success that is not what was asked for.
    WrongType,
    Refused,
}

pub(super) fn judge(
    purpose: Purpose,
    dialect: Dialect,
    status: u16,
    content_type: Option<&[u8]>,
) -> Verdict {
    let is = |media_type| content_type.is_some_and(|value| is_type(value, media_type));
    match (status, purpose, dialect) {
        (200..=299, Purpose::Listen | Purpose::Resume(_), _) if is("text/event-stream") => {
            Verdict::Events
        }
        (200..=299, Purpose::Listen | Purpose::Resume(_), _) => Verdict::WrongType,
        (200..=299, Purpose::Tell | Purpose::Initialized | Purpose::Goodbye, _)
        | (200..=299, _, Dialect::Older)
        // 2025-11-25, Transports, Sending Messages to the Server: a notification is answered with
        // 202 and no body. The older transport answers every POST so.
        | (202 | 204 | 205, ..) => Verdict::Accepted,
        (200..=299, ..) if is("text/event-stream") => Verdict::Events,
        // A server that does not say what it sends can only mean the usual.
        (200..=299, ..) if is("application/json") || content_type.is_none() => Verdict::Message,
        (200..=299, ..) => Verdict::WrongType,
        (301 | 302 | 303 | 307 | 308, ..) => Verdict::Redirect,
        // RFC 6585, 4 and RFC 9110, 15.6.4: both may name the pause in Retry-After.
        (429 | 503, ..) => Verdict::Later,
        _ => Verdict::Refused,
    }
}

/// What a refusal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ruling {
    /// The body is an error of JSON-RPC: whoever asked gets it as it is.
    Deliver,
    /// The server does not know the session any more; the request did not run.
    SessionLost,
    /// It is of another era than it was found to be.
    OtherEra,
    Unauthorized,
    /// Nothing is there.
    Nothing,
    Other,
}

pub(super) fn rule(purpose: Purpose, status: u16, in_session: bool, body: &[u8]) -> Ruling {
    let complaint = complaint(body);
    // An error under the id of the request is the server's own answer, whatever its status.
    let is_answer = purpose.id().is_some_and(|id| answers(body, id));
    let of_session = || complaint.as_deref().is_some_and(|text| text.contains("session"));
    match status {
        // 2025-11-25, Transports, Session Management: 404 to a request that names a session means
        // that it is over.
        404 if in_session && !is_answer => Ruling::SessionLost,
        // Only 404 by the specification, but widely used servers say it so.
        400 if in_session && !is_answer && of_session() => Ruling::SessionLost,
        401 => Ruling::Unauthorized,
        403 if !is_answer => Ruling::Unauthorized,
        // Whatever they say about it: a server of the older transport does not take `initialize`.
        404 | 405 if matches!(purpose, Purpose::Initialize(_)) => Ruling::Nothing,
        _ if (complaint.is_some() || is_answer) && purpose.id().is_some() => Ruling::Deliver,
        404 | 405 => Ruling::Nothing,
        _ => Ruling::Other,
    }
}

/// Is this what a server says that has come back in another era? What it refuses so did not run.
pub(super) fn changed_era(dialect: Dialect, purpose: Purpose, status: u16, body: &[u8]) -> bool {
    let Purpose::Call(id) = purpose else { return false };
    let is_answer = answers(body, id);
    match dialect {
        // There every answer says whose it is, whatever its status.
        Dialect::Modern => matches!(status, 400 | 404 | 405) && !is_answer,
        Dialect::Streamable => status == 400 && is_answer && wants_meta(body),
        Dialect::Older => false,
    }
}

/// Does a server of the stateless era miss what every request has to say there?
fn wants_meta(body: &[u8]) -> bool {
    let Ok(message) = scan(body) else { return false };
    let error = message.text(message.error);
    match member(error, "code") {
        Some(b"-32020" | b"-32022") => true,
        Some(b"-32602") => complaint(body).is_some_and(|text| text.contains("_meta")),
        _ => false,
    }
}

/// Could a server of the older era have answered `server/discover` like this? What others between us
/// and it say, and that it wants to know who we are, says nothing about it.
pub(super) fn maybe_legacy(status: u16) -> bool {
    !matches!(status, 401 | 403 | 407 | 408 | 429 | 502..=599)
}

/// Could a server of the older transport have answered `initialize` like this?
pub(super) fn maybe_older(status: u16, content_type: Option<&[u8]>, body: &[u8]) -> bool {
    match status {
        // 2025-11-25, Transports, Backwards Compatibility: a POST of `initialize` that fails with
        // 400, 404 or 405 may have met the older transport.
        404 | 405 => true,
        400 | 406 | 415 => complaint(body).is_none(),
        200..=299 => content_type.is_some_and(|value| is_type(value, "text/html")),
        _ => false,
    }
}

/// Is this a response to the request with this id, if a broken one?
fn answers(body: &[u8], id: UpstreamId) -> bool {
    let named = match scan(body) {
        Ok(message) => message.id,
        Err(fault) => fault.id,
    };
    named.and_then(|at| upstream_id(at.of(body))) == Some(id)
}

/// The words of an error of JSON-RPC, in lower case.
fn complaint(body: &[u8]) -> Option<String> {
    let message = scan(body).ok().filter(|message| message.kind == Kind::Refusal)?;
    let text = member(message.text(message.error), "message").and_then(decode);
    Some(text.unwrap_or_default().to_lowercase())
}

/// Where a redirect leads, or why it is not followed (completes "server X …").
pub(super) fn redirected(from: &Url, location: Option<&str>, hops: u8) -> Result<Url, String> {
    let Some(location) = location else {
        return Err("redirects without saying where to".to_owned());
    };
    let Ok(to) = from.join(location) else {
        return Err("redirects to something that is no URL".to_owned());
    };
    // The user's headers and the login go along with every request: they must not leave for another
    // server.
    if to.origin() != from.origin() {
        let hint = if is_upgrade(from, &to) { "; use https in its `url`" } else { "" };
        return Err(format!(
            "redirects to another server, {}, which is not followed{hint}",
            shown_url(&to)
        ));
    }
    if hops >= MOST_REDIRECTS {
        return Err("redirects in circles".to_owned());
    }
    Ok(to)
}

/// How long to wait before a request is sent again; `None`: not at all. `now`: seconds since 1970.
pub(super) fn pause(retry_after: Option<&str>, delays: u8, now: u64) -> Option<Duration> {
    let wait = Duration::from_secs(seconds(retry_after?, now)?);
    (wait <= LONGEST_RETRY_AFTER && delays < MOST_DELAYS).then_some(wait)
}

/// `120`, or `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(super) fn seconds(retry_after: &str, now: u64) -> Option<u64> {
    match retry_after.parse() {
        Ok(seconds) => Some(seconds),
        Err(_) => moment(retry_after).map(|then| then.saturating_sub(now)),
    }
}

fn moment(date: &str) -> Option<u64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let mut words = date.split_once(", ")?.1.split(' ');
    let day: u64 = words.next()?.parse().ok()?;
    let month = u64::try_from(MONTHS.find(words.next()?)? / 3 + 1).ok()?;
    let year: u64 = words.next()?.parse().ok().filter(|year| (1970..10_000).contains(year))?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    // Years that start in March put the leap day last.
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = years / 4 - years / 100 + years / 400;
    let days = (years * 365 + leap_days + (months * 153 + 2) / 5 + day).checked_sub(719_469)?;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

/// What is kept of a response's head while its body comes in.
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
    // RFC 9110, 11.6.1 and RFC 6750, 3: only these explain what is missing.
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

    const CALL: Purpose = Purpose::Call(1);
    const FIRST: Purpose = Purpose::Initialize(1);

    #[test]
    fn heads() {
        use Dialect::{Older, Streamable};
        let (json, events) = (Some("application/json; charset=utf-8"), Some("text/event-stream"));
        for (purpose, dialect, status, content_type, expected) in [
            (CALL, Streamable, 200, json, Verdict::Message),
            (CALL, Streamable, 200, None, Verdict::Message),
            (CALL, Streamable, 200, events, Verdict::Events),
            (CALL, Streamable, 200, Some("text/html"), Verdict::WrongType),
            (CALL, Streamable, 202, None, Verdict::Accepted),
            (CALL, Streamable, 204, json, Verdict::Accepted),
            (FIRST, Streamable, 200, events, Verdict::Events),
            (Purpose::Tell, Streamable, 200, json, Verdict::Accepted),
            (Purpose::Tell, Streamable, 202, None, Verdict::Accepted),
            (Purpose::Goodbye, Streamable, 204, None, Verdict::Accepted),
            (Purpose::Listen, Streamable, 200, events, Verdict::Events),
            (Purpose::Listen, Streamable, 200, json, Verdict::WrongType),
            (Purpose::Listen, Streamable, 405, None, Verdict::Refused),
            (Purpose::Resume(1), Streamable, 200, events, Verdict::Events),
            (CALL, Older, 202, Some("text/plain"), Verdict::Accepted),
            (CALL, Older, 200, json, Verdict::Accepted),
            (Purpose::Listen, Older, 200, events, Verdict::Events),
            (CALL, Streamable, 307, None, Verdict::Redirect),
            (CALL, Streamable, 304, None, Verdict::Refused),
            (CALL, Streamable, 429, json, Verdict::Later),
            (CALL, Streamable, 503, None, Verdict::Later),
            (CALL, Streamable, 500, json, Verdict::Refused),
            (CALL, Streamable, 101, None, Verdict::Refused),
        ] {
            let read = judge(purpose, dialect, status, content_type.map(str::as_bytes));
            assert_eq!(read, expected, "{purpose:?} {dialect:?} {status} {content_type:?}");
        }
    }

    const ERROR: &str = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"no"},"id":null}"#;
    const SESSION: &str = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid Session ID"},"id":null}"#;

    const BROKEN: &str = r#"{"jsonrpc":"2.0","error":"no","id":1}"#;

    #[test]
    fn refusals() {
        for (purpose, status, in_session, body, expected) in [
            (CALL, 404, true, "", Ruling::SessionLost),
            (CALL, 404, false, "", Ruling::Nothing),
            (CALL, 404, false, ERROR, Ruling::Deliver),
            (CALL, 400, true, SESSION, Ruling::SessionLost),
            (CALL, 400, false, SESSION, Ruling::Deliver),
            (CALL, 400, true, ERROR, Ruling::Deliver),
            (CALL, 400, true, "session", Ruling::Other),
            (CALL, 401, true, ERROR, Ruling::Unauthorized),
            (CALL, 403, false, "", Ruling::Unauthorized),
            (CALL, 405, false, "", Ruling::Nothing),
            (CALL, 405, false, ERROR, Ruling::Deliver),
            (Purpose::Initialize(1), 404, false, ERROR, Ruling::Nothing),
            (Purpose::Initialize(1), 405, false, ERROR, Ruling::Nothing),
            (Purpose::Initialize(1), 400, false, ERROR, Ruling::Deliver),
            (CALL, 500, true, "boom", Ruling::Other),
            (CALL, 500, true, ERROR, Ruling::Deliver),
            (CALL, 400, true, BROKEN, Ruling::Deliver),
            (CALL, 404, true, BROKEN, Ruling::Deliver),
            (Purpose::Tell, 500, true, ERROR, Ruling::Other),
        ] {
            let ruled = rule(purpose, status, in_session, body.as_bytes());
            assert_eq!(ruled, expected, "{purpose:?} {status} {in_session} {body}");
        }
    }

    #[test]
    fn who_has_come_back_in_another_era() {
        use Dialect::{Modern, Older, Streamable};
        let mine = ERROR.replace("null", "1");
        let code = |code: &str| mine.replace("-32000", code);
        let meta = code("-32602").replace("no", "params._meta has no version");
        for (dialect, purpose, status, body, expected) in [
            (Modern, CALL, 400, ERROR, true),
            (Modern, CALL, 404, "", true),
            (Modern, CALL, 405, "", true),
            (Modern, CALL, 400, &mine, false),
            (Modern, CALL, 404, &code("-32601"), false),
            (Modern, CALL, 500, "", false),
            (Modern, FIRST, 400, ERROR, false),
            (Streamable, CALL, 400, &code("-32022"), true),
            (Streamable, CALL, 400, &code("-32020"), true),
            (Streamable, CALL, 400, &meta, true),
            (Streamable, CALL, 200, &meta, false),
            (Streamable, CALL, 400, &code("-32602"), false),
            (Streamable, CALL, 400, ERROR, false),
            (Older, CALL, 400, &meta, false),
        ] {
            let changed = changed_era(dialect, purpose, status, body.as_bytes());
            assert_eq!(changed, expected, "{dialect:?} {status} {body}");
        }
    }

    #[test]
    fn which_answers_an_older_server_gives() {
        let html: Option<&[u8]> = Some(b"text/html; charset=utf-8");
        for (status, content_type, body, expected) in [
            (404, None, "", true),
            (405, None, ERROR, true),
            (400, None, "", true),
            (400, None, ERROR, false),
            (406, None, "Not Acceptable", true),
            (415, None, "", true),
            (200, html, "<html>", true),
            (200, Some(&b"text/plain"[..]), "hi", false),
            (401, None, "", false),
            (500, html, "", false),
        ] {
            assert_eq!(maybe_older(status, content_type, body.as_bytes()), expected, "{status}");
        }
    }

    #[test]
    fn which_answers_say_something_about_the_era() {
        for (status, expected) in [
            (200, true),
            (202, true),
            (400, true),
            (404, true),
            (405, true),
            (406, true),
            (415, true),
            (500, true),
            (401, false),
            (403, false),
            (429, false),
            (502, false),
            (503, false),
        ] {
            assert_eq!(maybe_legacy(status), expected, "{status}");
        }
    }

    #[test]
    fn redirects_stay_with_the_server() {
        let from = Url::parse("http://h:1/mcp?k=secret").unwrap();
        for (location, hops, expected) in [
            (Some("/mcp/"), 0, Ok("http://h:1/mcp/")),
            (Some("http://h:1/other?x"), 4, Ok("http://h:1/other?x")),
            (Some("/mcp/"), 5, Err("redirects in circles")),
            (None, 0, Err("redirects without saying where to")),
            (Some("ftp://h/"), 0, Err("redirects to something that is no URL")),
            (
                Some("http://evil/mcp?token=t"),
                0,
                Err("redirects to another server, http://evil/mcp, which is not followed"),
            ),
            (
                Some("https://h/mcp"),
                0,
                Err("redirects to another server, https://h/mcp, which is not followed; use \
                     https in its `url`"),
            ),
        ] {
            let leads = redirected(&from, location, hops).map(|url| url.to_string());
            assert_eq!(leads.as_deref().map_err(|why| &**why), expected, "{location:?}");
        }
    }

    #[test]
    fn how_long_a_busy_server_is_waited_for() {
        const NOW: u64 = 784_111_777; // Sun, 06 Nov 1994 08:49:37 GMT
        for (retry_after, delays, expected) in [
            (Some("2"), 0, Some(2)),
            (Some("60"), 2, Some(60)),
            (Some("60"), 3, None),
            (Some("61"), 0, None),
            (Some("Sun, 06 Nov 1994 08:49:47 GMT"), 0, Some(10)),
            (Some("Sun, 06 Nov 1994 08:00:00 GMT"), 0, Some(0)),
            (Some("Tue, 29 Feb 2000 00:00:00 GMT"), 0, None),
            (Some("soon"), 0, None),
            (Some("-1"), 0, None),
            (None, 0, None),
        ] {
            let pause = pause(retry_after, delays, NOW).map(|pause| pause.as_secs());
            assert_eq!(pause, expected, "{retry_after:?}");
        }
        assert_eq!(moment("Tue, 29 Feb 2000 00:00:00 GMT"), Some(951_782_400));
        assert_eq!(moment("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
    }

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
    fn what_is_kept_of_a_head() {
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

//! Heads of HTTP/2 as those of HTTP/1.1, which the handlers read, and answers of the handlers as heads of
//! HTTP/2. Pure.

use h2::RecvStream;
use http::header::{CONTENT_LENGTH, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use trunkline_http::response;

/// Why a head cannot be said in HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadRequestHead {
    /// `:authority` and `Host` name two (RFC 9113, 8.3.1).
    TwoHosts,
    /// A field that belongs to one connection of HTTP/1.1 (RFC 9113, 8.2.2).
    OfConnection,
    /// There is no target.
    Target,
}

/// Fields that say how HTTP/1.1 frames a message: whoever could send one would write the frame. The crate refuses
/// them as well; here it is what the safety of the head below stands on.
const OF_CONNECTION: [&str; 6] =
    ["connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"];

/// The head of a request as HTTP/1.1 has it. Its body is framed by its length, or by chunks if it has none.
pub(super) fn request_head(
    request: &Request<RecvStream>,
    has_body: bool,
) -> Result<Vec<u8>, BadRequestHead> {
    written(request.method(), request.uri(), request.headers(), has_body)
}

fn written(
    method: &Method,
    uri: &http::Uri,
    fields: &HeaderMap,
    has_body: bool,
) -> Result<Vec<u8>, BadRequestHead> {
    let authority = uri.authority().map(http::uri::Authority::as_str);
    let path = uri.path_and_query().map(http::uri::PathAndQuery::as_str);
    let target = match path {
        // RFC 9113, 8.5: of CONNECT, the authority is the target.
        _ if method == Method::CONNECT => authority,
        path => path,
    };
    let mut out = Vec::with_capacity(512);
    let mut put = |parts: [&[u8]; 4]| parts.iter().for_each(|part| out.extend_from_slice(part));
    put([
        method.as_str().as_bytes(),
        b" ",
        target.ok_or(BadRequestHead::Target)?.as_bytes(),
        b" HTTP/1.1\r\n",
    ]);
    if let Some(authority) = authority {
        put([b"host: ", authority.as_bytes(), b"\r\n", b""]);
    }
    for (name, value) in fields {
        let is_trailers = name == "te" && value.as_bytes().eq_ignore_ascii_case(b"trailers");
        if name == HOST && authority.is_some() {
            let is_same = authority
                .is_some_and(|known| value.as_bytes().eq_ignore_ascii_case(known.as_bytes()));
            if !is_same {
                return Err(BadRequestHead::TwoHosts);
            }
        } else if OF_CONNECTION.contains(&name.as_str()) && !is_trailers {
            return Err(BadRequestHead::OfConnection);
        } else if name != COOKIE {
            put([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"]);
        }
    }
    // RFC 9113, 8.2.3: cookies may come in several fields, which were one.
    let cookies: Vec<_> = fields.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if !cookies.is_empty() {
        put([b"cookie: ", &cookies.join(&b"; "[..]), b"\r\n", b""]);
    }
    if has_body && !fields.contains_key(CONTENT_LENGTH) {
        put([b"transfer-encoding: chunked\r\n", b"", b"", b""]);
    }
    put([b"\r\n", b"", b"", b""]);
    Ok(out)
}

/// The head of an answer of ours. `None`: it is none, which does not happen.
pub(super) fn response_head(head: &[u8]) -> Option<Response<()>> {
    let (read, _) = response(head).ok().flatten()?;
    let mut answer = Response::new(());
    *answer.status_mut() = StatusCode::from_u16(read.status).ok()?;
    let fields = answer.headers_mut();
    for (name, value) in read.headers.iter() {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        if !OF_CONNECTION.contains(&name.as_str()) {
            fields.append(name, HeaderValue::from_bytes(value).ok()?);
        }
    }
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(
        method: &str,
        uri: &str,
        fields: &[(&str, &str)],
        body: bool,
    ) -> Result<String, BadRequestHead> {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        let head = written(&method.parse().unwrap(), &uri.parse().unwrap(), &map, body)?;
        Ok(String::from_utf8(head).unwrap())
    }

    #[test]
    fn a_request_reads_as_one_of_http_1_1() {
        for (method, uri, fields, body, expected) in [
            (
                "GET",
                "https://a:1/mcp?x=1",
                &[][..],
                false,
                "GET /mcp?x=1 HTTP/1.1\r\nhost: a:1\r\n\r\n",
            ),
            ("GET", "/", &[("host", "b")], false, "GET / HTTP/1.1\r\nhost: b\r\n\r\n"),
            ("GET", "https://a/", &[("host", "A")], false, "GET / HTTP/1.1\r\nhost: a\r\n\r\n"),
            (
                "POST",
                "https://a/mcp",
                &[("content-length", "2"), ("te", "trailers")],
                true,
                "POST /mcp HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\nte: trailers\r\n\r\n",
            ),
            (
                "POST",
                "https://a/mcp",
                &[],
                true,
                "POST /mcp HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n",
            ),
            (
                "GET",
                "https://a/",
                &[("cookie", "a=1"), ("x", "y"), ("cookie", "b=2")],
                false,
                "GET / HTTP/1.1\r\nhost: a\r\nx: y\r\ncookie: a=1; b=2\r\n\r\n",
            ),
            ("CONNECT", "a:1", &[], false, "CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n"),
        ] {
            assert_eq!(head(method, uri, fields, body).as_deref(), Ok(expected), "{uri}");
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for (fields, expected) in [
            (&[("host", "b")][..], BadRequestHead::TwoHosts),
            (&[("transfer-encoding", "chunked")], BadRequestHead::OfConnection),
            (&[("connection", "x")], BadRequestHead::OfConnection),
            (&[("upgrade", "h2c")], BadRequestHead::OfConnection),
            (&[("te", "gzip")], BadRequestHead::OfConnection),
        ] {
            assert_eq!(head("GET", "https://a/", fields, false), Err(expected), "{fields:?}");
        }
    }

    #[test]
    fn an_answer_loses_what_is_of_one_connection() {
        let text = b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: a/b\r\nVary: x\r\nVary: y\r\n\
                     Content-Length: 3\r\nConnection: close\r\n\r\n";
        let answer = response_head(text).unwrap();
        assert_eq!(answer.status(), 429);
        let text = |value: &HeaderValue| value.to_str().unwrap().to_owned();
        let fields: Vec<_> =
            answer.headers().iter().map(|(name, value)| (name.as_str(), text(value))).collect();
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, &**value)).collect();
        assert_eq!(
            fields,
            [("content-type", "a/b"), ("vary", "x"), ("vary", "y"), ("content-length", "3")]
        );
        assert!(response_head(b"HTTP/1.1 200").is_none());
    }
}

//! Pages for operators: `/healthz`, `/readyz`, and the front page.

use trunkline_wire::encode_into;

use crate::front::http::connection::Reply;
use crate::front::http::request::{HttpRequest, accepts_html};
use crate::pump::FlushSet;

pub(crate) fn alive(reply: Reply, touched: &mut FlushSet) {
    reply.json(200, br#"{"status":"ok"}"#, touched);
}

/// Ready once it is known of every server what it offers, or the server has failed; until the end is near.
pub(crate) fn ready(request: &HttpRequest<'_, '_>, reply: Reply, touched: &mut FlushSet) {
    // Load balancers must stop sending before the listener closes.
    if request.front.is_leaving() {
        return reply.json(503, br#"{"status":"draining"}"#, touched);
    }
    if let Some(word) = request.front.gate.as_ref().and_then(|gate| gate.trouble()) {
        return reply.json(503, format!(r#"{{"status":"{word}"}}"#).as_bytes(), touched);
    }
    let missing = request.front.starting_servers();
    if missing.is_empty() {
        return reply.json(200, br#"{"status":"ready"}"#, touched);
    }
    let mut body = br#"{"status":"starting","waiting":["#.to_vec();
    // Names of servers are shown only to callers who may use them, and to no page that has found a wrong name for
    // this machine: probes need no Host.
    let is_trusted = request.front.guard.check(request.head).is_ok() && request.is_admitted();
    let shown = if is_trusted { missing.len() } else { 0 };
    for (index, key) in missing.iter().take(shown).enumerate() {
        if index > 0 {
            body.push(b',');
        }
        encode_into(key, &mut body);
    }
    body.extend_from_slice(b"]}");
    reply.json(503, &body, touched);
}

/// The front page where no attachment has one; browsers get HTML.
pub(crate) fn welcome(request: &HttpRequest<'_, '_>, reply: Reply, touched: &mut FlushSet) {
    let (kind, body): (&[u8], &[u8]) = match accepts_html(request.head) {
        true => (b"text/html; charset=utf-8", WELCOME_PAGE),
        false => (b"text/plain; charset=utf-8", WELCOME),
    };
    let fields: [(&str, &[u8]); 4] = [
        ("Content-Type", kind),
        ("Content-Security-Policy", POLICY),
        ("X-Content-Type-Options", b"nosniff"),
        ("Referrer-Policy", b"no-referrer"),
    ];
    reply.send(200, &fields, body, touched);
}

const POLICY: &[u8] =
    b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const WELCOME_PAGE: &[u8] = b"<!doctype html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta name=\"color-scheme\" content=\"light dark\">
<title>Trunkline</title>
</head>
<body>
<h1>Trunkline</h1>
<p>One MCP endpoint in front of many MCP servers. Give an MCP client this address with <code>/mcp</code>
behind it.</p>
<p>There is no dashboard here, because this Trunkline keeps nothing. Start it with a directory to keep
things in, and it is at this address, together with a REST API, keys, health and an activity log:</p>
<pre>trunkline serve --data-dir DIR</pre>
<table>
<caption>What there is</caption>
<tr><th scope=\"row\"><code>/mcp</code></th><td>Streamable HTTP</td></tr>
<tr><th scope=\"row\"><code>/sse</code></th><td>HTTP+SSE, for clients that know only the old transport</td></tr>
<tr><th scope=\"row\"><a href=\"/healthz\"><code>/healthz</code></a></th><td>is it alive</td></tr>
<tr><th scope=\"row\"><a href=\"/readyz\"><code>/readyz</code></a></th><td>is it known what its servers offer</td></tr>
</table>
</body>
</html>
";

const WELCOME: &[u8] = b"This is Trunkline, one MCP endpoint in front of many MCP servers.

/mcp      Streamable HTTP: give this address to an MCP client
/sse      HTTP+SSE, for clients that know only the old transport
/healthz  is it alive
/readyz   is it known what its servers offer
";

//! Pages for whoever looks after the process: is it alive, is it ready, what is it.

use trunkline_wire::encode_into;

use crate::front::http::reply::Reply;
use crate::front::http::routes::Visit;
use crate::pump::Touched;

pub(super) fn alive(reply: Reply, touched: &mut Touched) {
    reply.json(200, br#"{"status":"ok"}"#, touched);
}

/// Ready once every server has been up or has failed, until the end begins.
pub(super) fn ready(visit: &Visit<'_, '_>, reply: Reply, touched: &mut Touched) {
    if visit.front.is_draining() {
        return reply.json(503, br#"{"status":"draining"}"#, touched);
    }
    if let Some(word) = visit.front.gate.as_ref().and_then(|gate| gate.trouble()) {
        return reply.json(503, format!(r#"{{"status":"{word}"}}"#).as_bytes(), touched);
    }
    let missing = visit.front.missing();
    if missing.is_empty() {
        return reply.json(200, br#"{"status":"ready"}"#, touched);
    }
    let mut body = br#"{"status":"starting","waiting":["#.to_vec();
    // The names of servers are for those who may use them.
    let shown = if visit.is_known() { missing.len() } else { 0 };
    for (index, key) in missing.iter().take(shown).enumerate() {
        if index > 0 {
            body.push(b',');
        }
        encode_into(key, &mut body);
    }
    body.extend_from_slice(b"]}");
    reply.json(503, &body, touched);
}

pub(super) fn welcome(reply: Reply, touched: &mut Touched) {
    let fields: [(&str, &[u8]); 1] = [("Content-Type", b"text/plain; charset=utf-8")];
    reply.send(200, &fields, WELCOME, touched);
}

const WELCOME: &[u8] = b"This is Trunkline, one MCP endpoint in front of many MCP servers.

/mcp      Streamable HTTP: give this address to an MCP client
/sse      HTTP+SSE, for clients that know only the old transport
/healthz  is it alive
/readyz   have its servers started
";

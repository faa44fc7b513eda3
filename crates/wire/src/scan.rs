//! Bytes -> `Message`: one pass that finds the envelope's fields and proves the rest to be JSON.

use crate::fault::{FaultKind, MessageFault};
use crate::message::{Kind, Message, Params, ParamsMeta};
use crate::repeat;
use crate::skip::{Broken, ScannedText, Walk, colon, plain_string, string, value, white};
use crate::splice::Span;
use crate::text;

/// Scans one message. `bytes` is a line without its newline.
pub fn scan(bytes: &[u8]) -> Result<Message<'_>, MessageFault> {
    let text = ScannedText::new(bytes);
    let mut envelope = Envelope::default();
    let outcome = envelope.read(&text).and_then(|()| envelope.kind(&text));
    match outcome.map_err(|at| text.why(at)) {
        // Only strings can hold bytes beyond ASCII, so that one check at the end does for the whole
        // text.
        Ok(kind) if text.is_utf8() => Ok(Message {
            bytes,
            kind,
            id: envelope.id,
            method: envelope.method,
            method_is_escaped: envelope.method_is_escaped,
            params: envelope.params,
            result: envelope.result,
            result_type: envelope.result_type,
            error: envelope.error,
            unreadable: envelope.unreadable.map(FaultKind::Unreadable),
        }),
        Ok(_) => Err(envelope.fault(bytes, FaultKind::NotUtf8, 0)),
        Err((kind, at)) => Err(envelope.fault(bytes, kind, at)),
    }
}

/// Is the id's token followed by what must follow it? `12` in a line cut off there may be the
/// beginning of `123`, somebody else's id.
fn is_whole(bytes: &[u8], id: Span) -> bool {
    matches!(bytes.get(white(bytes, id.end())), Some(b',' | b'}'))
}

type Scanned<T> = Result<T, Broken>;

#[derive(Default)]
struct Envelope {
    jsonrpc: Option<Span>,
    id: Option<Span>,
    method: Option<Span>,
    method_is_escaped: bool,
    params: Params,
    result: Option<Span>,
    result_type: Option<Span>,
    error: Option<Span>,
    /// Why strict clients cannot read the response.
    unreadable: Option<&'static str>,
}

/// How almost every message of almost every program starts.
const OPENING: &[u8] = br#"{"jsonrpc":"2.0","id":"#;
const OPENING_VERSION: Span = Span::short(11, 16);
/// How almost every call goes on behind its id.
const CALL: &[u8] = br#","method":"tools/call","params":{"name":"#;
// Offsets in `CALL`: of the method's token, and of the brace that opens `params`.
const CALL_METHOD: (usize, usize) = (10, 22);
const CALL_PARAMS: usize = 32;

impl Envelope {
    fn fault(&self, bytes: &[u8], kind: FaultKind, at: usize) -> MessageFault {
        let id = self.id.filter(|id| is_whole(bytes, *id));
        match std::str::from_utf8(bytes) {
            Ok(_) => MessageFault { kind, at, id },
            Err(error) => MessageFault { kind: FaultKind::NotUtf8, at: error.valid_up_to(), id },
        }
    }

    fn read(&mut self, bytes: &ScannedText<'_>) -> Scanned<()> {
        // A shortcut, not another grammar: what differs in one byte takes the general walk below.
        let end = if bytes.starts_with(OPENING) {
            self.jsonrpc = Some(OPENING_VERSION);
            let at = keep(&mut self.id, "id", bytes, white(bytes, OPENING.len()))?;
            let at = match bytes.get(at..) {
                Some(rest) if rest.starts_with(CALL) => self.call(bytes, at)?,
                _ => at,
            };
            more_members(bytes, at, |key, at| self.member(bytes, key, at))?
        } else {
            let start = white(bytes, 0);
            if bytes.get(start) != Some(&b'{') {
                value(bytes, start)?;
                let is_array = bytes.get(start) == Some(&b'[');
                let kind = if is_array { FaultKind::Batch } else { FaultKind::NotObject };
                return Err(bytes.refuse(kind, start));
            }
            object(bytes, start, |key, at| self.member(bytes, key, at))?
        };
        let rest = white(bytes, end);
        if rest == bytes.len() { Ok(()) } else { Err(bytes.refuse(FaultKind::NotJson, rest)) }
    }

    /// Over `CALL`, which starts at `at`, and the rest of its `params`.
    fn call(&mut self, bytes: &ScannedText<'_>, at: usize) -> Walk {
        self.method = Some(Span::new(at + CALL_METHOD.0, at + CALL_METHOD.1));
        let (params, start) = (&mut self.params, at + CALL_PARAMS);
        let behind_name =
            keep(&mut params.name, "params.name", bytes, white(bytes, at + CALL.len()))?;
        let end =
            more_members(bytes, behind_name, |key, at| params_member(params, bytes, key, at))?;
        params.span = Some(Span::new(start, end));
        Ok(end)
    }

    fn member(&mut self, bytes: &ScannedText<'_>, key: &[u8], at: usize) -> Walk {
        match key {
            b"params" => {
                let end = if bytes.get(at) == Some(&b'{') {
                    let params = &mut self.params;
                    object(bytes, at, |key, at| params_member(params, bytes, key, at))?
                } else {
                    value(bytes, at)?
                };
                set(&mut self.params.span, "params", bytes, Span::new(at, end))?;
                Ok(end)
            }
            b"id" => keep(&mut self.id, "id", bytes, at),
            b"method" => keep(&mut self.method, "method", bytes, at),
            b"result" => {
                let end = if bytes.get(at) == Some(&b'{') {
                    result(&mut self.result_type, bytes, at)?
                } else {
                    self.unreadable = Some("its `result` is not an object");
                    value(bytes, at)?
                };
                set(&mut self.result, "result", bytes, Span::new(at, end))?;
                Ok(end)
            }
            b"error" => {
                let end = if bytes.get(at) == Some(&b'{') {
                    error(&mut self.unreadable, bytes, at)?
                } else {
                    value(bytes, at)?
                };
                set(&mut self.error, "error", bytes, Span::new(at, end))?;
                Ok(end)
            }
            b"jsonrpc" => keep(&mut self.jsonrpc, "jsonrpc", bytes, at),
            _ => value(bytes, at),
        }
    }

    /// Checks the envelope's rules and says what the message is. The method loses its quotes here.
    fn kind(&mut self, bytes: &ScannedText<'_>) -> Scanned<Kind> {
        let is_two = |span: Span| span.of(bytes) == b"\"2.0\"";
        // JSON-RPC 2.0, 4: the version MUST be exactly "2.0".
        if !self.jsonrpc.is_some_and(is_two) {
            return Err(bytes.refuse(FaultKind::NotJsonRpc, 0));
        }
        let id = self.id.map(|span| span.of(bytes)).unwrap_or_default();
        // MCP (2025-11-25, Base protocol, Requests) allows strings and numbers; `null` is an id
        // only in an error that cannot name its request (JSON-RPC 2.0, 5).
        let id_fits = matches!(id.first(), Some(b'"' | b'-' | b'0'..=b'9'));
        match (self.method, self.id, self.result, self.error) {
            (Some(method), id, None, None) => {
                let method = unquoted(bytes, method)?;
                self.method_is_escaped = method.of(bytes).contains(&b'\\');
                self.method = Some(method);
                match id {
                    Some(_) if id_fits => Ok(Kind::Request),
                    Some(span) => Err(bytes.refuse(FaultKind::WrongType("id"), span.start())),
                    None => Ok(Kind::Notification),
                }
            }
            // JSON-RPC 2.0, 5: a response has a result or an error, never both: a client might read
            // either.
            (None, _, Some(_), Some(error)) => {
                Err(bytes.refuse(FaultKind::ResultAndError, error.start()))
            }
            (None, Some(_), Some(_), None) if id_fits => Ok(Kind::Answer),
            (None, Some(_), None, Some(error)) if !error.of(bytes).starts_with(b"{") => {
                Err(bytes.refuse(FaultKind::WrongType("error"), error.start()))
            }
            (None, Some(_), None, Some(_)) if id_fits || id == b"null" => Ok(Kind::Refusal),
            _ => Err(bytes.refuse(FaultKind::NoKind, 0)),
        }
    }
}

/// How most results of the stateless era begin.
const COMPLETE: &[u8] = br#"{"resultType":"complete""#;
const COMPLETE_TYPE: (usize, usize) = (14, 24);

/// Over the object `result` at `at`.
fn result(kind: &mut Option<Span>, bytes: &ScannedText<'_>, at: usize) -> Walk {
    let complete = bytes.get(at..).is_some_and(|rest| rest.starts_with(COMPLETE));
    if complete {
        *kind = Some(Span::new(at + COMPLETE_TYPE.0, at + COMPLETE_TYPE.1));
    }
    let member = |key: &[u8], at| match key {
        b"resultType" => keep(kind, "result.resultType", bytes, at),
        _ => value(bytes, at),
    };
    match complete {
        true => more_members(bytes, at + COMPLETE.len(), member),
        false => object(bytes, at, member),
    }
}

/// Over the object `error` at `at`. Of a member that appears twice the last counts, as it does for
/// clients.
fn error(unreadable: &mut Option<&'static str>, bytes: &ScannedText<'_>, at: usize) -> Walk {
    let (mut code, mut message) = (None, None);
    let end = object(bytes, at, |key, at| {
        let end = value(bytes, at)?;
        match key {
            b"code" => code = Some(Span::new(at, end)),
            b"message" => message = Some(Span::new(at, end)),
            _ => {}
        }
        Ok(end)
    })?;
    *unreadable = match (code.map(|at| at.of(bytes)), message.map(|at| at.of(bytes))) {
        (None, _) => Some("its `error` has no `code`"),
        (Some(code), _) if !is_integer(code) => Some("the `code` of its `error` is not an integer"),
        (_, None) => Some("its `error` has no `message`"),
        (_, Some([b'"', ..])) => None,
        (_, Some(_)) => Some("the `message` of its `error` is not a string"),
    };
    Ok(end)
}

/// Is the value an integer to clients? JSON has one kind of number, and both official SDKs take `1.0`
/// and `1e2` for integers; beyond the integers that a double holds exactly they differ.
fn is_integer(token: &[u8]) -> bool {
    // 2^53 - 1.
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    let number = std::str::from_utf8(token).ok().and_then(|text| text.parse::<f64>().ok());
    number.is_some_and(|number| number.fract() == 0.0 && number.abs() <= LARGEST)
}

fn params_member(params: &mut Params, bytes: &ScannedText<'_>, key: &[u8], at: usize) -> Walk {
    match key {
        b"name" => keep(&mut params.name, "params.name", bytes, at),
        b"arguments" => keep(&mut params.arguments, "params.arguments", bytes, at),
        b"uri" => keep(&mut params.uri, "params.uri", bytes, at),
        b"cursor" => keep(&mut params.cursor, "params.cursor", bytes, at),
        b"requestId" => keep(&mut params.request_id, "params.requestId", bytes, at),
        b"progressToken" => keep(&mut params.progress_token, "params.progressToken", bytes, at),
        b"_meta" => {
            let is_first = params.meta.span.is_none();
            if is_first && let Some(end) = repeat::recall(&mut params.meta, bytes, at) {
                params.meta.span = Some(Span::new(at, end));
                return Ok(end);
            }
            let end = if bytes.get(at) == Some(&b'{') {
                meta_object(&mut params.meta, bytes, at)?
            } else {
                value(bytes, at)?
            };
            let span = Span::new(at, end);
            set(&mut params.meta.span, "params._meta", bytes, span)?;
            // Behind `set`: a second `_meta` is an error, and must not be what is remembered.
            repeat::remember(&mut params.meta, bytes, span);
            Ok(end)
        }
        b"inputResponses" => keep(&mut params.input_responses, "params.inputResponses", bytes, at),
        b"requestState" => keep(&mut params.request_state, "params.requestState", bytes, at),
        _ => value(bytes, at),
    }
}

/// Over the object `_meta` at `at`. Every request of the stateless era has the same long keys in it:
/// they are known by their first look.
fn meta_object(meta: &mut ParamsMeta, bytes: &ScannedText<'_>, at: usize) -> Walk {
    let mut at = white(bytes, at + 1);
    if bytes.get(at) == Some(&b'}') {
        return Ok(at + 1);
    }
    loop {
        at = match usual_key(bytes.get(at..).unwrap_or_default()) {
            Some((key, end)) => meta_member(meta, bytes, key, white(bytes, at + end))?,
            None => one_member(bytes, at, &mut |key, at| meta_member(meta, bytes, key, at))?,
        };
        at = white(bytes, at);
        match bytes.get(at) {
            Some(b',') => at = white(bytes, at + 1),
            Some(b'}') => return Ok(at + 1),
            _ => return Err(Broken(at)),
        }
    }
}

/// The keys that the protocol keeps for itself begin with this.
macro_rules! reserved {
    ($name:literal) => {
        concat!("io.modelcontextprotocol/", $name)
    };
}

/// The keys of every request of the stateless era, as they are written in one: with quotes and colon.
const USUAL_KEYS: [&str; 3] = [
    concat!("\"", reserved!("protocolVersion"), "\":"),
    concat!("\"", reserved!("clientInfo"), "\":"),
    concat!("\"", reserved!("clientCapabilities"), "\":"),
];

/// The usual key that `rest` starts with, without its quotes, and where its colon ends.
#[inline]
fn usual_key(rest: &[u8]) -> Option<(&'static [u8], usize)> {
    let found = USUAL_KEYS.iter().find(|key| rest.starts_with(key.as_bytes()))?;
    Some((found.as_bytes().get(1..found.len() - 2)?, found.len()))
}

fn meta_member(meta: &mut ParamsMeta, bytes: &ScannedText<'_>, key: &[u8], at: usize) -> Walk {
    const VERSION: &[u8] = reserved!("protocolVersion").as_bytes();
    const CAPABILITIES: &[u8] = reserved!("clientCapabilities").as_bytes();
    const LEVEL: &[u8] = reserved!("logLevel").as_bytes();
    const SUBSCRIPTION: &[u8] = reserved!("subscriptionId").as_bytes();
    // Trunkline's own.
    const IDEMPOTENCY_KEY: &[u8] = b"trunkline/idempotencyKey";
    let slot = match key {
        b"progressToken" => &mut meta.progress_token,
        VERSION => &mut meta.version,
        CAPABILITIES => &mut meta.capabilities,
        LEVEL => &mut meta.level,
        SUBSCRIPTION => &mut meta.subscription,
        IDEMPOTENCY_KEY => &mut meta.idempotency_key,
        _ => return value(bytes, at),
    };
    keep(slot, "params._meta", bytes, at)
}

/// Walks over the object at `at`; `member` is told each key and where its value starts, and
/// returns where that value ends.
#[inline]
fn object(
    bytes: &ScannedText<'_>,
    at: usize,
    mut member: impl FnMut(&[u8], usize) -> Walk,
) -> Walk {
    let at = white(bytes, at + 1);
    if bytes.get(at) == Some(&b'}') {
        return Ok(at + 1);
    }
    let at = one_member(bytes, at, &mut member)?;
    more_members(bytes, at, member)
}

/// Goes on behind a member's value.
#[inline]
fn more_members(
    bytes: &ScannedText<'_>,
    mut at: usize,
    mut member: impl FnMut(&[u8], usize) -> Walk,
) -> Walk {
    loop {
        at = white(bytes, at);
        match bytes.get(at) {
            Some(b',') => at = one_member(bytes, white(bytes, at + 1), &mut member)?,
            Some(b'}') => return Ok(at + 1),
            _ => return Err(Broken(at)),
        }
    }
}

#[inline]
fn one_member(
    bytes: &ScannedText<'_>,
    at: usize,
    member: &mut impl FnMut(&[u8], usize) -> Walk,
) -> Walk {
    if let Some(end) = plain_string(bytes, at) {
        let key = bytes.get(at + 1..end - 1).unwrap_or_default();
        return member(key, colon(bytes, end)?);
    }
    // A key spelt with escapes is the same key: it must not slip past the duplicate check.
    let end = string(bytes, at)?;
    let start = colon(bytes, end)?;
    let plain = text::decode(bytes.get(at..end).unwrap_or_default()).unwrap_or_default();
    member(plain.as_bytes(), start)
}

#[inline]
fn keep(slot: &mut Option<Span>, name: &'static str, bytes: &ScannedText<'_>, at: usize) -> Walk {
    let end = value(bytes, at)?;
    set(slot, name, bytes, Span::new(at, end))?;
    Ok(end)
}

#[inline]
fn set(
    slot: &mut Option<Span>,
    name: &'static str,
    bytes: &ScannedText<'_>,
    span: Span,
) -> Scanned<()> {
    // RFC 8259, 4: of two members of one name a parser may take either. A client, Trunkline and the
    // server must not read different ids, names or arguments in the same bytes.
    if slot.is_some() {
        return Err(bytes.refuse(FaultKind::Duplicate(name), span.start()));
    }
    *slot = Some(span);
    Ok(())
}

fn unquoted(bytes: &ScannedText<'_>, span: Span) -> Scanned<Span> {
    match span.of(bytes) {
        [b'"', .., b'"'] => Ok(Span::new(span.start() + 1, span.end() - 1)),
        _ => Err(bytes.refuse(FaultKind::WrongType("method"), span.start())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let got = match scan(text.as_bytes()) {
            Ok(m) => format!(
                "{:?} {} {}",
                m.kind,
                String::from_utf8_lossy(m.id()),
                String::from_utf8_lossy(&m.method())
            ),
            Err(fault) => fault.to_string(),
        };
        assert_eq!(got.trim_end(), expected, "{text}");
    }

    #[test]
    fn what_a_message_is() {
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "Request 1 ping");
        check(r#" { "method" : "x/y" , "id" : "a" , "jsonrpc" : "2.0" } "#, "Request \"a\" x/y");
        check(r#"{"jsonrpc":"2.0","method":"n","params":[1]}"#, "Notification  n");
        check(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "Answer 7");
        check(r#"{"id":7,"result":null,"extra":[],"jsonrpc":"2.0"}"#, "Answer 7");
        check(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1}}"#, "Refusal null");
        check(r#"{"jsonrpc":"2.0","id":1.50,"error":{}}"#, "Refusal 1.50");
        check(r#"{"jsonrpc":"2.0","\u0069d":3,"method":"ping"}"#, "Request 3 ping");
        check(r#"{"jsonrpc":"2.0","id":3,"method":"tools\/call"}"#, "Request 3 tools/call");
    }

    #[test]
    fn what_is_refused_and_why() {
        check("", "it ends in the middle");
        check("hello", "it is not valid JSON");
        check("[]", "it is a JSON-RPC batch");
        check("123", "it is not a JSON object");
        check(r#"{"jsonrpc":"2.0","id":1,"result":{}"#, "it ends in the middle");
        check(r#"{"jsonrpc":"2.0","id":1,"result":{},}"#, "it is not valid JSON");
        check(r#"{"jsonrpc":"2.0","id":1,"result":tru}"#, "it is not valid JSON");
        check(r#"{"jsonrpc":"2.0","id":1,"id":1,"result":{}}"#, "member `id` appears twice");
        check(r#"{"jsonrpc":"2.0","id":1,"i\u0064":2,"result":{}}"#, "member `id` appears twice");
        check(r#"{"jsonrpc":"2.0","id":1,"result":1,"result":2}"#, "member `result` appears twice");
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":2}"#,
            "it has both `result` and `error`",
        );
        check(r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, "member `id` has the wrong type");
        check(r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#, "member `id` has the wrong type");
        check(r#"{"jsonrpc":"2.0","id":1,"method":5}"#, "member `method` has the wrong type");
        check(r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, "`jsonrpc` is not \"2.0\"");
        check(r#"{"level":"info"}"#, "`jsonrpc` is not \"2.0\"");
        check(r#"{"jsonrpc":"2.0"}"#, "it is neither a request, a notification nor a response");
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","name":"b"}}"#,
            "member `params.name` appears twice",
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"a","resultType":"b"}}"#,
            "member `result.resultType` appears twice",
        );
    }

    #[test]
    fn what_strict_clients_cannot_read_is_told() {
        let result = "its `result` is not an object";
        let (no_code, code) =
            ("its `error` has no `code`", "the `code` of its `error` is not an integer");
        let (no_message, message) =
            ("its `error` has no `message`", "the `message` of its `error` is not a string");
        for (member, expected) in [
            (r#""result":{}"#, None),
            (r#""result":null"#, Some(result)),
            (r#""result":[]"#, Some(result)),
            (r#""result":"{}""#, Some(result)),
            (r#""error":{"code":-32000,"message":"m"}"#, None),
            (r#""error":{"data":{"code":"x"},"message":"","code":1}"#, None),
            (r#""error":{"code":1.0,"message":"m"}"#, None),
            (r#""error":{"code":-1.50e1,"message":"m"}"#, None),
            (r#""error":{"code":9007199254740991,"message":"m"}"#, None),
            (r#""error":{"code":"x","code":2,"message":"m"}"#, None),
            (r#""error":{}"#, Some(no_code)),
            (r#""error":{"message":"m"}"#, Some(no_code)),
            (r#""error":{"code":1.5,"message":"m"}"#, Some(code)),
            (r#""error":{"code":1e400,"message":"m"}"#, Some(code)),
            (r#""error":{"code":9007199254740992,"message":"m"}"#, Some(code)),
            (r#""error":{"code":"1","message":"m"}"#, Some(code)),
            (r#""error":{"code":null}"#, Some(code)),
            (r#""error":{"code":1}"#, Some(no_message)),
            (r#""error":{"code":1,"message":null}"#, Some(message)),
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,{member}}}"#);
            let told = scan(text.as_bytes()).unwrap().unreadable;
            assert_eq!(told, expected.map(FaultKind::Unreadable), "{text}");
        }
    }

    /// What is known at first sight is found as what is read member by member: a space more, and the
    /// same message takes the longer way.
    #[test]
    fn the_short_ways_lead_where_the_long_ones_do() {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"1","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{"a":1}}"#;
        let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a""#;
        let answer = r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete""#;
        for rest in [
            "}}",
            r#","arguments":{}}}"#,
            &format!(",{meta}}}}}"),
            &format!(r#",{meta},"arguments":[1],"uri":"u"}},"more":1}}"#),
            r#","name":"b"}}"#,
            r#"},"params":{}}"#,
            r#"},"method":"m"}"#,
            r#"},"id":7}"#,
            r#","resultType":"b"}}"#,
            r#"},"result":{}}"#,
            r#"},"error":{}}"#,
            "}",
            "",
            "]}",
            ",}}",
            "1}}",
        ] {
            for short in [format!("{call}{rest}"), format!("{answer}{rest}")] {
                let long = short.replacen("\"id\":", "\"id\" :", 1);
                let long = long.replace("{\"resultType", "{ \"resultType");
                let long = long.replace("{\"io.", "{ \"io.").replace(":{}", ": {}");
                let found = |text: &str| match scan(text.as_bytes()) {
                    Err(fault) => fault.to_string(),
                    Ok(message) => {
                        let params = &message.params;
                        let texts = [
                            message.method,
                            message.id,
                            params.name,
                            params.uri,
                            params.meta.version,
                            params.meta.capabilities,
                            message.result_type,
                        ];
                        let texts = texts.map(|at| String::from_utf8_lossy(message.text(at)));
                        let whole = message.text(params.span.or(message.result));
                        let whole = String::from_utf8_lossy(whole).replace(' ', "");
                        format!("{:?} {texts:?} {whole}", message.kind)
                    }
                };
                assert_eq!(found(&short), found(&long), "{short}");
            }
        }
    }

    #[test]
    fn inner_fields_are_found() {
        let text = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"a":1,"progressToken":"t"},"arguments":{"name":"no"},"name":"s:x"}}"#;
        let message = scan(text).unwrap();
        assert_eq!(message.text(message.params.name), b"\"s:x\"");
        assert_eq!(message.text(message.params.meta.progress_token), b"\"t\"");
        assert_eq!(message.text(message.params.arguments), br#"{"name":"no"}"#);
    }

    #[test]
    fn what_a_request_of_the_stateless_era_says_about_itself_is_found() {
        let text = br#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"requestState":"s","inputResponses":{"a":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"v","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{"c":1},"io.modelcontextprotocol/logLevel":"info","io.modelcontextprotocol/subscriptionId":7,"trunkline/idempotencyKey":"k"}}}"#;
        let params = scan(text).unwrap().params;
        for (span, expected) in [
            (params.meta.version, &b"\"v\""[..]),
            (params.meta.capabilities, br#"{"c":1}"#),
            (params.meta.level, b"\"info\""),
            (params.meta.subscription, b"7"),
            (params.meta.idempotency_key, b"\"k\""),
            (params.input_responses, br#"{"a":1}"#),
            (params.request_state, b"\"s\""),
        ] {
            assert_eq!(span.map(|span| span.of(text)), Some(expected));
        }
        let answer =
            br#"{"jsonrpc":"2.0","id":1,"result":{"x":{"resultType":1},"resultType":"task"}}"#;
        let answer = scan(answer).unwrap();
        assert_eq!(answer.text(answer.result_type), b"\"task\"");
    }

    #[test]
    fn half_an_id_is_no_id() {
        for text in [
            r#"{"jsonrpc":"2.0","method":"m","id":12"#,
            r#"{"jsonrpc":"2.0","method":"m","id":01}"#,
            r#"{"jsonrpc":"2.0","method":"m","id":1x}"#,
        ] {
            assert_eq!(scan(text.as_bytes()).unwrap_err().id, None, "{text}");
        }
    }

    #[test]
    fn a_fault_behind_the_id_knows_the_id() {
        let text = br#"{"jsonrpc":"2.0","id":42,"result":{"a":}}"#;
        let fault = scan(text).unwrap_err();
        assert_eq!(fault.id.map(|span| span.of(text)), Some(&b"42"[..]));
    }
}

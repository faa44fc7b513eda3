//! The names of tools, with and without the prefix. All other bytes stay.

const CALL: &[u8] = br#""method":"tools/call""#;
const LISTED: &[u8] = br#""tools":["#;
const NAME: &[u8] = br#""name":""#;
const PARAMS: &[u8] = br#""params":"#;

/// What the suite sends: a call gets the prefix.
pub(super) fn request(body: &[u8], prefix: &str) -> Vec<u8> {
    let Some(name) = find(body, CALL)
        .and_then(|_| find(body, PARAMS))
        .and_then(|params| Some(params + find(body.get(params..)?, NAME)? + NAME.len()))
    else {
        return body.to_vec();
    };
    let (before, after) = body.split_at(name);
    [before, prefix.as_bytes(), after].concat()
}

/// What the gateway sends: listed tools lose the prefix.
pub(super) fn answer(body: &[u8], prefix: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    let listed = [NAME, prefix.as_bytes()].concat();
    if find(body, LISTED).is_some() {
        while let Some(at) = find(rest, &listed) {
            let (before, after) = rest.split_at(at);
            out.extend([before, NAME].concat());
            rest = after.get(listed.len()..).unwrap_or_default();
        }
    }
    out.extend(rest);
    out
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_call_gets_the_prefix() {
        let rows = [
            (
                r#"{"method":"tools/call","params":{"name":"a","arguments":{"name":"b"}},"id":1}"#,
                r#"{"method":"tools/call","params":{"name":"p.a","arguments":{"name":"b"}},"id":1}"#,
            ),
            (
                r#"{"method":"prompts/get","params":{"name":"a"}}"#,
                r#"{"method":"prompts/get","params":{"name":"a"}}"#,
            ),
            ("", ""),
        ];
        for (sent, expected) in rows {
            assert_eq!(super::request(sent.as_bytes(), "p."), expected.as_bytes(), "{sent}");
        }
    }

    #[test]
    fn a_list_loses_the_prefix() {
        let rows = [
            (
                r#"{"result":{"tools":[{"name":"p.a","d":"p.a"},{"name":"p.b"}]}}"#,
                r#"{"result":{"tools":[{"name":"a","d":"p.a"},{"name":"b"}]}}"#,
            ),
            (r#"{"result":{"name":"p.a"}}"#, r#"{"result":{"name":"p.a"}}"#),
        ];
        for (sent, expected) in rows {
            assert_eq!(super::answer(sent.as_bytes(), "p."), expected.as_bytes(), "{sent}");
        }
    }
}

//! A request on its way to a server: our id and the server's own tool name instead of the client's.

use crate::scan::{self, Request};

/// Appends `body` with `id` as its id and without the first `prefix` bytes of its tool name.
#[inline]
pub(super) fn push(out: &mut Vec<u8>, body: &[u8], request: &Request, id: usize, prefix: usize) {
    let own_name = request.name.start + prefix;
    if request.id.start < request.name.start {
        out.extend_from_slice(&body[..request.id.start]);
        scan::push_number(out, id);
        out.extend_from_slice(&body[request.id.end..request.name.start]);
        out.extend_from_slice(&body[own_name..]);
    } else {
        out.extend_from_slice(&body[..request.name.start]);
        out.extend_from_slice(&body[own_name..request.id.start]);
        scan::push_number(out, id);
        out.extend_from_slice(&body[request.id.end..]);
    }
}

/// How many bytes `push` appends.
#[inline]
pub(super) fn length(body: &[u8], request: &Request, id: usize, prefix: usize) -> usize {
    let digits = id.checked_ilog10().unwrap_or(0) as usize + 1;
    body.len() - request.id.len() + digits - prefix
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Want;

    #[test]
    fn only_id_and_name_change() {
        let cases = [
            (
                r#"{"id":"x","method":"tools/call","params":{"name":"s1.t","a":1}}"#,
                r#"{"id":10,"method":"tools/call","params":{"name":"t","a":1}}"#,
            ),
            (
                r#"{"params":{"name":"s1.t"},"method":"tools/call","id":1000000000}"#,
                r#"{"params":{"name":"t"},"method":"tools/call","id":10}"#,
            ),
        ];
        for (body, wanted) in cases {
            let request = scan::request(body.as_bytes(), Want::Name).expect("an object");
            let mut out = Vec::new();
            push(&mut out, body.as_bytes(), &request, 10, 3);
            assert_eq!(String::from_utf8_lossy(&out), wanted);
            assert_eq!(length(body.as_bytes(), &request, 10, 3), wanted.len());
        }
        assert_eq!(length(b"{}", &Request::default(), 0, 0), 3);
    }
}

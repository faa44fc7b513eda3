//! Responses Trunkline writes itself.

use crate::text::encode_into;

/// Appends a response with the given result (JSON as it shall be sent), without a newline.
pub fn write_result(id: &[u8], result: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id);
    out.extend_from_slice(br#","result":"#);
    out.extend_from_slice(result);
    out.push(b'}');
}

/// Appends an error response, without a newline. `data` is JSON, left out when empty.
pub fn write_error(id: &[u8], code: i32, message: &str, data: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id);
    out.extend_from_slice(br#","error":{"code":"#);
    out.extend_from_slice(code.to_string().as_bytes());
    out.extend_from_slice(br#","message":"#);
    encode_into(message, out);
    if !data.is_empty() {
        out.extend_from_slice(br#","data":"#);
        out.extend_from_slice(data);
    }
    out.extend_from_slice(b"}}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_spelt_like_this() {
        let mut out = Vec::new();
        write_result(b"\"a\"", b"{}", &mut out);
        assert_eq!(out, br#"{"jsonrpc":"2.0","id":"a","result":{}}"#);
        out.clear();
        write_error(b"1", -32601, "no \"x\"", b"{\"k\":1}", &mut out);
        assert_eq!(
            out,
            br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no \"x\"","data":{"k":1}}}"#
        );
    }
}

//! PROXY protocol headers: read the same however much follows, never before they are whole, and never a byte of what
//! follows.

use trunkline_http::proxy_header;

pub(crate) fn run(bytes: &[u8]) {
    let Ok(Some((header, length))) = proxy_header(bytes) else { return };
    let whole = bytes.get(..length).expect("no more than there is");
    assert_eq!(proxy_header(whole), Ok(Some((header, length))), "what follows makes a difference");
    for shorter in 0..length {
        let begun = whole.get(..shorter).expect("shorter than the whole");
        assert_eq!(proxy_header(begun), Ok(None), "read before it was whole");
    }
}

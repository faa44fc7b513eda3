//! Who calls and from where, in the one text that the data plane passes on.

use std::sync::Arc;

pub fn label(credential: &str, address: &str) -> Arc<str> {
    format!("{credential}{FROM}{address}").into()
}

/// The credential, and the address if there is one.
pub fn read_label(label: &str) -> (&str, Option<&str>) {
    match label.rsplit_once(FROM) {
        Some((credential, address)) => (credential, Some(address)),
        None => (label, None),
    }
}

const FROM: &str = " from ";

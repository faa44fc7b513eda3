//! The keys under which any client says a thing. People copy entries between clients, so a reader
//! understands the words of all of them, those of the file's own client first.

use trunkline_catalog::client::{Client, EntryWords, RemoteWords};

/// Every key for one thing.
pub(super) fn keys(
    own: &EntryWords,
    of: impl Fn(&'static EntryWords) -> Option<&'static str>,
) -> Vec<&'static str> {
    let mut keys: Vec<&str> = Vec::new();
    let all = Client::with_config().map(|(_, spec)| &spec.entry);
    // By address: two rows may have equal words, but each row is one static.
    let (first, rest): (Vec<_>, Vec<_>) = all.partition(|words| std::ptr::eq(*words, own));
    for key in first.into_iter().chain(rest).filter_map(of) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

pub(super) fn command(own: &EntryWords) -> Vec<&'static str> {
    keys(own, |words| Some(words.command))
}

pub(super) fn env(own: &EntryWords) -> Vec<&'static str> {
    [keys(own, |words| Some(words.env)), vec!["environment"]].concat()
}

/// Keys of addresses that say by themselves that the server speaks streamable HTTP.
pub(super) fn http_url(own: &EntryWords) -> Vec<&'static str> {
    remote(own, |remote| remote.http_url)
}

/// Every key of an address; one that says more about its server comes first.
pub(super) fn url(own: &EntryWords) -> Vec<&'static str> {
    [http_url(own), remote(own, |remote| Some(remote.url))].concat()
}

pub(super) fn headers(own: &EntryWords) -> Vec<&'static str> {
    remote(own, |remote| Some(remote.headers))
}

pub(super) fn remote(
    own: &EntryWords,
    of: impl Fn(&'static RemoteWords) -> Option<&'static str>,
) -> Vec<&'static str> {
    keys(own, |words| words.remote.as_ref().and_then(&of))
}

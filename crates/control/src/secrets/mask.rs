//! What is shown in the place of a secret value.

/// Stands where a value is; it is never taken for one.
pub const SECRET_SHOWN: &str = "***";

/// A URL without the values of its query.
pub fn shown_url(url: &str) -> String {
    let Some((address, query)) = url.split_once('?') else { return url.to_owned() };
    let hidden = |pair: &str| match pair.split_once('=') {
        Some((name, _)) => format!("{name}={SECRET_SHOWN}"),
        // A lone word may be a key as well.
        None if pair.is_empty() => String::new(),
        None => SECRET_SHOWN.to_owned(),
    };
    let query: Vec<_> = query.split('&').map(hidden).collect();
    format!("{address}?{}", query.join("&"))
}

//! Where something is below an address that the operator has named.

use trunkline_http::Url;

/// The address below a base; one that is whole already stays.
pub(crate) fn endpoint(base: &Url, path: &str) -> Result<Url, String> {
    let (whole, query) = (base.to_string(), base.target().split_once('?').map(|(_, query)| query));
    let bare = whole.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    if bare.ends_with(path) {
        return Ok(base.clone());
    }
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    Url::parse(&format!("{bare}{path}{query}")).map_err(|bad| bad.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_completed() {
        for (base, expected) in [
            ("https://api.example.com/v1", "https://api.example.com/v1/chat/completions"),
            ("https://api.example.com/v1/", "https://api.example.com/v1/chat/completions"),
            ("http://127.0.0.1:11434", "http://127.0.0.1:11434/chat/completions"),
            (
                "https://x.example.com/a/chat/completions?api-version=1",
                "https://x.example.com/a/chat/completions?api-version=1",
            ),
            ("https://x.example.com/a?v=1", "https://x.example.com/a/chat/completions?v=1"),
        ] {
            let url = endpoint(&Url::parse(base).unwrap(), "/chat/completions").unwrap();
            assert_eq!(url.to_string(), expected);
        }
    }
}

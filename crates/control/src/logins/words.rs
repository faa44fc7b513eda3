//! Why there is no token, in words that say what to do. Pure.

use trunkline_gateway::NoAuthorization;

use crate::oauth::{NoToken, Reason};

/// How somebody logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// On the command line of the machine this runs on.
    Command,
    /// At the platform, which is reached so.
    Platform { base: String },
}

impl How {
    /// For the server `key`, whose login is kept under `login`.
    pub(super) fn advice(&self, key: &str, login: &str) -> String {
        let key = word(key);
        match self {
            Self::Command => format!("run `trunkline login {key}`"),
            Self::Platform { base } => format!(
                "log in: `trunkline login {key} --url {base}`, or POST {}",
                login_path(base, login)
            ),
        }
    }
}

/// Where a login is begun.
pub(crate) fn login_path(base: &str, login: &str) -> String {
    format!("{base}/api/v1/aggregator/servers/{login}/login")
}

pub(super) fn said(no: NoToken, key: &str, login: &str, how: &How, status: u16) -> NoAuthorization {
    match no {
        NoToken::NeedsAuth { reason } => {
            let advice = how.advice(key, login);
            let what = format!("needs a login: {reason}");
            // A request may be refused for what it wants while others are answered.
            match (reason, status) {
                (Reason::MoreScope, 403) => NoAuthorization::NeedsMore { what, advice },
                _ => NoAuthorization::NeedsLogin { what, advice },
            }
        }
        NoToken::Rejected => {
            let advice = format!("it is tried again; if it stays so, {}", how.advice(key, login));
            let what = "does not take the token that was granted for it".to_owned();
            NoAuthorization::Rejected { what, advice }
        }
        NoToken::Unavailable { why, retry_in } => {
            let what = format!("cannot be shown who we are: {why}");
            NoAuthorization::Unavailable { what, retry_in }
        }
    }
}

/// As it is typed in a shell.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
    match !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_decides_what_is_to_be_done() {
        let needs = |reason| NoToken::NeedsAuth { reason };
        let away = NoToken::Unavailable { why: "it answered 500".to_owned(), retry_in: None };
        let platform = How::Platform { base: "https://t".to_owned() };
        let post = "POST https://t/api/v1/aggregator/servers/7/login";
        for (no, how, status, expected) in [
            (needs(Reason::Never), &How::Command, 401, "login run `trunkline login docs`"),
            (needs(Reason::Never), &platform, 401, post),
            (needs(Reason::MoreScope), &How::Command, 403, "more run `trunkline login docs`"),
            (needs(Reason::MoreScope), &How::Command, 401, "login run"),
            (needs(Reason::Ended), &How::Command, 403, "login run"),
            (NoToken::Rejected, &platform, 401, "again it is tried again; if it stays so, log in"),
            (away, &How::Command, 401, "later cannot be shown who we are: it answered 500"),
        ] {
            let told = match said(no.clone(), "docs", "7", how, status) {
                NoAuthorization::NeedsLogin { advice, .. } => format!("login {advice}"),
                NoAuthorization::NeedsMore { advice, .. } => format!("more {advice}"),
                NoAuthorization::Rejected { advice, .. } => format!("again {advice}"),
                NoAuthorization::Unavailable { what, .. } => format!("later {what}"),
            };
            assert!(told.contains(expected), "{no:?} {status}: {told}");
        }
    }

    #[test]
    fn names_can_be_typed() {
        for (name, typed) in
            [("docs", "docs"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("-x", "'-x'"), ("", "''")]
        {
            assert_eq!(word(name), typed);
        }
    }
}

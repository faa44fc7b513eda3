//! `Page`: what goes back to a browser, with the headers that keep it safe.

use maud::Markup;
use trunkline_gateway::WebReply;

/// Only what comes from here, and nothing inline. `data:` is for pictures that a tool has answered with.
pub(crate) const SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; \
    style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; \
    frame-ancestors 'none'; base-uri 'none'";

/// What a screen answers with.
pub(crate) type PageResult = Result<Page, crate::api_client::ApiError>;

#[derive(Debug)]
pub(crate) struct Page {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    is_kept: bool,
}

impl Page {
    pub(crate) fn html(status: u16, markup: Markup) -> Self {
        Self::of(status, "text/html; charset=utf-8", markup.into_string().into_bytes())
    }

    pub(crate) fn of(status: u16, kind: &str, body: Vec<u8>) -> Self {
        let headers = vec![("Content-Type", kind.to_owned())];
        Self { status, headers, body, is_kept: false }
    }

    /// Something whose address changes when it does.
    pub(crate) fn for_ever(kind: &str, body: Vec<u8>) -> Self {
        Self { is_kept: true, ..Self::of(200, kind, body) }
    }

    /// After a form: the browser looks at this next, and reloading it posts nothing again.
    pub(crate) fn see_other(place: impl Into<String>) -> Self {
        let headers = vec![("Location", place.into())];
        // 303 and not 302: the browser must not send the form again to the new address.
        Self { status: 303, headers, body: Vec::new(), is_kept: false }
    }

    #[must_use]
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn send(mut self, reply: WebReply) {
        let caching = match self.is_kept {
            true => "public, max-age=31536000, immutable",
            // Pages hold what only this person may see; a shared computer must not keep it.
            false => "no-store",
        };
        for (name, value) in [
            ("Cache-Control", caching),
            ("Content-Security-Policy", SECURITY_POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            // With `no-referrer` browsers say `Origin: null` when a form is sent, and it is by its
            // origin that we know a form for ours.
            ("Referrer-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ] {
            self.headers.push((name, value.to_owned()));
        }
        let headers: Vec<(&str, &[u8])> =
            self.headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        reply.send(self.status, &headers, &self.body);
    }
}

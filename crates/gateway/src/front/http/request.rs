//! `HttpRequest`: a request that has come in whole, and what its head says about who asks.

use std::sync::Arc;

use trunkline_http::Request;

use crate::front::http::access::ClientPeer;
use crate::front::http::front::Front;
use crate::gate::{Admission, Asking, Pass};
use crate::session::Session;

#[derive(Debug)]
pub(crate) struct HttpRequest<'a, 'b> {
    pub(crate) front: &'b Arc<Front>,
    pub(crate) head: &'b Request<'a>,
    pub(crate) body: &'b [u8],
    pub(crate) peer: &'b ClientPeer,
    /// The authenticated caller; `None` where none is needed.
    pub(crate) caller: Option<&'b Arc<Pass>>,
    /// Its body was not read: it is for an attachment that refuses it.
    pub(crate) unread: bool,
}

impl HttpRequest<'_, '_> {
    /// Where a stateless request of this caller goes.
    pub(crate) fn stateless_session(&self) -> Arc<Session> {
        let (front, path) = (self.front, self.head.path());
        front.contexts.stateless(path, self.caller, front.clock.now())
    }

    /// Would it be admitted on any path?
    pub(crate) fn is_admitted(&self) -> bool {
        match &self.front.gate {
            Some(gate) => {
                let admission = gate.admit(&asking(self.head, self.peer));
                matches!(admission, Admission::Now(Ok(_)))
            }
            None => self.front.guard.admits(self.head, self.peer),
        }
    }
}

/// What a request shows at the gate. The guard has refused those with two Authorization headers.
pub(crate) fn asking<'a>(head: &Request<'a>, peer: &'a ClientPeer) -> Asking<'a> {
    let authorization = head.headers.once("authorization").ok().flatten();
    let certificate = peer.certificate.as_ref();
    Asking { authorization, certificate, path: head.path(), peer: peer.address }
}

/// Does the client prefer a page to JSON? Browsers say so, programs do not.
pub(crate) fn accepts_html(head: &Request<'_>) -> bool {
    const HTML: &[u8] = b"text/html";
    let is_html = |value: &[u8]| value.windows(HTML.len()).any(|it| it.eq_ignore_ascii_case(HTML));
    head.headers.all("accept").any(is_html)
}

//! Requests that another replica passes on: opened, judged by what their client has shown, and handled as if it had
//! come here.

use std::sync::Arc;

use trunkline_http::request;

use super::admission::{Caller, ClientConn};
use crate::front::http::access::{HttpRefusal, PeerNetwork};
use crate::front::http::connection::{ForwardedReply, Reply};
use crate::front::http::replicas::{
    ANSWER, Envelope, FrontReplicas, MISDIRECTED, RequestToken, SEEN_BEFORE,
};
use crate::front::http::routes::{HttpRoute, dispatch, route_of};
use crate::limiter::AddressAccount;
use crate::pump::FlushSet;

impl ClientConn {
    /// Takes what another replica has sent under this token.
    pub(super) fn take_forwarded(
        &self,
        token: &RequestToken,
        body: &[u8],
        reply: Reply,
        touched: &mut FlushSet,
    ) {
        let Some(replicas) = &self.front.replicas else { return };
        let Some(proof) = token.proof(&replicas.seal) else { return };
        if let Err(status) = check(replicas, token) {
            return reply.send(status, &[(ANSWER, proof.as_bytes())], b"", touched);
        }
        let opened = token.open_body(&replicas.seal, body);
        let envelope = opened.as_deref().and_then(Envelope::read);
        let inner = envelope.as_ref().and_then(|it| request(it.request).ok().flatten());
        let (Some(envelope), Some((inner, length))) = (&envelope, inner) else {
            return reply.send(400, &[(ANSWER, proof.as_bytes())], b"", touched);
        };
        let peer = envelope.peer.clone();
        let reply = reply.forwarded(ForwardedReply {
            proof: (ANSWER, proof),
            address: self.account(&peer.address),
            peer: peer.address.ip(),
        });
        let client = Self { front: Arc::clone(&self.front), conn: Arc::clone(&self.conn), peer };
        let Some(route) = route_of(&inner, None).ok().filter(|route| is_passed_on(*route)) else {
            return reply.refuse(HttpRefusal::NotFound, b"null", touched);
        };
        let (head, body) = envelope.request.split_at_checked(length).unwrap_or_default();
        // Its credentials are judged here, too: a key that was revoked since, or is not known there yet, counts as
        // this replica knows it.
        let mut version = 0;
        match client.caller(&inner, &mut version) {
            Err(why) => reply.reject(&why, b"null", touched),
            Ok(Caller::Pending(later)) => {
                client.wait_for(later, (head, body), (route, version), reply, touched);
            }
            Ok(caller) => {
                let pass = caller.pass();
                let request = client.request(&inner, body, pass.as_ref());
                dispatch(route, &request, reply, touched);
            }
        }
    }

    fn account(&self, address: &std::net::SocketAddr) -> Arc<AddressAccount> {
        self.front.context.limiter.address(PeerNetwork::of(address.ip()).0)
    }
}

/// Is it a route on which requests are passed on?
fn is_passed_on(route: HttpRoute) -> bool {
    matches!(route, HttpRoute::Post | HttpRoute::Listen | HttpRoute::Leave | HttpRoute::PostSse)
}

/// Is it for this replica, and here for the first time?
fn check(replicas: &FrontReplicas, token: &RequestToken) -> Result<(), u16> {
    // Its address was another replica's before.
    if token.to != replicas.seal.own() {
        return Err(MISDIRECTED);
    }
    if replicas.is_first(token) { Ok(()) } else { Err(SEEN_BEFORE) }
}

//! Requests of callers whose view is still to be assembled, where that takes long: they wait beside the pump.

use std::sync::Arc;

use tokio::time::timeout;
use trunkline_http::{Request, request};

use super::admission::{Caller, ClientConn};
use crate::front::http::access::HttpRefusal;
use crate::front::http::connection::{BodySender, BodyShare, Reply};
use crate::front::http::handlers::CachedRoute;
use crate::front::http::request::HttpRequest;
use crate::front::http::routes::{HttpRoute, dispatch};
use crate::gate::Pass;
use crate::limits::{ADMISSION, shortened};
use crate::pump::FlushSet;
use crate::registry::{Assembler, View};
use crate::session::SessionContext;

impl ClientConn {
    /// Handles a request, once the catalog of its caller is assembled. `head`: as it came. Returns the route that its
    /// head may take again without checks.
    pub(super) fn dispatch_assembled(
        &self,
        route: HttpRoute,
        (request, head): (&HttpRequest<'_, '_>, &[u8]),
        reply: Reply,
        touched: &mut FlushSet,
    ) -> Option<CachedRoute> {
        match self.unassembled(route, request) {
            None => dispatch(route, request, reply, touched),
            Some(context) => {
                self.wait_for_view(context, (request, head), route, reply, touched);
                None
            }
        }
    }

    fn unassembled(
        &self,
        route: HttpRoute,
        request: &HttpRequest<'_, '_>,
    ) -> Option<Arc<SessionContext>> {
        let is_served_by_view = matches!(
            route,
            HttpRoute::Post | HttpRoute::Listen | HttpRoute::OpenSse | HttpRoute::PostSse
        );
        let contexts = &self.front.contexts;
        is_served_by_view.then(|| contexts.unassembled(request.head.path(), request.caller))?
    }

    fn wait_for_view(
        &self,
        context: Arc<SessionContext>,
        (asked, head): (&HttpRequest<'_, '_>, &[u8]),
        route: HttpRoute,
        reply: Reply,
        touched: &mut FlushSet,
    ) {
        // Held until it goes on: it counts until then.
        let mut share = BodyShare::new(&self.front.bodies, BodySender::Caller);
        if !share.grow(asked.body.len()) {
            return reply.refuse(HttpRefusal::Crowded, b"null", touched);
        }
        let (head, body): (Box<[u8]>, Box<[u8]>) = (head.into(), asked.body.into());
        let (client, caller) = (self.clone(), asked.caller.cloned());
        let shared = Arc::clone(&self.front.context);
        let task = async move {
            let is_there = assemble(&context.view).await;
            // A client that has left meanwhile has cancelled its request. The head was parsed before.
            if let Ok(Some((parsed, _))) = request(&head)
                && !client.conn.has_ended()
            {
                let mut touched = FlushSet::default();
                match is_there {
                    true => client.go_on(
                        route,
                        (&parsed, &head, &body),
                        caller.as_ref(),
                        reply,
                        &mut touched,
                    ),
                    false => reply.refuse(HttpRefusal::Unassembled, b"null", &mut touched),
                }
                touched.flush();
            }
            // The context last: with it goes a view that nobody else has yet.
            drop((share, context));
        };
        drop(shared.tasks.spawn_on(task, &shared.runtime));
    }

    /// Handles a request that has waited. The gate is asked again: what it let in may be worth nothing any more, or
    /// less, and only what has begun is ended then.
    fn go_on(
        &self,
        route: HttpRoute,
        (parsed, head, body): (&Request<'_>, &[u8], &[u8]),
        before: Option<&Arc<Pass>>,
        reply: Reply,
        touched: &mut FlushSet,
    ) {
        let mut version = 0;
        let pass = match self.caller(parsed, &mut version) {
            Err(why) => return reply.reject(&why, b"null", touched),
            Ok(Caller::Pending(later)) => {
                return self.wait_for(later, (head, body), (route, version), reply, touched);
            }
            Ok(caller) => caller.pass(),
        };
        let request = self.request(parsed, body, pass.as_ref());
        let is_same = match (before, &pass) {
            (Some(before), Some(pass)) => before.is_same(pass),
            (before, pass) => before.is_none() && pass.is_none(),
        };
        drop(match is_same {
            true => dispatch(route, &request, reply, touched),
            // With other rights it has another view.
            false => self.dispatch_assembled(route, (&request, head), reply, touched),
        });
    }
}

/// Waits until this view is assembled. Where others are before it for long, or its settings have changed again, it is
/// assembled on a thread of its own: the one that this runs on has everything else to do. False: that failed.
async fn assemble(view: &Arc<View>) -> bool {
    if timeout(shortened(ADMISSION), Arc::clone(view).assembled()).await.is_err() {
        tracing::warn!(
            "a catalog is not assembled yet: its caller does not wait for others any longer"
        );
    }
    if !view.must_be_awaited() {
        return true;
    }
    Assembler::hurry(view).await
}

//! `Admission`: what is decided about a request as soon as its head has come: its route and its
//! caller, or why it is refused. The body is read only after that.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::time::timeout;
use trunkline_http::{Framing, Request, request};

use crate::front::http::access::{HttpRefusal, Rejection};
use crate::front::http::connection::{Conn, Reply, ReplyMode};
use crate::front::http::front::Front;
use crate::front::http::handlers::CachedRoute;
use crate::front::http::request::{HttpRequest, asking};
use crate::front::http::routes::{HttpRoute, dispatch, route_of};
use crate::gate::{self, Decision, Denied, Pass};
use crate::limits::ADMISSION;
use crate::pump::FlushSet;

pub(crate) struct Admission<'a> {
    pub(crate) mode: ReplyMode,
    /// `Gate::version` from before the gate was asked.
    pub(crate) gate_version: u64,
    pub(crate) decision: Result<Admitted, Rejection>,
    /// The longest body, and the refusal of a longer one.
    pub(crate) limit: usize,
    pub(crate) too_long: HttpRefusal,
    head: &'a Request<'a>,
}

pub(crate) struct Admitted {
    route: HttpRoute,
    caller: Caller,
}

/// Who makes a request.
enum Caller {
    /// The route needs no caller.
    Anonymous,
    Known(Arc<Pass>),
    /// The gate has not decided yet.
    Pending(PendingDecision),
}

type PendingDecision = std::pin::Pin<Box<dyn Future<Output = Decision> + Send>>;

/// A connection with its front and the address of the client.
#[derive(Clone, Debug)]
pub(crate) struct ClientConn {
    pub(crate) front: Arc<Front>,
    pub(crate) conn: Arc<Conn>,
    pub(crate) peer: SocketAddr,
}

impl ClientConn {
    /// Decides about a request by its head.
    pub(crate) fn admit<'a>(&self, request: &'a Request<'a>) -> Admission<'a> {
        let front = &self.front;
        let mut admission = Admission {
            mode: ReplyMode::of(request, None),
            gate_version: 0,
            decision: Err(HttpRefusal::NotFound.into()),
            limit: front.message_limit,
            too_long: HttpRefusal::TooLarge(front.message_limit),
            head: request,
        };
        match front.guard.check(request) {
            Ok(origin) => admission.mode = ReplyMode::of(request, origin),
            Err(why) => {
                admission.mode.api = self.is_attached(request);
                admission.decision = Err(why.into());
                return admission;
            }
        }
        if front.context.traced {
            let parent = request.headers.get("traceparent");
            let parent = parent.and_then(|parent| std::str::from_utf8(parent).ok());
            admission.mode.parent = parent.map(Into::into);
        }
        let route = route_of(request, front.attachment.as_ref());
        if route.is_ok_and(HttpRoute::is_attached) {
            admission.mode.api = true;
            if let Some(attachment) = &front.attachment {
                admission.limit = attachment.body_limit(request.path());
                admission.too_long = HttpRefusal::TooLong(admission.limit);
            }
        }
        admission.decision = match route {
            // An unknown path needs a token, too: it must not tell strangers what exists.
            Ok(route) if route.is_public() => Ok(Admitted { route, caller: Caller::Anonymous }),
            _ => self.caller(request, &mut admission.gate_version).and_then(|caller| {
                let route = route?;
                Ok(Admitted { route, caller })
            }),
        };
        if admission.decision.is_ok() && has_encoded_body(request) {
            admission.decision = Err(HttpRefusal::Encoded.into());
        }
        admission
    }

    /// Is it for an attached route? Those are refused with `problem+json`.
    pub(crate) fn is_attached(&self, request: &Request<'_>) -> bool {
        route_of(request, self.front.attachment.as_ref()).is_ok_and(HttpRoute::is_attached)
    }

    fn caller(&self, request: &Request<'_>, version: &mut u64) -> Result<Caller, Rejection> {
        let Some(gate) = &self.front.gate else {
            let admitted = self.front.guard.admits(request);
            return if admitted { Ok(Caller::Anonymous) } else { Err(HttpRefusal::Token.into()) };
        };
        let asking = asking(request, self.peer);
        // Read before the gate decides: a change in between makes the cached decision stale.
        *version = gate.version();
        if let Some(pass) = self.conn.pass_cache.find(&asking, *version) {
            return Ok(Caller::Known(pass));
        }
        match gate.admit(&asking) {
            gate::Admission::Now(Ok(pass)) => {
                self.conn.pass_cache.set(&asking, *version, &pass);
                Ok(Caller::Known(pass))
            }
            gate::Admission::Now(Err(denied)) => Err(Rejection::Denied(denied)),
            gate::Admission::Later(later) => Ok(Caller::Pending(later)),
        }
    }

    /// Handles a request that has come in whole. Returns the route that its head may take again
    /// without checks.
    pub(crate) fn handle(
        &self,
        admission: Admission<'_>,
        head: &[u8],
        body: &[u8],
        touched: &mut FlushSet,
    ) -> Option<CachedRoute> {
        let reply = Reply::new(&self.conn, admission.mode);
        let (route, caller) = match admission.decision {
            Ok(Admitted { route, caller }) => (route, caller),
            Err(why) => {
                reply.reject(&why, b"null", touched);
                return None;
            }
        };
        let caller = match caller {
            Caller::Anonymous => None,
            Caller::Known(pass) => Some(pass),
            Caller::Pending(later) => {
                let pending =
                    PendingRequest { client: self.clone(), head: head.into(), body: body.into() };
                // The pump must not wait: the decision may ask an issuer over the network.
                pending.spawn_after(later, route, admission.gate_version, reply);
                return None;
            }
        };
        dispatch(route, &self.request(admission.head, body, caller.as_ref()), reply, touched)
    }

    fn request<'a, 'b>(
        &'b self,
        head: &'b Request<'a>,
        body: &'b [u8],
        caller: Option<&'b Arc<Pass>>,
    ) -> HttpRequest<'a, 'b> {
        HttpRequest { front: &self.front, head, body, peer: self.peer, caller }
    }
}

/// Is there a body that would have to be decoded before it can be read (RFC 9110, 8.4)?
fn has_encoded_body(request: &Request<'_>) -> bool {
    let mut codings = request.headers.all("content-encoding");
    codings.any(|coding| !coding.trim_ascii().eq_ignore_ascii_case(b"identity"))
        && !matches!(request.body(), Ok(Framing::None | Framing::Length(0)))
}

/// A request that waits for the gate's decision.
struct PendingRequest {
    client: ClientConn,
    head: Box<[u8]>,
    body: Box<[u8]>,
}

impl PendingRequest {
    fn spawn_after(self, later: PendingDecision, route: HttpRoute, version: u64, reply: Reply) {
        let context = Arc::clone(&self.client.front.context);
        let task = async move {
            let decision = timeout(ADMISSION, later).await;
            let decision = decision.unwrap_or_else(|_| Err(undecided())); // too late
            let mut touched = FlushSet::default();
            self.resume(decision, route, version, reply, &mut touched);
            touched.flush();
        };
        drop(context.tasks.spawn_on(task, &context.runtime));
    }

    fn resume(
        &self,
        decision: Decision,
        route: HttpRoute,
        version: u64,
        reply: Reply,
        touched: &mut FlushSet,
    ) {
        let conn = &self.client.conn;
        let (pass, request) = match (decision, request(&self.head)) {
            (Err(denied), _) => return reply.reject(&Rejection::Denied(denied), b"null", touched),
            // A client that has left meanwhile has cancelled its request.
            (Ok(_), _) if conn.has_ended() => return,
            (Ok(pass), Ok(Some((request, _)))) => (pass, request),
            (Ok(_), _) => return, // not reached: the head was parsed before
        };
        conn.pass_cache.set(&asking(&request, self.client.peer), version, &pass);
        dispatch(route, &self.client.request(&request, &self.body, Some(&pass)), reply, touched);
    }
}

fn undecided() -> Denied {
    let message = "whether this token is good cannot be found out now; try again later";
    Denied { status: 503, challenge: None, message: message.to_owned() }
}

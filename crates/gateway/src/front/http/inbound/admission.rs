//! `Admission`: what is decided about a request as soon as its head has come: its route and its
//! caller, or why it is refused. The body is read only after that.

use std::sync::Arc;

use tokio::time::timeout;
use trunkline_http::{Framing, Request, request};

use crate::front::http::access::{ClientPeer, HttpRefusal, Rejection};
use crate::front::http::attached::{BodyRule, WebRequest};
use crate::front::http::connection::{BodySender, BodyShare, Conn, Reply, ReplyMode};
use crate::front::http::front::Front;
use crate::front::http::handlers::CachedRoute;
use crate::front::http::replicas::{ENVELOPE_BYTES, RequestToken};
use crate::front::http::request::{HttpRequest, asking};
use crate::front::http::routes::{HttpRoute, dispatch, route_of};
use crate::gate::{self, Decision, Denied, Pass};
use crate::limits::{ADMISSION, STRANGER_BODY};
use crate::pump::FlushSet;

pub(crate) struct Admission<'a> {
    pub(crate) mode: ReplyMode,
    /// `Gate::version` from before the gate was asked.
    pub(crate) gate_version: u64,
    pub(crate) decision: Result<Admitted, Rejection>,
    /// The longest body, and the refusal of a longer one.
    pub(crate) limit: usize,
    pub(crate) too_long: HttpRefusal,
    pub(crate) sender: BodySender,
    /// What has not come of the body is not read: the request is refused by its head.
    pub(crate) unread: bool,
    head: &'a Request<'a>,
}

pub(crate) struct Admitted {
    route: HttpRoute,
    caller: Caller,
}

/// Who makes a request.
pub(super) enum Caller {
    /// The route needs no caller.
    Anonymous,
    Known(Arc<Pass>),
    /// The gate has not decided yet.
    Pending(PendingDecision),
    /// Another replica, for a client of its own.
    Replica(RequestToken),
}

impl Caller {
    pub(super) fn pass(self) -> Option<Arc<Pass>> {
        match self {
            Self::Known(pass) => Some(pass),
            Self::Anonymous | Self::Pending(_) | Self::Replica(_) => None,
        }
    }
}

pub(super) type PendingDecision = std::pin::Pin<Box<dyn Future<Output = Decision> + Send>>;

/// A connection with its front and what is known of the client.
#[derive(Clone, Debug)]
pub(crate) struct ClientConn {
    pub(crate) front: Arc<Front>,
    pub(crate) conn: Arc<Conn>,
    pub(crate) peer: ClientPeer,
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
            sender: BodySender::Caller,
            unread: false,
            head: request,
        };
        if let Some(replicas) = &front.replicas
            && let Some(token) = RequestToken::of(request, &replicas.seal)
        {
            // It proves itself: neither its Host nor its sender has to be known.
            admission.limit = front.message_limit.saturating_add(ENVELOPE_BYTES);
            let caller = Caller::Replica(token);
            admission.decision = Ok(Admitted { route: HttpRoute::Forwarded, caller });
            return admission;
        }
        match front.guard.check(request) {
            Ok(origin) => admission.mode = ReplyMode::of(request, origin),
            // Load balancers name no host, or the address of this machine.
            Err(HttpRefusal::Host) if self.is_probe(request) => {}
            Err(why) => {
                admission.mode.api = self.is_attached(request);
                admission.decision = Err(match why {
                    HttpRefusal::Origin => Rejection::of_origin(request.headers.get("origin")),
                    why => why.into(),
                });
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
            self.read_as_attached(request, &mut admission);
        } else if route.is_ok_and(HttpRoute::is_public) {
            // Nobody has to be known here, and nothing of a body is needed.
            admission.read(BodySender::Stranger, STRANGER_BODY);
        }
        admission.decision = match route {
            // An unknown path needs a token, too: it must not tell strangers what exists.
            Ok(route) if route.is_public() => Ok(Admitted { route, caller: Caller::Anonymous }),
            // RFC 8615: what is well known is asked for before anybody has a token, and 404 says that it is not here.
            Err(HttpRefusal::NotFound) if request.path().starts_with("/.well-known/") => {
                Err(HttpRefusal::NotFound.into())
            }
            _ => self.caller(request, &mut admission.gate_version).and_then(|caller| {
                let route = route?;
                Ok(Admitted { route, caller })
            }),
        };
        if let Ok(Admitted { caller: Caller::Pending(_), .. }) = &admission.decision {
            admission.sender = BodySender::Stranger;
        }
        if admission.decision.is_ok() && has_encoded_body(request) {
            admission.decision = Err(HttpRefusal::Encoded.into());
        }
        admission
    }

    /// What is read of the body is up to the attachment, which knows its callers.
    fn read_as_attached(&self, request: &Request<'_>, admission: &mut Admission<'_>) {
        let Some(attachment) = &self.front.attachment else { return };
        // Most requests have none.
        if matches!(request.body(), Ok(Framing::None | Framing::Length(0))) {
            return;
        }
        match attachment.body_rule(&WebRequest::new(request, b"", &self.peer)) {
            BodyRule::Caller(limit) => admission.read(BodySender::Caller, limit),
            BodyRule::Stranger(limit) => admission.read(BodySender::Stranger, limit),
            BodyRule::Unread => {
                admission.read(BodySender::Stranger, STRANGER_BODY);
                admission.unread = true;
            }
        }
    }

    /// Does it only ask whether this process is alive or ready? The answer is no secret, and names no server where
    /// the Host is wrong.
    fn is_probe(&self, request: &Request<'_>) -> bool {
        let route = route_of(request, self.front.attachment.as_ref());
        matches!(route, Ok(HttpRoute::Health | HttpRoute::Ready))
    }

    /// Is it for an attached route? Those are refused with `problem+json`.
    pub(crate) fn is_attached(&self, request: &Request<'_>) -> bool {
        route_of(request, self.front.attachment.as_ref()).is_ok_and(HttpRoute::is_attached)
    }

    pub(super) fn caller(
        &self,
        request: &Request<'_>,
        version: &mut u64,
    ) -> Result<Caller, Rejection> {
        let Some(gate) = &self.front.gate else {
            if self.front.guard.admits(request, &self.peer) {
                return Ok(Caller::Anonymous);
            }
            return Err(self.front.guard.refuse(request, self.peer.address.ip()).into());
        };
        let asking = asking(request, &self.peer);
        // Read before the gate decides: a change in between makes the cached decision stale.
        *version = gate.version();
        // A connection of another replica has many callers.
        let is_own = !self.peer.is_forwarded;
        if let Some(pass) = self.conn.pass_cache.find(&asking, *version).filter(|_| is_own) {
            // What is remembered is the connection's; each of its streams counts for itself.
            if self.conn.is_stream() {
                self.count_connection(&pass).map_err(Rejection::Denied)?;
            }
            return Ok(Caller::Known(pass));
        }
        match gate.admit(&asking) {
            gate::Admission::Now(Ok(pass)) if !is_own => Ok(Caller::Known(pass)),
            gate::Admission::Now(Ok(pass)) => {
                self.count_connection(&pass).map_err(Rejection::Denied)?;
                self.conn.pass_cache.set(&asking, *version, &pass);
                Ok(Caller::Known(pass))
            }
            gate::Admission::Now(Err(denied)) => Err(Rejection::Denied(denied)),
            gate::Admission::Later(later) => Ok(Caller::Pending(later)),
        }
    }

    /// The connection is this caller's from now on, if it may have one more. Asked whenever the gate was: its limits
    /// may be others than before.
    fn count_connection(&self, pass: &Pass) -> Result<(), Denied> {
        let limiter = &self.front.context.limiter;
        let account = limiter.account_of(pass);
        self.conn.accounts.belong_to(account.as_ref()).map_err(|overrun| {
            limiter.count(overrun.scope, overrun.limit);
            let retry_after = Some(overrun.again.as_secs());
            Denied { status: 429, challenge: None, retry_after, message: overrun.to_string() }
        })
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
        let mut mode = admission.mode;
        let (route, caller) = match admission.decision {
            Ok(Admitted { route, caller }) => (route, caller),
            Err(why) => {
                // Whoever guesses opens a connection for each guess.
                mode.keep_alive &= why.status() != 429;
                Reply::new(&self.conn, mode).reject(&why, b"null", touched);
                return None;
            }
        };
        let unread = mode.unread;
        let reply = Reply::new(&self.conn, mode);
        let caller = match caller {
            Caller::Pending(later) => {
                let place = (route, admission.gate_version);
                self.wait_for(later, (head, body), place, reply, touched);
                return None;
            }
            Caller::Replica(token) => {
                self.take_forwarded(&token, body, reply, touched);
                return None;
            }
            decided => decided.pass(),
        };
        let request = self.request(admission.head, body, caller.as_ref());
        dispatch(route, &HttpRequest { unread, ..request }, reply, touched)
    }

    /// Handles a request once it is decided who makes it.
    pub(super) fn wait_for(
        &self,
        later: PendingDecision,
        (head, body): (&[u8], &[u8]),
        (route, version): (HttpRoute, u64),
        reply: Reply,
        touched: &mut FlushSet,
    ) {
        // Held until it is decided: it counts until then.
        let mut share = BodyShare::new(&self.front.bodies, BodySender::Stranger);
        if !share.grow(body.len()) {
            return reply.refuse(HttpRefusal::Crowded, b"null", touched);
        }
        let (head, body) = (head.into(), body.into());
        let pending = PendingRequest { client: self.clone(), head, body, _share: share };
        // The pump must not wait: the decision may ask an issuer over the network.
        pending.spawn_after(later, route, version, reply);
    }

    pub(super) fn request<'a, 'b>(
        &'b self,
        head: &'b Request<'a>,
        body: &'b [u8],
        caller: Option<&'b Arc<Pass>>,
    ) -> HttpRequest<'a, 'b> {
        HttpRequest { front: &self.front, head, body, peer: &self.peer, caller, unread: false }
    }
}

impl Admission<'_> {
    fn read(&mut self, sender: BodySender, limit: usize) {
        self.sender = sender;
        self.limit = limit;
        self.too_long = HttpRefusal::TooLong(limit);
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
    _share: BodyShare,
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
        if !self.client.peer.is_forwarded {
            if let Err(denied) = self.client.count_connection(&pass) {
                return reply.reject(&Rejection::Denied(denied), b"null", touched);
            }
            conn.pass_cache.set(&asking(&request, &self.client.peer), version, &pass);
        }
        dispatch(route, &self.client.request(&request, &self.body, Some(&pass)), reply, touched);
    }
}

fn undecided() -> Denied {
    let message = "whether this token is good cannot be found out now; try again later";
    Denied { status: 503, challenge: None, retry_after: None, message: message.to_owned() }
}

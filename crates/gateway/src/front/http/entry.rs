//! What is decided about a request when its head is there: the page it comes from, its way, and who
//! makes it; or why it goes no further.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::time::timeout;
use trunkline_http::{Framing, Request, request};

use crate::front::http::conn::Conn;
use crate::front::http::front::Front;
use crate::front::http::head_cache::Cached;
use crate::front::http::refusal::{Refusal, Stop};
use crate::front::http::reply::{Reply, ReplyMode};
use crate::front::http::routes::{Route, Visit, follow, route_of};
use crate::gate::{Admission, Asking, Decision, Denied, Pass};
use crate::limits::ADMISSION;
use crate::pump::FlushSet;

pub(super) struct Entry<'a> {
    pub(super) manner: ReplyMode,
    /// Of the gate, from before it was asked.
    pub(super) version: u64,
    pub(super) way: Result<Way, Stop>,
    /// Of the body, and what to say about a longer one.
    pub(super) limit: usize,
    pub(super) too_long: Refusal,
    request: &'a Request<'a>,
}

pub(super) struct Way {
    route: Route,
    caller: Caller,
}

/// Who makes a request.
enum Caller {
    /// Nobody has to say.
    Anybody,
    Known(Arc<Pass>),
    /// Not known yet.
    Later(Later),
}

type Later = std::pin::Pin<Box<dyn Future<Output = Decision> + Send>>;

/// A connection, and who is at its other end.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) front: Arc<Front>,
    pub(super) conn: Arc<Conn>,
    pub(super) peer: SocketAddr,
}

impl Line {
    /// May it come in, and where does it go? Nothing is read further before that.
    pub(super) fn enter<'a>(&self, request: &'a Request<'a>) -> Entry<'a> {
        let front = &self.front;
        let mut entry = Entry {
            manner: ReplyMode::of(request, None),
            version: 0,
            way: Err(Refusal::NotFound.into()),
            limit: front.message_limit,
            too_long: Refusal::TooLarge(front.message_limit),
            request,
        };
        match front.guard.check(request) {
            Ok(origin) => entry.manner = ReplyMode::of(request, origin),
            Err(why) => {
                entry.manner.api = self.is_attached(request);
                entry.way = Err(why.into());
                return entry;
            }
        }
        if front.context.follows {
            let parent = request.headers.get("traceparent");
            let parent = parent.and_then(|parent| std::str::from_utf8(parent).ok());
            entry.manner.parent = parent.map(Into::into);
        }
        let route = route_of(request, front.attachment.as_ref());
        if route.is_ok_and(Route::is_attached) {
            entry.manner.api = true;
            if let Some(attachment) = &front.attachment {
                entry.limit = attachment.body_limit(request.path());
                entry.too_long = Refusal::TooLong(entry.limit);
            }
        }
        entry.way = match route {
            Ok(route) if route.is_open() => Ok(Way { route, caller: Caller::Anybody }),
            _ => self.caller(request, &mut entry.version).and_then(|caller| {
                let route = route?;
                Ok(Way { route, caller })
            }),
        };
        if entry.way.is_ok() && has_encoded_body(request) {
            entry.way = Err(Refusal::Encoded.into());
        }
        entry
    }

    /// Is it for one of the other routes? Those are refused in words of their own.
    pub(super) fn is_attached(&self, request: &Request<'_>) -> bool {
        route_of(request, self.front.attachment.as_ref()).is_ok_and(Route::is_attached)
    }

    fn caller(&self, request: &Request<'_>, version: &mut u64) -> Result<Caller, Stop> {
        let Some(gate) = &self.front.gate else {
            let admitted = self.front.guard.admits(request);
            return if admitted { Ok(Caller::Anybody) } else { Err(Refusal::Token.into()) };
        };
        let asking = asking(request, self.peer);
        *version = gate.version();
        if let Some(pass) = self.conn.remembered.find(&asking, *version) {
            return Ok(Caller::Known(pass));
        }
        match gate.admit(&asking) {
            Admission::Now(Ok(pass)) => {
                self.conn.remembered.set(&asking, *version, &pass);
                Ok(Caller::Known(pass))
            }
            Admission::Now(Err(denied)) => Err(Stop::Denied(denied)),
            Admission::Later(later) => Ok(Caller::Later(later)),
        }
    }

    /// A request has come in whole. Returns what its head was good for, if that may come again.
    pub(super) fn handle(
        &self,
        entry: Entry<'_>,
        head: &[u8],
        body: &[u8],
        touched: &mut FlushSet,
    ) -> Option<Cached> {
        let reply = Reply::new(&self.conn, entry.manner);
        let (route, caller) = match entry.way {
            Ok(Way { route, caller }) => (route, caller),
            Err(why) => {
                reply.stop(&why, b"null", touched);
                return None;
            }
        };
        let caller = match caller {
            Caller::Anybody => None,
            Caller::Known(pass) => Some(pass),
            Caller::Later(later) => {
                let waiting = Waiting { line: self.clone(), head: head.into(), body: body.into() };
                waiting.go_on_after(later, route, entry.version, reply);
                return None;
            }
        };
        follow(route, &self.visit(entry.request, body, caller.as_ref()), reply, touched)
    }

    fn visit<'a, 'b>(
        &'b self,
        request: &'b Request<'a>,
        body: &'b [u8],
        caller: Option<&'b Arc<Pass>>,
    ) -> Visit<'a, 'b> {
        Visit { front: &self.front, request, body, peer: self.peer, caller }
    }
}

/// Is there a body that would have to be decoded before it can be read (RFC 9110, 8.4)?
fn has_encoded_body(request: &Request<'_>) -> bool {
    let mut codings = request.headers.all("content-encoding");
    codings.any(|coding| !coding.trim_ascii().eq_ignore_ascii_case(b"identity"))
        && !matches!(request.body(), Ok(Framing::None | Framing::Length(0)))
}

/// What a request shows at the gate. Two tokens are none.
pub(super) fn asking<'a>(request: &Request<'a>, peer: SocketAddr) -> Asking<'a> {
    let authorization = request.headers.once("authorization").ok().flatten();
    Asking { authorization, path: request.path(), peer }
}

/// A request whose caller is not known yet.
struct Waiting {
    line: Line,
    head: Box<[u8]>,
    body: Box<[u8]>,
}

impl Waiting {
    fn go_on_after(self, later: Later, route: Route, version: u64, reply: Reply) {
        let context = Arc::clone(&self.line.front.context);
        let task = async move {
            let decision = timeout(ADMISSION, later).await;
            let decision = decision.unwrap_or_else(|_| Err(undecided()));
            let mut touched = FlushSet::default();
            self.go_on(decision, route, version, reply, &mut touched);
            touched.flush();
        };
        drop(context.tasks.spawn_on(task, &context.runtime));
    }

    fn go_on(
        &self,
        decision: Decision,
        route: Route,
        version: u64,
        reply: Reply,
        touched: &mut FlushSet,
    ) {
        let conn = &self.line.conn;
        let (pass, request) = match (decision, request(&self.head)) {
            (Err(denied), _) => return reply.stop(&Stop::Denied(denied), b"null", touched),
            // Whoever has left meanwhile has cancelled.
            (Ok(_), _) if conn.has_ended() => return,
            (Ok(pass), Ok(Some((request, _)))) => (pass, request),
            (Ok(_), _) => return, // not reached: it was read before
        };
        conn.remembered.set(&asking(&request, self.line.peer), version, &pass);
        follow(route, &self.line.visit(&request, &self.body, Some(&pass)), reply, touched);
    }
}

fn undecided() -> Denied {
    let message = "whether this token is good cannot be found out now; try again later";
    Denied { status: 503, challenge: None, message: message.to_owned() }
}

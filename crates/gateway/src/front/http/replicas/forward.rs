//! Passes a request on to the replica that can answer it, and its answer back: byte for byte, piece by piece.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::task::task_tracker::TaskTrackerToken;
use trunkline_wire::{Kind, scan};

use super::ForwardRoom;
use super::envelope::Envelope;
use super::token::{ANSWER, MISDIRECTED, RequestToken, SEEN_BEFORE};
use crate::era::{Era, ReplicaId};
use crate::error::CallError;
use crate::front::http::access::HttpRefusal;
use crate::front::http::attached::{ReplyWay, WebConnection, WebReply, WebStream};
use crate::front::http::connection::{Conn, EVENTS, Reply};
use crate::front::http::front::Front;
use crate::front::http::request::HttpRequest;
use crate::limits::{CLIENT_STALL, COMMENT_SECONDS, SLOW_ANSWER_SECONDS, STREAM_BYTES};
use crate::pump::FlushSet;
use crate::replicas::{ReplicaAnswer, ReplicaBody, ReplicaFault, SealedRequest, Waiting};

/// The head of another replica's answer comes within `SLOW_ANSWER_SECONDS`, and a comment each `COMMENT_SECONDS`: one
/// that takes three times as long hangs.
const FORWARD_ANSWER: Duration = Duration::from_secs(3 * SLOW_ANSWER_SECONDS as u64);
const FORWARD_SILENCE: Duration = Duration::from_secs(3 * COMMENT_SECONDS as u64);
/// An answer of so many bytes is passed on in one piece.
const FORWARDED_WHOLE: usize = 1024 * 1024;

/// What the other replica has, on which the request depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForwardedMatter {
    Session,
    /// A call that waits for the answers of its client.
    ParkedCall,
    Task,
}

/// A request on its way to another replica.
struct Forward {
    front: Arc<Front>,
    matter: ForwardedMatter,
    token: RequestToken,
    era: Era,
    /// The id of the message, as spelt; `null` if it has none.
    id: Box<[u8]>,
    /// It expects an answer, and ends by itself.
    is_call: bool,
    /// It is a stream of what belongs to no call: it ends when this front does.
    is_stream: bool,
    /// For its bytes, until the other replica has answered.
    room: ForwardRoom,
}

/// Passes a request on to the replica that has what it is about.
pub(crate) fn forward(
    request: &HttpRequest<'_, '_>,
    (to, matter): (ReplicaId, ForwardedMatter),
    reply: Reply,
    touched: &mut FlushSet,
) {
    let front = request.front;
    let room = front.replicas.as_ref().and_then(|it| it.room_for(request.body.len()));
    let sent = room.and_then(|room| Some((room, sealed(front, to, &Envelope::write(request))?)));
    match sent {
        Some((room, (token, sent))) => {
            let forward = Forward { room, ..Forward::of(request, matter, token) };
            forward.spawn(reply, |forward, reply, open| forward.run(sent, reply, open));
        }
        None => reply.refuse(HttpRefusal::Crowded, b"null", touched),
    }
}

/// Passes a request on to whichever replica has this task, if any has.
pub(crate) fn forward_to_task(
    request: &HttpRequest<'_, '_>,
    task: String,
    reply: Reply,
    touched: &mut FlushSet,
) {
    let Some(replicas) = &request.front.replicas else { return };
    let Some(room) = replicas.room_for(request.body.len()) else {
        return reply.refuse(HttpRefusal::Crowded, b"null", touched);
    };
    let (envelope, looked) = (Envelope::write(request), replicas.others.holder_of_task(task));
    let forward =
        Forward { room, ..Forward::of(request, ForwardedMatter::Task, RequestToken::NONE) };
    forward.spawn(reply, |forward, reply, open| async move {
        let found = timeout(FORWARD_ANSWER, looked).await.ok().flatten();
        let found = found.and_then(|to| sealed(&forward.front, to, &envelope));
        match found {
            Some((token, sent)) => Forward { token, ..forward }.run(sent, reply, open).await,
            None => {
                let error = CallError::InvalidParams("Task not found".to_owned());
                forward.answer(&error, 200, reply);
            }
        }
    });
}

type Sent = Waiting<Result<ReplicaAnswer, ReplicaFault>>;

/// Seals a request for a replica, and begins to send it.
fn sealed(front: &Front, to: ReplicaId, envelope: &[u8]) -> Option<(RequestToken, Sent)> {
    let replicas = front.replicas.as_ref()?;
    let token = RequestToken::new(&replicas.seal, to)?;
    let headers = vec![(super::token::REQUEST, token.header(&replicas.seal)?)];
    let body = token.seal_body(&replicas.seal, envelope)?;
    Some((token, replicas.others.send(to, SealedRequest { headers, body })))
}

impl Forward {
    fn of(request: &HttpRequest<'_, '_>, matter: ForwardedMatter, token: RequestToken) -> Self {
        let message = scan(request.body).ok();
        let asked = message.as_ref().filter(|message| message.kind == Kind::Request);
        Self {
            front: Arc::clone(request.front),
            matter,
            token,
            era: if matter == ForwardedMatter::Session { Era::Legacy } else { Era::Modern },
            id: asked.map_or(&b"null"[..], |message| message.id()).into(),
            is_call: asked.is_some(),
            is_stream: request.head.method == "GET",
            room: ForwardRoom::default(),
        }
    }

    fn spawn<F>(
        self,
        reply: Reply,
        run: impl FnOnce(Self, Reply, TaskTrackerToken) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let front = Arc::clone(&self.front);
        let open = front.shutdown.attached.token();
        let task = async move {
            let ending = Arc::clone(&self.front);
            let is_stream = self.is_stream;
            // What belongs to no call is asked for again elsewhere; a call is answered.
            let ended = async {
                ending.shutdown.ending().await;
                if !is_stream {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                () = run(self, reply, open) => {}
                () = ended => {} // the connection closes with what was dropped
            }
        };
        drop(front.context.tasks.spawn_on(task, &front.context.runtime));
    }

    async fn run(mut self, sent: Sent, reply: Reply, open: TaskTrackerToken) {
        let front = Arc::clone(&self.front);
        // Bounds what waits here: each costs a connection to another replica.
        let place = front.replicas.as_ref().and_then(|it| it.places.try_acquire().ok());
        let Some(_place) = place else {
            return self.refuse(HttpRefusal::Crowded, reply);
        };
        let conn = Arc::clone(&reply.conn);
        let left = WebConnection::new(&conn, &self.front.context.limiter);
        let answered = tokio::select! {
            answered = timeout(FORWARD_ANSWER, sent) => answered,
            // In a session the answer is still written, for the client may have closed its side only.
            () = left.closed(), if self.matter != ForwardedMatter::Session || self.is_stream => return,
        };
        self.room = ForwardRoom::default();
        let late = || Err(ReplicaFault::Broken("it did not answer in time".to_owned()));
        match answered.unwrap_or_else(|_| late()) {
            Ok(answer) => match self.judged(&answer) {
                Ok(()) => self.pass_on(answer, &conn, reply, open).await,
                Err(fault) => self.fail(&fault, reply),
            },
            Err(fault) => self.fail(&fault, reply),
        }
    }

    /// Is it the answer of that replica to this request?
    fn judged(&self, answer: &ReplicaAnswer) -> Result<(), ReplicaFault> {
        let Some(replicas) = &self.front.replicas else { return Err(ReplicaFault::Gone) };
        // Somebody else has its address now: to them the request is noise.
        if !self.token.is_answered_by(&replicas.seal, answer) || answer.status == MISDIRECTED {
            return Err(ReplicaFault::Gone);
        }
        if answer.status == SEEN_BEFORE && answer.header("Content-Type").is_none() {
            return Err(ReplicaFault::Broken("the request came to it twice".to_owned()));
        }
        Ok(())
    }

    fn fail(&self, fault: &ReplicaFault, reply: Reply) {
        tracing::debug!(replica = %self.token.to, "a request cannot be passed on: {fault}");
        match (fault, self.matter) {
            // 2025-11-25, Transports, Session Management: the client opens another session.
            (ReplicaFault::Gone, ForwardedMatter::Session) => {
                self.refuse(HttpRefusal::UnknownSession, reply);
            }
            (ReplicaFault::Gone, ForwardedMatter::ParkedCall) => {
                self.answer(&CallError::BadState(HOLDER_GONE.to_owned()), 400, reply);
            }
            (ReplicaFault::Gone, ForwardedMatter::Task) => {
                let why = "Task not found: the replica that had it has gone".to_owned();
                self.answer(&CallError::InvalidParams(why), 200, reply);
            }
            (ReplicaFault::Unreachable(_), _) if !self.is_call => {
                self.refuse(HttpRefusal::ReplicaAway, reply);
            }
            (ReplicaFault::Unreachable(_), _) => {
                self.answer(&CallError::ReplicaGone { may_have_run: false }, 503, reply);
            }
            (ReplicaFault::Broken(_), _) if !self.is_call => {
                self.refuse(HttpRefusal::ReplicaAway, reply);
            }
            (ReplicaFault::Broken(_), _) => {
                self.answer(&CallError::ReplicaGone { may_have_run: true }, 200, reply);
            }
        }
    }

    fn refuse(&self, why: HttpRefusal, reply: Reply) {
        let mut touched = FlushSet::default();
        reply.refuse(why, &self.id, &mut touched);
        touched.flush();
    }

    fn answer(&self, error: &CallError, status: u16, reply: Reply) {
        let mut touched = FlushSet::default();
        reply.json(status, &error.response_in(self.era, &self.id), &mut touched);
        touched.flush();
    }

    async fn pass_on(
        self,
        answer: ReplicaAnswer,
        conn: &Arc<Conn>,
        reply: Reply,
        open: TaskTrackerToken,
    ) {
        let length =
            answer.header("Content-Length").and_then(|text| std::str::from_utf8(text).ok());
        let length = length.and_then(|text| text.parse::<usize>().ok());
        let ReplicaAnswer { status, headers, mut body } = answer;
        let fields: Vec<(&str, &[u8])> = headers
            .iter()
            .filter(|(name, _)| !is_left_out(name))
            .map(|(name, value)| (&**name, &**value))
            .collect();
        if length.is_some_and(|length| length <= FORWARDED_WHOLE) {
            return match whole(&mut *body).await {
                Ok(bytes) => {
                    let mut touched = FlushSet::default();
                    reply.send(status, &fields, &bytes, &mut touched);
                    touched.flush();
                }
                Err(why) => self.fail(&ReplicaFault::Broken(why), reply),
            };
        }
        let events = fields.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("content-type") && trunkline_http::is_type(value, EVENTS)
        });
        let stream = WebReply::new(reply, ReplyWay::PLAIN, open.clone()).relay(status, &fields);
        self.pour(&mut *body, &stream, conn, events).await;
    }

    /// Writes the pieces as they come, as fast as the client takes them.
    async fn pour(
        &self,
        body: &mut dyn ReplicaBody,
        stream: &WebStream,
        conn: &Conn,
        events: bool,
    ) {
        let mut between = Boundary::default();
        loop {
            let piece = tokio::select! {
                piece = timeout(FORWARD_SILENCE, body.next()) => piece,
                () = stream.closed() => return,
            };
            match piece {
                Ok(Some(Ok(bytes))) => {
                    between.saw(&bytes);
                    if !stream.write(&bytes) {
                        return;
                    }
                }
                Ok(None) => return,
                // The replica writes a comment long before this.
                Ok(Some(Err(_))) | Err(_) => {
                    return match events && self.is_call && between.is_event_end() {
                        true => drop(stream.write(&self.broken_off())),
                        // The client sees that something is missing, and asks for it again.
                        false => stream.cut(),
                    };
                }
            }
            // Elapsed: the client takes nothing, and the sweeper closes its connection.
            if timeout(CLIENT_STALL, conn.outbox.room(STREAM_BYTES / 2)).await.is_err() {
                return stream.cut();
            }
        }
    }

    /// The last event of a call whose replica has gone.
    fn broken_off(&self) -> Vec<u8> {
        let error = CallError::ReplicaGone { may_have_run: true };
        let response = error.response_in(self.era, &self.id);
        [b"event: message\ndata: ", &response[..], b"\n\n"].concat()
    }
}

const HOLDER_GONE: &str = "the replica that the call waited at has gone; the call may have run in part; make it again \
                           without the state";

/// Where a stream of events is: nothing may be written into the middle of one.
#[derive(Debug)]
struct Boundary {
    last: [u8; 2],
}

impl Default for Boundary {
    fn default() -> Self {
        Self { last: *b"\n\n" }
    }
}

impl Boundary {
    fn saw(&mut self, bytes: &[u8]) {
        match bytes {
            [.., one, other] => self.last = [*one, *other],
            [one] => {
                let [_, before] = self.last;
                self.last = [before, *one];
            }
            [] => {}
        }
    }

    fn is_event_end(&self) -> bool {
        self.last == *b"\n\n"
    }
}

async fn whole(body: &mut dyn ReplicaBody) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    loop {
        match timeout(FORWARD_SILENCE, body.next()).await {
            Ok(Some(Ok(piece))) => bytes.extend_from_slice(&piece),
            Ok(Some(Err(why))) => return Err(why),
            Ok(None) => return Ok(bytes),
            Err(_) => return Err("the answer stopped".to_owned()),
        }
    }
}

/// Headers of the connection between the replicas, and those that this front writes itself.
fn is_left_out(name: &str) -> bool {
    const LEFT_OUT: [&str; 7] = [
        "connection",
        "keep-alive",
        "transfer-encoding",
        "content-length",
        "date",
        "trailer",
        ANSWER,
    ];
    LEFT_OUT.iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_end_where_an_empty_line_does() {
        let mut between = Boundary::default();
        assert!(between.is_event_end(), "before the first");
        for (piece, expected) in [
            ("data: a", false),
            ("\n", false),
            ("\n", true),
            ("", true),
            (":\n\n", true),
            ("id", false),
        ] {
            between.saw(piece.as_bytes());
            assert_eq!(between.is_event_end(), expected, "{piece:?}");
        }
    }
}

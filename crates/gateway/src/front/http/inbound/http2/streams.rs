//! `Http2Stream`: one request of an HTTP/2 connection, from its head to the end of its answer.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::Response;
use tokio::sync::OwnedSemaphorePermit;
use trunkline_http::{BadHead, Framing, request};

use super::bounds::STREAM_AHEAD;
use super::heads::{request_head, response_head};
use super::ready::StreamBell;
use crate::front::http::access::{HttpRefusal, Rejection};
use crate::front::http::connection::{BodyShare, Reply, ReplyMode, RequestStage};
use crate::front::http::inbound::address_counts::AddressPlace;
use crate::front::http::inbound::admission::{Admission, ClientConn};
use crate::limits::LEAVING_SECONDS;
use crate::pump::{FlushSet, Remainder};

pub(super) struct Http2Stream {
    client: ClientConn,
    bell: Arc<StreamBell>,
    waker: Waker,
    receiving: Receiving,
    sending: Sending,
    /// When its answer was given whole.
    answered: Option<u32>,
    /// What it counts as, until it is dropped.
    _place: StreamPlace,
}

/// A stream among all, and among those of its address.
pub(super) struct StreamPlace {
    pub(super) _permit: OwnedSemaphorePermit,
    pub(super) _address: AddressPlace,
}

/// How far the request has come.
enum Receiving {
    Body(Box<RequestBody>),
    /// It was refused before its end. What still comes is dropped, and its window is not opened again.
    Unread(RecvStream),
    /// It was handed over.
    Over,
}

struct RequestBody {
    from: RecvStream,
    head: Vec<u8>,
    bytes: Vec<u8>,
    share: BodyShare,
    most: usize,
    too_long: HttpRefusal,
}

/// What may come of a body.
struct BodyBound {
    share: BodyShare,
    most: usize,
    too_long: HttpRefusal,
}

/// How far the answer has come.
enum Sending {
    Head(SendResponse<Bytes>),
    Body(SendStream<Bytes>),
}

/// What became of a stream that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamState {
    Open,
    Answered,
    /// Likewise, while its body still comes: the client gets some time to read the answer before it is told to stop.
    /// Some clients, curl 7.88 among them, lose an answer that a reset follows at once.
    Leaving,
    /// It was closed in the middle of its answer: by the sweeper, or because it is not read.
    Cut,
    /// The client has taken its request back.
    TakenBack,
}

impl Http2Stream {
    /// Begins a request. `connection`: the connection that it came on.
    pub(super) fn begin(
        connection: &ClientConn,
        (asked, respond): (http::Request<RecvStream>, SendResponse<Bytes>),
        bell: Arc<StreamBell>,
        place: StreamPlace,
        touched: &mut FlushSet,
    ) -> Self {
        let conn = Arc::new(connection.conn.stream());
        conn.outbox.hand_to(Arc::clone(&bell) as _);
        connection.front.add(&conn);
        let client = ClientConn { conn, ..connection.clone() };
        let mut stream = Self {
            client,
            waker: Waker::from(Arc::clone(&bell)),
            bell,
            receiving: Receiving::Over,
            sending: Sending::Head(respond),
            answered: None,
            _place: place,
        };
        stream.receiving = stream.admit(asked, touched);
        stream
    }

    /// Takes the head of the request, and all of it if nothing follows.
    fn admit(&self, asked: http::Request<RecvStream>, touched: &mut FlushSet) -> Receiving {
        let has_body = !asked.body().is_end_stream();
        let head = request_head(&asked, has_body);
        let from = asked.into_body();
        let Ok(head) = head else {
            let mode = ReplyMode::lost().without_chunks();
            self.refuse(&HttpRefusal::Head(MALFORMED).into(), mode, touched);
            return Receiving::Unread(from);
        };
        match self.decide(&head, has_body, touched) {
            Some(BodyBound { share, most, too_long }) => {
                let bytes = Vec::new();
                Receiving::Body(Box::new(RequestBody { from, head, bytes, share, most, too_long }))
            }
            None => Receiving::Unread(from),
        }
    }

    /// Decides about the request by its head. `None`: nothing more of it is wanted.
    fn decide(&self, head: &[u8], has_body: bool, touched: &mut FlushSet) -> Option<BodyBound> {
        let lost = || ReplyMode::lost().without_chunks();
        let read = match request(head) {
            // All of it: what a value brings must not be a second request.
            Ok(Some((request, length))) if length == head.len() => Ok(request),
            Ok(_) => Err(MALFORMED),
            Err(bad) => Err(bad),
        };
        let request = match read {
            Ok(request) => request,
            Err(bad) => {
                self.refuse(&HttpRefusal::from(bad).into(), lost(), touched);
                return None;
            }
        };
        let length = match request.body() {
            Ok(Framing::Length(length)) => usize::try_from(length).unwrap_or(usize::MAX),
            Ok(_) => 0,
            Err(bad) => {
                let mode = ReplyMode { api: self.client.is_attached(&request), ..lost() };
                self.refuse(&HttpRefusal::from(bad).into(), mode, touched);
                return None;
            }
        };
        let mut admission = self.admission(&request);
        let is_unread = admission.unread && admission.decision.is_ok();
        if !has_body || is_unread {
            // What an attachment refuses by its head is not read.
            admission.mode.unread |= has_body && is_unread;
            self.client.handle(admission, head, b"", touched);
            return None;
        }
        let why = match admission.decision {
            Err(why) => Some(why),
            // Decided by the announced length: a body that is too long is never read.
            Ok(_) if length > admission.limit => Some(admission.too_long.into()),
            Ok(_) => None,
        };
        if let Some(why) = why {
            self.refuse(&why, ReplyMode { unread: true, ..admission.mode }, touched);
            return None;
        }
        self.client.conn.set_stage(RequestStage::Body, 0);
        let share = BodyShare::new(&self.client.front.bodies, admission.sender);
        Some(BodyBound { share, most: admission.limit, too_long: admission.too_long })
    }

    fn admission<'a>(&self, request: &'a trunkline_http::Request<'a>) -> Admission<'a> {
        let mut admission = self.client.admit(request);
        admission.mode = admission.mode.without_chunks();
        admission
    }

    fn refuse(&self, why: &Rejection, mode: ReplyMode, touched: &mut FlushSet) {
        Reply::new(&self.client.conn, mode).reject(why, b"null", touched);
    }

    /// Takes what has come of the request, and passes on what there is of the answer.
    pub(super) fn advance(&mut self, touched: &mut FlushSet) -> StreamState {
        self.bell.heard();
        let waker = self.waker.clone();
        let mut context = Context::from_waker(&waker);
        if self.answered.is_none() {
            if !self.receive(&mut context, touched) || self.hear_reset(&mut context) {
                return StreamState::TakenBack;
            }
            match self.send(&mut context) {
                StreamState::Answered => self.answered = Some(self.client.conn.now()),
                state => return state,
            }
        }
        let since = self.answered.unwrap_or_default();
        let is_patient = self.client.conn.now().saturating_sub(since) <= LEAVING_SECONDS;
        if is_patient && self.discard(&mut context) {
            return StreamState::Leaving;
        }
        StreamState::Answered
    }

    /// Drops what comes of a body that nobody reads. True: more may come.
    fn discard(&mut self, context: &mut Context<'_>) -> bool {
        let Receiving::Unread(from) = &mut self.receiving else { return false };
        loop {
            match from.poll_data(context) {
                Poll::Pending => return true,
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(_) => return false,
            }
        }
    }

    /// False: the client has taken the request back.
    fn receive(&mut self, context: &mut Context<'_>, touched: &mut FlushSet) -> bool {
        while let Receiving::Body(body) = &mut self.receiving {
            // The sweeper has refused it: too little came in too long a time.
            if self.client.conn.is_busy() {
                self.stop_reading();
                return true;
            }
            let why = match body.from.poll_data(context) {
                Poll::Pending => return true,
                Poll::Ready(Some(Err(_))) => return false,
                Poll::Ready(Some(Ok(bytes))) => match body.take(&bytes) {
                    Ok(()) => {
                        self.client.conn.set_stage(RequestStage::Body, body.bytes.len());
                        continue;
                    }
                    Err(why) => why,
                },
                Poll::Ready(None) => {
                    self.hand_over(touched);
                    return true;
                }
            };
            let known = request(&body.head).ok().flatten();
            let api = known.is_some_and(|(request, _)| self.client.is_attached(&request));
            let mode = ReplyMode { api, ..ReplyMode::lost().without_chunks() };
            self.refuse(&why.into(), mode, touched);
            self.stop_reading();
        }
        true
    }

    fn stop_reading(&mut self) {
        if let Receiving::Body(body) = std::mem::replace(&mut self.receiving, Receiving::Over) {
            self.receiving = Receiving::Unread(body.from);
        }
    }

    /// The request has come in whole.
    fn hand_over(&mut self, touched: &mut FlushSet) {
        let Receiving::Body(body) = std::mem::replace(&mut self.receiving, Receiving::Over) else {
            return; // not reached: only a body ends
        };
        // Parsed before, so that it is one.
        let Ok(Some((request, _))) = request(&body.head) else { return };
        let is_whole = !matches!(request.body(), Ok(Framing::Length(length)) if length != body.bytes.len() as u64);
        if is_whole {
            self.client.handle(self.admission(&request), &body.head, &body.bytes, touched);
        } else {
            let mode = ReplyMode::lost().without_chunks();
            self.refuse(&HttpRefusal::Head(MALFORMED).into(), mode, touched);
        }
    }

    /// True: the client has taken the request back.
    fn hear_reset(&mut self, context: &mut Context<'_>) -> bool {
        match &mut self.sending {
            Sending::Head(respond) => respond.poll_reset(context).is_ready(),
            Sending::Body(to) => to.poll_reset(context).is_ready(),
        }
    }

    fn send(&mut self, context: &mut Context<'_>) -> StreamState {
        loop {
            let outbox = &self.client.conn.outbox;
            let left = match outbox.remainder() {
                Remainder::Bytes(0) => return StreamState::Open,
                Remainder::Cut => {
                    self.cut();
                    return StreamState::Cut;
                }
                left => left,
            };
            let done = match &mut self.sending {
                Sending::Head(respond) => {
                    let Some(head) = outbox.take_head().and_then(|head| response_head(&head))
                    else {
                        self.cut();
                        return StreamState::Cut;
                    };
                    let is_last = outbox.remainder() == Remainder::Finished;
                    match respond.send_response(head, is_last) {
                        Ok(to) => self.sending = Sending::Body(to),
                        Err(_) => return StreamState::TakenBack,
                    }
                    is_last
                }
                Sending::Body(to) => match left {
                    Remainder::Bytes(bytes) => {
                        let Some(room) = room(to, bytes, context) else { return StreamState::Open };
                        let bytes = outbox.take_some(room).unwrap_or_default();
                        let is_last = outbox.remainder() == Remainder::Finished;
                        if to.send_data(bytes, is_last).is_err() {
                            return StreamState::TakenBack;
                        }
                        is_last
                    }
                    _ if to.send_data(Bytes::new(), true).is_err() => {
                        return StreamState::TakenBack;
                    }
                    _ => true,
                },
            };
            if done {
                return StreamState::Answered;
            }
        }
    }

    /// Ends the stream without the rest of its answer, so that the client knows that there was more.
    fn cut(&mut self) {
        match &mut self.sending {
            Sending::Head(respond) => respond.send_reset(Reason::INTERNAL_ERROR),
            Sending::Body(to) => to.send_reset(Reason::INTERNAL_ERROR),
        }
    }

    /// It is over. Whoever still answers it learns that the client has left.
    pub(super) fn end(&self, state: StreamState, touched: &mut FlushSet) {
        self.client.conn.outbox.close();
        if state != StreamState::Answered {
            self.client.conn.client_closed(touched);
        }
    }
}

impl RequestBody {
    /// Keeps a piece, if there may be so much.
    fn take(&mut self, bytes: &[u8]) -> Result<(), HttpRefusal> {
        let length = self.bytes.len().saturating_add(bytes.len());
        if length > self.most {
            return Err(self.too_long);
        }
        if !self.share.grow(length) {
            return Err(HttpRefusal::Crowded);
        }
        self.bytes.extend_from_slice(bytes);
        // An error: it was taken back, which is heard of next.
        let _ = self.from.flow_control().release_capacity(bytes.len());
        Ok(())
    }
}

/// How much the client takes now; `None`: nothing, and the waker is told when it does.
fn room(to: &mut SendStream<Bytes>, wanted: usize, context: &mut Context<'_>) -> Option<usize> {
    to.reserve_capacity(wanted.min(STREAM_AHEAD));
    match to.capacity() {
        0 => match to.poll_capacity(context) {
            Poll::Ready(Some(Ok(room))) if room > 0 => Some(room),
            _ => None,
        },
        room => Some(room),
    }
}

const MALFORMED: BadHead = BadHead::Malformed("the request");

/// Refuses a request without looking at it.
pub(super) fn refuse_crowded(mut respond: SendResponse<Bytes>) {
    let mut answer = Response::new(());
    *answer.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
    answer.headers_mut().insert(http::header::RETRY_AFTER, http::HeaderValue::from_static("5"));
    // An error: the client has gone.
    drop(respond.send_response(answer, true));
}

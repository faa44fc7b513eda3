//! `LocalClient`: a client inside this process, for the command line.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tokio::sync::{mpsc, oneshot};
use trunkline_catalog::ListKind;
use trunkline_wire::{Edits, Kind, decode, encode_into, member, scan, write_error, write_result};

use crate::call::{Discard, Payload, Responder, ResponseSink};
use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;
use crate::session::{Session, receive};

/// One client; dropping it ends its session.
#[derive(Debug)]
pub struct LocalClient {
    session: Arc<Session>,
    last: AtomicI64,
    // Held to take the receiver out: there is one, and one listener gets it.
    news: Mutex<Option<mpsc::Receiver<News>>, rank::LocalNews>,
}

/// A message that is no answer.
#[derive(Clone, Debug)]
pub enum News {
    /// A notification: its method and its `params`.
    Notification { method: String, params: Vec<u8> },
    /// A server's question, to be answered with `LocalClient::reply`.
    Question { id: Vec<u8>, method: String, params: Vec<u8> },
}

/// Why a request has no result.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct LocalError {
    pub code: i64,
    pub message: String,
    /// JSON; empty if there is none.
    pub data: Vec<u8>,
    /// The error object as it was received.
    pub raw: Vec<u8>,
}

impl LocalClient {
    pub(crate) fn new(session: Arc<Session>) -> Self {
        let (sender, receiver) = mpsc::channel(NEWS);
        session.client.silence_logs();
        session.client.set_stream(Some(Arc::new(NewsSink(sender))));
        let news = Mutex::new(Some(receiver));
        Self { session, last: AtomicI64::new(0), news }
    }

    /// The messages that are no answer; `None` after the first call.
    pub fn news(&self) -> Option<mpsc::Receiver<News>> {
        self.news.lock().take()
    }

    /// Sends a request; `params` is a JSON object. Returns the result, byte for byte. Dropping the
    /// future cancels the request.
    pub async fn request(&self, method: &str, params: &[u8]) -> Result<Vec<u8>, LocalError> {
        // Relaxed: only uniqueness counts.
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let mut message = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":").into_bytes();
        encode_into(method, &mut message);
        message.extend_from_slice(b",\"params\":");
        message.extend_from_slice(params);
        message.push(b'}');
        let (sender, receiver) = oneshot::channel();
        let news = self.session.client.stream();
        let exit = AnswerSink { sender: Mutex::new(Some(sender)), news };
        self.pass(&message, exit);
        // After the request is sent: there is nothing to cancel before.
        let guard = CancelOnDrop { client: self, id: Some(id) };
        let answer = receiver.await.unwrap_or_default();
        guard.done();
        outcome(&answer)
    }

    /// The listed name of a tool or prompt that also answers to this name.
    pub fn listed(&self, kind: ListKind, name: &str) -> Option<String> {
        self.session.context.view.snapshot().catalog.listed(kind, name)
    }

    /// Answers a question with a result, or with an error message.
    pub fn reply(&self, id: &[u8], result: Result<&[u8], &str>) {
        let mut out = Vec::new();
        match result {
            Ok(result) => write_result(id, result, &mut out),
            Err(why) => write_error(id, DECLINED, why, b"", &mut out),
        }
        self.pass(&out, Discard);
    }

    fn pass(&self, message: &[u8], responder: impl Responder + 'static) {
        let sink: ResponseSink = Arc::new(responder);
        let snapshot = self.session.context.view.snapshot();
        let mut touched = FlushSet::default();
        receive(&self.session, message, &sink, &snapshot, &mut touched);
        touched.flush();
    }

    fn cancel(&self, id: i64) {
        let message = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":\
             {{\"requestId\":{id},\"reason\":\"interrupted\"}}}}"
        );
        self.pass(message.as_bytes(), Discard);
    }
}

impl Drop for LocalClient {
    fn drop(&mut self) {
        self.session.end();
    }
}

/// Bounds the news that are not taken; further ones are dropped.
const NEWS: usize = 1024;

/// The user rejected the request.
const DECLINED: i32 = -1;

fn outcome(answer: &[u8]) -> Result<Vec<u8>, LocalError> {
    let Ok(message) = scan(answer) else {
        return Err(refusal(br#"{"code":0,"message":"there was no answer"}"#));
    };
    if message.kind == Kind::Answer {
        return Ok(message.text(message.result).to_vec());
    }
    Err(refusal(message.text(message.error)))
}

/// An error whose message is no text shows the whole error object instead.
fn refusal(error: &[u8]) -> LocalError {
    let code = member(error, "code").and_then(|code| std::str::from_utf8(code).ok()?.parse().ok());
    let message = member(error, "message").and_then(decode);
    LocalError {
        code: code.unwrap_or_default(),
        message: message.unwrap_or_else(|| String::from_utf8_lossy(error)).into_owned(),
        data: member(error, "data").unwrap_or_default().to_vec(),
        raw: error.to_vec(),
    }
}

/// Cancels a request whose future was dropped.
struct CancelOnDrop<'a> {
    client: &'a LocalClient,
    id: Option<i64>,
}

impl CancelOnDrop<'_> {
    fn done(mut self) {
        self.id = None;
    }
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.client.cancel(id);
        }
    }
}

/// Where the answer to one request leaves.
#[derive(Debug)]
struct AnswerSink {
    // Taken out under it: a second answer finds none.
    sender: Mutex<Option<oneshot::Sender<Vec<u8>>>, rank::LocalAnswer>,
    news: Option<ResponseSink>,
}

impl Responder for AnswerSink {
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        self.news.as_ref().is_some_and(|news| news.say(bytes, edits, touched))
    }

    fn answer(&self, payload: Payload<'_>, edits: &Edits<'_>, _: &mut FlushSet) -> bool {
        let mut answer = Vec::new();
        edits.write(payload.bytes(), &mut answer);
        self.sender.lock().take().is_some_and(|sender| sender.send(answer).is_ok())
    }

    fn unanswered(&self, _: &mut FlushSet) {
        *self.sender.lock() = None;
    }
}

/// Where messages that are no answer leave.
#[derive(Debug)]
struct NewsSink(mpsc::Sender<News>);

impl Responder for NewsSink {
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, _: &mut FlushSet) -> bool {
        let mut whole = Vec::new();
        edits.write(bytes, &mut whole);
        let Ok(message) = scan(&whole) else { return false };
        let method = String::from_utf8_lossy(&message.method()).into_owned();
        let params = message.text(message.params.span).to_vec();
        let news = match message.kind {
            Kind::Request => News::Question { id: message.id().to_vec(), method, params },
            _ => News::Notification { method, params },
        };
        self.0.try_send(news).is_ok()
    }

    fn answer(&self, _: Payload<'_>, _: &Edits<'_>, _: &mut FlushSet) -> bool {
        false // no request comes in through it
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_kept_as_it_came() {
        let error = br#"{"code":-5,"message":"no","data":{"n":1.0},"more":[ 1 ]}"#;
        let answer = [br#"{"jsonrpc":"2.0","id":1,"error":"#, &error[..], b"}"].concat();
        let refused = outcome(&answer).unwrap_err();
        assert_eq!((refused.code, refused.message.as_str()), (-5, "no"));
        assert_eq!(
            (refused.data.as_slice(), refused.raw.as_slice()),
            (&b"{\"n\":1.0}"[..], &error[..])
        );
    }

    #[test]
    fn an_error_without_words_says_what_it_is() {
        let error = br#"{"code":-5,"message":"\ud800"}"#;
        let answer = [br#"{"jsonrpc":"2.0","id":1,"error":"#, &error[..], b"}"].concat();
        assert_eq!(outcome(&answer).unwrap_err().message.as_bytes(), error);
        let none = outcome(b"").unwrap_err();
        assert_eq!(none.message, "there was no answer");
        assert_eq!(none.raw, br#"{"code":0,"message":"there was no answer"}"#);
    }
}

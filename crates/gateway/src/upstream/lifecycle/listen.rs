//! What servers of the stateless era are listened to for: changes of their lists, and of resources.
//!
//! Two requests that last: one for the lists, one for the resources that anybody wants to hear of.
//! What comes on them goes the way of every notification.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use trunkline_catalog::ListKind;
use trunkline_wire::{Kind, Message, encode, encode_into, member, scan, upstream_id};

use crate::era::Era;
use crate::error::CallError;
use crate::limits::{LASTING_STREAM, PROBE, REOPEN_FIRST, REOPEN_LONGEST};
use crate::pump::FlushSet;
use crate::upstream::calls::link::Link;
use crate::upstream::calls::pending::{Entry, Waiter};
use crate::upstream::connection::Connection;
use crate::upstream::lifecycle::handshake::ServerHello;
use crate::upstream::lifecycle::supervisor::varied;
use crate::upstream::listening::listens::{Followed, ListenRequest, Listens};
use crate::upstream::transport::{Answer, UpstreamId};

const LISTEN: &str = "subscriptions/listen";

impl Listens {
    /// Somebody wants to hear of this resource, the server's own URI, and nobody did before. The
    /// answer, where that is a request of its own.
    pub(crate) fn follow(&self, link: &Link, uri: &str) -> Option<Answer> {
        self.want(link, uri, "resources/subscribe")
    }

    /// Nobody wants to hear of it any more.
    pub(crate) fn unfollow(&self, link: &Link, uri: &str) {
        drop(self.want(link, uri, "resources/unsubscribe"));
    }

    fn want(&self, link: &Link, uri: &str, method: &str) -> Option<Answer> {
        match link.era() {
            Era::Modern => {
                self.wanted.notify_one();
                None
            }
            Era::Legacy => {
                let params = [b"{\"uri\":", &encode(uri)[..], b"}"].concat();
                link.begin(method, &params).map(|(_, answer)| answer)
            }
        }
    }

    /// Until the server has been asked to tell of a resource and has said something to it; `answer`
    /// is what `follow` gave. It may never do so.
    pub(crate) async fn until_asked(&self, link: &Link, uri: &str, answer: Option<Answer>) {
        match (link.era(), answer) {
            (Era::Modern, _) => {
                let mut told = self.told.subscribe();
                drop(told.wait_for(|told| told.settles(uri)).await);
            }
            (Era::Legacy, Some(answer)) => drop(answer.await),
            (Era::Legacy, None) => {}
        }
    }

    /// Begins to listen for changes of the server's lists.
    pub(in crate::upstream) fn listen(&self, link: &Link, hello: &ServerHello) {
        if hello.era == Era::Modern
            && let Some(filter) = lists_filter(hello)
        {
            *self.lists.lock() = self.begin_listening(link, &filter);
        }
    }

    fn begin_listening(&self, link: &Link, filter: &[u8]) -> Option<ListenRequest> {
        let params = [b"{\"notifications\":", filter, b"}"].concat();
        link.begin(LISTEN, &params).map(|(id, answer)| ListenRequest { id, answer })
    }

    /// Begins to listen for these resources, in the place of those before.
    fn begin_following(&self, link: &Link, uris: &[String]) -> Option<ListenRequest> {
        let mut turn = self.turn.lock(); // an acknowledgement may come at once
        let open = self.begin_listening(link, &resources_filter(uris))?;
        turn.next = Some(open.id);
        Some(open)
    }

    /// Does this update come of a request that has a successor?
    pub(in crate::upstream) fn is_told_twice(&self, message: &Message<'_>) -> bool {
        let id = message.params.meta.subscription.map(|at| at.of(message.bytes));
        let id = id.and_then(upstream_id);
        id.is_some() && self.turn.lock().over == id
    }

    /// Its answer is not waited for any more.
    fn stop_listening(&self, link: &Link, id: UpstreamId) {
        if link.pending.lock().remove(id).is_some() {
            let mut touched = FlushSet::default();
            link.call_off(id, "no longer wanted", &mut touched);
            touched.flush();
        }
    }

    /// A server that ends a subscription may say so by cancelling the request that opened it. True
    /// if that is what it says.
    pub(in crate::upstream) fn stopped_telling(
        &self,
        link: &Link,
        message: &Message<'_>,
        touched: &mut FlushSet,
    ) -> bool {
        let id = message.params.request_id.map(|at| at.of(message.bytes));
        let Some(id) = id.and_then(upstream_id) else { return false };
        let is_own = match link.pending.lock().get(id) {
            Some(Entry { waiter: Waiter::Listening(_), .. }) => link.era() == Era::Modern,
            _ => false,
        };
        if !is_own {
            return false;
        }
        let ended = CallError::ServerGone {
            server: link.key.to_string(),
            what: "ended the subscription".into(),
            may_have_run: true,
            stderr: Vec::new(),
        };
        link.fail_into(id, &ended, touched)
    }
}

/// Looks after what a server is listened to for, until it has gone.
pub(in crate::upstream) async fn keep(connection: Arc<Connection>, hello: Arc<ServerHello>) {
    if hello.era == Era::Modern {
        tokio::join!(keep_lists(&connection, &hello), keep_resources(&connection));
    }
}

/// How a request to listen ended.
enum Ended {
    /// With the connection.
    Gone,
    /// The server does not know such requests.
    Unknown,
    /// It was not taken as it was.
    Refused,
    /// It can be made again.
    Over,
}

impl Ended {
    fn of(answer: Result<Result<Vec<u8>, String>, tokio::sync::oneshot::error::RecvError>) -> Self {
        match answer {
            Err(_) => Self::Gone,
            Ok(Err(_)) => Self::Over,
            Ok(Ok(response)) => match scan(&response) {
                Ok(message) if message.kind == Kind::Refusal => {
                    let code = member(message.text(message.error), "code");
                    if code == Some(b"-32601") { Self::Unknown } else { Self::Refused }
                }
                _ => Self::Over,
            },
        }
    }
}

async fn keep_lists(connection: &Connection, hello: &ServerHello) {
    let Some(filter) = lists_filter(hello) else { return };
    let mut pauses = Pauses::default();
    let mut open = connection.listens.lists.lock().take();
    loop {
        let Some(ListenRequest { answer, .. }) = open else { return };
        match Ended::of(answer.await) {
            Ended::Gone => return,
            Ended::Unknown | Ended::Refused => {
                tracing::debug!(server = %connection.link.key, "does not tell of changes to its lists");
                return;
            }
            Ended::Over => {}
        }
        pauses.wait().await;
        open = connection.listens.begin_listening(&connection.link, &filter);
        if let Some(ListenRequest { id, .. }) = &open {
            // What has changed meanwhile was not told.
            drop(timeout(PROBE, connection.listens.taken(*id)).await);
            let lists = ListKind::ALL.into_iter().filter(|kind| hello.tells_of(*kind));
            connection.changes.mark(lists);
        }
    }
}

/// The lists of whose changes the server tells, as a filter; `None`: of none.
fn lists_filter(hello: &ServerHello) -> Option<Vec<u8>> {
    let names = [
        (ListKind::Tools, "toolsListChanged"),
        (ListKind::Prompts, "promptsListChanged"),
        (ListKind::Resources, "resourcesListChanged"),
    ];
    let told = names.iter().filter(|(kind, _)| hello.tells_of(*kind));
    let told: Vec<_> = told.map(|(_, name)| format!("\"{name}\":true")).collect();
    (!told.is_empty()).then(|| format!("{{{}}}", told.join(",")).into_bytes())
}

async fn keep_resources(connection: &Connection) {
    let mut pauses = Pauses::default();
    let mut held: Option<ListenRequest> = None;
    let mut told: Vec<String> = Vec::new();
    loop {
        let wanted = connection.subscriptions.uris();
        let ended = if wanted == told {
            let ended = async {
                match &mut held {
                    Some(open) => Ended::of((&mut open.answer).await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = connection.listens.wanted.notified() => continue,
                ended = ended => {
                    held = None;
                    ended
                }
            }
        } else {
            let replaced = replace(connection, &mut held, &wanted).await;
            connection.listens.told.send_replace(Followed::Of(wanted.clone()));
            told = wanted;
            match replaced {
                Ok(()) => continue,
                Err(ended) => ended,
            }
        };
        match ended {
            Ended::Gone => return,
            Ended::Unknown => {
                tracing::debug!(server = %connection.link.key, "does not tell of updates to resources");
                connection.listens.told.send_replace(Followed::Nothing);
                return;
            }
            // Others may be taken.
            Ended::Refused => {
                tracing::debug!(server = %connection.link.key, "does not tell of these resources");
            }
            Ended::Over => {
                told.clear();
                pauses.wait().await;
            }
        }
    }
}

/// Listens for these resources; what was listened to before ends once the server has taken that.
async fn replace(
    connection: &Connection,
    held: &mut Option<ListenRequest>,
    wanted: &[String],
) -> Result<(), Ended> {
    let mut next = match wanted {
        [] => None,
        _ => Some(connection.listens.begin_following(&connection.link, wanted).ok_or(Ended::Gone)?),
    };
    if let Some(open) = &mut next {
        tokio::select! {
            // Elapsed: it is taken to listen, as far as it ever will.
            _ = timeout(PROBE, connection.listens.taken(open.id)) => {}
            answer = &mut open.answer => return Err(Ended::of(answer)),
        }
    }
    if let Some(ListenRequest { id, .. }) = std::mem::replace(held, next) {
        connection.listens.stop_listening(&connection.link, id);
    }
    Ok(())
}

fn resources_filter(uris: &[String]) -> Vec<u8> {
    let mut filter = b"{\"resourceSubscriptions\":[".to_vec();
    for (index, uri) in uris.iter().enumerate() {
        if index > 0 {
            filter.push(b',');
        }
        encode_into(uri, &mut filter);
    }
    filter.extend_from_slice(b"]}");
    filter
}

/// Ever longer, unless what was opened lasted.
#[derive(Debug)]
struct Pauses {
    since: Instant,
    count: u32,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { since: Instant::now(), count: 0 }
    }
}

impl Pauses {
    async fn wait(&mut self) {
        if self.since.elapsed() >= LASTING_STREAM {
            self.count = 0;
        }
        let pause = Duration::saturating_mul(REOPEN_FIRST, 1 << self.count.min(16));
        self.count += 1;
        sleep(varied(pause.min(REOPEN_LONGEST))).await;
        self.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_request_to_listen_ends() {
        let ended = |answer: &str| match Ended::of(Ok(Ok(answer.into()))) {
            Ended::Gone => "gone",
            Ended::Unknown => "unknown",
            Ended::Refused => "refused",
            Ended::Over => "over",
        };
        for (answer, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}"#, "over"),
            (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"?"}}"#, "unknown"),
            (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"?"}}"#, "refused"),
        ] {
            assert_eq!(ended(answer), expected, "{answer}");
        }
        assert!(matches!(Ended::of(Ok(Err("broke".to_owned()))), Ended::Over));
    }

    #[test]
    fn filters_say_what_is_wanted() {
        for (capabilities, expected) in [
            ("{}", None),
            (r#"{"tools":{"listChanged":false},"prompts":{}}"#, None),
            (r#"{"tools":{"listChanged":true}}"#, Some(r#"{"toolsListChanged":true}"#)),
            (
                r#"{"resources":{"listChanged":true},"prompts":{"listChanged":true},"tools":5}"#,
                Some(r#"{"promptsListChanged":true,"resourcesListChanged":true}"#),
            ),
        ] {
            let result = format!(r#"{{"capabilities":{capabilities}}}"#);
            let hello =
                ServerHello::read(String::new(), Era::Modern, b"", result.as_bytes(), Vec::new());
            let filter = lists_filter(&hello).map(|filter| String::from_utf8(filter).unwrap());
            assert_eq!(filter.as_deref(), expected, "{capabilities}");
        }
        let uris = ["a://\"1".to_owned(), "b://2".to_owned()];
        assert_eq!(
            String::from_utf8(resources_filter(&uris)).unwrap(),
            r#"{"resourceSubscriptions":["a://\"1","b://2"]}"#
        );
    }
}

//! `GET /ui/live`: tells an open page that something has changed, so that it fetches itself again. What
//! has changed is for the page to find out, with the eyes of whoever looks at it.
//!
//! | event | when |
//! |---|---|
//! | `server`, `status`, `tools` | as in `/api/v1/events`, of servers that the request sees |
//! | `calls` | calls have ended, at most once a second |
//! | `clients` | clients have come or gone, likewise; to those who may know who is connected |
//! | `keys` | an API key was made, changed or revoked, likewise; to those who may see keys |
//! | `bye` | the session is over |

use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::time::{MissedTickBehavior, interval};
use trunkline_control::access::Action;
use trunkline_gateway::{WebReply, WebStream};

use crate::page_request::PageRequest;

/// How often it is looked whether calls have ended, who is connected, and whether the request may still
/// listen.
const LOOK: Duration = Duration::from_secs(1);

/// Tells until the page has gone, the session is over, or everything ends.
pub(crate) async fn stream(request: &PageRequest<'_>, reply: WebReply) {
    let plane = request.state.api.plane();
    let (_, mut news) = plane.events().listen(None);
    let ending = plane.background().end();
    let headers: [(&str, &[u8]); 4] = [
        // nginx buffers answers unless it is told not to.
        ("Content-Type", b"text/event-stream"),
        ("Cache-Control", b"no-store"),
        ("X-Accel-Buffering", b"no"),
        ("X-Content-Type-Options", b"nosniff"),
    ];
    let stream = reply.stream(200, &headers);
    // A first line at once: proxies pass the headers on with the first byte of the body.
    if !stream.write(b"retry: 1000\n: here\n\n") {
        return;
    }
    let may_know = request.may(Action::ReadClients);
    let turnover = || may_know.then(|| plane.clients().connected().turnover());
    let may_see_keys = request.may(Action::ManageKeys);
    let version = || may_see_keys.then(|| plane.keys().version());
    let (mut calls, mut clients) = (plane.overview().calls_ended(), turnover());
    let mut keys = version();
    let mut look = interval(LOOK);
    // After a pause (a laptop that slept) one look is enough, not one for each missed second.
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let open = tokio::select! {
            told = news.recv() => match told {
                Ok((_, news)) => {
                    let sees = request.principal().grants().touches(news.server());
                    // What this person may not see must not even be noticed by its timing.
                    !sees || tell(&stream, news.name())
                }
                // It looks anew in any case.
                Err(RecvError::Lagged(_)) => tell(&stream, "server"),
                Err(RecvError::Closed) => return,
            },
            _ = look.tick() => {
                // Each second and not only at the start: a stream would otherwise outlive its key.
                if !is_good(request) {
                    tell(&stream, "bye");
                    return;
                }
                let before = std::mem::replace(&mut calls, plane.overview().calls_ended());
                let were = std::mem::replace(&mut clients, turnover());
                let old = std::mem::replace(&mut keys, version());
                (before == calls || tell(&stream, "calls"))
                    && (were == clients || tell(&stream, "clients"))
                    && (old == keys || tell(&stream, "keys"))
            }
            () = stream.closed() => return,
            () = ending.cancelled() => return,
        };
        if !open {
            return;
        }
    }
}

/// Listening does not keep a session alive.
fn is_good(request: &PageRequest<'_>) -> bool {
    let state = request.state;
    request.session.is_alive(state.now()) && state.api.still_knows(request.principal())
}

fn tell(stream: &WebStream, event: &str) -> bool {
    stream.write(format!("event: {event}\ndata: {{}}\n\n").as_bytes())
}

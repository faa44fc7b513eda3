//! `GET /events`: what happens, as it happens.
use crate::api::render;
use crate::api::request::ApiRequest;
use crate::clock::now;
use crate::services::{NumberedEvent, sees};
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::sleep;
use trunkline_gateway::{WebReply, WebStream};

/// How often the clock is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Tells until the listener has gone, or may not listen any more, or everything ends.
pub(super) async fn stream(asked: &ApiRequest<'_>, reply: WebReply) {
    let last = asked.visit.headers.text("last-event-id").and_then(|id| id.trim().parse().ok());
    let (missed, mut news) = asked.plane.events().listen(last);
    let keys = asked.plane.keys();
    let mut changes = keys.changes();
    // It was let in before this: what has changed since is looked at first.
    changes.mark_changed();
    let ending = asked.plane.background().end().clone();
    let headers: [(&str, &[u8]); 3] = [
        ("Content-Type", b"text/event-stream"),
        ("Cache-Control", b"no-store"),
        ("X-Accel-Buffering", b"no"),
    ];
    let stream = reply.stream(200, &headers);
    if !stream.write(b": listening\n\n") {
        return;
    }
    for told in &missed {
        if sees(&asked.principal, told.1.server()) && !tell(&stream, told) {
            return;
        }
    }
    loop {
        let told = tokio::select! {
            told = news.recv() => told,
            () = stream.closed() => return,
            () = ending.cancelled() => return,
            () = over(asked.principal.good_until()) => return,
            () = shut_out(asked) => return,
            // The control plane, which this holds, holds the sender.
            _ = changes.changed() => match keys.is_good(asked.principal.credential(), now()) {
                true => continue,
                false => return,
            },
        };
        let open = match told {
            Ok(told) if sees(&asked.principal, told.1.server()) => tell(&stream, &told),
            Ok(_) => true,
            Err(RecvError::Lagged(missed)) => {
                stream.write(format!("event: missed\ndata: {{\"count\":{missed}}}\n\n").as_bytes())
            }
            Err(RecvError::Closed) => return,
        };
        if !open {
            return;
        }
    }
}

/// When policies let it in no more: nothing tells of that, and few listen.
async fn shut_out(asked: &ApiRequest<'_>) {
    let policies = asked.plane.policies();
    while !policies.shuts_out(&asked.principal) {
        sleep(LOOK).await;
    }
}

/// When its token is over, if it has one: it comes again with another.
async fn over(end: Option<u64>) {
    let Some(end) = end else { return std::future::pending().await };
    // The clock of the wall may jump.
    while end > super::seconds() {
        let left = Duration::from_secs(end.saturating_sub(super::seconds()));
        sleep(left.min(LOOK)).await;
    }
}

fn tell(stream: &WebStream, (number, event): &NumberedEvent) -> bool {
    let (name, json) = (event.name(), render::event(event));
    stream.write(format!("id: {number}\nevent: {name}\ndata: {json}\n\n").as_bytes())
}

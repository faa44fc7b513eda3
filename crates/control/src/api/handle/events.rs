//! `GET /events`: what happens, as it happens.

use tokio::sync::broadcast::error::RecvError;
use trunkline_gateway::{WebReply, WebStream};

use super::Asked;
use crate::platform::{Told, now};

/// Tells until the listener has gone, or may not listen any more, or everything ends.
pub(super) async fn stream(asked: &Asked<'_>, reply: WebReply) {
    let last = asked.visit.headers.text("last-event-id").and_then(|id| id.trim().parse().ok());
    let (missed, mut news) = asked.platform.listen(last);
    let (keys, version) = (asked.platform.keys(), asked.platform.keys().version());
    let ending = asked.platform.is_ending();
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
        if asked.principal.grants().touches(told.1.server()) && !tell(&stream, told) {
            return;
        }
    }
    loop {
        let told = tokio::select! {
            told = news.recv() => told,
            () = stream.closed() => return,
            () = ending.cancelled() => return,
        };
        // Its key may have been revoked, its token be over: it comes again if it still may.
        let changed =
            keys.version() != version && !keys.is_good(asked.principal.credential(), now());
        if changed || asked.principal.good_until().is_some_and(is_over) {
            return;
        }
        let open = match told {
            Ok(told) if asked.principal.grants().touches(told.1.server()) => tell(&stream, &told),
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

fn is_over(end: u64) -> bool {
    end <= super::seconds()
}

fn tell(stream: &WebStream, (number, news): &Told) -> bool {
    let (name, json) = (news.name(), news.json());
    stream.write(format!("id: {number}\nevent: {name}\ndata: {json}\n\n").as_bytes())
}

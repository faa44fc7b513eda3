//! `GET /events`: what happens, as it happens.

use tokio::sync::broadcast::error::RecvError;
use trunkline_gateway::{WebReply, WebStream};

use super::Asked;
use crate::platform::News;

/// Tells until the listener has gone, or may not listen any more, or everything ends.
pub(super) async fn stream(asked: &Asked<'_>, reply: WebReply) {
    let mut news = asked.platform.listen();
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
    loop {
        let told = tokio::select! {
            told = news.recv() => told,
            () = stream.closed() => return,
            () = ending.cancelled() => return,
        };
        // Its key may have been revoked, its token be over: it comes again if it still may.
        if keys.version() != version || asked.principal.good_until().is_some_and(is_over) {
            return;
        }
        let open = match told {
            Ok(told) if asked.principal.grants().touches(told.server()) => tell(&stream, &told),
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

fn tell(stream: &WebStream, news: &News) -> bool {
    stream.write(format!("event: {}\ndata: {}\n\n", news.name(), news.json()).as_bytes())
}

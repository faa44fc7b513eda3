//! What a collector gets to see.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use trunkline_http::Url;

use super::{Outcome, Parent, Settings, Span, SpanId, TraceId, Tracer, encode};
use crate::net::Client;
use crate::net::fake::{Answer, Asked, Fake};

fn span(tool: Option<&str>, outcome: Outcome) -> Span {
    let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let parent = Parent::read(header).unwrap();
    Span {
        trace: parent.trace,
        id: SpanId::new([1, 2, 3, 4, 5, 6, 7, 0xab]).unwrap(),
        parent: Some(parent.span),
        method: "tools/call".to_owned(),
        tool: tool.map(str::to_owned),
        server: "github".to_owned(),
        outcome,
        start: 1_700_000_000_000_000_001,
        end: 1_700_000_000_500_000_002,
    }
}

#[test]
fn spans_have_the_shape_of_otlp_in_json() {
    let failed = Outcome::Failed("timeout".to_owned());
    let orphan = Span {
        parent: None,
        trace: TraceId::new([0xff; 16]).unwrap(),
        method: "resources/read".to_owned(),
        ..span(None, failed)
    };
    let bytes = encode(&[span(Some("create \"issue\""), Outcome::Ok), orphan], "replica-1");
    let document: Value = serde_json::from_slice(&bytes).unwrap();
    let resource = &document["resourceSpans"][0];
    let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let about = resource["resource"]["attributes"].as_array().unwrap();
    assert!(about.contains(&attribute("service.name", "trunkline")));
    assert!(about.contains(&attribute("service.instance.id", "replica-1")));
    assert_eq!(resource["scopeSpans"][0]["scope"]["name"], "trunkline");
    assert_eq!(
        resource["scopeSpans"][0]["spans"],
        json!([
            {
                "traceId": "0af7651916cd43dd8448eb211c80319c",
                "spanId": "01020304050607ab",
                "parentSpanId": "b7ad6b7169203331",
                "name": "tools/call create \"issue\"",
                "kind": 3,
                "startTimeUnixNano": "1700000000000000001",
                "endTimeUnixNano": "1700000000500000002",
                "attributes": [
                    attribute("mcp.method.name", "tools/call"),
                    attribute("trunkline.server", "github"),
                    attribute("trunkline.outcome", "ok"),
                    attribute("mcp.tool.name", "create \"issue\""),
                ],
                "status": {"code": 0},
            },
            {
                "traceId": "ffffffffffffffffffffffffffffffff",
                "spanId": "01020304050607ab",
                "name": "resources/read",
                "kind": 3,
                "startTimeUnixNano": "1700000000000000001",
                "endTimeUnixNano": "1700000000500000002",
                "attributes": [
                    attribute("mcp.method.name", "resources/read"),
                    attribute("trunkline.server", "github"),
                    attribute("trunkline.outcome", "timeout"),
                    attribute("error.type", "timeout"),
                ],
                "status": {"code": 2, "message": "timeout"},
            },
        ])
    );
}

/// A collector that remembers what it was sent; the first answers have these statuses.
async fn collector(statuses: &'static [u16]) -> (Fake, Arc<Mutex<Vec<Asked>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (ears, count) = (Arc::clone(&heard), AtomicUsize::new(0));
    let fake = Fake::start(move |asked| {
        ears.lock().push(asked);
        let status = statuses.get(count.fetch_add(1, Ordering::SeqCst)).copied().unwrap_or(200);
        Answer::with(status, &[("Retry-After", "0")], "{}")
    })
    .await;
    (fake, heard)
}

fn tracer(url: &str) -> Tracer {
    let settings = Settings {
        endpoint: Url::parse(url).unwrap(),
        headers: vec![("X-Key".to_owned(), "canary".to_owned())],
        instance: "i".to_owned(),
    };
    assert!(!format!("{settings:?}").contains("canary"));
    let client = Client::new(Arc::new(|_| Ok(())));
    Tracer::start(settings, client, &TaskTracker::new()).unwrap()
}

async fn closed(tracer: &Tracer) {
    tracer.close(Instant::now() + Duration::from_secs(60)).await;
}

fn count(asked: &Asked) -> usize {
    let document: Value = serde_json::from_slice(&asked.body).unwrap();
    document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().len()
}

#[tokio::test]
async fn spans_are_sent_together_and_none_is_lost_at_the_end() {
    let (fake, heard) = collector(&[]).await;
    let tracer = tracer(&fake.url("/base/"));
    for _ in 0..1_100 {
        tracer.record(span(Some("x"), Outcome::Ok));
    }
    closed(&tracer).await;
    let heard = heard.lock();
    let sizes: Vec<_> = heard.iter().map(count).collect();
    assert_eq!(sizes, [512, 512, 76]);
    for asked in heard.iter() {
        assert_eq!((asked.method.as_str(), asked.target.as_str()), ("POST", "/base/v1/traces"));
        assert_eq!(asked.header("content-type"), Some("application/json"));
        assert_eq!(asked.header("x-key"), Some("canary"));
    }
    assert_eq!(tracer.dropped(), 0);
}

#[tokio::test]
async fn a_collector_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    for (statuses, attempts, dropped) in
        [(&[503, 429, 502][..], 4, 0), (&[503, 503, 503, 503, 503], 4, 512), (&[400], 1, 512)]
    {
        let (fake, heard) = collector(statuses).await;
        let tracer = tracer(&fake.url(""));
        // A full batch, which does not wait for more.
        for _ in 0..512 {
            tracer.record(span(None, Outcome::Ok));
        }
        let wait = async {
            while heard.lock().len() < attempts || tracer.dropped() < dropped {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), wait).await.expect("in time");
        closed(&tracer).await;
        assert_eq!((heard.lock().len(), tracer.dropped()), (attempts, dropped), "{statuses:?}");
    }
}

#[tokio::test]
async fn what_finds_no_room_is_counted_and_nobody_waits() {
    let fake = Fake::start(|_| Answer::Silence).await;
    let tracer = tracer(&fake.url(""));
    for _ in 0..5_000 {
        tracer.record(span(None, Outcome::Ok));
    }
    assert_eq!(tracer.dropped(), 5_000 - 4_096);
    tracer.close(Instant::now()).await;
}
